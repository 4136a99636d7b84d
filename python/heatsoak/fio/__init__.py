"""fio's JSON output, for our own runs and for imports."""

from heatsoak.fio.status import (
    OVER_NS,
    Differencer,
    DirectionTotals,
    FioStatus,
    coarse_bins,
    percentiles,
)

__all__ = ["OVER_NS", "Differencer", "DirectionTotals", "FioStatus", "coarse_bins", "percentiles"]
