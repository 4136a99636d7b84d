"""Targets that protocols run on: simulated drives, files, block devices, NBD exports."""

from heatsoak.target.base import (
    Batch,
    Drives,
    Identity,
    LoadResult,
    Note,
    NumberedBatch,
    Recorded,
    Target,
)
from heatsoak.target.device import DeviceInfo
from heatsoak.target.place import Place, parse_place

__all__ = [
    "Batch",
    "DeviceInfo",
    "Drives",
    "Identity",
    "LoadResult",
    "Note",
    "NumberedBatch",
    "Place",
    "Recorded",
    "Target",
    "parse_place",
]
