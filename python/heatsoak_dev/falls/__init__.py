"""Where throughput leaves its level, how far it falls, and whether it comes back.

Meant to replace :mod:`heatsoak.analysis.segments`, whose door it has: few shapes (level, line,
approach, oscillation) under one AR(1) noise model, selected by the length of their description. It
is not yet as good with oscillation whose mean falls and with second falls after an approach; until
it is, the judge uses the other.
"""

from heatsoak.analysis.segments import Drop, Shape, joined

from heatsoak_dev.falls.find import Found, Stall, find, find_drops, stalls_of

__all__ = [
    "Drop",
    "Found",
    "Shape",
    "Stall",
    "find",
    "find_drops",
    "joined",
    "stalls_of",
]
