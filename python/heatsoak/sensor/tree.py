"""Sensors of a drive that this machine's kernel does not know, such as an NBD export's.

They are read from a directory whose ``sys`` is laid out like ``/sys``. Its contents only affect
what is recorded.
"""

from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots

_WANTED = "name the directory given to `heatsoak nbd ... --sensors`"


def drive_in_tree(directory: Path) -> tuple[str, Roots]:
    """Return the kernel name of the only drive below `directory`, and the roots to read it with.

    Raises UsageError for a directory without such a tree, and for this machine's own.
    """
    sys = directory / "sys"
    if not sys.is_dir():
        raise UsageError(f"{directory}: has no sensors, there is no {sys}: {_WANTED}")
    if sys.resolve() == Roots().sys.resolve():
        raise UsageError(f"{directory}: these are this machine's own sensors: {_WANTED}")
    drives = sysfs.names(sys / "block")
    if len(drives) != 1:
        raise UsageError(f"{sys / 'block'}: has {len(drives)} drives instead of one: {_WANTED}")
    return drives[0], Roots(sys=sys, dev=directory / "dev", proc=directory / "proc")
