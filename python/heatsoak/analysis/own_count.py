"""What a drive says of its own heat: its counters of throttling, its hours and its warnings.

Where a log shows no load to judge, that is the answer: most people have a single reading.
"""

from collections.abc import Callable, Mapping

import polars as pl

from heatsoak.analysis.definitions import NO_THROUGHPUT
from heatsoak.analysis.findings import Answer, OwnCount, RecordingFindings
from heatsoak.recording import HEALTH, IN_ORDER_ONLY, Recording
from heatsoak.recording.columns import throttle_columns, throttle_counters
from heatsoak.words import (
    amount_text,
    duration_text,
    listed,
    number_text,
    percent_text,
    seconds_text,
)

#: A counter of 32 bits that is full counts no more.
_FULL = 2.0**32 - 1
_COUNT, _TIME_S = "throttle_count.", "throttle_time_s."
#: What NVMe's two steps of thermal management are called.
_STEPS = {"tmt1": "light ", "tmt2": "strong "}
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
#: What to do with a drive that fails.
_SAVE = "copy what is on it to another drive, and replace it"


def counted_of(recording: Recording, samples: pl.DataFrame) -> OwnCount | None:
    """Return what a log tells of a drive's own count and health; None where it tells neither."""
    meta = recording.meta
    said = {key: value for sensor in meta.sensors for key, value in sensor.details.items()}
    health = {key: said.get(key) for key in HEALTH}
    columns = throttle_columns(meta.columns)
    if not meta.protocol.is_observed or not (columns or any(health.values())):
        return None
    known = {name: samples[name].drop_nulls().to_list() for name in columns}
    known = {name: values for name, values in known.items() if values and values[-1] < _FULL}
    has_clock = not meta.load.get("imported", {}).get(IN_ORDER_ONLY)
    return OwnCount(
        totals={name: values[-1] for name, values in known.items()},
        added={name: max(values[-1] - values[0], 0.0) for name, values in known.items()},
        readings=max(map(len, known.values()), default=1),
        between_s=samples["t_s"][-1] - samples["t_s"][0] if has_clock else None,
        **health,
    )


def by_own_count(recording: RecordingFindings) -> Answer | None:
    """Return the answer that the drive's own count gives; None where it gives none.

    A course of throughput answers for its own time, unless the drive counted meanwhile or warns.
    """
    counted = recording.counted
    if counted is None:
        return None
    names = throttle_counters(counted.totals)
    ever = {name: counted.totals[name] for name in names if counted.totals[name]}
    added = {name: counted.added[name] for name in names if counted.added[name]}
    is_course = recording.unloaded is not None or any(
        step.why_unknown != NO_THROUGHPUT for step in recording.steps
    )
    if is_course and not (added or counted.throttled_pct or _alarm(counted)):
        return None
    alarm, above = _alarm(counted), _above_limits(counted.totals)
    life, between = _life(counted), _between(counted)
    if added:
        parts = [f"yes, {between}, by its own count: {_told(added)}", f"in all {_told(ever)}{life}"]
    elif counted.throttled_pct:
        parts = [f"yes, by {percent_text(counted.throttled_pct)} when it was read, by its own word"]
        parts += [f"in all {_told(ever)}{life}"] if ever else []
    elif ever:
        parts = [f"yes, at some time, by its own count: {_told(ever)}{life}"]
        is_one = counted.readings == 1
        parts.append("when, one reading does not say" if is_one else f"none of it {between}")
    elif above or not counted.totals:
        parts = []
    else:
        what = "it never throttled" if names else "it was never above its limits"
        parts = [f"by its own count {what}{life}, if it counts at all"]
    if above and ever:
        parts.append(f"it was {above}")
    elif above:
        parts = [
            f"by its own count it was {above}{life}",
            "whether it throttled then, it does not count",
        ]
    parts = alarm + parts
    if not parts:
        return None
    text = "; ".join(parts)
    # NVMe drives are said to fail for any warning, and one of heat is no fault of theirs
    warning = counted.critical_warning or 0
    is_failing = warning & ~_TEMPERATURE or (counted.failed and not warning)
    is_hot = ever or above or warning & _TEMPERATURE
    more = "to see it under a load, in a directory of that drive: heatsoak run quick --on ."
    whys = dict.fromkeys(
        why for step in recording.steps for why in (step.hot_from_start, step.why_unknown) if why
    )
    is_shown = added or counted.throttled_pct or (ever and not is_course)
    return Answer(
        throttles="yes" if is_shown else "cannot-tell",
        sentence=f"{text[0].upper()}{text[1:]}.",
        because=list(whys),
        next=_SAVE if is_failing else f"cool it better; {more}" if is_hot else more,
    )


def counted_before(counted: OwnCount | None) -> list[str]:
    """What a drive counted before the readings of a log and not between them, or nothing."""
    if counted is None or counted.readings == 1:
        return []
    names = throttle_counters(counted.totals)
    ever = {name: counted.totals[name] for name in names if counted.totals[name]}
    if not ever or any(counted.added[name] for name in names):
        return []
    told = f"by its own count it had throttled before: {_told(ever)}{_life(counted)}"
    return [f"{told}; none of it {_between(counted)}"]


def _life(counted: OwnCount) -> str:
    return "" if counted.power_on_h is None else f" in {amount_text(counted.power_on_h, 'h')}"


def _between(counted: OwnCount) -> str:
    told = "between its readings"
    return f"{told} ({duration_text(counted.between_s)})" if counted.between_s else told


def _alarm(counted: OwnCount) -> list[str]:
    """What the drive warns of, in one part of a sentence, or none."""
    warning = counted.critical_warning or 0
    whys = [why for bit, why in _WARNINGS.items() if warning & bit]
    told = [f"critical warning 0x{warning:02x}: {listed(whys)}"] if whys else []
    told += ["its health is FAILED"] if counted.failed else []
    return [f"the drive itself warns ({', '.join(told)})"] if told else []


def _above_limits(totals: Mapping[str, float]) -> str:
    """How long the drive was above the limits that it states; empty for never."""
    return listed(
        [
            f"above its {name} temperature for {duration_text(above_s)}"
            for name in ("warning", "critical")
            if (above_s := totals.get(_TIME_S + name, 0.0))
        ]
    )


def _told(counts: Mapping[str, float]) -> str:
    """Counters in words: ``8,126 light and 97 strong transitions (412,331 s and 5,110 s)``."""

    def steps(family: str, text_of: Callable[[float], str]) -> list[tuple[str, str]]:
        return [
            (text_of(value), _STEPS.get(name.removeprefix(family), ""))
            for name, value in counts.items()
            if name.startswith(family)
        ]

    times, spent = steps(_COUNT, number_text), steps(_TIME_S, seconds_text)
    named = listed([f"{text} {step}".rstrip() for text, step in times or spent])
    if not times:
        return f"{named} of throttling"
    in_all = listed([text for text, _ in spent])
    return f"{named} transitions" + (f" ({in_all})" if in_all else "")
