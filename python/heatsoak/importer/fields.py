"""What tools call the temperatures, counters and limits of a drive: ``fields.toml`` as look-ups."""

import tomllib
from importlib.resources import files
from typing import Any, NamedTuple

#: MB of one "data unit" of an NVMe health log: 1000 blocks of 512 bytes.
DATA_UNIT_MB = 0.512
#: What one of a section's unit is in seconds, MB or I/Os; sectors have a size of their own.
_SCALES = {"minutes": 60.0, "data_units": DATA_UNIT_MB, "gigabytes": 1e3}


class Field(NamedTuple):
    """What a field is: its section in the table, what it is called there, and its scale."""

    kind: str
    to: str
    scale: float

    @property
    def tells_heat_or_load(self) -> bool:
        """Whether it is a temperature or a count, which a reading consists of."""
        return self.kind in _MEASURED


_MEASURED = ("temperature", "minutes", "seconds", "count", "data_units", "sectors", "gigabytes")


def _fields() -> dict[str, Field]:
    table: dict[str, dict[str, list[str]]] = tomllib.loads(
        (files(__package__) / "fields.toml").read_text("utf-8")
    )
    return {
        name.replace("{n}", n): Field(kind, to.replace("{n}", n), _SCALES.get(kind, 1.0))
        for kind, section in table.items()
        for to, names in section.items()
        for name in names
        for n in ("12345678" if "{n}" in name else "1")
    }


FIELDS = _fields()
#: Those that are places in a JSON document.
PLACES = [name for name in FIELDS if "/" in name and " " not in name]


def plain(name: Any) -> str:
    """Return a field's name as :data:`FIELDS` has it."""
    return " ".join(str(name)[:200].replace("_", " ").lower().split())
