"""How often the intervals of a comparison cover the truth, and how long a comparison takes.

Coverage is of the mean of AR(1) noise sampled at 10 Hz, whose true mean is known, and of the
difference between groups of repeated runs, whose spread may differ; 95 % is right.
"""

import time
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from heatsoak.analysis.series import RateSeries
from heatsoak.comparison import compare
from heatsoak.comparison.measures import Measure, RateNoise
from heatsoak.comparison.spread import Spread
from heatsoak.protocol import Conditions, Label, Protocol
from heatsoak.recording import InMemoryRecording, RecordingMeta
from numpy.typing import NDArray
from scipy.signal import lfilter

REPETITIONS = 400
#: Draws of groups of runs, which take no time.
GROUPS = 4000
STEPS = ("sequential-read", "sequential-write", "random-read", "random-write")


def wander(count: int, correlation: float, seed: int | np.random.Generator) -> NDArray[np.float64]:
    """Return AR(1) noise about 1 with a standard deviation of 2 %."""
    draws = np.random.default_rng(seed).normal(0, 0.02 * np.sqrt(1 - correlation**2), count + 1000)
    noise = lfilter([1.0], [1.0, -correlation], draws)[1000:]
    return np.asarray(1 + noise, dtype=np.float64)


def coverage(correlation: float, length_s: float, window_s: float) -> float:
    """Return the share of intervals that cover the truth."""
    count = round(10 * length_s)
    t_s = np.arange(1, count + 1) / 10
    held = 0
    for seed in range(REPETITIONS):
        series = RateSeries(t_s, np.full(count, 0.1), wander(count, correlation, seed), "mb_s")
        draws = RateNoise(series).draws(length_s - window_s, length_s, np.random.default_rng(seed))
        assert draws is not None
        off = series.mean(length_s - window_s, length_s) - 1
        low, high = np.quantile(draws, [0.025, 0.975])
        held += low <= off <= high
    return held / REPETITIONS


def coverage_of_runs(runs: tuple[int, ...], spreads: tuple[float, ...]) -> float:
    """Return the share of intervals that cover the difference of the first two groups.

    `runs` are how many runs each group has, `spreads` by what share of the mean they vary.
    """
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(GROUPS):
        cell: dict[Label, list[Measure]] = {
            str(group): [Measure(float(x)) for x in 2000 * np.exp(rng.normal(0, spread, count))]
            for group, (count, spread) in enumerate(zip(runs, spreads, strict=True))
        }
        found = Spread({0: cell}, "ratio")
        difference = found.difference(found.mean("0", [0]), found.mean("1", [0]))
        assert difference is not None
        assert difference.ci95 is not None
        held += 0 in difference.ci95
    return held / GROUPS


def recording(conditions: Conditions, seed: int) -> InMemoryRecording:
    """Return four steps of 300 s at 10 Hz."""
    protocol = {
        "name": "bench",
        "steps": [{"name": step, "rw": "read", "runtime": "300s"} for step in STEPS],
    }
    t_s = np.arange(1, 3001) / 10
    frames = [
        pl.DataFrame(
            {
                "t_s": 1000 * number + t_s,
                "interval_s": np.full(3000, 0.1),
                "read_bw_mb_s": np.where(t_s < 60, 2500, 1500) * wander(3000, 0.9, seed + number),
            }
        ).with_columns(step=pl.lit(step))
        for number, step in enumerate(STEPS)
    ]
    samples = pl.concat(frames)
    meta = RecordingMeta(
        status="finished",
        protocol=Protocol.model_validate(protocol),
        conditions=conditions,
        drive={"model": "a drive"},
        columns=dict.fromkeys(samples.columns, "x"),
        started_unix_s=None,
    )
    return InMemoryRecording(Path(f"bench-{seed}"), meta, samples, [])


def main() -> None:
    print("correlation of neighbours  step, s  mean over, s  covered, %")
    for correlation, length_s, window_s in (
        (0.0, 300, 300),
        (0.9, 300, 300),
        (0.9, 300, 60),
        (0.9, 3600, 400),
        (0.98, 3600, 400),
        (0.99, 300, 300),
    ):
        held_pct = 100 * coverage(correlation, length_s, window_s)
        print(f"{correlation:25}  {length_s:7.0f}  {window_s:12.0f}  {held_pct:10.1f}")
    print("repeated runs of each group  they vary by, %  covered, %")
    for runs, spreads in (
        ((3, 3), (0.01, 0.01)),
        ((3, 3), (0.01, 0.04)),
        ((5, 2), (0.01, 0.04)),
        ((3, 3, 3, 3), (0.02, 0.02, 0.01, 0.04)),
        ((10, 10), (0.01, 0.08)),
    ):
        vary = ", ".join(f"{100 * one:g}" for one in spreads)
        counts = ", ".join(map(str, runs))
        print(f"{counts:>27}  {vary:>15}  {100 * coverage_of_runs(runs, spreads):10.1f}")
    places = product(("bottom", "top", "upright", "underside"), (1, 2), ("idle", "loaded"))
    recordings = [
        recording({"slot": slot, "gpus": gpus, "gpu_load": load}, 10 * number)
        for number, (slot, gpus, load) in enumerate(places)
        if (slot, gpus) != ("underside", 2)
    ]
    began_s = time.process_time()
    rows = len(compare(recordings, "slot").rows)
    took_s = time.process_time() - began_s
    print(f"{len(recordings)} recordings of {len(STEPS)} steps: {rows} rows in {took_s:.2f} s")


if __name__ == "__main__":
    main()
