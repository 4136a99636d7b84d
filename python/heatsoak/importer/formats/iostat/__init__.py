"""`iostat`: sysstat's in all versions, locales and layouts, as text or JSON; the BSDs' and macOS'.

What is read of each report: throughput, I/Os, waiting times, queue, and how busy each device and
the processors were.
"""

from heatsoak.importer.formats.iostat.format import FORMAT

__all__ = ["FORMAT"]
