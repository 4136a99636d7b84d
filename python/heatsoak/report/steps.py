"""What steps come to, in words.

The terminal, the page and the files say the same of a step, since all of them ask here.
"""

from collections import Counter
from collections.abc import Sequence

from heatsoak import words
from heatsoak.analysis import Episode, StepFindings

#: What a fall by a cause is called; others "fell".
_VERBS = {"thermal": "throttled", "sliding": "slid"}


def sentence(step: StepFindings) -> str:
    """Return the result of a step in a sentence."""
    if not step.episodes:
        return "; ".join(step.reasons)
    parts = []
    for episode in step.episodes:
        after = f"after about {words.number_text(episode.onset_s, 2)} s"
        text = f"{_verb(episode.cause)} by about {episode.depth_text} {after}"
        if episode.cause != step.verdict:
            text += f" ({episode.cause})"
        if episode.oscillates and episode.period_s is not None:
            text += f", oscillating every {words.number_text(episode.period_s, 2)} s"
        if episode.recovered:
            text += f", recovered after {words.duration_text(episode.end_s - episode.onset_s)}"
        parts.append(text)
    more = f"; and {len(parts) - 2} more times" if len(parts) > 3 else ""
    return "; ".join([*step.reasons, *(parts[:2] if more else parts)]) + more


def in_short(step: StepFindings) -> str:
    """Return the costliest fall of a step, or why it has its verdict, in half a line."""
    if not step.episodes:
        return "; ".join(step.reasons[:1])
    told = [_costliest(step)]
    by_heat = step.by_heat
    if by_heat and told[0] not in by_heat:
        told.append(max(by_heat, key=_cost))
    others = len(step.episodes) - len(told)
    more = [words.counted(others, "more fall")] if others else []
    own = [text for one in step.claims if one.what == "counted" for text in one.reasons]
    return "; ".join([*own, *map(_fell, told), *more])


def all_in_short(steps: Sequence[StepFindings]) -> str:
    """Return what several runs of a step show, in half a line; of one, the same as `in_short`."""
    if len(steps) == 1:
        return in_short(steps[0])
    told = []
    if falls := [_costliest(step) for step in steps if step.episodes]:
        causes = {episode.cause for episode in falls}
        verb = _verb(causes.pop()) if len(causes) == 1 else "fell"
        depths = words.span_text([episode.depth_pct for episode in falls], "%")
        onsets = words.span_text([episode.onset_s for episode in falls], "s")
        told.append(f"{len(falls)} of {len(steps)} {verb} by {depths} after {onsets}")
    others = [step for step in steps if not step.episodes]
    kinds = {
        "throttled": "slow from the start",
        "counted": "throttled by the drive's own count",
        "hot": "hot from the start",
        "unseen": "not judged",
    }
    for what, text in kinds.items():
        if count := sum(step.claim.what == what for step in others):
            told.append(f"{count} of {len(steps)} {text}")
    return "; ".join(told)


def verdicts(steps: Sequence[StepFindings]) -> dict[str, int]:
    """Return how many steps have each verdict."""
    return dict(Counter(step.verdict for step in steps))


def _costliest(step: StepFindings) -> Episode:
    of_verdict = [one for one in step.episodes if one.cause == step.verdict] or step.episodes
    return max(of_verdict, key=_cost)


def _verb(cause: str) -> str:
    return _VERBS.get(cause, "fell")


def _fell(episode: Episode) -> str:
    is_swing = episode.oscillates and episode.period_s is not None
    every = f", every {words.known_text(episode.period_s)} s" if is_swing else ""
    after = words.duration_text(episode.onset_s)
    return f"{_verb(episode.cause)} by {episode.mean_depth_text} after {after}{every}"


def _cost(episode: Episode) -> float:
    return episode.depth_pct * (episode.end_s - episode.onset_s)
