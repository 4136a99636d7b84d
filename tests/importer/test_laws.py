"""Laws of all readers: what does no harm changes nothing, and damage is read around or refused."""

import csv
import gzip
import importlib.util
import io
import lzma
import random
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from heatsoak.analysis import Findings, analyze
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Log, Options, Source, detect, open_all, read
from heatsoak.importer.formats import FORMATS, Format
from heatsoak_dev.elsewhere import make
from mutations import with_damaged_json
from samples import CASES, FILES, REFUSED, judged, sources_of


def _fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz", Path(__file__).with_name("fuzz.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


fuzz = _fuzz()
#: Each file, and each text of the table, with its name.
SAMPLES: list[tuple[str, bytes]] = [(path.name, path.read_bytes()) for path in FILES]
SAMPLES += [
    (source.name, b"".join(source.chunks()))
    for case in CASES.values()
    if "text" in case and not {"refused", "map", "device"} & set(case)
    for source in list(sources_of(case))[:1]
    if source.size_bytes < 1 << 16
]

# --- what does no harm ---


def test_a_sample_belongs_to_the_reader_that_its_directory_is_named_after() -> None:
    for path in [*FILES, REFUSED]:
        known = detect(Source.of_path(path)).name
        assert path.parent.name in (known, known.partition("-")[0]), path
        # what a log of fio's counts is in its name alone
        if path.parent.name != "fio" or path.suffix != ".log":
            assert detect(Source.of_bytes("x.txt", path.read_bytes())).name == known, path


def _is_text(data: bytes) -> bool:
    return b"\0" not in data and not data.startswith((b"\x1f\x8b", b"\xff\xfe", b"\xfe\xff"))


def _encoded(data: bytes, encoding: str) -> bytes:
    try:
        return data.decode().encode(encoding) if _is_text(data) else data
    except UnicodeDecodeError:
        return data


HARMLESS: list[Callable[[bytes], bytes]] = [
    lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r"),
    lambda data: b"\xef\xbb\xbf" + data.removeprefix(b"\xef\xbb\xbf"),
    lambda data: data.removesuffix(b"\n").removesuffix(b"\r"),
    lambda data: data + bytes(5000),
    lambda data: _encoded(data, "utf-16"),
    lambda data: _encoded(data, "utf-16-le"),
    lambda data: _encoded(data, "utf-16-be"),
    gzip.compress,
    lzma.compress,
]


def _same(one: list[Log], other: list[Log]) -> bool:
    return len(one) == len(other) and all(
        a.samples.equals(b.samples) and a.steps == b.steps and a.clock == b.clock
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.parametrize("ways", [2, pytest.param(4, marks=pytest.mark.long)])
def test_line_ends_encodings_and_packing_change_nothing(ways: int) -> None:
    for number, (name, data) in enumerate(SAMPLES):
        original = read(Source.of_bytes(name, data))
        # each file in some of these ways, each text in one
        for at in range(number, number + (ways if number < len(FILES) else 1)):
            change = HARMLESS[3 * at % len(HARMLESS)]
            packs = change in (gzip.compress, lzma.compress)
            if not data.startswith(b"\x1f\x8b") if packs else _is_text(data):
                again = read(Source.of_bytes(name, change(data)))
                assert _same(original, again), (name, data[:200], 3 * at % len(HARMLESS))


# --- damage ---


def _damages(data: bytes, chance: random.Random) -> list[bytes]:
    lines = data.splitlines(keepends=True)
    middle = len(lines) // 2
    damaged = [
        data[: chance.randrange(1, len(data))],
        data[chance.randrange(len(data)) :],
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
        fuzz.mutated(data, chance, [data], 1 << 20),
    ]
    if data[:1] in (b"{", b"["):
        damaged.append(with_damaged_json(data.decode("utf-8", "replace"), chance).encode())
    return damaged


def _check_damaged(name: str, data: bytes) -> None:
    try:
        logs = read(Source.of_bytes(name, data))
    except HeatsoakError as error:
        said = str(error)
        assert said.startswith(name)
        assert "\n" not in said
        assert "a bug in heatsoak" not in said, said
    else:
        assert logs
        for log in logs:
            fuzz.check_log(log, None)
            assert log.samples.height > 0 or log.remarks
            assert all(len(remark.text) < 600 for remark in log.remarks)


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(6, marks=pytest.mark.long)])
def test_damage_is_read_around_or_said_in_one_line(count: int, seed: int) -> None:
    for number, (name, data) in enumerate(SAMPLES):
        chance = random.Random(f"{seed} {number} {name}")
        damaged = _damages(data, chance)
        for each in chance.sample(damaged, count if number < len(FILES) else 1):
            _check_damaged(name, each)


@pytest.mark.parametrize(
    "reader", [each for each in FORMATS if each.is_read], ids=lambda reader: reader.name
)
def test_a_reader_has_samples_and_takes_them(reader: Any) -> None:
    assert any(fuzz.check(reader, seed) for seed in fuzz.seeds_of(reader))


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("reader", FORMATS, ids=lambda reader: reader.name)
def test_nothing_but_one_line_comes_of_damage(reader: Any, tmp_path: Path) -> None:
    chance = random.Random(reader.name)
    seeds = fuzz.seeds_of(reader) or list(fuzz.NASTY)
    longest = fuzz.longest_of(seeds)
    seeds = [seed[:longest] for seed in seeds]
    for index in range(400):
        data = fuzz.mutated(chance.choice(seeds), chance, seeds, longest)
        try:
            fuzz.check(reader, data, whole=index % 8 == 0)
        except Exception as error:
            kept = tmp_path / "input"
            kept.write_bytes(data)
            raise AssertionError(f"fuzz.py {reader.name} --replay {kept}") from error


def test_nothing_but_one_line_comes_of_anything() -> None:
    for reader in FORMATS:
        for data in (*fuzz.NASTY, b"", b"\n", b"a,b\n1,2\n"):
            fuzz.check(reader, data, whole=False)


def test_a_reader_that_raises_anything_else_is_found() -> None:
    def fails(_: Source, __: Options) -> list[Log]:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fuzz.check(Format("careless", "careless logs", lambda _: True, fails), b"1")


def test_a_reader_that_fails_says_so_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(source: Source, options: Options) -> list[Log]:
        raise IndexError(f"in {source.name}\nof {options.device}")

    reader = Format("odd", "odd logs", lambda _: True, fails)
    monkeypatch.setattr(import_module("heatsoak.importer.formats"), "FORMATS", (reader,))
    with pytest.raises(HeatsoakError, match=r"^x: heatsoak's reader for odd logs failed") as caught:
        read(Source.of_bytes("x", b"text"))
    assert "\n" not in str(caught.value)


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
    ids=range(9),
)
def test_what_is_no_log_is_refused_in_one_line(data: bytes, said: str) -> None:
    with pytest.raises(HeatsoakError, match=said) as caught:
        read(Source.of_bytes("mine.log", data))
    assert str(caught.value).startswith("mine.log: ")
    assert "\n" not in str(caught.value)


# --- a log that shows a slowed drive and lost something never tells that it was not slowed ---

#: A fall that no change here may hide among the noise.
DEEP_PCT = 25
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
_WORD = re.compile(r"[A-Za-z%][\w%]*(?:[ ./-][A-Za-z%][\w%]*)*")
_UNIT = re.compile(r"[ _]?[\[(]?\b[KMG]i?B(?:/s|ps)\b[\])]?|_[kmg]i?b_s\b")
_DEVICE = re.compile(r"\b(?:nvme\d+n\d+|sd[a-z]|dev\d+-\d+|loop\d+|zram\d+|md\d+)\b")


def _rows(lines: list[str]) -> list[int]:
    """Return which lines are a row of a table or report: of three numbers and more."""
    return [i for i, line in enumerate(lines) if len(_NUMBER.findall(line)) >= 3]


def _without(text: str, rows: set[int]) -> str:
    return "\n".join(line for i, line in enumerate(text.split("\n")) if i not in rows)


def without_some_rows(text: str, chance: random.Random) -> str:
    share = chance.choice((0.02, 0.2, 0.5))
    return _without(text, {row for row in _rows(text.split("\n")) if chance.random() < share})


def without_a_stretch(text: str, chance: random.Random) -> str:
    rows = _rows(text.split("\n"))
    if len(rows) < 8:
        return text
    begin = chance.randrange(2, len(rows) - 3)
    return _without(text, set(rows[begin : chance.randrange(begin, len(rows) - 2)]))


def with_a_name_unknown(text: str, chance: random.Random) -> str:
    name = chance.choice(sorted({name for name in _WORD.findall(text) if len(name) > 2}))
    other = "".join(chance.choices("bcdfgjklvxz", k=7))
    return re.sub(rf"(?<![\w%]){re.escape(name)}(?![\w%])", other, text)


def without_a_unit(text: str, chance: random.Random) -> str:
    units = sorted(set(_UNIT.findall(text)))
    return text.replace(chance.choice(units), "") if units else text


def with_devices_shuffled(text: str, chance: random.Random) -> str:
    devices = sorted(set(_DEVICE.findall(text)))
    return _DEVICE.sub(lambda _: chance.choice(devices), text)


def with_rows_shuffled(text: str, chance: random.Random) -> str:
    lines = text.split("\n")
    rows = _rows(lines)
    moved = [lines[i] for i in chance.sample(rows, len(rows))]
    for i, line in zip(rows, moved, strict=True):
        lines[i] = line
    return "\n".join(lines)


def with_columns_shuffled(text: str, chance: random.Random) -> str:
    mark = max(",;\t", key=text.split("\n")[0].count)
    rows = list(csv.reader(io.StringIO(text), delimiter=mark))
    width = len(rows[0])
    order = chance.sample(range(width), width)
    if width == 1 or text[0] in "{[<":
        return text
    written = io.StringIO()
    csv.writer(written, delimiter=mark, lineterminator="\n").writerows(
        [row[place] for place in order] if len(row) == width else row for row in rows
    )
    return written.getvalue()


Change = Callable[[str, random.Random], str]
CHANGES: Sequence[Change] = [
    without_some_rows,
    without_a_stretch,
    with_a_name_unknown,
    without_a_unit,
    with_devices_shuffled,
    with_rows_shuffled,
    with_columns_shuffled,
]
#: One that falls beside one that holds its speed or does nothing.
SLOWED = {
    "iostat.txt": "Linux 6.1.0 (host) \t2026-03-01 \t_x86_64_\t(16 CPU)\n«0..120:»\n"
    "2026-03-01T«clock(i)»+0000\nDevice r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\n"
    "nvme0n1 1.00 4.00 0.10 «9000 if i < 60 else 3240».00 «2_500_000 if i < 60 else 900_000».00 "
    "1.00 30.00 99.00\n"
    "sda 1.00 4.00 0.10 2343.75 300000.00 1.00 30.00 99.00\n«end»",
    "both-ways.csv": "time_s,write_mb_s,read_mb_s,temp_c\n"
    "«0..180»«i»,«2500 if i < 60 else 900»,20,«min(82, 45 + i // 2)»",
    "two.csv": "time_s,name,write_mb_s,temp_c\n«0..180:»«i»,nvme0n1,«2500 if i < 60 else 900»,"
    "«min(82, 45 + i // 2)»\n«i»,sda,3,35\n«end»",
}


def is_slowed(found: Findings) -> bool:
    """Whether heat may have slowed a drive, by a fall or its own count."""
    steps = [step for one in found.recordings for step in one.steps]
    falls = [episode.depth_pct for step in steps for episode in step.episodes]
    is_open = found.answer.throttles == "cannot-tell" and max(falls, default=0) >= DEEP_PCT
    return found.answer.throttles == "yes" or is_open


def check_changed(paths: Sequence[Path], to: Path, change: Change, chance: random.Random) -> None:
    """Change one of the files of a log of a slowed drive, and judge them again."""
    which = chance.randrange(len(paths))
    raw = b"".join(Source.of_path(paths[which]).chunks())
    text = raw.decode("utf-16" if raw[:2] == b"\xff\xfe" else "utf-8", "replace")
    written = []
    for index, path in enumerate(paths):
        written.append(to / path.name)
        data = change(text, chance).encode() if index == which else path.read_bytes()
        written[-1].write_bytes(data)
    with suppress(HeatsoakError):  # it may be refused
        found = analyze(open_all(written, Options()))
        assert found.answer.throttles in ("yes", "cannot-tell"), found.answer.sentence


@pytest.fixture(scope="module")
def slowed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The samples of a slowed drive."""
    place = tmp_path_factory.mktemp("made")
    found = []
    for name, text in SLOWED.items():
        (source,) = sources_of({"name": name, "text": text})
        judged(source, place)
        found.append(place / name)
    for path in FILES:
        # shorter ones show no fall
        if path.stat().st_size > 2000:
            with suppress(HeatsoakError):
                found += [path] if is_slowed(judged(Source.of_path(path), place)) else []
    return found


def test_a_sample_that_lost_something_has_no_firm_no(
    slowed: list[Path], tmp_path: Path, seed: int
) -> None:
    assert len(slowed) >= 10
    for path in slowed:
        for change in CHANGES:
            if change is not without_a_stretch or "iometer" not in path.parts:  # has no times
                chance = random.Random(f"{seed} {change.__name__} {path.name}")
                check_changed([path], tmp_path, change, chance)


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_a_log_of_another_world_that_lost_something_has_no_firm_no(
    change: Change, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    for number in range(8):
        folder = tmp_path / str(number)
        truth = make(chance.randrange(400), folder)
        paths = [folder / name for name in truth.files]
        if is_slowed(analyze(open_all(paths, Options()))):
            (folder / "changed").mkdir()
            check_changed(paths, folder / "changed", change, chance)
