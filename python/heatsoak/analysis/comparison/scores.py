"""A run's scores as measures: their values, and how far noise may have moved them."""

from collections.abc import Mapping

import numpy as np

from heatsoak.analysis.comparison.measures import Measure
from heatsoak.analysis.consistency import WINDOW_S
from heatsoak.analysis.scored import Score
from heatsoak.analysis.series import Array


def score_measures(
    score: Score, of_steps: Mapping[str, Mapping[str, Measure]]
) -> dict[str, Measure]:
    """Return what a score that has a value is compared by, by the metric's name.

    `of_steps` is what was measured of each step; the noise of a score is that of its steps.
    """
    kind = score.metric if score.statistic == "mean" else f"stdev_{score.metric}"
    if score.statistic == "consistency":
        kind = "consistency"
    found = {f"score_{kind}": Measure(score.value, draws=_draws(score, of_steps))}
    if score.mb_s_per_w is not None:
        found["score_mb_s_per_w"] = Measure(score.mb_s_per_w)
    return found


def _draws(score: Score, of_steps: Mapping[str, Mapping[str, Measure]]) -> Array | None:
    metric = _metric_of_step(score)
    measures = [of_steps.get(step, {}).get(metric) for step in score.of_steps]
    draws = [measure.draws for measure in measures if measure is not None]
    known = [one for one in draws if one is not None]
    if not known or len(known) < len(score.of_steps):
        return None
    return np.asarray(np.mean(known, axis=0), dtype=np.float64)


def _metric_of_step(score: Score) -> str:
    """The metric of a step that is the same as what the score takes of it; or one there is not."""
    if score.statistic == "mean" and score.metric in ("iops", "mb_s"):
        if score.window_s is None:
            return f"{'busy' if score.while_busy else 'mean'}_{score.metric}"
        if score.window_s == WINDOW_S and score.metric == "iops":
            return "consistency_mean_iops"
    return score.metric if score.window_s is None else ""
