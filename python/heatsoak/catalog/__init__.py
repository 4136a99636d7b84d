"""The simulated drives and places, traces, and the published figures: data with a source each.

Drives lie in ``drives/``, one TOML file each; places in ``enclosures/``, where one file can hold a
whole family of them; shapes of traces in ``traces/``; what articles printed in ``published.toml``.
A user's own files of the same form are taken wherever an id is.
"""

from heatsoak.catalog.loader import (
    drive_ids,
    enclosure_ids,
    load_drive,
    load_enclosure,
    load_trace,
    parse_drive,
    parse_enclosures,
    trace_ids,
)
from heatsoak.catalog.places import Enclosure
from heatsoak.catalog.published import (
    CELL_METRICS,
    PUGET_STEPS,
    Article,
    FigureRole,
    Measured,
    Published,
    PublishedFigure,
    PugetCell,
    Roles,
    figure_ids,
    published,
    puget_cell,
    roles,
)
from heatsoak.catalog.specs import Drive, Figure
from heatsoak.catalog.traces import TraceShape

__all__ = [
    "CELL_METRICS",
    "PUGET_STEPS",
    "Article",
    "Drive",
    "Enclosure",
    "Figure",
    "FigureRole",
    "Measured",
    "Published",
    "PublishedFigure",
    "PugetCell",
    "Roles",
    "TraceShape",
    "drive_ids",
    "enclosure_ids",
    "figure_ids",
    "load_drive",
    "load_enclosure",
    "load_trace",
    "parse_drive",
    "parse_enclosures",
    "published",
    "puget_cell",
    "roles",
    "trace_ids",
]
