"""From the state of the simulated drive and its host to the true episodes."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from heatsoak.analysis.definitions import LAST_S, MIN_CYCLES, ONSET_LOSS, RECOVERED
from heatsoak.analysis.falls import Shape
from heatsoak.analysis.findings import Cause
from heatsoak.analysis.series import Array
from numpy.typing import NDArray

from heatsoak_dev.corpus.labels import SLIDE_S, TrueEpisode
from heatsoak_dev.corpus.machine import NoiselessStep

#: A governor that oscillates by this share of the level, at least three times, makes a cycle.
MIN_SWING = 0.08
#: A recovery shorter than this, or of fewer samples, does not separate two falls of one cause.
BRIEF_S = 10.0
BRIEF_SAMPLES = 4


def swings_of(rate: Array, before: float, grid_s: float) -> int:
    """Return how often the rate rises from the lower third of its range to the upper third."""
    size = max(1, round(1.0 / grid_s))
    if len(rate) < 4 * size:
        return 0
    smooth = np.convolve(rate, np.ones(size) / size, mode="valid")
    low, high = np.quantile(smooth, [0.05, 0.95])
    if high - low < MIN_SWING * before:
        return 0
    above = np.where(smooth > low + 0.67 * (high - low), 1, 0)
    sides = np.where(smooth < low + 0.33 * (high - low), -1, above)
    sides = sides[sides != 0]
    return int(np.sum(np.diff(sides) > 0))


def joined_cycles(
    rate: Array, grid_s: float, found: list[TrueEpisode], sampling_s: float
) -> list[TrueEpisode]:
    """Join falls of one cause that form a limit cycle into one episode."""
    brief_s = max(BRIEF_S, BRIEF_SAMPLES * sampling_s)
    merged: list[TrueEpisode] = []
    index = 0
    while index < len(found):
        group = [found[index]]
        while index + len(group) < len(found) and _continues(
            group, found[index + len(group)], brief_s
        ):
            group.append(found[index + len(group)])
        index += len(group)
        first, last = group[0], group[-1]
        swings = len(group) + MIN_CYCLES * any(one.shape == "cycle" for one in group)
        is_parted = any(b.onset_s - a.end_s > brief_s for a, b in pairwise(group))
        if len(group) == 1 or (swings < MIN_CYCLES and is_parted):
            merged += group
            continue
        period_s = (last.onset_s - first.onset_s) / (len(group) - 1)
        stop_s = found[index].onset_s if index < len(found) else len(rate) * grid_s
        recovered = last.recovered and stop_s - last.end_s > 1.5 * period_s
        end_s = last.end_s if recovered else round(stop_s, 3)
        end, onset = round(end_s / grid_s), round(first.onset_s / grid_s)
        window = rate[max(onset, end - round(LAST_S / grid_s)) : end]
        depth_pct = 100 * (1 - float(window.mean()) / float(rate[:onset].mean()))
        merged.append(
            replace(
                first,
                end_s=end_s,
                depth_pct=depth_pct,
                shape="cycle" if swings >= MIN_CYCLES else first.shape,
                recovered=recovered,
            )
        )
    return merged


def _continues(group: list[TrueEpisode], following: TrueEpisode, brief_s: float) -> bool:
    """Whether the next fall is another of the same cycle: as deep, and soon enough."""
    last = group[-1]
    if following.cause != last.cause or not last.recovered or last.cause != "thermal":
        return False
    high_s = following.onset_s - last.end_s
    if high_s <= brief_s:
        return True
    if "cycle" in (last.shape, following.shape):
        return high_s < 0.5 * max(last.end_s - last.onset_s, following.end_s - following.onset_s)
    if len(group) < 2:
        return True
    period_s = (last.onset_s - group[0].onset_s) / (len(group) - 1)
    return 0.5 * period_s <= following.onset_s - last.onset_s <= 1.5 * period_s


def without_resumed(rate: Array, grid_s: float, found: list[TrueEpisode]) -> list[TrueEpisode]:
    """Leave out falls of a cycle that the governor made before another cause took it lower.

    The loss to the other cause then lasts until recovery, or until a third cause.
    """
    kept: list[TrueEpisode] = []
    cycle: TrueEpisode | None = None
    stops_s = [episode.onset_s for episode in found[1:]] + [round(len(rate) * grid_s, 3)]
    for episode, stop_s in zip(found, stops_s, strict=False):
        on_top = kept[-1] if kept else None
        if cycle is not None and on_top is not None and not on_top.recovered:
            if on_top is not cycle and episode.cause == cycle.cause:
                kept[-1] = _until_stop(rate, grid_s, on_top, episode, stop_s)
                continue
        elif on_top is not None and on_top.recovered:
            cycle = None
        if episode.shape == "cycle":
            cycle = episode
        kept.append(episode)
    return kept


def _until_stop(
    rate: Array, grid_s: float, first: TrueEpisode, last: TrueEpisode, stop_s: float
) -> TrueEpisode:
    """The first of two episodes, extended to the recovery after the last, or to `stop_s`.

    The last fell from the level of the first, so a return to that level is not a recovery of the
    first.
    """
    onset, former = round(first.onset_s / grid_s), round(first.end_s / grid_s)
    end, stop = round(last.end_s / grid_s), round(stop_s / grid_s)
    window = round(LAST_S / grid_s)
    during = float(rate[max(onset, former - window) : former].mean())
    before = during / (1 - first.depth_pct / 100)
    back = rate[end:stop] >= RECOVERED * before
    recovered = bool(back.any())
    end = end + int(np.argmax(back)) if recovered else stop
    lasting = float(rate[max(onset, end - window) : end].mean())
    return replace(
        first,
        end_s=round(end * grid_s, 3),
        depth_pct=100 * (1 - lasting / before),
        recovered=recovered,
    )


Gate = NDArray[np.bool_]
Gates = dict[Cause, Gate]

#: Shallower or shorter episodes are neither required nor wrong.
MIN_DEPTH_PCT = 8.0
MIN_S = 5.0
#: Neither are those that start earlier or last for fewer samples.
MIN_ONSET_S = 3.0
MIN_SAMPLES = 3
#: The level before is taken over this long.
LEVEL_S = 10.0
#: A gate that closes for less than this was not closed.
FLICKER_S = 2.0
#: Permitted shares from here on count as everything.
EVERYTHING = 0.995
#: Fewer pages moved per write are chance.
MIN_MOVED = 0.02
#: A cache filled to this share is about to be full.
FULL = 0.99
#: On top of another cause the governor must explain this share of a loss to count as its cause.
GOVERNORS_PART = 0.5
#: The least share of a link's rate left for data.
MIN_OF_LINK = 0.8
#: A rate that varies by more than this outside of episodes has an unlabelled cause.
UNEXPLAINED = 0.06


def gates_of(course: NoiselessStep, cache_gb: float | None) -> Gates:
    """Return when governor, cache and spare area limit the drive; `cache_gb` is its cache."""
    size = max(1, round(1.0 / course.grid_s))
    moves = np.convolve(course.moved, np.ones(size) / size)[: len(course)] > MIN_MOVED
    gates: Gates = {"thermal": course.permitted < EVERYTHING}
    if cache_gb is None:
        gates["spare-area"] = np.logical_or.accumulate(moves)
    else:
        # such a drive folds its cache while it reclaims blocks: that is the cache's effect
        gates["write-cache"] = moves | (course.cached_gb >= FULL * cache_gb)
    return gates


@dataclass(frozen=True)
class _Stretch:
    """A gate that is open, in indices, and where the rate has fallen by it."""

    cause: Cause
    opened: int
    onset: int
    closed: int
    level: float


def episodes(
    rate: Array,
    course: NoiselessStep,
    gates: Gates,
    recording: int,
    sampling_s: float,
) -> list[TrueEpisode]:
    """Return every fall of `rate` that a gate explains, however small, in the order of time.

    `rate` is what is left of the course's own rate, as it is logged every `sampling_s`.
    """
    grid_s, step = course.grid_s, course.step.name
    stretches = _stretches(rate, grid_s, gates, course.permitted)
    while True:
        found = [
            _measured(rate, grid_s, stretches, index, recording, step)
            for index in range(len(stretches))
        ]
        # an episode that is too small does not end the one that it is nested in
        small = [
            index
            for index, episode in enumerate(found)
            if index > 0 and _is_small(episode) and not found[index - 1].recovered
        ]
        if not small:
            joined = joined_cycles(rate, grid_s, found, sampling_s)
            return without_resumed(rate, grid_s, joined)
        del stretches[small[0]]


def is_grey(episode: TrueEpisode, sampling_s: float) -> bool:
    """Whether an episode is too small, too short or too early to be required."""
    few_s = MIN_SAMPLES * sampling_s
    return (
        _is_small(episode)
        or episode.end_s - episode.onset_s < few_s
        or episode.onset_s < max(MIN_ONSET_S, few_s)
    )


def _is_small(episode: TrueEpisode) -> bool:
    return episode.depth_pct < MIN_DEPTH_PCT or episode.end_s - episode.onset_s < MIN_S


def _stretches(rate: Array, grid_s: float, gates: Gates, permitted: Array) -> list[_Stretch]:
    runs = sorted(
        (opened, closed, cause)
        for cause, gate in gates.items()
        for opened, closed in _runs(gate, round(FLICKER_S / grid_s))
    )
    window, second = round(LEVEL_S / grid_s), max(1, round(1.0 / grid_s))
    later = np.convolve(rate[::-1], np.ones(second) / second)[: len(rate)][::-1]
    found: list[_Stretch] = []
    for index, (opened, closed, cause) in enumerate(runs):
        if opened < second:
            continue  # it was low from the start: there is no level that it fell from
        before = [stretch.onset for stretch in found] + [c for _, c, _ in runs[:index]]
        since = max((at for at in before if at < opened), default=0)
        since = min(since, opened - second)
        level = float(rate[max(since, opened - window) : opened].mean())
        low = rate[opened:closed] < (1 - ONSET_LOSS) * level
        low &= later[opened:closed] < (1 - ONSET_LOSS) * level
        onset = _lasting(rate[opened:closed], low, (1 - ONSET_LOSS) * level, window)
        if onset is None:
            continue
        onset += opened
        others = [o for o, c, which in runs if which != cause and opened < o <= onset < c]
        late = slice(max(onset, closed - round(LAST_S / grid_s)), closed)
        lost = 1 - float(rate[late].mean()) / level
        less = 1 - float(permitted[late].mean()) / float(permitted[max(0, opened - second)])
        if cause == "thermal" and found and less < GOVERNORS_PART * lost:
            continue  # the earlier fall continues; the governor is not its cause
        if not others:
            found.append(_Stretch(cause, opened, onset, closed, level))
    # of two simultaneous falls, the later one lowered the rate further
    latest = {s.onset: s for s in sorted(found, key=lambda s: (s.onset, s.opened))}
    return list(latest.values())


def _lasting(rate: Array, low: Gate, least: float, window: int) -> int | None:
    """Where a rate first stays below `least`, starting where it is `low`; None if nowhere.

    A rate that swung before swings on while nothing more is lost yet: where it has kept `least` on
    the whole over a time of `window` to come, that lost nothing.
    """
    lows = np.flatnonzero(low)
    at = 0
    while True:
        following = lows[np.searchsorted(lows, at) :]
        if len(following) == 0:
            return None
        first = int(following[0])
        over = np.concatenate([[0.0], np.cumsum(rate[first : first + window] - least)])
        kept = int(np.argmax(over))
        if kept == 0:
            return first
        at = first + kept


def _runs(gate: Gate, flicker: int) -> list[tuple[int, int]]:
    edges = np.flatnonzero(np.diff(np.concatenate([[False], gate, [False]]).astype(int)))
    runs: list[tuple[int, int]] = []
    for begin, end in edges.reshape(-1, 2).tolist():
        if runs and begin - runs[-1][1] <= flicker:
            runs[-1] = (runs[-1][0], end)
        else:
            runs.append((begin, end))
    return runs


def _measured(
    rate: Array, grid_s: float, stretches: list[_Stretch], index: int, recording: int, step: str
) -> TrueEpisode:
    stretch = stretches[index]
    previous = stretches[index - 1] if index > 0 else None
    following = stretches[index + 1].onset if index + 1 < len(stretches) else len(rate)
    back = rate[stretch.closed : following] >= RECOVERED * stretch.level
    recovered = bool(back.any())
    end = stretch.closed + int(np.argmax(back)) if recovered else following
    begin = 0
    if previous is not None:
        began = rate[previous.closed : stretch.onset] >= RECOVERED * previous.level
        # the level that it fell from: since the last recovery, or the end of what came before
        begin = (
            previous.closed + int(np.argmax(began))
            if began.any()
            else max(previous.onset, stretch.onset - round(LAST_S / grid_s))
        )
    before = float(rate[min(begin, stretch.onset - 1) : stretch.onset].mean())
    window = round(LAST_S / grid_s)
    during = float(rate[max(stretch.onset, end - window) : end].mean())
    lost = rate[stretch.onset : end] <= before - 0.9 * (before - during)
    fall_s = grid_s * int(np.argmax(lost)) if lost.any() else grid_s * (end - stretch.onset)
    shape: Shape = "slide" if fall_s > SLIDE_S else "step"
    # garbage collection varies too; only a governor oscillates between levels
    is_heat = stretch.cause == "thermal"
    if is_heat and swings_of(rate[stretch.onset : end], before, grid_s) >= MIN_CYCLES:
        shape = "cycle"
    return TrueEpisode(
        recording,
        step,
        onset_s=round(stretch.onset * grid_s, 3),
        end_s=round(end * grid_s, 3),
        depth_pct=100 * (1 - during / before),
        cause=stretch.cause,
        shape=shape,
        fall_s=fall_s,
        recovered=recovered,
    )


def is_at(course: NoiselessStep, link_mb_s: float) -> bool:
    """Whether one direction of a course is limited by its link, which carries the same each way."""
    way_mb_s = max(float(np.median(way)) for way in (course.read_mb_s, course.write_mb_s))
    return way_mb_s >= MIN_OF_LINK * link_mb_s


def is_explained(rate: Array, grid_s: float, found: list[TrueEpisode]) -> bool:
    """Whether the rate stays near its level outside of episodes."""
    size = max(1, round(LEVEL_S / grid_s))
    count = len(rate) // size
    if count < 2:
        return True
    means = rate[: count * size].reshape(count, size).mean(axis=1)
    middle_s = grid_s * size * (np.arange(count) + 0.5)
    outside = np.ones(count, dtype=bool)
    for episode in found:
        near = (middle_s > episode.onset_s - LEVEL_S) & (middle_s < episode.end_s + LEVEL_S)
        outside &= ~near
    level = means[outside]
    return len(level) == 0 or float(level.min()) >= (1 - UNEXPLAINED) * float(level.max())
