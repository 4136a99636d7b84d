"""Has a SATA drive hide a part of itself for a run: its host protected area, as spare area.

To the drive, what was purged and never written again is spare area already
(`heatsoak.target.spare`); hiding it changes nothing but what the drive answers to. It is done
within the guard's claim and put back however a run ends (`hidden`, `leftovers`). Namespaces of NVMe
drives are left as they are: see docs/purging.md for why.
"""

from heatsoak.target.capacity.hidden import Hidden, hide, require
from heatsoak.target.capacity.leftovers import left, put_back

__all__ = ["Hidden", "hide", "left", "put_back", "require"]
