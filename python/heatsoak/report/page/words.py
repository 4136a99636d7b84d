"""Conditions, causes and numbers in the page's words."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from heatsoak.protocol import Label

CAUSES = {
    "thermal": "heat",
    "write-cache": "a full write cache",
    "spare-area": "exhausted spare area",
    "limited-by-host": "the host",
    "interference": "other use of the drive",
    "sliding": "a slow decline with no known cause",
    "unknown": "an unknown cause",
}
_DEPTH = re.compile(r"\bqd(?=\d)")
#: Longer values are shortened in labels and sentences.
_MAX_LETTERS = 60
#: Characters that change the direction of the text after them, by kind.
_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_RIGHT_TO_LEFT = {"R", "AL"}
_ISOLATE, _END = "\u2068", "\u2069"
_NONE = ("none", "no", "off", "without")
_PLACES = {"upright": "upright", "underside": "on the underside"}


def number(value: float) -> str:
    """Return a number in about three digits: ``1,499``, ``73``, ``6.4``, ``0.25``."""
    if abs(value) >= 10:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 1 else f"{value:.2g}"


def about(value: float) -> str:
    """Return a whole number, or two digits below one: onsets and depths are not more exact."""
    return f"{value:,.0f}" if abs(value) >= 1 or value == 0 else f"{value:.2g}"


def said(value: object) -> str:
    """Return a value as part of a line: of limited length, on one line, without control characters.

    Right-to-left text is isolated, so that it does not turn the text around it.
    """
    kinds = [(letter, unicodedata.bidirectional(letter)) for letter in str(value)]
    kept = [
        letter if letter.isprintable() else " " for letter, kind in kinds if kind not in _TURNING
    ]
    text = " ".join("".join(kept).split())
    if len(text) > _MAX_LETTERS:
        text = f"{text[: _MAX_LETTERS - 1]}…"
    turns = any(kind in _RIGHT_TO_LEFT for _, kind in kinds)
    return f"{_ISOLATE}{text}{_END}" if turns else text


def label_of(conditions: Mapping[str, Label], keys: Sequence[str]) -> str:
    """Return conditions for a legend: ``top, 2 cards, loaded``."""
    return ", ".join(short(key, conditions[key]) for key in keys if key in conditions)


def short(key: str, value: Label) -> str:
    """Return one condition for a legend."""
    if key == "gpus":
        return cards(value)
    if key in ("slot", "gpu_load", "drive", "enclosure") and isinstance(value, str):
        return said(value)
    if value is True:
        return plain(key)
    if value is False or str(value).casefold() in _NONE:
        return f"no {plain(key)}"
    return f"{plain(key)} {said(value)}"


def phrase(conditions: Mapping[str, Label], keys: Sequence[str]) -> str:
    """Return conditions for a sentence: ``in the top slot with 2 cards under load``."""
    return " ".join(_phrase(key, conditions) for key in keys if key in conditions).strip()


def _phrase(key: str, conditions: Mapping[str, Label]) -> str:
    value = conditions[key]
    match key:
        case "slot":
            return _PLACES.get(str(value), f"in the {said(value)} slot")
        case "gpus":
            return f"with {cards(value)}"
        case "gpu_load":
            words = {"loaded": "under load", "idle": "idle"}
            return words.get(str(value), f"with cards {said(value)}")
        case "drive" | "enclosure":
            return f"in {said(value)}"
    if value is True:
        return f"with {plain(key)}"
    if value is False or str(value).casefold() in _NONE:
        return f"without {plain(key)}"
    return f"with {plain(key)} {said(value)}"


def cards(value: Label) -> str:
    """Return a number of graphics cards."""
    return f"{said(value)} card{'' if str(value) == '1' else 's'}"


def plain(name: str) -> str:
    """Return the name of a key or step with spaces for hyphens and underscores."""
    return said(name.replace("_", " ").replace("-", " "))


def title_of(step: str) -> str:
    """Return a step's name as a title: ``Sequential write``."""
    text = _DEPTH.sub(lambda found: found.group().upper(), plain(step))
    return text[:1].upper() + text[1:]


def span(values: Sequence[float], unit: str) -> str:
    """Return a range: ``8 to 71 s``, or ``8 s`` if both ends read the same."""
    low, high = about(min(values)), about(max(values))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return ``1 place`` or ``3 places``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def listed(texts: Sequence[str]) -> str:
    """Return ``a, b and c``."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def drive_name(drive: Mapping[str, Any]) -> str:
    """Return a drive's name, and whether it is simulated."""
    name = said(drive.get("model") or drive.get("path") or "unnamed drive")
    return f"{name} (simulated)" if drive.get("simulated") else name
