"""A number with its interval: the one shape that comparisons, racks, histories and twins share.

Its text is made by :mod:`heatsoak.words`. In JSON it has the keys that each contract gave it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

#: How much of what is likely lies within, where nothing else is said.
USUAL_LEVEL = 0.95
#: The same of fits and predictions.
FITTED_LEVEL = 0.9

#: What an interval covers: noise within the run, further runs of the same, further conditions,
#: further drives like these, or what the data of a fit leave open.
Covers = Literal["this run", "runs", "conditions", "drives", "fit"]


@dataclass(frozen=True)
class Range:
    """A number with the interval in which it lies with the probability `level`.

    Raises ValueError where `mid` is not between the ends.
    """

    low: float
    mid: float
    high: float
    of: Covers
    level: float = USUAL_LEVEL

    def __post_init__(self) -> None:
        """Refuse a middle outside the ends; what is not a number has no order."""
        if self.low > self.mid or self.mid > self.high:
            raise ValueError(f"{self.mid:g} is not between {self.low:g} and {self.high:g}")

    @classmethod
    def around(
        cls, mid: float, ends: tuple[float, float], of: Covers, level: float = USUAL_LEVEL
    ) -> "Range":
        """Return a range of ends in either order, which is widened where they leave `mid` out.

        So may ends of a very skewed law, or, by rounding, of one without any spread.
        """
        return cls(min(mid, *ends), mid, max(mid, *ends), of, level)

    def mapped(self, by: Callable[[float], float]) -> "Range":
        """Return what becomes of it by a function that only rises, or only falls."""
        low, high = sorted((by(self.low), by(self.high)))
        return replace(self, low=low, mid=by(self.mid), high=high)

    def times(self, factor: float) -> "Range":
        """Return it in another unit."""
        return self.mapped(lambda value: factor * value)

    def rounded(self, decimals: int) -> "Range":
        """Return it with as many decimals as anybody can mean."""
        return self.mapped(lambda value: round(value, decimals))

    @property
    def size(self) -> "Range":
        """It without the sign of its middle, which words then say: ``14 % slower``."""
        return self if self.mid >= 0 else self.times(-1)

    @property
    def has_sign(self) -> bool:
        """Whether all of it is above 0, or all below."""
        return self.low > 0 or self.high < 0

    def __contains__(self, value: float) -> bool:
        """Return whether a value lies within."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class WrittenAs:
    """Of a field of a model that is a range: the keys under which JSON has it."""

    low: str = "low"
    mid: str = "mid"
    high: str = "high"

    def __get_pydantic_core_schema__(self, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Return how pydantic checks and writes it."""
        from pydantic_core import core_schema  # text, which is made of ranges too, needs none of it

        names = {self.mid: "mid", self.low: "low", self.high: "high"}
        number = core_schema.typed_dict_field(core_schema.float_schema())
        written = core_schema.plain_serializer_function_ser_schema(
            lambda of: {key: getattr(of, name) for key, name in names.items()},
            return_schema=core_schema.typed_dict_schema(dict.fromkeys(names, number)),
        )
        return {**handler(source), "serialization": written}


def tails(level: float) -> tuple[float, float]:
    """Return the quantiles that enclose so much: 0.025 and 0.975 for 95 %."""
    return (1 - level) / 2, (1 + level) / 2
