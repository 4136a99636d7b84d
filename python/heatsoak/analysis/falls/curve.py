"""The curve that a series follows under its noise: levels, lines and approaches.

Rates are looked at as logarithms, since noise and falls go with the level. The noise is AR(1), and
a piece of the curve is there where its likelihood is worth the length of its description.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heatsoak._core import decafs, hampel, pieces
from heatsoak.analysis.series import MAD_TO_SIGMA, Array, RateSeries
from heatsoak.recording import grid

#: Samples are averaged to about this before the curve is looked for. What stands out for no longer
#: is the heavy tail of the noise.
BIN_S = 0.5
#: A rate below about this share of the usual one is standstill, of whatever size.
STANDSTILL = 0.01
#: A recovery that is shorter, or of fewer bins, does not part two falls.
BRIEF_S, _BRIEF_BINS = 10.0, 4
#: How alike neighbouring bins may be by noise: evenly spaced in how many are one independent one.
CORRELATIONS = tuple(float(x) for x in np.tanh(np.linspace(0.0, 2.3, 10)))
#: Lags, in bins, whose differences show how strong noise is.
_LAGS = (1, 2, 4)
#: No measurement is better than this share of the rate.
_LEAST_NOISE = 1e-3
#: Edges are proposed at this share of what they cost in the end.
_PROPOSED = 0.5
#: What a change of level costs, in parameters: the level, and two for its place (modified BIC).
_CHANGE = 3.0


@dataclass(frozen=True)
class Bins:
    """A series in even pieces of time; those in which nothing was measured are left out.

    Attributes:
        edges_s: where each begins, and where the last ends.
        logs: logarithms of the mean rates over the usual rate, outliers replaced.
        usual: that rate, in the series' unit.
        width_s: the length of a bin.
    """

    edges_s: Array
    logs: Array
    usual: float
    width_s: float

    def count(self, length_s: float) -> int:
        """Return how many whole bins a time is; at least one."""
        return max(1, int(length_s / self.width_s + 1e-6))

    @property
    def brief(self) -> int:
        """How many bins are too few to part two falls."""
        return max(self.count(BRIEF_S), _BRIEF_BINS)


def binned(series: RateSeries) -> Bins:
    """Return the bins of a tidied series: of about `BIN_S`, and at least a usual interval."""
    sampling_s = series.sampling_s
    size = max(1, round(BIN_S / sampling_s))
    width_s = size * sampling_s
    clean = _without_tail(series.values, size)
    begin_s = series.t_s - series.interval_s
    first, _, values = grid.whole_means(series.t_s, series.interval_s, clean, begin_s[0], width_s)
    if size > 1:
        values = hampel(values, 2)
    moving = values[values > 0]
    usual = float(np.median(moving)) if len(moving) else 1.0
    edges_s = np.append(begin_s[first], series.t_s[-1])
    return Bins(edges_s, np.log(values / usual + STANDSTILL), usual, width_s)


def _without_tail(values: Array, half_width: int) -> Array:
    """The values without what stands out for no longer than half a window."""
    values = np.ascontiguousarray(values)
    if half_width > 1:
        return hampel(values, half_width)
    # three values do not tell their own noise
    usual = hampel(values, 1, 0.0)
    apart = np.abs(values - usual)
    limit = 3 * MAD_TO_SIGMA * np.median(apart[apart > 0]) if apart.any() else 0.0
    return np.where(apart > limit, usual, values)


@dataclass(frozen=True)
class CurveNoise:
    """AR(1): the correlation of neighbouring bins, and the deviation of a bin from the curve."""

    correlation: float
    sigma: float

    @property
    def innovation(self) -> float:
        """The part of the deviation that the bin before does not tell."""
        return float(self.sigma * np.sqrt(1 - self.correlation**2))

    @property
    def independent(self) -> float:
        """Which part of the bins tells as much of a mean as independent ones would."""
        return (1 - self.correlation) / (1 + self.correlation)

    def of_mean(self, count: int) -> float:
        """Return the standard error of a mean of so many bins."""
        return float(self.sigma / np.sqrt(count * self.independent))


def noises_of(logs: Array) -> list[CurveNoise]:
    """Return the noise of bins beside a curve for each of `CORRELATIONS`.

    It is told by medians of differences at several lags. One at lag k has the variance
    2 sigma^2 (1 - correlation^k); a median keeps changes of level out of it.
    """
    lags = np.array([lag for lag in _LAGS if len(logs) >= 4 * lag])
    steps = [logs[lag:] - logs[:-lag] for lag in lags]
    spreads = [MAD_TO_SIGMA * np.median(np.abs(step - np.median(step))) for step in steps]
    seen = np.log(np.maximum(np.square(spreads) / 2, _LEAST_NOISE**2))
    shares = [np.log1p(-(correlation**lags)) for correlation in CORRELATIONS]
    means = [np.average(seen - share, weights=1 / lags) for share in shares]
    sigmas = np.exp(np.array(means) / 2).tolist()
    return [CurveNoise(*both) for both in zip(CORRELATIONS, sigmas, strict=True)]


@dataclass(frozen=True)
class Piece:
    """Bins `start` to `end` (exclusive): level + change * exp(-k / constant) after k bins.

    A line is level + change * k; its `constant` is infinite.
    """

    start: int
    end: int
    level: float
    change: float
    constant: float
    noise: CurveNoise

    @property
    def length(self) -> int:
        """How many bins it has."""
        return self.end - self.start

    def along(self, bins: NDArray[np.int64] | float) -> Array:
        """Return the curve at bins, which may lie behind the end."""
        k = bins - self.start
        shape = np.exp(-k / self.constant) if np.isfinite(self.constant) else k
        return np.asarray(self.level + self.change * shape)

    def at(self, index: float) -> float:
        """Return the curve at one bin."""
        return float(self.along(index))

    def part(self, start: int, end: int) -> "Piece":
        """Return the piece from one bin to another."""
        if np.isfinite(self.constant):
            change = self.change * float(np.exp(-(start - self.start) / self.constant))
            return replace(self, start=start, end=end, change=change)
        return replace(self, start=start, end=end, level=self.at(start))

    @property
    def first(self) -> float:
        """The curve at the first bin."""
        return self.at(self.start)

    @property
    def last(self) -> float:
        """The curve at the last bin."""
        return self.at(self.end - 1)


def drawn(chain: list[Piece]) -> Array:
    """Return the curve at every bin."""
    return np.concatenate([one.along(np.arange(one.start, one.end)) for one in chain])


def unit_of(count: int, noise: CurveNoise) -> float:
    """Return what a parameter costs: ln n, and more where few values tell the noise (Student)."""
    known = max(2.0, count * noise.independent)
    return float(known * np.expm1(np.log(count) / known))


def proposed(logs: Array, noise: CurveNoise) -> NDArray[np.int64]:
    """Return where pieces may end: at changes of level, and in the middle between them.

    Of a line these are stairs, which begin before and after its own begin.
    """
    penalty = _PROPOSED * _CHANGE * unit_of(len(logs), noise) * noise.innovation**2
    ends = decafs(logs, noise.correlation, penalty)
    return np.unique(np.append(ends, (np.append(0, ends[:-1]) + ends + 1) // 2))


def described(
    logs: Array, edges: NDArray[np.int64], noise: CurveNoise
) -> tuple[float, list[Piece]]:
    """Return the shortest description of bins as a chain of pieces, and its length.

    That is twice its negative log-likelihood, and a unit for each parameter.
    """
    unit = unit_of(len(logs), noise)
    rows, length = pieces(logs, edges, noise.correlation, noise.innovation, unit)
    starts = np.append(0, rows[:-1, 0]).astype(int).tolist()
    chain = []
    for start, (end, level, change, constant, variance) in zip(starts, rows.tolist(), strict=True):
        own = replace(noise, sigma=noise.sigma * math.sqrt(variance))
        chain.append(Piece(start, int(end), level, change, constant, own))
    return length + 2 * len(logs) * float(np.log(noise.innovation)), chain
