"""Runs a protocol that copies, on two drives at once, and records either of them."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from heatsoak.bench.latest import Latest
from heatsoak.bench.observer import Observer
from heatsoak.bench.pauses import is_cool, not_cool
from heatsoak.bench.recorder import IDLE_POLL_INTERVAL_S, Recorder
from heatsoak.errors import HeatsoakError, RunInterrupted
from heatsoak.protocol import (
    ROLES,
    Conditions,
    Pause,
    Precondition,
    Protocol,
    Purge,
    Role,
    Turn,
    of_side,
    turns,
)
from heatsoak.recording import CopyPart, Recording
from heatsoak.recording.meta import Status
from heatsoak.sensor import Sensor
from heatsoak.target import Note, Outcome
from heatsoak.target.pair import Pair, Told


@dataclass(frozen=True)
class Side:
    """What is recorded of one of the two drives, and where.

    Attributes:
        notes: what is known of it before the first step.
    """

    conditions: Conditions
    directory: Path
    sensors: list[Sensor]
    notes: Sequence[Note]


def conduct_copy(
    protocol: Protocol,
    pair: Pair,
    sides: Mapping[Role, Side],
    *,
    fills: bool,
    observer: Observer,
    shared_disk: str | None = None,
) -> list[Recording]:
    """Run `protocol` once on both drives, which are open; return the source's recording, then the
    destination's.

    With `fills` the source is first written as far as it is read. Whatever ends the run, both
    recordings keep all that was seen. Raises what :func:`heatsoak.bench.conduct` raises.
    """
    id_ = uuid4().hex
    recorders: dict[Role, Recorder] = {}
    try:
        for role, other in zip(ROLES, reversed(ROLES), strict=True):
            side = sides[role]
            part = CopyPart(
                id=id_,
                role=role,
                partner=f"../{sides[other].directory.name}",
                shared_disk=shared_disk,
            )
            recorders[role] = Recorder(
                of_side(protocol, role, fills=fills),
                pair.target(role),
                side.conditions,
                side.directory,
                side.sensors,
                _named(role, observer),
                part,
            )
        for role in ROLES:
            recorders[role].start(protocol.notes, sides[role].notes)
        conductor = _Conductor(pair, recorders, observer)
        for index, turn in enumerate(turns(protocol, fills=fills)):
            conductor.take(index, turn)
    except KeyboardInterrupt:
        _finish(recorders, "interrupted", "stopped by the user")
        raise RunInterrupted(f"stopped; {_kept(sides)}") from None
    except HeatsoakError as error:
        _finish(recorders, "failed", str(error))
        raise type(error)(f"{error}; {_kept(sides)}") from error
    except BaseException:
        _finish(recorders, "failed", "a fault in heatsoak itself")
        raise
    _finish(recorders, "finished", None)
    return [recorders[role].recording for role in ROLES]


def _kept(sides: Mapping[Role, Side]) -> str:
    return f"the recordings of both drives so far are in {sides['source'].directory.parent}"


def _named(role: Role, observer: Observer) -> Callable[[str, str], None]:
    return lambda level, text: observer.on_note(level, f"{role}: {text}")


def _finish(recorders: Mapping[Role, Recorder], status: Status, reason: str | None) -> None:
    """End both recordings; what fails with one must not keep the other from being ended."""
    failed: BaseException | None = None
    for recorder in recorders.values():
        try:
            recorder.finish(status, reason)
        except (HeatsoakError, OSError) as error:
            failed = failed or error
    if failed is not None and status == "finished":
        raise failed


class _Conductor:
    """Takes the turns of both drives in order."""

    def __init__(self, pair: Pair, recorders: Mapping[Role, Recorder], observer: Observer) -> None:
        self.pair = pair
        self.recorders = recorders
        self.observer = observer
        #: What whoever watches sees: the destination's throughput, and the heat of both.
        self.latest = Latest()
        #: How many steps each drive has begun.
        self.begun = dict.fromkeys(ROLES, 0)

    def take(self, index: int, turn: Turn) -> None:
        """Take one turn, on one drive or both."""
        steps = {role: step for role in ROLES if (step := turn.of(role)) is not None}
        shown = turn.copy or next(iter(steps.values()))
        self.observer.on_step(index, shown, self.recorders["destination"].now_s())
        begin_s = {role: self.recorders[role].now_s() for role in steps}
        begin_cpu_s = time.process_time()
        for role, step in steps.items():
            recorder = self.recorders[role]
            recorder.step_name = step.name if step.loads else None
            recorder.outcome = {}
            recorder.latest.forget_load()
            temps_c = recorder.latest.temps_c()
            data = {"index": self.begun[role], "step_kind": step.kind, "temps_c": temps_c}
            recorder.event("step-begin", step.name, data=data)
            self.begun[role] += 1
        was_done = self._run(turn, steps)
        # what measuring costs: our own, for all of it
        own_cpu_s = round(time.process_time() - begin_cpu_s, 3)
        for role, step in steps.items():
            recorder = self.recorders[role]
            ended: dict[str, Any] = {
                "duration_s": recorder.now_s() - begin_s[role],
                "own_cpu_s": own_cpu_s,
                **recorder.outcome,
            }
            if not was_done:
                ended["was_done"] = False
            recorder.event("step-end", step.name, data=ended)
            recorder.step_name = None

    def _run(self, turn: Turn, steps: Mapping[Role, Any]) -> bool:
        """Do what a turn says; return whether it could be done."""
        if turn.copy is not None:
            self._consume(self.pair.copy(turn.copy))
            return True
        role, step = next(iter(steps.items()))
        if isinstance(step, Pause):
            self._pause(step)
            return True
        assert isinstance(step, Purge | Precondition)
        has_warned = self._consume(self.pair.alone(role, step))
        return not (has_warned and step.purges)

    def _pause(self, step: Pause) -> None:
        recorders = self.recorders.values()
        for recorder in recorders:
            recorder.poller.slow(IDLE_POLL_INTERVAL_S)
        try:
            self._consume(
                self.pair.idle(step.duration_s),
                until=lambda: all(is_cool(step, recorder.latest) for recorder in recorders),
            )
        finally:
            for recorder in recorders:
                recorder.poller.normal()
        for recorder in recorders:
            if (text := not_cool(step, recorder.latest)) is not None:
                recorder.note("warning", text)

    def _consume(self, told: Iterator[Told], until: Callable[[], bool] | None = None) -> bool:
        """Record what comes; return whether there was a warning."""
        has_warned = False
        try:
            for role, batch in told:
                recorder = self.recorders[role]
                if isinstance(batch, Note):
                    has_warned |= batch.level == "warning"
                    recorder.note(batch.level, batch.text, batch.data)
                elif isinstance(batch, Outcome):
                    recorder.outcome = batch.data
                elif not batch.is_empty():
                    recorder.record(batch)
                for each in self.recorders.values():
                    each.check()
                self._show()
                # both drives have waited as long as each other then
                if until is not None and role == ROLES[-1] and until():
                    break
        finally:
            close = getattr(told, "close", None)
            if close is not None:
                close()  # ends the load at once, not when the iterator is collected
        return has_warned

    def _show(self) -> None:
        for role, recorder in self.recorders.items():
            temp_c = recorder.latest.drive_temp_c()
            if temp_c is not None:
                self.latest.update({f"temp_c.{role}": temp_c})
        written = self.recorders["destination"].latest.value("write_bw_mb_s")
        self.latest.update({"write_bw_mb_s": written or 0.0})
        self.observer.on_progress(self.recorders["destination"].now_s(), self.latest)
