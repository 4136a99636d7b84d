"""The changes of the package by which `benches/mutants.py` finds out how strong the tests are."""

import ast
import random
from pathlib import Path

import pytest
from mutating import Mutant, Package, Source

BEFORE = '''
"""A module."""

from typing import TYPE_CHECKING

from house.rooms import Room, walls

if TYPE_CHECKING:
    SIZE = 3

__all__ = ["Wall"]
LIMIT_S: float = 2.5


class Wall:
    """A wall of 3 m."""

    def is_high(self, room: "Room | None", least: int = 3) -> bool:
        """Whether it is higher than 2 m."""
        if not room or walls(room, self) < least:
            raise ValueError(f"no wall of {least + 1}")
        room.height += 1
        return room.height > LIMIT_S
'''
#: As a tool rewrites imports, and with a class renamed.
AFTER = (
    BEFORE.replace("from house.rooms import Room, walls", "from house import rooms")
    .replace("walls(room", "rooms.walls(room")
    .replace("class Wall:", "class HouseWall:")
    .replace('"Wall"', '"HouseWall"')
)


def package(directory: Path, text: str) -> Package:
    root = directory / "house"
    root.mkdir(parents=True)
    (root / "__init__.py").write_text("")
    (root / "wall.py").write_text(text)
    return Package(root)


@pytest.fixture
def mutants() -> set[Mutant]:
    return set(Source("house.wall", BEFORE.encode()).mutants)


def test_what_programs_do_is_changed_and_what_people_and_types_read_is_not(
    mutants: set[Mutant],
) -> None:
    changed = {(mutant.function, mutant.kind, mutant.old, mutant.new) for mutant in mutants}
    assert changed == {
        ("", "constant", "2.5", "3.75"),
        ("Wall.is_high", "constant", "3", "4"),
        ("Wall.is_high", "not", "not", ""),
        ("Wall.is_high", "boolean", "or", "and"),
        ("Wall.is_high", "swap", "room, self", "self, room"),
        ("Wall.is_high", "compare", "<", "<="),
        ("Wall.is_high", "compare", "<", ">="),
        ("Wall.is_high", "statement", 'raise ValueError(f"no wall of {least + 1}")', "pass"),
        ("Wall.is_high", "statement", "room.height += 1", "pass"),
        ("Wall.is_high", "constant", "1", "2"),
        ("Wall.is_high", "return", "room.height > LIMIT_S", "None"),
        ("Wall.is_high", "compare", ">", ">="),
        ("Wall.is_high", "compare", ">", "<="),
    }


def test_each_changes_its_place_alone_and_the_source_stays_python(mutants: set[Mutant]) -> None:
    source = Source("house.wall", BEFORE.encode())
    for mutant in mutants:
        text = source.mutated(mutant).decode()
        ast.parse(text)
        assert len(text) == len(BEFORE) - len(mutant.old) + len(mutant.new)
        assert text != BEFORE


def test_each_is_found_when_imports_and_classes_have_other_names(
    tmp_path: Path, mutants: set[Mutant]
) -> None:
    after = package(tmp_path, AFTER)
    for mutant in mutants:
        found = after.find(mutant)
        assert found is not None
        assert (found.kind, found.new, found.line) == (mutant.kind, mutant.new, mutant.line)


def test_what_is_there_no_more_is_not_found(tmp_path: Path, mutants: set[Mutant]) -> None:
    after = package(tmp_path, BEFORE.replace("        room.height += 1\n", ""))
    lost = {mutant.old for mutant in mutants if after.find(mutant) is None}
    assert lost == {"room.height += 1", "1"}


def test_a_seed_draws_the_same_at_most_one_a_line(tmp_path: Path, seed: int) -> None:
    house = package(tmp_path, BEFORE)
    drawn = house.draw(3, seed)
    assert drawn == package(tmp_path / "again", BEFORE).draw(3, seed)
    assert len({mutant.line for mutant in drawn}) == 3
    others = random.Random(seed).sample(range(100), 20)
    assert len({tuple(house.draw(3, other)) for other in others}) > 1
