"""What happens to files on their way: every sample of every format, changed and damaged."""

import gzip
import lzma
import random
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import polars as pl
import pytest
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Log, Options, Source, detect, read
from heatsoak.importer.formats import Format
from heatsoak.recording import schema_of

DATA = Path(__file__).parent / "data"
#: A binary file that only its own tool reads.
REFUSED = DATA / "sar" / "sa21"
FILES = sorted(path for path in DATA.rglob("*") if path.is_file() and path != REFUSED)


def name_of(path: Path) -> str:
    return str(path.relative_to(DATA))


def is_text(data: bytes) -> bool:
    return b"\0" not in data and not data.startswith((b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"))


def same(one: list[Log], other: list[Log]) -> bool:
    return len(one) == len(other) and all(
        a.samples.equals(b.samples) and a.steps == b.steps and a.clock == b.clock
        for a, b in zip(one, other, strict=True)
    )


def check(logs: list[Log]) -> None:
    """What holds for every log, whatever it was read from."""
    assert logs
    for log in logs:
        samples = log.samples
        assert dict(samples.schema) == schema_of(samples.columns)
        assert samples.height > 0 or log.remarks
        assert samples["t_s"].null_count() == 0
        assert samples["t_s"].is_sorted()
        for name, dtype in samples.schema.items():
            if dtype == pl.Float64:
                assert samples[name].drop_nulls().is_finite().all(), name
        if "step" in samples.columns:
            assert set(samples["step"].drop_nulls()) <= {step.name for step in log.steps}
        assert all("\n" not in remark.text and len(remark.text) < 600 for remark in log.remarks)


def test_there_are_samples_of_every_format() -> None:
    assert len(FILES) > 20


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_sample_is_read(path: Path) -> None:
    check(read(Source.of_path(path)))


def test_a_file_that_only_its_own_tool_reads_is_refused_with_the_way_round() -> None:
    with pytest.raises(HeatsoakError, match="sadf -d"):
        read(Source.of_path(REFUSED))


HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "crlf": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "cr": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r"),
    "bom": lambda data: b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf"),
    "no last line end": lambda data: data.removesuffix(b"\n").removesuffix(b"\r"),
    "zeros at the end": lambda data: data + bytes(5000),
    "gzip": gzip.compress,
    "xz": lzma.compress,
}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_what_does_no_harm_changes_nothing(path: Path) -> None:
    data = path.read_bytes()
    original = read(Source.of_bytes(path.name, data))
    for name, change in HARMLESS.items():
        # line ends are of text, and what is not compressed can be
        is_possible = not data.startswith(b"\x1f\x8b") if name in ("gzip", "xz") else is_text(data)
        if is_possible:
            # under its own name, which may tell what the content cannot
            assert same(original, read(Source.of_bytes(path.name, change(data)))), name


def is_utf8(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


IN_UTF8 = [path for path in FILES if is_utf8(path.read_bytes())]


@pytest.mark.parametrize("path", IN_UTF8, ids=name_of)
def test_a_file_in_another_encoding_is_read_alike(path: Path) -> None:
    data = path.read_bytes()
    text = data.decode()
    original = read(Source.of_bytes(path.name, data))
    for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
        assert same(original, read(Source.of_bytes(path.name, text.encode(encoding)))), encoding


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_damage_is_read_around_or_said_in_one_line(path: Path) -> None:
    data = path.read_bytes()
    chance = random.Random(name_of(path))
    for damaged in damages(data, chance):
        said = ""
        try:
            check(read(Source.of_bytes(path.name, damaged)))
        except HeatsoakError as error:
            said = str(error)
        assert not said or (said.startswith(path.name) and "\n" not in said)


def damages(data: bytes, chance: random.Random) -> list[bytes]:
    lines = data.splitlines(keepends=True)
    middle = len(lines) // 2
    cut = [data[: chance.randrange(1, len(data))] for _ in range(6)]
    return [
        *cut,
        *(data[chance.randrange(len(data)) :] for _ in range(3)),
        data + data,  # appended runs
        data + lines[0] + data,
        b"".join(lines[:middle] + lines[:3] + lines[middle:]),  # a header again
        b"".join([*lines[:middle], b"\x00\xff\xfe garbage \x80\n", *lines[middle:]]),
        b"".join([*lines[:middle], b"\n\n\n", *lines[middle:]]),
        b"".join(lines[:middle] + lines[middle + 1 :]),
        b"".join(chance.sample(lines, len(lines))),
        bytes(byte if chance.random() > 0.01 else chance.randrange(256) for byte in data),
        data.replace(b".", b","),
        data.replace(b",", b";"),
    ]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\0" * 5000, "is not a text file"),
        (bytes(range(256)) * 40, "is not a text file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(1, 200)) * 9, "is not a text file"),
        (b"\n \n\n", "is not in a format"),
        (b"hello\n", "is not in a format"),
        (b"a" * (6 << 20), "is not in a format"),
        (gzip.compress(b"", mtime=0), "is empty"),
        (gzip.compress(b"hello " * 9, mtime=0)[:10], "ompress"),
    ],
)
def test_what_is_not_a_log_is_refused_in_one_line(data: bytes, said: str) -> None:
    with pytest.raises(HeatsoakError, match=said) as caught:
        read(Source.of_bytes("mine.log", data))
    assert str(caught.value).startswith("mine.log: ")
    assert "\n" not in str(caught.value)


def test_a_format_is_recognized_by_its_content_and_not_by_its_name() -> None:
    for path in FILES:
        if path.parent.name == "fio" and path.suffix == ".log":
            continue  # what a fio log counts is in its name alone
        known = detect(Source.of_path(path)).name
        assert detect(Source.of_bytes("x.txt", path.read_bytes())).name == known


def test_a_reader_that_fails_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(source: Source, options: Options) -> list[Log]:
        raise IndexError(f"in {source.name}\nof {options.device}")

    reader = Format("odd", "odd logs", lambda _: True, fails)
    monkeypatch.setattr(import_module("heatsoak.importer.formats"), "FORMATS", (reader,))
    with pytest.raises(HeatsoakError, match=r"^x: heatsoak's reader for odd logs failed") as caught:
        read(Source.of_bytes("x", b"text"))
    assert "\n" not in str(caught.value)
