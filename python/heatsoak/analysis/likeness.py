"""Whether two runs of a step may be held against each other: the same load, after the same.

The judge, comparisons, racks and histories ask here. What was done before a step is told by the
protocols, if both have one: the same steps. Otherwise the drive itself tells: as much was written,
since a cache stays full however cool the drive is.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from heatsoak import words
from heatsoak.analysis import course
from heatsoak.analysis.view import OtherCooling, StepView, other_cooling
from heatsoak.protocol import Observation, Protocol
from heatsoak.units import GB, Size

#: Lengths of steps, and sizes of their spans, may differ by this share.
LENGTH_TOLERANCE = 0.03
#: Written bytes may differ by this share, and by so much.
_WRITTEN_SHARE, _WRITTEN_GB = 0.1, 1.0
#: After a rest of so long, a longer one makes no difference.
_LONG_REST_S = 300.0

#: Loads that run at about the same speed in blocks of any usual size, and on any spare area.
SEQUENTIAL = ("read", "write")


def alike(one: object, other: object) -> bool:
    """Return whether two steps have the same load, as far as known; their lengths may differ."""
    return course.load_of(one) == course.load_of(other)


def cooled_otherwise(
    view: StepView, siblings: Iterable[StepView]
) -> Iterator[tuple[StepView, OtherCooling]]:
    """Yield the steps of other recordings of a drive that had other cooling, and which.

    They have the same load, after as much had been written and as long ago. A recording with a step
    of the same name answers with that one, however long the drive was left to cool before.
    """
    # of hundreds of recordings of a drive, few were cooled otherwise
    loaded = [one for one in siblings if one.load == view.load]
    cooled = [(one, cooling) for one in loaded if (cooling := other_cooling(view, one))]
    same = [each for each in cooled if _as_written(each[0], view)]
    named = {id(one.course) for one, _ in same if one.step.name == view.step.name}
    for one, cooling in same:
        is_named = one.step.name == view.step.name
        if is_named or (id(one.course) not in named and _is_as_long_ago(one, view)):
            yield one, cooling


def after_the_same(one: StepView, other: StepView) -> bool:
    """Return whether two steps found cache and spare area alike, by what was written before.

    That is since the last long rest; for random writes since the last purge, too.
    """
    if not one.step.writes:
        return True
    here_gb, there_gb = (v.course.unrested_gb(v.start_s, _LONG_REST_S) for v in (one, other))
    is_even = one.step.rw in SEQUENTIAL or _as_written(one, other)
    return is_even and _is_as_much(here_gb, there_gb)


def load_key(protocol: Protocol | Observation, step: str, labels: str) -> str:
    """Return what is the same for the same step after the same steps, with the same load.

    `labels` are those of a load. In a log, each step stands for itself.
    """
    before = () if protocol.is_observed else _steps_before(protocol, step)
    steps = [*before, *(one for one in protocol.steps if one.name == step)]
    dumped = [one.model_dump(mode="json") for one in steps]
    told = [protocol.name, protocol.scale, step, dumped, labels]
    return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:16]


def differences(
    one: StepView, other: StepView, *, is_other_drive: bool = False, is_other_protocol: bool = False
) -> Iterator[str]:
    """Yield how the load of one step, and what was done before, differs from that of another.

    Between drives, shares of a drive's size may be other sizes; between protocols, other steps may
    have come before.
    """
    yield from _origin(one, other)
    yield from _workload(one, other, is_other_drive)
    yield from _length(one, other)
    if not is_other_protocol:
        yield from _before(one, other)


def _origin(one: StepView, other: StepView) -> Iterator[str]:
    origins = ["imported" if v.step.is_observed else "recorded here" for v in (one, other)]
    if origins[0] != origins[1]:
        yield f"one was {origins[0]} and one {origins[1]}"
    scales = [v.course.protocol.scale for v in (one, other) if v.course.protocol]
    if len(set(scales)) > 1:
        one_scale, other_scale = map(words.share_text, scales)
        yield f"one is at {one_scale} and one at {other_scale} of the protocol's sizes and times"


def _workload(one: StepView, other: StepView, is_other_drive: bool) -> Iterator[str]:
    ours, theirs = one.step, other.step
    if ours.is_replay != theirs.is_replay:
        yield f"it is {ours.mention()} and {theirs.mention()}"
        return
    # an unset key means the default, but a log may simply not have it
    says_all = not (ours.is_observed or theirs.is_observed)
    keys = course.WORKLOAD
    if says_all:
        keys += course.REPLAY if ours.is_replay else course.MORE
    for key in keys:
        yield from _unequal(key, getattr(ours, key, None), getattr(theirs, key, None), says_all)
    if says_all and not ours.is_replay:
        for key in ("span", "offset", "io_size"):
            yield from _sizes(one, other, key, is_other_drive)


def _unequal(key: str, one: Any, two: Any, says_all: bool) -> Iterator[str]:
    if one == two or (not says_all and (one is None or two is None)):
        return
    said = [words.block_text(v) if key == "bs" and v is not None else _plain(v) for v in (one, two)]
    if said[0] == said[1]:
        yield f"{key} differs"
    else:
        yield f"{key} is {said[0]} and {said[1]}"


def _plain(value: Any) -> str:
    if value is None or value in ((), {}):
        return "not set"
    if isinstance(value, dict):
        return words.listed([f"{key}={text}" for key, text in value.items()])
    return f"{len(value)} more workloads" if isinstance(value, tuple) else str(value)


def _sizes(one: StepView, other: StepView, key: str, is_other_drive: bool) -> Iterator[str]:
    ours: Size | None = getattr(one.step, key)
    theirs: Size | None = getattr(other.step, key)
    if ours is None or theirs is None:
        yield from _unequal(key, ours, theirs, True)
        return
    if str(ours) == str(theirs) and is_other_drive:
        return
    wholes = [view.course.drive.get("size_bytes") for view in (one, other)]
    known = [whole for whole in wholes if isinstance(whole, int) and whole > 0]
    if len(known) < 2:
        yield from _unequal(key, str(ours), str(theirs), True)
        return
    in_bytes = ours.of(known[0]), theirs.of(known[1])
    if abs(in_bytes[0] - in_bytes[1]) > LENGTH_TOLERANCE * max(in_bytes):
        yield f"{key} is {_sized(ours, known[0])} and {_sized(theirs, known[1])}"


def _sized(size: Size, whole_bytes: int) -> str:
    if size.percent is None:
        return words.size_text(size.of(whole_bytes))
    return f"{size} of {words.size_text(whole_bytes)}"


def _length(one: StepView, other: StepView) -> Iterator[str]:
    if one.step.is_replay:
        # it ends with its trace: its duration is a result
        return
    lengths = one.duration_s, other.duration_s
    if not (one.step.is_observed or other.step.is_observed or other.step.is_replay):
        planned = one.step.runtime_s, other.step.runtime_s
        if planned == (None, None):
            # it ends with its bytes: its duration is a result
            return
        if planned[0] is None or planned[1] is None:
            yield "one has a runtime and the other has none"
            return
        if planned[0] != planned[1]:
            lengths = planned[0], planned[1]
    if not _is_as_long(*lengths):
        yield (
            f"it took {words.amount_text(lengths[0], 's', 4)} and "
            f"{words.amount_text(lengths[1], 's', 4)}"
        )


def _is_as_long(one_s: float, other_s: float) -> bool:
    return abs(one_s - other_s) <= LENGTH_TOLERANCE * max(one_s, other_s)


def _before(one: StepView, other: StepView) -> Iterator[str]:
    """How what was done before two steps differs."""
    if one.step.is_observed or other.step.is_observed:
        if not (_has_like_loads_before(one, other) or _as_written(one, other)):
            amounts = [words.size_text(GB * v.written_before_gb) for v in (one, other)]
            yield f"{amounts[0]} and {amounts[1]} had been written before it"
        return
    steps = [
        _steps_before(view.course.protocol, view.step.name) if view.course.protocol else ()
        for view in (one, other)
    ]
    if steps[0] == steps[1]:
        return
    for kind, verb in (("purge", "purged"), ("precondition", "preconditioned")):
        has = [any(step.kind == kind for step in before) for before in steps]
        if has[0] != has[1]:
            yield f"only the {('first', 'second')[has.index(True)]} was {verb} beforehand"
            return
    for ours, theirs in zip(*steps, strict=False):
        if ours != theirs:
            yield f"{ours.mention()} and {theirs.mention()} came before it"
            return
    yield f"{len(steps[0])} and {len(steps[1])} steps came before it"


def _steps_before(protocol: Protocol | Observation, name: str) -> Sequence[Any]:
    """The steps before the one of that name; all where it is one of the rounds, the last of all."""
    steps = protocol.steps
    return steps[: next((i for i, one in enumerate(steps) if one.name == name), len(steps))]


def _has_like_loads_before(one: StepView, other: StepView) -> bool:
    """Whether logs show the same loads before two steps, whatever these wrote in their time."""
    ours, theirs = (view.course.loads_before(view.start_s) for view in (one, other))
    return len(ours) == len(theirs) and all(
        alike(a.step, b.step) and _is_as_long(a.end_s - a.start_s, b.end_s - b.start_s)
        for a, b in zip(ours, theirs, strict=True)
    )


def _as_written(one: StepView, other: StepView) -> bool:
    """Whether as much had been written before both, if they write."""
    return not one.step.writes or _is_as_much(one.written_before_gb, other.written_before_gb)


def _is_as_much(one_gb: float, other_gb: float) -> bool:
    return abs(one_gb - other_gb) <= _WRITTEN_SHARE * max(one_gb, other_gb) + _WRITTEN_GB


def _is_as_long_ago(one: StepView, other: StepView) -> bool:
    """Whether it is as long ago that something was written."""
    shorter_s, longer_s = sorted(view.course.since_written_s(view.start_s) for view in (one, other))
    return shorter_s >= _LONG_REST_S or longer_s <= 2 * shorter_s + 1
