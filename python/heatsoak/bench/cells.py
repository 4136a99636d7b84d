"""Which runs a protocol makes on a place: one for each cell of its matrix that can be there."""

import re
from collections.abc import Sequence

from heatsoak.bench.heating import BY_HAND
from heatsoak.bench.places import Run
from heatsoak.bench.prompt import is_attended
from heatsoak.bench.walking import walked
from heatsoak.errors import UsageError
from heatsoak.protocol import Conditions, Matrix, Protocol
from heatsoak.target import Place


def runs_of(protocol: Protocol, place: Place, axes_by_hand: Sequence[str]) -> list[Run]:
    """Return the runs of `protocol` on `place`, in the order in which they are made."""
    cells = protocol.cells()
    matrix = protocol.matrix
    if place.is_simulated:
        if matrix is None or matrix.enclosure is None or place.enclosure is not None:
            fixed = {k: v for k, v in cells[0].items() if all(c[k] == v for c in cells)}
            here = place.in_enclosure(place.enclosure)
            assert here.enclosure is not None
            conditions = {**fixed, "enclosure": here.enclosure}
            return [Run(conditions, here, here.enclosure)]
        return [
            Run(cell, place.in_enclosure(matrix.enclosure_of(cell)), _name(cell, matrix))
            for cell in cells
        ]
    return [Run(cell, place, _name(cell, matrix)) for cell in walked(cells, axes_by_hand)]


def _name(cell: Conditions, matrix: Matrix | None) -> str:
    """A directory's name that tells a cell from the others."""
    axes = list(cell) if matrix is None else list(matrix.axes)
    words = [f"{axis}-{cell[axis]}" for axis in axes]
    return re.sub(r"[^A-Za-z0-9._-]+", "_", "_".join(words)) or "run"


def by_hand(protocol: Protocol) -> list[str]:
    """Return the axes of the matrix that only hands can change; none where nothing changes them.

    Beside those that it names, they are the ones that say when heat is on that nobody commands.
    """
    if protocol.matrix is None:
        return []
    is_theirs = protocol.conditions.get("heat") == BY_HAND
    heated = {
        axis for heat in protocol.heat if is_theirs or heat.source == "person" for axis in heat.when
    }
    axes = [axis for axis in protocol.matrix.axes if axis in heated.union(protocol.matrix.by_hand)]
    places = {tuple(cell[axis] for axis in axes) for cell in protocol.cells()}
    return axes if len(places) > 1 else []


def require_hands(protocol: Protocol, runs: Sequence[Run], axes: Sequence[str]) -> None:
    """Raise UsageError where somebody has to change `axes` between runs, and nobody is there."""
    if not axes or is_attended():
        return
    assert protocol.matrix is not None
    places = {tuple(run.conditions[axis] for axis in axes) for run in runs}
    cell = runs[0].conditions
    example = " ".join(f"--set {name}={cell[name]}" for name in protocol.matrix.axes)
    raise UsageError(
        f"{protocol.name} walks through {len(places)} places that only hands can change on a real "
        "machine, and there is no terminal to ask at: name the one that the drive is in, such as "
        f"{example}"
    )
