"""Sensors of a drive that this machine's kernel does not know, such as that of an NBD export.

They are read from a directory whose ``sys`` is laid out as ``/sys`` is. What stands there decides
nothing but what is recorded beside the load.
"""

from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots

_WANTED = "name what `heatsoak nbd ... --sensors` wrote"


def drive_in_tree(directory: Path) -> tuple[str, Roots]:
    """Return the kernel name of the one drive below `directory`, and the roots to read it at.

    Raises UsageError for a directory that holds no such tree, and for this machine's own.
    """
    sys = directory / "sys"
    if not sys.is_dir():
        raise UsageError(f"{directory}: holds no sensors, there is no {sys}: {_WANTED}")
    if sys.resolve() == Roots().sys.resolve():
        raise UsageError(f"{directory}: these are this machine's own sensors: {_WANTED}")
    drives = sysfs.names(sys / "block")
    if len(drives) != 1:
        raise UsageError(f"{sys / 'block'}: holds {len(drives)} drives instead of one: {_WANTED}")
    return drives[0], Roots(sys=sys, dev=directory / "dev", proc=directory / "proc")
