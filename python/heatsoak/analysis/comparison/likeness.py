"""Whether two runs of a step were alike except in what is compared; a sentence per difference."""

from collections.abc import Iterator
from typing import Any

import polars as pl

from heatsoak.analysis.comparison.runs import DRIVE, FILE, MODEL, PROTOCOL, GroupedRun
from heatsoak.protocol import (
    Observation,
    Protocol,
    kind_of_condition,
)
from heatsoak.units import Size, format_block, format_bytes, format_number

#: Start temperatures this close are alike.
TOLERANCE_K = 5.0
#: A drive is at rest if it cooled by at most this much in this time.
_REST_K, _REST_S = 1.0, 60.0


def warm_start(run: GroupedRun, other: GroupedRun, step: str, by: str) -> str | None:
    """Return how the start temperatures differ; None if they do not, or if that is to be
    expected."""
    starts = [r.views[step].temp.at(0.0) for r in (run, other)]
    if starts[0] is None or starts[1] is None or abs(starts[0] - starts[1]) <= TOLERANCE_K:
        return None
    warm, said = (run, "first") if starts[0] > starts[1] else (other, "second")
    rest = _rests(warm, step)
    if rest is None:
        is_same_place = run.group == other.group
        is_cooling = by in (DRIVE, MODEL, FILE) or kind_of_condition(by) == "cooling"
        if is_cooling and not is_same_place:
            return None
    elif rest:
        return None
    how = "" if rest is None else f", with the {said} still cooling"
    return f"it started at {starts[0]:.0f} C and at {starts[1]:.0f} C{how}"


def _rests(run: GroupedRun, step: str) -> bool | None:
    """Whether a drive had cooled to rest when the step started; None if that is unknown.

    A step right after another starts as warm as that one left the drive, which may be an effect of
    what is compared, so it counts as rest.
    """
    protocol = run.recording.meta.protocol
    if not protocol.is_observed:
        index = next(i for i, each in enumerate(protocol.steps) if each.name == step)
        if index > 0 and protocol.steps[index - 1].loads:
            return True
    view = run.views[step]
    columns = [n for n in view.columns("temp_c.") if view.track(n).at(0.0) == view.temp.at(0.0)]
    if not columns:
        return None
    samples = run.recording.samples(["t_s", "step", columns[0]])
    first_s = samples.filter(pl.col("step") == view.step.name)["t_s"].min()
    assert isinstance(first_s, float)
    before = samples.filter(
        (pl.col("t_s") >= first_s - _REST_S)
        & (pl.col("t_s") < first_s)
        & pl.col(columns[0]).is_finite()
    )[columns[0]]
    if before.len() < 2:
        return None
    return float(before[0]) - float(before[-1]) <= _REST_K


#: Lengths of steps, and sizes of their spans, may differ by this share.
LENGTH_TOLERANCE = 0.03

#: The keys that define a workload; lengths are compared separately.
_WORKLOAD = ("rw", "rwmixread", "bs", "iodepth", "numjobs")
_MORE = ("rate", "rate_iops", "compress_pct", "fio", "beside")
#: The keys that define a replay; its depth is compared with those above.
_REPLAY = ("trace", "scale", "seed", "idle_limit_s", "damaged", "beyond")


def cut_short(run: GroupedRun, step: str) -> str | None:
    """Return why the step of a run is incomplete; None if it is complete."""
    meta = run.recording.meta
    if meta.status == "finished":
        return None
    last = list(run.views)[-1]
    ended = any(e.kind == "step-end" and e.step == step for e in run.recording.events)
    if step != last or ended:
        return None
    if run.recording.was_cut:
        return f"'{step}' was cut short, or is still running"
    return f"the run was {meta.status} in '{step}'{f': {meta.reason}' if meta.reason else ''}"


def differences(run: GroupedRun, other: GroupedRun, step: str, by: str) -> list[str]:
    """Return how `other`'s run of a step differs from that of `run`, apart from what is
    compared."""
    found = [*_origin(run, other), *_workload(run, other, step, by), *_length(run, other, step)]
    if by != PROTOCOL:
        found += _history(run, other, step)
    warm = warm_start(run, other, step, by)
    return [*found, *([warm] if warm else [])]


def _origin(run: GroupedRun, other: GroupedRun) -> Iterator[str]:
    origins = [
        "imported" if r.recording.meta.protocol.is_observed else "recorded here"
        for r in (run, other)
    ]
    if origins[0] != origins[1]:
        yield f"one was {origins[0]} and one {origins[1]}"
    scales = [r.recording.meta.protocol.scale for r in (run, other)]
    if scales[0] != scales[1]:
        yield f"one is at {scales[0]:g} and one at {scales[1]:g} of the protocol's sizes and times"


def _workload(run: GroupedRun, other: GroupedRun, name: str, by: str) -> Iterator[str]:
    ours, theirs = run.views[name].step, other.views[name].step
    if ours.is_replay != theirs.is_replay:
        yield f"it is {ours.mention()} and {theirs.mention()}"
        return
    for key in _REPLAY if ours.is_replay else ():
        yield from _unequal(key, getattr(ours, key), getattr(theirs, key), True)
    # an unset key means the default, but a log may simply not have it
    says_all = not (ours.is_observed or theirs.is_observed)
    for key in _WORKLOAD:
        yield from _unequal(key, getattr(ours, key), getattr(theirs, key), says_all)
    if says_all and not ours.is_replay:
        for key in _MORE:
            yield from _unequal(key, getattr(ours, key), getattr(theirs, key), True)
        for key in ("span", "offset", "io_size"):
            yield from _sizes(run, other, key, getattr(ours, key), getattr(theirs, key), by)


def _unequal(key: str, one: Any, two: Any, says_all: bool) -> Iterator[str]:
    if one == two or (not says_all and (one is None or two is None)):
        return
    said = [format_block(v) if key == "bs" and v is not None else _plain(v) for v in (one, two)]
    if said[0] == said[1]:
        yield f"{key} differs"
    else:
        yield f"{key} is {said[0]} and {said[1]}"


def _plain(value: Any) -> str:
    if value is None or value in ((), {}):
        return "not set"
    if isinstance(value, dict):
        return ", ".join(f"{key}={text}" for key, text in value.items())
    return f"{len(value)} more workloads" if isinstance(value, tuple) else str(value)


def _sizes(
    run: GroupedRun, other: GroupedRun, key: str, one: Size | None, two: Size | None, by: str
) -> Iterator[str]:
    if one is None or two is None:
        yield from _unequal(key, one, two, True)
        return
    if str(one) == str(two) and by in (DRIVE, MODEL):
        return
    whole, other_whole = _size_bytes(run), _size_bytes(other)
    if whole is None or other_whole is None:
        yield from _unequal(key, str(one), str(two), True)
        return
    in_bytes = one.of(whole), two.of(other_whole)
    if abs(in_bytes[0] - in_bytes[1]) > LENGTH_TOLERANCE * max(in_bytes):
        yield f"{key} is {_sized(one, whole)} and {_sized(two, other_whole)}"


def _size_bytes(run: GroupedRun) -> int | None:
    size = run.recording.meta.drive.get("size_bytes")
    return size if isinstance(size, int) and size > 0 else None


def _sized(size: Size, whole_bytes: int) -> str:
    if size.percent is None:
        return format_bytes(size.of(whole_bytes))
    return f"{size} of {format_bytes(whole_bytes)}"


def _length(run: GroupedRun, other: GroupedRun, name: str) -> Iterator[str]:
    ours, theirs = run.views[name], other.views[name]
    if ours.step.is_replay:
        # it ends with its trace: its duration is a result
        return
    lengths = ours.duration_s, theirs.duration_s
    if not (ours.step.is_observed or theirs.step.is_observed or theirs.step.is_replay):
        planned = ours.step.runtime_s, theirs.step.runtime_s
        if planned == (None, None):
            # it ends with its bytes: its duration is a result
            return
        if planned[0] is None or planned[1] is None:
            yield "one has a runtime and the other has none"
            return
        if planned[0] != planned[1]:
            lengths = planned[0], planned[1]
    if abs(lengths[0] - lengths[1]) > LENGTH_TOLERANCE * max(lengths):
        yield f"it took {format_number(lengths[0], 4)} s and {format_number(lengths[1], 4)} s"


def _history(run: GroupedRun, other: GroupedRun, name: str) -> Iterator[str]:
    """What was done before the step, according to the protocols."""
    ours, theirs = run.recording.meta.protocol, other.recording.meta.protocol
    if ours.is_observed or theirs.is_observed:
        return
    before = [_before(protocol, name) for protocol in (ours, theirs)]
    if before[0] == before[1]:
        return
    for kind, verb in (("purge", "purged"), ("precondition", "preconditioned")):
        has = [any(step.kind == kind for step in steps) for steps in before]
        if has[0] != has[1]:
            yield f"only the {_ORDER[0 if has[0] else 1]} was {verb} beforehand"
            return
    for one, two in zip(*before, strict=False):
        if one != two:
            yield f"{one.mention()} and {two.mention()} came before it"
            return
    yield f"{len(before[0])} and {len(before[1])} steps came before it"


_ORDER = ("first", "second")


def _before(protocol: Protocol | Observation, name: str) -> list[Any]:
    steps = list(protocol.steps)
    index = next(i for i, step in enumerate(steps) if step.name == name)
    return steps[:index]
