"""A drive's own counters, read again and again: what nvme-cli and smartctl print, made into logs.

A reading is one output of such a tool. Several stand behind each other in a file, with the times
that the user's script wrote between them, or with none. `words` reads what is printed, `taking`
keeps it by reading, `logs` finds the times and makes logs, with `rates` of the counters.
"""

from heatsoak.importer.readings.logs import Readings
from heatsoak.importer.readings.taking import DATA_UNIT_BYTES
from heatsoak.importer.readings.words import (
    degrees_c,
    number,
    of_kelvin_or_celsius,
    plain,
    stamp_in,
    whole,
)

__all__ = [
    "DATA_UNIT_BYTES",
    "Readings",
    "degrees_c",
    "number",
    "of_kelvin_or_celsius",
    "plain",
    "stamp_in",
    "whole",
]
