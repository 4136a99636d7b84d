"""One module a format; :data:`FORMATS` has them in the order in which they are asked."""

from heatsoak.importer.formats import dstat, elbencho, iostat, sar
from heatsoak.importer.formats.base import Format

#: The more particular a format's marks, the earlier it is asked; plain CSV takes what is left.
FORMATS: tuple[Format, ...] = (sar.FORMAT, iostat.FORMAT, elbencho.FORMAT, dstat.FORMAT)
