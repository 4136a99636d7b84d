"""``heatsoak history``: whether drives are slower than they were."""

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import heatsoak
import numpy as np
import polars as pl
import pytest
import tiny
from command import complaint, done_here, heatsoak_here, json_here
from heatsoak.facts.table import SCHEMA
from heatsoak.history import NAME, Series, history, read_index, update
from heatsoak.history.trend import TrendFit
from heatsoak.recording.meta import EVENTS, META, PARQUET
from made_once import made_once
from made_recording import remake
from schema_check import complaints
from scipy.signal import lfilter

DAY_S = 86400
BEGAN_UNIX_S = datetime.datetime(2025, 3, 3, tzinfo=datetime.UTC).timestamp()
RUNS = 10
DAYS_APART = 30
#: What the aging drive loses in a year.
AGEING = 0.2


def dated(
    path: Path,
    number: int,
    serial: str = "S1234",
    firmware: str = "3B2",
    labels: Mapping[str, str] | None = None,
) -> None:
    """Let a recording be of a certain drive, `number` times `DAYS_APART` after the first."""
    meta = json.loads((path / META).read_text())
    meta["started_unix_s"] = BEGAN_UNIX_S + number * DAYS_APART * DAY_S
    meta["drive"] |= {"serial": serial, "model": "Samsung 990 PRO"}
    meta["drive"]["details"] |= {"firmware": firmware}
    meta["conditions"] = dict(labels or {})
    remake(path, **meta)


def make_runs(directory: Path, drive: str) -> None:
    """Run a protocol on simulated drives that read a little slower each time, with some noise."""
    (directory / "tiny.toml").write_text(tiny.READ.replace("runtime", "iodepth = 32, runtime"))
    noise = np.random.default_rng(3).normal(0, 0.004, RUNS)
    for number in range(RUNS):
        years = number * DAYS_APART / 365.25
        mb_s = 2500 * np.exp(np.log(1 - AGEING) * years + noise[number])
        text = drive.replace("\nread_mb_s = { value = 2500", f"\nread_mb_s = {{ value = {mb_s:.1f}")
        assert text != drive
        (directory / "aged.toml").write_text(text)
        place = f"sim:{directory / 'aged.toml'}"
        (run,) = heatsoak.run(directory / "tiny.toml", place, output=directory / str(number))
        dated(run.path, number)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory, small_drive_text: str) -> Path:
    return made_once(
        tmp_path_factory, "history", lambda directory: make_runs(directory, small_drive_text)
    )


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    """Recordings of a drive that ages by 20 % a year."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


def updated(directory: Path) -> tuple[int, list[str]]:
    """How many recordings were judged, and what was said of the damaged ones."""
    damaged: list[str] = []
    done = update(
        directory, directory / NAME, lambda *_: None, lambda error: damaged.append(str(error))
    )
    return done.judged, damaged


def test_ageing_is_found_within_its_interval(runs: Path) -> None:
    done = done_here("history", "runs", "--fail-on", "slower", cwd=runs.parent, code=1)
    first = done.stdout.splitlines()[0]
    assert first.startswith("S1234 (Samsung 990 PRO): sequential read is ")
    assert "% slower (" in first
    assert first.endswith(" than in March 2025; gradually")  # nine months tell no rate a year
    (series,) = history(runs / NAME).series
    assert series.verdict == "slower"
    assert series.per_year is not None
    assert -100 * AGEING in series.per_year
    # of nine months, a season may make up for some of it
    assert series.per_year.high - series.per_year.low < 12
    assert series.changes == []


def test_what_firmware_did_is_not_called_ageing(runs: Path) -> None:
    newest = json.loads((runs / str(RUNS - 1) / META).read_text())
    slow = RUNS - 1
    for number in range(RUNS):
        # the slowest recording stands for all with the new firmware, the newest but one for others
        source = runs / str(slow if number >= RUNS // 2 else 0)
        shutil.copytree(source, runs.parent / "updated" / str(number))
    assert newest["drive"]["serial"] == "S1234"
    for number in range(RUNS):
        firmware = "4B2" if number >= RUNS // 2 else "3B2"
        dated(runs.parent / "updated" / str(number), number, firmware=firmware)
    done = heatsoak_here("history", "updated", "--format", "json", cwd=runs.parent)
    found = json.loads(done.stdout)
    (series,) = found["series"]
    assert series["verdict"] == "slower"
    assert series["per_year"]["pct"] == pytest.approx(0, abs=0.1)
    assert series["since"]["after"] == series["firmware"] == "4B2"
    since = datetime.date(2025, 3, 3) + datetime.timedelta(days=DAYS_APART * RUNS // 2)
    assert series["since"]["date"] == str(since)
    assert found["sentence"].endswith(f"; since firmware 4B2 ({since})")


def test_another_place_is_not_ageing(runs: Path) -> None:
    moved = runs.parent / "moved"
    for number in range(RUNS):
        shutil.copytree(runs / str(0 if number < 6 else RUNS - 1), moved / str(number))
        dated(moved / str(number), number, labels={"heatsink": "big" if number < 6 else "none"})
    updated(moved)
    (series,) = history(moved / NAME).series
    assert series.verdict == "same"
    (change,) = series.changes
    assert (change.kind, change.before, change.after) == ("place", "heatsink big", "heatsink none")
    assert change.effect is not None
    assert change.effect.mid < -10


def test_firmware_and_place_that_changed_together_are_told_together(tmp_path: Path) -> None:
    is_late = np.arange(36) >= 18
    columns = {
        "firmware": pl.Series(np.where(is_late, "4B2", "3B2")),
        "place": pl.Series(np.where(is_late, "slot low", "slot top")),
    }
    rows = summaries("S1", noisy(0) * np.where(is_late, 0.88, 1.0), **columns)
    (series,) = history(drives_of(tmp_path, [rows])).series
    (change,) = series.changes
    assert (change.kind, change.before) == ("together", "firmware 3B2 and place slot top")
    assert change.effect is not None
    assert -12 in change.effect
    assert series.verdict == "slower"
    assert series.since == change
    assert "; since firmware 4B2 and place slot low (2025-08-30), together: " in series.text


@pytest.mark.parametrize("column", ["firmware", "place", "host"])
def test_what_came_back_is_told_with_its_end(tmp_path: Path, column: str) -> None:
    for number, (named, until) in enumerate(
        [("A" * 12 + "B" * 12 + "A" * 12, 24), ("A" * 12 + "BA" * 6 + "B" * 12, None)]
    ):
        rates = noisy(0) * np.where(np.array(list(named)) == "B", 0.88, 1.0)
        rows = summaries("S1", rates, **{column: pl.Series(list(named))})
        (tmp_path / str(number)).mkdir()
        (series,) = history(drives_of(tmp_path / str(number), [rows])).series
        (change,) = series.changes
        assert (change.kind, change.before, change.after) == (column, "A", "B")
        assert change.effect is not None
        assert change.effect.mid < -10
        began = datetime.datetime.fromtimestamp(BEGAN_UNIX_S, datetime.UTC).date()
        assert change.until == (until and began + datetime.timedelta(days=10 * until))


def test_only_new_and_changed_recordings_are_judged_again(runs: Path) -> None:
    assert updated(runs) == (RUNS, [])
    assert updated(runs) == (0, [])
    dated(runs / "3", 3, firmware="9")
    shutil.copytree(runs / "0", runs / "more" / "new")
    assert updated(runs) == (2, [])
    rows = read_index(runs / NAME)
    assert rows.filter(pl.col("path") == "3")["firmware"].to_list() == ["9"]
    shutil.rmtree(runs / "more")
    assert updated(runs) == (0, [])
    assert "more/new" not in read_index(runs / NAME)["path"]


def test_an_index_of_another_heatsoak_is_made_again(runs: Path) -> None:
    updated(runs)
    rows = read_index(runs / NAME).with_columns(judged_by=pl.lit("0.0.1"))
    rows.write_parquet(runs / NAME)
    assert updated(runs) == (RUNS, [])


def test_two_processes_at_once_lose_nothing(runs: Path) -> None:
    words = [sys.executable, "-m", "heatsoak", "history", "runs", "--format", "json"]
    both = [
        subprocess.Popen(words, cwd=runs.parent, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for process in both:
        said, _ = process.communicate(timeout=280)
        assert process.returncode == 0
        assert json.loads(said)["recordings"] == RUNS
    assert read_index(runs / NAME)["path"].n_unique() == RUNS == len(read_index(runs / NAME))


def test_rows_that_another_process_added_meanwhile_are_kept(runs: Path) -> None:
    added: list[int] = []

    def meanwhile(_done: float, _text: str) -> None:
        if not added:
            added.append(0)
            added[0] = updated(runs)[0]

    done = update(runs, runs / NAME, meanwhile, lambda _: None)
    assert added == [RUNS]
    assert done.judged == RUNS
    assert len(read_index(runs / NAME)) == RUNS


def test_damaged_recordings_get_a_line_each_and_are_left_out(runs: Path) -> None:
    updated(runs)
    (runs / "2" / META).write_text("{")
    (runs / "4" / PARQUET).write_bytes(b"PAR1 no more")
    done = done_here("history", "runs", cwd=runs.parent, code=3)
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"heatsoak: left out: {Path('runs', '2', META)}: ")
    assert lines[1].startswith(
        f"heatsoak: left out: {Path('runs', '4')}: this recording was changed"
    )
    assert done.stdout.startswith("S1234 (Samsung 990 PRO): sequential read is ")
    assert set(read_index(runs / NAME)["path"]) == {str(n) for n in range(RUNS)} - {"2", "4"}


def test_a_step_that_was_cut_short_is_not_compared(runs: Path) -> None:
    lines = (runs / "9" / EVENTS).read_text().splitlines()
    (runs / "9" / EVENTS).write_text(
        "".join(f"{line}\n" for line in lines if "step-end" not in line)
    )
    remake(runs / "9", status="interrupted")
    updated(runs)
    found = history(runs / NAME)
    assert found.left_out.not_comparable == 1
    assert [one.runs for one in found.series] == [RUNS - 1]


def test_the_output_is_as_its_schema_says(runs: Path) -> None:
    schema = json.loads(heatsoak_here("lab", "schema", "history", cwd=runs).stdout)
    assert complaints(json_here("history", ".", cwd=runs), schema) == []


def test_the_index_may_be_elsewhere_and_be_asked_alone(runs: Path) -> None:
    made = done_here("history", "runs", "-o", "years.parquet", cwd=runs.parent)
    assert not (runs / NAME).exists()
    shutil.rmtree(runs)
    asked = heatsoak_here("history", "years.parquet", cwd=runs.parent)
    assert asked.stdout == made.stdout


def test_a_name_that_looks_like_a_pattern_is_a_name(runs: Path) -> None:
    runs.rename(runs.parent / "[1]*")
    done = done_here("history", "[1]*", cwd=runs.parent)
    assert "10 recordings are summed up" in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nowhere",), "nowhere: cannot be read: No such file or directory"),
        (("empty",), "empty: has no recording in it (a directory with recording.json)"),
        (("runs", "--drive", "S1243"), "--drive S1243: there is no such drive (did you mean"),
        (("runs", "--workload", "writes"), "there is read (sequential read, 128k, QD32)"),
        (("runs", "--since", "2099-01-01"), "--since 2099-01-01: no recording is as new"),
        (("runs", "--since", "March"), "is not a date such as 2025-03-01"),
        (("text.parquet",), "text.parquet: is not an index of heatsoak history"),
        (("text.parquet", "-o", "x"), "-o x: an index is only made of a directory"),
        (("runs", "-o", "text.parquet"), "text.parquet: is not an index of heatsoak history"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(runs: Path, words: tuple[str, ...], said: str) -> None:
    (runs.parent / "empty").mkdir()
    (runs.parent / "text.parquet").write_text("text")
    assert said in complaint(heatsoak_here("history", *words, cwd=runs.parent), 2)


def test_an_index_that_is_damaged_inside_is_one_line(runs: Path) -> None:
    updated(runs)
    content = bytearray((runs / NAME).read_bytes())
    content[4 : len(content) // 2] = bytes(len(content) // 2 - 4)
    (runs.parent / NAME).write_bytes(content)
    said = complaint(heatsoak_here("history", NAME, cwd=runs.parent), 2)
    assert f"{NAME}: is damaged: " in said
    (runs / NAME).write_bytes(content)
    assert f"{NAME}: is damaged: " in complaint(heatsoak_here("history", ".", cwd=runs), 2)


def summaries(drive: str, rates: np.ndarray[Any, Any], **columns: Any) -> pl.DataFrame:
    """Rows of one drive's index, ten days apart."""
    count = len(rates)
    rows = pl.DataFrame(
        {
            "path": [f"{drive}/{number}" for number in range(count)],
            "started_unix_s": BEGAN_UNIX_S + 10 * DAY_S * np.arange(count),
            "mean_mb_s": rates,
            "before_mb_s": rates,
        }
    ).with_columns(
        drive=pl.lit(drive),
        host=pl.lit(""),
        place=pl.lit(""),
        protocol=pl.lit("x"),
        step=pl.lit("write"),
        workload=pl.lit("sequential write, 128k, QD32"),
        alike=pl.lit("x"),
        is_comparable=pl.lit(True),
        verdict=pl.lit("steady"),
    )
    rows = rows.with_columns(**columns)
    missing = {name: pl.lit(None) for name in SCHEMA if name not in rows.columns}
    return rows.with_columns(**missing).select(
        pl.col(name).cast(kind) for name, kind in SCHEMA.items()
    )


def drives_of(tmp_path: Path, frames: list[pl.DataFrame]) -> Path:
    index = tmp_path / NAME
    pl.concat(frames).write_parquet(index)
    return index


def noisy(seed: int, count: int = 36, sigma: float = 0.02) -> np.ndarray[Any, Any]:
    return np.asarray(2000 * np.exp(np.random.default_rng(seed).normal(0, sigma, count)))


def test_where_nothing_changes_nothing_is_found(tmp_path: Path) -> None:
    # twenty drives of a year: 2 % of noise from run to run, and one in ten runs disturbed
    frames = []
    for seed in range(20):
        disturbed = np.random.default_rng(100 + seed).random(36) < 0.1
        frames.append(summaries(f"S{seed}", noisy(seed) * np.where(disturbed, 0.7, 1.0)))
    found = history(drives_of(tmp_path, frames))
    verdicts = [one.verdict for one in found.series]
    assert not {"slower", "faster"} & set(verdicts)
    assert verdicts.count("same") >= 10  # of the others, 5 % cannot be excluded


def test_without_disturbances_a_loss_is_excluded(tmp_path: Path) -> None:
    frames = [summaries(f"S{seed}", noisy(seed, sigma=0.01)) for seed in range(20)]
    found = history(drives_of(tmp_path, frames))
    assert [one.verdict for one in found.series] == ["same"] * 20
    assert found.slower == "no"
    least = min(one.change.low for one in found.series if one.change)
    loss = f"more than {-least:.2g} % slower"
    assert found.sentence == f"None of 20 drives is {loss} than it was, in 20 workloads"
    assert f" is not {loss} than in March 2025 (" in "".join(one.text for one in found.series)


def test_a_loss_is_found_in_nearly_all_of_twenty(tmp_path: Path) -> None:
    lost = np.linspace(0, np.log(0.92), 36)
    frames = [summaries(f"S{seed}", noisy(seed) * np.exp(lost)) for seed in range(20)]
    found = history(drives_of(tmp_path, frames))
    verdicts = [one.verdict for one in found.series]
    assert verdicts.count("slower") >= 18
    assert set(verdicts) <= {"slower", "cannot-tell"}
    changes = [one.change for one in found.series if one.change is not None]
    assert len(changes) == 20
    # 95 % intervals: of 20, fewer than 16 would hold the truth once in 400 times
    assert sum(-8 in one for one in changes) >= 16
    assert f"; {verdicts.count('slower') - 1} more of 20 drives are slower too" in found.sentence


def test_a_year_and_more_tell_a_rate_a_year(tmp_path: Path) -> None:
    lost = np.exp(np.linspace(0, np.log(0.84), 73))
    found = history(drives_of(tmp_path, [summaries("S1", noisy(0, 73) * lost)]))
    assert re.search(r"; gradually, -\d+(\.\d)? % a year", found.sentence)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = 0
    firmware = np.repeat([0, 1], 12)
    for seed in range(400):
        days = np.arange(0.0, 240.0, 10.0)
        logs = np.asarray(np.log(noisy(seed, 24)) - 0.1 * firmware - 0.05 * days / 365.25, float)
        fit = TrendFit(days, logs, np.zeros(24, np.int64), firmware)
        change = fit.change(firmwares=[(0, 1)])
        assert change is not None
        held += -0.1 in change.of_log
    # 95 % of 400 are 380, give or take 4.4
    assert 365 <= held <= 395


def test_too_few_days_are_said_to_be_too_few(tmp_path: Path) -> None:
    found = history(drives_of(tmp_path, [summaries("S1", noisy(0, 3))]))
    assert found.slower == "cannot-tell"
    assert found.sentence.endswith("was recorded on 3 days: too few to tell whether it is slower")


def test_a_drive_that_only_throttles_sooner_is_said_to_begin_as_fast(tmp_path: Path) -> None:
    lost = np.exp(np.linspace(0, np.log(0.9), 36))
    rows = summaries("S1", noisy(0) * lost, before_mb_s=pl.Series(noisy(1)))
    (series,) = history(drives_of(tmp_path, [rows])).series
    assert series.verdict == "slower"
    assert series.text.endswith("; it begins as fast as then, and falls sooner or further")


def test_of_rounds_the_last_counts(tmp_path: Path) -> None:
    rows = summaries("S1", noisy(0, 12))
    early = rows.with_columns(round=pl.lit(1, pl.Int64), mean_mb_s=pl.lit(9000.0))
    late = rows.with_columns(round=pl.lit(7, pl.Int64))
    (series,) = history(drives_of(tmp_path, [early, late])).series
    assert series.runs == 12
    assert series.rate == pytest.approx(2000, rel=0.05)


def test_firmware_that_was_not_recorded_is_no_change(tmp_path: Path) -> None:
    known = pl.Series([None, "1B", None, "1B", None, "2B", None, "2B", "2B", None, None, "2B"])
    rows = summaries("S1", noisy(0, 12), firmware=known)
    (series,) = history(drives_of(tmp_path, [rows])).series
    (change,) = series.changes
    assert (change.before, change.after) == ("1B", "2B")


def test_clocks_that_were_never_set_make_no_history(tmp_path: Path) -> None:
    rates = noisy(1)
    rates[:3] *= 3
    dates = BEGAN_UNIX_S + 10 * DAY_S * np.arange(len(rates))
    dates[:3] = [0.0, 300.0, 4e9]
    found = history(drives_of(tmp_path, [summaries("S1", rates, started_unix_s=dates)]))
    assert found.left_out.wrongly_dated == 3
    (series,) = found.series
    assert series.verdict in ("same", "cannot-tell")
    assert series.first.year == 2025


def test_a_sudden_change_is_dated(tmp_path: Path) -> None:
    frames, begins = [], []
    for seed in range(10):
        first = 8 + 2 * seed
        lost = np.where(np.arange(36) < first, 1.0, 0.89)
        frames.append(summaries(f"S{seed}", noisy(seed) * lost))
        begins.append(datetime.date(2025, 3, 3) + datetime.timedelta(days=10 * first))
    found = history(drives_of(tmp_path, frames))
    assert len(found.series) == 10
    named = 0
    for one in found.series:
        begin = begins[int(one.drive.removeprefix("S"))]
        (sudden,) = [change for change in one.changes if change.kind == "sudden"]
        assert abs((sudden.date - begin).days) <= 10
        assert sudden.effect is not None
        assert sudden.effect.high < 0
        named += one.verdict == "slower" and one.since == sudden
    assert named >= 9
    assert f"; suddenly, since {begins[0]}" in history(tmp_path / NAME, drive="S0").sentence


def runs_begun(series: Series) -> list[int]:
    """The runs that sudden changes begin with, or are undone by."""
    of = [change for change in series.changes if change.kind == "sudden"]
    dates = [date for change in of for date in (change.date, change.until) if date is not None]
    return [(date - datetime.date(2025, 3, 3)).days // 10 for date in dates]


@pytest.mark.parametrize("late", [3, 4, 5])
def test_the_newest_runs_tell_a_sudden_change(tmp_path: Path, late: int) -> None:
    lost = np.where(np.arange(48) >= 48 - late, 0.8, 1.0)
    frames = [summaries(f"S{seed}", noisy(seed, 48) * lost) for seed in range(10)]
    found = history(drives_of(tmp_path, frames)).series
    told = [one for one in found if one.verdict == "slower" and runs_begun(one) == [48 - late]]
    assert len(told) >= 9
    assert all(one.change is not None and -20 in one.change for one in told[:-1])
    when = r"since about 2026-\d\d-\d\d, on \d days" if late < 5 else r"since 2026-\d\d-\d\d"
    assert all(re.search(f"; suddenly, {when}, for a reason", one.text) for one in told)


def test_bad_days_at_the_end_are_no_change(tmp_path: Path) -> None:
    frames = []
    for seed in range(10):
        rates = noisy(seed, 48)
        rates[[-1, -3]] *= 0.7
        rates[-4:] *= 0.7 if seed == 0 else 1.0  # all of them are a change
        frames.append(summaries(f"S{seed}", rates))
    found = history(drives_of(tmp_path, frames)).series
    assert [one.drive for one in found if one.verdict == "slower" or one.changes] == ["S0"]


def test_a_change_that_was_undone_is_told_with_its_end(tmp_path: Path) -> None:
    is_slow = (np.arange(48) >= 20) & (np.arange(48) < 36)
    frames = [
        summaries(f"S{seed}", noisy(seed, 48) * np.where(is_slow, 0.85, 1.0)) for seed in range(10)
    ]
    found = history(drives_of(tmp_path, frames)).series
    told = [one for one in found if runs_begun(one) == [20, 36]]
    assert len(told) >= 8
    assert not [one for one in found if one.verdict in ("slower", "faster")]
    assert all(
        re.search(
            r"; it became 1\d % slower \(.*\) suddenly, on 2025-09-19, and came back by 2026-02-26",
            one.text,
        )
        for one in told
    )


def test_two_steps_are_told_with_their_dates(tmp_path: Path) -> None:
    lost = 0.9 ** ((np.arange(48) >= 20) + 1.0 * (np.arange(48) >= 34))
    frames = [summaries(f"S{seed}", noisy(seed, 48) * lost) for seed in range(10)]
    found = history(drives_of(tmp_path, frames)).series
    told = [one for one in found if runs_begun(one) == [20, 34]]
    assert len(told) >= 8
    for one in told:
        assert one.verdict == "slower"
        assert "suddenly, since 2025-09-19" in one.text
        assert "suddenly, since 2026-02-06" in one.text


@pytest.mark.parametrize("key", ["model", "size_bytes"])
def test_two_drives_under_one_serial_are_two(tmp_path: Path, key: str) -> None:
    told: dict[str, tuple[Any, Any]] = {"model": ("N7", "X9"), "size_bytes": (10**12, 2 * 10**12)}
    rows = [
        summaries("S1", noisy(seed, 18) * rate, serial=pl.lit("S1"), **{key: pl.lit(value)})
        for seed, (rate, value) in enumerate(zip((1.0, 0.8), told[key], strict=True))
    ]
    later = pl.col("started_unix_s") + 180 * DAY_S
    rows[1] = rows[1].with_columns(started_unix_s=later, written_gb=pl.lit(1.0))
    rows[0] = rows[0].with_columns(written_gb=pl.lit(9e4))
    found = history(drives_of(tmp_path, rows))
    assert {getattr(one, key) for one in found.series} == set(told[key])
    assert found.left_out.wrongly_dated == 0
    assert ("S1 is the serial of N7 and X9" in found.sentence) == (key == "model")
    assert {one.verdict for one in found.series} <= {"same", "cannot-tell"}
    assert not [change for one in found.series for change in one.changes]


def test_drives_that_were_swapped_are_hinted_at(tmp_path: Path) -> None:
    is_late = np.arange(36) >= 18
    to_slow, to_fast = np.where(is_late, 0.85, 1.0), np.where(is_late, 1.0, 0.85)
    frames = [summaries("S0", noisy(0) * to_slow), summaries("S1", noisy(1) * to_fast)]
    frames.append(summaries("S2", noisy(2)))
    found = {one.drive: one for one in history(drives_of(tmp_path, frames)).series}
    assert "S1" in found["S0"].text
    assert found["S0"].text.endswith("changed the other way at that time: were they swapped?")
    assert found["S0"].verdict == "slower"
    assert "S0" in found["S1"].text
    assert "swapped" not in found["S2"].text


def test_drives_that_change_the_same_way_were_not_swapped(tmp_path: Path) -> None:
    lost = np.where(np.arange(36) >= 18, 0.85, 1.0)
    frames = [summaries(f"S{seed}", noisy(seed) * lost) for seed in range(4)]
    found = history(drives_of(tmp_path, frames)).series
    assert not [change for one in found for change in one.changes if change.opposite]
    assert "swapped" not in " ".join(one.text for one in found)


def test_ageing_and_firmware_are_no_sudden_changes(tmp_path: Path) -> None:
    aged = np.exp(np.linspace(0, np.log(0.85), 36))
    updated = np.repeat(["1B", "2B"], 18)
    frames = [summaries(f"A{seed}", noisy(seed) * aged) for seed in range(10)]
    frames += [
        summaries(
            f"F{seed}",
            noisy(seed) * np.where(updated == "2B", 0.88, 1.0),
            firmware=pl.Series(updated),
        )
        for seed in range(10)
    ]
    found = history(drives_of(tmp_path, frames))
    assert not [one for one in found.series for change in one.changes if change.kind == "sudden"]
    assert sum(one.verdict == "slower" for one in found.series) >= 19


def test_days_that_are_alike_and_seasons_are_no_change() -> None:
    found = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        alike = lfilter([1.0], [1.0, -0.8], rng.normal(0, 0.012, 160))[100:]
        days = np.sort(rng.choice(900, 60, replace=False)).astype(float)
        logs = alike + 0.03 * np.sin(2 * np.pi * (days / 365.25 + rng.random()))
        one = np.zeros(60, np.int64)
        fit = TrendFit(days, logs, one, one).with_sudden()
        own = fit.own()
        assert own is not None
        found += own.p < 0.05
    # of 100, 5 are expected, and 12 come once in a thousand times
    assert found <= 11


def test_dates_that_contradict_what_a_drive_wrote_make_no_history(tmp_path: Path) -> None:
    rates = noisy(1)
    rates[20:23] *= 3
    dates = BEGAN_UNIX_S + 10 * DAY_S * np.arange(len(rates))
    dates[20:23] -= 5 * 365 * DAY_S
    written_gb = 100.0 * np.arange(len(rates))
    told = {"started_unix_s": dates, "written_gb": written_gb}
    rows = summaries("S1", rates, serial=pl.lit("S1"), **told)
    found = history(drives_of(tmp_path, [rows]))
    assert found.left_out.wrongly_dated == 3
    (series,) = found.series
    assert series.first.year == 2025
    # without a serial they may be several drives
    found = history(drives_of(tmp_path, [summaries("a drive", rates, **told)]))
    assert found.left_out.wrongly_dated == 0


def test_a_counter_that_began_again_leaves_no_dates_out(tmp_path: Path) -> None:
    written_gb = 100.0 * (np.arange(36) % 18)
    rows = summaries("S1", noisy(1), serial=pl.lit("S1"), written_gb=written_gb)
    found = history(drives_of(tmp_path, [rows]))
    assert found.left_out.wrongly_dated == 0


def test_a_pipe_or_a_link_in_place_of_an_index_is_one_line_and_leaves_nothing(runs: Path) -> None:
    os.mkfifo(runs / "pipe")
    (runs / "link").symlink_to("nothing")
    for words, said in (
        (("pipe",), "is a pipe"),
        ((".", "-o", "pipe"), "is a pipe"),
        ((".", "-o", "link"), "is a link"),
    ):
        assert said in complaint(heatsoak_here("history", *words, cwd=runs), 2)
    assert not list(runs.glob(".*"))
