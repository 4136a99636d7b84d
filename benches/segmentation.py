"""Segmentation and filtering against other programs on the same series: time, and what they find.

Levels of a throttling drive at 10 Hz, for six minutes, an hour and ten hours; changes grow with
the length, or are five however long it is. Seconds are the processor's.
"""

import time
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import ruptures
from heatsoak._core import decafs, hampel, pelt_mean_var
from numpy.typing import NDArray
from skchange.detectors import PELT
from skchange.interval_scorers import GaussianCost

Array = NDArray[np.float64]
T = TypeVar("T")

LEVELS_MB_S = (3300.0, 2600.0, 1500.0, 800.0)
NOISE_MB_S = 50.0
COUNTS = (3_600, 36_000, 360_000)
MIN_LENGTH = 10


def series(count: int, seed: int = 1) -> Array:
    """Return `count` samples whose level changes every 600 or so."""
    chance = np.random.default_rng(seed)
    values = np.empty(count)
    start = 0
    while start < count:
        length = int(chance.integers(300, 900))
        values[start : start + length] = chance.choice(LEVELS_MB_S)
        start += length
    return values + chance.normal(0, NOISE_MB_S, count)


def six_levels(count: int, seed: int = 1) -> Array:
    """Return `count` samples on six levels of the same length."""
    chance = np.random.default_rng(seed)
    levels = np.repeat((*LEVELS_MB_S, *LEVELS_MB_S[:2]), count // 6)
    return levels + chance.normal(0, NOISE_MB_S, len(levels))


def total(
    values: Array, ends: Iterable[int], penalty: float, cost: Callable[[Array], float]
) -> float:
    """Return what the segments cost, each change with its penalty."""
    segments = [cost(values[start:end]) for start, end in pairwise((0, *ends))]
    return sum(segments) + penalty * (len(segments) - 1)


def squared_error(segment: Array) -> float:
    return float(np.sum((segment - segment.mean()) ** 2))


def gaussian(segment: Array) -> float:
    return float(len(segment) * np.log(np.var(segment)))


def kernel_cpd(values: Array, penalty: float) -> list[int]:
    """Return the segmentation by exact PELT in C."""
    fitted = ruptures.KernelCPD(kernel="linear", min_size=1).fit(values)
    return [int(end) for end in fitted.predict(pen=penalty)]


def skchange_pelt(values: Array, penalty: float) -> list[int]:
    """Return the segmentation by mean and variance, by exact PELT on NumPy."""
    detector = PELT(GaussianCost(), penalty=penalty, min_segment_length=MIN_LENGTH)
    changes = detector.fit(values[:, None]).predict(values[:, None])
    return [*(int(change) for change in changes), len(values)]


def numpy_hampel(values: Array, half_width: int) -> Array:
    """Return the filtered series, window by window."""
    padded = np.pad(values, half_width, mode="reflect")
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half_width + 1)
    median = np.median(windows, axis=1)
    spread = 1.4826 * np.median(np.abs(windows - median[:, None]), axis=1)
    return np.where(np.abs(values - median) > 3 * spread, median, values)


def main() -> None:
    print("changes grow with the samples")
    against_kernel_cpd(series, COUNTS)
    print("\nfive changes however many samples (KernelCPD would take a minute for the longest)")
    against_kernel_cpd(six_levels, COUNTS[:2])
    values = six_levels(COUNTS[2])
    alone_s, _ = timed(decafs, values, 0.0, penalty_of(values))
    print(f"{COUNTS[2]:7d}  {alone_s:9.5f}")
    print("\nchanges of mean and variance")
    against_skchange()
    print("\nthe Hampel filter, an hour at 10 Hz")
    against_numpy()


def penalty_of(values: Array) -> float:
    """Return the usual penalty for changes of the mean, with the noise known."""
    return float(3 * np.log(len(values)) * NOISE_MB_S**2)


def against_kernel_cpd(make: Callable[[int], Array], counts: tuple[int, ...]) -> None:
    print("samples  DeCAFS, s  KernelCPD, s   times   same optimum")
    for count in counts:
        values = make(count)
        penalty = penalty_of(values)
        theirs = timed(kernel_cpd, values, penalty, repeats=3)
        compared(values, penalty, squared_error, timed(decafs, values, 0.0, penalty), theirs)


def against_skchange() -> None:
    print("samples    PELT, s   skchange, s   times   same optimum")
    for count in COUNTS[:2]:
        values, penalty = series(count), 5 * np.log(count)
        ours = timed(pelt_mean_var, values, penalty, MIN_LENGTH, repeats=3)
        compared(values, penalty, gaussian, ours, timed(skchange_pelt, values, penalty, repeats=3))


def compared(values: Array, penalty: float, cost: Any, ours: Any, theirs: Any) -> None:
    """Print how long each took, and whether what was found costs the same."""
    (ours_s, ends), (theirs_s, their_ends) = ours, theirs
    costs = [total(values, found, penalty, cost) for found in (ends, their_ends)]
    times = f"{ours_s:9.5f}  {theirs_s:12.3f}  {theirs_s / ours_s:6.1f}"
    print(f"{len(values):7d}  {times}   {same(costs)}")


def against_numpy() -> None:
    print(" window       ms     NumPy, ms   times   same values")
    values = series(COUNTS[1])
    for half_width in (1, 5, 15, 50):
        ours_s, ours = timed(hampel, values, half_width)
        theirs_s, theirs = timed(numpy_hampel, values, half_width, repeats=3)
        print(
            f"{2 * half_width + 1:7d}  {1e3 * ours_s:7.2f}  {1e3 * theirs_s:12.1f}  "
            f"{theirs_s / ours_s:6.1f}   {'yes' if np.array_equal(ours, theirs) else 'no'}"
        )


def same(costs: list[float]) -> str:
    """Say whether both cost the same, and what if not."""
    ours, theirs = costs
    if abs(ours - theirs) <= 1e-9 * abs(theirs):
        return "yes"
    return f"no: {ours:.6g} against {theirs:.6g}"


def timed(work: Callable[..., T], *arguments: object, repeats: int = 9) -> tuple[float, T]:
    """Return the best of a few times, and what the work gave."""
    best_s = float("inf")
    for _ in range(repeats):
        begin = time.thread_time()
        result = work(*arguments)
        best_s = min(best_s, time.thread_time() - begin)
    return best_s, result


if __name__ == "__main__":
    main()
