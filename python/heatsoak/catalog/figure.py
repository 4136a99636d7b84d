"""A number, and why one should believe it."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


class Strict(BaseModel):
    """Base: unknown keys are errors, numbers are finite, and a value never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Figure(Strict):
    """A number with its provenance, exactly one of three.

    Attributes:
        value: the number; its unit stands in the key it belongs to.
        source: where it was published.
        fitted: whether it was fitted to published figures, by ``heatsoak calibrate`` or by hand.
        assumed: why it is taken to be so.
        bounds: what a fitted number may be, from physics.
        expect: what a fitted number is thought to be before any fit, and how far off that may
            well be; without it the middle of the bounds, and a quarter of their width.
    """

    value: float = Field(strict=True)
    source: str | None = Field(None, min_length=1)
    fitted: bool = False
    assumed: str | None = Field(None, min_length=1)
    bounds: tuple[float, float] | None = None
    expect: tuple[float, float] | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_table(cls, data: Any) -> Any:
        if isinstance(data, int | float) and not isinstance(data, bool):
            raise ValueError(
                f"a number needs its provenance: {{ value = {data}, source = '...' }}, "
                "or assumed = '...' instead"
            )
        return data

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = [self.source is not None, self.fitted, self.assumed is not None]
        if sum(given) != 1:
            raise ValueError("a number needs one of source = '...', fitted = true, assumed = '...'")
        if self.bounds is not None:
            low, high = self.bounds
            if not self.fitted:
                raise ValueError("bounds belong to a fitted number")
            if not low < high:
                raise ValueError("bounds are the lower and the upper one")
            if not low <= self.value <= high:
                raise ValueError(f"the value lies outside its bounds, {low:g} to {high:g}")
        if self.expect is not None:
            if self.bounds is None:
                raise ValueError("expect belongs to a fitted number with bounds")
            middle, spread = self.expect
            if not self.bounds[0] <= middle <= self.bounds[1]:
                raise ValueError("what is expected lies outside the bounds")
            if spread <= 0:
                raise ValueError("the spread of what is expected has to be more than 0")
        return self


def plain(model: Strict) -> dict[str, Any]:
    """Return a table with bare numbers for its figures, those not given left out."""
    return {
        name: _plain(value)
        for name in type(model).model_fields
        if (value := getattr(model, name)) is not None
    }


def _plain(value: Any) -> Any:
    match value:
        case Figure():
            return value.value
        case Strict():
            return plain(value)
        case dict():
            return {name: _plain(entry) for name, entry in value.items()}
        case list() | tuple():
            return [_plain(entry) for entry in value]
        case _:
            return value
