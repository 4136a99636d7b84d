"""``heatsoak analyze``: judge recordings and other tools' logs."""

from pathlib import Path
from typing import Annotated

import typer

from heatsoak.analysis import analyze
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.cli.common import (
    DamagedOption,
    DeviceOption,
    EvidenceOption,
    FailBelowOption,
    FailOnOption,
    FormatOption,
    MapOption,
    OutputFormat,
    PowerOption,
    SeparateOption,
    ShiftOption,
    exit_code,
    open_recordings,
)
from heatsoak.cli.judged import print_judged


def analyze_command(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RECORDING|FILE...",
            help="Recordings, directories of recordings, or logs of other tools.",
        ),
    ],
    mapping: MapOption = None,
    device: DeviceOption = None,
    shift_s: ShiftOption = None,
    separate: SeparateOption = False,
    damaged: DamagedOption = False,
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
    evidence: EvidenceOption = False,
    fail_below: FailBelowOption = None,
) -> int:
    """Judge recordings or logs: did the drive throttle, when, by how much, and why."""
    opened = open_recordings(
        paths,
        mapping,
        device,
        shift_s,
        separate=separate,
        power=power,
        damaged=damaged,
        keeps_changed=True,
    )
    findings = analyze(opened.recordings, window_s)
    has_options = mapping or device or shift_s is not None or separate or power or damaged
    print_judged(
        findings,
        opened.recordings,
        output_format,
        evidence=evidence,
        paths=None if has_options else paths,
    )
    return opened.exit_code(exit_code(findings, fail_on, fail_below))


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command("analyze")(analyze_command)
