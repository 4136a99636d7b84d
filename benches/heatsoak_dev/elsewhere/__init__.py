"""Labelled storage logs of a world that heatsoak's own simulator did not make.

Situations (``situations``) happen to drives with thermal models of their own (``thermal``), are
sampled as loggers sample (``observe``) and written as the tools of the world write (``writers``),
each with a ``truth.json``: the falls, and what somebody who has only the files could know.
Development seeds are 0 to 9999; those from 10000 on are held out.
"""

from heatsoak_dev.elsewhere.case import DEVELOPMENT, HELD_OUT, WORLDS, draw, make
from heatsoak_dev.elsewhere.truth import Fall, Truth, read_truth
from heatsoak_dev.elsewhere.writers import FORMATS

__all__ = [
    "DEVELOPMENT",
    "FORMATS",
    "HELD_OUT",
    "WORLDS",
    "Fall",
    "Truth",
    "draw",
    "make",
    "read_truth",
]
