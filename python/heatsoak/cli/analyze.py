"""``heatsoak analyze``, ``compare`` and ``report``: what recordings and logs show."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from heatsoak.analysis import analyze
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.cli import common
from heatsoak.errors import UsageError
from heatsoak.output import Console, Text, announce, print_json, utf8_text
from heatsoak.recording.meta import META
from heatsoak.words import size_text

if TYPE_CHECKING:
    from heatsoak.report.files import Reported
    from heatsoak.twin.twin import Twin


def analyze_command(
    paths: common.RecordingsArgument,
    read: common.ReadOptions,
    limits: common.LimitOptions,
    window_s: common.WindowOption = WINDOW_S,
    output_format: common.FormatOption = "text",
    evidence: common.EvidenceOption = False,
    reference: common.ReferenceOption = None,
) -> int:
    references = common.referred_to(reference)
    opened = read.open(paths, keeps_changed=True)
    findings = analyze(opened.recordings, window_s, references)
    common.show_findings(
        findings,
        opened.recordings,
        output_format,
        evidence=evidence,
        paths=paths if read == common.ReadOptions() else None,
    )
    return opened.exit_code(limits.exit_code(findings))


def compare_command(
    paths: common.RecordingsArgument,
    by: Annotated[str, common.BY],
    read: Annotated[common.ReadOptions, common.RARE],
    baseline: common.BaselineOption = None,
    each: bool = common.option(
        "--each", "Also show each set of other conditions separately.", is_rare=True, default=False
    ),
    anyway: common.AnywayOption = False,
    pool_models: bool = common.option(
        "--pool-models",
        "Take means over drive models, not for each model.",
        is_rare=True,
        default=False,
    ),
    rank_by: str | None = common.option(
        "METRIC", "Rank groups by this metric; default: end level.", is_rare=True, default=None
    ),
    output: Path | None = common.option(
        "--output -o FILE", "Write the table: .md, .csv, .html, .png or .svg.", default=None
    ),
    force: common.ForceOption = False,
    output_format: common.FormatOption = "text",
) -> int:
    # the statistics take a while to load, and analyze needs none of them
    from heatsoak.comparison import NotAlikeError, compare
    from heatsoak.report import files
    from heatsoak.report.comparison import print_comparison

    if output is not None:
        files.check(output, paths, force=force, of=files.OF_COMPARISONS)
    opened = read.open(paths)
    try:
        comparison = compare(
            opened.recordings, by, baseline, anyway, rank_by=rank_by, pool_models=pool_models
        )
    except NotAlikeError as error:
        for line in error.differences:
            announce(line)
        if not anyway:
            announce("no comparable runs are left; --anyway compares them regardless")
        return UsageError.exit_code
    for line in comparison.caveats:
        announce(f"warning: runs differ: {line}")
    if output is not None:  # what is written is not printed as well
        written = files.write_comparison(opened.recordings, comparison, output, force=force)
    if output_format == "json":
        for note in comparison.notes:
            announce(note)
        print_json([row.model_dump(mode="json") for row in comparison.rows])
    elif output is not None:
        _print_written(asdict(written), common.console())
    else:
        print_comparison(comparison, common.console(), each=each)
    return opened.exit_code()


def _print_written(written: dict[str, Any], out: Console) -> None:
    for sentence in filter(None, (written["headline"], written["answer"])):
        out.print(Text(sentence))
    size = size_text(written["bytes"])
    out.print(Text(f"{written['path']}: {written['kind']}, {size}"), soft_wrap=True)


def report_command(
    context: typer.Context,
    read: Annotated[common.ReadOptions, common.RARE],
    limits: common.LimitOptions,
    paths: Annotated[
        list[Path],
        common.argument(
            "RECORDING|FILE|SWEEP...",
            "Recordings, directories of recordings, logs of other tools, or one sweep.",
        ),
    ],
    output: Path = common.option(
        "--output -o FILE",
        "File to write: .html or .pdf page, .png, .svg, .md, .csv, JUnit .xml, OCP .jsonl.",
        default=Path("report.html"),
    ),
    by: Annotated[str | None, common.BY] = None,
    baseline: common.BaselineOption = None,
    anyway: common.AnywayOption = False,
    title: str | None = common.option("", "Title of the report.", default=None),
    twin: Path | None = common.option(
        "TWIN", "Show on the page what a twin (heatsoak fit) makes of the recordings.", default=None
    ),
    force: common.ForceOption = False,
    window_s: common.WindowOption = WINDOW_S,
    output_format: common.FormatOption = "text",
) -> int:
    # these take a while to load, and help needs none of them
    from heatsoak.report import files

    if any(map(_is_sweep, paths)):
        _require_for_sweep(context, paths)
        written = _of_sweep(paths[0], output, title, force=force)
        common.show(asdict(written), output_format, _print_written)
        return 0
    if by is None and (baseline is not None or anyway):
        word = "--anyway" if baseline is None else f"--baseline {baseline}"
        raise UsageError(f"{word}: needs --by with the condition to compare by")
    inputs = [*paths, *filter(None, (twin, read.power))]
    files.check(output, inputs, force=force, has_twin=twin is not None)
    shown = None if twin is None else _loaded(twin)
    opened = read.open(paths)
    recordings = opened.recordings
    findings = analyze(recordings, window_s)
    wanted = files.ReportRequest(
        by, baseline, anyway, title and utf8_text(title), limits.fail_below, shown
    )
    with common.progress_bar(stays=False) if shown is not None else nullcontext() as progress:
        written = files.write_report(
            recordings, findings, output, replace(wanted, progress=progress), force=force
        )
    common.show(asdict(written), output_format, _print_written)
    return opened.exit_code(limits.exit_code(findings))


#: What also applies to a sweep.
_OF_SWEEPS = {"paths", "output", "title", "force", "output_format"}


def _is_sweep(path: Path) -> bool:
    # a look at a directory is quick, and what reads a sweep is not
    return any(path.glob("points/part-*.parquet")) and not (path / META).exists()


def _require_for_sweep(context: typer.Context, paths: Sequence[Path]) -> None:
    """Raise UsageError for what cannot be said of a sweep."""
    if len(paths) > 1:
        path = next(filter(_is_sweep, paths))
        raise UsageError(f"{path}: is a sweep: report it without recordings, one at a time")
    for option in context.command.params:
        name = option.name or ""
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE" and name not in _OF_SWEEPS:
            raise UsageError(f"{option.opts[0]}: is for recordings, and {paths[0]} is a sweep")


def _of_sweep(path: Path, output: Path, title: str | None, *, force: bool) -> "Reported":
    from heatsoak.report import files
    from heatsoak.sweep import FinishedSweep

    files.check(output, force=force, of=files.OF_SWEEPS)
    found = FinishedSweep.load(path)
    return files.write_sweep(found, output, title and utf8_text(title), force=force)


def _loaded(path: Path) -> "Twin":
    # takes a while to load, and every command loads this module
    from heatsoak.twin.twin import Twin

    return Twin.load(path)
