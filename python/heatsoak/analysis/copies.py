"""Copies from one drive to another: which of the two slowed the other down.

The one that waits is the one whose queue is not full.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from itertools import chain, permutations
from typing import Literal

import numpy as np

from heatsoak.analysis import findings
from heatsoak.analysis.series import Array, RateSeries
from heatsoak.analysis.view import Partner, RecordingView, StepView
from heatsoak.protocol import Role
from heatsoak.recording import Recording
from heatsoak.words import duration_text, share_text

#: Queues that differ by less than this share of their depth count as equally full.
MIN_DIFFERENCE = 0.25
#: The time step in which each drive is found to wait or not.
_STEP_S = 1.0
#: A side that waits for this share of the time never ran at its own speed.
ALWAYS = 0.9
#: A side that the other waits for in this share of the time limits the copy.
MOSTLY = 0.5


def pairs_of_copies(recordings: Sequence[RecordingView]) -> list[tuple[int, int]]:
    """Return the indices of source and destination of each copy that both are given of."""
    sides: dict[str, dict[Role, int]] = {}
    for index, one in enumerate(recordings):
        part = one.recording.meta.part_of_copy
        if part is not None:
            sides.setdefault(part.id, {}).setdefault(part.role, index)
    return [(s["source"], s["destination"]) for s in sides.values() if len(s) == 2]


def link_partners(source: RecordingView, destination: RecordingView) -> None:
    """Connect the steps of a copy's two sides as each other's partner."""
    reading = {view.step.name: view for view in source.views}
    for view in destination.views:
        other = reading.get(view.step.name)
        if other is not None:
            view.partner = Partner("source", other)
            other.partner = Partner("destination", view)


def link_drives_of_one_log(recordings: Sequence[RecordingView]) -> None:
    """Tell each load of a log which loads of other drives ran beside it, as in an array."""
    logs: dict[tuple[str, float | None], list[RecordingView]] = defaultdict(list)
    for one in recordings:
        if (meta := one.recording.meta).protocol.is_observed:
            logs[one.recording.path_text, meta.started_unix_s].append(one)
    for one, other in chain.from_iterable(permutations(of_one, 2) for of_one in logs.values()):
        drive = other.recording.meta.drive
        name = str(drive.get("path") or drive.get("model") or "another drive")
        for view in one.views:
            view.beside += [
                (name, each)
                for each in other.views
                if min(view.end_s, each.end_s) > max(view.start_s, each.start_s)
            ]


def in_flight(view: StepView) -> RateSeries | None:
    """Return how many I/Os were in flight: none while none was completed, as for a side that waits.

    Times count from the recording's start. None if the depth of the queue is unknown. A logged
    queue is the copy's, wherever its I/Os wait.
    """
    if not view.step.iodepth:
        return None
    rates = np.array([per_s for per_s, _ in view.rates_and_latencies()])
    has_stopped = np.isfinite(rates).any(axis=0) & (np.nansum(rates, axis=0) == 0)
    count = np.where(has_stopped, 0.0, view.in_flight_by_latency())
    t_s, interval_s = view.column("t_s"), view.column("interval_s")
    known = np.isfinite(count) & np.isfinite(interval_s)
    return RateSeries(t_s[known], interval_s[known], count[known], "iops")


def fullness(own: StepView, other: StepView, edges_s: Array) -> tuple[Array, Array] | None:
    """Return how full both queues were between neighbouring edges, 0 to 1; NaN where unknown."""
    queues, depths = (in_flight(own), in_flight(other)), (own.step.iodepth, other.step.iodepth)
    if queues[0] is None or queues[1] is None or not (depths[0] and depths[1]):
        return None
    return queues[0].means(edges_s) / depths[0], queues[1].means(edges_s) / depths[1]


def waiting_shares(own: StepView, other: StepView) -> tuple[float, float] | None:
    """Return the share of the time in which `own` waited for `other`, and the other way round.

    Second by second, while both ran; None if the queues are unknown.
    """
    start_s, end_s = max(own.start_s, other.start_s), min(own.end_s, other.end_s)
    if end_s <= start_s:
        return None
    edges_s = np.linspace(start_s, end_s, max(int((end_s - start_s) / _STEP_S), 1) + 1)
    full = fullness(own, other, edges_s)
    if full is None:
        return None
    fuller = full[1] - full[0]
    fuller = fuller[np.isfinite(fuller)]
    if len(fuller) == 0:
        return None
    return float(np.mean(fuller >= MIN_DIFFERENCE)), float(np.mean(-fuller >= MIN_DIFFERENCE))


def always_waited(view: StepView) -> str | None:
    """Return a sentence if a step that never fell waited for the copy's other side all the time."""
    partner = view.partner
    shares = None if partner is None else waiting_shares(view, partner.view)
    if partner is None or shares is None or shares[0] < ALWAYS:
        return None
    return f"it waited for the {partner.role} {share_text(shares[0])} of the time"


def lone_side_note(recording: Recording, *, is_alone: bool) -> str | None:
    """Return a note on a recording that is one side of a copy whose other side is not given."""
    part = recording.meta.part_of_copy
    if part is None or not is_alone:
        return None
    other = "destination" if part.role == "source" else "source"
    return (
        f"it is the {part.role} of a copy, and the {other}'s recording ({part.partner} as seen "
        "from it) was not given: whether that side slowed it down is unknown"
    )


def copy_findings(
    source: tuple[RecordingView, findings.RecordingFindings],
    destination: tuple[RecordingView, findings.RecordingFindings],
) -> findings.CopyFindings:
    """Return what both sides of a copy show together."""
    found = {view.step.name: view for view in source[0].views}
    steps = [
        _step(found[view.step.name], view, source[1], destination[1])
        for view in destination[0].views
        if view.step.name in found
    ]
    paths = source[1].path, destination[1].path
    return findings.CopyFindings(source=paths[0], destination=paths[1], steps=steps)


def _step(
    reading: StepView,
    writing: StepView,
    source: findings.RecordingFindings,
    destination: findings.RecordingFindings,
) -> findings.CopyStepFindings:
    name = writing.step.name
    start_s = min(reading.start_s, writing.start_s)
    duration_s = max(reading.end_s, writing.end_s) - start_s
    written_gb = writing.written_gb(math.inf)
    shares = waiting_shares(reading, writing)
    by_role: dict[Role, findings.StepFindings] = {
        "source": next(step for step in source.steps if step.step == name),
        "destination": next(step for step in destination.steps if step.step == name),
    }
    bottleneck: Role | Literal["neither"] | None = None
    text = "which drive slowed the other down is not known: latencies were not logged"
    if shares is not None:
        slowed_other: dict[Role, float] = {"destination": shares[0], "source": shares[1]}
        slow = max(slowed_other, key=lambda role: slowed_other[role])
        bottleneck = slow if slowed_other[slow] >= MOSTLY else "neither"
        text = _text(bottleneck, slowed_other, by_role)
    return findings.CopyStepFindings(
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
    slowed_other: dict[Role, float],
    steps: dict[Role, findings.StepFindings],
) -> str:
    if bottleneck == "neither":
        shares = [f"the {role} {share_text(share)}" for role, share in slowed_other.items()]
        told = f"{', '.join(shares)} of it"
        return f"neither drive slowed the other down for most of the time ({told})"
    other: Role = "source" if bottleneck == "destination" else "destination"
    share = share_text(slowed_other[bottleneck])
    text = f"the {bottleneck} slowed the {other} down {share} of the time"
    if slowed_other[other] >= 0.005:
        text += f", the {other} the {bottleneck} {share_text(slowed_other[other])}"
    own = [each for each in steps[bottleneck].episodes if each.cause != "limited-by-host"]
    return f"{text}: {_fell(max(own, key=lambda each: each.depth_pct))}" if own else text


def _fell(episode: findings.Episode) -> str:
    cause = "its cause is unknown" if episode.cause == "unknown" else episode.cause
    return f"it fell by {episode.depth_text} after {duration_text(episode.onset_s)} ({cause})"
