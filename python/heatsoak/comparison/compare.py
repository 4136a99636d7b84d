"""From recordings to what a condition changes: steps first, then scores."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from heatsoak import words
from heatsoak.analysis.definitions import METRICS, NO_THROUGHPUT
from heatsoak.analysis.findings import WORST_FIRST, Findings, Throttles
from heatsoak.analysis.judge import read_and_judge
from heatsoak.analysis.names import DRIVE
from heatsoak.analysis.view import RecordingView
from heatsoak.comparison import headline, model
from heatsoak.comparison.pairing import (
    PairedStep,
    Stratum,
    find_sections,
    pair,
    score_sections,
)
from heatsoak.comparison.rows import rank, section_rows
from heatsoak.comparison.runs import (
    KEYS,
    MODEL,
    GroupedRun,
    choose_baseline,
    drive_label,
    group_runs,
)
from heatsoak.errors import UsageError, suggestion
from heatsoak.protocol import Label
from heatsoak.protocol.conditions import short
from heatsoak.recording import Recording


def compare(
    recordings: Sequence[Recording],
    by: str,
    baseline: str | None = None,
    anyway: bool = False,
    rank_by: str | None = None,
    pool_models: bool = False,
    findings: Findings | None = None,
) -> model.Comparison:
    """Return how the measurements of recordings differ that differ in `by`.

    `by` is a condition's key, ``drive``, ``model``, ``protocol`` or ``file``, the names of logs and
    recordings; `baseline` is the value that the others are compared with, by default ``none`` or
    the first; `rank_by` is a metric. Drive models are compared separately, unless `pool_models` is
    true. `findings` are those of the recordings, in the same order; without them, they are judged.
    Recordings are compared if all other conditions are the same and both were run alike. Raises
    UsageError if there is nothing to compare, and NotAlikeError, with a line for each pair of
    recordings, if none were run alike, unless `anyway` is true.
    """
    _refuse_unknown(rank_by)
    for recording in recordings:
        recording.require_unchanged()
    if findings is None:
        opened, findings = read_and_judge(recordings)
    else:
        opened = list(map(RecordingView, recordings))
    runs, notes = group_runs(opened, findings.recordings, by)
    chosen, said = choose_baseline(runs, by, baseline)
    notes += said
    pairing = pair(runs, by, chosen, anyway=anyway)
    strata = pairing.strata
    models = [] if pool_models else _models(strata, by)
    if models:
        strata = [replace(one, model=_model(one)) for one in strata]
        notes.append(
            f"{len(models)} drive models are compared separately, which --pool-models changes: "
            f"{words.listed(models)}"
        )
    sections, lines = find_sections(strata, by, chosen, anyway=anyway)
    unlike = [*pairing.unlike, *lines]
    scores, missing = score_sections(sections, strata, by, chosen, anyway=anyway)
    if not sections and not scores:
        raise model.NotAlikeError([*unlike, *missing] or [_why_nothing(runs)])
    everything = [*sections, *scores]
    for section in everything:
        section.caveats += pairing.unlike if anyway else []
    others = list(dict.fromkeys(run.group for run in runs if run.group != chosen))
    compared = [g for g in others if any(g in c for s in everything for c in s.cells.values())]
    groups = [chosen, *compared]
    notes += [*pairing.notes, *missing]
    if not anyway:
        notes += [f"not compared: {line}" for line in unlike]
    ranking, remarks = _ranked(sections, groups, rank_by)
    notes += remarks
    summary, told, rows = _answered(by, groups, everything, strata, ranking)
    return model.Comparison(
        by=by,
        baseline=chosen,
        groups=groups,
        drives=list(dict.fromkeys(drive_label(r.recording.meta.drive) for r in _taken(everything))),
        protocols=list(dict.fromkeys(run.protocol for run in _taken(everything))),
        models=models,
        summary=summary,
        headlines=told,
        rows=rows,
        ranking=ranking,
        notes=list(dict.fromkeys(notes)),
        caveats=unlike if anyway else [],
    )


def _ranked(
    sections: Sequence[PairedStep], groups: Sequence[Label], rank_by: str | None
) -> tuple[list[model.Ranked], list[str]]:
    """The groups of each step, the best first, and what is to be said of that."""
    found = [rank(section, groups, rank_by) for section in sections]
    return [one for ranked, _ in found for one in ranked], [
        one for _, said in found for one in said
    ]


def _answered(
    by: str,
    groups: Sequence[Label],
    sections: Sequence[PairedStep],
    strata: Sequence[Stratum],
    ranking: Sequence[model.Ranked],
) -> tuple[model.ComparisonSummary, list[model.ComparisonHeadline], list[model.ComparisonRow]]:
    """What all sections come to in a sentence, in one for each group, and in numbers."""
    rows = [
        _with_rank(row, ranking)
        for section in sections
        for row in section_rows(section, strata, groups)
    ]
    throttling = _throttling(sections)
    told = headline.headlines(by, groups, rows, throttling)
    summary = summarize(by, groups, rows, told, throttling)
    texts = {one.group: " ".join([one.text, *one.details]) for one in told}
    return (
        summary,
        told,
        [
            row.model_copy(update={"summary": summary.text, "headline": texts[row.group]})
            for row in rows
        ],
    )


def _model(stratum: Stratum) -> str:
    first = next(iter(stratum.runs.values()))[0]
    return drive_label(first.recording.meta.drive, with_serial=False)


def _models(strata: Sequence[Stratum], by: str) -> list[str]:
    """The drive models, if there are several, and drives are not what is compared."""
    models = list(dict.fromkeys(map(_model, strata)))
    return [] if by in (DRIVE, MODEL) or len(models) == 1 else models


def _throttling(sections: Sequence[PairedStep]) -> dict[Label, Throttles]:
    """Whether a group's drives throttle: the worst answer of its compared recordings.

    A recording whose answer is no may have a compared step that was too short to be judged.
    """
    worst: dict[Label, Throttles] = {}
    for section in sections:
        for run in _taken([section]):
            answer, step = run.found.answer.throttles, run.judged.get(section.step)
            if answer == "no" and step is not None and step.claim.heat is None:
                answer = "cannot-tell"
            worst[run.group] = min(worst.get(run.group, answer), answer, key=WORST_FIRST.index)
    return worst


def _with_rank(row: model.ComparisonRow, ranking: Sequence[model.Ranked]) -> model.ComparisonRow:
    """The row with the ranks of its two groups, if it covers everything that was ranked."""
    found = {each.group: each for each in ranking if each.measured == row.measured}
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


def _taken(sections: Sequence[PairedStep]) -> list[GroupedRun]:
    return [
        run for s in sections for cell in s.cells.values() for rs in cell.values() for run in rs
    ]


def _refuse_unknown(metric: str | None) -> None:
    ranked = [
        name
        for name, known in METRICS.items()
        if known.better is not None and not name.startswith("score_")
    ]
    if metric is not None and metric not in ranked:
        raise UsageError(
            f"--rank-by {metric}: not a metric to rank by{suggestion(metric, ranked)}: "
            f"there are {', '.join(ranked)}"
        )


def _why_nothing(runs: Sequence[GroupedRun]) -> str:
    silent = [run.name for run in runs if not run.views]
    if silent:
        return f"{silent[0]}: {NO_THROUGHPUT}, so there is nothing to compare"
    return "no step was run in two groups"


#: More groups are counted instead of named.
_MAX_NAMES = 4


#: What is said of rates, or of scores: of the best, the worst, and how far they are off.
_RATES = ("fastest", "slowest", "above", "below")
_SCORES = ("best", "worst", "better than", "worse than")


def summarize(
    by: str,
    groups: Sequence[Label],
    rows: Sequence[model.ComparisonRow],
    headlines: Sequence[model.ComparisonHeadline],
    throttling: Mapping[Label, Throttles],
) -> model.ComparisonSummary:
    """Return what the comparison shows in one sentence.

    Of two groups that is the headline; of more, the range of the groups' rates, or scores, and
    which of them `throttling` says heat slows. The baseline comes first in `groups`.
    """
    if len(headlines) == 1:
        return model.ComparisonSummary(text=headlines[0].text, tone=headlines[0].tone)
    baseline, *others = groups
    main = {
        group: headline.main_rows([row for row in rows if row.group == group]) for group in others
    }
    gains = {group: _gain_pct(of_group) for group, of_group in main.items()}
    better = any(gain > 0 for gain in gains.values())
    worse = any(gain < 0 for gain in gains.values())
    everything = [row for of_group in main.values() for row in of_group]
    counted = f"{_counted(by, groups)}{headline.one_run_each(everything)}"
    slowed = [group for group in groups if throttling.get(group) == "yes"]
    open_ones = [group for group in groups if throttling.get(group) == "cannot-tell"]
    doubt = headline.not_alike(rows)
    heat = [f"heat slows {_slowed(by, slowed, groups)}"] if slowed else []
    if slowed and open_ones:
        heat.append(f"whether it slows {_slowed(by, open_ones, groups)} is open")
    if not better and not worse:
        text = f"{doubt}Between {'; '.join([f'{counted} no difference is shown', *heat])}."
        return model.ComparisonSummary(text=text, tone="mixed" if slowed else "alike")
    text = f"{doubt}Of {counted}, {'; '.join([*_clauses(by, baseline, gains, main), *heat])}."
    tone: model.Tone = "better" if better else "worse"
    if (better and worse) or slowed:
        tone = "mixed"
    return model.ComparisonSummary(text=text, tone=tone)


def _gain_pct(main: Sequence[model.ComparisonRow]) -> float:
    """How much better a group is than the baseline, on average, where that is shown."""
    if all(headline.change_of(row) is None for row in main):
        return 0.0
    changes = [row.delta_pct if row.definition is None else row.better_by_pct for row in main]
    known = [pct for pct in changes if pct is not None]
    return float(np.mean(known)) if known else 0.0


def _clauses(
    by: str,
    baseline: Label,
    gains: Mapping[Label, float],
    main: Mapping[Label, Sequence[model.ComparisonRow]],
) -> list[str]:
    are_scores = any(row.definition for rows in main.values() for row in rows)
    best, worst, above, below = _SCORES if are_scores else _RATES
    than = _name(by, baseline)
    if any(len(rows) > 1 for rows in main.values()):
        than += " on average"
    better = {group: gain for group, gain in gains.items() if gain > 0}
    worse = {group: gain for group, gain in gains.items() if gain < 0}
    alike = [group for group, gain in gains.items() if gain == 0]
    most, least = max(better.values(), default=0.0), min(worse.values(), default=0.0)
    first = [group for group, gain in better.items() if most - gain < headline.SAME_POINTS]
    last = [group for group, gain in worse.items() if gain - least < headline.SAME_POINTS]
    clauses = []
    if first:
        share = words.span_text([better[group] for group in first], "%", 2)
        clauses.append(f"{_are(by, first)} {best}, {share} {above} {than}")
    else:
        clauses.append(f"{_are(by, [baseline, *alike])} {best}")
    if last:
        share = words.span_text([-worse[group] for group in last], "%", 2)
        clauses.append(f"{_are(by, last)} {worst}, {share} {below} {than}")
    between = [group for group in (*better, *worse) if group not in (*first, *last)]
    if between:
        clauses.append(f"{_named(by, between)} {'lie' if between[1:] else 'lies'} between")
    if first and alike:
        clauses.append(f"no difference is shown for {_named(by, alike)}")
    return clauses


def _counted(by: str, groups: Sequence[Label]) -> str:
    key = words.plain(by)
    is_noun = not key.endswith("s") and any(isinstance(group, str) for group in groups)
    return f"{len(groups)} {key}s" if is_noun else f"{len(groups)} values of {key}"


def _name(by: str, group: Label) -> str:
    """The bare value where that is enough: ``A``, but ``no heatsink`` and ``2 cards``."""
    text = short(by, group)
    return text.removeprefix(f"{words.plain(by)} ") if isinstance(group, str) else text


def _named(by: str, groups: Sequence[Label]) -> str:
    names = [_name(by, group) for group in groups]
    return words.listed(names, None if len(names) == _MAX_NAMES else _MAX_NAMES - 1)


def _slowed(by: str, slowed: Sequence[Label], groups: Sequence[Label]) -> str:
    """What heat slows: drives of these names, or the drive in these conditions."""
    if len(slowed) == len(groups):
        return "all of them" if by in KEYS else "the drive in all of them"
    if by in KEYS:
        return _named(by, slowed)
    return f"the drive {words.listed([headline.where(by, group) for group in slowed])}"


def _are(by: str, groups: Sequence[Label]) -> str:
    return f"{_named(by, groups)} {'are' if groups[1:] else 'is'}"
