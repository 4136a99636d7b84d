"""Steps that were slow from their begin, since a load right before them had fallen."""

from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.cause.case import alike, level_of
from heatsoak.analysis.cause.evidence.counters import counter_columns
from heatsoak.analysis.findings import Verdict
from heatsoak.analysis.segments import Drop
from heatsoak.analysis.segments.drop import RECOVERED
from heatsoak.analysis.view import StepView

#: A governor holds a drive this close to where it held it before.
HELD_WITHIN_K = 3.0
#: Sequential loads do about the same in blocks of any usual size.
_SEQUENTIAL = ("read", "write")
#: How long the end of the earlier load is looked at for its temperature.
_LATE_S = 10.0


@dataclass(frozen=True)
class Slowed:
    """What a step began behind.

    Attributes:
        origin: the load that had fallen, the first of those right behind each other.
        drop: its drop that still lasted.
        before: what it, or a like load, did at full speed, in the step's unit; None where no like
            load is known.
        lost: the share of `before` that is missing from the step's begin; None as `before` is.
        is_held: whether the drive stayed as hot; None without temperatures.
        is_counted: whether the drive counted that it throttled in the step.
    """

    origin: StepView
    drop: Drop
    before: float | None
    lost: float | None
    is_held: bool | None
    is_counted: bool

    def verdict(self, cause: Verdict) -> Verdict | None:
        """Return what the step's slowness is, where `cause` is that of the drop that lasted.

        None where nothing shows that it was slow, or where the earlier load used up what stays used
        up: steps are run behind such loads for what a drive does then.
        """
        if cause == "thermal":
            if self.is_counted or (self.is_held and self.lost is not None):
                return "thermal"
            return "unknown" if self.is_held or self.lost is not None else None
        return "unknown" if cause == "unknown" and self.lost is not None else None

    def said(self, cause: Verdict) -> str:
        """Return the reason of the verdict as a sentence; `cause` is that of the earlier drop."""
        fell = 1 - self.drop.during / self.drop.before
        by = "heat" if cause == "thermal" else "something"
        text = (
            f"it began right behind '{self.origin.step.name}', which {by} had slowed by {fell:.0%}"
        )
        if self.is_held:
            text += ", and stayed as hot"
        if self.is_counted:
            text += "; the drive counted its throttling"
        if self.lost is not None:
            text += f"; from its begin {self.lost:.0%} of its full speed were missing"
        if self.verdict(cause) == "thermal":
            return text
        return f"{text}: a pause between them would tell"


def began_slowed(view: StepView, others: list[StepView]) -> Slowed | None:
    """Return how a step was slow from its begin; None where nothing before it says that.

    `others` are further steps of the drive: a like one that was faster shows what is missing.
    """
    origin = view.fallen_before
    drop = None if origin is None else origin.lasting_drop
    if origin is None or drop is None:
        return None
    before = _full_speed(view, origin, others)
    lost = None if before is None else 1 - level_of(view) / before
    if lost is not None and lost <= 1 - RECOVERED:
        return None
    return Slowed(origin, drop, before, lost, _is_held(view, origin), _is_counted(view))


def _full_speed(view: StepView, origin: StepView, others: list[StepView]) -> float | None:
    """What a like load did before it fell, or after a rest; None where there was none."""
    unit = view.throughput.unit
    known = [
        level_of(other)
        for other in others
        if other.fallen_before is None and alike(other.step, view.step)
    ]
    rw = origin.step.rw
    if rw in _SEQUENTIAL and rw == view.step.rw and origin.throughput.unit == unit:
        known.append(level_of(origin))
    return max((level for level in known if level > 0), default=None)


def _is_held(view: StepView, origin: StepView) -> bool | None:
    """Whether the drive stayed as hot as it was at the end of the earlier load."""
    end_s = origin.throughput.duration_s
    late_c, here_c = origin.temp.between(end_s - _LATE_S, end_s), view.temp.values
    if len(late_c) == 0 or len(here_c) == 0:
        return None
    return float(np.median(here_c)) >= float(np.median(late_c)) - HELD_WITHIN_K


def _is_counted(view: StepView) -> bool:
    tracks = (view.track(name).values for name in counter_columns(view))
    return any(len(values) > 1 and values[-1] > values[0] for values in tracks)
