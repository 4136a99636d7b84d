"""Whether the temperature turns where the rate does, again and again.

A governor lets the drive warm up to one temperature, however long that takes, holds it back, and
lets it go once it has cooled. What swings for another reason warms and cools the drive as well, but
does not care where.
"""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.series import Array
from heatsoak.analysis.view import SensorTrack

#: Falls that began at one temperature began within this much of each other.
SAME_K = 2.0
#: A governor lets go after it has cooled by so much, as sensors of whole kelvins show it.
COOLED_K = 1.5
#: Before the falls it ran at full speed for times that differ by this factor: the first, from cold.
UNLIKE = 1.5
#: Having come from this much cooler, or more.
WARMED_K = 5.0
#: By how it had warmed, swings of the load would move it by so much, and next to none was seen.
EXPECTED_K, STILL_K = 3.0, 1.0
#: The part of a swing that is too brief to be a turn, and the fewest samples of one.
BRIEF = 0.15
_FEWEST = 8
#: How long a sensor may be behind what it measures.
LAG_S = 8.0
#: How long the drive's warming up is looked at.
WARMING_S = 30.0


@dataclass(frozen=True)
class _Turns:
    """When the rate fell and when it rose again, in turns, with the temperatures there."""

    falls_s: Array
    rises_s: Array
    fall_c: Array
    rise_c: Array


def turns(case: Case) -> Finding | None:
    """Whether the drive was at one temperature at each fall, and cooler at each rise.

    Not of a fall on top of another, whose swings may go on beneath it.
    """
    found = None if case.is_nested else _turns(case)
    if found is None:
        return None
    temp = case.view.temp
    full_s = found.falls_s - np.concatenate([[0.0], found.rises_s])[: len(found.falls_s)]
    swing_k = float(np.median(found.fall_c) - np.median(found.rise_c))
    spread_k = float(np.ptp(found.fall_c))
    start_c = float(np.min(temp.between(0.0, found.falls_s[0]), initial=found.fall_c[0]))
    times = len(found.falls_s)
    said = (
        f"it fell {times} times, at {_span(found.fall_c)}, and rose again at {_span(found.rise_c)}"
    )
    is_from_cold = found.fall_c[0] - start_c >= WARMED_K
    is_unlike = full_s[0] >= UNLIKE * np.median(full_s[1:])
    if spread_k <= SAME_K and swing_k >= COOLED_K and is_from_cold and is_unlike:
        return Finding("swings", "at-one-temperature", f"{said}, the first after {full_s[0]:.0f} s")
    if swing_k >= STILL_K:
        return None
    expected_k = _expected_k(case, found)
    if expected_k >= EXPECTED_K:
        said += f"; as it had warmed, swings by heat would move it by {expected_k:.0f} K"
        return Finding("swings", "without-heat", said)
    return Finding("swings", "unseen", said)


def _turns(case: Case) -> _Turns | None:
    """The turns of a swing, or of the step's drops that ended by themselves."""
    if case.drop.oscillates:
        falls_s, rises_s = _of_swing(case)
    else:
        drops = [drop for drop in case.view.drops or [] if drop.recovered]
        falls_s = np.array([drop.onset_s for drop in case.view.drops or []])
        rises_s = np.array([drop.end_s for drop in drops])
    temp = case.view.temp
    if len(falls_s) < 2 or len(rises_s) < 1 or len(temp.values) == 0:
        return None
    order = np.searchsorted(rises_s, falls_s)
    if not np.array_equal(order, np.arange(len(falls_s))):
        return None
    fall_c, rise_c = _near(temp, falls_s, np.maximum), _near(temp, rises_s, np.minimum)
    if fall_c is None or rise_c is None:
        return None
    return _Turns(falls_s, rises_s, fall_c, rise_c)


def _near(temp: SensorTrack, turns_s: Array, most: np.ufunc) -> Array | None:
    """The most that the sensor read around each turn: it is behind. None where it read nothing."""
    first = np.searchsorted(temp.t_s, turns_s - LAG_S / 2, side="left")
    last = np.searchsorted(temp.t_s, turns_s + LAG_S, side="right")
    if np.any(first >= last):
        return None
    edges = np.stack([first, last], axis=1).ravel()
    # an edge may lie behind the last reading
    return np.asarray(most.reduceat(np.append(temp.values, np.nan), edges)[::2])


def _of_swing(case: Case) -> tuple[Array, Array]:
    """When the rate went through the middle of its swing, down and up."""
    series, drop = case.view.throughput, case.drop
    inside = (series.t_s > drop.onset_s - 2 * series.sampling_s) & (series.t_s <= drop.end_s)
    t_s, values = series.t_s[inside], series.values[inside]
    if len(values) < _FEWEST:
        return np.empty(0), np.empty(0)
    from scipy.ndimage import median_filter  # not every recording swings

    # what lasts for a small part of a swing is noise
    width = int(BRIEF * (drop.period_s or 0.0) / series.sampling_s) // 2 * 2 + 3
    values = median_filter(values, width, mode="nearest")
    low, high = np.quantile(values, (0.1, 0.9))
    # twice through the middle for one swing: what lies between is noise
    state = np.full(len(values), np.nan)
    state[values >= low + 0.65 * (high - low)] = 1.0
    state[values <= low + 0.35 * (high - low)] = 0.0
    told = np.isfinite(state)
    t_s, state = t_s[told], state[told]
    changes = np.flatnonzero(np.diff(state)) + 1
    falls_s, rises_s = t_s[changes[state[changes] == 0]], t_s[changes[state[changes] == 1]]
    return falls_s, rises_s[rises_s > falls_s[0]] if len(falls_s) else rises_s


def _expected_k(case: Case, found: _Turns) -> float:
    """How far swings by heat would have moved the sensor, by how fast the load had warmed it."""
    temp, drop = case.view.temp, case.drop
    starts = temp.t_s[temp.t_s <= max(drop.onset_s - WARMING_S, 0.0)]
    if len(starts) == 0:
        return 0.0
    gains = [
        (later - now) / WARMING_S
        for t in starts
        if (later := temp.at(t + WARMING_S)) is not None and (now := temp.at(t)) is not None
    ]
    count = min(len(found.rises_s), len(found.falls_s))
    low_s = float(np.median(found.rises_s[:count] - found.falls_s[:count]))
    rates = case.view.throughput.between(drop.onset_s, drop.end_s).values
    swing = float(np.diff(np.quantile(rates, (0.1, 0.9)))[0]) / drop.before
    warmed_k = float(np.max(temp.between(0.0, drop.onset_s)) - np.min(temp.values))
    return min(max(gains) * low_s, warmed_k) * min(swing, 1.0)


def _span(temps_c: Array) -> str:
    low, high = np.min(temps_c), np.max(temps_c)
    return f"{low:.0f} C" if round(low) == round(high) else f"{low:.0f} to {high:.0f} C"
