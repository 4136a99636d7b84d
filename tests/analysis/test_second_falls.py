"""What is said of a fall on top of a fall."""

from typing import Any

import numpy as np
import pytest
from heatsoak.analysis.cause import Case, Judgement
from heatsoak.analysis.course import Course
from heatsoak.analysis.series import Array
from heatsoak.analysis.steps import judged_drops
from made_series import END, Part, lost, low, of_parts, swing
from viewed import step_view

T_S: Array = np.arange(1, 3001) / 10
MID_S = T_S - 0.05
STAIRS = [lost(100, 0.3), lost(200, 0.5)]
#: A governor holds it at 60 C; others' work then takes half of what is left.
SHARED = [lost(80, 0.4, 20), lost(200, 0.5)]
HELD_AT_60_C = 60 - 20 * np.exp(-T_S / 40)


def judged(
    parts: list[Part], rw: str = "randread", sigma: float = 1e-4, **more: Any
) -> list[tuple[Case, Judgement]]:
    return judged_drops(step_view(T_S, of_parts(*parts, sigma=sigma).values, rw, **more))


def onsets(of: list[tuple[Case, Judgement]]) -> list[float]:
    return [case.drop.onset_s for case, _ in of]


def said(judgement: Judgement) -> set[tuple[str, str]]:
    return {finding.pair for finding in judgement.findings}


def test_a_governor_that_takes_two_stairs_makes_one_drop() -> None:
    count = np.floor(np.maximum(T_S - 100, 0) / 5) * np.where(T_S > 200, 3, 1)
    temps = np.minimum(40 + 0.3 * T_S, 85)
    ((case, judgement),) = judged(STAIRS, throttle_count__tmt1=count, temp_c__composite=temps)
    assert len(case.view.drops or []) == 2
    assert judgement.cause == "thermal"
    assert (case.drop.onset_s, case.drop.end_s) == pytest.approx((100, 300), abs=1)


def test_a_slope_and_the_swings_of_its_level_are_one_fall() -> None:
    slope = lost(70, 0.5, 8)
    ((case, _),) = judged([slope, swing(100, 19, to=0.8)], sigma=0.01)
    assert case.drop.onset_s == pytest.approx(70, abs=4)
    assert case.drop.depth == pytest.approx(0.54, abs=0.05)


def test_spare_area_that_seems_used_up_twice_makes_two_drops() -> None:
    temps = np.where(T_S < 90, 50.0, 40.0) - 0.02 * T_S
    # it is busy with blocks of its own, and all of it is written when it falls first
    drive = Course({"kind": "block", "size_bytes": 2500 * 90e6}, {}, begins_purged=True)
    power = np.full(len(T_S), 5.0)
    of = judged(STAIRS, "randwrite", course=drive, temp_c__composite=temps, power_w=power)
    assert [judgement.likeliest for _, judgement in of] == ["spare-area", "spare-area"]
    assert onsets(of) == pytest.approx([100, 200], abs=1)


# over a swing, the governor goes on about the same temperature, as much is spent as before
SWUNG_AT_70_C = np.minimum(40 + 0.5 * MID_S, 70) + 0.6 * np.sin(2 * np.pi * MID_S / 8)


@pytest.mark.parametrize(
    ("parts", "sigma", "temps", "at_s", "within_s"),
    [
        (SHARED, 1e-4, HELD_AT_60_C, [80, 200], 4),
        ([swing(60, 8), low((180, END), to=0.6)], 0.02, SWUNG_AT_70_C, [60, 180], 8),
    ],
    ids=["a level", "a swing"],
)
def test_a_fall_that_leaves_the_drive_as_hot_is_not_heats(
    parts: list[Part], sigma: float, temps: Array, at_s: list[float], within_s: float
) -> None:
    of = judged(parts, sigma=sigma, temp_c__composite=np.round(temps))
    assert onsets(of) == pytest.approx(at_s, abs=within_s)
    assert ("on-top", "as-hot") in said(of[1][1])
    assert of[1][1].cause != "thermal"


@pytest.mark.parametrize(("late_c", "expected"), [(52.0, "cooler"), (66.0, "hotter")])
def test_what_a_fall_on_top_does_to_the_temperature(late_c: float, expected: str) -> None:
    after = late_c + (60 - late_c) * np.exp(-(T_S - 200) / 15)
    of = judged(SHARED, temp_c__composite=np.where(T_S < 200, HELD_AT_60_C, after))
    assert ("on-top", expected) in said(of[-1][1])


#: It falls at once three times; after the second it is back for a moment at what the first left.
WHILE = 14_000 * np.select(
    [T_S <= 50, T_S <= 95, T_S <= 200, T_S <= 204], [1.0, 0.27, 0.17, 0.27], 0.08
)


def test_what_a_fall_on_top_does_is_no_evidence_of_the_first() -> None:
    temps = np.round(40 + 42 * (1 - np.exp(-T_S / 22)))
    rates = WHILE * (1 + np.random.default_rng(1).normal(0, 0.003, len(T_S)))
    (case, judgement), *_ = judged_drops(step_view(T_S, rates, "write", temp_c__composite=temps))
    # 90 % is lost with the second only, and the hotter it was, the slower: by two levels
    assert case.drop.fall_s > 40
    about = dict(said(judgement))
    assert "shape" not in about
    assert about.get("rate-and-temperature") != "follows"


@pytest.mark.parametrize(
    ("reads_lose", "slope_k_s", "expected"), [(0.55, 0.37, "thermal"), (0.1, 0.37, "unknown")]
)
def test_writes_that_lose_far_more_than_reads_are_not_surely_throttled(
    reads_lose: float, slope_k_s: float, expected: str
) -> None:
    temps = np.round(np.minimum(45 + slope_k_s * T_S, 82))
    write, read = (
        step_view(
            T_S, of_parts(lost(100, by), sigma=1e-3).values, rw, name=rw, start_s=start_s,
            temp_c__composite=temps,
        )
        for rw, by, start_s in (("write", 0.6, 0.0), ("read", reads_lose, 500.0))
    )  # fmt: skip
    ((_, judgement),) = judged_drops(write, [read])
    assert judgement.cause == expected
