"""Where throughput leaves its level, how far it falls, and whether it comes back.

Exact changepoints of the filtered series give levels; short levels between two others are
transitions; a fall of at least `MIN_DROP` from the level before begins an episode. Where the fall
begins is then fitted on the unsegmented series, since a slide leaves its level long before a
staircase of constant levels can follow it.
"""

from dataclasses import dataclass

import numpy as np

from heatsoak._core import fpop
from heatsoak.analysis.segments.drop import DEPTH_WINDOW_S, MIN_DROP, RECOVERED, Drop, Shape
from heatsoak.analysis.series import Array, Series, hampel, long_run_sigma, tidied

#: Changes at most this far apart are one transition.
TRANSITION_S = 4.0
#: Levels shorter than this are dips or bursts, such as a collection of garbage.
BLIP_S = 2.0
#: No series is taken to be quieter than this share of its level.
LEAST_NOISE = 0.003
#: Too little to tell a level from its noise.
MIN_SAMPLES = 12

HAMPEL_S = 1.0
PENALTY_FACTOR = 3.0
_FIT_BEFORE_S = 30.0
_FIT_AFTER_S = 10.0
_FALL_TIME_CONSTANTS_S = np.array([0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0])


@dataclass(frozen=True)
class _Level:
    start: int
    end: int
    value: float


def find_drops(series: Series) -> list[Drop] | None:
    """Return the episodes of a series, or None where it is too short to tell."""
    series = tidied(series)
    if len(series.values) < MIN_SAMPLES or series.duration_s < 2 * BLIP_S:
        return None
    levels = _levels(series)
    return _merge_cycles(series, _drops(series, levels))


def _levels(series: Series) -> list[_Level]:
    values = hampel(series.values, max(1, round(HAMPEL_S / 2 / series.sampling_s)))
    scale = float(np.median(np.abs(series.values)))
    if scale == 0:
        scale = float(np.max(np.abs(series.values)))
    sigma = max(long_run_sigma(series), LEAST_NOISE * scale)
    if sigma == 0:
        return [_Level(0, len(values), 0.0)]
    penalty = PENALTY_FACTOR * np.log(len(values)) * sigma**2
    ends = [int(end) for end in fpop(np.ascontiguousarray(values), float(penalty))]
    levels = [
        _Level(start, end, float(np.mean(values[start:end])))
        for start, end in zip([0, *ends[:-1]], ends, strict=True)
    ]
    return _without_transitions(series, levels)


def _without_transitions(series: Series, levels: list[_Level]) -> list[_Level]:
    """Leave out what is too short to be a level: steps of a ramp, dips and bursts."""

    def length_s(level: _Level) -> float:
        return float(np.sum(series.interval_s[level.start : level.end]))

    kept: list[_Level] = []
    for index, level in enumerate(levels):
        left = levels[index - 1].value if index > 0 else None
        right = levels[index + 1].value if index + 1 < len(levels) else None
        is_ramp = left is not None and right is not None and left > level.value > right
        is_ramp |= left is not None and right is not None and left < level.value < right
        # a drive may start slowly; a start that is fast and soon over is worth keeping
        is_start = left is None and right is not None and level.value < right
        shortest_s = TRANSITION_S if is_ramp or is_start else BLIP_S
        if left is None and not is_start:
            shortest_s = 0.0
        if length_s(level) >= shortest_s:
            kept.append(level)
    return kept or levels


def _drops(series: Series, levels: list[_Level]) -> list[Drop]:
    drops: list[Drop] = []
    normal_from = levels[0].start
    reference = levels[0].value
    last_normal = levels[0]
    fall: int | None = None
    for level in levels[1:]:
        if fall is None:
            if level.value < (1 - MIN_DROP) * reference:
                fall = level.start
            else:
                if level.value > reference / RECOVERED and not drops:
                    # what came before was a slow start, not the level to compare with
                    normal_from = level.start
                reference = max(reference, level.value)
                last_normal = level
        elif level.value >= RECOVERED * reference:
            drop = _measure(series, normal_from, last_normal, fall, level.start, reference)
            if drop is not None:
                drops.append(drop)
            fall, normal_from, last_normal = None, level.start, level
            reference = max(reference, level.value)
    if fall is not None:
        drop = _measure(series, normal_from, last_normal, fall, len(series.values), reference)
        if drop is not None:
            drops.append(drop)
    return drops


def _measure(
    series: Series, normal_from: int, last_normal: _Level, fall: int, end: int, reference: float
) -> Drop | None:
    """Return the drop whose first changepoint is at index `fall`, with its onset fitted."""
    # a slide's first steps are too small for an episode: look for the onset from where
    # throughput was last at the reference
    at_reference = np.flatnonzero(series.values[normal_from:fall] >= (1 - MIN_DROP / 5) * reference)
    earliest = normal_from + (int(at_reference[-1]) if len(at_reference) else 0)
    earliest = min(earliest, last_normal.end, fall)
    onset_s = _fit_onset(series, normal_from, earliest, fall, end)
    begin_s = _begin_s(series, normal_from)
    end_s = float(series.t_s[end - 1])
    before = series.mean(begin_s, onset_s)
    during = series.mean(max(onset_s, end_s - DEPTH_WINDOW_S), end_s)
    if not (np.isfinite(before) and np.isfinite(during)) or during >= (1 - MIN_DROP) * before:
        return None
    within = (series.t_s > onset_s) & (series.t_s <= end_s)
    fallen = np.flatnonzero(series.values[within] <= before - 0.9 * (before - during))
    fall_s = float(series.t_s[within][fallen[0]]) - onset_s if len(fallen) else end_s - onset_s
    shape: Shape = "slide" if fall_s > 0.5 * (end_s - onset_s) else "step"
    recovered = end < len(series.values)
    return Drop(onset_s, end_s, before, during, recovered, shape=shape, fall_s=fall_s)


def _begin_s(series: Series, index: int) -> float:
    return float(series.t_s[index] - series.interval_s[index])


def _fit_onset(series: Series, normal_from: int, earliest: int, fall: int, end: int) -> float:
    """Return where a constant level ends, by least squares.

    What follows is taken for a step, an exponential approach and a slope: under a governor
    throughput falls fast while the controller settles and then slowly while the board warms.
    """
    per_s = 1 / series.sampling_s
    # `fall` may lie far behind the bend: levels on the way down are too short to be levels
    bend = min(earliest, fall)
    first = max(normal_from, bend - round(_FIT_BEFORE_S * per_s))
    last = min(end, bend + max(4, round(_FIT_AFTER_S * per_s)))
    t_s = series.t_s[first:last]
    # the middle of each interval, so that a step between two samples falls between them
    middle_s = t_s - series.interval_s[first:last] / 2
    values = series.values[first:last]
    reach = max(2, round(TRANSITION_S * per_s))
    low = max(1, bend - first - reach)
    high = min(len(values) - 3, bend - first + reach)
    if high <= low:
        return _begin_s(series, fall)
    best: tuple[float, float] | None = None
    for split in range(low, high + 1):
        level = values[:split].mean()
        error = float(np.sum((values[:split] - level) ** 2))
        edge_s = float(t_s[split - 1])
        squared = error + _fall_error(middle_s[split:] - edge_s, level - values[split:])
        if best is None or squared < best[0]:
            best = (squared, edge_s)
    assert best is not None
    return best[1]


def _fall_error(x: Array, lost: Array) -> float:
    """The least squared error of ``s + a (1 - exp(-x / tau)) + b x`` over a few tau."""
    approach = -np.expm1(-x / _FALL_TIME_CONSTANTS_S[:, None])
    ones = np.ones_like(approach)
    basis = np.stack([ones, approach, np.broadcast_to(x / x[-1], ones.shape)], axis=2)
    gram = basis.transpose(0, 2, 1) @ basis
    # columns are nearly alike for long time constants: a trace of ridge keeps this solvable
    gram += 1e-9 * len(x) * np.eye(3)
    fitted = basis @ np.linalg.solve(gram, basis.transpose(0, 2, 1) @ lost[:, None])
    return float(np.sum((lost[:, None] - fitted) ** 2, axis=1).min())


def _merge_cycles(series: Series, drops: list[Drop]) -> list[Drop]:
    """Make one oscillating episode of falls and recoveries that follow each other regularly."""
    if len(drops) < 3:
        return drops
    onsets = np.array([drop.onset_s for drop in drops])
    periods = np.diff(onsets)
    period_s = float(np.median(periods))
    if np.max(np.abs(periods - period_s)) > 0.5 * period_s:
        return drops
    first, last = drops[0], drops[-1]
    back_s = series.duration_s - last.end_s
    recovered = last.recovered and back_s > 1.5 * period_s
    end_s = last.end_s if recovered else series.duration_s
    during = series.mean(max(first.onset_s, end_s - DEPTH_WINDOW_S), end_s)
    duty = sum(drop.end_s - drop.onset_s for drop in drops[:-1]) / float(np.sum(periods))
    return [
        Drop(
            onset_s=first.onset_s,
            end_s=end_s,
            before=first.before,
            during=during,
            recovered=recovered,
            oscillates=True,
            period_s=period_s,
            duty=min(duty, 1.0),
            shape="cycle",
            fall_s=first.fall_s,
        )
    ]
