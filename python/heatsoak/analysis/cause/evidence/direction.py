"""Which way the data went: an exhausted cache or spare area slows writes, heat slows both."""

from heatsoak.analysis.cause.case import Case, Finding, alike, is_at_full_speed, level_of
from heatsoak.analysis.view import StepView

#: Heat takes from writes about what it takes from reads; this much more is something else.
FAR_DEEPER = 0.25
#: Depths within this are alike.
ALIKE_DEPTH = 0.15
#: A read step that was as hot as this, and held, was not throttled there.
AS_HOT_K = 2.0


def load(case: Case) -> Finding | None:
    """The step's own load."""
    step = case.view.step
    rw = step.rw or ""
    if not step.writes:
        return Finding("load", "reads", "reads fell, which no exhausted cache or spare area does")
    if step.reads:
        if rw or (case.view.columns("read_") and case.view.columns("write_")):
            return Finding("load", "mixed", "reads and writes ran together")
        return Finding("load", "untold", "reads or writes, the log does not tell")
    if rw.startswith("rand"):
        return Finding(
            "load", "random-writes", "random writes use up spare area, and caches as well"
        )
    if rw:
        return Finding(
            "load", "sequential-writes", "sequential writes use up a cache, seldom spare area"
        )
    return Finding("load", "writes", "writes, in an order that is not known")


def both_ways(case: Case) -> Finding | None:
    """A read that fell as writes do, from full speed and after a like time."""
    if case.view.step.writes:
        return None
    for view in case.others:
        if view.step.writes and _fell_alike(view, case):
            return Finding("both-ways", "fell", f"writes fell alike, in '{view.step.name}'")
    return None


def reads_beside(case: Case) -> Finding | None:
    """Whether reads of the same drive fell too."""
    if not case.view.step.writes:
        return None
    steps = _read_steps(case)
    if not steps:
        return Finding(
            "reads-beside",
            "none",
            "nothing was read without writes: an exhausted cache or spare area would look the "
            "same, and a read step would tell",
        )
    for view in steps:
        if _fell_alike(view, case):
            return Finding("reads-beside", "fell", f"reads fell alike, in '{view.step.name}'")
    for view in steps:
        if not is_at_full_speed(view, steps):
            fastest = max(level_of(v) for v in steps if alike(v.step, view.step))
            return Finding(
                "reads-beside",
                "slow-too",
                f"reads were slower too: '{view.step.name}' began at "
                f"{level_of(view) / fastest:.0%} of the speed of the same reads",
            )
    held = [view for view in steps if not view.drops and not _may_be_slowed(view, steps)]
    for view in held:
        top_c = max(view.temp.values, default=None)
        if top_c is not None and case.onset_c is not None and top_c >= case.onset_c - AS_HOT_K:
            return Finding(
                "reads-beside",
                "held-as-hot",
                f"reads held their speed at {top_c:.0f} C, in '{view.step.name}'",
            )
    return (
        Finding("reads-beside", "held", f"reads held, in '{held[0].step.name}'") if held else None
    )


def depth_beside_reads(case: Case) -> Finding | None:
    """A write that loses far more than heat takes from reads has another cause, or one more."""
    if not case.view.step.writes:
        return None
    fell = [(max(drop.depth for drop in v.drops or []), v) for v in _read_steps(case) if v.drops]
    if not fell:
        return None
    depth, view = max(fell, key=lambda pair: pair[0])
    if case.drop.depth <= depth + FAR_DEEPER:
        return None
    return Finding(
        "depth-beside-reads",
        "far-deeper",
        f"it lost {case.drop.depth:.0%}, and no read more than {depth:.0%} ('{view.step.name}'): "
        "an exhausted cache or spare area hits writes alone",
    )


def _may_be_slowed(view: StepView, steps: list[StepView]) -> bool:
    """Whether it began right behind a fall, and no like read shows its full speed."""
    rested = (other for other in steps if other.fallen_before is None)
    return view.fallen_before is not None and not any(alike(o.step, view.step) for o in rested)


def _read_steps(case: Case) -> list[StepView]:
    return [v for v in case.others if not v.step.writes and v.drops is not None]


def _fell_alike(view: StepView, case: Case) -> bool:
    """Whether a step fell as deep, and as late within a factor of two."""
    return any(
        abs(drop.depth - case.drop.depth) <= ALIKE_DEPTH
        and 0.5 <= (drop.onset_s + 1) / (case.drop.onset_s + 1) <= 2
        for drop in view.drops or []
    )
