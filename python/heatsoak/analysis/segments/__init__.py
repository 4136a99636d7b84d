"""Where throughput leaves its level, how far it falls, and whether it comes back."""

from heatsoak.analysis.segments.drop import Drop, Shape, joined
from heatsoak.analysis.segments.find import find, find_drops
from heatsoak.analysis.segments.search import Found
from heatsoak.analysis.segments.stalls import Stall, stalls_of

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
