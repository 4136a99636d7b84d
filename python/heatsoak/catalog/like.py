"""Which drive of the catalog is meant by the model that a drive reports, or that a person types."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from math import isclose, log2
from pathlib import Path
from typing import Literal

from heatsoak.catalog import loader, specs
from heatsoak.errors import UsageError
from heatsoak.units import GB, TB

#: A name's words without those that many have, and the makers and the bytes that these said.
_Name = tuple[tuple[str, ...], frozenset[str], float | None]

_CAPACITY = re.compile(r"(\d{1,5}(?:\.\d+)?)([gt])b?")
#: How part numbers write capacities: 1T, 1T0 and 1T02; 002T, 020T and 200T; 500G and 512B; 1000
#: and 500, which are no part of a longer number, but may follow a digit of the name.
_IN_PART_NUMBERS = {
    r"(?=(\dt\d{0,2}))": TB,
    r"(?=(00\dt))": TB,
    r"(?=(0[1-9]\dt))": 100 * GB,
    r"(?=([1-9]\d\dt))": 10 * GB,
    r"(?=(\d{4}[gb]))": GB,
    r"(?=(\d{3}[gb]))": GB,
    r"(?<!\d)(?=(\d{4})(?!\d))": GB,
    r"(?<!\d\d)(?=(\d{3})(?!\d))": GB,
}
#: A name of so few letters has a number of its own, and no part number's capacity.
_SHORT = 4
#: A part number or a customer's code behind a name.
_CODE = re.compile(r"(?=.*\d)(?!.*[gt]b$)[a-z0-9]{8,16}|\d{4,8}")
#: Words that say the class, which names seldom need, and the ids of classes.
_OF_CLASS = re.compile(r"pcie?|gen[345]|g?[345]?x4|[mtq]lc")
_CLASS = re.compile(r"pcie(\d)-([a-z]+)-(dramless-)?\d")


@dataclass(frozen=True)
class Likeness:
    """A drive of the catalog that is like one that was asked for.

    Attributes:
        kind: the same ``model``, its ``family`` in another capacity, or its ``class`` alone.
        size_bytes: of the drive that was asked for; None if that is not known.
        guessed: what of its class was not told.
    """

    kind: Literal["model", "family", "class"]
    drive: specs.Drive
    size_bytes: float | None
    guessed: tuple[str, ...] = ()

    @property
    def throttles_from_c(self) -> specs.Figure | None:
        """What the drive reports when its governor begins; None if it reports another mix."""
        composite, governor = self.drive.sensors.get("composite"), specs.plain(self.drive.governor)
        if composite is None or composite.offset_c is not None:
            return None
        is_same = all(specs.plain(composite)[of] == governor[of] for of in ("weights", "hottest"))
        return self.drive.governor.begins if is_same else None

    @property
    def cache_bytes(self) -> float | None:
        """How large its write cache is; a dynamic one grows with the capacity."""
        found = self.drive.cache
        times = self._larger if found and found.kind == "dynamic" else 1.0
        return found.bytes.value * times if found else None

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
def like(model: str, size_bytes: int | None = None, pcie: str | None = None) -> Likeness | None:
    """Return the catalog's drive that is most like one of this model; None if none is.

    `size_bytes` is its capacity, if the model does not name it, or a drive reports both;
    `pcie` is its generation of PCIe, where something else tells it.
    """
    if model in loader.drive_ids():
        drive = loader.load_drive(model)
        return Likeness("model", drive, drive.user_bytes)
    text = _normal(model)
    words, makers, named = _name(text)
    told = re.search(r"\b(?:gen|g(?=.x))([345])", text)
    for tried in _attempts(words):
        # what has only words of its class is no maker's drive without the maker
        is_named = not makers and not all(map(_OF_CLASS.fullmatch, tried))
        for key, written in _keys(_joined(tried)):
            found = [
                one
                for one, own_makers, own in _known(key)
                if (is_named or makers & own_makers) and (not told or own in ("", told[1]))
            ]
            if found:
                return _of_family(text, found, size_bytes, named or written)
    return _of_class(text, told[1] if told else pcie, size_bytes or named)


def drive_called(name: str) -> str:
    """Return the id of the drive that has this very model and capacity; `name` if it is no model.

    Raises UsageError for a model without its capacity, or one that only others are like.
    """
    if name in loader.drive_ids() or name.endswith(".toml") or Path(name).is_file():
        return name
    found = like(name)
    if found is None or found.kind == "class":
        return name
    if found.kind == "model" and found.size_bytes:
        return found.drive.id
    capacity = "of that capacity " if found.size_bytes else ""
    raise UsageError(
        f"there is no simulated drive {capacity}called '{name}' (did you mean "
        f"'{found.drive.id}'?): heatsoak list drives lists them; the path of a TOML file works too"
    )


def load_drive(name: str) -> specs.Drive:
    """Return the drive with the id, model or TOML file `name`, which may be a twin's.

    Raises UsageError for an unknown name, or for a bad file, naming it and the key.
    """
    return loader.load_drive(drive_called(name))


def named_bytes(model: str) -> float | None:
    """Return the capacity that a model's name tells in a word of its own: that of ``X 1TB``."""
    return _name(_normal(model))[2]


def _of_family(
    text: str, ids: list[str], size_bytes: float | None, named: float | None
) -> Likeness:
    """The drive of a family that has this very name, or is nearest in size."""
    drives = list(map(loader.load_drive, ids))
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


def _of_class(text: str, pcie: str | None, size: float | None) -> Likeness | None:
    """The nearest class by what is told of it; None if nothing is, and no maker is named."""
    flash = re.search(r"\b[mtq]lc\b", text)
    has_dram = not re.search(r"\bdram ?less|\b(?:without|no) dram\b|\bhmb\b", text)
    if not (pcie or flash or size or _name(text)[1]) and has_dram:
        return None
    wanted = pcie or "4", flash[0] if flash else "tlc", "" if has_dram else "dramless-"

    def unlike(drive_id: str) -> tuple[list[bool], float]:
        own = _CLASS.findall(drive_id)[0]
        apart = abs(log2((size or TB) / (_name(_normal(drive_id))[2] or TB)))
        return [one != other for one, other in zip(wanted, own, strict=True)], apart

    nearest = min(filter(_CLASS.match, loader.drive_ids()), key=unlike)
    untold = {f"PCIe {wanted[0]}.0": pcie, wanted[1].upper(): flash}
    guessed = tuple(words for words, told in untold.items() if not told)
    return Likeness("class", loader.load_drive(nearest), size, guessed)


@cache
def _index() -> dict[str, list[tuple[str, frozenset[str], str]]]:
    """Drives, their makers and PCIe's generation, by their names: their ids', reported, people's.

    A star ends a name that may go on in any way.
    """
    known: dict[str, list[tuple[str, frozenset[str], str]]] = {}
    for drive_id in loader.drive_ids():
        in_words = re.sub(r"-(\d{3,4})(?=$|-u2)", r"-\1gb", drive_id)
        reported, base = loader.names_of(drive_id)
        names = [_name(_normal(text)) for text in (in_words, *reported)]
        found = _CLASS.match(drive_id) or _CLASS.match(base)
        makers = frozenset(one for name in names for one in name[1])
        drive = (drive_id, makers, found[1] if found else "")
        for words, _, named in names:
            for name, written in _keys(_joined(words)):
                key = name if name.endswith("*") else name.replace("~", "")
                # any digits could be a capacity, but these are this drive's
                is_own = not named and isclose(written or 0, names[0][2] or 0, rel_tol=0.03)
                # of so short a name they are its number, as of an SN500 of 500 GB
                is_own = is_own and len(name) > _SHORT
                if (written is None or is_own) and drive not in known.setdefault(key, []):
                    known[key].append(drive)
    return known


def _known(key: str) -> list[tuple[str, frozenset[str], str]]:
    """The drives with this name, or else with the longest beginning of it that codes follow."""
    ends = (end for end in range(len(key), 3, -1) if "~" not in key[end:])
    tried = (key.replace("~", ""), *(f"{key[:end]}*" for end in ends))
    return next((found for one in tried if (found := _index().get(one))), [])


def _normal(model: str) -> str:
    """A name in lower case, with single spaces between its words, and with words of one form."""
    # no name is longer; the ending is for a single customer
    text = re.sub(r"-00[a-z0-9]{3,4}\b", "", model[:100].casefold())
    text = re.sub(r"\bmz-", "mz", text.replace("t-force", "team"))
    text = " ".join(word.strip(".") for word in re.findall(r"[a-z0-9.#*]+", text))
    text = re.sub(r"\b(?:pcie?|gen) ?([345])(?:\.0)?\b", r"gen\1", text)
    text = re.sub(r"(?<=\d)\.0\b", "", text)
    return re.sub(r"(?<=\d) (?=[gt]b\b)", "", text)


@cache
def _words() -> tuple[dict[str, str], frozenset[str]]:
    """What makers are called, each with one name for it, and what drives of a family may lack."""
    told = loader.read_catalog("words.toml")
    makers = {word: one for one, others in told["makers"].items() for word in (one, *others)}
    return makers, frozenset(told["idle"])


def _name(text: str) -> _Name:
    """What a normal name tells."""
    known, idle = _words()
    words = text.split()
    sizes = {word: size for word in words if (size := _CAPACITY.fullmatch(word))}
    left = tuple(word for word in words if word not in {*idle, *known, *sizes})
    named = [float(size[1]) * (GB if size[2] == "g" else TB) for size in sizes.values()]
    makers = frozenset(known[word] for word in words if word in known)
    return left, makers, named[-1] if named else None


def _joined(words: tuple[str, ...]) -> str:
    """Words without spaces, since people divide them anyhow; ~ marks those without a digit."""
    return "".join(w if re.search(r"[\d#]", w) else f"~{w}" for w in words)


def _attempts(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """A name's words, then without codes behind them, then without words for its class."""
    for kept in dict.fromkeys((words, tuple(w for w in words if not _OF_CLASS.fullmatch(w)))):
        while kept:
            yield kept
            kept = kept[:-1] if _CODE.fullmatch(kept[-1]) else ()


def _keys(text: str) -> Iterator[tuple[str, float | None]]:
    """What a joined name may be known by, with the bytes that its digits come to in that case."""
    for form, unit in _IN_PART_NUMBERS.items():
        for found in re.finditer(form, text):
            size = float(found[1].replace("t", ".").rstrip("gb")) * unit
            # capacities double from one of these to the next, which a model's number seldom meets
            doublings = [log2(size / GB / sold) for sold in (100, 120, 125, 128) if size]
            if any(abs(times - round(times)) < 0.017 for times in doublings):
                yield f"{text[: found.start(1)]}#{text[found.end(1) :]}", size
    if text:
        yield text, None
