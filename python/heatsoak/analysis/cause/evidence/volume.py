"""Bytes written: caches and spare area are used up by bytes, not by seconds."""

from heatsoak.analysis.cause.case import Case, Finding, alike
from heatsoak.analysis.view import StepView

#: Below this share of the drive since a purge, there is flash that was never written.
FILLED = 0.9
#: Up to this share its spare area is written for the first time: drives have 7 to 28 %.
BRIM = 1.4
#: Counts that differ less than this are the same.
SAME = 0.15
#: And more than this, different.
OTHER = 0.3


def against_capacity(case: Case) -> Finding | None:
    """What had been written when it fell, against the size of the drive."""
    course, drop = case.view.course, case.drop
    here_gb = case.view.written_gb(drop.onset_s)
    if course.drive_gb is None or here_gb is None or not case.view.step.writes:
        return None
    written_gb = here_gb + course.written_before_gb(case.view.begin_s)
    share = written_gb / course.drive_gb
    said = f"{written_gb:.3g} GB had been written to a drive of {course.drive_gb:.3g} GB"
    is_known = course.last_purge_s(case.view.begin_s) is not None
    if is_known and FILLED <= share <= BRIM:
        return Finding("written", "at-the-brim", f"{said}: this is where spare area is used up")
    if share >= FILLED:
        return Finding("written", "past-the-drive", f"{said}: its spare area may be used up")
    if not is_known:
        return None
    return Finding(
        "written", "less-than-the-drive", f"{said} since it was empty: there was spare area left"
    )


def repeats(case: Case) -> Finding | None:
    """Whether falls of the same load repeat after the same bytes, or after the same time."""
    here_gb = case.view.written_gb(case.drop.onset_s)
    if here_gb is None or here_gb <= 0 or not case.view.step.writes or case.index > 0:
        return None
    for view in (*case.others, *case.siblings):
        drops = view.drops or []
        if not drops or not alike_but_for_depth(view, case.view):
            continue
        there_gb = view.written_gb(drops[0].onset_s)
        if there_gb is None or there_gb <= 0:
            continue
        bytes_apart = _apart(here_gb, there_gb)
        time_apart = _apart(case.drop.onset_s, drops[0].onset_s)
        said = (
            f"'{view.step.name}' fell after {there_gb:.3g} GB and {drops[0].onset_s:.0f} s, "
            f"here after {here_gb:.3g} GB and {case.drop.onset_s:.0f} s"
        )
        if bytes_apart <= SAME and time_apart >= OTHER:
            return Finding("repeats-in", "bytes", f"it repeats in bytes, not in time: {said}")
        if time_apart <= SAME and bytes_apart >= OTHER:
            return Finding("repeats-in", "time", f"it repeats in time, not in bytes: {said}")
        if bytes_apart <= SAME and time_apart <= SAME:
            return Finding("repeats-in", "both", f"it repeats: {said}")
        if bytes_apart >= OTHER and time_apart >= OTHER:
            return Finding("repeats-in", "neither", f"neither bytes nor time repeat: {said}")
    return None


def alike_but_for_depth(one: StepView, other: StepView) -> bool:
    """Return whether both write alike, whatever their queue depth: bytes count, not speed."""
    if alike(one.step, other.step):
        return True
    return one.step.rw is not None and (one.step.rw, one.step.bs, one.step.rwmixread) == (
        other.step.rw,
        other.step.bs,
        other.step.rwmixread,
    )


def _apart(one: float, other: float) -> float:
    return abs(one - other) / max(abs(one), abs(other), 1e-9)
