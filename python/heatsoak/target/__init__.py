"""What a protocol runs on: simulated drives, files, block devices, NBD exports."""

from heatsoak.target.base import Batch, Clock, Identity, Note, Target

__all__ = ["Batch", "Clock", "Identity", "Note", "Target"]
