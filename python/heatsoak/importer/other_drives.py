"""What the machine's other drives moved in the same log, beside each drive that is taken."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from heatsoak.importer.frames import Array, moved, rated
from heatsoak.importer.log import Log
from heatsoak.recording.columns import schema_of

#: The column of a recording.
OTHER_DRIVES = "other_drives_mb_s"


def with_other_drives(logs: Sequence[Log], drives: Iterable[Log]) -> list[Log]:
    """Return logs of one file, each with what the drives of its machine moved besides.

    `drives` are whole drives, taken or not, on the same clock. Beside an array or a partition it is
    what its own drives moved beyond it, as when an array is rebuilt.
    """
    others = [_in_all(log) for log in drives if log.has_any("bw_mb_s")]
    return [_beside(log, others) if log.has_any("bw_mb_s") else log for log in logs]


def _spans(log: Log) -> tuple[pl.DataFrame, Array, Array, Array]:
    """The samples that have a rate, when each begins and ends by the clock, and its MB/s."""
    seen = rated(log.samples)
    ends_s = seen["t_s"].to_numpy() + (log.start_unix_s or 0.0)
    return seen, ends_s - seen["interval_s"].fill_null(0.0).to_numpy(), ends_s, moved(seen)


def _in_all(log: Log) -> tuple[Array, Array]:
    """The MB that a drive had moved by the begin and by the end of each sample; none in gaps."""
    _, begins_s, ends_s, mb_s = _spans(log)
    moments_s = np.maximum.accumulate(np.column_stack([begins_s, ends_s]).ravel())
    in_all_mb = np.cumsum(mb_s * (ends_s - begins_s))
    return moments_s, np.concatenate([[0.0], np.repeat(in_all_mb, 2)[:-1]])


def _beside(log: Log, drives: Iterable[tuple[Array, Array]]) -> Log:
    seen, begins_s, ends_s, own_mb_s = _spans(log)
    all_mb = sum(np.interp(ends_s, *each) - np.interp(begins_s, *each) for each in drives)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = all_mb / (ends_s - begins_s) - own_mb_s
    others = np.where(others < 1e-3 * own_mb_s, 0.0, others)  # sums are rounded
    if not np.nan_to_num(others, posinf=0.0).any():
        return log
    column = seen.select("t_s").with_columns(pl.Series(OTHER_DRIVES, others, nan_to_null=True))
    samples = log.samples.join(column, on="t_s", how="left", maintain_order="left")
    return replace(log, samples=samples.select(*schema_of(samples.columns)))
