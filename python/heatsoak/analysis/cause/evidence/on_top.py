"""What a fall from a level that was lowered already does to the drive's temperature."""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence.counters import LATE_S, SLACK_S, counter_columns
from heatsoak.analysis.view import Track

#: A shorter level, or a shorter fall from it, says nothing of the drive's balance.
LEAST_S = 15.0
#: What a sensor of whole kelvins does not show.
UNMOVED_K = 1.0
#: A drive that does so much less gets cooler by more than that.
LEAST_DEPTH = 0.15


def balance(case: Case) -> Finding | None:
    """A drive that does half as much gets cooler, unless somebody else has it do the rest.

    A governor that takes more does it since the drive came to be hotter, and holds what it came to
    only as long as less is done.
    """
    drop, temp = case.drop, case.view.temp
    if _counted_anew(case):
        # the drive's own word
        return None
    since_s = case.level_since_s
    settled_s = 0.5 * (drop.onset_s - since_s)
    if not case.is_nested or drop.depth < LEAST_DEPTH:
        return None
    if settled_s < LEAST_S or case.last_s < 2 * LEAST_S:
        return None
    period_s = _period_s(case)
    if period_s > settled_s:
        return None
    half_c, before_c = (_at(temp, t_s, period_s) for t_s in (since_s + settled_s, drop.onset_s))
    late_c = case.late_c
    if half_c is None or before_c is None or late_c is None:
        return None
    said = (
        f"it had been at {half_c:.0f} to {before_c:.0f} C for {settled_s:.0f} s when it fell again"
    )
    if abs(before_c - half_c) > UNMOVED_K:
        return None
    if abs(late_c - before_c) <= UNMOVED_K:
        return Finding(
            "on-top",
            "as-hot",
            f"{said}, and stayed at {late_c:.0f} C, though it does {drop.depth:.0%} less",
        )
    if late_c < before_c:
        return Finding("on-top", "cooler", f"{said}, and came to {late_c:.0f} C")
    return Finding("on-top", "hotter", f"{said}, and rose to {late_c:.0f} C")


def _period_s(case: Case) -> float:
    """How long a swing takes that is there before, or goes on; 0 where nothing swings."""
    both = (case.drop, (case.view.drops or [case.drop])[max(case.index - 1, 0)])
    return max(drop.period_s or 0.0 for drop in both)


def _at(temp: Track, t_s: float, period_s: float) -> float | None:
    """The temperature at a time; of what swings its mean over the period before."""
    within = temp.between(t_s - period_s, t_s)
    return float(np.mean(within)) if period_s and len(within) else temp.at(t_s)


def _counted_anew(case: Case) -> bool:
    """Whether the drive counted that it began to throttle, or to throttle harder, at the onset."""
    for name in counter_columns(case.view):
        if name.startswith("throttle_count."):
            before, after = (
                case.view.track(name).at(case.drop.onset_s + late_s)
                for late_s in (-SLACK_S, LATE_S)
            )
            if before is not None and after is not None and after > before:
                return True
    return False
