"""OpenMetrics text, as Prometheus reads it, and backfills it with promtool.

A series is one quantity of one step of one recording. Base units: bytes, seconds, celsius, watts,
ratios.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO

import polars as pl

from heatsoak.errors import UsageError
from heatsoak.exporter.names import unused
from heatsoak.exporter.table import label_text, sample_columns
from heatsoak.output import printable
from heatsoak.recording import Recording

_ROWS_AT_ONCE = 50_000
_LABEL_NAME = re.compile(r"[^a-zA-Z0-9_]")
_OWN_LABELS = (
    "recording",
    "model",
    "serial",
    "step",
    "sensor",
    "counter",
    "gpu",
    "fan",
    "quantile",
    "le",
    "truth",
)


@dataclass(frozen=True)
class _Family:
    """A metric.

    Attributes:
        columns: column of a recording -> labels that tell it from the others of the family.
        prefix: a family of columns instead, whose last word is the value of label `word`.
        times: base units in the column's unit: 10^6 to make bytes of MB.
        over: the column's units in the base unit: 10^6 to make seconds of us.
    """

    name: str
    help: str
    unit: str = ""
    type: str = "gauge"
    times: int = 1
    over: int = 1
    columns: Mapping[str, dict[str, str]] = field(default_factory=dict)
    prefix: str = ""
    word: str = ""

    def labels_of(self, column: str) -> dict[str, str] | None:
        """Return the labels of `column`, None where it is none of this family's."""
        if self.prefix and column.startswith(self.prefix):
            return {self.word: column.removeprefix(self.prefix)}
        return self.columns.get(column)


def _one(
    column: str, name: str, help: str, unit: str = "", *, times: int = 1, over: int = 1
) -> _Family:
    return _Family(name, help, unit, times=times, over=over, columns={column: {}})


def _families() -> Iterator[_Family]:
    for side, verb in (("read_", "read"), ("write_", "written"), ("", "moved, either way,")):
        metric = f"heatsoak_{side or 'io_'}"
        what = {"read_": "reads", "write_": "writes"}.get(side, "I/Os, reads and writes together")
        yield _one(
            f"{side}bw_mb_s",
            f"{metric}bytes_per_second",
            f"Bytes {verb} a second, mean over the sample's interval.",
            "bytes_per_second",
            times=1_000_000,
        )
        yield _one(
            f"{side}iops",
            f"{metric}operations_per_second",
            f"Rate of {what}, mean over the sample's interval.",
            "operations_per_second",
        )
        yield _one(
            f"{side}lat_us",
            f"{metric}latency_seconds",
            f"Mean latency of {what} in the sample's interval.",
            "seconds",
            over=1_000_000,
        )
        if side:
            quantiles = {"p50": "0.5", "p99": "0.99", "p999": "0.999", "max": "1"}
            yield _Family(
                f"{metric}latency_quantile_seconds",
                f"Quantiles of the latency of {what} in the sample's interval; 1 is the greatest.",
                "seconds",
                over=1_000_000,
                columns={f"{side}lat_{q}_us": {"quantile": v} for q, v in quantiles.items()},
            )
            yield _Family(
                f"{metric}slow_operations",
                f"How many {what} of the sample's interval took longer than `over` seconds.",
                columns={f"{side}over_{ms}ms": {"over": f"{ms / 1000:g}"} for ms in (10, 100)},
            )
    yield _one(
        "interval_s",
        "heatsoak_interval_seconds",
        "Interval, ending at the time stamp, that the rates refer to.",
        "seconds",
    )
    yield _one("queue", "heatsoak_queue_depth", "I/Os in flight.")
    yield _one(
        "busy_pct", "heatsoak_busy_ratio", "Share of time the drive was busy.", "ratio", over=100
    )
    yield _one("power_w", "heatsoak_power_watts", "Power the drive takes.", "watts")
    yield _one("power_state", "heatsoak_power_state", "The drive's power state.")
    yield _Family(
        "heatsoak_temperature_celsius",
        "Temperature of a sensor.",
        "celsius",
        prefix="temp_c.",
        word="sensor",
    )
    yield _Family(
        "heatsoak_throttle_transitions",
        "Times the drive began to throttle, by its own count.",
        type="counter",
        prefix="throttle_count.",
        word="counter",
    )
    yield _Family(
        "heatsoak_throttle_seconds",
        "Time the drive was throttling, by its own count.",
        "seconds",
        type="counter",
        prefix="throttle_time_s.",
        word="counter",
    )
    yield _one(
        "cpu_pct", "heatsoak_cpu_ratio", "Share of all the host's cores in use.", "ratio", over=100
    )
    yield _one(
        "cpu_core_pct",
        "heatsoak_cpu_busiest_core_ratio",
        "Share of the host's busiest core in use.",
        "ratio",
        over=100,
    )
    yield _one(
        "cpu_steal_pct",
        "heatsoak_cpu_steal_ratio",
        "Share of all cores' time that a hypervisor gave to others.",
        "ratio",
        over=100,
    )
    for way, verb in (("read", "read from"), ("write", "written to")):
        yield _one(
            f"device_{way}_mb_s",
            f"heatsoak_device_{way}_bytes_per_second",
            f"Bytes {verb} the device a second by the kernel's counters, whoever caused it.",
            "bytes_per_second",
            times=1_000_000,
        )
    yield _one(
        "link_mb_s",
        "heatsoak_link_bytes_per_second",
        "Bytes a second that the drive's link carries at most, as it is trained.",
        "bytes_per_second",
        times=1_000_000,
    )
    yield _one("host_load", "heatsoak_host_load", "The host's load average over a minute.")
    yield _Family(
        "heatsoak_gpu_load_ratio",
        "Load of a graphics card.",
        "ratio",
        over=100,
        prefix="gpu_load_pct.",
        word="gpu",
    )
    yield _Family(
        "heatsoak_gpu_power_watts",
        "Power a graphics card takes.",
        "watts",
        prefix="gpu_power_w.",
        word="gpu",
    )
    yield _Family(
        "heatsoak_fan_rpm",
        "Revolutions a minute of a fan.",
        "rpm",
        prefix="fan_rpm.",
        word="fan",
    )
    yield _Family(
        "heatsoak_simulator_truth",
        "What only a simulator knows, in its own units.",
        prefix="sim.",
        word="truth",
    )


FAMILIES = tuple(_families())


def write_openmetrics(
    recordings: Mapping[str, Recording], file: IO[bytes], *, truth: bool, visible: bool = False
) -> int:
    """Write all quantities of `recordings` (name -> recording), and return how many values.

    With `visible` controls in labels are shown as text: it may go to a terminal.

    Raises UsageError for a recording without a wall clock.
    """
    check_clocks(recordings)
    shared = {name: _shared_labels(name, recording) for name, recording in recordings.items()}
    values = 0
    for family in FAMILIES:
        head: bytes | None = _head(family)
        for name, recording in recordings.items():
            for column in sample_columns(recording, truth=truth):
                own = family.labels_of(column)
                if own is None:
                    continue
                for step, rows in _by_step(recording, column, family):
                    labels = {**shared[name], **own, **({"step": step} if step is not None else {})}
                    if visible:
                        labels = {key: printable(value) for key, value in labels.items()}
                    if head is not None:
                        file.write(head)
                        head = None
                    _write_series(rows, family, labels, file)
                    values += rows.height
    file.write(b"# EOF\n")
    return values


def check_clocks(recordings: Mapping[str, Recording]) -> None:
    """Raise UsageError for a recording of which nobody knows when it was made."""
    for recording in recordings.values():
        if recording.meta.started_unix_s is None:
            raise UsageError(
                f"{recording.path}: OpenMetrics needs dates, and this recording has no wall clock: "
                "export it as csv or parquet"
            )


def _head(family: _Family) -> bytes:
    lines = [f"# TYPE {family.name} {family.type}"]
    lines += [f"# UNIT {family.name} {family.unit}"] if family.unit else []
    return "\n".join([*lines, f"# HELP {family.name} {_escaped(family.help)}", ""]).encode()


def _by_step(
    recording: Recording, column: str, family: _Family
) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """Yield each step with its values: ``value`` and the time stamp ``unix_ms``, rising."""
    begin_ms = 1000 * (recording.meta.started_unix_s or 0.0)
    value = pl.col(column).cast(pl.Float64)
    sane = value.is_finite() & (value >= 0 if family.type == "counter" else True)
    rows = (
        recording.scan(["t_s", "step", column])
        .filter(sane & pl.col("t_s").is_finite())
        .select(
            "step",
            (begin_ms + 1000 * pl.col("t_s")).round().cast(pl.Int64).alias("unix_ms"),
            (value * family.times / family.over).alias("value"),
        )
        .collect()
    )
    for part in rows.partition_by("step", maintain_order=True):
        # Prometheus keeps milliseconds, and one value for each
        yield part["step"][0], part.unique("unix_ms", keep="last", maintain_order=True)


def _write_series(
    rows: pl.DataFrame, family: _Family, labels: Mapping[str, str], file: IO[bytes]
) -> None:
    name = family.name + ("_total" if family.type == "counter" else "")
    inner = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels.items())
    line = pl.format(
        "{} {} {}.{}",
        pl.lit(f"{name}{{{inner}}}"),
        pl.col("value").cast(pl.String),
        pl.col("unix_ms") // 1000,
        (pl.col("unix_ms") % 1000).cast(pl.String).str.zfill(3),
    )
    for part in rows.iter_slices(_ROWS_AT_ONCE):
        part.select(line).write_csv(file, include_header=False, quote_style="never")


def _shared_labels(name: str, recording: Recording) -> dict[str, str]:
    labels = {"recording": name}
    for key in ("model", "serial"):
        if recording.meta.drive.get(key):
            labels[key] = str(recording.meta.drive[key])
    for key, value in recording.meta.conditions.items():
        labels[_label_name(key, labels)] = label_text(value)
    return labels


def _label_name(condition: str, taken: Mapping[str, str]) -> str:
    """Return a label's name for a condition; ``condition_`` before what would mean another."""
    name = _LABEL_NAME.sub("_", condition)
    if name in _OWN_LABELS or name[:1].isdigit() or name.startswith("__") or not name.strip("_"):
        name = f"condition_{name.strip('_')}"
    return unused(name, taken, "_")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
