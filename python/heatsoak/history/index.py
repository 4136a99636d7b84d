"""The index: a Parquet file with a row for each judged step below a directory, kept up to date.

A recording is judged again only if its files changed, or heatsoak. Two processes may do that at
once: each adds its rows to those of the file as it is then, under a lock, and replaces it as a
whole.
"""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import polars as pl

import heatsoak
from heatsoak import analysis, output, protocol, system, writing
from heatsoak.analysis.course import end_of
from heatsoak.analysis.judge import read_and_judge
from heatsoak.analysis.likeness import load_key
from heatsoak.analysis.view import RecordingView, StepView
from heatsoak.errors import UsageError
from heatsoak.files import open_regular
from heatsoak.importer import divided
from heatsoak.recording import META, Recording, is_being_written
from heatsoak.recording.columns import throttle_counters
from heatsoak.recording.meta import EVENTS, JOURNAL, PARQUET

#: The columns of the index. `path` is relative to the directory that is indexed; `stamp` tells
#: whether the recording's files changed, `judged_by` which heatsoak judged it. `alike` is the same
#: for the same step after the same steps; `is_comparable` is false for a step that was cut short
#: or whose load nobody controlled. `level` is that before the first episode, in MB/s or, if no
#: bytes were logged, IOPS. Counters and wear are the drive's own, at the end of the step and the
#: start of the recording. A recording without a judged step has one row with `step` null.
SCHEMA: dict[str, type[pl.DataType]] = {
    **dict.fromkeys(("path", "stamp", "judged_by"), pl.String),
    "started_unix_s": pl.Float64,
    **dict.fromkeys(("drive", "serial", "model", "firmware"), pl.String),
    "size_bytes": pl.Int64,
    **dict.fromkeys(("host", "place", "protocol", "step", "workload", "alike"), pl.String),
    "round": pl.Int64,
    "is_comparable": pl.Boolean,
    **dict.fromkeys(("duration_s", "mean_mb_s", "iops", "level"), pl.Float64),
    **dict.fromkeys(("verdict", "cause"), pl.String),
    **dict.fromkeys(("onset_s", "depth_pct", "start_temp_c", "max_temp_c"), pl.Float64),
    **dict.fromkeys(("used_pct", "written_gb", "throttle_count", "throttle_s"), pl.Float64),
}
_COUNTERS = {"throttle_count": "throttle_count.", "throttle_s": "throttle_time_s."}
_FIRMWARE_LABELS = ("firmware", "fw")


def summaries_of(opened: RecordingView, found: analysis.RecordingFindings) -> list[dict[str, Any]]:
    """Return the rows of a judged recording, without `path`, `stamp` and `judged_by`."""
    recording, meta = opened.recording, opened.recording.meta
    whose = {"started_unix_s": meta.started_unix_s, **_drive(recording), **_setting(recording)}
    whose |= {"protocol": meta.protocol.name} | _wear(recording)
    rows = [
        whose | _step(step, recording) | _measured(view, meta.columns)
        for step, view in zip(found.steps, opened.views, strict=True)
    ]
    return rows or [whose]


def _drive(recording: Recording) -> dict[str, Any]:
    drive, labels, identity = recording.meta.drive, recording.meta.conditions, recording.identity
    details = drive.get("details") or {}
    told = [drive.get("firmware"), details.get("firmware")]
    told += [sensor.details.get("firmware") for sensor in recording.meta.sensors]
    told += [labels.get(name) for name in _FIRMWARE_LABELS]
    return {
        "drive": _text(identity.text),
        "serial": _text(identity.serial),
        "model": _text(identity.model),
        "firmware": next((text for each in told if (text := _text(each))), None),
        "size_bytes": drive.get("size_bytes"),
    }


def _setting(recording: Recording) -> dict[str, str]:
    """Where it was measured: how the drive was cooled, and in which machine."""
    labels, host = recording.meta.conditions, recording.meta.host
    # a kernel's release changes with every update, and memory a little
    facts = [host.get("system"), host.get("machine")]
    facts += [f"{host['cpus']} processors"] if host.get("cpus") else []
    machine = [*(_text(fact) for fact in facts), _listed(labels, "identity", _FIRMWARE_LABELS)]
    return {
        "place": _listed(labels, "cooling"),
        "host": ", ".join(text for text in machine if text),
    }


def _listed(labels: Mapping[str, protocol.Label], kind: str, without: tuple[str, ...] = ()) -> str:
    return output.printable(
        ", ".join(
            f"{name} {protocol.label_text(value)}"
            for name, value in sorted(labels.items())
            if protocol.kind_of_condition(name) == kind
            and name not in (*without, *protocol.REPETITIONS)
        )
    )


def _wear(recording: Recording) -> dict[str, Any]:
    known = [sensor.details for sensor in recording.meta.sensors]
    return {
        name: next((details[name] for details in known if details.get(name) is not None), None)
        for name in ("used_pct", "written_gb")
    }


def _step(step: analysis.StepFindings, recording: Recording) -> dict[str, Any]:
    first = step.episodes[0] if step.episodes else None
    level = step.mean_mb_s if first is None else first.before_mb_s or first.before_iops
    name = step.step if step.round is None else step.step.removesuffix(f"/{step.round}")
    meta = recording.meta
    return {
        "step": output.printable(name),
        "round": step.round,
        "workload": output.printable(step.workload),
        "alike": load_key(meta.protocol, name, _listed(meta.conditions, "load")),
        "is_comparable": _is_comparable(step, recording),
        "duration_s": step.duration_s,
        "mean_mb_s": step.mean_mb_s,
        "level": level,
        "verdict": step.verdict,
        "cause": None if first is None else first.cause,
        "onset_s": None if first is None else first.onset_s,
        "depth_pct": None if first is None else first.depth_pct,
        "start_temp_c": step.start_temp_c,
        "max_temp_c": step.max_temp_c,
    }


def _is_comparable(step: analysis.StepFindings, recording: Recording) -> bool:
    meta = recording.meta
    for one in meta.protocol.workload_steps:
        if (
            one.name == step.step
            and isinstance(one, protocol.Observed)
            and (one.watched or one.rw is None)
        ):
            return False
    if (end := end_of(recording, step.step)) is not None:
        return end.data.get("was_done") is not False
    return meta.status == "finished"


def _measured(view: StepView, columns: Iterable[str]) -> dict[str, float | None]:
    """A step's mean IOPS, and the drive's counters at its end."""
    found = {"iops": view.iops.mean(-math.inf, math.inf)}
    for name, prefix in _COUNTERS.items():
        counted = [
            view.track(column).values
            for column in throttle_counters(columns)
            if column.startswith(prefix)
        ]
        is_known = counted and all(map(len, counted))
        found[name] = float(sum(values[-1] for values in counted)) if is_known else math.nan
    return {name: value if math.isfinite(value) else None for name, value in found.items()}


def _text(value: Any) -> str | None:
    return output.printable(str(value).strip()) or None if value not in (None, "") else None


#: The index of a directory, where no other name is given.
NAME = "history.parquet"
#: Judging years of recordings takes hours: what is judged is written this often.
_WRITE_AGAIN_S = 60.0
#: What rows mean; another number judges all recordings again.
_VERSION = (
    f"{heatsoak.__version__}, findings "
    f"{analysis.Findings.model_fields['schema_version'].default}, 2"
)


@dataclass
class Updated:
    """What an update of the index came to.

    Attributes:
        judged: how many recordings were new or changed.
        known: how many there are in all, without damaged ones.
        running: how many are still being written, and left for later.
        damaged: the errors of those that cannot be read.
    """

    judged: int = 0
    known: int = 0
    running: int = 0
    damaged: list[UsageError] = field(default_factory=list)


def update(
    directory: Path,
    index: Path,
    progress: output.Progress,
    on_damaged: Callable[[UsageError], None],
) -> Updated:
    """Bring the index of the recordings below `directory` up to date.

    `on_damaged` gets the error of each recording that cannot be read. Raises UsageError if the
    directory has no recordings or the index is not one, ToolError if it cannot be written.
    """
    before = _stamps(read_index(index)) if index.exists() else {}
    found = dict(recordings_below(directory))
    if not found:
        raise UsageError(f"{directory}: has no recording in it (a directory with {META})")
    stamps = {name: _stamp(place) for name, place in found.items()}
    changed = [name for name in found if before.get(name) != (stamps[name], _VERSION)]
    gone = before.keys() - found.keys()
    if changed or gone:
        writing.require_regular(index)
        writing.require_writable(index.parent, index)
    done = Updated(judged=0, known=len(found) - len(changed))
    rows: list[dict[str, Any]] = []
    lost = set(gone)
    written_at = time.monotonic()
    try:
        for number, name in enumerate(changed):
            progress(number / len(changed), f"judging {name}")
            try:
                judged = _judged(found[name])
            except UsageError as error:
                lost.add(name)
                done.damaged.append(error)
                on_damaged(error)
                continue
            if judged is None:
                done.running += 1
                continue
            key = {"path": name, "stamp": stamps[name], "judged_by": _VERSION}
            rows += [row | key for row in judged]
            done.judged += 1
            if time.monotonic() - written_at > _WRITE_AGAIN_S:
                _merge(index, rows, lost)
                rows, written_at = [], time.monotonic()
    finally:  # also where it is interrupted: the rest is judged another time
        if rows or (lost & before.keys()):
            _merge(index, rows, lost)
    done.known += done.judged
    if not done.known and done.damaged:
        raise done.damaged[0]
    return done


def require_index(index: Path) -> None:
    """Raise UsageError if the file is not an index, by its columns."""
    no_index = "is not an index of heatsoak history, or of another version: delete it, or name"
    with _opened(index, f"{no_index} another file with -o") as file:
        if pl.read_parquet_schema(file) != SCHEMA:
            raise pl.exceptions.SchemaError


def read_index(index: Path) -> pl.DataFrame:
    """Return the rows of an index; raises UsageError if the file is not one."""
    require_index(index)
    with _opened(index, "is damaged: delete it, and it is made again") as file:
        return pl.read_parquet(file)


@contextmanager
def _opened(index: Path, if_wrong: str) -> Iterator[IO[bytes]]:
    try:
        with open_regular(index) as file:
            yield file
    except OSError as error:
        raise UsageError(f"{index}: cannot be read: {error.strerror or error}") from error
    except pl.exceptions.PolarsError as error:
        raise UsageError(f"{index}: {if_wrong}") from error


def recordings_below(directory: Path) -> Iterator[tuple[str, Path]]:
    """Yield the recordings at or below `directory`, by name: recordings hold no others."""
    for place, below, files in os.walk(directory):
        below.sort()
        if META in files:
            below.clear()
            path = Path(place)
            yield output.utf8_text(path.relative_to(directory).as_posix()), path


def _stamp(place: Path) -> str:
    """What differs where any of a recording's files was changed."""
    parts = []
    for name in (META, JOURNAL, PARQUET, EVENTS):
        try:
            status = (place / name).stat()
        except OSError:
            parts.append("-")
        else:
            parts.append(f"{status.st_mtime_ns}/{status.st_size}")
    return " ".join(parts)


def _stamps(rows: pl.DataFrame) -> dict[str, tuple[str, str]]:
    unique = rows.select("path", "stamp", "judged_by").unique("path")
    return {path: (stamp, judged_by) for path, stamp, judged_by in unique.iter_rows()}


def _judged(place: Path) -> list[dict[str, Any]] | None:
    """The rows of a recording; None while it is being written."""
    if is_being_written(place):
        return None
    recording = Recording.open(place)
    recording.require_loadable()
    (opened,), found = read_and_judge([divided(recording)])
    return summaries_of(opened, found.recordings[0])


def _merge(index: Path, rows: Sequence[Mapping[str, Any]], lost: set[str]) -> None:
    """Add rows to the index as it is now, in place of those of the same recordings."""
    new = pl.DataFrame(rows, schema=SCHEMA)
    index.parent.mkdir(parents=True, exist_ok=True)
    lock = f".{index.name}.lock"  # keeps other processes from replacing the index meanwhile
    with (
        writing.reporting_write_errors(index),
        writing.Directory(index.parent) as place,
        place.append(lock) as held,
    ):
        system.lock(held.fileno(), wait=True)
        if index.exists():
            kept = read_index(index)
            out = pl.concat([new["path"].unique(), pl.Series("path", list(lost), dtype=pl.String)])
            new = pl.concat([kept.join(out.to_frame(), on="path", how="anti"), new])
        with writing.output(index, replace=True) as file:
            new.sort("drive", "workload", "started_unix_s").write_parquet(file)
