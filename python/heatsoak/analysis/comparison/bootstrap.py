"""How far to trust the mean of an autocorrelated series: a block bootstrap.

Throughput slides and steps while a drive throttles, and a repetition would do the same; only the
noise around that would differ. So noise is estimated from second differences of adjacent blocks, as
in the Hadamard variance (Baugh, 25th Symposium on Frequency Control, 1971): linear slides cancel,
and blocks that contain a known fall are left out. Means of resampled blocks then tell how far a
mean over any window may be off.
"""

from collections.abc import Sequence

import numpy as np

from heatsoak.analysis.falls import Drop
from heatsoak.analysis.findings import Episode
from heatsoak.analysis.series import Array, Series

#: Draws of each bootstrap.
DRAWS = 2000
#: No block is shorter: shorter ones understate the noise of a drive's 10 Hz samples.
MIN_BLOCK_S = 15.0
#: A step has at least this many blocks, however long its noise is correlated.
MIN_BLOCKS = 8
#: With fewer blocks in one stretch of a step, the noise of the whole step is used.
_ENOUGH_BLOCKS = 6
#: Variation slower than this, and than this share of the step, counts as a slide.
_SLIDE_S, _SLIDE_SHARE = 60.0, 0.2


class RateNoise:
    """The noise of one step's rates.

    `edges_s` are the times at which the step's level changes, from its start; `cycle_s` is the
    period of its oscillation, if any: a block covers at least one.
    """

    def __init__(
        self, series: Series, edges_s: Sequence[float] = (), cycle_s: float | None = None
    ) -> None:
        self._series = series
        self._grid_s = max(1.0, series.sampling_s) if len(series.values) else 1.0
        # measured time: gaps between samples do not count
        self._measured_s = np.concatenate([[0.0], np.cumsum(series.interval_s)])
        self._amount = np.concatenate([[0.0], np.cumsum(series.values * series.interval_s)])
        self.duration_s = float(self._measured_s[-1])
        self._edges_s = sorted({self._to_measured(edge) for edge in edges_s})
        cells = _means(self._measured_s, self._amount, self._grid_s)
        shortest_s = max(MIN_BLOCK_S, cycle_s or 0.0, 2 * self._grid_s)
        correlated_s = self._grid_s * block_length(self._detrended(cells))
        longest_s = self.duration_s / MIN_BLOCKS
        self.block_s = max(shortest_s, min(correlated_s, longest_s))
        size = round(self.block_s / self._grid_s)
        self.block_s = size * self._grid_s
        self._starts_s, self._residuals = self._hadamard(cells, size)

    @property
    def is_known(self) -> bool:
        """Whether the step is long enough to estimate its noise."""
        return len(self._residuals) > 0 and self.duration_s >= 4 * self.block_s

    def draws(self, start_s: float, end_s: float, rng: np.random.Generator) -> Array | None:
        """Return `DRAWS` random errors of the mean over `start_s` to `end_s`.

        Draws are widened by Student's t for the number of blocks behind the noise estimate, so that
        their percentiles are a confidence interval. None if :attr:`is_known` is false.
        """
        if not self.is_known:
            return None
        start, end = self._to_measured(start_s), self._to_measured(end_s)
        length_s = max(end - start, self._grid_s)
        residuals, known_s = self._of_stretch(start, end)
        blocks = length_s / self.block_s
        # the last block counts by its part in the window
        weights = np.ones(int(np.ceil(blocks - 1e-9)))
        weights[-1] = blocks - (len(weights) - 1)
        chosen = rng.integers(0, len(residuals), size=(DRAWS, len(weights)))
        # part of a block is noisier than a whole one, by the square root of its share; what remains
        # of a curved slide is not noise: draws are centred on 0
        means = (residuals - residuals.mean())[chosen] @ np.sqrt(weights) / blocks
        return np.asarray(means * _widening(known_s / self.block_s - 2))

    def _to_measured(self, t_s: float) -> float:
        return float(np.interp(t_s, np.concatenate([[0.0], self._series.t_s]), self._measured_s))

    def _detrended(self, cells: Array) -> Array:
        """The cells minus a running mean, within each stretch between edges."""
        cuts = [round(edge / self._grid_s) for edge in self._edges_s]
        width = round(max(_SLIDE_S, _SLIDE_SHARE * self.duration_s) / self._grid_s)
        return np.concatenate([part - _running_mean(part, width) for part in np.split(cells, cuts)])

    def _hadamard(self, cells: Array, size: int) -> tuple[Array, Array]:
        """Where triples of adjacent blocks start, and their scaled second differences."""
        if len(cells) < 3 * size or size < 1:
            return np.empty(0), np.empty(0)
        blocks = np.convolve(cells, np.full(size, 1 / size), mode="valid")
        second = (blocks[: -2 * size] - 2 * blocks[size:-size] + blocks[2 * size :]) / np.sqrt(6)
        starts_s = np.arange(len(second)) * self._grid_s
        keep = np.ones(len(second), dtype=bool)
        for edge in self._edges_s:
            inside = (starts_s < edge) & (starts_s + 3 * self.block_s > edge)
            if (keep & ~inside).any():
                keep &= ~inside
        return np.asarray(starts_s[keep], float), np.asarray(second[keep], float)

    def _of_stretch(self, start: float, end: float) -> tuple[Array, float]:
        """The residuals of the stretch that a window ends in, and its length."""
        bounds = [0.0, *self._edges_s, self.duration_s]
        last = max(index for index, edge in enumerate(bounds[:-1]) if edge < end or index == 0)
        first, until = bounds[last], bounds[last + 1]
        inside = (self._starts_s >= first - 1e-9) & (
            self._starts_s + 3 * self.block_s <= until + 1e-9
        )
        is_enough = until - first >= _ENOUGH_BLOCKS * self.block_s and inside.any()
        if start >= first - 1.0 and is_enough:
            return self._residuals[inside], until - first
        return self._residuals, self.duration_s


def noise_of(series: Series, falls: Sequence[Drop | Episode]) -> RateNoise:
    """Return the noise of a step's rates beside its falls."""
    edges = [t_s for fall in falls for t_s in (fall.onset_s, fall.end_s)]
    inside = [t_s for t_s in edges if 0 < t_s < series.duration_s - 1]
    cycles = [fall.period_s for fall in falls if fall.period_s is not None]
    return RateNoise(series, inside, max(cycles, default=None))


def block_length(values: Array) -> float:
    """Return the block length that suits the autocorrelation of `values`, in samples.

    Politis and White, Econometric Reviews 23 (2004), corrected by Patton, Politis and White (2009);
    for circular blocks. 1 for white noise, and if there are too few values.
    """
    count = len(values)
    centred = values - values.mean() if count else values
    variance = float(np.mean(centred**2)) if count else 0.0
    if count < 30 or variance == 0:
        return 1.0
    run = max(5, int(np.sqrt(np.log10(count))))
    most = min(int(np.ceil(np.sqrt(count))) + run, count - 1)
    autocovariance = np.array(
        [float(centred[lag:] @ centred[: count - lag]) / count for lag in range(most + 1)]
    )
    significant = np.abs(autocovariance[1:] / variance) >= 2 * np.sqrt(np.log10(count) / count)
    quiet = np.convolve(~significant, np.ones(run), mode="valid") == run
    reach = int(np.argmax(quiet)) if quiet.any() else int(np.flatnonzero(significant)[-1]) + 1
    window = min(2 * max(reach, 1), most)
    lags = np.arange(-window, window + 1)
    flat_top = np.clip(2 * (1 - np.abs(lags) / window), 0, 1)
    covariance = autocovariance[np.abs(lags)]
    spectrum = float(np.sum(flat_top * covariance))
    slope = float(np.sum(flat_top * np.abs(lags) * covariance))
    if spectrum <= 0:
        return 1.0
    return max(1.0, float(np.cbrt(2 * slope**2 / (4 / 3 * spectrum**2) * count)))


def _means(measured_s: Array, amount: Array, grid_s: float) -> Array:
    """Means over `grid_s` of measured time each; the remainder at the end is left out."""
    edges = np.arange(int(measured_s[-1] / grid_s + 1e-9) + 1) * grid_s
    return np.asarray(np.diff(np.interp(edges, measured_s, amount)) / grid_s, float)


def _running_mean(values: Array, width: int) -> Array:
    """Means of the `width` values around each, of fewer near the ends."""
    count = len(values)
    total = np.concatenate([[0.0], np.cumsum(values)])
    index = np.arange(count)
    low = np.maximum(index - width // 2, 0)
    high = np.minimum(index + width // 2 + 1, count)
    return np.asarray((total[high] - total[low]) / np.maximum(high - low, 1))


def _widening(degrees: float) -> float:
    from scipy.special import ndtri, stdtrit  # takes long to import, and few commands compare

    return float(stdtrit(max(degrees, 1.0), 0.975) / ndtri(0.975))
