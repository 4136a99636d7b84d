"""Falls on top of falls, and what only looks like one."""

import numpy as np
import pytest
from heatsoak.analysis.course import Course
from heatsoak.analysis.falls import Drop, find_drops
from heatsoak.analysis.series import Array, Series
from heatsoak.analysis.steps import judged_drops
from heatsoak.analysis.view import StepView
from heatsoak.protocol import WorkloadStep
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_series import FULL, wander
from polars import DataFrame

T_S: Array = np.arange(1, 3001, dtype=np.float64) / 10
#: The middles of intervals: rates are means over them.
MID_S: Array = T_S - 0.05


def found(shape: Array, sigma: float = 0.02, seed: int = 1, correlation: float = 0.7) -> list[Drop]:
    values = FULL * shape * wander(len(shape), correlation, sigma, np.random.default_rng(seed))
    drops = find_drops(Series(T_S, np.full(len(T_S), 0.1), values, "mb_s"))
    assert drops is not None
    return drops


def lost_since(onset_s: float, depth: float, time_constant_s: float = 0.0) -> Array:
    """What is left where throughput falls at once, or towards a limit."""
    age = np.maximum(MID_S - onset_s, 0.0)
    part = -np.expm1(-age / time_constant_s) if time_constant_s else (age > 0).astype(float)
    return np.asarray(1 - depth * part)


@pytest.mark.parametrize("time_constant_s", [0.0, 20.0])
@pytest.mark.parametrize("depth", [0.1, 0.13, 0.3])
def test_a_small_fall_from_a_settled_level_is_a_drop_of_its_own(
    depth: float, time_constant_s: float
) -> None:
    one, two = found(lost_since(60, 0.4, time_constant_s) * lost_since(220, depth))
    assert one.onset_s == pytest.approx(60, abs=3)
    assert two.onset_s == pytest.approx(220, abs=0.5)
    assert two.depth == pytest.approx(depth, abs=0.02)


def test_less_than_eight_percent_more_is_the_same_drop() -> None:
    assert len(found(lost_since(60, 0.4) * lost_since(200, 0.06), sigma=0.01)) == 1


@pytest.mark.parametrize("rise", [0.0, 0.3])
@pytest.mark.parametrize("time_constant_s", [10.0, 25.0])
def test_a_slow_fall_after_a_level_is_a_drop_of_its_own(
    time_constant_s: float, rise: float
) -> None:
    # a drive may win back some of its rate before it is held back again
    rising = 1 + rise * np.clip((MID_S - 40) / 120, 0, 1)
    shape = lost_since(40, 0.6) * rising * lost_since(160, 0.3, time_constant_s)
    one, two = found(shape)
    assert one.onset_s == pytest.approx(40, abs=0.5)
    assert two.onset_s == pytest.approx(160, abs=8)
    assert two.depth > 0.2


@pytest.mark.parametrize("level_s", [25.0, 100.0])
@pytest.mark.parametrize("back_s", [0.0, 4.0])
def test_a_slow_fall_from_a_level_that_was_held_briefly_is_one_of_its_own(
    level_s: float, back_s: float
) -> None:
    # it may be back for a moment before it settles
    second_s = 50 + level_s
    is_back = np.abs(MID_S - 50.5 - back_s / 2) < back_s / 2
    shape = np.where(is_back, 0.85, lost_since(50, 0.6)) * lost_since(second_s, 0.55, level_s)
    right = 0
    for seed in range(20):
        drops = found(shape, 0.03, seed)
        right += any(abs(drop.onset_s - second_s) <= max(10, 0.25 * level_s) for drop in drops[1:])
    assert right >= 17


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    depth=st.floats(0.1, 0.8),
    time_constant_s=st.floats(1.0, 100.0),
    creep=st.floats(-0.05, 0.1),
    seed=st.integers(0, 10**6),
)
def test_a_governors_approach_is_one_fall(
    depth: float, time_constant_s: float, creep: float, seed: int
) -> None:
    creeping = 1 - creep * np.clip((MID_S - 60) / 240, 0, 1)
    shape = lost_since(60, depth, time_constant_s) * creeping
    # what is lost on the whole has to be clear of the least that counts
    assume(1 - shape[-600:].mean() > 0.08)
    # about one draw of noise in 150 looks like a second fall
    counts = [len(found(shape, seed=seed + number)) for number in range(5)]
    assert sorted(counts)[:4] == [1, 1, 1, 1]


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    swing=st.floats(0.0, 0.035),
    period_s=st.floats(60.0, 120.0),
    phase=st.floats(0.0, 2 * np.pi),
)
def test_what_swings_a_little_below_its_level_does_not_fall_again(
    swing: float, period_s: float, phase: float
) -> None:
    wave = 1 + swing * np.sin(2 * np.pi * MID_S / period_s + phase)
    drops = found(np.where(MID_S > 60, 0.5 * wave, 1.0))
    assert [drop for drop in drops if drop.onset_s > 75 and not drop.recovered] == []


def test_a_level_that_dips_stays_settled() -> None:
    dips = np.any([(low < MID_S) & (low + 4 > MID_S) for low in (120.0, 172.0, 186.0)], axis=0)
    drops = found(lost_since(60, 0.3) * np.where(dips, 0.4, 1.0) * lost_since(204, 0.5))
    lasting = [drop for drop in drops if not drop.recovered]
    assert [drop.onset_s for drop in lasting] == pytest.approx([60, 204], abs=1)


@pytest.mark.parametrize("seed", range(3))
def test_a_late_cliff_does_not_hide_the_fall_before_it(seed: int) -> None:
    # a level and a steep bend fit both together about as well
    shape = lost_since(40, 0.25, 25.0) * lost_since(250, 0.8, 3.0)
    one, two = found(shape, sigma=0.05, seed=seed, correlation=0.9)
    assert one.onset_s == pytest.approx(40, abs=10)
    assert two.onset_s == pytest.approx(250, abs=1)


@pytest.mark.parametrize("depth", [0.35, 0.5, 0.7])
def test_a_sudden_fall_is_not_part_of_the_approach_before_it(depth: float) -> None:
    # and what comes after it is unsteady
    wild = 1 + 0.2 * np.interp(MID_S, np.arange(170, 301, 10), np.sin(np.arange(14) * 2.4))
    shape = lost_since(80, 0.3, 35.0) * lost_since(170, depth)
    rates = np.where(MID_S > 170, shape * wild, shape)
    drops = [found(rates, 0.03, seed) for seed in range(60)]
    right = [
        len(one) >= 2 and abs(one[0].onset_s - 80) <= 8 and abs(one[1].onset_s - 170) <= 1
        for one in drops
    ]
    assert right.count(False) <= 1


def test_a_level_that_was_held_for_seven_seconds_is_one_that_may_be_fallen_from() -> None:
    for seed in range(5):
        drops = found(lost_since(25, 0.15) * lost_since(32, 0.85), 0.03, seed)
        assert [drop.onset_s for drop in drops] == pytest.approx([25, 32], abs=1)


def test_what_is_let_go_for_a_moment_does_not_hide_that_it_falls_lower() -> None:
    lows = ((20.0, 33.0), (38.0, 52.0))
    shape = np.where(MID_S > 57, 0.23, 1.0)
    for start_s, end_s in lows:
        shape[(start_s < MID_S) & (end_s > MID_S)] = 0.35
    shape[(MID_S > 33) & (MID_S < 57) & (shape == 1)] = 0.9
    for seed in range(5):
        one, two = found(shape, 0.03, seed)
        assert one.onset_s == pytest.approx(20, abs=1)
        assert two.onset_s == pytest.approx(57, abs=2)
        assert two.depth > 0.3


def test_falls_from_a_level_that_rises_pass() -> None:
    rising = 1 + 0.6 * np.clip((MID_S - 30) / 120, 0, 1)
    lows = np.where((MID_S > 130) & (MID_S < 150), 0.6, 1.0)
    outer, low = sorted(found(lost_since(30, 0.65) * rising * lows), key=lambda d: d.onset_s)
    assert (outer.onset_s, low.onset_s) == pytest.approx((30, 130), abs=1)
    assert low.recovered
    assert low.end_s == pytest.approx(150, abs=1)
    assert outer.end_s == 300


def view(
    rates: Array, rw: str, drive: dict[str, object] | None = None, **columns: Array
) -> StepView:
    step = WorkloadStep.model_validate({"name": "w", "rw": rw, "bs": "128k", "runtime": "300s"})
    named = {key.replace("__", "."): values for key, values in columns.items()}
    direction = "read" if "read" in rw else "write"
    rows = {"t_s": T_S, "interval_s": np.full(len(T_S), 0.1), f"{direction}_bw_mb_s": rates}
    samples = DataFrame({**rows, **named})
    course = Course(drive or {}, {}, begins_purged=drive is not None)
    return StepView(step, samples, 0.0, {}, course)


STAIRS = FULL * lost_since(100, 0.3) * lost_since(200, 0.5)


def test_what_is_held_for_long_after_an_undershoot_is_the_level_of_a_second_fall() -> None:
    # a governor may take too much at first, and settles at what it permits
    settling = 1 - 0.3 * (MID_S > 40) - 0.25 * ((MID_S > 40) & (MID_S < 70))
    for seed in range(5):
        one, two = found(settling * lost_since(200, 0.25), seed=seed)
        assert one.onset_s == pytest.approx(40, abs=1)
        assert two.onset_s == pytest.approx(200, abs=1)


def test_a_slow_fall_from_a_level_that_rises_is_a_drop_of_its_own() -> None:
    t_s = 5 * np.arange(1, 445, dtype=np.float64)
    rising = np.interp(t_s, [415, 1275], [0.42, 0.6])
    falling = 0.32 + 0.28 * np.exp(-np.maximum(t_s - 1275, 0) / 250)
    shape = np.where(t_s <= 415, 1.0, np.where(t_s <= 1275, rising, falling))
    for seed in range(5):
        values = FULL * shape * wander(len(t_s), 0.1, 0.03, np.random.default_rng(seed))
        drops = find_drops(Series(t_s, np.full(len(t_s), 5.0), values, "mb_s"))
        assert drops is not None
        assert [drop.onset_s for drop in drops] == pytest.approx([415, 1275], abs=150)


def test_a_governor_that_takes_two_stairs_makes_one_drop() -> None:
    count = np.floor(np.maximum(T_S - 100, 0) / 5) * np.where(T_S > 200, 3, 1)
    temps = np.minimum(40 + 0.3 * T_S, 85)
    one = view(STAIRS, "randread", throttle_count__tmt1=count, temp_c__composite=temps)
    assert len(one.drops or []) == 2
    ((case, judgement),) = judged_drops(one)
    assert judgement.cause == "thermal"
    assert (case.drop.onset_s, case.drop.end_s) == pytest.approx((100, 300), abs=1)


def test_a_fall_that_leaves_the_drive_as_hot_is_not_heats() -> None:
    # a governor holds it at 60 C; others' work then takes half of what is left
    rates = FULL * lost_since(80, 0.4, 20.0) * lost_since(200, 0.5)
    temps = np.round(60 - 20 * np.exp(-T_S / 40))
    judged = judged_drops(view(rates, "randread", temp_c__composite=temps))
    assert [case.drop.onset_s for case, _ in judged] == pytest.approx([80, 200], abs=4)
    said = {finding.pair for finding in judged[1][1].findings}
    assert ("on-top", "as-hot") in said
    assert judged[1][1].cause != "thermal"


@pytest.mark.parametrize(("late_c", "expected"), [(52.0, "cooler"), (66.0, "hotter")])
def test_what_a_fall_on_top_does_to_the_temperature(late_c: float, expected: str) -> None:
    rates = FULL * lost_since(80, 0.4, 20.0) * lost_since(200, 0.5)
    before = 60 - 20 * np.exp(-T_S / 40)
    after = late_c + (60 - late_c) * np.exp(-(T_S - 200) / 15)
    temps = np.where(T_S < 200, before, after)
    judged = judged_drops(view(rates, "randread", temp_c__composite=temps))
    assert ("on-top", expected) in {finding.pair for finding in judged[-1][1].findings}


def test_spare_area_that_seems_used_up_twice_makes_two_drops() -> None:
    temps = np.where(T_S < 90, 50.0, 40.0) - 0.02 * T_S
    # it is busy with blocks of its own, and all of it is written when it falls first
    power = np.full(len(T_S), 5.0)
    drive: dict[str, object] = {"kind": "block", "size_bytes": FULL * 90e6}
    one = view(STAIRS, "randwrite", drive, temp_c__composite=temps, power_w=power)
    judged = judged_drops(one)
    assert [judgement.cause for _, judgement in judged] == ["spare-area", "spare-area"]
    assert [case.drop.onset_s for case, _ in judged] == pytest.approx([100, 200], abs=1)


def swinging(period_s: float, drift: float, share_after: float, on_s: float = 180.0) -> Array:
    """A governor that swings from 60 s on, with periods that grow, while others take a share."""
    age_s = np.maximum(MID_S - 60, 0.0)
    phase = np.mod(age_s / period_s * (1 - drift * age_s / 240), 1.0)
    governed = np.where((MID_S > 60) & (phase < 0.5), 0.5, 1.0)
    return np.asarray(governed * np.where(on_s < MID_S, share_after, 1.0))


@pytest.mark.parametrize(("period_s", "drift"), [(6.0, 0.0), (6.0, 0.1), (12.0, 0.0)])
def test_what_falls_while_a_governor_swings_on_beneath_is_a_drop_of_its_own(
    period_s: float, drift: float
) -> None:
    for seed in range(3):
        one, two = found(swinging(period_s, drift, 0.6), seed=seed)
        assert one.onset_s == pytest.approx(60, abs=1)
        assert one.oscillates
        # means of whole periods know no better
        assert two.onset_s == pytest.approx(180, abs=1.5 * period_s)
        assert two.depth == pytest.approx(0.4, abs=0.08)


def test_a_swing_whose_period_drifts_is_one_drop() -> None:
    for seed in range(5):
        (drop,) = found(swinging(8.0, 0.1, 1.0), seed=seed)
        assert drop.oscillates


def test_a_fall_over_a_swing_that_leaves_the_drive_as_hot_is_not_heats() -> None:
    # the governor swings on about the same temperature, so that as much is spent as before
    temps = np.round(np.minimum(40 + 0.5 * MID_S, 70) + 0.6 * np.sin(2 * np.pi * MID_S / 8))
    rates = FULL * swinging(8.0, 0.0, 0.6) * wander(len(T_S), 0.7, 0.02, np.random.default_rng(1))
    judged = judged_drops(view(rates, "randread", temp_c__composite=temps))
    assert [case.drop.onset_s for case, _ in judged] == pytest.approx([60, 180], abs=8)
    assert [judgement.cause for _, judgement in judged][1] != "thermal"
    assert ("on-top", "as-hot") in {finding.pair for finding in judged[1][1].findings}
