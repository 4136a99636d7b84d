"""Host controlled thermal management: when an NVMe drive begins to slow, chosen by the host.

The only setting of a drive that heatsoak ever changes, and only where it was asked to; it is put
back however a run ends.
"""

from heatsoak.target.hctm.feature import Thresholds, check
from heatsoak.target.hctm.held import held
from heatsoak.target.hctm.leftovers import put_back

__all__ = ["Thresholds", "check", "held", "put_back"]
