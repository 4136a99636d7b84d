"""OpenMetrics text for Prometheus, which promtool can backfill.

A series is one quantity of one step of one recording. Base units: bytes, seconds, celsius, watts,
ratios. What watches and racks serve is made here too (:func:`metric`). prometheus-client writes
all of it but an export's values, of which a day has millions: those polars writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from types import SimpleNamespace
from typing import IO, TYPE_CHECKING

import polars as pl

from heatsoak.errors import UsageError
from heatsoak.exporter.names import unused
from heatsoak.exporter.table import sample_columns, utf8_label
from heatsoak.output import printable
from heatsoak.recording import Recording, columns

if TYPE_CHECKING:
    from prometheus_client.core import Metric

#: A value with its labels.
Sample = tuple[Mapping[str, str], float]
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


def _metrics() -> dict[str, tuple[columns.OpenMetricsFamily, list[columns.Column]]]:
    """The metrics by name, each with the columns that are exported to it."""
    found: dict[str, tuple[columns.OpenMetricsFamily, list[columns.Column]]] = {}
    for column in (*columns.FIXED.values(), *columns.FAMILIES.values()):
        if (metric := column.metric) is not None:
            found.setdefault(metric.name, (metric, []))[1].append(column)
    return found


def labels_of(column: str) -> dict[str, str]:
    """Return the labels that distinguish a column within its metric."""
    metric = columns.column_of(column).metric
    if metric is None or metric.label is None:
        return {}
    key, value = metric.label
    return {key: value or column.partition(".")[2]}


def metric(family: columns.OpenMetricsFamily, samples: Iterable[Sample]) -> "Metric":
    """Return a family with its samples."""
    from prometheus_client.core import Metric

    made = Metric(family.name, family.help, family.type, family.unit)
    name = f"{family.name}_total" if family.type == "counter" else family.name
    for labels, value in samples:
        made.add_sample(name, {key: printable(text) for key, text in labels.items()}, value)
    return made


def _written(family: columns.OpenMetricsFamily, labels: Mapping[str, str]) -> tuple[str, str]:
    """Return what comes before a family's first value, and a series' name with its labels."""
    made = metric(family, [(labels, 0.0)])
    from prometheus_client.openmetrics.exposition import generate_latest

    text = generate_latest(SimpleNamespace(collect=lambda: [made])).decode()
    head, _, value = text.removesuffix("\n# EOF\n").rpartition("\n")
    return f"{head}\n", value.rpartition(" ")[0]


def write_openmetrics(recordings: Mapping[str, Recording], file: IO[bytes], *, truth: bool) -> int:
    """Write all quantities of `recordings` (name -> recording), and return the number of values.

    Control characters in labels are escaped, since somebody may look at it in a terminal.

    Raises UsageError for a recording without a wall clock.
    """
    check_clocks(recordings)
    shared = {name: _shared_labels(name, recording) for name, recording in recordings.items()}
    values = 0
    for family, members in _metrics().values():
        has_head = False
        for name, recording in recordings.items():
            for column in sample_columns(recording, truth=truth):
                if columns.column_of(column) not in members:
                    continue
                for step, rows in _by_step(recording, column, family):
                    labels = {**shared[name], **labels_of(column)}
                    if step is not None:
                        labels["step"] = step
                    head, series = _written(family, labels)
                    if not has_head:
                        file.write(head.encode())
                        has_head = True
                    _write_values(rows, series, file)
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


def _by_step(
    recording: Recording, column: str, metric: columns.OpenMetricsFamily
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


def _write_values(rows: pl.DataFrame, series: str, file: IO[bytes]) -> None:
    line = pl.format(
        "{} {} {}.{}",
        pl.lit(series),
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
        labels[_label_name(key, labels)] = utf8_label(value)
    return labels


def _label_name(condition: str, taken: Mapping[str, str]) -> str:
    """Return a condition's label name, prefixed with ``condition_`` if reserved or invalid."""
    name = _LABEL_NAME.sub("_", condition)
    if name in _OWN_LABELS or name[:1].isdigit() or name.startswith("__") or not name.strip("_"):
        name = f"condition_{name.strip('_')}"
    return unused(name, taken, "_")
