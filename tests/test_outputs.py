"""Whatever is where a command is to write stays as it is, unless it may be replaced.

What cannot be written, since there is no room or it is cut off, leaves nothing and is made next
time.
"""

import fcntl
import os
import random
import resource
import shlex
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import product
from pathlib import Path
from typing import IO
from unittest.mock import patch

import heatsoak
import pytest
import tiny
from command import complaint, done_here, heatsoak_here, ran
from compared import falling, run
from documented import table
from heatsoak import writing
from heatsoak.errors import ToolError
from heatsoak.recording import Recording, RecordingWriter
from janitor import undone_by
from loop_drive import attached
from started import fill, small_disk
from waiting import until

#: Commands that write a file of their user's, by what they are told before its name.
COMMANDS = {
    "page": ("report", "r", "-o"),
    "table": ("report", "log.csv", "-o"),
    "export": ("export", "r", "-o"),
    "twin": ("fit", "r", "-o"),
    "next": ("fit", "r", "--next"),
    "trace": ("lab", "trace", "light", "--scale", "0.0005", "-o"),
    "rack": ("rack", "drives", "b1", "--by", "false", "-o"),
    "results": ("rack", "report", "r", "-o"),
}
#: Those whose file may have any name.
OF_ANY_NAME = ("twin", "next", "trace", "rack")
#: What each of the others calls its file.
NAMES = {"page": "x.html", "results": "x.html", "twin": "x.toml", "next": "x.toml"}
LOG = "time_s,read_mb_s,temperature_c\n" + "".join(f"{i},1500,{40 + i % 3}\n" for i in range(60))


def link_to_nothing(path: Path) -> None:
    path.symlink_to("nothing")


def link_to_text(path: Path) -> None:
    path.with_name("thesis").write_text("years of work")
    path.symlink_to("thesis")


def text(path: Path) -> None:
    path.write_text("years of work")


#: What the documentation says becomes of an output.
OUTCOMES = dict(table("write-guard", "what is there, or happens")[1:])
SEEN: dict[str, str] = {}
Test = Callable[..., None]


def sees(outcome: str, *rows: str) -> Callable[[Test], Test]:
    """Mark a test as one that sees what these rows of the documentation say."""
    SEEN.update(dict.fromkeys(rows, outcome))
    return lambda test: test


#: What is there, the row that it is of, and what is said of it.
THERE: dict[Callable[[Path], object], tuple[str, str]] = {
    text: ("any other file", "already exists"),
    Path.mkdir: ("a directory", "directory"),
    os.mkfifo: ("a pipe", "nobody reads this pipe"),
    link_to_nothing: ("a link, wherever it leads", "is a link"),
    link_to_text: ("a link, wherever it leads", "is a link"),
}


def state(directory: Path) -> dict[str, object]:
    """What is in a directory: kinds, links and contents."""
    found: dict[str, object] = {}
    for path in sorted(directory.rglob("*")):
        mode = path.lstat().st_mode
        content = path.read_bytes() if stat.S_ISREG(mode) else None
        found[str(path)] = (mode, path.readlink() if path.is_symlink() else content)
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, small_drive: Path) -> Path:
    """What the commands read: recordings, logs, and what a run and a sweep are told by."""
    root = tmp_path_factory.mktemp("made")
    run({}, falling(40, 0.5)[:700], seed=1).save(root / "r")
    (root / "logs").mkdir()
    for name in ("log.csv", "second.csv", "logs/log.csv"):
        (root / name).write_text(LOG)
    shapes = Path(heatsoak.__file__).parent / "catalog" / "traces"
    (root / "shape.toml").write_bytes((shapes / "light.toml").read_bytes())
    (root / "tiny.toml").write_text(tiny.READ)
    (root / "grid.toml").write_text(GRID)
    (root / "small.toml").write_bytes(small_drive.read_bytes())
    return root


@pytest.fixture
def ground(made: Path, tmp_path: Path) -> Path:
    """A directory of the test's own with all of it."""
    return Path(shutil.copytree(made, tmp_path / "ground"))


def complaint_of(here: Path, *words: str, code: int = 2) -> str:
    """Return what a command says that fails, and changes nothing."""
    before = state(here)
    said = complaint(heatsoak_here(*words, cwd=here), code)
    assert state(here) == before, words
    return said


@pytest.mark.parametrize("there", THERE, ids=lambda there: there.__name__)
@sees("never written", "a directory", "a link, wherever it leads")
def test_what_is_there_stays(ground: Path, there: Callable[[Path], object]) -> None:
    row, said = THERE[there]
    force = ["--force"] if OUTCOMES[row] != "replaced with `--force`" else []
    for command, words in COMMANDS.items():
        # a directory is where an export writes a file for each recording
        # what is written down a pipe is only known in the end, which a rack needs hosts for
        if (command, there) not in (("export", Path.mkdir), ("rack", os.mkfifo)):
            (ground / command).mkdir()
            name = f"{command}/{NAMES.get(command, 'x.csv')}"
            there(ground / name)
            assert said in complaint_of(ground, *words, name, *force), command


@sees("refused before anything else is done", "nothing, in a directory that is missing")
def test_no_directory_is_made_for_a_file_whose_place_was_misspelt(ground: Path) -> None:
    for command in COMMANDS.keys() - {"export"}:
        path = f"no/such/{NAMES.get(command, 'x.csv')}"
        assert "there is no directory no/such" in complaint_of(ground, *COMMANDS[command], path)


@sees("never written", "a recording's own file, below `raw/` too")
def test_a_recordings_own_file_stays(ground: Path) -> None:
    files = ("recording.json", "samples.parquet", "events.jsonl")
    for command, file in product(OF_ANY_NAME, files):
        said = complaint_of(ground, *COMMANDS[command], f"r/{file}", "--force")
        assert "is part of a recording" in said


@sees("written, if a process of yours reads it", "a pipe")
def test_a_pipe_is_written(ground: Path) -> None:
    os.mkfifo(ground / "pipe")
    words = ("export", "r", "--as", "csv", "-o")
    heatsoak_here(*words, "x.csv", cwd=ground)
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((ground / "pipe").read_bytes)
        assert until(lambda: heatsoak_here(*words, "pipe", cwd=ground).returncode == 0)
        assert read.result() == (ground / "x.csv").read_bytes()
    command = shlex.join([sys.executable, "-m", "heatsoak", *words])
    shell = f"{command} >(sort -r > y.csv; touch done)"
    subprocess.run(["bash", "-c", shell], cwd=ground, check=True, stdout=subprocess.DEVNULL)
    assert until((ground / "done").exists)
    lines = (ground / "x.csv").read_text().splitlines()
    assert sorted((ground / "y.csv").read_text().splitlines()) == sorted(lines)


@sees("refused", "a file that appeared while the command worked")
def test_what_appears_after_the_check_stays(ground: Path) -> None:
    usual = writing.Directory.writing

    @contextmanager
    def late(place: writing.Directory, name: str, *, replace: bool = True) -> Iterator[IO[bytes]]:
        with usual(place, name, replace=replace) as file:
            if name.startswith("late"):
                (place.path / name).write_text("years of work")
            yield file

    with patch.object(writing.Directory, "writing", late):
        for command in COMMANDS.keys() - {"rack"}:  # which needs hosts
            words, name = COMMANDS[command], f"late{NAMES.get(command, 'x.csv')}"
            done = heatsoak_here(*words, name, cwd=ground)
            assert "already exists" in complaint(done, 2), command
            assert (ground / name).read_text() == "years of work"
            (ground / name).unlink()


@sees(
    "never written",
    "a file that the same command reads, or one in a directory of logs that it reads",
)
def test_what_is_read_stays(ground: Path) -> None:
    for line in (
        "report log.csv -o log.csv",
        "report logs -o logs/log.csv",
        "fit log.csv -o log.csv",
        "fit log.csv --next log.csv",
        "fit r --power log.csv -o log.csv",
        "report r --power log.csv -o log.csv",
        "lab trace shape.toml -o shape.toml",
    ):
        assert "is what is read" in complaint_of(ground, *line.split(), "--force"), line


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a loop device")
@sees("never written", "a device")
def test_a_device_is_not_written(ground: Path) -> None:
    with attached(ground / "image", 1 << 20) as drive:
        for command in OF_ANY_NAME:
            said = complaint_of(ground, *COMMANDS[command], str(drive), "--force")
            assert "is a device" in said


@sees("replaced with `--force`", "any other file")
def test_what_may_be_replaced_is(ground: Path) -> None:
    for words in (
        ("report", "r", "-o", "x.csv"),
        ("export", "r", "-o", "y.csv"),
        (*COMMANDS["trace"], "x.log"),
    ):
        path = ground / words[-1]
        path.write_text("old")
        assert heatsoak_here(*words, "--force", cwd=ground).returncode == 0
        assert path.read_text() != "old"
    assert not [path for path in ground.iterdir() if ".heatsoak-" in path.name]


GRID = """
drives = "samsung-950-pro-512"
enclosures = ["open-bench"]
workloads = "read"
for = "20s"
ambient_c = [20, 40]
"""
#: What each command that writes is told, into the directory `m`; each has a name of its own there.
WRITERS = {
    "run": "run tiny.toml --on sim:small.toml -o m/x",
    "import": "import log.csv -o m/x",
    "several logs": "import log.csv second.csv --separate -o m/x",
    **{f"report {kind}": f"report r -o m/x.{kind}" for kind in ("html", "csv", "png", "xml")},
    **{f"export {kind}": f"export r -o m/x.{kind}" for kind in ("csv", "parquet")},
    "export openmetrics": "export r -o m/x.om --as openmetrics",
    "export logs": "export r -o m/x --as fio-plot",
    "sweep": "sweep grid.toml --jobs 1 --draws 2 -o m/x",
    "history": "history . -o m/x.parquet",
    "fit": "fit r -o m/x.toml",
    "trace": "lab trace light --scale 0.0005 -o m/x",
    "rack report": "rack report r -o m/x.html",
    "sensors": "lab nbd small.toml --socket s --sensors m/x",
}
#: These say that a place is read-only before they begin anything.
BEFORE = {
    "demo": "demo -o m/x",
    "reproduce": "lab reproduce -o m/x",
    "rack drives": "rack drives b1 --by false -o m/x",
    "test file": "run tiny.toml --on m -o x",
}
NOTHING_LEFT = (
    "said in one line; nothing is left but what a run recorded, and the empty lock of an index"
)


def words_of(name: str) -> list[str]:
    """What a command is told, with the name of its output made that command's own."""
    number = [*WRITERS, *BEFORE].index(name)
    return (WRITERS | BEFORE)[name].replace("m/x", f"m/x{number}").split()


def left_in(disk: Path) -> set[str]:
    """What is left of outputs that failed, but the empty lock of an index."""
    lock = f".x{[*WRITERS].index('history')}.parquet.lock"
    return {path.name for path in disk.rglob("*")} - {"taken", "lost+found", lock}


def fails(name: str, ground: Path) -> str:
    """Return what a command says last that cannot write, after how far it came."""
    done = heatsoak_here(*words_of(name), cwd=ground)
    assert (done.returncode, done.stdout) == (3, ""), name
    *_, said = done.stderr.splitlines()
    assert "m/x" in said
    return said


@sees(NOTHING_LEFT, "the file system is full")
def test_a_full_disk_is_said_in_a_line_and_is_no_obstacle_later(ground: Path) -> None:
    with small_disk(ground / "m", "24m") as disk:
        taken = fill(disk)
        for name in [*WRITERS, "demo", "reproduce"]:
            said = fails(name, ground)
            assert "No space left on device: free some space there" in said, name
            assert not left_in(disk), name
        taken.unlink()
        for name in WRITERS.keys() - {"sensors"}:  # which are served for ever
            done_here(*words_of(name), cwd=ground)


def test_runs_at_once_that_all_find_a_full_disk_leave_no_directory(tmp_path: Path) -> None:
    meta = run({}, falling(60, 0.5), seed=1).meta
    with small_disk(tmp_path / "m", "4m") as disk, ThreadPoolExecutor(4) as pool:
        fill(disk)

        def begin(name: str) -> None:
            with pytest.raises(ToolError, match="No space left on device"):
                RecordingWriter(disk / "x" / name[0] / name, meta)

        for _ in range(30):
            list(pool.map(begin, ["a1", "a2", "b1", "b2"]))
            assert not (disk / "x").exists()


#: Stops a command just before one of its functions is called for the n-th time.
STOPPED_AT = """
import os, signal, sys
import {module} as module
from heatsoak.cli import main

usual, calls = module.{function}, []

def stopping(*args, **kwargs):
    calls.append(1)
    if len(calls) == {call}:
        os.kill(os.getpid(), signal.{name})
    return usual(*args, **kwargs)

module.{function} = stopping
sys.argv = ["heatsoak", *{words}]
main()
"""


def stopped_at(cwd: Path, name: str, words: str, module: str, function: str, call: int = 1) -> str:
    code = STOPPED_AT.format(
        module=module, function=function, call=call, name=name, words=words.split()
    )
    done = ran(sys.executable, "-c", code, cwd=cwd)
    assert (done.returncode, done.stdout) == (130, "")
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_run_that_is_stopped_while_it_ends_is_whole(ground: Path, name: str) -> None:
    words = "run tiny.toml --on sim:small.toml -o x"
    said = stopped_at(ground, name, words, "heatsoak.recording.writer", "journal_to_parquet")
    assert said == "heatsoak: stopped; the recording so far is in x"
    recording = Recording.open(ground / "x")
    assert (recording.meta.status, recording.changes) == ("finished", None)
    assert {path.name for path in (ground / "x").iterdir()} == {
        *("recording.json", "events.jsonl", "samples.parquet")
    }


def test_logs_of_an_export_that_is_stopped_are_not_there_in_part(ground: Path) -> None:
    words = "export r -o m/x --as fio-plot"
    said = stopped_at(ground, "SIGTERM", words, "heatsoak.writing", "output", call=2)
    assert said == "heatsoak: interrupted"
    assert not (ground / "m").exists()
    assert heatsoak_here(*words.split(), cwd=ground).returncode == 0


@sees("refused before anything else is done", "the file system is read-only")
def test_a_read_only_file_system_is_said_and_nothing_else_is_done(ground: Path) -> None:
    with small_disk(ground / "m", "80m") as disk:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        for name in [*WRITERS, *BEFORE]:
            said = complaint_of(ground, *words_of(name), code=3 if name == "sensors" else 2)
            assert "Read-only file system" in said, name


@contextmanager
def failing_drive(mount: Path) -> Iterator[None]:
    """Mount a file system whose drive answers every write with an I/O error from now on."""
    fd = os.memfd_create("drive", os.MFD_ALLOW_SEALING)
    try:
        with attached(Path(f"/proc/{os.getpid()}/fd/{fd}"), 16 << 20) as drive:
            mkfs = ("mkfs.ext4", "-q", "-O", "^has_journal", "-E", "lazy_itable_init=0")
            subprocess.run([*mkfs, drive], check=True)
            mount.mkdir()
            with undone_by("umount", mount):
                subprocess.run(["mount", "-o", "noatime", drive, mount], check=True)
                subprocess.run(["sync", "-f", mount], check=True)
                fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_WRITE)
                yield
    finally:
        os.close(fd)


@contextmanager
def ending_in_a_file(place: Path) -> Iterator[None]:
    """Make a directory where the kernel takes the first 400 bytes of a file and no more."""
    place.mkdir()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with patch.object(sys, "dont_write_bytecode", True):  # Python would keep half of it
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("fault", [failing_drive, ending_in_a_file])
@sees(NOTHING_LEFT, "the drive fails, or takes only a part of a file")
def test_a_write_that_fails_is_said_in_a_line_and_leaves_nothing(
    ground: Path, fault: Callable[[Path], AbstractContextManager[None]]
) -> None:
    with fault(ground / "m"):
        # the sensors are served for ever where nothing asks the drive for certainty
        for name in WRITERS.keys() - {"sensors"}:
            said = fails(name, ground)
            assert "cannot be written: " in said, name
            assert ("Input/output error" in said) == (fault is failing_drive), name
            assert not left_in(ground / "m"), name


#: What is there of an output once it is whole.
WHOLE = {name: WRITERS[name] for name in WRITERS if name not in ("sensors", "rack report")}
#: What another run goes on with.
CONTINUED = ("run", "sweep", "history")


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WHOLE)
@sees(
    "nothing half-written has the file's name",
    "the command is stopped, killed or held up, at any moment",
)
def test_what_is_stopped_killed_or_held_up_leaves_nothing_half_written(
    ground: Path, seed: int, name: str
) -> None:
    chance = random.Random(f"{seed} {name}")
    (ground / "m").mkdir()
    words = [sys.executable, "-m", "heatsoak", *WHOLE[name].split()]
    output = ground / words[words.index("-o") + 1]
    stop = chance.choice((signal.SIGINT, signal.SIGTERM))
    for number in (stop, signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP):
        with subprocess.Popen(
            words, cwd=ground, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            try:
                process.wait(chance.uniform(0.3, 3.0))
            except subprocess.TimeoutExpired:
                process.send_signal(number)
            if number == signal.SIGSTOP:
                process.send_signal(signal.SIGCONT)
            _, said = process.communicate()
        # one that had not begun to listen is ended by the system, or by Python as it starts
        assert process.returncode in {0, -number, 130}, said
        assert b"Traceback" not in said or process.returncode == -number
        if number == stop:
            assert not [path for path in (ground / "m").glob(".*") if "lock" not in path.name]
        if name == "run" and output.exists() and "--resume" not in words:
            words.append("--resume")
        if process.returncode == 0 or (output.exists() and name not in CONTINUED):
            break  # it would not be replaced
    assert output.exists()
    # whole: what it is compared with is made in peace
    (ground / "n").mkdir()
    again = WHOLE[name].replace("m/x", "n/x").split()
    assert heatsoak_here(*again, cwd=ground).returncode == 0
    made, peaceful = (
        {
            str(path.relative_to(ground / place)): path.is_file() and path.read_bytes()
            for path in (ground / place).rglob("*")
            if ".heatsoak-" not in str(path.relative_to(ground))  # which a kill leaves
        }
        for place in ("m", "n")
    )
    assert set(made) == set(peaceful)
    if name == "run":
        assert Recording.open(output).meta.status == "finished"
    elif name != "report html":  # which says when it was made
        assert made == peaceful


def test_the_docs_say_what_is_seen_here() -> None:
    assert OUTCOMES == SEEN
