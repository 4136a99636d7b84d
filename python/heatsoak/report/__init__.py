"""Findings as reports: tables for the terminal, and files."""

from heatsoak.report.findings import print_findings
from heatsoak.report.first_screen import print_first_screen
from heatsoak.report.lists import (
    imported_rows,
    print_drives,
    print_imported,
    print_likeness,
    print_places,
    print_preview,
    print_protocols,
    print_written,
)
from heatsoak.report.matrix import print_matrix
from heatsoak.report.prediction import print_advice, print_prediction
from heatsoak.report.reproduction import print_nearness, print_reproduction
from heatsoak.report.sweep import print_sweep
from heatsoak.report.trace import print_statistics, print_trace_check

__all__ = [
    "imported_rows",
    "print_advice",
    "print_drives",
    "print_findings",
    "print_first_screen",
    "print_imported",
    "print_likeness",
    "print_matrix",
    "print_nearness",
    "print_places",
    "print_prediction",
    "print_preview",
    "print_protocols",
    "print_reproduction",
    "print_statistics",
    "print_sweep",
    "print_trace_check",
    "print_written",
]
