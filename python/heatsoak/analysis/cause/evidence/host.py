"""What the host says: its processors, its other traffic, the link, how much the load asked for, and
the other drive of a copy."""

import math

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.waiting import fullness, queue_of

#: A core this busy is saturated.
SATURATED_PCT = 95.0
#: And below this it was not, before.
FREE_PCT = 80.0
#: Where processors of laptops and desktops hold themselves back: 95 to 105 C.
CPU_LIMIT_C = 94.0
#: Time that a hypervisor gives to others, beyond what it gave before.
STOLEN_PCT = 5.0
#: Other traffic that makes up this share of what was lost explains it.
EXPLAINS = 0.3
#: A rate this close to what a link carries is bound by it; protocol takes the rest.
NEAR_LINK = (0.75, 1.02)


def cpu(case: Case) -> Finding | None:
    """A saturated core, or all of them, slow any drive."""
    seen = None
    for column, what in (("cpu_core_pct", "a core"), ("cpu_pct", "the CPU")):
        shares = case.before_and_during(column)
        if shares is None:
            continue
        before, during = shares
        said = f"({during:.0f} %, before {before:.0f} %)"
        if during > SATURATED_PCT and before < FREE_PCT:
            return Finding("cpu", "saturated", f"{what} was saturated meanwhile {said}")
        if during > SATURATED_PCT:
            seen = Finding("cpu", "saturated-before-too", f"{what} was saturated all along {said}")
        elif seen is None:
            seen = Finding("cpu", "free", f"the CPU was not saturated {said}")
    return seen


def heat(case: Case) -> Finding | None:
    """A processor at its own limit takes its clock down, and what it can ask of a drive."""
    hottest: tuple[float, float] | None = None
    for column in case.view.columns("temp_c.cpu"):
        temps_c = case.before_and_during(column)
        if temps_c is not None and (hottest is None or temps_c[1] > hottest[1]):
            hottest = temps_c
    if hottest is None:
        return None
    before_c, during_c = hottest
    said = f"the processor was at {during_c:.0f} C meanwhile (before {before_c:.0f} C)"
    if during_c >= CPU_LIMIT_C:
        return Finding("host-heat", "at-its-limit", f"{said}, where processors throttle")
    return Finding("host-heat", "below", said)


def steal(case: Case) -> Finding | None:
    """Time that the hypervisor gave to other machines."""
    shares = case.before_and_during("cpu_steal_pct")
    if shares is None:
        return None
    before, during = shares
    if during >= before + STOLEN_PCT:
        return Finding(
            "steal",
            "stolen",
            f"the hypervisor gave {during:.0f} % of the CPU to others (before {before:.0f} %)",
        )
    return None


def others_traffic(case: Case) -> Finding | None:
    """All traffic of the device by the kernel's counters, less our own."""
    before, during = (
        _others_mb_s(case, begin_s, end_s)
        for begin_s, end_s in (
            (case.level_since_s, case.drop.onset_s),
            (case.drop.onset_s, case.drop.end_s),
        )
    )
    if before is None or during is None or case.view.throughput.unit != "mb_s":
        return None
    more, lost = during - before, case.drop.before - case.drop.during
    if more >= max(EXPLAINS * lost, 0.05 * case.drop.before):
        return Finding(
            "others",
            "busy",
            f"others moved {during:.0f} MB/s on the same device meanwhile (before {before:.0f})",
        )
    return Finding(
        "others", "quiet", f"nobody else used the device (others moved {max(during, 0):.0f} MB/s)"
    )


def _others_mb_s(case: Case, begin_s: float, end_s: float) -> float | None:
    """The mean rate of the device beyond that of the load."""
    readings = [
        case.view.track(column).between(begin_s, end_s)
        for column in ("device_read_mb_s", "device_write_mb_s")
    ]
    if any(len(each) < 3 for each in readings):
        return None
    ours = case.view.throughput.mean(begin_s, end_s)
    return float(sum(np.mean(each) for each in readings)) - ours


def link(case: Case) -> Finding | None:
    """A PCIe link that was trained to less, or that is what bounds the rate."""
    track = case.view.track("link_mb_s")
    if len(track.values) == 0 or case.view.throughput.unit != "mb_s":
        return None
    carries = case.before_and_during("link_mb_s")
    if carries is None:
        return None
    before, during = carries
    low, high = NEAR_LINK
    if during < 0.9 * before and case.drop.during <= high * during:
        return Finding(
            "link",
            "retrained",
            f"the PCIe link went from {before:.0f} to {during:.0f} MB/s",
        )
    if low * during <= case.drop.during <= high * during:
        return Finding("link", "at-its-ceiling", f"the link carries no more than {during:.0f} MB/s")
    return Finding("link", "free", f"the link carries {during:.0f} MB/s, as before")


def waits(case: Case) -> Finding | None:
    """The drive with the full queue is the one that is slow; the other waits for it."""
    partner = case.view.partner
    if partner is None:
        return None
    zero_s = case.view.begin_s
    begin_s, end_s = zero_s + case.drop.onset_s, zero_s + case.drop.end_s
    own, other = queue_of(case.view), queue_of(partner.view)
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


#: I/Os whose mean size changes by more than this factor are another load's.
OTHER_SIZE = 1.5
#: Of what was lost (in logarithms), the part that fewer I/Os in flight explain: from the first on
#: most of it, below the other one hardly any. With as many in flight a slower drive answers later.
MOST, HARDLY = 0.7, 0.3
#: A loss too small to divide among fewer I/Os and later answers.
LEAST_DEPTH = 0.1
#: A shorter drop is none to count what was in flight in.
MIN_DEMAND_S, MIN_DEMAND_SAMPLES = 10.0, 10.0
#: A drive that was busy, and idles in between meanwhile, waits for its load.
BUSY_PCT, IDLES_PCT = 80.0, 60.0
#: And one that idles for so much of the time before as well is not what its load waits for.
HARDLY_BUSY_PCT = 50.0
#: Below this share of the level before nothing was moved.
NOTHING = 0.02
#: A pause this short before the fall, or in it, in samples and at least, belongs to it.
AT_ONCE_S, AT_ONCE_SAMPLES = 2.0, 2.0


def asked(case: Case) -> Finding | None:
    """Whether the load changed, as far as sizes, queues, idling and pauses tell."""
    return _sizes(case) or _in_flight(case) or _idling(case) or _watched(case)


def _sizes(case: Case) -> Finding | None:
    """I/Os of another size are another load's."""
    series, counted = case.view.throughput, case.view.iops
    if series.unit != "mb_s" or len(counted.t_s) == 0:
        return None
    before_kib, during_kib = (
        1e6 / 1024 * series.mean(*span) / per_s if (per_s := counted.mean(*span)) > 0 else math.nan
        for span in _spans(case)
    )
    # of reads and writes that are apart, one may have fallen alone
    if case.view.direction is not None or not (before_kib > 0 and during_kib > 0):
        return None
    if max(before_kib / during_kib, during_kib / before_kib) < OTHER_SIZE:
        return None
    return Finding(
        "demand",
        "other-load",
        f"the load changed: its I/Os were of {before_kib:.3g} KiB before, "
        f"and of {during_kib:.3g} KiB meanwhile",
    )


def _in_flight(case: Case) -> Finding | None:
    """By Little's law: fewer I/Os in flight, each answered as soon, were fewer asked for.

    A copy's drives share one queue: which of them it waits for, `partner` tells.
    """
    if case.view.partner is not None:
        return None
    if case.last_s < max(MIN_DEMAND_S, MIN_DEMAND_SAMPLES * case.view.throughput.sampling_s):
        # what hung answers late, after the drop
        return None
    before, during = (_queue(case, *span) for span in _spans(case))
    rates = [case.view.throughput.mean(*span) for span in _spans(case)]
    if not (before > 0 and during > 0 and rates[0] > 0 and rates[1] > 0):
        return None
    lost = math.log(rates[0] / rates[1])
    if lost < -math.log1p(-LEAST_DEPTH):
        return None
    share = math.log(before / during) / lost
    said = f"{before:.2g} I/Os were in flight before, {during:.2g} meanwhile"
    if share >= MOST:
        return Finding(
            "demand", "fewer", f"{said}, each answered about as soon: less was asked of the drive"
        )
    if share <= HARDLY:
        return Finding("demand", "as-many", f"as much was asked of the drive: {said}")
    return None


def _queue(case: Case, begin_s: float, end_s: float) -> float:
    """How many I/Os were in flight: as logged, or by rates and latencies; NaN if not known."""
    view = case.view
    t_s = view.column("t_s") - view.begin_s
    rows = (t_s > begin_s) & (t_s <= end_s)
    logged = view.column("queue")[rows]
    if np.isfinite(logged).any():
        return float(np.nanmean(logged))
    in_flight, is_known = np.zeros(np.count_nonzero(rows)), np.zeros(np.count_nonzero(rows), bool)
    for prefix in ("read_", "write_", ""):
        per_s, lat_us = (view.column(f"{prefix}{name}")[rows] for name in ("iops", "lat_us"))
        told = np.isfinite(per_s) & np.isfinite(lat_us)
        if np.count_nonzero(told) > 1 and np.ptp(lat_us[told]) == 0:
            # one latency for every rate was not measured
            return math.nan
        if np.any(per_s[~told] > 0):
            return math.nan
        in_flight[told] += per_s[told] * lat_us[told] * 1e-6
        is_known |= told
    return float(np.mean(in_flight[is_known])) if is_known.any() else math.nan


def _idling(case: Case) -> Finding | None:
    """A drive that is slow is busy all the time; one of which less is asked idles in between."""
    shares = [case.view.track("busy_pct").between(*span) for span in _spans(case)]
    if min(len(each) for each in shares) == 0:
        return None
    before, during = (float(np.median(each)) for each in shares)
    if before >= BUSY_PCT and during <= IDLES_PCT:
        return Finding(
            "demand",
            "idler",
            f"the drive was busy {before:.0f} % of the time before, and {during:.0f} % meanwhile: "
            "it waited for its load",
        )
    if max(before, during) < HARDLY_BUSY_PCT:
        return Finding(
            "demand",
            "never-busy",
            f"the drive idled most of the time, before too (busy {before:.0f} %, then "
            f"{during:.0f} %): it did what was asked of it",
        )
    return None


def _watched(case: Case) -> Finding | None:
    """What a logger saw: nobody says that the load asked for the same."""
    if not getattr(case.view.step, "watched", False):
        return None
    series, drop = case.view.throughput, case.drop
    at_once_s = max(AT_ONCE_S, AT_ONCE_SAMPLES * series.sampling_s)
    near = (series.t_s > drop.begin_s - at_once_s) & (
        series.t_s <= drop.onset_s + drop.fall_s + at_once_s
    )
    paused = near & (series.values < NOTHING * drop.before)
    if paused.any() and drop.during > NOTHING * drop.before:
        return Finding(
            "demand",
            "after-a-pause",
            "nothing was moved right before: another load may have begun",
        )
    return Finding(
        "demand",
        "not-known",
        "nobody says that the load asked for as much: its own log would tell",
    )


def _spans(case: Case) -> tuple[tuple[float, float], tuple[float, float]]:
    """The time of the level before, and that of the drop without its fall."""
    drop = case.drop
    settled_s = min(drop.onset_s + drop.fall_s, 0.5 * (drop.onset_s + drop.end_s))
    return (case.level_since_s, drop.onset_s), (settled_s, drop.end_s)
