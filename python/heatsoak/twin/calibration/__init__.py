"""The fit of the simulated drive to what was published, and how well it predicts."""

from heatsoak.twin.calibration.figures import CalibrationRow
from heatsoak.twin.calibration.fit import (
    STAGES,
    Calibration,
    calibrate,
    check_calibration,
    write_roles,
)
from heatsoak.twin.calibration.holdout import LeaveOneOut, leave_one_out
from heatsoak.twin.calibration.matrix import MAX_PARAMETERS
from heatsoak.twin.calibration.parameters import Parameter, write

__all__ = [
    "MAX_PARAMETERS",
    "STAGES",
    "Calibration",
    "CalibrationRow",
    "LeaveOneOut",
    "Parameter",
    "calibrate",
    "check_calibration",
    "leave_one_out",
    "write",
    "write_roles",
]
