"""Groups compared with the baseline: a row for each metric of each step, and the ranking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from heatsoak.analysis import definitions
from heatsoak.analysis.likeness import LENGTH_TOLERANCE
from heatsoak.comparison import model, spread
from heatsoak.comparison.pairing import PairedStep, Stratum
from heatsoak.facts import effects
from heatsoak.protocol import Label
from heatsoak.words import number_text

#: Of fewer runs nothing is told, even where only one of the groups falls.
_MIN_RUNS = 3
#: At a p value of this or more, no difference is shown.
SIGNIFICANCE = 0.05


def measured_cells(section: PairedStep, metric: str) -> dict[int, dict[Label, spread.Cell]]:
    """Return a metric's measures in a section, for groups in which all runs have it."""
    cells: dict[int, dict[Label, spread.Cell]] = {}
    for number, groups in section.cells.items():
        for group, runs in groups.items():
            found = [(run.drive, section.measured(run).get(metric)) for run in runs]
            cell = [(drive, one) for drive, one in found if one is not None]
            if len(cell) == len(found):
                cells.setdefault(number, {})[group] = cell
    return cells


def section_rows(
    section: PairedStep, strata: Sequence[Stratum], groups: Sequence[Label]
) -> Iterator[model.ComparisonRow]:
    """Yield the rows of a step: those over all strata, then those of each."""
    baseline = groups[0]
    for metric in definitions.METRICS.values():
        cells = measured_cells(section, metric.name)
        paired = {n: g for n, g in cells.items() if baseline in g and len(g) > 1}
        if not paired:
            continue
        each = [{number: there} for number, there in paired.items()]
        for of_rows in [paired, *each] if len(each) > 1 else each:
            yield from _rows(section, metric, of_rows, strata, groups)


def _rows(
    section: PairedStep,
    metric: definitions.Metric,
    cells: spread.Cells,
    strata: Sequence[Stratum],
    groups: Sequence[Label],
) -> Iterator[model.ComparisonRow]:
    baseline, *others = groups
    found = []
    for group in others:
        if numbers := [number for number, there in cells.items() if group in there]:
            one, two = (spread.mean(cells, each, numbers) for each in (group, baseline))
            difference = spread.difference(cells, metric, group, baseline, numbers)
            found.append((group, numbers, one, two, difference))
    adjusted = effects.adjusted([difference.p for *_, difference in found])
    for (group, numbers, one, two, difference), p in zip(found, adjusted, strict=True):
        verdict = _verdict(metric, one, two, difference, p)
        relative = difference.change_share
        why = _why_neither(section, metric, (group, baseline), numbers, difference)
        better = metric.better if why is None else None
        if why is not None and verdict in ("better", "worse"):
            verdict = "higher" if difference.is_higher else "lower"
        yield model.ComparisonRow(
            metric=metric.name,
            step=section.step,
            group=group,
            baseline=two.value,
            value=one.value,
            delta_pct=_pct(difference.share),
            ci95_pct=model.bounds_of(relative and relative.times(100)),
            runs=one.runs,
            protocol=section.protocol,
            model=section.model,
            workload=section.workload,
            definition=None if section.score is None else section.score.definition,
            steps=[] if section.score is None else list(section.score.steps),
            title=metric.title,
            unit=metric.unit,
            baseline_group=baseline,
            baseline_runs=two.runs,
            value_at_least=one.bound if one.value is None else None,
            baseline_at_least=two.bound if two.value is None else None,
            delta=difference.delta,
            delta_unit=metric.delta_unit or metric.unit,
            ci95=model.bounds_of(difference.change),
            interval_of=difference.of,
            better=better,
            why_neither=why,
            better_by_pct=_better_by(better, difference.share),
            verdict=verdict,
            p=difference.p,
            p_adjusted=p,
            other_conditions=_shared([strata[number] for number in numbers]),
            pairs=len(numbers),
            pooled=len(cells) > 1,
            pairs_higher=_pairs_higher(cells, group, baseline, numbers),
            caveats=list(dict.fromkeys(section.caveats)),
        )


def _pairs_higher(cells: spread.Cells, group: Label, baseline: Label, numbers: list[int]) -> int:
    """In how many strata the group's mean is higher."""
    return sum(
        spread.mean(cells, group, [n]).bound > spread.mean(cells, baseline, [n]).bound
        for n in numbers
    )


def _verdict(
    metric: definitions.Metric,
    one: spread.GroupMean,
    two: spread.GroupMean,
    difference: spread.Difference,
    p: float | None,
) -> model.ComparisonVerdict:
    if difference.delta is None:
        return _verdict_of_bounds(metric, one, two)
    if p is None:
        return "no difference shown" if difference.delta == 0 else _untested(one, two)
    if p >= SIGNIFICANCE:
        return "no difference shown"
    change = difference.share if metric.scale == "ratio" else difference.delta
    if change is not None and abs(change) < metric.negligible:
        return "negligible"
    return _direction(metric, is_higher=difference.is_higher)


def _untested(one: spread.GroupMean, two: spread.GroupMean) -> model.ComparisonVerdict:
    return "one run" if one.runs == two.runs == 1 else "not tested"


def _verdict_of_bounds(
    metric: definitions.Metric, one: spread.GroupMean, two: spread.GroupMean
) -> model.ComparisonVerdict:
    """If one group always fell and the other never did, that is a difference."""
    if one.value is None and two.value is None:
        apart = abs(one.bound - two.bound)
        is_alike = apart <= LENGTH_TOLERANCE * max(one.bound, two.bound)
        return "no difference shown" if is_alike else _untested(one, two)
    if one.runs + two.runs < _MIN_RUNS:
        return _untested(one, two)
    is_higher = one.value is None
    never, fell = (one, two) if is_higher else (two, one)
    if never.bound > fell.bound:
        return _direction(metric, is_higher=is_higher)
    return _untested(one, two)


def _direction(metric: definitions.Metric, *, is_higher: bool) -> model.ComparisonVerdict:
    if metric.better is None:
        return "higher" if is_higher else "lower"
    return "better" if is_higher == (metric.better == "higher") else "worse"


@dataclass(frozen=True)
class _Bound:
    """What a metric is to be seen with: the capacity that is used up, or the level that is left.

    Attributes:
        metrics: the first that was measured is taken; more of it is better.
        tolerance: differences up to this share do not count.
        why: how the metric differs, if it does so only because the drive was faster or slower.
    """

    metrics: tuple[str, ...]
    tolerance: float
    why: dict[definitions.Direction, str]


#: A faster drive fills its spare area or write cache in less time, and falls from a higher level:
#: that is not worse if it wrote as much until then, or is left with as much.
_BOUNDS = {
    "onset_s": _Bound(
        ("onset_gb",),
        definitions.SAME_ONSET_RATIO - 1,
        {
            "lower": "sooner only because it is faster: after {one} GB, against {two} GB",
            "higher": "later only because it is slower: after {one} GB, against {two} GB",
        },
    ),
    "depth_pct": _Bound(
        ("low_mb_s", "low_iops"),
        definitions.MIN_DROP,
        {
            "higher": "from a higher level, but to no less: {one} {unit}, against {two}",
            "lower": "from a lower level, and to no more: {one} {unit}, against {two}",
        },
    ),
}


def _why_neither(
    section: PairedStep,
    metric: definitions.Metric,
    groups: tuple[Label, Label],
    numbers: Sequence[int],
    difference: spread.Difference,
) -> str | None:
    """Why a change is neither better nor worse, although this metric's changes usually are."""
    bound = _BOUNDS.get(metric.name)
    if bound is None or not difference.delta:
        return None
    for name in bound.metrics:
        cells = measured_cells(section, name)
        if any(group not in cells.get(number, {}) for number in numbers for group in groups):
            continue
        one, two = (spread.mean(cells, group, numbers).bound for group in groups)
        direction: definitions.Direction = "higher" if difference.is_higher else "lower"
        looks_better = direction == metric.better
        is_confirmed = (
            one > two * (1 + bound.tolerance) if looks_better else one < two * (1 - bound.tolerance)
        )
        # what differs about as much in both is not explained by the drive's speed
        is_explained = abs(difference.share or 0.0) > 2 * abs(one / two - 1) if two else False
        if is_confirmed or not is_explained:
            break
        unit = definitions.METRICS[name].unit
        return bound.why[direction].format(one=number_text(one), two=number_text(two), unit=unit)
    ahead = groups[difference.is_higher != (metric.better == "higher")]
    runs = [run for number in numbers for run in section.cells[number][ahead]]
    claims = [one for run in runs for one in run.judged[section.step].claims]
    was_slow = any(one.what == "throttled" and one.onset_s is None for one in claims)
    return model.WAS_SLOW if was_slow else None


def _better_by(better: definitions.Direction | None, share: float | None) -> float | None:
    """The change with the sign that reviews print: worse is always negative."""
    if share is None or better is None:
        return None
    return 100 * (share if better == "higher" else -share) + 0.0


def _pct(share: float | None) -> float | None:
    return None if share is None else 100 * share


def _shared(strata: Sequence[Stratum]) -> dict[str, Label | None]:
    """The conditions with the same value in all strata."""
    first = strata[0].conditions
    return {
        key: value
        for key, value in first.items()
        if all(stratum.conditions[key] == value for stratum in strata)
    }


#: The default metrics for ranking; the first that was measured is used.
_DEFAULTS = ("end_mb_s", "end_iops", "depth_pct", "temp_max_c")


def rank(
    section: PairedStep, groups: Sequence[Label], metric_name: str | None
) -> tuple[list[model.Ranked], list[str]]:
    """Return the groups of a step in order, the best first, and notes on what is left out.

    Groups are ranked over the strata that all of them have. Two groups are distinguished if their
    difference is significant after correction for all pairs of the step.
    """
    is_random = section.workload.startswith("random")
    defaults = ("end_iops", *_DEFAULTS) if is_random else _DEFAULTS
    for name in defaults if metric_name is None else (metric_name,):
        metric = definitions.METRICS[name]
        cells = measured_cells(section, name)
        present = [g for g in groups if any(g in there for there in cells.values())]
        common = [n for n, there in cells.items() if all(g in there for g in present)]
        if len(present) < 2 or metric.better is None:
            continue
        if not common:
            names = ", ".join(map(str, present))
            return [], [f"not ranked: there are no other conditions in which {names} were all run"]
        notes = []
        if len(common) < len(cells):
            notes.append(
                f"ranked over the {len(common)} of {len(cells)} sets of other conditions that all "
                "groups have"
            )
        kept = {n: {g: ms for g, ms in cells[n].items() if g in present} for n in common}
        return _rank(section, metric, kept, present), notes
    return [], []


def _rank(
    section: PairedStep, metric: definitions.Metric, cells: spread.Cells, groups: list[Label]
) -> list[model.Ranked]:
    sign = 1 if metric.better == "higher" else -1
    means = {group: spread.mean(cells, group, list(cells)) for group in groups}
    ahead = _shown_better(cells, metric, groups)
    ranges, shares = spread.ranges_of(cells, metric, groups, list(cells))
    ranked = []
    for index, (group, mean) in enumerate(means.items()):
        better = [other for other in groups if (other, group) in ahead]
        worse = [other for other in groups if (group, other) in ahead]
        ranked.append(
            model.Ranked(
                protocol=section.protocol,
                model=section.model,
                step=section.step,
                metric=metric.name,
                unit=metric.unit,
                group=group,
                rank=1 + len(better),
                ranks=(1 + len(better), len(groups) - len(worse)),
                value=mean.value,
                value_at_least=mean.bound if mean.value is None else None,
                ci95=model.bounds_of(ranges[index]),
                best_share=None if shares is None else shares[index],
                not_told_apart_from=[
                    o for o in groups if o != group and o not in better and o not in worse
                ],
                pairs=len(cells),
            )
        )
    return sorted(ranked, key=lambda each: (each.rank, -sign * means[each.group].bound))


def _shown_better(
    cells: spread.Cells, metric: definitions.Metric, groups: Sequence[Label]
) -> set[tuple[Label, Label]]:
    """Pairs in which the first is shown to be better than the second."""
    pairs = list(combinations(groups, 2))
    found = [spread.difference(cells, metric, one, two, list(cells)) for one, two in pairs]
    chances = effects.adjusted([each.p for each in found])
    ahead = set()
    for (one, two), each, p in zip(pairs, found, chances, strict=True):
        if p is not None and p < SIGNIFICANCE:
            is_first = each.is_higher == (metric.better == "higher")
            ahead.add((one, two) if is_first else (two, one))
    return ahead
