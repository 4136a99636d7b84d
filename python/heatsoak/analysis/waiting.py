"""Which of a copy's two drives waits for the other: the one whose queue is not full."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.analysis.series import Array
from heatsoak.analysis.view import StepView

#: Queues that differ by less than this share of their depth count as equally full.
MIN_DIFFERENCE = 0.25
#: The time step in which each drive is found to wait or not.
STEP_S = 1.0


@dataclass(frozen=True)
class Queue:
    """How many I/Os were in flight, by Little's law: IOPS times latency.

    Attributes:
        end_s: when each interval ends, from the recording's start; `length_s` is its length.
        in_flight: the mean in each interval.
        depth: how many I/Os the load keeps in flight if nothing makes it wait.
    """

    end_s: Array
    length_s: Array
    in_flight: Array
    depth: int

    def means(self, edges_s: Array) -> Array:
        """Return the mean between adjacent edges; NaN if less than half was measured."""
        known = np.isfinite(self.in_flight)
        ends_s, lengths_s = self.end_s[known], self.length_s[known]
        # both sums grow linearly from each interval's start to its end
        corners_s = np.stack([ends_s - lengths_s, ends_s], axis=1).ravel()
        corners_s = np.maximum.accumulate(corners_s)

        def summed(weights: Array) -> Array:
            grown = np.cumsum(weights)
            heights = np.stack([grown - weights, grown], axis=1).ravel()
            return np.diff(np.interp(edges_s, corners_s, heights))

        if len(corners_s) == 0:
            return np.full(len(edges_s) - 1, np.nan)
        covered_s = summed(lengths_s)
        means = np.full(len(covered_s), np.nan)
        is_known = (covered_s >= 0.5 * np.diff(edges_s)) & (covered_s > 0)
        sums = summed(lengths_s * self.in_flight[known])
        np.divide(sums, covered_s, out=means, where=is_known)
        return means


def queue_of(view: StepView) -> Queue | None:
    """Return the queue of a step; None if its depth or latencies are unknown."""
    depth = view.step.iodepth
    rows = view.samples.filter(pl.col("interval_s").is_not_null())
    if not depth or rows.is_empty():
        return None
    in_flight = np.zeros(rows.height)
    for direction in ("read", "write"):
        columns = [f"{direction}_{what}" for what in ("iops", "lat_us")]
        if not set(columns) <= set(rows.columns):
            continue
        iops, lat_us = (rows[name].cast(pl.Float64).to_numpy() for name in columns)
        # an interval without completed I/O has no latency, and an unused direction has no rate
        in_flight += np.where(np.nan_to_num(iops) > 0, iops * lat_us * 1e-6, 0.0)
    return Queue(rows["t_s"].to_numpy(), rows["interval_s"].to_numpy(), in_flight, int(depth))


@dataclass(frozen=True)
class Fullness:
    """How full both queues were at the same times, 0 to 1; NaN if unknown."""

    own: Array
    other: Array

    @property
    def is_known(self) -> NDArray[np.bool_]:
        """Where both are known."""
        return np.isfinite(self.own) & np.isfinite(self.other)

    @property
    def own_waits(self) -> NDArray[np.bool_]:
        """When this side waited for the other."""
        return self.other - self.own >= MIN_DIFFERENCE

    @property
    def other_waits(self) -> NDArray[np.bool_]:
        """When the other side waited for this one."""
        return self.own - self.other >= MIN_DIFFERENCE


def fullness(own: Queue, other: Queue, edges_s: Array) -> Fullness:
    """Return how full both queues were between adjacent edges, from the recordings' start."""
    return Fullness(own.means(edges_s) / own.depth, other.means(edges_s) / other.depth)


def waiting_shares(own: StepView, other: StepView) -> tuple[float, float] | None:
    """Return the share of the time in which `own` waited for `other`, and the other way round.

    Second by second, while both ran; None if the queues are unknown.
    """
    queues = queue_of(own), queue_of(other)
    start_s, end_s = max(own.start_s, other.start_s), min(own.end_s, other.end_s)
    if queues[0] is None or queues[1] is None or end_s <= start_s:
        return None
    edges_s = np.linspace(start_s, end_s, max(int((end_s - start_s) / STEP_S), 1) + 1)
    full = fullness(queues[0], queues[1], edges_s)
    if not np.any(full.is_known):
        return None
    return (
        float(np.mean(full.own_waits[full.is_known])),
        float(np.mean(full.other_waits[full.is_known])),
    )
