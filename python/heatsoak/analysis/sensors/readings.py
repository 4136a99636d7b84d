"""A recording's temperature readings, and the load at the same times."""

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from heatsoak.analysis.series import Array
from heatsoak.recording import Recording, columns, grid

#: The columns that show a load: bytes, I/Os or power, the first that was logged.
_LOADS = (
    ("read_bw_mb_s", "write_bw_mb_s", "bw_mb_s"),
    ("read_iops", "write_iops", "iops"),
    ("power_w",),
)
#: Loads are read for at most this many seconds: three days.
_MAX_SECONDS = 300_000


@dataclass(frozen=True)
class TemperatureReadings(grid.SensorTrack):
    """One temperature: times from the recording's start, and values in C."""

    name: str

    @property
    def is_of_host(self) -> bool:
        """Whether it is not a temperature of the drive."""
        return not columns.is_of_drive(self.name)

    def only(self, keep: np.typing.NDArray[np.bool_]) -> "TemperatureReadings":
        """Return the readings that `keep` selects."""
        return TemperatureReadings(self.t_s[keep], self.values[keep], self.name)


@dataclass(frozen=True)
class Stretch:
    """When a step's load started and ended, from the recording's start."""

    start_s: float
    end_s: float


@dataclass(frozen=True)
class ThermalLog:
    """A recording's temperatures and load.

    Attributes:
        readings: every temperature that was read.
        load: throughput or power of each second from the start, 0 if nothing was moved; empty if
            neither was logged.
        stretches: when each step ran.
        model: the drive's, as it reports it.
        has_counted: whether the drive counted throttling of its own meanwhile.
    """

    readings: list[TemperatureReadings]
    load: Array
    stretches: dict[str, Stretch] = field(default_factory=dict)
    model: str | None = None
    has_counted: bool = False

    @property
    def is_loaded(self) -> Array:
        """Whether the load was high (1), next to nothing (0), or in between (NaN), by second."""
        if len(self.load) == 0 or (full := float(np.quantile(self.load, 0.95))) <= 0:
            return np.empty(0)
        between = np.where(self.load < 0.1 * full, 0.0, np.nan)
        return np.where(self.load > 0.5 * full, 1.0, between)


def read_log(recording: Recording, samples: pl.DataFrame | None = None) -> ThermalLog:
    """Return the temperatures and the load of a recording, of which `samples` are all samples."""
    logged = recording.meta.columns
    temps = [name for name in logged if name.startswith(columns.TEMPERATURES)]
    loads = next((known for of in _LOADS if (known := [n for n in of if n in logged])), [])
    if not any(step.is_judged for step in recording.meta.protocol.workload_steps):
        loads = []  # what an idling system moves warms nothing
    if samples is None:
        counts = columns.throttle_counters(logged)
        samples = recording.samples(["t_s", "step", "interval_s", *loads, *temps, *counts])
    stretches = read_stretches(samples)
    samples = samples.filter(pl.col("t_s").is_finite())
    readings = []
    for name in temps:
        rows = samples.select("t_s", name).filter(pl.col(name).is_finite())
        if not rows.is_empty():
            t_s, values = rows["t_s"].to_numpy(), rows[name].to_numpy()
            readings.append(
                TemperatureReadings(t_s, values, name.removeprefix(columns.TEMPERATURES))
            )
    counted = samples.select(columns.throttle_counters(samples.columns))
    has_counted = any(count.drop_nulls().n_unique() > 1 for count in counted)
    model = recording.meta.drive.get("model")
    return ThermalLog(readings, _load(samples, loads), stretches, model, has_counted)


def read_stretches(samples: pl.DataFrame) -> dict[str, Stretch]:
    """Return when each step's load started and ended; the first sample of a step without load."""
    # what only has temperatures has no loads
    length_s = pl.col("interval_s") if "interval_s" in samples.columns else pl.lit(None, pl.Float64)
    t_s = pl.col("t_s")
    begin_s, end_s = pl.coalesce((t_s - length_s).min(), t_s.min()), t_s.max()
    steps = samples.lazy().filter(pl.col("step").is_not_null()).group_by("step")
    rows = steps.agg(begin_s.alias("begin_s"), end_s.alias("end_s")).collect()
    return {name: Stretch(*span_s) for name, *span_s in rows.iter_rows()}


def _load(samples: pl.DataFrame, names: list[str]) -> Array:
    """The load of each second, the sum of columns `names`; empty if nothing was logged.

    A rate covers all of its interval; a second that no interval covers had no load.
    """
    if not names:
        return np.empty(0)
    rows = (
        samples.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in names))
        .select(
            "t_s",
            "interval_s",
            pl.sum_horizontal(pl.col(name).fill_nan(None) for name in names).alias("load"),
        )
        .filter(pl.col("t_s").is_between(0, _MAX_SECONDS))
        .sort("t_s")
    )
    if rows.is_empty():
        return np.empty(0)
    t_s, logged_s = rows["t_s"].to_numpy(), rows["interval_s"].cast(pl.Float64).to_numpy()
    moved = grid.Amounts.of(t_s, grid.covered_s(t_s, logged_s), rows["load"].to_numpy())
    return moved.between(np.arange(np.ceil(t_s[-1]) + 1))[0]
