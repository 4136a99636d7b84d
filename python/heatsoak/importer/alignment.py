"""Clocks: how far one log's time must be shifted to agree with another's."""

from dataclasses import dataclass
from pathlib import Path

from heatsoak.importer.log import Log

#: Logs that are farther apart than this do not overlap.
MARGIN_S = 120.0
#: What is said of them then.
APART = "they do not overlap in time"


@dataclass(frozen=True)
class Alignment:
    """Seconds to add to the other log's times, and how that is known."""

    shift_s: float
    how: str


def alignment_of(leader: Log, other: Log, shift_s: float | None) -> Alignment | str:
    """Return how `other` lies beside `leader` by their clocks, or why that is not known.

    `shift_s` is what the user says instead.
    """
    if shift_s is not None:
        if _overlap(leader, other, shift_s):
            return Alignment(shift_s, f"shifted by {shift_s:+g} s, as asked")
        return f"shifted by {shift_s:+g} s {APART}"
    if leader.start_unix_s is None or other.start_unix_s is None:
        return "they have no common clock"
    apart_s = other.start_unix_s - leader.start_unix_s
    how = "aligned by their clocks"
    if leader.clock != other.clock:
        local, utc = (leader, other) if leader.clock == "local" else (other, leader)
        zone_s = zone_shift(apart_s if local is other else -apart_s, utc.end_s, local.end_s)
        if zone_s is None:
            return f"the clock of {source_name(local)} tells no zone, and several fit or none"
        apart_s += zone_s if local is other else -zone_s
        how += f", taking {source_name(local)} as UTC{-zone_s / 3600:+g}"
    return Alignment(apart_s, how) if _overlap(leader, other, apart_s) else APART


def zone_shift(local_begin_s: float, utc_span_s: float, local_span_s: float) -> float | None:
    """Return what to add to a local wall clock, read as if it were UTC, to have UTC, in seconds.

    `local_begin_s` counts from the beginning of a log in UTC. Of the offsets that zones have, -12 h
    to +14 h in quarters of an hour, it is the one at which the logs overlap longest. None where
    none makes them overlap, or several do equally long: where a short log would lie within a long
    one in several ways.
    """
    shifts = [-900.0 * quarter for quarter in range(-48, 57)]
    overlaps = [
        min(utc_span_s, local_begin_s + shift + local_span_s) - max(0.0, local_begin_s + shift)
        for shift in shifts
    ]
    longest = max(overlaps)
    equal_s = max(1.0, 0.01 * min(utc_span_s, local_span_s))
    fitting = [
        s for s, overlap in zip(shifts, overlaps, strict=True) if overlap > longest - equal_s
    ]
    return fitting[0] if longest > 0 and len(fitting) == 1 else None


def _overlap(leader: Log, other: Log, shift_s: float) -> bool:
    """Whether logs are of the same time, or nearly so."""
    return shift_s < leader.end_s + MARGIN_S and other.end_s + shift_s > -MARGIN_S


def source_name(log: Log) -> str:
    """Return what messages call a log: its file, and which of its runs it is."""
    return Path(log.source).name + (f" (run {log.label})" if log.label else "")
