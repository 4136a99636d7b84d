"""Levels in the order of time: how long a rate stays at each, and how often it changes."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.consistency.levels import find_cuts
from heatsoak.analysis.consistency.seconds import Seconds
from heatsoak.analysis.findings import RateLevel


@dataclass(frozen=True)
class Modes:
    """The levels of a window, rising, and how often it went from one to another."""

    levels: list[RateLevel]
    changes: int


def find_modes(seconds: Seconds) -> Modes:
    """Return the levels that the rates of a window keep to; empty for no rates."""
    if len(seconds.values) == 0:
        return Modes([], 0)
    cuts = find_cuts(seconds.values)
    labels = np.searchsorted(cuts, seconds.values, side="left")
    runs = seconds.runs(labels)
    lengths_s: list[list[float]] = [[] for _ in range(len(cuts) + 1)]
    for begin, end in runs:
        lengths_s[labels[begin]].append((end - begin) * seconds.each_s)
    levels = [
        RateLevel(
            iops=float(np.median(seconds.values[labels == label])),
            share=float(np.mean(labels == label)),
            dwell_s=float(np.median(lengths_s[label])),
        )
        for label in range(len(cuts) + 1)
    ]
    return Modes(levels, int(np.count_nonzero(np.diff(labels))))
