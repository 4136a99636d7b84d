"""The other drive of a copy: whichever is slower holds up the one that waits for it."""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.waiting import fullness, queue_of


def waits(case: Case) -> Finding | None:
    """The drive with the full queue is the one that is slow; the other waits for it."""
    partner = case.view.partner
    if partner is None:
        return None
    zero_s = case.view.begin_s
    begin_s, end_s = zero_s + case.drop.onset_s, zero_s + case.drop.end_s
    own, other = queue_of(case.view), partner.queue
    if own is None or other is None:
        return None
    full = fullness(own, other, np.array([begin_s, end_s]))
    if not full.is_known.all():
        return None
    here = f"{own.depth * full.own.item():.1f} of {own.depth} I/Os in flight here"
    there = f"{other.depth * full.other.item():.1f} of {other.depth} there"
    also = partner.cause_between(begin_s, end_s)
    same = (
        f"the {partner.role} did not fall by itself"
        if also is None
        else f"the {partner.role} fell at the same time, by {also[0].depth:.0%}"
    )
    if full.own_waits.all():
        if also is not None and also[1] not in ("unknown", "limited-by-host"):
            same += f", and it has the cause ({also[1]})"
        return Finding("partner", "held-up", f"{same}: this drive waited for it, {here}, {there}")
    if full.other_waits.all():
        return Finding("partner", "waited", f"{same}, and waited for this drive: {here}, {there}")
    return Finding("partner", "both-busy", f"{same}; neither waited: {here}, {there}")
