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
from typing import Any, Protocol

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


def _quantity(
    name: str,
    label: str,
    unit: str,
    owner: Owner,
    average: Average,
    metric: str,
    help: str,
    metric_unit: str = "",
    type_: str = "gauge",
    *,
    by: tuple[str, str] | None = None,
    is_judged: bool = True,
    dtype: type[pl.DataType] = pl.Float64,
    **factor: int,
) -> Column:
    """A column and the metric that it is exported to, its name without `heatsoak_`, by a label."""
    family = OpenMetricsFamily(f"heatsoak_{metric}", help, metric_unit, type_, label=by, **factor)
    return Column(name, label, unit, owner, average, family, is_judged, dtype)


def _throughput(name: str, label: str, owner: Owner, metric: str, help: str) -> Column:
    to = "bytes_per_second"
    about = (name, label, "MB/s", owner, Average.TIME)
    return _quantity(*about, f"{metric}_{to}", help, to, times=1_000_000)


#: Of a direction, or of both: label, metric, what happens to bytes, and what is counted.
_DIRECTIONS = {
    "read_": ("reads", "read", "read", "reads"),
    "write_": ("writes", "write", "written", "writes"),
    "": ("reads and writes", "io", "moved, either way,", "I/Os, reads and writes together"),
}


def _rates() -> Iterator[Column]:
    """Throughput, IOPS and latency of reads, of writes, and of both together."""
    both = ("read_", "write_")

    def bw(side: str) -> Column:
        label, metric, verb, _ = _DIRECTIONS[side]
        text = f"Bytes {verb} a second, mean over the sample's interval."
        return _throughput(f"{side}bw_mb_s", label, Owner.LOAD, metric, text)

    def iops(side: str) -> Column:
        label, metric, _, what = _DIRECTIONS[side]
        to, text = "operations_per_second", f"Rate of {what}, mean over the sample's interval."
        about = (f"{side}iops", label, "IOPS", Owner.LOAD, Average.TIME)
        return _quantity(*about, f"{metric}_{to}", text, to)

    def latency(side: str) -> Column:
        label, metric, _, what = _DIRECTIONS[side]
        text = f"Mean latency of {what} in the sample's interval."
        about = (f"{side}lat_us", f"{label}, mean latency", "µs", Owner.LOAD, Average.TIME)
        return _quantity(*about, f"{metric}_latency_seconds", text, "seconds", over=1_000_000)

    def quantile(side: str, name: str, share: str, of: str) -> Column:
        label, metric, _, what = _DIRECTIONS[side]
        average = Average.MAX if name == "max" else Average.TIME
        text = f"Quantiles of the latency of {what} in the sample's interval; 1 is the greatest."
        to = (f"{metric}_latency_quantile_seconds", text, "seconds", "summary")
        about = (f"{side}lat_{name}_us", f"{label}, {of} of latency", "µs", Owner.LOAD, average)
        return _quantity(*about, *to, by=("quantile", share), over=1_000_000)

    def slow(side: str, limit_ms: int) -> Column:
        label, metric, _, what = _DIRECTIONS[side]
        text = f"How many {what} of the sample's interval took longer than `over` seconds."
        about = (f"{side}over_{limit_ms}ms", f"{label} that took longer than {limit_ms} ms")
        to, by = (f"{metric}_slow_operations", text), ("over", f"{limit_ms / 1000:g}")
        return _quantity(*about, "", Owner.LOAD, Average.SUM, *to, by=by)

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


def _device(way: str, verb: str) -> Column:
    text = f"Bytes {verb} the device a second by the kernel's counters, whoever caused it."
    return _throughput(f"device_{way}_mb_s", f"device {way}s", Owner.HOST, f"device_{way}", text)


def _of_host(name: str, label: str, unit: str, *metric: str, **more: Any) -> Column:
    return _quantity(name, label, unit, Owner.HOST, Average.READINGS, *metric, **more)


def _processor(name: str, label: str, metric: str, help: str) -> Column:
    return _of_host(name, label, "%", f"cpu_{metric}", help, "ratio", over=100)


_TABLE: tuple[Column, ...] = (
    Column("t_s", "time", "s", Owner.SAMPLE, Average.LAST),
    Column("step", "step", "", Owner.SAMPLE, Average.LAST, dtype=pl.String),
    _quantity(
        *("interval_s", "interval", "s", Owner.SAMPLE, Average.SUM, "interval_seconds"),
        *("Interval, ending at the time stamp, that the rates refer to.", "seconds"),
    ),
    *_rates(),
    _quantity(
        *("queue", "I/Os in flight", "", Owner.LOAD, Average.READINGS),
        *("queue_depth", "I/Os in flight."),
    ),
    _quantity(
        *("busy_pct", "drive busy", "%", Owner.LOAD, Average.READINGS),
        *("busy_ratio", "Share of time the drive was busy.", "ratio"),
        over=100,
    ),
    _quantity(
        *("power_w", "power", "W", Owner.DRIVE, Average.READINGS),
        *("power_watts", "Power the drive takes.", "watts"),
    ),
    _quantity(
        *("power_state", "power state", "", Owner.DRIVE, Average.LAST),
        *("power_state", "The drive's power state."),
        dtype=pl.Int64,
    ),
    _quantity(
        *("critical_warning", "critical warning", "", Owner.DRIVE, Average.LAST),
        *("critical_warning", "What the drive warns of, as NVMe's bits."),
        dtype=pl.Int64,
    ),
    _quantity(
        *("energy_wh", "energy", "Wh", Owner.DRIVE, Average.LAST, "energy_joules"),
        "Energy the drive has used since it was made, by its own count.",
        *("joules", "counter"),
        times=3600,
        is_judged=False,
    ),
    _processor("cpu_pct", "processor", "ratio", "Share of all the host's cores in use."),
    _processor(
        *("cpu_core_pct", "busiest processor core", "busiest_core_ratio"),
        "Share of the host's busiest core in use.",
    ),
    _processor(
        *("cpu_steal_pct", "processor taken by others", "steal_ratio"),
        "Share of all cores' time that a hypervisor gave to others.",
    ),
    _of_host(
        *("host_load", "load average", "", "host_load", "The host's load average over a minute."),
        is_judged=False,
    ),
    _device("read", "read from"),
    _device("write", "written to"),
    _throughput(
        *("other_drives_mb_s", "other drives", Owner.HOST, "other_drives"),
        "Bytes a second that the machine's drives moved besides the device's own.",
    ),
    _throughput(
        *("link_mb_s", "link", Owner.DRIVE, "link"),
        "Bytes a second that the drive's link carries at most, as it is trained.",
    ),
    _quantity(
        *("temp_c.", "temperature", "C", Owner.SENSOR, Average.READINGS),
        *("temperature_celsius", "Temperature of a sensor.", "celsius"),
        by=("sensor", ""),
    ),
    _quantity(
        *("throttle_count.", "throttle count", "", Owner.DRIVE, Average.LAST),
        *("throttle_transitions", "Times the drive began to throttle, by its own count."),
        type_="counter",
        by=("counter", ""),
    ),
    _quantity(
        *("throttle_time_s.", "throttle time s", "s", Owner.DRIVE, Average.LAST),
        *("throttle_seconds", "Time the drive was throttling, by its own count.", "seconds"),
        type_="counter",
        by=("counter", ""),
    ),
    _of_host(
        *("gpu_load_pct.", "graphics card", "%", "gpu_load_ratio"),
        *("Load of a graphics card.", "ratio"),
        by=("gpu", ""),
        over=100,
        is_judged=False,
    ),
    _of_host(
        *("gpu_power_w.", "graphics card", "W", "gpu_power_watts"),
        *("Power a graphics card takes.", "watts"),
        by=("gpu", ""),
        is_judged=False,
    ),
    _of_host(
        *("fan_rpm.", "fan", "rpm", "fan_rpm", "Revolutions a minute of a fan.", "rpm"),
        by=("fan", ""),
        is_judged=False,
    ),
    _quantity(
        *("sim.", "simulator", "", Owner.SIMULATOR, Average.READINGS),
        *("simulator_truth", "What only a simulator knows, in its own units."),
        by=("truth", ""),
        is_judged=False,
    ),
)

#: Every single column, in a recording's order.
FIXED = {column.name: column for column in _TABLE if not column.is_family}
#: Families of columns by prefix; a sensor's or counter's name follows.
FAMILIES = {column.name: column for column in _TABLE if column.is_family}

COUNTS, TIMES = "throttle_count.", "throttle_time_s."
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
_HOST = ("cpu", "gpu", "case", "neighbour", *_SURROUNDINGS)
#: How the columns of other drives' temperatures begin.
NEIGHBOUR = "temp_c.neighbour"


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
    return f"{COUNTS}{status}", f"{TIMES}{status}"


def throttle_columns(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` in which a drive counts or times heat or throttling."""
    known = list(columns)
    return [name for prefix in (COUNTS, TIMES) for name in known if name.startswith(prefix)]


def throttle_counters(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` in which a drive counts or times its own throttling."""
    return [name for name in throttle_columns(columns) if name.partition(".")[2] not in _OF_HEAT]


def throttle_statuses(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` that count how often a logged throttling status came on."""
    known = throttle_columns(columns)
    return [
        name
        for name in known
        if name.startswith(COUNTS)
        and not (status := name.removeprefix(COUNTS)).startswith(_OF_NVME)
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


def own_temperatures(columns: Iterable[str]) -> list[str]:
    """Return those of `columns` that are temperatures of the drive."""
    return [name for name in columns if name.startswith(TEMPERATURES) and is_of_drive(name)]


def drive_temperature(tops_c: Mapping[str, float], model: str | None = None) -> str:
    """Return which of the drive's temperatures stands for it; empty for none.

    Its composite; else the sensor that this is by the rule of the model's controller family, or the
    hottest. `tops_c` has the highest reading of each column that can be trusted, in C.
    """
    own = own_temperatures(tops_c)
    if COMPOSITE in own or len(own) < 2:
        return COMPOSITE if COMPOSITE in own else "".join(own)
    from heatsoak.catalog.families import family_of  # few recordings are held against the catalog

    rank = family_of(model).rank
    return max(own, key=lambda name: (rank(name.removeprefix(TEMPERATURES), tops_c[name]), name))
