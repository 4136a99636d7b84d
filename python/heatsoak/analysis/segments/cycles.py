"""Whether throughput swings regularly, as under a governor that lets go and takes hold again."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatsoak.analysis.definitions import MIN_CYCLES, MIN_DROP
from heatsoak.analysis.series import Array, Series, resampled

#: Periods within this share of their median are regular.
_REGULAR, _REGULAR_IF_FEW, _FEW_FALLS = 0.5, 0.15, 3
#: So much longer than the shortest is the longest low part at most where falls are few: others'
#: work comes at three even times by chance, but hardly lasts as long each time.
_AS_LONG_IF_FEW = 1.35
#: So alike is a swing to itself one period later, at least.
_MIN_ALIKE = 0.4
_MAX_POINTS = 4096
#: A mean cycle is drawn in so many parts.
PARTS = 24


@dataclass(frozen=True)
class Swing:
    """A regular swing: its period, and the share of it that is low."""

    period_s: float
    duty: float


def regular(falls_s: list[float], backs_s: list[float]) -> Swing | None:
    """Return the swing that falls at `falls_s`, each back at `backs_s`, make; None if irregular.

    The last fall may have no time at which it was back.
    """
    if len(falls_s) < MIN_CYCLES:
        return None
    periods = np.diff(falls_s)
    period_s = float(np.median(periods))
    # few falls must be as regular as chance hardly is
    share = _REGULAR if len(falls_s) > _FEW_FALLS else _REGULAR_IF_FEW
    if np.max(np.abs(periods - period_s)) > share * period_s:
        return None
    lows_s = [back - fall for fall, back in zip(falls_s, backs_s, strict=False)]
    if len(falls_s) <= _FEW_FALLS and max(lows_s) > _AS_LONG_IF_FEW * min(lows_s):
        return None
    low_s = lows_s[: len(falls_s) - 1]
    return Swing(period_s, float(np.clip(np.sum(low_s) / np.sum(periods), 0, 1)))


def swing(series: Series, begin_s: float, end_s: float, level: float) -> Swing | None:
    """Return the regular swing of a stretch, found by its likeness to itself a period later.

    The swing is `MIN_DROP` of `level` at least and comes `MIN_CYCLES` times. None where there is
    none.
    """
    values, step_s = even(series, begin_s, end_s)
    if len(values) < 4 * MIN_CYCLES:
        return None
    x = np.arange(len(values)) - 0.5 * (len(values) - 1)
    # least squares of a line, which is what its mean may do
    rest = values - values.mean() - x * float(x @ values) / float(x @ x)
    padded = np.fft.rfft(rest, 2 * len(rest))
    alike = np.fft.irfft(np.abs(padded) ** 2)[: len(rest)]
    if alike[0] <= 0:
        return None
    longest = len(rest) // MIN_CYCLES
    reach = 2 * longest + longest // 8 + 2
    # as many products as there are, so that a regular swing stays as alike at long lags
    alike = alike[:reach] / alike[0] * len(rest) / np.arange(len(rest), 0, -1)[:reach]
    below = np.flatnonzero(alike < 0)
    if len(below) == 0 or below[0] >= longest:
        return None
    lag = int(below[0]) + int(np.argmax(alike[below[0] : longest + 1]))
    peaks = [
        k
        for k in range(int(below[0]) + 1, lag + 1)
        if alike[k] >= 0.8 * alike[lag] and alike[k - 1] <= alike[k] >= alike[min(k + 1, longest)]
    ]
    lag = peaks[0] if peaks else lag
    if lag < 2 or alike[lag] < _MIN_ALIKE or _at_double(alike, lag) < 0.5 * alike[lag]:
        return None
    period = lag + _summit(alike, lag)
    mean = _folded(rest, _phase(x - x[0], period))
    if np.nanmax(mean) - np.nanmin(mean) < MIN_DROP * level:
        return None
    whole = values[: int(len(values) // period * period)]
    if len(whole) == 0:
        return None  # not one whole period
    middle = 0.5 * (np.quantile(whole, 0.05) + np.quantile(whole, 0.95))
    return Swing(period * step_s, float(np.mean(whole < middle)))


def flattened(
    series: Series, begin_s: float, found: Swing, usual_part: Series | None = None
) -> Series:
    """Return the series without its swing: each value by the usual one of its phase.

    What is usual is taken from `usual_part`, where that is given.
    """
    part = series if usual_part is None else usual_part
    mean = _folded(part.values, _phase_of(part, begin_s, found))
    phase = _phase_of(series, begin_s, found)
    usual = float(np.mean(part.values))
    share = mean[phase] / usual if usual > 0 else np.ones(len(phase))
    # where a cycle stands still, nothing says how fast it would be
    good = share > 0.1
    values = series.values[good] / share[good]
    return Series(series.t_s[good], series.interval_s[good], values, series.unit)


def _phase_of(series: Series, begin_s: float, found: Swing) -> NDArray[np.int64]:
    return _phase(series.t_s - series.interval_s / 2 - begin_s, found.period_s)


def _phase(t_s: NDArray[Any], period_s: float) -> NDArray[np.int64]:
    part = np.floor(np.mod(t_s / period_s, 1.0) * PARTS + 1e-6).astype(np.int64)
    return np.minimum(part, PARTS - 1)


def _folded(values: Array, phase: NDArray[np.int64]) -> Array:
    known = np.isfinite(values)
    count = np.bincount(phase[known], minlength=PARTS)
    total = np.bincount(phase[known], weights=values[known], minlength=PARTS)
    mean: Array = np.full(PARTS, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean


def even(
    series: Series, begin_s: float, end_s: float, least_step_s: float = 0.0
) -> tuple[Array, float]:
    """Return values at even times from `begin_s` on, and how far apart they are.

    Where nothing was measured it is what was last, or what comes first; empty where nothing was.
    Steps are `least_step_s` and one sample long at least.
    """
    step_s = max(series.sampling_s, least_step_s, (end_s - begin_s) / _MAX_POINTS)
    values = resampled(series, begin_s, end_s, step_s)
    known = np.isfinite(values)
    if not known.any():
        return np.empty(0), step_s
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), int(np.argmax(known))))
    return values[last], step_s


def _at_double(alike: Array, lag: int) -> float:
    around = alike[2 * lag - lag // 8 - 1 : 2 * lag + lag // 8 + 2]
    return float(np.max(around)) if len(around) else 0.0


def _summit(values: Array, index: int) -> float:
    """Where between neighbours the top of a parabola lies."""
    if not 0 < index < len(values) - 1:
        return 0.0
    left, top, right = values[index - 1 : index + 2]
    bend = left - 2 * top + right
    return float(0.5 * (left - right) / bend) if bend < 0 else 0.0
