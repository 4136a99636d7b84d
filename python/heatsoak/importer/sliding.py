"""Two series slid along each other: where they correlate best, and how sure that is.

A quantity of a log (:class:`Track`) becomes cells of an even grid (:class:`Steps`), two of them
are slid along each other (:class:`Slide`), and :func:`best_peak` finds the best shift. What its
evidence is says :mod:`alignment`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.importer.frames import Array, intervals

Flags = NDArray[np.bool_]

#: No log is longer; time stamps that say so are damaged.
_MAX_SPAN_S = 1e9
#: The fewest samples of the coarser log that may overlap.
_MIN_SAMPLES = 16
#: Cells of the common grid in the coarser log's interval.
_CELLS_PER_INTERVAL = 4
#: Variance in an overlap, as a share of the whole log's, that is more than rounding.
_MIN_VARIANCE = 1e-4
#: The most that a sample is taken to predict the next, and how many lags are looked at closely.
_MAX_PREDICTED = 0.99
_MAX_REFINED = 8


@dataclass(frozen=True)
class Track:
    """One quantity of a log.

    Attributes:
        t_s: times, in seconds by the log's own clock, in any order.
        values: as many values, in any unit; NaN is unknown.
    """

    t_s: Array
    values: Array


@dataclass(frozen=True)
class Steps:
    """A track as values that hold for an interval each.

    Attributes:
        edges_s: begin and end of each interval, rising.
        integral: at each edge, of the values since the start, as shares of the greatest.
        known_s: at each edge, of 1 since the start.
        usual_s: the usual interval.
    """

    edges_s: Array
    integral: Array
    known_s: Array
    usual_s: float

    @classmethod
    def of(cls, track: Track, *, centred: bool = False) -> "Steps | None":
        """Return it, None where it has too few values to tell anything.

        An interval ends at its value's time, or has it in its middle if `centred`.
        """
        fine = np.isfinite(track.t_s) & np.isfinite(track.values)
        t_s, first = np.unique(track.t_s[fine], return_index=True)
        if len(t_s) < _MIN_SAMPLES or t_s[-1] - t_s[0] > _MAX_SPAN_S:
            return None
        values = track.values[fine][first]
        values = values / max(float(np.abs(values).max()), 1e-300)
        lengths = intervals(t_s)
        usual_s = float(np.median(lengths))
        edges_s = np.column_stack([t_s - lengths, t_s]).ravel()
        nothing = np.zeros(len(t_s))
        return cls(
            edges_s + (usual_s / 2 if centred else 0.0),
            np.cumsum(np.column_stack([nothing, lengths * values]).ravel()),
            np.cumsum(np.column_stack([nothing, lengths]).ravel()),
            usual_s,
        )

    @property
    def start_s(self) -> float:
        """Where the first interval begins."""
        return float(self.edges_s[0])

    @property
    def span_s(self) -> float:
        """From the first interval's start to the last one's end."""
        return float(self.edges_s[-1] - self.edges_s[0])

    def on_grid(self, cell_s: float, start_s: float, span_s: float) -> tuple[Array, Flags]:
        """Return the mean in each cell, and whether at least half of the cell is known."""
        edges_s = start_s + cell_s * np.arange(max(1, round(span_s / cell_s)) + 1)
        known_s = np.diff(np.interp(edges_s, self.edges_s, self.known_s))
        total = np.diff(np.interp(edges_s, self.edges_s, self.integral))
        known = known_s >= 0.5 * cell_s
        return np.where(known, total / np.where(known, known_s, 1.0), 0.0), known


def grid_of(a: Steps, b: Steps, pad_s: float, max_cells: int) -> tuple[float, int]:
    """Return the length of a cell, and how many are one sample of the coarser log."""
    coarse_s = max(a.usual_s, b.usual_s)
    least_s = (a.span_s + b.span_s + 2 * pad_s) / max_cells
    cells = max(1, min(_CELLS_PER_INTERVAL, int(coarse_s / least_s)))
    return max(coarse_s / cells, least_s), cells


def on_common_grid(a: Steps, cell_s: float, pad_s: float, idle: bool) -> tuple[Array, Flags, float]:
    """Return the reference with what is known around it, and where that begins."""
    start_s = a.start_s - pad_s
    x, known = a.on_grid(cell_s, start_s, a.span_s + 2 * pad_s)
    return x, (np.ones_like(known) if idle else known), start_s


def answer_of(values: Array, known: Flags, tau: float) -> Array:
    """Return the first-order lag of `values`, settled at the first; gaps hold what was before."""
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))
    held = values[last]
    keep = float(np.exp(-1.0 / tau))
    smooth = pl.Series(held).ewm_mean(alpha=1 - keep, adjust=False)
    return np.asarray(smooth.to_numpy(), dtype=np.float64)


# --- sliding -------------------------------------------------------------------------------------


class Slide:
    """Slides `y` along each of `xs`, on a common grid; cells that are not known count nowhere."""

    def __init__(
        self, xs: Sequence[Array], x_known: Flags, y: Array, y_known: Flags, cells: int
    ) -> None:
        """Take at least one of `xs`, and how many `cells` are one sample of the coarser log."""
        self.xs = [_standard(x, x_known) for x in xs]
        self.x_known = x_known
        self.y = _standard(y, y_known)
        self.y_known = y_known
        self.cells = cells
        size = len(x_known) + len(y_known) - 1
        self.size = 1 << (size - 1).bit_length()
        #: cell of y + lag = cell of x
        self.lags = np.arange(-(len(y_known) - 1), len(x_known))

    def correlate(self) -> tuple[Array, Array, NDArray[np.intp]]:
        """Return for each lag the cells that overlap, the greatest r, and which of `xs` has it.

        Masked normalised correlation; Padfield, IEEE Trans. Image Processing 21 (2012).
        """
        known_x = self._transform(self.x_known.astype(float))
        known_y, of_y, of_yy = (
            np.conj(self._transform(array))
            for array in (self.y_known.astype(float), self.y, self.y**2)
        )
        count = np.maximum(np.rint(self._sums(known_x * known_y)), 0.0)
        some = np.maximum(count, 1.0)
        mean_y = self._sums(known_x * of_y) / some
        var_y = self._sums(known_x * of_yy) / some - mean_y**2
        best = np.zeros(len(self.lags))
        which = np.zeros(len(self.lags), dtype=np.intp)
        for index, x in enumerate(self.xs):
            of_x = self._transform(x)
            mean_x = self._sums(of_x * known_y) / some
            var_x = self._sums(self._transform(x**2) * known_y) / some - mean_x**2
            covariance = self._sums(of_x * of_y) / some - mean_x * mean_y
            # where one of them hardly moves, correlation means nothing
            moves = (var_x > _MIN_VARIANCE) & (var_y > _MIN_VARIANCE) & (covariance > 0)
            r = np.zeros(len(self.lags))
            r[moves] = covariance[moves] / np.sqrt(var_x[moves] * var_y[moves])
            better = r > best
            best[better], which[better] = r[better], index
        return count, np.minimum(best, 1.0), which

    def overlap(self, lag: int) -> tuple[slice, slice]:
        """Return the cells of x and of y that overlap at `lag`."""
        begin, end = max(lag, 0), min(len(self.x_known), len(self.y_known) + lag)
        return slice(begin, end), slice(begin - lag, end - lag)

    def left_over(self, lag: int, which: int) -> tuple[Array, Flags]:
        """Return what of y the line through x does not explain at `lag`, and where it is known."""
        of_x, of_y = self.overlap(lag)
        known = self.x_known[of_x] & self.y_known[of_y]
        x, y = self.xs[which][of_x], self.y[of_y]
        from_mean = x - x[known].mean()
        slope = float(from_mean[known] @ y[known]) / float(from_mean[known] @ from_mean[known])
        return np.where(known, y - y[known].mean() - slope * from_mean, 0.0), known

    def filtered(self, share: float, wanted: Sequence[int]) -> "Slide":
        """Return it with what a sample's predecessor predicts taken off, of `wanted` alone."""
        back = self.cells
        x_known = self.x_known[back:] & self.x_known[:-back]
        y_known = self.y_known[back:] & self.y_known[:-back]
        xs = [self.xs[index] for index in wanted]
        return Slide(
            [x[back:] - share * x[:-back] for x in xs],
            x_known,
            self.y[back:] - share * self.y[:-back],
            y_known,
            self.cells,
        )

    def events(self, lag: int, which: int) -> float:
        """Return how many samples the overlap is worth where a few jumps are most of it.

        Of normal noise all, by its fourth moment; of three jumps, about nine.
        """
        of_x, of_y = self.overlap(lag)
        known = self.x_known[of_x] & self.y_known[of_y]
        worth = []
        for array in (self.xs[which][of_x][known], self.y[of_y][known]):
            squares = (array - array.mean()) ** 2
            worth.append(3 * float(squares.sum() ** 2 / max((squares**2).sum(), 1e-300)))
        return min(worth) / self.cells

    def _transform(self, array: Array) -> NDArray[np.complex128]:
        return np.fft.rfft(array, self.size)

    def _sums(self, product: NDArray[np.complex128]) -> Array:
        sums = np.fft.irfft(product, self.size)
        behind = len(self.y_known) - 1
        return np.concatenate([sums[self.size - behind :], sums[: len(self.x_known)]])


def _standard(values: Array, known: Flags) -> Array:
    """Return the values about their mean in units of their spread; 0 where they are not known."""
    inside = values[known]
    if len(inside) == 0:
        return np.zeros(len(values))
    spread = float(inside.std())
    return np.where(known, (values - inside.mean()) / (spread if spread > 1e-9 else 1.0), 0.0)


# --- evidence ------------------------------------------------------------------------------------


def _evidence_of(r: Array, samples: Array, floor: float = 1e-9) -> Array:
    """Return the logarithm of the likelihood ratio of a linear relation against none."""
    return np.asarray(-0.5 * samples * np.log(np.maximum(1 - r**2, floor)))


def _autocorrelation(values: Array, known: Flags, lag: int) -> float:
    """Return how alike known values, whose mean is 0, are to those `lag` cells later: -1 to 1."""
    both = known[lag:] & known[:-lag]
    power = float((values[known] ** 2).mean()) if known.any() else 0.0
    if power <= 0 or not both.any():
        return 0.0
    return float((values[lag:] * values[:-lag])[both].mean() / power)


def _dependence(values: Array, known: Flags, cells: int) -> float:
    """Return how many samples in a row say as much as one: the integrated autocorrelation."""
    total, lag = 1.0, cells
    while lag < len(values) / 4:
        share = _autocorrelation(values, known, lag)
        if share < 0.05:
            break
        total += 2 * share
        lag += cells
    return total


def _vertex_of(evidence: Array, at: int, reach: int) -> tuple[float, float]:
    """Return where the parabola through the peak is highest, from `at`, and its standard error."""
    if at < reach or at + reach >= len(evidence):
        return 0.0, float("inf")
    before, here, after = evidence[at - reach], evidence[at], evidence[at + reach]
    bend = float(before - 2 * here + after) / reach**2
    if bend >= 0:
        return 0.0, float("inf")
    offset = float(before - after) / (2 * reach) / bend
    return float(np.clip(offset, -reach, reach)), (-bend) ** -0.5


def _elsewhere(evidence: Array, at: int, least: int) -> float:
    """Return the greatest evidence outside the hill of the peak, `least` lags to either side of it.

    The hill continues past the point where half is lost, for as long as it falls.
    """
    after = evidence[at + least :]
    before = evidence[: max(at - least + 1, 0)][::-1]
    return max(_beyond_the_hill(side, float(evidence[at])) for side in (before, after))


def _beyond_the_hill(evidence: Array, peak: float) -> float:
    low = np.flatnonzero(evidence < 0.5 * peak)
    if len(low) == 0:
        return 0.0
    rest = evidence[int(low[0]) :]
    rises = np.flatnonzero(np.diff(rest) > 0)
    return float(rest[int(rises[0]) :].max()) if len(rises) else 0.0


# --- the best shift ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shift:
    """How far a log must be shifted, and how sure that is.

    Attributes:
        shift_s: to be added to the other log's times to have them by the reference's clock.
        score: the correlation at this shift, 0 to 1.
        runner_up: the evidence of the next best shift elsewhere, as a share of this one's: 0 to 1.
        error_s: standard error of `shift_s`; infinite where nothing was found.
        certain: whether it may be relied upon; if not, `shift_s` is only the best guess.
    """

    shift_s: float
    score: float
    runner_up: float
    error_s: float
    certain: bool


NOTHING_FOUND = Shift(0.0, 0.0, 1.0, float("inf"), False)


@dataclass(frozen=True)
class Demands:
    """What a certain shift must have; found by trial on simulated and synthetic logs.

    Attributes:
        overlap: share of the shorter log that must overlap for a shift to be looked at at all.
        score: the least correlation.
        detail: the least correlation once what a sample predicts of the next is filtered off.
        noise: the share of the variance that is never counted as explained: where the model is
            only nearly true, one shift is not better than another because it fits to a hair.
        evidence: the least evidence, besides the logarithm of how many shifts were compared.
        runner_up: the most evidence that another shift may have, as a share.
        error_intervals: the most standard error, in the coarser log's intervals.
    """

    overlap: float
    score: float
    detail: float
    noise: float
    runner_up: float
    evidence: float
    error_intervals: float = 1.0


@dataclass(frozen=True)
class Peak:
    """The best shift of a slide, in cells.

    Attributes:
        lag: of the slide's cells; `which` of its series it is.
        score: the correlation there, and in `detail` of the filtered series.
        share: what a sample predicts of the next, and was filtered off.
        worth: independent samples, as a share of those that overlap.
        lags: those of the filtered slide, `samples` of the coarser log that overlap at each.
        strength: the evidence, and what chance would give.
    """

    lag: int
    which: int
    score: float
    detail: float
    share: float
    worth: float
    lags: NDArray[np.intp]
    samples: Array
    strength: float
    chance: float
    runner_up: float
    vertex: float
    error: float

    def shift(self, cell_s: float, cells: int, offset_s: float, demands: Demands) -> Shift:
        """Return it in seconds, judged; the lag 0 is `offset_s`."""
        error_s = float(np.hypot(self.error, 0.25) * cell_s)
        return Shift(
            shift_s=offset_s + cell_s * (self.lag + self.vertex),
            score=self.score,
            runner_up=self.runner_up,
            error_s=error_s,
            certain=self.score >= demands.score
            and self.detail >= demands.detail
            and self.strength >= self.chance
            and self.runner_up < demands.runner_up
            and error_s <= demands.error_intervals * cells * cell_s,
        )


def best_peak(slide: Slide, allowed: Flags, demands: Demands) -> Peak | None:
    """Return the best of the lags that are `allowed`; None where nothing correlates."""
    cells = slide.cells
    count, raw_r, raw_which = slide.correlate()
    shorter = min(slide.x_known.sum(), slide.y_known.sum())
    allowed = allowed & (count >= max(demands.overlap * shorter, _MIN_SAMPLES * cells))
    evidence = _evidence_of(raw_r, np.where(allowed, count / cells, 0.0))
    at = int(np.argmax(evidence))
    if evidence[at] <= 0:
        return None
    strongest = [float(evidence[raw_which == i].max(initial=0.0)) for i in range(len(slide.xs))]
    wanted = sorted(np.argsort(strongest)[-_MAX_REFINED:].tolist())
    for _ in range(2):
        residual, known = slide.left_over(int(slide.lags[at]), int(raw_which[at]))
        share = min(max(_autocorrelation(residual, known, cells), 0.0), _MAX_PREDICTED)
        finer = slide.filtered(share, wanted)
        count, r, which = finer.correlate()
        # the filter took a sample off an end of both: lags stay what they are
        samples = np.where(allowed[cells:-cells], count / cells, 0.0)
        evidence = _evidence_of(r, samples)
        before, at = at, int(np.argmax(evidence)) + cells
        if at == before:
            break
    here = at - cells
    if evidence[here] <= 0:
        return None
    lag, index = int(finer.lags[here]), int(which[here])
    residual, known = finer.left_over(lag, index)
    independent = min(samples[here] / _dependence(residual, known, cells), finer.events(lag, index))
    worth = float(independent / samples[here])
    floored = worth * _evidence_of(r, samples, demands.noise)
    vertex, error = _vertex_of(worth * evidence, here, cells)
    return Peak(
        lag=lag,
        which=wanted[index],
        score=float(raw_r[at]),
        detail=float(r[here]),
        share=share,
        worth=worth,
        lags=finer.lags,
        samples=samples,
        strength=float(floored[here]),
        chance=float(demands.evidence + np.log(max(1.0, allowed.sum() / cells))),
        runner_up=_elsewhere(floored, here, 2 * cells) / float(floored[here]),
        vertex=vertex,
        error=error,
    )


def with_own_tau(peak: Peak, slide_of: Callable[[float], Slide], tau: float, reach: int) -> Peak:
    """Return the peak at the very best lag constant, near `tau` (in cells), with its error.

    A lag constant that is too long looks like a shift, so both are sought together, and the error
    is that of the shift while the constant is free. `slide_of` makes the slide of a constant;
    lags farther than `reach` from the peak are not looked at.
    """

    cells = slide_of(tau).cells
    near = np.abs(peak.lags - peak.lag) <= reach

    def evidence(log_tau: float) -> Array:
        _, r, _ = slide_of(float(np.exp(log_tau))).filtered(peak.share, [0]).correlate()
        return np.where(near, peak.worth * _evidence_of(r, peak.samples), 0.0)

    from scipy import optimize  # takes long to import, and is seldom asked for

    found = optimize.minimize_scalar(
        lambda log_tau: -float(evidence(log_tau).max()),
        bounds=(np.log(tau / 2), np.log(tau * 2)),
        method="bounded",
        options={"xatol": 0.01, "maxiter": 20},
    )
    log_tau, step = float(found.x), 0.05
    shorter, here, longer = (evidence(log_tau + sign * step) for sign in (-1, 0, 1))
    at = int(np.argmax(here))
    vertex, _ = _vertex_of(here, at, cells)
    if not cells <= at < len(here) - cells:
        return replace(peak, error=float("inf"))
    before, after = at - cells, at + cells
    by_lag = (here[before] - 2 * here[at] + here[after]) / cells**2
    by_tau = (shorter[at] - 2 * here[at] + longer[at]) / step**2
    mixed = (longer[after] - longer[before] - shorter[after] + shorter[before]) / (4 * cells * step)
    bent = by_lag * by_tau - mixed**2
    peaked = by_lag < 0 and bent > 0
    error = float(np.sqrt(-by_tau / bent)) if peaked else float("inf")
    return replace(peak, lag=int(peak.lags[at]), vertex=vertex, error=error)
