"""Twins: models of one drive in its places, fitted to recordings of it."""

from heatsoak.twin.fitting import fit
from heatsoak.twin.twin import Estimate, FittedParameter, Load, Twin

__all__ = ["Estimate", "FittedParameter", "Load", "Twin", "fit"]
