"""What all parts of the guard share: doubt, and how it is said."""

from collections.abc import Iterator
from pathlib import Path

from heatsoak.sensor.base import Roots


class Doubt(Exception):  # noqa: N818 -- not an error: a reason to refuse
    """Something could not be found out; its text is a reason."""


def listing(directory: Path) -> list[str]:
    """Return the names in a directory that has to be there; raises Doubt otherwise."""
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError as error:
        raise Doubt(f"{directory} cannot be read ({error.strerror})") from None


def processes(roots: Roots) -> Iterator[Path]:
    """Return the directories of all processes; raises Doubt where there are none to be seen."""
    found = [name for name in listing(roots.proc) if name.isdigit()]
    if not found:
        raise Doubt(f"{roots.proc} shows no processes, so who uses it cannot be known")
    return (roots.proc / name for name in found)
