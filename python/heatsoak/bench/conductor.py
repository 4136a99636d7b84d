"""Runs a protocol's steps on a target and records everything that is seen meanwhile."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from heatsoak.bench.heating import Heating
from heatsoak.bench.observer import Observer
from heatsoak.bench.past import Past
from heatsoak.bench.pauses import is_cool, not_cool
from heatsoak.bench.probes import Decision, Prober
from heatsoak.bench.recorder import IDLE_POLL_INTERVAL_S, Recorder
from heatsoak.bench.rounds import RoundsWatch
from heatsoak.bench.taken import Turn
from heatsoak.errors import HeatsoakError, RunInterrupted, ToolError
from heatsoak.protocol import (
    Conditions,
    Copy,
    LoadStep,
    Pause,
    Protocol,
    Purge,
    Replay,
    Rounds,
    SingleStep,
    Step,
    WorkloadStep,
)
from heatsoak.recording import Recording, attempt_name
from heatsoak.recording.meta import Status
from heatsoak.sensor import Sensor
from heatsoak.target import Batch, Note, Outcome, Target


def conduct(
    protocol: Protocol,
    target: Target,
    conditions: Conditions,
    directory: Path,
    *,
    sensors: list[Sensor],
    observer: Observer,
    notes: list[Note] | None = None,
    past: Past | None = None,
    heating: Heating | None = None,
) -> Recording:
    """Run `protocol` once on `target`, which is open, and record it into `directory`.

    With a `past` it goes on with what lies there, and the target's clock with its time.
    `heating` is on from before the first step that is taken to the end.
    Whatever ends the run, the recording keeps all that was seen; its status says how it ended.
    Raises ToolError when a drive or tool fails, RunInterrupted when the user stops it.
    """
    conductor = _Conductor(protocol, target, conditions, directory, sensors, observer, past)
    if heating is not None:
        conductor.heating = heating
    return conductor.run(notes or [])


@dataclass(frozen=True)
class _End:
    """How a step's iterator ended: early, and after warnings or without any."""

    is_early: bool
    has_warned: bool


class _Conductor:
    def __init__(
        self,
        protocol: Protocol,
        target: Target,
        conditions: Conditions,
        directory: Path,
        sensors: list[Sensor],
        observer: Observer,
        past: Past | None,
    ) -> None:
        self.protocol = protocol
        self.target = target
        self.observer = observer
        self.past = past
        self.recorder = Recorder(
            protocol,
            target,
            conditions,
            directory,
            sensors,
            observer.on_note,
            goes_on_with=None if past is None else past.reopen().recording,
        )
        self.rounds: RoundsWatch | None = None
        self.heating = Heating()
        self.prober = Prober(
            protocol.steps,
            can_purge=target.identity.kind != "file",
            warn=lambda text: self.recorder.note("warning", text),
        )

    def run(self, notes: list[Note]) -> Recording:
        try:
            self.recorder.start(self.protocol.notes if self.past is None else [], notes)
            if self.past is not None:
                self.recorder.note("warning", self.past.describe(), {"attempt": self.past.attempt})
            with self.heating.on(self.recorder, self.observer, self._wait):
                for index, step in enumerate(self.protocol.steps):
                    self._step(index, step)
        except (KeyboardInterrupt, RunInterrupted):
            also = self._finish("interrupted", "stopped by the user")
            raise RunInterrupted(f"stopped{also}; {self._kept()}") from None
        except HeatsoakError as error:
            also = self._finish("failed", str(error))
            raise type(error)(f"{error}{also}; {self._kept()}") from error
        except BaseException:
            self._finish("failed", "a fault in heatsoak itself")
            raise
        self._finish("finished", None)
        return self.recorder.recording

    def _step(self, index: int, step: Step) -> None:
        if self.past is not None and self._was_taken(index, step, self.past):
            return
        decision = self.prober.decide(step)
        if decision is not None and not decision.is_taken:
            self._skip(index, step, decision.reason)
            return
        assert not isinstance(step, Copy)  # it takes two drives
        if isinstance(step, Rounds):
            if self.past is not None and self.past.has_begun(index):
                begin_s = self.target.clock.now_s() - self.past.kept_s(index)
                self.observer.on_step(index, step, begin_s)
            else:
                self._begin(index, step, decision)
            self._rounds(index, step)
            self.prober.end(step)
        else:
            self._single(index, step, decision)

    def _rounds(self, index: int, rounds: Rounds) -> None:
        """Take rounds until they are steady, or as many as there may be."""
        self.rounds = watch = RoundsWatch(rounds)
        try:
            for number in range(1, rounds.at_most + 1):
                for step in rounds.of_round(number):
                    turn = None if self.past is None else self.past.take(index, number)
                    if turn is None:
                        self._single(index, step, None, number)
                    else:
                        self._relive(step, turn)
                watch.end_round()
                if watch.is_steady:
                    break
        finally:
            self.rounds = None
        text, data = watch.describe(), watch.data()
        if rounds.until is None or watch.is_steady:
            self.recorder.event("step-end", rounds.name, text, data)
        else:
            self.recorder.event("step-end", rounds.name, "", data)
            self.recorder.note("warning", text)

    def _was_taken(self, index: int, step: Step, past: Past) -> bool:
        """Take over what became of a step in the past; False where it has to be taken now."""
        if isinstance(step, Rounds):
            if not past.has_ended(index):
                return False
            past.drop_rounds(index)
            self.prober.decide(step)
            self.prober.end(step)
        else:
            turn = past.take(index)
            if turn is None:
                return False
            assert not isinstance(step, Copy)
            self._relive(step, turn)
        self.observer.on_kept(index, step)
        return True

    def _relive(self, step: SingleStep, turn: Turn) -> None:
        """Let whoever decides on later steps see what was recorded of this one."""
        assert self.past is not None
        self.prober.decide(step)
        if turn.is_skipped:
            return
        self.prober.begin(step)
        samples = self.past.samples(step.name) if step.loads else None
        if samples is not None:
            self.prober.append(samples)
            if self.rounds is not None:
                self.rounds.append(step.name, samples)
        self.prober.end(step, was_done=turn.was_done)

    def _restore(self, past: Past) -> None:
        """Make of the target what it was: as large, and with what the test file held.

        Preconditions that are repeated have names of their own.
        """
        capacity, past.capacity = past.capacity, None
        if capacity is not None:
            self._consume(self.target.use(capacity.capacity, capacity.spare))
        restores, past.restores = past.restores, []
        for index, step in restores:
            name = attempt_name(step.name, past.attempt)
            self._single(index, step.model_copy(update={"name": name}), None)

    def _single(
        self, index: int, step: SingleStep, decision: Decision | None, number: int | None = None
    ) -> None:
        """Take a step once; `number` is its round, where it is one of rounds."""
        if self.past is not None:
            self._restore(self.past)
        self.recorder.step_name = step.name if step.loads else None
        begin_s, begin_cpu_s = self.target.clock.now_s(), time.process_time()
        self.recorder.outcome = {}
        self._begin(index, step, decision, number)
        self.prober.begin(step)
        was_done, text = True, ""
        match step:
            case WorkloadStep() | Replay():
                text = self._load(step)
            case Pause():
                self._pause(step)
            case Purge():
                was_done = not self._consume(self.target.purge(step.method)).has_warned
                if not step.takes_all:
                    self._consume(self.target.use(step.capacity, step.spare))
        end_s = self.target.clock.now_s()
        data: dict[str, Any] = {
            "duration_s": end_s - begin_s,
            # what measuring costs: our own, not that of the tool that loads
            "own_cpu_s": round(time.process_time() - begin_cpu_s, 3),
            **self.recorder.outcome,
        }
        self.recorder.event(
            "step-end", step.name, text, data if was_done else {**data, "was_done": False}
        )
        self.prober.end(step, was_done=was_done)
        self.recorder.step_name = None

    def _skip(self, index: int, step: Step, reason: str) -> None:
        data = {"index": index, "step_kind": step.kind}
        self.recorder.event("step-skipped", step.name, reason, data)
        self.observer.on_skip(index, step, reason)

    def _begin(
        self, index: int, step: Step, decision: Decision | None, number: int | None = None
    ) -> None:
        self.recorder.latest.forget_load()
        data = {"index": index, "step_kind": step.kind, "temps_c": self.recorder.latest.temps_c()}
        if number is None or isinstance(step, Rounds | Copy):
            self.observer.on_step(index, step, self.target.clock.now_s())
        else:
            self.observer.on_round(step, number)
            data["round"] = number
        if decision is None:
            self.recorder.event("step-begin", step.name, data=data)
            return
        self.recorder.event("step-begin", step.name, f"probe: {decision.reason}", data)
        self.observer.on_probe(step, decision.reason)

    def _load(self, step: LoadStep) -> str:
        """Run a workload; return why it ended early, if it did."""
        down_s = step.end_after_drop_s
        if down_s is None:
            self._consume(self.target.run(step))
            return ""
        end = self._consume(self.target.run(step), until=lambda: self.prober.was_down_for(down_s))
        return f"ended early: it was slowed for {down_s:g} s" if end.is_early else ""

    def _pause(self, step: Pause) -> None:
        latest = self.recorder.latest
        self._wait(step.duration_s, lambda: is_cool(step, latest))
        if (text := not_cool(step, latest)) is not None:
            self.recorder.note("warning", text)

    def _wait(self, duration_s: float, until: Callable[[], bool]) -> None:
        self.recorder.poller.slow(IDLE_POLL_INTERVAL_S)
        try:
            self._consume(self.target.idle(duration_s), until=until)
        finally:
            self.recorder.poller.normal()

    def _consume(self, batches: Iterator[Batch], until: Callable[[], bool] | None = None) -> "_End":
        has_warned, is_early = False, False
        try:
            for batch in batches:
                if isinstance(batch, Note):
                    has_warned |= batch.level == "warning"
                    self.recorder.note(batch.level, batch.text, batch.data)
                elif isinstance(batch, Outcome):
                    self.recorder.outcome = batch.data
                elif not batch.is_empty():
                    self._record(batch)
                self.recorder.check()
                self.heating.check()
                self.observer.on_progress(self.target.clock.now_s(), self.recorder.latest)
                if until is not None and until():
                    is_early = True
                    break
        finally:
            close = getattr(batches, "close", None)
            if close is not None:
                close()  # ends the load at once, not when the iterator is collected
        return _End(is_early, has_warned)

    def _record(self, samples: pl.DataFrame) -> None:
        self.prober.append(samples)
        if self.rounds is not None:
            self.rounds.append(self.recorder.step_name, samples)
        self.recorder.record(samples)

    def _kept(self) -> str:
        where = f"the recording so far is in {self.recorder.directory}"
        # what a simulated drive did, it would do again
        is_new_try = not self.target.identity.simulated
        return f"{where}, and --resume goes on with it" if is_new_try else where

    def _finish(self, status: Status, reason: str | None) -> str:
        """End the recording; return what else is to be said where that fails too."""
        # it holds on to this, and this to the target: a simulated drive is gigabytes
        del self.prober
        try:
            self.recorder.finish(status, reason)
        except ToolError as error:
            if status == "finished":
                raise
            return "" if str(error) in (reason or "") else f"; {error}"
        return ""
