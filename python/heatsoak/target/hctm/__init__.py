"""Host controlled thermal management: when an NVMe drive begins to slow, chosen by the host.

Changed only where that was asked for, and put back however a run ends; beside what a drive hides
(`heatsoak.target.capacity`), no other setting of a drive is ever touched.
"""

from heatsoak.target.hctm.feature import Thresholds, check, controllers
from heatsoak.target.hctm.held import held
from heatsoak.target.hctm.leftovers import left, left_on, put_back

__all__ = ["Thresholds", "check", "controllers", "held", "left", "left_on", "put_back"]
