"""Twins: models of one drive in its places, fitted to recordings of it."""

from heatsoak.twin.advise import Advice, advise
from heatsoak.twin.case import Cooling
from heatsoak.twin.fitting import fit
from heatsoak.twin.predict import Prediction, predict
from heatsoak.twin.twin import Estimate, FittedParameter, Load, Twin

__all__ = [
    "Advice",
    "Cooling",
    "Estimate",
    "FittedParameter",
    "Load",
    "Prediction",
    "Twin",
    "advise",
    "fit",
    "predict",
]
