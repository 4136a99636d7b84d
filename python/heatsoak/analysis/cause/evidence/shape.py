"""The shape of the drop itself: how steep and how noisy it is, whether it ends, whether reads or
writes fall, and after how many bytes."""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding, is_at_full_speed
from heatsoak.analysis.cause.evidence import temperature
from heatsoak.analysis.cause.evidence.repeats import ALIKE_DEPTH, AS_HOT_K, is_as_hot
from heatsoak.analysis.likeness import alike
from heatsoak.analysis.view import StepView
from heatsoak.units import MB
from heatsoak.words import number_text

#: A drop that lasts this long had time to end.
LONG_S = 60.0
#: A cache or spare area is used up at once; heat acts slowly, unless the governor acts in steps.
FALLS_S = (("sharp-step", 2.5), ("step", 8.0), ("gradual", 30.0))
#: How much of the level before the drop is lost, in words. Behind a full cache, or while collecting
#: garbage, flash still writes a twentieth and more; some governors leave less.
LOST = (("little", 0.2), ("some", 0.4), ("half", 0.6), ("much", 0.8), ("most", 0.95))
#: This many times as noisy as before.
WILDER = 2.5
#: Fewer samples are too few to measure scatter.
MIN_SAMPLES = 20
#: A link that is halved leaves half, but for its overhead.
HALF_WITHIN = 0.03
#: If power falls this much less than the rate, the drive spends it on something else.
SPENT_INSIDE = 0.25


def shape(case: Case) -> Finding | None:
    """A step, a slide, or a cycle with its period."""
    drop = case.drop
    if drop.shape == "cycle":
        period = "" if drop.period_s is None else f" every {drop.period_s:.0f} s"
        return Finding(
            "shape", "cycle", f"it oscillates between levels{period}, as under a governor"
        )
    if drop.shape == "slide":
        over = f" over {drop.fall_s:.0f} s" if drop.fall_s >= 1 else ""
        found = temperature.course(case)
        if found is not None and found.seen == "stopped":
            return Finding(
                "shape",
                "slide-to-a-limit",
                f"it slid down{over}, once the temperature reached the level that it then held",
            )
        return Finding("shape", "slide", f"it slid down{over}")
    sampling_s = case.view.throughput.sampling_s
    kind = next((name for name, most_s in FALLS_S if drop.fall_s <= most_s + sampling_s), "slow")
    return Finding(
        "shape",
        kind,
        f"90 % of the drop took {number_text(max(drop.fall_s, sampling_s), 2)} s",
    )


def depth(case: Case) -> Finding:
    """How much was lost: garbage collection takes most of it, a governor a part or nearly all."""
    lost = case.drop.depth
    seen = next((name for name, below in LOST if lost < below), "nearly-all")
    return Finding("depth", seen, f"it lost {lost:.0%} of the level before")


def ratio(case: Case) -> Finding | None:
    """A PCIe link that loses a generation or half its lanes halves what it carries, evenly."""
    drop = case.drop
    kept = drop.during / drop.before
    if drop.oscillates or drop.recovered or drop.fall_s > FALLS_S[0][1]:
        return None
    if case.before_and_during("link_mb_s") is not None or abs(kept - 0.5) > HALF_WITHIN:
        return None
    settled_s = min(drop.onset_s + drop.fall_s, drop.end_s)
    if not case.is_even(settled_s, drop.end_s):
        return None
    return Finding(
        "ratio",
        "halved",
        f"{kept:.0%} was left, evenly, as when a PCIe link loses half its lanes or a generation",
    )


#: No governor lets a drive do so much more than before it fell.
FASTER = 1.1


def end(case: Case) -> Finding | None:
    """Whether it ended under the same load; a cache or spare area seldom recovers on its own."""
    if case.drop.oscillates:
        return None
    if case.drop.recovered:
        said = f"it ended on its own after {case.length_s:.0f} s, under the same load"
        back_s = case.drop.back_s
        after = case.view.throughput.mean(back_s, back_s + LONG_S)
        temps_c = case.view.temp.between(back_s, back_s + LONG_S).tolist()
        is_as_hot = case.onset_c is not None and max(temps_c, default=-273.0) >= case.onset_c
        if is_as_hot and after > FASTER * case.drop.before:
            more = f"{said}, and went on {after / case.drop.before - 1:.0%} faster than before"
            return Finding("end", "faster-than-before", more)
        return Finding("end", "by-itself", said)
    left_s = case.view.throughput.duration_s - case.drop.end_s
    # a deeper fall may have ended it
    if case.length_s >= LONG_S and left_s < LONG_S:
        text = f"it lasted to the end, {case.length_s:.0f} s"
        if case.view.lasting_drop is not case.drop:
            text = f"it lasted {case.length_s:.0f} s, until {left_s:.0f} s before the step's end"
        return Finding("end", "lasted", text)
    return None


def unrest(case: Case) -> Finding | None:
    """How much the rate scatters from sample to sample, compared with before."""
    series, drop = case.view.throughput, case.drop
    before = _scatter(
        series.values[(series.t_s > case.level_since_s) & (series.t_s <= drop.onset_s)]
    )
    settled_s = min(drop.onset_s + drop.fall_s, drop.end_s)
    during = _scatter(series.values[(series.t_s > settled_s) & (series.t_s <= drop.end_s)])
    if before is None or during is None or drop.oscillates:
        return None
    if during > WILDER * max(before, 0.005):
        return Finding(
            "unrest",
            "wilder",
            f"it scatters more: {during:.1%} from sample to sample, {before:.1%} before",
        )
    return Finding("unrest", "alike", f"it scatters as before: {during:.1%}, {before:.1%} before")


def _scatter(values: np.ndarray) -> float | None:
    """The median relative difference between neighbouring samples."""
    if len(values) < MIN_SAMPLES:
        return None
    level = float(np.median(values))
    return float(np.median(np.abs(np.diff(values)))) / level if level > 0 else None


def power(case: Case) -> Finding | None:
    """A drive that moves data internally draws power for it; a throttled one draws less."""
    powers = case.before_and_during("power_w")
    if powers is None or powers[0] <= 0:
        return None
    kept, rate = powers[1] / powers[0], case.drop.during / case.drop.before
    said = f"power went from {powers[0]:.1f} W to {powers[1]:.1f} W"
    if kept - rate >= SPENT_INSIDE:
        return Finding("power", "kept", f"{said}: the drive was busy with internal work")
    return Finding("power", "fell", f"{said}, with the rate")


#: Heat slows writes about as much as reads; this much more has another cause.
FAR_DEEPER = 0.25
#: The kernel joins the writes of one stream to 128 KiB and more; tests of random ones use 4 to 16.
SMALL_KIB, LARGE_KIB = 20.0, 100.0


def load(case: Case) -> Finding | None:
    """The step's own load."""
    step = case.view.step
    rw = step.rw or ""
    if not step.writes:
        return Finding(
            "load", "reads", "reads fell, which an exhausted cache or spare area does not cause"
        )
    if step.reads:
        if rw or (case.view.columns("read_") and case.view.columns("write_")):
            return Finding("load", "mixed", "reads and writes ran together")
        return Finding("load", "untold", "the log does not say whether these were reads or writes")
    if rw.startswith("rand"):
        return Finding(
            "load", "random-writes", "random writes use up spare area, and caches as well"
        )
    if rw:
        return Finding(
            "load", "sequential-writes", "sequential writes use up a cache, seldom spare area"
        )
    size_kib = _request_kib(case)
    if size_kib is not None and size_kib <= SMALL_KIB:
        return Finding(
            "load",
            "small-writes",
            f"writes of {size_kib:.0f} KiB, as random ones are: those use up spare area",
        )
    if size_kib is not None and size_kib >= LARGE_KIB:
        return Finding(
            "load",
            "large-writes",
            f"writes of {size_kib:.0f} KiB, as one stream makes: those use up a cache",
        )
    return Finding("load", "writes", "writes, in an unknown order")


def _request_kib(case: Case) -> float | None:
    """The mean size of a write before the onset; None if the log does not tell."""
    rates, counts = case.view.throughput, case.view.iops
    if rates.unit != "mb_s" or not len(counts.values):
        return None
    span_s = case.level_since_s, case.drop.onset_s
    size = rates.mean(*span_s) * MB / max(counts.mean(*span_s), 1.0)
    return size / 1024 if np.isfinite(size) else None


def both_ways(case: Case) -> Finding | None:
    """Reads that fell as writes do, from full speed and after a similar time."""
    if case.view.step.writes:
        return None
    for view in case.others:
        if view.step.writes and _fell_alike(view, case):
            return Finding(
                "both-ways", "fell", f"writes fell in the same way, in '{view.step.name}'"
            )
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
            "no step only read: an exhausted cache or spare area would look the same, "
            "and a read step would settle it",
        )
    for view in steps:
        if _fell_alike(view, case):
            return Finding(
                "reads-beside", "fell", f"reads fell in the same way, in '{view.step.name}'"
            )
    for view in steps:
        if not is_at_full_speed(view, steps):
            fastest = max(v.level for v in steps if alike(v.step, view.step))
            return Finding(
                "reads-beside",
                "slow-too",
                f"reads were slower too: '{view.step.name}' started at "
                f"{view.level / fastest:.0%} of the speed of the same reads",
            )
    held = [view for view in steps if not view.drops and not _may_be_slowed(view, steps)]
    for view in held:
        top_c = max(view.temp.values, default=None)
        if top_c is not None and case.onset_c is not None and top_c >= case.onset_c - AS_HOT_K:
            return Finding(
                "reads-beside",
                "held-as-hot",
                f"reads kept their speed at {top_c:.0f} C, in '{view.step.name}'",
            )
    return (
        Finding("reads-beside", "held", f"reads kept their speed, in '{held[0].step.name}'")
        if held
        else None
    )


def depth_beside_reads(case: Case) -> Finding | None:
    """Writes that lose far more than reads do to heat have another cause, or one more."""
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
            or abs(there_c - here_c) <= temperature.HELD_WITHIN_K
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


def against_capacity(case: Case) -> Finding | None:
    """How much had been written when it fell, compared with the size of the drive."""
    course, drop = case.view.course, case.drop
    here_gb = case.view.written_gb(drop.onset_s)
    if course.drive_gb is None or here_gb is None or not case.view.step.writes:
        return None
    written_gb = here_gb + case.view.written_before_gb
    share = written_gb / course.drive_gb
    said = (
        f"{number_text(written_gb)} GB had been written to a drive of "
        f"{number_text(course.drive_gb)} GB"
    )
    is_known = course.last_purge_s(case.view.start_s) is not None
    if is_known and FILLED <= share <= BRIM:
        return Finding("written", "at-the-brim", f"{said}: that is where spare area runs out")
    if share >= FILLED:
        return Finding("written", "past-the-drive", f"{said}: its spare area may be used up")
    if not is_known:
        return None
    return Finding(
        "written", "less-than-the-drive", f"{said} since it was empty: spare area was left"
    )


#: Flash that holds three bits or four in a cell holds at most a third of them with one in each; and
#: so much, in GB, where a drive's size is not known, as no drive for sale caches.
MOST_CACHED, MOST_CACHED_GB = 0.4, 3000.0


def too_much_for_a_cache(case: Case) -> Finding | None:
    """Whether it had written more at full speed than a cache holds."""
    here_gb, drive_gb = case.view.written_gb(case.drop.onset_s), case.view.course.drive_gb
    most_gb = MOST_CACHED_GB if drive_gb is None else MOST_CACHED * drive_gb
    if here_gb is None or here_gb <= most_gb or case.index > 0 or not case.view.step.writes:
        return None
    of = "" if drive_gb is None else f" of {number_text(drive_gb)} GB"
    text = f"it had written {number_text(here_gb)} GB at full speed: no cache of a drive{of}"
    return Finding("cache", "too-small", f"{text} holds as much")


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
        bytes_apart = apart(here_gb, there_gb)
        time_apart = apart(case.drop.onset_s, drops[0].onset_s)
        said = (
            f"'{view.step.name}' fell after {number_text(there_gb)} GB and "
            f"{drops[0].onset_s:.0f} s, "
            f"here after {number_text(here_gb)} GB and {case.drop.onset_s:.0f} s"
        )
        if bytes_apart <= SAME and time_apart >= OTHER:
            return Finding("repeats-in", "bytes", f"it repeats in bytes, not in time: {said}")
        if time_apart <= SAME and bytes_apart >= OTHER:
            return Finding("repeats-in", "time", f"it repeats in time, not in bytes: {said}")
        if bytes_apart <= SAME and time_apart <= SAME:
            if not is_as_hot(case, view):
                at = f"at {view.temp.at(drops[0].onset_s):.0f} C, here at {case.onset_c:.0f} C"
                return Finding("repeats-in", "at-any-temperature", f"it repeats: {said}; {at}")
            return Finding("repeats-in", "both", f"it repeats: {said}")
        if bytes_apart >= OTHER and time_apart >= OTHER:
            return Finding("repeats-in", "neither", f"neither bytes nor time repeat: {said}")
    return None


def alike_but_for_depth(one: StepView, other: StepView) -> bool:
    """Return whether both write the same, whatever their queue depth: bytes count, not speed."""
    if alike(one.step, other.step):
        return True
    return one.step.rw is not None and (one.step.rw, one.step.bs, one.step.rwmixread) == (
        other.step.rw,
        other.step.bs,
        other.step.rwmixread,
    )


def apart(one: float, other: float) -> float:
    """Return by which share of the larger two numbers differ."""
    return abs(one - other) / max(abs(one), abs(other), 1e-9)
