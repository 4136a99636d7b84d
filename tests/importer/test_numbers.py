"""Numbers as tools write them, and how much is said of a file."""

import math
from typing import Any

import pytest
from heatsoak.importer import Source, read
from heatsoak.importer.numbers import count_of, decimal, number_of, scaled


@pytest.mark.parametrize(
    ("given", "number"),
    [
        ("1.5", 1.5),
        ("1,5", 1.5),
        (" -2 ", -2.0),
        (3, 3.0),
        ("1e3", 1000.0),
        ("1_000", math.nan),
        ("1.000,5", math.nan),
        (True, math.nan),
        (None, math.nan),
        ("inf", math.nan),
        (10**400, math.nan),
        ("", math.nan),
    ],
)
def test_a_number_is_read_with_point_or_comma_and_nothing_else_is_one(
    given: Any, number: float
) -> None:
    assert number_of(given) == pytest.approx(number, nan_ok=True)


def test_marks_of_thousands_are_read_where_a_tool_writes_them() -> None:
    assert decimal("1.234,5") == decimal("1,234.5") == 1234.5
    assert count_of("1 234 567") == count_of("1,234,567") == count_of(1234567) == 1234567
    assert count_of("none") is None


def test_a_size_with_a_suffix_is_in_mb_whatever_the_scale() -> None:
    assert scaled("1,5") == 1.5
    assert scaled("2.0M", 1e-3) == pytest.approx(2.097152)
    assert scaled("4s") == pytest.approx(2048e-6)
    assert scaled("12%", 2.0) == 24.0


def test_of_very_many_doubts_the_first_are_told_and_how_many_more_there_are() -> None:
    names = [f"alpha{number} temp" for number in range(60)]
    rows = [",".join([str(at), "500", *["40"] * 60]) for at in range(1, 60)]
    text = "\n".join([",".join(["time", "write_mb_s", *names]), *rows])
    (log,) = read(Source.of_bytes("many.csv", text.encode()))
    doubts = [remark.text for remark in log.remarks if remark.doubt]
    assert len(doubts) == 41
    assert doubts[-1].endswith("more doubts are not listed")
