"""How near to the true onset anything could come, by the corpus's noise-free rates; what none sees.

Two limits, for each true episode:

- `shift_error_s`: what an oracle is off by on the very samples that the judge sees, that knows the
  whole noise-free rate and how strong and how correlated the noise is, but not when it came: the
  median of all shifts by their likelihood. No judge knows a drive that well.
- `bound_s`: the Cramer-Rao bound on the onset of a slide of which only the form is known, a level
  followed by 1 - exp(-((t - bend) / constant) ** power), but not its level, depth, bend, constant
  and power. No unbiased judge has a smaller standard deviation than that.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np
from heatsoak.analysis import analyze
from heatsoak.analysis.definitions import ONSET_LOSS
from heatsoak.analysis.series import Array, RateSeries, throughput, tidied
from heatsoak_dev.corpus import Choices, LabelledCase, TrueEpisode, make
from heatsoak_dev.corpus.labels import NoiseFree
from heatsoak_dev.corpus.recordings import DIP_CHANCE, DIP_SHARE, FINE_S
from heatsoak_dev.corpus.truth import LEVEL_S
from scipy.optimize import least_squares
from scipy.special import ndtri
from scipy.stats import norm
from scoring import score

#: An onset farther off than this, or than half of the fall, is not that episode's.
REACH_S = 10.0
#: At the finest sampling a sample so many standard deviations low is a dip.
DIP = 4.5
#: A slide is looked at for so many of its lengths.
LENGTHS = 1.2
#: Errors are taken at so many of their quantiles.
QUANTILES = (np.arange(20) + 0.5) / 20


@dataclass(frozen=True)
class _Noise:
    """Of samples, as a share of the rate; the correlation is that of neighbours."""

    variance: float
    correlation: float


@dataclass(frozen=True)
class Limit:
    """What the judge was off by at an episode that it found, and what it has to be.

    `likely_s` are equally likely errors of whoever knows the noise and the form of the fall: of the
    bound for a slide; the oracle's own for others, which are as sharp as sampling.
    """

    sampling_s: float
    shape: str
    ours_s: float
    oracle_s: float
    likely_s: Array


def limits_of(seed: int) -> list[Limit]:
    """Return the limits of a case's episodes."""
    labelled = make(seed)
    found = score(labelled, analyze(labelled.recordings))
    limits = []
    for match in found.matches:
        true = match.true
        if match.onset_error_s is None:
            continue
        free = labelled.noise_free[true.recording, true.step]
        start_s = max(_earlier_s(labelled, true), default=0.0)
        series = _series(labelled, true)
        oracle_s = abs(shift_error_s(series, free, labelled.choices, true, start_s))
        likely_s = np.full(len(QUANTILES), oracle_s)
        if true.shape == "slide":
            # as likely on either side
            likely_s = bound_s(free, labelled.choices, true, start_s) * ndtri(0.5 + QUANTILES / 2)
        limits.append(
            Limit(
                labelled.choices.sampling_s,
                true.shape,
                abs(match.onset_error_s),
                oracle_s,
                likely_s,
            )
        )
    return limits


def print_limits(seeds: Sequence[int], jobs: int) -> None:
    """Print percentiles of our errors, the oracle's, and those that the bound allows."""
    with ProcessPoolExecutor(jobs) as pool:
        limits = [one for found in pool.map(limits_of, seeds, chunksize=2) for one in found]
    print("onset error, s           ours            oracle           bound")
    print("                 cases   median    95th  median    95th  median    95th")
    for sampling_s in (0.1, 1.0, 5.0):
        here = [one for one in limits if one.sampling_s == sampling_s]
        for shape in ("all", "step", "slide", "cycle"):
            some = [one for one in here if shape in ("all", one.shape)]
            if not some:
                continue
            columns = (
                np.array([one.ours_s for one in some]),
                np.array([one.oracle_s for one in some]),
                np.concatenate([one.likely_s for one in some]),
            )
            row = "".join("{:8.2f}{:8.2f}".format(*np.quantile(c, [0.5, 0.95])) for c in columns)
            print(f"{sampling_s:5g} s {shape:6s} {len(some):7d} {row}")


def _series(labelled: LabelledCase, true: TrueEpisode) -> RateSeries:
    recording = labelled.recordings[true.recording]
    samples = recording.samples()
    (start_s,) = (
        event.t_s
        for event in recording.events
        if event.kind == "step-begin" and event.step == true.step
    )
    return tidied(throughput(samples.filter(samples["step"] == true.step), start_s))


def _earlier_s(labelled: LabelledCase, true: TrueEpisode) -> list[float]:
    """The onsets before it in its step."""
    return [
        other.onset_s
        for other in (*labelled.truth, *labelled.grey)
        if (other.recording, other.step) == (true.recording, true.step)
        and other.onset_s < true.onset_s
    ]


def _of_means(choices: Choices) -> tuple[float, float]:
    """Variance of means over the sampling interval, and their covariance with their neighbours'.

    In units of the variance of fine samples.
    """
    size = round(choices.sampling_s / FINE_S)
    apart = np.subtract.outer(np.arange(size), np.arange(size))
    variance = float(np.mean(choices.correlation ** np.abs(apart)))
    return variance, float(np.mean(choices.correlation ** (size + apart).astype(float)))


def _noise_of(choices: Choices) -> _Noise:
    """The noise of means over the sampling interval."""
    size = round(choices.sampling_s / FINE_S)
    variance, between = (choices.noise_sigma**2 * one for one in _of_means(choices))
    if choices.has_dips and size > 1:
        low, high = DIP_SHARE
        lost = (low**2 + low * high + high**2) / 3 - (low + high) + 1
        variance += DIP_CHANCE * lost / size
    return _Noise(variance, between / variance)


def shift_error_s(
    series: RateSeries, free: NoiseFree, choices: Choices, true: TrueEpisode, start_s: float
) -> float:
    """Return what the oracle's onset is off by; `start_s` is where what came before began."""
    size = round(choices.sampling_s / free.grid_s)
    first, last = round(start_s / free.grid_s), round(true.end_s / free.grid_s)
    at = np.round(series.t_s / choices.sampling_s).astype(int) - 1
    whole = (at >= first / size) & ((at + 1) * size <= last)
    at, values = at[whole], series.values[whole]
    noise = _noise_of(choices)

    def rates(shift: int) -> Array:
        """The means of samples had it all come so much later."""
        points = np.clip(at[:, None] * size + np.arange(size) - shift, first, last - 1)
        return np.asarray(free.mb_s[points].mean(axis=1))

    known = np.ones(len(at), dtype=bool)
    if size == 1 and choices.has_dips:
        known = values > (1 - DIP * np.sqrt(noise.variance)) * rates(0)
    pairs = known.copy()
    pairs[:1] = False
    pairs[1:] &= known[:-1] & (np.diff(at) == 1)
    reach_s = max(REACH_S, 3 * choices.sampling_s, 0.5 * true.fall_s)
    reach = round(reach_s / free.grid_s)
    shifts = np.arange(-reach, reach + 1)
    logs = np.empty(len(shifts))
    innovation = noise.variance * (1 - noise.correlation**2)
    for index, shift in enumerate(shifts):
        expected = rates(int(shift))
        left = values / expected - 1
        left[1:] -= noise.correlation * left[:-1].copy()
        logs[index] = -0.5 * np.sum(left[pairs] ** 2) / innovation - np.sum(np.log(expected[pairs]))
    sums = np.cumsum(np.exp(logs - logs.max()))
    return float(shifts[np.searchsorted(sums, 0.5 * sums[-1])]) * free.grid_s


def bound_s(free: NoiseFree, choices: Choices, true: TrueEpisode, start_s: float) -> float:
    """Return the least standard deviation of a slide's onset, by the curve fitted to its rate."""
    first = round(start_s / free.grid_s)
    end_s = min(true.end_s, true.onset_s + LENGTHS * true.fall_s)
    rate = free.mb_s[first : round(end_s / free.grid_s)]
    size = round(choices.sampling_s / free.grid_s)
    rate = rate[: len(rate) // size * size].reshape(-1, size).mean(axis=1)
    t_s: Array = choices.sampling_s * (np.arange(len(rate), dtype=np.float64) + 0.5)
    onset_s = true.onset_s - start_s
    level = float(np.median(rate[t_s < max(onset_s - LEVEL_S, 0.5 * onset_s)]))
    rate = rate / level
    lost = float(np.clip(1 - rate[-1], ONSET_LOSS, 0.95))
    scale = np.array([1.0, 0.1, 0.2 * true.fall_s, 0.5, 0.3])
    start = [1.0, lost, max(0.0, onset_s - 0.05 * true.fall_s), np.log(true.fall_s / 2.3), 1.1]
    bounds = ([0.5, 0.01, 0.0, -3.0, 0.5], [1.5, 3.0, float(t_s[-1]), 12.0, 2.5])

    def left(parameters: Array) -> Array:
        return np.asarray(_curve(parameters, t_s) - rate)

    found = least_squares(left, start, bounds=bounds, x_scale=scale).x
    steps = np.diag(0.01 * scale)
    slopes = [(_curve(found + h, t_s) - _curve(found - h, t_s)) / (2 * h.sum()) for h in steps]
    noise = _noise_of(choices)
    # noise goes with the rate; neighbours share it
    white = np.stack(slopes, axis=1) / _curve(found, t_s)[:, None]
    white[1:] -= noise.correlation * white[:-1].copy()
    white[1:] /= np.sqrt(1 - noise.correlation**2)
    # what is hardly known is known to about its usual range
    information = white.T @ white / noise.variance + np.diag((0.1 / scale) ** 2)
    by_onset = [(_onset_s(found + h) - _onset_s(found - h)) / (2 * h.sum()) for h in steps]
    return float(np.sqrt(np.array(by_onset) @ np.linalg.solve(information, by_onset)))


def _curve(parameters: Array, t_s: Array) -> Array:
    level, lost, bend_s, log_constant, power = parameters
    age = np.maximum(t_s - bend_s, 0.0) / np.exp(log_constant)
    return np.asarray(level * (1 + lost * np.expm1(-(age**power))))


def _onset_s(parameters: Array) -> float:
    _, lost, bend_s, log_constant, power = parameters
    return float(
        bend_s + np.exp(log_constant) * (-np.log1p(-min(ONSET_LOSS / lost, 0.999))) ** (1 / power)
    )


# --- which episodes nobody could see: a likelihood ratio test that knows all but one --------------
# The oracle knows the noise-free rate with the episode, the same without it, and the noise; it only
# asks whether the episode is there. It calls falsely once in a hundred hours where its threshold is
# `THRESHOLD` standard deviations, and finds half of the episodes that lie as far above the noise.

#: Tests an hour that are as good as independent: one a second, in which nothing falls faster.
TESTS_AN_HOUR = 3600
FALSE_AN_HOUR = 0.01
THRESHOLD = float(-ndtri(FALSE_AN_HOUR / TESTS_AN_HOUR))
#: What is before an episode is taken over this long.
BEFORE_S = 60.0


def clearness(labelled: LabelledCase, true: TrueEpisode) -> float:
    """Return how many standard deviations of the noise an episode lies off its absence.

    Without it the rate would have stayed what it was in the minute before, since the last onset.
    """
    free = labelled.noise_free[true.recording, true.step]
    choices = labelled.choices
    since_s = max([true.onset_s - BEFORE_S, 0.0, *_earlier_s(labelled, true)])
    size = round(choices.sampling_s / free.grid_s)
    points = len(free.mb_s) // size * size
    rate = free.mb_s[:points].reshape(-1, size).mean(axis=1)
    at_s = choices.sampling_s * (np.arange(len(rate)) + 0.5)
    held = (at_s > since_s) & (at_s < true.onset_s)
    within = (at_s >= true.onset_s) & (at_s < true.end_s)
    if not held.any() or not within.any():
        return 0.0
    lost = (rate[held].mean() - rate[within]) / np.maximum(rate[within], 0.02 * rate.max())
    variance, between = _of_means(choices)
    correlation = between / variance
    white = lost[1:] - correlation * lost[:-1]
    information = lost[0] ** 2 + float(white @ white) / (1 - correlation**2)
    return float(np.sqrt(information / variance)) / choices.noise_sigma


def chance_to_see(labelled: LabelledCase, true: TrueEpisode) -> float:
    """Return how likely the oracle finds an episode."""
    return float(norm.cdf(clearness(labelled, true) - THRESHOLD))


def print_visible(seeds: Sequence[int], jobs: int) -> None:
    """Print how many episodes the oracle would miss."""
    with ProcessPoolExecutor(jobs) as pool:
        chances = np.concatenate(list(pool.map(_chances, seeds, chunksize=2)))
    print(
        f"of {len(chances)} true episodes {np.sum(chances < 0.5)} are nearer to their absence than "
        f"{THRESHOLD:.1f} standard deviations of the noise; an oracle that calls falsely "
        f"{FALSE_AN_HOUR:g} times an hour misses {np.sum(1 - chances):.1f}"
    )


def _chances(seed: int) -> Array:
    labelled = make(seed)
    return np.array([chance_to_see(labelled, true) for true in labelled.truth])
