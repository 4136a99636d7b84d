"""How many I/Os of a step took how long."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import polars as pl

from heatsoak.analysis.series import Array
from heatsoak.analysis.view import StepView
from heatsoak.recording import Recording
from heatsoak.report.page.contract import LatencyHistogram

_DIRECTIONS: tuple[Literal["read", "write"], ...] = ("read", "write")
#: What an interval's percentiles say of its I/Os: which share took at most how long.
_SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999, "max": 1.0}
#: Bins to each power of ten.
_BINS_PER_DECADE = 20


def histograms(recording: Recording, view: StepView) -> list[LatencyHistogram]:
    """Return those of reads and writes: as counted, or as intervals' percentiles tell."""
    counted = list(_counted(recording, view.step.name))
    return counted or list(_from_percentiles(view))


def _counted(recording: Recording, step: str) -> Iterator[LatencyHistogram]:
    bins: dict[str, Any] = {}
    for event in recording.events:
        if event.kind == "step-end" and event.step == step:
            bins = event.data.get("latency_bins") or {}
    for direction in _DIRECTIONS:
        found = bins.get(direction)
        if found and sum(found["ios"]) > 0:
            upper_us, ios = found["upper_us"], found["ios"]
            yield LatencyHistogram(direction=direction, upper_us=upper_us, ios=ios)


def _from_percentiles(view: StepView) -> Iterator[LatencyHistogram]:
    for direction in _DIRECTIONS:
        columns = [f"{direction}_lat_{name}_us" for name in _SHARES]
        wanted = [*columns, f"{direction}_iops", "interval_s"]
        if any(name not in view.samples.columns for name in wanted):
            continue
        rows = view.samples.select(pl.col(name).cast(pl.Float64) for name in wanted)
        values = rows.fill_null(float("nan")).to_numpy()
        values = values[np.isfinite(values).all(axis=1) & (values[:, -2] * values[:, -1] > 0)]
        if len(values):
            yield _made(direction, values[:, :4], values[:, -2] * values[:, -1])


def _made(
    direction: Literal["read", "write"], percentiles_us: Array, ios: Array
) -> LatencyHistogram:
    """Lay each interval's I/Os between its percentiles, even on a logarithmic scale.

    Of those below the median nothing is known but that: they are laid from half of it to it.
    """
    knots_us = np.column_stack([percentiles_us[:, 0] / 2, percentiles_us])
    knots = np.log10(np.maximum.accumulate(np.maximum(knots_us, 1e-3), axis=1))
    low = np.floor(knots[:, 0].min() * _BINS_PER_DECADE)
    high = np.ceil(knots[:, -1].max() * _BINS_PER_DECADE) + 1
    edges = np.arange(low, high + 1) / _BINS_PER_DECADE
    below = np.zeros(len(edges))
    shares = [0.0, *_SHARES.values()]
    for place, (from_share, to_share) in enumerate(pairwise(shares)):
        begin, end = knots[:, place], knots[:, place + 1]
        width = np.maximum(end - begin, 1e-9)
        # how many lie below each edge: a sum of ramps, taken interval by interval
        weight = ios * (to_share - from_share)
        for index, edge in enumerate(edges):
            below[index] += float(weight @ np.clip((edge - begin) / width, 0, 1))
    return LatencyHistogram(
        direction=direction,
        upper_us=[float(f"{10**edge:.4g}") for edge in edges[1:]],
        ios=[float(f"{count:.6g}") for count in np.diff(below)],
        from_percentiles=True,
    )
