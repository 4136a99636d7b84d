"""Views of a recording and its steps, as the judge reads them."""

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
import polars as pl

from heatsoak import protocol
from heatsoak.analysis import definitions, falls
from heatsoak.analysis.course import Course, course_of, load_of
from heatsoak.analysis.findings import Verdict
from heatsoak.analysis.sensors import sense
from heatsoak.analysis.series import Array, RateSeries, directions, iops, throughput
from heatsoak.ranges import Range
from heatsoak.recording import Recording, columns
from heatsoak.recording.columns import TEMPERATURES, judged, limits_c
from heatsoak.recording.grid import SensorTrack

#: A direction that carries less than this share of the throughput is not judged on its own.
_MIN_SHARE = 0.1
#: A drop that ends this close to its step's end lasted to it: in samples, and at least in seconds.
_TO_THE_END, _TO_THE_END_S = 2.0, 1.0


class StepView:
    """A step's series, sensors and drops; times count from the step's start.

    Attributes:
        start_s: when its load started, from the recording's start.
        direction: ``read`` or ``write`` if only that part of its throughput is judged.
        partner: the other side of a copy, if that was recorded too.
        beside: the loads of other drives in one log, at the same time, and what these are called.
        preceded_by: the load or precondition right before this one, without a rest.
        references: steps whose speeds a user gave as full speeds.
    """

    def __init__(
        self,
        step: protocol.LoadStep | protocol.Observed,
        samples: pl.DataFrame,
        start_s: float,
        limits_c: dict[str, float],
        course: Course,
        again: Callable[[], pl.DataFrame] | None = None,
    ) -> None:
        """`again` reads the samples once more, where they may be forgotten."""
        self.step = step
        self.limits_c = limits_c
        self.course = course
        self.start_s = start_s
        self.direction: str | None = None
        self.partner: Partner | None = None
        self.beside: list[tuple[str, StepView]] = []
        self.preceded_by: StepView | None = None
        self.references: Sequence[StepView] = ()
        self._samples: pl.DataFrame | None = samples
        self._again = again
        self._tracks: dict[str, SensorTrack] = {}
        self._columns: dict[str, Array] = {}
        self.throughput = throughput(samples, start_s)
        self.load = load_of(step)

    @property
    def samples(self) -> pl.DataFrame:
        """The step's samples, with times from the recording's start."""
        if self._samples is None:
            assert self._again is not None
            self._samples = self._again()
        return self._samples

    @cached_property
    def iops(self) -> RateSeries:
        """I/Os a second, reads and writes together."""
        return iops(self.samples, self.start_s)

    @cached_property
    def drops(self) -> list[falls.Drop] | None:
        """The drops in throughput; None if the step is too short to tell."""
        return None if self._found is None else self._found.drops

    @property
    def oscillation_from_start(self) -> falls.Drop | None:
        """Oscillation from the start, if there are no drops; alone it is not an episode."""
        return None if self._found is None else self._found.swing

    @property
    def stalls(self) -> list[falls.Stall]:
        """Short standstills after which throughput recovered; they are not episodes."""
        return [] if self._found is None else self._found.stalls

    @cached_property
    def _found(self) -> falls.Found | None:
        return falls.find(self.throughput) if self.has_moved else None

    @cached_property
    def level(self) -> float:
        """The level that it started at: before its first drop, or its mean."""
        if self.drops:
            return self.drops[0].before
        return self.throughput.mean(-math.inf, math.inf)

    @cached_property
    def held_level(self) -> Range | None:
        """The best level that it held before a drop, or throughout; None if it held none."""
        series, found, since_s = self.throughput, [], 0.0
        for drop in self.drops or []:
            if drop.onset_s >= since_s and not drop.from_start:
                found.append(series.level(since_s, drop.onset_s, drop.before))
            since_s = drop.back_s if drop.recovered else math.inf
        if not self.drops:
            found.append(series.level(0.0, series.duration_s, self.level))
        return max(filter(None, found), key=lambda level: level.mid, default=None)

    @cached_property
    def lasting_drop(self) -> falls.Drop | None:
        """The last drop that lasted to the end of the step."""
        slack_s = max(_TO_THE_END_S, _TO_THE_END * self.throughput.sampling_s) if self.drops else 0
        for drop in reversed(self.drops or []):
            if not drop.recovered and drop.end_s >= self.throughput.duration_s - slack_s:
                return drop
        return None

    @property
    def written_before_gb(self) -> float:
        """How much earlier loads wrote since the last purge, or since the start."""
        return self.course.written_before_gb(self.start_s)

    @property
    def slowed_by(self) -> "StepView | None":
        """The first of the loads directly before it whose drop lasted; None if there is none."""
        found, before = None, self.preceded_by
        while before is not None and (not before.drops or before.lasting_drop is not None):
            found = before if before.drops else found
            before = before.preceded_by
        return found

    @cached_property
    def by_direction(self) -> list["StepView"]:
        """Reads and writes as separate steps, if both ran and were logged separately.

        The loss of one can be hidden by the other. A direction that carried little is left out.
        """
        if not (self.step.reads and self.step.writes):
            return []
        both = directions(self.samples, self.start_s)
        if len(both) < 2 or len({series.unit for series in both.values()}) > 1:
            return []
        carried = {name: float(np.mean(series.values)) for name, series in both.items()}
        return [
            self._only(name, series)
            for name, series in both.items()
            if carried[name] >= _MIN_SHARE * sum(carried.values())
        ]

    def in_direction(self, direction: str | None) -> "StepView | None":
        """Return it, or the part of it that only reads or writes; None if that is not known."""
        parts = [self, *self.by_direction] if self.direction is None else [self]
        return next((one for one in parts if one.direction == direction), None)

    def _only(self, direction: str, series: RateSeries) -> "StepView":
        one = copy(self)
        for name in ("_found", "drops", "iops", "level", "held_level", "lasting_drop"):
            one.__dict__.pop(name, None)
        one.direction = direction
        one.throughput = series
        return one

    def track(self, column: str) -> SensorTrack:
        """Return the readings of a sensor's column; times count from the step's start."""
        if column not in self._tracks:
            values, t_s = self.column(column), self.column("t_s")
            known = np.isfinite(values)
            self._tracks[column] = SensorTrack(t_s[known] - self.start_s, values[known])
        return self._tracks[column]

    def column(self, name: str) -> Array:
        """Return a column of the samples, row by row; what was not measured is NaN."""
        if name not in self._columns:
            count = len(self.samples)
            if name in self.samples.columns and self.samples[name].null_count() < count:
                values = self.samples[name].cast(pl.Float64).to_numpy()
            else:
                # takes no memory, however many rows there are
                values = np.broadcast_to(np.nan, count)
            self._columns[name] = values
        return self._columns[name]

    def rates_and_latencies(self) -> list[tuple[Array, Array]]:
        """Return I/Os a second and their mean latency in us, row by row: of reads, of writes, and
        of both where a log does not separate them."""
        return [
            (self.column(f"{prefix}iops"), self.column(f"{prefix}lat_us"))
            for prefix in ("read_", "write_", "")
        ]

    def in_flight(self) -> Array:
        """Return how many I/Os were in flight, row by row, as logged or by latency; else NaN."""
        logged = self.column("queue")
        return logged if np.isfinite(logged).any() else self.in_flight_by_latency()

    def in_flight_by_latency(self) -> Array:
        """Return the same by Little's law: I/Os a second times their latency."""
        count: Array = np.full(len(self.samples), np.nan)
        untold = np.zeros(len(count), dtype=bool)
        for per_s, lat_us in self.rates_and_latencies():
            here = per_s * lat_us * 1e-6
            count = np.where(np.isfinite(here), np.nan_to_num(count) + here, count)
            untold |= (per_s > 0) & np.isnan(lat_us)
        return np.where(untold, np.nan, count)

    def columns(self, prefix: str) -> list[str]:
        """Return the columns of a family that have readings in this step."""
        return [
            name
            for name in self.samples.columns
            if name.startswith(prefix) and self.samples[name].count() > 0
        ]

    @property
    def is_idle(self) -> bool:
        """Whether it is the whole of a log that shows no load."""
        return isinstance(self.step, protocol.Observed) and self.step.idle

    @property
    def has_rates(self) -> bool:
        """Whether any throughput was logged in this step."""
        return len(self.throughput.t_s) > 0

    @property
    def has_moved(self) -> bool:
        """Whether any data was moved in this step."""
        return bool(np.any(self.throughput.values > 0))

    @property
    def end_s(self) -> float:
        """When it ended, from the recording's start."""
        return self.start_s + self.duration_s

    @property
    def duration_s(self) -> float:
        """How long its load was logged, or its sensors if no load was."""
        if self.has_rates:
            return self.throughput.duration_s
        return float(self.samples["t_s"][-1]) - self.start_s

    @cached_property
    def temp(self) -> SensorTrack:
        """The drive's own temperature, by the sensor that stands for it."""
        return self.track(self.main_sensor)

    @cached_property
    def main_sensor(self) -> str:
        """The column of the drive's own temperature; empty for none."""
        tops_c = {n: float(np.max(t.values, initial=-np.inf)) for n, t in self.own_temps().items()}
        return columns.drive_temperature(tops_c, self.course.drive.get("model"))

    def own_temps(self, *, trusted: bool = True) -> dict[str, SensorTrack]:
        """Return the drive's temperatures that can be trusted, or those that cannot, by column."""
        return {
            name: self.track(name)
            for name in columns.own_temperatures(self.columns(TEMPERATURES))
            if (name.removeprefix(TEMPERATURES) not in self.course.distrusted) == trusted
        }

    def at_its_limit(self, start_s: float, end_s: float) -> tuple[str, float] | None:
        """Return which of the drive's trusted sensors beside `temp` was as hot in some time as
        drives throttle at, and how hot, in C; the hottest, None for none.

        A controller or the flash may be far hotter than the composite, and slow the drive.
        """
        tops_c = {
            name.removeprefix(TEMPERATURES): float(
                np.max(track.between(start_s, end_s), initial=-np.inf)
            )
            for name, track in self.own_temps().items()
            if name != self.main_sensor
        }
        if not tops_c:
            return None
        from heatsoak.catalog.families import family_of  # most recordings have one sensor

        family = family_of(self.course.drive.get("model"))
        found = ((family.reported_c(name, c), c, name) for name, c in tops_c.items())
        at_c, top_c, name = max(found, default=(-np.inf, 0.0, ""))
        return (name, top_c) if at_c >= definitions.USUALLY_THROTTLING_C else None

    @cached_property
    def start_c(self) -> float | None:
        """The drive's temperature as its load began; None without one."""
        return self.temp.at(0.0)

    @cached_property
    def max_temp_c(self) -> float | None:
        """The highest temperature of the drive; None without any."""
        return max(self.temp.values.tolist(), default=None)

    def forget(self) -> None:
        """Free the samples, if they can be read again, and what is computed from them."""
        if self._again is not None:
            self._samples = None
        self._tracks.clear()
        self._columns.clear()
        for name in ("iops", "_written_mb", "by_direction"):
            self.__dict__.pop(name, None)
        self.throughput.__dict__.pop("amounts", None)

    def written_gb(self, t_s: float) -> float | None:
        """Return how much was written from the step's start to `t_s`."""
        if not self.step.writes or not self.columns("write_bw_mb_s"):
            return None
        rows = int(np.searchsorted(self.column("t_s"), self.start_s + t_s + 1e-9, side="right"))
        return float(self._written_mb[rows]) / 1e3

    @cached_property
    def _written_mb(self) -> Array:
        """What was written before each row, and in total."""
        written_mb = self.column("write_bw_mb_s") * self.column("interval_s")
        return np.cumsum(np.append(0.0, np.where(np.isfinite(written_mb), written_mb, 0.0)))


def drops_of(samples: pl.DataFrame) -> list[falls.Drop] | None:
    """Return the drops in one step's samples; None if there are too few to tell.

    Times count from the start of the first interval that has rates.
    """
    return None if samples.is_empty() else falls.find_drops(throughput(samples, _start_s(samples)))


def is_known_cool(view: StepView, *others: StepView, temp_c: float | None) -> bool:
    """Return whether a drive at this temperature throttles by none, as it reports it.

    A sensor that stands still tells that only of a load that would hardly move it.
    """
    if temp_c is None or temp_c >= definitions.MIN_THROTTLING_C:
        return False
    mean = view.throughput.mean(-np.inf, np.inf)
    is_little = view.throughput.unit == "mb_s" and mean < definitions.HARDLY_WARMS_MB_S
    return is_little or temp_moves(view, *others)


def temp_moves(*views: StepView) -> bool:
    """Return whether the temperature of the first moves, in it, in the others of its recording, or
    in a fill right before one of these.

    A governor follows none that stands still.
    """
    fills = [one.preceded_by for one in views if one.preceded_by is not None]
    values = [one.temp.values for one in (*views, *fills)]
    return len(values[0]) > 0 and bool(np.ptp(np.concatenate(values)) >= definitions.MIN_RISE_K)


class _Samples:
    """The samples of a recording, read when they are asked for, and kept until forgotten."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @cached_property
    def whole(self) -> pl.DataFrame:
        """All samples."""
        columns = ["t_s", "step", "interval_s", *self.recording.meta.columns]
        return self.recording.samples(judged(columns))

    @cached_property
    def _rows(self) -> dict[str, tuple[int, int, int]]:
        """The first row of each step, its last, and how many it has."""
        row = pl.col("row")
        rows = self.whole.select("step").with_row_index("row").group_by("step")
        found = rows.agg(first=row.min(), last=row.max(), count=pl.len())
        return {step: tuple(rest) for step, *rest in found.iter_rows()}

    def of(self, step: str) -> pl.DataFrame:
        """Return a step's samples, if they stand together a part of all without a copy."""
        first, last, count = self._rows.get(step, (0, -1, 0))
        if last - first + 1 == count:
            return self.whole.slice(first, count)
        return self.whole.filter(pl.col("step") == step)

    def forget(self) -> None:
        """Free what was read."""
        self.__dict__.pop("whole", None)


def _start_s(rows: pl.DataFrame) -> float:
    """When the load started: a step may lay out its file first, while sensors are read."""
    rates = rows.filter(pl.col("interval_s").is_not_null())
    first = (rates if not rates.is_empty() else rows).row(0, named=True)
    return float(first["t_s"] - (first["interval_s"] or 0.0))


#: A shorter pause does not count as a rest.
RESTED_S = 5.0


class RecordingView:
    """A recording and its steps; temperatures with a flaw are not used as evidence.

    Attributes:
        sensed: its temperatures, and the trust in each on its own.
        views: its judged steps that have samples, in order; `fills` are its preconditions.
        idle: the whole of a log that shows no load; None for any other recording.
        drive: its drive's number among the recordings that are judged together.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.drive = 0
        self._samples = _Samples(recording)
        self.sensed = sense(recording, self.samples)
        loaded = list(self._loaded())
        for before, view in pairwise(loaded):
            purged = view.course.was_purged_between(before.end_s, view.start_s)
            if view.course.rest_before_s(view.start_s) < RESTED_S and not purged:
                view.preceded_by = before
        self.fills = [view for view in loaded if isinstance(view.step, protocol.Precondition)]
        self.views = [view for view in loaded if view.step.is_judged]
        self.idle = next((view for view in loaded if view.is_idle), None)

    def _loaded(self) -> Iterator[StepView]:
        course = course_of(self.recording, self.samples, self.sensed.distrusted)
        own_c = limits_c(self.recording.meta.sensors)
        for step in self.recording.meta.protocol.workload_steps:
            rows = self._samples.of(step.name)
            if not rows.is_empty():
                # what is still being written would be longer
                again = None if self.recording.was_cut else partial(self._samples.of, step.name)
                yield StepView(step, rows, _start_s(rows), own_c, course, again)

    @property
    def samples(self) -> pl.DataFrame:
        """All of its samples that may be judged."""
        return self._samples.whole

    def forget(self) -> None:
        """Free what can be computed again: of thousands, only few are looked at once more."""
        for view in (*self.views, *self.fills):
            view.forget()
        self._samples.forget()


#: Of a drive's recordings, so many before and after one are held against it, and as many others.
_NEAR = 40


def siblings_of(one: RecordingView, own: Sequence[RecordingView]) -> list[StepView]:
    """Return the steps of the other recordings of its drive, `own`; of very many, of some."""
    at, apart = own.index(one), -(-len(own) // (2 * _NEAR))
    some = dict.fromkeys([*own[::apart], *own[max(at - _NEAR, 0) : at + _NEAR]])
    return [v for o in some if o is not one and not _copied(one, o) for v in o.views]


def _copied(one: RecordingView, other: RecordingView) -> bool:
    """Whether both are sides of one copy: two drives, even if of the same model."""
    parts = [each.recording.meta.part_of_copy for each in (one, other)]
    return parts[0] is not None and parts[1] is not None and parts[0].id == parts[1].id


@dataclass(frozen=True)
class OtherCooling:
    """How another run of a drive was cooled.

    Attributes:
        text: the conditions of the other run that differ.
        is_better: whether it cools better there; None if the conditions do not say.
    """

    text: str
    is_better: bool | None


def other_cooling(one: StepView, other: StepView) -> OtherCooling | None:
    """Return how `other` was cooled; None if that was the same, or if more than cooling differs."""
    here, there = one.course.conditions, other.course.conditions
    if here == there:  # as thousands of runs of one drive are
        return None
    differ = protocol.differing(here, there)
    names = differ.get("cooling", [])
    if not names or "load" in differ or "identity" in differ:
        return None
    better = {protocol.cools_better(name, here[name], there[name]) for name in names}
    return OtherCooling(
        text=", ".join(f"{name} {there[name]}" for name in names),
        is_better=better.pop() if len(better) == 1 else None,
    )


@dataclass
class Partner:
    """The same step on the other side of a copy.

    Attributes:
        role: the role of the other side.
        causes: its drops with their causes, once those are known.
    """

    role: protocol.Role
    view: "StepView"
    causes: Sequence[tuple[falls.Drop, Verdict]] = ()

    def cause_between(self, start_s: float, end_s: float) -> tuple[falls.Drop, Verdict] | None:
        """Return its drop that overlaps most with a time, from the recording's start."""

        def overlap_s(drop: falls.Drop) -> float:
            zero_s = self.view.start_s
            return min(end_s, zero_s + drop.end_s) - max(start_s, zero_s + drop.onset_s)

        drops = [each for each in self.causes if overlap_s(each[0]) > 0.5 * (end_s - start_s)]
        return max(drops, key=lambda each: overlap_s(each[0]), default=None)
