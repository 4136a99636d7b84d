"""Controller families: what holds of all drives with one controller, whatever they are called."""

from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from math import inf
from typing import Any

from pydantic import BaseModel, ConfigDict

from heatsoak import toml

#: Higher warnings are of controllers that guard what is hotter than what they report.
_MOST_WARNING_C = 95.0


class ControllerFamily(BaseModel):
    """What drives with a controller have in common; `families.toml` says how it is known.

    Attributes:
        models: patterns of their names, in lower case.
        listings: of how many drives its sensors were seen.
        composite: the composite is the highest of these sensors, each less its `above_k`.
        above_k: how far sensors lie above the composite, by name.
        starts_k: from where to where throttling starts, from the warning temperature on, or
            `starts_at_c` whatever that is; None where nothing tells.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    controller: str
    models: tuple[str, ...]
    listings: int
    composite: tuple[str, ...]
    above_k: dict[str, float]
    starts_k: tuple[float, float] | None = None
    starts_at_c: tuple[float, float] | None = None

    def reported_c(self, sensor: str, read_c: float) -> float:
        """Return what the composite usually is while a sensor reads this."""
        return read_c - self.above_k.get(sensor, 0.0)

    def starts(self, warning_c: float | None) -> dict[str, Any] | None:
        """Return what the composite shows when throttling starts, as a drive's file has it.

        Of an unknown family, that is a usual warning temperature. None if nothing tells.
        """
        if self.starts_at_c is not None:
            low, high = self.starts_at_c
        elif warning_c is None:
            return None
        elif self.starts_k is not None:
            low, high = warning_c + self.starts_k[0], warning_c + self.starts_k[1]
        else:
            number = {"value": warning_c, "assumed": "it starts at a warning temperature"}
            return number if warning_c <= _MOST_WARNING_C else None
        return {**self._as((low + high) / 2), "spread": max((high - low) / 2, 1)}

    def felt(self) -> dict[str, Any]:
        """Return which chips' temperatures the composite is, as a sensor's tables have it.

        The coolest sensor is the flash's, a hotter one the controller's. Empty if nothing tells.
        """
        above_k = dict.fromkeys(self.composite, 0.0) | self.above_k
        coolest_k = min([0.0, *above_k.values()])
        probes = [
            {
                "weights": {"controller" if above_k[name] > coolest_k else "nand": self._as(1)},
                "offset_c": self._as(0.0 - above_k[name]),
            }
            for name in self.composite
        ]
        if len(probes) == 1 and not above_k[self.composite[0]]:
            return {"weights": probes[0]["weights"], "hottest": ()}
        return {"weights": {}, "hottest": probes} if probes else {}

    def _as(self, value: float) -> dict[str, Any]:
        return {"value": value, "assumed": f"as others with {self.controller}"}

    def rank(self, sensor: str, read_c: float) -> tuple[bool, float]:
        """Return a key by which the sensor that stands for a drive without a composite is last."""
        return sensor in self.composite, self.reported_c(sensor, read_c)


#: Nothing is known of it.
_UNKNOWN = ControllerFamily(controller="", models=(), listings=0, composite=(), above_k={})


@cache
def families() -> dict[str, ControllerFamily]:
    """Return all families by their ids."""
    text = (files("heatsoak.catalog") / "families.toml").read_text("utf-8")
    tables = toml.toml_tables(text, "families.toml")
    return {name: toml.validated(ControllerFamily, tables[name], name) for name in tables}


@cache
def family_of(*names: str | None) -> ControllerFamily:
    """Return the family of a drive by what it reports as its model; one without rules if unknown.

    Of several names, or patterns of a table of models, the longest pattern that fits one counts;
    a family's own id before them all.
    """
    fitting = [(inf, families()[name]) for name in names if name in families()] + [
        (len(pattern), family)
        for family in families().values()
        for pattern in family.models
        if any(fnmatchcase((name or "").casefold(), pattern) for name in names)
    ]
    return max(fitting, key=lambda one: one[0], default=(0, _UNKNOWN))[1]
