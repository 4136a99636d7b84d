"""Keeps what was recorded of a step that had to be repeated, under another name.

If the step `write` is interrupted, its samples and events are renamed to ``write~1``, and the
repetition is recorded as `write`, so that a step's name always means one complete attempt.
"""

import re
from collections.abc import Collection
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from heatsoak import system
from heatsoak.recording.files import (
    NO_CHECKSUMS,
    replace_atomically,
    reporting_write_errors,
    write_meta,
)
from heatsoak.recording.meta import EVENTS, JOURNAL, PARQUET, Event
from heatsoak.recording.reader import Recording

_ATTEMPT = re.compile(r"(?s)(.+)~([0-9]+)")


def attempt_name(step: str, number: int) -> str:
    """Return the name of attempt `number` at a step, if it was not the last."""
    return f"{step}~{number}"


def step_of_attempt(name: str, steps: Collection[str]) -> str | None:
    """Return the step among `steps` that `name` is an attempt at, or None."""
    if name in steps:
        return name
    match = _ATTEMPT.fullmatch(name)
    return match[1] if match and match[1] in steps else None


@dataclass(frozen=True)
class Reopened:
    """A recording that is ready to be continued.

    Attributes:
        recording: as it is on disk now.
        attempt: the number given to the earlier attempts at repeated steps.
    """

    recording: Recording
    attempt: int


def reopen(recording: Recording, since: int | None) -> Reopened:
    """Turn a finished recording back into a journal, so that it can be continued.

    Samples and events of steps from event number `since` on are renamed to attempts. Can be killed
    at any time and repeated with the same result. Raises ToolError if the directory cannot be
    written, ChangedError for a recording that was changed.
    """
    events = recording.events
    names = {event.step for event in events if event.step is not None}
    attempts = [int(match[2]) for name in names if (match := _ATTEMPT.fullmatch(name))]
    attempt = 1 + max(attempts, default=0)
    tail = [] if since is None else events[since:]
    kept = events[: len(events) - len(tail)]
    with reporting_write_errors(recording.path):
        with ExitStack() as replaced:
            if tail:
                lines = _lines([*kept, *_renamed(tail, attempt)])
                replaced.enter_context(replace_atomically(recording.path / EVENTS)).write_bytes(
                    lines
                )
            journal = replaced.enter_context(replace_atomically(recording.path / JOURNAL))
            _write_samples(recording, tail, attempt, journal)
            # all that takes room is written: from here on its files differ, until it has ended
            write_meta(recording.path, recording.meta.model_copy(update=NO_CHECKSUMS))
        # having the samples twice does no harm, and the journal is complete now
        system.remove(recording.path / PARQUET)
    return Reopened(Recording.open(recording.path), attempt)


def _write_samples(recording: Recording, tail: list[Event], attempt: int, path: Path) -> None:
    frame = recording.scan()
    if tail:
        names = sorted({event.step for event in tail if event.step and not _is_attempt(event.step)})
        # not by time: a sensor may have been read just before the step started, but stored later
        is_of_tail = pl.col("step").is_in(names)
        renamed = pl.format(f"{{}}~{attempt}", pl.col("step"))
        frame = frame.with_columns(step=pl.when(is_of_tail).then(renamed).otherwise("step"))
    with path.open("wb") as file:
        frame.sink_ndjson(file)


def _lines(events: list[Event]) -> bytes:
    return b"".join(
        event.model_dump_json(exclude_defaults=True).encode() + b"\n" for event in events
    )


def _renamed(events: list[Event], attempt: int) -> list[Event]:
    return [
        event
        if event.step is None or _is_attempt(event.step)
        else event.model_copy(update={"step": attempt_name(event.step, attempt)})
        for event in events
    ]


def _is_attempt(name: str) -> bool:
    return _ATTEMPT.fullmatch(name) is not None
