"""Whether the drive gets cooler by doing less, as it would if heat were why it does.

A drive is warmed by what it spends, through a fast and a slow time constant (its chips, and the
board or the case about them). Of what it spends some goes with the rate and some does not; the
share that goes with it is fitted to the temperature from the load's begin on. A governor only
helps where that share is large. It is small where the drive moves data for itself, or for others.
"""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.series import Array, resampled

#: A drive that warmed by less than this before it fell does not show what its load does to it.
LEAST_RISE_K = 5.0
LEAST_READINGS = 8
#: In a longer time the case of a drive may get so much warmer as doing less cools it.
_SLOW_S = 180.0
#: So many even steps are fitted at most, of this length at least.
_MOST_STEPS, _LEAST_STEP_S = 400, 1.0
_TIME_CONSTANTS_S = np.geomspace(4.0, 1600.0, 11)
#: Shares of what is spent that go with the rate: those of a drive that is as busy as before, and
#: those of one that does less. What lies between may be either.
_BUSY, _IDLER = np.arange(-0.3, 0.26, 0.1), np.arange(0.5, 1.31, 0.1)
#: What a sensor of whole kelvins is off by, and how far apart its errors are independent.
_ROUNDED_K, _INDEPENDENT_S = 0.3, 10.0
#: How much likelier one must be than the other, in logarithms.
_CLEARLY = 4.0


def goes_with_the_load(case: Case) -> Finding | None:
    """Whether the temperature answers to what was lost.

    Not of what falls slowly, as under a governor that holds one temperature while the case gets
    warmer, nor of a fall on top of another, whose swings may go on beneath it.
    """
    if case.is_nested or case.drop.shape == "slide" or case.drop.fall_s > _SLOW_S:
        return None
    fitted = _log_likelihoods(case)
    if fitted is None:
        return None
    busy, idler = fitted
    if busy > idler + _CLEARLY:
        return Finding(
            "heat-balance",
            "whatever-the-load",
            "it got as warm as if it had lost nothing: what slowed it left it as busy",
        )
    if idler > busy + _CLEARLY:
        return Finding("heat-balance", "by-the-load", "it was as warm as what it did would have it")
    return None


def _log_likelihoods(case: Case) -> tuple[float, float] | None:
    """Of a drive as busy as before, and of one that does less; None where too little is known."""
    temp, end_s = case.view.temp, case.drop.end_s
    inside = (temp.t_s >= 0) & (temp.t_s <= end_s)
    t_s, temps_c = temp.t_s[inside], temp.values[inside]
    before = temps_c[t_s <= case.drop.onset_s]
    if len(t_s) < LEAST_READINGS or len(before) < 2 or np.ptp(before) < LEAST_RISE_K:
        return None
    step_s = max(_LEAST_STEP_S, end_s / _MOST_STEPS)
    count = int(end_s / step_s)
    rates = resampled(case.view.throughput, 0.0, count * step_s, step_s) / case.drop.before
    known = np.flatnonzero(np.isfinite(rates))
    if len(known) < LEAST_READINGS:
        return None
    grid = np.arange(count)
    rates = np.interp(grid, known, rates[known])
    warmth = np.interp(step_s * (grid + 1), t_s, temps_c)
    errors = [_least_error(warmth, rates, shares, step_s) for shares in (_BUSY, _IDLER)]
    independent = 0.5 * end_s / _INDEPENDENT_S
    busy, idler = (-independent * float(np.log(error + _ROUNDED_K**2)) for error in errors)
    return busy, idler


def _least_error(warmth: Array, rates: Array, shares: Array, step_s: float) -> float:
    """The least mean square error over all shares and pairs of time constants."""
    constant, by_rate = (
        np.stack([_lagged(spent, step_s / tau_s) for tau_s in _TIME_CONSTANTS_S])
        for spent in (np.ones(len(rates)), rates)
    )
    rest = warmth - warmth.mean()
    least = float(rest @ rest)
    one, two = np.triu_indices(len(_TIME_CONSTANTS_S), 1)
    for share in shares:
        parts = (1 - share) * constant + share * by_rate
        parts -= parts.mean(axis=1, keepdims=True)
        squares, along = parts @ parts.T, parts @ rest
        alone = np.diag(squares)
        least = min(least, float(np.min(rest @ rest - np.maximum(along, 0.0) ** 2 / alone)))
        determinant = alone[one] * alone[two] - squares[one, two] ** 2
        first = (alone[two] * along[one] - squares[one, two] * along[two]) / determinant
        second = (alone[one] * along[two] - squares[one, two] * along[one]) / determinant
        left = rest @ rest - first * along[one] - second * along[two]
        # nothing that is spent cools
        least = min(least, float(np.min(left[(first >= 0) & (second >= 0)], initial=np.inf)))
    return max(least, 0.0) / len(warmth)


def _lagged(spent: Array, steps: float) -> Array:
    """A first-order lag of one over `steps`, from 0 on."""
    from scipy.signal import lfilter  # not every recording has temperatures

    gain = -np.expm1(-steps)
    return np.asarray(lfilter([gain], [1.0, gain - 1.0], spent), dtype=np.float64)
