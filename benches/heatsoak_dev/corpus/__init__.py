"""Labelled recordings from the simulated drive, to develop and score the judge with.

A seed always gives the same case; benches/corpus.md says what is drawn at random, and why.
"""

from heatsoak_dev.corpus.case import make
from heatsoak_dev.corpus.labels import DEVELOPMENT, HELD_OUT, Choices, LabelledCase, TrueEpisode

__all__ = ["DEVELOPMENT", "HELD_OUT", "Choices", "LabelledCase", "TrueEpisode", "make"]
