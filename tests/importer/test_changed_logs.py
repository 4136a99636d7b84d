"""A log that shows a slowed drive and lost something never tells that it was not slowed."""

import csv
import io
import random
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from heatsoak.analysis import Findings, analyze
from heatsoak.errors import HeatsoakError
from heatsoak.importer import Options, Source, open_all
from heatsoak_dev.elsewhere import make

DATA = Path(__file__).parent / "data"
#: A fall that no change here may hide among the noise.
DEEP_PCT = 25
#: A row of a table or report has at least so many numbers.
_NUMBERS = 3
_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)?")
_WORD = re.compile(r"[A-Za-z%][\w%]*(?:[ ./-][A-Za-z%][\w%]*)*")
_UNIT = re.compile(r"[ _]?[\[(]?\b[KMG]i?B(?:/s|ps)\b[\])]?|_[kmg]i?b_s\b")
_DEVICE = re.compile(r"\b(?:nvme\d+n\d+|sd[a-z]|dev\d+-\d+|loop\d+|zram\d+|md\d+)\b")


def _rows(lines: list[str]) -> list[int]:
    return [i for i, line in enumerate(lines) if len(_NUMBER.findall(line)) >= _NUMBERS]


def without_some_rows(text: str, chance: random.Random) -> str:
    """Here and there a row is missing."""
    lines = text.split("\n")
    share = chance.choice((0.02, 0.2, 0.5))
    left_out = {row for row in _rows(lines) if chance.random() < share}
    return "\n".join(line for i, line in enumerate(lines) if i not in left_out)


def without_a_stretch(text: str, chance: random.Random) -> str:
    """A stretch of rows is missing, not at an end."""
    lines = text.split("\n")
    rows = _rows(lines)
    if len(rows) < 8:
        return text
    begin = chance.randrange(2, len(rows) - 3)
    end = chance.randrange(begin, len(rows) - 2)
    left_out = set(rows[begin:end])
    return "\n".join(line for i, line in enumerate(lines) if i not in left_out)


def with_a_name_unknown(text: str, chance: random.Random) -> str:
    """One of the names in it is another word."""
    names = sorted({name for name in _WORD.findall(text) if len(name) > 2})
    name = chance.choice(names)
    other = "".join(chance.choices("bcdfgjklvxz", k=7))
    return re.sub(rf"(?<![\w%]){re.escape(name)}(?![\w%])", other, text)


def without_a_unit(text: str, chance: random.Random) -> str:
    """A unit of rates does not stand there."""
    units = sorted(set(_UNIT.findall(text)))
    return text.replace(chance.choice(units), "") if units else text


def with_devices_shuffled(text: str, chance: random.Random) -> str:
    """Rows are of other devices than they were."""
    devices = sorted(set(_DEVICE.findall(text)))
    return _DEVICE.sub(lambda _: chance.choice(devices), text)


def with_rows_shuffled(text: str, chance: random.Random) -> str:
    """Rows stand in another order."""
    lines = text.split("\n")
    rows = _rows(lines)
    others = chance.sample(rows, len(rows))
    moved = [lines[i] for i in others]
    for i, line in zip(rows, moved, strict=True):
        lines[i] = line
    return "\n".join(lines)


def with_columns_shuffled(text: str, chance: random.Random) -> str:
    """The columns of a table stand in another order."""
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


def table(path: Path, header: str, *drives: str) -> Path:
    """Rows of a drive that heats up and falls, and of one that does nothing."""
    rows = [
        row.format(second, 2500 if second < 60 else 900, min(82, 45 + second // 2))
        for second in range(180)
        for row in drives
    ]
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def iostat_of_two(directory: Path) -> Path:
    """One that falls beside one that holds its speed."""
    header = "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util"
    lines = ["Linux 6.1.0 (host) \t2026-03-01 \t_x86_64_\t(16 CPU)"]
    for second in range(120):
        lines += ["", f"2026-03-01T10:{second // 60:02}:{second % 60:02}+0000", header]
        for name, kb_s in (("nvme0n1", 2_500_000 if second < 60 else 900_000), ("sda", 300_000)):
            lines.append(f"{name} 1.00 4.00 0.10 {kb_s / 128:.2f} {kb_s:.2f} 1.00 30.00 99.00")
    path = directory / "iostat.txt"
    path.write_text("\n".join(lines) + "\n")
    return path


def judged(paths: Sequence[Path]) -> Findings:
    return analyze(open_all(paths, Options()))


def is_slowed(found: Findings) -> bool:
    """Whether heat may have slowed a drive, by a fall or its own count."""
    steps = [step for one in found.recordings for step in one.steps]
    falls = [episode.depth_pct for step in steps for episode in step.episodes]
    is_open = found.answer.throttles == "cannot-tell" and max(falls, default=0) >= DEEP_PCT
    return found.answer.throttles == "yes" or is_open


def check(paths: Sequence[Path], changed: Path, change: Change, chance: random.Random) -> None:
    """Change one of the files of a log of a slowed drive, and judge them again."""
    which = chance.randrange(len(paths))
    raw = b"".join(Source.of_path(paths[which]).chunks())
    text = raw.decode("utf-16" if raw[:2] == b"\xff\xfe" else "utf-8", "replace")
    written = []
    for index, path in enumerate(paths):
        written.append(changed / path.name)
        data = change(text, chance).encode() if index == which else path.read_bytes()
        written[-1].write_bytes(data)
    with suppress(HeatsoakError):  # it may be refused
        found = judged(written)
        assert found.answer.throttles in ("yes", "cannot-tell"), found.answer.sentence


@pytest.fixture(scope="module")
def slowed(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The samples of a slowed drive."""
    place = tmp_path_factory.mktemp("made")
    both_ways = "time_s,write_mb_s,read_mb_s,temp_c"
    two = "time_s,name,write_mb_s,temp_c"
    found = [
        iostat_of_two(place),
        table(place / "both-ways.csv", both_ways, "{},{},20,{}"),
        table(place / "two.csv", two, "{},nvme0n1,{},{}", "{},sda,3,35"),
    ]
    for path in sorted(DATA.rglob("*")):
        # shorter ones show no fall
        if path.is_file() and path.stat().st_size > 2000:
            with suppress(HeatsoakError):
                found += [path] if is_slowed(judged([path])) else []
    return found


@pytest.mark.parametrize("change", CHANGES)
def test_a_sample_that_lost_something_has_no_firm_no(
    change: Change, slowed: list[Path], tmp_path: Path, seed: int
) -> None:
    assert len(slowed) >= 10
    for path in slowed:
        if change is not without_a_stretch or "iometer" not in path.parts:  # has no times
            for turn in range(3):
                check([path], tmp_path, change, random.Random(f"{seed} {turn} {path.name}"))


@pytest.mark.long
@pytest.mark.parametrize("change", CHANGES)
def test_a_log_of_another_world_that_lost_something_has_no_firm_no(
    change: Change, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)
    for number in range(20):
        folder = tmp_path / str(number)
        truth = make(chance.randrange(400), folder)
        paths = [folder / name for name in truth.files]
        if is_slowed(judged(paths)):
            (folder / "changed").mkdir()
            check(paths, folder / "changed", change, chance)
