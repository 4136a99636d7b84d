"""A protocol made smaller, for small targets and short tests."""

import math
from typing import Any

from heatsoak.errors import UsageError
from heatsoak.protocol.heat import Heat
from heatsoak.protocol.model import Protocol
from heatsoak.protocol.rounds import Rounds, Step
from heatsoak.protocol.steps import Copy, Pause, Replay, WorkloadStep
from heatsoak.protocol.workload import Workload
from heatsoak.units import Size

#: No load gets shorter than this: the judge needs 4 s of samples (`analysis.falls`).
MIN_RUNTIME_S = 4.5
#: Rounds have many steps, and only their means are wanted.
MIN_ROUND_RUNTIME_S = 1.0
#: No pause gets shorter than this, unless it was.
MIN_PAUSE_S = 1.0
#: No span gets smaller than this many of the protocol's largest I/Os, so that what was filled is
#: still what is read, and no file smaller than this many bytes.
MIN_BLOCKS = 256
MIN_FILE_BYTES = 64 << 20


def scaled(protocol: Protocol, scale: float) -> Protocol:
    """Return `protocol` with every size in bytes, runtime and pause times `scale`, 0 to 1.

    So does a test file. Spans given as shares of the target stay such shares. What
    would become too small to be measured stops getting smaller. Windows of scores shrink with their
    steps.
    Raises UsageError for a scale that is not a share.
    """
    if not 0 < scale <= 1:
        raise UsageError(f"--scale {scale:g}: give a share above 0 and up to 1, such as 0.01")
    if scale == 1:
        return protocol
    fields = protocol.model_dump()
    blocks = (bs for step in protocol.steps for part in step.parts for bs in part.block_sizes)
    min_bytes = MIN_BLOCKS * max(blocks, default=0)
    fields["steps"] = [_step(step, scale, MIN_RUNTIME_S, min_bytes) for step in protocol.steps]
    fields["file_size"] = _file_size(protocol.file_size, scale, min_bytes)
    fields["scale"] = protocol.scale * scale
    fields["heat"] = [_heat(heat, scale) for heat in protocol.heat]
    for score in fields["scores"]:
        if score["last_s"] is not None:
            score["last_s"] = max(score["last_s"] * scale, MIN_RUNTIME_S / 2)
    said = _note(protocol)
    fields["notes"] = [note for note in protocol.notes if note != said]
    made = Protocol.model_validate(fields)
    return made.model_copy(update={"notes": [*made.notes, _note(made)]})


def _note(protocol: Protocol) -> str:
    return (
        f"scaled down to {protocol.scale:g} of its sizes and times: the numbers are not results "
        f"of {protocol.name}"
    )


def _heat(heat: Heat, scale: float) -> dict[str, Any]:
    longest_s = heat.longest_warm_up_s * scale
    key = "at_most_s" if heat.until_steady else "warm_up"
    return {**heat.model_dump(), key: longest_s}


def _step(step: Step, scale: float, min_s: float, min_bytes: int) -> dict[str, Any]:
    fields = step.model_dump()
    match step:
        case Rounds():
            # those that end by themselves take as many as they need: shorter ones are no steadier
            if step.until is None:
                # what rounding adds to a whole number is not another round
                fields["at_most"] = max(math.ceil(step.at_most * scale - 1e-9), 1)
            fields["steps"] = [
                _step(one, scale, MIN_ROUND_RUNTIME_S, min_bytes) for one in step.steps
            ]
        case WorkloadStep():
            fields |= _workload(step, scale, min_s, min_bytes)
            fields["beside"] = [
                {**beside.model_dump(), **_workload(beside, scale, min_s, min_bytes)}
                for beside in step.beside
            ]
        case Replay():
            fields["scale"] = step.scale * scale
        case Copy():
            fields["size_bytes"] = _size(Size(bytes=step.size_bytes), scale, min_bytes).bytes
        case Pause():
            min_pause_s = min(step.duration_s, MIN_PAUSE_S)
            fields["duration_s"] = max(step.duration_s * scale, min_pause_s)
    if step.may_end_early:
        fields["end_after_drop_s"] = max(fields["end_after_drop_s"] * scale, MIN_RUNTIME_S)
    return fields


def _workload(workload: Workload, scale: float, min_s: float, min_bytes: int) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "span": _size(workload.span, scale, min_bytes),
        "offset": _size(workload.offset, scale, 0),
    }
    if workload.io_size is not None:
        fields["io_size"] = _size(workload.io_size, scale, min_bytes)
    if workload.runtime_s is not None:
        fields["runtime_s"] = max(workload.runtime_s * scale, min(workload.runtime_s, min_s))
    return fields


def _file_size(size: Size, scale: float, min_bytes: int) -> Size:
    if size.percent is not None:
        return Size(percent=size.percent * scale)
    return _size(size, scale, max(MIN_FILE_BYTES, min_bytes))


def _size(size: Size, scale: float, min_bytes: int) -> Size:
    if size.bytes is None or size.bytes <= min_bytes:
        return size
    whole = max(round(size.bytes * scale), min_bytes)
    return Size(bytes=whole - whole % 4096)
