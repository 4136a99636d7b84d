"""Whether the temperature turns together with the rate, again and again.

A governor lets the drive warm up to one temperature, however long that takes, throttles it, and
releases it once it has cooled. An oscillation with another reason warms and cools the drive as
well, but at any temperature.
"""

from dataclasses import dataclass

import numpy as np

from heatsoak import words
from heatsoak.analysis.cause.case import Case, Evidence
from heatsoak.analysis.series import Array
from heatsoak.recording.grid import SensorTrack

#: Falls within this much of each other started at the same temperature.
SAME_K = 2.0
#: A governor releases the drive after it has cooled by this much, with sensors of whole kelvins.
COOLED_K = 1.5
#: The first time at full speed, from cold, is longer than the later ones by this factor.
MIN_FIRST_RATIO = 1.5
#: "From cold" means that it warmed by at least this much.
WARMED_K = 5.0
#: The drive's warming rate says that oscillation would move the temperature by the first; less than
#: the second was seen.
EXPECTED_K, STILL_K = 3.0, 1.0
#: The part of a period that is too brief to be a turn, and the fewest samples of an oscillation.
BRIEF = 0.15
_FEWEST = 8
#: How far a sensor may lag behind what it measures.
LAG_S = 8.0
#: The time over which the warming rate is taken.
WARMING_S = 30.0


@dataclass(frozen=True)
class _TurningPoints:
    """When the rate fell and rose, alternating, with the temperatures at those times."""

    falls_s: Array
    rises_s: Array
    fall_c: Array
    rise_c: Array


def turning_points(case: Case) -> Evidence | None:
    """Whether the drive was at the same temperature at each fall, and cooler at each rise.

    Skips a drop within another drop, where the outer oscillation may continue.
    """
    found = None if case.is_nested else _turning_points(case)
    if found is None:
        return None
    temp = case.view.temp
    full_s = found.falls_s - np.concatenate([[0.0], found.rises_s])[: len(found.falls_s)]
    swing_k = float(np.median(found.fall_c) - np.median(found.rise_c))
    spread_k = float(np.ptp(found.fall_c))
    start_c = float(np.min(temp.between(0.0, found.falls_s[0]), initial=found.fall_c[0]))
    times = len(found.falls_s)
    said = f"it fell {times} times, at {words.temps_text(found.fall_c)}"
    said += f", and rose again at {words.temps_text(found.rise_c)}"
    is_from_cold = found.fall_c[0] - start_c >= WARMED_K
    is_unlike = full_s[0] >= MIN_FIRST_RATIO * np.median(full_s[1:])
    if spread_k <= SAME_K and swing_k >= COOLED_K and is_from_cold and is_unlike:
        return "at-one-temperature", f"{said}, the first after {words.seconds_text(full_s[0])}"
    if swing_k >= STILL_K:
        return None
    expected_k = _expected_k(case, found)
    if expected_k < EXPECTED_K:
        return None  # it would not show
    said += (
        "; given how fast it had warmed, throttling would move it by "
        f"{words.kelvin_text(expected_k)}"
    )
    return "without-heat", said


def _turning_points(case: Case) -> _TurningPoints | None:
    """The turning points of an oscillation, or of the step's drops that recovered."""
    if case.drop.oscillates:
        falls_s, rises_s = _of_oscillation(case)
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
    return _TurningPoints(falls_s, rises_s, fall_c, rise_c)


def _near(temp: SensorTrack, turns_s: Array, most: np.ufunc) -> Array | None:
    """The extreme reading around each turn, since sensors lag; None if there are no readings."""
    first = np.searchsorted(temp.t_s, turns_s - LAG_S / 2, side="left")
    last = np.searchsorted(temp.t_s, turns_s + LAG_S, side="right")
    if np.any(first >= last):
        return None
    edges = np.stack([first, last], axis=1).ravel()
    # an edge may be after the last reading
    return np.asarray(most.reduceat(np.append(temp.values, np.nan), edges)[::2])


def _of_oscillation(case: Case) -> tuple[Array, Array]:
    """When the rate crossed the middle of its range, downwards and upwards."""
    series, drop = case.view.throughput, case.drop
    inside = (series.t_s > drop.onset_s - 2 * series.sampling_s) & (series.t_s <= drop.end_s)
    t_s, values = series.t_s[inside], series.values[inside]
    if len(values) < _FEWEST:
        return np.empty(0), np.empty(0)
    from scipy.ndimage import median_filter  # not every recording oscillates

    # whatever is shorter than a small part of a period is noise
    width = int(BRIEF * (drop.period_s or 0.0) / series.sampling_s) // 2 * 2 + 3
    values = median_filter(values, width, mode="nearest")
    low, high = np.quantile(values, (0.1, 0.9))
    # two thresholds around the middle: crossings in between are noise
    state = np.full(len(values), np.nan)
    state[values >= low + 0.65 * (high - low)] = 1.0
    state[values <= low + 0.35 * (high - low)] = 0.0
    is_clear = np.isfinite(state)
    t_s, state = t_s[is_clear], state[is_clear]
    changes = np.flatnonzero(np.diff(state)) + 1
    falls_s, rises_s = t_s[changes[state[changes] == 0]], t_s[changes[state[changes] == 1]]
    return falls_s, rises_s[rises_s > falls_s[0]] if len(falls_s) else rises_s


def _expected_k(case: Case, found: _TurningPoints) -> float:
    """How far throttling would have moved the sensor, given how fast the load had warmed it."""
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
