"""Logs of more samples than a judgement needs, or memory holds: means of short stretches."""

import math
from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from heatsoak.importer.log import Log, Remark
from heatsoak.recording.columns import Average, column_of

#: A day and more at 10 Hz is judged as it is; beyond, means of at least `LEAST_BIN_S` are taken.
MOST_SAMPLES = 4_000_000
LEAST_BIN_S = 0.1


def thinned(log: Log) -> Log:
    """Return the log, or means of it where it has over `MOST_SAMPLES`.

    Rates and latencies are means over the time they speak for, temperatures and the like over
    their readings; greatest latencies stay the greatest, and counters the last.
    """
    if log.samples.height <= MOST_SAMPLES:
        return log
    span_s = float(log.samples["t_s"][-1] - log.samples["t_s"][0])
    bin_s = max(LEAST_BIN_S, span_s / (MOST_SAMPLES / 2))
    bin_s = math.ceil(bin_s / LEAST_BIN_S) * LEAST_BIN_S
    keys = ["bin", *(["step"] if "step" in log.samples.columns else [])]
    samples = (
        log.samples.lazy()
        .with_columns(bin=((pl.col("t_s") - 1e-9) / bin_s).floor())
        .group_by(keys)
        .agg(pl.col("t_s").last(), *_means(log.samples.columns))
        .drop("bin")
        .sort("t_s")
        .select(log.samples.columns)
        .collect()
    )
    if samples.height >= log.samples.height:
        return log
    text = f"{log.samples.height:,} samples were made into means of {bin_s:.1f} s"
    return replace(log, samples=samples, remarks=(*log.remarks, Remark(text)))


def _means(columns: list[str]) -> Iterator[pl.Expr]:
    for name in columns:
        value, average = pl.col(name), column_of(name).average
        if name in ("t_s", "step"):
            continue
        if average is Average.SUM:
            yield value.sum()
        elif average is Average.MAX:
            yield value.max()
        elif average is Average.LAST:
            yield value.drop_nulls().last()
        elif average is Average.TIME and "interval_s" in columns:
            weight = pl.when(value.is_not_null()).then(pl.col("interval_s").fill_null(0.0))
            mean = pl.when(weight.sum() > 0).then((value * weight).sum() / weight.sum())
            yield mean.otherwise(value.mean()).alias(name)
        else:
            yield value.mean()
