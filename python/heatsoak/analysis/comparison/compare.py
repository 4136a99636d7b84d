"""From recordings to what a condition changes: steps first, then scores."""

from collections.abc import Sequence
from dataclasses import replace

from heatsoak.analysis.comparison.headline import headlines
from heatsoak.analysis.comparison.model import (
    METRICS,
    Comparison,
    ComparisonRow,
    NotAlikeError,
    Ranked,
)
from heatsoak.analysis.comparison.overall import summarize
from heatsoak.analysis.comparison.pairing import ComparisonSection, Stratum, find_sections, pair
from heatsoak.analysis.comparison.rows import rank, section_rows
from heatsoak.analysis.comparison.runs import (
    DRIVE,
    MODEL,
    PROTOCOL,
    GroupedRun,
    choose_baseline,
    drive_label,
    group_runs,
)
from heatsoak.analysis.definitions import NO_THROUGHPUT
from heatsoak.analysis.findings import Findings, Throttles
from heatsoak.errors import UsageError, suggestion
from heatsoak.protocol import Label, Protocol, ScoreRule
from heatsoak.recording import Recording


def score_sections(
    sections: Sequence[ComparisonSection],
    strata: Sequence[Stratum],
    by: str,
    baseline: Label,
    *,
    anyway: bool = False,
) -> tuple[list[ComparisonSection], list[str]]:
    """Return the scores that can be compared, and a note for each that a run lacks.

    `sections` are those of the steps. Rounds are alike if they and all steps before them are,
    however many rounds were run.
    """
    found: dict[tuple[str, str, str], ComparisonSection] = {}
    notes: list[str] = []
    for number, stratum in enumerate(strata):
        reference = stratum.runs[baseline][0]
        protocol = reference.recording.meta.protocol
        if not isinstance(protocol, Protocol):
            continue
        for score in protocol.scores:
            name = str(stratum.conditions.get(PROTOCOL) or protocol.name)
            key = (name if by != PROTOCOL else "", stratum.model, score.name)
            section = found.setdefault(
                key, ComparisonSection(name, stratum.model, score.name, "", score=score)
            )
            for group, runs in stratum.runs.items():
                for run in runs:
                    if _has_rounds(score, protocol) and not anyway:
                        why = _unlike_rounds(protocol, run)
                        if why is not None:
                            notes.append(f"{reference.name} and {run.name}: {why}")
                            continue
                    if not _is_alike(run, score, protocol, sections, number, key[0]):
                        continue
                    if score.name in run.scores:
                        section.cells.setdefault(number, {}).setdefault(group, []).append(run)
                    else:
                        why = run.found_scores[score.name].why
                        notes.append(f"{run.name} has no score '{score.name}': {why}")
    for section in found.values():
        section.cells = {
            number: groups
            for number, groups in section.cells.items()
            if baseline in groups and len(groups) > 1
        }
    return [section for section in found.values() if section.cells], notes


def _steps_of_rounds(protocol: Protocol) -> set[str]:
    return {step.name for rounds in protocol.rounds for step in rounds.steps}


def _has_rounds(score: ScoreRule, protocol: Protocol) -> bool:
    return not _steps_of_rounds(protocol).isdisjoint(score.steps)


def _unlike_rounds(protocol: Protocol, run: GroupedRun) -> str | None:
    """How a run differs from one of `protocol`, if rounds are compared."""
    other = run.recording.meta.protocol
    if not isinstance(other, Protocol) or protocol.steps != other.steps:
        return "their rounds have different steps, or different steps before them"
    if protocol.scale != other.scale:
        return f"one is at {protocol.scale:g} and one at {other.scale:g} of the sizes and times"
    return None


def _is_alike(
    run: GroupedRun,
    score: ScoreRule,
    protocol: Protocol,
    sections: Sequence[ComparisonSection],
    number: int,
    of_protocol: str,
) -> bool:
    """Whether a run has the score, and all of its steps outside of rounds are compared."""
    if score not in run.recording.meta.protocol.scores:
        return False
    for name in set(score.steps) - _steps_of_rounds(protocol):
        taken = [
            each
            for section in sections
            if section.step == name and of_protocol in ("", section.protocol)
            for each in section.cells.get(number, {}).get(run.group, [])
        ]
        if not any(each is run for each in taken):
            return False
    return True


def compare(
    recordings: Sequence[Recording],
    by: str,
    baseline: str | None = None,
    anyway: bool = False,
    rank_by: str | None = None,
    pool_models: bool = False,
    findings: Findings | None = None,
) -> Comparison:
    """Return how the measurements of recordings differ that differ in `by`.

    `by` is a condition's key, ``drive``, ``model``, ``protocol`` or ``file``, the names of logs and
    recordings; `baseline` is the value that the others are compared with, by default ``none`` or
    the first; `rank_by` is a metric. Drive models are compared separately, unless `pool_models` is
    true. `findings` are those of the recordings, in the same order; without them, headlines do not
    say what throttles.
    Recordings are compared if all other conditions are the same and both were run alike. Raises
    UsageError if there is nothing to compare, and NotAlikeError, with a line for each pair of
    recordings, if none were run alike, unless `anyway` is true.
    """
    _refuse_unknown(rank_by)
    runs, notes = group_runs(recordings, by)
    chosen, said = choose_baseline(runs, by, baseline)
    notes += said
    pairing = pair(runs, by, chosen, anyway=anyway)
    strata, models = pairing.strata, _models(pairing.strata, by)
    if len(models) > 1 and not pool_models:
        strata = [replace(one, model=_model(one)) for one in strata]
        notes.append(
            f"{len(models)} drive models are compared separately, which --pool-models changes: "
            f"{', '.join(models)}"
        )
    else:
        models = []
    sections, lines = find_sections(strata, by, chosen, anyway=anyway)
    unlike = [*pairing.unlike, *lines]
    scores, missing = score_sections(sections, strata, by, chosen, anyway=anyway)
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
    rows = [
        _with_rank(row, ranking)
        for section in everything
        for row in section_rows(section, strata, groups)
    ]
    throttling = _throttling(everything, recordings, findings)
    told = headlines(by, groups, rows, throttling)
    summary = summarize(by, groups, rows, told, throttling)
    texts = {one.group: " ".join([one.text, *one.details]) for one in told}
    return Comparison(
        by=by,
        baseline=chosen,
        groups=groups,
        drives=list(dict.fromkeys(drive_label(r.recording.meta.drive) for r in _taken(everything))),
        protocols=list(dict.fromkeys(run.protocol for run in _taken(everything))),
        models=models,
        summary=summary,
        headlines=told,
        rows=[
            row.model_copy(update={"summary": summary.text, "headline": texts[row.group]})
            for row in rows
        ],
        ranking=ranking,
        notes=list(dict.fromkeys(notes)),
        caveats=unlike if anyway else [],
    )


def _model(stratum: Stratum) -> str:
    first = next(iter(stratum.runs.values()))[0]
    return drive_label(first.recording.meta.drive, with_serial=False)


def _models(strata: Sequence[Stratum], by: str) -> list[str]:
    """The drive models, if drives are not what is compared."""
    return [] if by in (DRIVE, MODEL) else list(dict.fromkeys(map(_model, strata)))


def _throttling(
    sections: Sequence[ComparisonSection],
    recordings: Sequence[Recording],
    findings: Findings | None,
) -> dict[Label, Throttles]:
    """Whether a group's drives throttle: the worst answer of its compared recordings."""
    if findings is None:
        return {}
    judged = zip(recordings, findings.recordings, strict=True)
    answers = {id(recording): found.answer.throttles for recording, found in judged}
    order: tuple[Throttles, ...] = ("yes", "cannot-tell", "no", "not-loaded")
    worst: dict[Label, Throttles] = {}
    for run in _taken(sections):
        answer = answers[id(run.recording)]
        worst[run.group] = min(worst.get(run.group, answer), answer, key=order.index)
    return worst


def _with_rank(row: ComparisonRow, ranking: Sequence[Ranked]) -> ComparisonRow:
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


def _taken(sections: Sequence[ComparisonSection]) -> list[GroupedRun]:
    return [
        run for s in sections for cell in s.cells.values() for rs in cell.values() for run in rs
    ]


def _refuse_unknown(metric: str | None) -> None:
    ranked = [name for name, known in METRICS.items() if known.better is not None]
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
