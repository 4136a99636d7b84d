"""Where throughput leaves its level, how far it falls, and whether it comes back.

Few shapes (level, line, approach, oscillation) under one AR(1) noise model, selected by the length
of their description.
"""

from heatsoak.analysis.falls.find import Found, Stall, find, find_drops
from heatsoak.analysis.falls.measure import Drop, Shape, joined

__all__ = ["Drop", "Found", "Shape", "Stall", "find", "find_drops", "joined"]
