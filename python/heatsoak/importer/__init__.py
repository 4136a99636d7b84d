"""Other tools' logs in, recordings out.

A file is a :class:`Source`; its format is told by its content (`detect`); a reader (`formats`, one
module each) makes a :class:`Log` of each run in it.
"""

from heatsoak.importer.detect import detect, read
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source

__all__ = ["Log", "Options", "Remark", "Source", "detect", "read"]
