"""Recordings out again, in formats that other tools read.

:func:`export` writes them as plain tables (CSV, Parquet), as the logs and the JSON that fio-plot
draws, or as OpenMetrics text that Prometheus takes in.
"""

from heatsoak.exporter.atomic_write import Written
from heatsoak.exporter.export import export
from heatsoak.exporter.formats import ExportFormat

__all__ = ["ExportFormat", "Written", "export"]
