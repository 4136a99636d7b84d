"""What speaks to the cause of a drop: a small function for each thing that one can look at.

Each returns a :class:`~heatsoak.analysis.cause.case.Finding`, or None where it has nothing to say.
What a finding is worth stands in the table beside this package, not here.
"""

from collections.abc import Callable

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import (
    counters,
    host,
    oscillation,
    repeats,
    shape,
    temperature,
)

_Look = Callable[[Case], Finding | None]

#: Everything that is looked at, in the order in which it is printed.
LOOKS: tuple[_Look, ...] = (
    host.waits,
    host.asked,
    counters.thermal_counters,
    counters.power_state,
    counters.stated_limit,
    temperature.at_onset,
    temperature.course,
    temperature.bend,
    temperature.let_go,
    temperature.follows,
    oscillation.turns,
    temperature.goes_with_the_load,
    temperature.balance,
    temperature.hotter_at_full_speed,
    temperature.same_at_each_onset,
    shape.load,
    shape.both_ways,
    shape.reads_beside,
    shape.depth_beside_reads,
    shape.against_capacity,
    shape.repeats,
    repeats.again,
    repeats.at_once,
    repeats.after_a_rest,
    repeats.after_a_purge,
    repeats.cooling,
    shape.shape,
    shape.depth,
    shape.end,
    shape.unrest,
    shape.power,
    host.cpu,
    host.heat,
    host.steal,
    host.others_traffic,
    host.link,
)

__all__ = ["LOOKS", "_Look"]
