"""The columns of a recording's samples: the one table that defines each of them.

Samples are wide and nullable: a row has what was measured at its time, and null elsewhere.
Rates and latencies of a row are means over the `interval_s` that ends at `t_s`.
`bw_mb_s`, `iops` and `lat_us` are for reads and writes together; only imported logs have them, in
rows that do not distinguish the two.
`read_over_10ms` and the like count I/Os that completed in the row's interval and took longer than
that; `busy_pct` is the share of the interval with at least one I/O in flight.
`energy_wh` is what the drive reports to have used in its life, in whole watt-hours.
`cpu_pct` is for all cores, `cpu_core_pct` for the busiest one, `cpu_steal_pct` is the time that a
hypervisor gave to others. `device_*` is all traffic of the device by the kernel's counters, whoever
caused it; `other_drives_mb_s` is what the machine's drives moved besides the device's own, by an
array what its drives moved beyond it; `link_mb_s` is the maximum throughput of its PCIe link as
trained now.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import polars as pl

from heatsoak.units import is_possible_temp


class Average(StrEnum):
    """How the values of several rows are combined."""

    TIME = "time"  #: the mean, weighted by the rows' intervals
    READINGS = "readings"  #: the mean of the readings
    SUM = "sum"
    MAX = "max"
    LAST = "last"


class Owner(StrEnum):
    """What a column describes."""

    SAMPLE = "sample"  #: the row itself: its time, its step
    LOAD = "load"  #: the load's I/O on the drive
    DRIVE = "drive"
    SENSOR = "sensor"  #: the drive, the host or the room, depending on the sensor's name
    HOST = "host"
    SIMULATOR = "simulator"  #: the simulator's truth, which the judge must not read


@dataclass(frozen=True)
class OpenMetricsFamily:
    """The OpenMetrics metric that a column is exported to, in its base unit.

    Attributes:
        times: factor to the base unit, such as 10^6 from MB to bytes.
        over: divisor to the base unit, such as 10^6 from us to seconds.
        label: name and value of the label that distinguishes the column within its metric; the
            value is empty for a family of columns, where it is the rest of the column's name.
    """

    name: str
    help: str
    unit: str = ""
    type: str = "gauge"
    times: int = 1
    over: int = 1
    label: tuple[str, str] | None = None


@dataclass(frozen=True)
class Column:
    """A column, or a family of columns if the name ends in a dot.

    Attributes:
        unit: as people write it.
        label: its name on the page and in a terminal.
        metric: None if it is not a quantity.
        is_judged: whether the judge reads it.
    """

    name: str
    label: str
    unit: str
    owner: Owner
    average: Average
    metric: OpenMetricsFamily | None = None
    is_judged: bool = True
    dtype: type[pl.DataType] = pl.Float64

    @property
    def is_family(self) -> bool:
        """Whether it stands for all columns whose names start with its own."""
        return self.name.endswith(".")


#: Of a direction, or of both: label, metric, what happens to bytes, and what is counted.
_DIRECTIONS = {
    "read": ("reads", "heatsoak_read", "read", "reads"),
    "write": ("writes", "heatsoak_write", "written", "writes"),
    "": (
        "reads and writes",
        "heatsoak_io",
        "moved, either way,",
        "I/Os, reads and writes together",
    ),
}


def _rates() -> Iterator[Column]:
    """Throughput, IOPS and latency of reads, of writes, and of both together."""
    both = ("read", "write")

    def of(
        side: str, name: str, label: str, unit: str, average: Average, metric: OpenMetricsFamily
    ) -> Column:
        whole = f"{side}_{name}" if side else name
        return Column(whole, f"{_DIRECTIONS[side][0]}{label}", unit, Owner.LOAD, average, metric)

    def bw(side: str) -> Column:
        _, metric, verb, _ = _DIRECTIONS[side]
        text = f"Bytes {verb} a second, mean over the sample's interval."
        return of(side, "bw_mb_s", "", "MB/s", Average.TIME, _bytes_a_second(metric, text))

    def iops(side: str) -> Column:
        _, metric, _, what = _DIRECTIONS[side]
        text = f"Rate of {what}, mean over the sample's interval."
        per_second = "operations_per_second"
        to = OpenMetricsFamily(f"{metric}_{per_second}", text, per_second)
        return of(side, "iops", "", "IOPS", Average.TIME, to)

    def latency(side: str) -> Column:
        _, metric, _, what = _DIRECTIONS[side]
        text = f"Mean latency of {what} in the sample's interval."
        to = OpenMetricsFamily(f"{metric}_latency_seconds", text, "seconds", over=1_000_000)
        return of(side, "lat_us", ", mean latency", "µs", Average.TIME, to)

    def quantile(side: str, name: str, share: str, label: str) -> Column:
        _, metric, _, what = _DIRECTIONS[side]
        text = f"Quantiles of the latency of {what} in the sample's interval; 1 is the greatest."
        to = OpenMetricsFamily(
            f"{metric}_latency_quantile_seconds",
            text,
            "seconds",
            "summary",
            over=1_000_000,
            label=("quantile", share),
        )
        average = Average.MAX if name == "max" else Average.TIME
        return of(side, f"lat_{name}_us", f", {label} of latency", "µs", average, to)

    def slow(side: str, limit_ms: int) -> Column:
        _, metric, _, what = _DIRECTIONS[side]
        text = f"How many {what} of the sample's interval took longer than `over` seconds."
        to = OpenMetricsFamily(
            f"{metric}_slow_operations", text, label=("over", f"{limit_ms / 1000:g}")
        )
        label = f" that took longer than {limit_ms} ms"
        return of(side, f"over_{limit_ms}ms", label, "", Average.SUM, to)

    yield from map(bw, both)
    yield from map(iops, both)
    yield from map(latency, both)
    for name, share, label in (
        ("p50", "0.5", "median"),
        ("p99", "0.99", "99th percentile"),
        ("p999", "0.999", "99.9th percentile"),
        ("max", "1", "maximum"),
    ):
        yield from (quantile(side, name, share, label) for side in both)
    for limit_ms in (10, 100):
        yield from (slow(side, limit_ms) for side in both)
    yield from (bw(""), iops(""), latency(""))


def _bytes_a_second(metric: str, help: str) -> OpenMetricsFamily:
    unit = "bytes_per_second"
    return OpenMetricsFamily(f"{metric}_{unit}", help, unit, times=1_000_000)


def _device(way: str, verb: str) -> Column:
    text = f"Bytes {verb} the device a second by the kernel's counters, whoever caused it."
    to = _bytes_a_second(f"heatsoak_device_{way}", text)
    return Column(f"device_{way}_mb_s", f"device {way}s", "MB/s", Owner.HOST, Average.TIME, to)


def _host(name: str, label: str, metric: str, help: str) -> Column:
    to = OpenMetricsFamily(f"heatsoak_cpu_{metric}", help, "ratio", over=100)
    return Column(name, label, "%", Owner.HOST, Average.READINGS, to)


_TABLE: tuple[Column, ...] = (
    Column("t_s", "time", "s", Owner.SAMPLE, Average.LAST),
    Column("step", "step", "", Owner.SAMPLE, Average.LAST, dtype=pl.String),
    Column(
        "interval_s",
        "interval",
        "s",
        Owner.SAMPLE,
        Average.SUM,
        OpenMetricsFamily(
            "heatsoak_interval_seconds",
            "Interval, ending at the time stamp, that the rates refer to.",
            "seconds",
        ),
    ),
    *_rates(),
    Column(
        *("queue", "I/Os in flight", "", Owner.LOAD, Average.READINGS),
        OpenMetricsFamily("heatsoak_queue_depth", "I/Os in flight."),
    ),
    Column(
        *("busy_pct", "drive busy", "%", Owner.LOAD, Average.READINGS),
        OpenMetricsFamily(
            "heatsoak_busy_ratio", "Share of time the drive was busy.", "ratio", over=100
        ),
    ),
    Column(
        *("power_w", "power", "W", Owner.DRIVE, Average.READINGS),
        OpenMetricsFamily("heatsoak_power_watts", "Power the drive takes.", "watts"),
    ),
    Column(
        *("power_state", "power state", "", Owner.DRIVE, Average.LAST),
        OpenMetricsFamily("heatsoak_power_state", "The drive's power state."),
        dtype=pl.Int64,
    ),
    Column(
        *("energy_wh", "energy", "Wh", Owner.DRIVE, Average.LAST),
        OpenMetricsFamily(
            "heatsoak_energy_joules",
            "Energy the drive has used since it was made, by its own count.",
            "joules",
            "counter",
            times=3600,
        ),
        is_judged=False,
    ),
    _host("cpu_pct", "processor", "ratio", "Share of all the host's cores in use."),
    _host(
        "cpu_core_pct",
        "busiest processor core",
        "busiest_core_ratio",
        "Share of the host's busiest core in use.",
    ),
    _host(
        "cpu_steal_pct",
        "processor taken by others",
        "steal_ratio",
        "Share of all cores' time that a hypervisor gave to others.",
    ),
    Column(
        *("host_load", "load average", "", Owner.HOST, Average.READINGS),
        OpenMetricsFamily("heatsoak_host_load", "The host's load average over a minute."),
        is_judged=False,
    ),
    _device("read", "read from"),
    _device("write", "written to"),
    Column(
        *("other_drives_mb_s", "other drives", "MB/s", Owner.HOST, Average.TIME),
        _bytes_a_second(
            "heatsoak_other_drives",
            "Bytes a second that the machine's drives moved besides the device's own.",
        ),
    ),
    Column(
        *("link_mb_s", "link", "MB/s", Owner.DRIVE, Average.TIME),
        _bytes_a_second(
            "heatsoak_link",
            "Bytes a second that the drive's link carries at most, as it is trained.",
        ),
    ),
    Column(
        *("temp_c.", "temperature", "C", Owner.SENSOR, Average.READINGS),
        OpenMetricsFamily(
            "heatsoak_temperature_celsius",
            "Temperature of a sensor.",
            "celsius",
            label=("sensor", ""),
        ),
    ),
    Column(
        *("throttle_count.", "throttle count", "", Owner.DRIVE, Average.LAST),
        OpenMetricsFamily(
            "heatsoak_throttle_transitions",
            "Times the drive began to throttle, by its own count.",
            type="counter",
            label=("counter", ""),
        ),
    ),
    Column(
        *("throttle_time_s.", "throttle time s", "s", Owner.DRIVE, Average.LAST),
        OpenMetricsFamily(
            "heatsoak_throttle_seconds",
            "Time the drive was throttling, by its own count.",
            "seconds",
            "counter",
            label=("counter", ""),
        ),
    ),
    Column(
        *("gpu_load_pct.", "graphics card", "%", Owner.HOST, Average.READINGS),
        OpenMetricsFamily(
            "heatsoak_gpu_load_ratio",
            "Load of a graphics card.",
            "ratio",
            over=100,
            label=("gpu", ""),
        ),
        is_judged=False,
    ),
    Column(
        *("gpu_power_w.", "graphics card", "W", Owner.HOST, Average.READINGS),
        OpenMetricsFamily(
            "heatsoak_gpu_power_watts", "Power a graphics card takes.", "watts", label=("gpu", "")
        ),
        is_judged=False,
    ),
    Column(
        *("fan_rpm.", "fan", "rpm", Owner.HOST, Average.READINGS),
        OpenMetricsFamily(
            "heatsoak_fan_rpm", "Revolutions a minute of a fan.", "rpm", label=("fan", "")
        ),
        is_judged=False,
    ),
    Column(
        *("sim.", "simulator", "", Owner.SIMULATOR, Average.READINGS),
        OpenMetricsFamily(
            "heatsoak_simulator_truth",
            "What only a simulator knows, in its own units.",
            label=("truth", ""),
        ),
        is_judged=False,
    ),
)

#: Every single column, in a recording's order.
FIXED = {column.name: column for column in _TABLE if not column.is_family}
#: Families of columns by prefix; a sensor's or counter's name follows.
FAMILIES = {column.name: column for column in _TABLE if column.is_family}

_COUNTS, _TIMES = "throttle_count.", "throttle_time_s."
#: Time above the temperatures that the drive states as warning and critical: drives throttle below
#: those as a rule, so these count heat, not throttling.
_OF_HEAT = ("warning", "critical")
#: NVMe's own counters, which also come in pairs: ``tmt1`` and ``tmt2``.
_OF_NVME = "tmt"

TEMPERATURES = "temp_c."
#: A drive's limits, which sensors state in C.
_LIMITS = ("warning", "critical", "tmt1", "tmt2")
COMPOSITE = "temp_c.composite"
#: Prefixes of the names of the room's sensors, and of those of the rest of the host.
_SURROUNDINGS = ("ambient", "chamber")
_HOST = ("cpu", "gpu", "case", *_SURROUNDINGS)


def column_of(name: str) -> Column:
    """Return a column's definition; raises KeyError for an unknown name."""
    if name in FIXED:
        return FIXED[name]
    prefix, dot, rest = name.partition(".")
    if not rest:
        raise KeyError(name)
    return FAMILIES[prefix + dot]


def dtype_of(column: str) -> type[pl.DataType]:
    """Return the type of `column`; raises KeyError for an unknown name."""
    return column_of(column).dtype


def schema_of(columns: Iterable[str]) -> dict[str, type[pl.DataType]]:
    """Return names and types in a recording's order: fixed columns first, then the rest."""
    wanted = dict.fromkeys(columns)
    ordered = [name for name in FIXED if name in wanted]
    ordered += [name for name in wanted if name not in FIXED]
    return {name: dtype_of(name) for name in ordered}


def types_of(columns: Iterable[str]) -> dict[str, str]:
    """Return the type of each column by its name, in that order, as `recording.json` says it."""
    return {name: str(dtype()) for name, dtype in schema_of(columns).items()}


def judged(columns: Iterable[str]) -> list[str]:
    """Return those columns that the judge may read, in a recording's order."""
    return [name for name in schema_of(columns) if column_of(name).is_judged]


def status_columns(status: str) -> tuple[str, str]:
    """Return the columns of a logged throttling status: how often it came on, and for how long."""
    return f"{_COUNTS}{status}", f"{_TIMES}{status}"


def throttle_columns(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` in which a drive counts or times heat or throttling."""
    known = list(columns)
    return [name for prefix in (_COUNTS, _TIMES) for name in known if name.startswith(prefix)]


def throttle_counters(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` in which a drive counts or times its own throttling."""
    return [name for name in throttle_columns(columns) if name.partition(".")[2] not in _OF_HEAT]


def throttle_statuses(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` that count how often a logged throttling status came on."""
    known = throttle_columns(columns)
    return [
        name
        for name in known
        if name.startswith(_COUNTS)
        and not (status := name.removeprefix(_COUNTS)).startswith(_OF_NVME)
        and status_columns(status)[1] in known
    ]


def is_of_drive(column: str) -> bool:
    """Whether a temperature is the drive's own, not the host's or the surroundings'."""
    return not column.removeprefix(TEMPERATURES).startswith(_HOST)


def is_of_surroundings(column: str) -> bool:
    """Whether a temperature is the room's, which may legitimately be constant."""
    return column.removeprefix(TEMPERATURES).startswith(_SURROUNDINGS)


class _Sensor(Protocol):
    @property
    def columns(self) -> Sequence[str]: ...
    @property
    def thresholds(self) -> Mapping[str, float]: ...


def limits_c(sensors: Iterable[_Sensor]) -> dict[str, float]:
    """Return the drive's own limits, by name; of several sensors' the lowest."""
    found: dict[str, float] = {}
    for sensor in sensors:
        temps = [name for name in sensor.columns if name.startswith(TEMPERATURES)]
        # tmt_min_c and tmt_max_c only bound what TMT1 and TMT2 may be set to
        for name in _LIMITS if any(map(is_of_drive, temps)) else ():
            limit_c = sensor.thresholds.get(f"{name}_c")
            if limit_c is not None and limit_c > 0 and is_possible_temp(limit_c):
                found[name] = min(limit_c, found.get(name, limit_c))
    return found


def drive_temperatures(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` that are the drive's own temperature.

    Only the composite if there is one, else all sensors of the drive, of which the hottest counts.
    """
    own = [name for name in columns if name.startswith(TEMPERATURES) and is_of_drive(name)]
    return [COMPOSITE] if COMPOSITE in own else own
