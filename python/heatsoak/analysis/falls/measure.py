"""Stretches of lowered throughput: their onset, depth and shape, by the samples themselves.

A fall begins where 2 % of the level is lost. After a level comes one of several shapes: ramps and
exponential approaches of any length, each alone or with a slope after it. Their probabilities are
added up over all begins, each counted where it has lost `ONSET_LOSS`; the median is the onset with
the least expected error. It is looked at from afar first, and then from as near as the likely
begins lie together.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from heatsoak._core import hampel
from heatsoak.analysis import definitions
from heatsoak.analysis.falls.curve import BRIEF_S, STANDSTILL, Bins, CurveNoise, Piece
from heatsoak.analysis.falls.swings import Swing
from heatsoak.analysis.series import HELD_SAMPLES, Array, RateSeries, resampled

Shape = Literal["step", "slide", "cycle"]
#: What is back within so long was a stall, and no fall.
STALL_S = 4.0
#: A fall that starts with the step is measured from the mean of at least its first second.
_FIRST_S = 1.0
#: A second fall takes at least this share of what the first had come to.
SECOND_FALL = 0.08
#: Of a slide less than this share is lost in the first quarter of its time.
_SLIDE = 0.4
#: A shallower fall may be the level's own movement: single minutes of real logs stray by 16 %.
_SMALL = 2 * definitions.MIN_DROP


@dataclass(frozen=True)
class Drop:
    """A stretch of lowered throughput, in the series' unit and seconds from the step's begin.

    A second, deeper fall inside a lowered stretch is a drop of its own: the first ends where it
    begins, has not recovered, and its last level is what the second falls from. Where the second
    passes and leaves the first as it was, the first goes on, and the second lies within it.

    Attributes:
        onset_s: where throughput leaves its level: 2 % of it are lost, as far as noise shows that.
        end_s: where it begins to come back, where a deeper drop begins, or the last sample.
        back_s: where it is back; the end, if it does not come back.
        before: the mean from the step's begin or the last recovery to the onset; the level that
            it fell from for a drop inside another; the mean of the first seconds for a fall that
            starts with the step.
        during: the mean from the onset to the end, but for deeper drops that lie within.
        lowest: the lowest mean over `HELD_S`; that of the drop where it is shorter.
        last: the mean of the drop's last `LAST_S`, or of all of it where it is shorter.
        recovered: whether throughput came back to `RECOVERED` of the level before.
        begin_s: where the fall begins, however little of it can be seen yet.
        period_s: the length of a cycle, where it falls and recovers regularly: that is one drop.
        duty: the share of a cycle that is low, 0 to 1.
        shape: ``cycle`` where it oscillates, ``slide`` where the loss takes long for the drop's
            length, ``step`` otherwise.
        fall_s: from the onset to where 90 % of the loss is reached.
        from_start: whether it fell before `HELD_SAMPLES` samples had shown a level, so that the
            level before may be higher.
    """

    onset_s: float
    end_s: float
    back_s: float
    before: float
    during: float
    lowest: float
    last: float
    recovered: bool
    begin_s: float
    period_s: float | None
    duty: float | None
    shape: Shape
    fall_s: float
    from_start: bool

    @property
    def oscillates(self) -> bool:
        """Whether it falls and recovers regularly."""
        return self.shape == "cycle"

    @property
    def length_s(self) -> float:
        """How long it lasts."""
        return self.end_s - self.onset_s

    @property
    def depth(self) -> float:
        """The share of the level before that is lost, on the mean."""
        return 1 - self.during / self.before

    @property
    def depth_at_end(self) -> float:
        """The share that is lost in the drop's last `LAST_S`."""
        return 1 - self.last / self.before


def joined(first: Drop, second: Drop) -> Drop:
    """Return `first` and the deeper fall `second`, which follows it or lies in it, as one drop.

    Its end and what it ends at are those of the one that ends later; its mean is over both. It is a
    slide only where both are, and a cycle where either is. 90 % of the loss of both is reached
    within the second fall, unless the first took that much already.
    """
    last = second if second.end_s >= first.end_s else first
    lost = first.before - last.last
    is_first = first.before - first.last >= 0.9 * lost
    cycle = second if second.oscillates else first
    second_s = second.length_s
    first_s = last.end_s - first.onset_s - second_s
    return replace(
        first,
        end_s=last.end_s,
        back_s=last.back_s,
        during=(first_s * first.during + second_s * second.during) / (first_s + second_s),
        lowest=min(first.lowest, second.lowest),
        last=last.last,
        recovered=last.recovered,
        period_s=cycle.period_s,
        duty=cycle.duty,
        shape=first.shape
        if first.shape == second.shape
        else "cycle"
        if cycle.oscillates
        else "step",
        fall_s=first.fall_s if is_first else second.onset_s - first.onset_s + second.fall_s,
    )


@dataclass(frozen=True)
class Fall:
    """Bins `start` to `end` below a level, which is held since the bin `since`.

    Attributes:
        edge: where the level begins to be left.
        is_unheld: whether it is left since its begin: a burst or two may be all that is above.
        from_start: whether it slides from the step's begin on, before any level was held.
        times: how often it was left.
        is_second: whether it was lowered already.
    """

    since: int
    edge: int
    start: int
    end: int
    recovered: bool
    is_unheld: bool = False
    from_start: bool = False
    times: int = 1
    swing: Swing | None = None
    is_second: bool = False


@dataclass(frozen=True)
class Traced:
    """A series with its bins, the pieces of its curve that last, and the curve without stalls."""

    series: RateSeries
    bins: Bins
    pieces: list[Piece]
    curve: Array

    def at_s(self, edge: int) -> float:
        """Return when a bin begins."""
        return float(self.bins.edges_s[edge])

    def drop_of(
        self, fall: Fall, end_s: float | None = None, within: Sequence[Drop] = ()
    ) -> Drop | None:
        """Return what a fall measures; None where it is none by the samples themselves.

        What it lost is measured beside the deeper drops `within`, which pass.
        """
        series, bins = self.series, self.bins
        back_s = self.at_s(fall.end) if end_s is None else end_s
        end_s = min(back_s, self.at_s(self._rises_from(fall))) if fall.recovered else back_s
        begin_s, low_s = self.at_s(fall.since), self.at_s(fall.start)
        held = [one.start for one in self.pieces if one.start < fall.edge and one.end > fall.since]
        falling = next((one.end for one in self.pieces if one.end > fall.start), fall.end)
        if fall.swing is not None:
            falling = fall.start + max(2, round(fall.swing.period * fall.swing.duty))
        follow_s = min(self.at_s(min(falling, fall.end)), end_s)
        room_s = max(STALL_S, 2 * series.sampling_s, low_s - self.at_s(fall.edge))
        since_s = max(begin_s, self.at_s(held[-1])) if held else begin_s
        left_s = max(since_s, self.at_s(fall.edge) - room_s), min(low_s + room_s, follow_s)
        until = [one for one in self.pieces if one.start <= fall.edge]
        noise = (until or self.pieces)[-1].noise
        onset_s, begin_fall_s = onset_of(series, bins, noise, (since_s, *left_s, follow_s))
        onset_s = min(max(onset_s, begin_s), end_s)
        held_s = max(begin_s, onset_s - definitions.LAST_S) if fall.is_second else begin_s
        # a fall that starts with the step has no level before it but its first samples
        until_s = max(onset_s, held_s + max(_FIRST_S, 2 * series.sampling_s))
        before = series.mean(held_s, until_s)
        held_rates = series.between(held_s, until_s).values
        if fall.is_unheld and len(held_rates):
            before = min(before, float(np.median(held_rates)))
        if not np.isfinite(before):
            before = series.mean(begin_s, until_s)
        period_s = duty = None
        if fall.swing is not None:
            period_s, duty = fall.swing.period * bins.width_s, fall.swing.duty
        elif fall.times >= definitions.MIN_CYCLES:
            period_s, duty = (end_s - onset_s) / fall.times, 0.5
        beside = series.without([(one.onset_s, one.end_s) for one in within])
        during = beside.mean(onset_s, end_s)
        last = series.mean(max(onset_s, end_s - definitions.LAST_S), end_s)
        least = SECOND_FALL if fall.is_second else definitions.MIN_DROP
        # the last may be the high part of a swing, or of what came back slowly
        if not (during < before and min(during, last) < (1 - 0.5 * least) * before):
            return None
        fall_s, shape = self._course(fall, onset_s, end_s)
        return Drop(
            onset_s=onset_s,
            end_s=end_s,
            back_s=back_s,
            before=before,
            during=during,
            lowest=min(during, series.lowest(definitions.HELD_S, onset_s, end_s)),
            last=last,
            recovered=fall.recovered,
            begin_s=min(begin_fall_s, onset_s),
            period_s=period_s,
            duty=duty,
            shape=shape if period_s is None else "cycle",
            fall_s=fall_s,
            from_start=fall.from_start or onset_s < HELD_SAMPLES * series.sampling_s,
        )

    def _rises_from(self, fall: Fall) -> int:
        """Where a fall begins to come back; its end, if that takes most of its time or none."""
        start = fall.end
        for piece in reversed(self.pieces):
            if piece.start >= start or fall.swing is not None:
                continue
            rise = self.curve[start - 1] - self.curve[piece.start]
            if piece.start <= fall.start or rise < -np.log1p(-definitions.MIN_DROP):
                break
            start = piece.start
        # a level that wanders is not coming back: it returns at its end, at once
        curve, level = self.curve, self.curve[max(fall.edge - 1, 0)]
        is_rise = 2 * (curve[fall.end - 1] - curve[start]) >= level - curve[start]
        return start if is_rise and start - fall.start > fall.end - start else fall.end

    def _course(self, fall: Fall, onset_s: float, end_s: float) -> tuple[float, Shape]:
        """How long it takes to nine tenths of the loss, and whether it slides."""
        edges_s = self.bins.edges_s
        end = int(np.searchsorted(edges_s, end_s - 0.5 * self.bins.width_s))
        end = max(end, fall.start + 1)
        rates = np.exp(self.curve[fall.edge : end])
        top = float(np.exp(self.curve[max(fall.edge - 1, 0)]))
        late = float(np.mean(rates[-self.bins.count(definitions.LAST_S) :]))
        reached = first_of(rates <= top - 0.9 * (top - late))
        fallen_s = end_s if reached is None else float(edges_s[fall.edge + reached])
        lowest = int(np.argmin(rates))
        long_s = float(edges_s[fall.edge + lowest]) - onset_s
        at = int(np.searchsorted(edges_s, onset_s + 0.25 * long_s)) - fall.edge
        lost = top - rates[min(max(at, 0), len(rates) - 1)]
        is_slide = long_s > 2 * BRIEF_S and lost < _SLIDE * (top - rates[lowest])
        return max(0.0, fallen_s - onset_s), "slide" if is_slide else "step"

    def is_wander(self, drop: Drop, drops: list[Drop]) -> bool:
        """Return whether a small fall is the level's own movement: at times it rises as much."""
        if drop.depth >= _SMALL or not drop.recovered:
            return False
        middles_s = 0.5 * (self.bins.edges_s[1:] + self.bins.edges_s[:-1])
        free = np.ones(len(middles_s))
        for one in drops:
            free[(middles_s >= one.onset_s) & (middles_s < one.end_s)] = 0.0
        size = self.bins.count(drop.length_s)
        if size > len(free):
            return False
        rates = self.bins.usual * (np.exp(self.bins.logs) - STANDSTILL)
        means = np.convolve(rates * free, np.full(size, 1 / size), mode="valid")
        return bool(np.max(means) >= (1 + 0.5 * drop.depth) * drop.before)


def first_of(which: NDArray[np.bool_]) -> int | None:
    """Return the first that is true."""
    at = int(np.argmax(which)) if len(which) else 0
    return at if len(which) and which[at] else None


#: So many steps are looked at, and so many begins are tried in them.
_STEPS, _BEGINS = 160, 40
#: Shapes last for powers of two of a step, up to this one; the first is a sudden fall.
_LENGTHS = 8
#: The begin lies within the likely ones but for this part on either side.
_TAIL = 0.005
_AGES = np.concatenate([[0.0], np.geomspace(1e-3, 1.0, 50)])


def onset_of(
    series: RateSeries, bins: Bins, noise: CurveNoise, around_s: tuple[float, float, float, float]
) -> tuple[float, float]:
    """Return when a level is left, and when the fall begins that leaves it.

    `around_s` are since when the level is held, between which times it is left, and where what
    follows the fall ends.
    """
    since_s, low_s, high_s, end_s = around_s
    step_s = np.inf
    while True:
        if step_s > 1.01 * series.sampling_s:
            room_s = max(high_s - low_s, 8 * series.sampling_s)
            window_s = max(since_s, low_s - room_s), min(end_s, high_s + room_s)
            step_s = max(series.sampling_s, (window_s[1] - window_s[0]) / _STEPS)
        found = _onsets(series, bins, noise, window_s, step_s, (low_s, high_s))
        if found is None:
            return (float(np.clip(high_s, since_s, end_s)),) * 2
        onset_s, (early_s, begin_s, late_s) = found
        apart_s = 2 * (high_s - low_s) / _BEGINS
        near = max(since_s, early_s - apart_s), min(end_s, late_s + apart_s)
        if near[1] - near[0] > 0.5 * (high_s - low_s) or high_s - low_s < step_s:
            return min(onset_s, end_s), min(begin_s, onset_s)
        low_s, high_s = near


def _onsets(
    series: RateSeries,
    bins: Bins,
    noise: CurveNoise,
    window_s: tuple[float, float],
    step_s: float,
    between_s: tuple[float, float],
) -> tuple[float, list[float]] | None:
    """The middle of the likely onsets; the earliest likely begin, the middle and the latest.

    None where too little was measured.
    """
    first_s, last_s = window_s
    values = resampled(series, first_s, last_s, step_s)
    known = np.isfinite(values)
    if known.sum() < 6:
        return None
    values = np.interp(np.arange(len(values)), np.flatnonzero(known), values[known])
    if step_s < bins.width_s:
        values = hampel(np.ascontiguousarray(values), max(1, round(bins.width_s / step_s)))
    y = values / bins.usual
    t_s = first_s + step_s * np.arange(len(y) + 1)
    begins_s = np.linspace(max(between_s[0], first_s), min(between_s[1], last_s - step_s), _BEGINS)
    lengths_s = np.concatenate([[0.0], step_s * 2.0 ** np.arange(_LENGTHS)])
    # means over a step of what is lost so long after a begin, ramps first, approaches, the slope
    age_s = np.maximum(t_s - begins_s[:, None], 0.0)
    areas = [_ramp_area(age_s, length_s) for length_s in lengths_s]
    areas += [age_s + length_s * np.expm1(-age_s / length_s) for length_s in lengths_s[1:]]
    areas.append(age_s**2 / (2 * step_s * len(y)))
    shapes = np.diff(np.stack(areas, axis=1), axis=2) / step_s
    correlation = noise.correlation ** (step_s / bins.width_s)
    ones = np.ones(len(y))
    for row in (y, ones, shapes):
        row[..., 1:] -= correlation * row[..., :-1].copy()
        row[..., 0] *= np.sqrt(1 - correlation**2)
    size = ones @ ones
    sums, mean = shapes @ ones / size, float(y @ ones / size)
    shapes -= sums[..., None] * ones
    logs, falls = _fits(shapes, y - mean * ones, known)
    likely = np.exp(logs - logs.max())
    begin, shape, slope = np.nonzero(likely > 1e-3)
    parts = falls[begin, shape, slope]
    levels = mean - parts[:, 0] * sums[begin, shape] - parts[:, 1] * sums[begin, -1]
    ages_s = _AGES * (last_s - first_s)
    lost = -parts[:, :1] * _shape(ages_s, lengths_s)[shape]
    lost -= parts[:, 1:] * ages_s / (step_s * len(y))
    least = definitions.ONSET_LOSS * np.maximum(levels, 1e-9)
    reached = lost >= least[:, None]
    at = np.where(reached.any(axis=1), np.argmax(reached, axis=1), len(ages_s) - 1)
    rows, before = np.arange(len(at)), np.maximum(at - 1, 0)
    rise = lost[rows, at] - lost[rows, before]
    part = np.clip((least - lost[rows, before]) / np.where(rise > 0, rise, np.inf), 0, 1)
    onsets_s = begins_s[begin] + ages_s[before] + part * (ages_s[at] - ages_s[before])
    order = np.argsort(onsets_s)
    total = np.cumsum(likely[begin, shape, slope][order])
    onset_s = onsets_s[order][int(np.searchsorted(total, 0.5 * total[-1]))]
    total = np.cumsum(likely.sum(axis=(1, 2)))
    marks = np.searchsorted(total, np.array([_TAIL, 0.5, 1 - _TAIL]) * total[-1])
    return float(onset_s), begins_s[np.minimum(marks, len(begins_s) - 1)].tolist()


def _fits(shapes: Array, rest: Array, known: Array) -> tuple[Array, Array]:
    """The log-probability of each begin, shape, and with the slope or without, and its parts."""
    slope, shapes = shapes[:, -1], shapes[:, :-1]
    squares, by_rest = np.sum(shapes**2, axis=2), shapes @ rest
    own, by_slope = np.sum(slope**2, axis=1)[:, None] + 1e-12, (slope @ rest)[:, None]
    across = np.einsum("bsn,bn->bs", shapes, slope)
    alone = np.minimum(by_rest / (squares + 1e-12), 0.0)
    left = squares - across**2 / own
    both = np.minimum((by_rest - across * by_slope / own) / (left + 1e-12), 0.0)
    both = np.where(left > 1e-6 * squares, both, 0.0)
    slopes = (by_slope - across * both) / own
    parts = np.array([[alone, both], [np.zeros_like(alone), slopes]])
    size, slope_size = parts
    total, count = float(rest @ rest), float(known.sum())
    errors = total - 2 * (size * by_rest + slope_size * by_slope) + size**2 * squares
    errors += slope_size**2 * own
    errors += 2 * size * slope_size * across
    logs = -0.5 * count * np.log(np.maximum(errors, 0.0) + (1e-6 * total + 1e-12))
    logs[1] -= 0.5 * np.log(count)
    return np.stack([*logs], axis=2), parts.transpose(2, 3, 1, 0)


def _ramp_area(age_s: Array, length_s: float) -> Array:
    inside = np.minimum(age_s, length_s)
    return np.asarray(age_s - inside + (inside**2 / (2 * length_s) if length_s else 0.0))


def _shape(ages_s: Array, lengths_s: Array) -> Array:
    """What is lost so long after a begin, by each shape."""
    ramps = [np.minimum(ages_s / length_s, 1.0) for length_s in lengths_s[1:]]
    approaches = [-np.expm1(-ages_s / length_s) for length_s in lengths_s[1:]]
    return np.stack([np.ones(len(ages_s)), *ramps, *approaches])
