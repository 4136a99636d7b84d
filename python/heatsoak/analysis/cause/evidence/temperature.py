"""How the drive's temperature went before the drop and in it."""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.view import StepView

#: A sensor that rose less than this before the onset does not show the heat.
LEAST_RISE_K = 5.0
#: Under a governor a temperature stays this close to where throttling began.
HELD_WITHIN_K = 4.0
#: A drive that loses more of its rise than this while it is slow is not held at a limit.
MOST_LOST = 0.35
#: How long before the onset the temperature's course is looked at.
BEND_S = 60.0
LEAST_BEND_S = 15.0
#: At full speed for this long at a temperature, and it does not throttle there.
AT_SPEED_S = 10.0
#: Clearly hotter, with sensors that round and lag.
CLEARLY_K = 5.0


def course(case: Case) -> Finding | None:
    """A governor lets the temperature climb to its limit and then holds it there."""
    onset_c, late_c = case.onset_c, case.late_c
    if onset_c is None or late_c is None:
        return None
    start_c = float(np.min(case.view.temp.between(0.0, case.drop.onset_s), initial=onset_c))
    rise_k = onset_c - start_c
    path = f"from {start_c:.0f} C to {onset_c:.0f} C at the onset, then {late_c:.0f} C"
    if late_c < onset_c - max(HELD_WITHIN_K, MOST_LOST * rise_k) and not case.drop.oscillates:
        return Finding(
            "temperature-course", "cooled", f"the drive cooled while it stayed slow: {path}"
        )
    if late_c > onset_c + max(2 * HELD_WITHIN_K, 0.5 * rise_k):
        return Finding(
            "temperature-course", "rose-on", f"the temperature rose on while it was slow: {path}"
        )
    if rise_k >= LEAST_RISE_K:
        return Finding(
            "temperature-course", "rose-and-held", f"temperature rose and stayed up: {path}"
        )
    return Finding(
        "temperature-course",
        "flat",
        f"the reported temperature hardly moved before the onset: {path}",
    )


def bend(case: Case) -> Finding | None:
    """A drive that reaches a limit was warming until then; one in balance had no reason to."""
    end_s = case.drop.onset_s
    begin_s = max(case.level_since_s, end_s - BEND_S)
    temp = case.view.temp
    inside = (temp.t_s >= begin_s) & (temp.t_s <= end_s)
    if end_s - begin_s < LEAST_BEND_S or np.count_nonzero(inside) < 5:
        return None
    t_s, values = temp.t_s[inside], temp.values[inside]
    change_k = float(np.polyfit(t_s - t_s[0], values, 1)[0]) * (end_s - begin_s)
    span = f"in the {end_s - begin_s:.0f} s before the onset"
    if change_k >= 1.5:
        return Finding(
            "temperature-bend", "rising", f"the temperature was rising, by {change_k:.0f} K {span}"
        )
    if change_k <= -1.5:
        return Finding(
            "temperature-bend",
            "falling",
            f"the temperature was falling, by {-change_k:.0f} K {span}",
        )
    if end_s - begin_s >= 2 * LEAST_BEND_S:
        return Finding("temperature-bend", "level", f"the temperature was level {span}")
    return None


def hotter_at_full_speed(case: Case) -> Finding | None:
    """Where a drive runs at full speed for a while, it does not throttle at that temperature."""
    if case.onset_c is None or case.is_nested:
        return None
    best: tuple[float, str] | None = None
    for view in (case.view, *case.others):
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
    readings = np.sort(temp.values[free & (temp.t_s <= view.throughput.duration_s)])
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
