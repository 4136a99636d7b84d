"""Evidence from the host: CPU, other traffic, the link, what the load asked for, and the other
drive of a copy."""

import math

import numpy as np

from heatsoak import words
from heatsoak.analysis import reference
from heatsoak.analysis.cause.case import EVEN, Case, Evidence
from heatsoak.analysis.copies import MIN_DIFFERENCE, fullness
from heatsoak.analysis.series import RateSeries
from heatsoak.analysis.view import StepView

#: A core this busy is saturated.
SATURATED_PCT = 95.0
#: Below this, the core was not saturated before the drop.
FREE_PCT = 80.0
#: Laptop and desktop processors throttle at 95 to 105 C.
CPU_LIMIT_C = 94.0
#: CPU time that the hypervisor gives to others, above what it gave before.
STOLEN_PCT = 5.0
#: Other traffic that makes up this share of what was lost explains it.
EXPLAINS = 0.3
#: A device that moves this share of what it moved before, in all, is as fast as before.
_AS_MUCH = 0.95
#: A rate this close to the link's capacity is limited by it; protocol overhead takes the rest.
NEAR_LINK = (0.75, 1.02)
#: A link is narrow if it carries less than this share of what the drive's own link could.
NARROW_LINK = 0.95


def cpu(case: Case) -> Evidence | None:
    """A saturated core, or all of them, slow any drive."""
    seen = None
    for column, what in (("cpu_core_pct", "a core"), ("cpu_pct", "the CPU")):
        shares = case.before_and_during(column)
        if shares is None:
            continue
        before, during = shares
        said = f"({words.percent_text(during)}, {words.percent_text(before)} before)"
        if during > SATURATED_PCT and before < FREE_PCT:
            return "saturated", f"{what} was saturated during the fall {said}"
        if during > SATURATED_PCT:
            seen = "saturated-before-too", f"{what} was saturated all along {said}"
        elif seen is None:
            seen = "free", f"the CPU was not saturated {said}"
    return seen


def heat(case: Case) -> Evidence | None:
    """A processor at its own limit lowers its clock, and so what it can ask of a drive."""
    hottest: tuple[float, float] | None = None
    for column in case.view.columns("temp_c.cpu"):
        temps_c = case.before_and_during(column)
        if temps_c is not None and (hottest is None or temps_c[1] > hottest[1]):
            hottest = temps_c
    if hottest is None:
        return None
    before_c, during_c = hottest
    before, during = words.temp_text(before_c), words.temp_text(during_c)
    said = f"the processor was at {during} during the fall ({before} before)"
    if during_c >= CPU_LIMIT_C:
        return "at-its-limit", f"{said}, where processors throttle"
    return "below", said


def steal(case: Case) -> Evidence | None:
    """CPU time that the hypervisor gave to other machines."""
    shares = case.before_and_during("cpu_steal_pct")
    if shares is None:
        return None
    before, during = shares
    if during >= before + STOLEN_PCT:
        more = (
            f"{words.percent_text(during)} of the CPU to others ({words.percent_text(before)} "
            "before)"
        )
        return "stolen", f"the hypervisor gave {more}"
    return None


def others_traffic(case: Case) -> Evidence | None:
    """The device's total traffic by the kernel's counters, minus our own."""
    before, during = (_others_mb_s(case, *span_s) for span_s in case.spans_s)
    if before is None or during is None or case.view.throughput.unit != "mb_s":
        return None
    rates = (
        f"{words.rate_text(round(during))} during the fall, "
        f"{words.rate_text(max(round(before), 0))} before"
    )
    more = during - before
    if more >= _explaining_mb_s(case):
        whole = case.drop.before + max(before, 0.0), case.drop.during + during
        if whole[1] >= _AS_MUCH * whole[0]:
            told = f"{words.rate_text(round(whole[1]))}, {words.rate_text(round(whole[0]))} before"
            return "took-it", f"others had what it lost: the device moved as much in all: {told}"
        return "busy", f"others moved much on the same device: {rates}"
    little = NOTHING * case.drop.before
    if during < little:
        text = "nobody else used the device"
        if during >= 0.5:
            text = f"others moved next to nothing on the same device: {rates}"
        return "quiet", text
    if more >= little:
        return "quiet", f"others moved too little on the same device to explain the fall: {rates}"
    return "quiet", f"others moved no more on the same device than before: {rates}"


def _explaining_mb_s(case: Case) -> float:
    """How much more traffic of others explains the drop."""
    return max(EXPLAINS * (case.drop.before - case.drop.during), 0.05 * case.drop.before)


def other_drives(case: Case) -> Evidence | None:
    """What the machine's other drives moved, or an array's own beyond what was asked of it."""
    track = case.view.track("other_drives_mb_s")
    readings = [track.between(*span_s) for span_s in case.spans_s]
    if min(map(len, readings)) < 3 or case.view.throughput.unit != "mb_s":
        return None
    before, during = (float(np.median(each)) for each in readings)
    goes_up_and_down = np.quantile(readings[1], 0.25) < np.quantile(readings[0], 0.9)
    if goes_up_and_down or during - before < _explaining_mb_s(case):
        return None
    return "busier", (
        f"the machine's other drives moved {words.rate_text(during)} during the fall, "
        f"{words.rate_text(before)} before: they may share a link, or an array was rebuilt"
    )


def _others_mb_s(case: Case, start_s: float, end_s: float) -> float | None:
    """The device's mean rate minus that of the load."""
    readings = [
        case.view.track(column).between(start_s, end_s)
        for column in ("device_read_mb_s", "device_write_mb_s")
    ]
    if any(len(each) < 3 for each in readings):
        return None
    ours = case.view.throughput.mean(start_s, end_s)
    return float(sum(np.mean(each) for each in readings)) - ours


def link(case: Case) -> Evidence | None:
    """A PCIe link that retrained to a lower speed, or that limits the rate."""
    carries = case.before_and_during("link_mb_s")
    if carries is None or case.view.throughput.unit != "mb_s":
        return None
    before, during = carries
    low, high = NEAR_LINK
    if during < 0.9 * before and case.drop.during <= high * during:
        return (
            "retrained",
            f"the PCIe link went from {words.rate_text(before)} to {words.rate_text(during)}",
        )
    if low * during <= case.drop.during <= high * during:
        return "at-its-ceiling", f"the link carries no more than {words.rate_text(during)}"
    return "free", f"the link carries {words.rate_text(during)}, as before"


def limited_by_link(view: StepView) -> str | None:
    """Return why the link limits a step's throughput, not its drive; None if it does not.

    A rate at the ceiling of a link with fewer lanes or an older generation than the drive supports
    would be higher in another host.
    """
    series, known = view.throughput, view.course.link_ceiling_mb_s
    if series.unit != "mb_s" or not view.has_rates or known is None:
        return None
    ceiling, most = known
    # links sleep when idle: what they carry under load counts
    readings = view.track("link_mb_s").values
    ceiling = float(np.median(readings)) if len(readings) else ceiling
    level = float(np.median(series.values))
    low, high = reference.NEAR_CEILING
    if ceiling >= NARROW_LINK * most or not low * ceiling <= level <= high * ceiling:
        return None
    carries = f"{words.rate_text(ceiling)} before protocol overhead"
    return (
        f"{words.rate_text(level)} is all that its PCIe link carries ({carries}); at the drive's "
        f"full width and speed it would carry {words.rate_text(most)}"
    )


def waits(case: Case) -> Evidence | None:
    """The drive with the full queue is the one that is slow; the other waits for it."""
    partner = case.view.partner
    if partner is None:
        return _array(case)
    zero_s = case.view.start_s
    start_s, end_s = zero_s + case.drop.onset_s, zero_s + case.around_s
    full = fullness(case.view, partner.view, np.array([start_s, end_s]))
    if full is None or not np.isfinite(full).all():
        return None
    here, there = (share.item() for share in full)
    here_text, there_text = (
        f"{words.number_text(share * (view.step.iodepth or 0), 2)} of {view.step.iodepth}"
        for share, view in ((here, case.view), (there, partner.view))
    )
    in_flight = f"{here_text} I/Os in flight here, {there_text} there"
    their_drop = partner.cause_between(start_s, end_s)
    same = f"the {partner.role} did not fall on its own"
    if their_drop is not None:
        depth = words.share_text(their_drop[0].depth)
        same = f"the {partner.role} fell at the same time, by {depth}"
    if there - here >= MIN_DIFFERENCE:
        if their_drop is not None and their_drop[1] not in ("unknown", "limited-by-host"):
            same += f", and the cause is there ({their_drop[1]})"
        return "held-up", f"{same}: this drive waited for it, {in_flight}"
    if here - there >= MIN_DIFFERENCE:
        return "waited", f"{same}, and waited for this drive: {in_flight}"
    return "both-busy", f"{same}; neither waited: {in_flight}"


#: Members of an array fall within this time of each other, or two samples, and by this much as far.
_TOGETHER_S, _AS_FAR = 2.0, 0.1
#: The member that the others wait for has this many times as many I/Os in flight.
_HOLDS_UP = 4.0


def _array(case: Case) -> Evidence | None:
    """Of drives that fall together, the one with the full queue is slow; the others wait for it."""
    drop, zero_s = case.drop, case.view.start_s
    within_s = max(_TOGETHER_S, 2 * case.view.throughput.sampling_s)
    fell = [
        (_queue(view, *_during(case, view)), name)
        for name, view in case.view.beside
        if any(
            abs(view.start_s + other.onset_s - zero_s - drop.onset_s) <= within_s
            and abs(other.depth - drop.depth) <= _AS_FAR
            for other in view.drops or []
        )
    ]
    here = _queue(case.view, *_during(case, case.view))
    if not fell or not math.isfinite(here) or not all(math.isfinite(count) for count, _ in fell):
        return None
    there, name = max(fell)
    in_flight = f"{words.number_text(here, 2)} I/Os in flight here, {words.number_text(there, 2)}"
    if there >= _HOLDS_UP * max(here, 0.25):
        return (
            "held-up",
            f"{name} fell at the same time: this drive waited for it, {in_flight} there",
        )
    if here >= _HOLDS_UP * max(there, 0.25):
        many = words.counted(len(fell), "other drive")
        return "waited", f"{many} fell at the same time and waited for this one: {in_flight} there"
    return None


def _during(case: Case, view: StepView) -> tuple[float, float]:
    """The time of a drop, from the start of a step beside it."""
    shift_s = case.view.start_s - view.start_s
    return case.drop.onset_s + shift_s, case.around_s + shift_s


#: If the mean I/O size changes by more than this factor, the load is a different one.
OTHER_SIZE = 1.5
#: The part of the loss (in logarithms) that fewer I/Os in flight explain: at the first value and
#: above most of it, below the second hardly any. With as many I/Os in flight, a slower drive
#: answers later.
MIN_EXPLAINED, MAX_UNEXPLAINED = 0.7, 0.3
#: Computed from means, the I/Os in flight may exceed the queue depth by up to this factor.
_MOST_IN_FLIGHT = 1.3
#: A smaller loss cannot be divided between fewer I/Os and later answers.
MIN_DEPTH = 0.1
#: In shorter drops the I/Os in flight are not counted.
MIN_DEMAND_S, MIN_DEMAND_SAMPLES = 10.0, 10.0
#: A drive that was busy before and idles at times during the drop is waiting for its load.
BUSY_PCT, IDLES_PCT = 80.0, 60.0
#: A drive this idle before the drop as well is not what its load waits for.
HARDLY_BUSY_PCT = 50.0
#: A drive was asked for work throughout where it was this much of its usual time busy; where it
#: was not for more than the rest of the second, it tells little of its speed.
_ASKED, _MOSTLY = 0.9, 0.5
#: Below this share of the level before, nothing was moved.
NOTHING = 0.02
#: A pause this close to the fall belongs to it: in seconds, and at least so many samples.
AT_ONCE_S, AT_ONCE_SAMPLES = 2.0, 2.0


def asked(case: Case) -> Evidence | None:
    """Whether the load changed, judged by I/O sizes, queues, idling and pauses."""
    return (
        _sizes(case) or _in_flight(case) or _idling(case) or _latency_alone(case) or _watched(case)
    )


def _sizes(case: Case) -> Evidence | None:
    """I/Os of another size come from another load."""
    series, counted = case.view.throughput, case.view.iops
    if series.unit != "mb_s" or len(counted.t_s) == 0:
        return None
    before_kib, during_kib = (
        1e6 / 1024 * series.mean(*span) / per_s if (per_s := counted.mean(*span)) > 0 else math.nan
        for span in _spans(case)
    )
    # where reads and writes are separate, one may have fallen alone
    if case.view.direction is not None or not (before_kib > 0 and during_kib > 0):
        return None
    if max(before_kib / during_kib, during_kib / before_kib) < OTHER_SIZE:
        return None
    return "other-load", (
        f"the load changed: its I/Os were {words.amount_text(before_kib, 'KiB')} before, "
        f"and {words.amount_text(during_kib, 'KiB')} during the fall"
    )


def _in_flight(case: Case) -> Evidence | None:
    """By Little's law, fewer I/Os in flight that are answered as fast mean that fewer were asked
    for.

    A copy's drives share one queue: `partner` tells which of them it waits for.
    """
    if case.view.partner is not None:
        return None
    if case.drop.length_s < max(MIN_DEMAND_S, MIN_DEMAND_SAMPLES * case.view.throughput.sampling_s):
        # I/Os that hung complete late, after the drop
        return None
    before, during = (_queue(case.view, *span) for span in _spans(case))
    if before > _MOST_IN_FLIGHT * _asked_at_once(case):
        return None  # the latencies are of something else
    rates = [case.view.throughput.mean(*span) for span in _spans(case)]
    if not (before > 0 and during > 0 and rates[0] > 0 and rates[1] > 0):
        return None
    lost = math.log(rates[0] / rates[1])
    if lost < -math.log1p(-MIN_DEPTH):
        return None
    share = math.log(before / during) / lost
    said = (
        f"{words.number_text(before, 2)} I/Os were in flight before, "
        f"{words.number_text(during, 2)} during the fall"
    )
    if share >= MIN_EXPLAINED:
        return "fewer", f"{said}, each answered about as fast: the load asked for less"
    if share <= MAX_UNEXPLAINED:
        return "as-many", f"the load asked for as much as before: {said}"
    return None


def _asked_at_once(case: Case) -> float:
    """How many I/Os the load keeps in flight at most; infinite where that is not known."""
    step = case.view.step
    depth, jobs = getattr(step, "iodepth", None), getattr(step, "numjobs", None)
    return math.inf if depth is None else float(depth * (jobs or 1))


def _queue(view: StepView, start_s: float, end_s: float) -> float:
    """How many I/Os were in flight: as logged, or from rates and latencies; NaN if unknown."""
    t_s = view.column("t_s") - view.start_s
    rows = (t_s > start_s) & (t_s <= end_s)
    if not np.isfinite(view.column("queue")[rows]).any():
        for _, lat_us in view.rates_and_latencies():
            measured = lat_us[rows & np.isfinite(lat_us)]
            if len(measured) > 1 and np.ptp(measured) == 0:
                # a latency that is the same at every rate was not measured
                return math.nan
    count = view.in_flight()[rows]
    known = np.isfinite(count)
    return float(np.mean(count[known])) if known.any() else math.nan


def _idling(case: Case) -> Evidence | None:
    """A slow drive is busy all the time; a drive that is asked for less idles in between."""
    shares = [case.view.track("busy_pct").between(*span) for span in _spans(case)]
    if min(len(each) for each in shares) == 0:
        return None
    # what works at times is as busy as it is on the whole
    level = np.mean if case.drop.oscillates else np.median
    before, during = float(np.median(shares[0])), float(level(shares[1]))
    if before >= BUSY_PCT and (waited := _stood_still(case)) is not None:
        return waited
    busy = (
        f"busy {words.percent_text(before)} of the time before, {words.percent_text(during)} during"
        " the fall"
    )
    if min(before, during) >= BUSY_PCT:
        return "as-many", f"the drive was as busy as before: {busy}"
    if before >= BUSY_PCT and during <= IDLES_PCT:
        return "idler", f"the drive was waiting for its load: {busy}"
    if max(before, during) < HARDLY_BUSY_PCT:
        return "never-busy", f"the drive did what it was asked to do: {busy}"
    return None


def while_asked(view: StepView) -> RateSeries:
    """Return a step's throughput without samples in which a drive that was busy idled at times.

    Of one that hardly ever was busy, or idled most of the time, all of it.
    """
    series, busy = view.throughput, view.track("busy_pct")
    if len(busy.values) == 0 or len(series.t_s) == 0:
        return series
    shares = busy.along(series.t_s)
    usual = float(np.median(shares))
    asked_for = shares >= _ASKED * usual
    is_told = usual >= BUSY_PCT and np.mean(asked_for) > _MOSTLY
    return series.only(asked_for) if is_told else series


def _stood_still(case: Case) -> Evidence | None:
    """Whether all that was lost was lost in times without work: else it was as fast as before."""
    series, drop, busy = case.view.throughput, case.drop, case.view.track("busy_pct")
    inside = (series.t_s > drop.onset_s) & (series.t_s <= drop.end_s)
    rates, each_s = series.values[inside], series.interval_s[inside]
    shares = busy.along(series.t_s[inside])
    idle = (rates <= NOTHING * drop.before) & (shares < HARDLY_BUSY_PCT)
    lost = np.maximum(drop.before - rates, 0.0) * each_s
    if not idle.any() or float(lost[idle].sum()) < MIN_EXPLAINED * float(lost.sum()):
        return None
    still_s = float(each_s[idle].sum())
    return (
        "stood-still",
        f"it stood still for {words.seconds_text(still_s)}, and was asked for nothing then",
    )


def _latency_alone(case: Case) -> Evidence | None:
    """Nothing but latencies of a load whose queue nobody tells."""
    if case.view.throughput.unit != "lat_us" or getattr(case.view.step, "iodepth", None):
        return None
    text = "only latencies were logged, which a deeper queue raises too: throughput would tell"
    return "latency-alone", text


def _watched(case: Case) -> Evidence | None:
    """In a log of somebody else's load: nothing says that the load asked for the same."""
    if not getattr(case.view.step, "watched", False):
        return None
    series, drop = case.view.throughput, case.drop
    at_once_s = max(AT_ONCE_S, AT_ONCE_SAMPLES * series.sampling_s)
    near = (series.t_s > drop.begin_s - at_once_s) & (
        series.t_s <= drop.onset_s + drop.fall_s + at_once_s
    )
    paused = near & (series.values < NOTHING * drop.before)
    if paused.any() and drop.during > NOTHING * drop.before:
        return "after-a-pause", "nothing was moved just before: another load may have started"
    if all(case.unevenness(*span) < EVEN for span in _spans(case)):
        text = "it ran evenly before and during the fall, as a load does that takes all it can get"
        return "even", text
    text = "nothing shows that the load asked for as much as before: its own log would show it"
    return "not-known", text


def _spans(case: Case) -> tuple[tuple[float, float], tuple[float, float]]:
    """The time span of the level before, and of the drop after it has settled."""
    drop = case.drop
    settled_s = min(drop.onset_s + drop.fall_s, 0.5 * (drop.onset_s + case.around_s))
    return (case.level_since_s, drop.onset_s), (settled_s, case.around_s)
