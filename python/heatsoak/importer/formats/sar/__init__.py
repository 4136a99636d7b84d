"""`sar` and `sadf`: the text of one, the CSV, tables and JSON of the other, in all locales.

What is read: devices (`-d`), transfers of all of them together (`-b`, where there are no others),
the processors (`-u`), and temperatures (`-m TEMP`).
"""

from heatsoak.importer.formats.sar.format import FORMAT

__all__ = ["FORMAT"]
