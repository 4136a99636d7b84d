"""Copies from one drive to another: which of the two held the other up."""

import math
from collections.abc import Sequence
from typing import Literal

from heatsoak.analysis.findings import (
    CopyFindings,
    CopyStepFindings,
    Episode,
    RecordingFindings,
    StepFindings,
)
from heatsoak.analysis.view import Looked, Partner, StepView
from heatsoak.analysis.waiting import waiting_shares
from heatsoak.protocol import Role
from heatsoak.recording import Recording

#: A side that waits for this share of the time never had its own say.
ALL_ALONG = 0.9
#: And a side that is waited for this share of the time is what bounds the copy.
MOSTLY = 0.5


def pairs_of(looked: Sequence[Looked]) -> list[tuple[int, int]]:
    """Return where source and destination of each copy stand, of which both are given."""
    sides: dict[str, dict[Role, int]] = {}
    for index, one in enumerate(looked):
        part = one.recording.meta.part_of_copy
        if part is not None:
            sides.setdefault(part.id, {}).setdefault(part.role, index)
    return [(s["source"], s["destination"]) for s in sides.values() if len(s) == 2]


def introduce(source: Looked, destination: Looked) -> None:
    """Let the steps of a copy's two sides know of each other."""
    reading = {view.step.name: view for view in source.views}
    for view in destination.views:
        other = reading.get(view.step.name)
        if other is not None:
            view.partner = Partner("source", other)
            other.partner = Partner("destination", view)


def waited_all_along(view: StepView) -> str | None:
    """Return that a step which never fell was only as fast as the copy's other side, if it was."""
    partner = view.partner
    shares = None if partner is None else waiting_shares(view, partner.view)
    if partner is None or shares is None or shares[0] < ALL_ALONG:
        return None
    return f"it waited for the {partner.role} {100 * shares[0]:.0f} % of the time"


def copy_note(recording: Recording, *, is_alone: bool) -> str | None:
    """Return what a reader must know of a recording that is one side of a copy."""
    part = recording.meta.part_of_copy
    if part is None or not is_alone:
        return None
    other = "destination" if part.role == "source" else "source"
    return (
        f"it is the {part.role} of a copy, and the {other}'s recording ({part.partner} as seen "
        "from it) is not among those given: whether that side held it up cannot be told"
    )


def copy_findings(
    source: tuple[Looked, RecordingFindings], destination: tuple[Looked, RecordingFindings]
) -> CopyFindings:
    """Return what both sides of a copy show together."""
    found = {view.step.name: view for view in source[0].views}
    steps = [
        _step(found[view.step.name], view, source[1], destination[1])
        for view in destination[0].views
        if view.step.name in found
    ]
    return CopyFindings(source=source[1].path, destination=destination[1].path, steps=steps)


def _step(
    reading: StepView, writing: StepView, source: RecordingFindings, destination: RecordingFindings
) -> CopyStepFindings:
    name = writing.step.name
    begin_s = min(reading.begin_s, writing.begin_s)
    duration_s = max(reading.end_s, writing.end_s) - begin_s
    written_gb = writing.written_gb(math.inf)
    shares = waiting_shares(reading, writing)
    by_role: dict[Role, StepFindings] = {
        "source": next(step for step in source.steps if step.step == name),
        "destination": next(step for step in destination.steps if step.step == name),
    }
    bottleneck: Role | Literal["neither"] | None = None
    text = "which drive held the other up is not known: latencies were not logged"
    if shares is not None:
        held_up: dict[Role, float] = {"destination": shares[0], "source": shares[1]}
        slow = max(held_up, key=lambda role: held_up[role])
        bottleneck = slow if held_up[slow] >= MOSTLY else "neither"
        text = _text(bottleneck, held_up, by_role)
    return CopyStepFindings(
        step=name,
        bytes=None if written_gb is None else round(written_gb * 1e9),
        duration_s=duration_s,
        mb_s=None if written_gb is None or duration_s <= 0 else 1e3 * written_gb / duration_s,
        bottleneck=bottleneck,
        source_pct=None if shares is None else 100 * shares[1],
        destination_pct=None if shares is None else 100 * shares[0],
        text=text,
    )


def _text(
    bottleneck: Role | Literal["neither"],
    held_up: dict[Role, float],
    steps: dict[Role, StepFindings],
) -> str:
    if bottleneck == "neither":
        shares = ", ".join(f"the {role} {100 * share:.0f} %" for role, share in held_up.items())
        return f"neither drive held the other up for most of the time ({shares} of it)"
    other: Role = "source" if bottleneck == "destination" else "destination"
    text = f"the {bottleneck} held up the {other} {100 * held_up[bottleneck]:.0f} % of the time"
    if held_up[other] >= 0.005:
        text += f", the {other} the {bottleneck} {100 * held_up[other]:.0f} %"
    own = [each for each in steps[bottleneck].episodes if each.cause != "limited-by-host"]
    return f"{text}: {_fell(max(own, key=lambda each: each.depth_pct))}" if own else text


def _fell(episode: Episode) -> str:
    named = "its cause is unknown" if episode.cause == "unknown" else episode.cause
    return (
        f"it fell by about {episode.depth_pct:.0f} % after about {episode.onset_s:.0f} s ({named})"
    )
