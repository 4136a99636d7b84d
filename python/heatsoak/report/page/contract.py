"""The page's data: the contract between the report in Python and the page in TypeScript.

`web/src/contract.ts` is generated from these models (``npm run contract``), and a test checks that
they agree. Everything here is text or numbers, never markup.
"""

import time
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

import heatsoak
from heatsoak.analysis import RecordingFindings
from heatsoak.comparison import Comparison
from heatsoak.ranges import FITTED_LEVEL, Range
from heatsoak.recording.meta import Status
from heatsoak.report.comparison import ToldRow
from heatsoak.report.rack import RackDrive


class _Strict(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, json_schema_serialization_defaults_required=True
    )


class Packed(_Strict):
    """A column of numbers in `Page.data`, after base64 and gzip are decoded.

    Value `i` is the sum of the first `i + 1` differences, divided by `per_unit`. The differences
    are whole numbers, zigzag-coded (0, -1, 1, -2 as 0, 1, 2, 3), little-endian in `width` bytes,
    and stored plane by plane: all lowest bytes first.

    Attributes:
        at: the first byte.
        count: the number of values.
        width: bytes per difference, 1 to 6; 0 if there are none.
        per_unit: the divisor of the whole numbers, a power of ten.
    """

    at: int
    count: int
    width: int
    per_unit: int


ChartQuantity = Literal["throughput", "iops", "latency", "temperature", "power", "busy", "level"]


class ChartSeries(_Strict):
    """One quantity over time.

    Attributes:
        name: the column of the recording; ``bw_mb_s`` and ``iops`` are reads and writes together.
        label: the name in a legend: ``reads``, ``composite``.
        t: seconds from the step's start, rising.
        v: values in `unit`; none if nothing was measured.
        samples: how many the recording has; more than ``t.count`` if the track was thinned: the
            minimum and maximum of each stretch are then kept, in time order.
        gap_s: points further apart than this are not joined by a line.
    """

    model_config = ConfigDict(frozen=False)  # packed last, when it is known how large a page is

    name: str
    label: str
    quantity: ChartQuantity
    unit: str
    t: Packed
    v: Packed
    samples: int
    gap_s: float


class LatencyHistogram(_Strict):
    """A histogram of the latencies of a step.

    Attributes:
        upper_us: the upper edge of each bin, rising; its lower edge is the one before, or 0.
        ios: the number of I/Os in each bin.
        from_percentiles: whether it was estimated from intervals' percentiles, not counted.
    """

    direction: Literal["read", "write"]
    upper_us: list[float]
    ios: list[float]
    from_percentiles: bool = False


class Line(_Strict):
    """One recording's run of a workload.

    Attributes:
        recording: its index in `Page.recordings`.
        step: the index of the step in that recording's findings; None if it was not loaded, so
            that there is no step.
        label: the conditions in which it differs from the other lines.
        tracks: what it is about first, then the others: throughput, or the temperature of a drive
            that was not loaded.
        seconds: IOPS of each second, for the scatter plot; None if unknown.
        level_mb_s: the level before the first episode, or the mean if there is none.
    """

    recording: int
    step: int | None = None
    label: str
    tracks: list[ChartSeries]
    seconds: ChartSeries | None = None
    latency: list[LatencyHistogram] = []
    level_mb_s: float | None = None


class StepBand(_Strict):
    """A load in the course of a whole recording, in s from its start.

    Attributes:
        step: its index in that recording's findings; None if it is not judged, or one of rounds.
    """

    name: str
    start_s: float
    end_s: float
    step: int | None


class WorkloadSection(_Strict):
    """All runs of one workload: a row of the overview, and a chart behind it.

    Attributes:
        id: unique on the page; letters, digits, ``-`` and ``_``; used as a link target.
        title: ``Sequential write``; `detail` says ``128k, QD32, 5 min``.
        summary: what the lines show, in half a line: what the terminal says of a single step.
        verdicts: how many runs have each verdict.
        rate: the mean with its unit, the lowest and the highest of several runs; empty if unknown.
        hottest: the highest temperature of the drive, likewise.
        is_open: whether its chart is shown at once.
        last_s: the length of the separate chart of the end, for tests of consistency.
        shown: the quantities that are drawn at once, from the top; others when asked for.
        bands: the loads of a whole recording, if that is what is drawn.
    """

    id: str
    title: str
    detail: str
    step: str = ""
    protocol: str = ""
    summary: str = ""
    verdicts: dict[str, int] = {}
    rate: str = ""
    hottest: str = ""
    is_open: bool = False
    last_s: float | None = None
    shown: list[ChartQuantity]
    lines: list[Line]
    bands: list[StepBand] = []


class MatrixFigure(_Strict):
    """A value of a matrix, and the published figure for it.

    Attributes:
        text: the value as text; ``steady`` if there is no number.
        rated: what the cell is coloured by, on the scale of the metric; None: its value.
        published: the published range.
        holds: whether it is within that range and its tolerance.
    """

    value: float | None
    text: str
    rated: float | None = None
    published: tuple[float, float] | None = None
    published_text: str | None = None
    holds: bool | None = None


class MatrixMetric(_Strict):
    """A quantity that a matrix can show.

    Attributes:
        worse: which end of the scale is worse.
        workload: its workload; None if it covers several.
        rated_by: what the colours show instead of the values, in a sentence.
    """

    id: str
    label: str
    unit: str
    worse: Literal["low", "high"]
    workload: str | None = None
    rated_by: str | None = None


class MatrixCell(_Strict):
    """One set of conditions.

    Attributes:
        recording: the first recording made in it.
        conditions: keyed by the keys of the matrix.
        values: keyed by the metric's id.
    """

    recording: int
    conditions: dict[str, str]
    verdict: str
    values: dict[str, MatrixFigure]


class MatrixSection(_Strict):
    """Cells by conditions: `row_key` down, `column_keys` across.

    Attributes:
        order: the values of each key, in display order.
        held: how many published figures hold, in a sentence; None if there are none.
        source: the source of the published figures.
    """

    row_key: str
    column_keys: list[str]
    order: dict[str, list[str]]
    metrics: list[MatrixMetric]
    cells: list[MatrixCell]
    held: str | None = None
    source: str | None = None


class Bar(_Strict):
    """A value, with its interval if that is known, and what a reader compares it with."""

    label: str
    recording: int
    value: float
    range: Range | None
    runs: int
    power_w: float | None = None
    mb_s_per_w: float | None = None
    beside: str = ""


class BarChart(_Strict):
    """A score, or the mean of a step, with one bar per condition.

    Attributes:
        is_score: whether the protocol is run for it.
        interval: what the whiskers show, in a sentence.
    """

    id: str
    title: str
    unit: str
    better: Literal["higher", "lower"]
    definition: str
    is_score: bool = True
    interval: str
    bars: list[Bar]


class CurvePoint(_Strict):
    """One step's value in a curve."""

    x: float
    y: float
    step: str
    power_w: float | None = None


class Curve(_Strict):
    """The points of one recording."""

    label: str
    recording: int
    points: list[CurvePoint]


class CurveChart(_Strict):
    """Curves over steps that differ in one parameter: the share of reads, or the queue depth."""

    id: str
    title: str
    x_label: str
    x_is_log: bool
    unit: str
    curves: list[Curve]


class NamedValue(_Strict):
    """An entry of a list: a name and its value."""

    name: str
    text: str


class EventLine(_Strict):
    """Something that happened, at a time from the recording's start."""

    t_s: float
    kind: str
    text: str


class LineStyle(_Strict):
    """How a recording's lines look: the numbers of a colour and of a pattern in the palette."""

    color: int
    dash: int


class PageRecording(_Strict):
    """A recording, and how to repeat it.

    Attributes:
        label: the conditions, or the name of its directory.
        limit: where the drive begins to slow itself down, in C, and whose figure that is.
        command: the command that makes such a recording; None if unknown.
        bundle: the command that makes one small file of it, for others.
        protocol: as TOML.
        commands: the load generator's command lines.
    """

    label: str
    style: LineStyle
    status: Status
    reason: str | None
    started_unix_s: float | None
    duration_s: float | None
    findings: RecordingFindings
    sentences: list[str]
    drive: list[NamedValue]
    host: list[NamedValue]
    tools: list[NamedValue]
    sensors: list[NamedValue]
    events: list[EventLine]
    limit: tuple[float, str] | None
    command: str | None
    bundle: str
    protocol: str
    commands: list[str]


class TwinLine(_Strict):
    """A recording, and what a twin makes of it; times are from the recording's start.

    Attributes:
        recording: its index in `Page.recordings`.
        place: its place in words.
        summary: how close they are, and when heat began to slow the drive.
        measured: the readings of the sensor that the twin was fitted to.
        reported: what that sensor would report by the twin.
        hidden: what the governor acts on; `low` to `high` encloses it with 90 %.
        onsets_s: when heat began to slow the drive.
        end_s: when the recording ends.
    """

    recording: int
    label: str
    place: str
    summary: str
    measured: ChartSeries
    reported: ChartSeries
    hidden: ChartSeries
    low: ChartSeries
    high: ChartSeries
    onsets_s: list[float]
    end_s: float


class CoolingMap(_Strict):
    """What other air and other cooling would make of a place, for likely drives.

    The lists of points are row by row, a row for each resistance; None where the drive would run
    away without any load.

    Attributes:
        place: in words.
        workload: what is run, for `duration_s`.
        recordings: how many were made in the place; heat slowed the drive in `throttled` of them.
        full_mb_s: what it moves at first.
        air_c: air at the drive, rising; `own_air` is the number of the place's own, which is known
            as `air_range_c`.
        k_per_w: the resistance from the board to the air, likewise.
        cliff: where the drive slows down without any heat, in a sentence.
        throttles: the probability that heat slows it.
        onset_s: when it begins to, if it does.
        depth_pct: how much of its speed heat takes in the worst minute, if it throttles.
        throttled_mb_s: what it moves in that minute.
        max_temp_c: the highest temperature that it reports.
    """

    place: str
    workload: str
    duration_s: float
    recordings: int
    throttled: int
    full_mb_s: float
    air_c: list[float]
    own_air: int
    air_range_c: Range
    k_per_w: list[float]
    own_k_per_w: int
    cliff: str | None
    throttles: list[float | None]
    onset_s: list[Range | None]
    depth_pct: list[Range | None]
    throttled_mb_s: list[Range | None]
    max_temp_c: list[float | None]


class TwinSection(_Strict):
    """A twin beside the recordings.

    Attributes:
        answer: what the fit found, in a sentence.
        detail: which drive it is of, and what it was fitted to.
        told: what else is to be said of it.
        limit_c: the hidden temperature at which the governor acts; None if that was never seen.
        left_out: recordings that the twin does not follow, and why.
        maps: one for each place of the lines.
        no_map: why there are none.
    """

    answer: str
    detail: str
    told: list[str]
    limit_c: Range | None
    lines: list[TwinLine]
    left_out: list[NamedValue]
    maps: list[CoolingMap]
    no_map: str | None


class SweepAxis(_Strict):
    """A parameter that a sweep varies.

    Attributes:
        id: its column in the sweep's table.
        label: what it is, in words.
        prefix: what goes before a value in a sentence; empty where it speaks for itself.
        values: as text.
        numbers: the same as numbers, rising; None for names, which have no scale.
        unit: that of `numbers`.
    """

    id: str
    label: str
    prefix: str
    values: list[str]
    numbers: list[float] | None
    unit: str


class SweepColumn(_Strict):
    """A quantity at the points of a sweep.

    Attributes:
        known: 1 for each point that has a value, else 0; None if all have.
        values: those of the points that have one.
    """

    known: Packed | None
    values: Packed


class SweepSection(_Strict):
    """A sweep: a table of its groups, and its points as maps.

    Attributes:
        axes: what varies. There is a point for each combination, the last axis fastest.
        fixed: what all points have in common, in words.
        headings: of the table; the first `words` columns are text, the others numbers.
        rows: its cells; `shown` of them at once.
        duration_s: how long the load lasts, if that is the same at all points.
        level: how much of what is likely lies between the columns ``low`` and ``high``.
        columns: by the names of the sweep's table. A point whose `throttles` is not known is
            impossible: the drive would run away without any load.
    """

    axes: list[SweepAxis]
    fixed: str
    headings: list[str]
    words: int
    rows: list[list[str]]
    shown: int
    duration_s: float | None
    level: float = FITTED_LEVEL
    columns: dict[str, SweepColumn]


class Delta(_Strict):
    """A difference in a chart, with its interval if that is known.

    Attributes:
        name: what it is of: step, drive model, metric and group, as far as they differ.
        verdict: that of a row of a comparison; in a rack ``better``, ``worse`` or ``same``.
    """

    name: list[str]
    at: float
    range: Range | None
    verdict: str


class DeltaGroup(_Strict):
    """What the places of a label do, or the drives of a model.

    Attributes:
        why_unknown: why what the places do cannot be told.
    """

    title: str
    deltas: list[Delta]
    why_unknown: str | None


class RackChart(_Strict):
    """A measure of a rack, and what places and drives do to it.

    Attributes:
        unit: of differences; `value_unit` is that of what was measured.
        worse: which direction is worse.
    """

    name: str
    unit: Literal["%", "pp", "K"]
    value_unit: str
    worse: Literal["low", "high"]
    sentence: str
    places: list[DeltaGroup]
    models: list[DeltaGroup]


class RackDriveLine(RackDrive):
    """A drive in the list of who passes.

    Attributes:
        is_unlike: whether it is unlike others of its model, for better or worse.
        line: throughput over the first step that is compared, in MB/s at equal distances.
    """

    is_unlike: bool
    line: list[float]


class RackTile(_Strict):
    """What a drive did in a place; `row`, `column` and `drive` are numbers in the section's lists.

    Attributes:
        values: of each measure, the mean of all runs there; None if there is none.
    """

    row: int
    column: int
    drive: int
    values: list[float | None]


class RackSection(_Strict):
    """A rack of drives: hosts as rows, other places as columns."""

    row_label: str
    column_label: str
    rows: list[str]
    columns: list[str]
    measures: list[RackChart]
    drives: list[RackDriveLine]
    tiles: list[RackTile]


class DrawnRow(Delta):
    """A row of a comparison in its chart, of this number; differences are in percent."""

    row: int


class ComparisonSection(Comparison):
    """A comparison; numbers of its rows say where people see them.

    Attributes:
        told: the rows as text.
        shown: in the tables.
        apart: in the tables of each set of other conditions; none if there is one set.
        drawn: in the chart.
    """

    told: list[ToldRow]
    shown: list[int]
    apart: list[int]
    drawn: list[DrawnRow]


Tone = Literal["good", "bad", "unsure"]


class Headline(_Strict):
    """The answer at the top of the page.

    Attributes:
        text: the verdict in a sentence.
        tone: ``good`` if the drive does not throttle or is better, ``bad`` if it does or is worse.
        figures: the loss, when it began, how hot the drive was, with what each is, if known.
        of: which of several recordings the figures are of: the worst.
        more: a few more sentences.
        next: what to do then; if there is a command for it, how.
    """

    text: str
    tone: Tone
    figures: list[NamedValue] = []
    of: str = ""
    more: list[str] = []
    next: str | None = None
    command: str | None = None


class Page(_Strict):
    """Everything on the page.

    Attributes:
        is_live: whether a recording is still running, so that the page asks for updates.
        sensor: whose temperature the rows of workloads have; None if that differs.
        overview: the whole of the recording that the headline is about; None if that is one load.
        data: all packed columns, gzipped, in base64.
    """

    version: Literal[1] = 1
    title: str
    # asked when a page is made: manual pages are made before heatsoak is installed
    made_by: str = Field(default_factory=lambda: f"heatsoak {heatsoak.__version__}")
    made_unix_s: float = Field(default_factory=time.time)
    is_live: bool = False
    headline: Headline
    recordings: list[PageRecording] = []
    sensor: str | None = None
    overview: WorkloadSection | None = None
    workloads: list[WorkloadSection] = []
    matrix: MatrixSection | None = None
    bars: list[BarChart] = []
    curves: list[CurveChart] = []
    comparisons: list[ComparisonSection] = []
    twin: TwinSection | None = None
    sweep: SweepSection | None = None
    rack: RackSection | None = None
    notes: list[str]
    data: str


class Appended(_Strict):
    """New samples of one track of a running recording, as plain numbers (server-sent event)."""

    workload: str
    recording: int
    track: str
    t: list[float]
    v: list[float]
