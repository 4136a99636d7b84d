"""One run of fio from its many files: bw, iops and lat logs of each job, and its JSON.

Logs count from the start of their own job, and do not say when that was: consecutive jobs are told
apart by the JSON alone, or by logs with the clock's time (``log_unix_epoch``). The JSON also has
the load, and fio's version, which decides whether latencies are in ns or us.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any, TypeVar

import numpy as np
import polars as pl

from heatsoak.importer.formats import fio
from heatsoak.importer.formats.fio.json import ONLY_MEANS, JobFacts
from heatsoak.importer.formats.fio.log import (
    MAX_IN_FLIGHT,
    MIN_IN_FLIGHT,
    observed_of,
    plain_prefix,
    remarks_on,
)
from heatsoak.importer.frames import RATES, moved
from heatsoak.importer.log import Log, Remark
from heatsoak.protocol import Observed
from heatsoak.recording import schema_of
from heatsoak.words import span_text

#: Logs and JSON of one run last equally long, within this.
_SAME_LENGTH = 0.2
_SAME_LENGTH_S = 2.0
#: Logs of all jobs have the bytes of the JSON, but for the windows that were not written or that
#: not all jobs have.
_SAME_BYTES = 0.1
_LOST_WINDOWS = 3.5
#: JSON and logs of one run have the same clock, but the JSON may know only its end.
_SAME_CLOCK_S = 60.0
#: The fewest samples that a status stream has.
_SERIES = 3
#: Jobs that end within this many windows, or this share of the run, end together.
_TOGETHER_WINDOWS, _TOGETHER_SHARE = 2.5, 0.01
#: What all jobs did together is the load where it is at least this share of the run.
_MIN_SHARE = 0.5


#: The logs of one family, which one run of fio left behind; each holds a :class:`LogRun`.
_Group = list[Log]
_T = TypeVar("_T")


def _part(log: Log) -> fio.LogRun:
    part: fio.LogRun = log.details["fio_part"]
    return part


def _parts(logs: Iterable[Log]) -> list[fio.LogRun]:
    return [_part(log) for log in logs]


def _changed(log: Log, **changes: Any) -> Log:
    return replace(log, details={**log.details, "fio_part": replace(_part(log), **changes)})


def _length_s(group: _Group) -> float:
    return max(part.last_ms - part.first_ms for part in _parts(group)) / 1000


def _stem(log: Log) -> str:
    return PurePath(log.family).name if log.family else ""


def join_fio(logs: Sequence[Log]) -> list[Log]:
    """Return `logs` with those of one run of fio joined; others stay as they are.

    A joined log stands where the first of its files stood. Jobs beside each other are added up,
    consecutive jobs are steps.
    """
    groups: dict[tuple[frozenset[Path], Path | str, str], _Group] = {}
    for index, log in enumerate(logs):
        if "fio_part" in log.details:  # runs of the same number in their files belong together
            family = str(index) if log.family is None else Path(log.family).resolve()
            groups.setdefault((_directories(log), family, log.label), []).append(log)
    reports = [log for log in logs if "fio_jobs" in log.details]
    claims = [(_report_of(group, reports), group) for group in groups.values()]
    joined: dict[int, Log | None] = {}
    apart: dict[int, Remark] = {}
    for report in reports:
        own = _of_one_directory(report, [group for claimed, group in claims if claimed is report])
        for mine in (own, [group for group in own if _names(report, group)]):
            whole = _with_report(report, mine) if mine else ""
            if isinstance(whole, Log):
                joined |= {id(report): whole, **{id(log): None for group in mine for log in group}}
                break
            text = f" was kept apart from {report.source}: {whole}"
            apart |= {id(group[0]): Remark(group[0].source + text) for group in mine}
    for group in groups.values():
        first = id(group[0])
        if first not in joined:
            remarks = [apart[first]] if first in apart else []
            alone = _without_report(group).with_remarks(*remarks)
            joined |= {id(log): None for log in group} | {first: alone}
    found = [joined.get(id(log), log) for log in logs]
    return [log for log in found if log is not None]


def _report_of(group: _Group, reports: Sequence[Log]) -> Log | None:
    """Return which JSON a group may belong to: one beside it, else the only one as near."""
    could = [one for one in reports if _names(one, group) or _is_as_long(one, group)]
    best = _least(could, lambda one: (*_rank(one, group), not _is_as_long(one, group)))
    if len(best) > 1 and _directories(best[0]) != _directories(group[0]):
        return None
    length_s = _length_s(group)
    return min(
        best,
        key=lambda one: (abs((one.duration_s or 0.0) - length_s), one.source, one.label),
        default=None,
    )


def _of_one_directory(report: Log, groups: Sequence[_Group]) -> list[_Group]:
    """Return the groups in the directory nearest to a JSON; none where several are as near."""
    nearest = _least(groups, lambda group: _rank(report, group))
    places = {_directories(group[0]) for group in nearest}
    return [group for group in groups if {_directories(group[0])} == places]


def _least(these: Sequence[_T], rank_of: Callable[[_T], Any]) -> list[_T]:
    ranks = [rank_of(one) for one in these]
    first = min(ranks, default=None)
    return [one for one, rank in zip(these, ranks, strict=True) if rank == first]


def _rank(report: Log, group: _Group) -> tuple[bool, bool, int, bool]:
    """Return how likely a group is a JSON's by place and name; the least is the likeliest."""
    places = _directories(report), _directories(group[0])
    common = places[0] & places[1]
    return places[0] != places[1], not _names(report, group), -len(common), common not in places


def _directories(log: Log) -> frozenset[Path]:
    directories: frozenset[Path] = log.details["fio_directories"]
    return directories


def _names(report: Log, group: _Group) -> bool:
    facts, stem = _facts(report), _stem(group[0])
    prefixes = {prefix for fact in facts for prefix in _plain(fact)}
    own = PurePath(report.source.replace("\\", "/")).name.split(".")[0]
    return bool(stem) and stem in ({*prefixes, own} | {fact.step for fact in facts})


def _plain(facts: JobFacts) -> set[str]:
    """Return what the logs of a job are called, without directory."""
    return {plain_prefix(PurePath(prefix).name) for prefix in facts.prefixes if prefix}


def _is_as_long(report: Log, group: _Group) -> bool:
    lengths_s = [fact.end_s - fact.start_s for fact in _facts(report)]
    return any(
        abs(length_s - _length_s(group)) <= max(_SAME_LENGTH * length_s, _SAME_LENGTH_S)
        for length_s in [*lengths_s, report.duration_s or 0.0]
    )


def _facts(report: Log) -> tuple[JobFacts, ...]:
    facts: tuple[JobFacts, ...] = report.details["fio_jobs"]
    return facts


def _with_report(report: Log, groups: Sequence[_Group]) -> Log | str:
    """Return a run's JSON with its logs in place of means, or why they are none of its."""
    facts = _facts(report)
    by_step: dict[str, list[Log]] = {}
    for log in _numbered(groups, report):
        name = _step_of(log, report)
        if name is None:
            return "its job cannot be told"
        by_step.setdefault(name, []).append(_of_version(log, report.details["fio_version"]))
    frames: list[pl.DataFrame] = []
    steps: list[Observed] = []
    remarks: list[Remark] = []
    start_unix_s = report.start_unix_s
    for step in report.steps:
        own = report.samples.filter(pl.col("step") == step.name)
        own_logs = by_step.get(step.name, [])
        parts = _parts(own_logs)
        if not parts:
            frames.append(own)
            steps.append(step)
            continue
        if _have_its_bytes(own_logs, own) is False:
            return "its bytes are not those that fio counted"
        begin_ms = _start_ms(parts)
        expected_s = min(fact.start_s for fact in facts if fact.step == step.name)
        if parts[0].absolute:
            start_unix_s = begin_ms / 1000 if start_unix_s is None else start_unix_s
            start_s = begin_ms / 1000 - start_unix_s
            if abs(start_s - expected_s) > _SAME_CLOCK_S:
                return "it is of another time"
        else:
            # what begins after the run's end counts from something else: the machine's boot
            late_s = begin_ms / 1000
            start_s = expected_s + (late_s if late_s < (report.duration_s or 0.0) else 0.0)
        frame, ended = _while_all_ran(fio.samples_of(parts, begin_ms), parts, begin_ms, step.name)
        frames.append(_of_step(frame, step.name, start_s, own))
        remarks += ended
        steps.append(step.model_copy(update={"bs": step.bs or observed_of(None, parts).bs}))
        remarks += _remarks(own_logs)
    samples = pl.concat(frames, how="diagonal")
    samples = samples.select(list(schema_of(samples.columns))).sort("t_s", maintain_order=True)
    samples = samples.unique("t_s", keep="first", maintain_order=True)
    # a ramp is in no log: what is measured begins after it
    first_s = float(samples["t_s"][0] - (samples["interval_s"][0] or 0.0))
    unlogged = [step for step in report.steps if step.name not in by_step]
    said = [r for r in report.remarks if unlogged or not r.text.endswith(ONLY_MEANS)]
    return replace(
        report,
        samples=samples.with_columns(pl.col("t_s") - first_s),
        clock="none" if start_unix_s is None else "utc",
        start_unix_s=None if start_unix_s is None else start_unix_s + first_s,
        steps=tuple(steps),
        family=groups[0][0].family,
        remarks=_once([*said, *remarks]),
        duration_s=None,
    )


def _of_step(frame: pl.DataFrame, name: str, start_s: float, own: pl.DataFrame) -> pl.DataFrame:
    """Return a step's samples in the run's time: of its logs, and what the JSON has beyond them.

    Means over the whole run are left out, unless there are no other rates.
    """
    if "step" not in frame.columns:
        frame = frame.with_columns(pl.lit(name).alias("step"))
    frame = frame.with_columns(pl.col("t_s") + start_s)
    rated = any(column.endswith(RATES) for column in frame.columns)
    missing = [column for column in own.columns if column not in frame.columns]
    if not missing or (rated and own.height < _SERIES):
        return frame
    kept = own.select("t_s", "step", "interval_s", *missing)
    both = pl.concat([frame, kept], how="diagonal")
    return both.group_by("t_s", maintain_order=True).agg(pl.all().drop_nulls().first())


def _numbered(groups: Sequence[_Group], report: Log) -> Iterator[Log]:
    """Yield logs; runs in files that jobs shared are those jobs, if they are as many.

    A report of groups counts jobs of other sections as one: there the bytes tell.
    """
    jobs = max(fact.last for fact in _facts(report))
    logs = [log for group in groups for log in group]
    if len(groups) > jobs and len(report.steps) == 1 and _have_its_bytes(logs, report.samples):
        jobs = len(groups)
    shared = Counter(log.source for log in logs)
    for log in logs:
        if log.label and shared[log.source] == jobs:
            again = f"{log.source}: its time starts again"
            kept = tuple(one for one in log.remarks if not one.text.startswith(again))
            yield _changed(replace(log, remarks=kept), job=log.label.removeprefix("run "))
        elif log.label and shared[log.source] > 1:
            yield _changed(log, job="?")
        else:
            yield log


def _have_its_bytes(logs: Sequence[Log], samples: pl.DataFrame) -> bool | None:
    """Return whether logs moved what the JSON's samples did, or did as many I/Os; None if unknown.

    A log may lack its last windows.
    """
    parts = _parts(logs)
    frames = fio.samples_of(parts, 0.0), samples
    window_s = max(part.window_ms for part in parts) / 1000
    lost = _LOST_WINDOWS * window_s / max(_length_s(list(logs)), window_s, 1.0)
    for quantity in RATES:
        logged, reported = (
            float(np.nansum(moved(frame, quantity) * frame["interval_s"].to_numpy()))
            for frame in frames
        )
        if logged and reported:
            return 1 - _SAME_BYTES - lost <= logged / reported <= 1 + _SAME_BYTES
    return None


def _step_of(log: Log, report: Log) -> str | None:
    """Return the step that a log belongs to, by its job's number or its name."""
    number = _part(log).job.split(".")[0]
    names = {step.name for step in report.steps}
    if number == "?":
        return None
    if len(names) == 1:
        return next(iter(names))
    facts = [fact for fact in _facts(report) if fact.step in names]
    named = {fact.step for fact in facts if _stem(log) in _plain(fact)}
    if len(named) == 1:
        return named.pop()
    found = [f.step for f in facts if number.isdigit() and f.first <= int(number) <= f.last]
    return found[0] if found else None


def _of_version(log: Log, version: str) -> Log:
    """Return a log with the unit of latencies that this version of fio writes."""
    if _part(log).lat_us is not None or not version.startswith("fio-"):
        return log
    return _changed(log, lat_us=1.0 if version.startswith(("fio-1", "fio-2")) else 1e-3)


def _without_report(group: _Group) -> Log:
    """Return the logs of a group as one: its jobs taken as beside each other."""
    logs = _by_flight(group)
    first = logs[0]
    if len(logs) == 1 and first is group[0]:
        return first
    parts = _parts(logs)
    begin_ms = _start_ms(parts)
    ended: tuple[Remark, ...] = ()
    behind = _consecutive(parts)
    if behind is not None:
        frames, steps = [], []
        for job, own in behind.items():
            step = observed_of(first.family, own)
            step = step.model_copy(update={"name": f"{step.name} {job}"})
            own_begin_ms = _start_ms(own)
            frame = fio.samples_of(own, own_begin_ms)
            frames.append(_of_step(frame, step.name, (own_begin_ms - begin_ms) / 1000, frame))
            steps.append(step)
        samples = pl.concat(frames, how="diagonal")
        samples = samples.select(list(schema_of(samples.columns)))
    else:
        steps = [observed_of(first.family, parts)]
        whole = fio.samples_of(parts, begin_ms)
        samples, ended = _while_all_ran(whole, parts, begin_ms, steps[0].name)
    remarks = [*_remarks(logs), *ended]
    jobs = len({part.job for part in parts})
    is_dated = parts[0].absolute
    if jobs > 1 and behind is None:
        steps = [steps[0].model_copy(update={"numjobs": jobs if jobs <= 1 << 20 else None})]
        text = f"{_stem(first)}: logs of {jobs} jobs are added up, as if they ran side by side"
        more = "" if is_dated else "; if they ran one after another, give fio's JSON too"
        remarks.append(Remark(text + more, doubt=not is_dated))
    return replace(
        first,
        samples=samples,
        start_unix_s=begin_ms / 1000 if is_dated else None,
        steps=tuple(steps),
        remarks=_once(remarks),
        details={},
    )


def _while_all_ran(
    samples: pl.DataFrame, parts: Sequence[fio.LogRun], begin_ms: float, name: str
) -> tuple[pl.DataFrame, tuple[Remark, ...]]:
    """Return the samples with a column `step`, null once the first of several jobs had ended.

    As they are where the jobs end together. `begin_ms` of the logs is `t_s` = 0.
    """
    ends_ms: dict[str, float] = {}
    for part in parts:
        ends_ms[part.job] = max(ends_ms.get(part.job, 0.0), part.last_ms)
    first_s, last_s = (
        (end_ms - begin_ms) / 1000 for end_ms in (min(ends_ms.values()), max(ends_ms.values()))
    )
    window_s = max(part.window_ms for part in parts) / 1000
    together_s = max(_TOGETHER_WINDOWS * window_s, _TOGETHER_SHARE * last_s)
    if last_s - first_s <= together_s or first_s < _MIN_SHARE * last_s:
        return samples, ()
    within = pl.col("t_s") <= first_s + window_s / 2
    said = (
        f"the {len(ends_ms)} jobs of '{name}' ended one by one, from "
        f"{span_text((first_s, last_s), 's')}: what followed the first end is not part of any step"
    )
    return samples.with_columns(step=pl.when(within).then(pl.lit(name))), (Remark(said),)


def _consecutive(parts: Sequence[fio.LogRun]) -> dict[str, list[fio.LogRun]] | None:
    """Return the parts of each job, in the order of time, if the clock says that none overlap."""
    if not all(part.absolute for part in parts):
        return None
    jobs: dict[str, list[fio.LogRun]] = {}
    for part in sorted(parts, key=lambda part: part.first_ms):
        jobs.setdefault(part.job, []).append(part)
    end_ms = 0.0
    for own in jobs.values():
        if _start_ms(own) < end_ms - max(part.window_ms for part in own):
            return None
        end_ms = max(part.last_ms for part in own)
    return jobs if len(jobs) > 1 else None


def _by_flight(group: _Group) -> _Group:
    """Return logs with the unit of latencies that makes a likely number of I/Os in flight."""
    parts = _parts(group)
    unsure = [part for part in fio.latency_parts(parts) if part.lat_us is None]
    rated = [part for part in parts if part.quantity == "iops" and part.kind == "window"]
    if not unsure or not rated:
        return group
    iops = sum(float(np.mean(table["mean"])) for p in rated for table in p.tables.values())
    values = [float(np.mean(table["mean"])) for p in unsure for table in p.tables.values()]
    in_flight = {unit: iops * float(np.mean(values)) * unit * 1e-6 for unit in (1e-3, 1.0)}
    likely = [u for u, n in in_flight.items() if MIN_IN_FLIGHT <= n <= MAX_IN_FLIGHT]
    if len(likely) != 1:
        return group
    return [_changed(log, guessed_lat_us=likely[0]) for log in group]


def _start_ms(parts: Sequence[fio.LogRun]) -> float:
    return min(part.first_ms for part in parts)


def _remarks(logs: Sequence[Log]) -> list[Remark]:
    """Return what is to be said of the files, in place of what was said of each alone."""
    parts = _parts(logs)
    counted = {id(part) for part in fio.latency_parts(parts)}
    found: list[Remark] = []
    for log, part in zip(logs, parts, strict=True):
        found += [remark for remark in log.remarks if remark not in log.details["fio_alone"]]
        if part.quantity in ("bw", "iops", "slat") or id(part) in counted:
            found += remarks_on(log.source, part)
    return found


def _once(remarks: Iterable[Remark]) -> tuple[Remark, ...]:
    """Return remarks without those that say the same of several files; doubts count them."""
    found: dict[str, tuple[Remark, int]] = {}
    for remark in dict.fromkeys(remarks):
        _, _, said = remark.text.partition(": ")
        key = said or remark.text
        first, count = found.get(key, (remark, 0))
        found[key] = (first, count + 1)
    return tuple(
        replace(remark, text=remark.text.replace(": ", f" and {count - 1} more: ", 1))
        if remark.doubt and count > 1
        else remark
        for remark, count in found.values()
    )
