"""The same load again: in other conditions, at once, after a rest, or after a purge."""

import math

import numpy as np

from heatsoak import words
from heatsoak.analysis import definitions
from heatsoak.analysis.cause.case import Case, Evidence
from heatsoak.analysis.cause.evidence.temperature import CLEARLY_K
from heatsoak.analysis.likeness import alike, cooled_otherwise
from heatsoak.analysis.series import spans_of
from heatsoak.analysis.view import RESTED_S, StepView, temp_moves

#: Onsets that differ by more than this factor have moved; falls from such levels are not the same.
MOVED = 1.3


def cooling(case: Case) -> Evidence | None:
    """Only heat depends on slot, heatsink and air; caches and spare area do not.

    A fall that comes later with the better cooler speaks for heat, one that comes at the same time
    with another speaks against it. One that comes earlier with the better cooler says neither: a
    faster drive fills its cache sooner. So does one from another level, which had fallen before.
    """
    if case.index > 0:
        return None
    moved: tuple[float, str] | None = None
    stayed: str | None = None
    for view, other in cooled_otherwise(case.view, case.siblings):
        if view.drops is None:
            continue
        here_s = case.drop.onset_s
        if view.drops:
            if max(levels := (view.drops[0].before, case.drop.before)) > MOVED * min(levels):
                continue
            there_s = view.drops[0].onset_s
            said = f"with {other.text} it fell after {words.seconds_text(there_s)}"
            said += f", here after {words.seconds_text(here_s)}"
        elif view.duration_s > MOVED * here_s:
            there_s = view.duration_s
            said = f"with {other.text} it did not fall in {words.seconds_text(there_s)}"
        else:
            continue
        later = (there_s + 1) / (here_s + 1)
        ratio = max(later, 1 / later)
        if ratio >= MOVED and other.is_better in (None, later > 1):
            # at another temperature it is no governor's limit that was met later
            if is_as_hot(case, view) and (moved is None or ratio > moved[0]):
                moved = (ratio, said)
        elif ratio <= definitions.SAME_ONSET_RATIO:
            stayed = said
    if moved is not None:
        return "moved", f"the onset moves with the cooling: {moved[1]}"
    if stayed is not None:
        return "stayed", f"the cooling makes no difference: {stayed}"
    return None


def is_as_hot(case: Case, view: StepView) -> bool:
    """Return whether two first falls, if there are two, began as hot, as far as is known."""
    if not view.drops or not (temp_moves(case.view) and temp_moves(view)):
        return True
    there_c = view.temp.at(view.drops[0].onset_s)
    return case.onset_c is None or there_c is None or abs(case.onset_c - there_c) < COOLER_K


#: The start of a step; a cool drive is slow again soon.
START_S = 5.0
#: The share of the loss that was recovered.
MIN_RECOVERED, MAX_STILL_SLOW = 0.75, 0.25
#: Alike falls: onsets within this share of each other, depths within this difference.
ALIKE_TIME, ALIKE_DEPTH = 0.2, 0.15
#: A step that runs this much longer than the onset had time to fall.
LONGER = 1.5
#: This much cooler at the restart, a governor throttles it no more.
COOLER_K = 8.0


def at_once(case: Case) -> Evidence | None:
    """The same load again at once: a full cache or hot drive is unchanged, others' work may end."""
    view = _next_alike(case, 0.0, RESTED_S)
    return None if view is None else _back(case, view, f"'{view.step.name}' started at once")


def _back(case: Case, view: StepView, said: str) -> Evidence | None:
    """Whether the loss was recovered when a step started, after what is `said` of it."""
    back = _share_back(case, view)
    if back is None:
        return None
    if back >= MIN_RECOVERED:
        return "back", f"{said}, at full speed again"
    if back <= MAX_STILL_SLOW:
        return "slow", f"{said}, as slow as before"
    return "partly", f"{said}, with {words.share_text(back)} of the loss recovered"


def after_a_rest(case: Case) -> Evidence | None:
    """The same load again after a rest: how fast it started, after how long, and how warm."""
    view = _next_alike(case, RESTED_S, math.inf)
    if view is None:
        return None
    rest_s = view.course.rest_before_s(view.start_s)
    start_c = view.start_c
    how = f"after {words.seconds_text(rest_s)} without load"
    warm = "" if start_c is None else f" at {words.temp_text(start_c)}"
    warmer_k = _warmer_k(case, view)
    is_cooler = warmer_k is not None and warmer_k <= -COOLER_K
    # a governor may hold on until the drive has cooled far below where it began
    is_cool = start_c is not None and start_c < definitions.MIN_THROTTLING_C
    is_as_hot = warmer_k is not None and warmer_k >= -definitions.HELD_WITHIN_K
    found = _back(case, view, f"'{view.step.name}' started {how}{warm}")
    if found is not None and found[0] == "back" and (is_as_hot or is_cooler):
        return "back-as-hot" if is_as_hot else "back-cooler", found[1]
    if found is not None and found[0] == "slow" and is_cooler and is_cool:
        return "slow-though-cooler", found[1]
    return found


def again(case: Case) -> Evidence | None:
    """Whether it fell as this time before, or another step with the same load did.

    Others' work seldom repeats, and heat not at lower temperatures.
    """
    if (cooler := _when_cooler(case)) is not None:
        return cooler
    for view in case.others:
        if not alike(view.step, case.view.step) or view.drops is None or case.index > 0:
            continue
        for drop in view.drops:
            if _alike_in_time(drop.onset_s, case.drop.onset_s) and (
                abs(drop.depth - case.drop.depth) <= ALIKE_DEPTH
            ):
                when = f"after {words.seconds_text(drop.onset_s)}"
                return "alike", f"'{view.step.name}' fell in the same way, {when}"
        if not view.drops and view.duration_s > LONGER * (case.drop.onset_s + START_S):
            lasted = words.seconds_text(view.duration_s)
            return "not", f"'{view.step.name}' did not fall in {lasted}"
    return None


def _when_cooler(case: Case) -> Evidence | None:
    """An earlier fall of the step, when it was clearly cooler, that passed without cooling."""
    temp, found = case.view.temp, None
    for drop in (case.view.drops or [])[: case.index]:
        there_c, back_c = temp.at(drop.onset_s), temp.at(drop.back_s)
        if not drop.recovered or there_c is None or back_c is None or case.onset_c is None:
            continue
        if there_c > case.onset_c - CLEARLY_K or back_c < there_c - definitions.HELD_WITHIN_K:
            continue
        after = words.seconds_text(drop.onset_s)
        when = f"at {words.temp_text(there_c)}, after {after}, and recovered"
        if abs(drop.depth - case.drop.depth) <= ALIKE_DEPTH / 3:
            return "when-cooler", f"it fell as far {when}"
        found = "another-when-cooler", f"it fell {when}: something else than heat slows it too"
    return found


#: Rates that differ by less than this share are the same; for this long, in s, they were held.
SAME_RATE, HELD_S = 0.05, 10.0


def as_slow_when_cooler(case: Case) -> Evidence | None:
    """Whether the step was no faster before, when the drive was clearly cooler.

    Or ran at the rate of the fall for a while, and got faster although it was no cooler then.
    """
    series, temp, drop = case.view.throughput, case.view.temp, case.drop
    if case.onset_c is None or len(temp.values) < 2:
        return None
    temp_c = temp.along(series.t_s)
    is_cooler = temp_c <= case.onset_c - CLEARLY_K
    is_cooler &= (series.t_s < drop.onset_s) & (series.t_s > START_S)
    for one in case.view.drops or []:
        is_cooler &= (series.t_s <= one.onset_s) | (series.t_s > one.back_s)
    held_s = float(np.sum(series.interval_s[is_cooler]))
    if held_s < HELD_S:
        return None
    if float(np.median(series.values[is_cooler])) <= (1 + SAME_RATE) * drop.during:
        below = words.temp_text(case.onset_c - CLEARLY_K)
        return "as-slow", f"it was no faster below {below}, for {words.seconds_text(held_s)} before"
    # of a shallow fall, far nearer to it than to full speed
    is_same = np.abs(series.values / drop.during - 1) <= min(SAME_RATE, drop.depth / 4)
    for first, end in spans_of(is_cooler & is_same):
        same_s, (begin_c, end_c) = (
            float(np.sum(series.interval_s[first:end])),
            temp_c[[first, end - 1]],
        )
        if same_s >= HELD_S and end_c >= begin_c:
            seen = f"it ran at that rate for {words.seconds_text(same_s)} before"
            return "as-slow", f"{seen}, from {words.temp_text(begin_c)} to {words.temp_text(end_c)}"
    return None


def _alike_in_time(one_s: float, other_s: float) -> bool:
    return abs(one_s - other_s) <= max(START_S, ALIKE_TIME * max(one_s, other_s))


def after_a_purge(case: Case) -> Evidence | None:
    """A purge restores cache and spare area at once; it does not cool the drive."""
    for view in case.later_alike():
        if not view.course.was_purged_between(case.view.end_s, view.start_s):
            continue
        back = _share_back(case, view)
        if back is None:
            continue
        warmer_k = _warmer_k(case, view)
        is_as_hot = warmer_k is not None and warmer_k >= -definitions.HELD_WITHIN_K
        warm = ", as hot as before" if is_as_hot else ""
        if back >= MIN_RECOVERED:
            seen = "back-as-hot" if is_as_hot else "back"
            return seen, f"'{view.step.name}' was at full speed again after a purge{warm}"
        if back <= MAX_STILL_SLOW:
            return "slow", f"'{view.step.name}' was as slow after a purge{warm}"
    return None


def _next_alike(case: Case, min_s: float, max_s: float) -> StepView | None:
    """The next step with the same load after such a rest, if this drop lasted to its step's end.

    None if the drive was purged in between.
    """
    drops = case.view.drops or []
    if case.drop.recovered or (drops and drops[-1].end_s > case.drop.end_s + 1e-6):
        return None
    for view in case.later_alike():
        if view.course.was_purged_between(case.view.end_s, view.start_s):
            return None
        if min_s <= view.course.rest_before_s(view.start_s) < max_s:
            return view
    return None


def _warmer_k(case: Case, view: StepView) -> float | None:
    """How much warmer the drive was at the start of a step than at the onset."""
    start_c = view.start_c
    return None if start_c is None or case.onset_c is None else start_c - case.onset_c


def _share_back(case: Case, view: StepView) -> float | None:
    """The share of the loss that is recovered when `view` starts."""
    series = view.throughput
    start = series.mean(0.0, max(START_S, 3 * series.sampling_s) if len(series.t_s) else 0.0)
    lost = case.drop.before - case.drop.last
    if not math.isfinite(start) or lost <= 0:
        return None
    return (start - case.drop.last) / lost
