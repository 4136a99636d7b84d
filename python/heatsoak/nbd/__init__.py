"""The simulated drive as an NBD export that a real fio can load: its settings and its server."""

from heatsoak.nbd.export import Export
from heatsoak.nbd.server import serve_export

__all__ = ["Export", "serve_export"]
