"""How fast a drive goes for ever: by streams that a run tries, and by prediction."""

import json
from pathlib import Path

import pytest
from command import heatsoak_here
from heatsoak.analysis.limit import Trial, limit_of, next_mb_s
from heatsoak.errors import UsageError
from heatsoak.protocol.source import parse_toml
from heatsoak.ranges import Range


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
    [("samsung-950-pro-512", "beside-card"), ("samsung-970-pro-512", "open-bench")],
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
