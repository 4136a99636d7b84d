"""How the drive's temperature went before the drop and in it."""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding, is_at_full_speed
from heatsoak.analysis.cause.evidence.counters import counted
from heatsoak.analysis.view import StepView

#: A sensor that moved less than this before the onset does not show the heat.
LEAST_RISE_K = 5.0
#: At which temperatures drives throttle: most of them, many, some, few; and below hardly any.
GRADES = (("very-hot", 75.0), ("hot", 65.0), ("warm", 60.0), ("lukewarm", 52.0))
#: Under a governor a temperature stays this close to where throttling began.
HELD_WITHIN_K = 4.0
#: Beyond the hysteresis of most governors.
FAR_K = 8.0
#: A sensor lags: what it gains in this time at its speed before the onset is still to come.
LAG_S = 10.0
MOST_LAG_K = 15.0
#: How long before the onset the temperature's course is looked at.
BEND_S = 60.0
LEAST_BEND_S = 15.0
LEAST_READINGS = 5
#: A change that a sensor of whole kelvins shows.
CHANGES_K = 1.0
#: What rose so much within the last minute was far from its balance.
STOPPED_K = 3.0
#: At full speed for this long at a temperature, and it does not throttle there.
AT_SPEED_S = 10.0
#: A load that warmed its drive by this much and never fell was not throttled where it came to.
WARMED_K = 4.0
#: Clearly hotter, with sensors that round and lag.
CLEARLY_K = 5.0


def at_onset(case: Case) -> Finding | None:
    """Firmware throttles at 60 to 90 C by what it reports; hardly any drive does when cool."""
    if case.onset_c is None:
        return None
    seen = next((grade for grade, from_c in GRADES if case.onset_c >= from_c), "cool")
    return Finding("onset-temperature", seen, f"it was at {case.onset_c:.0f} C when it fell")


def course(case: Case) -> Finding | None:
    """A governor lets the temperature climb to its limit and then holds it there."""
    onset_c, late_c = case.onset_c, case.late_c
    if onset_c is None or late_c is None:
        return None
    start_c = float(np.min(case.view.temp.between(0.0, case.drop.onset_s), initial=onset_c))
    path = f"from {start_c:.0f} C to {onset_c:.0f} C at the onset, then {late_c:.0f} C"
    more_k = late_c - onset_c
    to_come_k = min(LAG_S * max(_slope_k_s(case) or 0.0, 0.0), MOST_LAG_K)

    def seen(what: str, text: str) -> Finding:
        return Finding("temperature-course", what, f"{text}: {path}")

    if more_k <= -HELD_WITHIN_K and counted(case):
        # a governor with much hysteresis throttles more than it had to
        return seen("cooled-counted", "the drive cooled while it counted its throttling")
    if more_k <= -FAR_K and not case.drop.oscillates:
        return seen("cooled-far", "the drive cooled far while it stayed slow")
    if more_k <= -HELD_WITHIN_K and not case.drop.oscillates:
        return seen("cooled", "the drive cooled while it stayed slow")
    if more_k > HELD_WITHIN_K + to_come_k:
        return seen("rose-on", "the temperature rose on while it was slow")
    if onset_c - start_c < LEAST_RISE_K and not case.is_nested:
        return seen("flat", "the reported temperature hardly moved before the onset")
    if abs(more_k) <= HELD_WITHIN_K / 2:
        # a load that happens to change seldom does so where its new balance will be
        if (_rise_before_k(case) or 0.0) >= STOPPED_K and not case.is_nested:
            return seen("stopped", "temperature was rising until then, and was held there")
        return seen("held", "temperature rose and was held there")
    return seen("stayed-up", "temperature rose and stayed up")


def let_go(case: Case) -> Finding | None:
    """A governor lets go once the drive has cooled; what else ends does so at any temperature."""
    drop, onset_c = case.drop, case.onset_c
    if not drop.recovered or drop.oscillates or onset_c is None or case.last_s < LEAST_BEND_S:
        return None
    within = case.view.temp.between(drop.onset_s, drop.end_s)
    if len(within) < LEAST_READINGS:
        return None
    coolest_c = float(np.min(within[len(within) // 2 :]))
    said = f"it was back at full speed with {coolest_c:.0f} C, having fallen at {onset_c:.0f} C"
    return Finding("let-go", "cooler" if coolest_c <= onset_c - CHANGES_K else "as-hot", said)


def bend(case: Case) -> Finding | None:
    """A drive that reaches a limit was warming until then; one in balance had no reason to."""
    slope_k_s = _slope_k_s(case)
    if slope_k_s is None:
        return None
    length_s = _length_before_s(case)
    change_k = slope_k_s * length_s
    span = f"in the {length_s:.0f} s before the onset"
    if change_k >= CHANGES_K:
        return Finding(
            "temperature-bend", "rising", f"the temperature was rising, by {change_k:.0f} K {span}"
        )
    if change_k <= -CHANGES_K:
        return Finding(
            "temperature-bend",
            "falling",
            f"the temperature was falling, by {-change_k:.0f} K {span}",
        )
    if length_s >= 2 * LEAST_BEND_S:
        return Finding("temperature-bend", "level", f"the temperature was level {span}")
    return None


def _rise_before_k(case: Case) -> float | None:
    """By how much the temperature rose in the time that is looked at before the onset."""
    slope_k_s = _slope_k_s(case)
    return None if slope_k_s is None else slope_k_s * _length_before_s(case)


def _length_before_s(case: Case) -> float:
    """How much of the level before the onset is looked at."""
    return min(case.drop.onset_s - case.level_since_s, BEND_S)


def _slope_k_s(case: Case) -> float | None:
    """How fast the temperature rose up to the onset; None where that is not known."""
    end_s = case.drop.onset_s
    begin_s = max(case.level_since_s, end_s - BEND_S)
    temp = case.view.temp
    inside = (temp.t_s >= begin_s) & (temp.t_s <= end_s)
    if end_s - begin_s < LEAST_BEND_S or np.count_nonzero(inside) < LEAST_READINGS:
        return None
    return float(np.polyfit(temp.t_s[inside] - begin_s, temp.values[inside], 1)[0])


def hotter_at_full_speed(case: Case) -> Finding | None:
    """Where a drive runs at full speed for a while, it does not throttle at that temperature."""
    if case.onset_c is None or case.is_nested:
        return None
    best: tuple[float, str] | None = None
    views = (case.view, *case.others)
    for view in views:
        if not is_at_full_speed(view, views):
            continue
        temp_c = _hottest_at_full_speed(view)
        if temp_c is not None and (best is None or temp_c > best[0]):
            best = (temp_c, view.step.name)
    if best is None or best[0] < case.onset_c + CLEARLY_K:
        return None
    return Finding(
        "full-speed-at",
        "hotter",
        f"it ran at full speed at {best[0]:.0f} C ('{best[1]}'), and fell at {case.onset_c:.0f} C",
    )


def _hottest_at_full_speed(view: StepView) -> float | None:
    """The highest temperature that was held for a while outside of drops."""
    temp, drops = view.temp, view.drops
    if drops is None or len(temp.values) == 0:
        return None
    free = np.ones(len(temp.t_s), dtype=bool)
    for drop in drops:
        # a sensor that lags reads on while the drop has begun or ended
        free &= (temp.t_s < drop.onset_s) | (temp.t_s > drop.end_s + AT_SPEED_S)
    free &= temp.t_s <= view.throughput.duration_s
    readings = np.sort(temp.values[free])
    if not drops and (len(readings) == 0 or readings[-1] - readings[0] < WARMED_K):
        # a load that was as hot from its begin may have been held back from its begin
        return None
    interval_s = float(np.median(np.diff(temp.t_s))) if len(temp.t_s) > 1 else 1.0
    count = max(3, round(AT_SPEED_S / max(interval_s, 1e-3)))
    return float(readings[-count]) if len(readings) >= count else None


def same_at_each_onset(case: Case) -> Finding | None:
    """Heat acts at one temperature, whatever the load and however long it took to get there."""
    here_c = case.onset_c
    if here_c is None:
        return None
    onsets = [
        (temp_c, view.step.name)
        for view in case.others
        for drop in (view.drops or [])[:1]
        if (temp_c := view.temp.at(drop.onset_s)) is not None
        and abs(drop.onset_s - case.drop.onset_s) > 0.1 * case.drop.onset_s
    ]
    if not onsets:
        return None
    other_c, name = max(onsets, key=lambda onset: abs(onset[0] - here_c))
    apart_k = abs(other_c - here_c)
    said = f"'{name}' fell at {other_c:.0f} C, here it was {here_c:.0f} C"
    if apart_k <= HELD_WITHIN_K:
        return Finding("onset-temperatures", "same", f"the same temperature at each onset: {said}")
    if apart_k >= 2 * HELD_WITHIN_K:
        return Finding("onset-temperatures", "apart", f"onsets at different temperatures: {said}")
    return None
