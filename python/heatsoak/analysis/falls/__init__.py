"""Where throughput leaves its level, how far it falls, and whether it comes back."""

from heatsoak.analysis.falls.drop import Drop, Shape, joined
from heatsoak.analysis.falls.find import Found, Stall, find, find_drops, stalls_of

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
