"""The fit of the simulated drive to what was published, and how well it predicts."""

from heatsoak.twin.calibration.fit import Calibration, Row, calibrate, check
from heatsoak.twin.calibration.parameters import MOST_PARAMETERS, Parameter, write

__all__ = ["MOST_PARAMETERS", "Calibration", "Parameter", "Row", "calibrate", "check", "write"]
