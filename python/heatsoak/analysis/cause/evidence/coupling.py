"""Whether throughput, once lowered, goes with the temperature, with time, or with neither."""

from itertools import pairwise

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.series import Array

#: A shorter drop has too few stretches to compare.
LEAST_S = 40.0
#: The fall itself is left out.
SETTLED_S = 2.0
STRETCH_S = 5.0
FEWEST, MOST = 8, 40
#: Rates that move by less than this share of the level before are constant.
CONSTANT = 0.08
#: A temperature that moves by this much would move what a governor permits; by less, hardly.
MOVES_K, STILL_K = 4.0, 1.5
#: So much more is explained by the one than by the other.
BETTER = 0.1


def follows(case: Case) -> Finding | None:
    """A governor permits less the hotter it is; a full cache does not care."""
    compared = _stretches(case)
    if compared is None:
        return None
    t_s, rates, temps_c = compared
    moved, moved_k = float(np.ptp(rates)), float(np.ptp(temps_c))
    span = f"while it was slow the temperature moved by {moved_k:.0f} K"

    def seen(what: str, text: str) -> Finding:
        return Finding("rate-and-temperature", what, text)

    if moved < CONSTANT:
        if moved_k >= MOVES_K:
            return seen("regardless", f"{span}, and the rate stayed the same")
        return seen("both-still", f"{span}, the rate stayed the same as well")
    if moved_k < STILL_K:
        return seen("rate-alone", f"{span} only, the rate by {moved:.0%} of the level before")
    with_temp, with_time = _correlation(temps_c, rates), _correlation(t_s, rates)
    if with_temp < 0 and with_temp**2 > with_time**2 + BETTER:
        return seen("follows", "the hotter it was, the slower: the rate followed the temperature")
    if with_time**2 > with_temp**2 + BETTER:
        return seen("time", "the rate went with time rather than with the temperature")
    if with_temp < -0.5:
        return seen("against-each-other", "the rate fell as the temperature rose, both with time")
    if with_temp > 0.5:
        return seen("together", "rate and temperature rose and fell together")
    return seen("unlike", f"{span}, the rate by {moved:.0%} of the level before, each for itself")


def _stretches(case: Case) -> tuple[Array, Array, Array] | None:
    """Times, rates as shares of the level before, and temperatures, in the settled drop."""
    drop, temp, series = case.drop, case.view.temp, case.view.throughput
    if case.last_s < LEAST_S or len(temp.values) < FEWEST:
        return None
    count = int(np.clip(case.last_s / STRETCH_S, FEWEST, MOST))
    edges = np.linspace(drop.onset_s + SETTLED_S, drop.end_s, count + 1)
    rates = np.array([series.mean(a, b) for a, b in pairwise(edges)])
    middle_s = (edges[1:] + edges[:-1]) / 2
    measured = np.isfinite(rates)
    if np.count_nonzero(measured) < FEWEST - 2:
        return None
    t_s = middle_s[measured]
    return t_s, rates[measured] / drop.before, np.interp(t_s, temp.t_s, temp.values)


def _correlation(one: Array, other: Array) -> float:
    spread = float(np.std(one) * np.std(other))
    covariance = float(np.mean((one - one.mean()) * (other - other.mean())))
    return covariance / spread if spread > 0 else 0.0
