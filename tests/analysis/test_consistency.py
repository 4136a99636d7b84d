"""Consistency on rates whose levels, rounds and percentiles are known."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import complaint, heatsoak_here
from heatsoak.analysis import Consistency
from heatsoak.analysis.consistency import PerSecond, consistency, rate_levels
from heatsoak.analysis.findings import RateLevel
from heatsoak.analysis.rounds import steady_state
from heatsoak.analysis.series import RateSeries
from heatsoak.report.findings import consistency_text
from hypothesis import given, settings
from hypothesis import strategies as st
from made_recording import Array, judged, make_recording, sampled
from made_series import wander, without


def series(values: Array, sampling_s: float = 1.0) -> RateSeries:
    t_s: Array = np.arange(1, len(values) + 1, dtype=np.float64) * sampling_s
    return RateSeries(
        t_s, np.full(len(values), sampling_s), np.asarray(values, dtype=float), "iops"
    )


def found(values: Array, sampling_s: float = 1.0, window_s: float = 400) -> Consistency:
    result = consistency(series(values, sampling_s), window_s)
    assert result is not None
    return result


def levels_of(rates: Array) -> list[RateLevel]:
    return rate_levels(PerSecond(np.arange(1.0, len(rates) + 1), rates, len(rates)))[0]


def wandering(count: int, correlation: float, sigma: float, seed: int) -> Array:
    return wander(count, correlation, sigma, np.random.default_rng(seed))


def stutter(seconds: int, low_share: float, seed: int = 1, noise: float = 0.03) -> Array:
    """Seconds at 6 k, and so many at 2 k, in any order."""
    chance = np.random.default_rng(seed)
    is_low = chance.permutation(np.arange(seconds) < low_share * seconds)
    return np.asarray(np.where(is_low, 2000.0, 6000.0) * chance.normal(1, noise, seconds))


def of_step(column: str, rates: Array, **columns: Any) -> Consistency:
    (step,) = judged(sampled(rates, column=column, sigma=0, **columns)).steps
    assert step.consistency is not None
    return step.consistency


# ---- mean, deviation, percentiles


IN_TURN = np.repeat(np.tile([90.0, 110.0], 200), 10)


@pytest.mark.parametrize(
    ("values", "made", "wanted"),
    [
        pytest.param(np.concatenate([np.full(5000, 7.0), IN_TURN]), {"sampling_s": 0.1},
                     {"window_s": 400, "mean_iops": 100, "stdev_iops": 10, "ratio": 10},
                     id="the last 400 seconds, each second"),
        pytest.param(np.full(300, 5.0), {"window_s": 1000}, {"window_s": 300},
                     id="the whole step where that is shorter"),
        pytest.param(np.full(500, 2500.0), {}, {"ratio": None},
                     id="no ratio without a deviation"),
        pytest.param(np.tile([900.0, 1100.0], 30), {"sampling_s": 10.0},
                     {"each_s": 10, "window_s": 400, "stdev_iops": 101},
                     id="a log without seconds says what its intervals are"),
    ],
)  # fmt: skip
def test_consistency_is_of_the_seconds_of_its_window(
    values: Array, made: dict[str, float], wanted: dict[str, float | None]
) -> None:
    result = found(values, **made)
    for name, value in wanted.items():
        near = value if value is None else pytest.approx(value, rel=0.01)
        assert getattr(result, name) == near


def test_percentiles_are_of_the_seconds() -> None:
    percentiles = found(np.arange(101.0)).percentiles
    assert percentiles is not None
    assert list(percentiles.model_dump().values()) == pytest.approx([0, 1, 5, 50, 95, 99, 100])


def test_where_only_bytes_were_logged_iops_follow_from_the_block_size() -> None:
    result = of_step("write_bw_mb_s", np.full(60, 409.6))
    assert result.mean_iops == pytest.approx(100_000)
    assert result.derived_from_bytes
    assert "from MB/s and block size" in consistency_text(result)


def test_the_window_is_that_which_the_command_is_asked_for(tmp_path: Path) -> None:
    rates = sampled(np.arange(1.0, 501), column="write_iops", sigma=0)
    make_recording(tmp_path / "r", rates)
    words = ("analyze", "r", "--format", "json", "--window")
    done = heatsoak_here(*words, "100", cwd=tmp_path)
    (step,) = json.loads(done.stdout)["recordings"][0]["steps"]
    assert step["consistency"]["window_s"] == 100
    assert step["consistency"]["mean_iops"] == pytest.approx(450.5)
    for window in ("0", "soon"):
        assert "--window" in complaint(heatsoak_here(*words, window, cwd=tmp_path), 2)


# ---- latency


def test_latencies_are_named_for_what_they_are() -> None:
    iops, p99 = np.full(500, 100.0), np.full(500, 300.0)
    p99[0], p99[-1] = 9000.0, 800.0  # the first lies before the window
    known = {"write_lat_p50_us": 0.9 * iops, "write_lat_max_us": 20 * iops}
    result = of_step("write_iops", iops, write_lat_p99_us=p99, **known)
    assert result.read_latency is None
    latency = result.write_latency
    assert latency is not None
    assert (latency.p50_median_us, latency.p99_median_us, latency.p99_largest_us) == (90, 300, 800)
    assert (latency.p999_median_us, latency.max_us) == (None, 2000)


# ---- levels


@given(st.integers(0, 10_000), st.floats(1, 1e6), st.sampled_from([0.0, 0.001, 0.05, 0.2]))
@settings(max_examples=40, deadline=None)
def test_rates_that_scatter_about_one_value_are_one_level(
    seed: int, value: float, spread: float
) -> None:
    rates = value * np.random.default_rng(seed).normal(1, spread, 400)
    (level,) = levels_of(rates)
    assert level.share == pytest.approx(1, abs=0.03)
    assert level.iops == pytest.approx(value, rel=max(1e-9, 0.25 * spread))


@given(st.integers(0, 10_000), st.sampled_from([0.6, 0.8, 0.95, 0.99]), st.sampled_from([60, 400]))
@settings(max_examples=40, deadline=None)
def test_rates_that_wander_are_one_level(seed: int, correlation: float, count: int) -> None:
    assert len(levels_of(5000 * wandering(count, correlation, 0.08, seed))) == 1


@pytest.mark.parametrize("count", [30, 400, 3600])
@pytest.mark.parametrize("shape", ["lognormal", "dips", "slide", "rounded", "even"])
def test_skewed_and_uneven_rates_are_one_level(shape: str, count: int) -> None:
    chance = np.random.default_rng(3)
    rates = {
        "lognormal": chance.lognormal(8, 0.5, count),
        "dips": 5000 - chance.exponential(400, count),
        "slide": np.linspace(6000, 3000, count) * chance.normal(1, 0.02, count),
        "rounded": np.round(chance.normal(100, 3, count)),
        "even": chance.uniform(3000, 6000, count),
    }[shape]
    assert len(levels_of(rates)) == 1


@pytest.mark.parametrize("share", [0.03, 0.2, 0.5, 0.9])
@pytest.mark.parametrize(("low_iops", "spread"), [(2000.0, 0.0), (2000.0, 100.0), (0.0, 100.0)])
def test_rates_that_alternate_are_two_levels(share: float, low_iops: float, spread: float) -> None:
    chance = np.random.default_rng(1)
    is_low = chance.permutation(np.arange(400) < share * 400)
    rates = np.where(is_low, low_iops, 6000.0)
    rates += chance.normal(0, spread, 400) * (rates > 0)
    low, high = levels_of(rates)
    assert (low.iops, high.iops) == pytest.approx((low_iops, 6000), abs=60)
    assert low.share == pytest.approx(share, abs=0.01)


@given(st.integers(0, 10_000), st.floats(1e-3, 1e6))
@settings(max_examples=30, deadline=None)
def test_levels_do_not_depend_on_the_unit(seed: int, scale: float) -> None:
    rates = stutter(200, 0.3, seed)
    scaled = levels_of(rates * scale)
    assert [level.iops / scale for level in scaled] == pytest.approx(
        [level.iops for level in levels_of(rates)], rel=1e-6
    )


def test_a_single_odd_second_is_not_a_level() -> None:
    assert len(levels_of(np.array([6000.0] * 399 + [2000.0]))) == 1
    assert levels_of(np.empty(0)) == []


def test_a_stutter_is_reported_with_its_stays_and_changes() -> None:
    cycle = np.concatenate([np.full(35, 6000.0), np.full(5, 2000.0)])
    result = found(np.tile(cycle, 10) * np.random.default_rng(1).normal(1, 0.02, 400))
    low, high = result.levels
    assert (low.dwell_s, high.dwell_s) == (5, 35)
    assert low.share == pytest.approx(5 / 40)
    assert result.changes == 19
    assert "2 levels: 5,994 for 88 %, 1,997 for 13 % of the time, 19 changes" in consistency_text(
        result
    )


def test_what_was_not_measured_parts_two_stays() -> None:
    cycle = np.concatenate([np.full(20, 6000.0), np.full(20, 2000.0)])
    whole = series(np.tile(cycle, 10))
    keep = whole.t_s % 40 != 10
    result = consistency(
        RateSeries(whole.t_s[keep], whole.interval_s[keep], whole.values[keep], "iops")
    )
    assert result is not None
    low, high = result.levels
    assert low.dwell_s == 20
    assert high.dwell_s < 20


# ---- steady state


def rounds(*means: float, noise: float = 0.0) -> RateSeries:
    """A minute at each mean, 10 times a second."""
    values = np.repeat(np.array(means), 600)
    return series(values * np.random.default_rng(1).normal(1, noise, len(values)), 0.1)


def test_steady_state_is_reached_when_five_rounds_agree() -> None:
    steady = steady_state(rounds(1000, 700, 500, 400, 395, 405, 400, 398, noise=0.05))
    assert steady is not None
    assert (steady.reached, steady.since_s, steady.at_end) == (True, 180, True)
    assert steady.mean_iops == pytest.approx(400, rel=0.01)
    assert steady.range_pct < 5


@pytest.mark.parametrize(
    ("means", "reached"),
    [
        ((90, 110, 90, 110, 100), True),  # 20 % apart, the line nearly level
        ((89.9, 110, 90, 110, 100), False),
        ((95, 97.5, 100, 102.5, 105), True),  # the line rises by 10 %
        ((94.9, 97.4, 100, 102.6, 105.1), False),
        ((105, 102.5, 100, 97.5, 95), True),
    ],
)
def test_rounds_may_range_over_20_and_slope_by_10_percent(
    means: tuple[float, ...], reached: bool
) -> None:
    steady = steady_state(rounds(*means))
    assert steady is not None
    assert steady.reached is reached


def test_a_state_that_did_not_last_is_said() -> None:
    steady = steady_state(rounds(100, 100, 100, 100, 100, 50, 50))
    assert steady is not None
    assert (steady.reached, steady.since_s, steady.at_end) == (True, 0, False)
    assert "not at the end" in consistency_text(found(rounds(*[100] * 5, 50, 50).values, 0.1))


@pytest.mark.parametrize("values", [np.ones(299), np.zeros(600), np.empty(0)])
def test_fewer_than_five_rounds_or_no_io_prove_nothing(values: Array) -> None:
    assert steady_state(series(values)) is None


def test_rounds_that_were_not_measured_are_not_steady() -> None:
    whole = rounds(*[100] * 7)
    assert steady_state(without(whole, 130, 170)) is None


@given(
    st.lists(st.floats(88, 112), min_size=5, max_size=12), st.sampled_from([0.1, 1.0, 7.0, 90.0])
)
@settings(max_examples=30, deadline=None)
def test_rounds_agree_with_the_definition_however_they_were_sampled(
    means: list[float], sampling_s: float
) -> None:
    edges = np.arange(1, 60 * len(means) / sampling_s + 1) * sampling_s
    ends = edges[edges <= 60 * len(means) + 1e-6]
    total = np.interp(ends, np.arange(len(means) + 1) * 60.0, np.cumsum([0.0, *means]) * 60)
    values = np.diff(total, prepend=0.0) / sampling_s
    steady = steady_state(RateSeries(ends, np.full(len(ends), sampling_s), values, "iops"))
    whole = int((ends[-1] + 1e-6) // 60) if len(ends) else 0
    if whole < 5:
        assert steady is None
        return
    edge_s = np.arange(whole + 1) * 60.0
    reached = np.interp(edge_s, [0.0, *ends], [0.0, *total])
    minutes = np.diff(reached) / 60
    expected = []
    for first in range(whole - 4):
        window = minutes[first : first + 5]
        line = np.polyval(np.polyfit(np.arange(5), window, 1), np.arange(5))
        mean = window.mean()
        expected.append((np.ptp(window) / mean, np.ptp(line) / mean))
    if any(abs(r - 0.2) < 1e-6 or abs(s - 0.1) < 1e-6 for r, s in expected):
        return  # rounding decides
    passes = [bool(r <= 0.2 and s <= 0.1) for r, s in expected]
    assert steady is not None
    assert steady.reached is any(passes)
    assert steady.at_end is passes[-1]
    if any(passes):
        assert steady.since_s == 60 * passes.index(True)


# ---- bounds


@pytest.mark.slow
@given(
    st.lists(st.floats(allow_nan=True, allow_infinity=False, width=32), max_size=80),
    st.sampled_from([0.01, 0.1, 1.0, 10.0, 400.0]),
    st.floats(2, 1e6),
)
@settings(max_examples=50, deadline=None)
@pytest.mark.filterwarnings("error")
def test_any_rates_have_an_answer(values: list[float], sampling_s: float, window_s: float) -> None:
    result = consistency(series(np.array(values), sampling_s), window_s)
    if result is None:
        return
    assert result.levels
    assert sum(level.share for level in result.levels) == pytest.approx(1)
    assert all(level.dwell_s > 0 for level in result.levels)
    assert result.window_s <= max(window_s, sampling_s) + 1e-6
    assert consistency_text(result)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [np.full(900, np.nan), np.empty(0), np.ones(1)])
def test_nothing_measured_has_no_consistency(values: Array) -> None:
    assert consistency(series(values)) is None


@pytest.mark.filterwarnings("error")
def test_samples_at_odd_times_with_gaps_have_an_answer() -> None:
    chance = np.random.default_rng(1)
    t_s = np.cumsum(chance.exponential(0.3, 4000))
    t_s[2000:] += 200
    interval_s = np.minimum(np.diff(t_s, prepend=0.0), 1.0)
    result = consistency(RateSeries(t_s, interval_s, np.full(4000, 800.0), "iops"))
    assert result is not None
    assert result.mean_iops == pytest.approx(800)
    assert len(result.levels) == 1


# ---- since when it is as at its end


def since_s(values: Array, sampling_s: float = 1.0) -> float | None:
    return found(values, sampling_s).as_at_end_since_s


@pytest.mark.parametrize(
    ("before", "after"),
    [
        *((6000 * np.random.default_rng(2).normal(1, 0.03, start_s), stutter(600, 0.4))
          for start_s in (130, 320, 800)),
        (90_000 * wandering(90, 0.0, 0.02, 1), 4000 * wandering(1500, 0.0, 0.02, 2)),
    ],
    ids=["130 s", "320 s", "800 s", "a fall long ago"],
)  # fmt: skip
def test_it_is_said_since_when_it_is_as_at_its_end(before: Array, after: Array) -> None:
    result = found(np.concatenate([before, after]))
    assert result.as_at_end_since_s == pytest.approx(len(before), abs=8)
    assert "unchanged since" in consistency_text(result)


@pytest.mark.parametrize("draws", [20, pytest.param(100, marks=pytest.mark.long)])
@pytest.mark.parametrize("count", [200, 900])
@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9])
def test_what_only_wanders_has_nearly_always_been_so(
    correlation: float, count: int, draws: int
) -> None:
    found = [since_s(5000 * wandering(count, correlation, 0.05, seed)) for seed in range(draws)]
    assert sum(since > 0 for since in found if since is not None) <= 1
    assert None not in found


def test_two_minutes_are_too_short_to_have_phases() -> None:
    assert since_s(np.full(119, 5000.0)) is None
    assert since_s(np.full(120, 5000.0)) == 0
    assert since_s(np.zeros(600)) == 0
