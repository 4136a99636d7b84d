"""Numbers, texts and places in what other programs write: look-ups that accept anything."""

import re
from typing import Any

import numpy as np

_MAX_TEXT = 300
_WHOLE = re.compile(r"\d{1,9}", re.ASCII)
#: No tool counts or measures more: nanoseconds since the epoch are 10^18.
MAX_NUMBER = 1e20
#: No rate, time or size of a drive is larger: a larger number comes from damage.
_MAX_OF_DRIVE = 1e15
_COUNT = re.compile(r"\s*(\d[\d.,'’٬_  \u202f]*)")
_NO_DIGIT = re.compile(r"\D")


def at(value: Any, path: str) -> Any:
    """Return what stands in a JSON document at ``KEY/KEY``; None where nothing does."""
    for key in path.split("/"):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_of(value: Any) -> str:
    """Return a string, or an integer as one; empty for anything else."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()[:_MAX_TEXT]
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""


def whole_of(value: Any) -> int | None:
    """Return an integer of up to 9 digits, given as one or as text; None for anything else."""
    text = text_of(value).strip()
    return int(text) if _WHOLE.fullmatch(text) else None


def number_of(value: Any) -> float:
    """Return a number, given as one or as text; NaN for anything else, and from 1e20 on.

    The decimal mark of a text is a point or a comma, and nothing divides its thousands.
    """
    if isinstance(value, str):
        value = "" if "_" in value else value.replace(",", ".").replace("٫", ".")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return np.nan
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return np.nan
    return number if abs(number) < MAX_NUMBER else np.nan


def number(text: str) -> float | None:
    """Return a rate, time or size of a drive; None for anything else, as below zero."""
    value = number_of(text)
    return value if 0 <= value <= _MAX_OF_DRIVE else None


def decimal(text: str) -> float | None:
    """Return a number as :func:`number` does, in which the other mark may divide thousands."""
    if "," in text:
        text = text.replace(".", "") if text.rfind(".") < text.rfind(",") else text.replace(",", "")
    return number(text)


def multiple(prefix: str, base: float = 1024.0) -> float:
    """Return what a unit's prefix stands for, in any case: the base's powers for K to P."""
    return base ** " KMGTP".index(prefix.upper() or " ")


def size_of(text: str, prefix: str) -> float | None:
    """Return bytes of a number with one of the binary prefixes K to P, or none."""
    value = number(text)
    return None if value is None else value * multiple(prefix)


def count_of(value: Any) -> float | None:
    """Return a count, given as a number or as text with a locale's marks of thousands, or None."""
    if isinstance(value, str):
        digits = _NO_DIGIT.sub("", found[1]) if (found := _COUNT.match(value[:100])) else ""
        return float(digits) if 0 < len(digits) < 40 else None
    known = number_of(value)
    return known if known == known else None


#: Numbers as sysstat and other monitors write them: suffixes of sizes, in MB, or a percent sign.
_IN_MB = {"s": 512e-6, "B": 1e-6, **{prefix: multiple(prefix) / 1e6 for prefix in "kMGTP"}}
_SCALED = re.compile(r"([-+]?\d{1,40}(?:[.,٫]\d{0,40})?)([sBkMGTP%]?)", re.ASCII)


def scaled(word: str, scale: float = 1.0) -> float:
    """Return a number with a decimal point or comma, times `scale`; NaN for what is none.

    ``1.2M`` (``--human``) is bytes, and so given in MB whatever `scale` is; a percent sign is
    dropped.
    """
    try:
        return float(word) * scale
    except ValueError:
        match = _SCALED.fullmatch(word)
    return np.nan if match is None else number_of(match[1]) * _IN_MB.get(match[2], scale)


def is_number(word: str) -> bool:
    """Whether it is a number as :func:`scaled` reads them, or one that is not finite."""
    return word in ("nan", "-nan", "inf", "-inf") or _SCALED.fullmatch(word) is not None
