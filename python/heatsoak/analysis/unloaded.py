"""What is known of a drive without a load to judge.

It says itself what it counted of its heat, its hours and its warnings: most people have a single
reading. And one that idles in a hot machine is warmed by its neighbours, which is what its owner
wants to know.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import polars as pl

from heatsoak import words
from heatsoak.analysis import findings, series
from heatsoak.analysis.cause import excludes_heat
from heatsoak.analysis.view import StepView
from heatsoak.recording import HEALTH, IN_ORDER_ONLY, Recording, columns
from heatsoak.recording.grid import SensorTrack

#: A counter of 32 bits that is full counts no more.
_FULL = 2.0**32 - 1
#: What NVMe's two steps of thermal management are called.
_STEPS = {"tmt1": "light ", "tmt2": "strong ", "shutdown": "shutdown "}
_WARNING = "critical_warning"
_TEMPERATURE = 0x02
#: What the bits of an NVMe drive's critical warning say.
_WARNINGS = {
    0x01: "its spare area is nearly used up",
    _TEMPERATURE: "its temperature is beyond its limits",
    0x04: "it is no longer reliable",
    0x08: "it can only be read",
    0x10: "its backup against power cuts failed",
    0x20: "its persistent memory can only be read",
}
#: By whether it counts at all.
_IF_IT_COUNTS = {
    None: ", if it counts at all",
    False: ", which without host controlled thermal management says nothing",
    True: "",
}
#: What to do with a drive that fails.
_SAVE = "copy what is on it to another drive, and replace it"


def counted_of(recording: Recording, samples: pl.DataFrame) -> findings.OwnCount | None:
    """Return what a drive told of its own count and health; None where it told neither.

    What it counted under a load of ours is evidence for why that fell.
    """
    meta = recording.meta
    said = {key: value for sensor in meta.sensors for key, value in sensor.details.items()}
    health = {key: said.get(key) for key in HEALTH}
    if _WARNING in samples.columns:
        warned = samples[_WARNING].drop_nulls().to_list()
        health[_WARNING] = reduce(or_, warned, health[_WARNING] or 0)
    own = columns.throttle_columns(meta.columns) if meta.protocol.is_observed else []
    if not (own or any(health.values())):
        return None
    known = {name: samples[name].drop_nulls().to_list() for name in own}
    known = {name: values for name, values in known.items() if values and values[-1] < _FULL}
    has_clock = not meta.load.get("imported", {}).get(IN_ORDER_ONLY)
    return findings.OwnCount(
        totals={name: values[-1] for name, values in known.items()},
        added={name: max(values[-1] - values[0], 0.0) for name, values in known.items()},
        readings=max(map(len, known.values()), default=1),
        between_s=samples["t_s"][-1] - samples["t_s"][0] if has_clock else None,
        **health,
    )


def claims_of_drive(counted: findings.OwnCount | None, *, is_course: bool) -> list[findings.Claim]:
    """Return what a drive itself says: what it warns of, and what it counted of its heat.

    A course of throughput, `is_course`, answers for its own time, unless the drive counted
    meanwhile.
    """
    if counted is None:
        return []
    found = [_alarm(counted), _own_count(counted, is_course=is_course)]
    return [claim for claim in found if claim is not None]


def _own_count(counted: findings.OwnCount, *, is_course: bool) -> findings.Claim | None:
    names = columns.throttle_counters(counted.totals)
    ever = {name: counted.totals[name] for name in names if counted.totals[name]}
    added = {name: counted.added[name] for name in names if counted.added[name]}
    now = _throttles_now(counted)
    if is_course and not (added or now):
        return None
    above = _above_limits(counted)
    life, between = _life(counted), _between(counted)
    if added:
        parts = [f"yes, {between}, by its own count: {_told(added)}", f"in all {_told(ever)}{life}"]
    elif now:
        parts = [f"yes, {now} when it was read, by its own word"]
        parts += [f"in all {_told(ever)}{life}"] if ever else []
    elif ever:
        parts = [f"yes, at some time, by its own count: {_told(ever)}{life}"]
        is_one = counted.readings == 1
        parts.append("when, one reading does not say" if is_one else f"none of it {between}")
    elif above or not counted.totals:
        parts = []
    else:
        what = "it never throttled" if names else "it was never above its limits"
        parts = [f"by its own count {what}{life}{_IF_IT_COUNTS[counted.counts]}"]
    at_most = _at_most(counted)
    told = words.listed([*above, *at_most])
    if told and parts:
        parts.append(f"it was {told}")
    elif told:
        parts = [f"by its own count it was {told}{life}"]
        # smartctl's JSON has NVMe's times above both limits, and not how often it throttled
        is_left_out = not names and f"{columns.TIMES}critical" in counted.totals
        whether = (
            "the log leaves out: 'nvme smart-log' tells" if is_left_out else "it does not count"
        )
        parts += [f"whether it throttled then, {whether}"] if above else []
    if not parts:
        return None
    is_shown = added or now or ever
    return findings.Claim(
        what="counted" if is_shown else "over-limits" if above else "held",
        heat="yes" if is_shown else "open" if above else None,
        by="thermal" if is_shown else "unknown",
        text="; ".join(parts),
    )


def counted_before(counted: findings.OwnCount | None) -> list[str]:
    """What a drive counted before the readings of a log and not between them, or nothing."""
    if counted is None or counted.readings == 1:
        return []
    names = columns.throttle_counters(counted.totals)
    ever = {name: counted.totals[name] for name in names if counted.totals[name]}
    if not ever or any(counted.added[name] for name in names):
        return []
    told = f"by its own count it had throttled before: {_told(ever)}{_life(counted)}"
    return [f"{told}; none of it {_between(counted)}"]


def _life(counted: findings.OwnCount) -> str:
    return "" if counted.power_on_h is None else f" in {words.amount_text(counted.power_on_h, 'h')}"


def _between(counted: findings.OwnCount) -> str:
    told = "between its readings"
    return f"{told} ({words.duration_text(counted.between_s)})" if counted.between_s else told


def _alarm(counted: findings.OwnCount) -> findings.Claim | None:
    """What a drive warns of.

    NVMe drives are said to fail for any warning, and one of heat is no fault of theirs.
    """
    warning = counted.critical_warning or 0
    whys = [why for bit, why in _WARNINGS.items() if warning & bit]
    told = [f"critical warning 0x{warning:02x}: {words.listed(whys)}"] if whys else []
    told += ["its health is FAILED"] if counted.failed else []
    if not told:
        return None
    is_failing = bool(warning & ~_TEMPERATURE or (counted.failed and not warning))
    return findings.Claim(
        what="alarm",
        heat=None if is_failing else "open",
        text=f"the drive itself warns ({', '.join(told)})",
        settles=_SAVE if is_failing else "cool it better",
    )


def _throttles_now(counted: findings.OwnCount) -> str:
    """How far it throttled when it was read; empty where it did not, or does not say."""
    if counted.throttled_pct:
        return f"by {words.percent_text(counted.throttled_pct)}"
    return f"at level {counted.throttled_level} of its own" if counted.throttled_level else ""


def _above_limits(counted: findings.OwnCount) -> list[str]:
    """How long, or how often, the drive was above the limits that it states."""
    told = [
        f"above its {name} temperature for {words.duration_text(above_s)}"
        for name in ("warning", "critical")
        if (above_s := counted.totals.get(columns.TIMES + name, 0.0))
    ]
    if counted.over_limit_count and not told:
        told.append(f"above its limit {words.counted(counted.over_limit_count, 'time')}")
    return told


def _at_most(counted: findings.OwnCount) -> list[str]:
    """The highest temperature of its life, in words."""
    if counted.highest_c is None:
        return []
    return [f"at {words.temp_text(counted.highest_c)} at most"]


def _told(counts: Mapping[str, float]) -> str:
    """Counters in words: ``8,126 light and 97 strong transitions (412,331 s and 5,110 s)``."""

    def steps(family: str, text_of: Callable[[float], str]) -> list[tuple[str, str]]:
        return [
            (text_of(value), _STEPS.get(name.removeprefix(family), ""))
            for name, value in counts.items()
            if name.startswith(family)
        ]

    times, spent = (
        steps(columns.COUNTS, words.number_text),
        steps(columns.TIMES, words.seconds_text),
    )
    named = words.listed([f"{text} {step}".rstrip() for text, step in times or spent])
    if not times:
        return f"{named} of throttling"
    in_all = words.listed([text for text, _ in spent])
    return f"{named} transitions" + (f" ({in_all})" if in_all else "")


#: A temperature that moved less followed nothing.
_MIN_RANGE_K = 3.0
#: It follows what explains this much of its variance.
_MIN_EXPLAINED = 0.7
#: With fewer readings, anything may look alike.
_MIN_READINGS = 10
_MAX_STEPS = 2000
#: Columns of the host that may warm a drive, by how they start, and what people call them.
_NEIGHBOURS = {
    "temp_c.gpu": "the graphics card",
    "temp_c.cpu": "the processor",
    "cpu_pct": "the processor",
    "temp_c.ambient": "the room",
    "temp_c.chamber": "the room",
    "temp_c.case": "the air in the case",
}
#: A spell at this much and more, in which this much is moved, is work: a burst of it.
_BURST_MB_S, _BURST_GB = 20.0, 0.5
#: Where the drive was less busy, it had time to rest.
_BUSY_PCT = 20.0


def unloaded_of(view: StepView) -> findings.Unloaded:
    """Return what is known of the time without a load, which is `view`."""
    rate = view.throughput
    max_c = view.max_temp_c
    busy = view.track("busy_pct").values
    busy_pct = float(np.mean(busy)) if len(busy) else None
    seen = []
    if len(rate.values) and rate.unit != "lat_us":
        seen.append(f"at most {rate.text(np.max(rate.values))}")
    if busy_pct is not None:
        seen.append(f"busy {words.percent_text(round(busy_pct))} of the time")
    found = _followed(view)
    bursts = _bursts(view) if rate.unit == "mb_s" else []
    reasons = []
    if max_c is not None:
        reasons.append(f"it was at {words.temp_text(max_c)} at most")
    if found:
        what, slowly = found["follows"], words.duration_text(found["time_constant_s"])
        reasons.append(f"its temperature followed {what}, with a time constant of {slowly}")
    return findings.Unloaded(
        duration_s=view.duration_s,
        busy_pct=busy_pct,
        max_mb_s=max(rate.values.tolist(), default=None) if rate.unit == "mb_s" else None,
        max_temp_c=max_c,
        temp_sensor=view.main_sensor or None,
        longest_burst_s=max((length_s for length_s, _ in bursts), default=None),
        bursts_gb=sum(moved_gb for _, moved_gb in bursts),
        excludes_heat=excludes_heat(view, ()),
        **found,
        text=f" in {words.duration_text(view.duration_s)}"
        + (f" ({', '.join(seen)})" if seen else ""),
        reasons=reasons,
    )


def _bursts(view: StepView) -> list[tuple[float, float]]:
    """The spells of work, each too short to be a load that is judged: how long, and GB moved."""
    rate, busy = view.throughput, view.track("busy_pct")
    if len(rate.values) == 0:
        return []
    working = rate.values >= max(_BURST_MB_S, 0.1 * float(np.max(rate.values)))
    found = []
    for begin, end in series.spans_of(working):
        busy_pct = busy.between(rate.t_s[begin], rate.t_s[end - 1])
        if len(busy_pct) and float(np.mean(busy_pct)) < _BUSY_PCT:
            continue
        interval_s = rate.interval_s[begin:end]
        moved_gb = float(np.sum(rate.values[begin:end] * interval_s)) / 1000
        if moved_gb >= _BURST_GB:
            found.append((float(np.sum(interval_s)), moved_gb))
    return found


def _candidates(view: StepView) -> Iterator[tuple[str, str | None, SensorTrack]]:
    yield "its own work", None, SensorTrack(view.throughput.t_s, view.throughput.values)
    for start, what in _NEIGHBOURS.items():
        for name in view.columns(start):
            yield what, name, view.track(name)


def _followed(view: StepView) -> dict[str, Any]:
    """What explains most of the temperature as its lagged cause, as findings say it."""
    temp = view.temp
    if len(temp.values) < _MIN_READINGS or float(np.ptp(temp.values)) < _MIN_RANGE_K:
        return {}
    step_s = max(1.0, float(temp.t_s[-1] - temp.t_s[0]) / _MAX_STEPS)
    grid_s = np.arange(temp.t_s[0], temp.t_s[-1], step_s)
    temps_c = temp.along(grid_s)
    explained, best = _MIN_EXPLAINED, {}
    for what, column, track in _candidates(view):
        if len(track.values) < _MIN_READINGS or float(np.ptp(track.values)) == 0:
            continue
        cause = track.along(grid_s)
        share, tau_s, _ = series.response(cause - cause[0], temps_c, step_s)
        if share > explained:
            explained = share
            best = {"follows": what, "follows_column": column, "time_constant_s": tau_s}
    return best
