"""Voltage and current of a meter, of which power is made where no column tells it."""

import re
from collections.abc import Container, Sequence

from heatsoak.importer.tables.quantity import Meaning
from heatsoak.importer.tables.words import mended, tokens_of

VOLTAGE, CURRENT = "voltage_v", "current_a"
_SCALES = {
    **{"v": (VOLTAGE, 1.0), "mv": (VOLTAGE, 1e-3)},
    **{"a": (CURRENT, 1.0), "ma": (CURRENT, 1e-3), "ua": (CURRENT, 1e-6)},
    **dict.fromkeys(("volt", "volts"), (VOLTAGE, 1.0)),
    **dict.fromkeys(("amp", "amps", "ampere", "amperes"), (CURRENT, 1.0)),
}
_WORDS = {
    **dict.fromkeys(("voltage", "volt", "volts", "spannung", "tension", "u", "v"), VOLTAGE),
    **dict.fromkeys(("current", "amps", "ampere", "strom", "courant", "i", "a"), CURRENT),
    **dict.fromkeys(("vbus", "ubus"), VOLTAGE),
    **dict.fromkeys(("ibus",), CURRENT),
}
#: What may stand beside them; another word means another quantity (a limit, a data line).
_FILLERS = frozenset({"bus", "dc", "mean", "avg", "average", "value", "ch1", "channel"})
_UNIT = re.compile(r"^(.*?)[\s_]*[\[(]?\s*(m?v|[mu]?a|volts?|amp(?:ere)?s?)\s*[\])]?$")


def voltage_and_current(
    header: Sequence[str], units: Sequence[str], taken: Container[int]
) -> list[tuple[int, Meaning]]:
    """Return the places of one voltage and of one current; none where one is missing or several.

    `units` is the row of units below the header, empty where there is none.
    """
    found: list[tuple[int, Meaning]] = []
    for index, name in enumerate(header):
        unit = units[index] if index < len(units) else ""
        if index not in taken and (what := _electric(name, unit)) is not None:
            found.append((index, what))
    columns = sorted(what.column for _, what in found)
    return found if columns == sorted((VOLTAGE, CURRENT)) else []


def _electric(header: str, unit: str) -> Meaning | None:
    text = mended(header).strip().replace("µ", "u").replace("μ", "u").lower()
    match = _UNIT.match(text)
    name, shown = (match[1], match[2]) if match is not None else (text, "")
    told = _SCALES.get(unit.strip(" []()").lower()) or _SCALES.get(shown)
    words = [word for word in tokens_of(name) if word not in _FILLERS]
    meant = {_WORDS.get(word) for word in words}
    if len(meant) > 1 or None in meant or (told is None and not meant):
        return None
    column = meant.pop() if meant else told[0] if told is not None else None
    if column is None or (told is not None and told[0] != column):
        return None
    return Meaning(column, 1.0 if told is None else told[1])
