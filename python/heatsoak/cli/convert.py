"""``heatsoak import`` and ``export``: other tools' logs to recordings, and recordings to theirs."""

from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel
from rich.padding import Padding

from heatsoak import words, writing
from heatsoak.cli import common
from heatsoak.errors import UsageError
from heatsoak.exporter import ExportFormat, export
from heatsoak.output import Console, Text
from heatsoak.protocol import Conditions, read_labels
from heatsoak.recording import Recording, Touched


def import_command(
    files: Annotated[
        list[Path],
        common.argument("FILE...", "Logs of any supported tool, or directories of logs."),
    ],
    output: Annotated[Path, common.option("--output -o", "Output directory, new or empty.")],
    logs: common.LogOptions,
    labels: common.LabelOption = None,
    into: Path | None = common.option(
        "RECORDING",
        "Add the power from a meter's log to a copy of this recording.",
        is_rare=True,
        default=None,
    ),
    output_format: common.FormatOption = "text",
) -> int:
    # the readers take a while to load, and every command loads this module
    from heatsoak.importer import import_files, save_with_meter
    from heatsoak.importer.recordings import save_all

    writing.require_new(output)
    if into is not None:
        if len(files) > 1 or labels or logs.separate:
            raise UsageError("--into takes one meter's log, no labels and no --separate")
        made = [save_with_meter(into, files[0], output, logs.of_files)]
    else:
        with common.progress_bar(stays=False) as progress:
            imported = import_files(
                files, logs.of_files, conditions=read_labels(labels or []), progress=progress
            )
        made = save_all(imported, output)
    common.show_rows(map(_imported, made), output_format, print_imported)
    return 0


def export_command(
    paths: Annotated[
        list[Path],
        common.argument(
            "RECORDING|FILE...", "Recordings, directories of them, or logs of other tools."
        ),
    ],
    output: Annotated[
        str,
        common.option(
            "--output -o PATH",
            "One file for all, a directory for one file each, or - for standard output.",
        ),
    ],
    kind: ExportFormat | None = common.option(
        "--as", "Format; default: by the suffix of PATH.", default=None
    ),
    with_truth: bool = common.option(
        "--with-truth", "Include sim.*, which only a simulator knows.", is_rare=True, default=False
    ),
    force: common.ForceOption = False,
    damaged: common.DamagedOption = False,
    output_format: common.FormatOption = "text",
) -> int:
    from heatsoak.importer import open_all  # takes a while to load

    opened = common.Opened()
    opened.take(open_all(paths, on_broken=opened.leave_out, damaged=damaged))
    if output == "-" and output_format == "json":
        raise UsageError("-o - and --format json cannot both use standard output")
    written = export(opened.recordings, output, kind, force=force, truth=with_truth)
    if output == "-":
        return opened.exit_code()
    common.show([asdict(file) for file in written], output_format, print_written)
    return opened.exit_code()


def print_written(files: Iterable[dict[str, Any]], console: Console) -> None:
    """Print the rows of ``heatsoak export``, a line per file, and each assumption once."""
    said: dict[tuple[str | None, str], None] = {}
    for file in files:
        size = f"{words.counted(file['rows'], 'row')}, {words.size_text(file['bytes'])}"
        console.print(Text(f"{file['path']}: {size}"), soft_wrap=True)
        said |= dict.fromkeys((file["recording"], note) for note in file["notes"])
    for name, note in said:
        console.print(Text(f"note: {name}: {note}", style="yellow"), soft_wrap=True)


class ImportedStep(BaseModel):
    """A step of an imported recording."""

    step: str
    workload: str


class ImportedRemark(BaseModel):
    """What was converted or assumed; `doubt` is whether the file leaves it uncertain.

    Attributes:
        touches: what a doubt leaves open.
    """

    text: str
    doubt: bool
    touches: list[Touched]


class ImportedRow(BaseModel):
    """An imported recording: a row of ``heatsoak import``.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        format: of its log; `source` is the file.
        samples: how many it has.
        columns: what they have besides time and step.
    """

    schema_version: Literal[1] = 1
    path: str
    format: str | None
    source: str | None
    drive: dict[str, Any]
    conditions: Conditions
    duration_s: float | None
    samples: int
    columns: list[str]
    steps: list[ImportedStep]
    remarks: list[ImportedRemark]


def _imported(recording: Recording) -> ImportedRow:
    meta = recording.meta
    imported = meta.load.get("imported", {})
    return ImportedRow(
        path=str(recording.path),
        format=imported.get("format"),
        source=imported.get("source"),
        drive=meta.drive,
        conditions=meta.conditions,
        duration_s=meta.duration_s,
        samples=recording.samples(["t_s"]).height,
        columns=[name for name in meta.columns if name not in ("t_s", "step", "interval_s")],
        steps=[
            ImportedStep(step=step.name, workload=step.describe())
            for step in meta.protocol.workload_steps
        ],
        remarks=[
            ImportedRemark(
                text=event.text,
                doubt=event.kind == "warning",
                touches=event.data.get("touches", []),
            )
            for event in recording.events
            if event.kind in ("info", "warning")
        ],
    )


def print_imported(rows: Iterable[dict[str, Any]], console: Console) -> None:
    """Print the rows: where each recording is, what it holds, and the remarks on it."""
    for row in rows:
        title = Text(row["path"], style="bold")
        labels = words.labels_text(row["conditions"])
        if row["source"] is not None:
            title.append(f"  from {row['source']} ({row['format']})", style="not bold")
        console.print(title.append(f"  {labels}" if labels else "", style="not bold"))
        about = [
            words.counted(row["samples"], "sample"),
            words.duration_text(row["duration_s"] or 0.0),
            words.counted(len(row["steps"]), "step"),
            row["drive"].get("model") or row["drive"].get("path"),
        ]
        console.print(Padding(Text(", ".join(part for part in about if part)), (0, 0, 0, 2)))
        console.print(Padding(Text(", ".join(row["columns"]), style="dim"), (0, 0, 0, 2)))
        for remark in row["remarks"]:
            style = "yellow" if remark["doubt"] else "dim"
            console.print(Padding(Text(f"note: {remark['text']}", style=style), (0, 0, 0, 2)))
