"""Other programs' JSON: models and look-ups for which nothing is too wrong to be asked.

In a model whatever is missing or wrong takes the field's default.
"""

import math
import re
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidatorFunctionWrapHandler,
    field_validator,
)
from pydantic_core.core_schema import ValidationInfo

_LONGEST_TEXT = 300
_WHOLE = re.compile(r"\d{1,9}", re.ASCII)


def _count(value: Any) -> int:
    """Return a count below 2^53; raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1 << 53:
        raise ValueError
    return int(value)


def _positive(value: Any) -> float:
    """Return a positive finite number; raises ValueError for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e300:
        raise ValueError
    return float(value)


def _table(value: Any) -> dict[str, Any]:
    """Return an object of JSON as it is; raises ValueError for anything else."""
    if not isinstance(value, dict):
        raise ValueError
    return value


def text_of(value: Any) -> str:
    """Return a string, or an integer as one; empty for anything else."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()[:_LONGEST_TEXT]
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


def at(value: Any, path: str) -> Any:
    """Return what stands in a JSON document at ``KEY/KEY``; None where nothing does."""
    for key in path.split("/"):
        value = value.get(key) if isinstance(value, dict) else None
    return value


Count = Annotated[int, BeforeValidator(_count)]
Positive = Annotated[float, BeforeValidator(_positive)]
Text = Annotated[str, BeforeValidator(text_of)]
Table = Annotated[Any, BeforeValidator(_table)]


class Lenient(BaseModel):
    """An object of which only the declared fields count, and of those only sensible values."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _default_of_wrong(
        cls, value: Any, handler: ValidatorFunctionWrapHandler, info: ValidationInfo
    ) -> Any:
        try:
            return handler(value)
        except ValidationError:
            assert info.field_name is not None
            return cls.model_fields[info.field_name].get_default(call_default_factory=True)
