"""What a cell of a table says: a number with its unit, a date or a time, yes or no."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload

import numpy as np

from heatsoak.importer.frames import Array
from heatsoak.importer.numbers import number_of
from heatsoak.importer.tables import TABLES

#: A number, perhaps with a unit behind it.
NUMBER = re.compile(
    r"^([+-]?(?:\d[\d.,'\u2019\u00a0\u202f ]*|[.,]\d+)(?:e[+-]?\d{1,4})?)\s*([^\d\s][^\d]{0,19})?$",
    re.IGNORECASE,
)
#: A date, a time, or both.
_MOMENT = re.compile(
    r"^\D{0,12}(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4}|\d{1,3}:\d{2})[\d\s:.,/TZ+-]*"
    r"(?:[AaPp]\.?[Mm]\.?)?(?:\s?[A-Z]{1,5})?$|^[A-Z][a-z]{2}[a-z]* .*\d:\d\d"
)

#: What Windows wrote before it wrote UTF-8, read as cp1252.
CODE_PAGES = ("gbk", "big5", "cp932", "cp949", "cp1251", "cp1253", "cp1254", "cp1250")


def _states() -> dict[str, float]:
    states = {}
    for words, value in ((TABLES["states"]["no"], 0.0), (TABLES["states"]["yes"], 1.0)):
        for word in words:
            for spelling in {word, word.capitalize()}:
                states[spelling.lower()] = value
                for page in () if word.isascii() else CODE_PAGES:
                    try:
                        states[spelling.encode(page).decode("cp1252", "replace").lower()] = value
                    except UnicodeEncodeError:
                        continue
    return states


_STATES = _states()


def state_of(text: str) -> float | None:
    """Return 1 for yes, 0 for no, in many languages; None for anything else."""
    return _STATES.get(text.strip().lower())


#: Words besides no for a drive that does not throttle.
_WELL = frozenset(TABLES["states"]["well"])
_UNKNOWN = frozenset(["", *TABLES["states"]["unknown"]])
_NO = re.compile(
    r"^(?:no|not|non|nicht|kein|keine|never|0x0+)\b|^(?:level|lvl|l|state|stage|tmt|mode)[ _-]?0\b"
)


def throttling_of(words: Sequence[str]) -> tuple[Array, bool] | None:
    """Return 0 or 1 for each text of a column of throttling; NaN where it is not known.

    Where the texts are numbers that only rise, they are a counter's readings, which are returned
    with True. None where the texts do not tell on from off.
    """
    known = {word: _throttled(word) for word in set(words)}
    numbers = {word: _plain_number(word) for word in known}
    counted = np.array([numbers[word] for word in words])
    finite = counted[np.isfinite(counted)]
    if len(finite) == len(words) - sum(w.strip().lower() in _UNKNOWN for w in words) > 0:
        rises = bool(np.all(np.diff(finite) >= 0))
        if rises and (finite[0] > 1 or len(np.unique(finite)) > _LEVELS):
            return counted, True
    values = set(known.values())
    unsure = {word for word, value in known.items() if value == _SOME}
    if 0.0 not in values and unsure:
        missing = [word for word, value in known.items() if value is None]
        if not missing:
            return None  # always the same word: it may mean either
        known |= dict.fromkeys(missing, 0.0)
    states = {
        word: float("nan") if value is None else min(value, 1.0) for word, value in known.items()
    }
    return np.array([states[word] for word in words]), False


#: Words that may mean on.
_SOME = 2.0
#: The most levels of throttling; numbers with more values count something.
_LEVELS = 5


def _throttled(word: str) -> float | None:
    """0 for off, 1 for on, 2 for words that are not known; None for no value."""
    text = word.strip().strip("\"'").strip().lower()
    if text in _UNKNOWN:
        return None
    state = state_of(text)
    if state is not None:
        return state
    if text in _WELL or _NO.match(text):
        return 0.0
    if text in ("y", "t"):
        return 1.0
    number = _plain_number(text)
    if number == number:
        return float(number != 0)
    return _SOME


def _plain_number(word: str) -> float:
    match = NUMBER.match(word.strip().strip("\"'")) if len(word) < 60 else None
    return number_of(match[1]) if match else np.nan


def is_value(cell: str) -> bool:
    """Whether a cell is a number, with or without a unit, a date or a time."""
    cell = cell.strip()
    if cell.isdecimal() and len(cell) < 60:
        return True
    return 0 < len(cell) < 60 and (
        NUMBER.match(cell) is not None or _MOMENT.match(cell) is not None
    )


def is_unknown(cell: str) -> bool:
    """Whether a cell says that there is no value: ``NaN``, ``n/a``."""
    return cell.strip().lower() in _UNKNOWN


def is_timed(cell: str) -> bool:
    """Whether a cell may be a time: a number, or what begins as a date does."""
    if cell[:1].isdecimal():
        return True
    cell = cell.strip(" \"'[(")
    begin = cell.removeprefix("T")[:2].lstrip("+-.,")
    return begin[:1].isdecimal() or (len(cell) < 60 and _MOMENT.match(cell) is not None)


GROUPED = re.compile(r"^[+-]?\d{1,3}(?:([.,'\u2019\u00a0\u202f ])\d{3})+$")
_BLANKS = str.maketrans("", "", "'\u2019\u00a0\u202f ")


class Numbers:
    """Makes numbers of cells: with units, marks of thousands, decimal commas, yes and no."""

    def __init__(self, decimal_mark: str) -> None:
        self._comma = decimal_mark == ","
        #: Returns the number in a cell and the unit behind it; NaN for what is none.
        self.read = lru_cache(maxsize=20_000)(self._read)

    def _read(self, cell: str) -> tuple[float, str]:
        text = cell.strip().strip("\"'").strip()
        state = state_of(text)
        if state is not None:
            return state, ""
        match = NUMBER.match(text) if len(text) < 400 else None
        if match is None:
            return float("nan"), ""
        number, unit = match.group(1).strip(), match.group(2) or ""
        number = number.translate(_BLANKS)
        if self._comma:
            grouped = GROUPED.match(number) is not None and number.count(".") > 1
            if "," in number or grouped:
                number = number.replace(".", "").replace(",", ".")
        else:
            number = number.replace(",", "")
        try:
            return float(number), unit
        except ValueError:
            return float("nan"), ""


# --- columns of texts, of which there can be very many -------------------------------------------


class Words(Sequence[str]):
    """The texts of a column, kept as bytes, since there can be very many."""

    _BLOCK = 4096

    def __init__(self) -> None:
        self._blocks: list[bytes] = []
        self._last: list[str] = []

    def append(self, word: str) -> None:
        """Add a text."""
        self.extend((word,))

    def extend(self, words: Sequence[str]) -> None:
        """Add many texts."""
        self._last += words
        while len(self._last) >= self._BLOCK:
            self._blocks.append("\n".join(self._last[: self._BLOCK]).encode("utf-8", "replace"))
            del self._last[: self._BLOCK]

    def replace_last(self, word: str) -> None:
        """Put another text in place of the last one."""
        if not self._last:
            self._last = self._blocks.pop().decode().split("\n")
        self._last[-1] = word

    def __len__(self) -> int:
        return len(self._blocks) * self._BLOCK + len(self._last)

    def __iter__(self) -> Iterator[str]:
        for block in self._blocks:
            yield from block.decode().split("\n")
        yield from self._last

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return list(self)[index]
        block, place = divmod(index if index >= 0 else index + len(self), self._BLOCK)
        if block == len(self._blocks):
            return self._last[place]
        return self._blocks[block].decode().split("\n")[place]
