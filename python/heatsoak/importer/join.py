"""Several logs of the same hour made into one recording.

What has the finest throughput leads; temperatures, counters and whatever else the others saw are
laid beside it, on its clock. Where their clocks do not tell how far apart they began, and nobody
says it, the logs stay apart, with a remark.

A benchmark's summary knows what the load was and when, but has a mean for each step only; iostat
beside it saw the course of each. There the series leads, in the benchmark's steps.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from heatsoak import words
from heatsoak.importer import whose
from heatsoak.importer.block_devices import OTHER_DRIVES
from heatsoak.importer.frames import rated, ways_of
from heatsoak.importer.log import Alignment, Log, Remark, nothing_to_shift
from heatsoak.importer.stretches import rates, without_ragged_edges
from heatsoak.recording import grid, schema_of

_LOADED = ("bw_mb_s", "iops", "lat_us", "lat_p50_us", "lat_p99_us", "lat_p999_us", "lat_max_us")
#: Columns that only the leading log may have.
_LEADERS = {"queue"}.union(*map(ways_of, _LOADED))
#: Columns of the rows themselves.
_OF_SAMPLES = ("t_s", "interval_s", "step")
#: What an onlooker saw the device move, beside the log of a load.
_DEVICE_RATES = {"read_bw_mb_s": "device_read_mb_s", "write_bw_mb_s": "device_write_mb_s"}
#: A log of the load itself leads before an onlooker's up to this much finer.
_NEARLY_AS_FINE = 1.5
#: What columns are called together where they are left out.
_KINDS = {"_mb_s": "MB/s", "iops": "IOPS", "_us": "latencies", "": "queue and load of CPU or drive"}
#: What the logger saw of a step, as a share of what the benchmark counted.
_MIN_SEEN, _MAX_SEEN = 0.5, 2.0
_NO_CLOCK = "they have no common clock"
#: What a user can say against what keeps two logs apart.
_WAYS_OUT = {
    whose.NAMELESS: "choose one drive with --device, or name its file after it, as in "
    "nvme0-heat.csv",
    _NO_CLOCK: "--shift 0s if both began together, else --shift SECONDS",
}
#: A step is seen by at least as many of the logger's samples.
_MIN_SAMPLES = 3


def join(logs: Sequence[Log], shift_s: float | None = None) -> list[Log]:
    """Return the logs, those of the same time put together.

    `shift_s` is added to the times of whatever is laid beside a leading log, from the two logs'
    beginnings, instead of what their clocks say. Raises UsageError where there is nothing to shift.
    """
    # it comes with all other readers, which take a while to load
    from heatsoak.importer.formats.fio.run import join_fio
    from heatsoak.importer.formats.results import join_results

    logs = [_with_names(log) for log in logs] if len({log.source for log in logs}) > 1 else logs
    separate = join_results(join_fio(whose.in_courses(logs)))
    logs = _with_summaries(separate, shift_s)
    leaders = _leaders(logs)
    leading = set(map(id, leaders))
    others = [log for log in logs if id(log) not in leading]
    aligns = (leaders and others) or (_summaries(separate) and _loggers(separate))
    if shift_s is not None and not aligns:
        raise nothing_to_shift(shift_s, "nothing here is laid beside another log")
    joined, apart = list(leaders), []
    rows = whose.placed(leaders, others, partial(alignment_of, shift_s=shift_s))
    for log, row in zip(others, rows, strict=True):
        for index, one in enumerate(row):
            if one.beside:
                joined[index] = _beside(joined[index], one.leader, *one.beside)
            if one.neighbour:
                joined[index] = joined[index].with_remarks(Remark(f"{log.name} {one.neighbour}"))
        if any(one.beside or one.neighbour for one in row):
            continue
        for obstacle in dict.fromkeys(one.obstacle for one in row if one.obstacle):
            indices = [index for index, one in enumerate(row) if one.obstacle == obstacle]
            remark = _kept_apart(log, [leaders[index] for index in indices], obstacle)
            log = log.with_remarks(remark)
            if log.has_temperatures and not obstacle.endswith(whose.APART):
                # its own may be among them
                for index in indices:
                    joined[index] = joined[index].with_remarks(remark)
        apart.append(log)
    return joined + apart


def _with_names(log: Log) -> Log:
    """Say with each doubt which of several files it is of."""
    name = Path(log.source).name
    remarks = (
        replace(one, text=f"{name}: {one.text}") if one.doubt and name not in one.text else one
        for one in log.remarks
    )
    return replace(log, remarks=tuple(remarks))


def _kept_apart(log: Log, leaders: Sequence[Log], obstacle: str) -> Remark:
    others = leaders[0].name + (f" and {len(leaders) - 1} more" if leaders[1:] else "")
    text = f"{log.name} was kept apart from {others}: {obstacle}"
    way_out = _WAYS_OUT.get(obstacle, "--shift SECONDS puts them together")
    settles = f"to judge it with the temperatures of {Path(log.source).name}: {way_out}"
    return Remark(f"{text} ({way_out})", True, ("temperature",), settles)


# --- which logs lead -----------------------------------------------------------------------------


def _leaders(logs: Sequence[Log]) -> list[Log]:
    """The logs that others are laid beside.

    Those of the kind that has the finest throughput: two files of one kind are two runs. Results
    without a series have nothing to be aligned by, and lead themselves.
    """
    series = [log for log in logs if log.has_rates and not _is_summary(log)]
    finest = min(series, key=_sampling_s, default=None)
    if finest is not None:
        # what loaded the drive knows more of the load than an onlooker
        near = [log for log in series if _sampling_s(log) <= _NEARLY_AS_FINE * _sampling_s(finest)]
        finest = next((log for log in near if not log.logs_on), finest)
    kind = None if finest is None else finest.format
    return [log for log in logs if log.has_rates and (_is_summary(log) or log.format == kind)]


def _is_summary(log: Log) -> bool:
    return log.samples.height < 2 * max(len(log.steps), 1)


def _sampling_s(log: Log) -> float:
    if "interval_s" not in log.samples.columns:
        return float("inf")
    usual = log.samples["interval_s"].median()
    return float(usual) if isinstance(usual, int | float) and usual > 0 else float("inf")


# --- a benchmark's summary, and a logger's series ------------------------------------------------


def _with_summaries(logs: list[Log], shift_s: float | None) -> list[Log]:
    """Put a series beside each benchmark's summary that has one, in the benchmark's steps."""
    loggers = _loggers(logs)
    for summary in _summaries(logs):
        obstacles = []
        for series in sorted(loggers, key=_sampling_s):
            own = _in_steps_of(summary, series, alignment_of(summary, series, shift_s))
            if isinstance(own, Log):
                logs = [own if log is series else log for log in logs if log is not summary]
                loggers = [log for log in loggers if log is not series]
                break
            obstacles.append(Remark(f"{series.name} was kept apart from it: {own}", True, ()))
        else:
            remarked = summary.with_remarks(*obstacles)
            logs = [remarked if log is summary else log for log in logs]
    return logs


def _summaries(logs: Sequence[Log]) -> list[Log]:
    own = (log for log in logs if not log.logs_on and log.has_rates and _is_summary(log))
    return [log for log in own if {"step", "interval_s"} <= set(log.samples.columns)]


def _loggers(logs: Sequence[Log]) -> list[Log]:
    series = [log for log in logs if log.has_rates and log.logs_on and not _is_summary(log)]
    return [log for log in series if "step" not in log.samples.columns]


def _in_steps_of(summary: Log, series: Log, alignment: Alignment | str) -> Log | str:
    """`series`, in its own time, in the steps of `summary`; or why it did not see them."""
    if isinstance(alignment, str):
        return alignment
    seen, summed = rated(series.samples), rated(summary.samples)
    (_, _, total), (_, _, counted) = rates(seen), rates(summed)
    begins_s, ends_s = (times_s + alignment.shift_s for times_s in grid.spans_s(seen))
    labels = np.full(series.samples.height, None, dtype=object)
    all_t_s = series.samples["t_s"].to_numpy() + alignment.shift_s
    has_same_quantity = _in_bytes(series) == _in_bytes(summary)
    placed = set()
    # clocks of whole seconds: what begins a little early still belongs to the step
    slack_s = np.minimum((ends_s - begins_s) / 2, 1.0)
    spans_s = grid.spans_s(summed)
    for name, start_s, end_s, mean in zip(summed["step"], *spans_s, counted, strict=True):
        own = np.flatnonzero((begins_s >= start_s - slack_s) & (ends_s <= end_s + slack_s))
        if len(own) < _MIN_SAMPLES:
            continue
        first, last = without_ragged_edges(total, int(own[0]), int(own[-1]) + 1)
        average = float(np.mean(total[first:last]))
        if has_same_quantity and not _MIN_SEEN * mean <= average <= _MAX_SEEN * mean:
            return f"it saw {_rate(series, average)} in '{name}', not {_rate(summary, mean)}"
        labels[(all_t_s > begins_s[first]) & (all_t_s <= ends_s[last - 1])] = name
        placed.add(name)
    if not placed:
        return "it has too few samples within the steps"
    step = pl.Series("step", labels.tolist(), dtype=pl.String)
    names = f"{series.name} was divided into the steps of {summary.name}"
    # remarks that hold though none of the summary's own figures are shown
    still_true = [one for one in summary.remarks if one.doubt and "mean" not in one.text]
    return replace(
        series,
        samples=series.samples.with_columns(step),
        steps=tuple(step for step in summary.steps if step.name in placed),
        drive={**summary.drive, **series.drive},
        conditions={**summary.conditions, **series.conditions},
        tools={**series.tools, **summary.tools},
        remarks=(*series.remarks, *still_true, Remark(f"{names}: {alignment.how}")),
    )


def _in_bytes(log: Log) -> bool:
    return log.has_any("bw_mb_s")


def _rate(log: Log, value: float) -> str:
    amount = words.amount_text(value, "MB/s" if _in_bytes(log) else "IOPS")
    return f"{amount} ({Path(log.source).name})"


# --- one log beside another ----------------------------------------------------------------------


def _beside(joined: Log, leader: Log, other: Log, alignment: Alignment) -> Log:
    """`joined`, which is `leader` with what was laid beside it so far, and `other` too."""
    renamed, dropped = {}, []
    saw_device = _saw_device(joined, leader, other, alignment)
    for name in other.samples.columns:
        # the load's own drive may be one of the others
        if name in _OF_SAMPLES or (name == OTHER_DRIVES and not saw_device):
            continue
        is_taken = name in joined.samples.columns
        if saw_device and name in _DEVICE_RATES:
            renamed[name] = _DEVICE_RATES[name]
        elif name in _LEADERS or (is_taken and "." not in name):
            dropped.append(name)
        else:
            renamed[name] = f"{name}.{other.format}" if is_taken else name
    values = other.samples.select(pl.col("t_s") + alignment.shift_s, *renamed).rename(renamed)
    values = values.filter(
        pl.col("t_s").is_between(-whose.MARGIN_S, leader.end_s + whose.MARGIN_S)
        & pl.any_horizontal(False, *(pl.col(new).is_not_null() for new in renamed.values()))
    )
    if "step" in joined.samples.columns:
        values = with_steps(values, joined.samples)
    samples = pl.concat([joined.samples, values], how="diagonal").sort("t_s", maintain_order=True)
    source = Path(other.source).name
    text = f"{source} was joined with {Path(leader.source).name}: {alignment.how}"
    # a doubt about rates that are left out leaves nothing open
    is_left = not saw_device
    remarks = [
        replace(one, doubt=False) if is_left and one.touches == ("rate",) else one
        for one in other.remarks
    ]
    remarks.append(Remark(text))
    if dropped:
        kinds = {next(k for end, k in _KINDS.items() if name.endswith(end)) for name in dropped}
        what = words.listed([kind for kind in _KINDS.values() if kind in kinds])
        remarks.append(Remark(f"{source}: left out in favour of finer or equal ones: {what}"))
    sensors = [
        sensor.model_copy(update={"columns": [renamed.get(name, name) for name in sensor.columns]})
        for sensor in other.sensors
    ]
    return replace(
        joined,
        samples=samples.select(*schema_of(samples.columns)),
        drive={**other.drive, **joined.drive},
        conditions={**other.conditions, **joined.conditions},
        tools={**other.tools, **joined.tools},
        sensors=(*joined.sensors, *sensors),
        remarks=(*joined.remarks, *remarks),
    )


def _saw_device(joined: Log, leader: Log, other: Log, alignment: Alignment) -> bool:
    """Whether an onlooker's rates are of the device that a load's own log is of.

    What the device moved is at least about what the load did.
    """
    if leader.logs_on or not other.logs_on or not _in_bytes(leader):
        return False
    has_rates = _DEVICE_RATES.keys() <= set(other.samples.columns)
    is_told = not set(_DEVICE_RATES.values()).isdisjoint(joined.samples.columns)
    if is_told or not has_rates or whose.are_two_drives(leader, other):
        return False
    t_s = pl.col("t_s") + alignment.shift_s
    seen = rated(other.samples.filter(t_s.is_between(0.0, leader.end_s)))
    moved = [float(np.mean(rates(one)[2])) for one in (seen, rated(leader.samples)) if one.height]
    return len(moved) == 2 and moved[0] >= _MIN_SEEN * moved[1]


def with_steps(values: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """Return readings with the step of `samples` that each falls into."""
    spans = (
        samples.filter(pl.col("step").is_not_null())
        .group_by("step", maintain_order=True)
        .agg(
            begin=(pl.col("t_s") - pl.col("interval_s").fill_null(0.0)).min(),
            end=pl.col("t_s").max(),
        )
    )
    step = pl.lit(None, dtype=pl.String)
    for name, start_s, end_s in spans.iter_rows():
        step = pl.when(pl.col("t_s").is_between(start_s, end_s)).then(pl.lit(name)).otherwise(step)
    return values.with_columns(step=step)


# --- clocks: how far one log's time must be shifted to agree with another's ----------------------


def alignment_of(leader: Log, other: Log, shift_s: float | None) -> Alignment | str:
    """Return how `other` lies beside `leader` by their clocks, or why that is not known.

    `shift_s` is what the user says instead.
    """
    if shift_s is not None:
        shifted = f"shifted by {words.signed_text(shift_s, 6)} s"
        if _overlap(leader, other, shift_s):
            return Alignment(shift_s, f"{shifted}, as asked")
        return f"{shifted} {whose.APART}"
    if leader.start_unix_s is None or other.start_unix_s is None:
        return _NO_CLOCK
    apart_s = other.start_unix_s - leader.start_unix_s
    how = "aligned by their clocks"
    if leader.clock != other.clock:
        local, utc = (leader, other) if leader.clock == "local" else (other, leader)
        zone_s = zone_shift(apart_s if local is other else -apart_s, utc.end_s, local.end_s)
        if zone_s is None:
            return f"the clock of {local.name} tells no zone, and several fit or none"
        apart_s += zone_s if local is other else -zone_s
        how += f", taking {local.name} as UTC{-zone_s / 3600:+g}"
    return Alignment(apart_s, how) if _overlap(leader, other, apart_s) else whose.APART


def zone_shift(local_begin_s: float, utc_span_s: float, local_span_s: float) -> float | None:
    """Return what to add to a local wall clock, read as if it were UTC, to have UTC, in seconds.

    `local_begin_s` counts from the beginning of a log in UTC. Of the offsets that zones have, -12 h
    to +14 h in quarters of an hour, it is the one at which the logs overlap longest. None where
    none makes them overlap, or several do equally long: where a short log would lie within a long
    one in several ways.
    """
    shifts_s = -900.0 * np.arange(-48, 57)
    begins_s = local_begin_s + shifts_s
    overlaps_s = np.minimum(utc_span_s, begins_s + local_span_s) - np.maximum(0.0, begins_s)
    equal_s = max(1.0, 0.01 * min(utc_span_s, local_span_s))
    fitting_s = shifts_s[overlaps_s > overlaps_s.max() - equal_s]
    return float(fitting_s[0]) if overlaps_s.max() > 0 and len(fitting_s) == 1 else None


def _overlap(leader: Log, other: Log, shift_s: float) -> bool:
    """Whether logs are of the same time, or nearly so."""
    return shift_s < leader.end_s + whose.MARGIN_S and other.end_s + shift_s > -whose.MARGIN_S
