"""Telling formats, and documents, in bytes that are awkward."""

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Source, read


def test_bytes_that_are_no_text_are_refused_only_where_no_reader_knows_them() -> None:
    with pytest.raises(UsageError, match="is not a text file"):
        read(Source.of_bytes("noise.bin", bytes(range(256)) * 4))


def test_a_document_behind_words_in_its_line_is_read_and_the_words_are_handed_over() -> None:
    data = b'1717500000 {"a": 1}\n12:00:05 {\n "a": 2\n}\nnoise {x}\n'
    documents = list(Source.of_bytes("x", data).documents())
    assert [(found.before, found.value) for found in documents] == [
        ("1717500000 ", {"a": 1}),
        ("12:00:05 ", {"a": 2}),
    ]
