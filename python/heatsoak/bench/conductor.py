"""Takes a run's steps on its drives, one or a copy's two, and records everything meanwhile."""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from heatsoak import errors, system
from heatsoak.analysis.limit import limit_text
from heatsoak.analysis.rounds import judge_tracked, tracked_text
from heatsoak.bench import falls, probes
from heatsoak.bench.heating import Heating, HeatSource
from heatsoak.bench.plan import Turn, turns_of
from heatsoak.bench.progress import Observer
from heatsoak.bench.recorder import Latest, Recorder, Side
from heatsoak.bench.resume import Past, TakenStep
from heatsoak.protocol import (
    Conditions,
    Copy,
    Pause,
    Protocol,
    Purge,
    Replay,
    Rounds,
    SingleStep,
    Step,
    WorkloadStep,
)
from heatsoak.recording import InMemoryRecording, Recording, attempt_name
from heatsoak.recording.meta import Status
from heatsoak.sensor import Sensor
from heatsoak.target import base
from heatsoak.words import duration_text, temp_text


def conduct(
    protocol: Protocol,
    target: base.Target,
    conditions: Conditions,
    directory: Path,
    *,
    sensors: list[Sensor],
    observer: Observer,
    notes: Sequence[base.Note] = (),
    heat: Sequence[HeatSource] = (),
) -> Recording:
    """Run `protocol` once on `target`, which is open, and record it into `directory`.

    Raises what :meth:`Conductor.run` raises.
    """
    side = Side(protocol, conditions, directory, sensors, notes)
    turns = turns_of(protocol)
    conductor = Conductor(turns, base.Drives(target), [side], observer, warnings=protocol.notes)
    (recording,) = conductor.run(heat)
    return recording


#: When the user stops several runs, all have been told after this time.
_STOPS_WITHIN_S = 2.0


@dataclass(eq=False)
class Conductor:
    """Takes `turns` once on `drives`, which are open, and makes a recording for each of `sides`.

    With a `past` its recording is resumed, and the target's clock continues from its time. A
    recording that is not begins with the `warnings`.

    What ends a load early, and what decides on probes and rounds, only ever looks at one drive: a
    protocol that copies has neither.
    """

    turns: Sequence[Turn]
    drives: base.Drives
    sides: Sequence[Side]
    observer: Observer
    past: Past | None = None
    warnings: Sequence[str] = ()
    fall_options: falls.FallOptions = field(default_factory=falls.FallOptions)
    recorders: list[Recorder] = field(default_factory=list)
    #: What an observer is shown: one drive's readings, or for two the writing and the heat.
    latest: Latest = field(default_factory=Latest)

    def __post_init__(self) -> None:
        self.prober = probes.Prober(
            [turn.step for turn in self.turns],
            can_purge=all(target.identity.kind != "file" for target in self.drives.targets),
            warn=lambda text: self.recorders[0].note("warning", text),
        )
        self.falls = falls.FallWatch(
            self.fall_options,
            self._recorded if self.fall_options.needs_judge else lambda: None,
            partial(self.observer.on_note, "warning"),
            is_simulated=self.drives.targets[0].identity.simulated,
        )

    def run(self, heat: Sequence[HeatSource]) -> list[Recording]:
        """Take all turns, with `heat` from before the first step to the end.

        Whatever ends the run, the recordings keep all that was seen; their status says how it
        ended. Raises ToolError when a drive or tool fails, RunInterrupted when the user stops it.
        """
        try:
            self._start()
            self.heating = Heating(heat, self.recorders[0])
            with self.falls, self.heating.on(self.observer, self._wait):
                for turn in self.turns:
                    self.observer.raise_if_stopped()
                    if self.past is not None and self._was_taken(turn, self.past):
                        continue
                    decision = self.prober.decide(turn.step)
                    if decision is not None and not decision.is_taken:
                        self._skip(turn, decision.reason)
                    elif turn.step.kind == "rounds":
                        self._take_rounds(turn, turn.step, decision)
                    else:
                        self._take(turn, decision)
        except errors.LimitReachedError as reached:
            also = self._finish("interrupted", str(reached))
            raise errors.LimitReachedError(f"{reached}{also}; {self._kept()}") from None
        except (KeyboardInterrupt, errors.RunInterrupted):
            also = self._finish("interrupted", "stopped by the user")
            raise errors.RunInterrupted(f"stopped{also}; {self._kept()}") from None
        except errors.HeatsoakError as error:
            if not self.recorders:
                raise
            also = self._finish("failed", str(error))
            raise type(error)(f"{error}{also}; {self._kept()}") from error
        except BaseException as error:
            if errors.is_stop(error) or self._was_stopped():
                # a signal that reaches a library in a thread comes out as any error
                self._finish("interrupted", "stopped by the user")
                raise errors.RunInterrupted(f"stopped; {self._kept()}") from error
            self._finish("failed", "an internal error in heatsoak")
            raise
        try:
            self._finish("finished", None)
        except KeyboardInterrupt:
            raise errors.RunInterrupted(f"stopped; {self._kept()}") from None
        return [Recording.open(recorder.writer.directory) for recorder in self.recorders]

    def _was_stopped(self) -> bool:
        """Whether the user stops all runs just now, of which this may be the first to hear."""
        return self.observer.stop is not None and self.observer.stop.wait(_STOPS_WITHIN_S)

    def _start(self) -> None:
        read = [column for sensor in self.sides[0].sensors for column in sensor.info.columns]
        self.fall_options.require_readings([*self.drives.targets[0].columns(), *read])
        resumes = None if self.past is None else self.past.reopen()
        tell = self.observer.on_note
        for side, target in zip(self.sides, self.drives.targets, strict=True):
            role = "" if side.part_of_copy is None else f"{side.part_of_copy.role}: "
            told = partial(lambda role, level, text: tell(level, role + text), role)
            self.recorders.append(Recorder(side, target, told, resumes))
        if len(self.recorders) == 1:
            self.latest = self.recorders[0].latest
        for recorder in self.recorders:
            recorder.start(self.warnings if self.past is None else [])
        if self.past is not None:
            data = {"attempt": self.past.attempt}
            self.recorders[0].note("warning", self.past.describe(), data)

    def _skip(self, turn: Turn, why: str) -> None:
        """Record and show that a step is not taken."""
        data = {"index": turn.index, "step_kind": turn.step.kind}
        self.recorders[0].event("step-skipped", turn.step.name, why, data)
        self.observer.on_skip(turn.index, turn.step, why)

    def _take_rounds(self, turn: Turn, rounds: Rounds, decision: probes.Decision | None) -> None:
        """Take rounds until they are steady, or as many as there may be."""
        index, begun_s = turn.index, self._now_s()
        if self.past is not None and self.past.has_begun(index):
            begun_s -= self.past.kept_s(index)
            self.observer.on_step(index, rounds, begun_s)
        else:
            self._begin(turn, decision)
        means = self.prober.mean_iops = []
        seeker = self.prober.seeker = (
            probes.Seeker(rounds.tracks) if rounds.until == "limit" and rounds.tracks else None
        )
        is_over, longest_s, end_s = False, 0.0, begun_s + (rounds.within_s or float("inf"))
        for number in range(1, rounds.at_most + 1):
            begin_s = self._now_s()
            for planned in rounds.of_round(number):
                taken = None if self.past is None else self.past.take(index, number)
                step = planned
                if seeker is not None and isinstance(planned, WorkloadStep):
                    step = seeker.aimed(planned, None if taken is None else taken.rate_mb_s)
                if taken is None:
                    self._take(Turn(index, step, (step,)), None, number)
                else:
                    self._relive(step, taken)
            found = judge_tracked(means)
            is_over = found is not None and found.reached if seeker is None else seeker.is_over
            longest_s = max(longest_s, self._now_s() - begin_s)
            if is_over or self._now_s() + longest_s > end_s:
                break
        self.prober.seeker = None
        recorder = self.recorders[0]
        data: dict[str, Any] = {"rounds": number}
        if rounds.until is None:
            recorder.event("step-end", rounds.name, f"{number} rounds", data)
        else:
            data["is_steady"] = is_over
            text = tracked_text(rounds, number, found)
            if seeker is not None:
                text = limit_text(seeker.trials, writes=rounds.changes_data)
            recorder.event("step-end", rounds.name, text if is_over else "", data)
            if not is_over:
                recorder.note("warning", text)
        self._end(rounds)

    def _was_taken(self, turn: Turn, past: Past) -> bool:
        """Take over what became of a step in the past; False where it has to be taken now."""
        step = turn.step
        if step.kind == "rounds":
            if not past.has_ended(turn.index):
                return False
            past.drop_rounds(turn.index)
            self.prober.end(step)
        else:
            taken = past.take(turn.index)
            if taken is None:
                return False
            for part in turn.parts:
                if part is not None:
                    self._relive(part, taken)
        self.observer.on_skip(turn.index, step, None)
        return True

    def _relive(self, step: SingleStep, taken: TakenStep) -> None:
        """Show what was recorded of a step to what decides on later ones."""
        assert self.past is not None
        self.prober.decide(step)
        if taken.is_skipped:
            return
        self.prober.begin(step)
        samples = self.past.samples(step.name) if step.loads else None
        if samples is not None:
            self.prober.append(samples)
        self._end(step, was_done=taken.was_done)

    def _end(self, step: Step, *, was_done: bool = True) -> None:
        """Let what decides on later steps know that one is over, and show what follows of it."""
        self.prober.end(step, was_done=was_done)
        probes = (turn.step for turn in self.turns if turn.step.is_probe)
        if due := {step.name for step in probes if self.prober.is_due(step)}:
            self.observer.on_due(due)

    def _restore(self, past: Past) -> None:
        """Make the target what it was: its capacity, and what the test file held.

        Preconditions that are repeated have names of their own.
        """
        capacity, past.capacity = past.capacity, None
        if capacity is not None:
            self._use(capacity)
        restores, past.restores = past.restores, []
        for index, step in restores:
            again = step.model_copy(update={"name": attempt_name(step.name, past.attempt)})
            self._take(Turn(index, again, (again,)), None)

    def _take(
        self, turn: Turn, decision: probes.Decision | None, number: int | None = None
    ) -> None:
        """Take a step once; `number` is its round, where it is one of rounds."""
        if self.past is not None:
            self._restore(self.past)
        taking = [
            (recorder, part, recorder.now_s())
            for recorder, part in zip(self.recorders, turn.parts, strict=True)
            if part is not None
        ]
        begin_cpu_s = time.process_time()
        for recorder, part, _ in taking:
            recorder.step_name = part.name if part.loads else None
            recorder.outcome = {}
        self._begin(turn, decision, number)
        self.prober.begin(turn.step)
        text, was_done = self._do(turn)
        cpu_s = time.process_time() - begin_cpu_s
        for recorder, part, start_s in taking:
            recorder.end_step(part, text, start_s=start_s, own_cpu_s=cpu_s, was_done=was_done)
        self._end(turn.step, was_done=was_done)
        for recorder, _, _ in taking:
            recorder.step_name = None

    def _do(self, turn: Turn) -> tuple[str, bool]:
        """Do what a step is; return why it was over early, and whether it did what it is for."""
        drive = next((n for n, part in enumerate(turn.parts) if part is not None), 0)
        target = self.drives.targets[drive]
        match turn.step:
            case Copy() as step:
                self._consume(self.drives.copy(step))
            case Pause() as step:
                self._pause(step)
            case Purge() as step:
                purging = self.drives.alone(drive, target.purge(step.method))
                _, has_warned = self._consume(purging)
                if not step.takes_all:
                    self._use(step)
                return "", not has_warned
            case WorkloadStep() | Replay() as step:
                down_s = step.end_after_drop_s
                until: Callable[[], bool] | None = None
                if self.prober.seeker is not None:
                    until = self._is_told
                elif down_s is not None:
                    until = partial(self.prober.was_down_for, down_s)
                is_early, _ = self._consume(self.drives.alone(drive, target.run(step)), until)
                if down_s is not None and is_early:
                    return f"ended early: it was slowed for {duration_text(down_s)}", True
        return "", True

    def _is_told(self) -> bool:
        return self.prober.is_told(self._now_s(), self.recorders[0].latest.drive_temp_c())

    def _begin(
        self, turn: Turn, decision: probes.Decision | None, number: int | None = None
    ) -> None:
        """Record and show that a step begins, or rounds do."""
        because = "" if decision is None else decision.reason
        if number is None:
            self.observer.on_step(turn.index, turn.step, self._now_s(), because)
        elif (step := turn.parts[0]) is not None:
            self.observer.on_round(step, number)
        for side, part in enumerate(turn.parts or (turn.step,)):
            if part is not None:
                # its number among the steps of this drive: a copy's other one may have more
                index = turn.index
                if len(self.sides) > 1:
                    before = self.turns[: turn.index]
                    index = sum(earlier.parts[side] is not None for earlier in before)
                self.recorders[side].begin_step(part, index, round_number=number, because=because)

    def _use(self, step: Purge) -> None:
        """Leave what is beyond a purge's capacity unused from here on."""
        self._consume(self.drives.alone(0, self.drives.targets[0].use(step.capacity)))

    def _pause(self, step: Pause) -> None:
        readings = [recorder.latest for recorder in self.recorders]
        self._wait(step.duration_s, lambda: all(_is_cool(step, latest) for latest in readings))
        for recorder in self.recorders:
            if step.until_temp_c is None or _is_cool(step, recorder.latest):
                continue
            temp_c = recorder.latest.drive_temp_c()
            seen = (
                "no temperature can be read" if temp_c is None else f"it is at {temp_text(temp_c)}"
            )
            recorder.note(
                "warning",
                f"the pause was meant to reach {temp_text(step.until_temp_c)}, but did not within "
                f"{duration_text(step.duration_s)}: {seen}",
            )

    def _wait(self, duration_s: float, until: Callable[[], bool]) -> None:
        for recorder in self.recorders:
            recorder.poller.slow()
        try:
            self._consume(self.drives.idle(duration_s), until=until)
        finally:
            for recorder in self.recorders:
                recorder.poller.normal()

    def _consume(
        self, batches: Generator[base.NumberedBatch], until: Callable[[], bool] | None = None
    ) -> tuple[bool, bool]:
        """Record what comes, until it ends or `until` is true; watch limits meanwhile.

        Return whether it ended early, and whether there was a warning.
        """
        has_warned, is_early = False, False
        with closing(batches):  # ends the load at once, not when the iterator is collected
            for number, batch in batches:
                recorder = self.recorders[number]
                if isinstance(batch, base.Note):
                    has_warned |= batch.level == "warning"
                    recorder.note(batch.level, batch.text, batch.data)
                elif isinstance(batch, base.LoadResult):
                    recorder.outcome = batch.data
                elif not batch.is_empty():
                    self.prober.append(batch)
                    recorder.record(batch)
                for each in self.recorders:
                    each.check()
                self.heating.check()
                self.falls.look(self._now_s(), self.recorders[0].latest)
                self.observer.raise_if_stopped()
                self._show()
                # all drives have come as far as each other with the last one
                if until is not None and number == len(self.recorders) - 1 and until():
                    is_early = True
                    break
        return is_early, has_warned

    def _show(self) -> None:
        if len(self.recorders) > 1:
            for recorder in self.recorders:
                part = recorder.side.part_of_copy
                temp_c = recorder.latest.drive_temp_c()
                if temp_c is not None and part is not None:
                    self.latest.update({f"temp_c.{part.role}": temp_c})
            written = [each.latest.value("write_bw_mb_s") or 0.0 for each in self.recorders]
            self.latest.update({"write_bw_mb_s": sum(written)})
        self.observer.on_progress(self._now_s(), self.latest)

    def _recorded(self) -> Recording | None:
        """What was recorded in the last half hour."""
        recorded = Recording.open(self.sides[0].directory)
        samples = recorded.samples().filter(pl.col("t_s") > self._now_s() - falls.JUDGED_S)
        if samples.is_empty():
            return None
        return InMemoryRecording(recorded.path, recorded.meta, samples, recorded.events)

    def _now_s(self) -> float:
        """The time of the last drive, which is the destination of a copy."""
        return self.recorders[-1].now_s()

    def _kept(self) -> str:
        directory = self.sides[0].directory
        if len(self.sides) > 1:
            return f"the recordings of both drives so far are in {directory.parent}"
        where = f"the recording so far is in {directory}"
        # what a simulated drive did, it would do again
        is_new_try = not self.drives.targets[0].identity.simulated
        return f"{where}, and --resume continues it" if is_new_try else where

    def _finish(self, status: Status, reason: str | None) -> str:
        """End the recordings; return what else is to be said where that fails too.

        What fails with one must not keep the other from being ended.
        """
        # it holds on to this, and this to the target: a simulated drive is gigabytes
        del self.prober
        failed: errors.HeatsoakError | OSError | None = None
        with system.uninterrupted():
            for recorder in self.recorders:
                try:
                    recorder.finish(status, reason)
                except (errors.HeatsoakError, OSError) as error:
                    failed = failed or error
        if failed is None:
            return ""
        if status == "finished":
            raise failed
        return "" if str(failed) in (reason or "") else f"; {failed}"


def _is_cool(step: Pause, latest: Latest) -> bool:
    """Whether the drive is as cool as the pause waits for; False where it waits for none."""
    temp_c = latest.drive_temp_c()
    return step.until_temp_c is not None and temp_c is not None and temp_c <= step.until_temp_c
