"""Files in, recordings out: which format a file has, its logs, and the recordings made of them.

A frame of samples that somebody holds in Python becomes a recording as a log does.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import polars as pl

from heatsoak import errors, recording, words
from heatsoak.importer.join import join
from heatsoak.importer.log import Log, Options, Remark, nothing_to_shift
from heatsoak.importer.recordings import possible, thinned, to_recording, with_gaps
from heatsoak.importer.source import MAX_RUNS, Source, UnknownFormatError
from heatsoak.importer.stretches import divided, with_stretches
from heatsoak.importer.tables.cells import is_timed
from heatsoak.output import Progress
from heatsoak.protocol import Conditions, Observed
from heatsoak.recording import bundle, grid
from heatsoak.recording.columns import FAMILIES, FIXED, TEMPERATURES, column_of
from heatsoak.recording.meta import LONGEST_S
from heatsoak.recording.reader import cleaned

if TYPE_CHECKING:
    from heatsoak.importer.formats import Format

_NAMED = 5
_NO_FORMAT = "is not in a format that can be imported"
#: The reader that takes tables which no other knows.
_ANY_TABLE = "plain"


def import_files(
    paths: Sequence[Path],
    options: Options | None = None,
    *,
    conditions: Conditions | None = None,
    progress: Progress | None = None,
) -> list[recording.InMemoryRecording]:
    """Return a recording for each run in the files, held in memory.

    A directory stands for the files in it, and below it, that some reader knows. Raises
    UsageError, with the file's name and the line, for what cannot be read.
    """
    options = options or Options()
    logs, bundled = _read_all(paths, options, progress)
    for one in bundled:
        one.meta.conditions.update(conditions or {})
    if bundled and not logs:
        return bundled
    if options.joins:
        logs = join(logs, options.shift_s)
    elif options.shift_s is not None:
        raise nothing_to_shift(options.shift_s, "--separate joins none")
    with_samples = [log for log in logs if not log.samples.is_empty()]
    if not with_samples:
        source = logs[0].source
        why = "; ".join(remark.text.removeprefix(f"{source}: ") for remark in logs[0].remarks)
        raise errors.UsageError(f"{source}: holds no samples{': ' if why else ''}{why}")
    return bundled + [to_recording(with_stretches(log), conditions or {}) for log in with_samples]


def open_all(
    paths: Sequence[Path],
    options: Options | None = None,
    *,
    progress: Progress | None = None,
    on_broken: Callable[[errors.UsageError], None] | None = None,
    damaged: bool = False,
) -> list[recording.Recording]:
    """Return the recordings at `paths`, and those that other tools' logs there are.

    All logs are taken together, as :func:`import_files` does. Raises UsageError as it does, and
    for recordings that cannot be read, but for those that :func:`find_recordings` leaves out;
    `damaged` is as there.
    """
    options = options or Options()
    recordings: list[recording.Recording] = []
    logs = [path for path in paths if not _holds_recordings(path)]
    for path in paths:
        if path not in logs:
            recordings += map(divided, recording.find_recordings(path, on_broken, damaged=damaged))
    if logs:
        recordings += map(divided, import_files(logs, options, progress=progress))
    else:
        options.require_used("a recording")
        if options.shift_s is not None:
            raise nothing_to_shift(options.shift_s, "a recording is no such log")
        if not options.joins:
            raise errors.UsageError(
                "--separate: keeps other tools' logs apart, and a recording is none: leave it out"
            )
    return recordings


def _holds_recordings(path: Path) -> bool:
    """Whether `path` is a recording, part of one, or a directory of some."""
    if path.is_dir():
        return next(path.rglob(recording.META), None) is not None
    return (
        path.name == recording.META or (path.parent / recording.META).exists() or not path.exists()
    )


def _sources(path: Path) -> list[Source]:
    if not path.exists():
        raise errors.UsageError(f"{path}: there is no such file or directory")
    if not path.is_dir():
        return [Source.of_path(path)]
    files = [(file, file.relative_to(path).parts) for file in sorted(path.rglob("*"))]
    shown = [file for file, parts in files if not any(part.startswith(".") for part in parts)]
    return [Source.of_path(file) for file in shown if file.is_file()]


def _read_all(
    paths: Sequence[Path], options: Options, progress: Progress | None
) -> tuple[list[Log], list[recording.InMemoryRecording]]:
    """Read the files, and those of directories that can be read: others are left out, and named.

    Return their logs, and the recordings of bundles.
    """
    sources = [(source, path) for path in paths for source in _sources(path)]
    sizes = Counter(source.size_bytes for source, _ in sources)
    taken: dict[bytes, str] = {}
    whole = max(sum(source.size_bytes for source, _ in sources), 1)
    read_bytes = 0
    logs: list[Log] = []
    bundled: list[recording.InMemoryRecording] = []
    no_logs: dict[str, list[str]] = {}
    for source, path in sources:
        if progress is not None:
            source.on_read = partial(_say_share, progress, source.name, read_bytes, whole)
        try:
            # one of its own size is no copy
            digest = _digest(source) if sizes[source.size_bytes] > 1 else b""
            if digest in taken:
                no_logs.setdefault(f"the same as {taken[digest]}", []).append(source.name)
                continue
            if source.head.startswith(bundle.START):
                bundled += bundle.opened(source.document(), Path(source.name))
            else:
                logs += [thinned(log) for log in read(source, options)]
            taken |= {digest: source.name} if digest else {}
        except errors.UsageError as error:
            if not path.is_dir():
                raise
            why = str(error).removeprefix(f"{source.name}: ")
            if isinstance(error, UnknownFormatError):
                why = why.partition(_NO_FORMAT)[1] or why
            own = no_logs.setdefault(why, [])
            if (name := Path(source.name).name) not in own:
                own.append(name)
        read_bytes += source.size_bytes
    names = ", ".join(str(path) for path in paths)
    left_out = [
        f"{words.listed(files, _NAMED)}: {why}" for why, files in list(no_logs.items())[:_NAMED]
    ]
    if len(no_logs) > _NAMED:
        count = sum(len(files) for files in list(no_logs.values())[_NAMED:])
        left_out.append(f"{count} more for other reasons")
    if not logs and not bundled:
        why = "; ".join(left_out) or "there is no file in it"
        raise errors.UsageError(f"{names}: nothing can be imported: {why}")
    options.require_used(names)
    logs[:1] = [log.with_remarks(*(Remark(f"left out: {w}") for w in left_out)) for log in logs[:1]]
    return logs, bundled


def _digest(source: Source) -> bytes:
    found = sha256()
    for chunk in source.chunks():
        found.update(chunk)
    return found.digest()


def _say_share(progress: Progress, name: str, before: int, whole: int, done: int) -> None:
    progress(min((before + done) / whole, 1.0), name)


def read(source: Source, options: Options | None = None) -> list[Log]:
    """Return a log for each run in `source`; raises UsageError for what no reader knows.

    A log without samples says in its remarks what a sibling of the same run may need of it.
    """
    options = options or Options()
    parts, are_hosts = _parts_of(source)
    if parts:
        named = [(name, log) for name, part in parts.items() for log in read(part, options)]
        return [_named(log, name, is_host=are_hosts) for name, log in named]
    reader = detect(source)
    try:
        logs = reader.read(source, options)
    except errors.HeatsoakError:
        raise
    except Exception as error:
        # whatever a file makes a reader do, whoever imports it gets one line that names it
        what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise source.error(
            f"heatsoak's reader for {reader.title} failed on it ({what}): a bug in heatsoak, which "
            "the file would help to fix"
        ) from error
    if not logs:
        raise source.error("holds no samples")
    said = source.said()
    return [with_gaps(possible(log, options.mapping)).with_remarks(*said) for log in logs]


def _named(log: Log, name: str, *, is_host: bool) -> Log:
    """The log with its host before the drive's node, which is the same on others, or its file."""
    if not is_host:
        return replace(log, label=f"{name} {log.label}".strip())
    path = f"{name} {log.drive.get('path', '')}".strip()
    return replace(log, drive={**log.drive, "path": path})


def _parts_of(source: Source) -> tuple[dict[str, Source], bool]:
    """The hosts or files whose lines a dump holds, where these can be read better than it."""
    parts, are_hosts = parts_of(source) if source.head else ({}, False)
    if not parts:
        return {}, False
    inside, whole = _known(next(iter(parts.values()))), _known(source)
    is_better = whole is None or whole.name in (_ANY_TABLE, inside.name if inside else "")
    return (parts, are_hosts) if inside is not None and is_better else ({}, False)


def _known(source: Source) -> "Format | None":
    try:
        return detect(source)
    except errors.UsageError:
        return None


def detect(source: Source) -> "Format":
    """Return the format of `source`; raises UnknownFormatError where no reader knows it."""
    # the readers take longer to load than recordings do to be opened, which need none of them
    from heatsoak.importer.formats import FORMATS

    if not source.head:
        raise source.error("is empty")
    refusal: errors.UsageError | None = None
    for reader in FORMATS:
        try:
            if reader.recognises(source):
                return reader
        except errors.UsageError as error:  # no text; another reader may know these bytes
            refusal = refusal or error
    if refusal is not None:
        raise UnknownFormatError(str(refusal))
    raise UnknownFormatError(str(source.error(_looks(source))))


def _looks(source: Source) -> str:
    """What a file that no reader knows looks like, what a log has that it lacks, and what logs."""
    lines = [
        words.shortened(words.said(line), _SHOWN_LINE) for line in source.head_lines if line.strip()
    ]
    begins = f": it begins '{lines[0]}'" if lines else ""
    if source.first_character in ("{", "[") and any(mark in lines[0] for mark in '{",'):
        what = "JSON without series or rows of a drive's rates, temperatures or counters"
    else:
        rows = sum(is_timed(line.strip()[:_SHOWN_LINE]) for line in lines)
        what = "no table, and no lines that name a drive's rate or temperature with their time"
        what = what if 2 * rows < len(lines) else "nothing says what the numbers in its lines are"
    return f"{_NO_FORMAT}{begins}; {what}. {_LOGGERS}"


_SHOWN_LINE = 70
_LOGGERS = (
    "'iostat -xty 1' or HWiNFO beside a load, or fio's '--write_bw_log', write what can be read"
)


# --- frames of samples ---------------------------------------------------------------------------


def recording_of_frame(
    frame: pl.DataFrame, name: str, conditions: Conditions, drive: Mapping[str, Any]
) -> recording.InMemoryRecording:
    """Return samples in a recording's columns as a recording, with stretches of load as its steps.

    `name` is what it is called among others; `drive` what is known of the drive's identity. `t_s`
    is needed, and something measured; rates are means over the `interval_s` that ends at `t_s`, by
    default the time since the row before. Rows are put in order of time. Raises UsageError, naming
    the column, for one that a recording does not have, or of the wrong type.
    """
    if not isinstance(frame, pl.DataFrame):
        raise errors.UsageError(
            f"a frame has to be a polars DataFrame, not a {type(frame).__name__}"
        )
    columns = frame.columns
    for column in columns:
        _require_known(column)
    if "t_s" not in columns:
        raise errors.UsageError(
            "the frame has no column t_s: the end of each sample's interval, in s"
        )
    schema = recording.schema_of(columns)
    if not schema.keys() - {"t_s", "step", "interval_s"}:
        raise errors.UsageError(
            "the frame has nothing measured beside t_s: it needs columns such as read_bw_mb_s or "
            "temp_c.composite"
        )
    for column, dtype in schema.items():
        given = frame.schema[column]
        if not (given in (dtype, pl.Null) or (dtype.is_numeric() and given.is_numeric())):
            raise errors.UsageError(
                f"the frame's column {column} is {given}: it has to be {dtype()}"
            )
    if frame.is_empty():
        raise errors.UsageError("the frame has no rows: there is nothing in it to judge")
    times = frame["t_s"].cast(pl.Float64).to_numpy()
    unknown = int(np.sum(~np.isfinite(times)))
    if unknown:
        raise errors.UsageError(
            f"the frame's column t_s has {unknown} rows without a time: drop them"
        )
    if (most_s := float(np.max(np.abs(times)))) > LONGEST_S:
        reached = words.amount_text(most_s, "s")
        raise errors.UsageError(
            f"the frame's column t_s reaches {reached}: count it from the recording's start"
        )
    samples = cleaned(frame.lazy(), schema).collect()
    samples = samples.sort("t_s", maintain_order=True)
    if "interval_s" not in columns:
        samples = samples.with_columns(interval_s=grid.covered_s(samples["t_s"].to_numpy()))
    log = Log(format="frame", source=name, samples=samples, drive=_identity(drive))
    if "step" in columns:
        steps = samples["step"].drop_nulls().unique(maintain_order=True)
        log = replace(log, steps=tuple(Observed(name=step) for step in steps))
    return to_recording(with_stretches(with_gaps(thinned(log))), conditions)


def _require_known(name: str) -> None:
    try:
        column_of(name)
    except KeyError:
        if name.startswith(TEMPERATURES.partition("_")[0]):
            near = f" (did you mean '{TEMPERATURES}composite'?)"
        else:
            near = errors.suggestion(name, [*FIXED, *(f"{prefix}NAME" for prefix in FAMILIES)])
        raise errors.UsageError(
            f"the frame's column {name} is not one of a recording{near}: rename or leave it out"
        ) from None


def _identity(drive: Mapping[str, Any]) -> dict[str, Any]:
    types: dict[str, type] = {"model": str, "serial": str, "path": str, "size_bytes": int}
    for key, value in drive.items():
        if key not in types:
            raise errors.UsageError(
                f"drive: {key} is not known of a drive{errors.suggestion(key, types)}: "
                f"{', '.join(types)}"
            )
        if not isinstance(value, types[key]) or isinstance(value, bool):
            raise errors.UsageError(
                f"drive: {key} is {value!r}: it has to be {types[key].__name__}"
            )
    return dict(drive)


# --- dumps of several hosts or files, each read as a file of its own -----------------------------

#: ``HOST: `` or ``FILE:`` before each line: pdsh, ansible, ``grep -r``.
_PREFIX = re.compile(r"([A-Za-z./~][\w./@~-]{0,199}):([ \t]?)")
#: What stands above the lines of a host or file: ansible's, head's and tail's.
_HEAD = re.compile(
    r"(?P<ansible>\S{1,200}) \| [A-Z!]{2,20}(?: \| rc=-?\d{1,3})? >>|==> (?P<head>.{1,200}) <=="
)
#: Drives that a tool names before each line; readers know them.
_DRIVE = re.compile(r"/dev/.*|nvme\d.*|[shv]d[a-z]+\d*")
#: A host has more lines than this; other words before a colon name what follows.
_MIN_LINES_EACH = 4


def parts_of(source: Source) -> tuple[dict[str, Source], bool]:
    """Return a source for each host or file that is named before its lines; none without.

    And whether the names are of hosts: `pdsh` writes a blank behind each, and `grep` none.
    """
    try:
        lines = [line for line in source.head_lines if line.strip(" \t\0")]
    except errors.UsageError:  # no text
        return {}, False
    head = _HEAD.fullmatch(lines[0].strip()) if lines else None
    labelled = _prefixed if head is None else _under_heads
    if head is None and not _are_prefixed(lines):
        return {}, False
    names: dict[str, None] = {}
    for name, _ in labelled(source):
        names[name] = None
        if len(names) > MAX_RUNS:
            return {}, False
    are_hosts = (
        head["ansible"] is not None
        if head
        else all(match[2] for line in lines if (match := _PREFIX.match(line)))
    )
    opened = {name: partial(_lines_of, source, name, labelled) for name in names}
    parts = {name: Source(f"{source.name} ({name})", opener) for name, opener in opened.items()}
    return parts, are_hosts


def _are_prefixed(lines: list[str]) -> bool:
    names = set()
    for line in lines:
        match = _PREFIX.match(line)
        if match is None or _DRIVE.fullmatch(match[1]):
            return False
        names.add(match[1])
    return bool(names) and len(lines) >= _MIN_LINES_EACH * len(names)


def _prefixed(source: Source) -> Iterator[tuple[str, str]]:
    """Each line without the name before it, and that name."""
    for _, line in source.lines():
        if (match := _PREFIX.match(line)) is not None:
            yield match[1], line[match.end() :]


def _under_heads(source: Source) -> Iterator[tuple[str, str]]:
    """Each line, and the name in the head above it."""
    name = ""
    for _, line in source.lines():
        if (head := _HEAD.fullmatch(line.strip()[:300])) is not None:
            name = head["ansible"] or head["head"]
        else:
            yield name, line


def _lines_of(
    source: Source, name: str, labelled: Callable[[Source], Iterator[tuple[str, str]]]
) -> BinaryIO:
    data = io.BytesIO()
    for whose, line in labelled(source):
        if whose == name:
            data.write(line.encode("utf-8", "replace") + b"\n")
    source.keep(data.tell())
    data.seek(0)
    return data
