"""Charts for articles: each workload's throughput over its temperatures and power: PNG, SVG.

The panels are those that the page shows at once.
"""

import math
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from heatsoak.analysis import Episode
from heatsoak.analysis.series import Array
from heatsoak.errors import ToolError
from heatsoak.output import printable
from heatsoak.protocol.phrases import shortened
from heatsoak.report.page.contract import ChartQuantity, ChartSeries, Line, Page, WorkloadSection
from heatsoak.report.page.packing import decoded, unpacked
from heatsoak.report.page.palette import LineStyle, beside, line_styles, palette
from heatsoak.units import format_duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_MISSING = "pictures need matplotlib: pip install matplotlib, or name a .html file with -o"
_SHADE = "light"
#: Heights of the first panel, which says what the chart is about, and of the others.
_FIRST, _OTHER = 3.0, 1.3
#: With more measurements in the first panel, only the first of them is drawn, as in the others.
_MAX_TOLD_APART = 3
_WIDTH_IN, _HEIGHT_IN, _LEGEND_LINE_IN = 7.0, 1.05, 0.22
#: The title, and each line of the answer below it.
_TITLE_IN, _HEAD_LINE_IN = 0.36, 0.19
_DPI = 150
#: Letters of a name in the legend, and up to how many leave room for two columns of names.
_MAX_LEGEND, _MAX_HALF = 80, 40
#: Units of the horizontal axis, in seconds, and up to which length each is used.
_TIMES = (("seconds", 1.0, 3600.0), ("minutes", 60.0, 36_000.0), ("hours", 3600.0, math.inf))
#: A picture with more workloads would not be readable.
_MAX_WORKLOADS = 12
#: With more lines, the onsets of episodes are marked but not labelled.
_MAX_LABELLED = 3
#: Labels of episodes: how many above each other, their height, and about how wide a letter is.
_MAX_LABEL_ROWS, _LABEL_ROW_PT, _LETTER_IN = 6, 11, 0.062
#: Lines whose median is below this share of the axis are low.
_LOW = 0.3
#: About how wide axes are.
_AXIS_IN = 6.2
#: Letters of the title, the answer and a workload's title in the width of one column.
_TITLE_LETTERS, _HEAD_LETTERS, _BLOCK_LETTERS = 55, 88, 80
_MARK: dict[str, Any] = {
    "marker": "v",
    "markersize": 6,
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
    # long names need all of a column
    is_long = any(len(str(handle.get_label())) > _MAX_HALF for handle in handles)
    legend_columns = columns if is_long else 2 * columns
    legend_in = _LEGEND_LINE_IN * (-(-len(handles) // legend_columns) + 2)
    block_in = _HEIGHT_IN * max(sum(_heights(workload)) for workload in shown)
    said = textwrap.wrap(_short(page.headline.text, 400), _HEAD_LETTERS * columns)
    titles = textwrap.wrap(_short(page.title, 200), _TITLE_LETTERS * columns)
    title_in = _TITLE_IN * len(titles)
    head_in = title_in + _HEAD_LINE_IN * len(said)
    body_in = block_in * rows + legend_in
    figure = make(
        figsize=(_WIDTH_IN * columns, head_in + body_in),
        layout="constrained",
        facecolor=palette()[_SHADE]["paper"],
    )
    head, body = figure.subfigures(2, 1, height_ratios=[head_in, body_in], squeeze=False)[:, 0]
    head.text(0.01, 0.95, "\n".join(titles), fontsize=13, fontweight="bold", va="top")
    head.text(0.01, 1 - title_in / head_in, "\n".join(said), fontsize=10, va="top")
    blocks = body.subfigures(rows, columns, squeeze=False)
    data = unpacked(page.data)
    for block, workload in zip(blocks.flat, shown, strict=False):
        _Block(workload, page, styles, data).draw(block)
    figure.legend(
        handles=handles,
        title=_origin(page, shown),
        alignment="left",
        loc="outside lower left",
        ncols=legend_columns,
        frameon=False,
    )
    return figure


def _origin(page: Page, shown: Sequence[WorkloadSection]) -> str:
    every = len(page.workloads)
    return page.made_by + (f"; {len(shown)} of {every} workloads" if len(shown) < every else "")


def _lines(
    page: Page, shown: Sequence[WorkloadSection], styles: Sequence[LineStyle]
) -> Iterator["Line2D"]:
    """The legend's lines, one per style; none if there is only one."""
    from matplotlib.lines import Line2D

    drawn = dict.fromkeys(line.recording for workload in shown for line in workload.lines)
    by_style = {styles[number]: number for number in reversed(drawn)}
    for number in sorted(by_style.values()) if len(by_style) > 1 else ():
        label = shortened(_short(page.recordings[number].label, 200), _MAX_LEGEND)
        yield Line2D([], [], label=label, **_drawn_as(styles[number]))


def _marks(page: Page, shown: Sequence[WorkloadSection]) -> Iterator["Line2D"]:
    """The legend's marks, if any."""
    from matplotlib.lines import Line2D

    causes = palette()["causes"]
    crowded = [workload for workload in shown if len(workload.lines) > 1]
    for cause in dict.fromkeys(cause for workload in crowded for cause in _causes(page, workload)):
        look = causes.get(cause, causes["unknown"])
        yield Line2D([], [], label=f"falls: {cause}", color=look[_SHADE], **_MARK)


def _drawn_as(style: LineStyle) -> dict[str, Any]:
    pattern = (0, style.dashes) if style.dashes else "solid"
    return {"color": style.color, "linestyle": pattern, "linewidth": 1.2}


def _heights(workload: WorkloadSection) -> list[float]:
    """The heights of a workload's panels, from the top."""
    return [_FIRST, *[_OTHER] * (len(workload.shown) - 1)]


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
        from matplotlib.ticker import MaxNLocator

        heights = _heights(self._workload)
        axes = figure.subplots(
            len(heights),
            1,
            sharex=True,
            squeeze=False,
            gridspec_kw={"height_ratios": heights},
        )[:, 0]
        for axis, quantity in zip(axes, self._workload.shown, strict=True):
            self._panel(axis, quantity, is_first=axis is axes[0])
        title, detail = _short(self._workload.title, 70), _short(self._workload.detail, 60)
        gap = "\n" if len(title) + len(detail) > _BLOCK_LETTERS else "  "
        axes[0].set_title(f"{title}{gap}({detail})", loc="left", fontsize=10)
        longest_s = max(self._series(track)[0].max() for track in _tracks(self._workload))
        unit, unit_s = next((unit, each_s) for unit, each_s, to_s in _TIMES if longest_s < to_s)
        locator = MaxNLocator(8, steps=[1, 2, 3, 5, 6, 10])
        ticks = np.asarray(locator.tick_values(0, longest_s / unit_s))
        began = "step" if any(line.step is not None for line in self._workload.lines) else "log"
        axes[-1].set_xlabel(f"{unit} from the start of the {began}")
        axes[-1].set_xticks(ticks * unit_s, [f"{tick:g}" for tick in ticks])
        axes[-1].set_xlim(0, longest_s)
        self._episodes(axes)

    def _panel(self, axis: "Axes", quantity: ChartQuantity, *, is_first: bool) -> None:
        lines = self._workload.lines
        for line in lines:
            tracks = [track for track in line.tracks if track.quantity == quantity]
            if len(lines) > 1 or not is_first or len(tracks) > _MAX_TOLD_APART:
                tracks = tracks[:1]
            for place, track in enumerate(tracks):
                t_s, values = self._series(track)
                style = beside(self._styles[line.recording], place, _SHADE)
                axis.plot(t_s, values, label=track.label, **_drawn_as(style))
                axis.set_ylabel(_axis_label(track))
            if len(tracks) > 1:
                axis.legend(loc="best", fontsize=8, edgecolor="none")
        if quantity != "temperature":
            axis.set_ylim(bottom=0)

    def _series(self, track: ChartSeries) -> tuple[Array, Array]:
        """Times and values; a NaN breaks the line where samples are missing."""
        t_s, values = decoded(self._columns, track.t), decoded(self._columns, track.v)
        gaps = np.flatnonzero(np.diff(t_s) > track.gap_s) + 1
        return np.insert(t_s, gaps, t_s[gaps]), np.insert(values, gaps, np.nan)

    def _episodes(self, axes: Sequence["Axes"]) -> None:
        """Draw episodes: a band each for one line, a mark at each onset for several."""
        causes = palette()["causes"]
        lines = self._workload.lines
        labels = []
        for line in lines:
            for episode in _episodes(self._page, line):
                look = causes.get(episode.cause, causes["unknown"])
                if len(lines) > 1:
                    level = (
                        episode.before_mb_s or episode.before_iops or episode.before_lat_us or 0.0
                    )
                    axes[0].plot(episode.onset_s, level, color=look[_SHADE], **_MARK)
                else:
                    for axis in axes:
                        _band(axis, episode, look)
                name = f"{shortened(printable(line.label), 24)}, " if len(lines) > 1 else ""
                after = format_duration(episode.onset_s)
                fall = f"{episode.cause}, {episode.depth_pct:.0f} % after {after}"
                labels.append((episode.onset_s, name + fall, look[_SHADE]))
        if len(lines) <= _MAX_LABELLED:
            _stacked(axes[0], sorted(labels), is_low=self._is_low(axes[0]))

    def _is_low(self, axis: "Axes") -> bool:
        """Whether the lines run mostly along the bottom, where labels would cover them."""
        values = np.concatenate([line.get_ydata() for line in axis.get_lines()])
        return bool(np.nanmedian(values) < _LOW * axis.get_ylim()[1])


def _band(axis: "Axes", episode: Episode, look: Mapping[str, str]) -> None:
    axis.axvspan(
        episode.onset_s,
        episode.end_s,
        facecolor=look[_SHADE],
        alpha=0.1,
        edgecolor=look[_SHADE],
        hatch=_HATCHES.get(look["hatch"]),
        linewidth=0,
    )


def _stacked(axis: "Axes", labels: Sequence[tuple[float, str, str]], *, is_low: bool) -> None:
    """Write labels beside their onsets, in rows so that none covers another.

    The rows go up from the bottom, or down from the top if the lines are low.
    """
    _, longest_s = axis.get_xlim()
    ends = [-1.0] * _MAX_LABEL_ROWS
    for onset_s, text, color in labels:
        width = len(text) * _LETTER_IN / _AXIS_IN
        start = onset_s / longest_s
        # near the end there is only room to the left
        is_left = start + width > 1
        if is_left:
            start = max(0.0, start - width)
        row = next((row for row, end in enumerate(ends) if end < start), None)
        if row is None:
            continue
        ends[row] = start + width
        axis.annotate(
            text,
            (onset_s, 0.98 if is_low else 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(-6 if is_left else 6, (2 + _LABEL_ROW_PT * row) * (-1 if is_low else 1)),
            verticalalignment="top" if is_low else "bottom",
            textcoords="offset points",
            horizontalalignment="right" if is_left else "left",
            fontsize=8,
            color=color,
            bbox={
                "facecolor": palette()[_SHADE]["paper"],
                "alpha": 0.8,
                "pad": 0.6,
                "linewidth": 0,
            },
        )


def _causes(page: Page, workload: WorkloadSection) -> Iterator[str]:
    for line in workload.lines:
        yield from (episode.cause for episode in _episodes(page, line))


def _episodes(page: Page, line: Line) -> list[Episode]:
    if line.step is None:
        return []
    return page.recordings[line.recording].findings.steps[line.step].episodes


def _axis_label(track: ChartSeries) -> str:
    name = "throughput" if track.quantity == "throughput" else track.quantity
    return f"{name}, {track.unit}" if track.quantity != "iops" else "IOPS"


def _short(text: str, most: int) -> str:
    """The text as one line of limited length."""
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else f"{line[: most - 1]}…"
