"""Lines that one can tell apart, in pictures as on the page."""

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from compared import Array, run, steady
from heatsoak.recording import Recording
from heatsoak.report.page.lines import palette
from paged import page_of

#: What people with a form of colour blindness see of linear RGB: Machado, Oliveira and Fernandes,
#: A Physiologically-based Model for Simulation of Color Vision Deficiency, 2009, severity 1.
SEEN = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
    "full colour": np.eye(3).tolist(),
}
#: Linear RGB to XYZ, and the white point: IEC 61966-2-1.
XYZ = [[0.4125, 0.3576, 0.1804], [0.2127, 0.7152, 0.0722], [0.0193, 0.1192, 0.9503]]
WHITE = [0.9505, 1.0, 1.0888]


def linear(color: str) -> Array:
    share = np.array(list(bytes.fromhex(color[1:]))) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def lab(color: str, seen_by: str) -> Array:
    """The colour in CIE Lab, in which a distance of 2.3 is just noticed."""
    rgb = np.clip(np.array(SEEN[seen_by]) @ linear(color), 0, 1)
    share = np.array(XYZ) @ rgb / np.array(WHITE)
    x, y, z = np.where(share > 0.008856, np.cbrt(share), 7.787 * share + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def different(recordings: Sequence[Recording]) -> int:
    return len({(one.style.color, one.style.dash) for one in page_of(recordings).recordings})


@pytest.mark.parametrize("seen_by", SEEN)
@pytest.mark.parametrize("shade", ["light", "dark"])
def test_the_colours_of_lines_are_told_apart_by_everybody(shade: str, seen_by: str) -> None:
    colors = palette()[shade]["lines"]
    better_and_worse = [palette()["causes"][of][shade] for of in ("spare-area", "thermal")]
    for one, other in [*combinations(colors, 2), better_and_worse]:
        assert np.linalg.norm(lab(one, seen_by) - lab(other, seen_by)) > 15, (one, other)


@pytest.mark.parametrize("shade", ["light", "dark"])
def test_the_colours_of_lines_stand_out_from_the_paper(shade: str) -> None:
    # WCAG 2.2, 1.4.11: graphics have a contrast of 3
    def brightness(color: str) -> float:
        return float(np.array(XYZ)[1] @ linear(color)) + 0.05

    paper = brightness(palette()[shade]["paper"])
    for color in palette()[shade]["lines"]:
        low, high = sorted([paper, brightness(color)])
        assert high / low >= 3, color


def test_a_few_conditions_differ_by_colour_and_repetitions_by_pattern() -> None:
    sinks = ("none", "small", "big", "none")
    runs = [run({"heatsink": s}, steady(2000, 30), seed=n) for n, s in enumerate(sinks)]
    none, small, big, again = (one.style for one in page_of(runs).recordings)
    assert len({none.color, small.color, big.color}) == 3
    assert again.color == none.color
    assert again.dash != none.dash == 0


@pytest.mark.parametrize("count", [5, 8])
def test_from_the_fifth_on_lines_are_dashed(count: int) -> None:
    runs = [run({"heatsink": f"h{n}"}, steady(2000, 30), seed=n) for n in range(count)]
    dashes = [one.style.dash for one in page_of(runs).recordings]
    assert dashes == [0] * 4 + [1] * (count - 4)
    assert different(runs) == count


def test_runs_of_the_same_differ_by_colour() -> None:
    runs = [run({"heatsink": "none"}, steady(2000, 30), seed=n, name=f"run-{n}") for n in range(3)]
    assert len({one.style.color for one in page_of(runs).recordings}) == 3


def test_many_drives_that_have_nothing_in_common_differ_all_the_same() -> None:
    runs = [run({}, steady(2000, 30), seed=n, drive={"model": f"drive {n}"}) for n in range(20)]
    assert different(runs) == 20


def test_many_conditions_take_their_colour_from_the_main_one_and_a_pattern_from_the_rest() -> None:
    cells = [
        {"slot": slot, "gpus": gpus, "gpu_load": load}
        for slot, gpus, load in product(("top", "bottom", "upright"), (1, 2), ("idle", "loaded"))
    ]
    runs = [run(cell, steady(2000, 30), seed=n) for n, cell in enumerate(cells)]
    styles = [one.style for one in page_of(runs).recordings]
    assert len({(one.color, one.dash) for one in styles}) == len(cells)
    by_slot = {cell["slot"]: style.color for cell, style in zip(cells, styles, strict=True)}
    assert all(s.color == by_slot[c["slot"]] for c, s in zip(cells, styles, strict=True))
    assert len(set(by_slot.values())) == 3


def test_every_cause_has_a_look_in_both_shades_and_a_letter_and_a_hatching_of_its_own() -> None:
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
    hatchings = [look["hatch"] for look in causes.values() if look["hatch"] != "none"]
    assert len(set(hatchings)) == len(hatchings) == len(causes) - 2
