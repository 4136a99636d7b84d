"""``heatsoak report``: write findings to a file for people or machines."""

from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from heatsoak.analysis import analyze
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.cli import completion
from heatsoak.cli.common import (
    DeviceOption,
    FailBelowOption,
    FailOnOption,
    FormatOption,
    MapOption,
    OutputFormat,
    PowerOption,
    SeparateOption,
    ShiftOption,
    console,
    exit_code,
    open_recordings,
    print_json,
    progress_bar,
)
from heatsoak.errors import UsageError
from heatsoak.output import Text, utf8_text
from heatsoak.units import format_bytes

if TYPE_CHECKING:
    from heatsoak.twin import Twin


def report_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING|FILE...",
            help="Recordings, directories of recordings, or logs of other tools.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write: .html page, .png or .svg picture, .csv table, JUnit .xml.",
        ),
    ],
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="KEY",
            autocompletion=completion.compared_by,
            help="The condition to compare by; default: the only one that differs.",
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            "--baseline",
            metavar="VALUE",
            help="The group that others are compared with.",
            autocompletion=completion.baselines,
        ),
    ] = None,
    anyway: Annotated[
        bool,
        typer.Option("--anyway", help="Compare even runs that differ otherwise, with a warning."),
    ] = False,
    title: Annotated[str | None, typer.Option("--title", help="Title of the report.")] = None,
    twin: Annotated[
        Path | None,
        typer.Option(
            "--twin",
            metavar="TWIN",
            help="Show on the page what a twin (heatsoak fit) makes of the recordings.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False,
    mapping: MapOption = None,
    device: DeviceOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    power: PowerOption = None,
    window_s: Annotated[
        float,
        typer.Option(
            "--window",
            metavar="SECONDS",
            min=2,
            help="Compute consistency over the last SECONDS of each step.",
        ),
    ] = WINDOW_S,
    output_format: FormatOption = OutputFormat.TEXT,
    fail_on: FailOnOption = None,
    fail_below: FailBelowOption = None,
) -> int:
    """Write a report on recordings or logs: a page with charts, a picture or a table."""
    # these take a while to load, and every command loads this module
    from heatsoak.report.files import ReportRequest, check, write_report

    if by is None and (baseline is not None or anyway):
        word = "--anyway" if baseline is None else f"--baseline {baseline}"
        raise UsageError(f"{word}: needs --by with the condition to compare by")
    check(output, [], force=force, has_twin=twin is not None)
    loaded = None if twin is None else _loaded(twin)
    opened = open_recordings(paths, mapping, device, shift_s, separate=separate, power=power)
    recordings = opened.recordings
    check(output, recordings, force=force)
    findings = analyze(recordings, window_s)
    wanted = ReportRequest(by, baseline, anyway, title and utf8_text(title), fail_below, loaded)
    with progress_bar(stays=False) if loaded is not None else nullcontext() as progress:
        written = write_report(recordings, findings, output, replace(wanted, progress=progress))
    if output_format is OutputFormat.JSON:
        print_json(asdict(written))
    else:
        for sentence in filter(None, (written.headline, written.answer)):
            console().print(Text(sentence))
        size = format_bytes(written.bytes)
        console().print(Text(f"{written.path}: {written.kind}, {size}"), soft_wrap=True)
    return opened.exit_code(exit_code(findings, fail_on, fail_below))


def _loaded(path: Path) -> "Twin":
    # takes a while to load, and every command loads this module
    from heatsoak.twin import Twin

    return Twin.load(path)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("report")(report_command)
