"""Gives the command line words at random, sensible and not, and looks at how it ends.

``make verify`` takes 400 calls, ``make soak`` 2,000 with each seed.
A call is its number: a failure names it, and
``HEATSOAK_FUZZ_CASE=1234 pytest -k test_any_words_end_in_a_line_and_a_code`` takes it alone.

Nothing real is loaded: drives are simulated ones, small, and what would take long or go on for ever
is kept from it by a last word of ours. All files are in a directory that each call has for itself.
Standard output and error are files, terminals, full, closed or gone, and some calls are made in a
locale that knows only ASCII.
"""

import os
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import typer
from command import done_here
from drawn import take
from heatsoak.cli.app import app
from rest_long import rest_soak
from streams import InAscii, Streams, breach_on
from tiny import BOTH, IOLOG, JOB

#: A warning of numpy's would be more on standard error than the one line.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

CALLS, CHUNKS, FEW = 2_000, 10, 20
LONGEST_S = 60

#: Texts and numbers that options stumble over.
WORDS = (
    *("", " ", "x", "-", "--", "-1", "0", "1", "0.5", "1e309", "1e-309", "nan", "inf", "-inf"),
    *("1e9", "1e18", "99999999999999999999", "9" * 400, "1,5", "½", "٣", "\u202e", "\x1b[31m"),
    *("a=b", "=", "a=", "=b", "a=b=c", "slot=top", "gpus=-1", "bs=0", "bs=4k", "runtime=1s"),
    *("read.bs=1", "steps.0.bs=4k", "heatsink=none", "\udcff", "a=\udcff", "\udcff=a", "a\nb=c\td"),
    *("x" * 5000, "1h", "90s", "-1s", "1e400s", "200MB", "1PiB", "%", "[[", "{}", "$(true)", "*"),
)  # fmt: skip
#: Files that are there and those that are not.
FILES = (
    *("rec", "rec/recording.json", "rec/samples.parquet", "rec/events.jsonl", "tiny.toml"),
    *("small.toml", "job.fio", "io.log", "log.csv", "empty", "binary", "folder", "pipe", "missing"),
    *("missing/x", "tiny.toml/x", "loop", "/dev/null", "/dev/full", "", ".", "a" * 300, "\udcff"),
    *("r*[1]", "é ü.csv", "~", "~nobody/x", "./-x", "quick", "rec/", "bin.gz"),
)  # fmt: skip
#: What no call may overwrite, and what none may without ``--force``.
RECORDING = ("rec/recording.json", "rec/samples.parquet", "rec/events.jsonl")
THERE = ("there.html", "there.csv")
#: No file or directory can be made in it, not even by root.
NEVER = "/proc/self/fdinfo"
OUTPUTS = (
    *(NEVER, f"{NEVER}/out", f"{NEVER}/new/out.html", f"{NEVER}/out.csv", "locked/out.csv"),
    *(*THERE, "directory.html", "directory.csv", "new/below/out", "out.html/"),
    *("out", "out.html", "out.csv", "out.xml", "out.om", "out.parquet", "out.svg", "out/", "-"),
    "out.jsonl",
    *("tiny.toml", "tiny.toml/x.csv", "tiny.toml/x.html", "rec", "folder"),
    *("/dev/null", "/dev/full", "pipe", "loop", "", ".", "a" * 300 + ".html", "\udcff.html"),
    *("\udcff.csv", "é ü.csv", "rec/samples.parquet", "missing/\udcff/x.html", "x.docx"),
)  # fmt: skip
SIMULATED = ("sim:small.toml", "sim:small.toml@open-bench", "sim:./small.toml")
TARGETS = (
    *(*SIMULATED, "sim:", "sim:nothing", "sim:tiny.toml", "sim:small.toml@", "sim:small.toml@x"),
    *("sim:samsung-950-pro-512", "sim:\udcff", "nbd+unix:///x?socket=missing", "nbd:"),
    *(".", "folder", "empty", "missing", "pipe", "socket", "/dev/null", "tiny.toml/x", ""),
)  # fmt: skip
#: What may follow an argument's or an option's name, by that: words that could work, mostly taken,
#: and others of their kind.
NUMBERS = ("0", "1", "2", "3.5", "30", "400"), ("-1", "1e9", "1e300", "nan", "inf", "0x10", "")
RECORDED = ("rec", "two", "two/", "log.csv", "rec/recording.json", "./two", "two/ä"), FILES
VALUES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    **dict.fromkeys(("paths", "into"), RECORDED),
    "files": (("log.csv", "log.csv", "é ü.csv"), FILES),
    **dict.fromkeys(("power", "sensors", "write", "directory"), (("log.csv", "folder"), FILES)),
    "output": (("out.html", "out.csv", "out.xml", "out", "new/below/out.csv", "-"), OUTPUTS),
    "protocol": (("tiny.toml", "tiny.toml", "job.fio", "quick", "puget", "copy"), FILES),
    "on": ((*SIMULATED, *SIMULATED, "."), TARGETS),
    "to": (SIMULATED, TARGETS),
    "shape": (("light", "heavy"), FILES),
    "trace": (("io.log", "light"), FILES),
    "trace_format": (("fio3", "fio2", "msr", "blkparse"), WORDS),
    "drive": (("small.toml",), FILES),
    "figure_set": (("published", "modern"), WORDS),
    "enclosure": (("open-bench",), FILES),
    "by": (("drive", "model", "protocol", "slot", "slot", "slot"), WORDS),
    "baseline": (("none", "Samsung SSD 950 PRO 8GB"), WORDS),
    "rank_by": (("mean_mb_s", "end_mb_s"), WORDS),
    "settings": (("heatsink=none", "slot=top", "write.bs=4k", "iodepth=4", "runtime=1s"), WORDS),
    "labels": (("heatsink=none", "slot=top", "gpus=2"), WORDS),
    "mapping": (("time=t_s", "write_mb_s=write_mb_s"), WORDS),
    "output_format": (("text", "json"), WORDS),
    "kind": (("csv", "openmetrics", "fio-plot", "parquet"), WORDS),
    "fail_on": (("throttle", "unknown", "any"), WORDS),
    "damaged": (("error", "skip"), WORDS),
    "title": (("A title",), WORDS),
    "device": (("nvme0n1", "0"), WORDS),
    "idle_limit": (("25ms", "1s"), WORDS),
    "span": (("1GiB", "8192"), WORDS),
}
#: What ends or shortens a command that would go on for long; the last word of an option counts.
LAST: dict[str, tuple[str, ...]] = {
    "corpus": ("--count", "0"),
    "demo": ("-o", "rec"),
    "lab reproduce": ("--only", "nothing"),
    "calibrate": ("--check", "--iterations", "0"),
    "serve": ("--port", "65536"),
    "lab nbd": ("--socket", "missing/socket"),
    "watch": ("--for", "0.1s", "--interval", "99"),
}
#: What is said of a terminal, right or wrong.
ENVIRONMENT = {
    "TERM": ("dumb", "xterm-256color", "", "unheard-of"),
    "COLUMNS": ("1", "2", "7", "20", "40", "0", "-5", "", "wide", "5000"),
    "NO_COLOR": ("1",),
    "FORCE_COLOR": ("1",),
    "TTY_COMPATIBLE": ("1",),
}
_SELDOM = (
    *("calibrate", "lab reproduce", "demo", "corpus", "serve", "lab nbd", "list"),
    *("watch", "lab trace"),
)


def _commands(group: Any, before: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, command in group.commands.items():
        is_group = hasattr(command, "commands")
        found |= _commands(command, f"{before}{name} ") if is_group else {before + name: command}
    return found


COMMANDS = _commands(typer.main.get_command(app))
del COMMANDS["rack host make"]  # which waits for what a program gives it


@pytest.fixture(scope="module")
def ground(small_drive_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a file of each kind."""
    root = tmp_path_factory.mktemp("ground")
    for name, text in (
        *(("tiny.toml", BOTH), ("small.toml", small_drive_text), ("job.fio", JOB)),
        *(("io.log", IOLOG), ("empty", ""), ("é ü.csv", "a;b\n1;2\n")),
        ("log.csv", "t_s,write_mb_s\n0,1\n1,2\n2,3\n"),
    ):  # fmt: skip
        (root / name).write_text(text, "utf-8")
    (root / "binary").write_bytes(bytes(range(256)) * 40)
    (root / "bin.gz").write_bytes(b"\x1f\x8b" + bytes(range(256)))
    for name in THERE:
        (root / name).write_text("kept")
    for name in ("folder", "directory.html", "directory.csv"):
        (root / name).mkdir()
    (root / "locked").mkdir(mode=0o500)
    (root / "loop").symlink_to("loop")
    for place, slot in (("rec", "top"), ("two/a", "top"), ("two/ä", "außen")):
        words = ("run", "tiny.toml", "--on", "sim:small.toml", "--set", f"slot={slot}", "-o", place)
        done_here(*words, cwd=root)
    return root


def _value(param: Any, chance: random.Random, oddness: float) -> str:
    """A word for an argument or an option: mostly one of its kind, mostly one that could work."""
    if chance.random() < 0.15 * oddness:
        return chance.choice(chance.choice((WORDS, FILES, TARGETS)))
    likely, others = VALUES.get(param.name, NUMBERS)
    is_odd = chance.random() < (0.5 if param.name == "output" else oddness)
    return chance.choice(others if is_odd else likely)


def _words(chance: random.Random) -> list[str]:
    name = chance.choice([one for one in COMMANDS if one not in _SELDOM or chance.random() < 0.2])
    # what is refused at once says little of what is written where
    oddness = chance.choice((0.0, 0.2))
    words: list[str] = []
    for param in COMMANDS[name].params:
        is_argument = param.param_type_name == "argument"
        needed = is_argument or param.required
        share = 0.98 if needed else 0.5 if param.name == "output_format" else 0.04 + 0.4 * oddness
        if param.name == "help" or chance.random() > share:
            continue
        repeats = param.name == "paths" or chance.random() < 0.1
        for _ in range(chance.choice((1, 1, 2)) if repeats else 1):
            if not is_argument:
                words.append(chance.choice(param.opts))
            if not getattr(param, "is_flag", False):
                words.append(_value(param, chance, oddness))
    if chance.random() < 0.1 * oddness:
        words.insert(chance.randrange(len(words) + 1), chance.choice(WORDS))
    words += LAST.get(name, ())
    if name == "lab trace" and not {"light", "quick"}.isdisjoint(words):
        words += ["--scale", "1e-4"]
    if name == "run" and not _is_short(words):
        words.append("--dry-run")
    # an argument that begins with a dash may have made words of ours a value, or no option at all
    return [*name.split(), *(word for word in words if word != "--")]


def _is_short(words: list[str]) -> bool:
    """Whether a run is of a short protocol, unchanged, on a small simulated drive."""
    harmless = {"--on", "-o", "--output", "--format", "json", "text", *OUTPUTS, "--fail-on"}
    harmless |= {"throttle", "--fail-below", "--resume", "--set", "heatsink=none", "slot=top"}
    given = set(words) - {"tiny.toml", "job.fio", *SIMULATED, *NUMBERS[0], *NUMBERS[1]}
    return given <= harmless


def _streams(chance: random.Random) -> Streams:
    """Mostly files; else a terminal, or what cannot be written to."""
    output = chance.choice(("file",) * 6 + ("terminal", "gone", "closed", "/dev/full"))
    errors = chance.choice(("file",) * 14 + ("terminal",) * 3 + ("gone", "closed", "/dev/full"))
    env = {name: chance.choice(of) for name, of in ENVIRONMENT.items() if chance.random() < 0.2}
    return Streams(output, errors, env)


def _call(number: int, ground: Path, place: Path, ascii_only: InAscii) -> str | None:
    chance = random.Random(f"words {number}")
    shutil.copytree(ground, place, symlinks=True)
    os.mkfifo(place / "pipe")
    words, streams = _words(chance), _streams(chance)
    call = ascii_only.breach_on if chance.random() < 0.2 else breach_on
    wrong = call(streams, words, place, LONGEST_S)
    lost = [
        name
        for name in (*RECORDING, *(() if "--force" in words else THERE))
        if (place / name).read_bytes() != (ground / name).read_bytes()
    ]
    wrong = wrong or (f"overwrote {lost}" if lost else None)
    return wrong and f"call {number}: heatsoak {words}, {streams}: {wrong}"


def _take(numbers: range, ground: Path, tmp_path: Path) -> None:
    ascii_only = InAscii()
    take(numbers, lambda number, place: _call(number, ground, place, ascii_only), tmp_path)
    ascii_only.close()


@pytest.mark.slow
def test_any_words_end_in_a_line_and_a_code(ground: Path, tmp_path: Path) -> None:
    _take(range(FEW), ground, tmp_path)


@pytest.mark.parametrize("chunk", rest_soak(range(CHUNKS), 1))
def test_many_words_end_in_a_line_and_a_code(
    ground: Path, tmp_path: Path, chunk: int, seed: int
) -> None:
    size = CALLS // CHUNKS
    first = seed * CALLS + chunk * size
    _take(range(first, first + size), ground, tmp_path)
