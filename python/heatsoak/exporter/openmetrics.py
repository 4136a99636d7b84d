"""OpenMetrics text for Prometheus, which promtool can backfill.

A series is one quantity of one step of one recording. Base units: bytes, seconds, celsius, watts,
ratios.
"""

import re
from collections.abc import Iterator, Mapping
from typing import IO

import polars as pl

from heatsoak.errors import UsageError
from heatsoak.exporter.names import unused
from heatsoak.exporter.table import label_text, sample_columns
from heatsoak.output import printable
from heatsoak.recording import Recording
from heatsoak.recording.columns import FAMILIES, FIXED, Column, OpenMetricsFamily, column_of

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


def _metrics() -> dict[str, tuple[OpenMetricsFamily, list[Column]]]:
    """The metrics by name, each with the columns that are exported to it."""
    found: dict[str, tuple[OpenMetricsFamily, list[Column]]] = {}
    for column in (*FIXED.values(), *FAMILIES.values()):
        if (metric := column.metric) is not None:
            found.setdefault(metric.name, (metric, []))[1].append(column)
    return found


def labels_of(column: str) -> dict[str, str]:
    """Return the labels that distinguish a column within its metric."""
    metric = column_of(column).metric
    if metric is None or metric.label is None:
        return {}
    key, value = metric.label
    return {key: value or column.partition(".")[2]}


def write_openmetrics(recordings: Mapping[str, Recording], file: IO[bytes], *, truth: bool) -> int:
    """Write all quantities of `recordings` (name -> recording), and return the number of values.

    Control characters in labels are escaped, since somebody may look at it in a terminal.

    Raises UsageError for a recording without a wall clock.
    """
    check_clocks(recordings)
    shared = {name: _shared_labels(name, recording) for name, recording in recordings.items()}
    values = 0
    for metric, members in _metrics().values():
        head: bytes | None = _head(metric)
        for name, recording in recordings.items():
            for column in sample_columns(recording, truth=truth):
                if column_of(column) not in members:
                    continue
                for step, rows in _by_step(recording, column, metric):
                    labels = {**shared[name], **labels_of(column)}
                    if step is not None:
                        labels["step"] = step
                    labels = {key: printable(value) for key, value in labels.items()}
                    if head is not None:
                        file.write(head)
                        head = None
                    _write_series(rows, metric, labels, file)
                    values += rows.height
    file.write(b"# EOF\n")
    return values


def check_clocks(recordings: Mapping[str, Recording]) -> None:
    """Raise UsageError for a recording without a known start time."""
    for recording in recordings.values():
        started_s = recording.meta.started_unix_s
        if started_s is None or started_s < 0:
            has = "no wall clock" if started_s is None else "a date before 1970"
            raise UsageError(
                f"{recording.path}: OpenMetrics needs dates, but this recording has {has}: "
                "export it as csv or parquet"
            )


def _head(metric: OpenMetricsFamily) -> bytes:
    lines = [f"# TYPE {metric.name} {metric.type}"]
    lines += [f"# UNIT {metric.name} {metric.unit}"] if metric.unit else []
    return "\n".join([*lines, f"# HELP {metric.name} {_escaped(metric.help)}", ""]).encode()


def _by_step(
    recording: Recording, column: str, metric: OpenMetricsFamily
) -> Iterator[tuple[str | None, pl.DataFrame]]:
    """Yield each step with its values: ``value`` and the time stamp ``unix_ms``, ascending."""
    begin_ms = 1000 * (recording.meta.started_unix_s or 0.0)
    value = pl.col(column).cast(pl.Float64)
    sane = value.is_finite() & (value >= 0 if metric.type == "counter" else True)
    rows = (
        recording.scan(["t_s", "step", column])
        .filter(sane & pl.col("t_s").is_finite())
        .select(
            "step",
            (begin_ms + 1000 * pl.col("t_s")).round().cast(pl.Int64).alias("unix_ms"),
            (value * metric.times / metric.over).alias("value"),
        )
        .collect()
    )
    for part in rows.partition_by("step", maintain_order=True):
        # Prometheus keeps one value per millisecond
        yield part["step"][0], part.unique("unix_ms", keep="last", maintain_order=True)


def _write_series(
    rows: pl.DataFrame, metric: OpenMetricsFamily, labels: Mapping[str, str], file: IO[bytes]
) -> None:
    name = metric.name + ("_total" if metric.type == "counter" else "")
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
    """Return a condition's label name, prefixed with ``condition_`` if reserved or invalid."""
    name = _LABEL_NAME.sub("_", condition)
    if name in _OWN_LABELS or name[:1].isdigit() or name.startswith("__") or not name.strip("_"):
        name = f"condition_{name.strip('_')}"
    return unused(name, taken, "_")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
