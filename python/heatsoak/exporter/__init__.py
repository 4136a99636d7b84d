"""Exports recordings in formats that other tools read.

:func:`export` writes plain tables (CSV, Parquet), logs and JSON for fio-plot, or OpenMetrics text
for Prometheus.
"""

from heatsoak.exporter.atomic_write import Written
from heatsoak.exporter.export import export
from heatsoak.exporter.formats import ExportFormat

__all__ = ["ExportFormat", "Written", "export"]
