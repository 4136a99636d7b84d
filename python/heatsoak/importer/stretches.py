"""The steps in what a logger saw: stretches of load between pauses, of reads or of writes.

A logger runs on while nothing happens. The end of a load is no throttling and the next load no
recovery, so each stretch is a step of its own. A drive that is busy and moves nothing is stalled,
not idle; where a log has the busy share, that tells the two apart.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl

from heatsoak.importer.frames import Array
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.runs import BUSY_PCT
from heatsoak.protocol import Observed

#: Below this share of the log's high level (its 95th percentile under load) nothing goes on.
IDLE_SHARE = 0.01
#: Shorter quiet spells are the drive's own, not a pause of the load.
PAUSE_S = 10.0
PAUSE_SAMPLES = 3
#: A stretch this much shorter than `PAUSE_S` and with so few samples is no load to be judged.
LEAST_SAMPLES = 3
#: From this share of one direction the other is background.
ONE_SIDED = 0.9

_QUANTITIES = ("bw_mb_s", "iops")


def with_stretches(log: Log) -> Log:
    """Return a logger's log with a step for each stretch of load, if it has no steps."""
    if not log.logs_on or "step" in log.samples.columns or not log.has_rates:
        return log
    rated = log.samples.filter(pl.any_horizontal(_has_rate(log.samples)))
    reads, writes, total = _rates(rated)
    t_s = rated["t_s"].to_numpy()
    if len(t_s) < PAUSE_SAMPLES:
        return _one_step(log, reads, writes)
    interval_s = (
        rated["interval_s"].to_numpy()
        if "interval_s" in rated.columns
        else np.diff(t_s, prepend=t_s[0])
    )
    busy = rated["busy_pct"].to_numpy() if "busy_pct" in rated.columns else np.zeros(len(t_s))
    active = _active(total, np.nan_to_num(busy), interval_s)
    kinds = _directions(reads, writes, total) * active
    spans = [
        _without_ragged_edges(total, begin, end)
        for begin, end in _spans(kinds)
        if end - begin >= LEAST_SAMPLES
    ]
    if not spans:
        return _one_step(log, reads, writes)
    steps: list[Observed] = []
    all_t_s = log.samples["t_s"].to_numpy()
    names = np.full(log.samples.height, None, dtype=object)
    for begin, end in spans:
        step = _step(reads[begin:end], writes[begin:end], len(steps) + 1, len(spans))
        steps.append(step)
        begin_s = t_s[begin] - max(float(interval_s[begin]), 0.0)
        names[(all_t_s > begin_s) & (all_t_s <= t_s[end - 1])] = step.name
    labels = pl.Series("step", names.tolist(), dtype=pl.String)
    remarks = []
    if len(spans) > 1 or t_s[-1] - t_s[spans[0][1] - 1] > PAUSE_S:
        remarks.append(
            Remark(
                f"the log was divided where nothing was moved for {PAUSE_S:.0f} s, and where reads "
                f"and writes took turns: {len(spans)} {'step' if len(spans) == 1 else 'steps'}"
            )
        )
    return replace(
        log,
        samples=log.samples.with_columns(labels),
        steps=tuple(steps),
        remarks=(*log.remarks, *remarks),
    )


def _has_rate(samples: pl.DataFrame) -> list[pl.Expr]:
    return [
        pl.col(name).is_not_null()
        for quantity in _QUANTITIES
        for name in (f"read_{quantity}", f"write_{quantity}", quantity)
        if name in samples.columns
    ]


def _rates(rated: pl.DataFrame) -> tuple[Array, Array, Array]:
    """Reads, writes, and all together, in bytes where they were logged, else in I/Os."""
    for quantity in _QUANTITIES:
        names = (f"read_{quantity}", f"write_{quantity}", quantity)
        if any(name in rated.columns for name in names):
            reads, writes, both = (
                np.nan_to_num(rated[name].to_numpy().astype(float))
                if name in rated.columns
                else np.zeros(rated.height)
                for name in names
            )
            return reads, writes, reads + writes + both
    raise AssertionError("a log with rates has a column of them")


def _active(total: Array, busy_pct: Array, interval_s: Array) -> Array:
    """Whether the load was on at each sample; short quiet spells count as load."""
    moving = total[total > 0]
    if len(moving) == 0:
        return np.zeros(len(total))
    quiet = (total < IDLE_SHARE * np.percentile(moving, 95)) & (busy_pct < BUSY_PCT)
    active = np.ones(len(total))
    for begin, end in _spans(quiet.astype(float)):
        at_edge = begin == 0 or end == len(total)
        is_long = end - begin >= PAUSE_SAMPLES and float(np.sum(interval_s[begin:end])) >= PAUSE_S
        if at_edge or is_long:
            active[begin:end] = 0
    return active


def _directions(reads: Array, writes: Array, total: Array) -> Array:
    """1 where reads prevail, 2 writes, 3 both or untold; the majority of the samples around."""
    share, other = (part / np.where(total > 0, total, np.inf) for part in (reads, writes))
    kinds = np.select([share >= ONE_SIDED, other >= ONE_SIDED], [1.0, 2.0], 3.0)
    # a stalled drive goes on with what it was doing
    moving = np.flatnonzero(total > 0)
    if len(moving):
        before = np.searchsorted(moving, np.arange(len(total)), side="right") - 1
        kinds = kinds[moving[np.maximum(before, 0)]]
    # a sample that lies across a change, or a burst of something else, makes no step
    for begin, end in _spans(kinds):
        if end - begin < LEAST_SAMPLES and begin > 0:
            kinds[begin:end] = kinds[begin - 1]
    return kinds


def _spans(kinds: Array) -> list[tuple[int, int]]:
    """The stretches of equal values that are not zero."""
    bounds = [0, *(np.flatnonzero(np.diff(kinds)) + 1).tolist(), len(kinds)]
    return [(begin, end) for begin, end in pairwise(bounds) if end > begin and kinds[begin] != 0]


def _without_ragged_edges(total: Array, begin: int, end: int) -> tuple[int, int]:
    """Leave out a first and a last sample in which the load was on for a part only."""
    if end - begin > 2 * LEAST_SAMPLES:
        if total[begin] < 0.9 * total[begin + 1]:
            begin += 1
        if total[end - 1] < 0.9 * total[end - 2]:
            end -= 1
    return begin, end


def _step(reads: Array, writes: Array, number: int, count: int) -> Observed:
    told = bool(np.any(reads > 0) or np.any(writes > 0))
    moved_reads, moved_writes = float(np.sum(reads)), float(np.sum(writes))
    both = moved_reads + moved_writes
    does_read = not told or moved_reads > (1 - ONE_SIDED) * both
    does_write = not told or moved_writes > (1 - ONE_SIDED) * both
    word = "load" if does_read == does_write else "reads" if does_read else "writes"
    name = word if count == 1 else f"{word} {number}"
    return Observed(name=name, reads=does_read, writes=does_write)


def _one_step(log: Log, reads: Array, writes: Array) -> Log:
    return replace(log, steps=(_step(reads, writes, 1, 1),))
