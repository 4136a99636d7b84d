"""What steps come to, in words.

The terminal, the page and the files say the same of a step, since all of them ask here.
"""

from collections import Counter
from collections.abc import Sequence

from heatsoak import analysis, words
from heatsoak.analysis import claims
from heatsoak.recording import RecordingMeta
from heatsoak.recording.columns import limits_c

#: What a fall by a cause is called; others "fell".
_VERBS = {"thermal": "throttled", "sliding": "slid"}


def limit_of(meta: RecordingMeta) -> tuple[float, str] | None:
    """Return where a drive begins to slow itself down, in C, and whose figure that is.

    The lowest limit that it states itself; else what others of its controller's family have.
    """
    stated = limits_c(meta.sensors)
    stated.pop("critical", None)
    if stated:
        name = min(stated, key=lambda one: stated[one])
        return stated[name], "warning temperature" if name == "warning" else name.upper()
    from heatsoak.catalog.families import family_of  # takes a while to load

    family = family_of(meta.drive.get("model"))
    starts = family.starts(None)
    return (starts["value"], f"usual limit of {family.controller}") if starts else None


def figures(found: analysis.RecordingFindings, meta: RecordingMeta) -> list[tuple[str, str]]:
    """Return the numbers of an answer, each with what it is, as far as they are known.

    How much was lost to the fall that is told first, when that began, and how hot the drive was.
    """
    told = []
    step = min(found.steps, key=lambda one: one.claim.rank, default=None)
    claim = step and step.claim
    if step and claim and claim.loss_pct:
        falls = [one for one in step.episodes if one.onset_s == claim.onset_s]
        loss = falls[0].mean_depth_text if falls else words.percent_text(claim.loss_pct)
        open_ = {"yes": "heat", "no": "not heat"}.get(claim.heat or "", "an unknown cause")
        by = open_ if claim.share is None else claims.cause_text(claim)
        told.append((loss, f"of its speed lost: {by}"))
        at = "" if claim.temp_c is None else f", at {words.temp_text(claim.temp_c)}"
        when = "" if claim.onset_s is None else f"after {words.duration_text(claim.onset_s)}"
        told.append((when or "from its start", f"in '{step.step}'{at}"))
    elif found.answer.throttles == "no":
        told.append(("none", "of its speed lost"))
    temps_c = [one.max_temp_c for one in (*found.steps, found.unloaded) if one and one.max_temp_c]
    if temps_c:
        its = f"; {limit[1]}: {words.temp_text(limit[0])}" if (limit := limit_of(meta)) else ""
        told.append((words.temp_text(max(temps_c)), f"at most{its}"))
    return told


def sentence(step: analysis.StepFindings) -> str:
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


def in_short(step: analysis.StepFindings) -> str:
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


def all_in_short(steps: Sequence[analysis.StepFindings]) -> str:
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


def verdicts(steps: Sequence[analysis.StepFindings]) -> dict[str, int]:
    """Return how many steps have each verdict."""
    return dict(Counter(step.verdict for step in steps))


def _costliest(step: analysis.StepFindings) -> analysis.Episode:
    of_verdict = [one for one in step.episodes if one.cause == step.verdict] or step.episodes
    return max(of_verdict, key=_cost)


def _verb(cause: str) -> str:
    return _VERBS.get(cause, "fell")


def _fell(episode: analysis.Episode) -> str:
    is_swing = episode.oscillates and episode.period_s is not None
    every = f", every {words.known_text(episode.period_s)} s" if is_swing else ""
    after = words.duration_text(episode.onset_s)
    return f"{_verb(episode.cause)} by {episode.mean_depth_text} after {after}{every}"


def _cost(episode: analysis.Episode) -> float:
    return episode.depth_pct * (episode.end_s - episode.onset_s)
