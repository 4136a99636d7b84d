"""Fits the table of weights to labelled drops, starting from judgement.

Multinomial logistic regression on findings: the most likely weights where each keeps near to what
judgement says of it (a normal prior about it) and never changes its sign. A finding that the
labelled drops do not show keeps its judged weight, as does what `judged` in the rules names.
Findings that go together share what they are worth, which weights set one by one would count twice.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from heatsoak.analysis.cause.weigh import CAUSES, Seen, WeightTable
from heatsoak.analysis.series import Array

#: A drop of a logged drive may have a cause that is not in the table: this share of them.
UNFORESEEN = 0.02
#: How far a weight may wander from judgement, in nats: one standard deviation. What judgement
#: does not name says little about that cause, whatever chance may make of a few drops.
WANDER = 1.5
WANDER_UNNAMED = 0.3
#: How often causes are in the corpus is not how often they are in the world.
WANDER_PRIOR = 0.5

LabelledDrop = tuple[Collection[Seen], str]


def fit_weights(drops: Sequence[LabelledDrop], judgement: WeightTable) -> WeightTable:
    """Return `judgement` with weights and prior fitted to `drops`: their findings and causes."""
    from scipy.optimize import minimize  # not every command fits

    names = sorted({pair for seen, _ in drops for pair in seen})
    start = np.vstack([judgement.prior, *(_judged(judgement.weights, name) for name in names)])
    wander = np.where(start != 0, WANDER, WANDER_UNNAMED)
    wander[0] = WANDER_PRIOR
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

    # what speaks for a cause by judgement never speaks against it, or the other way round
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
    """Return how often each finding was there with each cause."""
    counted: dict[Seen, Counter[str]] = {}
    for seen, cause in drops:
        for pair in seen:
            counted.setdefault(pair, Counter())[cause] += 1
    return counted


def _judged(weights: Mapping[Seen, Array], name: Seen) -> Array:
    return weights.get(name, np.zeros(len(CAUSES)))
