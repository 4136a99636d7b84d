"""A number with its interval: its ends are in order, and its text says all that is to be known."""

import math
import re
from typing import Annotated

import pytest
from heatsoak.ranges import FITTED_LEVEL, USUAL_LEVEL, Range, WrittenAs, tails
from heatsoak.words import interval_text, range_text, span_text
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

numbers = st.floats(-1e9, 1e9, allow_nan=False)
levels = st.sampled_from([0.5, FITTED_LEVEL, USUAL_LEVEL, 0.99])
ranges = st.builds(Range.around, numbers, st.tuples(numbers, numbers), st.just("runs"), levels)


@given(ranges)
def test_the_middle_lies_between_the_ends(of: Range) -> None:
    assert of.low <= of.mid <= of.high
    assert of.mid in of


def test_a_middle_outside_the_ends_is_refused() -> None:
    with pytest.raises(ValueError, match="3 is not between 1 and 2"):
        Range(1, 3, 2, "runs")


@given(ranges, st.floats(-1e3, 1e3))
def test_what_only_rises_or_falls_keeps_the_order(of: Range, factor: float) -> None:
    assert of.mapped(math.atan).level == of.level
    turned = of.times(factor)
    assert turned.low <= turned.mid <= turned.high
    assert of.size.mid == abs(of.mid)
    assert of.size.has_sign == of.has_sign


@given(levels)
def test_tails_leave_the_rest_out_on_both_sides(level: float) -> None:
    low, high = tails(level)
    assert high - low == pytest.approx(level)
    assert low == pytest.approx(1 - high)


def decimals(text: str) -> int:
    return len(text.partition(".")[2])


@given(ranges, st.integers(1, 4), st.booleans())
def test_all_numbers_of_a_range_have_the_same_decimals(
    of: Range, digits: int, signed: bool
) -> None:
    said = range_text(of, "C", digits, signed=signed)
    found = re.findall(r"[+-]?[\d,]+(?:\.\d+)?", said.replace(f"{100 * of.level:g} %", ""))
    assert len(found) in (2, 3)
    assert len(set(map(decimals, found))) == 1
    # as near as the largest of them is known
    off = 0.51 * 10.0 ** -decimals(found[0])
    assert abs(float(found[0].replace(",", "")) - of.mid) <= off
    assert not signed or all(
        one.startswith("+") for one in found if float(one.replace(",", "")) > 0
    )


@given(ranges)
def test_the_level_is_said_where_it_is_not_95_percent(of: Range) -> None:
    for said in (range_text(of, "s"), interval_text(of, "s")):
        assert (f"{100 * of.level:g} %: " in said) == (of.level != USUAL_LEVEL)


def test_ranges_are_said_in_one_way() -> None:
    limit = Range(79.6, 81.2, 82.04, "fit", FITTED_LEVEL)
    assert range_text(limit, "C") == "81 C (90 %: 80 to 82)"
    assert interval_text(limit, "C", 3) == "90 %: 79.6 to 82.0 C"
    gain = Range(20, 20.1, 20.2, "runs")
    assert interval_text(gain, "%", 3, signed=True) == "+20.0 to +20.2 %"
    assert range_text(Range(-12, 0.04, 12, "runs"), signed=True) == "0 (-12 to +12)"


def test_an_end_that_would_read_nothing_has_one_decimal_more() -> None:
    assert span_text([0.4, 12], "%", 2) == "0.4 to 12.0 %"
    assert span_text([1e-9, 12], "%", 2) == "0 to 12 %"
    assert span_text([0, 0], "s") == "0 s"
    assert span_text([-0.04, 100], "s") == "0 to 100 s"


def test_json_has_a_range_under_the_keys_of_its_contract() -> None:
    adapter = TypeAdapter(Annotated[Range, WrittenAs("low_pct", "pct", "high_pct")])
    of = Range(1, 2, 3, "runs")
    assert adapter.dump_python(of, mode="json") == {"pct": 2, "low_pct": 1, "high_pct": 3}
    schema = adapter.json_schema(mode="serialization")
    assert schema["required"] == list(schema["properties"]) == ["pct", "low_pct", "high_pct"]
