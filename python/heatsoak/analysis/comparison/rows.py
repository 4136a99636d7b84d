"""Groups against the baseline: one row for each metric of each step."""

from collections.abc import Iterator, Sequence

import numpy as np

from heatsoak.analysis.comparison.alike import Section
from heatsoak.analysis.comparison.likeness import LENGTH_TOLERANCE
from heatsoak.analysis.comparison.measures import Measure
from heatsoak.analysis.comparison.metrics import METRICS, SCORE_METRICS, Metric
from heatsoak.analysis.comparison.model import Bounds, Row, Verdict
from heatsoak.analysis.comparison.pairing import Stratum
from heatsoak.analysis.comparison.spread import Difference, Estimate, Spread, holm
from heatsoak.protocol import Label

#: Where more than this share of doubt is left, no difference is shown.
SIGNIFICANCE = 0.05
_NONE: Bounds = (None, None)

Cells = dict[int, dict[Label, list[Measure]]]


def measured_cells(section: Section, metric: str) -> Cells:
    """Return what the runs of a section measured of a metric, where all of a group's have it."""
    cells: Cells = {}
    for number, groups in section.cells.items():
        for group, runs in groups.items():
            found = [section.measured(run).get(metric) for run in runs]
            measures = [measure for measure in found if measure is not None]
            if len(measures) == len(found):
                cells.setdefault(number, {})[group] = measures
    return cells


def section_rows(
    section: Section, strata: Sequence[Stratum], groups: Sequence[Label]
) -> Iterator[Row]:
    """Yield the rows of a step, those over all strata before those of each."""
    baseline = groups[0]
    metrics = METRICS if section.score is None else SCORE_METRICS
    for metric in metrics.values():
        cells = measured_cells(section, metric.name)
        paired = {n: g for n, g in cells.items() if baseline in g and len(g) > 1}
        if not paired:
            continue
        yield from _rows(section, metric, paired, strata, groups, pooled=len(paired) > 1)
        if len(paired) > 1:
            for number, there in paired.items():
                yield from _rows(section, metric, {number: there}, strata, groups, pooled=False)


def _rows(
    section: Section,
    metric: Metric,
    cells: Cells,
    strata: Sequence[Stratum],
    groups: Sequence[Label],
    *,
    pooled: bool,
) -> Iterator[Row]:
    baseline, *others = groups
    spread = Spread(cells, metric.scale)
    found: list[tuple[Label, list[int], Estimate, Estimate, Difference | None]] = []
    for group in others:
        numbers = [number for number, there in cells.items() if group in there]
        if not numbers:
            continue
        one, two = spread.estimate(group, numbers), spread.estimate(baseline, numbers)
        are_known = one.value is not None and two.value is not None
        difference = spread.difference(one, two) if are_known else None
        found.append((group, numbers, one, two, difference))
    adjusted = holm([d.p if d is not None else None for *_, d in found])
    for (group, numbers, one, two, difference), p_holm in zip(found, adjusted, strict=True):
        has_interval = difference is not None and difference.ci95 is not None
        yield Row(
            metric=metric.name,
            step=section.step,
            group=group,
            baseline=two.value,
            value=one.value,
            delta_pct=_pct(difference.share) if difference is not None else None,
            ci95_pct=_pct_bounds(difference),
            runs=one.runs,
            protocol=section.protocol,
            workload=section.workload,
            definition=None if section.score is None else section.score.definition,
            steps=[] if section.score is None else list(section.score.steps),
            title=metric.title,
            unit=metric.unit,
            baseline_group=baseline,
            baseline_runs=two.runs,
            value_at_least=one.bound if one.value is None else None,
            baseline_at_least=two.bound if two.value is None else None,
            delta=difference.delta if difference is not None else None,
            delta_unit=metric.delta_unit or metric.unit,
            ci95=(difference.ci95 or _NONE) if difference is not None else _NONE,
            interval_of=spread.basis if has_interval else None,
            better=metric.better,
            better_by_pct=_better_by(metric, difference),
            verdict=_verdict(metric, one, two, difference, p_holm),
            p=difference.p if difference is not None else None,
            p_holm=p_holm,
            other_conditions=_shared([strata[number] for number in numbers]),
            pairs=len(numbers),
            pooled=pooled,
            pairs_higher=_pairs_higher(cells, group, baseline, numbers),
            caveats=list(dict.fromkeys(section.caveats)),
        )


def _pairs_higher(cells: Cells, group: Label, baseline: Label, numbers: list[int]) -> int:
    """In how many strata the group's mean is the higher one."""
    return sum(
        np.mean([m.bound for m in cells[n][group]]) > np.mean([m.bound for m in cells[n][baseline]])
        for n in numbers
    )


def _verdict(
    metric: Metric,
    one: Estimate,
    two: Estimate,
    difference: Difference | None,
    p_holm: float | None,
) -> Verdict:
    if difference is None:
        return _verdict_of_bounds(metric, one, two)
    if p_holm is None:
        return "no difference shown" if difference.delta == 0 else "not tested"
    if p_holm >= SIGNIFICANCE:
        return "no difference shown"
    change = difference.share if metric.scale == "ratio" else difference.delta
    if change is not None and abs(change) < metric.negligible:
        return "negligible"
    return _direction(metric, is_higher=difference.delta > 0)


def _verdict_of_bounds(metric: Metric, one: Estimate, two: Estimate) -> Verdict:
    """Where one group always fell and the other never did, that is a difference."""
    if one.value is None and two.value is None:
        apart = abs(one.bound - two.bound)
        is_alike = apart <= LENGTH_TOLERANCE * max(one.bound, two.bound)
        return "no difference shown" if is_alike else "not tested"
    if one.value is None and two.value is not None and one.bound > two.value:
        return _direction(metric, is_higher=True)
    if two.value is None and one.value is not None and two.bound > one.value:
        return _direction(metric, is_higher=False)
    return "not tested"


def _direction(metric: Metric, *, is_higher: bool) -> Verdict:
    if metric.better is None:
        return "higher" if is_higher else "lower"
    return "better" if is_higher == (metric.better == "higher") else "worse"


def _better_by(metric: Metric, difference: Difference | None) -> float | None:
    """The change with the sign that reviews print: worse is negative, whichever way it is."""
    share = None if difference is None else difference.share
    if share is None or metric.better is None:
        return None
    return 100 * (share if metric.better == "higher" else -share) + 0.0


def _pct(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _pct_bounds(difference: Difference | None) -> Bounds:
    if difference is None or difference.share_ci95 is None:
        return _NONE
    low, high = difference.share_ci95
    return 100 * low, 100 * high


def _shared(strata: Sequence[Stratum]) -> dict[str, Label | None]:
    """The conditions that have one value in all of them."""
    first = strata[0].conditions
    return {
        key: value
        for key, value in first.items()
        if all(stratum.conditions[key] == value for stratum in strata)
    }
