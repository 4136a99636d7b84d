"""``heatsoak analyze`` and ``compare``: judge recordings and other tools' logs, one or many."""

from typing import Annotated

import typer

from heatsoak.analysis import analyze
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.cli.common import (
    AnywayOption,
    BaselineOption,
    ByOption,
    EvidenceOption,
    FormatOption,
    LimitOptions,
    OutputFormat,
    ReadOptions,
    RecordingsArgument,
    WindowOption,
    console,
    show_findings,
    with_groups,
)
from heatsoak.errors import UsageError
from heatsoak.output import announce, print_json


@with_groups
def analyze_command(
    paths: RecordingsArgument,
    read: ReadOptions,
    limits: LimitOptions,
    window_s: WindowOption = WINDOW_S,
    output_format: FormatOption = OutputFormat.TEXT,
    evidence: EvidenceOption = False,
) -> int:
    opened = read.open(paths, keeps_changed=True)
    findings = analyze(opened.recordings, window_s)
    show_findings(
        findings,
        opened.recordings,
        output_format,
        evidence=evidence,
        paths=paths if read == ReadOptions() else None,
    )
    return opened.exit_code(limits.exit_code(findings))


@with_groups
def compare_command(
    paths: RecordingsArgument,
    by: ByOption,
    read: ReadOptions,
    baseline: BaselineOption = None,
    each: Annotated[
        bool, typer.Option("--each", help="Also show each set of other conditions separately.")
    ] = False,
    anyway: AnywayOption = False,
    pool_models: Annotated[
        bool,
        typer.Option("--pool-models", help="Take means over drive models, not for each model."),
    ] = False,
    rank_by: Annotated[
        str | None,
        typer.Option(metavar="METRIC", help="Rank groups by this metric; default: end level."),
    ] = None,
    output_format: FormatOption = OutputFormat.TEXT,
) -> int:
    # the statistics take a while to load, and analyze needs none of them
    from heatsoak.analysis.comparison import NotAlikeError, compare
    from heatsoak.report.comparison import print_comparison

    opened = read.open(paths)
    try:
        comparison = compare(
            opened.recordings,
            by,
            baseline,
            anyway,
            rank_by=rank_by,
            pool_models=pool_models,
        )
    except NotAlikeError as error:
        for line in error.differences:
            announce(line)
        if not anyway:
            announce("no comparable runs are left; --anyway compares them regardless")
        return UsageError.exit_code
    for line in comparison.caveats:
        announce(f"warning: runs differ: {line}")
    if output_format is OutputFormat.JSON:
        for note in comparison.notes:
            announce(note)
        print_json([row.model_dump(mode="json") for row in comparison.rows])
    else:
        print_comparison(comparison, console(), each=each)
    return opened.exit_code()
