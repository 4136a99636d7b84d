"""Falls that come again after brief recoveries: one drop, however irregular its periods are.

A governor that has little room lets go for a few seconds and takes hold again, each time for longer
or for less long than the last. No period shows that, and its first lows may be as brief as stalls.
"""

from itertools import pairwise

import numpy as np

from heatsoak.analysis.segments.cycles import LEAST_CYCLES, Swing
from heatsoak.analysis.segments.drop import Drop
from heatsoak.analysis.segments.lows import BRIEF_S, BRIEF_SAMPLES
from heatsoak.analysis.segments.measure import measured
from heatsoak.analysis.series import Series

#: What falls so differently deep, in shares of the level before, is not held by one hand.
_AS_DEEP = 0.1


def chained(series: Series, drops: list[Drop]) -> list[Drop]:
    """Return drops in the order of their onsets, each chain of brief recoveries as one cycle."""
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
    is_brief = 0 <= high_s <= max(BRIEF_S, BRIEF_SAMPLES * series.sampling_s)
    return is_brief and abs(last.depth - drop.depth) < _AS_DEEP


def _as_one(series: Series, chain: list[Drop]) -> list[Drop]:
    if len(chain) < LEAST_CYCLES:
        return chain
    first, last = chain[0], chain[-1]
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
