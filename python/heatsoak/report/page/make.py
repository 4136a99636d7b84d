"""Makes everything on the page from recordings and findings."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel

import heatsoak
from heatsoak.analysis import Findings
from heatsoak.analysis.comparison import Comparison, NotAlikeError, compare
from heatsoak.analysis.names import Names, names_of
from heatsoak.errors import UsageError
from heatsoak.output import Progress
from heatsoak.protocol import Observation, Protocol
from heatsoak.protocol.phrases import drive_name, listed, said
from heatsoak.recording import Recording
from heatsoak.report.page import words
from heatsoak.report.page.bars import bar_charts
from heatsoak.report.page.contract import ChartSeries, Page, TwinSection, WorkloadSection
from heatsoak.report.page.curves import curve_charts
from heatsoak.report.page.facts import page_recording
from heatsoak.report.page.headline import headline
from heatsoak.report.page.lines import Chart, charts, unloaded_charts
from heatsoak.report.page.matrix import matrix
from heatsoak.report.page.packing import Packer, fit_to_size, pack
from heatsoak.report.page.tracks import QuantitySeries
from heatsoak.report.page.twin import TwinChart, twin_chart

if TYPE_CHECKING:
    # twins take a while to load, and every report would wait for them
    from heatsoak.twin import Twin


def comparisons(
    names: Names,
    by: str | None = None,
    baseline: str | None = None,
    *,
    anyway: bool = False,
    findings: Findings | None = None,
) -> tuple[list[Comparison], list[str]]:
    """Return the comparisons, and notes on what could not be compared.

    Without `by`, recordings that differ in exactly one condition are compared by it. Raises
    UsageError, as `compare` does, only for a comparison that was asked for.
    """
    recordings = [named.recording for named in names.recordings]
    if by is not None:
        return [compare(recordings, by, baseline, anyway, findings=findings)], []
    if len(names.keys) != 1:
        return [], []
    key = names.keys[0]
    try:
        return [compare(recordings, key, findings=findings)], []
    except NotAlikeError as error:
        return [], [f"not compared by {key}: {line}" for line in _first(error.differences)]
    except UsageError:  # only one value of it is known
        return [], []


def _first(lines: Sequence[str]) -> list[str]:
    more = [f"and {len(lines) - 3} more"] if len(lines) > 3 else []
    return [*lines[:3], *more]


#: Bytes of base64 that series may take; less if the rest is so large that the page would exceed
#: `PAGE_BYTES`, including its program; but never less than the minimum.
DATA_BUDGET, MIN_DATA = 1_100_000, 150_000
PAGE_BYTES, PROGRAM_BYTES = 1_500_000, 180_000
#: About what the page takes for each series besides its data.
_SERIES_BYTES = 300


def make_page(
    recordings: Sequence[Recording],
    findings: Findings,
    *,
    by: str | None = None,
    baseline: str | None = None,
    anyway: bool = False,
    title: str | None = None,
    data_budget: int | None = None,
    twin: "Twin | None" = None,
    progress: Progress | None = None,
) -> Page:
    """Return the page of `recordings`, whose `findings` are in the same order.

    `by` and `baseline` ask for a comparison, as for :func:`heatsoak.analysis.comparison.compare`;
    `data_budget` is how many bytes of base64 the series may take; None keeps the page's file within
    `PAGE_BYTES`. A `twin` is shown beside the recordings, and `progress` told how far its maps are.
    Raises UsageError for a comparison that cannot be made, and for a twin that follows none of them
    or is of another drive.
    """
    names = names_of(recordings)
    found = findings.recordings
    steps = charts(names, found)
    drawn: list[Chart] = [*steps, *unloaded_charts(names, found)]
    curves = curve_charts(names, found)
    compared, notes = comparisons(names, by, baseline, anyway=anyway, findings=findings)
    page_recordings = [
        page_recording(named, one) for named, one in zip(names.recordings, found, strict=True)
    ]
    bars = bar_charts(names, found, steps, curves)
    beside = None if twin is None else twin_chart(twin, names, found, progress)
    if data_budget is None:
        maps = [] if beside is None else beside.maps
        parts = [*page_recordings, *compared, *bars, *curves, *maps]
        left = PAGE_BYTES - PROGRAM_BYTES - _size(parts, drawn, beside)
        data_budget = max(MIN_DATA, min(DATA_BUDGET, left))
    workloads, shown_twin, data = _packed(drawn, beside, data_budget)
    loaded = workloads[: len(steps)]
    if any(map(_is_thinned, _tracks(workloads, shown_twin))):
        notes.append(
            "Charts with fewer points than were recorded keep the minimum and maximum of each "
            "stretch: no dip or peak is lost."
        )
    return Page(
        title=title or _title(names),
        made_by=f"heatsoak {heatsoak.__version__}",
        made_unix_s=time.time(),
        headline=headline(names, findings, loaded, compared),
        recordings=page_recordings,
        workloads=workloads,
        matrix=matrix(names, found, loaded),
        bars=bars,
        curves=curves,
        comparisons=compared,
        twin=shown_twin,
        notes=notes,
        data=data,
    )


def _size(parts: Sequence[BaseModel], drawn: Sequence[Chart], beside: TwinChart | None) -> int:
    """About how many bytes a page takes besides its series."""
    lines = [one for chart in drawn for one in chart.lines]
    counted = [histogram for one in lines for histogram in one.latency]
    texts = sum(len(part.model_dump_json()) for part in [*parts, *counted])
    count = sum(len(one.series) for one in lines) + (len(beside.series) if beside else 0)
    return texts + _SERIES_BYTES * count


def _packed(
    drawn: Sequence[Chart], beside: TwinChart | None, budget: int
) -> tuple[list[WorkloadSection], TwinSection | None, str]:
    """The charts and the twin with their series packed, and the packed series."""
    of_charts = [course for chart in drawn for one in chart.lines for course in one.series]
    every = fit_to_size([*of_charts, *(beside.series if beside else [])], budget)
    packer = Packer()

    def packed(course: QuantitySeries) -> ChartSeries:
        return pack(course, every[course.importance], packer)

    workloads = [chart.workload([one.line(packed) for one in chart.lines]) for chart in drawn]
    section = None if beside is None else beside.section(packed)
    return workloads, section, packer.data()


def _tracks(workloads: Sequence[WorkloadSection], twin: TwinSection | None) -> list[ChartSeries]:
    found = [track for one in workloads for line in one.lines for track in line.tracks]
    for line in twin.lines if twin else []:
        found += [line.measured, line.reported, line.hidden, line.low, line.high]
    return found


def _is_thinned(track: ChartSeries) -> bool:
    return track.t.count < track.samples


def _title(names: Names) -> str:
    metas = [named.recording.meta for named in names.recordings]
    protocols = list(dict.fromkeys(_protocol(meta.protocol) for meta in metas))
    what = protocols[0] if len(protocols) == 1 else words.counted(len(protocols), "protocol")
    if not any(meta.drive.get("model") or meta.drive.get("path") for meta in metas):
        return f"{words.title_of(what)}: {listed(_files(names))}"
    drives = list(dict.fromkeys(drive_name(meta.drive) for meta in metas))
    drive = drives[0] if len(drives) == 1 else words.counted(len(drives), "drive")
    return f"{drive}: {what}"


def _protocol(protocol: Protocol | Observation) -> str:
    if isinstance(protocol, Protocol):
        return protocol.title or protocol.name
    return protocol.name if protocol.name.endswith("log") else f"{protocol.name} log"


def _files(names: Names) -> list[str]:
    """The names of logs; if there are many, only the first."""
    files = list(dict.fromkeys(said(named.recording.path.name) for named in names.recordings))
    more = [f"{len(files) - 3} more"] if len(files) > 4 else []
    return [*files[:3], *more] if more else files
