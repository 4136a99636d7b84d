"""Whether a rate that comes and goes does so with the drive's temperature."""

import numpy as np
import polars as pl
from heatsoak.analysis.cause import Case, observe
from heatsoak.analysis.course import Course
from heatsoak.analysis.view import StepView
from heatsoak.protocol import WorkloadStep
from numpy.typing import NDArray

Array = NDArray[np.float64]
COUNT = 900
STEP = WorkloadStep.model_validate({"name": "r", "rw": "read", "bs": "128k", "runtime": "900s"})


def governed(limit_c: float = 76.0, cooled_k: float = 4.0) -> tuple[Array, Array]:
    """A drive that falls at its limit and is let go once it has cooled: shares and temperatures."""
    temp, share = 36.0, 1.0
    shares, temps = np.empty(COUNT), np.empty(COUNT)
    for second in range(COUNT):
        share = 0.4 if temp >= limit_c else 1.0 if temp <= limit_c - cooled_k else share
        temp += (36 + 9 * (1 + 6 * share) - temp) / 70
        shares[second], temps[second] = share, round(temp)
    return shares, temps


def seen(shares: Array, temps: Array) -> dict[str, str]:
    chance = np.random.default_rng(5).normal(0, 0.01, COUNT)
    samples = pl.DataFrame(
        {
            "t_s": np.arange(1.0, COUNT + 1),
            "interval_s": np.ones(COUNT),
            "read_bw_mb_s": 2000 * shares * (1 + chance),
            "temp_c.composite": temps,
        }
    )
    view = StepView(STEP, samples, 0.0, {}, Course({}, {}))
    drop = view.drops[0] if view.drops else view.oscillation_from_start
    assert drop is not None
    return {found.about: found.seen for found in observe(Case(drop, view))}


def warmed(watts: Array) -> Array:
    temp, temps = 36.0, np.empty(COUNT)
    for second in range(COUNT):
        temp += (36 + 6 * watts[second] - temp) / 70
        temps[second] = round(temp)
    return temps


def test_a_governor_falls_at_one_temperature_however_long_it_took_to_get_there() -> None:
    assert seen(*governed())["swings"] == "at-one-temperature"


def test_swings_that_the_temperature_does_not_know_of_are_not_of_heat() -> None:
    t_s = np.arange(COUNT)
    shares = np.where((t_s > 300) & ((t_s - 300) % 60 < 30), 0.3, 1.0)
    assert seen(shares, warmed(np.full(COUNT, 6.0)))["swings"] == "without-heat"


def test_bursts_that_are_as_long_as_the_first_are_no_governors() -> None:
    t_s = np.arange(COUNT)
    shares = np.where(t_s % 100 < 60, 1.0, 0.3)
    assert seen(shares, warmed(1 + 5 * shares)).get("swings") != "at-one-temperature"


def test_without_temperatures_nothing_is_said() -> None:
    shares, _ = governed()
    assert "swings" not in seen(shares, np.full(COUNT, np.nan))


def test_what_comes_back_as_hot_was_not_let_go_by_a_governor() -> None:
    t_s = np.arange(COUNT)
    shares = np.where((t_s > 400) & (t_s < 500), 0.6, 1.0)
    assert seen(shares, warmed(np.full(COUNT, 6.0)))["let-go"] == "as-hot"
    assert seen(shares, warmed(1 + 5 * shares))["let-go"] == "cooler"
