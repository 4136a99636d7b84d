"""The fit of the simulated drive to what was published, and how well it predicts."""

from heatsoak_dev.calibration.figures import CalibrationRow
from heatsoak_dev.calibration.fit import (
    STAGES,
    Calibration,
    calibrate,
    check_calibration,
    write_roles,
)
from heatsoak_dev.calibration.holdout import (
    LeaveOneOut,
    PairGuess,
    leave_one_out,
    sites_left_out,
)
from heatsoak_dev.calibration.matrix import MAX_PARAMETERS
from heatsoak_dev.calibration.modern import fit_drive
from heatsoak_dev.calibration.parameters import Parameter, write

__all__ = [
    "MAX_PARAMETERS",
    "STAGES",
    "Calibration",
    "CalibrationRow",
    "LeaveOneOut",
    "PairGuess",
    "Parameter",
    "calibrate",
    "check_calibration",
    "fit_drive",
    "leave_one_out",
    "sites_left_out",
    "write",
    "write_roles",
]
