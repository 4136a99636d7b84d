"""Other tools' logs in, recordings out.

A file is a :class:`Source`; its content tells the format (`api`); a reader (`formats`, a module or
a room each) makes a :class:`Log` of each run in it. Logs of the same time are joined (`join`),
a logger's are divided into stretches of load (`stretches`), and each becomes a
recording (`recordings`). :func:`import_files` does all of it.
"""

from heatsoak.importer.api import detect, import_files, open_all, read, recording_of_frame
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.meter import save_with_meter, with_meter
from heatsoak.importer.source import Source
from heatsoak.importer.stretches import WATCH, divided

__all__ = [
    "WATCH",
    "Log",
    "Options",
    "Remark",
    "Source",
    "detect",
    "divided",
    "import_files",
    "open_all",
    "read",
    "recording_of_frame",
    "save_with_meter",
    "with_meter",
]
