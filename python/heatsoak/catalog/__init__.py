"""Simulated drives and enclosures, trace shapes and published figures: data with sources.

Drives are in ``drives/``, one TOML file each, and those that nobody measured in ``models.csv``, a
line each; enclosures in ``enclosures/``, where a file can have a family; trace shapes in
``traces/``; published figures in ``published.toml``, and those of other drives in ``modern.toml``.
Wherever an id is accepted, so is the path of a user's own file in the same format, and a drive's
model with its capacity.
"""

from heatsoak.catalog.left_out import left_out
from heatsoak.catalog.like import Likeness, drive_called, like, load_drive, named_bytes
from heatsoak.catalog.loader import (
    drive_ids,
    enclosure_ids,
    load_enclosure,
    load_trace,
    parse_enclosures,
    trace_ids,
)
from heatsoak.catalog.places import Enclosure
from heatsoak.catalog.published import (
    CELL_METRICS,
    PUGET_STEPS,
    FigureMeasurement,
    FigureRole,
    ModernFigure,
    PublishedFigure,
    PugetCell,
    figure_ids,
    modern_figures,
    published,
    puget_cell,
    roles,
)
from heatsoak.catalog.specs import Drive, Figure
from heatsoak.catalog.traces import TraceShape

__all__ = [
    "CELL_METRICS",
    "PUGET_STEPS",
    "Drive",
    "Enclosure",
    "Figure",
    "FigureMeasurement",
    "FigureRole",
    "Likeness",
    "ModernFigure",
    "PublishedFigure",
    "PugetCell",
    "TraceShape",
    "drive_called",
    "drive_ids",
    "enclosure_ids",
    "figure_ids",
    "left_out",
    "like",
    "load_drive",
    "load_enclosure",
    "load_trace",
    "modern_figures",
    "named_bytes",
    "parse_enclosures",
    "published",
    "puget_cell",
    "roles",
    "trace_ids",
]
