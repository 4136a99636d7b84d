"""Where throughput leaves its level, how far it falls, and whether it comes back."""

from heatsoak.analysis.segments.drop import DEPTH_WINDOW_S, MIN_DROP, RECOVERED, Drop, Shape, joined
from heatsoak.analysis.segments.find import find, find_drops
from heatsoak.analysis.segments.search import Found
from heatsoak.analysis.segments.stalls import Stall, stalls_of

__all__ = [
    "DEPTH_WINDOW_S",
    "MIN_DROP",
    "RECOVERED",
    "Drop",
    "Found",
    "Shape",
    "Stall",
    "find",
    "find_drops",
    "joined",
    "stalls_of",
]
