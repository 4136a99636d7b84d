"""Damages recordings at random, and asks all commands that read them what they make of it.

``make verify`` takes 250 cases, ``make soak`` 10,000 with each seed.
A case is its number: a failure names it, and
``HEATSOAK_FUZZ_CASE=1234 pytest -k test_damage_is_one_line_or_left_out`` takes it alone.
"""

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from command import done_here, heatsoak_here
from drawn import VARIABLE, take
from heatsoak.errors import HeatsoakError
from heatsoak.serve import listing
from heatsoak.serve.library import Library, Shelf
from law import breach, within
from made_recording import of_older_version, remake
from mutations import JSON_VALUES, mutated, with_damaged_json
from rest_long import rest_soak
from tiny import HEATED

#: A warning of numpy's would be more on standard error than the one line.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

#: Cases of `make verify`, in chunks that several processes share, and of the ordinary tests.
CASES, CHUNKS, FEW = 10_000, 40, 30
#: A case that takes longer hangs, or asks for what grows with a number that is damaged.
LONGEST_S = 60

COPY = """
schema = 1
name = "short-copy"
steps = [{ kind = "copy", name = "copy", size = "2GB" }]
"""


@pytest.fixture(scope="module")
def whole(small_drive: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Directories with recordings: finished and cut ones, of a matrix, of a copy."""
    root = tmp_path_factory.mktemp("whole")
    (root / "short.toml").write_text(HEATED)
    (root / "copy.toml").write_text(COPY)
    on = f"sim:{small_drive}"
    for words in (
        ("run", "short.toml", "--on", on, "-o", "matrix"),
        ("run", "short.toml", "--on", on, "--set", "slot=top", "-o", "one"),
        ("run", "copy.toml", "--on", on, "--to", on, "-o", "copy"),
    ):
        done_here(*words, cwd=root)
    made = [root / name for name in ("matrix", "one", "copy")]
    for directory in list(made):
        cut = root / f"{directory.name}-cut"
        shutil.copytree(directory, cut)
        for parquet in cut.rglob("samples.parquet"):
            pl.read_parquet(parquet).write_ndjson(parquet.with_suffix(".jsonl"))
            parquet.unlink()
            remake(parquet.parent, status="running")
        made.append(cut)
    return made


def _damage_document(file: Path, chance: random.Random) -> str:
    file.write_text(with_damaged_json(file.read_text("utf-8", "replace"), chance))
    return "a value"


def _damage_line(file: Path, chance: random.Random) -> str:
    lines = file.read_text("utf-8", "replace").splitlines()
    if not lines:
        return "nothing"
    at = chance.randrange(len(lines))
    what = chance.choice(("value", "value", "value", "key"))
    if what == "value":
        lines[at] = with_damaged_json(lines[at], chance)
    else:
        key = chance.choice(("t_s", "step", "kind", "read_bw_mb_s", "data"))
        lines[at] = f'{{"{key}":{chance.choice(JSON_VALUES)},{lines[at].lstrip("{")}'
    file.write_text("\n".join(lines) + chance.choice(("\n", "\n", "\n", "")))
    return f"line {at + 1}: {what}"


def _damage_column(file: Path, chance: random.Random) -> str:
    """Change a key's value in each line, as a sensor or a tool that lies does."""
    rows = []
    for line in file.read_text("utf-8", "replace").splitlines():
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    rows = [row for row in rows if isinstance(row, dict)]
    keys = sorted({key for row in rows for key in row})
    if not keys:
        return "nothing"
    key = chance.choice([*keys, "t_s"])
    factor = chance.choice((-1, 0, 1e-9, 1e3, 1e6, 1e12, 1e300))
    same = chance.choice((None, 0, -1, 1e300, "read", "write", "x", 3600))
    way = chance.choice(("factor", "same", "gone", "shuffled", "seldom"))
    values = [row.get(key) for row in rows]
    if way == "shuffled":
        chance.shuffle(values)
    for row, value in zip(rows, values, strict=True):
        number = isinstance(value, int | float)
        if way == "factor" and number:
            row[key] = value * factor
        elif way == "same":
            row[key] = same
        elif way == "gone":
            row.pop(key, None)
        elif way == "shuffled":
            row[key] = value
        elif way == "seldom" and chance.random() < 0.1:
            row[key] = same
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"{key}: {way} {factor if way == 'factor' else same}"


def _damage_text(file: Path, chance: random.Random) -> str:
    """Change numbers, lines and bytes, or cut it, as logs are damaged."""
    file.write_bytes(mutated(file.read_bytes(), chance, [], 1 << 22))
    return "text"


def _replace(file: Path, chance: random.Random) -> str:
    what = chance.choice(("gone", "directory", "pipe", "itself", "null", "empty", "other", "deep"))
    other = chance.choice(sorted(file.parent.iterdir()))
    data = other.read_bytes() if other.is_file() else b""
    file.unlink()
    if what == "directory":
        file.mkdir()
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "itself":
        file.symlink_to(file.name)
    elif what == "null":
        file.symlink_to(os.devnull)
    elif what == "empty":
        file.touch()
    elif what == "other":
        file.write_bytes(data)
    elif what == "deep":
        file.write_bytes(b"[" * 100_000 + b"\n")
    return what


Damage = Callable[[Path, random.Random], str]
_JSON: tuple[Damage, ...] = (*[_damage_document] * 12, *[_damage_text] * 2, _replace)
_LINES: tuple[Damage, ...] = (
    *([_damage_line] * 4 + [_damage_column] * 6 + [_damage_text] * 4),
    _replace,
)
_WAYS: dict[str, tuple[Damage, ...]] = {
    "recording.json": _JSON,
    "events.jsonl": _LINES,
    "samples.jsonl": _LINES,
    # to look into a Parquet file that is not the one recorded takes a process
    "samples.parquet": (_damage_text, _damage_text, _replace),
}
_WEIGHTS = {"recording.json": 10, "events.jsonl": 10, "samples.jsonl": 10, "samples.parquet": 1}

#: What is asked, and with which weight.
_ASKED: tuple[tuple[int, tuple[str, ...]], ...] = (
    (4, ("analyze", "{}", "--format", "json")),
    (3, ("analyze", "{}")),
    (3, ("report", "{}", "-o", "out.html")),
    (1, ("report", "{}", "-o", "out.csv")),
    (1, ("report", "{}", "-o", "out.xml")),
    (2, ("compare", "{}", "--by", "slot", "--anyway")),
    (1, ("export", "{}", "-o", "out.csv")),
    (1, ("export", "{}", "-o", "out.om")),
    (1, ("export", "{}", "-o", "out.parquet")),
    (1, ("export", "{}", "-o", "out", "--as", "fio-plot")),
    (2, ("serve",)),
    (1, ("run", "{}/../short.toml", "--on", "sim:small.toml", "-o", "{}", "--resume")),
)


def _served(root: Path) -> None:
    """Make the pages that ``heatsoak serve`` would."""
    library = Library(root)
    entries, unread = library.contents()
    shelf = Shelf()
    for entry in entries:
        shelf.judge(entry)
    listing(entries, unread, "a directory", shelf.answers(entries)).encode()
    entries, _ = library.find(".")
    if entries:
        shelf.show(entries).html.encode()


def _case(number: int, whole: list[Path], place: Path, small_drive: Path) -> str | None:
    """Take a case; return what is wrong with how it ended."""
    chance = random.Random(number)
    source = chance.choice(whole)
    place.mkdir()
    directory = place / chance.choice(("r", "r", "r", "r*[1]", "é ", "\udcff"))
    shutil.copytree(source, directory)
    if number % 4:  # else nothing is read of it but that it was changed
        for meta in directory.rglob("recording.json"):
            of_older_version(meta.parent, "samples_sha256" if number % 8 > 1 else None)
    done = [source.name]
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        files = sorted(path for name in _WAYS for path in directory.rglob(name) if path.is_file())
        files = [path for path in files if not path.is_symlink()]
        if not files:
            break
        (file,) = chance.choices(files, [_WEIGHTS[path.name] for path in files])
        damage = chance.choice(_WAYS[file.name])
        done.append(f"{file.relative_to(directory)}: {damage(file, chance)}")
    weights, asked = zip(*_ASKED, strict=True)
    (words,) = chance.choices(asked, weights)
    shutil.copy(small_drive, place / "small.toml")
    shutil.copy(whole[0].parent / "short.toml", place / "short.toml")
    words = tuple(word.replace("{}/..", ".").replace("{}", directory.name) for word in words)
    wrong = None
    with within(LONGEST_S):
        if words == ("serve",):
            try:
                _served(place)
            except HeatsoakError:
                pass
            except BaseException as error:
                wrong = repr(error)
                if os.environ.get(VARIABLE):
                    raise
        else:
            wrong = breach(heatsoak_here(*words, cwd=place))
    return wrong and f"case {number}: {done}: heatsoak {' '.join(words)!r}: {wrong}"


def _take(numbers: range, whole: list[Path], tmp_path: Path, small_drive: Path) -> None:
    take(numbers, lambda number, place: _case(number, whole, place, small_drive), tmp_path)


@pytest.mark.slow
def test_damage_is_one_line_or_left_out(
    whole: list[Path], tmp_path: Path, small_drive: Path
) -> None:
    _take(range(FEW), whole, tmp_path, small_drive)


@pytest.mark.parametrize("chunk", rest_soak(range(CHUNKS), 1))
def test_much_damage_is_one_line_or_left_out(
    whole: list[Path], tmp_path: Path, small_drive: Path, chunk: int, seed: int
) -> None:
    size = CASES // CHUNKS
    first = seed * CASES + chunk * size
    _take(range(first, first + size), whole, tmp_path, small_drive)
