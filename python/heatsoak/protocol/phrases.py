"""Conditions and drives in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from heatsoak.protocol.conditions import Label
from heatsoak.words import plain, said

_NONE = ("none", "no", "off", "without")
_PLACES = {"upright": "upright", "underside": "on the underside"}


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


def drive_name(drive: Mapping[str, Any]) -> str:
    """Return a drive's name, and whether it is simulated."""
    name = said(drive.get("model") or drive.get("path") or "unnamed drive")
    return f"{name} (simulated)" if drive.get("simulated") else name
