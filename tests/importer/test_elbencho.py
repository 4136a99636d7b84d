"""elbencho's live CSV, and the results of its phases."""

from pathlib import Path

import pytest
from heatsoak.importer import Log, Source, import_files, read

DATA = Path(__file__).parent / "data" / "elbencho"


def log_of(name: str) -> Log:
    (log,) = read(Source.of_path(DATA / name))
    return log


def test_phases_become_steps_of_one_direction() -> None:
    log = log_of("live.csv")
    assert [(step.name, step.reads, step.writes) for step in log.steps] == [
        ("WRITE", False, True),
        ("READ", True, False),
    ]
    write = log.samples.filter(log.samples["step"] == "WRITE")
    assert write["t_s"].to_list() == [2.0, 4.0, 6.0]
    assert write["read_bw_mb_s"].null_count() == 3
    assert log.clock == "utc"
    assert log.start_unix_s == pytest.approx(1795257106.715)


def test_bandwidth_comes_from_the_exact_count_of_bytes() -> None:
    log = log_of("live.csv")
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(245366784 / 2 / 1e6)
    assert log.samples["write_bw_mb_s"][1] == pytest.approx((497025024 - 245366784) / 2 / 1e6)
    assert log.samples["write_lat_us"][0] == 28713
    assert log.samples["cpu_pct"][0] == 97


def test_a_mix_has_its_reads_and_its_writes() -> None:
    log = log_of("livemix.csv")
    (step,) = log.steps
    assert step.reads
    assert step.writes
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(31129600 / 2 / 1e6)
    assert log.samples["read_bw_mb_s"][0] == pytest.approx(31686656 / 2 / 1e6)
    assert log.samples["read_iops"][0] == 967


def test_an_old_version_without_dates_has_its_phases_in_a_row() -> None:
    log = log_of("v2.csv")
    assert log.clock == "none"
    assert log.samples["t_s"].to_list() == [1.0, 3.0, 4.0]
    assert log.samples["write_bw_mb_s"].to_list() == [1000, 500, None]
    assert log.samples["read_bw_mb_s"][2] == 3000
    assert any(remark.doubt and "no dates" in remark.text for remark in log.remarks)


def test_threads_are_summed_where_no_row_is_of_all() -> None:
    lines = (DATA / "v2.csv").read_text().splitlines()
    text = "\n".join(line for line in lines if "Total" not in line)
    (log,) = read(Source.of_bytes("log", text.encode()))
    assert log.samples["write_bw_mb_s"].to_list() == [1000]


def test_another_label_is_another_run() -> None:
    text = (DATA / "live.csv").read_text()
    header, body = text.split("\n", 1)
    logs = read(Source.of_bytes("log", f"{header}\n{body}{body.replace('a b', 'c')}".encode()))
    assert [log.label for log in logs] == ["a b", "c"]


@pytest.mark.parametrize("name", ["res.csv", "res.json", "res.txt"])
def test_results_give_each_phase_s_mean_and_its_parameters(name: str) -> None:
    log = log_of(name)
    assert [step.name for step in log.steps] == ["WRITE", "READ", "RWMIX50"]
    assert [step.rw for step in log.steps] == ["write", "read", "randrw"]
    assert [step.bs for step in log.steps] == [1 << 20, 1 << 20, 16384]
    assert [step.iodepth for step in log.steps] == [4, 4, 4]
    assert log.samples["write_bw_mb_s"][0] == pytest.approx(138.6, rel=0.01)
    assert log.samples["read_bw_mb_s"][2] == pytest.approx(17.4, rel=0.06)
    assert log.samples["read_lat_us"][2] == pytest.approx(2149, rel=0.01)
    assert any("--livecsv" in remark.text for remark in log.remarks)


def test_the_files_of_one_run_are_one_recording(tmp_path: Path) -> None:
    for end in ("csv", "json", "txt"):  # the live file has no mix
        kept = (DATA / f"res.{end}").read_text().partition("RWMIX50     ")[0]
        lines = [line for line in kept.splitlines() if "RWMIX50" not in line]
        (tmp_path / f"a.{end}").write_text("\n".join(lines))
    # an older version: without dates
    rows = [line.split(",") for line in (DATA / "live.csv").read_text().splitlines()]
    (tmp_path / "a.live.csv").write_text("\n".join(",".join(row[1:]) for row in rows))
    (recording,) = import_files([tmp_path])
    write, _ = recording.meta.protocol.workload_steps
    assert write.describe() == "sequential write, 1m, QD4, 2 jobs"
    times = recording.samples()["t_s"].to_list()
    assert times == pytest.approx([2, 4, 6, 8.127, 10.127, 12.127], abs=1e-3)
    assert recording.meta.started_unix_s == pytest.approx(1795257106.714)


def test_two_drives_that_were_tested_at_once_are_two_recordings(tmp_path: Path) -> None:
    for drive, wrote_ms in (("a", "6052"), ("b", "6031")):
        for name in ("res.csv", "res.json"):
            text = (DATA / name).read_text().replace("6052", wrote_ms)
            (tmp_path / f"{name[4]}-of-{drive}.{name[4:]}").write_text(text)
    assert len(import_files([tmp_path])) == 2
