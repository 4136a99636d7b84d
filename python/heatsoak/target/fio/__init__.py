"""Real targets that fio loads: files, block devices, NBD exports.

``command`` makes fio's command line, ``process`` runs and watches it, ``lane`` turns its status
into samples; ``file``, ``block`` and ``nbd`` are the targets.
"""

from heatsoak.target.fio.block import BlockTarget
from heatsoak.target.fio.file import DirectoryTarget, FileTarget
from heatsoak.target.fio.nbd import NbdTarget
from heatsoak.target.fio.target import FioTarget

__all__ = ["BlockTarget", "DirectoryTarget", "FileTarget", "FioTarget", "NbdTarget"]
