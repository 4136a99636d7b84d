"""Charts for articles: PNG, SVG.

They are those that the page shows at once: what a condition changes; curves over a parameter in
place of the steps that they are made of; where a protocol is about consistency, each second's IOPS
and the end of them; and each workload's throughput over its temperatures and power.
"""

import math
import textwrap
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from heatsoak import words
from heatsoak.analysis import Episode
from heatsoak.analysis.series import Array
from heatsoak.errors import ToolError
from heatsoak.output import printable
from heatsoak.report.page import contract
from heatsoak.report.page.lines import palette
from heatsoak.report.page.packing import decoded, unpacked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_SHADE = "light"
#: Heights of the first panel, which says what the chart is about, and of the others.
_FIRST, _OTHER = 3.0, 1.3
#: The height of a row of changes, and how many are drawn.
_CHANGE, _MAX_CHANGES = 0.21, 40
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
#: A picture with more charts would not be readable, nor an axis with more marks.
_MAX_BLOCKS, _MAX_TICKS = 12, 12
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
#: What stands for a hatching of the page, and the mark of an onset of that cause: shapes differ,
#: since not everybody tells all colours apart.
_PATTERNS = {
    **{"rising": ("//", "v"), "falling": ("\\\\", "^"), "level": ("--", "s")},
    **{"upright": ("||", "D"), "crossed": ("++", "X"), "dotted": ("..", "o")},
}
_PLAIN = (None, "P")


def draw(page: contract.Page, file: IO[bytes], kind: str) -> None:
    """Draw the page's workloads into `file`; `kind` is ``png`` or ``svg``.

    Raises ToolError if there is nothing to draw.
    """
    import matplotlib  # takes long to load
    from matplotlib.figure import Figure

    blocks = list(_blocks(page))
    if not blocks:
        raise ToolError("there is nothing to draw: no throughput was recorded")
    with matplotlib.rc_context(_look()), warnings.catch_warnings():
        # a label may have letters that no installed font has: they are drawn as boxes
        warnings.filterwarnings("ignore", message="Glyph")
        figure = _figure(page, blocks, Figure)
        # no date, so that the same recordings give the same file
        figure.savefig(
            file, format=kind, dpi=_DPI, metadata={"Date": None} if kind == "svg" else None
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


def _blocks(page: contract.Page) -> Iterator["_Block"]:
    """What the page is about first; steps that a curve is made of are not drawn again."""
    data = unpacked(page.data)
    yield from (_ChangesBlock(one) for one in page.comparisons if one.drawn)
    for chart in page.curves:
        yield _CurveBlock(page, chart)
    in_curves = {point.step for one in page.curves for of in one.curves for point in of.points}
    for workload in page.workloads:
        if workload.step in in_curves or not _tracks(workload):
            continue
        if workload.last_s is not None:
            yield _SecondsBlock(page, data, workload, None)
            yield _SecondsBlock(page, data, workload, workload.last_s)
        yield _TimeBlock(page, data, workload)


def _figure(page: contract.Page, every: Sequence["_Block"], make: type["Figure"]) -> "Figure":
    shown = every[:_MAX_BLOCKS]
    columns = 1 if len(shown) == 1 else 2
    rows = [shown[at : at + columns] for at in range(0, len(shown), columns)]
    handles = [*_lines(page, shown), *_marks(shown)]
    # long names need all of a column
    is_long = any(len(str(handle.get_label())) > _MAX_HALF for handle in handles)
    legend_columns = columns if is_long else 2 * columns
    legend_in = _LEGEND_LINE_IN * (-(-len(handles) // legend_columns) + 2)
    rows_in = [_HEIGHT_IN * max(sum(block.heights) for block in row) for row in rows]
    answer = textwrap.wrap(_short(page.headline.text, 400), _HEAD_LETTERS * columns)
    titles = textwrap.wrap(_short(page.title, 200), _TITLE_LETTERS * columns)
    title_in = _TITLE_IN * len(titles)
    head_in = title_in + _HEAD_LINE_IN * len(answer)
    body_in = sum(rows_in) + legend_in
    figure = make(
        figsize=(_WIDTH_IN * columns, head_in + body_in),
        layout="constrained",
        facecolor=palette()[_SHADE]["paper"],
    )
    head, body = figure.subfigures(2, 1, height_ratios=[head_in, body_in], squeeze=False)[:, 0]
    head.text(0.01, 0.95, "\n".join(titles), fontsize=13, fontweight="bold", va="top")
    head.text(0.01, 1 - title_in / head_in, "\n".join(answer), fontsize=10, va="top")
    places = body.subfigures(len(rows), columns, height_ratios=rows_in, squeeze=False)
    for place, block in zip(places.flat, shown, strict=False):
        block.draw(place)
    some = f"; {len(shown)} of {len(every)} charts" if len(shown) < len(every) else ""
    figure.legend(
        handles=handles,
        title=page.made_by + some,
        alignment="left",
        loc="outside lower left",
        ncols=legend_columns,
        frameon=False,
    )
    return figure


def _lines(page: contract.Page, shown: Sequence["_Block"]) -> Iterator["Line2D"]:
    """The legend's lines, one per style; none if there is only one."""
    from matplotlib.lines import Line2D

    drawn = dict.fromkeys(number for block in shown for number in block.recordings)
    styles = {number: page.recordings[number].style for number in reversed(drawn)}
    by_style = {(style.color, style.dash): number for number, style in styles.items()}
    for number in sorted(by_style.values()) if len(by_style) > 1 else ():
        label = _short(page.recordings[number].label, _MAX_LEGEND)
        yield Line2D([], [], label=label, **_drawn_as(page.recordings[number].style))


def _marks(shown: Sequence["_Block"]) -> Iterator["Line2D"]:
    """The legend's marks, if any."""
    from matplotlib.lines import Line2D

    causes = palette()["causes"]
    for cause in dict.fromkeys(cause for block in shown for cause in block.marked_causes):
        look = causes.get(cause, causes["unknown"])
        yield Line2D([], [], label=f"falls: {cause}", **_mark(look))


def _mark(look: Mapping[str, str]) -> dict[str, Any]:
    """How an onset is marked."""
    mark = {"marker": _PATTERNS.get(look["hatch"], _PLAIN)[1], "color": look[_SHADE]}
    return {**mark, "markersize": 6, "markeredgecolor": "white", "linestyle": "none"}


def _drawn_as(style: contract.LineStyle, place: int = 0) -> dict[str, Any]:
    """How a recording's line is drawn; `place` is the measurement's number where it has several."""
    colors, patterns = palette()[_SHADE]["lines"], palette()["dashes"]
    dashes = patterns[style.dash % len(patterns)]
    color = colors[(style.color + place) % len(colors)]
    return {"color": color, "linestyle": (0, dashes) if dashes else "solid", "linewidth": 1.2}


class _Block(ABC):
    """Charts one below the other."""

    #: The heights of its panels, from the top.
    heights: Sequence[float] = (_FIRST,)
    #: The causes whose marks are in it.
    marked_causes: Sequence[str] = ()

    @property
    @abstractmethod
    def recordings(self) -> Sequence[int]:
        """Whose lines are in it."""

    @abstractmethod
    def draw(self, figure: Any) -> None:
        """Draw it into a part of the picture."""


class _ChangesBlock(_Block):
    """What a condition changes, with intervals."""

    recordings = ()

    def __init__(self, given: contract.ComparisonSection) -> None:
        self._given = given
        self._rows = given.drawn[:_MAX_CHANGES]
        self.heights = [_CHANGE * (len(self._rows) + 4)]

    def draw(self, figure: Any) -> None:
        axis = figure.subplots()
        looks = palette()["causes"]
        colors = {"better": looks["spare-area"][_SHADE], "worse": looks["thermal"][_SHADE]}
        for place, row in enumerate(self._rows):
            color = colors.get(row.verdict, palette()[_SHADE]["soft"])
            if row.range is not None:
                ends = row.range.low, row.range.high
                axis.plot(ends, [place, place], marker="|", color=color, linewidth=1.2)
            axis.plot(row.at, place, marker="o", markersize=4, color=color)
        names = [_short(", ".join(row.name), _MAX_HALF) for row in self._rows]
        axis.set_yticks(range(len(names)), names)
        axis.invert_yaxis()
        axis.axvline(0, color=palette()[_SHADE]["ink"], linewidth=1)
        axis.set_xlabel("change, %, with its 95 % interval")
        by, baseline = self._given.by, self._given.baseline
        title = f"Difference from {words.plain(by)} {words.said(baseline)}"
        axis.set_title(_short(title, _BLOCK_LETTERS), loc="left", fontsize=10)


@dataclass
class _CurveBlock(_Block):
    """Steps that differ in one parameter."""

    _page: contract.Page
    _chart: contract.CurveChart

    @property
    def recordings(self) -> list[int]:
        return [curve.recording for curve in self._chart.curves]

    def draw(self, figure: Any) -> None:
        axis = figure.subplots()
        for curve in self._chart.curves:
            points = [(point.x, point.y) for point in curve.points]
            style = _drawn_as(self._page.recordings[curve.recording].style)
            axis.plot(*zip(*points, strict=True), marker="o", markersize=4, **style)
        if self._chart.x_is_log:
            axis.set_xscale("log", base=2)
        ticks = sorted({point.x for curve in self._chart.curves for point in curve.points})
        if len(ticks) <= _MAX_TICKS:
            axis.set_xticks(ticks, list(map(words.number_text, ticks)), minor=False)
        axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(_number)
        axis.set_xlabel(self._chart.x_label)
        axis.set_ylabel(self._chart.unit)
        axis.set_title(_short(self._chart.title, _BLOCK_LETTERS), loc="left", fontsize=10)


@dataclass
class _Workload(_Block):
    """Runs of one workload over time."""

    _page: contract.Page
    _columns: bytes
    _workload: contract.WorkloadSection

    @property
    def recordings(self) -> list[int]:
        return [line.recording for line in self._workload.lines]

    def _style(self, line: contract.Line, place: int = 0) -> dict[str, Any]:
        return _drawn_as(self._page.recordings[line.recording].style, place)

    def _series(self, track: contract.ChartSeries) -> tuple[Array, Array]:
        """Times and values; a NaN breaks the line where samples are missing."""
        t_s, values = decoded(self._columns, track.t), decoded(self._columns, track.v)
        gaps = np.flatnonzero(np.diff(t_s) > track.gap_s) + 1
        return np.insert(t_s, gaps, t_s[gaps]), np.insert(values, gaps, np.nan)

    @property
    def _longest_s(self) -> float:
        return float(max(self._series(track)[0].max() for track in _tracks(self._workload)))

    def _over_time(self, axis: "Axes", from_s: float, to_s: float) -> None:
        """Set the axis of times."""
        from matplotlib.ticker import MaxNLocator

        unit, unit_s = next((unit, each_s) for unit, each_s, most_s in _TIMES if to_s < most_s)
        locator = MaxNLocator(8, steps=[1, 2, 3, 5, 6, 10])
        ticks = np.asarray(locator.tick_values(from_s / unit_s, to_s / unit_s))
        began = "step" if any(line.step is not None for line in self._workload.lines) else "log"
        axis.set_xlabel(f"{unit} from the start of the {began}")
        axis.set_xticks(ticks * unit_s, list(map(words.number_text, ticks)))
        axis.set_xlim(from_s, to_s)

    def _title(self, axis: "Axes", detail: str) -> None:
        title, detail = _short(self._workload.title, 70), _short(detail, 60)
        gap = "\n" if len(title) + len(detail) > _BLOCK_LETTERS else "  "
        axis.set_title(f"{title}{gap}({detail})", loc="left", fontsize=10)


@dataclass
class _SecondsBlock(_Workload):
    """The IOPS of each second: of the whole step on a logarithmic scale, or of its end."""

    _last_s: float | None

    def draw(self, figure: Any) -> None:
        from matplotlib.ticker import LogLocator, NullFormatter

        axis = figure.subplots()
        to_s = self._longest_s
        from_s = 0.0 if self._last_s is None else to_s - self._last_s
        for line in self._workload.lines:
            if line.seconds is None:
                continue
            t_s, values = self._series(line.seconds)
            seen = t_s >= from_s
            style = {**self._style(line), "linestyle": "none"}
            axis.plot(t_s[seen], values[seen], marker=".", markersize=2.5, **style)
        if self._last_s is None:
            axis.set_yscale("log")
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter("{x:,.0f}")
            axis.yaxis.set_minor_formatter(NullFormatter())
        else:
            axis.set_ylim(bottom=0)
            axis.yaxis.set_major_formatter(_number)
        axis.set_ylabel("IOPS")
        self._over_time(axis, from_s, to_s)
        last = words.known_text(
            self._last_s, lambda last_s: f", the last {words.number_text(last_s)} s"
        )
        self._title(axis, f"IOPS of each second{last}")


@dataclass
class _TimeBlock(_Workload):
    """Throughput over temperature and power."""

    def __post_init__(self) -> None:
        self.heights = [_FIRST, *[_OTHER] * (len(self._workload.shown) - 1)]
        lines = self._workload.lines
        if len(lines) > 1:
            falls = [fall for line in lines for fall in _episodes(self._page, line)]
            self.marked_causes = [fall.cause for fall in falls]

    def draw(self, figure: Any) -> None:
        axes = figure.subplots(
            len(self.heights),
            1,
            sharex=True,
            squeeze=False,
            gridspec_kw={"height_ratios": self.heights},
        )[:, 0]
        for axis, quantity in zip(axes, self._workload.shown, strict=True):
            self._panel(axis, quantity, is_first=axis is axes[0])
        self._title(axes[0], self._workload.detail)
        self._over_time(axes[-1], 0, self._longest_s)
        self._episodes(axes)

    def _panel(self, axis: "Axes", quantity: contract.ChartQuantity, *, is_first: bool) -> None:
        lines = self._workload.lines
        for line in lines:
            tracks = [track for track in line.tracks if track.quantity == quantity]
            if len(lines) > 1 or not is_first or len(tracks) > _MAX_TOLD_APART:
                tracks = tracks[:1]
            for place, track in enumerate(tracks):
                t_s, values = self._series(track)
                axis.plot(t_s, values, label=track.label, **self._style(line, place))
                axis.set_ylabel(_axis_label(track))
            if len(tracks) > 1:
                axis.legend(loc="best", fontsize=8, edgecolor="none")
        if quantity != "temperature":
            axis.set_ylim(bottom=0)
        axis.yaxis.set_major_formatter(_number)

    def _episodes(self, axes: Sequence["Axes"]) -> None:
        """Draw episodes: a band each for one line, a mark at each onset for several."""
        causes = palette()["causes"]
        lines = self._workload.lines
        labels = []
        for line in lines:
            for episode in _episodes(self._page, line):
                look = causes.get(episode.cause, causes["unknown"])
                if len(lines) > 1:
                    axes[0].plot(episode.onset_s, episode.levels[1], **_mark(look))
                else:
                    for axis in axes:
                        _band(axis, episode, look)
                name = f"{words.shortened(printable(line.label), 24)}, " if len(lines) > 1 else ""
                after = words.seconds_text(episode.onset_s)
                fall = f"{episode.cause}, {words.percent_text(episode.depth_pct)} after {after}"
                labels.append((episode.onset_s, name + fall, look[_SHADE]))
        if len(lines) <= _MAX_LABELLED:
            _stacked(axes[0], sorted(labels), is_low=self._is_low(axes[0]))

    def _is_low(self, axis: "Axes") -> bool:
        """Whether the lines run mostly along the bottom, where labels would cover them."""
        values = np.concatenate([line.get_ydata() for line in axis.get_lines()])
        return bool(np.nanmedian(values) < _LOW * axis.get_ylim()[1])


def _number(value: float, _: float) -> str:
    return words.number_text(value)


def _band(axis: "Axes", episode: Episode, look: Mapping[str, str]) -> None:
    axis.axvspan(
        episode.onset_s,
        episode.end_s,
        facecolor=look[_SHADE],
        alpha=0.1,
        edgecolor=look[_SHADE],
        hatch=_PATTERNS.get(look["hatch"], _PLAIN)[0],
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


def _tracks(workload: contract.WorkloadSection) -> list[contract.ChartSeries]:
    return list(chain.from_iterable(line.tracks for line in workload.lines))


def _episodes(page: contract.Page, line: contract.Line) -> list[Episode]:
    if line.step is None:
        return []
    return page.recordings[line.recording].findings.steps[line.step].episodes


def _axis_label(track: contract.ChartSeries) -> str:
    name = "throughput" if track.quantity == "throughput" else track.quantity
    return f"{name}, {track.unit}" if track.quantity != "iops" else "IOPS"


def _short(text: str, most: int) -> str:
    """The text as one line of limited length."""
    return words.shortened(printable(" ".join(text.split())), most)
