"""fio's logs: what they measured comes out, whatever version wrote them and wherever they are cut.

Files in ``data/fio`` were written by fio 3.33 with limited rates, on a file of 8 MiB.
"""

import gzip
import random
from pathlib import Path

import pytest
from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.importer import Log, Source, read
from hypothesis import given, settings
from hypothesis import strategies as st

DATA = Path(__file__).parent / "data" / "fio"


def one(name: str, text: str | bytes) -> Log:
    data = text.encode() if isinstance(text, str) else text
    (log,) = read(Source.of_bytes(name, data))
    return log


def doubts(log: Log) -> list[str]:
    return [remark.text for remark in log.remarks if remark.doubt]


def rows(*numbers: tuple[int, ...]) -> str:
    return "".join(", ".join(map(str, row)) + "\n" for row in numbers)


TIMES = (500, 1000, 1500, 5000, 5500)


@pytest.mark.parametrize(
    ("name", "lines", "expected"),
    [
        ("x_bw.1.log", [(500, 1000, 0, 0), (1001, 2000, 0, 0), (1500, 1000, 0, 0)],
         {"t_s": [0.5, 1.001, 1.5], "interval_s": [0.5, 0.501, 0.499],
          "read_bw_mb_s": [1.024, 2.048, 1.024]}),
        # reads and writes of the same window share a row
        ("x_iops.log", [(500, 9, 0, 0), (502, 7, 1, 0), (1000, 8, 0, 0), (1001, 6, 1, 0)],
         {"t_s": [0.502, 1.001], "interval_s": [0.502, 0.499], "read_iops": [9, 8],
          "write_iops": [7, 6]}),
        # windows without a row had no I/O, and latency has none there; a gap is a single sample
        ("x_bw.1.log", [(t, 1000, 1, 0) for t in TIMES],
         {"t_s": [0.5, 1.0, 1.5, 4.5, 5.0, 5.5], "interval_s": [0.5, 0.5, 0.5, 3.0, 0.5, 0.5],
          "write_bw_mb_s": [1.024, 1.024, 1.024, 0.0, 1.024, 1.024]}),
        ("x_lat.1.log", [(t, 80000, 1, 0, 0) for t in TIMES],
         {"t_s": [t / 1000 for t in TIMES], "interval_s": [0.5] * 5, "write_lat_us": [80.0] * 5}),
        # fio 1: of three columns; fio 2: windows with a block size
        ("x_bw.log", [(500, 1000, 0), (1000, 2000, 0)],
         {"t_s": [0.5, 1.0], "interval_s": [0.5, 0.5], "read_bw_mb_s": [1.024, 2.048]}),
        ("x_bw.log", [(500 * i, 200_000, 0, 4096) for i in range(1, 9)],
         {"t_s": [i / 2 for i in range(1, 9)], "interval_s": [0.5] * 8,
          "read_bw_mb_s": [204.8] * 8}),
        # mean and maximum of a window
        ("x_lat.1.log", [(500, 8000, 9000, 0, 0, 0), (1000, 8000, 9500, 0, 0, 0)],
         {"t_s": [0.5, 1.0], "interval_s": [0.5, 0.5], "read_lat_us": [8, 8],
          "read_lat_max_us": [9, 9.5]}),
    ],
)  # fmt: skip
def test_windows_are_samples_that_end_at_their_times(
    name: str, lines: list[tuple[int, ...]], expected: dict[str, list[float]]
) -> None:
    log = one(name, rows(*lines))
    assert log.samples.columns == list(expected)
    for column, values in expected.items():
        assert log.samples[column].to_list() == pytest.approx(values)
    did = {column.partition("_")[0] for column in expected}
    assert (log.steps[0].reads, log.steps[0].writes) == ("read" in did, "write" in did)


def test_a_log_of_every_io_gives_sums_and_percentiles_of_tenths_of_a_second() -> None:
    ios = [(i, 100_000 + i, 0, 4096, 0) for i in range(200)]
    log = one("x_lat.1.log", rows(*ios, (199, 5_000_000, 0, 4096, 0)))
    first, second = log.samples.rows(named=True)
    assert (first["t_s"], first["read_iops"]) == (0.1, 1000)
    assert first["read_bw_mb_s"] == pytest.approx(4.096)
    assert first["read_lat_us"] == pytest.approx(100.0495)
    assert first["read_lat_p50_us"] == pytest.approx(100.049)
    assert first["read_lat_p99_us"] == pytest.approx(100.098)
    assert (second["read_iops"], second["read_lat_max_us"]) == (pytest.approx(1010), 5000)
    assert log.steps[0].bs == 4096


def test_the_rate_of_single_ios_is_not_taken_for_throughput() -> None:
    log = one("x_bw.1.log", rows(*((i, 900_000, 1, 65536, 0) for i in range(1000))))
    assert log.samples["write_bw_mb_s"].mean() == pytest.approx(65.536, rel=0.01)
    assert log.samples["write_iops"].mean() == pytest.approx(1000, rel=0.01)


@pytest.mark.parametrize(
    ("columns", "value", "microseconds", "doubt"),
    [
        ((0, 0, 0), 90_000, 90.0, False),
        ((0,), 90_000, 90.0, True),
        ((0,), 90, 90.0, True),
        ((0,), 9_000_000, 9000.0, True),
    ],
)
def test_latencies_are_ns_or_us_by_version_or_size(
    columns: tuple[int, ...], value: int, microseconds: float, doubt: bool
) -> None:
    log = one("x_lat.1.log", rows(*((500 * i, value, 0, *columns) for i in range(1, 5))))
    assert log.samples["read_lat_us"].to_list() == pytest.approx([microseconds] * 4)
    assert bool(doubts(log)) == doubt


def test_latencies_of_every_io_are_in_the_unit_that_keeps_a_likely_number_in_flight() -> None:
    ios = [(i // 10, 3000, 0, 4096) for i in range(20_000)]
    log = one("x_lat.1.log", rows(*ios))  # 10,000 a second: 30 in flight if us, 0.03 if ns
    assert log.samples["read_lat_us"][0] == 3000
    assert any("fio 2" in text for text in doubts(log))


def test_clock_times_are_recorded() -> None:
    log = one("clock_bw.1.log", (DATA / "clock_bw.1.log").read_bytes())
    assert log.clock == "utc"
    assert log.start_unix_s == pytest.approx(1795257486.632)
    assert log.samples["t_s"][0] == pytest.approx(0.25)
    assert log.samples["read_bw_mb_s"].mean() == pytest.approx(20.97, rel=0.01)


def test_histograms_give_rates_and_percentiles() -> None:
    log = one("clock_clat_hist.1.log", (DATA / "clock_clat_hist.1.log").read_bytes())
    assert log.clock == "utc"
    assert log.samples["read_iops"].to_list() == pytest.approx([320] * 3, rel=0.02)
    first = log.samples.row(0, named=True)
    assert 5 < first["read_lat_p50_us"] <= first["read_lat_p99_us"] <= first["read_lat_max_us"]


def test_a_log_of_every_io_under_another_name_gives_its_rates_all_the_same() -> None:
    log = one("log.txt", rows(*((i, 1, 0, 4096, 0) for i in range(1000))))
    assert log.samples["read_iops"].mean() == pytest.approx(1000, rel=0.02)
    log = one("log.txt", rows(*((i, 95_000, 0, 4096, 0) for i in range(1000))))
    assert log.samples["read_bw_mb_s"].mean() == pytest.approx(4.096, rel=0.02)
    assert any("name it as fio does" in text for text in doubts(log))


def test_time_that_restarts_is_another_run() -> None:
    logs = read(Source.of_path(DATA / "shared_bw.log"))
    assert [log.label for log in logs] == ["run 1", "run 2"]
    assert all("per_job_logs=0" in doubts(log)[0] for log in logs)


def test_damage_is_said_and_the_rest_read() -> None:
    text = rows((500, 8000, 0, 0)) + "garbage\n"
    text += rows(*((500 * i, 8000, 0, 0) for i in range(2, 6))) + "3000, 80"
    log = one("x_bw.1.log", text)
    assert log.samples.height == 5
    assert doubts(log) == ["x_bw.1.log: 2 lines could not be read, the first is line 2"]


def test_other_encodings_and_line_ends_say_the_same() -> None:
    text = (DATA / "mix_bw.1.log").read_text()
    expected = one("mix_bw.1.log", text).samples
    for data in (
        text.replace("\n", "\r\n").encode(),
        ("\ufeff" + text).encode(),
        text.encode("utf-16"),
        gzip.compress(text.encode()),
        text.strip().encode(),
        text.encode() + b"\0" * 4096,
    ):
        assert one("mix_bw.1.log", data).samples.equals(expected)


@pytest.mark.parametrize(
    ("name", "direction", "said"),
    [("x_bw.1.log", 2, "trims alone"), ("log.txt", 0, "name it as fio does")],
)
def test_what_tells_no_rate_is_an_error(name: str, direction: int, said: str) -> None:
    lines = rows((500, 8000, direction, 0), (1000, 8000, direction, 0))
    with pytest.raises(UsageError, match=said):
        read(Source.of_bytes(name, lines.encode()))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(seed=st.integers(0, 1 << 32), name=st.sampled_from(["x", "x_bw.1.log", "x_lat.log"]))
def test_nothing_but_our_errors_comes_of_mangled_logs(seed: int, name: str) -> None:
    chance = random.Random(seed)
    path = chance.choice(sorted(DATA.glob("*.log")))
    lines = path.read_bytes().splitlines(keepends=True)[:60]
    mangled = bytearray(b"".join(chance.sample(lines, len(lines)) if seed % 3 == 0 else lines))
    for _ in range(chance.randrange(8)):
        at = chance.randrange(len(mangled))
        odd = (b"9" * 25, b"-", b"\0", b"0x", b"1e400", b"\n", b"\xff", b"4611686018427387904")
        mangled[at : at + chance.randrange(4)] = chance.choice(odd)
    message = ""
    try:
        for log in read(Source.of_bytes(name, bytes(mangled))):
            assert log.samples["t_s"].is_sorted()
            assert log.samples["t_s"].null_count() == 0
    except HeatsoakError as error:
        message = str(error)
    assert "\n" not in message
