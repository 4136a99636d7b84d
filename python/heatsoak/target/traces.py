"""Opens a replay's trace for a target."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from heatsoak._core import Trace
from heatsoak.catalog import load_trace, trace_ids
from heatsoak.errors import UsageError
from heatsoak.protocol import Replay
from heatsoak.target.base import Note
from heatsoak.words import counted, size_text

#: A file up to this size is counted before the run, in a second or two.
QUICKLY_COUNTED_BYTES = 64 << 20
_PAGE = 4096


def is_shape(step: Replay) -> bool:
    """Whether the trace is synthesized from a shape instead of read."""
    return step.trace in trace_ids() or step.trace.endswith(".toml")


def open_trace(
    step: Replay,
    size_bytes: int,
    *,
    block_bytes: int = 1,
    trims: bool = True,
    idle_limit_s: float | None = None,
) -> Trace:
    """Return the trace that `step` replays, fitted to a target of `size_bytes`.

    A shape's trace covers the shape's span, or the whole target if that is smaller. `block_bytes`,
    `trims` and `idle_limit_s` are those of :meth:`heatsoak._core.Trace.fit`.
    Raises UsageError if it is not a trace.
    """
    try:
        trace = _made(step, size_bytes) if is_shape(step) else _read(step, size_bytes)
        trace.fit(size_bytes, step.beyond == "skip", block_bytes, trims, idle_limit_s)
    except (OSError, ValueError) as error:
        raise trace_error(step, error) from error
    return trace


def trace_error(step: Replay, error: Exception) -> UsageError:
    """Return the UsageError for an error in the trace of `step`."""
    what = (isinstance(error, OSError) and error.strerror) or error
    return UsageError(f"{step.name}: {step.trace}: {what}")


def replay_notes(step: Replay, trace: Trace) -> Iterator[Note]:
    """Yield notes on what was left out or changed of a trace that was read to its end."""
    count, line, why = trace.skipped
    if count:
        lines = counted(count, "damaged line")
        yield _note(step, f"left out {lines}, the first is line {line}: {why}")
    done = trace.fitted or {}
    for key, did, what, why in (
        ("dropped_beyond", "left out", "I/O", " past the target's end"),
        ("dropped_trims", "left out", "trim", ", which the target does not support"),
        ("dropped_empty", "left out", "I/O", " of no bytes"),
        ("widened", "widened", "I/O", " to whole blocks, as direct I/O requires"),
    ):
        if number := done.get(key):
            yield _note(step, f"{did} {counted(number, what)}{why}")


def _note(step: Replay, text: str) -> Note:
    return Note("warning", f"step '{step.name}': of {step.trace}, {text}", {"step": step.name})


@dataclass(frozen=True)
class Traffic:
    """What a trace moves, and how long it has nothing to do once its pauses are cut."""

    ios: int
    read_bytes: int
    written_bytes: int
    idle_s: float


def count_quickly(step: Replay, size_bytes: int) -> Traffic | None:
    """Return what a replay moves.

    None for a large file, which would take long to read. Raises UsageError if it cannot be replayed
    on a target of `size_bytes`, as far as that is known by then.
    """
    if is_shape(step):
        shape = load_trace(step.trace)
        parts = (shape.ios, shape.read_bytes, shape.write_bytes)
        ios, read_bytes, write_bytes = (round(part * step.scale) for part in parts)
        idle_s = step.scale * shape.idle_s(step.idle_limit_s)
        return Traffic(ios, read_bytes, write_bytes, idle_s)
    trace = open_trace(step, size_bytes)
    if Path(step.trace).stat().st_size > QUICKLY_COUNTED_BYTES:
        return None
    try:
        counted = json.loads(trace.statistics(step.idle_limit_s))
    except ValueError as error:
        raise trace_error(step, error) from error
    done = trace.fitted or {}
    ios = done["reads"] + done["writes"] + done["trims"]
    idle_s = counted["time"]["idle_left_s"]
    return Traffic(ios, done["read_bytes"], done["write_bytes"], idle_s)


def _made(step: Replay, size_bytes: int) -> Trace:
    if size_bytes < _PAGE:
        raise ValueError(f"the target has {size_text(size_bytes)}, expected 4 KiB or more")
    shape = json.loads(load_trace(step.trace).core_json())
    shape["span_bytes"] = min(shape["span_bytes"], size_bytes - size_bytes % _PAGE)
    return Trace.synthetic(json.dumps(shape), scale=step.scale, seed=step.seed)


def _read(step: Replay, size_bytes: int) -> Trace:
    path = Path(step.trace)
    if not path.exists():
        raise ValueError(f"there is no such file or shape: shapes are {', '.join(trace_ids())}")
    if not path.is_file():
        raise ValueError("is not a regular file")
    if step.scale != 1:
        raise ValueError(
            f"scale is {step.scale:g}, but a recorded trace is always replayed completely"
        )
    # a reader can name a line beyond the end, but treats it like any other damage
    reader_knows = step.beyond == "wrap" or (step.beyond == "error" and step.damaged == "error")
    return Trace.open(
        path,
        damaged=step.damaged,
        span_bytes=size_bytes if reader_knows else None,
        wrap=step.beyond == "wrap",
    )
