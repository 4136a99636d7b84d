"""Evidence on the cause of a drop: one small function for each kind of observation.

Each returns what was seen and a sentence that says so, or None if it has nothing to say. The weight
of a finding is in `weights.toml` next to this package, not here.
"""

from collections.abc import Callable

from heatsoak.analysis.cause.case import Case, Evidence, Finding
from heatsoak.analysis.cause.evidence import (
    counters,
    host,
    oscillation,
    repeats,
    shape,
    temperature,
)
from heatsoak.analysis.view import is_known_cool

#: All checks by what they are about, in the order in which their findings are printed.
CHECKS: dict[str, Callable[[Case], Evidence | None]] = {
    "partner": host.waits,
    "demand": host.asked,
    "thermal-counters": counters.thermal_counters,
    "power-state": counters.power_state,
    "stated-limit": counters.stated_limit,
    "known-limit": counters.known_limit,
    "sensor": temperature.locked_up,
    "onset-temperature": temperature.at_onset,
    "temperature-course": temperature.course,
    "temperature-bend": temperature.bend,
    "let-go": temperature.recovery,
    "rate-and-temperature": temperature.follows,
    "swings": oscillation.turning_points,
    "heat-balance": temperature.heat_follows_load,
    "on-top": temperature.balance,
    "full-speed-at": temperature.hotter_at_full_speed,
    "onset-temperatures": temperature.same_at_each_onset,
    "load": shape.load,
    "drive": shape.no_cache,
    "both-ways": shape.both_ways,
    "reads-beside": shape.reads_beside,
    "depth-beside-reads": shape.depth_beside_reads,
    "written": shape.against_capacity,
    "cache": shape.too_much_for_a_cache,
    "known-cache": shape.known_cache,
    "repeats-in": shape.repeats,
    "again": repeats.again,
    "when-cooler": repeats.as_slow_when_cooler,
    "at-once": repeats.at_once,
    "after-a-rest": repeats.after_a_rest,
    "after-a-purge": repeats.after_a_purge,
    "conditions": repeats.cooling,
    "shape": shape.shape,
    "ratio": shape.ratio,
    "depth": shape.depth,
    "end": shape.end,
    "unrest": shape.unrest,
    "power": shape.power,
    "cpu": host.cpu,
    "host-heat": host.heat,
    "steal": host.steal,
    "others": host.others_traffic,
    "other-drives": host.other_drives,
    "link": host.link,
}

#: What the drive's temperature tells; all but what a sensor does that has locked up takes one that
#: moves.
OF_TEMPERATURES = {
    "full-speed-at",
    "heat-balance",
    "known-limit",
    "let-go",
    "on-top",
    "onset-temperature",
    "onset-temperatures",
    "rate-and-temperature",
    "sensor",
    "stated-limit",
    "swings",
    "temperature-bend",
    "temperature-course",
    "when-cooler",
}


def observe(case: Case) -> list[Finding]:
    """Return all findings about a drop's cause that may speak, whatever their weight.

    A temperature that does not move tells nothing of the drive's warmth, but that it is cool; and
    one that has locked up nothing that matters to the drive any more.
    """
    seen = ((about, check(case)) for about, check in CHECKS.items())
    found = [Finding(about, *evidence) for about, evidence in seen if evidence is not None]
    is_locked = any(finding.about == "sensor" for finding in found)
    if case.has_temp and not is_locked:
        return found
    is_cool = is_known_cool(case.view, *case.others, temp_c=case.onset_c)
    told = {"sensor", "onset-temperature"} if is_cool and not is_locked else {"sensor"}
    return [one for one in found if one.about in told or one.about not in OF_TEMPERATURES]
