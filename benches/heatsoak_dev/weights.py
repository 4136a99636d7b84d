"""Fits the judge's table of weights to labelled drops, starting from judgement.

Multinomial logistic regression on findings: the most likely weights, where each stays near its
judged value (a normal prior around it) and never changes its sign. A finding that does not occur in
the labelled drops keeps its judged weight, as do those that `judged` in the rules names, and those
that are judged to argue nothing. Findings that occur together share their weight, which weights set
one by one would count twice.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from heatsoak.analysis.cause.weigh import CAUSES, OTHER, Seen, WeightTable
from heatsoak.analysis.series import Array

#: The share of drops in real logs whose cause is not in the table.
UNFORESEEN = 0.01
#: How far a weight may move from its judged value, in nats: one standard deviation. Chance makes
#: less of a cause that judgement does not name for a finding.
PRIOR_SD = 1.5
PRIOR_SD_UNNAMED = 0.3
#: Causes are not as frequent in the labelled worlds as in the real one.
PRIOR_SD_OF_PRIOR = 0.5
#: What was seen of a drop, and its cause, which may be none of the table's.
LabelledDrop = tuple[Collection[Seen], str]


def fit_weights(drops: Sequence[LabelledDrop], judgement: WeightTable) -> WeightTable:
    """Return `judgement` with weights and prior fitted to `drops`."""
    from scipy.optimize import minimize  # not every command fits

    names = sorted({pair for seen, _ in drops for pair in seen})
    start = np.vstack([judgement.prior, *(_judged(judgement.weights, name) for name in names)])
    wander = np.where(start != 0, PRIOR_SD, PRIOR_SD_UNNAMED)
    wander[0] = PRIOR_SD_OF_PRIOR
    column = {name: 1 + index for index, name in enumerate(names)}
    features = np.zeros((len(drops), 1 + len(names)))
    features[:, 0] = 1.0
    target = np.zeros((len(drops), len(CAUSES) + 1))
    target[:, -1] = UNFORESEEN
    for row, (seen, cause) in enumerate(drops):
        features[row, [column[name] for name in seen]] = 1.0
        target[row, (*CAUSES, OTHER).index(cause)] += 1 - UNFORESEEN

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(start.shape)
        logits = np.hstack([features @ weights, np.zeros((len(drops), 1))])
        logits -= logits.max(axis=1, keepdims=True)
        shares = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        away = (weights - start) / wander
        error = 0.5 * np.sum(away**2) - np.sum(target * np.log(np.maximum(shares, 1e-300)))
        gradient = features.T @ (shares - target)[:, :-1] + away / wander
        return float(error), gradient.ravel()

    # a finding that is judged to support a cause never counts against it, and the other way round
    signs = np.sign(start)
    signs[0] = 0
    low = np.where(signs > 0, 0.0, -np.inf)
    high = np.where(signs < 0, 0.0, np.inf)
    # what is judged to argue nothing argues nothing
    kept = [
        column[name]
        for name in names
        if not judgement.judged.isdisjoint((name[0], ": ".join(name)))
        or not _judged(judgement.weights, name).any()
    ]
    low[kept] = high[kept] = start[kept]
    found = minimize(
        loss,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        bounds=list(zip(low.ravel(), high.ravel(), strict=True)),
        options={"maxiter": 2000, "maxfun": 4000},
    )
    weights = np.round(found.x.reshape(start.shape), 2)
    return replace(
        judgement,
        prior=weights[0],
        weights={**judgement.weights, **dict(zip(names, weights[1:], strict=True))},
    )


def _judged(weights: Mapping[Seen, Array], name: Seen) -> Array:
    return weights.get(name, np.zeros(len(CAUSES)))


def as_toml(rules: WeightTable) -> dict[str, dict[str, dict[str, float] | float]]:
    """Return a table's prior and weights as the judge reads them from TOML."""
    rows: dict[str, dict[str, dict[str, float] | float]] = {"prior": dict(_named(rules.prior))}
    for (about, seen), row in rules.weights.items():
        rows.setdefault(about, {})[seen] = _named(row)
    return rows


def _named(row: Array) -> dict[str, float]:
    return {
        cause: round(float(weight), 2)
        for cause, weight in zip(CAUSES, row, strict=True)
        if abs(weight) >= 0.005
    }
