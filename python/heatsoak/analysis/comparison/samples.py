"""Power and latency of a step, as series that a mean can be taken of."""

from dataclasses import dataclass
from typing import Literal

import polars as pl

from heatsoak.analysis.series import Array, Series


@dataclass(frozen=True)
class Weighted:
    """Values of a step's intervals, and the weight of each in a mean over the step."""

    series: Series
    weights: Array


def power(samples: pl.DataFrame) -> Weighted | None:
    """Return the watts of one step's samples; None where none were logged."""
    begin_s = _begin_s(samples)
    if begin_s is None:
        return None
    rows = samples.filter((pl.col("t_s") > begin_s) & pl.col("power_w").is_finite())
    return _weighted(rows.select("t_s", value="power_w", weight=pl.lit(1.0)), begin_s)


def mean_latency(samples: pl.DataFrame) -> Weighted | None:
    """Return the mean latency of reads and writes, in us, each by how many there were."""
    pairs = [("read_lat_us", "read_iops"), ("write_lat_us", "write_iops"), ("lat_us", "iops")]
    logged = [
        (pl.col(latency), pl.col(iops))
        for latency, iops in pairs
        if samples[latency].count() and samples[iops].count()
    ]
    begin_s = _begin_s(samples)
    if not logged or begin_s is None:
        return None
    weight = pl.sum_horizontal(
        pl.when(latency.is_finite()).then(iops).otherwise(0.0) for latency, iops in logged
    )
    total = pl.sum_horizontal((latency * iops).fill_nan(None) for latency, iops in logged)
    rows = samples.select("t_s", value=total / weight, weight=weight)
    return _weighted(rows.filter(pl.col("value").is_finite()), begin_s)


def tail_latency(samples: pl.DataFrame, direction: Literal["read", "write"]) -> Weighted | None:
    """Return the 99th percentile of the latency of each interval, in us; each second counts alike.

    Of the whole step it is none: percentiles of intervals cannot be added up to that.
    """
    begin_s = _begin_s(samples)
    if begin_s is None:
        return None
    name = f"{direction}_lat_p99_us"
    rows = samples.select("t_s", value=name, weight=pl.lit(1.0))
    return _weighted(rows.filter(pl.col("value").is_finite()), begin_s)


def _begin_s(samples: pl.DataFrame) -> float | None:
    """When the load began; None where no rates were logged."""
    rates = samples.filter(pl.col("interval_s").is_not_null())
    if rates.is_empty():
        return None
    first = rates.row(0, named=True)
    return float(first["t_s"] - first["interval_s"])


def _weighted(rows: pl.DataFrame, begin_s: float) -> Weighted | None:
    rows = rows.unique("t_s", keep="first", maintain_order=True).sort("t_s")
    if rows.is_empty():
        return None
    t_s = rows["t_s"].to_numpy().astype(float) - begin_s
    interval_s = rows["t_s"].diff().fill_null(float(t_s[0])).clip(1e-6).to_numpy()
    series = Series(t_s, interval_s, rows["value"].to_numpy().astype(float), "iops")
    return Weighted(series, rows["weight"].to_numpy() * interval_s)
