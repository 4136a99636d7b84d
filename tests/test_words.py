"""The terminal and the page write the same numbers and names in the same way."""

import json
from pathlib import Path
from typing import Any

import pytest
from heatsoak import words
from heatsoak.ranges import Range

#: Texts, each with what it is made of; the page's own tests read it too.
CASES = json.loads((Path(__file__).parents[1] / "web/test/text.json").read_text("utf-8"))
OF_UNIT = {
    "C": words.temp_text,
    "K": words.kelvin_text,
    "%": words.percent_text,
    "s": words.seconds_text,
    "MB/s": words.rate_text,
}


def value_text(value: float, unit: str) -> str:
    return OF_UNIT[unit](value) if unit in OF_UNIT else words.amount_text(value, unit)


def digits_of(unit: str) -> int:
    return 2 if unit in ("C", "K", "%", "s") else 3


MAKERS: dict[str, Any] = {
    "span": lambda values, unit: words.span_text(values, unit, digits_of(unit)),
    "ranged": lambda of, unit: words.range_text(Range(**of), unit, digits_of(unit)),
    "number": words.number_text,
    "value": value_text,
    "difference": words.difference_text,
    "duration": words.duration_text,
    "counted": words.counted,
    "shortened": words.shortened,
    "capital": words.capital,
    "plain": words.plain,
    "title": words.title_of,
    "signed": words.signed_text,
    "share": words.share_text,
    "size": words.size_text,
    "listed": words.listed,
}


@pytest.mark.parametrize("kind", CASES)
def test_texts_are_those_that_terminal_and_page_agree_on(kind: str) -> None:
    expected = [text for text, *_ in CASES[kind]]
    assert [MAKERS[kind](*given) for _, *given in CASES[kind]] == expected


def test_a_range_whose_ends_read_the_same_is_one_value() -> None:
    assert words.temps_text([60.1, 72.4, 66]) == "60 to 72 C"
    assert words.span_text([8.2, 8.4], "s") == "8 s"
