"""Purges whole drives by the methods that they support, and checks the result.

Everything here uses the descriptor of a claim: the write guard has accepted the drive, it is held
exclusively, and right before each command it is checked that the descriptor still leads to the
named drive.
"""

from heatsoak.target.purge.choose import purge, require
from heatsoak.target.purge.nvme import sanitizing

__all__ = ["purge", "require", "sanitizing"]
