"""What of this machine heatsoak can use, what is missing, and how to get it.

`facts` is the one table of it; each row is looked up by what a run itself asks. Nothing is changed,
no drive is opened for writing, and none is sent a command.
"""

from heatsoak.doctor.examined import examine
from heatsoak.doctor.findings import Checkup, Fact

__all__ = ["Checkup", "Fact", "examine"]
