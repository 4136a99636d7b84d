"""Write caches that makers state, of drives that the catalog does not simulate."""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

_CAPACITY = re.compile(r"(\d+(?:\.\d+)?) ?([GT])B?", re.I)


@dataclass(frozen=True)
class StatedCache:
    """A write cache: what it holds, and how fast such drives write behind it."""

    model: str
    drive_gb: float
    gb: float
    behind_mb_s: float


def stated_cache(model: str, drive_gb: float | None) -> StatedCache | None:
    """Return the cache of a model in its capacity, by its name or `drive_gb`; None if unknown."""
    for family, sizes in _stated().items():
        if family.casefold() in model.casefold():
            named = _CAPACITY.search(model, model.casefold().index(family.casefold()) + len(family))
            size = float(named[1]) * (1000 if named[2] in "tT" else 1) if named else drive_gb
            return next((one for one in sizes if size and abs(size / one.drive_gb - 1) < 0.1), None)
    return None


@cache
def _stated() -> dict[str, list[StatedCache]]:
    text = (resources.files("heatsoak.catalog") / "caches.toml").read_text("utf-8")
    return {
        each["model"]: [StatedCache(each["model"], **size) for size in each["sizes"]]
        for each in tomllib.loads(text)["cache"]
    }
