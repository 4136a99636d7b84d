"""Evidence on the cause of a drop: one small function for each kind of observation.

Each returns a :class:`~heatsoak.analysis.cause.case.Finding`, or None if it has nothing to say. The
weight of a finding is in `weights.toml` next to this package, not here.
"""

from collections.abc import Callable

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import (
    counters,
    host,
    known,
    oscillation,
    repeats,
    shape,
    temperature,
)

Check = Callable[[Case], Finding | None]

#: All checks, in the order in which their findings are printed.
CHECKS: tuple[Check, ...] = (
    host.waits,
    host.asked,
    counters.thermal_counters,
    counters.power_state,
    counters.stated_limit,
    known.limit,
    temperature.locked_up,
    temperature.at_onset,
    temperature.course,
    temperature.bend,
    temperature.recovery,
    temperature.follows,
    oscillation.turning_points,
    temperature.heat_follows_load,
    temperature.balance,
    temperature.hotter_at_full_speed,
    temperature.same_at_each_onset,
    shape.load,
    known.no_cache,
    shape.both_ways,
    shape.reads_beside,
    shape.depth_beside_reads,
    shape.against_capacity,
    shape.too_much_for_a_cache,
    known.cache,
    shape.repeats,
    repeats.again,
    repeats.as_slow_when_cooler,
    repeats.at_once,
    repeats.after_a_rest,
    repeats.after_a_purge,
    repeats.cooling,
    shape.shape,
    shape.ratio,
    shape.depth,
    shape.end,
    shape.unrest,
    shape.power,
    host.cpu,
    host.heat,
    host.steal,
    host.others_traffic,
    host.other_drives,
    host.link,
)

#: What tells how warm the drive is.
_OF_WARMTH = {
    "heat-balance",
    "known-limit",
    "onset-temperature",
    "rate-and-temperature",
    "stated-limit",
    "temperature-bend",
    "temperature-course",
}

__all__ = ["CHECKS", "Check", "observe"]


def observe(case: Case) -> list[Finding]:
    """Return all findings about a drop's cause, whatever their weight."""
    found = [finding for check in CHECKS if (finding := check(case)) is not None]
    if any(finding.pair == ("sensor", "locked-up") for finding in found):
        # how warm it is no longer matters to the drive
        return [finding for finding in found if finding.about not in _OF_WARMTH]
    return found
