"""Why a whole step may be slow although throughput never fell in it: the link, the load before it,
or the place."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.cause.case import FULL
from heatsoak.analysis.cause.evidence.counters import risen
from heatsoak.analysis.definitions import (
    HELD_WITHIN_K,
    MIN_RISE_K,
    MIN_THROTTLING_C,
    RECOVERED,
    USUALLY_THROTTLING_C,
)
from heatsoak.analysis.falls import Drop
from heatsoak.analysis.findings import Verdict
from heatsoak.analysis.likeness import alike, like_runs
from heatsoak.analysis.view import StepView, other_cooling
from heatsoak.recording.columns import throttle_statuses
from heatsoak.words import number_text, rate_text, share_text, temp_text, temps_text

#: Packet headers and acknowledgements take part of a link's capacity.
NEAR_CEILING = (0.8, 1.02)
#: A link is narrow if it carries less than this share of what the drive's own link could.
NARROW = 0.95


def limited_by_link(view: StepView) -> str | None:
    """Return why the link limits a step's throughput, not its drive; None if it does not.

    A rate at the ceiling of a link with fewer lanes or an older generation than the drive supports
    would be higher in another host.
    """
    series = view.throughput
    if series.unit != "mb_s" or len(series.values) == 0 or view.course.link_ceiling_mb_s is None:
        return None
    ceiling, most = view.course.link_ceiling_mb_s
    # links sleep when idle: what they carry under load counts
    readings = view.track("link_mb_s").values
    if len(readings):
        ceiling = float(np.median(readings))
    level = float(np.median(series.values))
    low, high = NEAR_CEILING
    if ceiling >= NARROW * most or not low * ceiling <= level <= high * ceiling:
        return None
    carries = f"{rate_text(ceiling)} before protocol overhead"
    return (
        f"{rate_text(level)} is all that its PCIe link carries ({carries}); at the drive's full "
        f"width and speed it would carry {rate_text(most)}"
    )


#: Sequential loads run at about the same speed in blocks of any usual size.
_SEQUENTIAL = ("read", "write")
#: The time at the end of the earlier load over which its temperature is taken.
_LATE_S = 10.0


@dataclass(frozen=True)
class SlowStart:
    """Why a step may have been slow from its start.

    Attributes:
        origin: the first of the loads directly before it whose throughput had fallen.
        drop: the drop of that load that lasted to its end.
        lost: the share of the same load's full speed that is missing from the start; None if that
            is unknown.
        is_held: whether the drive stayed as hot; None without temperatures.
        is_counted: whether the drive counted throttling in the step.
    """

    origin: StepView
    drop: Drop
    lost: float | None
    is_held: bool | None
    is_counted: bool

    def verdict(self, cause: Verdict) -> Verdict | None:
        """Return the step's verdict, given the `cause` of the drop that lasted.

        None if nothing shows that it was slow, or if the earlier load used up a cache or spare
        area: steps are run after such loads on purpose, to see what a drive does then.
        """
        if cause == "thermal":
            if self.is_counted or (self.is_held and self.lost is not None):
                return "thermal"
            return "unknown" if self.is_held or self.lost is not None else None
        return "unknown" if cause == "unknown" and self.lost is not None else None

    def reason(self, cause: Verdict) -> str:
        """Return the reason for the verdict as a sentence; `cause` is that of the earlier drop."""
        by, fell = "heat" if cause == "thermal" else "something", share_text(self.drop.depth)
        after = f"right after '{self.origin.step.name}', which {by} had slowed by {fell}"
        if self.lost is None:
            text = f"it started {after}"
        else:
            text = f"it ran {share_text(self.lost)} below its full speed from the start, {after}"
        if self.is_held:
            text += ", and stayed as hot"
        if self.is_counted:
            text += "; the drive counted throttling"
        if self.verdict(cause) == "thermal":
            return text
        return f"{text}: a pause between them would tell"


def slow_start(view: StepView, others: list[StepView]) -> SlowStart | None:
    """Return why a step may have been slow from its start; None if no load before it suggests that.

    `others` are other steps of the drive: a faster one with the same load shows the loss.
    """
    origin = view.slowed_by
    drop = None if origin is None else origin.lasting_drop
    if origin is None or drop is None:
        return None
    before = _full_speed(view, origin, others)
    lost = None if before is None else 1 - view.level / before
    if lost is not None and lost <= 1 - RECOVERED:
        return None
    return SlowStart(origin, drop, lost, _is_held(view, origin), bool(risen(view)))


def _full_speed(view: StepView, origin: StepView, others: list[StepView]) -> float | None:
    """The speed of the same load before it fell, or after a rest; None if there was none."""
    unit = view.throughput.unit
    known = [
        other.level for other in others if other.slowed_by is None and alike(other.step, view.step)
    ]
    rw = origin.step.rw
    if rw in _SEQUENTIAL and rw == view.step.rw and origin.throughput.unit == unit:
        known.append(origin.level)
    return max((level for level in known if level > 0), default=None)


def _is_held(view: StepView, origin: StepView) -> bool | None:
    """Whether the drive stayed as hot as it was at the end of the earlier load."""
    end_s = origin.throughput.duration_s
    late_c, here_c = origin.temp.between(end_s - _LATE_S, end_s), view.temp.values
    if len(late_c) == 0 or len(here_c) == 0:
        return None
    return float(np.median(here_c)) >= float(np.median(late_c)) - HELD_WITHIN_K


def never_throttled(view: StepView, others: Sequence[StepView]) -> bool:
    """Whether it stayed too cool for that, or the drive's own status said so throughout."""
    top_c = view.max_temp_c
    if top_c is not None and top_c < MIN_THROTTLING_C and temperature_moves(view, others):
        return True
    return bool(throttle_statuses(view.columns("throttle_"))) and not risen(view)


def temperature_moves(view: StepView, others: Sequence[StepView]) -> bool:
    """Whether the temperature of a step is one that moves, in it or in others of the recording.

    A governor follows none that stands still.
    """
    values = [one.temp.values for one in (view, *others)]
    return len(values[0]) > 0 and bool(np.ptp(np.concatenate(values)) >= MIN_RISE_K)


def hot_from_the_start(view: StepView, others: Sequence[StepView]) -> str | None:
    """Return why a step may have been throttled from its first sample on; None if nothing says so.

    Only the time until it first fell counts: a drive that fell for another reason may cool then.
    `others` are other steps of the drive: one with the same load that started cooler and no faster
    shows that this one was not throttled.
    """
    first_s = min((drop.onset_s for drop in view.drops or []), default=math.inf)
    temps_c = view.temp.between(-math.inf, first_s)
    if len(temps_c) == 0 or float(np.min(temps_c)) < USUALLY_THROTTLING_C:
        return None
    if _is_full_speed(view, others, USUALLY_THROTTLING_C):
        return None
    return f"it was at {temps_text(temps_c)} from its first second, as hot as drives throttle at"


def begun_slow(view: StepView, others: Sequence[StepView]) -> str | None:
    """Return why a step that held its speed may have been slow before; None if it was not.

    It began at full speed if it began cool, or warmed while it held that, or ran as fast as another
    step that began cool, as its link or as such drives are rated.
    """
    temps_c = view.temp.values
    if len(temps_c) == 0:
        is_shown, why = False, "no temperature tells whether it was slow before"
    else:
        is_shown = (
            temps_c[0] < MIN_THROTTLING_C or float(np.max(temps_c)) >= temps_c[0] + HELD_WITHIN_K
        )
        hot = temp_text(temps_c[0])
        why = f"it was at {hot} from the start, and may have been slow before"
    return None if is_shown or _is_full_speed(view, others, MIN_THROTTLING_C) else why


def _is_full_speed(view: StepView, others: Sequence[StepView], cool_c: float) -> bool:
    """Whether a step ran as fast as its link, its rating, or one of `others` that began cooler."""
    if view.throughput.unit == "mb_s":
        known, most = view.course.known, []
        if view.course.link_ceiling_mb_s is not None:
            most.append(NEAR_CEILING[0] * view.course.link_ceiling_mb_s[1])
        if known is not None and known.kind == "model" and view.step.rw in _SEQUENTIAL:
            drive = known.drive
            most.append(FULL * (drive.read_mb_s if view.step.rw == "read" else drive.write_mb_s))
        if any(view.level >= least for least in most):
            return True
    for other in others:
        start_c = other.temp.at(0.0)
        is_cool = start_c is not None and start_c < cool_c
        if is_cool and alike(other.step, view.step) and view.level >= FULL * other.level:
            return True
    return False


@dataclass(frozen=True)
class FasterWhenCooled:
    """The same load on the same drive ran faster with other cooling.

    Attributes:
        lost_share: the share of the other run's throughput that is missing here.
        is_heat: whether the drive was cooler there; if not, a temperature is missing that tells.
    """

    lost_share: float
    is_heat: bool
    text: str


#: A smaller difference between two runs may have many reasons.
_MIN_COOLING_GAIN = 0.1


def faster_when_cooled(view: StepView, siblings: Sequence[StepView]) -> FasterWhenCooled | None:
    """Return the run with other cooling that was most faster; None if no run was.

    One that shows heat counts more than one without the temperatures to show it.
    """
    found = [one for other in like_runs(view, siblings) if (one := _gain(view, other)) is not None]
    return max(found, key=lambda one: (one.is_heat, one.lost_share), default=None)


def _gain(view: StepView, other: StepView) -> FasterWhenCooled | None:
    """How much faster a like run was, if better cooling may be why."""
    cooling = other_cooling(view, other)
    if cooling is None or cooling.is_better is False:
        return None
    if view.throughput.unit != other.throughput.unit or not (view.has_moved and other.has_moved):
        return None
    here_c, there_c = view.max_temp_c, other.max_temp_c
    is_told = here_c is not None and there_c is not None
    if here_c is not None and here_c < (
        MIN_THROTTLING_C if there_c is None else there_c + HELD_WITHIN_K
    ):
        # it stayed too cool to throttle, or no hotter than there
        return None
    common_s = min(view.duration_s, other.duration_s)
    pairs = {"ran": [each.throughput.mean(0.0, common_s) for each in (view, other)]}
    if view.drops or other.drops:
        pairs["started"] = [view.level, other.level]
    gains = [(there / here, verb) for verb, (here, there) in pairs.items() if here > 0]
    times, verb = max(gains, default=(1.0, ""))
    lost = 1 - 1 / max(times, 1.0)
    if lost < _MIN_COOLING_GAIN:
        return None
    said = f"with {cooling.text} the same load {verb} {number_text(times, 2)} times as fast"
    if here_c is not None and there_c is not None:
        said += f", the drive at {temp_text(there_c)} at most: here it got {temp_text(here_c)} hot"
    else:
        said += ", and no temperature shows whether heat is why"
    return FasterWhenCooled(lost, is_told, said)
