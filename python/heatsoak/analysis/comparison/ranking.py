"""The order of the groups in each step, and how far it is to be trusted."""

import zlib
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from heatsoak.analysis.comparison.alike import Section
from heatsoak.analysis.comparison.metrics import METRICS, Metric
from heatsoak.analysis.comparison.model import Ranked
from heatsoak.analysis.comparison.rows import SIGNIFICANCE, Cells, measured_cells
from heatsoak.analysis.comparison.spread import Estimate, Spread, holm
from heatsoak.protocol import Label

#: What is ranked by where nobody says it: the first that was measured.
_DEFAULTS = ("end_mb_s", "end_iops", "depth_pct", "temp_max_c")
_SEED = 2016


def rank(
    section: Section, groups: Sequence[Label], metric_name: str | None
) -> tuple[list[Ranked], list[str]]:
    """Return the groups of a step in order, the best first, and sentences on what is left out.

    Groups are ranked over the strata that all of them have. A group is told from another where
    the difference is shown, after Holm's correction for all pairs of the step.
    """
    is_random = section.workload.startswith("random")
    defaults = ("end_iops", *_DEFAULTS) if is_random else _DEFAULTS
    for name in defaults if metric_name is None else (metric_name,):
        metric = METRICS[name]
        cells = measured_cells(section, name)
        present = [g for g in groups if any(g in there for there in cells.values())]
        common = [n for n, there in cells.items() if all(g in there for g in present)]
        if len(present) < 2 or metric.better is None:
            continue
        if not common:
            names = ", ".join(map(str, present))
            return [], [f"not ranked where there are no other conditions that {names} all have"]
        notes = []
        if len(common) < len(cells):
            notes.append(
                f"ranked over the {len(common)} of {len(cells)} sets of other conditions that all "
                "groups have"
            )
        kept = {n: {g: ms for g, ms in cells[n].items() if g in present} for n in common}
        return _rank(section, metric, kept, present), notes
    return [], []


def _rank(section: Section, metric: Metric, cells: Cells, groups: list[Label]) -> list[Ranked]:
    spread = Spread(cells, metric.scale)
    sign = 1 if metric.better == "higher" else -1
    estimates = {group: spread.estimate(group, list(cells)) for group in groups}
    ahead = _told_apart(spread, estimates, sign)
    seed = zlib.crc32(f"{section.step}/{metric.name}".encode())
    draws = spread.draws(list(estimates.values()), np.random.default_rng([_SEED, seed]))
    shares = None
    if draws is not None:
        best = np.argmax(sign * draws, axis=1)
        shares = np.bincount(best, minlength=len(groups)) / len(draws)
    ranked = []
    for index, (group, estimate) in enumerate(estimates.items()):
        better = [other for other in groups if (other, group) in ahead]
        worse = [other for other in groups if (group, other) in ahead]
        interval = spread.interval(estimate)
        ranked.append(
            Ranked(
                protocol=section.protocol,
                step=section.step,
                metric=metric.name,
                unit=metric.unit,
                group=group,
                rank=1 + len(better),
                ranks=(1 + len(better), len(groups) - len(worse)),
                value=estimate.value,
                value_at_least=estimate.bound if estimate.value is None else None,
                ci95=interval if interval is not None else (None, None),
                best_share=None if shares is None else float(shares[index]),
                not_told_apart_from=[
                    o for o in groups if o != group and o not in better and o not in worse
                ],
                pairs=len(cells),
            )
        )
    return sorted(ranked, key=lambda each: (each.rank, -sign * estimates[each.group].bound))


def _told_apart(
    spread: Spread, estimates: dict[Label, Estimate], sign: int
) -> set[tuple[Label, Label]]:
    """Pairs of which the first is shown to be better than the second."""
    pairs = list(combinations(estimates, 2))
    differences = [
        spread.difference(estimates[one], estimates[two])
        if estimates[one].value is not None and estimates[two].value is not None
        else None
        for one, two in pairs
    ]
    adjusted = holm([None if d is None else d.p for d in differences])
    ahead = set()
    for (one, two), difference, p in zip(pairs, differences, adjusted, strict=True):
        if difference is not None and p is not None and p < SIGNIFICANCE:
            ahead.add((one, two) if sign * difference.delta > 0 else (two, one))
    return ahead
