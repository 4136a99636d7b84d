"""Labelled recordings from the simulated drive: what a judge is made and scored with.

A case is made of a seed, the same one each time; docs/corpus.md says what is drawn, and why.
"""

from heatsoak.corpus.case import make
from heatsoak.corpus.labels import DEVELOPMENT, HELD_OUT, Choices, LabelledCase, TrueEpisode

__all__ = ["DEVELOPMENT", "HELD_OUT", "Choices", "LabelledCase", "TrueEpisode", "make"]
