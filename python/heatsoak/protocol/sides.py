"""What each of a copy's two drives has to do."""

from dataclasses import dataclass

from heatsoak.protocol.model import Protocol
from heatsoak.protocol.steps import (
    FILL,
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
    """One step of a protocol that copies, as each drive takes it; None rests meanwhile.

    Attributes:
        copy: what couples both, where both take part in it.
    """

    source: SingleStep | None
    destination: SingleStep | None
    copy: Copy | None = None

    def of(self, role: Role) -> SingleStep | None:
        """Return what one of them does."""
        return self.source if role == "source" else self.destination


def turns(protocol: Protocol, *, fills: bool) -> list[Turn]:
    """Return the steps of both drives in order.

    With `fills` the source is first written as far as it is read later. Whatever else is neither a
    copy nor a pause belongs to the destination: the source of a copy is only read.
    """
    found = []
    largest = max((step.amount_bytes for step in protocol.copies), default=0)
    if fills:
        fill = {"kind": "precondition", "name": FILL, "rw": "write", "bs": 1 << 20, "iodepth": 8}
        found.append(Turn(Precondition.model_validate({**fill, "size": largest}), None))
    for step in protocol.steps:
        match step:
            case Copy():
                found.append(Turn(*halves_of(step), step))
            case Pause():
                found.append(Turn(step, step))
            case Purge() | Precondition():
                found.append(Turn(None, step))
    return found


def of_side(protocol: Protocol, role: Role, *, fills: bool) -> Protocol:
    """Return the protocol that one of a copy's drives runs, and that its recording has."""
    steps = [step for turn in turns(protocol, fills=fills) if (step := turn.of(role)) is not None]
    largest = max(step.amount_bytes for step in protocol.copies)
    return protocol.model_copy(
        update={
            "steps": steps,
            "conditions": {**protocol.conditions, "role": role},
            "file_size": Size(bytes=-(-largest // (1 << 20)) * (1 << 20)),
        }
    )


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
