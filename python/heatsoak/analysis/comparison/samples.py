"""Power and latency of a step, as series with the weight of each value in a mean over the step."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from heatsoak.analysis.series import Array, Series

#: What is read here of a recording.
COLUMNS = [
    "t_s", "step", "interval_s", "read_iops", "write_iops", "iops", "read_lat_us", "write_lat_us",
    "lat_us", "read_lat_p99_us", "write_lat_p99_us", "power_w",
]  # fmt: skip


@dataclass(frozen=True)
class Weighted:
    """Values of a step's intervals, and what each counts."""

    series: Series
    weights: Array

    @property
    def mean(self) -> float:
        """The mean over the step."""
        return float(np.average(self.series.values, weights=self.weights))


class StepSamples:
    """One step's samples of `COLUMNS`, times counted from when its load began."""

    def __init__(self, samples: pl.DataFrame) -> None:
        self._columns = {
            name: samples[name].cast(pl.Float64).fill_null(float("nan")).to_numpy()
            for name in COLUMNS
            if name != "step"
        }
        timed = np.flatnonzero(np.isfinite(self._columns["interval_s"]))
        first = int(timed[0]) if len(timed) else 0
        begin_s = self._columns["t_s"][first]
        if len(timed):
            begin_s -= self._columns["interval_s"][first]
        self._t_s = self._columns["t_s"] - begin_s

    def power(self) -> Weighted | None:
        """Return the watts; None where none were logged."""
        return self._weighted(self._columns["power_w"], np.ones_like(self._t_s))

    def mean_latency(self) -> Weighted | None:
        """Return the mean latency of reads and writes, in us, weighted by their number."""
        weight, total = np.zeros_like(self._t_s), np.zeros_like(self._t_s)
        for direction in ("read_", "write_", ""):
            latency = self._columns[f"{direction}lat_us"]
            count = self._columns[f"{direction}iops"]
            known = np.isfinite(latency) & np.isfinite(count)
            weight[known] += count[known]
            total[known] += (latency * count)[known]
        means = np.full_like(total, np.nan)
        np.divide(total, weight, out=means, where=weight > 0)
        return self._weighted(means, weight)

    def tail_latency(self, direction: Literal["read", "write"]) -> Weighted | None:
        """Return the 99th percentile of each interval's latency, in us; each second counts alike.

        Their mean is no percentile of the step: those of intervals cannot be added up to that.
        """
        return self._weighted(self._columns[f"{direction}_lat_p99_us"], np.ones_like(self._t_s))

    def _weighted(self, values: Array, weights: Array) -> Weighted | None:
        known = np.isfinite(values) & (self._t_s > 0)
        t_s = self._t_s[known]
        if len(t_s) == 0:
            return None
        interval_s = np.maximum(np.diff(t_s, prepend=0.0), 1e-6)
        return Weighted(Series(t_s, interval_s, values[known], "iops"), weights[known] * interval_s)
