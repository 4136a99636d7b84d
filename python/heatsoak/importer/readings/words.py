"""What nvme-cli and smartctl print, in all locales: temperatures, counts, times."""

import math
import re
from typing import Any

#: What no drive can be; such values stand for sensors that are not there.
POSSIBLE_C = (-60.0, 200.0)
_CLOCK = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}(?![\d:]*:\d*:)")
_EPOCH = re.compile(r"(?<![\w.,])(1\d{9}(?:[.,]\d{1,9})?|1\d{12}|1\d{15}|1\d{18})(?![\w.,])")
_ANSI = re.compile(r"\x1b\[[0-9;?]{0,16}[A-Za-z]|\x1b[()][A-Z0-9]")
_DEGREES = re.compile(
    r"(?<![\w.])(-?\d{1,10}(?:[.,]\d{1,6})?)\s{0,3}[^\w\s(-]{0,3}\s?(?:deg(?:rees)?\.?\s)?"
    r"(C|F|K|Celsius|Fahrenheit|Kelvin)?\b"
)
_INTEGER = re.compile(r"\s*(\d[\d.,'’٬_  \u202f]*)")
_NO_DIGIT = re.compile(r"\D")
_WORDS_OF_A_STAMP, _LONGEST_STAMP = 10, 120


def degrees_c(text: str, *, needs_unit: bool = False) -> float | None:
    """Return the temperature in Celsius that a tool printed, in whichever unit it says.

    The kelvins beside Fahrenheit are taken less 273, as the tools do. Without a unit, what is too
    hot for Celsius is kelvin; with `needs_unit` it is a number that was cut, and None.
    """
    found: dict[str, float] = {}
    for match in _DEGREES.finditer(text[:100]):
        found.setdefault((match.group(2) or "")[:1], float(match.group(1).replace(",", ".")))
    if "C" in found:
        return found["C"]
    if "K" in found:
        return found["K"] - 273.0 if found["K"] else None
    if "F" in found:
        return round((found["F"] - 32.0) / 1.8, 2)
    return of_kelvin_or_celsius(found[""]) if "" in found and not needs_unit else None


def of_kelvin_or_celsius(value: float) -> float | None:
    """Return Celsius of what should be kelvin; a value too low for it is Celsius already."""
    if value == 0:
        return None
    return value - 273.0 if value > POSSIBLE_C[1] else value


def whole(text: str) -> float | None:
    """Return a count that is written with a locale's separators of thousands, or None."""
    match = _INTEGER.match(text[:100])
    if match is None:
        return None
    digits = _NO_DIGIT.sub("", match.group(1))
    return float(digits) if len(digits) < 40 else None


def number(value: Any) -> float | None:
    """Return a number of a JSON document, be it one or a string of one; None for all else."""
    if isinstance(value, str):
        return whole(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, int) and abs(value) >= 1 << 128:
        return None
    return float(value) if math.isfinite(value) else None


def plain(line: str) -> str:
    """Return a line without the colours and cursor movements of a terminal."""
    return _ANSI.sub("", line) if "\x1b" in line else line


def stamp_in(text: str) -> str | None:
    """Return the time that a line between two readings tells, as it is written, or None."""
    if len(text) > _LONGEST_STAMP:
        return None
    words = len(text.split())
    epoch = _EPOCH.search(text)
    if epoch is not None and words <= 4:
        return epoch.group(1)
    if _CLOCK.search(text) is None or words > _WORDS_OF_A_STAMP:
        return None
    return text.strip(" \t#*=-<>[]|\"',;")
