"""Which drive of the catalog is meant by the model that a drive reports, or that a person types."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import isclose, log2
from typing import Literal

from heatsoak.catalog.loader import drive_ids, load_drive, names_of
from heatsoak.catalog.specs import Drive, Figure, plain
from heatsoak.units import GB

TB = 1000 * GB
_Family = tuple[str, ...]

#: Words that drives of one family have or lack.
_IDLE_WORDS = {"ssd", "with", "heatsink"}
#: What follows a part number for a single customer.
_OF_CUSTOMER = re.compile(r"-00[a-z0-9]{3,4}\b")
_CAPACITY = re.compile(r"(\d{1,5}(?:\.\d+)?)([gt])b")
#: How part numbers write capacities, by what they are like, and the number's unit.
_IN_PART_NUMBERS = (
    ("WDS500G3B0C", re.compile(r"(?=(\d{3,4})(g)(?!b))"), GB),
    ("WDS500G3B0C", re.compile(r"(?=(\d{3})(t)(?!b))"), 10 * GB),  # 100T is 1 TB
    ("TM8FPK002T", re.compile(r"(?=(\d{3})(t)(?!b))"), TB),
    ("CT2000T700SSD3", re.compile(r"(?<=[a-z])(?=(\d{3,4})()[a-z])"), GB),
)
#: How names say PCIe generation and flash.
_GENERATION = re.compile(r"\b(?:pcie?|gen|g) ?([345])(?:\.0)?(?:x4)?\b")
_FLASH = re.compile(r"\b(mlc|tlc|qlc)\b")


@dataclass(frozen=True)
class Likeness:
    """A drive of the catalog that is like one that was asked for.

    Attributes:
        kind: the same ``model``, its ``family`` in another capacity, or its ``class`` alone.
        size_bytes: of the drive that was asked for; None if that is not known.
    """

    kind: Literal["model", "family", "class"]
    drive: Drive
    size_bytes: float | None

    @property
    def throttles_from_c(self) -> Figure | None:
        """What the drive reports when its governor begins; None if it reports another mix."""
        composite = self.drive.sensors.get("composite")
        governor = self.drive.governor
        if composite is None or plain(composite)["weights"] != plain(governor)["weights"]:
            return None
        return governor.begins if composite.offset_c is None else None

    @property
    def cache_bytes(self) -> float | None:
        """How large its write cache is; a dynamic one grows with the capacity."""
        found = self.drive.cache
        if found is None:
            return None
        return found.bytes.value * (self._larger if found.kind == "dynamic" else 1.0)

    @property
    def flash_mb_s(self) -> float:
        """How fast it writes behind its cache: more flash is faster, up to the data path."""
        nand = self.drive.nand
        flash_mb_s = nand.dies.value * nand.unit_bytes.value / nand.program_us.value
        return min(flash_mb_s * self._larger, self.drive.controller.write_mb_s.value)

    @property
    def _larger(self) -> float:
        return (self.size_bytes or self.drive.user_bytes) / self.drive.user_bytes


@cache
def like(model: str, size_bytes: int | None = None) -> Likeness | None:
    """Return the catalog's drive that is most like one of this model; None if none is.

    `size_bytes` is its capacity, if the model does not name it, or a drive reports both.
    """
    if model in drive_ids():
        drive = load_drive(model)
        return Likeness("model", drive, drive.user_bytes)
    text = _normal(model)
    # the maker may be named by one of the two alone
    for name, known in (
        (text, _families()),
        (text, _families(of_maker=True)),
        (_rest(text), _families()),
    ):
        for family, named in _readings(name):
            if found := known.get(family):
                return _of_family(text, found, size_bytes, named)
    size = size_bytes or next((named for _, named in _readings(text) if named), None)
    return _of_class(text, size)


def named_bytes(model: str) -> float | None:
    """Return the capacity that a model's name tells in a word of its own: that of ``X 1TB``."""
    return _capacity(_normal(model))


def _of_family(
    text: str, found: list[str], size_bytes: float | None, named: float | None
) -> Likeness:
    """The drive of a family that has this very name, or is nearest in size."""
    drives = [load_drive(name) for name in found]
    same = [drive for drive in drives if text in map(_normal, (drive.model, *drive.also))]
    size = size_bytes or named
    if not size:
        return Likeness("model" if same else "family", (same or drives)[0], None)
    if same and not size_bytes:
        return Likeness("model", same[0], same[0].user_bytes)
    drive = min(drives, key=lambda one: abs(log2(size / one.user_bytes)))
    # a family's capacities double from one to the next, but 480, 500 and 512 GB are the same
    is_same = abs(log2(size / drive.user_bytes)) < 0.5
    return Likeness("model" if is_same else "family", drive, drive.user_bytes if is_same else size)


def _of_class(text: str, size_bytes: float | None) -> Likeness | None:
    """The generic drive of the generation and flash that a name gives."""
    generation, flash = _GENERATION.search(text), _FLASH.search(text)
    if generation is None or flash is None:
        return None
    start = f"pcie{generation[1]}-{flash[1]}-"
    without_dram = "dramless" in text or "without dram" in text
    drives = [
        load_drive(name)
        for name in drive_ids()
        if name.startswith(start) and ("dramless" in name) == without_dram
    ]
    if not drives:
        return None
    drive = min(drives, key=lambda one: abs(log2((size_bytes or TB) / one.user_bytes)))
    return Likeness("class", drive, None)


@cache
def _families(of_maker: bool = False) -> dict[_Family, list[str]]:
    """The ids of each family's drives, by the names that they and people have for it.

    Those `of_maker` lack the maker's name.
    """
    known: dict[_Family, list[str]] = {}
    for name in drive_ids():
        models, user_bytes = names_of(name)
        in_words = re.sub(r"-(\d{3,4})$", r"-\1gb", name)
        for text in map(_normal, (*models, in_words)):
            for family, named in _readings(_rest(text) if of_maker else text):
                # any digits could be a capacity, but these are this drive's
                if len(family) == 1 or isclose(named or 0.0, user_bytes, rel_tol=1e-3):
                    known.setdefault(family, []).append(name)
    return {family: list(dict.fromkeys(names)) for family, names in known.items()}


def _rest(text: str) -> str:
    """A name behind its first word, which is the maker's as a rule."""
    return text.partition(" ")[2]


def _normal(model: str) -> str:
    """A model in lower case, without what its family may have or lack."""
    text = _OF_CUSTOMER.sub("", model.casefold())
    text = re.sub(r"[\s_,-]+", " ", text).strip()
    text = re.sub(r"(?<=\d) (?=[gt]b\b)", "", text)
    return " ".join(word for word in text.split() if word not in _IDLE_WORDS)


def _readings(text: str) -> Iterator[tuple[_Family, float | None]]:
    """What may be a name's family, with the capacity in bytes that it names in that case."""
    for form, pattern, unit in _IN_PART_NUMBERS:
        for found in pattern.finditer(text):
            yield (text[: found.start(1)], form, text[found.end(2) :]), float(found[1]) * unit
    if words := [word for word in text.split() if not _CAPACITY.fullmatch(word)]:
        yield (" ".join(words),), _capacity(text)


def _capacity(text: str) -> float | None:
    """The capacity in bytes that a word of a name tells."""
    found = [match for word in text.split() if (match := _CAPACITY.fullmatch(word))]
    return float(found[-1][1]) * (GB if found[-1][2] == "g" else TB) if found else None
