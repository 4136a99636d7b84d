"""The host protected area of a SATA drive: sectors at its end that it does not show.

hdparm asks and sets (READ NATIVE MAX ADDRESS, SET MAX ADDRESS; ACS-2). What is set here lasts until
the drive's next hardware reset, never longer. Newer drives have ACCESSIBLE MAX ADDRESS instead,
which stays through power cycles and is taken once in each: it could not be put back, and is never
set.
"""

import re
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.target import hdparm as tool

SECTOR = 512
_SECTORS = re.compile(r"max sectors\s*=\s*([0-9]+)/([0-9]+), HPA is (?:en|dis)abled")
_HAS_HPA = 1 << 10  # of word 82 of IDENTIFY DEVICE
#: Two commands have to follow each other at once, and the kernel may put another between them.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Sectors:
    """How many sectors a drive shows, and how many it has."""

    shown: int
    native: int

    @property
    def hidden(self) -> int:
        """How many it hides."""
        return self.native - self.shown


def parse(text: str) -> Sectors:
    """Return what ``hdparm -N`` tells; raises ValueError where that makes no sense.

    Through bridges and some drivers it prints numbers all the same, and says that they seem
    invalid; of ACCESSIBLE MAX ADDRESS it speaks in other words.
    """
    found = _SECTORS.search(text)
    if found is None:
        said = " ".join(text.split()[1:]) or "nothing"
        raise ValueError(f"hdparm tells no host protected area: {said}")
    sectors = Sectors(int(found[1]), int(found[2]))
    if not 0 < sectors.shown <= sectors.native:
        raise ValueError(f"it shows {sectors.shown} of {sectors.native} sectors, which cannot be")
    return sectors


def read(hdparm: str, fd: int, name: object) -> Sectors:
    """Return what the drive says; raises ToolError where it does not."""
    try:
        return parse(tool.run(hdparm, fd, name, "-N"))
    except ValueError as error:
        raise ToolError(f"{name}: {error}") from error


def show(hdparm: str, fd: int, name: object, sectors: int) -> None:
    """Have the drive show so many sectors until its next reset, and look whether it does.

    Raises ToolError where it does not.
    """
    for _ in range(_ATTEMPTS):
        tool.run(hdparm, fd, name, "--yes-i-know-what-i-am-doing", f"-N{sectors}")
        now = read(hdparm, fd, name)
        if now.shown == sectors:
            return
    raise ToolError(f"{name}: was told to show {sectors} sectors, and shows {now.shown}")


def hides(hdparm: str, fd: int, name: object, words: list[int]) -> str | None:
    """Return why the drive has, or may have, data in sectors that it hides; None where not.

    `words` are those of IDENTIFY DEVICE.
    """
    try:
        sectors = read(hdparm, fd, name)
    except ToolError as error:
        return str(error) if words[82] & _HAS_HPA else None
    if sectors.hidden:
        return f"it hides {sectors.hidden} sectors (a host protected area)"
    return None
