"""AS SSD Benchmark's result text."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Log, Source, detect, read

DATA = Path(__file__).parent / "data" / "as_ssd"


def _read(name: str) -> Log:
    (log,) = read(Source.of_path(DATA / name))
    return log


def test_results_are_recognized_by_their_content() -> None:
    for path in DATA.iterdir():
        assert detect(Source.of_path(path)).name == "as_ssd"


def test_sections_are_steps_of_known_loads() -> None:
    log = _read("mbs-de.txt")
    assert [(step.name, step.rw, step.bs, step.numjobs) for step in log.steps] == [
        ("sequential, read", "read", 16 << 20, 1),
        ("sequential, write", "write", 16 << 20, 1),
        ("random 4K, read", "randread", 4096, 1),
        ("random 4K, write", "randwrite", 4096, 1),
        ("random 4K, 64 threads, read", "randread", 4096, 64),
        ("random 4K, 64 threads, write", "randwrite", 4096, 64),
        ("access time, read", "randread", None, 1),
        ("access time, write", "randwrite", None, 1),
    ]
    assert log.drive == {"model": "Samsung SSD 970 EVO Plus 500GB"}
    assert log.tools == {"as-ssd": "2.0.7316.34247"}


def test_megabytes_are_2_to_the_20_with_points_or_commas() -> None:
    log = _read("mbs-de.txt")
    assert log.samples["read_bw_mb_s"][0] == pytest.approx(2468.65 * 1.048576)
    assert log.samples["read_lat_us"][6] == pytest.approx(98)


def test_iops_give_the_same_rates() -> None:
    ios, megabytes = _read("iops.txt").samples, _read("mbs-de.txt").samples
    for column in ("read_bw_mb_s", "write_bw_mb_s"):
        rates = ios[column][:6].drop_nulls().to_list()
        assert rates == pytest.approx(megabytes[column][:6].drop_nulls().to_list(), rel=1e-3)
    assert ios["read_iops"][2] == 15521


def test_several_results_are_runs() -> None:
    data = b"\n".join(path.read_bytes() for path in sorted(DATA.iterdir()))
    assert [log.label for log in read(Source.of_bytes("x", data))] == ["run 1", "run 2"]


def test_a_result_that_was_stopped_is_an_error() -> None:
    with pytest.raises(UsageError, match="holds no results"):
        read(Source.of_bytes("x", b"AS SSD Benchmark 2.0.7316.34247\nSequential:\nRead: 0.00 MB/s"))
