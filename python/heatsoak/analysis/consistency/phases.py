"""Since when a step has been as it is at its end."""

from itertools import pairwise

import numpy as np

from heatsoak._core import pelt_mean_var
from heatsoak.analysis.consistency.seconds import Seconds
from heatsoak.analysis.series import Array

#: What lasts for less is no phase: a stutter's stays at its levels are shorter.
LEAST_S = 60.0
#: Seconds are put together to no more blocks than this: means are nearer to normal, and quick.
_MOST_BLOCKS = 180
#: Standstill is taken for this share of the highest rate, which has a logarithm.
_LOWEST = 0.01
#: No phase is taken to be quieter than this share of its mean.
_LEAST_NOISE = 0.02
#: Each phase costs so many times the logarithm of the number of blocks.
_PENALTY = 4.0
#: Phases whose means differ by less than this share, and whose deviations by less than this factor,
#: are alike.
_ALIKE, _ALIKE_X = 0.1, 2.0


def as_at_end_since_s(seconds: Seconds) -> float | None:
    """Return since when the rates of a step have had the mean and the deviation of its end.

    The step is cut into phases of at least a minute so that the likelihood of lognormal rates with
    a mean and a variance of their own in each, less a penalty for each, is greatest. Blocks that
    resemble those before them make the penalty greater. Phases like the last one are one with it.
    None for less than two minutes.
    """
    size = max(1, -(-len(seconds.values) // _MOST_BLOCKS))
    count = len(seconds.values) // size
    least = max(2, int(np.ceil(LEAST_S / (size * seconds.each_s))))
    if count < 2 * least:
        return None
    # what is left over is at the begin, not at the end
    values = seconds.values[len(seconds.values) - count * size :].reshape(count, size).mean(axis=1)
    penalty = float(_PENALTY * np.log(count))
    edges = _edges(values, penalty, least)
    shared = _shared(values, edges)
    if shared > 0:
        edges = _edges(values, penalty * (1 + shared) / (1 - shared), least)
    begin = _alike_from(values, edges)
    if begin == 0:
        return 0.0
    first = len(seconds.values) - (count - begin) * size
    return float(seconds.t_s[first] - seconds.each_s)


def _edges(values: Array, penalty: float, least: int) -> list[int]:
    """Return the edges of the stretches of the likeliest cut.

    Logarithms, in which a spread is a share of its mean.
    """
    lowest = max(_LOWEST * float(np.max(values)), 1e-300)
    ends = pelt_mean_var(np.log(np.maximum(values, lowest)), penalty, least, _LEAST_NOISE**2)
    return [0, *(int(end) for end in ends)]


def _shared(values: Array, edges: list[int]) -> float:
    """How far blocks resemble those before them within their phases, 0 to 0.95."""
    left = np.concatenate([_standard(values[begin:end]) for begin, end in pairwise(edges)])
    return float(np.clip(np.mean(left[1:] * left[:-1]), 0.0, 0.95))


def _standard(values: Array) -> Array:
    spread = float(np.std(values))
    return (values - np.mean(values)) / spread if spread > 0 else np.zeros(len(values))


def _alike_from(values: Array, edges: list[int]) -> int:
    """Where the phases begin that are like the last one."""
    phases = [values[begin:end] for begin, end in pairwise(edges)]
    mean = float(np.mean(phases[-1]))
    least = _LEAST_NOISE * abs(mean)
    spread = max(float(np.std(phases[-1])), least)
    begin = edges[-2]
    for phase, edge in zip(phases[-2::-1], edges[-3::-1], strict=True):
        other = max(float(np.std(phase)), least)
        if abs(float(np.mean(phase)) - mean) > _ALIKE * abs(mean):
            break
        if max(other, spread) > _ALIKE_X * min(other, spread):
            break
        begin = edge
    return begin
