import contextlib

import pytest
from heatsoak.units import Size, parse_seconds, parse_size
from heatsoak.words import block_text
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (4096, 4096),
        ("4096", 4096),
        ("128k", 131072),
        ("1m", 1 << 20),
        ("16g", 16 << 30),
        ("16GiB", 16 << 30),
        ("37.6GB", 37_600_000_000),
        ("512B", 512),
        (" 4 k ", 4096),
    ],
)
def test_a_size_reads_as_fio_or_its_unit_says(text: str | int, expected: int) -> None:
    assert parse_size(text) == expected


@pytest.mark.parametrize("text", ["", "k", "-1", "4x", "1e3", "nan", True, "12 %"])
def test_what_is_not_a_size_is_named(text: str | int) -> None:
    with pytest.raises(ValueError, match=r"size is a number|is not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "seconds"), [("300", 300), ("5m", 300), ("1h", 3600), ("500ms", 0.5), (2.5, 2.5)]
)
def test_a_time_reads_with_fios_suffixes(text: str | float, seconds: float) -> None:
    assert parse_seconds(text) == seconds


@given(st.floats(min_value=0, max_value=1e9))
def test_a_number_of_seconds_is_taken_as_it_is(seconds: float) -> None:
    assert parse_seconds(seconds) == seconds  # also one that is written with an exponent


@pytest.mark.parametrize("seconds", [-1.0, float("inf"), float("nan")])
def test_a_number_that_is_not_a_time_is_named(seconds: float) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_seconds(seconds)


@given(st.text())
def test_any_text_is_a_size_or_a_value_error(text: str) -> None:
    for parse in (parse_size, parse_seconds, Size.parse):
        with contextlib.suppress(ValueError):
            parse(text)


def test_a_share_is_of_a_whole() -> None:
    assert Size.parse("25%").of(1000) == 250
    assert Size.parse("1k").of(1000) == 1024
    assert str(Size.parse("25%")) == "25%"
    with pytest.raises(ValueError, match="more than 100%"):
        Size.parse("101%")


@given(st.integers(min_value=512, max_value=1 << 40))
def test_a_block_size_survives_being_written_and_read(size: int) -> None:
    assert parse_size(block_text(size)) == size
