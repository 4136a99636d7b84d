"""Fits the judge's table of weights to labelled drops, starting from judgement.

Multinomial logistic regression on findings: the most likely weights, where each stays near its
judged value (a normal prior around it) and never changes its sign. A finding that does not occur in
the labelled drops keeps its judged weight, as do those that `judged` in the rules names. Findings
that occur together share their weight, which weights set one by one would count twice.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np
from heatsoak.analysis.cause.weigh import CAUSES, Seen, WeightTable
from heatsoak.analysis.series import Array

#: The share of drops in real logs whose cause is not in the table.
UNFORESEEN = 0.02
#: How far a weight may move from its judged value, in nats: one standard deviation. A cause that
#: judgement does not name for a finding gets little weight from it, whatever chance makes of a few
#: drops.
PRIOR_SD = 1.5
PRIOR_SD_UNNAMED = 0.3
#: Causes are not as frequent in the corpus as in the world.
PRIOR_SD_OF_PRIOR = 0.5

LabelledDrop = tuple[Collection[Seen], str]


def fit_weights(drops: Sequence[LabelledDrop], judgement: WeightTable) -> WeightTable:
    """Return `judgement` with weights and prior fitted to `drops`: the findings and the cause of
    each."""
    from scipy.optimize import minimize  # not every command fits

    names = sorted({pair for seen, _ in drops for pair in seen})
    start = np.vstack([judgement.prior, *(_judged(judgement.weights, name) for name in names)])
    wander = np.where(start != 0, PRIOR_SD, PRIOR_SD_UNNAMED)
    wander[0] = PRIOR_SD_OF_PRIOR
    column = {name: 1 + index for index, name in enumerate(names)}
    features = np.zeros((len(drops), 1 + len(names)))
    features[:, 0] = 1.0
    target = np.zeros((len(drops), len(CAUSES) + 1))
    for row, (seen, cause) in enumerate(drops):
        features[row, [column[name] for name in seen]] = 1.0
        target[row, CAUSES.index(cause)] = 1 - UNFORESEEN
        target[row, -1] = UNFORESEEN

    def loss(flat: Array) -> tuple[float, Array]:
        weights = flat.reshape(start.shape)
        logits = np.hstack([features @ weights, np.zeros((len(drops), 1))])
        logits -= logits.max(axis=1, keepdims=True)
        shares = np.exp(logits)
        shares /= shares.sum(axis=1, keepdims=True)
        away = (weights - start) / wander
        error = -np.sum(target * np.log(np.maximum(shares, 1e-300))) + 0.5 * np.sum(away**2)
        gradient = features.T @ (shares - target)[:, :-1] + away / wander
        return float(error), gradient.ravel()

    # a finding that is judged to support a cause never counts against it, and the other way round
    signs = np.sign(start)
    signs[0] = 0
    low = np.where(signs > 0, 0.0, -np.inf)
    high = np.where(signs < 0, 0.0, np.inf)
    kept = [column[name] for name in names if name[0] in judgement.judged]
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


def counts(drops: Sequence[LabelledDrop]) -> dict[Seen, Counter[str]]:
    """Return how often each finding occurred with each cause."""
    counted: dict[Seen, Counter[str]] = {}
    for seen, cause in drops:
        for pair in seen:
            counted.setdefault(pair, Counter())[cause] += 1
    return counted


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
