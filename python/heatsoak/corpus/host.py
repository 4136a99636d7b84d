"""What the host's sensors report, and what the host and others on it take from a step."""

import numpy as np
from numpy.typing import NDArray

from heatsoak.corpus import noise
from heatsoak.corpus.logged import Habits, share_shown
from heatsoak.corpus.machine import Array, Course
from heatsoak.corpus.scenario import Held
from heatsoak.corpus.truth import Gates


def held_back(course: Course, held: list[Held], ramp_s: float) -> tuple[Array, Gates]:
    """Return the noise-free rate that is left of a course, and when which cause took from it."""
    share = np.ones(len(course))
    gates: Gates = {}
    for stretch in held:
        begin, end = _indices(course, stretch)
        gate = gates.setdefault(stretch.cause, np.zeros(len(course), dtype=bool))
        gate[begin:end] = True
        if stretch.share is not None:
            share[begin:end] *= stretch.share[: end - begin]
    shown = noise.ramped(course.rate_mb_s * share, round(ramp_s / course.grid_s))
    return shown, gates


def columns(
    course: Course,
    held: list[Held],
    habits: Habits,
    shown: Array,
    link_mb_s: float,
    index: NDArray[np.intp],
    chance: np.random.Generator,
) -> dict[str, Array]:
    """Return the host's columns at points `index` of the grid while a load runs.

    `link_mb_s` is what the link carries, but where a stretch says less.
    """
    wander = noise.autoregressive(len(index), 1.0, 0.7, chance)
    data: dict[str, Array] = {}
    if "cpu" in habits.others:
        whole, core = habits.busy_pct
        saturated = _during(course, held, "cpu")[index]
        data["cpu_core_pct"] = np.where(
            saturated, 99.8 - 0.5 * np.abs(wander), np.clip(core + 3 * wander, 1, 88)
        )
        # one busy core of many hardly shows in the whole
        full = 99.0 if whole > 20 else whole + 8
        data["cpu_pct"] = np.where(
            saturated, np.minimum(full + 0.5 * wander, 100), np.clip(whole + 2 * wander, 0.5, 85)
        )
    if "steal" in habits.others:
        data["cpu_steal_pct"] = np.clip(
            _stolen_pct(course, held)[index] + 0.4 * np.abs(wander), 0, 95
        )
    if "device" in habits.others:
        # under others' traffic the drive does all that it did before
        share = np.where(_during(course, held, "traffic"), 1.0, share_shown(course, shown))
        for way, rate_mb_s in (("read", course.read_mb_s), ("write", course.write_mb_s)):
            means = _means(rate_mb_s * share, index)
            data[f"device_{way}_mb_s"] = np.maximum(means * (1 + 0.01 * wander), 0)
    if "link" in habits.others:
        data["link_mb_s"] = _link_mb_s(course, held, link_mb_s)[index]
    return data


def _indices(course: Course, stretch: Held) -> tuple[int, int]:
    begin, end = (round(at_s / course.grid_s) for at_s in (stretch.begin_s, stretch.end_s))
    return begin, min(end, len(course))


def _during(course: Course, held: list[Held], how: str) -> NDArray[np.bool_]:
    inside = np.zeros(len(course), dtype=bool)
    for stretch in held:
        if stretch.how == how:
            inside[slice(*_indices(course, stretch))] = True
    return inside


def _stolen_pct(course: Course, held: list[Held]) -> Array:
    taken = np.zeros(len(course))
    for stretch in held:
        if stretch.how == "steal" and stretch.share is not None:
            begin, end = _indices(course, stretch)
            taken[begin:end] = 80 * (1 - stretch.share[: end - begin])
    return taken


def _link_mb_s(course: Course, held: list[Held], best_mb_s: float) -> Array:
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
