"""What speaks to the cause of a drop: a small function for each thing that one can look at.

Each returns a :class:`~heatsoak.analysis.cause.case.Finding`, or None where it has nothing to say.
What a finding is worth stands in the table beside this package, not here.
"""

from collections.abc import Callable

from heatsoak.analysis.cause.case import Case, Finding
from heatsoak.analysis.cause.evidence import (
    balance,
    conditions,
    counters,
    coupling,
    demand,
    direction,
    form,
    host,
    on_top,
    partner,
    restart,
    swings,
    temperature,
    volume,
)

Look = Callable[[Case], Finding | None]

#: Everything that is looked at, in the order in which it is printed.
LOOKS: tuple[Look, ...] = (
    partner.waits,
    demand.asked,
    counters.thermal_counters,
    counters.power_state,
    counters.stated_limit,
    temperature.at_onset,
    temperature.course,
    temperature.bend,
    temperature.let_go,
    coupling.follows,
    swings.turns,
    balance.goes_with_the_load,
    on_top.balance,
    temperature.hotter_at_full_speed,
    temperature.same_at_each_onset,
    direction.load,
    direction.both_ways,
    direction.reads_beside,
    direction.depth_beside_reads,
    volume.against_capacity,
    volume.repeats,
    restart.again,
    restart.at_once,
    restart.after_a_rest,
    restart.after_a_purge,
    conditions.cooling,
    form.shape,
    form.depth,
    form.end,
    form.unrest,
    form.power,
    host.cpu,
    host.heat,
    host.steal,
    host.others_traffic,
    host.link,
)

__all__ = ["LOOKS", "Look"]
