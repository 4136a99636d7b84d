"""What a protocol runs on: simulated drives, files, block devices, NBD exports."""

from heatsoak.target.base import (
    Batch,
    Clock,
    Drives,
    Identity,
    Note,
    NumberedBatch,
    Outcome,
    Target,
)
from heatsoak.target.device import DeviceInfo
from heatsoak.target.place import Place, parse_place

__all__ = [
    "Batch",
    "Clock",
    "DeviceInfo",
    "Drives",
    "Identity",
    "Note",
    "NumberedBatch",
    "Outcome",
    "Place",
    "Target",
    "parse_place",
]
