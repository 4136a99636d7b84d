"""Says in the catalog which published figures a fit has seen."""

from collections.abc import Iterable
from pathlib import Path

import tomlkit

from heatsoak.catalog import published
from heatsoak.twin.calibration.figures import Row
from heatsoak.twin.calibration.parameters import read_text

FILE = "calibration.toml"


def write_roles(rows: Iterable[Row], directory: Path) -> Path:
    """Write which of these figures were fitted, and which held out, into a catalog.

    What the file says of other figures stays. Returns the file; raises UsageError where it cannot
    be read.
    """
    path = directory / FILE
    document = tomlkit.parse(read_text(path))
    roles = {listed(row): row.role for row in rows}
    for key, role in (("fitted", "fitted"), ("held_out", "held-out")):
        others = [str(name) for name in document.get(key, []) if name not in roles]
        names = tomlkit.array()
        names.extend([*(name for name in roles if roles[name] == role), *others])
        document[key] = names.multiline(bool(names))
    path.write_text(tomlkit.dumps(document), "utf-8")
    return path


def listed(row: Row) -> str:
    """The id that stands for a figure in the file: its cell's, or that of several places."""
    several = row.id.rpartition(".")[0]
    known = {cell.id for cell in published().cells} | {f.id for f in published().figures}
    return several if several in known else row.id
