"""``heatsoak run``: run a protocol on a target and judge what it recorded."""

import os
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from heatsoak.analysis import analyze
from heatsoak.bench.by_hand import agrees_to_lose, is_attended
from heatsoak.bench.directories import PARENT, default_directory, latest_unfinished
from heatsoak.bench.drive_settings import leftovers
from heatsoak.bench.rows import planned_row
from heatsoak.bench.session import DriveOptions, Session, plan_session
from heatsoak.cli import completion
from heatsoak.cli.common import (
    EvidenceOption,
    FailBelowOption,
    FailOnOption,
    FormatOption,
    OutputFormat,
    OutputOption,
    console,
    exit_code,
    print_json,
)
from heatsoak.cli.judged import print_judged
from heatsoak.errors import NotEmptyError, UsageError
from heatsoak.output import announce
from heatsoak.protocol import apply_settings, load, scaled
from heatsoak.recording import Recording
from heatsoak.report.lists import print_preview
from heatsoak.target import parse_place
from heatsoak.target.hctm import Thresholds


def run_command(
    protocol: Annotated[
        str,
        typer.Argument(
            help="A bundled protocol's name, a TOML file, or a fio job file.",
            autocompletion=completion.protocols,
        ),
    ],
    on: Annotated[
        str,
        typer.Option(
            "--on",
            metavar="TARGET",
            help="sim:DRIVE[@ENCLOSURE], a directory, a file, /dev/..., a serial, or nbd+unix://...",
            autocompletion=completion.targets,
        ),
    ],
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="TARGET",
            help="The destination of a protocol that copies; --on is then the source.",
            autocompletion=completion.targets,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            help="Choose a cell, change a step, or label.",
            autocompletion=completion.settings,
        ),
    ] = None,
    scale: Annotated[
        float, typer.Option(help="Shrink sizes and times to this share, for a small target.")
    ] = 1.0,
    output: OutputOption = None,
    erase: Annotated[
        str | None,
        typer.Option(
            "--erase",
            metavar="ID",
            help="The drive whose data may be destroyed; ID:NOT-EMPTY if it holds any.",
        ),
    ] = None,
    power_sensor: Annotated[
        str | None,
        typer.Option(
            "--power-sensor",
            metavar="NODE",
            help="The hwmon node that measures the drive's power: ina226, or hwmon4/power1.",
        ),
    ] = None,
    sensors: Annotated[
        Path | None,
        typer.Option(
            "--sensors",
            metavar="DIR",
            help="Where an NBD export's drive has its sensors: the DIR of heatsoak nbd.",
        ),
    ] = None,
    tmt1: Annotated[
        float | None,
        typer.Option(
            metavar="C", help="Where an NVMe drive starts to slow lightly, for this run; 0 is off."
        ),
    ] = None,
    tmt2: Annotated[
        float | None,
        typer.Option(
            metavar="C", help="Where an NVMe drive starts to slow heavily, for this run; 0 is off."
        ),
    ] = None,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume", help="Resume what was started in -o, or the last run that was cut short."
        ),
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be written, and how long it takes.")
    ] = False,
    output_format: FormatOption = OutputFormat.TEXT,
    fail_on: FailOnOption = None,
    evidence: EvidenceOption = False,
    fail_below: FailBelowOption = None,
) -> int:
    """Run a protocol on a drive, and judge what was recorded."""
    planned = partial(
        plan_session,
        parse_place(to or on),
        lambda: apply_settings(scaled(load(protocol), scale), settings or []),
        copy_from=None if to is None else lambda: parse_place(on),
        options=DriveOptions(power_sensor, sensors, Thresholds(tmt1, tmt2)),
        tell=None if dry_run else announce,
        warn=announce,
    )
    try:
        session = planned(erase_id=erase)
    except NotEmptyError as found:
        if dry_run or not is_attended() or not agrees_to_lose(found):
            raise
        session = planned(erase_id=found.erase)
    if not session.is_simulated:
        for note in leftovers():
            announce(note.text)
    if dry_run:
        rows = [
            planned_row(session.protocol, preview).model_dump(mode="json")
            for preview in session.preview()
        ]
        if output_format is OutputFormat.JSON:
            print_json(rows)
        else:
            print_preview(rows, console())
        return 0
    recordings = _record(session, output, resume)
    findings = analyze(recordings)
    together = Path(os.path.commonpath([recording.path for recording in recordings]))
    print_judged(findings, recordings, output_format, evidence=evidence, paths=[together])
    return exit_code(findings, fail_on, fail_below)


def _record(session: Session, output: Path | None, resume: bool) -> list[Recording]:
    name = session.protocol.name
    if not resume:
        return session.record(output or default_directory(name))
    if output is not None:
        return session.record(output, resume=True)
    unfinished = latest_unfinished(name)
    if unfinished is None:
        raise UsageError(
            f"--resume: the last run of {name} in {PARENT} is finished, or there is none: name the "
            "directory of the one that was cut short with -o"
        )
    announce(f"resuming {unfinished}")
    return session.record(unfinished, resume=True)


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("run")(run_command)
