"""Lines that one can tell apart, in pictures as on the page."""

from itertools import product

from compared import run, steady
from heatsoak.report.page.palette import line_styles, palette
from paged import page_of


def test_a_few_conditions_differ_by_colour_and_repetitions_by_pattern() -> None:
    sinks = ("none", "small", "big", "none")
    runs = [run({"heatsink": s}, steady(2000), seed=n) for n, s in enumerate(sinks)]
    none, small, big, again = line_styles(page_of(runs))
    assert len({none.color, small.color, big.color}) == 3
    assert again.color == none.color
    assert again.dashes != none.dashes == ()


def test_runs_of_the_same_differ_by_colour() -> None:
    runs = [run({"heatsink": "none"}, steady(2000), seed=n, name=f"run-{n}") for n in range(3)]
    assert len({style.color for style in line_styles(page_of(runs))}) == 3


def test_many_conditions_take_their_colour_from_the_main_one_and_a_pattern_from_the_rest() -> None:
    cells = [
        {"slot": slot, "gpus": gpus, "gpu_load": load}
        for slot, gpus, load in product(("top", "bottom", "upright"), (1, 2), ("idle", "loaded"))
    ]
    runs = [run(cell, steady(2000), seed=n) for n, cell in enumerate(cells)]
    styles = line_styles(page_of(runs))
    assert len(set(styles)) == len(cells)
    by_slot = {cell["slot"]: style.color for cell, style in zip(cells, styles, strict=True)}
    assert all(s.color == by_slot[c["slot"]] for c, s in zip(cells, styles, strict=True))
    assert len(set(by_slot.values())) == 3


def test_every_cause_has_a_look_in_both_shades_and_a_letter_of_its_own() -> None:
    causes = palette()["causes"]
    assert {
        "thermal",
        "write-cache",
        "spare-area",
        "limited-by-host",
        "interference",
        "sliding",
    } < (causes.keys())
    letters = [look["letter"] for look in causes.values()]
    assert len(set(letters)) == len(letters)
