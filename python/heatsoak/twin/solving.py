"""The likeliest parameters of a network, and the noise that the readings have beside it."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import least_squares

from heatsoak.twin.likelihood import Noise, estimate_noise, first_noise
from heatsoak.twin.problem import Problem
from heatsoak.twin.readings import Array

#: No parameter is looked for further than this many spreads from what is expected.
_FARTHEST = 6.0
#: Rounds of fitting the parameters and then their noise.
_ROUNDS = 3
#: Steps of one search.
_MOST_STEPS = 40


@dataclass(frozen=True)
class Solution:
    """The likeliest parameters of one network.

    Attributes:
        u: standardized parameters; `covariance` is theirs, by Laplace's approximation.
        evidence: the logarithm of the likelihood, averaged over the priors (Laplace).
    """

    problem: Problem
    u: Array
    covariance: Array
    noise: Noise
    evidence: float

    @property
    def values(self) -> dict[str, float]:
        """The parameters."""
        return self.problem.values(self.u)


def solve(problem: Problem, start: Array | None = None) -> Solution:
    """Return the likeliest parameters, and the noise that the readings have beside them."""
    u = np.zeros(len(problem.parameters)) if start is None else start
    noise = problem.likelihoods[0].noise
    first = first_noise(problem.measured[0].step_c)
    for turn in range(_ROUNDS):
        u = minimized(problem, u)
        if turn < _ROUNDS - 1:
            off_k = [problem.off_k(u, index) for index in range(len(problem.measured))]
            slopes = problem.reading_slopes(u)
            noise = estimate_noise(problem.measured, off_k, slopes, first)
            problem.set_noise(noise)
    slope = problem.jacobian(u)
    information = slope.T @ slope
    residuals = problem.residuals(u)
    log_det = sum(likelihood.log_det for likelihood in problem.likelihoods)
    log_information = float(np.linalg.slogdet(information)[1])
    evidence = -0.5 * (float(residuals @ residuals) + log_det + log_information)
    covariance = np.asarray(np.linalg.inv(information), dtype=np.float64)
    return Solution(problem, u, covariance, noise, evidence)


def minimized(
    problem: Problem, u: Array, *, held: int | None = None, tolerance: float = 1e-6
) -> Array:
    """Return the standardized parameters with the least squares, from `u` on; `held` stays.

    `tolerance` is the share of the squares that a last step may still take away.
    """
    free = np.arange(len(u)) != held
    start = np.clip(u, -_FARTHEST + 0.01, _FARTHEST - 0.01)

    def whole(x: Array) -> Array:
        full = start.copy()
        full[free] = x
        return full

    def residuals(x: Array) -> Array:
        return problem.residuals(whole(x))

    def jacobian(x: Array) -> Array:
        return problem.jacobian(whole(x))[:, free]

    found = least_squares(
        residuals,
        start[free],
        jac=jacobian,
        bounds=(-_FARTHEST, _FARTHEST),
        max_nfev=_MOST_STEPS,
        xtol=1e-5,
        ftol=tolerance,
        gtol=1e-6,
    )
    return whole(np.asarray(found.x))
