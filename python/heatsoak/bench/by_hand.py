"""What only hands can change between runs on a real machine: in which order, and by asking."""

import select
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise, starmap
from typing import TypeVar

from heatsoak import errors
from heatsoak.bench.plan import PlannedRun
from heatsoak.output import print_err
from heatsoak.protocol import Conditions, Label, Protocol

#: The label that says that somebody makes a protocol's heat without being asked.
BY_HAND = "by-hand"
_LOOK_S = 0.2
_CONTINUE = "then press Enter (or type stop: the same command with --resume continues later)"
#: The values of the axes that hands change.
_Place = tuple[Label, ...]

Result = TypeVar("Result")


def is_attended() -> bool:
    """Whether somebody sees a question and can answer: standard input and error are terminals."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def axes_by_hand(protocol: Protocol) -> list[str]:
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


def require_hands(protocol: Protocol, runs: Sequence[PlannedRun], axes: Sequence[str]) -> None:
    """Raise UsageError where somebody has to change `axes` between runs, and nobody is there."""
    if not axes or is_attended():
        return
    assert protocol.matrix is not None
    places = {tuple(run.conditions[axis] for axis in axes) for run in runs}
    cell = runs[0].conditions
    example = " ".join(f"--set {name}={cell[name]}" for name in protocol.matrix.axes)
    raise errors.UsageError(
        f"{protocol.name} takes the drive through {len(places)} places, which on a real machine "
        "have to be changed by hand, and there is no terminal to ask at: name the one that it is "
        f"in, such as {example}"
    )


def walked(cells: Sequence[Conditions], axes: Sequence[str]) -> list[Conditions]:
    """Return `cells` in the order that takes few changes of `axes`, those of a place together.

    The fewest changes there can be where every combination of `axes` is among them.
    """
    places: dict[_Place, list[Conditions]] = {}
    for cell in cells:
        places.setdefault(tuple(cell[axis] for axis in axes), []).append(cell)
    given = list(places)
    orders = (given, _there_and_back(given), _there_and_back(given[::-1])[::-1])
    shortest = min(orders, key=lambda order: sum(starmap(_distance, pairwise(order))))
    return [cell for place in shortest for cell in places[place]]


def changed(cell: Conditions, before: Conditions | None, axes: Sequence[str]) -> Conditions:
    """Return what hands have to change for `cell`; all `axes` where nothing came before it."""
    return {axis: cell[axis] for axis in axes if before is None or before.get(axis) != cell[axis]}


def described(conditions: Conditions) -> str:
    """Return conditions in words: ``"slot = upright, gpus = 2"``."""
    return ", ".join(f"{key} = {value}" for key, value in conditions.items())


def walk(
    runs: Sequence[PlannedRun],
    axes: Sequence[str],
    set_up: Callable[[Conditions], None],
    make: Callable[[PlannedRun], Result],
) -> list[Result | errors.HeatsoakError | None]:
    """Make `runs` one after the other, and return what became of each.

    `set_up` is called before each run for which hands have to change something. A drive that shut
    down is its run's result; after any other error no further run is started, and theirs is None.
    Raises RunInterrupted when the user stops it.
    """
    results: list[Result | errors.HeatsoakError | None] = [None] * len(runs)
    before: Conditions | None = None
    for index, run in enumerate(runs):
        wanted = changed(run.conditions, before, axes)
        try:
            if wanted:
                set_up(wanted)
            results[index] = make(run)
        except errors.RunInterrupted:
            raise
        except errors.HeatsoakError as error:
            results[index] = error
            if not isinstance(error, errors.ShutDownError):
                break
        before = run.conditions
    return results


def ask(wanted: str) -> None:
    """Return once `wanted` is said to be done; raises RunInterrupted for ``stop``."""
    _forget_what_was_typed()
    while True:
        print_err(f"{wanted}; {_CONTINUE}: ", end="")
        answer = _line()
        word = answer.strip().lower()
        if word == "stop" or not answer:  # the end of input
            raise errors.RunInterrupted("stopped")
        if not word:
            return
        print_err(f"'{word}' is neither")


def agrees_to_lose(found: errors.NotEmptyError) -> bool:
    """Ask whether what is on a drive may be overwritten; only its model, or id, means yes."""
    _forget_what_was_typed()
    print_err(
        f"{found.held}; all of it will be overwritten. If it may, type {found.answer}: ", end=""
    )
    return _line().strip() == found.answer


def _forget_what_was_typed() -> None:
    """Discard what was typed before the question: it answers nothing."""
    import termios  # terminals elsewhere have none

    with suppress(termios.error):  # the terminal is gone
        termios.tcflush(sys.stdin, termios.TCIFLUSH)


def _line() -> str:
    """Return a line of the terminal's, nothing where it has ended or is gone."""
    # Python handles no signal that comes just before it starts to wait in readline
    while not select.select([sys.stdin], [], [], _LOOK_S)[0]:
        pass
    try:
        return sys.stdin.readline()
    except OSError:
        return ""


def _distance(one: _Place, other: _Place) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def _there_and_back(places: list[_Place]) -> list[_Place]:
    """Go through the values of the first axis; through those of the others there and back."""
    if not places[0]:
        return places
    order: list[_Place] = []
    for first in dict.fromkeys(place[0] for place in places):
        others = _there_and_back([place[1:] for place in places if place[0] == first])
        if order and _distance(order[-1][1:], others[-1]) < _distance(order[-1][1:], others[0]):
            others.reverse()
        order += [(first, *other) for other in others]
    return order
