"""Which episodes of the corpus nobody could see: a likelihood ratio test that knows all but one.

The oracle knows the noise-free rate with the episode, the same without it, and the noise; it only
asks whether the episode is there. It calls falsely once in a hundred hours where its threshold is
`THRESHOLD` standard deviations, and finds half of the episodes that lie as far above the noise.
"""

from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from heatsoak.analysis.series import Array
from heatsoak_dev.corpus import LabelledCase, TrueEpisode, make
from heatsoak_dev.corpus.recordings import FINE_S
from scipy.special import ndtri
from scipy.stats import norm

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
    earlier = [
        other.onset_s
        for other in (*labelled.truth, *labelled.grey)
        if (other.recording, other.step) == (true.recording, true.step)
        and other.onset_s < true.onset_s
    ]
    since_s = max([true.onset_s - BEFORE_S, 0.0, *earlier])
    size = round(choices.sampling_s / free.grid_s)
    points = len(free.mb_s) // size * size
    rate = free.mb_s[:points].reshape(-1, size).mean(axis=1)
    at_s = choices.sampling_s * (np.arange(len(rate)) + 0.5)
    held = (at_s > since_s) & (at_s < true.onset_s)
    within = (at_s >= true.onset_s) & (at_s < true.end_s)
    if not held.any() or not within.any():
        return 0.0
    lost = (rate[held].mean() - rate[within]) / np.maximum(rate[within], 0.02 * rate.max())
    fine = round(choices.sampling_s / FINE_S)
    apart = np.subtract.outer(np.arange(fine), np.arange(fine))
    variance = float(np.mean(choices.correlation ** np.abs(apart)))
    between = float(np.mean(choices.correlation ** (fine + apart).astype(float)))
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
