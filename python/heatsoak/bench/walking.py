"""Several runs on a real machine, some of them in places that only hands can change."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from heatsoak.bench.places import Run
from heatsoak.errors import HeatsoakError, RunInterrupted, ShutDownError
from heatsoak.protocol import Conditions, Label
from heatsoak.recording import Recording

#: The values of the axes that hands change.
_Place = tuple[Label, ...]
#: Of more places than these only the plain orders are compared.
_MOST_COMPARED = 24


def walked(cells: Sequence[Conditions], axes: Sequence[str]) -> list[Conditions]:
    """Return `cells` in the order that takes few changes of `axes`, those of a place together.

    The fewest changes there can be where every combination of `axes` is among them.
    """
    places: dict[_Place, list[Conditions]] = {}
    for cell in cells:
        places.setdefault(tuple(cell[axis] for axis in axes), []).append(cell)
    as_given = list(places)
    best = min(as_given, _to_and_fro(as_given), key=_changes)
    # no order takes fewer than one each; looking for a better one takes the fourth power of them
    if _changes(best) >= len(places) and len(places) <= _MOST_COMPARED:
        best = min(best, *(_nearest(as_given, start) for start in as_given), key=_changes)
    return [cell for place in best for cell in places[place]]


def changed(cell: Conditions, before: Conditions | None, axes: Sequence[str]) -> Conditions:
    """Return what hands have to change for `cell`; all `axes` where nothing came before it."""
    return {axis: cell[axis] for axis in axes if before is None or before.get(axis) != cell[axis]}


def described(conditions: Conditions) -> str:
    """Return conditions in words: ``"slot = upright, gpus = 2"``."""
    return ", ".join(f"{key} = {value}" for key, value in conditions.items())


def walk(
    runs: Sequence[Run],
    axes: Sequence[str],
    set_up: Callable[[Conditions], None],
    make: Callable[[Run], Recording],
) -> list[Recording | HeatsoakError | None]:
    """Make `runs` one after the other, and return what became of each.

    `set_up` is called before each run for which hands have to change something. A drive that shut
    down is its run's result; after any other error no further run is begun, and theirs is None.
    Raises RunInterrupted when the user stops it.
    """
    results: list[Recording | HeatsoakError | None] = [None] * len(runs)
    before: Conditions | None = None
    for index, run in enumerate(runs):
        wanted = changed(run.conditions, before, axes)
        try:
            if wanted:
                set_up(wanted)
            results[index] = make(run)
        except RunInterrupted:
            raise
        except HeatsoakError as error:
            results[index] = error
            if not isinstance(error, ShutDownError):
                break
        before = run.conditions
    return results


def _changes(order: Sequence[_Place]) -> int:
    return sum(_distance(one, other) for one, other in pairwise(order))


def _distance(one: _Place, other: _Place) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def _to_and_fro(places: list[_Place]) -> list[_Place]:
    """Go through the last axis to its end, then back, as a field is mown; the others likewise."""
    if not places or not places[0]:
        return places
    groups: dict[Label, list[_Place]] = {}
    for first, *rest in places:
        groups.setdefault(first, []).append(tuple(rest))
    order: list[_Place] = []
    for turn, (first, rest_of_group) in enumerate(groups.items()):
        rests = _to_and_fro(rest_of_group)
        order += [(first, *rest) for rest in (reversed(rests) if turn % 2 else rests)]
    return order


def _nearest(places: list[_Place], start: _Place) -> list[_Place]:
    """From `start` always to the nearest that is left, of several to the loneliest."""
    left = [place for place in places if place != start]
    order = [start]

    def rank(place: _Place) -> tuple[int, int]:
        near = sum(_distance(place, other) == 1 for other in left)
        return _distance(order[-1], place), near

    while left:
        following = min(left, key=rank)
        left.remove(following)
        order.append(following)
    return order
