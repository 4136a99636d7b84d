"""Whether a step shows that it held its speed: in windows from 2 s to the whole of it."""

import math
from collections.abc import Sequence

import numpy as np

from heatsoak.analysis.definitions import MAX_STEADY_LOSS, MIN_DROP
from heatsoak.analysis.falls.find import Stall
from heatsoak.analysis.series import Array, Series, resampled, spans_of
from heatsoak.words import duration_text, seconds_text, share_text

#: Means are over at least this.
_BIN_S = 0.5
#: No window is shorter, but for a longer sampling interval.
_LEAST_WINDOW_S = 2.0
#: Standstills that take less of the time are a note.
_FEW = 0.05
#: A loss that lasts for less is a stall, and a speed that is held for less is a burst.
_MIN_LOSS_S = 10.0
#: Windows are medians of so many bins, which a short stall does not move; of one where bins are
#: short themselves.
_MEDIANS = (1, 3, 5)
#: Where fewer bins are left, their noise is told by those of half the length.
_ENOUGH = 32
#: How often steady noise may be taken for a regular swing. Noise whose neighbours are alike has
#: its power at periods of more bins than `_QUICK`: there a swing has more than half of all.
_BY_CHANCE, _QUICK, _MOST = 1e-4, 12.0, 0.5
#: Where noise would hide a greater loss for about `_SEEN_S`, nothing is shown.
_HIDDEN, _SEEN_S = 0.15, 30.0
#: The lower quartile of a normal distribution's absolute differences, over its deviation.
_QUARTILE = 0.3186 * math.sqrt(2)


def not_held(series: Series, stalls: Sequence[Stall] = (), what: str = "it") -> str | None:
    """Return why a series without falls does not show that it held its speed; None if it does.

    It did where no window lies more than `MIN_DROP` below the highest of its length, by more than
    noise explains, for `_MIN_LOSS_S` at once, at the end, or at a cost of `MAX_STEADY_LOSS` of the
    work; where it did not swing regularly, which noise does not; and where noise would not hide
    such a loss. `stalls` are left out where they are few. `what` is the series in the sentence:
    ``it``, ``its reads``, ``its writes``.
    """
    if sum(stall.length_s for stall in stalls) < _FEW * series.duration_s:
        series = series.without([(stall.begin_s, stall.end_s) for stall in stalls])
    bin_s = max(series.sampling_s, _BIN_S) if len(series.t_s) else _BIN_S
    bins = _means(series, bin_s)
    if len(bins) < 4:
        return "too little of it was measured to tell"
    return _swing(series, bins, bin_s, what) or _lower(series, bin_s, what) or _missing(bins, what)


def _means(series: Series, bin_s: float) -> Array:
    means = resampled(series, 0.0, series.duration_s, bin_s)
    return means[np.isfinite(means)]


def _missing(bins: Array, what: str) -> str | None:
    """What single bins cost that are too few to stand out of the noise, as a sentence."""
    lost = 1 - float(np.mean(bins)) / max(float(np.median(bins)), 1e-9)
    return (
        f"{what} moved {share_text(lost)} less than at its usual speed" if lost > MIN_DROP else None
    )


def _swing(series: Series, bins: Array, bin_s: float, what: str) -> str | None:
    """A line in the spectrum of bins (Fisher's test), as a sentence."""
    power = np.square(np.abs(np.fft.rfft(bins - np.mean(bins))[1:]))
    if len(power) < 4 or not np.any(power > 0):
        return None
    at = int(np.argmax(power))
    period = len(bins) / (1 + at)
    share = float(power[at] / np.sum(power))
    chance = len(power) * (1 - share) ** (len(power) - 1)
    is_regular = share > _MOST if period > _QUICK else chance < _BY_CHANCE
    size = 2 * math.sqrt(float(power[at])) / len(bins)
    if at == 0 or not is_regular or size < MIN_DROP * float(np.mean(bins)):
        return None
    low, high = np.quantile(bins, (0.1, 0.9))
    return (
        f"{what} swung between {series.text(low)} and {series.text(high)} from the start, every "
        f"{seconds_text(period * bin_s)}, as under a governor or a load of its own"
    )


def _lower(series: Series, bin_s: float, what: str) -> str | None:
    """The windows below the others that cost most, or the noise that would hide them."""
    worst, said, noise, alike, hidden = 0.0, None, math.inf, 1.0, math.inf
    # a loss may share its first and last sample with what is around it
    min_loss_s = _MIN_LOSS_S + 2 * series.sampling_s
    first_s = bin_s
    while len(bins := _means(series, bin_s)) >= 4:
        if math.isinf(noise) or len(bins) >= _ENOUGH:
            noise, alike = _noise(bins)
        for count in _MEDIANS:
            length_s = count * bin_s
            is_rough = count == 1 and bin_s >= 2 * _LEAST_WINDOW_S and bin_s > first_s
            if len(bins) < 2 * count or length_s < _LEAST_WINDOW_S or is_rough:
                continue
            windows = bins
            if count > 1:
                rows = np.lib.stride_tricks.sliding_window_view(bins, count)
                windows = np.median(rows, axis=1)
            error = noise * (1.25 * math.sqrt(alike / count) if count > 1 else 1.0)
            # so many deviations is the most extreme of so many, with one to spare
            error *= math.sqrt(2 * math.log(len(windows))) + 1.0
            error *= 1 + 3 / len(bins) if len(bins) < _ENOUGH else 1.0
            # what is held for less is a burst
            held = min(max(1, round(_MIN_LOSS_S / bin_s)), len(windows))
            high = float(np.sort(windows)[-held]) - error
            limit = (1 - MIN_DROP) * high - error
            low = windows < limit
            low_s = float(np.sum(low)) * bin_s
            at_once_s = max((end - start for start, end in spans_of(low)), default=0) * bin_s
            level = float(np.mean(windows[low])) if np.any(low) else high
            lost_s = low_s * (1 - level / high) if high > 0 else 0.0
            is_long = at_once_s > min_loss_s or (
                low_s > min_loss_s and lost_s > MAX_STEADY_LOSS * series.duration_s
            )
            if length_s <= max(_SEEN_S, 5 * first_s):
                hidden = min(hidden, 1 - limit / high if high > 0 else 1.0)
            at_end = bool(low[-1]) and (count > 1 or bool(low[-2]))
            if (is_long or at_end) and lost_s * high > worst:
                worst, said = lost_s * high, (level, low_s, high)
        noise /= math.sqrt(2)
        bin_s *= 2
    if said is not None:
        level, low_s, high = said
        span = f"{duration_text(low_s)} of {duration_text(series.duration_s)}"
        return (
            f"{what} ran at about {series.text(level)} for {span}, and {series.text(high)} at best"
        )
    if hidden > _HIDDEN:
        speed = "its speed" if what == "it" else f"the speed of {what}"
        if hidden >= 1:
            return f"{speed} varies too much to tell"
        return f"{speed} varies so much that a loss of {share_text(hidden)} would not show"
    return None


def _noise(bins: Array) -> tuple[float, float]:
    """The deviation of bins by noise, and how much alike neighbours are, as a factor of variance.

    It is told by differences at three lags, by those that are small: swings and shifts show in the
    others. Correlated noise grows with the lag at most as a random walk does.
    """
    squares: list[float] = []
    for lag in (1, 2, 4):
        if squares and len(bins) < 8 * lag:
            break
        steps = bins[lag:] - bins[:-lag]
        small = float(np.quantile(np.abs(steps - np.median(steps)), 0.25)) / _QUARTILE
        squares.append(max(small, 1e-3 * float(np.median(bins)), 1e-9) ** 2)
    most = max(min(one, 2**index * squares[0]) for index, one in enumerate(squares))
    return math.sqrt(most), most / squares[0]
