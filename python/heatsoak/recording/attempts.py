"""What was recorded of a step that had to be taken again: kept, under a name of its own.

`write` that was cut stands in the samples and events as ``write~1``, and what was recorded when it
was taken again as `write`, so that each step's name means one whole attempt.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heatsoak.recording.files import as_system_error, put_in_place, saying_that_it_cannot_be_written
from heatsoak.recording.meta import EVENTS, JOURNAL, PARQUET, Event
from heatsoak.recording.reader import Recording

_ATTEMPT = re.compile(r"(?s)(.+)~([0-9]+)")


def attempt_name(step: str, number: int) -> str:
    """Return what the attempt `number` at a step is called, where it was not the last."""
    return f"{step}~{number}"


def step_of_attempt(name: str, steps: Collection[str]) -> str | None:
    """Return the step among `steps` that `name` is an attempt at, the last or an earlier one."""
    if name in steps:
        return name
    match = _ATTEMPT.fullmatch(name)
    return match[1] if match and match[1] in steps else None


@dataclass(frozen=True)
class Reopened:
    """A recording that is written on.

    Attributes:
        recording: as it lies on disk now.
        attempt: the number that earlier attempts at steps have from now on.
    """

    recording: Recording
    attempt: int


def reopen(recording: Recording, since: int | None) -> Reopened:
    """Make a journal again of a recording that has ended, so that it can be written on.

    What belongs to steps from the event number `since` on is kept under the names of an attempt.
    Killed at any time, it can be done again and comes to the same. Raises ToolError where the
    directory cannot be written.
    """
    events = recording.events
    names = {event.step for event in events if event.step is not None}
    attempts = [int(match[2]) for name in names if (match := _ATTEMPT.fullmatch(name))]
    attempt = 1 + max(attempts, default=0)
    tail = [] if since is None else events[since:]
    with saying_that_it_cannot_be_written(recording.path):
        _rewrite_samples(recording, tail, attempt)
        if tail:
            kept = events[: len(events) - len(tail)]
            _rewrite_events(recording.path, [*kept, *_renamed(tail, attempt)])
        # the same samples twice do no harm, and the journal is whole by now
        (recording.path / PARQUET).unlink(missing_ok=True)
    return Reopened(Recording.open(recording.path), attempt)


def _rewrite_samples(recording: Recording, tail: list[Event], attempt: int) -> None:
    frame = recording.scan()
    if tail:
        names = sorted({event.step for event in tail if event.step and not _is_attempt(event.step)})
        # not by time: a sensor may have been read just before the step began, and kept after that
        is_of_tail = pl.col("step").is_in(names)
        renamed = pl.format(f"{{}}~{attempt}", pl.col("step"))
        frame = frame.with_columns(step=pl.when(is_of_tail).then(renamed).otherwise("step"))
    with (
        put_in_place(recording.path / JOURNAL) as partial,
        as_system_error(recording.path),
        partial.open("wb") as file,
    ):
        frame.sink_ndjson(file)


def _rewrite_events(directory: Path, events: list[Event]) -> None:
    lines = [event.model_dump_json(exclude_defaults=True).encode() + b"\n" for event in events]
    with put_in_place(directory / EVENTS) as partial:
        partial.write_bytes(b"".join(lines))


def _renamed(events: list[Event], attempt: int) -> list[Event]:
    return [
        event
        if event.step is None or _is_attempt(event.step)
        else event.model_copy(update={"step": attempt_name(event.step, attempt)})
        for event in events
    ]


def _is_attempt(name: str) -> bool:
    return _ATTEMPT.fullmatch(name) is not None
