"""Limit cycles found in series whose truth is known, where noise, time or other falls hide them."""

from itertools import pairwise

import numpy as np
import pytest
from heatsoak.analysis.falls import Drop, Found, find, find_drops
from heatsoak.analysis.series import Array, Series
from hypothesis import given, settings
from hypothesis import strategies as st
from made_series import FULL, wander


def times(duration_s: float, sampling_s: float) -> Array:
    """The middles of intervals: rates are means over them."""
    return np.asarray((np.arange(round(duration_s / sampling_s)) + 0.5) * sampling_s)


def noisy(shape: Array, sampling_s: float, sigma: float = 0.02, seed: int = 1) -> Series:
    chance = np.random.default_rng(seed)
    values = FULL * shape * wander(len(shape), 0.7, sigma, chance)
    t_s: Array = np.arange(1, len(shape) + 1, dtype=np.float64) * sampling_s
    return Series(t_s, np.full(len(shape), sampling_s), values, "mb_s")


def swinging(t_s: Array, onset_s: float, period_s: float, duty: float, low: float) -> Array:
    phase = np.mod(t_s - onset_s, period_s) / period_s
    return np.where((t_s >= onset_s) & (phase < duty), low, 1.0)


def found_in(of: Series) -> Found:
    seen = find(of)
    assert seen is not None
    return seen


def found(of: Series) -> list[Drop]:
    drops = find_drops(of)
    assert drops is not None
    return drops


@pytest.mark.slow
@given(
    onset_s=st.floats(60, 150),
    # swings of a third within some seconds may pass for noise that lasts: which noise there is, is
    # chosen before the falls are told as one cycle
    period_s=st.floats(12, 30),
    duty=st.floats(0.3, 0.7),
    low=st.floats(0.3, 0.7),
    # stronger noise may make a low of its own just before
    sigma=st.floats(0.01, 0.03),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=40)
def test_a_cycle_begins_with_its_first_low(
    onset_s: float, period_s: float, duty: float, low: float, sigma: float, seed: int
) -> None:
    shape = swinging(times(400, 0.1), onset_s, period_s, duty, low)
    (drop,) = found(noisy(shape, 0.1, sigma, seed))
    assert drop.oscillates
    assert drop.onset_s == pytest.approx(onset_s, abs=2)
    assert drop.period_s == pytest.approx(period_s, rel=0.05)


def test_a_cycle_before_a_deeper_step_is_found_through_its_own_noise() -> None:
    t_s = times(330, 0.1)
    shape = swinging(t_s, 65, 22, 0.25, 0.45)
    for seed in range(5):
        of = noisy(np.where(t_s < 253, shape, 0.27), 0.1, 0.05, seed)
        one, two = found(of)
        assert (one.shape, two.shape) == ("cycle", "step")
        assert one.onset_s == pytest.approx(65, abs=2)
        assert (one.end_s, one.recovered) == (two.onset_s, False)
        assert two.onset_s == pytest.approx(253, abs=2)


@pytest.mark.parametrize("first_low_s", [8, 15, 30])
def test_a_first_low_of_few_slow_samples_is_the_onset(first_low_s: float) -> None:
    t_s = times(2100, 5.0)
    shape = swinging(t_s, 1160, 110, 0.5, 0.45)
    shape[(t_s >= 1050) & (t_s < 1050 + first_low_s)] = 0.45
    (drop,) = found(noisy(shape, 5.0))
    assert drop.oscillates
    assert drop.onset_s == pytest.approx(1050, abs=7.5)


@pytest.mark.parametrize("sampling_s", [0.1, 1.0])
@pytest.mark.parametrize("longest_s", [15, 25, 35])
def test_a_period_that_drifts_is_still_one_cycle(longest_s: float, sampling_s: float) -> None:
    t_s = times(800, sampling_s)
    falls_s = 100 + np.cumsum([0.0, *np.linspace(14, longest_s, 60)])
    since_s = t_s - falls_s[np.clip(np.searchsorted(falls_s, t_s, side="right") - 1, 0, None)]
    (drop,) = found(noisy(np.where((since_s >= 0) & (since_s < 6), 0.5, 1.0), sampling_s))
    assert drop.oscillates
    assert drop.onset_s == pytest.approx(100, abs=2.5 * sampling_s + 0.5)


@pytest.mark.parametrize("seed", range(3))
def test_lows_that_grow_to_several_times_their_length_are_still_one_cycle(seed: int) -> None:
    t_s = times(320, 0.1)
    falls_s = 90 + np.cumsum([0.0, *np.linspace(9, 27, 12)])
    backs_s = [*(falls_s[1:] - 5), 320.0]
    shape = lows(t_s, *zip(falls_s, backs_s, strict=True), low=0.55)
    (drop,) = found(noisy(shape, 0.1, 0.05, seed))
    assert drop.oscillates
    assert drop.onset_s == pytest.approx(90, abs=1)


def test_a_cycle_that_begins_soon_is_no_swing_from_the_begin() -> None:
    t_s = times(1800, 5.0)
    (drop,) = found(noisy(swinging(t_s, 50, 27, 0.5, 0.45), 5.0))
    assert drop.oscillates
    assert drop.onset_s == pytest.approx(50, abs=7.5)
    assert found(noisy(swinging(t_s, 12, 27, 0.5, 0.45), 5.0)) == []


def test_a_swing_that_goes_on_lower_has_fallen() -> None:
    # its high parts do not come up to the middle of the former ones
    t_s = times(320, 0.1)
    fall_s = 60 + 10 * 16
    swing = swinging(t_s, 60, 16, 0.6, 0.5)
    later = 0.3 + 0.25 * (np.mod(t_s - fall_s, 20) > 16)
    for seed in range(3):
        one, two = found(noisy(np.where(t_s < fall_s, swing, later), 0.1, 0.03, seed))
        assert one.shape == "cycle"
        assert (one.onset_s, two.onset_s) == pytest.approx((60, fall_s), abs=1)


def test_a_gap_of_a_few_periods_does_not_end_a_swing() -> None:
    t_s = times(300, 0.1)
    falls_s = 60 + np.cumsum([0.0, *np.linspace(3.4, 6.0, 60)])
    shape = lows(t_s, *((fall_s, fall_s + 2) for fall_s in falls_s), low=0.3)
    whole = noisy(shape, 0.1, 0.035)
    seen = (whole.t_s < 180) | (whole.t_s > 190)
    (drop,) = found(Series(whole.t_s[seen], whole.interval_s[seen], whole.values[seen], "mb_s"))
    assert drop.oscillates
    assert (drop.onset_s, drop.end_s) == pytest.approx((60, 300), abs=1)


def test_a_fall_before_a_cycle_is_a_drop_of_its_own() -> None:
    t_s = times(260, 0.1)
    shape = np.where(t_s < 40, 1.0, 0.82) * swinging(t_s, 70, 12, 0.5, 0.35)
    for seed in range(5):
        one, two = found(noisy(shape, 0.1, 0.04, seed))
        assert one.onset_s == pytest.approx(40, abs=1)
        assert (one.shape, two.shape) == ("step", "cycle")
        assert two.onset_s == pytest.approx(70, abs=1)
        assert one.end_s == two.onset_s
        assert two.before == pytest.approx(0.82 * FULL, rel=0.03)


@pytest.mark.slow
def test_the_noise_of_a_slide_is_no_cycle() -> None:
    t_s = times(1100, 1.0)
    slide = 1 - 0.4 * np.maximum(t_s - 250, 0) / 850
    for seed in range(20):
        drops = found(noisy(slide, 1.0, 0.05, seed))
        assert drops
        assert not any(drop.oscillates for drop in drops)


def test_a_few_regular_dips_of_a_short_run_are_no_cycle() -> None:
    shape = np.ones(29)
    shape[[14, 18, 22, 26]] = 0.91
    assert found(noisy(shape, 1.0, 0.005)) == []


def test_a_swing_from_the_begin_is_no_drop_and_is_there_to_be_asked_about() -> None:
    phase = np.mod(np.arange(0.05, 300, 0.1), 40.0)
    values = np.where(phase < 20, 1000.0, 700.0)
    t_s = np.arange(1, len(values) + 1) / 10
    found = find(Series(t_s, np.full(len(t_s), 0.1), values, "mb_s"))
    assert found is not None
    assert found.drops == []
    assert found.swing is not None
    assert found.swing.onset_s == pytest.approx(20, abs=1)
    assert found.swing.period_s == pytest.approx(40, rel=0.05)


def lows(t_s: Array, *stretches: tuple[float, float], low: float = 0.5) -> Array:
    shape = np.ones(len(t_s))
    for begin_s, end_s in stretches:
        shape[(t_s > begin_s) & (t_s < end_s)] = low
    return shape


def test_three_falls_at_even_times_are_no_cycle_where_they_last_unlike() -> None:
    t_s = times(300, 0.1)
    stretches = [(55.0, 85.0), (130.0, 185.0), (215.0, 245.0)]
    for seed in range(5):
        drops = found(noisy(lows(t_s, *stretches), 0.1, 0.05, seed))
        assert [drop.onset_s for drop in drops] == pytest.approx([55, 130, 215], abs=1)
        assert not any(drop.oscillates for drop in drops)


def test_three_falls_at_even_times_are_a_cycle_where_they_last_alike() -> None:
    t_s = times(300, 0.1)
    (drop,) = found(noisy(lows(t_s, (100, 130), (175, 205), (250, 280)), 0.1))
    assert drop.oscillates
    assert drop.onset_s == pytest.approx(100, abs=1)


def test_a_swing_that_begins_with_a_longer_high_part_leaves_no_other_when_it_is_taken_off() -> None:
    of = found_in(noisy(lows(times(300, 0.1), (60, 90), (135, 165), (210, 240)), 0.1))
    assert all(drop.onset_s == pytest.approx(60, abs=1) for drop in of.drops)
    assert of.drops or of.swing is not None


def test_what_swings_below_the_first_level_fell_from_it() -> None:
    # as long as the high parts of the swing, and higher than they are
    t_s = times(275, 0.1)
    shape = np.where(t_s < 32, 1.0, 0.83 * swinging(t_s, 97, 57, 0.4, 0.75))
    for seed in range(5):
        drops = found(noisy(shape, 0.1, 0.02, seed))
        assert drops[0].onset_s == pytest.approx(32, abs=1)


def test_lows_that_were_back_only_briefly_belong_to_the_fall_that_follows() -> None:
    t_s = times(1500, 5)
    falls = [(435.0, 460.0), (475.0, 500.0), (515.0, 1500.0)]
    for seed in range(5):
        (drop,) = found(noisy(lows(t_s, *falls), 5, 0.02, seed))
        assert drop.onset_s == pytest.approx(435, abs=5)


@given(back_s=st.floats(40, 80), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=20)
def test_a_low_that_was_back_for_long_is_a_fall_of_its_own(back_s: float, seed: int) -> None:
    t_s = times(300, 0.1)
    shape = lows(t_s, (60, 80), (80 + back_s, 300))
    drops = found(noisy(shape, 0.1, 0.03, seed))
    assert [drop.onset_s for drop in drops] == pytest.approx([60, 80 + back_s], abs=1)


def ends_below(
    period_s: float, duty: float, low: float, deeper: float, phase: float, left: float, seed: int
) -> bool:
    """Whether a swing and the fall below its lows, so late in its sixth period, are found."""
    onset_s = 60.0
    fall_s = onset_s + (5 + phase) * period_s
    t_s = times(fall_s + left * period_s, 0.1)
    shape = np.where(t_s < fall_s, swinging(t_s, onset_s, period_s, duty, low), deeper * low)
    drops = found(noisy(shape, 0.1, 0.02, seed))
    # from the low part before it, which may have just begun, or ended less than a second ago
    begun_s = phase * period_s if (phase - duty) * period_s < 1 else 0.0
    return (
        [drop.oscillates for drop in drops] == [True, False]
        and abs(drops[0].onset_s - onset_s) <= 1
        and fall_s - begun_s - 1 <= drops[1].onset_s <= fall_s + 1
    )


def test_a_fall_below_the_lows_of_a_swing_ends_it() -> None:
    assert ends_below(23, 0.352, 0.5, 0.6875, 0.371, 1, 0)
    # of a thousand draws one or two mislead
    chance = np.random.default_rng(3)
    least, most = np.array([(15, 40), (0.35, 0.65), (0.4, 0.7), (0.5, 0.8), (0, 1), (1, 3)]).T
    right = []
    for seed in range(60):
        period_s, duty, low, deeper, phase, left = chance.uniform(least, most).tolist()
        right.append(ends_below(period_s, duty, low, deeper, phase, left, seed))
    assert right.count(False) <= 1


@pytest.mark.parametrize("fall_s", [290.0, 325.0])
def test_a_fall_below_the_lows_of_a_swing_of_two_periods_ends_it(fall_s: float) -> None:
    # its first low begins at 100 s, its second at 220 s: the fall comes before a third
    t_s = times(500, 1.0)
    shape = np.where(t_s < fall_s, swinging(t_s, 100, 120, 0.4, 0.65), 0.3)
    for seed in range(5):
        drops = found(noisy(shape, 1.0, 0.03, seed))
        assert drops[0].onset_s == pytest.approx(100, abs=2)
        assert drops[-1].onset_s == pytest.approx(fall_s, abs=2)
        assert drops[-1].depth > 0.5


def creeping(t_s: Array, onset_s: float) -> Array:
    """A fall by half, of which a part comes back in the course of time."""
    return np.where(t_s < onset_s, 1.0, 0.45 + 0.15 * np.clip((t_s - onset_s) / 150, 0, 1))


@pytest.mark.parametrize(
    ("period_s", "duty", "sampling_s", "end_s"),
    [(15.0, 0.4, 0.1, 300.0), (30.0, 0.3, 1.0, 400.0), (35.0, 0.4, 5.0, 900.0)],
)
def test_a_swing_that_begins_long_after_a_fall_is_a_drop_of_its_own(
    period_s: float, duty: float, sampling_s: float, end_s: float
) -> None:
    t_s = times(end_s, sampling_s)
    shape = creeping(t_s, 60) * swinging(t_s, 210, period_s, duty, 0.4)
    for seed in range(5):
        one, two = found(noisy(shape, sampling_s, 0.03, seed))
        assert one.onset_s == pytest.approx(60, abs=sampling_s)
        assert (one.end_s, one.recovered, one.oscillates) == (two.onset_s, False, False)
        assert two.onset_s == pytest.approx(210, abs=max(2.0, 2 * sampling_s))
        assert two.oscillates
        assert two.period_s == pytest.approx(period_s, rel=0.1)


def test_a_late_swing_that_is_high_at_the_end_is_measured_to_its_last_low() -> None:
    t_s = times(890, 1.0)
    shape = np.where(t_s < 60, 1.0, 0.5) * swinging(t_s, 310, 200, 0.6, 0.5)
    one, two = found(noisy(shape, 1.0, 0.02))
    assert (one.oscillates, two.oscillates) == (False, True)
    assert two.onset_s == pytest.approx(310, abs=2)
    # which is back in a sample or two
    assert two.end_s == pytest.approx(830, abs=6)


def test_what_swings_since_a_fall_fell_so() -> None:
    # the lows begin with the fall: there was no level that the swing itself took
    t_s = times(300, 0.1)
    shape = np.where(t_s < 60, 1.0, 0.6) * swinging(t_s, 60, 20, 0.4, 0.5)
    for seed in range(5):
        (drop,) = found(noisy(shape, 0.1, 0.02, seed))
        assert drop.oscillates
        assert drop.onset_s == pytest.approx(60, abs=1)


def are_one(lows_s: list[float], high_s: float, seed: int) -> bool:
    """Whether lows from 100 s to the end, with recoveries of `high_s` between, are found as one."""
    begins_s = 100 + np.cumsum([0.0, *(low_s + high_s for low_s in lows_s[:-1])])
    falls = [(begin, begin + low) for begin, low in zip(begins_s, lows_s, strict=True)]
    t_s = times(falls[-1][1], 0.1)
    drops = found(noisy(lows(t_s, *falls), 0.1, 0.02, seed))
    return (
        abs(drops[0].onset_s - 100) <= 1
        and abs(drops[-1].end_s - falls[-1][1]) <= 1
        and all(one.end_s >= two.onset_s for one, two in pairwise(drops))
    )


def test_lows_of_any_length_between_brief_recoveries_are_one_drop() -> None:
    # the first may be as brief as a stall is; of a thousand draws three to five mislead
    chance = np.random.default_rng(7)
    right = [
        are_one(
            [*chance.uniform(2.5, 45, chance.integers(3, 9)).tolist(), 60.0],
            float(chance.uniform(2.5, 6)),
            seed,
        )
        for seed in range(40)
    ]
    assert right.count(False) <= 1


@pytest.mark.parametrize(
    "lows_s", [[3, 28, 29, 3, 60], [29.3, 3, 3, 60], [3, 5.25, 3, 60], [4, 4, 3, 2.5, 8, 36, 60]]
)
def test_lows_as_brief_as_stalls_are_part_of_what_they_come_with(lows_s: list[float]) -> None:
    assert are_one(lows_s, 3.5, 0)


@pytest.mark.parametrize("dip_s", [0.0, 4.0])
def test_a_dip_long_before_a_swing_is_no_part_of_it(dip_s: float) -> None:
    t_s = times(120, 0.1)
    swings = 1 - 0.52 * np.abs(np.mod((t_s - 40) / 4.0 - 1, 2) - 1) * (t_s > 40)
    shape = np.where(t_s < 86, swings, 0.05)
    shape[round(10 * dip_s) : round(10 * dip_s) + 6] = 0.3
    for seed in range(5):
        drops = found(noisy(shape, 0.1, 0.03, seed))
        assert drops[0].onset_s == pytest.approx(40, abs=2)
        assert drops[-1].onset_s == pytest.approx(86, abs=4)


@pytest.mark.parametrize("phase_s", [0.0, 1.3, 2.5, 3.7])
def test_lows_that_seldom_samples_show_in_part_are_lows(phase_s: float) -> None:
    fine = swinging(times(2000, 0.1), 480 + phase_s, 14.6, 0.5, 0.45)
    coarse = fine.reshape(-1, 50).mean(axis=1)
    each = [found(noisy(coarse, 5.0, 0.03, seed))[0] for seed in range(10)]
    # three samples a period do not always show that it is regular
    assert [first.oscillates for first in each].count(True) >= 4
    assert [first.onset_s for first in each] == pytest.approx([480 + phase_s] * 10, abs=10)


@pytest.mark.parametrize("low_s", [10, 14])
def test_a_fall_within_the_last_low_of_a_slow_swing_is_from_that_low(low_s: float) -> None:
    t_s = times(275, 0.1)
    fall_s = 54 + 3 * 55 + low_s
    shape = np.where(t_s < fall_s, swinging(t_s, 54, 55, 0.75, 0.65), 0.4)
    for seed in range(3):
        one, two = found(noisy(shape, 0.1, 0.03, seed))
        assert (one.shape, two.shape) == ("cycle", "step")
        assert two.onset_s == pytest.approx(fall_s, abs=1)


def test_three_falls_that_are_not_alike_are_three_drops() -> None:
    t_s = times(615, 1)
    falls = ((170, 252, 0.7), (336, 387, 0.5), (450, 512, 0.24))
    shape = np.ones(len(t_s))
    for begin_s, end_s, depth in falls:
        shape[(t_s > begin_s) & (t_s < end_s)] -= depth
    each = [found(noisy(shape, 1, 0.03, seed)) for seed in range(20)]
    right = [
        [drop.onset_s for drop in drops] == pytest.approx([170, 336, 450], abs=2)
        and [drop.depth for drop in drops] == pytest.approx([0.7, 0.5, 0.24], abs=0.05)
        for drops in each
    ]
    # noise that rises and falls for long passes for a slide now and then
    assert right.count(False) <= 2
