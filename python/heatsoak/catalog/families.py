"""Controller families: what holds of all drives with one controller, whatever they are called."""

from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from heatsoak import toml


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

    def starts_c(self, warning_c: float) -> float | None:
        """Return what the composite shows when throttling starts; None if that is unknown."""
        if self.starts_k is not None:
            return warning_c + sum(self.starts_k) / 2
        return self.starts_at_c and sum(self.starts_at_c) / 2

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
def family_of(model: str | None) -> ControllerFamily:
    """Return the family of a drive by the model that it reports; one without rules if unknown."""
    name = (model or "").casefold()
    fitting = [
        (len(pattern), family)
        for family in families().values()
        for pattern in family.models
        if fnmatchcase(name, pattern)
    ]
    return max(fitting, key=lambda one: one[0], default=(0, _UNKNOWN))[1]
