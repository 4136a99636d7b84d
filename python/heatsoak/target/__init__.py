"""Targets that protocols run on: simulated drives, files, block devices, NBD exports."""

from heatsoak.target.base import Batch, LoadResult, Note, Target
from heatsoak.target.device import DeviceInfo
from heatsoak.target.place import Place, parse_place

__all__ = ["Batch", "DeviceInfo", "LoadResult", "Note", "Place", "Target", "parse_place"]
