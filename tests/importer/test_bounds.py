"""Hostile files, and files damaged past recognition: bounds, and work that grows with the file."""

import gzip
import json
import lzma
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import polars as pl
import pytest
from command import complaint, heatsoak_here
from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.importer import Options, Source, import_files, read, source
from made_recording import make_recording, remake
from rest_long import rest_soak
from samples import DATA, written

TABLE = "time,write_mb_s,temp_c\n"


# --- work that grows with the file ---------------------------------------------------------------


def steps_of_work(do: Callable[[], object]) -> int:
    """How many lines Python runs."""
    count = 0

    def trace(_: FrameType, event: str, __: object) -> Any:
        nonlocal count
        count += event in ("line", "call")
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before)
    return count


_ROWS = "»\n«0..5»«i»,5«',1' * n»"
#: Of each shape a text of n parts, as the table writes texts; and how many.
GROWING = {
    "columns of temperatures": (
        f"time,write_mb_s,«','.join(f'temp {{k}}' for k in range(n)){_ROWS}",
        150,
    ),
    "columns of the same temperature": (f"time,write_mb_s«',Temp [C]' * n{_ROWS}", 150),
    "columns of throttling": (
        f"time,write_mb_s,«','.join(f'throttle {{k}}' for k in range(n)){_ROWS}",
        50,
    ),
    "devices": (
        "device,time,write_mb_s\n«''.join(f'd{k // 2},{k % 2},5\\n' for k in range(2 * n))»",
        50,
    ),
    "runs": ("run,time,write_mb_s\n«''.join(f'{k // 2},{k % 2},5\\n' for k in range(2 * n))»", 50),
    "steps": (
        "step,time,write_mb_s\n«''.join(f'{k // 3 % 2}x,{k},5\\n' for k in range(3 * n))»",
        150,
    ),
    "drives of nvme-cli": (
        "«''.join(f'Smart Log for NVME device:nvme{k}n1\\ntemperature: 4 C\\n' for k in range(n))»",
        50,
    ),
    "jobs of fio": (
        "«json.dumps({'fio version': 'fio-3.33', 'timestamp': 1700000000, 'jobs': "
        "[{'jobname': 'j', 'write': {'io_bytes': 1000000, 'runtime': 1000, 'total_ios': 9}}] * n}, "
        "indent=1)»",
        50,
    ),
    "drives of sar": (
        "Linux 6.1.0 (h) \t11/21/2026 \t_x86_64_\t(8 CPU)\n\n10:00:00 DEV tps rkB/s wkB/s %util\n"
        "«''.join(f'10:00:01 disk{k} 1 2 3 4\\n' for k in range(n))»",
        50,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("shape", GROWING)
def test_three_times_the_file_is_about_three_times_the_work(shape: str, tmp_path: Path) -> None:
    text, n = GROWING[shape]
    small, large = tmp_path / "small.log", tmp_path / "large.log"
    small.write_text(written(text, n=n))
    large.write_text(written(text, n=3 * n))
    import_files([small], Options(joins=False))  # what is loaded, or remembered, once
    few = steps_of_work(lambda: import_files([small], Options(joins=False)))
    assert steps_of_work(lambda: import_files([large], Options(joins=False))) < 4.5 * few


@pytest.mark.parametrize("begin", ["-", "=", "+-", "| - "])
def test_a_long_line_that_is_nearly_drawn_hangs_nothing(begin: str) -> None:
    text = "\n".join([begin * (200_000 // len(begin)) + "x", *["a,b"] * 30])
    with pytest.raises(HeatsoakError, match="not in a format"):
        read(Source.of_bytes("mine.log", text.encode()))


# --- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("time,write_mb_s," + ",".join("c" for _ in range(10_000)) + "\n" + "1,2\n" * 9, "columns"),
        ("".join(f"time,write_mb_s,c{i}\n{i},5,1\n" for i in range(2000)), "different headers"),
        (
            "run,time,write_mb_s\n" + "".join(f"{i},1,5\n{i},2,5\n" for i in range(3000)),
            "over 1,000 runs",
        ),
        (TABLE + "1,5,40\n" * 9 + "1" * (6 << 20), "line 11: is longer than 4 MiB"),
        (
            '{"smartctl": 1, "a": [\n' + "[],[],[],[]\n," * 1_300_000 + "[]\n]\n}\n",
            "line 1: holds a JSON document of over 5,000,000 values: split it",
        ),
        ("[" * 100_000, "not in a format"),
        ('{"smartctl": ' + "[" * 100_000 + "\n}", "recursion limit"),
        ('{"smartctl": 1, "temperature": {"current": ' + "9" * 10_000 + "}}\n", "number out of"),
    ],
    ids=range(8),
)
def test_what_is_beyond_any_log_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        read(Source.of_bytes("mine.log", text.encode()))
    assert str(caught.value).startswith("mine.log: ")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        TABLE + "".join(f"{i},5,40\n" for i in range(5000)),
        "".join(json.dumps({"time": i, "write_mb_s": 5}) + "\n" for i in range(5000)),
        "".join(f"temperature : {40 + i % 5} C\n" for i in range(1300)),
        written("«0..1300»«piece('nvme_json', i % 5)»"),
        "".join(f"{i * 100}, 1000, 1, 4096, 0\n" for i in range(8000)),
    ],
    ids=["table", "rows as JSON", "readings", "documents", "fio's log"],
)
def test_no_more_values_are_kept_than_there_is_room_for(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_KEPT", 1 << 16)
    with pytest.raises(UsageError, match=r"more values than are held at once .*: split it"):
        read(Source.of_bytes("mine.log", text.encode()))


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [
        "iostat/xt_en.txt",
        "iostat/x.json",
        "sar/sadf_p.txt",
        "dstat/dool.csv",
        "iometer/results-2004.csv",
        "diskspd/intervals.xml",
        "elbencho/livemix.csv",
        "crystaldiskmark/8.0.4-mix.txt",
        "as_ssd/mbs-de.txt",
    ],
)
def test_every_reader_counts_what_it_keeps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (DATA / name).read_bytes()
    assert read(Source.of_bytes(name, data))
    monkeypatch.setattr(source, "MAX_KEPT", 100)
    with pytest.raises(UsageError, match="more values than are held at once"):
        read(Source.of_bytes(name, data))


def test_a_compressed_log_that_grows_beyond_measure_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_UNPACKED", 8 << 20)
    path = tmp_path / "bomb.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(TABLE.encode() + b"1,5,40\n" * 100)
        for _ in range(12):
            file.write(b"\n" * (1 << 20))
    with pytest.raises(UsageError, match="unpacks to over 8 MiB, more than 500 times its size"):
        import_files([path])


def test_xz_that_needs_too_much_memory_to_unpack_is_refused() -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 400 << 20, "mode": lzma.MODE_FAST,
                "mf": lzma.MF_HC3, "nice_len": 8}]  # fmt: skip
    packer = lzma.LZMACompressor(lzma.FORMAT_XZ, filters=filters)
    data = packer.compress(TABLE.encode() + b"1,5,40\n" * 10) + packer.flush()
    with pytest.raises(UsageError, match="over 256 MiB of memory to unpack: unpack it with 'xz"):
        read(Source.of_bytes("mine.xz", data))


def test_streams_of_xz_behind_each_other_are_one_file() -> None:
    rows = "".join(f"{i},5,40\n" for i in range(200))
    data = lzma.compress(TABLE.encode()) + b"\0" * 8 + lzma.compress(rows.encode())
    (log,) = read(Source.of_bytes("mine.xz", data))
    assert log.samples.height == 200


@pytest.mark.slow
@pytest.mark.parametrize("kind", rest_soak(["rows", "readings", "documents"], 2))
def test_no_bomb_takes_more_than_one_and_a_half_gb(kind: str, tmp_path: Path) -> None:
    line, head = {
        "rows": (b"7,5,40\n", TABLE.encode()),
        "readings": (b"temperature : 40 C\n", b""),
        "documents": (b'{"time":1,"write_mb_s":5}\n', b""),
    }[kind]
    path = tmp_path / "bomb.xz"
    block = line * ((1 << 20) // len(line))
    with lzma.open(path, "wb", preset=0) as file:
        file.write(head)
        for _ in range(300):
            file.write(block)
    code = (
        "import sys\nfrom pathlib import Path\nfrom heatsoak.errors import UsageError\n"
        "from heatsoak.importer import import_files\n"
        "try:\n    import_files([Path(sys.argv[1])])\nexcept UsageError as error:\n"
        "    print(error)\n"
        # getrusage's peak would count the memory of the process that this one was forked from
        "print(Path('/proc/self/status').read_text().split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    *said, peak_kib = done.stdout.splitlines()
    assert len(said) == 1
    assert int(peak_kib) < 1_500_000


# --- what is no file -----------------------------------------------------------------------------


@pytest.mark.parametrize("command", [["analyze"], ["import", "-o", "out"], ["lab", "trace"]])
def test_a_pipe_is_refused_at_once(command: list[str], tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert "is a pipe" in complaint(heatsoak_here(*command, str(pipe), cwd=tmp_path), 2)


def test_a_device_is_refused_at_once(tmp_path: Path) -> None:
    said = complaint(heatsoak_here("analyze", "/dev/zero", cwd=tmp_path), 2)
    assert "/dev/zero: is a device, not a regular file" in said


# --- recordings ----------------------------------------------------------------------------------


def test_a_recording_that_claims_more_than_memory_holds_is_refused(tmp_path: Path) -> None:
    columns = [f"temp_c.sensor{i}" for i in range(1, 41)]
    few = pl.DataFrame({"t_s": [1.0, 2.0], **{name: [40.0, 40.0] for name in columns}})
    recording = make_recording(tmp_path / "r", few.with_columns(step=pl.lit("load")))
    rows = 4_000_000
    same = pl.Series("same", [40.0]).new_from_index(0, rows)
    many = pl.DataFrame([same.alias(name) for name in ("t_s", *columns)])
    many.with_columns(step=pl.lit("load")).write_parquet(recording.path / "samples.parquet")
    assert (recording.path / "samples.parquet").stat().st_size < 4 << 20
    opened = remake(recording.path)
    with pytest.raises(UsageError, match=r"4,000,000 samples of 42 columns are too many"):
        opened.samples()
    assert opened.samples(["t_s", "step"]).height == rows
