"""Drops found in series whose truth is known."""

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis.definitions import DEPTH_WINDOW_S, MIN_DROP
from heatsoak.analysis.falls import Drop, find_drops, joined
from heatsoak.analysis.series import Array, Series, directions, iops, resampled, throughput
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_series import FINE_S, FULL, KINDS, make, observed, wander

T_S: Array = np.arange(1, 3001, dtype=np.float64) / 10
#: The middles of intervals: rates are means over them.
MID_S: Array = T_S - 0.05


def series(values: Array, sampling_s: float = 0.1) -> Series:
    t_s: Array = np.arange(1, len(values) + 1, dtype=np.float64) * sampling_s
    return Series(t_s, np.full(len(values), sampling_s), np.asarray(values), "mb_s")


def noise(count: int, correlation: float, sigma: float, seed: int = 1) -> Array:
    return wander(count, correlation, sigma, np.random.default_rng(seed))


def noisy(shape: Array, sampling_s: float = 0.1, sigma: float = 0.02, seed: int = 1) -> Series:
    return series(FULL * shape * noise(len(shape), 0.7, sigma, seed), sampling_s)


def governed(onset_s: float, depth: float, time_constant_s: float = 60.0) -> Array:
    """Throughput under a governor: full until the limit, then falling as the board warms."""
    fall = depth * -np.expm1(-np.maximum(T_S - onset_s, 0) / time_constant_s)
    return 1.0 - fall


def low_between(*spans_s: tuple[float, float], depth: float = 0.5, t_s: Array = MID_S) -> Array:
    low = np.any([(t_s > begin_s) & (t_s < end_s) for begin_s, end_s in spans_s], axis=0)
    return np.where(low, 1 - depth, 1.0)


def found(of: Series) -> list[Drop]:
    drops = find_drops(of)
    assert drops is not None
    return drops


# ---- onset and depth


@pytest.mark.parametrize("sigma", [0.0, 0.01, 0.03])
@pytest.mark.parametrize(
    ("onset_s", "depth"), [(7.0, 0.76), (15.0, 0.68), (30.0, 0.6), (55.0, 0.4), (65.0, 0.42)]
)
def test_onset_and_depth_of_a_governed_drive_are_found(
    onset_s: float, depth: float, sigma: float
) -> None:
    values = FULL * governed(onset_s, depth, 30.0) * noise(len(T_S), 0.8, sigma)
    (drop,) = found(series(values))
    # an onset is where 2 % are lost; with noise a slide of 1 % a second hides its first seconds
    lost_s = onset_s - 30 * np.log1p(-0.02 / depth)
    assert drop.onset_s == pytest.approx(lost_s, abs=0.3 if sigma == 0 else 2)
    assert drop.depth == pytest.approx(depth, abs=0.02)
    assert (drop.shape, drop.recovered) == ("step", False)


@pytest.mark.parametrize("time_constant_s", [10.0, 30.0, 90.0])
@pytest.mark.parametrize("depth", [0.15, 0.5])
def test_slow_falls_are_neither_found_late_nor_early(depth: float, time_constant_s: float) -> None:
    shape = governed(100, depth, time_constant_s)
    lost_s = 100 - time_constant_s * np.log1p(-0.02 / depth)
    onsets = [found(noisy(shape, sigma=0.03, seed=seed))[0].onset_s for seed in range(10)]
    # a fall that loses 2 % in so long shows that long after its begin, in this noise
    assert np.median(onsets) == pytest.approx(lost_s, abs=max(1.0, 0.5 * (lost_s - 100)))


@pytest.mark.parametrize("sampling_s", [0.01, 0.1, 0.25, 1.0, 5.0, 10.0])
def test_a_step_is_found_at_any_sampling_rate(sampling_s: float) -> None:
    t_s = np.arange(0, max(300, 60 * sampling_s), sampling_s) + sampling_s
    values = np.where(t_s <= 100, 500.0, 300.0) * noise(len(t_s), 0.5, 0.02)
    (drop,) = found(series(values, sampling_s))
    assert drop.onset_s == pytest.approx(100, abs=max(0.6, 1.2 * sampling_s))
    assert drop.depth == pytest.approx(0.4, abs=0.01)
    assert drop.fall_s <= 2 + 2 * sampling_s


@pytest.mark.parametrize(("count", "sampling_s"), [(400, 0.1), (60, 1.0)])
def test_a_short_series_is_judged(count: int, sampling_s: float) -> None:
    shape = np.where(np.arange(count) * sampling_s < 20, 1.0, 0.6)
    (drop,) = found(noisy(shape, sampling_s))
    assert drop.onset_s == pytest.approx(20, abs=sampling_s)


def test_a_step_hides_in_no_correlated_noise() -> None:
    values = FULL * low_between((120, 400), depth=0.3) * noise(len(T_S), 0.95, 0.06)
    (drop,) = found(series(values))
    assert drop.onset_s == pytest.approx(120, abs=0.3)


def test_changes_of_level_do_not_pass_for_noise() -> None:
    # a small fall is found beside a large one as well as without it
    small = low_between((42, 86), depth=0.15)
    both = small * low_between((113, 136), (150, 160), (175, 190), depth=0.7)
    for seed in range(12):
        drops = found(series(FULL * both * noise(len(T_S), 0.85, 0.05, seed)))
        assert any(abs(drop.onset_s - 42) < 3 and drop.recovered for drop in drops)


@pytest.mark.parametrize(("begin_s", "end_s"), [(60, 95), (105, 140), (20, 30)])
def test_a_gap_is_neither_a_drop_nor_shifts_one(begin_s: float, end_s: float) -> None:
    whole = noisy(low_between((100, 400)))
    keep = (whole.t_s <= begin_s) | (whole.t_s > end_s)
    (drop,) = found(Series(whole.t_s[keep], whole.interval_s[keep], whole.values[keep], "mb_s"))
    assert drop.onset_s == pytest.approx(100, abs=0.3)
    assert drop.depth == pytest.approx(0.5, abs=0.01)


def test_intervals_may_be_irregular() -> None:
    chance = np.random.default_rng(4)
    interval_s = chance.uniform(0.3, 1.7, 400)
    t_s = np.cumsum(interval_s)
    values = np.where(t_s < 150, 500.0, 300.0) * chance.normal(1, 0.02, 400)
    (drop,) = found(Series(t_s, interval_s, values, "mb_s"))
    assert drop.onset_s == pytest.approx(150, abs=1.7)


@pytest.mark.slow
@given(st.floats(1e-3, 1e9))
@settings(max_examples=20, deadline=None)
def test_the_unit_of_the_rates_does_not_matter(scale: float) -> None:
    drops = [
        found(series(full * low_between((100, 400)) * noise(len(T_S), 0.7, 0.03)))
        for full in (1.0, scale)
    ]
    assert drops[0][0].onset_s == pytest.approx(drops[1][0].onset_s, abs=0.1)
    assert drops[0][0].depth == pytest.approx(drops[1][0].depth, abs=1e-6)


@pytest.mark.slow
@given(st.floats(-1e4, 1e5))
@settings(max_examples=20, deadline=None)
def test_a_later_begin_moves_the_onset_and_nothing_else(later_s: float) -> None:
    one = noisy(low_between((100, 400)))
    other = Series(one.t_s + later_s, one.interval_s, one.values, "mb_s")
    (first,), (second,) = found(one), found(other)
    assert second.onset_s - later_s == pytest.approx(first.onset_s, abs=0.2)
    assert second.depth == pytest.approx(first.depth, abs=1e-3)


def test_a_drive_may_be_smooth_before_and_wild_after() -> None:
    before, after = FULL * noise(1000, 0.7, 0.01), 0.3 * FULL * noise(2000, 0.8, 0.4)
    (drop,) = found(series(np.concatenate([before, np.maximum(after, 1.0)])))
    assert drop.onset_s == pytest.approx(100, abs=0.5)
    assert not drop.recovered


def test_a_drive_that_stops_has_lost_all() -> None:
    (drop,) = found(noisy(np.where(T_S > 140, 0.0, 1.0)))
    assert drop.onset_s == pytest.approx(140, abs=0.3)
    assert drop.depth == pytest.approx(1)


# ---- what is no drop


@pytest.mark.slow
def test_noise_alone_makes_no_episodes() -> None:
    chance = np.random.default_rng(7)
    for _ in range(30):
        of = observed(np.full(36_000, FULL), chance, gaps=2)
        assert find_drops(of) == []
    for sampling_s in (1.0, 5.0):
        for _ in range(30):
            assert find_drops(observed(np.full(36_000, FULL), chance, sampling_s)) == []


def test_dips_while_garbage_is_collected_make_no_episode() -> None:
    values = FULL * noise(len(T_S), 0.6, 0.02)
    values[::100] *= 0.3
    assert find_drops(series(values)) == []


@pytest.mark.parametrize("depth", [0.0, 0.02, 0.04])
def test_less_than_five_percent_is_no_drop(depth: float) -> None:
    assert find_drops(noisy(low_between((100, 400), depth=depth), sigma=0.005)) == []


def test_neither_a_slow_start_nor_a_burst_is_the_level_to_compare_with() -> None:
    assert find_drops(noisy(np.minimum(1, 0.5 + T_S / 60))) == []
    burst = np.where((T_S > 140) & (T_S < 160), 1.5, 1.0)
    assert find_drops(noisy(burst)) == []
    (drop,) = found(noisy(burst * low_between((220, 400), depth=0.4)))
    assert drop.onset_s == pytest.approx(220, abs=0.3)


def test_a_burst_at_the_start_is_no_level() -> None:
    assert find_drops(noisy(np.where(MID_S < 1, 1.3, 1.0))) == []


def test_a_start_that_is_fast_and_soon_over_is_a_level() -> None:
    (drop,) = found(noisy(low_between((15, 400), depth=0.7)))
    assert drop.onset_s == pytest.approx(15, abs=0.3)


SECONDS = np.arange(1, 301, dtype=np.float64)
SWINGS = [
    pytest.param(0.7 + 0.6 * (MID_S % 10) / 10, 0.1, 10, id="sawtooth of 10 s"),
    pytest.param(0.7 + 0.6 * (MID_S % 30) / 30, 0.1, 30, id="sawtooth of 30 s"),
    pytest.param(np.where(MID_S % 20 < 12, 1.0, 0.5), 0.1, 20, id="square, high first"),
    pytest.param(np.where(MID_S % 20 < 12, 0.5, 1.0), 0.1, 20, id="square, low first"),
    pytest.param(np.where(MID_S % 5 < 1.5, 0.3, 1.0), 0.1, 5, id="flushes each 5 s"),
    pytest.param(np.where(SECONDS % 5 < 1, 0.3, 1.0), 1.0, 5, id="flushes each 5 s, seen each 1 s"),
    pytest.param(2 * (SECONDS % 2), 1.0, 2, id="reported every other second"),
]


@pytest.mark.parametrize(("shape", "sampling_s", "period_s"), SWINGS)
def test_a_swing_from_the_begin_is_no_drop_but_the_fall_of_its_mean_is(
    shape: Array, sampling_s: float, period_s: float
) -> None:
    assert find_drops(noisy(shape, sampling_s)) == []
    t_s = np.arange(len(shape)) * sampling_s
    (drop,) = found(noisy(shape * np.where(t_s < 180, 1.0, 0.4), sampling_s))
    # no mean of a swing is taken over less than a period
    assert drop.onset_s == pytest.approx(180, abs=max(2 * sampling_s, period_s))
    assert drop.depth == pytest.approx(0.6, abs=0.05)


# ---- recovery, cycles, slides, falls on falls


@pytest.mark.parametrize("sampling_s", [0.1, 1.0])
def test_stalls_of_few_seconds_are_no_episodes(sampling_s: float) -> None:
    stalls = low_between((40, 43), (150, 152), (155, 156.5), (260, 263.5), depth=0.6)
    size = round(sampling_s / 0.1)
    for seed in range(5):
        values = FULL * stalls * noise(len(T_S), 0.7, 0.02, seed)
        assert found(series(values.reshape(-1, size).mean(axis=1), sampling_s)) == []


@pytest.mark.parametrize("sampling_s", [0.1, 1.0])
def test_what_is_low_for_several_seconds_is_an_episode(sampling_s: float) -> None:
    size = round(sampling_s / 0.1)
    for seed in range(5):
        values = FULL * low_between((150, 157), depth=0.6) * noise(len(T_S), 0.7, 0.02, seed)
        (drop,) = found(series(values.reshape(-1, size).mean(axis=1), sampling_s))
        assert drop.onset_s == pytest.approx(150, abs=1)


def test_recovery_ends_an_episode() -> None:
    (drop,) = found(noisy(low_between((100, 200), depth=0.4)))
    assert drop.recovered
    assert drop.end_s == pytest.approx(200, abs=0.6)


def test_a_slow_recovery_ends_when_throughput_is_back() -> None:
    back = np.clip((T_S - 120) / 100, 0, 1)
    (drop,) = found(noisy(np.where(T_S < 60, 1.0, 0.5 + 0.5 * back)))
    assert drop.recovered
    assert drop.end_s == pytest.approx(214, abs=8)


def test_irregular_dips_stay_apart() -> None:
    spans_s = ((40, 50), (75, 105), (200, 206), (230, 255))
    drops = found(noisy(low_between(*spans_s)))
    assert [drop.onset_s for drop in drops] == pytest.approx([40, 75, 200, 230], abs=0.4)
    assert all(drop.recovered and not drop.oscillates for drop in drops)


def cycle(period_s: float, duty: float, top: float = 1.0, t_s: Array = MID_S) -> Array:
    phase = np.mod(t_s - 100, period_s) / period_s
    return np.where(t_s < 100, 1.0, np.where(phase < duty, 0.5, top))


CYCLES = [
    pytest.param(cycle(30, 0.5), 0.1, 30, 0.5, id="30 s"),
    pytest.param(cycle(2, 0.5), 0.1, 2, 0.5, id="quicker than a level is long"),
    pytest.param(cycle(6, 0.5, t_s=SECONDS), 1.0, 6, 0.5, id="three slow samples a phase"),
    pytest.param(cycle(20, 0.3), 0.1, 20, 0.3, id="mostly high"),
    pytest.param(cycle(20, 0.7), 0.1, 20, 0.7, id="mostly low"),
    pytest.param(cycle(20, 0.5, top=0.85), 0.1, 20, 0.5, id="never quite back"),
    pytest.param(
        np.where(T_S < 100, 1, 0.5 + 0.5 * np.abs(((T_S - 100) % 12) / 6 - 1)), 0.1, 12, 0.5,
        id="triangle",
    ),
    pytest.param(
        np.where(T_S < 100, 1, 0.5 + 0.5 * ((MID_S - 100) % 20) / 20), 0.1, 20, 0.5, id="sawtooth"
    ),
]  # fmt: skip


@pytest.mark.parametrize(("shape", "sampling_s", "period_s", "duty"), CYCLES)
def test_regular_falls_and_recoveries_are_one_oscillating_drop(
    shape: Array, sampling_s: float, period_s: float, duty: float
) -> None:
    (drop,) = found(noisy(shape, sampling_s))
    assert (drop.oscillates, drop.shape) == (True, "cycle")
    assert drop.period_s == pytest.approx(period_s, rel=0.05)
    assert drop.duty == pytest.approx(duty, abs=0.12)
    assert drop.onset_s == pytest.approx(100, abs=max(1.5, 2.5 * sampling_s))


@pytest.mark.parametrize("rest", [1.0, 0.0])
def test_a_deeper_fall_ends_a_cycle(rest: float) -> None:
    """Whether it goes on swinging there or not."""
    swing = cycle(12, 0.5)
    after = np.where(T_S < 220, swing, 0.3 * (rest * swing + (1 - rest) * 0.75))
    one, two = found(noisy(after))
    assert (one.shape, one.end_s) == ("cycle", two.onset_s)
    assert two.onset_s == pytest.approx(220, abs=2)
    assert two.depth == pytest.approx(0.7, abs=0.05)


def test_three_dips_are_no_cycle_where_they_come_irregularly() -> None:
    drops = found(noisy(low_between((23, 36), (50, 80), (95, 118), depth=0.55)))
    assert [drop.onset_s for drop in drops] == pytest.approx([23, 50, 95], abs=0.4)


def test_a_cycle_that_ends_is_over() -> None:
    (drop,) = found(noisy(np.where(T_S < 200, cycle(20, 0.5), 1.0)))
    assert drop.oscillates
    assert drop.recovered
    assert drop.end_s == pytest.approx(190, abs=1)


def test_a_long_cycle_is_as_deep_as_its_lows() -> None:
    t_s = np.arange(0, 1850, 0.1)
    low = (t_s > 600) & ((t_s - 600) % 180 < 90)
    (drop,) = found(noisy(np.where(low, 0.5, 1.0)))
    assert drop.oscillates
    assert drop.depth == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("bend", [1.0, 1.5, 2.0])
def test_a_decline_from_the_start_is_a_slide_since_2_percent_are_lost(bend: float) -> None:
    t_s = np.arange(1, 6001) / 10
    each = [found(noisy(1 - 0.5 * (t_s / 600) ** bend, seed=seed)) for seed in range(5)]
    drops = [drop for (drop,) in each]
    assert np.median([drop.onset_s for drop in drops]) == pytest.approx(
        600 * 0.04 ** (1 / bend), abs=20
    )
    for drop in drops:
        assert drop.shape == "slide"
        assert drop.before == pytest.approx(FULL, rel=0.02)
        assert drop.fall_s > 300


def test_a_decline_after_a_level_is_a_slide_since_2_percent_are_lost() -> None:
    t_s = np.arange(1, 6001) / 10
    (drop,) = found(noisy(1 - 0.5 * np.maximum(t_s - 200, 0) / 400))
    assert drop.shape == "slide"
    assert drop.onset_s == pytest.approx(216, abs=5)


@pytest.mark.parametrize("time_constant_s", [1, 5, 20, 60])
def test_a_governors_fall_and_creep_is_one_step(time_constant_s: float) -> None:
    (drop,) = found(noisy(governed(60, 0.5, time_constant_s)))
    assert drop.shape == "step"
    reached_s = min(2.3 * time_constant_s, 240)
    assert drop.fall_s == pytest.approx(reached_s, rel=0.25, abs=1)


def test_quick_stairs_are_one_fall() -> None:
    stairs = np.select([MID_S < 100, MID_S < 105, MID_S < 110, MID_S < 115], [1, 0.8, 0.64, 0.5])
    (drop,) = found(noisy(np.where(MID_S < 115, stairs, 0.4)))
    assert drop.onset_s == pytest.approx(100, abs=0.3)
    assert drop.depth == pytest.approx(0.6, abs=0.01)


@pytest.mark.parametrize("first", [low_between((60, 400), depth=0.4), governed(60, 0.5)])
def test_a_deeper_fall_from_a_settled_level_is_a_drop_of_its_own(first: Array) -> None:
    one, two = found(noisy(first * low_between((200, 400))))
    assert one.onset_s == pytest.approx(60, abs=3)
    assert two.onset_s == pytest.approx(200, abs=0.3)
    assert (one.end_s, one.recovered) == (two.onset_s, False)
    settled = FULL * float(first[(T_S > 140) & (T_S <= 200)].mean())
    assert two.before == pytest.approx(settled, rel=0.02)
    both = joined(one, two)
    assert (both.onset_s, both.end_s, both.before) == (one.onset_s, two.end_s, one.before)
    assert both.depth == pytest.approx(1 - 0.5 * float(first[T_S > 240].mean()), abs=0.02)
    assert both.fall_s >= two.onset_s - one.onset_s


def test_a_deeper_fall_that_passes_is_a_drop_beside_the_first() -> None:
    shape = low_between((60, 400), depth=0.4) * low_between((150, 200))
    outer, inner = found(noisy(shape))
    assert (outer.onset_s, outer.end_s) == pytest.approx((60, 300), abs=0.5)
    assert (inner.onset_s, inner.end_s) == pytest.approx((150, 200), abs=0.6)
    assert inner.recovered
    both = joined(outer, inner)
    assert (both.end_s, both.during) == (outer.end_s, outer.during)


# ---- anything


def check(drops: list[Drop] | None, of: Series) -> None:
    for drop in drops or []:
        begin_s, end_s = np.min(of.t_s - of.interval_s), np.max(of.t_s)
        assert begin_s - 1e-6 <= drop.onset_s <= drop.end_s <= end_s + 1e-6
        assert MIN_DROP / 2 <= drop.depth <= 1
        assert drop.fall_s >= 0
        assert drop.oscillates == (drop.shape == "cycle") == (drop.period_s is not None)


@pytest.mark.filterwarnings("error")
@given(
    st.lists(st.floats(min_value=0, max_value=1e5), max_size=200),
    st.sampled_from([0.01, 0.1, 1.0, 10.0]),
)
@settings(deadline=None)
def test_any_series_has_an_answer(values: list[float], sampling_s: float) -> None:
    of = series(np.array(values), sampling_s)
    check(find_drops(of), of)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@given(
    st.lists(
        st.tuples(
            st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, 0.0, 1.0, 1.0]),
            st.floats(width=32),
        ),
        max_size=120,
    )
)
@example([(float(index), 1e9 if index < 40 else 1e-3) for index in range(80)])
@example([(0.1 * index, 5.0 * (index % 2)) for index in range(100)])
@settings(deadline=None)
def test_times_and_values_may_be_anything(rows: list[tuple[float, float]]) -> None:
    t_s = np.array([row[0] for row in rows])
    of = Series(t_s, np.full(len(rows), 0.5), np.array([row[1] for row in rows]), "mb_s")
    good = np.isfinite(t_s)
    check(find_drops(of), Series(t_s[good], of.interval_s[good], of.values[good], "mb_s"))


@given(
    seed=st.integers(0, 10_000),
    share=st.sampled_from([0.1, 0.3, 0.5]),
    held=st.integers(1, 8),
    sampling_s=st.sampled_from([0.1, 1.0, 2.0]),
)
@settings(deadline=None, max_examples=40)
@example(seed=7, share=0.3, held=6, sampling_s=1.0)
def test_a_drive_that_is_idle_most_of_the_time_has_an_answer(
    seed: int, share: float, held: int, sampling_s: float
) -> None:
    chance = np.random.default_rng(seed)
    bursts = np.where(chance.random(100) < share, chance.lognormal(0, 2, 100), 0.0)
    drops = found(series(np.repeat(bursts, held), sampling_s))
    assert all(drop.before > drop.during >= 0 for drop in drops)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", [np.nan, np.inf, 0.0, -1.0, 7.0])
@pytest.mark.parametrize("count", [0, 1, 11, 12, 3000])
def test_a_rate_that_never_changes_is_no_drop(rate: float, count: int) -> None:
    assert not find_drops(series(np.full(count, rate)))


def test_what_is_too_short_has_no_answer() -> None:
    assert find_drops(series(np.full(11, 5.0))) is None
    assert find_drops(series(np.full(30, 5.0))) is None
    assert find_drops(series(np.full(50, 5.0))) == []


@pytest.mark.long
@pytest.mark.slow
def test_ten_million_samples_are_judged() -> None:
    count = 10_000_000
    level = np.where(np.arange(count) < 6e6, 500.0, 300.0)
    (drop,) = found(series(level * noise(count, 0.8, 0.03)))
    assert drop.onset_s == pytest.approx(6e5, abs=0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("sampling_s", "within_s"), [(FINE_S, 1.5), (1.0, 3.0), (5.0, 6.0)])
def test_made_series_are_judged_as_they_were_made(sampling_s: float, within_s: float) -> None:
    true, hits, false, errors, depths = 0, 0, 0, [], []
    for kind in KINDS:
        for seed in range(8):
            made = make(kind, seed, sampling_s)
            drops = found(made.series)
            true += len(made.falls)
            false += max(0, len(drops) - len(made.falls))
            for fall, drop in zip(made.falls, drops, strict=False):
                reach_s = 0.3 * (fall.end_s - fall.onset_s) if fall.shape == "slide" else 15
                if abs(drop.onset_s - fall.onset_s) > reach_s:
                    continue
                hits += drop.shape == fall.shape
                if fall.shape != "slide":
                    errors.append(abs(drop.onset_s - fall.onset_s))
            depths += [
                100 * abs(drop.depth - made.depth(fall))
                for fall, drop in zip(made.falls[:1], drops, strict=False)
            ]
    assert hits >= 0.95 * true
    assert false <= 1
    assert np.median(errors) <= 0.4 * within_s
    assert np.quantile(errors, 0.9) <= within_s
    assert np.median(depths) <= 1


# ---- series of frames


def frame(**columns: list[float | None]) -> pl.DataFrame:
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.Float64), strict=False)


def test_bytes_come_before_ios_and_ios_before_latencies() -> None:
    rows = frame(
        t_s=[1.0, 2.0],
        interval_s=[1.0, 1.0],
        read_lat_us=[100.0, 200.0],
        write_lat_us=[300.0, None],
        read_iops=[5.0, 6.0],
        write_iops=[1.0, None],
        read_bw_mb_s=[None, None],
        write_bw_mb_s=[7.0, 8.0],
    )
    seen = throughput(rows, 0.0)
    assert (seen.unit, seen.values.tolist()) == ("mb_s", [7.0, 8.0])
    rows = rows.drop("read_bw_mb_s", "write_bw_mb_s")
    seen = throughput(rows, 0.0)
    assert (seen.unit, seen.values.tolist()) == ("iops", [6.0, 6.0])
    seen = throughput(rows.drop("read_iops", "write_iops"), 0.0)
    assert (seen.unit, seen.values.tolist()) == ("lat_us", [5000.0, 5000.0])


def test_slower_is_lower_where_only_latencies_were_logged() -> None:
    lat_us = np.where(T_S < 100, 80.0, 200.0) * noise(len(T_S), 0.7, 0.03)
    rows = pl.DataFrame({"t_s": T_S, "interval_s": np.full(len(T_S), 0.1), "lat_us": lat_us})
    (drop,) = found(throughput(rows, 0.0))
    assert drop.onset_s == pytest.approx(100, abs=0.3)
    assert drop.before == pytest.approx(1e6 / 80, rel=0.02)
    assert drop.depth == pytest.approx(0.6, abs=0.01)


def test_reads_and_writes_are_given_apart() -> None:
    rows = frame(
        t_s=[1.0, 2.0, 3.0],
        interval_s=[1.0, 1.0, 1.0],
        read_bw_mb_s=[5.0, 0.0, 4.0],
        write_bw_mb_s=[1.0, 2.0, None],
    )
    apart = directions(rows, 0.0)
    assert {name: part.values.tolist() for name, part in apart.items()} == {
        "read": [5.0, 0.0, 4.0],
        "write": [1.0, 2.0],
    }
    only = directions(rows.with_columns(read_bw_mb_s=pl.lit(0.0)), 0.0)
    assert list(only) == ["write"]
    assert directions(rows.select("t_s"), 0.0) == {}


def test_rows_come_in_any_order_and_twice() -> None:
    rows = frame(
        t_s=[3.0, 1.0, None, 2.0, 2.0, 4.0, 5.0, float("inf")],
        read_iops=[30.0, 10.0, 1.0, 20.0, 22.0, float("nan"), float("inf"), 2.0],
        write_iops=[None, None, 1.0, 5.0, None, -3.0, None, 2.0],
    )
    seen = iops(rows, 0.0)
    assert seen.t_s.tolist() == [1.0, 2.0, 3.0]
    assert seen.values.tolist() == [10.0, 26.0, 30.0]
    assert seen.interval_s.tolist() == [1.0, 1.0, 1.0]


def test_the_interval_after_a_gap_is_not_as_long_as_the_gap() -> None:
    rows = frame(t_s=[1.0, 2.0, 3.0, 100.0, 101.0], iops=[5.0] * 5)
    assert iops(rows, 0.0).interval_s.max() <= 3


@given(st.integers(1, 50), st.floats(0.1, 5.0), st.floats(0.1, 20.0))
def test_resampling_keeps_what_was_moved(count: int, sampling_s: float, step_s: float) -> None:
    values = np.random.default_rng(count).uniform(1, 2, count)
    of = series(values, sampling_s)
    steps = int(of.duration_s // step_s)
    even = resampled(of, 0.0, steps * step_s, step_s)
    assert len(even) == steps
    moved = np.interp(steps * step_s, [0, *of.t_s], [0, *np.cumsum(values * sampling_s)])
    assert float(np.sum(even) * step_s) == pytest.approx(moved, rel=1e-9, abs=1e-9)


def test_depth_is_that_of_the_last_minute() -> None:
    (drop,) = found(series(FULL * governed(60, 0.5)))
    late = governed(60, 0.5)[T_S > 300 - DEPTH_WINDOW_S].mean()
    assert drop.depth == pytest.approx(1 - late, abs=0.001)


@pytest.mark.parametrize("sampling_s", [1.0, 5.0])
def test_what_stays_low_is_a_level_however_it_moves_there(sampling_s: float) -> None:
    # no piece of it, beyond so little noise, is as long as a level
    t_s = np.arange(1, int(300 * sampling_s) + 1) * sampling_s
    begin_s, end_s = 100 * sampling_s, 120 * sampling_s
    rises = 0.12 + 0.2 * (t_s - begin_s) / (end_s - begin_s)
    shape = np.where((t_s > begin_s) & (t_s <= end_s), rises, 1.0)
    (drop,) = found(noisy(shape, sampling_s, 0.001))
    assert drop.onset_s == pytest.approx(begin_s, abs=sampling_s)
    assert drop.end_s == pytest.approx(end_s, abs=1.5 * sampling_s)
    last = (t_s > max(begin_s, end_s - DEPTH_WINDOW_S)) & (t_s <= end_s)
    assert drop.depth == pytest.approx(1 - float(rises[last].mean()), abs=0.02)


def test_a_slow_swing_from_the_begin_falls_each_time() -> None:
    t_s = np.arange(1.0, 921.0)
    phase = np.mod(t_s - 167, 332)
    drops = found(noisy(np.where((t_s > 167) & (phase < 151), 0.45, 1.0), 1.0, 0.02))
    assert drops[0].onset_s == pytest.approx(167, abs=1)
    assert drops[-1].end_s == 920
    assert all(drop.depth == pytest.approx(0.55, abs=0.02) for drop in drops)
