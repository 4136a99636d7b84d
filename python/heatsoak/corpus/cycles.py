"""Falls that follow each other as a governor's do, which are one episode."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

from heatsoak.corpus.labels import TrueEpisode
from heatsoak.corpus.machine import Array

#: Depth is taken over the end of an episode, as in the published figures.
DEPTH_WINDOW_S = 60.0
#: A governor that swings by this share of the level before makes a cycle, from three times on.
LEAST_SWING = 0.08
LEAST_SWINGS = 3
#: A recovery shorter than this, or of fewer samples, does not part two falls of one cause.
BRIEF_S = 10.0
BRIEF_SAMPLES = 4


def swings_of(rate: Array, before: float, grid_s: float) -> int:
    """Return how often the rate rises from the lower third of its swing to the upper."""
    size = max(1, round(1.0 / grid_s))
    if len(rate) < 4 * size:
        return 0
    smooth = np.convolve(rate, np.ones(size) / size, mode="valid")
    low, high = np.quantile(smooth, [0.05, 0.95])
    if high - low < LEAST_SWING * before:
        return 0
    above = np.where(smooth > low + 0.67 * (high - low), 1, 0)
    sides = np.where(smooth < low + 0.33 * (high - low), -1, above)
    sides = sides[sides != 0]
    return int(np.sum(np.diff(sides) > 0))


def joined_cycles(
    rate: Array, grid_s: float, found: list[TrueEpisode], sampling_s: float
) -> list[TrueEpisode]:
    """Make one episode of falls of one cause that follow each other as a limit cycle does."""
    brief_s = max(BRIEF_S, BRIEF_SAMPLES * sampling_s)
    merged: list[TrueEpisode] = []
    index = 0
    while index < len(found):
        group = [found[index]]
        while index + len(group) < len(found) and _goes_on(
            group, found[index + len(group)], brief_s
        ):
            group.append(found[index + len(group)])
        index += len(group)
        first, last = group[0], group[-1]
        swings = len(group) + LEAST_SWINGS * any(one.shape == "cycle" for one in group)
        is_parted = any(b.onset_s - a.end_s > brief_s for a, b in pairwise(group))
        if len(group) == 1 or (swings < LEAST_SWINGS and is_parted):
            merged += group
            continue
        period_s = (last.onset_s - first.onset_s) / (len(group) - 1)
        stop_s = found[index].onset_s if index < len(found) else len(rate) * grid_s
        recovered = last.recovered and stop_s - last.end_s > 1.5 * period_s
        end_s = last.end_s if recovered else round(stop_s, 3)
        end, onset = round(end_s / grid_s), round(first.onset_s / grid_s)
        window = rate[max(onset, end - round(DEPTH_WINDOW_S / grid_s)) : end]
        depth_pct = 100 * (1 - float(window.mean()) / float(rate[:onset].mean()))
        merged.append(
            replace(
                first,
                end_s=end_s,
                depth_pct=depth_pct,
                shape="cycle" if swings >= LEAST_SWINGS else first.shape,
                recovered=recovered,
            )
        )
    return merged


def _goes_on(group: list[TrueEpisode], following: TrueEpisode, brief_s: float) -> bool:
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
