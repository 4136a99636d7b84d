"""Twins: models of one drive in its places, fitted to recordings of it."""

from heatsoak.twin.advise import Advice, advise
from heatsoak.twin.case import Cooling
from heatsoak.twin.demand import Demand, demand_of, demand_of_recording
from heatsoak.twin.fitting import fit
from heatsoak.twin.named import USUAL_S, length_s, protocol_of, subject_of, workload_of
from heatsoak.twin.predict import Prediction, predict
from heatsoak.twin.twin import DerivedQuantity, FittedParameter, FullRates, Twin

__all__ = [
    "USUAL_S",
    "Advice",
    "Cooling",
    "Demand",
    "DerivedQuantity",
    "FittedParameter",
    "FullRates",
    "Prediction",
    "Twin",
    "advise",
    "demand_of",
    "demand_of_recording",
    "fit",
    "length_s",
    "predict",
    "protocol_of",
    "subject_of",
    "workload_of",
]
