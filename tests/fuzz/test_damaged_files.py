"""Damages what users write and keep, file by file, and gives it to the commands that read it.

Recordings are damaged beside this, in `test_damaged_recordings.py`. ``make verify`` takes a few
cases of each kind of file, ``make soak`` hundreds with each seed. A case is its kind and number: a
failure names them, and ``HEATSOAK_FUZZ_CASE=1234 pytest -k 'damaged and twin'`` takes it alone.
"""

import os
import random
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest
from command import done_here, heatsoak_here
from heatsoak.errors import HeatsoakError
from heatsoak.rack.state import load_listed
from law import breach, within
from made_once import made_once
from mutations import NASTY, TOML_VALUES, mutated, with_damaged_json, with_damaged_toml
from rack_results import add_test, make_rack
from tiny import BOTH, HEATED, IOLOG, JOB

#: A warning of numpy's would be more on standard error than the one line.
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

#: Cases of each kind for `make verify`, and for `make soak`.
FEW, PART, MANY = 10, 100, 610
LONGEST_S = 60
#: Longer messages are cut, and begin with the program's name.
_LONGEST_LINE = 2100
_LOGS = Path(__file__).parents[1] / "importer" / "data"

HEAT = """
schema = 1
name = "heat"
steps = [
  { name = "full", rw = "read", bs = "128k", iodepth = 32, span = "16GiB", runtime = "70s" },
]
"""
GRID = """
drives = "samsung-950-pro-512"
enclosures = ["puget-top-2gpu-loaded", "open-bench"]
workloads = "read"
for = "30s"
ambient_c = { from = 20, to = 60, steps = 2 }
heatsink = ["none", 5]
"""
LISTED = """
[[drive]]
host = "b1"
on = "S01"
erase = "S01"
labels = { slot = "top", bay = 1 }
[[drive]]
host = "b2"
on = "/dev/nvme0n1"
"""
#: Heat does not show in less than 10 s.
LONG_IOLOG = IOLOG.replace("9 /dev/x", "20000000000 /dev/x read 8192 4096\n20000000001 /dev/x")
MSR = "".join(
    f"{10**17 + 5_000_000 * n},usr,0,{('Read', 'Write')[n % 2]},{4096 * n},4096,{50 + n}\n"
    for n in range(30)
)
BLKPARSE = "".join(
    f"  8,0    1 {n + 1:8} {n / 2:14.9f}  7 {'DC'[n % 2]}   R {8 * (n // 2)} + 8 [fio]\n"
    for n in range(30)
)
LOG = "t_s,write_mb_s,temp_c\n" + "".join(
    f"{n},{500 - n % 3},{40 + n / 9:.1f}\n" for n in range(99)
)
METER = "time,power_w\n" + "".join(f"{n},{3 + n % 5 / 10}\n" for n in range(99))
_TEXTS = {
    **{"tiny.toml": BOTH, "short.toml": BOTH, "heated.toml": HEATED, "heat.toml": HEAT},
    "job.fio": JOB,
    "jobs.fio": f"[global]\nbs=4k\nsize=64m\n{JOB}stonewall\n[b]\nrw=write\nnumjobs=2\n",
    **{"grid.toml": GRID, "listed.toml": LISTED},
    **{"io.log": LONG_IOLOG, "msr.csv": MSR, "blkparse.txt": BLKPARSE},
    **{"log.csv": LOG, "meter.csv": METER},
}
_BUNDLED = {
    "drives": files("heatsoak.catalog") / "drives",
    "places": files("heatsoak.catalog") / "enclosures",
    "shapes": files("heatsoak.catalog") / "traces",
    "protocols": files("heatsoak.protocol") / "bundled",
}
#: Words of `--set`, of each kind: a cell of the matrix, a workload, one step's, a label.
SETTINGS = (
    *("slot=top", "load=idle", "bs=4k", "iodepth=4", "runtime=1s", "rate=100MB", "rwmixread=50"),
    *("read.bs=4k", "write.span=64MiB", "fill.bs=1m", "rw=randread", "heatsink=none", "gpus=2"),
)
Damage = Callable[[bytes, random.Random, list[bytes]], bytes]


def _text(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    return mutated(data, chance, others, 1 << 20)


def _toml(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    if chance.random() < 0.1:
        return _text(data, chance, others)
    return with_damaged_toml(data.decode(), chance).encode(errors="surrogatepass")


def _json(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    if chance.random() < 0.1:
        return _text(data, chance, others)
    return with_damaged_json(data.decode(), chance).encode()


def _setting(data: bytes, chance: random.Random, others: list[bytes]) -> bytes:
    key = chance.choice(data.splitlines()).partition(b"=")[0]
    value = chance.choice((*(one.encode() for one in TOML_VALUES), *NASTY))
    text = _text(data, chance, others) if chance.random() < 0.4 else key + b"=" + value
    # as a program's argument, which has no zeros and is no longer
    return text.replace(b"\0", b"")[:100_000]


@dataclass(frozen=True)
class Kind:
    """A kind of file: its undamaged ones, by patterns, and who reads it.

    In what is asked, ``{}`` stands for the file's name, ``{text}`` for what is in it.
    """

    seeds: tuple[str, ...]
    damage: Damage
    asked: tuple[str, ...]


_RUN = "run tiny.toml --on"
KINDS = {
    "drive": Kind(
        ("drives/*.toml",),
        _toml,
        (
            *(f"{_RUN} sim:{{}} --dry-run",) * 4,
            *("predict {} --for 20s", "predict {} --workload read --for 20s --format json"),
            "predict {} --cooling --for 20s",
            "run short.toml --on sim:{} --dry-run",
        ),
    ),
    "drive that runs": Kind(("small.toml",), _toml, (f"{_RUN} sim:{{}} -o out",)),
    "place": Kind(
        ("places/*.toml",),
        _toml,
        (
            *(
                f"{_RUN} sim:small.toml@{{}} --dry-run",
                "predict small.toml --for 20s --place {}",
            ),
        ),
    ),
    "twin": Kind(
        ("twin.toml",),
        _toml,
        (
            *("predict {} --for 20s", "predict {} --for 20s --format json --holds 500MB/s"),
            *(f"{_RUN} sim:{{}} --dry-run", f"{_RUN} sim:small.toml@{{}} --dry-run"),
            "predict {} --cooling --for 20s",
        ),
    ),
    "protocol": Kind(
        ("tiny.toml", "heated.toml", "protocols/*.toml"),
        _toml,
        (
            *("run {} --on sim:small.toml --dry-run",) * 3,
            *("run {} --on sim:small.toml --dry-run --scale 0.01",),
            "predict pcie4-tlc-1tb --workload {} --for 5s",
        ),
    ),
    "setting": Kind(
        ("settings/*",),
        _setting,
        (
            "run heated.toml --on sim:small.toml --dry-run --set {text}",
            "run tiny.toml --on sim:small.toml --dry-run --set {text} --scale 0.5",
        ),
    ),
    "fio job": Kind(("job.fio", "jobs.fio"), _text, ("run {} --on sim:small.toml --dry-run",)),
    "grid": Kind(("grid.toml",), _toml, ("sweep {} -o out --draws 1 -j 1",)),
    "trace's shape": Kind(
        ("shapes/*.toml",),
        _toml,
        ("lab trace {} --scale 1e-5", "lab trace {} -o out --scale 1e-5"),
    ),
    "trace": Kind(
        ("io.log", "msr.csv", "blkparse.txt"),
        _text,
        (
            *("lab trace {}", "lab trace {} --damaged skip --format json"),
            "predict small.toml --for 20s --workload {}",
        ),
    ),
    "log": Kind(
        ("logs/*",),
        _text,
        (
            *("analyze {} --format json", "analyze {}", "report {} -o out.csv"),
            *("import {} -o out", "report {} -o out.html"),
        ),
    ),
    "power log": Kind(("meter.csv",), _text, ("analyze log.csv --power {} --shift 0",)),
    "drives of a rack": Kind(("listed.toml",), _toml, ("rack {}",)),
    "rack.json": Kind(("rack/rack.json",), _json, ("rack report rack",)),
    "sweep.json": Kind(("swept/*.json",), _json, ("report swept -o out.html",)),
    "history": Kind(("history.parquet",), _text, ("history {}", "history {} --format json")),
}


@pytest.fixture(scope="module")
def ground(small_drive_text: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with undamaged files of all kinds."""

    def make(root: Path) -> None:
        for name, text in _TEXTS.items():
            (root / name).write_text(text, "utf-8")
        (root / "small.toml").write_text(small_drive_text, "utf-8")
        for folder, source in _BUNDLED.items():
            (root / folder).mkdir()
            for entry in source.iterdir():
                if entry.name.endswith(".toml"):
                    (root / folder / entry.name).write_text(entry.read_text("utf-8"), "utf-8")
        (root / "settings").mkdir()
        for setting in SETTINGS:
            (root / "settings" / setting).write_text(setting)
        (root / "logs").mkdir()
        for log in sorted(path for path in _LOGS.rglob("*") if path.is_file()):
            (root / "logs" / f"{log.parent.name}-{log.name}").write_bytes(log.read_bytes())
        make_rack(root / "rack", hosts=1, slots={"1": 1.0, "2": 0.97})
        add_test(root / "rack", host="b1", on="S01", state="finished", directory="b1/S01")
        for words in (
            "run heat.toml --on sim:pcie4-tlc-1tb@open-bench -o heated",
            "fit heated -o twin.toml",
            "sweep grid.toml -o swept --draws 1 -j 1",
            "history rack -o history.parquet",
        ):
            done_here(*words.split(), cwd=root)
        shutil.rmtree(root / "heated")

    return made_once(tmp_path_factory, "ground of files", make)


def _case(kind: str, number: int, place: Path) -> str | None:
    """Take a case; return what is wrong with how it ended."""
    chance = random.Random(f"{kind} {number}")
    seeds = _seeds(kind, place)
    seed, words = chance.choice(seeds), chance.choice(KINDS[kind].asked)
    damaged = KINDS[kind].damage(seed.read_bytes(), chance, [chance.choice(seeds).read_bytes()])
    with within(LONGEST_S):
        wrong = _asked(words, seed, damaged, place)
    return wrong and f"{kind} {number}: {seed.name}: heatsoak {words}: {wrong}"


def _seeds(kind: str, place: Path) -> list[Path]:
    return sorted(path for pattern in KINDS[kind].seeds for path in place.glob(pattern))


def _asked(
    words: str, seed: Path, data: bytes, place: Path, *, is_whole: bool = False
) -> str | None:
    """Give a file to a command; return what is wrong with how it ended."""
    file = place / f"input-{seed.name}" if "{}" in words else seed
    whole = seed.read_bytes()
    file.write_bytes(data)
    try:
        if words == "rack {}":
            return _raised_by(lambda: load_listed(file))
        text = os.fsdecode(data)
        given = [word.format(file.name, text=text) for word in words.split()]
        done = heatsoak_here(*given, cwd=place)
        return done.stderr if is_whole and done.returncode else breach(done) or _talkative(done)
    finally:
        if os.environ.get("HEATSOAK_FUZZ_CASE"):
            shutil.copy(file, place.parent)
        file.unlink()
        seed.write_bytes(whole)
        for left in place.glob("out*"):
            shutil.rmtree(left) if left.is_dir() else left.unlink()


def _raised_by(call: Callable[[], object]) -> str | None:
    try:
        call()
    except HeatsoakError as error:
        return "several lines" if "\n" in str(error) else None
    except Exception as error:
        return repr(error)
    return None


def _talkative(done: subprocess.CompletedProcess[str]) -> str | None:
    """What is wrong with the length of what a command that failed said."""
    lines = done.stderr.splitlines()
    longest = max(map(len, lines), default=0)
    if longest > _LONGEST_LINE:
        return f"a line of {longest} characters: {max(lines, key=len)[:300]}"
    told = [line for line in lines if line.startswith("heatsoak: ")]
    if done.returncode in (2, 3, 4) and lines[-1:] != told[-1:]:
        return f"more than one line: {done.stderr}"
    return None


@pytest.mark.parametrize(
    ("first", "count"),
    [
        pytest.param(0, FEW, marks=pytest.mark.long),
        *(pytest.param(at, PART, marks=pytest.mark.soak) for at in range(FEW, MANY, PART)),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_read_or_refused_in_one_line(
    kind: str, first: int, count: int, ground: Path, tmp_path: Path, seed: int
) -> None:
    place = tmp_path / "place"
    shutil.copytree(ground, place)
    one = os.environ.get("HEATSOAK_FUZZ_CASE")
    at = seed * MANY + first
    numbers = range(at, at + count) if one is None else [int(one)]
    wrong = [told for number in numbers if (told := _case(kind, number, place)) is not None]
    assert not wrong, f"{len(wrong)} of {len(numbers)} cases:\n" + "\n".join(wrong)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_whole_file_is_read(kind: str, ground: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    shutil.copytree(ground, place)
    seed = _seeds(kind, place)[0]
    for words in dict.fromkeys(KINDS[kind].asked):
        assert _asked(words, seed, seed.read_bytes(), place, is_whole=True) is None
