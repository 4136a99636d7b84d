"""Charts for articles: each workload's throughput over its temperatures and power: PNG, SVG."""

import textwrap
import warnings
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsoak.analysis.series import Array
from heatsoak.errors import ToolError
from heatsoak.output import printable
from heatsoak.report.page.contract import ChartQuantity, ChartSeries, Line, Page, WorkloadSection
from heatsoak.report.page.packing import decoded, unpacked
from heatsoak.report.page.palette import LineStyle, line_styles, palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_MISSING = "pictures need matplotlib: pip install 'heatsoak[plot]', or name a .html file with -o"
_SHADE = "light"
#: The panels of a workload, from the top, with their heights.
_PANELS: tuple[tuple[tuple[ChartQuantity, ...], float], ...] = (
    (("throughput", "iops", "latency"), 3.0),
    (("temperature",), 1.4),
    (("power",), 1.2),
)
_WIDTH_IN, _HEIGHT_IN, _LEGEND_LINE_IN = 7.0, 1.05, 0.22
_DPI = 150
#: A picture with more workloads would not be readable.
_MAX_WORKLOADS = 12
#: With up to this many lines, episodes are drawn as bands; with more, as a mark at each onset.
_MAX_BANDED = 3
_MARK: dict[str, Any] = {
    "marker": "v",
    "markersize": 5,
    "markeredgecolor": "white",
    "linestyle": "none",
}
_HATCHES = {"rising": "//", "falling": "\\\\", "level": "--", "upright": "||", "crossed": "++"}


def draw(page: Page, path: Path, kind: str) -> None:
    """Draw the page's workloads into `path`; `kind` is ``png`` or ``svg``.

    Raises ToolError if matplotlib is missing, or if there is nothing to draw.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ToolError(_MISSING) from error
    shown = [w for w in page.workloads if _tracks(w)][:_MAX_WORKLOADS]
    if not shown:
        raise ToolError("there is nothing to draw: no throughput was recorded")
    with matplotlib.rc_context(_look()), warnings.catch_warnings():
        # a label may have letters that no installed font has: they are drawn as boxes
        warnings.filterwarnings("ignore", message="Glyph")
        figure = _figure(page, shown, Figure)
        # no date, so that the same recordings give the same file
        figure.savefig(
            path, format=kind, dpi=_DPI, metadata={"Date": None} if kind == "svg" else None
        )


def _look() -> Any:
    colors = palette()[_SHADE]
    return {
        "font.family": ["sans-serif"],
        "font.size": 9,
        "axes.edgecolor": colors["axis"],
        "axes.labelcolor": colors["soft"],
        "axes.titlecolor": colors["ink"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": colors["grid"],
        "text.color": colors["ink"],
        # labels are text, not formulas
        "text.parse_math": False,
        "xtick.color": colors["soft"],
        "ytick.color": colors["soft"],
        "svg.hashsalt": "heatsoak",
        "hatch.linewidth": 0.6,
    }


def _figure(page: Page, shown: Sequence[WorkloadSection], make: type["Figure"]) -> "Figure":
    styles = line_styles(page, _SHADE)
    columns = 1 if len(shown) == 1 else 2
    rows = -(-len(shown) // columns)
    handles = [*_lines(page, shown, styles), *_marks(page, shown)]
    legend_in = _LEGEND_LINE_IN * (-(-len(handles) // (2 * columns)) + 2)
    block_in = _HEIGHT_IN * sum(height for _, height in _PANELS)
    size_in = (_WIDTH_IN * columns, block_in * rows + 0.8 + legend_in)
    figure = make(figsize=size_in, layout="constrained", facecolor=palette()[_SHADE]["paper"])
    figure.suptitle(
        _short(page.title, 55 * columns), fontsize=13, fontweight="bold", x=0.01, ha="left"
    )
    blocks = figure.subfigures(rows, columns, squeeze=False)
    data = unpacked(page.data)
    for block, workload in zip(blocks.flat, shown, strict=False):
        _Block(workload, page, styles, data).draw(block)
    caption = textwrap.fill(_short(f"{page.headline.text} ({page.made_by})", 400), 95 * columns)
    figure.legend(
        handles=handles,
        title=caption,
        alignment="left",
        loc="outside lower left",
        ncols=2 * columns,
        frameon=False,
    )
    return figure


def _lines(
    page: Page, shown: Sequence[WorkloadSection], styles: Sequence[LineStyle]
) -> Iterator["Line2D"]:
    """The legend's lines, one per colour; none if there is only one colour."""
    from matplotlib.lines import Line2D

    drawn = dict.fromkeys(line.recording for workload in shown for line in workload.lines)
    by_color = {page.recordings[number].color: number for number in reversed(drawn)}
    for _, number in sorted(by_color.items()) if len(by_color) > 1 else ():
        label = _short(page.recordings[number].label, 40)
        yield Line2D([], [], label=label, **_drawn_as(styles[number]))


def _marks(page: Page, shown: Sequence[WorkloadSection]) -> Iterator["Line2D"]:
    """The legend's marks, if any."""
    from matplotlib.lines import Line2D

    causes = palette()["causes"]
    crowded = [workload for workload in shown if len(workload.lines) > _MAX_BANDED]
    for cause in dict.fromkeys(cause for workload in crowded for cause in _causes(page, workload)):
        look = causes.get(cause, causes["unknown"])
        yield Line2D([], [], label=f"falls: {look['label']}", color=look[_SHADE], **_MARK)


def _drawn_as(style: LineStyle) -> dict[str, Any]:
    pattern = (0, style.dashes) if style.dashes else "solid"
    return {"color": style.color, "linestyle": pattern, "linewidth": 1.2}


def _tracks(workload: WorkloadSection) -> list[ChartSeries]:
    return list(chain.from_iterable(line.tracks for line in workload.lines))


class _Block:
    """One workload's charts, stacked."""

    def __init__(
        self, workload: WorkloadSection, page: Page, styles: Sequence[LineStyle], columns: bytes
    ) -> None:
        self._workload = workload
        self._page = page
        self._styles = styles
        self._columns = columns

    def draw(self, figure: Any) -> None:
        panels = [
            (of, height)
            for of, height in _PANELS
            if any(_of(line, of) is not None for line in self._workload.lines)
        ]
        axes = figure.subplots(
            len(panels),
            1,
            sharex=True,
            squeeze=False,
            gridspec_kw={"height_ratios": [height for _, height in panels]},
        )[:, 0]
        for axis, (quantities, _) in zip(axes, panels, strict=True):
            self._panel(axis, quantities)
        axes[0].set_title(
            f"{_short(self._workload.title, 50)}  ({_short(self._workload.detail, 60)})",
            loc="left",
            fontsize=10,
        )
        axes[-1].set_xlabel("seconds from the start of the step")
        longest = max(self._series(track)[0].max() for track in _tracks(self._workload))
        axes[-1].set_xlim(0, longest)
        self._episodes(axes)

    def _panel(self, axis: "Axes", quantities: Sequence[ChartQuantity]) -> None:
        for line in self._workload.lines:
            track = _of(line, quantities)
            if track is None:
                continue
            t_s, values = self._series(track)
            axis.plot(t_s, values, **_drawn_as(self._styles[line.recording]))
            axis.set_ylabel(_axis_label(track))
        if quantities[0] != "temperature":
            axis.set_ylim(bottom=0)

    def _series(self, track: ChartSeries) -> tuple[Array, Array]:
        """Times and values; a NaN breaks the line where samples are missing."""
        t_s, values = decoded(self._columns, track.t), decoded(self._columns, track.v)
        gaps = np.flatnonzero(np.diff(t_s) > track.gap_s) + 1
        return np.insert(t_s, gaps, t_s[gaps]), np.insert(values, gaps, np.nan)

    def _episodes(self, axes: Sequence["Axes"]) -> None:
        """Draw episodes: labelled bands for few lines, marks at the onsets for many."""
        causes = palette()["causes"]
        lines = self._workload.lines
        for line in lines:
            step = self._page.recordings[line.recording].findings.steps[line.step]
            for episode in step.episodes:
                look = causes.get(episode.cause, causes["unknown"])
                if len(lines) > _MAX_BANDED:
                    level = (
                        episode.before_mb_s or episode.before_iops or episode.before_lat_us or 0.0
                    )
                    axes[0].plot(episode.onset_s, level, color=look[_SHADE], **_MARK)
                    continue
                for axis in axes:
                    axis.axvspan(
                        episode.onset_s,
                        episode.end_s,
                        facecolor=look[_SHADE],
                        alpha=0.1,
                        edgecolor=look[_SHADE],
                        hatch=_HATCHES.get(look["hatch"]),
                        linewidth=0,
                    )
                axes[0].annotate(
                    f"{look['label']}: {episode.depth_pct:.0f} % after {episode.onset_s:.0f} s",
                    (episode.onset_s, 0.02),
                    xycoords=("data", "axes fraction"),
                    xytext=(3, 2),
                    textcoords="offset points",
                    fontsize=8,
                    color=look[_SHADE],
                )


def _causes(page: Page, workload: WorkloadSection) -> Iterator[str]:
    for line in workload.lines:
        step = page.recordings[line.recording].findings.steps[line.step]
        yield from (episode.cause for episode in step.episodes)


def _of(line: Line, quantities: Sequence[ChartQuantity]) -> ChartSeries | None:
    """A line's first track, by the first of these quantities that it has."""
    for quantity in quantities:
        for track in line.tracks:
            if track.quantity == quantity:
                return track
    return None


def _axis_label(track: ChartSeries) -> str:
    name = "throughput" if track.quantity == "throughput" else track.quantity
    return f"{name}, {track.unit}" if track.quantity != "iops" else "IOPS"


def _short(text: str, most: int) -> str:
    """The text as one line of limited length."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"
