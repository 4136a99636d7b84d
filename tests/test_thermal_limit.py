"""How fast a drive goes for ever: by streams that a run tries, and by prediction."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import heatsoak_here, json_here
from heatsoak.analysis.limit import Trial, limit_of, limit_text, next_mb_s, trial_of
from heatsoak.bench.conductor import Conductor
from heatsoak.bench.plan import turns_of
from heatsoak.bench.recorder import Side
from heatsoak.bench.resume import Past
from heatsoak.errors import UsageError
from heatsoak.protocol import load
from heatsoak.protocol.source import parse_toml
from heatsoak.ranges import Range
from heatsoak.recording import Recording
from heatsoak.recording.meta import EVENTS, JOURNAL, PARQUET
from heatsoak.target.base import Drives
from heatsoak.target.simulated import SimulatedTarget
from made_recording import remake
from made_series import FULL, Part, lost, low, of_parts, swing
from observed import Watcher


@pytest.mark.parametrize("limit_mb_s", [210.0, 640.0, 1170.0, 1930.0])
@pytest.mark.parametrize("moved_x", [0.05, 1.0])
def test_few_streams_find_the_limit(limit_mb_s: float, moved_x: float) -> None:
    trials = [Trial(2000.0, moved_x * limit_mb_s, 60.0, False)]
    while (mb_s := next_mb_s(trials)) is not None:
        is_held = mb_s <= limit_mb_s
        trials.append(Trial(mb_s, mb_s if is_held else moved_x * limit_mb_s, 900.0, is_held))
    assert len(trials) <= 12
    found = limit_of(trials)
    assert found is not None
    assert found.low <= limit_mb_s <= found.high <= 1.06 * found.low


def test_a_drive_that_keeps_up_at_full_speed_is_asked_nothing_more() -> None:
    held = Trial(520.0, 520.0, 900.0, True)
    assert next_mb_s([held]) is None
    assert limit_of([held]) == Range(520.0, 520.0, 520.0, "this run")


@pytest.mark.parametrize(
    ("part", "asked_x", "is_held"),
    [
        (low((9, 150), to=0.3), 0.8, True),  # a cache is folded once, and it catches up
        (low((9, 150), (400, 420), to=0.3), 0.95, True),
        (swing(60, 240, duty=0.4, to=0.1), 0.5, False),  # held back again and again, for minutes
        (lost(100, 0.05, 60), 1.0, False),
        (lost(100, 0.01, 60), 1.0, True),
    ],
)
def test_what_waits_in_the_second_half_of_a_stream_says_whether_its_rate_is_held(
    part: Part, asked_x: float, *, is_held: bool
) -> None:
    series = of_parts(part, duration_s=660, sampling_s=1.0)
    trial = trial_of(series, asked_x * FULL, (np.arange(660.0), np.full(660, 71.0)))
    assert trial is not None
    assert trial.is_held is is_held
    text = limit_text([trial], writes=True)
    assert ("for 11 min, at 71 C by then" in text) is is_held


def _limit_of(drive: Path, path: Path, past: Past | None = None) -> tuple[Recording, list[float]]:
    """Run, or go on with one; return it, and the rates that were tried."""
    protocol, target = load("thermal-limit"), SimulatedTarget(str(drive), "puget-top-2gpu-loaded")
    sides = [Side(protocol, {}, path)]
    conductor = Conductor(turns_of(protocol), Drives(target), sides, Watcher(), past)
    (recording,) = conductor.run([])
    return recording, [e.data["rate_mb_s"] for e in recording.events if "rate_mb_s" in e.data]


def test_a_run_that_was_killed_amid_its_rounds_goes_on_with_the_rate_that_it_would_have_tried(
    small_drive: Path, tmp_path: Path
) -> None:
    path = tmp_path / "r"
    whole, rates = _limit_of(small_drive, path)
    lines = (path / EVENTS).read_text().splitlines(keepends=True)
    (cut,) = (n for n, line in enumerate(lines) if '"step-begin","step":"hold/3"' in line)
    samples = whole.samples().filter(pl.col("t_s") <= json.loads(lines[cut])["t_s"])
    samples.write_ndjson(path / JOURNAL)
    (path / EVENTS).write_text("".join(lines[: cut + 1]))
    (path / PARQUET).unlink()
    resumed, again = _limit_of(small_drive, path, Past(remake(path, status="running")))
    assert again[:2] == rates[:2]
    assert [e.step for e in resumed.events if e.kind == "step-begin"].count("hold/2") == 1


def test_no_stream_begins_that_would_end_too_late(small_drive: Path, tmp_path: Path) -> None:
    run = ("run", "thermal-limit", "--on", f"sim:{small_drive}@laptop", "--set", "rates.within=2h")
    planned = json_here(*run, "--dry-run", cwd=tmp_path)[0]["steps"][-1]
    assert planned["duration_s"] == pytest.approx(3900)
    (found,) = json_here(*run, "-o", "r", cwd=tmp_path)["recordings"]
    assert not any(event.step == "hold/2" for event in Recording.open(tmp_path / "r").events)
    assert "not even 1,500 MB/s was" in found["scores"][0]["why"]


def test_rounds_that_seek_a_limit_need_a_stream_with_an_end() -> None:
    with pytest.raises(UsageError, match="needs a runtime"):
        parse_toml(
            'name = "x"\n[[steps]]\nkind = "rounds"\nat_most = 3\nuntil = "limit"\ntracks = "w"\n'
            '[[steps.steps]]\nname = "w"\nrw = "write"\n',
            "x",
        )


@pytest.mark.long
@pytest.mark.parametrize(
    ("drive", "place"),
    [
        ("samsung-950-pro-512", "beside-card"),
        ("samsung-970-pro-512", "open-bench"),
        ("wd-sn570-1tb", "open-bench"),  # its cache is folded for minutes, and no heat
        ("crucial-t700-2tb", "open-bench"),  # stays slow until it has cooled by 20 K
    ],
)
def test_a_run_and_a_prediction_agree_on_the_limit(drive: str, place: str, tmp_path: Path) -> None:
    run = ("run", "thermal-limit", "--on", f"sim:{drive}@{place}", "-o", "r")
    assert heatsoak_here(*run, cwd=tmp_path).returncode == 0
    found = json.loads(heatsoak_here("analyze", "r", "--format", "json", cwd=tmp_path).stdout)
    (recording,) = found["recordings"]
    (score,) = recording["scores"]
    assert score["range"]["low"] <= score["value"] <= score["range"]["high"]
    assert found["answer"]["sentence"].startswith("Holds ")
    how = ("predict", drive, "--place", place, "--for-ever", "--format", "json")
    predicted = json.loads(heatsoak_here(*how, cwd=tmp_path).stdout)
    assert predicted["answer"].startswith("Holds ")
    assert score["value"] == pytest.approx(predicted["for_ever_mb_s"][1], rel=0.05)
