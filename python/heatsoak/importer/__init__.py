"""Other tools' logs in, recordings out.

A file is a :class:`Source`; its format is told by its content (`detect`); a reader (`formats`, a
module or a room each) makes a :class:`Log` of each run in it. Logs of the same time are joined
(`join`, `align`), a logger's are divided into stretches of load (`stretches`), and each becomes a
recording (`recordings`). :func:`import_files` does all of it.
"""

from heatsoak.importer.detect import detect, read
from heatsoak.importer.doors import import_files, open_all
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.meter import save_with_meter, with_meter
from heatsoak.importer.source import Source
from heatsoak.importer.watched import WATCH, divided

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
    "save_with_meter",
    "with_meter",
]
