"""Twins: models of one drive in its places, fitted to recordings of it."""

from heatsoak.twin.advise import Advice, advise
from heatsoak.twin.case import Cooling
from heatsoak.twin.fitting import fit
from heatsoak.twin.named import USUAL_S, step_of, subject_of
from heatsoak.twin.predict import Prediction, predict
from heatsoak.twin.twin import Estimate, FittedParameter, Load, Twin

__all__ = [
    "USUAL_S",
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
    "step_of",
    "subject_of",
]
