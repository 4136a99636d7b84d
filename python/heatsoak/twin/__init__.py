"""Twins: models of one drive in its places, fitted to recordings of it."""

from heatsoak.twin.case import Cooling
from heatsoak.twin.fitting import fit
from heatsoak.twin.predict import Prediction, predict
from heatsoak.twin.twin import Estimate, FittedParameter, Load, Twin

__all__ = [
    "Cooling",
    "Estimate",
    "FittedParameter",
    "Load",
    "Prediction",
    "Twin",
    "fit",
    "predict",
]
