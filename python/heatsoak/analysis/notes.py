"""What a reader must know of a recording beside its findings."""

from heatsoak.analysis.copies import note_of
from heatsoak.analysis.fills import slowed_by_fills
from heatsoak.analysis.view import StepView
from heatsoak.analysis.warmth import warmth
from heatsoak.recording import Recording


def notes_of(recording: Recording, views: list[StepView], once: list[StepView]) -> list[str]:
    """Return what a reader must know; `once` are the steps that are no part of rounds."""
    meta = recording.meta
    notes = []
    if recording.was_cut:
        notes.append("the recording was cut, or is still running: it ends where it was cut")
    elif meta.status != "finished":
        notes.append(f"the run was {meta.status}: {meta.reason}")
    if recording.was_changed:
        notes.append("samples.parquet was changed, or damaged, since it was recorded")
    for view in views:
        if not view.has_rates:
            notes += [f"'{view.step.name}': {text}" for text in warmth(view)]
    notes += [text for view in views if (text := _standstills(view)) is not None]
    notes += slowed_by_fills(views)
    notes += _warm_starts(once)
    is_alone = all(view.partner is None for view in views)
    if (text := note_of(recording, is_alone=is_alone)) is not None:
        notes.append(text)
    # how a log was read that somebody else took is part of what it shows
    said = ("warning", "info") if meta.protocol.is_observed else ("warning",)
    notes += [event.text for event in recording.events if event.kind in said]
    return list(dict.fromkeys(notes))


def _standstills(view: StepView) -> str | None:
    """What stood still for some seconds and went on as before."""
    stalls = view.stalls
    if not stalls:
        return None
    lengths = sorted({round(stall.length_s) for stall in stalls})
    span = f"{lengths[0]} s" if len(lengths) == 1 else f"{lengths[0]} to {lengths[-1]} s"
    times = "" if len(stalls) == 1 else f" {len(stalls)} times"
    first = "first " if times else ""
    return (
        f"'{view.step.name}' stood still{times} for {span}, {first}at {stalls[0].begin_s:.0f} s, "
        "and went on as before: no episode, but what a flush, a reset or collected garbage may do"
    )


def _warm_starts(views: list[StepView], tolerance_k: float = 5.0) -> list[str]:
    """Steps that began clearly warmer than the coolest one; probes are taken as warm as it is."""
    starts = [
        (view.step.name, temp)
        for view in views
        if not view.step.is_probe and (temp := view.temp.at(0.0)) is not None
    ]
    if not starts:
        return []
    coolest = min(temp for _, temp in starts)
    return [
        f"'{name}' began at {temp:.0f} C, {temp - coolest:.0f} K warmer than the coolest step: "
        "a longer pause would tell more"
        for name, temp in starts
        if temp - coolest > tolerance_k
    ]
