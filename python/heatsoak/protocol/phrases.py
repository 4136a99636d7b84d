"""Conditions and drives in words, on one line, of limited length, and harmless where shown."""

import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

from heatsoak.protocol.conditions import Label

#: Longer values are shortened in labels and sentences.
_MAX_LETTERS = 60
#: Characters that change the direction of the text after them, by kind.
_TURNING = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
_RIGHT_TO_LEFT = {"R", "AL"}
_ISOLATE, _END = "\u2068", "\u2069"
_NONE = ("none", "no", "off", "without")
_PLACES = {"upright": "upright", "underside": "on the underside"}


def said(value: object) -> str:
    """Return a value as part of a line: of limited length, on one line, without control characters.

    Right-to-left text is isolated, so that it does not turn the text around it.
    """
    kinds = [(letter, unicodedata.bidirectional(letter)) for letter in str(value)]
    kept = [
        letter if letter.isprintable() else " " for letter, kind in kinds if kind not in _TURNING
    ]
    text = " ".join("".join(kept).split())
    text = shortened(text, _MAX_LETTERS)
    turns = any(kind in _RIGHT_TO_LEFT for _, kind in kinds)
    return f"{_ISOLATE}{text}{_END}" if turns else text


def shortened(text: str, most: int) -> str:
    """Return the text without its middle if it is longer: names often differ in their ends."""
    if len(text) <= most:
        return text
    end = (most - 1) * 2 // 5
    return f"{text[: most - 1 - end].rstrip()}…{text[len(text) - end :].lstrip()}"


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
    return _with_unit(key, value)


def _with_unit(key: str, value: Label) -> str:
    """A key that ends in its unit, as ``tmt1_c`` does: ``TMT1 60 C``."""
    own = key.removesuffix("_c")
    if own == key:
        return f"{plain(key)} {said(value)}"
    name = own.upper() if own.startswith("tmt") else plain(own)
    return f"{name} {said(value)} C"


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
    return f"with {_with_unit(key, value)}"


def cards(value: Label) -> str:
    """Return a number of graphics cards."""
    return f"{said(value)} card{'' if str(value) == '1' else 's'}"


def listed(texts: Sequence[str], most: int | None = None) -> str:
    """Return ``a, b and c``, or of more than `most` those and ``4 more``."""
    if most is not None and len(texts) > most:
        texts = [*texts[:most], f"{len(texts) - most} more"]
    return f"{', '.join(texts[:-1])} and {texts[-1]}" if texts[1:] else "".join(texts)


def plain(name: str) -> str:
    """Return the name of a key or step with spaces for hyphens and underscores."""
    return said(name.replace("_", " ").replace("-", " "))


def drive_name(drive: Mapping[str, Any]) -> str:
    """Return a drive's name, and whether it is simulated."""
    name = said(drive.get("model") or drive.get("path") or "unnamed drive")
    return f"{name} (simulated)" if drive.get("simulated") else name
