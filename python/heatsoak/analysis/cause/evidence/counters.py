"""What the drive itself reports: throttling counters, power state, and limits, of which the catalog
has some too."""

from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

from heatsoak import words
from heatsoak.analysis.cause.case import Case, Evidence
from heatsoak.analysis.definitions import HELD_WITHIN_K
from heatsoak.analysis.view import StepView
from heatsoak.recording import columns

#: This far below every stated limit, a governor has no reason to act.
FAR_BELOW_K = 10.0
#: Readings a second apart may miss a change by this much.
SLACK_S = 2.0
#: Counters that start to rise later than this in a drop did not count its start.
LATE_S = 10.0
#: A drive that timed its throttling for less than this share of a long fall was held by something
#: else for most of it.
HARDLY, LONG_S = 0.25, 60.0


def thermal_counters(case: Case) -> Evidence | None:
    """The drive counts its own throttling (NVMe: transitions and time of TMT1 and TMT2)."""
    moved = counted(case)
    if moved:
        said = f"the drive's own throttling counters rose: {words.listed(moved)}"
        unmoved_s, first_s = _first_rise_s(case)
        if _is_late(case, unmoved_s):
            late_s = first_s - case.drop.onset_s
            return "later", f"{said}, but only {words.seconds_text(late_s)} later"
        if (hardly := _hardly_timed(case)) is not None:
            return "stopped", f"{said}, and stopped: that is {hardly} of the time that it was slow"
        # a slow fall may be counted before it can be seen
        if case.is_nested and first_s < case.drop.onset_s - 2 * SLACK_S:
            return "went-on", f"{said}, but they were already rising before this fall"
        return "rose", said
    return none_counted(case.view, case.others)


def _hardly_timed(case: Case) -> str | None:
    """For which small share of a drop the drive said that it throttled; None if it was not one."""
    timed_s = slow_s = 0.0
    for name in counter_columns(case.view):
        track, drop = case.view.track(name), case.drop
        inside = (track.t_s >= drop.begin_s - SLACK_S) & (track.t_s <= drop.end_s + SLACK_S)
        if name.startswith(columns.TIMES) and inside.any():
            timed_s += float(np.ptp(track.values[inside]))
            slow_s = max(slow_s, float(np.ptp(track.t_s[inside])))
    is_hardly = timed_s < HARDLY * slow_s and slow_s >= LONG_S and not case.drop.oscillates
    return words.share_text(timed_s / slow_s) if is_hardly else None


def none_counted(view: StepView, others: Iterable[StepView]) -> Evidence | None:
    """What a drive's counters of throttling tell that did not rise; `others` are of its recording.

    Drives without such counters report zeros throughout.
    """
    for one in (view, *others) if counter_columns(view) else ():
        if any(np.any(one.track(name).values > 0) for name in counter_columns(one)):
            return "silent", "the drive counts thermal throttling, and counted none here"
    if columns.throttle_statuses(view.columns("throttle_")):
        return "status-off", "the drive's own status said that it did not throttle"
    return None


def counted_it(case: Case) -> bool:
    """Return whether a throttling counter rose in the drop, and began to when it fell."""
    return bool(counted(case)) and not _is_late(case, _first_rise_s(case)[0])


def _is_late(case: Case, unmoved_s: float) -> bool:
    """Whether counters that had not moved by then cannot have counted the onset."""
    return unmoved_s > case.drop.onset_s + max(LATE_S, case.drop.fall_s)


def _first_rise_s(case: Case) -> tuple[float, float]:
    """The readings between which a counter first rose since the start of the level before."""
    found = []
    for column in counter_columns(case.view):
        track = case.view.track(column)
        rises = np.flatnonzero(np.diff(track.values) > 0)
        times = track.t_s[rises + 1]
        rises = rises[(times > case.level_since_s) & (times <= case.drop.end_s + SLACK_S)]
        found += [(float(track.t_s[at]), float(track.t_s[at + 1])) for at in rises[:1]]
    return min(found, default=(np.inf, np.inf))


def power_state(case: Case) -> Evidence | None:
    """A drive that throttles may enter a lower power state under load; or its host may set one."""
    before, during = case.before_and_during("power_state") or (0.0, 0.0)
    if during <= before:
        return None
    states = f"from power state {round(before)} to {round(during)}"
    return "lowered", f"the drive went {states} under load"


def stated_limit(case: Case) -> Evidence | None:
    """The temperature at onset, compared with the limits that the drive states."""
    temp_c = case.onset_c
    found = None if temp_c is None else _beside_limits(temp_c, _stated_limits_c(case))
    if found is None or temp_c is None or (found[0] == "far-below" and case.hotter is not None):
        return None
    seen, name, limit_c = found
    here, there = words.temp_text(temp_c), words.temp_text(limit_c)
    if seen == "at":
        return seen, f"it started at {here}, at the drive's {name} ({there})"
    return seen, f"at {here} the drive was far below its lowest limit, {there}"


def known_limit(case: Case) -> Evidence | None:
    """The temperature at onset, compared with where such drives throttle, if it stated no limit."""
    known = case.view.course.hint
    if known is None or case.onset_c is None or _stated_limits_c(case):
        return None
    limits = known.drive.limits
    figures = {"throttle from": known.throttles_from_c, "warn at": limits and limits.wctemp_c}
    limits_c = {name: figure.value for name, figure in figures.items() if figure}
    found = _beside_limits(case.onset_c, limits_c)
    if found is None:
        return None
    seen, what, limit_c = found
    text = (
        f"it started at {words.temp_text(case.onset_c)}, and such drives {what} "
        f"{words.temp_text(limit_c)}"
    )
    return seen, f"{text} (catalog: {known.drive.id})"


def _stated_limits_c(case: Case) -> dict[str, float]:
    """The limits that the drive states below its critical temperature."""
    return {name: limit for name, limit in case.view.limits_c.items() if name != "critical"}


def _beside_limits(
    temp_c: float, limits_c: Mapping[str, float]
) -> tuple[Literal["at", "far-below"], str, float] | None:
    """At which limit a temperature is, or how far below the lowest; None for neither."""
    if not limits_c:
        return None
    name, limit_c = min(limits_c.items(), key=lambda item: abs(item[1] - temp_c))
    if abs(temp_c - limit_c) <= HELD_WITHIN_K:
        return "at", name, limit_c
    name, limit_c = min(limits_c.items(), key=lambda item: item[1])
    return ("far-below", name, limit_c) if temp_c < limit_c - FAR_BELOW_K else None


def counter_columns(view: StepView) -> list[str]:
    """Return the columns in which the drive counts or times its own throttling."""
    return columns.throttle_counters(view.columns("throttle_"))


def counted(case: Case) -> list[str]:
    """Return how much each of the drive's throttling counters rose in the drop."""
    # the drive counts before any loss is visible
    return risen(case.view, None, case.drop.begin_s - SLACK_S, case.drop.end_s + SLACK_S)


def risen(
    view: StepView,
    counters: Iterable[str] | None = None,
    start_s: float = 0.0,
    end_s: float = np.inf,
) -> list[str]:
    """Return how much each of the drive's counters rose between two times of a step.

    `counters` are columns, by default those of throttling.
    """
    moved = []
    for name in counter_columns(view) if counters is None else counters:
        track = view.track(name)
        before, after = track.at(start_s), track.at(end_s)
        if before is not None and after is not None and after > before:
            stage = name.partition(".")[2]
            stage = f"stage {stage}" if stage.isdecimal() else stage
            is_time = name.startswith(columns.TIMES)
            what = f"time in {stage}" if is_time else stage
            by = (words.seconds_text if is_time else words.number_text)(after - before)
            moved.append(f"{what} by {by}")
    return moved
