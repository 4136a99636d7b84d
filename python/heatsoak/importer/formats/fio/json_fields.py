"""Values of fio's JSON, whatever stands in their place."""

import re
from collections.abc import Mapping
from typing import Any

DIRECTIONS = ("read", "write")
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def table_in(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the object under `key`; an empty one where there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def count_in(parent: Mapping[str, Any], key: str) -> int:
    """Return the count under `key`; 0 for what is none."""
    value = parent.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < 1 << 53 else 0


def float_in(parent: Mapping[str, Any], key: str, *, scale: float = 1.0) -> float:
    """Return the positive number under `key`, scaled; 0 for what is none."""
    value = parent.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) * scale if -1e300 < value < 1e300 and value > 0 else 0.0


def whole_of(value: Any) -> int | None:
    """Return a whole number, be it one or the text of one."""
    text = text_of(value).strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def text_of(value: Any) -> str:
    """Return a text, or a number as text; empty for all else."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()[:300]
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""
