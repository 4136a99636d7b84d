"""fio's own words, for whoever runs it and for whoever reads what others ran."""

from heatsoak.fio.status import (
    OVER_NS,
    Differencer,
    DirectionTotals,
    FioStatus,
    coarse_bins,
    percentiles,
)

__all__ = ["OVER_NS", "Differencer", "DirectionTotals", "FioStatus", "coarse_bins", "percentiles"]
