"""Simulated courses as recordings that look like any others: sensors, host, noise, gaps."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import heatsoak
import numpy as np
import polars as pl
from heatsoak.analysis.series import Array
from heatsoak.protocol import Protocol, WorkloadStep
from heatsoak.recording import Event, InMemoryRecording, RecordingMeta, SensorMeta
from heatsoak.recording.columns import schema_of
from numpy.typing import NDArray

from heatsoak_dev.corpus.machine import NoiselessStep
from heatsoak_dev.corpus.scenario import Held, Take
from heatsoak_dev.corpus.truth import Gates

#: The interval at which noise is generated; coarser samples are means of it.
FINE_S = 0.1
#: How often a sample of `FINE_S` is a dip, and what is left of the rate in it.
DIP_CHANCE = 0.01
DIP_SHARE = (0.2, 0.6)
#: Noise alone does not lower a sample further than this.
MIN_SHARE = 0.02


def autoregressive(
    count: int, sigma: float, correlation: float, chance: np.random.Generator
) -> Array:
    """Return `count` values of a stationary AR(1) process around 0."""
    from scipy.signal import lfilter  # slow to import, and only one command needs it

    innovations = chance.normal(0, sigma * np.sqrt(1 - correlation**2), count)
    innovations[:1] = chance.normal(0, sigma)
    return np.asarray(lfilter([1.0], [1.0, -correlation], innovations), dtype=float)


def factors(
    count: int, sigma: float, correlation: float, has_dips: bool, chance: np.random.Generator
) -> Array:
    """Return the factors by which samples of `FINE_S` are multiplied."""
    noise = np.maximum(1 + autoregressive(count, sigma, correlation, chance), MIN_SHARE)
    if has_dips:
        noise = np.where(
            chance.random(count) < DIP_CHANCE, noise * chance.uniform(*DIP_SHARE, count), noise
        )
    return noise


def averaged(values: Array, size: int) -> Array:
    """Return means of `size` values each; a remainder of at least half makes a last one."""
    whole = len(values) // size * size
    means = values[:whole].reshape(-1, size).mean(axis=1)
    rest = values[whole:]
    return np.append(means, rest.mean()) if len(rest) >= size / 2 else means


def ramped(values: Array, length: int) -> Array:
    """Return the mean of the last `length` values at each, so that steps become ramps."""
    if length < 2:
        return values
    padded = np.concatenate([np.full(length - 1, values[0]), values])
    sums = np.cumsum(np.insert(padded, 0, 0.0))
    return np.asarray((sums[length:] - sums[:-length]) / length)


@dataclass(frozen=True)
class Habits:
    """How the recordings of a case are made.

    Attributes:
        gaps: stretches that are missing from the first judged step.
        sensor: ``good``, ``stuck``, ``placeholder``, or ``none`` if it is not recorded.
        weights: the weight of each node in the temperature sensor's reading.
        apart: whether sensors have rows of their own, as a poller makes them.
        levels: permitted shares below which NVMe's first and second transition are counted;
            empty where the drive counts nothing.
        others: which of the host's sensors are there: ``cpu``, ``steal``, ``device``, ``link``.
        busy_pct: how busy the whole CPU and its busiest core are without the load.
        link_mb_s: what the link carries at its best.
    """

    sampling_s: float
    sigma: float
    correlation: float
    has_dips: bool
    gaps: int
    has_latencies: bool
    sensor: str
    weights: dict[str, float]
    lag_s: float
    offset_c: float
    step_c: float
    apart: bool
    levels: tuple[float, ...]
    others: frozenset[str]
    busy_pct: tuple[float, float]
    link_mb_s: float


def share_shown(course: NoiselessStep, shown: Array) -> Array:
    """Return the share of the drive's own rate that `shown` has, at each grid point."""
    own = course.rate_mb_s
    return np.divide(shown, own, out=np.ones_like(own), where=own > 0)


def rates(
    course: NoiselessStep, habits: Habits, shown: Array, gaps: int, chance: np.random.Generator
) -> pl.DataFrame:
    """Return the samples of a step whose noise-free rate is `shown`, reads and writes together."""
    step = course.step
    assert isinstance(step, WorkloadStep)
    fine = round(course.grid_s / FINE_S)
    size = round(habits.sampling_s / FINE_S)
    factor = factors(len(course) * fine, habits.sigma, habits.correlation, habits.has_dips, chance)
    share = share_shown(course, shown)
    data: dict[str, Array] = {}
    ways = (("read", step.reads, course.read_mb_s), ("write", step.writes, course.write_mb_s))
    for way, is_used, rate_mb_s in ways:
        if not is_used:
            continue
        seen = averaged(np.repeat(rate_mb_s * share, fine) * factor, size)
        data[f"{way}_bw_mb_s"] = seen
        data[f"{way}_iops"] = seen * 1e6 / step.bs
        for kind in ("lat", "lat_p99") if habits.has_latencies else ():
            of_drive = np.nan_to_num(getattr(course, f"{way}_{kind}_us"))
            # a limit outside the drive lets fewer I/Os through, so that each waits longer
            waited = np.repeat(of_drive / np.maximum(share, 1e-3), fine) / factor
            data[f"{way}_{kind}_us"] = averaged(waited, size)
    count = len(next(iter(data.values())))
    t_s = course.start_s + habits.sampling_s * np.arange(1, count + 1, dtype=float)
    t_s[-1] = course.start_s + course.duration_s
    data = {"t_s": t_s, "interval_s": np.diff(t_s, prepend=course.start_s), **data}
    return _with_gaps(pl.DataFrame(data), course, habits.sampling_s, gaps, chance)


def _with_gaps(
    frame: pl.DataFrame,
    course: NoiselessStep,
    sampling_s: float,
    gaps: int,
    chance: np.random.Generator,
) -> pl.DataFrame:
    """Leave out stretches of 2 to 10 s, or of as many samples if those are longer."""
    for _ in range(gaps):
        length_s = chance.uniform(2, 10) * max(1.0, sampling_s)
        start_s = course.start_s + chance.uniform(5 * max(1.0, sampling_s), course.duration_s)
        frame = frame.filter(~pl.col("t_s").is_between(start_s, start_s + length_s))
    return frame


#: The placeholder that some drives report without measuring: 313 K.
PLACEHOLDER_C = 40.0


class Instruments:
    """The sensors of one drive, with their state from step to step."""

    def __init__(self, habits: Habits, chance: np.random.Generator) -> None:
        self._habits = habits
        self._felt_c: float | None = None
        self._level = 0
        # drives are rarely new
        is_used = chance.random() < 0.5
        self._counts = chance.integers(0, 400, 2) * is_used
        self._times_s = chance.integers(0, 9000, 2) * float(is_used)
        self._stuck_c = float(chance.integers(28, 62))

    def temperature(self, course: NoiselessStep) -> Array:
        """Return what the sensor reports at each point of the grid."""
        from scipy.signal import lfilter  # slow to import, and only one command needs it

        habits = self._habits
        nodes = {"controller": course.controller_c, "nand": course.nand_c, "board": course.board_c}
        true_c = np.sum([part * nodes[name] for name, part in habits.weights.items()], axis=0)
        keep = float(np.exp(-course.grid_s / habits.lag_s))
        before = true_c[0] if self._felt_c is None else self._felt_c
        felt_c, _ = lfilter([1 - keep], [1.0, -keep], true_c, zi=[keep * before])
        self._felt_c = float(felt_c[-1])
        if habits.sensor == "stuck":
            return np.full(len(course), self._stuck_c)
        if habits.sensor == "placeholder":
            return np.full(len(course), PLACEHOLDER_C)
        return np.asarray(np.round((felt_c + habits.offset_c) / habits.step_c) * habits.step_c)

    def counters(self, course: NoiselessStep) -> dict[str, Array]:
        """Return NVMe's counts and seconds of light and heavy throttling."""
        levels = np.sum([course.permitted < share for share in self._habits.levels], axis=0)
        before = np.concatenate([[self._level], levels[:-1]])
        columns: dict[str, Array] = {}
        for index in (0, 1):
            entered = (levels > index) & (before <= index)
            counts = self._counts[index] + np.cumsum(entered)
            times_s = self._times_s[index] + np.cumsum(levels == index + 1) * course.grid_s
            self._counts[index], self._times_s[index] = counts[-1], times_s[-1]
            columns[f"throttle_count.tmt{index + 1}"] = counts.astype(float)
            columns[f"throttle_time_s.tmt{index + 1}"] = np.floor(times_s)
        self._level = int(levels[-1])
        return columns


def held_back(course: NoiselessStep, held: list[Held], ramp_s: float) -> tuple[Array, Gates]:
    """Return the remaining noise-free rate of a course, and when each cause lowered it."""
    share = np.ones(len(course))
    gates: Gates = {}
    for stretch in held:
        begin, end = _indices(course, stretch)
        gate = gates.setdefault(stretch.cause, np.zeros(len(course), dtype=bool))
        gate[begin:end] = True
        if stretch.share is not None:
            share[begin:end] *= stretch.share[: end - begin]
    shown = ramped(course.rate_mb_s * share, round(ramp_s / course.grid_s))
    return shown, gates


def columns(
    course: NoiselessStep,
    held: list[Held],
    habits: Habits,
    shown: Array,
    link_mb_s: float,
    index: NDArray[np.intp],
    chance: np.random.Generator,
) -> dict[str, Array]:
    """Return the host's columns at points `index` of the grid while a load runs.

    `link_mb_s` is what the link carries, unless a stretch has less.
    """
    wander = autoregressive(len(index), 1.0, 0.7, chance)
    data: dict[str, Array] = {}
    if "cpu" in habits.others:
        whole, core = habits.busy_pct
        saturated = _during(course, held, "cpu")[index]
        data["cpu_core_pct"] = np.where(
            saturated, 99.8 - 0.5 * np.abs(wander), np.clip(core + 3 * wander, 1, 88)
        )
        # one busy core of many hardly shows in the total
        full = 99.0 if whole > 20 else whole + 8
        data["cpu_pct"] = np.where(
            saturated, np.minimum(full + 0.5 * wander, 100), np.clip(whole + 2 * wander, 0.5, 85)
        )
    if "steal" in habits.others:
        data["cpu_steal_pct"] = np.clip(
            _stolen_pct(course, held)[index] + 0.4 * np.abs(wander), 0, 95
        )
    if "device" in habits.others:
        # under others' traffic the drive does as much as before
        share = np.where(_during(course, held, "traffic"), 1.0, share_shown(course, shown))
        for way, rate_mb_s in (("read", course.read_mb_s), ("write", course.write_mb_s)):
            means = _means(rate_mb_s * share, index)
            data[f"device_{way}_mb_s"] = np.maximum(means * (1 + 0.01 * wander), 0)
    if "link" in habits.others:
        data["link_mb_s"] = _link_mb_s(course, held, link_mb_s)[index]
    return data


def _indices(course: NoiselessStep, stretch: Held) -> tuple[int, int]:
    begin, end = (round(at_s / course.grid_s) for at_s in (stretch.start_s, stretch.end_s))
    return begin, min(end, len(course))


def _during(course: NoiselessStep, held: list[Held], how: str) -> NDArray[np.bool_]:
    inside = np.zeros(len(course), dtype=bool)
    for stretch in held:
        if stretch.how == how:
            inside[slice(*_indices(course, stretch))] = True
    return inside


def _stolen_pct(course: NoiselessStep, held: list[Held]) -> Array:
    taken = np.zeros(len(course))
    for stretch in held:
        if stretch.how == "steal" and stretch.share is not None:
            begin, end = _indices(course, stretch)
            taken[begin:end] = 80 * (1 - stretch.share[: end - begin])
    return taken


def _link_mb_s(course: NoiselessStep, held: list[Held], best_mb_s: float) -> Array:
    carries = np.full(len(course), best_mb_s)
    for stretch in held:
        if stretch.link_mb_s is not None:
            carries[slice(*_indices(course, stretch))] = stretch.link_mb_s
    return carries


def _means(values: Array, index: NDArray[np.intp]) -> Array:
    """Return the mean of `values` since the point before, at each of `index`."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    begins = np.concatenate([[0], index[:-1] + 1])
    return np.asarray((sums[index + 1] - sums[begins]) / (index + 1 - begins))


#: Sensors are read once a second, and every ten seconds in pauses.
SENSOR_S, IDLE_SENSOR_S = 1.0, 10.0
_HOST_COLUMNS = {
    "cpu": ("cpu_pct", "cpu_core_pct"),
    "steal": ("cpu_steal_pct",),
    "device": ("device_read_mb_s", "device_write_mb_s"),
    "link": ("link_mb_s",),
}


def recorded(
    take: Take,
    courses: list[NoiselessStep],
    shown: dict[str, Array],
    habits: Habits,
    size_bytes: int,
    name: str,
    chance: np.random.Generator,
) -> InMemoryRecording:
    """Return the recording of `courses`; `shown` are the noise-free rates of its loads."""
    instruments = Instruments(habits, chance)
    frames, events = [], []
    for course in courses:
        is_load = course.step.loads
        step = course.step.name if is_load else None
        end_s = course.start_s + course.duration_s
        events += [
            Event(
                t_s=course.start_s,
                kind="step-begin",
                step=course.step.name,
                data={"step_kind": course.step.kind},
            ),
            Event(
                t_s=end_s,
                kind="step-end",
                step=course.step.name,
                data={"duration_s": course.duration_s},
            ),
        ]
        readings = _readings(take, course, shown.get(course.step.name), habits, instruments, chance)
        frame = readings
        if is_load:
            gaps = habits.gaps if course.step.kind == "workload" else 0
            samples = rates(course, habits, shown[course.step.name], gaps, chance)
            frame = _joined(samples, readings, habits)
        frames.append(frame.with_columns(pl.lit(step, dtype=pl.String).alias("step")))
    samples = pl.concat([frame for frame in frames if not frame.is_empty()], how="diagonal")
    schema = schema_of(samples.columns)
    protocol = Protocol(name=name, conditions=take.conditions, steps=take.steps)
    meta = RecordingMeta(
        status="finished",
        protocol=protocol,
        conditions=take.conditions,
        drive=_identity(take, habits, size_bytes),
        tools={"heatsoak": heatsoak.__version__},
        load={"tool": "heatsoak's labelled corpus"},
        sensors=_sensors(take, habits, samples.columns),
        columns={column: str(dtype()) for column, dtype in schema.items()},
        started_unix_s=None,
        duration_s=courses[-1].start_s + courses[-1].duration_s,
    )
    samples = samples.select(*schema).sort("t_s", maintain_order=True)
    return InMemoryRecording(Path(name), meta, samples, events)


def _readings(
    take: Take,
    course: NoiselessStep,
    shown: Array | None,
    habits: Habits,
    instruments: Instruments,
    chance: np.random.Generator,
) -> pl.DataFrame:
    """Readings of the drive's sensors and, under load, of the host's."""
    every_s = max(SENSOR_S, habits.sampling_s) if shown is not None else IDLE_SENSOR_S
    stride = round(every_s / course.grid_s)
    index = np.arange(stride - 1, len(course), stride)
    data: dict[str, Array] = {"t_s": course.start_s + course.t_s[index]}
    if habits.sensor != "none":
        data["temp_c.composite"] = instruments.temperature(course)[index]
    if habits.levels:
        data |= {name: values[index] for name, values in instruments.counters(course).items()}
    if shown is not None:
        held = [stretch for stretch in take.held if stretch.step == course.step.name]
        link_mb_s = take.link_mb_s or habits.link_mb_s
        data |= columns(course, held, habits, shown, link_mb_s, index, chance)
    return pl.DataFrame(data) if len(data) > 1 else pl.DataFrame(schema={"t_s": pl.Float64})


def _joined(samples: pl.DataFrame, readings: pl.DataFrame, habits: Habits) -> pl.DataFrame:
    """Sensors' readings in the rows of the rates, or in rows of their own."""
    if readings.width < 2:
        return samples
    if habits.apart:
        shifted = readings.with_columns(pl.col("t_s") - 0.037)
        return pl.concat([samples, shifted], how="diagonal").sort("t_s")
    tolerance_s = 0.5 * habits.sampling_s
    return samples.join_asof(
        readings.rename({"t_s": "read_s"}).sort("read_s"),
        left_on="t_s",
        right_on="read_s",
        strategy="nearest",
        tolerance=tolerance_s - 1e-6,
    ).drop("read_s", strict=False)


def _identity(take: Take, habits: Habits, size_bytes: int) -> dict[str, Any]:
    """The drive's identity, like that of a real one: nothing reveals what the case should show."""
    details: dict[str, Any] = {}
    if "link" in habits.others:
        now_mb_s = take.link_mb_s or habits.link_mb_s
        details["link"] = {
            "kind": "pcie",
            "ceiling_mb_s": round(now_mb_s),
            "max_ceiling_mb_s": round(habits.link_mb_s),
        }
    return {
        "kind": "block",
        "path": "/dev/nvme0n1",
        "model": take.model or take.setup.model,
        "serial": None,
        "size_bytes": take.size_bytes or size_bytes,
        "simulated": False,
        "details": details,
    }


def _sensors(take: Take, habits: Habits, columns: list[str]) -> list[SensorMeta]:
    families = ("temp_c.", "throttle_")
    own = [column for column in columns if column.startswith(families)]
    found = []
    every_s = max(SENSOR_S, habits.sampling_s)
    if own:
        found.append(
            SensorMeta(
                name="nvme",
                source="SMART / Health log page",
                columns=own,
                interval_s=every_s,
                idle_interval_s=IDLE_SENSOR_S,
                thresholds={
                    name: float(round(limit_c + habits.offset_c))
                    for name, limit_c in take.setup.limits_c.items()
                },
            )
        )
    for other, names in _HOST_COLUMNS.items():
        if other in habits.others:
            found.append(
                SensorMeta(name=other, source="kernel", columns=list(names), interval_s=every_s)
            )
    return found
