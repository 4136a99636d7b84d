"""Findings as reports: tables for the terminal, and files. Each is loaded when first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heatsoak.report.doctor import print_checkup
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
    "print_checkup",
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

#: Where each name comes from.
_MODULES = {
    "imported_rows": "lists",
    "print_advice": "prediction",
    "print_checkup": "doctor",
    "print_drives": "lists",
    "print_findings": "findings",
    "print_first_screen": "first_screen",
    "print_imported": "lists",
    "print_likeness": "lists",
    "print_matrix": "matrix",
    "print_nearness": "reproduction",
    "print_places": "lists",
    "print_prediction": "prediction",
    "print_preview": "lists",
    "print_protocols": "lists",
    "print_reproduction": "reproduction",
    "print_statistics": "trace",
    "print_sweep": "sweep",
    "print_trace_check": "trace",
    "print_written": "lists",
}


def __getattr__(name: str) -> Any:
    """Load what is used for the first time."""
    if name not in _MODULES:
        raise AttributeError(f"module 'heatsoak.report' has no attribute '{name}'")
    module = import_module(f"heatsoak.report.{_MODULES[name]}")
    found = globals()[name] = getattr(module, name)
    return found
