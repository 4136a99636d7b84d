"""Windows and macOS: what works without Linux, and what says that it needs it.

Here the commands run in processes that see another system (`other_system`); on Windows and macOS
they run as they are. docs/installing.md lists what that cannot show.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import other_system
import pytest
import tiny
from command import ran
from heatsoak.cli.commands import COMMANDS
from heatsoak.recording import Recording
from made_once import made_once
from made_recording import remake
from rest_long import rest_soak
from waiting import until

pytestmark = pytest.mark.anywhere

IS_LINUX = sys.platform == "linux"
#: On Linux, both others are seen; macOS, which lacks less, where there is time.
SYSTEMS = ["win32", pytest.param("darwin", marks=pytest.mark.soak)] if IS_LINUX else ["this"]
needs_linux = pytest.mark.skipif(not IS_LINUX, reason="shows another system on Linux")

LOGS = Path(__file__).parent / "importer" / "data"
MATRIX = """
schema = 1
name = "tiny"
steps = [{ name = "read: all?", rw = "read", bs = "128k", span = "64MiB", runtime = "2s" }]
[matrix.axes]
tmt1_c = [60, 70]
"""
HEAT_UP = """
name = "heat-up"
steps = [
  { name = "full", rw = "read", bs = "128k", iodepth = 32, span = "16GiB", runtime = "2m" },
  { kind = "pause", name = "cool", duration = "1m" },
]
"""
JOB = "[global]\nrw=read\nbs=128k\nsize=64m\n[one]\nruntime=5s\n"
GRID = """
drives = ["samsung-950-pro-512"]
enclosures = ["open-bench"]
workloads = ["read"]
for = "90s"
ambient_c = { from = 20, to = 60, steps = 2 }
"""


@dataclass(frozen=True)
class System:
    """A system that heatsoak is shown; `lacks` and `shell` are None for the one that this is."""

    name: str
    lacks: Path | None
    shell: other_system.Shell | None = None

    def heatsoak(self, *words: str, cwd: Path, code: int = 0, alone: bool = False) -> str:
        """Run a command that ends with `code`, `alone` in a process; return what it printed."""
        if alone or self.shell is None:
            done = other_system.run(self.lacks, *words, cwd=cwd)
        else:
            done = self.shell.run(*words, cwd=cwd)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr
        return done.stdout if code in (0, 1) else done.stderr

    def json(self, *words: str, cwd: Path) -> Any:
        """Run a command, and return the document that it prints."""
        return json.loads(self.heatsoak(*words, "--format", "json", cwd=cwd))

    def environment(self) -> dict[str, str]:
        """Return the environment of its processes."""
        return dict(os.environ) if self.lacks is None else other_system.environment(self.lacks)

    def python(self, code: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run Python code as if it were heatsoak's own."""
        as_ours = (
            "import sitecustomize as s, builtins\n"
            "own = {**builtins.__dict__, '__import__': s.import_for_heatsoak}\n"
            f"exec({textwrap.dedent(code)!r}, {{'__name__': 'heatsoak.x', '__builtins__': own}})"
        )
        words = [sys.executable, "-c", as_ours]
        return ran(*words, cwd=cwd, env=self.environment())


@pytest.fixture(scope="module", params=SYSTEMS)
def system(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    """The system that a test is about."""
    name: str = request.param
    if not IS_LINUX:
        yield System(name, None)
        return
    lacks = other_system.write_lacks(name, tmp_path_factory.mktemp("lacks"))
    shell = other_system.Shell(lacks)
    yield System(name, lacks, shell)
    shell.end()


@pytest.fixture(scope="module")
def made(system: System, small_drive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with recordings `a` and `b` that differ in their cooler, made on that system."""

    def make(directory: Path) -> None:
        (directory / "tiny.toml").write_text(tiny.WRITE, "utf-8")
        for name, cooler in (("a", "none"), ("b", "finned")):
            on = ("--on", f"sim:{small_drive}", "--set", f"cooler={cooler}")
            said = system.heatsoak("run", "tiny.toml", *on, "-o", name, cwd=directory)
            assert "steady" in said
            recording = Recording.open(directory / name)
            assert recording.meta.status == "finished"
            assert recording.changes is None
            assert not [path for path in recording.path.iterdir() if ".heatsoak-" in path.name]

    return made_once(tmp_path_factory, f"made-on-{system.name}", make)


@pytest.fixture
def here(made: Path, tmp_path: Path) -> Path:
    """A directory of the test's own with these recordings."""
    shutil.copytree(made, tmp_path / "own")
    return tmp_path / "own"


#: What lists or tells, and what the lines of it must hold.
TELLS = {
    ("--version",): "heatsoak ",
    ("--help",): "analyze",
    ("list", "drives"): "sim:samsung-950-pro-512",
    ("list", "drives", "--format", "json"): '"simulated": true',
    ("list", "drives", "--like", "samsung 990 pro 2tb"): "samsung-990-pro-2tb",
    ("list", "places"): "open-bench",
    ("list", "protocols"): "quick",
    ("lab", "schema"): "analyze",
    ("lab", "schema", "drives"): "properties",
    ("lab", "schema", "watch"): "properties",
    ("run", "quick", "--on", "sim:samsung-950-pro-512", "--dry-run"): "written",
    ("lab", "trace", "light", "-o", "light.log", "--scale", "0.0005"): "wrote",
    ("lab", "trace", "light", "--scale", "0.0005", "--format", "json"): '"ios": ',
    ("rack", "--help"): "report",
    ("predict", "samsung-950-pro-512", "--ambient", "35"): "reports at most",
}


def test_what_lists_or_tells_works(system: System, tmp_path: Path) -> None:
    for words, said in TELLS.items():
        assert said in system.heatsoak(*words, cwd=tmp_path), words


#: What takes recordings and logs, and what it leaves.
TAKES = {
    ("analyze", "a", "b"): None,
    ("analyze", "a", "--format", "json"): None,
    ("analyze", str(LOGS / "fio" / "mix_bw.2.log"), "--evidence"): None,
    ("analyze", str(LOGS / "sar" / "zh.txt")): None,
    ("analyze", str(LOGS / "crystaldiskmark" / "8.0.4-utf16.txt")): None,
    ("compare", "a", "b", "--by", "cooler", "--baseline", "none"): None,
    ("report", "a", "b", "-o", "r.html"): "r.html",
    ("report", "a", "-o", "r.svg"): "r.svg",
    ("report", "a", "-o", "r.csv"): "r.csv",
    ("report", "a", "-o", "junit.xml"): "junit.xml",
    ("report", "a", "-o", "ocp.jsonl"): "ocp.jsonl",
    ("export", "a", "-o", "a.csv"): "a.csv",
    ("export", "a", "b", "-o", "all.parquet"): "all.parquet",
    ("export", "a", "-o", "a.om", "--as", "openmetrics"): "a.om",
    ("export", "a", "b", "-o", "logs", "--as", "fio-plot"): "logs/b",
    ("import", str(LOGS / "hwinfo"), "-o", "imported", "--separate"): "imported",
    ("history", "a"): "a/history.parquet",
    ("rack", "report", "a", "b", "-o", "rack.html"): "rack.html",
}


def test_what_takes_recordings_or_logs_works(system: System, here: Path) -> None:
    for words, left in TAKES.items():
        system.heatsoak(*words, cwd=here)
        if {"report", "export"} & {*words}:  # over what is there
            system.heatsoak(*words, "--force", cwd=here)
        assert left is None or (here / left).exists(), words


@pytest.mark.slow
@pytest.mark.long
def test_a_twin_is_fitted_and_tells_what_would_be(system: System, tmp_path: Path) -> None:
    (tmp_path / "heat.toml").write_text(HEAT_UP, "utf-8")
    on = ("--on", "sim:pcie4-tlc-1tb@open-bench")
    system.heatsoak("run", "heat.toml", *on, "-o", "heat", cwd=tmp_path)
    assert "written to" in system.heatsoak("fit", "heat", "-o", "twin.toml", cwd=tmp_path)
    twin = ("twin.toml", "--workload", "heat.toml:full")
    assert "max" in system.heatsoak("predict", *twin, "--format", "json", cwd=tmp_path)
    assert "m/s" in system.heatsoak("predict", "--cooling", *twin, cwd=tmp_path)


@pytest.mark.slow
def test_a_sweep_runs_in_processes_and_is_continued(system: System, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID, "utf-8")
    words = ("sweep", "grid.toml", "-o", "s", "--jobs", "2", "--draws", "20")
    said = system.heatsoak(*words, cwd=tmp_path, alone=True)
    assert said == system.heatsoak(*words, cwd=tmp_path)
    system.heatsoak("report", "s", "-o", "s.html", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.long
def test_a_published_figure_is_reproduced(system: System, tmp_path: Path) -> None:
    words = ("lab", "reproduce", "--only", "puget.bottom.2gpu.loaded")
    (onset, depth) = system.json(*words, cwd=tmp_path)
    assert onset["simulated"] > 0
    assert depth["simulated"] > 0


@pytest.mark.slow
@pytest.mark.soak
def test_the_demo_is_shown_in_characters_that_the_console_has(
    system: System, tmp_path: Path
) -> None:
    said = system.heatsoak("demo", "-o", "demo", cwd=tmp_path, alone=True)
    assert "upright" in said
    assert "14 onsets" in said
    if system.lacks is not None:  # its console is not one of Unicode
        assert said.isascii()
        assert "+--" in said
    assert "\\u" not in said


def test_what_a_console_cannot_show_is_escaped(system: System, here: Path) -> None:
    path = here / "a" / "recording.json"
    path.write_text(path.read_text("utf-8").replace('"none"', '"→ 冷"'), "utf-8")
    remake(path.parent)
    said = system.heatsoak("analyze", "a", cwd=here, alone=True)
    assert ("\\u2192 \\u51b7" if system.lacks is not None else "→ 冷") in said
    found = system.json("analyze", "a", cwd=here)
    assert found["recordings"][0]["conditions"]["cooler"] == "→ 冷"


#: What cannot be without Linux.
REFUSED = (
    ("run", "quick", "--on", "."),
    ("run", "quick", "--on", "tiny.toml", "--dry-run"),
    ("run", "quick", "--on", "/dev/nvme0n1", "--erase", "x"),
    ("run", "quick", "--on", "C:\\Users\\me"),
    ("run", "quick", "--on", "nbd+unix:///?socket=/tmp/s"),
    ("run", "copy", "--on", "sim:samsung-950-pro-512", "--to", "."),
    ("watch", "/dev/nvme0n1"),
    ("watch", "."),
    ("lab", "nbd", "samsung-950-pro-512", "--socket", "s"),
    ("list", "drives", "--restore"),
    ("rack", "perform", ".", "1"),
)


def test_what_needs_linux_says_so_in_a_line(system: System, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(tiny.WRITE, "utf-8")
    for words in REFUSED:
        (line,) = system.heatsoak(*words, cwd=tmp_path, code=2).splitlines()
        assert line.startswith("heatsoak: "), words
        assert "needs Linux" in line, words
        assert [path.name for path in tmp_path.iterdir()] == ["tiny.toml"], words


def test_a_report_says_what_is_wrong_with_this_machine(system: System, tmp_path: Path) -> None:
    done = other_system.run(system.lacks, "doctor", cwd=tmp_path)
    assert done.stdout
    assert "Traceback" not in done.stderr
    assert "internal error" not in done.stderr


def test_every_command_is_tried_here() -> None:
    tried = {words[0] for words in (*TELLS, *TAKES, *REFUSED)}
    alone = {"demo", "fit", "sweep", "serve", "doctor"}
    assert {name for rows in COMMANDS.values() for name in rows} <= tried | alone


def test_completion_is_installed_and_offers_drives_but_no_devices(
    system: System, tmp_path: Path
) -> None:
    def heatsoak(*words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return ran(
            sys.executable,
            "-m",
            "heatsoak",
            *words,
            env={**system.environment(), **env},
            cwd=tmp_path,
        )

    home = dict.fromkeys(("HOME", "USERPROFILE"), str(tmp_path))
    home["_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"] = "1"
    done = heatsoak("--install-completion", "bash", **home)
    assert done.returncode == 0, done.stderr
    assert "heatsoak" in (tmp_path / ".bashrc").read_text("utf-8")
    for typed, offered in (
        ("heatsoak lab nbd samsung-950-pro-5", True),
        ("heatsoak watch ", False),
    ):
        asked = {"_HEATSOAK_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": typed}
        done = heatsoak(**asked)
        assert done.stderr == ""
        assert ("samsung-950-pro-512" in done.stdout) == offered


def test_serve_shows_recordings(system: System, here: Path) -> None:
    from urllib.request import urlopen

    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", "serve", ".", "--port", "0"],
        cwd=here,
        env=system.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = re.search(r"http://\S+", process.stdout.readline())
            assert found
            with urlopen(found.group(), timeout=200) as answer:
                contents = answer.read().decode()
            assert "950 PRO" in contents
            page = found.group().replace("/?", "/r/a/page.json?")
            with urlopen(page, timeout=200) as answer:
                assert json.load(answer)["recordings"]
        finally:
            if sys.platform == "win32":
                process.terminate()
            else:
                process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=200)
    assert errors == ""


def test_names_that_windows_refuses_are_made_into_others(
    system: System, cached_drive: Path, tmp_path: Path
) -> None:
    (tmp_path / "matrix.toml").write_text(MATRIX, "utf-8")
    on = ("--on", f"sim:{cached_drive}")
    system.heatsoak("run", "matrix.toml", *on, "--set", "x=a:b|c", cwd=tmp_path)
    (directory,) = (tmp_path / "recordings").iterdir()
    found = system.json("analyze", str(directory), cwd=tmp_path)
    assert {one["conditions"]["x"] for one in found["recordings"]} == {"a:b|c"}
    words = ("export", str(directory), "--as", "fio-plot", "-o", "logs")
    system.heatsoak(*words, cwd=tmp_path)
    system.heatsoak("report", str(directory), "-o", "r.html", cwd=tmp_path)


@pytest.mark.slow
def test_a_run_that_goes_on_is_left_alone_and_one_that_was_killed_is_resumed(
    system: System, small_drive: Path, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(tiny.WRITE.replace('"5s"', '"10m"'), "utf-8")
    words = ("run", "long.toml", "--on", f"sim:{small_drive}", "-o", "r")
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=tmp_path,
        env=system.environment(),
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    ) as process:
        journal = tmp_path / "r" / "samples.jsonl"
        assert until(lambda: journal.exists() and journal.stat().st_size > 0)
        refused = system.heatsoak(*words, "--resume", cwd=tmp_path, code=4)
        assert "another run is recording there" in refused
        assert process.poll() is None, "it ended too soon to tell"
        process.kill()
    assert Recording.open(tmp_path / "r").was_cut
    system.heatsoak(*words, "--resume", cwd=tmp_path)
    assert Recording.open(tmp_path / "r").meta.status == "finished"


@pytest.mark.parametrize("mark", ["", "\ufeff"], ids=["without a mark", "with a byte order mark"])
def test_text_files_of_windows_are_read_as_others(
    system: System, mark: str, small_drive_text: str, tmp_path: Path
) -> None:
    for name, text in {
        "tiny.toml": tiny.WRITE,
        "small.toml": small_drive_text,
        "job.fio": JOB,
    }.items():
        (tmp_path / name).write_bytes(text.encode())
        crlf = (mark + text).replace("\n", "\r\n").encode()
        (tmp_path / f"win-{name}").write_bytes(crlf)

    def planned(protocol: str, drive: str) -> object:
        words = ("run", protocol, "--on", f"sim:{drive}@open-bench", "--dry-run")
        document = system.json(*words, cwd=tmp_path)
        return [
            {**row, "target": "", "protocol": "", "speeds_source": "", "simulation_s": 0}
            for row in document
        ]

    assert planned("win-tiny.toml", "win-small.toml") == planned("tiny.toml", "small.toml")
    if not mark:  # fio itself takes no mark
        assert planned("win-job.fio", "small.toml") == planned("job.fio", "small.toml")


def test_logs_with_windows_line_ends_are_judged_as_others(system: System, tmp_path: Path) -> None:
    log = (LOGS / "fio" / "mix_bw.2.log").read_bytes()
    for name, data in (("unix", log), ("windows", log.replace(b"\n", b"\r\n"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x_bw.1.log").write_bytes(data)
    first, second = (
        system.json("analyze", "x_bw.1.log", cwd=tmp_path / name) for name in ("unix", "windows")
    )
    assert first == second


def test_paths_may_start_with_a_drives_letter(
    system: System, small_drive_text: str, tmp_path: Path
) -> None:
    # on Linux these are names of files here
    drive, protocol = (
        ("C:\\x\\drive.toml", "C:\\x\\tiny.toml")
        if IS_LINUX
        else (str(tmp_path / "drive.toml"), str(tmp_path / "tiny.toml"))
    )
    (tmp_path / drive).write_text(small_drive_text, "utf-8")
    (tmp_path / protocol).write_text(tiny.WRITE, "utf-8")
    on = ("--on", f"sim:{drive}@open-bench")
    assert "written" in system.heatsoak("run", protocol, *on, "--dry-run", cwd=tmp_path)
    words = ("predict", drive, "--place", "open-bench")
    for load in (protocol, f"{protocol}:write"):
        said = system.heatsoak(*words, "--workload", load, cwd=tmp_path)
        assert "Does not throttle in 5 s" in said
    lacking = system.heatsoak(*words, "--workload", f"{protocol}:x", cwd=tmp_path, code=2)
    assert "has no step 'x'" in lacking


REPLACES = """
    import threading, time
    from pathlib import Path
    from heatsoak import system
    Path("old").write_bytes(b"old")
    Path("new").write_bytes(b"new")
    held = open("old", "rb")
    if CLOSES:
        threading.Timer(0.3, held.close).start()
    system.replace(Path("new"), Path("old"))
    assert Path("old").read_bytes() == b"new"
"""


@needs_linux
def test_a_file_that_a_reader_has_open_is_replaced_once_it_is_closed(
    system: System, tmp_path: Path
) -> None:
    done = system.python(REPLACES.replace("CLOSES", "True"), tmp_path)
    assert done.returncode == 0, done.stderr
    # macOS replaces it at once
    kept_open = system.python(REPLACES.replace("CLOSES", "False"), tmp_path)
    assert ("PermissionError" in kept_open.stderr) == (system.name == "win32")


#: What the system that is shown refuses to heatsoak's own code, and how.
WRONG = {
    "import fcntl": "ModuleNotFoundError",
    "import os; os.geteuid()": "has no geteuid",
    "from signal import SIGKILL": "cannot import name",
    "from pathlib import Path; Path('a:b').write_bytes(b'')": "WinError 123",
    "from pathlib import Path; Path('Nul.txt').mkdir()": "WinError 123",
    "from pathlib import Path; Path('a').touch(); Path('A').touch()": "case does not count",
    "from pathlib import Path; f = Path('a').open('wb'); Path('a').unlink()": "WinError 32",
    "from pathlib import Path; f = Path('a').open('wb'); Path('a').rename('b')": "WinError 32",
    "from pathlib import Path; Path('a').write_text('x')": "EncodingWarning",
    "open('a', 'w')": "EncodingWarning",
    "from pathlib import Path; Path('/proc/stat').read_bytes()": "FileNotFoundError",
    "from pathlib import Path; Path('a').symlink_to('b')": "WinError 1314",
    "import sys; assert sys.platform != 'win32'": "AssertionError",
}


EACH_FAILS = """
    import os, tempfile
    for code in CODES:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
            os.chdir(place)
            try:
                exec(code, {"__name__": "heatsoak.x", "__builtins__": __builtins__})
                print("nothing", flush=True)
            except BaseException as error:
                print(type(error).__name__, *str(error).splitlines(), flush=True)
            os.chdir("/")
"""


@needs_linux
def test_the_windows_that_is_shown_refuses_what_windows_does(
    system: System, tmp_path: Path
) -> None:
    if system.name != "win32":
        pytest.skip("it is another system that is shown")
    done = system.python(EACH_FAILS.replace("CODES", repr([*WRONG])), tmp_path)
    assert done.returncode == 0, done.stderr
    for said, (code, wrong) in zip(done.stdout.splitlines(), WRONG.items(), strict=True):
        assert wrong in said, code


#: What only serves real drives, and may use whatever Linux has.
LINUX_ONLY = (
    *("bench/by_hand.py", "bench/copying.py", "heat/", "nbd/", "rack/host.py", "rack/kept.py"),
    *("sensor/", "target/fio/", "target/guard/", "target/purge/", "target/hctm.py"),
    *("target/lock.py", "target/undo.py", "system.py"),
)


@needs_linux
@pytest.mark.timeout(1500)
@pytest.mark.parametrize("platform", rest_soak(["win32", "darwin"], 1))
def test_what_serves_no_real_drive_uses_no_name_that_the_system_lacks(
    platform: str, tmp_path: Path
) -> None:
    root = Path(__file__).parents[1]
    done = ran(
        *(sys.executable, "-m", "mypy", "--platform", platform, "--cache-dir", str(tmp_path)),
        "python/heatsoak",
        cwd=root,
    )
    wrong = [line for line in done.stdout.splitlines() if " error: " in line]
    assert "errors in" in done.stdout or not wrong, done.stdout + done.stderr
    ours = tuple(f"python/heatsoak/{name}" for name in LINUX_ONLY)
    assert [line for line in wrong if not line.startswith(ours)] == []
