"""Recordings in, what they show of a condition out."""

from collections.abc import Sequence

from heatsoak.analysis.comparison.alike import Section, find_sections
from heatsoak.analysis.comparison.metrics import METRICS
from heatsoak.analysis.comparison.model import Comparison, NotAlikeError, Ranked, Row
from heatsoak.analysis.comparison.pairing import pair
from heatsoak.analysis.comparison.ranking import rank
from heatsoak.analysis.comparison.rows import section_rows
from heatsoak.analysis.comparison.runs import Run, choose_baseline, drive_label, group_runs
from heatsoak.analysis.comparison.score_sections import score_sections
from heatsoak.errors import UsageError, suggestion
from heatsoak.recording import Recording


def compare(
    recordings: Sequence[Recording],
    by: str,
    baseline: str | None = None,
    anyway: bool = False,
    rank_by: str | None = None,
) -> Comparison:
    """Return how recordings that differ in `by` differ in what they measured.

    `by` is a condition's key, ``drive``, ``model`` or ``protocol``; `baseline` the value that the
    others are compared with, ``none`` or the first where it is not given; `rank_by` a metric.
    Recordings are compared where all other conditions are the same and both were run alike.
    Raises UsageError where there is nothing to compare, and NotAlikeError, with a line for each
    two recordings, where none were run alike, unless they are to be compared `anyway`.
    """
    _refuse_unknown(rank_by)
    runs, notes = group_runs(recordings, by)
    chosen, said = choose_baseline(runs, by, baseline)
    notes += said
    pairing = pair(runs, by, chosen, anyway=anyway)
    sections, lines = find_sections(pairing.strata, by, chosen, anyway=anyway)
    unlike = [*pairing.unlike, *lines]
    scores, missing = score_sections(sections, pairing.strata, by, chosen, anyway=anyway)
    if not sections and not scores:
        raise NotAlikeError([*unlike, *missing] or [_why_nothing(runs)])
    everything = [*sections, *scores]
    for section in everything:
        section.caveats += pairing.unlike if anyway else []
    others = list(dict.fromkeys(run.group for run in runs if run.group != chosen))
    compared = [g for g in others if any(g in c for s in everything for c in s.cells.values())]
    groups = [chosen, *compared]
    notes += [*pairing.notes, *missing]
    if not anyway:
        notes += [f"not compared: {line}" for line in unlike]
    ranking: list[Ranked] = []
    for section in sections:
        ranked, remarks = rank(section, groups, rank_by)
        ranking += ranked
        notes += remarks
    strata = pairing.strata
    return Comparison(
        by=by,
        baseline=chosen,
        groups=groups,
        drives=list(dict.fromkeys(drive_label(r.recording.meta.drive) for r in _taken(everything))),
        protocols=list(dict.fromkeys(run.protocol for run in _taken(everything))),
        rows=[
            _with_rank(row, ranking)
            for section in everything
            for row in section_rows(section, strata, groups)
        ],
        ranking=ranking,
        notes=list(dict.fromkeys(notes)),
        caveats=unlike if anyway else [],
    )


def _with_rank(row: Row, ranking: Sequence[Ranked]) -> Row:
    """The row with the places of its two groups, where it is of all that was ranked."""
    found = {
        each.group: each
        for each in ranking
        if (each.protocol, each.step, each.metric) == (row.protocol, row.step, row.metric)
    }
    if not row.pooled and any(each.pairs > 1 for each in found.values()):
        return row
    one, two = found.get(row.group), found.get(row.baseline_group)
    if one is None or two is None:
        return row
    return row.model_copy(
        update={
            "rank": one.rank,
            "baseline_rank": two.rank,
            "best_share": one.best_share,
            "baseline_best_share": two.best_share,
        }
    )


def _taken(sections: Sequence[Section]) -> list[Run]:
    return [
        run for s in sections for cell in s.cells.values() for rs in cell.values() for run in rs
    ]


def _refuse_unknown(metric: str | None) -> None:
    ranked = [name for name, known in METRICS.items() if known.better is not None]
    if metric is not None and metric not in ranked:
        raise UsageError(
            f"--rank-by {metric}: cannot be ranked by{suggestion(metric, ranked)}: "
            f"there are {', '.join(ranked)}"
        )


def _why_nothing(runs: Sequence[Run]) -> str:
    silent = [run.name for run in runs if not run.views]
    if silent:
        return f"{silent[0]}: no throughput was logged, so there is nothing to compare"
    return "no step was run in two groups"
