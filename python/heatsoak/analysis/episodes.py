"""A step's drops with their causes, as episodes."""

from collections.abc import Sequence

from heatsoak.analysis.cause import Case, Judgement, weigh
from heatsoak.analysis.findings import Episode
from heatsoak.analysis.segments import Drop, joined
from heatsoak.analysis.view import StepView

#: Causes that take what they take at once, and no more of it later.
_ONCE = ("write-cache", "spare-area")


def judged_drops(
    view: StepView, others: Sequence[StepView] = (), siblings: Sequence[StepView] = ()
) -> list[tuple[Case, Judgement]]:
    """Return a step's drops with their causes; neighbours of one known cause are one drop.

    A governor or a host may take what it takes in two stairs, if both together still look like it.
    A cache is full once and spare area used up once, so two falls that both look like that are not
    one; each keeps the cause that its own evidence names, and what may be two causes stays apart.
    """
    judged: list[tuple[Case, Judgement]] = []
    for index, drop in enumerate(view.drops or []):
        case = Case(drop, view, list(others), list(siblings), index)
        judgement = weigh(case)
        if judged and case.is_nested:
            last, of_last = judged[-1]
            if of_last.cause == judgement.cause != "unknown":
                whole = Case(joined(last.drop, drop), view, last.others, last.siblings, last.index)
                of_whole = weigh(whole)
                if of_whole.cause == judgement.cause not in _ONCE:
                    judged[-1] = (whole, of_whole)
                    continue
        judged.append((case, judgement))
    return judged


def episode_of(case: Case, judgement: Judgement) -> Episode:
    """Return a drop and its cause as they stand in the findings."""
    drop, view = case.drop, case.view
    return Episode(
        onset_s=drop.onset_s,
        end_s=drop.end_s,
        direction=view.direction,
        **_levels(drop, view),
        depth_pct=100 * drop.depth,
        cause=judgement.cause,
        confidence=judgement.confidence,
        evidence=judgement.evidence,
        likelihoods={cause: round(share, 4) for cause, share in judgement.shares.items()},
        shape=drop.shape,
        fall_s=drop.fall_s,
        oscillates=drop.oscillates,
        period_s=drop.period_s,
        duty=drop.duty,
        recovered=drop.recovered,
        written_gb_at_onset=view.written_gb(drop.onset_s),
        temp_c_at_onset=case.onset_c,
    )


def _levels(drop: Drop, view: StepView) -> dict[str, float]:
    """The levels before and in a drop, in the unit that was logged."""
    unit = view.throughput.unit
    if unit == "lat_us":
        return {"before_lat_us": 1e6 / drop.before, "during_lat_us": 1e6 / max(drop.during, 1e-6)}
    return {f"before_{unit}": drop.before, f"during_{unit}": drop.during}
