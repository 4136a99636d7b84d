"""FPOP against ruptures' KernelCPD on the same series: time, and whether the optimum is the same.

Levels of a throttling drive at 10 Hz, an hour and ten hours; changes grow with the length.
"""

import time

import numpy as np
import ruptures
from heatsoak._core import fpop
from numpy.typing import NDArray

LEVELS_MB_S = (3300.0, 2600.0, 1500.0, 800.0)
NOISE_MB_S = 50.0


def series(count: int, seed: int = 1) -> NDArray[np.float64]:
    """Return `count` samples whose level changes every 600 or so."""
    chance = np.random.default_rng(seed)
    values = np.empty(count)
    start = 0
    while start < count:
        length = int(chance.integers(300, 900))
        values[start : start + length] = chance.choice(LEVELS_MB_S)
        start += length
    return values + chance.normal(0, NOISE_MB_S, count)


def cost(values: NDArray[np.float64], ends: list[int], penalty: float) -> float:
    """Return squared error plus penalties of a segmentation."""
    starts = [0, *ends[:-1]]
    error = sum(
        float(np.sum((values[s:e] - values[s:e].mean()) ** 2))
        for s, e in zip(starts, ends, strict=True)
    )
    return error + penalty * (len(ends) - 1)


def kernel_cpd(values: NDArray[np.float64], penalty: float) -> list[int]:
    """Return the segmentation by exact PELT in C."""
    fitted = ruptures.KernelCPD(kernel="linear", min_size=1).fit(values)
    return [int(end) for end in fitted.predict(pen=penalty)]


def main() -> None:
    print("samples    FPOP, s  KernelCPD, s   times   same optimum")
    for count in (3_600, 36_000, 360_000):
        values = series(count)
        penalty = 3 * np.log(count) * NOISE_MB_S**2
        ours_s, ends = timed(lambda v=values, p=penalty: [int(e) for e in fpop(v, p)])
        theirs_s, their_ends = timed(lambda v=values, p=penalty: kernel_cpd(v, p), 1)
        ours, theirs = cost(values, ends, penalty), cost(values, their_ends, penalty)
        same = abs(ours - theirs) <= 1e-9 * theirs
        print(
            f"{count:7d}  {ours_s:9.4f}  {theirs_s:12.3f}  {theirs_s / ours_s:6.1f}   "
            f"{'yes' if same else f'no: {ours:.6g} against {theirs:.6g}'}"
        )


def timed(work, repeats: int = 5):  # type: ignore[no-untyped-def]
    """Return the best time of a few, and what the work gave."""
    best_s = float("inf")
    result = None
    for _ in range(repeats):
        begin = time.perf_counter()
        result = work()
        best_s = min(best_s, time.perf_counter() - begin)
    return best_s, result


if __name__ == "__main__":
    main()
