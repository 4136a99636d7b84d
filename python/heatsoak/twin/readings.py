"""What a recording tells a fit: what the drive did and reported, and when heat held it back."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak import analysis, words
from heatsoak.analysis.sensors import sense
from heatsoak.analysis.sensors.readings import Stretch, read_stretches
from heatsoak.errors import UsageError
from heatsoak.identity import DriveIdentity
from heatsoak.protocol import WorkloadStep, kind_of_condition
from heatsoak.recording import Recording, columns, grid
from heatsoak.sensor.nvme import celsius

Array = NDArray[np.float64]

#: What the model is driven at: short beside the time constant of a controller, some seconds.
GRID_S = 1.0
#: Logs of more hours are followed at a slower pace, so that a fit takes no longer.
_MOST_POINTS = 7200
#: More than a day and a half says nothing new of a drive.
MAX_S = 130_000
#: Commands of sequential work, where nobody counted them.
_BYTES_A_COMMAND = 131_072
#: Readings are averaged over times that grow with the time since the load changed: by this share,
#: at most so long. Temperatures approach their end ever more slowly.
_BIN_GROWTH = 0.15
_LONGEST_BIN_S = 30.0
#: No more are made of a log of many hours: a fit's time grows with their cube.
_MOST_BINS = 300
#: A step as fast as this share of the fastest alike was not held back.
_FREE_SHARE = 0.9
#: What stays above this share of its fastest asks for the same throughout.
_ONE_PACE = 0.7
#: The governor's own transient after an onset, which says little about where it holds.
SETTLING_S = 15.0
#: Shorter stretches are no loads whose power is compared.
_LEAST_S = 5.0
#: How exactly an onset is known besides the sampling: the judge's comes when 2 % are lost.
ONSET_SD_S = 1.5
#: What else warms a drive's air, by how the names of its temperatures begin.
NEIGHBOURS = ("gpu", "cpu", "case")
#: A neighbour that moved less tells nothing of what it does to the drive, nor does a cool-down.
_MOVED_K = 5.0
_LEAST_READINGS = 10
#: A drive's counter and the fall that it explains: the fall may be gradual.
_COUNTED_WITHIN_S = 15.0
#: The judge is never surer than this of what made a fall, as far as a twin is concerned.
_NO_HEAT = 0.01
#: What the judge may say of the fall of a write whose cache is full.
_OF_A_CACHE = ("write-cache", "unknown")


@dataclass(frozen=True)
class LoadFall:
    """A fall of a load's throughput, in s from the recording's start, and how exactly it is known.

    Attributes:
        heat: how likely the governor made it: by the judge, and once it was fitted by the twin;
            `judged` stays what the judge said.
        at_full_speed: whether the drive ran as fast as it can: one that is asked for less is held
            back before that shows.
        since_s: when what went on before it began: the load, or the fall before it.
        end_s: how long it lasted; None where only the drive's counter tells of it.
        before_mb_s, during_mb_s: what was moved before and during it, if that is known.
        told: it in words; `cause` is the judge's for it, and may be ``unknown``.
    """

    t_s: float
    sd_s: float
    heat: float = 1.0 - _NO_HEAT
    judged: float = 1.0 - _NO_HEAT
    at_full_speed: bool = True
    since_s: float = 0.0
    end_s: float | None = None
    before_mb_s: float | None = None
    during_mb_s: float | None = None
    told: str = ""
    cause: str = "thermal"

    @property
    def by_heat(self) -> bool:
        """Whether the governor made it, likelier than not."""
        return self.heat >= 0.5


@dataclass(frozen=True)
class MeasuredRecording:
    """One recording as a fit sees it; series on a grid of `grid_s`, t_s at its ends.

    Attributes:
        place: a name for where it was recorded: recordings of one place share air and resistances.
        t_s: of the grid, from its first sample.
        read_mb_s, write_mb_s, read_iops, write_iops: means; 0 where nothing was moved.
        power_w: measured means; NaN where nobody measured.
        reading_t_s, reading_c: what `sensor` reported; `step_c` is what it is rounded to.
        bins: where each group of readings starts that are averaged.
        falls: when their throughput fell, whatever the reason.
        steps: when each load started and ended.
        even: loads without a fall that nothing slowed from their start; `free` are those of them at
            full speed.
        unheld: stretches before anything slowed a load that asked for all it can get.
        room_c: the room's temperature, if it was recorded.
        neighbours_c: temperatures of what else warms the air, such as ``gpu``, where they moved.
        tmt1_c: where the host told the drive to start to throttle, if it did.
        takes_tmt1_c: the lowest and highest such threshold that the drive takes; None if it takes
            none, or that is unknown.
        first_s: of the grid, on the recording's clock.
    """

    path: str
    place: str
    drive: DriveIdentity
    size_bytes: int | None
    t_s: Array
    read_mb_s: Array
    write_mb_s: Array
    read_iops: Array
    write_iops: Array
    power_w: Array
    sensor: str
    reading_t_s: Array
    reading_c: Array
    step_c: float
    bins: NDArray[np.int64]
    falls: list[LoadFall] = field(default_factory=list)
    steps: dict[str, Stretch] = field(default_factory=dict)
    even: list[Stretch] = field(default_factory=list)
    free: list[Stretch] = field(default_factory=list)
    unheld: list[Stretch] = field(default_factory=list)
    room_c: Array | None = None
    neighbours_c: dict[str, Array] = field(default_factory=dict)
    tmt1_c: float | None = None
    takes_tmt1_c: tuple[float, float] | None = None
    first_s: float = 0.0

    @property
    def grid_s(self) -> float:
        """The pace of the series."""
        return float(self.t_s[0])

    @property
    def onsets(self) -> list[LoadFall]:
        """The falls that the governor made; one that comes while it holds on is part of that."""
        found: list[LoadFall] = []
        for one in (fall for fall in self.falls if fall.by_heat):
            last = found[-1] if found else None
            if last and last.end_s and one.end_s and one.t_s <= last.end_s + GRID_S:
                found[-1] = replace(last, end_s=max(last.end_s, one.end_s))
            else:
                found.append(one)
        return found

    def explained(self, shares: Iterable[float]) -> "MeasuredRecording":
        """Return it with other shares of heat of its falls."""
        falls = [replace(one, heat=heat) for one, heat in zip(self.falls, shares, strict=True)]
        return replace(self, falls=falls)

    @property
    def cache_gb(self) -> tuple[float, LoadFall | None]:
        """What was written at full speed in one go, at most, and the fall when a cache was full.

        None where nothing shows that it was: writes that fall by other than heat do.
        """
        found: list[tuple[float, LoadFall | None]] = [(0.0, None)]
        inside = [self.write_mb_s[self.within(stretch)] for stretch in self.unheld]
        fastest = max((float(np.median(mb_s)) for mb_s in inside if len(mb_s)), default=0.0)
        for stretch, mb_s in zip(self.unheld, inside, strict=True):
            if not len(mb_s) or np.median(mb_s) < _FREE_SHARE * fastest:
                continue  # what is written slowly drains meanwhile
            gb = float(mb_s.sum() * self.grid_s / 1e3)
            ends = (one for one in self.falls if one.since_s < stretch.end_s <= one.t_s + GRID_S)
            first = next(ends, None)
            is_full = first is not None and not first.by_heat and first.cause in _OF_A_CACHE
            found.append((gb, first if is_full else None))
        return max(found, key=lambda one: one[0])

    @property
    def most_written_gb(self) -> float:
        """The most that one load wrote."""
        wrote = (self.write_mb_s[self.within(step)].sum() for step in self.steps.values())
        return float(max(wrote, default=0.0)) * self.grid_s / 1e3

    @property
    def loaded(self) -> list[Stretch]:
        """Stretches of one load each, before an onset or after it, whose powers are compared.

        Of writes only those that begin at full speed, up to an onset or a second fall: what a drive
        puts into its cache otherwise, past it, or from there to elsewhere, is not in a log.
        """
        found = []
        for step in self.steps.values():
            here = [one for one in self.falls if step.start_s < one.t_s < step.end_s]
            onsets_s = [one.t_s for one in here if one.by_heat]
            falls_s = [one.t_s for one in here if not one.by_heat]
            bounds = sorted({step.start_s, *onsets_s, *falls_s, step.end_s})
            end_s = step.end_s
            if self.write_mb_s[self.within(step)].any():
                if not any(one.start_s == step.start_s for one in self.unheld):
                    continue
                end_s = min([*onsets_s, *sorted(falls_s)[1:], step.end_s])
            found += [
                Stretch(one, other)
                for one, other in pairwise(bounds)
                if other - one >= _LEAST_S and other <= end_s
            ]
        return found

    @property
    def has_load(self) -> bool:
        """Whether anything was read or written."""
        return bool(self.read_mb_s.any() or self.write_mb_s.any())

    @property
    def fell_k(self) -> float:
        """How far the first readings were above the lowest."""
        return float(self.binned_c[0] - np.min(self.binned_c))

    @property
    def has_power(self) -> bool:
        """Whether power was measured most of the time."""
        return bool(np.mean(np.isfinite(self.power_w)) > 0.9)

    @property
    def binned_c(self) -> Array:
        """The readings, averaged by bins."""
        return self.averaged(self.reading_c)

    def averaged(self, at_readings: Array) -> Array:
        """Average values at the times of readings by bins; columns each on their own."""
        counts = np.diff(np.append(self.bins, len(at_readings)))
        return np.asarray((np.add.reduceat(at_readings, self.bins).T / counts).T)

    @property
    def bin_t_s(self) -> Array:
        """The mean time of each bin."""
        return self.averaged(self.reading_t_s)

    def within(self, stretch: Stretch) -> slice:
        """Which points of the grid lie in a stretch."""
        ends_s = [stretch.start_s, stretch.end_s]
        return slice(*np.searchsorted(self.t_s, ends_s, side="right").tolist())


def place_of(recording: Recording) -> str:
    """Return a name for where a recording was made, by its conditions about cooling."""
    told = recording.meta.conditions
    place = told.get("place")
    cooling = [
        f"{key}-{told[key]}"
        for key in sorted(told)
        if kind_of_condition(key) == "cooling" and key != "place" and told[key] != place
    ]
    return ",".join([*([str(place)] if place is not None else []), *cooling]) or "here"


def measure(recording: Recording, findings: analysis.RecordingFindings) -> MeasuredRecording:
    """Return what a recording tells; `findings` are the judge's of it.

    Raises UsageError where it has no temperatures of the drive, none that can be used, or neither
    throughput nor power.
    """
    name = recording.path_text
    samples = recording.samples().sort("t_s")
    # each on its own: one that does not explain throttling may well be modelled
    trusts = sense(recording).trusts
    sensor = _sensor(samples, trusts, name, recording.meta.drive.get("model"))
    edges = _edges(samples, name)
    room_c, neighbours_c = _room(samples, edges), _neighbours(samples, edges)
    rates = rates_of(samples, edges)
    if rates is None and not neighbours_c and room_c is None and "power_w" not in samples.columns:
        samples = _cool_down(samples, sensor, name)
        edges = _edges(samples, name)
    read, write = rates or (np.zeros(len(edges) - 1), np.zeros(len(edges) - 1))
    first_s = float(edges[0])
    temps = samples.select("t_s", sensor).filter(pl.col(sensor).is_finite())
    reading_t_s, reading_c = temps["t_s"].to_numpy(), temps[sensor].to_numpy().astype(float)
    trust = _trust_in(sensor, trusts)
    stretches = read_stretches(samples)
    steps = [step for step in findings.steps if step.step in stretches]
    changes = [e.t_s for e in recording.events if e.kind in ("step-begin", "step-end")]
    unheld = _unheld(recording, steps, stretches, edges[1:], read + write)
    counted = _counted(samples)
    fastest, even = _fastest(steps), _even(steps)
    falls = _falls(steps, stretches, counted)
    changes += [one.t_s for one in falls]
    return MeasuredRecording(
        path=name,
        place=place_of(recording),
        drive=recording.identity,
        size_bytes=recording.meta.drive.get("size_bytes"),
        t_s=edges[1:] - first_s,
        read_mb_s=read,
        write_mb_s=write,
        read_iops=commands_of(samples, "read_iops", edges, read),
        write_iops=commands_of(samples, "write_iops", edges, write),
        power_w=_power(samples, edges),
        sensor=sensor.removeprefix(columns.TEMPERATURES),
        reading_t_s=reading_t_s - first_s,
        reading_c=reading_c,
        step_c=trust.step_c if trust is not None and trust.step_c else 0.1,
        bins=bins_of(reading_t_s, sorted(changes), trust.renewed_s if trust is not None else None),
        falls=[
            replace(
                one,
                t_s=one.t_s - first_s,
                since_s=one.since_s - first_s,
                end_s=one.end_s and one.end_s - first_s,
            )
            for one in falls
        ],
        steps={step.step: _shifted(stretches[step.step], -first_s) for step in steps},
        even=[_shifted(stretches[one.step], -first_s) for one in even],
        free=[
            _shifted(stretches[one.step], -first_s)
            for one in even
            if (one.mean_mb_s or 0.0) >= _FREE_SHARE * fastest[one.workload]
        ],
        unheld=[_shifted(one, -first_s) for one in unheld.values()],
        room_c=room_c,
        neighbours_c=neighbours_c,
        tmt1_c=_tmt1_c(recording),
        takes_tmt1_c=_takes_tmt1_c(recording),
        first_s=first_s,
    )


def _shifted(one: Stretch, by_s: float) -> Stretch:
    return Stretch(one.start_s + by_s, one.end_s + by_s)


def _trust_in(sensor: str, trusts: list[analysis.SensorTrust]) -> analysis.SensorTrust | None:
    name = sensor.removeprefix(columns.TEMPERATURES)
    return next((one for one in trusts if one.name == name), None)


def _sensor(
    samples: pl.DataFrame, trusts: list[analysis.SensorTrust], name: str, model: str | None
) -> str:
    """The drive's own temperature, of those that moved."""
    known = [
        column
        for column in columns.own_temperatures(samples.columns)
        if samples[column].drop_nulls().drop_nans().len() >= _LEAST_READINGS
    ]
    if not known:
        raise UsageError(
            f"{name}: has no temperatures of the drive, which a fit needs: record or join some"
        )
    tops_c, why = {}, ""
    for column in known:
        trust = _trust_in(column, trusts)
        readings = samples[column].drop_nulls().drop_nans()
        if float(readings.max()) == float(readings.min()):  # type: ignore[arg-type]
            why = (
                f"'{column.removeprefix(columns.TEMPERATURES)}' never moved from "
                f"{words.temp_text(readings[0])}"
            )
        elif trust is not None and trust.trust == "poor":
            why = f"'{trust.name}': {trust.why}"
        else:
            tops_c[column] = float(readings.max())  # type: ignore[arg-type]
    if not tops_c:
        raise UsageError(f"{name}: has no temperature that can be used for a fit: {why}")
    return columns.drive_temperature(tops_c, model)


def _on_grid(samples: pl.DataFrame, column: str, edges: Array) -> Array:
    """The mean of a rate over each interval of the grid; time without samples counts as 0."""
    rows = samples.filter(pl.col(column).is_finite())
    t_s, logged_s = rows["t_s"].to_numpy(), rows["interval_s"].cast(pl.Float64).to_numpy()
    amounts = grid.Amounts.of(t_s, grid.covered_s(t_s, logged_s), rows[column].to_numpy())
    return np.maximum(amounts.between(edges)[0] / np.diff(edges), 0.0)


def _room(samples: pl.DataFrame, edges: Array) -> Array | None:
    """The room's temperature over time, where it was recorded."""
    named = (one for one in samples.columns if one.startswith(columns.TEMPERATURES))
    found = (_between(samples, one, edges) for one in named if columns.is_of_surroundings(one))
    return next((track for track in found if track is not None), None)


def _neighbours(samples: pl.DataFrame, edges: Array) -> dict[str, Array]:
    """Temperatures of the graphics card and the processor, of each the one that moved most."""
    found = {}
    for name in NEIGHBOURS:
        tracks = [
            track
            for column in samples.columns
            if column.startswith(f"{columns.TEMPERATURES}{name}")
            and (track := _between(samples, column, edges)) is not None
        ]
        moved = max(tracks, key=lambda track: float(np.ptp(track)), default=None)
        if moved is not None and float(np.ptp(moved)) >= _MOVED_K:
            found[name] = moved
    return found


def _between(samples: pl.DataFrame, column: str, edges: Array) -> Array | None:
    """Readings in lines between them; None where there are too few."""
    rows = samples.select("t_s", column).filter(pl.col(column).is_finite())
    if rows.height < _LEAST_READINGS:
        return None
    return grid.SensorTrack(rows["t_s"].to_numpy(), rows[column].to_numpy()).along(edges[1:])


def _tmt1_c(recording: Recording) -> float | None:
    """Where the host told the drive to start to throttle; None if it did not, or turned it off."""
    told = recording.meta.conditions.get("tmt1_c")
    if told is None:
        kelvins = (e.data["tmt_k"] for e in recording.events if "tmt_k" in e.data)
        kelvin = next((pair[0] for pair in kelvins), 0)
        told = celsius(kelvin) if kelvin else None
    try:
        return float(told) or None if told is not None else None
    except ValueError:
        return None


def _takes_tmt1_c(recording: Recording) -> tuple[float, float] | None:
    """The range of thresholds that a drive takes from a host, by what it said of itself."""
    for sensor in recording.meta.sensors:
        limits = sensor.thresholds
        if "tmt_min_c" in limits and "tmt_max_c" in limits:
            return limits["tmt_min_c"], limits["tmt_max_c"]
    return None


def rates_of(samples: pl.DataFrame, edges: Array) -> tuple[Array, Array] | None:
    """Return reads and writes in MB/s, means between `edges`; None where none were recorded.

    Where a log does not tell the two apart, they count as reads.
    """
    for read, write in (
        ("read_bw_mb_s", "write_bw_mb_s"),
        ("bw_mb_s", None),
        ("device_read_mb_s", "device_write_mb_s"),
    ):
        if read in samples.columns or write in samples.columns:
            found = [
                _on_grid(samples, column, edges)
                if column is not None and column in samples.columns
                else np.zeros(len(edges) - 1)
                for column in (read, write)
            ]
            if any(rates.any() for rates in found):
                return found[0], found[1]
    return None


def span_of(samples: pl.DataFrame) -> tuple[float, float]:
    """Return when a recording's first sample begins and its last one ends, in s."""
    begins_s, ends_s = grid.spans_s(samples)
    return float(begins_s.min(initial=ends_s[-1])), float(ends_s.max())


def _edges(samples: pl.DataFrame, name: str) -> Array:
    """The grid's; UsageError for a log that is too short."""
    first_s, last_s = span_of(samples)
    first_s = max(first_s, last_s - MAX_S)
    if last_s - first_s < 60.0:
        raise UsageError(f"{name}: is shorter than a minute: no time constant shows in that")
    grid_s = GRID_S * np.ceil((last_s - first_s) / GRID_S / _MOST_POINTS)
    return np.arange(first_s, last_s + 1e-6, grid_s)


def _cool_down(samples: pl.DataFrame, sensor: str, name: str) -> pl.DataFrame:
    """The deepest cool-down, which needs nothing that says what warmed the drive before."""
    temps = samples.select("t_s", sensor).filter(pl.col(sensor).is_finite())
    t_s, reading_c = temps["t_s"].to_numpy(), temps[sensor].to_numpy()
    fell_k = np.maximum.accumulate(reading_c) - reading_c
    lowest = int(np.argmax(fell_k))
    if fell_k[lowest] < _MOVED_K:
        raise UsageError(
            f"{name}: has no load and no power, does not cool down, and has no temperature of a "
            "room or graphics card: nothing says what warmed it"
        )
    hottest = lowest - int(np.argmax(reading_c[lowest::-1]))
    return samples.filter(pl.col("t_s").is_between(t_s[hottest], t_s[lowest]))


def commands_of(samples: pl.DataFrame, column: str, edges: Array, mb_s: Array) -> Array:
    """Return commands a second between `edges`: of a usual size, where nobody counted them."""
    counted = _on_grid(samples, column, edges) if column in samples.columns else np.zeros(1)
    return counted if counted.any() else mb_s * (1e6 / _BYTES_A_COMMAND)


def _power(samples: pl.DataFrame, edges: Array) -> Array:
    unknown = np.full(len(edges) - 1, np.nan)
    if "power_w" not in samples.columns:
        return unknown
    rows = samples.filter(pl.col("power_w").is_finite())
    t_s = rows["t_s"].to_numpy()
    # a reading stands for the time since the one before, whatever else its row tells
    return grid.Amounts.of(t_s, grid.covered_s(t_s), rows["power_w"].to_numpy()).means(edges)


def bins_of(
    t_s: Array, changes_s: list[float], renewed_s: float | None = None
) -> NDArray[np.int64]:
    """Return where groups of readings start: short after a change of load, ever longer later.

    None is shorter than the sensor takes to be renewed, and there are :data:`_MOST_BINS` at most.
    """
    shortest_s = max(2 * GRID_S, renewed_s or 0.0)
    longest_s = max(_LONGEST_BIN_S, shortest_s, 2.0 * (t_s[-1] - t_s[0]) / _MOST_BINS)
    growth = _BIN_GROWTH
    while True:
        starts = _growing(t_s, changes_s, growth, shortest_s, longest_s)
        if len(starts) <= _MOST_BINS or growth > 1e3:
            return starts
        # a log of many loads: each of them is told from fewer
        growth, longest_s, shortest_s = 2 * growth, 1.5 * longest_s, 1.5 * shortest_s


def _growing(
    t_s: Array, changes_s: list[float], growth: float, shortest_s: float, longest_s: float
) -> NDArray[np.int64]:
    bounds = np.asarray([-np.inf, *changes_s, np.inf])
    last = bounds[np.searchsorted(bounds, t_s) - 1]
    changed_s = np.where(np.isfinite(last), last, t_s[0])
    widths_s = np.clip(growth * (t_s - changed_s), shortest_s, longest_s)
    starts, since_s = [0], float(t_s[0])
    for index in range(1, len(t_s)):
        now_s, change_s = float(t_s[index]), float(changed_s[index])
        if now_s - since_s >= widths_s[index] or since_s < change_s <= now_s:
            starts.append(index)
            since_s = now_s
    return np.asarray(starts)


def _counted(samples: pl.DataFrame) -> list[LoadFall]:
    """When the drive's own counters say that it started to throttle."""
    found = []
    for column in columns.throttle_counters(samples.columns):
        if not column.startswith("throttle_count."):
            continue
        rows = samples.select("t_s", column).filter(pl.col(column).is_not_null())
        t_s, counts = rows["t_s"].to_numpy(), rows[column].to_numpy()
        for index in np.flatnonzero(np.diff(counts) > 0):
            early_s, late_s = float(t_s[index]), float(t_s[index + 1])
            found.append(LoadFall((early_s + late_s) / 2, (late_s - early_s) / np.sqrt(12)))
    return sorted(found, key=lambda one: one.t_s)


def _falls(
    steps: list[analysis.StepFindings], stretches: dict[str, Stretch], counted: list[LoadFall]
) -> list[LoadFall]:
    """Falls of throughput; those of heat by the drive's counters where there are any."""
    falls: list[LoadFall] = []
    fastest = _fastest(steps)
    for step in steps:
        stretch = stretches[step.step]
        top = fastest[step.workload]
        held_s, since_s = 0.0, stretch.start_s
        for episode in sorted(step.episodes, key=lambda episode: episode.onset_s):
            # within another it began at what that one left; from the start, it was warm before
            if episode.onset_s < max(held_s, 2 * GRID_S):
                continue
            t_s, end_s = (stretch.start_s + at_s for at_s in (episode.onset_s, episode.end_s))
            end_s = min(end_s, stretch.end_s)
            if falls and falls[-1].end_s is not None and t_s > falls[-1].end_s + GRID_S:
                since_s = max(since_s, falls[-1].end_s)
            heat = _heat_share(episode)
            # what else slowed it before the drive counted heat was not that
            near = [one for one in counted if t_s - _COUNTED_WITHIN_S < one.t_s < end_s]
            fall = LoadFall(t_s, ONSET_SD_S, heat, heat)
            before_mb_s = episode.before_mb_s
            if near and heat > _NO_HEAT:
                fall = near[0]
                if falls and falls[-1].t_s == fall.t_s:
                    before_mb_s = falls.pop().before_mb_s
            if fall.by_heat:
                held_s = episode.end_s
            told = (
                f"'{step.step}' fell by {words.percent_text(episode.depth_pct)} after "
                f"{words.duration_text(episode.onset_s)}"
            )
            falls.append(
                replace(
                    fall,
                    at_full_speed=(episode.before_mb_s or top) >= _FREE_SHARE * top,
                    since_s=since_s,
                    end_s=end_s,
                    before_mb_s=before_mb_s,
                    during_mb_s=episode.during_mb_s,
                    told=told,
                    cause=episode.cause,
                )
            )
            # what goes on below it goes on at its own level
            since_s = t_s
        of_step = [one for one in counted if stretch.start_s < one.t_s < stretch.end_s]
        if of_step and not any(stretch.start_s < one.t_s < stretch.end_s for one in falls):
            falls.append(replace(of_step[0], since_s=stretch.start_s))
    return falls


def _heat_share(episode: analysis.Episode) -> float:
    """How likely heat made it, by the judge, who is never certain of it."""
    named = 1.0 if episode.cause == "thermal" else 0.0
    return min(max(episode.likelihoods.get("thermal", named), _NO_HEAT), 1.0 - _NO_HEAT)


def _fastest(steps: list[analysis.StepFindings]) -> dict[str, float]:
    """The full speed of each workload, or of the same without its rate limit."""
    full = [(step.workload, step.full_mb_s.mid if step.full_mb_s else 0.0) for step in steps]
    # a load of a fixed rate is the same one, as far as heat goes
    return {
        name: max(speed for other, speed in full if other.split(",")[0] in name) for name, _ in full
    }


def _even(steps: list[analysis.StepFindings]) -> list[analysis.StepFindings]:
    """Loads that nothing slowed."""
    return [
        step
        for step in steps
        if step.claim.heat is not None
        and step.claim.what in ("held", "hot", "unseen")
        and not step.episodes
    ]


def _unheld(
    recording: Recording,
    steps: list[analysis.StepFindings],
    stretches: dict[str, Stretch],
    t_s: Array,
    mb_s: Array,
) -> dict[str, Stretch]:
    """What comes before anything slowed a step that asked for all it can get, at one pace."""
    limited = {
        step.name
        for step in recording.meta.protocol.workload_steps
        if isinstance(step, WorkloadStep)
        and any(one.rate or one.rate_iops for one in step.workloads)
    }
    found = {}
    for step in steps:
        if step.step in limited or any(one.doubt or one.what == "hot" for one in step.claims):
            continue
        stretch = stretches[step.step]
        ends_s = [episode.onset_s for episode in step.episodes]
        if not ends_s and step.claim.what not in ("held", "hot", "unseen"):
            continue
        end_s = min([stretch.end_s, *(stretch.start_s + one for one in ends_s)])
        inside = mb_s[(t_s > stretch.start_s) & (t_s <= end_s)]
        if len(inside) and np.quantile(inside, 0.1) >= _ONE_PACE * np.quantile(inside, 0.9) > 0:
            found[step.step] = Stretch(stretch.start_s, end_s)
    return found
