"""Whoever reads the output may go, or never have been there: what was begun is done."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from command import done_here, ran
from heatsoak.recording import Recording
from streams import Streams, call_on

_HEATSOAK = f"{shlex.quote(sys.executable)} -m heatsoak"
FULL = "heatsoak: standard output: cannot be written: No space left on device"


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, whose exit code is that of the first command in a pipe that failed."""
    words = ["bash", "-o", "pipefail", "-c", re.sub(r"(?<!\S)heatsoak(?= )", _HEATSOAK, line)]
    return ran(*words, cwd=cwd, timeout=280)


@pytest.fixture(scope="module")
def place(small_drive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a recording and what one more is made with."""
    root = tmp_path_factory.mktemp("streams")
    (root / "tiny.toml").write_text(tiny.READ)
    (root / "small.toml").write_text(small_drive.read_text())
    done_here("run", "tiny.toml", "--on", "sim:small.toml", "-o", "r", cwd=root)
    return root


@pytest.mark.slow
def test_a_run_that_no_one_listens_to_is_recorded_completely(place: Path, tmp_path: Path) -> None:
    for number, (output, errors, code) in enumerate(
        (
            *(("closed", "file", 0), ("file", "closed", 0), ("closed", "closed", 0)),
            *(("gone", "file", 0), ("gone", "gone", 0), ("file", "gone", 0)),
            *(("file", "/dev/full", 0), ("/dev/full", "file", 3)),
        )
    ):
        words = ("run", "tiny.toml", "--on", "sim:small.toml", "-o", f"{tmp_path}/{number}")
        done = call_on(Streams(output, errors), words, place)
        assert done.returncode == code, (output, errors, done)
        if code:  # a full disk under standard output is reported after the run
            assert done.stderr.splitlines()[-1] == FULL
        recording = Recording.open(tmp_path / str(number))
        assert recording.meta.status == "finished"
        assert recording.samples().height > 0


@pytest.mark.slow
@pytest.mark.parametrize("streams", ["<&- >&- 2>&-", "2>&1 | head -2", "> >(true) 2> >(true)"])
def test_so_is_one_of_a_shells(place: Path, tmp_path: Path, streams: str) -> None:
    line = f"heatsoak run tiny.toml --on sim:small.toml -o {tmp_path}/r {streams}"
    assert shell(line, place).returncode == 0
    assert Recording.open(tmp_path / "r").meta.status == "finished"


@pytest.mark.slow
def test_output_that_is_not_read_to_the_end_is_not_a_failure_and_one_not_written_is_one_line(
    place: Path,
) -> None:
    for words in (
        *(
            "analyze r",
            "analyze r --format json",
            "list protocols",
            "export r -o - --as csv",
            "--help",
        ),
    ):
        for output in ("gone", "closed"):
            done = call_on(Streams(output), words.split(), place)
            assert (done.returncode, done.stderr) == (0, ""), (words, output)
        if words not in ("list protocols", "--help"):
            done = call_on(Streams("/dev/full"), words.split(), place)
            assert (done.returncode, done.stderr) == (3, f"{FULL}\n"), words
    # nor does it lose the exit code of a limit, and errors never go to standard output
    limit = ("analyze", "r", "--fail-below", "1e9")
    assert call_on(Streams("gone"), limit, place).returncode == 1
    done = call_on(Streams(errors="closed"), ("analyze", "nothing"), place)
    assert (done.returncode, done.stdout) == (2, "")
    for line in ("export r -o - --as csv | head -1", "--help | true"):
        done = shell(f"heatsoak {line}", place)
        assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_names_that_are_no_utf_8_are_read_and_written(place: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"r\xff")
    run = ("run", "tiny.toml", "--on", "sim:small.toml", "-o", str(tmp_path / name))
    done_here(*run, cwd=place)
    for words in (
        ("analyze", name),
        ("analyze", name, "--format", "json"),
        ("report", name, "-o", f"{name}.html"),
        ("report", name, "-o", f"{name}.csv"),
        ("export", name, "-o", f"{name}.parquet"),
        ("export", name, "-o", f"{name}.om", "--as", "openmetrics"),
    ):
        assert done_here(*words, cwd=tmp_path).stderr == "", words
    assert (tmp_path / f"{name}.parquet").stat().st_size > 0
