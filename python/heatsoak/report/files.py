"""Reports as files: which kind a name asks for, and writing them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import polars as pl

from heatsoak import analysis, writing
from heatsoak.analysis.health import are_readings, health_of
from heatsoak.analysis.names import Named, Names, names_of
from heatsoak.errors import UsageError
from heatsoak.exporter.table import write_spreadsheet
from heatsoak.output import Progress
from heatsoak.protocol import label_text
from heatsoak.recording import Recording
from heatsoak.recording.writer import check_free
from heatsoak.report import findings as told
from heatsoak.report import outcomes

if TYPE_CHECKING:
    from heatsoak.comparison import Comparison
    from heatsoak.report.page.contract import Page
    from heatsoak.sweep import FinishedSweep
    from heatsoak.twin.twin import Twin

_KINDS = {
    ".html": "page",
    ".htm": "page",
    ".png": "png",
    ".svg": "svg",
    ".csv": "csv",
    ".xml": "junit",
    ".jsonl": "ocp",
    ".md": "markdown",
    ".pdf": "pdf",
}
_OF_REPORTS = ("page", "pdf", "png", "svg", "csv", "markdown", "junit", "ocp")
#: What is made of a page.
_PAGES = ("page", "pdf", "png", "svg")
#: What a comparison, a sweep and a rack are written as.
OF_COMPARISONS = ("page", "png", "svg", "csv", "markdown")
OF_SWEEPS, OF_RACKS = ("page", "csv"), ("page", "csv", "junit", "ocp", "markdown")
#: Pictures have all recorded points.
_UNLIMITED = 1 << 40


@dataclass(frozen=True)
class ReportRequest:
    """The options of a report.

    Attributes:
        by: the condition to compare; None compares recordings that differ in a single one.
        baseline: the value that others are compared with.
        anyway: whether to compare recordings that were not run alike.
        title: None makes one from drive and protocol.
        fail_below_mb_s: a step whose mean is lower fails, in JUnit and OCP.
        twin: is shown beside the recordings, on a page; `progress` is told how far that is.
        comparison: what was compared already, in place of `by` and what belongs to it.
    """

    by: str | None = None
    baseline: str | None = None
    anyway: bool = False
    title: str | None = None
    fail_below_mb_s: float | None = None
    twin: "Twin | None" = None
    progress: Progress | None = None
    comparison: "Comparison | None" = None


@dataclass(frozen=True)
class Reported:
    """A report that was written.

    Attributes:
        headline: None for kinds without one.
        answer: that of all recordings, where the headline is what differs between them.
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
    """

    path: str
    kind: str
    bytes: int
    recordings: int
    headline: str | None = None
    answer: str | None = None
    schema_version: Literal[1] = 1


def kind_of(path: Path, of: Sequence[str] = _OF_REPORTS) -> str:
    """Return which kind of report a file's name asks for; raises UsageError for one not in `of`."""
    kind = _KINDS.get(path.suffix.lower())
    if kind is None or kind not in of:
        ending = f"no report ends in '{path.suffix}'" if path.suffix else "it has no suffix"
        *known, last = (next(end for end, each in _KINDS.items() if each == one) for one in of)
        raise UsageError(f"{path}: {ending}: use {', '.join(known)} or {last}")
    return kind


def check(
    path: Path,
    inputs: Iterable[Path] = (),
    *,
    force: bool,
    has_twin: bool = False,
    of: Sequence[str] = _OF_REPORTS,
) -> str:
    """Return the kind of report that `path` asks for; `inputs` are the files that it is of.

    Raises, before any work, UsageError if the report cannot be written there or shows no twin where
    one is to be shown, and ToolError if what writes that kind is not installed.
    """
    kind = kind_of(path, of)
    if has_twin:
        _require_page(path, kind)
    check_free([path], force=force, inputs=inputs)
    if kind == "ocp":
        outcomes.require_ocptv()
    if kind in ("page", "pdf"):
        from heatsoak.report.page import html

        html.Bundle.load()
        if kind == "pdf":
            html.browser()
    return kind


def _require_page(path: Path, kind: str) -> None:
    if kind not in ("page", "pdf"):
        raise UsageError(f"{path}: only a page shows a twin: use FILE.html, or leave out the twin")


def write_report(
    recordings: Sequence[Recording],
    findings: analysis.Findings,
    path: Path,
    wanted: ReportRequest | None = None,
    *,
    force: bool = True,
) -> Reported:
    """Write a report of `recordings`, whose `findings` are in the same order, to `path`.

    See :func:`check`. Raises UsageError for an unknown suffix, a comparison that cannot be made or
    a file that is not to be replaced, and ToolError if writing fails.
    """
    wanted = wanted or ReportRequest()
    kind = kind_of(path)
    if wanted.twin is not None:
        _require_page(path, kind)
    page = _page(recordings, findings, wanted, kind) if kind in _PAGES else None
    with writing.output(path, replace=force) as file:
        if page is None:
            names = names_of(recordings)
            if kind == "csv":
                is_health = are_readings(recordings)
                rows = health_of(findings.recordings, recordings) if is_health else ()
                table = pl.DataFrame(rows) if rows else findings_table(findings, names)
                write_spreadsheet(table, file)
            elif kind == "ocp":
                runs = outcomes.runs_of(findings, names)
                outcomes.write_ocp(runs, file, fail_below_mb_s=wanted.fail_below_mb_s)
            elif kind == "markdown":
                file.write(told.markdown(findings, recordings).encode())
            else:
                outcomes.write_junit(findings, names, file, fail_below_mb_s=wanted.fail_below_mb_s)
        elif kind in ("page", "pdf"):
            write_page(page, file, as_pdf=kind == "pdf")
        else:
            from heatsoak.report.picture import draw

            draw(page, file, kind)
        size = writing.size_of(file)
    reported = Reported(str(path), kind, size, len(recordings))
    if page is None:
        return reported
    answer, differs = findings.answer.sentence, [one.summary.text for one in page.comparisons]
    if page.headline.text in differs:
        return replace(reported, headline=page.headline.text, answer=answer)
    return replace(reported, headline=answer)


def write_comparison(
    recordings: Sequence[Recording], comparison: "Comparison", path: Path, *, force: bool = True
) -> Reported:
    """Write what a condition changes as a table in Markdown or CSV, or as a page or picture.

    Raises as :func:`write_report` does.
    """
    kind = kind_of(path, OF_COMPARISONS)
    if kind not in ("csv", "markdown"):
        wanted = ReportRequest(comparison=comparison)
        return write_report(recordings, analysis.analyze(recordings), path, wanted, force=force)
    from heatsoak.report.comparison import write_table

    with writing.output(path, replace=force) as file:
        write_table(comparison, file, as_csv=kind == "csv")
        size = writing.size_of(file)
    return Reported(str(path), kind, size, len(recordings), headline=comparison.summary.text)


def write_sweep(
    found: "FinishedSweep", path: Path, title: str | None = None, *, force: bool = True
) -> Reported:
    """Write a sweep as a page with maps, or its points as a table; see :func:`check`.

    Raises UsageError if a page cannot show it, and ToolError if writing fails.
    """
    with writing.output(path, replace=force) as file:
        kind = kind_of(path)
        if kind == "page":
            from heatsoak.report.page.sweep import sweep_page

            write_page(sweep_page(found, title), file)
        else:
            write_spreadsheet(found.points, file)
        size = writing.size_of(file)
    return Reported(str(path), kind, size, 0, headline=found.summary.answer)


def write_page(page: "Page", file: IO[bytes], *, as_pdf: bool = False) -> None:
    """Write a page into an open file; raises ToolError if no browser prints it."""
    from heatsoak.report.page import html

    made = html.render(page, html.Bundle.load())
    file.write(html.printed(made) if as_pdf else made.encode())


def _page(
    recordings: Sequence[Recording], findings: analysis.Findings, wanted: ReportRequest, kind: str
) -> "Page":
    # imported only for pages, since it loads the statistics of intervals and comparisons
    from heatsoak.report.page.make import make_page

    return make_page(
        recordings,
        findings,
        by=wanted.by,
        baseline=wanted.baseline,
        anyway=wanted.anyway,
        compared=wanted.comparison,
        title=wanted.title,
        data_budget=None if kind in ("page", "pdf") else _UNLIMITED,
        twin=wanted.twin,
        progress=wanted.progress,
    )


_STEP = {
    **dict.fromkeys(("step", "workload"), pl.String),
    **dict.fromkeys(("duration_s", "mean_mb_s", "mean_iops", "start_temp_c"), pl.Float64),
    **dict.fromkeys(("power_mean_w", "energy_j"), pl.Float64),
    **dict.fromkeys(("verdict", "what", "heat"), pl.String),
}
_CHANGING = [
    f"{when}_{what}" for what in ("mb_s", "iops", "lat_us") for when in ("before", "during")
]
_EPISODE = {
    **dict.fromkeys(("onset_s", "end_s"), pl.Float64),
    "direction": pl.String,
    **dict.fromkeys((*_CHANGING, "depth_pct"), pl.Float64),
    "cause": pl.String,
    "confidence": pl.Float64,
    "shape": pl.String,
    "fall_s": pl.Float64,
    "oscillates": pl.Boolean,
    "period_s": pl.Float64,
    "recovered": pl.Boolean,
    **dict.fromkeys(("written_gb_at_onset", "temp_c_at_onset"), pl.Float64),
}


def findings_table(findings: analysis.Findings, names: Names) -> pl.DataFrame:
    """Return the table: recording, drive, its conditions, the step, and the episode's number.

    The columns of conditions are named ``condition.`` plus their key.
    """
    keys = list(dict.fromkeys(key for one in findings.recordings for key in one.conditions))
    schema: dict[str, type[pl.DataType]] = {
        **dict.fromkeys(("recording", "path", "drive", "serial"), pl.String),
        **{f"condition.{key}": pl.String for key in keys},
        **_STEP,
        "episode": pl.Int64,
        **_EPISODE,
        "evidence": pl.String,
    }
    rows = [
        row
        for named, recording in zip(names.recordings, findings.recordings, strict=True)
        for row in _rows(recording, named)
    ]
    return pl.DataFrame([{key: row.get(key) for key in schema} for row in rows], schema=schema)


def _rows(recording: analysis.RecordingFindings, named: Named) -> Iterator[dict[str, Any]]:
    drive = recording.drive
    whose = {
        "recording": named.label,
        "path": recording.path,
        "drive": _text(drive.get("model") or drive.get("path")),
        "serial": _text(drive.get("serial")),
        **{f"condition.{key}": _text(value) for key, value in recording.conditions.items()},
    }
    rows = outcomes.rows_by_step(named, recording)
    for step in recording.steps:
        row = rows[step.step] | {"step": step.step}
        row["start_temp_c"] = row.get("temp_start_c")
        of_step = whose | {key: row.get(key) for key in _STEP}
        if not step.episodes:
            yield of_step | {"evidence": "; ".join(step.reasons) or None}
        for number, episode in enumerate(step.episodes, 1):
            of_episode = {key: getattr(episode, key) for key in _EPISODE}
            evidence = "; ".join(episode.evidence)
            yield of_step | {"episode": number} | of_episode | {"evidence": evidence}


def _text(value: Any) -> str | None:
    return None if value is None else label_text(value)
