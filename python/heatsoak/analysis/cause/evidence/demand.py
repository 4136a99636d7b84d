"""Whether the load asked for as much as before: a drive of which less is asked does less.

A benchmark asks the same throughout. A logger looks on at whatever there is, so that a copy that
came to its small files, or a benchmark's next test, looks like a drive that fell.
"""

import math

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding

#: I/Os whose mean size changes by more than this factor are another load's.
OTHER_SIZE = 1.5
#: Of what was lost (in logarithms), the part that fewer I/Os in flight explain: from the first on
#: most of it, below the other one hardly any. With as many in flight a slower drive answers later.
MOST, HARDLY = 0.7, 0.3
#: A loss too small to divide among fewer I/Os and later answers.
LEAST_DEPTH = 0.1
#: A shorter drop is none to count what was in flight in.
LEAST_S, LEAST_SAMPLES = 10.0, 10.0
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
    if case.last_s < max(LEAST_S, LEAST_SAMPLES * case.view.throughput.sampling_s):
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
