"""Forms of a log that the table cannot hold: pages of bytes, what tools make of others' output."""

import json
import os
import re
import shutil
import struct
import subprocess

import pytest
from heatsoak.analysis.sensors import sense
from heatsoak.importer import Log, Options, Source, read
from heatsoak.importer.recordings import to_recording
from samples import DATA, written


def one(text: str | bytes, **said: dict[str, str]) -> Log:
    data = text.encode() if isinstance(text, str) else text
    (log,) = read(Source.of_bytes("x.log", data), Options(**said))  # type: ignore[arg-type]
    return log


def page_of(kelvin: int) -> bytes:
    """A health log as an NVMe drive gives it: log page 02h."""
    page = bytearray(512)
    struct.pack_into("<BH", page, 0, 0, kelvin)
    page[3:5] = 100, 10
    struct.pack_into("<I", page, 192, 2)
    struct.pack_into("<H", page, 200, 320)
    struct.pack_into("<4I", page, 216, 3, 0, 12, 0)
    return bytes(page)


def dump(page: bytes, line: str, group: int) -> bytes:
    rows = [line.format(at=at, hex=page[at : at + 16].hex(" ", group)) for at in range(0, 512, 16)]
    return "".join(rows).encode()


@pytest.mark.parametrize(
    "data",
    [
        page_of(311),
        dump(page_of(311), "{at:08x}  {hex}  |................|\n", 1),
        dump(page_of(311), "{at:08x}: {hex}  ................\n", 2),
        b"Device:nvme0 log-id:2 namespace-id:0xffffffff\n       0  1  2  3  4  5  6  7\n"
        + dump(page_of(311), '{at:04x}: {hex} "................"\n', 1),
    ],
    ids=["raw", "hexdump", "xxd", "nvme"],
)
def test_a_page_of_a_drive_is_read_raw_or_dumped(data: bytes) -> None:
    (row,) = one(data).samples.rows(named=True)
    assert (row["temp_c.composite"], row["temp_c.sensor1"]) == (38, 47)
    assert row["throttle_time_s.warning"] == 120
    assert (row["throttle_count.tmt1"], row["throttle_time_s.tmt1"]) == (3, 12)


def test_pages_behind_each_other_are_a_series() -> None:
    log = one(page_of(311) + page_of(312) + bytes(512), mapping={"interval_s": "2"})
    assert log.samples["temp_c.composite"].to_list() == [38, 39]
    assert any(r.doubt and "1 pages are not health logs" in r.text for r in log.remarks)


def test_what_jc_makes_of_iostats_text_reads_like_the_text() -> None:
    """Each word of a header becomes a key: ``rkB/s`` is ``rkb_s``, ``%util`` ``percent_util``."""
    rows: list[dict[str, object]] = []
    header: list[str] = []
    whole = (DATA / "iostat/x.txt").read_text()
    for line in whole.splitlines():
        words = line.split()
        if words[:1] == ["avg-cpu:"]:
            rows.append({"type": "cpu", "percent_idle": 90.0, "percent_iowait": 0.0})
        elif words[:1] == ["Device"]:
            header = [re.sub(r"\W", "_", w.lower().replace("%", "percent_")) for w in words[1:]]
        elif header and len(words) == len(header) + 1:
            row = dict(zip(header, map(float, words[1:]), strict=True))
            rows.append({"type": "device", "device": words[0], **row})
    texts = (whole, json.dumps(rows), "\n".join(map(json.dumps, rows)))
    text, *documents = (read(Source.of_bytes("log", each.encode()))[0].samples for each in texts)
    for found in documents:
        for name in ("write_bw_mb_s", "read_iops", "write_lat_us", "busy_pct"):
            assert found[name].to_list() == text[name].to_list()


def test_a_document_behind_words_in_its_line_is_read_and_the_words_are_handed_over() -> None:
    data = b'1717500000 {"a": 1}\n12:00:05 {\n "a": 2\n}\nnoise {x}\n'
    documents = list(Source.of_bytes("x", data).documents())
    assert [(found.before, found.value) for found in documents] == [
        ("1717500000 ", {"a": 1}),
        ("12:00:05 ", {"a": 2}),
    ]


@pytest.mark.slow
def test_many_rows_are_read_as_few_are() -> None:
    header = "time_s,write MiB/s,temp [C],throttled\n"
    rows = [f"{i}.5,{i % 700}.25,{40 + i % 9},{'Yes' if i % 7 else 'No'}\n" for i in range(60_000)]
    rows[30_000] = "what is this?\n"
    rows[40_000] = '"40000.5","1,024.5",41,Yes\n'
    rows[50_000] = "50000.5,,41,\n"
    log = one(header + "".join(rows))
    few = one(header + "".join(rows[49_000:51_000])).samples
    assert any(r.doubt and "line 30002" in r.text for r in log.remarks)
    assert log.samples.height == 59_999
    assert log.samples["write_bw_mb_s"][39_999] == pytest.approx(1024.5 * 1.048576)
    some = log.samples[48_999:50_999]
    for column in ("write_bw_mb_s", "temp_c.composite"):
        assert some[column].to_list() == few[column].to_list()
    assert some["write_bw_mb_s"].null_count() == 1
    assert log.samples["throttle_time_s.throttling"][-1] > 40_000


def test_constant_surroundings_are_allowed_and_without_throughput_there_is_no_load() -> None:
    log = one(written("time_s,temp_c,cpu_temp,ambient\n«1..121»«i»,«temp(i)»,50,23.5"))
    trust = {sensor.name: sensor for sensor in sense(to_recording(log, {})).trusts}
    assert trust["ambient"].trust == "unknown"
    assert trust["cpu"].why == "it reads 50 C all the time"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("sar") is None, reason="needs sysstat")
@pytest.mark.parametrize(
    "command",
    ["iostat -x 1 3", "iostat -dmt 1 3", "iostat -xth 1 3", "iostat -o JSON -xt 1 3",
     "iostat -s 1 3", "sar -d -u 1 2"],
)  # fmt: skip
def test_the_installed_tool_is_read(command: str) -> None:
    env = {**os.environ, "LC_ALL": "C"}
    done = subprocess.run(command.split(), capture_output=True, check=True, env=env, timeout=200)
    if b"tps" not in done.stdout and b"r/s" not in done.stdout:
        pytest.skip("this machine has no block devices")
    for log in read(Source.of_bytes("x", done.stdout)):
        assert log.format == command.split()[0]
        # where others load the machine, a report comes late and has the next one's second
        times_s = log.samples["t_s"].to_list()
        assert len(times_s) in (1, 2)
        assert times_s == sorted(set(times_s))
        assert 0 <= times_s[0] <= times_s[-1] < 60
