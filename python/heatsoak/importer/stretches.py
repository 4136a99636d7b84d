"""The steps in what a logger saw: stretches of load between pauses, of reads or of writes.

A logger keeps logging while nothing happens. The end of a load is not throttling and the next load
no recovery, so each stretch is a step of its own. A log is divided by what was asked of the drive,
never by how much of that it did: a load ends where hardly anything is moved, but for an even
trickle right after it, or the drive is not busy; a direction where its own I/O does, however the
other's share of the whole may rise. A drive that is busy and moves nothing is stalled, not idle;
where a log has the busy share, that tells the two apart. What `heatsoak watch` recorded is divided
in the same way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.importer import frames
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.recordings import to_recording
from heatsoak.importer.runs import BUSY_PCT
from heatsoak.protocol import Observed
from heatsoak.recording import InMemoryRecording, Recording, grid
from heatsoak.words import duration_text, percent_text

#: Below this share of the log's high level (its 95th percentile under load) the drive is idle,
#: unless it moves as much as a load does.
IDLE_SHARE = 0.01
#: Below this one only where the drive is known not to be busy: something else used it meanwhile.
BACKGROUND_SHARE = 0.1
#: A stretch is a load if the drive was busy (`BUSY_PCT`), or moved this much where that was not
#: logged; anything less is what an idling system does.
MIN_LOAD_MB_S, MIN_LOAD_IOPS = 20.0, 500.0
#: What moves this much in most of its time may be as busy as a drive can be.
WORK_MB_S, WORK_IOPS = 0.5, 50.0
#: Shorter quiet spells are the drive's own, not a pause of the load.
PAUSE_S = 10.0
PAUSE_SAMPLES = 3
#: A stretch this much shorter than `PAUSE_S` and with so few samples is not a load to judge.
MIN_SAMPLES = 3
#: Reads and writes together between writes alone, or reads, are a disturbance for so long.
DISTURBED_S = 15.0
#: Less is moved once reads join writes, or leave, if the medians of so many samples say so.
_BORDER, _LOST = 20, 0.1
#: A load that hardly anything comes of is even: its high samples are so many times its low ones.
_EVEN = 2.0
#: From this share of one direction the other is background.
ONE_SIDED = 0.9


def with_stretches(log: Log) -> Log:
    """Return a logger's log with a step for each stretch of load, if it has no steps."""
    if not log.logs_on or "step" in log.samples.columns or not log.has_rates:
        return log
    seen = frames.rated(log.samples)
    reads, writes, total = rates(seen)
    t_s = seen["t_s"].to_numpy()
    if len(t_s) < PAUSE_SAMPLES:
        return replace(log, steps=(_step(reads, writes, 1, 1),))
    logged_s = seen["interval_s"].to_numpy() if "interval_s" in seen.columns else None
    interval_s = grid.covered_s(t_s, logged_s)
    busy = seen["busy_pct"].to_numpy() if "busy_pct" in seen.columns else np.full(len(t_s), np.nan)
    is_bytes = any(name.endswith("bw_mb_s") for name in seen.columns)
    least = MIN_LOAD_MB_S if is_bytes else MIN_LOAD_IOPS
    quiet = _quiet(total, busy, least)
    if not np.isfinite(busy).any():
        quiet &= ~_goes_on(total, quiet, WORK_MB_S if is_bytes else WORK_IOPS)
    active = _active(quiet, interval_s)
    kinds = _directions(reads, writes, least, interval_s) * active
    loaded = [_without_quiet_edges(quiet, begin, end) for begin, end in _spans(kinds)]
    spans = [
        without_ragged_edges(total, begin, end)
        for begin, end in loaded
        if end - begin >= MIN_SAMPLES
    ]
    spans = [
        (begin, end) for begin, end in spans if _is_load(total[begin:end], busy[begin:end], least)
    ]
    lengths_s = [float(interval_s[begin:end].sum()) for begin, end in spans]
    if sum(lengths_s) < 0.5 * float(interval_s.sum()):
        # bursts of seconds in hours of idling are no loads
        spans = [span for span, length in zip(spans, lengths_s, strict=True) if length >= PAUSE_S]
    if not spans:
        idle = Observed(name="idle", watched=True, idle=True)
        return replace(log, steps=(idle,)).with_remarks(*_may_be_loaded(seen, busy))
    steps: list[Observed] = []
    all_t_s = log.samples["t_s"].to_numpy()
    step_of = np.zeros(log.samples.height, dtype=np.uint32)
    for begin, end in spans:
        step = _step(reads[begin:end], writes[begin:end], len(steps) + 1, len(spans))
        steps.append(step)
        start_s = t_s[begin] - interval_s[begin]
        first, stop = np.searchsorted(all_t_s, [start_s, t_s[end - 1]], side="right")
        step_of[first:stop] = len(steps)
    names = pl.Series("step", [None, *(step.name for step in steps)], dtype=pl.String)
    labels = names.gather(step_of)
    remarks = []
    if len(spans) > 1:
        remarks.append(
            Remark(
                f"the log was divided where nothing was moved for {duration_text(PAUSE_S)}, and "
                f"where reads and writes took turns: {len(spans)} steps"
            )
        )
        remarks += _lost_at_borders(spans, kinds, total)
    elif t_s[-1] - t_s[spans[0][1] - 1] > PAUSE_S or t_s[spans[0][0]] - t_s[0] > PAUSE_S:
        remarks.append(Remark("the time in which nothing was moved is in no step"))
    return replace(
        log,
        samples=log.samples.with_columns(labels),
        steps=tuple(steps),
        remarks=(*log.remarks, *remarks),
    )


def _lost_at_borders(
    spans: Sequence[tuple[int, int]], kinds: frames.Array, total: frames.Array
) -> Iterator[Remark]:
    """Where less is moved once reads join writes, or leave: what goes on may have fallen."""
    for number, ((begin, border), (start, end)) in enumerate(pairwise(spans), 1):
        if start - border >= PAUSE_SAMPLES or 3.0 not in (kinds[border - 1], kinds[start]):
            continue
        before = float(np.median(total[max(begin, border - _BORDER) : border]))
        after = float(np.median(total[start : min(end, start + _BORDER)]))
        if after < (1 - _LOST) * before:
            what = "began" if kinds[start] == 3.0 else "ceased"
            lost = percent_text(100 * (1 - after / before))
            yield Remark(
                f"from step {number} to step {number + 1}, as reads and writes {what} to run "
                f"together, {lost} less was moved: another load, or a fall",
                True,
                ("rate",),
            )


def _is_load(total: frames.Array, busy_pct: frames.Array, least: float) -> bool:
    if np.isfinite(busy_pct).any():
        return float(np.nanmean(busy_pct)) >= BUSY_PCT
    return float(np.mean(total)) >= least


def _may_be_loaded(seen: pl.DataFrame, busy_pct: frames.Array) -> list[Remark]:
    """Whether it may have been busy with what little it moved, as a hard disk is with small I/O."""
    if np.isfinite(busy_pct).any():
        return []
    usual = {name: float(np.median(frames.moved(seen, name))) for name in frames.RATES}
    if usual["bw_mb_s"] < WORK_MB_S and usual["iops"] < WORK_IOPS:
        return []
    text = "it moved little, but all the time, and how busy it was is not logged"
    return [Remark(text, True, ("rate",))]


def rates(seen: pl.DataFrame) -> tuple[frames.Array, frames.Array, frames.Array]:
    """Reads, writes, and all together, in bytes where they were logged, else in I/Os."""
    for quantity in frames.RATES:
        names = frames.ways_of(quantity)
        if any(name in seen.columns for name in names):
            reads, writes, both = (
                np.nan_to_num(seen[name].to_numpy().astype(float))
                if name in seen.columns
                else np.zeros(seen.height)
                for name in names
            )
            return reads, writes, reads + writes + both
    raise AssertionError("a log with rates has a column of them")


def _high(rate: frames.Array) -> float:
    """The level of a load: the 95th percentile of what moved anything."""
    moving = rate[rate > 0]
    return float(np.percentile(moving, 95)) if len(moving) else 0.0


def _quiet(total: frames.Array, busy_pct: frames.Array, least: float) -> NDArray[np.bool_]:
    """Whether nothing happened in a sample, or hardly anything while the drive was idle."""
    high = _high(total)
    hardly = (total == 0) | (total < min(IDLE_SHARE * high, least))
    background = (total < BACKGROUND_SHARE * high) & (busy_pct < BUSY_PCT)
    return np.asarray((hardly & ~(busy_pct >= BUSY_PCT)) | background)


def _goes_on(total: frames.Array, quiet: NDArray[np.bool_], least: float) -> NDArray[np.bool_]:
    """Whether a load goes on that hardly anything comes of: straight after it, evenly, and more
    than was moved before it began.

    What a system does beside a load comes in bursts, or was there before.
    """
    found = np.zeros(len(total), dtype=bool)
    before = total[: int(np.argmin(quiet))]
    least = max(least, 2 * float(np.median(before)) if len(before) else 0.0)
    for begin, end in pairwise(_bounds(quiet).tolist()):
        if quiet[begin] and begin > 0 and end - begin >= PAUSE_SAMPLES:
            low, high = np.quantile(total[begin:end], (0.1, 0.9))
            found[begin:end] = low >= least and high <= _EVEN * low
    return found


def _active(quiet: NDArray[np.bool_], interval_s: frames.Array) -> frames.Array:
    """Whether the load was on at each sample; short quiet spells count as load."""
    active = np.ones(len(quiet))
    bounds = _bounds(quiet)
    ends_s = np.concatenate([[0.0], np.cumsum(interval_s)])[bounds]
    lasted_s, lengths = np.diff(ends_s), np.diff(bounds)
    # sums from the beginning are not exact: those near the limit are summed again
    is_long = (lengths >= PAUSE_SAMPLES) & (lasted_s > 0.99 * PAUSE_S)
    is_long[[0, -1]] = True
    for place in np.flatnonzero(is_long & quiet[bounds[:-1]]).tolist():
        begin, end = bounds[place : place + 2].tolist()
        at_edge = begin == 0 or end == len(quiet)
        if at_edge or float(np.sum(interval_s[begin:end])) >= PAUSE_S:
            active[begin:end] = 0
    return active


def _without_quiet_edges(quiet: NDArray[np.bool_], begin: int, end: int) -> tuple[int, int]:
    """Leave out what is between a load and the next one in the other direction."""
    loud = np.flatnonzero(~quiet[begin:end])
    return (begin + int(loud[0]), begin + int(loud[-1]) + 1) if len(loud) else (begin, begin)


def _is_on(rate: frames.Array, all_high: float, least: float) -> NDArray[np.bool_]:
    """Whether a direction was asked for at each sample.

    It begins with a tenth of its own level, and ends where hardly anything of it is left; what is
    always small beside the other direction is its background.
    """
    high = _high(rate)
    if high < (1 - ONE_SIDED) * all_high:
        return np.zeros(len(rate), dtype=bool)
    state = np.where(rate >= (1 - ONE_SIDED) * high, 1, -1)
    state[(rate < (1 - ONE_SIDED) * high) & (rate >= min(IDLE_SHARE * high, least))] = 0
    known = np.maximum.accumulate(np.where(state != 0, np.arange(len(rate)), -1))
    return (known >= 0) & (state[known] > 0)


def _directions(
    reads: frames.Array, writes: frames.Array, least: float, interval_s: frames.Array
) -> frames.Array:
    """1 where reads were asked for, 2 writes, 3 both or unknown."""
    all_high = max(_high(reads), _high(writes))
    kinds = _is_on(reads, all_high, least) * 1.0 + _is_on(writes, all_high, least) * 2.0
    # where neither is on, the drive stalls or rests: it keeps its direction
    on = np.flatnonzero(kinds)
    if len(on) == 0:
        return np.full(len(kinds), 3.0)
    before = np.searchsorted(on, np.arange(len(kinds)), side="right") - 1
    kinds = kinds[on[np.maximum(before, 0)]]
    # a sample across a change, or a burst of something else, makes no step
    bounds = _bounds(kinds)
    lengths = np.diff(bounds)
    is_own = lengths >= MIN_SAMPLES
    is_own[0] = True
    of_span = np.maximum.accumulate(np.where(is_own, np.arange(len(lengths)), 0))
    kinds = np.asarray(np.repeat(kinds[bounds[of_span]], lengths))
    # something else that used the drive for a while does not end the load
    for begin, end in _spans(kinds):
        is_between = begin > 0 and end < len(kinds) and kinds[begin - 1] == kinds[end]
        if kinds[begin] == 3.0 and is_between and np.sum(interval_s[begin:end]) <= DISTURBED_S:
            kinds[begin:end] = kinds[end]
    return kinds


def _bounds(kinds: NDArray[Any]) -> NDArray[np.intp]:
    """Where stretches of equal values begin, and the end of the last."""
    return np.concatenate([[0], np.flatnonzero(np.diff(kinds)) + 1, [len(kinds)]])


def _spans(kinds: frames.Array) -> list[tuple[int, int]]:
    return [(begin, end) for begin, end in pairwise(_bounds(kinds).tolist()) if kinds[begin] != 0]


def without_ragged_edges(total: frames.Array, begin: int, end: int) -> tuple[int, int]:
    """Leave out a first and a last sample in which the load was on for a part only."""
    if end - begin > 2 * MIN_SAMPLES:
        if total[begin] < 0.9 * total[begin + 1]:
            begin += 1
        if total[end - 1] < 0.9 * total[end - 2]:
            end -= 1
    return begin, end


def _step(reads: frames.Array, writes: frames.Array, number: int, count: int) -> Observed:
    is_known = bool(np.any(reads > 0) or np.any(writes > 0))
    moved_reads, moved_writes = float(np.sum(reads)), float(np.sum(writes))
    both = moved_reads + moved_writes
    does_read = not is_known or moved_reads > (1 - ONE_SIDED) * both
    does_write = not is_known or moved_writes > (1 - ONE_SIDED) * both
    word = "load" if does_read == does_write else "reads" if does_read else "writes"
    name = word if count == 1 else f"{word} {number}"
    return Observed(name=name, reads=does_read, writes=does_write, watched=True)


# --- watches -------------------------------------------------------------------------------------

#: The name of the observation that a watch records.
WATCH = "watch"


def is_undivided(recording: Recording) -> bool:
    """Return whether it is a watch that is still running or was cut: its load has no steps yet."""
    protocol = recording.meta.protocol
    return (
        protocol.is_observed
        and protocol.name == WATCH
        and not recording.meta.load.get("is_divided")
    )


def divided(recording: Recording) -> Recording:
    """Return a watch with a step for each stretch of load; any other recording as it is."""
    if not (is_undivided(recording) and recording.is_readable):
        return recording
    samples = recording.samples()
    if samples.is_empty():
        return recording
    meta = recording.meta
    log = Log(
        format=WATCH,
        source=recording.path_text,
        samples=samples.drop("step", strict=False),
        clock="utc",
        start_unix_s=meta.started_unix_s,
        drive=meta.drive,
        conditions=meta.conditions,
        tools=meta.tools,
        sensors=tuple(meta.sensors),
    )
    if not log.has_rates:
        return recording
    found = to_recording(with_stretches(log), {})
    moved_s = (meta.started_unix_s or 0.0) - (found.meta.started_unix_s or 0.0)
    meta_of_log = meta.model_copy(
        update={
            "protocol": found.meta.protocol.model_copy(update={"title": meta.protocol.title}),
            "columns": found.meta.columns,
            "started_unix_s": found.meta.started_unix_s,
            "load": {**meta.load, "is_divided": True},
        }
    )
    own = [event.model_copy(update={"t_s": event.t_s + moved_s}) for event in recording.events]
    events = sorted([*own, *found.events], key=lambda event: event.t_s)
    return InMemoryRecording(
        recording.path, meta_of_log, found.samples(), events, recording.changes
    )
