"""The notebooks in `examples` run, and show what they would print now."""

import json
from pathlib import Path

import pytest
from notebook import cells_of, is_alike, outputs, source_of, stored

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.long
def test_a_notebook_prints_what_it_shows_and_names_no_machine() -> None:
    (path,) = EXAMPLES.glob("*.ipynb")
    text = path.read_text("utf-8")
    assert json.loads(text)["nbformat"] == 4
    assert "/tmp" not in text
    assert "/home" not in text
    cells = cells_of(path)
    assert cells
    for cell, now in zip(cells, outputs(path), strict=True):
        for shown, made in zip(stored(cell), now, strict=True):
            first, again = (text.splitlines()[:1] if text else [] for text in (shown, made))
            assert len(first) == len(again), source_of(cell)
            assert all(map(is_alike, first, again)), (source_of(cell), first, again)


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("after 40 s, by 12.5 %", "after 41 s, by 12.4 %", True),
        ("after 40 s", "after 60 s", False),
        ("Throttles after 40 s", "Does not throttle", False),
        ("after 40 s", "after 40 s, and 50", False),
    ],
)
def test_outputs_may_differ_by_little(one: str, other: str, *, alike: bool) -> None:
    assert is_alike(one, other) is alike


def test_a_cell_that_fails_fails_its_notebook(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "code", "outputs": [], "source": ["x = 1\n", "print('one')\n", "x + 1"]},
        {"cell_type": "markdown", "source": ["words"]},
        {"cell_type": "code", "outputs": [], "source": ["1 / (x - 1)"]},
    ]
    path = tmp_path / "broken.ipynb"
    path.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    ran = outputs(path)
    assert next(ran) == ("one\n", "2")
    with pytest.raises(ZeroDivisionError):
        next(ran)
