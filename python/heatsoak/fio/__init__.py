"""fio's own words, for whoever runs it and for whoever reads what others ran."""

from heatsoak.fio.status import Differencer, Status, Totals, percentiles

__all__ = ["Differencer", "Status", "Totals", "percentiles"]
