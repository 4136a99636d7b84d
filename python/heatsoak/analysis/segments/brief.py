"""Recoveries too brief to part two falls.

A governor that has little room lets go for a few seconds and takes hold again, each time for longer
or for less long than the last. No period shows that, and its first lows may be as brief as stalls.
"""

from itertools import pairwise

import numpy as np

from heatsoak.analysis.definitions import MIN_CYCLES
from heatsoak.analysis.segments.cycles import Swing, even
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.levels import BLIP_S
from heatsoak.analysis.segments.lows import HIGH, Low, lows_of
from heatsoak.analysis.segments.measure import measured
from heatsoak.analysis.series import MAD_TO_SIGMA, Series

#: A recovery shorter than this, or of fewer samples, does not part two falls.
_BRIEF_S, _BRIEF_SAMPLES = 10.0, 4
#: A fall is so many standard deviations of the noise, or it may be noise.
_BEYOND_NOISE = 4.0
#: What falls so differently deep, in shares of the level before, is not held by one hand.
_AS_DEEP = 0.1


def chained(series: Series, drops: list[Drop]) -> list[Drop]:
    """Return drops in the order of their onsets, those that only brief recoveries part as one.

    Three and more are a cycle.
    """
    chains: list[list[Drop]] = []
    for drop in sorted(drops, key=lambda drop: drop.onset_s):
        if chains and _goes_on(series, chains[-1][-1], drop):
            chains[-1].append(drop)
        else:
            chains.append([drop])
    return [one for chain in chains for one in _as_one(series, chain)]


def _goes_on(series: Series, last: Drop, drop: Drop) -> bool:
    if last.oscillates or drop.oscillates or not last.recovered:
        return False
    high_s = drop.onset_s - last.end_s
    is_brief = 0 <= high_s <= max(_BRIEF_S, _BRIEF_SAMPLES * series.sampling_s)
    return is_brief and abs(last.depth - drop.depth) < _AS_DEEP


def _as_one(series: Series, chain: list[Drop]) -> list[Drop]:
    first, last = chain[0], chain[-1]
    if first is last:
        return chain
    found = None
    if len(chain) >= MIN_CYCLES:
        periods_s = [after.onset_s - drop.onset_s for drop, after in pairwise(chain)]
        low_s = sum(drop.end_s - drop.onset_s for drop in chain[:-1])
        found = Swing(float(np.median(periods_s)), float(np.clip(low_s / sum(periods_s), 0, 1)))
    return measured(
        series,
        first.onset_s,
        first.onset_s,
        last.end_s,
        last.recovered,
        found=found,
        before=first.before,
    )


def first_of_brief(series: Series, begin_s: float, onset_s: float, end_s: float) -> Low | None:
    """Return the first fall of those that were back only briefly before the one at `onset_s`.

    Throughput is low until `end_s`. None where there is no such fall, or where noise may look like
    one.
    """
    step_s = max(series.sampling_s, 0.5 * BLIP_S)
    values, step_s = even(series, onset_s + step_s, end_s, step_s)
    if len(values) == 0:
        return None
    during = float(np.median(values))
    noise = MAD_TO_SIGMA * float(np.median(np.abs(values - during)))
    values, step_s = even(series, begin_s, onset_s, step_s)
    if len(values) == 0:
        return None
    before = float(np.median(values))
    # what stands still most of the time has no level that it fell from
    if not before > max(during, 0.0):
        return None
    if HIGH * (before - during) < _BEYOND_NOISE * noise * before / max(during, 1e-9 * before):
        return None
    first: Low | None = None
    next_s = onset_s
    for low in reversed(lows_of(values, during, before, begin_s, step_s)):
        if next_s - low.back_s > max(_BRIEF_S, _BRIEF_SAMPLES * series.sampling_s):
            break
        next_s = low.high_s
        if low.back_s - low.low_s >= BLIP_S and low.high_s > begin_s:
            first = low
    return first
