"""How often the intervals of a comparison cover the truth, and how long a comparison takes.

The truth is the difference between groups of repeated runs, whose spread may differ, on one drive
or on several; 95 % is right.
"""

import time
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
from heatsoak.analysis.definitions import METRICS
from heatsoak.comparison import compare, spread
from heatsoak.facts.table import Measure
from heatsoak.protocol import Conditions, Label, Protocol
from heatsoak.recording import InMemoryRecording, RecordingMeta
from numpy.typing import NDArray
from scipy.signal import lfilter

#: Draws of groups of runs.
GROUPS = 2000
STEPS = ("sequential-read", "sequential-write", "random-read", "random-write")


def wander(count: int, correlation: float, seed: int | np.random.Generator) -> NDArray[np.float64]:
    """Return AR(1) noise about 1 with a standard deviation of 2 %."""
    draws = np.random.default_rng(seed).normal(0, 0.02 * np.sqrt(1 - correlation**2), count + 1000)
    noise = lfilter([1.0], [1.0, -correlation], draws)[1000:]
    return np.asarray(1 + noise, dtype=np.float64)


def coverage(runs: tuple[int, ...], spreads: tuple[float, ...], drives: int = 1) -> float:
    """Return the share of intervals that cover the difference of two groups.

    `runs` are how many runs each group has on each of its `drives`, which vary by 2 % if there are
    several, `spreads` by what share of the mean runs vary.
    """
    rng = np.random.default_rng(7)
    metric = METRICS["mean_mb_s"]
    held = 0
    for _ in range(GROUPS):
        cell: dict[Label, list[tuple[int, Measure]]] = {"0": [], "1": []}
        for group, (count, apart) in enumerate(zip(runs, spreads, strict=True)):
            for drive in range(drives):
                own = (drives > 1) * rng.normal(0, 0.02)
                values = 2000 * np.exp(own + rng.normal(0, apart, count))
                number = drives * group + drive if drives > 1 else 0
                cell[str(group)] += [(number, Measure(float(value))) for value in values]
        found = spread.difference({0: cell}, metric, "0", "1", [0])
        held += found is not None and found.change is not None and 0 in found.change
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
    print("runs of each group  on drives  they vary by, %  covered, %")
    for runs, spreads, drives in (
        ((3, 3), (0.01, 0.01), 1),
        ((3, 3), (0.01, 0.04), 1),
        ((5, 2), (0.01, 0.04), 1),
        ((10, 3), (0.01, 0.08), 1),
        ((10, 10), (0.01, 0.08), 1),
        ((1, 1), (0.01, 0.01), 10),
        ((3, 3), (0.01, 0.01), 10),
    ):
        vary = ", ".join(f"{100 * one:g}" for one in spreads)
        counts = ", ".join(map(str, runs))
        held = 100 * coverage(runs, spreads, drives)
        print(f"{counts:>18}  {drives:9}  {vary:>15}  {held:10.1f}")
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
