import pytest
from heatsoak.words import (
    amount_text,
    capital,
    number_text,
    signed_text,
    size_text,
    span_text,
    temps_text,
)


def test_bytes_for_people_are_decimal() -> None:
    assert size_text(37_600_000_000) == "37.6 GB"
    assert size_text(0) == "0 B"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        *((1234.0, "1,234"), (283.4, "283"), (0.0394, "0.0394"), (1e-5, "0.00001"), (0, "0")),
        *((999.9, "1,000"), (1e9, "1,000,000,000"), (2.50, "2.5"), (-0.0, "0"), (-1500, "-1,500")),
    ],
)
def test_numbers_are_written_without_exponents(value: float, said: str) -> None:
    assert number_text(value) == said


def test_a_size_that_is_nearly_the_next_unit_is_in_that() -> None:
    assert size_text(999.9e9) == "1 TB"
    assert size_text(1.2e12) == "1.2 TB"
    assert size_text(2.5e15) == "2,500 TB"


def test_what_is_before_the_point_is_never_rounded() -> None:
    assert number_text(1499, 2) == "1,499"
    assert number_text(9.96, 2) == "10"
    assert amount_text(0.26, "W", 1) == "0.3 W"


def test_a_change_has_its_sign_and_none_has_not() -> None:
    assert [signed_text(value) for value in (18.2, -0.44, 0.0)] == ["+18", "-0.44", "0"]


def test_a_range_whose_ends_read_the_same_is_one_value() -> None:
    assert temps_text([60.1, 72.4, 66]) == "60 to 72 C"
    assert span_text([8.2, 8.4], "s") == "8 s"


def test_a_sentence_begins_with_a_capital_but_a_files_name_keeps_its_case() -> None:
    assert capital("temp.csv was joined with fio.json") == "temp.csv was joined with fio.json"
    assert capital("bare/fio: a mean") == "bare/fio: a mean"
    assert capital("in bare/fio. it fell") == "In bare/fio. it fell"
    assert capital("heat.") == "Heat."
    assert capital("") == ""
