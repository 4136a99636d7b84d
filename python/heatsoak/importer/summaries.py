"""A benchmark's summary, and a logger's series from the same time.

fio's JSON knows what the load was and when, but has a mean for each step only; iostat beside it
saw how each went on. The series is judged, in the benchmark's steps.
"""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from heatsoak.importer import align
from heatsoak.importer.frames import Array
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.stretches import rated, rates, without_ragged_edges

#: What the logger saw of a step is this much of what the benchmark counted, at least and at most.
_LEAST_SEEN, _MOST_SEEN = 0.5, 2.0
#: A step is seen by at least so many of the logger's samples.
_LEAST_SAMPLES = 3
_MOST_POINTS = 100_000


def outline(summary: Log) -> align.Track:
    """Return the throughput that a summary tells: each step at its mean, nothing between them."""
    _, _, total = rates(rated(summary.samples))
    spans = _spans(summary)
    end_s = max(end_s for _, end_s in spans)
    t_s = np.linspace(0.0, end_s, int(np.clip(end_s + 1, 2, _MOST_POINTS)))
    values = np.zeros(len(t_s))
    for (begin_s, until_s), mean in zip(spans, total, strict=True):
        values[(t_s > begin_s) & (t_s <= until_s)] = mean
    return align.Track(t_s, values)


def in_steps_of(summary: Log, series: Log, shift_s: float, how: Remark) -> Log | str:
    """Return `series` divided into the steps of `summary`, or why it cannot have seen them.

    `shift_s` is added to the series' times to have the summary's; the result has the series' own.
    """
    seen = rated(series.samples)
    _, _, total = rates(seen)
    t_s = seen["t_s"].to_numpy() + shift_s
    interval_s = seen["interval_s"].fill_null(0.0).to_numpy()
    labels = np.full(series.samples.height, None, dtype=object)
    all_t_s = series.samples["t_s"].to_numpy() + shift_s
    _, _, counted = rates(rated(summary.samples))
    same_quantity = _in_bytes(series) == _in_bytes(summary)
    names = rated(summary.samples)["step"].to_list()
    told = set()
    for name, (begin_s, end_s), mean in zip(names, _spans(summary), counted, strict=True):
        # clocks of whole seconds: what begins a little early still belongs to the step
        slack_s = np.minimum(interval_s / 2, 1.0)
        within = (t_s - interval_s >= begin_s - slack_s) & (t_s <= end_s + slack_s)
        own = np.flatnonzero(within)
        if len(own) < _LEAST_SAMPLES:
            continue
        first, last = without_ragged_edges(total, int(own[0]), int(own[-1]) + 1)
        average = float(np.mean(total[first:last]))
        if same_quantity and not _LEAST_SEEN * mean <= average <= _MOST_SEEN * mean:
            return f"it saw {_rate(series, average)} in '{name}', not {_rate(summary, mean)}"
        since_s = t_s[first] - interval_s[first]
        labels[(all_t_s > since_s) & (all_t_s <= t_s[last - 1])] = name
        told.add(name)
    if not told:
        return "it has too few samples within the steps"
    step = pl.Series("step", labels.tolist(), dtype=pl.String)
    return replace(
        series,
        samples=series.samples.with_columns(step),
        steps=tuple(step for step in summary.steps if step.name in told),
        drive={**summary.drive, **series.drive},
        conditions={**summary.conditions, **series.conditions},
        tools={**series.tools, **summary.tools},
        remarks=(*series.remarks, *_still_true(summary), how),
    )


def _still_true(summary: Log) -> list[Remark]:
    """Remarks that hold though none of the summary's own figures are shown."""
    return [remark for remark in summary.remarks if remark.doubt and "mean" not in remark.text]


def _spans(summary: Log) -> list[tuple[float, float]]:
    frame = rated(summary.samples)
    ends_s: Array = frame["t_s"].to_numpy()
    begins_s: Array = ends_s - frame["interval_s"].fill_null(0.0).to_numpy()
    return list(zip(begins_s.tolist(), ends_s.tolist(), strict=True))


def _in_bytes(log: Log) -> bool:
    return log.has_any("bw_mb_s")


def _rate(log: Log, value: float) -> str:
    return f"{value:.0f} {'MB/s' if _in_bytes(log) else 'IOPS'} ({Path(log.source).name})"
