"""What each drive of a run does, step by step: one drive, or the two of a copy."""

from collections.abc import Iterator
from dataclasses import dataclass

from heatsoak.protocol.model import Protocol
from heatsoak.protocol.rounds import Rounds, Step
from heatsoak.protocol.steps import (
    FILL,
    ROLES,
    Copy,
    Pause,
    Precondition,
    Purge,
    Role,
    SingleStep,
    WorkloadStep,
)
from heatsoak.units import Size


@dataclass(frozen=True)
class Turn:
    """One step of a run, and what each of its drives does meanwhile.

    Attributes:
        index: its number among the turns, from 0.
        step: as the protocol has it.
        parts: what each drive takes, None for one that rests; empty for rounds, whose steps have
            turns of their own.
    """

    index: int
    step: Step
    parts: tuple[SingleStep | None, ...] = ()


def turns_of(protocol: Protocol) -> list[Turn]:
    """Return the steps of a protocol that runs on one drive, in order."""
    return [
        Turn(index, step, () if isinstance(step, Copy | Rounds) else (step,))
        for index, step in enumerate(protocol.steps)
    ]


def turns_of_copy(protocol: Protocol, *, fills: bool) -> list[Turn]:
    """Return the steps of a protocol that copies, for the source and the destination, in order.

    With `fills` the source is first written as far as it is read later. Whatever else is neither a
    copy nor a pause belongs to the destination: the source of a copy is only read.
    """
    return [
        Turn(index, step, parts) for index, (step, parts) in enumerate(_of_both(protocol, fills))
    ]


def _of_both(
    protocol: Protocol, fills: bool
) -> Iterator[tuple[Step, tuple[SingleStep | None, SingleStep | None]]]:
    if fills:
        fill = {"kind": "precondition", "name": FILL, "rw": "write", "bs": 1 << 20, "iodepth": 8}
        size = largest_copy(protocol).amount_bytes
        first = Precondition.model_validate({**fill, "size": size})
        yield first, (first, None)
    for step in protocol.steps:
        match step:
            case Copy():
                yield step, halves_of(step)
            case Pause():
                yield step, (step, step)
            case Purge() | Precondition():
                yield step, (None, step)


def of_side(protocol: Protocol, role: Role, *, fills: bool) -> Protocol:
    """Return the protocol that one of a copy's drives runs, and that its recording has."""
    number = ROLES.index(role)
    parts = [turn.parts[number] for turn in turns_of_copy(protocol, fills=fills)]
    largest_bytes = largest_copy(protocol).amount_bytes
    return protocol.model_copy(
        update={
            "steps": [step for step in parts if step is not None],
            "conditions": {**protocol.conditions, "role": role},
            "file_size": Size(bytes=-(-largest_bytes // (1 << 20)) * (1 << 20)),
        }
    )


def largest_copy(protocol: Protocol) -> Copy:
    """Return the step that copies the most."""
    return max(protocol.copies, key=lambda step: step.amount_bytes)


def halves_of(copy: Copy) -> tuple[WorkloadStep, WorkloadStep]:
    """Return what a copy asks of its source, and what of its destination."""
    return _half(copy, "read"), _half(copy, "write")


def _half(copy: Copy, rw: str) -> WorkloadStep:
    return WorkloadStep.model_validate(
        {
            "name": copy.name,
            "rw": rw,
            "bs": copy.bs,
            "iodepth": copy.iodepth,
            "size": copy.amount_bytes,
        }
    )
