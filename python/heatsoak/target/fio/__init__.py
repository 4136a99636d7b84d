"""Real places that fio loads: files, block devices, NBD exports.

``command`` says what fio is asked, ``process`` and ``watch`` run it, ``stream`` understands what
it says; ``file``, ``block`` and ``nbd`` know the places.
"""

from heatsoak.target.fio.block import BlockTarget
from heatsoak.target.fio.file import DirectoryTarget, FileTarget
from heatsoak.target.fio.nbd import NbdTarget
from heatsoak.target.fio.target import FioTarget, Settings

__all__ = [
    "BlockTarget",
    "DirectoryTarget",
    "FileTarget",
    "FioTarget",
    "NbdTarget",
    "Settings",
]
