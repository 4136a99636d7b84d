"""Telling formats, and documents, in bytes that are awkward."""

from pathlib import Path

import pytest
from heatsoak.errors import UsageError
from heatsoak.importer import Source, detect, import_files, read


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


def test_files_of_a_directory_that_are_not_logs_are_named_by_reason(tmp_path: Path) -> None:
    (tmp_path / "a_bw.1.log").write_text("500, 1000, 0, 0, 0\n1000, 1100, 0, 0, 0\n")
    for name in ("job.fio", "plot.png", "z.sh"):
        (tmp_path / name).write_bytes(
            b"[global]\n" if name != "plot.png" else b"\x89PNG\r\n\x1a\n\0"
        )
    (recording,) = import_files([tmp_path])
    said = [event.text for event in recording.events if event.text.startswith("left out")]
    assert said == [
        "left out: job.fio and z.sh: is not in a format that can be imported",
        "left out: plot.png: is not a text file",
    ]


def test_a_directory_of_nothing_says_why_each_file_was_refused(tmp_path: Path) -> None:
    fio = "job: (g=0): rw=write, bs=4096B\nfio-3.33\n"
    for name, text in (("a.txt", fio), ("b.txt", fio), ("c.csv", "a,b\nx,y\n")):
        (tmp_path / name).write_text(text)
    with pytest.raises(
        UsageError, match=r"a\.txt and b\.txt: is fio's text, .*; c\.csv: is not in"
    ):
        import_files([tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="there is no file in it"):
        import_files([tmp_path / "empty"])


def test_a_directory_stands_for_what_is_below_it_too(tmp_path: Path) -> None:
    for last, run in enumerate(("one", "two", ".cache")):
        (tmp_path / run).mkdir()
        text = f"500, 100{last}, 0, 0, 0\n1000, 1100, 0, 0, 0\n"
        (tmp_path / run / "a_bw.1.log").write_text(text)
    assert [recording.path.parent.name for recording in import_files([tmp_path])] == ["one", "two"]


SAMPLES = sorted((Path(__file__).parent / "data").glob("*/*"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_sample_belongs_to_the_reader_that_its_directory_is_named_after(path: Path) -> None:
    found = detect(Source.of_path(path)).name
    assert path.parent.name in (found, found.partition("-")[0])
