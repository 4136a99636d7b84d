"""Where throughput leaves its level, how far it falls, and whether it comes back."""

from heatsoak.analysis.segments.drop import (
    DEPTH_WINDOW_S,
    MIN_DROP,
    RECOVERED,
    Drop,
    Shape,
    joined,
)
from heatsoak.analysis.segments.find import Found, find, find_drops

__all__ = [
    "DEPTH_WINDOW_S",
    "MIN_DROP",
    "RECOVERED",
    "Drop",
    "Found",
    "Shape",
    "find",
    "find_drops",
    "joined",
]
