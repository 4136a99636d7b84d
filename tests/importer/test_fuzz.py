"""A short walk over damaged files; `fuzz.py` beside it takes the long one."""

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from heatsoak.importer.formats import FORMATS

INPUTS = 200


def _fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).with_name("fuzz.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz = _fuzz()


@pytest.mark.parametrize(
    "reader", [each for each in FORMATS if each.is_read], ids=lambda reader: reader.name
)
def test_a_reader_has_samples_and_takes_them(reader: Any) -> None:
    read = [fuzz.check(reader, seed) for seed in fuzz.seeds_of(reader)]
    assert any(read)


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("reader", FORMATS, ids=lambda reader: reader.name)
def test_nothing_but_one_line_comes_of_damage(reader: Any, tmp_path: Path) -> None:
    chance = random.Random(reader.name)
    seeds = fuzz.seeds_of(reader) or list(fuzz.NASTY)
    longest = fuzz.longest_of(seeds)
    seeds = [seed[:longest] for seed in seeds]
    for index in range(INPUTS):
        data = fuzz.mutated(chance.choice(seeds), chance, seeds, longest)
        try:
            fuzz.check(reader, data, whole=index % 8 == 0)
        except Exception as error:
            kept = tmp_path / "input"
            kept.write_bytes(data)
            raise AssertionError(f"fuzz.py {reader.name} --replay {kept}") from error


@pytest.mark.parametrize("reader", FORMATS, ids=lambda reader: reader.name)
def test_nothing_but_one_line_comes_of_anything(reader: Any) -> None:
    for data in (*fuzz.NASTY, b"", b"\n", b"a,b\n1,2\n"):
        fuzz.check(reader, data)


def test_a_reader_that_raises_anything_else_is_found() -> None:
    class Careless:
        name = "careless"

        @staticmethod
        def recognises(_: object) -> bool:
            return True

        @staticmethod
        def read(_: object, __: object) -> list[object]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fuzz.check(Careless(), b"1")
