"""Exports recordings in formats that other tools read.

:func:`export` writes plain tables (CSV, Parquet), logs and JSON for fio-plot, or OpenMetrics text
for Prometheus.
"""

from heatsoak.exporter.export import Written, export
from heatsoak.exporter.names import ExportFormat

__all__ = ["ExportFormat", "Written", "export"]
