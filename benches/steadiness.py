"""How often levels are found that are there, and that are not; and what consistency and trust cost.

Rates are made: 300 windows of each kind and length, two levels or one.
"""

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from heatsoak.analysis.consistency import PerSecond, consistency, rate_levels
from heatsoak.analysis.findings import RateLevel
from heatsoak.analysis.sensors.judge import judge_log
from heatsoak.analysis.sensors.readings import TemperatureReadings, ThermalLog
from heatsoak.analysis.series import RateSeries
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]
Make = Callable[[np.random.Generator, int], Array]

SECONDS = (30, 60, 100, 400)
WINDOWS = 300


def wander(correlation: float, sigma: float) -> Make:
    """Autocorrelated noise about one rate."""
    own = np.sqrt(1 - correlation**2)

    def make(chance: np.random.Generator, count: int) -> Array:
        noise = lfilter([own], [1, -correlation], chance.normal(size=count + 300))[300:]
        return np.asarray(1 + sigma * noise)

    return make


def two(share: float, noise: float, low: float = 0.35) -> Make:
    """Two levels, each second at either."""

    def make(chance: np.random.Generator, count: int) -> Array:
        is_low = chance.permutation(np.arange(count) < share * count)
        return np.where(is_low, low, 1.0) * chance.normal(1, noise, count)

    return make


ONE_LEVEL: dict[str, Make] = {
    "white noise, 5 %": wander(0.0, 0.05),
    "AR(0.8), 5 %": wander(0.8, 0.05),
    "AR(0.95), 5 %": wander(0.95, 0.05),
    "AR(0.99), 8 %": wander(0.99, 0.08),
    "slide to half, 2 %": lambda r, n: np.linspace(1, 0.5, n) * r.normal(1, 0.02, n),
    "sine of 44 s, 2 %": lambda r, n: 1 + 0.2 * np.sin(np.arange(n) / 7) + r.normal(0, 0.02, n),
    "even over a factor of 2": lambda r, n: r.uniform(1, 2, n),
    "log-normal, sigma 0.5": lambda r, n: r.lognormal(0, 0.5, n),
    "log-normal, sigma 1": lambda r, n: r.lognormal(0, 1, n),
    "gamma of 2": lambda r, n: r.gamma(2, 1, n),
    "dips, exponential, 10 %": lambda r, n: 1 - r.exponential(0.1, n),
    "Student's t of 2, 10 %": lambda r, n: 10 + r.standard_t(2, n),
}
TWO_LEVELS: dict[str, Make] = {
    "half at 35 %, noise 3 %": two(0.5, 0.03),
    "half at 35 %, noise 10 %": two(0.5, 0.1),
    "13 % at 35 %, noise 5 %": two(0.13, 0.05),
    "5 % at 35 %, noise 3 %": two(0.05, 0.03),
    "30 % at 80 %, noise 3 %": two(0.3, 0.03, 0.8),
}


def levels_of(rates: Array) -> list[RateLevel]:
    """Return the levels of rates, one each second."""
    return rate_levels(PerSecond(np.arange(1.0, len(rates) + 1), rates, len(rates)))[0]


def found(make: Make, count: int) -> NDArray[np.int64]:
    """Return how many levels are found in each of the windows."""
    chance = np.random.default_rng(1)
    return np.array([len(levels_of(make(chance, count))) for _ in range(WINDOWS)])


def best_ms(work: Callable[[], object], repeats: int = 20) -> float:
    """Return the best time of a few."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return 1e3 * min(times)


def costs() -> None:
    """Print what an hour at 10 Hz takes."""
    chance, count = np.random.default_rng(1), 36_000
    t_s: Array = np.arange(1.0, count + 1) / 10
    rates = np.repeat(two(0.13, 0.05)(chance, count // 10), 10) * chance.normal(6000, 300, count)
    series = RateSeries(t_s, np.full(count, 0.1), rates, "iops")
    load = np.where(np.arange(3600) % 900 < 600, 1500.0, 0.0)
    temps = np.round(50 + 20 * np.sin(t_s / 150) + chance.normal(0, 0.2, count))
    print(f"consistency of an hour at 10 Hz: {best_ms(lambda: consistency(series)):.2f} ms")
    print(f"levels of 400 s: {best_ms(lambda: levels_of(rates[:4000:10])):.2f} ms")
    for every, what in ((1, "10 Hz"), (10, "1 Hz")):
        log = ThermalLog([TemperatureReadings(t_s[::every], temps[::every], "composite")], load)
        took_ms = best_ms(partial(judge_log, log))
        print(f"trust in a sensor, an hour at {what}: {took_ms:.2f} ms")


def main() -> None:
    heads = "".join(f"{count:>7d} s" for count in SECONDS)
    for title, kinds, wanted in (
        ("one level: more than one is found", ONE_LEVEL, "more"),
        ("two levels: two are found", TWO_LEVELS, "two"),
    ):
        print(f"{title:38s}{heads}")
        for name, make in kinds.items():
            counts = [found(make, count) for count in SECONDS]
            shares = [np.mean(c > 1) if wanted == "more" else np.mean(c == 2) for c in counts]
            print(f"  {name:36s}" + "".join(f"{100 * share:>7.1f} %" for share in shares))
    costs()


if __name__ == "__main__":
    main()
