"""Other programs' JSON: look-ups that accept anything."""

import math
import re
from typing import Any

_MAX_TEXT = 300
_WHOLE = re.compile(r"\d{1,9}", re.ASCII)


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
    """Return a finite number up to 1e18, given as one or as text; NaN for anything else."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return math.nan
    return number if abs(number) <= 1e18 else math.nan
