"""The cells of a comparison of scores: runs that were alike in all steps of a score."""

from collections.abc import Sequence

from heatsoak.analysis.comparison.alike import Section
from heatsoak.analysis.comparison.pairing import Stratum
from heatsoak.analysis.comparison.runs import PROTOCOL, Run
from heatsoak.protocol import Label, Protocol, ScoreRule


def score_sections(
    sections: Sequence[Section],
    strata: Sequence[Stratum],
    by: str,
    baseline: Label,
    *,
    anyway: bool = False,
) -> tuple[list[Section], list[str]]:
    """Return the scores that can be compared, and a sentence for each that a run does not have.

    `sections` are those of the steps. Rounds are alike where all that led to them and they
    themselves are, whatever number of them it took.
    """
    found: dict[tuple[str, str], Section] = {}
    notes: list[str] = []
    for number, stratum in enumerate(strata):
        reference = stratum.runs[baseline][0]
        protocol = reference.recording.meta.protocol
        if not isinstance(protocol, Protocol):
            continue
        for score in protocol.scores:
            name = str(stratum.conditions.get(PROTOCOL) or protocol.name)
            key = (name if by != PROTOCOL else "", score.name)
            section = found.setdefault(key, Section(name, score.name, "", score=score))
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


def _unlike_rounds(protocol: Protocol, run: Run) -> str | None:
    """How a run is unlike one of `protocol` where rounds are compared."""
    other = run.recording.meta.protocol
    if not isinstance(other, Protocol) or protocol.steps != other.steps:
        return "their rounds are not of the same steps, or other steps came before them"
    if protocol.scale != other.scale:
        return f"one is at {protocol.scale:g} and one at {other.scale:g} of the sizes and times"
    return None


def _is_alike(
    run: Run,
    score: ScoreRule,
    protocol: Protocol,
    sections: Sequence[Section],
    number: int,
    of_protocol: str,
) -> bool:
    """Whether a run has the score, and all of its steps that are taken once are compared."""
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
