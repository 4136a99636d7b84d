"""What the page is given: the contract between the report in Python and the page in TypeScript.

`web/src/contract.ts` is made from these models (``npm run contract``), and a test holds the two
together. Everything here is text or numbers; nothing is markup.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.comparison import Comparison
from heatsoak.recording import Status


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Packed(_Strict):
    """A column of numbers in `Page.data`, once that is taken out of base64 and gzip.

    Value `i` is the sum of the first `i + 1` differences, divided by `per_unit`. The differences
    are whole numbers, zigzag-coded (0, -1, 1, -2 as 0, 1, 2, 3), little-endian in `width` bytes,
    and stored plane by plane: all lowest bytes first.

    Attributes:
        at: the first byte.
        count: how many values.
        width: bytes of a difference, 1 to 6; 0 where there are none.
        per_unit: by what the whole numbers are divided: a power of ten.
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
        label: for a legend: ``reads``, ``composite``.
        t: seconds from the step's start, rising.
        v: values in `unit`; there are none where nothing was measured.
        samples: how many the recording has; more than ``t.count`` where the track was thinned: of
            each stretch then its least and greatest are kept, in their order of time.
        gap_s: neighbours further apart than this are not joined by a line.
    """

    name: str
    label: str
    quantity: ChartQuantity
    unit: str
    t: Packed
    v: Packed
    samples: int
    gap_s: float


class LatencyHistogram(_Strict):
    """How many I/Os of a step took how long.

    Attributes:
        upper_us: the upper end of each bin, rising; its lower end is the one before, or 0.
        ios: I/Os in it.
        from_percentiles: whether this was not counted, but made of intervals' percentiles.
    """

    direction: Literal["read", "write"]
    upper_us: list[float]
    ios: list[float]
    from_percentiles: bool = False


class Line(_Strict):
    """One recording's run of a workload.

    Attributes:
        recording: its number in `Page.recordings`.
        step: the number of the step in that recording's findings.
        label: what tells it from the other lines: its conditions that differ among them.
        start_s: when the step began, from the recording's start.
        tracks: throughput first, then what else there is.
        seconds: IOPS of each second, for the scatter; None where they are not known.
        level_mb_s: the level before the first episode, or the mean where there is none.
    """

    recording: int
    step: int
    label: str
    start_s: float
    tracks: list[ChartSeries]
    seconds: ChartSeries | None
    latency: list[LatencyHistogram]
    level_mb_s: float | None


class WorkloadSection(_Strict):
    """All runs of one workload: a chart.

    Attributes:
        id: unique on the page, letters, digits, ``-`` and ``_``; an address within it.
        title: ``Sequential write``; `detail` says ``128k, QD32, 5 min``.
        summary: what the lines show, in a sentence.
    """

    id: str
    title: str
    detail: str
    step: str
    protocol: str
    summary: str
    lines: list[Line]


class MatrixFigure(_Strict):
    """A number of a matrix, and what was published for it.

    Attributes:
        text: how it is said: ``steady`` where there is no number.
        published: least and most.
        holds: whether it is within that and its tolerance.
    """

    value: float | None
    text: str
    published: tuple[float, float] | None = None
    published_text: str | None = None
    holds: bool | None = None


class MatrixMetric(_Strict):
    """What a matrix can show.

    Attributes:
        worse: which end of the scale is the one to worry about.
        workload: the workload that it is of; None where it is of several.
    """

    id: str
    label: str
    unit: str
    worse: Literal["low", "high"]
    workload: str | None = None


class MatrixCell(_Strict):
    """One set of conditions.

    Attributes:
        recording: the first that was made in it.
        conditions: by the keys of the matrix.
        values: by the metric's id.
    """

    recording: int
    conditions: dict[str, str]
    verdict: str
    values: dict[str, MatrixFigure]


class MatrixSection(_Strict):
    """Cells by conditions: the values of `row_key` downwards, those of `column_keys` across.

    Attributes:
        order: the values of each key, in the order in which they are to stand.
        held: how many published figures hold, in a sentence; None where none is known.
        source: where the published figures are from.
    """

    row_key: str
    column_keys: list[str]
    order: dict[str, list[str]]
    metrics: list[MatrixMetric]
    cells: list[MatrixCell]
    held: str | None = None
    source: str | None = None


class Bar(_Strict):
    """A value with its 95 % interval; low and high are None where it is not known."""

    label: str
    recording: int
    value: float
    low: float | None
    high: float | None
    runs: int
    power_w: float | None = None
    mb_s_per_w: float | None = None


class BarChart(_Strict):
    """A score, one bar a condition.

    Attributes:
        interval: what the whiskers are, in a sentence.
    """

    id: str
    title: str
    unit: str
    better: Literal["higher", "lower"]
    definition: str
    interval: str
    bars: list[Bar]


class CurvePoint(_Strict):
    """A value of a step that differs from its neighbours in one thing."""

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
    """Steps that differ in one thing: the share of reads, or the queue depth."""

    id: str
    title: str
    x_label: str
    x_is_log: bool
    unit: str
    curves: list[Curve]


class Fact(_Strict):
    """A line of a list: what, and what it is."""

    name: str
    text: str


class EventLine(_Strict):
    """Something that happened, at a time from the recording's start."""

    t_s: float
    kind: str
    text: str


class PageRecording(_Strict):
    """A recording, and what another person needs to make it again.

    Attributes:
        label: the conditions, or the name of its directory.
        color: a number: recordings of the same colour are of the same conditions.
        command: the command that makes such a recording; None where that is not known.
        protocol: as TOML.
        commands: the load generator's command lines.
    """

    label: str
    color: int
    status: Status
    reason: str | None
    started_unix_s: float | None
    duration_s: float | None
    findings: RecordingFindings
    sentences: list[str]
    drive: list[Fact]
    host: list[Fact]
    tools: list[Fact]
    sensors: list[Fact]
    events: list[EventLine]
    command: str | None
    protocol: str
    commands: list[str]


class Headline(_Strict):
    """The answer before one scrolls.

    Attributes:
        text: the verdict in a sentence.
        tone: ``good`` where all is steady, ``bad`` where something throttles, else ``unsure``.
        more: a few sentences that go on from there.
        counts: how many steps have which verdict.
    """

    text: str
    tone: Literal["good", "bad", "unsure"]
    more: list[str]
    counts: dict[str, int]


class Page(_Strict):
    """Everything on the page.

    Attributes:
        is_live: whether a recording is still going on, so that the page asks for more.
        data: base64 of gzip of all packed columns.
    """

    version: Literal[1] = 1
    title: str
    made_by: str
    made_unix_s: float
    is_live: bool = False
    headline: Headline
    recordings: list[PageRecording]
    workloads: list[WorkloadSection]
    matrix: MatrixSection | None
    bars: list[BarChart]
    curves: list[CurveChart]
    comparisons: list[Comparison]
    notes: list[str]
    data: str


class Appended(_Strict):
    """New samples of one track of a running recording, as plain numbers (server-sent event)."""

    workload: str
    recording: int
    track: str
    t: list[float]
    v: list[float]
