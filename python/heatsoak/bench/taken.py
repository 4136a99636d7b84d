"""Which turns the steps of a recorded run had, read from its events."""

from collections.abc import Iterator
from dataclasses import dataclass

from heatsoak.protocol import Protocol
from heatsoak.recording import Event


@dataclass(frozen=True)
class Turn:
    """One step's turn in the past, or that it was left out.

    Attributes:
        index: of its step among the protocol's; of rounds, theirs.
        round: its round, where it is one of rounds.
        at: the number of the event that began it.
        end: the event that ended it; None where it was cut.
    """

    index: int
    round: int | None
    name: str
    at: int
    begin_s: float
    end: Event | None = None
    is_skipped: bool = False

    @property
    def is_over(self) -> bool:
        """Whether it came to its end, or was left out."""
        return self.end is not None or self.is_skipped

    @property
    def was_done(self) -> bool:
        """Whether it did what it is for."""
        return self.end is not None and bool(self.end.data.get("was_done", True))

    @property
    def duration_s(self) -> float:
        """How long it took; 0 where it was cut or left out."""
        return 0.0 if self.end is None else float(self.end.data.get("duration_s", 0.0))


def turns_of(
    protocol: Protocol, events: list[Event]
) -> tuple[list[Turn], dict[int, int], dict[int, int]]:
    """Return the turns of single steps in order, and at which events rounds begin and end."""
    known = set(_names(protocol))
    turns: list[Turn] = []
    begun: dict[int, int] = {}
    ended: dict[int, int] = {}
    for at, event in enumerate(events):
        if event.step not in known:
            continue  # earlier attempts among them
        index, number = event.data.get("index", -1), event.data.get("round")
        if event.kind == "step-skipped":
            turns.append(Turn(index, number, event.step, at, event.t_s, is_skipped=True))
        elif event.kind == "step-begin" and event.data.get("step_kind") == "rounds":
            begun[index] = at
        elif event.kind == "step-begin":
            turns.append(Turn(index, number, event.step, at, event.t_s))
        elif event.kind == "step-end":
            if turns and not turns[-1].is_over and turns[-1].name == event.step:
                turns[-1] = Turn(
                    turns[-1].index, turns[-1].round, event.step, turns[-1].at, turns[-1].begin_s,
                    event,
                )  # fmt: skip
            else:
                ended |= {index: at for index in begun if protocol.steps[index].name == event.step}
    return turns, begun, ended


def _names(protocol: Protocol) -> Iterator[str]:
    for step in protocol.steps:
        yield step.name
        yield from (one.name for one in step.taken())
