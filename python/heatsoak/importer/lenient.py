"""Other programs' JSON: models and look-ups that accept anything.

The fields of a :class:`Lenient` model have types of their own: a wrong value becomes the one that
means nothing is known.
"""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainValidator

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


def _count_of(value: Any) -> int:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return int(value) if is_number and 0 <= value < 1 << 53 else 0


def _positive_of(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and 0 < value < 1e300 else 0.0


def _table_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


#: Below 2^53; 0 stands for none.
Count = Annotated[int, PlainValidator(_count_of)]
#: 0 stands for none.
Positive = Annotated[float, PlainValidator(_positive_of)]
Text = Annotated[str, PlainValidator(text_of)]
#: An object, and a list, as they are.
JsonObject = Annotated[Mapping[str, Any], PlainValidator(_table_of)]
Items = Annotated[list[Any], PlainValidator(_list_of)]
#: Before a model: what is not an object becomes an empty one.
AnObject = BeforeValidator(_table_of)


class Lenient(BaseModel):
    """A JSON object; fields that are not declared are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)
