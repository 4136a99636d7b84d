"""The shape of the drop itself: how steep and how noisy it is, whether it ends, whether reads or
writes fall, and after how many bytes."""

from operator import attrgetter

import numpy as np

from heatsoak import words
from heatsoak.analysis import reference
from heatsoak.analysis.cause.case import AT_ONCE_S, EVEN, Case, Evidence
from heatsoak.analysis.cause.evidence import temperature
from heatsoak.analysis.cause.evidence.repeats import ALIKE_DEPTH, is_as_hot
from heatsoak.analysis.definitions import HELD_WITHIN_K
from heatsoak.analysis.likeness import alike
from heatsoak.analysis.view import StepView
from heatsoak.units import GB, MB

#: A drop that lasts this long had time to end.
LONG_S = 60.0
#: A cache or spare area is used up at once; heat acts slowly, unless the governor acts in steps.
FALLS_S = (("sharp-step", AT_ONCE_S), ("step", 8.0), ("gradual", 30.0))
_HOW = {"sharp-step": "at once", "step": "quickly", "gradual": "gradually", "slow": "slowly"}
#: How much of the level before the drop is lost, in words. Behind a full cache, or while collecting
#: garbage, flash still writes a twentieth and more; some governors leave less.
LOST = (("little", 0.2), ("some", 0.4), ("half", 0.6), ("much", 0.8), ("most", 0.95))
#: This many times as noisy as before.
WILDER = 2.5
#: Fewer samples are too few to measure scatter.
MIN_SAMPLES = 20
#: A link that is halved leaves half, but for its overhead.
HALF_WITHIN = 0.03
#: A rate that varies less than this many times as much as before is as even as before: the spread
#: of a few dozen samples differs as much by chance.
AS_EVEN = 1.2
#: If power falls this much less than the rate, the drive spends it on something else.
SPENT_INSIDE = 0.25


def shape(case: Case) -> Evidence | None:
    """A step, a slide, or a cycle with its period."""
    drop = case.drop
    if drop.shape == "cycle":
        period = "" if drop.period_s is None else f" every {words.seconds_text(drop.period_s)}"
        return "cycle", f"it oscillates between levels{period}, as under a governor"
    if drop.shape == "slide":
        over = f" over {words.seconds_text(drop.fall_s)}" if drop.fall_s >= 1 else ""
        found = temperature.course(case)
        if found is not None and found[0] == "stopped":
            why = "once the temperature reached the level that it then held"
            return "slide-to-a-limit", f"it slid down{over}, {why}"
        return "slide", f"it slid down{over}"
    sampling_s = case.view.throughput.sampling_s
    if drop.onset_s + drop.fall_s > case.own_end_s - sampling_s and case.own_end_s < drop.end_s:
        return None  # the level between two falls is no part of either
    kind = next((name for name, most_s in FALLS_S if drop.fall_s <= most_s + sampling_s), "slow")
    took = words.seconds_text(max(drop.fall_s, sampling_s))
    return kind, f"it fell {_HOW[kind]}: 90 % of it took {took}"


def depth(case: Case) -> Evidence:
    """How much was lost: garbage collection takes most of it, a governor a part or nearly all."""
    lost = case.drop.depth
    seen = next((name for name, below in LOST if lost < below), "nearly-all")
    return seen, f"it lost {words.share_text(lost)} of its speed"


def ratio(case: Case) -> Evidence | None:
    """A PCIe link that loses a generation or half its lanes halves what it carries, evenly."""
    drop = case.drop
    kept = drop.during / drop.before
    if drop.oscillates or drop.recovered or drop.fall_s > FALLS_S[0][1]:
        return None
    if case.before_and_during("link_mb_s") is not None or abs(kept - 0.5) > HALF_WITHIN:
        return None
    before = case.unevenness(*case.spans_s[0])
    during = case.unevenness(case.settled_s, drop.end_s)
    if during >= EVEN and not during < AS_EVEN * before < np.inf:
        return None
    how = "evenly" if during < EVEN else "as evenly as before"
    why = "as when a PCIe link loses half its lanes or a generation"
    return "halved", f"{words.share_text(kept)} was left, {how}, {why}"


#: No governor lets a drive do so much more than before it fell.
FASTER = 1.1


def end(case: Case) -> Evidence | None:
    """Whether it ended under the same load; a cache or spare area seldom recovers on its own."""
    if case.drop.oscillates:
        return None
    if case.drop.recovered:
        lasted = words.seconds_text(case.drop.length_s)
        said = f"it ended on its own after {lasted}, under the same load"
        back_s = case.drop.back_s
        after = case.view.throughput.mean(back_s, back_s + LONG_S)
        temps_c = case.view.temp.between(back_s, back_s + LONG_S).tolist()
        is_as_hot = case.onset_c is not None and max(temps_c, default=-273.0) >= case.onset_c
        if is_as_hot and after > FASTER * case.drop.before:
            more = words.share_text(after / case.drop.before - 1)
            return "faster-than-before", f"{said}, and went on {more} faster than before"
        return "by-itself", said
    left_s = case.view.throughput.duration_s - case.drop.end_s
    # a deeper fall may have ended it
    if case.drop.length_s >= LONG_S and left_s < LONG_S:
        length = words.seconds_text(case.drop.length_s)
        is_end = case.view.lasting_drop is case.drop or left_s < 1
        until = f", until {words.seconds_text(left_s)} before the step's end"
        return (
            "lasted",
            f"it lasted to the end, {length}" if is_end else f"it lasted {length}{until}",
        )
    return None


def unrest(case: Case) -> Evidence | None:
    """How much the rate scatters from sample to sample, compared with before."""
    series, drop = case.view.throughput, case.drop
    before = _scatter(series.between(case.level_since_s, drop.onset_s).values)
    during = _scatter(series.between(case.settled_s, drop.end_s).values)
    if before is None or during is None or drop.oscillates:
        return None
    shares = f"{words.share_text(during)} from sample to sample, {words.share_text(before)} before"
    if during > WILDER * max(before, 0.005):
        return "wilder", f"it scatters more: {shares}"
    return "alike", f"it scatters as before: {shares}"


def _scatter(values: np.ndarray) -> float | None:
    """The median relative difference between neighbouring samples."""
    if len(values) < MIN_SAMPLES:
        return None
    level = float(np.median(values))
    return float(np.median(np.abs(np.diff(values)))) / level if level > 0 else None


def power(case: Case) -> Evidence | None:
    """A drive that moves data internally draws power for it; a throttled one draws less."""
    powers = case.before_and_during("power_w")
    if powers is None or powers[0] <= 0:
        return None
    kept, rate = powers[1] / powers[0], case.drop.during / case.drop.before
    before, during = (words.amount_text(power_w, "W") for power_w in powers)
    moved = f"stayed at {before}" if before == during else f"went from {before} to {during}"
    if kept - rate >= SPENT_INSIDE:
        return "kept", f"power {moved}: the drive was busy with internal work"
    return "fell", f"power {moved}, as the rate {'nearly ' * (before == during)}did"


#: Heat slows writes about as much as reads; this much more has another cause.
FAR_DEEPER = 0.25
#: The kernel joins the writes of one stream to 128 KiB and more; tests of random ones use 4 to 16.
SMALL_KIB, LARGE_KIB = 20.0, 100.0


def load(case: Case) -> Evidence | None:
    """The step's own load."""
    step = case.view.step
    rw = step.rw or ""
    if not step.writes:
        return "reads", "reads fell, which an exhausted cache or spare area does not cause"
    if step.reads:
        if rw or (case.view.columns("read_") and case.view.columns("write_")):
            return "mixed", "reads and writes ran together"
        return "untold", "the log does not say whether these were reads or writes"
    if rw.startswith("rand"):
        return "random-writes", "random writes use up spare area, and caches as well"
    if rw:
        return "sequential-writes", "sequential writes use up a cache, seldom spare area"
    size_kib = _request_kib(case)
    writes = f"writes of {words.amount_text(size_kib, 'KiB', 2)}"
    if size_kib <= SMALL_KIB:
        return "small-writes", f"{writes}, as random ones are: those use up spare area"
    if size_kib >= LARGE_KIB:
        return "large-writes", f"{writes}, as one stream makes: those use up a cache"
    return "writes", "writes, in an unknown order"


def _request_kib(case: Case) -> float:
    """The mean size of a write before the onset; NaN if the log does not tell."""
    rates, counts = case.view.throughput, case.view.iops
    if rates.unit != "mb_s" or not len(counts.values):
        return float("nan")
    level_s, _ = case.spans_s
    return rates.mean(*level_s) * MB / max(counts.mean(*level_s), 1.0) / 1024


def no_cache(case: Case) -> Evidence | None:
    """A write cache cannot fill up in a drive that has none, by the catalog."""
    known = case.view.course.known
    if not case.view.step.writes or known is None or known.drive.cache is not None:
        return None
    return "no-cache", f"the {case.view.course.drive['model']} has no write cache"


def both_ways(case: Case) -> Evidence | None:
    """Reads that fell as writes do, from full speed and after a similar time."""
    if case.view.step.writes:
        return None
    for view in case.others:
        if view.step.writes and _fell_alike(view, case):
            return "fell", f"writes fell in the same way, in '{view.step.name}'"
    return None


def reads_beside(case: Case) -> Evidence | None:
    """Whether reads of the same drive fell too."""
    if not case.view.step.writes:
        return None
    steps = _read_steps(case)
    if not steps:
        return "none", (
            "no step only read: an exhausted cache or spare area would look the same, "
            "and a read step would tell"
        )
    for view in steps:
        if _fell_alike(view, case):
            return "fell", f"reads fell in the same way, in '{view.step.name}'"
    for view in steps:
        slow = reference.lost_from_start(view, steps)
        # what takes most of the writes and little of the reads need not be one thing
        if slow is not None and case.drop.depth <= slow[0] + FAR_DEEPER:
            left = words.share_text(1 - slow[0])
            return "slow-too", (
                f"reads were slower too: '{view.step.name}' started at {left} of the speed of the "
                "same reads"
            )
    held = [view for view in steps if not view.drops and not _may_be_slowed(view, steps)]
    for view in held:
        top_c = max(view.temp.values, default=None)
        if top_c is not None and case.onset_c is not None and top_c >= case.onset_c - HELD_WITHIN_K:
            where = f"at {words.temp_text(top_c)}, in '{view.step.name}'"
            return "held-as-hot", f"reads kept their speed {where}"
    return ("held", f"reads kept their speed, in '{held[0].step.name}'") if held else None


def depth_beside_reads(case: Case) -> Evidence | None:
    """Writes that lose far more than reads do to heat have another cause, or one more."""
    if not case.view.step.writes:
        return None
    fell = [(max(drop.depth for drop in v.drops or []), v) for v in _read_steps(case) if v.drops]
    if not fell:
        return None
    depth, view = max(fell, key=lambda pair: pair[0])
    if case.drop.depth <= depth + FAR_DEEPER:
        return None
    lost = (
        f"it lost {words.share_text(case.drop.depth)}, and no read more than "
        f"{words.share_text(depth)}"
    )
    return "far-deeper", (
        f"{lost} ('{view.step.name}'): an exhausted cache or spare area hits writes alone"
    )


def _may_be_slowed(view: StepView, steps: list[StepView]) -> bool:
    """Whether it started right after a drop, and no read of the same load shows full speed."""
    rested = (other for other in steps if other.slowed_by is None)
    return view.slowed_by is not None and not any(alike(o.step, view.step) for o in rested)


def _read_steps(case: Case) -> list[StepView]:
    return [v for v in case.others if not v.step.writes and v.drops is not None]


def _fell_alike(view: StepView, case: Case) -> bool:
    """Whether a step fell as deep and, if that is known, as hot, with an onset within a factor of
    two."""
    here_c = case.onset_c
    return any(
        abs(drop.depth - case.drop.depth) <= ALIKE_DEPTH
        and 0.5 <= (drop.onset_s + 1) / (case.drop.onset_s + 1) <= 2
        and (
            here_c is None
            or (there_c := view.temp.at(drop.onset_s)) is None
            or abs(there_c - here_c) <= temperature.NEAR_ONSET_K
        )
        for drop in view.drops or []
    )


#: Below this share of the drive written since a purge, there is flash that was never written.
FILLED = 0.9
#: Up to this share, spare area is written for the first time: drives have 7 to 28 %.
BRIM = 1.4
#: Counts that differ by less than this share are the same.
SAME = 0.15
#: Counts that differ by more than this share are different.
OTHER = 0.3


def against_capacity(case: Case) -> Evidence | None:
    """How much had been written when it fell, compared with the size of the drive."""
    course, drop = case.view.course, case.drop
    here_gb = case.view.written_gb(drop.onset_s)
    if course.drive_gb is None or here_gb is None or not case.view.step.writes:
        return None
    written_gb = here_gb + case.view.written_before_gb
    share = written_gb / course.drive_gb
    said = (
        f"{words.amount_text(written_gb, 'GB')} had been written to a drive of "
        f"{words.amount_text(course.drive_gb, 'GB')}"
    )
    is_known = course.last_purge_s(case.view.start_s) is not None
    if is_known and FILLED <= share <= BRIM:
        return "at-the-brim", f"{said}: that is where spare area runs out"
    if share >= FILLED:
        return "past-the-drive", f"{said}: its spare area may be used up"
    if not is_known:
        return None
    return "less-than-the-drive", f"{said} since it was empty: spare area was left"


#: Flash that holds three bits or four in a cell holds at most a third of them with one in each; and
#: so much, in GB, where a drive's size is not known, as no drive for sale caches.
MOST_CACHED, MOST_CACHED_GB = 0.4, 3000.0


def too_much_for_a_cache(case: Case) -> Evidence | None:
    """Whether it had written more at full speed than a cache holds."""
    here_gb, drive_gb = case.view.written_gb(case.drop.onset_s), case.view.course.drive_gb
    most_gb = MOST_CACHED_GB if drive_gb is None else MOST_CACHED * drive_gb
    if here_gb is None or here_gb <= most_gb or case.index > 0 or not case.view.step.writes:
        return None
    of = "" if drive_gb is None else f" of {words.amount_text(drive_gb, 'GB')}"
    text = (
        f"it had written {words.amount_text(here_gb, 'GB')} at full speed: no cache of a drive{of}"
    )
    return "too-small", f"{text} holds as much"


def known_cache(case: Case) -> Evidence | None:
    """What the step had written at the onset, compared with the cache that the catalog has."""
    known, here_gb = case.view.course.hint, case.view.written_gb(case.drop.onset_s)
    if known is None or not known.size_bytes or not known.cache_bytes or not here_gb:
        return None
    cache_gb = known.cache_bytes / GB
    if _apart(here_gb, cache_gb) > SAME:
        return None
    return "full", (
        f"{words.amount_text(here_gb, 'GB')} had been written, and the cache of such drives holds "
        f"{words.amount_text(cache_gb, 'GB')} (catalog: {known.drive.id})"
    )


def repeats(case: Case) -> Evidence | None:
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
        here, there = (
            f"{words.amount_text(written_gb, 'GB')} and {words.seconds_text(onset_s)}"
            for written_gb, onset_s in ((here_gb, case.drop.onset_s), (there_gb, drops[0].onset_s))
        )
        said = f"'{view.step.name}' fell after {there}, here after {here}"
        if bytes_apart <= SAME and time_apart >= OTHER:
            return "bytes", f"it repeats in bytes, not in time: {said}"
        if time_apart <= SAME and bytes_apart >= OTHER:
            return "time", f"it repeats in time, not in bytes: {said}"
        if bytes_apart <= SAME and time_apart <= SAME:
            if not is_as_hot(case, view):
                there_c, here_c = view.temp.at(drops[0].onset_s) or 0.0, case.onset_c or 0.0
                at = f"at {words.temp_text(there_c)}, here at {words.temp_text(here_c)}"
                return "at-any-temperature", f"it repeats: {said}; {at}"
            return "both", f"it repeats: {said}"
        if bytes_apart >= OTHER and time_apart >= OTHER:
            return "neither", f"neither bytes nor time repeat: {said}"
    return None


def alike_but_for_depth(one: StepView, other: StepView) -> bool:
    """Return whether both write the same, whatever their queue depth: bytes count, not speed."""
    job = attrgetter("rw", "bs", "rwmixread")
    is_job = one.step.rw is not None and job(one.step) == job(other.step)
    return is_job or alike(one.step, other.step)


def _apart(one: float, other: float) -> float:
    """By which share of the larger two numbers differ."""
    return abs(one - other) / max(abs(one), abs(other), 1e-9)
