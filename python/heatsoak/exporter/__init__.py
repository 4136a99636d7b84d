"""Exports recordings in formats that other tools read.

:func:`export` writes plain tables (CSV, Parquet), logs and JSON for fio-plot, or OpenMetrics text
for Prometheus, or a bundle of all that a judgement needs.
"""

import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from heatsoak import output, writing
from heatsoak.errors import UsageError
from heatsoak.exporter import names, table
from heatsoak.exporter.fioplot import fio_files
from heatsoak.exporter.names import ExportFormat
from heatsoak.exporter.openmetrics import check_clocks, write_openmetrics
from heatsoak.recording import Recording, bundle
from heatsoak.recording.writer import check_free

__all__ = ["ExportFormat", "Written", "export"]

_Named = Mapping[str, Recording]


@dataclass(frozen=True)
class Written:
    """A file that was written.

    Attributes:
        recording: the name of the recording in it; None if it has several.
        rows: samples, lines of a log, or one for a JSON document.
        notes: what had to be assumed because it is not in the recording.
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
    """

    path: str
    recording: str | None
    rows: int
    bytes: int
    notes: tuple[str, ...] = ()
    schema_version: Literal[1] = 1


def export(
    recordings: Iterable[Recording],
    to: str,
    kind: ExportFormat | None = None,
    *,
    force: bool = False,
    truth: bool = False,
) -> list[Written]:
    """Write `recordings` to `to`, and return what was written.

    `to` is one file for all, a directory for one file each (see
    :func:`~heatsoak.exporter.formats.is_directory`), or ``-`` for standard output. Without `kind`,
    its suffix says the format. With `truth`, the columns ``sim.*`` are exported too.

    Raises UsageError for what cannot be written in this format, or already exists without `force`;
    ToolError if writing fails.
    """
    kind = kind or names.kind_of(to)
    given = list({(each.path.resolve(), each.run): each for each in recordings}.values())
    if not given:
        raise UsageError("there is no recording to export")
    named = dict(zip(names.recording_names(given), given, strict=True))
    if kind is ExportFormat.OPENMETRICS:
        check_clocks(named)
    if to == names.STANDARD_OUTPUT:
        return [_to_standard_output(named, kind, truth=truth)]
    writing.require_creatable(Path(to))
    if kind is ExportFormat.FIO_PLOT:
        return _fio_plot(named, Path(to), force=force)
    files: dict[Path, _Named] = {Path(to): named}
    if names.is_directory(to, kind):
        files = {
            Path(to) / (name + names.SUFFIXES[kind]): {name: one} for name, one in named.items()
        }
    check_free(files, force=force, makes_directories=names.is_directory(to, kind))
    written = []
    for path, part in files.items():
        with writing.output(path, replace=force) as file:
            rows = _write(part, file, kind, truth=truth)
            written.append(Written(str(path), _only(part), rows, writing.size_of(file)))
    return written


def _to_standard_output(named: _Named, kind: ExportFormat, *, truth: bool) -> Written:
    if kind not in (ExportFormat.CSV, ExportFormat.OPENMETRICS):
        raise UsageError(f"{kind} cannot go to standard output: name a file with -o")
    out = sys.stdout.buffer
    with writing.reporting_write_errors("standard output"):
        rows = _write(named, out, kind, truth=truth)
        out.flush()
    return Written(names.STANDARD_OUTPUT, _only(named), rows, 0)


def _write(named: _Named, to: IO[bytes], kind: ExportFormat, *, truth: bool) -> int:
    if kind is ExportFormat.OPENMETRICS:
        return write_openmetrics(named, to, truth=truth)
    if kind is ExportFormat.BUNDLE:
        made, contents = bundle.bundle_of(list(named.values()))
        for line in contents:
            output.print_err(line)
        to.write(bundle.packed(made))
        return sum(len(held["rates"]["t_s"]) for held in made["recordings"])
    if len(named) == 1:
        (recording,) = named.values()
        frame = table.samples_of(recording, table.sample_columns(recording, truth=truth))
    else:
        frame = table.long_table(named, truth=truth)
    table.write_table(frame, to, kind, table.parquet_metadata(named))
    return table.count_rows(list(named.values()))


def _fio_plot(named: _Named, directory: Path, *, force: bool) -> list[Written]:
    places = {name: directory / name if len(named) > 1 else directory for name in named}
    # generated twice, since a day's logs are too large to keep in memory during the check
    paths = [
        places[name] / file.place
        for name, recording in named.items()
        for file in fio_files(recording)
    ]
    check_free(paths, force=force, makes_directories=True)
    written = []
    # a new directory is there whole or not at all
    with nullcontext(directory) if directory.exists() else writing.making(directory) as base:
        for name, recording in named.items():
            for file in fio_files(recording):
                path = places[name] / file.place
                with writing.output(base / path.relative_to(directory), replace=force) as out:
                    out.writelines(line.encode("utf-8", "replace") for line in file.text)
                    size = writing.size_of(out)
                written.append(Written(str(path), name, file.rows, size, file.notes))
    return written


def _only(named: _Named) -> str | None:
    return next(iter(named)) if len(named) == 1 else None
