"""The drops in samples that are not a recording yet: those of a step that has just been run."""

import polars as pl

from heatsoak.analysis.segments import Drop, find_drops
from heatsoak.analysis.series import throughput

__all__ = ["Drop", "drops_of"]


def drops_of(samples: pl.DataFrame) -> list[Drop] | None:
    """Return the drops in one step's samples; None where they are too few to tell.

    Times count from the begin of the first interval that has rates.
    """
    rates = samples.filter(pl.col("interval_s").is_not_null())
    if rates.is_empty():
        return None
    first = rates.row(0, named=True)
    return find_drops(throughput(rates, float(first["t_s"] - first["interval_s"])))
