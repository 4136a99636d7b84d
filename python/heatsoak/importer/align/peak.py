"""The best of all shifts, and how sure it is."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer.align.evidence import (
    autocorrelation,
    dependence,
    elsewhere,
    evidence_of,
    vertex_of,
)
from heatsoak.importer.align.slide import Slide
from heatsoak.importer.align.tracks import LEAST_SAMPLES, Array, Flags

#: The most that a sample is said to foretell the next, and how many lags are looked at closely.
_MOST_FORETOLD = 0.99
_MOST_REFINED = 8


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
        detail: the least correlation once what a sample foretells of the next is filtered off.
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
        share: what a sample foretells of the next, and was filtered off.
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
    allowed = allowed & (count >= max(demands.overlap * shorter, LEAST_SAMPLES * cells))
    evidence = evidence_of(raw_r, np.where(allowed, count / cells, 0.0))
    at = int(np.argmax(evidence))
    if evidence[at] <= 0:
        return None
    strongest = [float(evidence[raw_which == i].max(initial=0.0)) for i in range(len(slide.xs))]
    wanted = sorted(np.argsort(strongest)[-_MOST_REFINED:].tolist())
    for _ in range(2):
        residual, known = slide.left_over(int(slide.lags[at]), int(raw_which[at]))
        share = min(max(autocorrelation(residual, known, cells), 0.0), _MOST_FORETOLD)
        finer = slide.filtered(share, wanted)
        count, r, which = finer.correlate()
        # the filter took a sample off an end of both: lags stay what they are
        samples = np.where(allowed[cells:-cells], count / cells, 0.0)
        evidence = evidence_of(r, samples)
        before, at = at, int(np.argmax(evidence)) + cells
        if at == before:
            break
    here = at - cells
    if evidence[here] <= 0:
        return None
    lag, index = int(finer.lags[here]), int(which[here])
    residual, known = finer.left_over(lag, index)
    independent = min(samples[here] / dependence(residual, known, cells), finer.events(lag, index))
    worth = float(independent / samples[here])
    floored = worth * evidence_of(r, samples, demands.noise)
    vertex, error = vertex_of(worth * evidence, here, cells)
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
        runner_up=elsewhere(floored, here, 2 * cells) / float(floored[here]),
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
        return np.where(near, peak.worth * evidence_of(r, peak.samples), 0.0)

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
    vertex, _ = vertex_of(here, at, cells)
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
