"""What a run that was cut had done, and where it is resumed.

Steps that had ended are kept. The step that was cut is taken again from its start, and with it
what had made the drive ready for it directly before: pauses always, purges and preconditions where
the cut step may have changed data. A test file of our own is gone with the process that made it, so
there the preconditions since the last purge are repeated as well.
"""

from collections import deque
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import IO, Any

import polars as pl

from heatsoak import system, writing
from heatsoak.bench.interruptions import passed_since
from heatsoak.bench.probes import RATES
from heatsoak.errors import UsageError
from heatsoak.identity import DriveIdentity
from heatsoak.protocol import Conditions, Precondition, Protocol, Step
from heatsoak.recording import Event, Recording, attempt_name, writer
from heatsoak.recording.meta import ATTEMPT, EVENTS, JOURNAL, PARQUET, is_attempt
from heatsoak.target.base import Identity
from heatsoak.words import duration_text, said


@dataclass(frozen=True)
class TakenStep:
    """What became of one step of a cut run.

    Attributes:
        index: of its step among the protocol's; of rounds, theirs.
        round: its round, where it is one of rounds.
        at: the number of the event that began it.
        rate_mb_s: of rounds that seek a rate, the one that it was held to.
        end: the event that ended it; None where it was cut.
    """

    index: int
    round: int | None
    name: str
    at: int
    start_s: float
    rate_mb_s: float | None = None
    end: Event | None = None
    is_skipped: bool = False

    @property
    def is_over(self) -> bool:
        """Whether it came to its end, or was skipped."""
        return self.end is not None or self.is_skipped

    @property
    def was_done(self) -> bool:
        """Whether it did what it is for."""
        return self.end is not None and bool(self.end.data.get("was_done", True))

    @property
    def duration_s(self) -> float:
        """How long it took; 0 where it was cut or skipped."""
        return 0.0 if self.end is None else float(self.end.data.get("duration_s", 0.0))


class Past:
    """A recording that is to be resumed.

    Attributes:
        restores: preconditions that had ended and are taken once more before anything else, each
            with its place among the protocol's steps.
        capacity: the purge that left a part of the target unused, where the last one did.
        start_s: what the recording's clock shows now.
    """

    def __init__(self, recording: Recording) -> None:
        """Read what was done; raises UsageError where the recording is of no run."""
        protocol = recording.meta.protocol
        if not isinstance(protocol, Protocol) or recording.meta.part_of_copy is not None:
            what = (
                "one of the two recordings of a copy"
                if isinstance(protocol, Protocol)
                else "not a heatsoak run"
            )
            raise UsageError(
                f"{recording.path}: is {what}, and cannot be resumed: name a new directory with -o"
            )
        self.recording = recording
        self.protocol = protocol
        taken, self._started, self._ended = _taken(protocol, recording.events)
        self._cut = taken[-1] if taken and not taken[-1].is_over else None
        first = self._first_again(taken)
        self._kept = deque(taken[:first])
        self._again = taken[first:]
        self.since = self._again[0].at if self._again else None
        self.kept_count = len(self._kept)
        self.restores = self._lost() if self._file_is_gone else []
        done = [self._step_of(one) for one in self._kept if one.was_done]
        last = next((step for step in reversed(done) if step.kind == "purge"), None)
        self.capacity = None if last is None or last.takes_all else last
        last_s = recording.scan(["t_s"]).select(pl.col("t_s").max()).collect().item()
        times = [event.t_s for event in recording.events]
        self._last_s = max([last_s or 0.0, recording.meta.duration_s or 0.0, *times])
        self._passed_s = passed_since(recording.meta)
        # a wall clock that was set back must not let time go backwards
        self.start_s = max(self._last_s, self._passed_s or 0.0)
        self.attempt = 0

    def require_same(
        self, protocol: Protocol, conditions: dict[str, Any], identity: Identity
    ) -> None:
        """Raise UsageError unless it is the same protocol, conditions and drive."""
        require_same_run(self.recording, protocol, conditions, identity)
        size_bytes = self.recording.meta.drive.get("size_bytes")
        if identity.size_bytes != size_bytes:
            raise UsageError(
                f"{self.recording.path}: its target had {size_bytes or 0:,} bytes, and this one "
                f"has {identity.size_bytes:,}: make it as large as it was, or "
                "start again in a new directory with -o"
            )

    def reopen(self) -> Recording:
        """Reopen the recording for writing."""
        self.recording, self.attempt = reopen(self.recording, self.since)
        self.__dict__.pop("_samples", None)
        return self.recording

    def describe(self) -> str:
        """Return in a sentence how the run is resumed, for the recording and for observers."""
        gap = duration_text(self.start_s - self._last_s)
        later = "some time later" if self._passed_s is None else f"{gap} later"
        status, reason = self.recording.meta.status, self.recording.meta.reason
        how = {"running": "was cut short", "failed": "failed"}.get(status, f"was {status}")
        where = "between two steps"
        if self._cut is not None:
            where = f"in '{self._cut.name}' after {duration_text(self._last_s - self._cut.start_s)}"
        because = f" ({reason})" if reason and status == "failed" else ""
        names = list(dict.fromkeys(f"'{taken.name}'" for taken in self._again))
        names = [
            f"'{step.name}'" for _, step in self.restores if f"'{step.name}'" not in names
        ] + names
        again = f"; repeated: {', '.join(names)}" if names else ""
        lost = ", since the test file was gone" if self._file_is_gone and names else ""
        return f"the run {how} {where}{because}, and was resumed {later}{again}{lost}"

    @property
    def file_bytes(self) -> int | None:
        """How large a test file of our own has to be made again; None for what has its size."""
        return int(self.recording.meta.drive["size_bytes"]) if self._file_is_gone else None

    def take(self, index: int, number: int | None = None) -> TakenStep | None:
        """Return what became of a step, where that is kept; in the order of the steps.

        Raises UsageError where another step comes first.
        """
        if not self._kept:
            return None
        first = self._kept[0]
        if (first.index, first.round) != (index, number):
            raise UsageError(
                f"{self.recording.path}: its events do not fit its protocol at '{first.name}': "
                "it cannot be resumed; name a new directory with -o"
            )
        return self._kept.popleft()

    def has_begun(self, index: int) -> bool:
        """Whether rounds had begun, and nothing before them is taken again."""
        return self._is_kept(self._started.get(index))

    def has_ended(self, index: int) -> bool:
        """Whether rounds had ended."""
        return self._is_kept(self._ended.get(index))

    def kept_s(self, index: int) -> float:
        """Return how long the kept steps of rounds took that have not been asked for yet."""
        return sum(taken.duration_s for taken in self._kept if taken.index == index)

    def drop_rounds(self, index: int) -> None:
        """Leave out the steps of rounds that had ended."""
        while self._kept and self._kept[0].index == index and self._kept[0].round is not None:
            self._kept.popleft()

    def samples(self, step: str) -> pl.DataFrame | None:
        """Return the rates that were recorded of a step."""
        return self._samples.get((step,))

    @cached_property
    def _samples(self) -> dict[tuple[Any, ...], pl.DataFrame]:
        columns = [name for name in RATES if name in self.recording.meta.columns or name == "t_s"]
        rows = self.recording.scan(["step", *columns]).filter(
            pl.col("step").is_not_null(), pl.col("interval_s").is_not_null()
        )
        return rows.collect().partition_by("step", as_dict=True, include_key=False)

    def _is_kept(self, at: int | None) -> bool:
        return at is not None and (self.since is None or at < self.since)

    @property
    def _file_is_gone(self) -> bool:
        drive = self.recording.meta.drive
        return drive.get("kind") == "file" and not drive.get("details", {}).get("existing")

    def _first_again(self, taken: list[TakenStep]) -> int:
        """The first step, by its number among all taken, that is taken again."""
        first = len(taken) - (self._cut is not None)
        changed = self._cut is not None and self._step_of(self._cut).changes_data
        while first > 0:
            step = self._step_of(taken[first - 1])
            if not step.only_prepares:
                break
            if not (changed or self._file_is_gone or step.kind == "pause"):
                break
            first -= 1
        return first

    def _lost(self) -> list[tuple[int, Precondition]]:
        """The kept preconditions that made what was in the test file; of rounds the last."""
        found: dict[tuple[int, str], Precondition] = {}
        for taken in self._kept:
            step = self._step_of(taken)
            if step.purges:
                found.clear()
            elif isinstance(step, Precondition) and not taken.is_skipped:
                found[taken.index, taken.name.removesuffix(f"/{taken.round}")] = step
        return [(index, step) for (index, _), step in found.items()]

    def _step_of(self, taken: TakenStep) -> Step:
        step = self.protocol.steps[taken.index]
        if taken.round is None or step.kind != "rounds":
            return step
        return next(one for one in step.of_round(taken.round) if one.name == taken.name)


def _taken(
    protocol: Protocol, events: list[Event]
) -> tuple[list[TakenStep], dict[int, int], dict[int, int]]:
    """What became of single steps in order, and at which events rounds begin and end."""
    known = {step.name for step in protocol.steps}
    known |= {one.name for step in protocol.steps for one in step.taken()}
    taken: list[TakenStep] = []
    started: dict[int, int] = {}
    ended: dict[int, int] = {}
    for at, event in enumerate(events):
        if event.step not in known:
            continue  # earlier attempts among them
        index, number = event.data.get("index", -1), event.data.get("round")
        if event.kind == "step-skipped":
            taken.append(TakenStep(index, number, event.step, at, event.t_s, is_skipped=True))
        elif event.kind == "step-begin" and event.data.get("step_kind") == "rounds":
            started[index] = at
        elif event.kind == "step-begin":
            rate_mb_s = event.data.get("rate_mb_s")
            taken.append(TakenStep(index, number, event.step, at, event.t_s, rate_mb_s))
        elif event.kind == "step-end":
            if taken and not taken[-1].is_over and taken[-1].name == event.step:
                taken[-1] = replace(taken[-1], end=event)
            else:
                names = {index: protocol.steps[index].name for index in started}
                ended |= {index: at for index, name in names.items() if name == event.step}
    return taken, started, ended


def require_same_run(
    recording: Recording, protocol: Protocol, conditions: Conditions, identity: Identity
) -> None:
    """Raise UsageError unless `recording` is of the same drive, protocol and conditions."""
    meta = recording.meta
    anew = "; repeat the command as it was, or name a new directory with -o"
    then, now = meta.drive, asdict(identity)
    if not _is_same(then, now):
        raise UsageError(
            f"{recording.path}: was started on {_named(then)}, and this is {_named(now)}{anew}"
        )
    if meta.protocol != protocol:
        key = _difference(meta.protocol.model_dump(), protocol.model_dump())
        raise UsageError(f"{recording.path}: was started with another {key}{anew}")
    if meta.conditions != conditions:
        raise UsageError(f"{recording.path}: was started in other conditions{anew}")


def _is_same(then: dict[str, Any], now: dict[str, Any]) -> bool:
    """Whether both are one drive, or the same place on it where it is not loaded as a whole."""
    drives = DriveIdentity.of(then), DriveIdentity.of(now)
    if then.get("kind") != "block" or now.get("kind") != "block":
        return _named(then) == _named(now)
    return drives[0].compared(drives[1]) == "same"


def _named(drive: dict[str, Any]) -> str:
    if drive.get("kind") == "file":
        return f"the file system at {drive.get('details', {}).get('directory', drive.get('path'))}"
    serial = drive.get("serial")
    return f"the drive {serial}" if serial else f"{drive.get('path')}"


def _difference(then: Any, now: Any, path: str = "protocol") -> str:
    """Where two protocols differ: ``"protocol: steps.2.runtime_s was 60.0 and is 30.0"``."""
    if isinstance(then, dict) and isinstance(now, dict):
        pairs = [(str(key), then.get(key), now.get(key)) for key in {**then, **now}]
    elif isinstance(then, list | tuple) and isinstance(now, list | tuple) and len(then) == len(now):
        pairs = [(str(number), *pair) for number, pair in enumerate(zip(then, now, strict=True), 1)]
    else:
        where = path.removeprefix("protocol.")
        return f"protocol: {where} was {said(then)} and is {said(now)}"
    return next(_difference(a, b, f"{path}.{key}") for key, a, b in pairs if a != b)


def reopen(recording: Recording, since: int | None) -> tuple[Recording, int]:
    """Turn a finished recording back into a journal, so that it can be continued.

    Returns it as it is on disk then, and the number given to the earlier attempts at steps.

    Samples and events of steps from event number `since` on are renamed to attempts. Can be killed
    at any time and repeated with the same result. Raises ToolError if the directory cannot be
    written, ChangedError for a recording that was changed.
    """
    events = recording.events
    names = {event.step for event in events if event.step is not None}
    attempts = [int(match[2]) for name in names if (match := ATTEMPT.fullmatch(name))]
    attempt = 1 + max(attempts, default=0)
    tail = [] if since is None else events[since:]
    with writing.reporting_write_errors(recording.path):
        with writing.Directory(recording.path) as place, ExitStack() as replaced:
            if tail:
                events_file = replaced.enter_context(place.writing(EVENTS))
                for at, event in enumerate(events):
                    step = event.step
                    if step is not None and at >= len(events) - len(tail) and not is_attempt(step):
                        step = attempt_name(step, attempt)
                    renamed = event.model_copy(update={"step": step})
                    line = renamed.model_dump_json(exclude_defaults=True)
                    events_file.write(line.encode() + b"\n")
            journal = replaced.enter_context(place.writing(JOURNAL))
            _write_samples(recording, tail, attempt, journal)
            # all that takes room is written: from here on its files differ, until it has ended
            writer.write_meta(recording.path, recording.meta.model_copy(update=writer.NO_CHECKSUMS))
        # having the samples twice does no harm, and the journal is complete now
        system.remove(recording.path / PARQUET)
    return Recording.open(recording.path), attempt


def _write_samples(
    recording: Recording, tail: list[Event], attempt: int, journal: IO[bytes]
) -> None:
    frame = recording.scan()
    if tail:
        names = sorted({event.step for event in tail if event.step and not is_attempt(event.step)})
        # not by time: a sensor may have been read just before the step started, but stored later
        is_of_tail = pl.col("step").is_in(names)
        renamed = pl.format(f"{{}}~{attempt}", pl.col("step"))
        frame = frame.with_columns(step=pl.when(is_of_tail).then(renamed).otherwise("step"))
    frame.sink_ndjson(journal)
