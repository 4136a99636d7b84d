"""Makes a whole drive forget its data, in the way that it offers, and looks whether it did.

Everything here acts through the descriptor of a claim: the write guard has passed the drive, it is
held exclusively, and right before each command it is checked that the descriptor still leads to
the drive that was named.
"""

from heatsoak.target.purge.choose import purge, require
from heatsoak.target.purge.nvme_sanitize import sanitizing

__all__ = ["purge", "require", "sanitizing"]
