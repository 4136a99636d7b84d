"""Other recordings of the drive, with the same load in other conditions."""

from heatsoak.analysis.cause.case import Case, Finding, alike
from heatsoak.analysis.view import StepView
from heatsoak.protocol import REPETITIONS

#: Onsets apart by more than this factor have moved.
MOVED = 1.3
#: And by less than this, stayed.
STAYED = 1.1


def cooling(case: Case) -> Finding | None:
    """Only heat cares for the slot, the heatsink and the air; caches and spare area do not."""
    if case.index > 0:
        return None
    moved: tuple[float, str] | None = None
    stayed: str | None = None
    for view in case.siblings:
        differs = _differences(case.view, view)
        if not differs or view.drops is None or not _comparable(case.view, view):
            continue
        here_s = case.drop.onset_s
        if view.drops:
            there_s = view.drops[0].onset_s
            ratio = max((there_s + 1) / (here_s + 1), (here_s + 1) / (there_s + 1))
            said = f"with {differs} it fell after {there_s:.0f} s, here after {here_s:.0f} s"
        elif view.duration_s > MOVED * here_s:
            ratio, said = MOVED, f"with {differs} it did not fall in {view.duration_s:.0f} s"
        else:
            continue
        if ratio >= MOVED and (moved is None or ratio > moved[0]):
            moved = (ratio, said)
        elif ratio <= STAYED:
            stayed = said
    if moved is not None:
        return Finding("conditions", "moved", f"it moves with the conditions: {moved[1]}")
    if stayed is not None:
        return Finding("conditions", "stayed", f"the conditions do not matter: {stayed}")
    return None


def _differences(one: StepView, other: StepView) -> str:
    here, there = one.course.conditions, other.course.conditions
    keys = sorted((here.keys() & there.keys()) - set(REPETITIONS))
    return ", ".join(f"{key} {there[key]}" for key in keys if here[key] != there[key])


def _comparable(one: StepView, other: StepView) -> bool:
    """Whether both began alike: the same load, after the same had been written."""
    if not alike(one.step, other.step):
        return False
    if not one.step.writes:
        return True
    here_gb = one.course.written_before_gb(one.begin_s)
    there_gb = other.course.written_before_gb(other.begin_s)
    return abs(here_gb - there_gb) <= 0.1 * max(here_gb, there_gb, 1.0)
