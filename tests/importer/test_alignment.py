"""Shifts that are known are found again, and what cannot be told is not called certain."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from heatsoak.bench.session import plan_session
from heatsoak.importer.alignment import shift_between, thermal_shift, zone_shift
from heatsoak.importer.sliding import Shift, Track
from heatsoak.protocol import Protocol
from heatsoak.target import parse_place
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from rest_long import rest_soak
from scipy.signal import lfilter

Array = NDArray[np.float64]
Rng = np.random.Generator


def clock(duration_s: float, interval_s: float) -> Array:
    return np.asarray(np.arange(1, round(duration_s / interval_s) + 1) * interval_s, dtype=float)


def pulses(t_s: Array, edges: list[float], heights: list[float]) -> Array:
    """On between each two edges (shares of the whole), off elsewhere."""
    values = np.zeros(len(t_s))
    for begin, end, height in zip(edges[::2], edges[1::2], heights, strict=False):
        values[(t_s > begin * t_s[-1]) & (t_s <= end * t_s[-1])] = height
    return values


IRREGULAR = ([0.07, 0.2, 0.26, 0.3, 0.41, 0.66, 0.8, 0.88], [1500.0, 900.0, 400.0, 1500.0])
SINGLE = ([0.2, 0.6], [1500.0])
LEVELS = ([0.05, 0.2, 0.2, 0.45, 0.45, 0.55, 0.55, 0.9], [2000.0, 700.0, 1500.0, 300.0])


def logged(track: Track, interval_s: float, start_s: float, end_s: float) -> Track:
    """The same rates as another tool means them: over its own, longer intervals."""
    step_s = track.t_s[1] - track.t_s[0]
    moved = np.concatenate([[0.0], np.cumsum(track.values * step_s)])
    edges_s = np.arange(start_s, end_s, interval_s)
    means = np.diff(np.interp(edges_s, np.concatenate([[0.0], track.t_s]), moved)) / interval_s
    return Track(edges_s[1:], means)


def warmed(track: Track, tau_s: float, interval_s: float, start_s: float, rng: Rng) -> Track:
    """A sensor with whole degrees on what follows the load as a first-order lag does."""
    keep = np.exp(-(track.t_s[1] - track.t_s[0]) / tau_s)
    temp_c = 35 + 45 * lfilter([1 - keep], [1, -keep], track.values) / 2000
    at_s = np.arange(start_s, track.t_s[-1], interval_s)
    return Track(at_s, np.round(np.interp(at_s, track.t_s, temp_c) + rng.normal(0, 0.1, len(at_s))))


def moved(track: Track, by_s: float) -> Track:
    return Track(track.t_s - by_s, track.values)


@pytest.mark.slow
@given(
    shape=st.sampled_from([IRREGULAR, SINGLE, LEVELS]),
    intervals=st.sampled_from([(0.01, 0.1, 200.0), (0.1, 1.0, 600.0), (1.0, 10.0, 3600.0)]),
    begin=st.floats(0, 0.04),
    shift_s=st.floats(-1e5, 2e9),
    scale=st.floats(0.01, 1e6),
    offset=st.floats(-1e3, 1e3),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=60)
def test_a_known_shift_of_like_rates_is_found_to_half_an_interval(
    shape: tuple[list[float], list[float]],
    intervals: tuple[float, float, float],
    begin: float,
    shift_s: float,
    scale: float,
    offset: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    fine_s, coarse_s, duration_s = intervals
    t_s = clock(duration_s, fine_s)
    real = Track(t_s, pulses(t_s, *shape) * (1 + rng.normal(0, 0.03, len(t_s))))
    other = logged(real, coarse_s, begin * duration_s, duration_s)
    noisy = other.values + rng.normal(0, 20, len(other.values))
    reference = Track(t_s, real.values * (1 + rng.normal(0, 0.02, len(t_s))))
    found = shift_between(reference, moved(Track(other.t_s, scale * noisy + offset), shift_s))
    assert found.certain
    assert found.score > 0.9
    assert found.shift_s == pytest.approx(shift_s, abs=coarse_s / 2 + 1e-6)


@pytest.mark.slow
@given(
    shape=st.sampled_from([IRREGULAR, SINGLE]),
    tau_s=st.floats(6, 120),
    interval_s=st.sampled_from([1.0, 2.0, 5.0]),
    begin=st.floats(0, 0.04),
    shift_s=st.floats(-1e5, 1e5),
    seed=st.integers(0, 10**6),
)
@settings(deadline=None, max_examples=40)
def test_a_known_shift_of_temperatures_is_found_whatever_the_lag(
    shape: tuple[list[float], list[float]],
    tau_s: float,
    interval_s: float,
    begin: float,
    shift_s: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    t_s = clock(1800, 0.1)
    real = Track(t_s, pulses(t_s, *shape))
    other = warmed(real, tau_s, interval_s, begin * 1800, rng)
    load = Track(t_s, real.values * (1 + rng.normal(0, 0.05, len(t_s))))
    found = thermal_shift(load, moved(other, shift_s))
    # a reading is taken somewhere in its interval
    assert abs(found.shift_s - shift_s) <= interval_s / 2 + 4 * found.error_s
    if tau_s <= 60:
        assert found.certain
        assert found.shift_s == pytest.approx(shift_s, abs=max(interval_s / 2, 1.0))


def test_gaps_and_missing_values_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    t_s = clock(900, 0.1)
    real = Track(t_s, pulses(t_s, *IRREGULAR) * (1 + rng.normal(0, 0.02, len(t_s))))
    other = logged(real, 1.0, 0, 900)
    other.values[rng.random(len(other.values)) < 0.2] = np.nan
    keep = (t_s < 300) | (t_s > 380)
    order = rng.permutation(int(keep.sum()))
    reference = Track(t_s[keep][order], real.values[keep][order])
    found = shift_between(reference, moved(other, -77.0))
    assert found.certain
    assert found.shift_s == pytest.approx(-77, abs=0.5)


def test_a_benchmark_that_logged_its_own_flat_load_is_found_in_a_longer_log() -> None:
    rng = np.random.default_rng(2)
    t_s = clock(1200, 0.1)
    real = Track(t_s, pulses(t_s, [0.3, 0.7], [1000.0]))
    noise = 1 + rng.normal(0, 0.02, len(t_s))
    ran = real.values > 0
    own = Track(t_s[ran] - t_s[ran][0], (real.values * noise)[ran])
    other = logged(real, 1.0, 0, 1200)
    assert not shift_between(own, other).certain
    found = shift_between(own, other, idle_outside=True)
    assert found.certain
    assert found.shift_s == pytest.approx(-t_s[ran][0], abs=0.5)
    warm = thermal_shift(own, warmed(real, 30, 1, 0, rng))
    assert warm.certain
    assert warm.shift_s == pytest.approx(-t_s[ran][0], abs=1.0)


def noise(rng: Rng, count: int, interval_s: float, tau_s: float = 0.0) -> Track:
    keep = np.exp(-interval_s / tau_s) if tau_s else 0.0
    values = lfilter([1.0], [1.0, -keep], rng.normal(0, 50, count))
    return Track(clock(count * interval_s, interval_s), 500 + values)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("method", [shift_between, thermal_shift])
def test_noise_against_noise_is_never_certain(
    method: Callable[[Track, Track], Shift], seed: int
) -> None:
    for turn in range(100):
        rng = np.random.default_rng([seed, turn])
        count = int(rng.integers(20, 400))
        found = method(noise(rng, 2000, 0.1), noise(rng, count, 1.0))
        assert not found.certain, (seed, turn)


@pytest.mark.slow
@pytest.mark.parametrize("method", [shift_between, thermal_shift])
@pytest.mark.parametrize("tau_s", rest_soak([20.0, 5.0, 200.0], 1))
def test_series_that_wander_are_hardly_ever_alike_by_chance(
    method: Callable[[Track, Track], Shift], tau_s: float, seed: int
) -> None:
    alike = 0
    for turn in range(200):
        rng = np.random.default_rng([seed, turn])
        count = int(rng.integers(20, 400))
        alike += method(noise(rng, 2000, 0.1, tau_s), noise(rng, count, 1.0, tau_s)).certain
    assert alike <= 2


@pytest.mark.long
@pytest.mark.slow
def test_unlike_loads_are_hardly_ever_alike_by_chance(seed: int) -> None:
    t_s = clock(600, 0.1)
    alike = 0
    for turn in range(100):
        rng = np.random.default_rng([seed, turn])
        edges = [np.sort(rng.uniform(0.05, 0.95, 8)).tolist() for _ in range(2)]
        a, b = (Track(t_s, pulses(t_s, e, rng.uniform(200, 2000, 4).tolist())) for e in edges)
        alike += shift_between(a, logged(b, 1.0, 0, 600)).certain
        warm = warmed(b, float(rng.uniform(8, 60)), 1.0, 0, rng)
        alike += thermal_shift(a, warm).certain
    assert alike <= 2


@pytest.mark.parametrize("period_s", [20.0, 60.0, 200.0])
def test_a_periodic_load_fits_in_several_places_and_is_not_certain(period_s: float) -> None:
    rng = np.random.default_rng(3)
    t_s = clock(1200, 0.1)
    real = Track(t_s, np.where(t_s % period_s < period_s / 2, 1000.0, 0.0))
    load = Track(t_s, real.values * (1 + rng.normal(0, 0.02, len(t_s))))
    assert not shift_between(load, logged(real, 1.0, 300, 900)).certain
    warm = warmed(real, 15, 1.0, 300, rng)
    found = thermal_shift(load, Track(warm.t_s[:600], warm.values[:600]))
    assert not found.certain
    assert found.runner_up > 0.44


def test_where_clocks_are_known_only_shifts_near_them_are_tried() -> None:
    rng = np.random.default_rng(4)
    t_s = clock(7200, 1.0)
    real = Track(t_s, np.where(t_s % 1800 < 900, 1000.0, 0.0) * (1 + rng.normal(0, 0.02, 7200)))
    other = moved(logged(real, 5.0, 1000, 6000), 500.0)
    assert not shift_between(real, other).certain
    found = shift_between(real, other, near_s=450.0)
    assert found.certain
    assert found.shift_s == pytest.approx(500, abs=2.5)


def test_a_flat_load_and_a_stuck_temperature_prove_nothing() -> None:
    rng = np.random.default_rng(5)
    t_s = clock(900, 0.1)
    stuck = Track(np.arange(900.0), np.full(900, 40.0))
    flat = Track(t_s, 1000 * (1 + rng.normal(0, 0.02, len(t_s))))
    on_off = Track(t_s, pulses(t_s, *IRREGULAR))
    for load in (flat, on_off, Track(t_s, np.full(len(t_s), 1000.0))):
        found = thermal_shift(load, stuck)
        assert (found.certain, found.score) == (False, 0.0)
        assert not shift_between(load, stuck).certain
    assert not shift_between(flat, noise(rng, 900, 1.0)).certain


@pytest.mark.slow
@given(
    times=st.lists(st.floats(), max_size=60),
    values=st.lists(st.floats(), min_size=60, max_size=60),
)
@settings(deadline=None, max_examples=200)
def test_whatever_the_numbers_are_a_shift_comes_back(
    times: list[float], values: list[float]
) -> None:
    track = Track(np.array(times), np.array(values[: len(times)]))
    even = Track(np.arange(60.0), np.array(values))
    for method in (shift_between, thermal_shift):
        for found in (method(track, even), method(even, track)):
            assert np.isfinite(found.shift_s)
            assert 0 <= found.score <= 1


PROTOCOL = {
    "name": "bursts",
    "steps": [
        {"name": "one", "rw": "write", "bs": "128k", "iodepth": 32, "runtime": 60},
        {"kind": "pause", "duration": 90},
        {"name": "two", "rw": "read", "bs": "128k", "iodepth": 32, "runtime": 120},
        {"kind": "pause", "duration": 40},
        {"name": "three", "rw": "write", "bs": "128k", "iodepth": 32, "runtime": 30},
        {"kind": "pause", "duration": 120},
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("interval", [1, 5])
def test_a_temperature_log_cut_out_of_a_simulated_run_is_found_again(
    small_drive: Path, tmp_path: Path, interval: int
) -> None:
    session = plan_session(
        parse_place(f"sim:{small_drive}"), lambda: Protocol.model_validate(PROTOCOL)
    )
    (recording,) = session.record(tmp_path / "r")
    samples = recording.samples()
    rates = samples.filter(pl.col("interval_s").is_not_null())
    rate = pl.sum_horizontal("read_bw_mb_s", "write_bw_mb_s")
    load = Track(rates["t_s"].to_numpy(), rates.select(rate).to_series().to_numpy())
    read = samples.select("t_s", "temp_c.composite").drop_nulls()
    for start_s, end_s in ((0, 1e9), (20, 400), (30, 1e9)):
        cut = read.filter((pl.col("t_s") >= start_s) & (pl.col("t_s") <= end_s))[::interval]
        other = Track(cut["t_s"].to_numpy() - 1234.5, cut["temp_c.composite"].to_numpy())
        found = thermal_shift(load, other)
        assert found.certain
        # the sensor's own lag, which is some seconds, is in it
        assert found.shift_s == pytest.approx(1234.5, abs=6)


HOUR = 3600.0


@pytest.mark.parametrize("offset_h", [-12, -7, -3.5, 0, 1, 2, 5.5, 5.75, 9.5, 14])
def test_a_zone_is_found_by_where_the_logs_lie(offset_h: float) -> None:
    utc = 1_700_000_000.0
    assert zone_shift(utc, 600, utc + offset_h * HOUR + 20, 600) == -offset_h * HOUR
    # a clock that is some minutes wrong as well
    assert zone_shift(utc, 600, utc + offset_h * HOUR - 200, 600) == -offset_h * HOUR


def test_a_short_log_within_a_long_one_has_no_zone_of_its_own() -> None:
    assert zone_shift(0, 4 * HOUR, 2 * HOUR, 600) is None
    assert zone_shift(0, 600, 100 * HOUR, 600) is None
