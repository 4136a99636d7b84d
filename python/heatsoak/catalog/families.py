"""Controller families: what holds of all drives with one controller, whatever they are called."""

from fnmatch import fnmatchcase
from functools import cache

from pydantic import BaseModel, ConfigDict

from heatsoak import toml
from heatsoak.catalog import loader


class ControllerFamily(BaseModel):
    """What drives with a controller have in common; `families.toml` says how it is known.

    Attributes:
        models: patterns of their names, in lower case.
        listings: of how many drives its sensors were seen.
        composite: the composite is the highest of these sensors, each less its `above_k`.
        above_k: how far sensors lie above the composite, by name.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    controller: str
    models: tuple[str, ...]
    listings: int
    composite: tuple[str, ...]
    above_k: dict[str, float]


@cache
def families() -> dict[str, ControllerFamily]:
    """Return all families by their ids."""
    tables = loader.read_catalog("families.toml")
    return {name: toml.validated(ControllerFamily, tables[name], name) for name in tables}


@cache
def family_of(model: str) -> ControllerFamily | None:
    """Return the family of a drive by the model that it reports; None if that is not known."""
    name = model.casefold()
    fitting = [
        (len(pattern), family)
        for family in families().values()
        for pattern in family.models
        if fnmatchcase(name, pattern)
    ]
    return max(fitting, key=lambda one: one[0], default=(0, None))[1]
