"""Measures of what reviewers of newer drives print: see :mod:`heatsoak.reproduce.measures`."""

from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np
import polars as pl

from heatsoak.analysis import Episode
from heatsoak.analysis.definitions import LAST_S
from heatsoak.analysis.series import Array
from heatsoak.catalog import load_drive
from heatsoak.reproduce import runner

#: The simulator's truth that an infrared picture shows: the controller's package is the hot spot.
_SURFACE = "sim.controller_c"
_REPORTED = "temp_c.composite"


# ---- heat


def thermal_onset_s(case: runner.FigureInput) -> runner.Figure:
    """How long a step keeps its level until heat takes some of it."""
    return _thermal(case).onset_s


def temp_at_thermal_onset_c(case: runner.FigureInput) -> runner.Figure:
    """What the drive reports when heat begins to take from its speed."""
    temp_c = _thermal(case).temp_c_at_onset
    if temp_c is None:
        raise runner.NotMeasured("no temperature was recorded")
    return temp_c


def throttled_mb_s(case: runner.FigureInput) -> runner.Figure:
    """The level that heat leaves of a step's speed."""
    episode = _thermal(case)
    if episode.before_mb_s is None:
        raise runner.NotMeasured("only latencies were recorded")
    return episode.before_mb_s * (1 - episode.depth_at_end_pct / 100)


def surface_c(case: runner.FigureInput) -> runner.Figure:
    """The hottest that the controller's surface becomes in a step."""
    return _hottest_c(runner.only(case.runs), case.steps, _SURFACE)


def surface_over_reported_k(case: runner.FigureInput) -> runner.Figure:
    """How much hotter the surface becomes than the drive reports."""
    run = runner.only(case.runs)
    return _hottest_c(run, case.steps, _SURFACE) - _hottest_c(run, case.steps, _REPORTED)


def reported_change_k(case: runner.FigureInput) -> runner.Figure:
    """How much hotter the drive reports to become than in the other place."""
    return _change_k(case, _REPORTED)


def surface_change_k(case: runner.FigureInput) -> runner.Figure:
    """How much hotter the surface becomes than in the other place."""
    return _change_k(case, _SURFACE)


def mean_temp_c(case: runner.FigureInput) -> runner.Figure:
    """The mean of what the drive reports in a step."""
    return float(_column(runner.only(case.runs), case.steps, _REPORTED).mean())


# ---- power and speed


def mean_power_w(case: runner.FigureInput) -> runner.Figure:
    """The mean power in a step."""
    return float(_column(runner.only(case.runs), case.steps, "power_w").mean())


def mean_mb_s(case: runner.FigureInput) -> runner.Figure:
    """The mean speed of a step."""
    run = runner.only(case.runs)
    return run.number(runner.only_step(case.steps), "mean_mb_s", "nothing was moved")


# ---- levels of a whole drive written once


def cache_gb(case: runner.FigureInput) -> runner.Figure:
    """How much is written before the speed falls for another reason than heat, 10^9 bytes."""
    written_gb = _cache_ends(runner.only(case.runs), case.steps)[0].written_gb_at_onset
    if written_gb is None:
        raise runner.NotMeasured("nothing was written")
    return written_gb


def behind_cache_mb_s(case: runner.FigureInput) -> runner.Figure:
    """The level between the first such fall and the next, or the step's end."""
    run = runner.only(case.runs)
    first, *later = _cache_ends(run, case.steps)
    throughput = run.view(runner.only_step(case.steps)).throughput
    until_s = later[0].onset_s if later else first.end_s
    inside = (throughput.t_s > first.onset_s + first.fall_s) & (throughput.t_s <= until_s)
    if not inside.any():
        raise runner.NotMeasured("there is no level behind the cache")
    return float(median(throughput.values[inside]))


def rest_mb_s(case: runner.FigureInput) -> runner.Figure:
    """The median speed from that fall to the step's end."""
    run = runner.only(case.runs)
    first = _cache_ends(run, case.steps)[0]
    throughput = run.view(runner.only_step(case.steps)).throughput
    behind = throughput.t_s > first.onset_s + first.fall_s
    return float(median(throughput.values[behind]))


def end_mb_s(case: runner.FigureInput) -> runner.Figure:
    """The median speed of a step's last 60 s."""
    throughput = runner.only(case.runs).view(runner.only_step(case.steps)).throughput
    at_end = throughput.t_s > throughput.t_s[-1] - LAST_S
    return float(median(throughput.values[at_end]))


# ---- what the drive states, not simulated: its limits, and the most that it draws in a state


STATED_LIMITS = {
    "stated_warning_c": "wctemp_c",
    "stated_critical_c": "cctemp_c",
    "stated_ps0_w": "ps0_w",
    "stated_ps1_w": "ps1_w",
    "stated_ps2_w": "ps2_w",
}


def _thermal(case: runner.FigureInput) -> Episode:
    run = runner.only(case.runs)
    found = [episode for name in case.steps for episode in run.step(name).by_heat]
    if not found:
        raise runner.NotMeasured(
            f"heat throttles nothing in {run.job.place}: {', '.join(case.steps)}"
        )
    return min(found, key=lambda episode: episode.onset_s)


def _cache_ends(run: runner.FinishedRun, steps: tuple[str, ...]) -> list[Episode]:
    step = run.step(runner.only_step(steps))
    found = [episode for episode in step.episodes if episode not in step.by_heat]
    if not found:
        raise runner.NotMeasured(f"'{runner.only_step(steps)}' does not fall")
    return sorted(found, key=lambda episode: episode.onset_s)


def _column(run: runner.FinishedRun, steps: tuple[str, ...], name: str) -> Array:
    samples = run.recording.samples(["t_s", "step", name])
    found = samples.filter(pl.col("step").is_in(list(steps))).drop_nulls(name)
    if found.is_empty():
        raise runner.NotMeasured(f"{run.job.name}: no {name} was recorded in {', '.join(steps)}")
    return np.asarray(found[name].to_numpy(), dtype=np.float64)


def _hottest_c(run: runner.FinishedRun, steps: tuple[str, ...], name: str) -> float:
    return float(_column(run, steps, name).max())


def _change_k(case: runner.FigureInput, name: str) -> float:
    here, there = (
        _hottest_c(runner.only(runs), case.steps, name) for runs in (case.runs, case.against)
    )
    return here - there


def _stated(case: runner.FigureInput, name: str) -> runner.Figure:
    limits = load_drive(runner.only(case.runs).job.drive).limits
    stated = None if limits is None else getattr(limits, name)
    if stated is None:
        raise runner.NotMeasured("the drive states none")
    return float(stated.value)


_MEASURES: tuple[Callable[[runner.FigureInput], runner.Figure], ...] = (
    *(thermal_onset_s, temp_at_thermal_onset_c, throttled_mb_s),
    *(surface_c, surface_over_reported_k, reported_change_k, surface_change_k, mean_temp_c),
    *(mean_power_w, mean_mb_s, cache_gb, behind_cache_mb_s, rest_mb_s, end_mb_s),
)
#: The measures, by their names in ``catalog/modern.toml``.
REVIEW_MEASURES = {measure.__name__: measure for measure in _MEASURES}
REVIEW_MEASURES |= {name: partial(_stated, name=limit) for name, limit in STATED_LIMITS.items()}
