"""Holds what a judge found against what truly happened, episode by episode."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from heatsoak.analysis import Episode, Findings, StepFindings
from heatsoak_dev.corpus import Choices, LabelledCase, TrueEpisode

#: A found onset this far from a true one is that one; of slides half of the fall.
NEAR_S = 10.0
NEAR_SAMPLES = 3.0


@dataclass(frozen=True)
class Match:
    """A true episode and the found one that is it; without an onset where a cycle covers it."""

    true: TrueEpisode
    found: Episode
    onset_error_s: float | None

    @property
    def depth_error_pct(self) -> float:
        """How far the depth in the last minute is off, in points: that is what the corpus knows."""
        return abs(self.found.depth_at_end_pct - self.true.depth_pct)


@dataclass
class Score:
    """One case.

    Attributes:
        extra: found beside or inside of true episodes, and none of them.
        false: found in steps in which nothing happened; those lasted `steady_s` in all.
        verdicts: true and found verdict of each step.
    """

    seed: int
    choices: Choices
    matches: list[Match] = field(default_factory=list)
    missed: list[TrueEpisode] = field(default_factory=list)
    extra: list[Episode] = field(default_factory=list)
    false: list[Episode] = field(default_factory=list)
    steady_s: float = 0.0
    verdicts: list[tuple[str, str]] = field(default_factory=list)


def score(labelled: LabelledCase, findings: Findings) -> Score:
    """Return how the findings on a case's recordings compare with its truth."""
    result = Score(labelled.seed, labelled.choices)
    for number, recording in enumerate(findings.recordings):
        for step in recording.steps:
            _score_step(result, labelled, number, step)
    return result


def _score_step(result: Score, labelled: LabelledCase, number: int, step: StepFindings) -> None:
    here = _of(labelled.truth, number, step.step)
    grey = _of(labelled.grey, number, step.step)
    result.verdicts.append((labelled.verdicts[number, step.step], step.verdict))
    if not here and not grey:
        result.steady_s += step.duration_s
        result.false += step.episodes
        return
    left = list(step.episodes)
    for true, found in _nearest(here, left, labelled.choices.sampling_s):
        left.remove(found)
        result.matches.append(Match(true, found, found.onset_s - true.onset_s))
    matched = [match.true for match in result.matches]
    for true in here:
        if true in matched:
            continue
        cover = next((found for found in step.episodes if _covers(found, true)), None)
        if cover is None:
            result.missed.append(true)
        else:
            result.matches.append(Match(true, cover, None))
    near_s = _near_s(labelled.choices.sampling_s)
    result.extra += [
        found
        for found in left
        if not any(
            one.onset_s - near_s <= found.onset_s <= one.end_s + near_s
            for one in (*grey, *(true for true in here if true.shape == "cycle"))
        )
    ]


def _of(episodes: Iterable[TrueEpisode], number: int, step: str) -> list[TrueEpisode]:
    return [one for one in episodes if one.recording == number and one.step == step]


def _near_s(sampling_s: float) -> float:
    return max(NEAR_S, NEAR_SAMPLES * sampling_s)


def _nearest(
    here: list[TrueEpisode], found: list[Episode], sampling_s: float
) -> list[tuple[TrueEpisode, Episode]]:
    """Pairs, the closest onsets first."""
    candidates = sorted(
        (abs(one.onset_s - true.onset_s), index, other)
        for index, true in enumerate(here)
        for other, one in enumerate(found)
        if abs(one.onset_s - true.onset_s)
        <= max(_near_s(sampling_s), 0.5 * true.fall_s if true.shape == "slide" else 0.0)
        and one.end_s > true.onset_s
        and one.onset_s < true.end_s
    )
    pairs: list[tuple[TrueEpisode, Episode]] = []
    taken: set[tuple[str, int]] = set()
    for _, index, other in candidates:
        if ("true", index) not in taken and ("found", other) not in taken:
            taken |= {("true", index), ("found", other)}
            pairs.append((here[index], found[other]))
    return pairs


def _covers(found: Episode, true: TrueEpisode) -> bool:
    """Whether several falls were taken for a cycle, and this is one of them."""
    return found.oscillates and found.onset_s <= true.onset_s and true.end_s <= found.end_s + NEAR_S
