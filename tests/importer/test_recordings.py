"""What a log is once it is a recording."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis import analyze
from heatsoak.errors import UsageError
from heatsoak.importer import import_files
from heatsoak.importer.frames import build
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.recordings import save_all, to_recording
from heatsoak.protocol import Observed
from heatsoak.recording import find_recordings

SECONDS = np.arange(1.0, 301.0)


def a_log(**more: object) -> Log:
    columns = {
        "t_s": SECONDS,
        "interval_s": np.ones(300),
        "read_bw_mb_s": np.where(SECONDS <= 150, 900.0, 0.0),
        "write_bw_mb_s": np.where(SECONDS <= 150, 0.0, 500.0),
        "step": ["one"] * 150 + ["two"] * 150,
    }
    steps = (Observed(name="one"), Observed(name="two"))
    return Log("x", "a/mine.csv", build(columns), "utc", 1e9, steps, **more)  # type: ignore[arg-type]


def test_a_direction_that_did_nothing_is_ruled_out() -> None:
    one, two = to_recording(a_log(), {}).meta.protocol.workload_steps
    assert (one.reads, one.writes) == (True, False)
    assert (two.reads, two.writes) == (False, True)


def test_what_is_kept_is_judged_as_what_was_held(tmp_path: Path) -> None:
    held = to_recording(a_log(remarks=(Remark("odd", doubt=True),)), {"heatsink": "none"})
    (kept,) = save_all([held], tmp_path / "kept")
    assert kept.samples().equals(held.samples())
    assert kept.events == held.events
    before, after = (analyze([each]).recordings[0] for each in (held, kept))
    assert before.model_dump(exclude={"path"}) == after.model_dump(exclude={"path"})
    assert after.conditions == {"heatsink": "none"}
    assert "odd" in after.notes


def test_several_are_kept_side_by_side_in_their_order(tmp_path: Path) -> None:
    held = [to_recording(a_log(label=f"run {number}"), {}) for number in (1, 2, 3)]
    save_all(held, tmp_path / "all")
    found = find_recordings(tmp_path / "all")
    assert [recording.meta.conditions["run"] for recording in found] == ["1", "2", "3"]


def test_nothing_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="already exists"):
        save_all([to_recording(a_log(), {})], tmp_path / "kept")


def test_two_devices_of_one_log_are_no_two_runs_of_one_drive() -> None:
    fell = np.where(SECONDS <= 120, 1000.0, 400.0)
    samples = build({"t_s": SECONDS, "interval_s": np.ones(300), "write_bw_mb_s": fell})

    def evidence(*paths: str) -> str:
        logs = [Log("x", "a/mine.csv", samples, "utc", 1e9, drive={"path": p}) for p in paths]
        (first, _) = analyze([to_recording(log, {}) for log in logs]).recordings
        return " ".join(first.steps[0].episodes[0].evidence)

    assert "it repeats" in evidence("/dev/sda", "/dev/sda")
    assert "it repeats" not in evidence("/dev/sda", "/dev/sdb")


@pytest.mark.parametrize(
    ("first_c", "said"),
    [(40.0, "rose from 40 C to 60 C"), (60.0, "was 45 to 60 C, starting at 60 C")],
)
def test_a_temperature_without_a_load_is_described(first_c: float, said: str) -> None:
    temp_c = np.interp(SECONDS, [1, 61, 121, 300], [first_c, 45.0, 60.0, 45.0])
    samples = build({"t_s": SECONDS, "temp_c.composite": temp_c})
    (found,) = analyze([to_recording(Log("x", "a.csv", samples, "utc", 1e9), {})]).recordings
    assert f"the temperature {said}" in " ".join(found.notes)


def test_a_single_reading_is_described_as_one() -> None:
    samples = build({"t_s": SECONDS[:1], "temp_c.composite": np.array([45.0])})
    (found,) = analyze([to_recording(Log("x", "a.csv", samples, "utc", 1e9), {})]).recordings
    assert "45 C, in a single reading" in " ".join(found.notes)


def test_a_recording_starts_with_its_first_reading() -> None:
    log = a_log()
    early = Log(log.format, log.source, log.samples.with_columns(pl.col("t_s") - 60), "utc", 1e9)
    held = to_recording(early, {})
    assert held.samples()["t_s"][0] == pytest.approx(1.0)
    assert held.meta.started_unix_s == pytest.approx(1e9 - 60)


def table(*moments: str) -> str:
    rows = [f"{moment}:{second:02},500" for moment in moments for second in range(30)]
    return "\n".join(["time,write_mb_s", *rows, ""])


def test_a_clock_that_was_set_by_years_begins_another_run(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(table("1970-01-01 00:00", "2026-11-20 14:00"))
    one, two = import_files([log])
    assert [len(each.samples()) for each in (one, two)] == [30, 30]
    assert two.meta.load["imported"]["began_local"].startswith("2026-11-20T")


@pytest.mark.parametrize("year", [1931, 2311])
def test_a_log_of_a_machine_whose_clock_is_wrong_is_read(tmp_path: Path, year: int) -> None:
    log = tmp_path / "log.csv"
    log.write_text(table(f"{year}-11-20 14:00"))
    (one,) = import_files([log])
    assert len(one.samples()) == 30


@pytest.mark.parametrize(
    ("duration_s", "start_unix_s", "what"),
    [(2e9, 1e9, "over 63 years"), (None, 1e18, "only dates of the years 1 to 9999")],
)
def test_times_that_no_recording_has_are_refused(
    duration_s: float | None, start_unix_s: float, what: str
) -> None:
    log = replace(a_log(), duration_s=duration_s, start_unix_s=start_unix_s)
    with pytest.raises(UsageError, match=f"a/mine.csv: .*{what}"):
        to_recording(log, {})
