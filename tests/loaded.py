"""Loads on a target of this process, and what their samples add up to."""

import polars as pl
from heatsoak.protocol import LoadStep
from heatsoak.target import Note
from heatsoak.target.base import Target


def load(target: Target, step: LoadStep) -> tuple[pl.DataFrame, list[Note]]:
    """Take a step; return its samples, and what was said of it."""
    batches = list(target.run(step))
    frames = [batch for batch in batches if isinstance(batch, pl.DataFrame) and batch.height]
    samples = pl.concat(frames) if frames else pl.DataFrame()
    return samples, [batch for batch in batches if isinstance(batch, Note)]


def moved_bytes(samples: pl.DataFrame, direction: str) -> float:
    """Return how much was read or written, as ``"read"`` or ``"write"``, by rates and intervals."""
    rate = pl.col(f"{direction}_bw_mb_s").fill_null(0) * 1e6
    return float(samples.select((rate * pl.col("interval_s")).sum()).item())
