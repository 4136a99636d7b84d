"""Whoever reads the output may go, or never have been there: what was begun is done."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tiny
from command import heatsoak_here
from heatsoak.recording import Recording

_HEATSOAK = f"{shlex.quote(sys.executable)} -m heatsoak"


def shell(line: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash, whose exit code is that of the first command in a pipe that failed."""
    words = ["bash", "-o", "pipefail", "-c", re.sub(r"(?<!\S)heatsoak(?= )", _HEATSOAK, line)]
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False, timeout=280)


@pytest.fixture(scope="module")
def place(small_drive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a recording and what one more is made with."""
    root = tmp_path_factory.mktemp("streams")
    (root / "tiny.toml").write_text(tiny.READ)
    (root / "small.toml").write_text(small_drive.read_text())
    words = ("run", "tiny.toml", "--on", "sim:small.toml", "-o", "r")
    assert heatsoak_here(*words, cwd=root).returncode == 0
    return root


@pytest.mark.slow
@pytest.mark.parametrize(
    "streams",
    [
        *(">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full", "| true", "2>&1 | true"),
        *("2>&1 | head -2", "2> >(true)", "> >(true) 2> >(true)"),
    ],
)
def test_a_run_that_no_one_listens_to_is_recorded_completely(
    place: Path, tmp_path: Path, streams: str
) -> None:
    line = f"heatsoak run tiny.toml --on sim:small.toml -o {tmp_path}/r {streams}"
    assert shell(line, place).returncode == 0
    recording = Recording.open(tmp_path / "r")
    assert recording.meta.status == "finished"
    assert recording.samples().height > 0


@pytest.mark.slow
def test_a_full_disk_under_standard_output_is_reported_after_the_run(
    place: Path, tmp_path: Path
) -> None:
    line = f"heatsoak run tiny.toml --on sim:small.toml -o {tmp_path}/r >/dev/full"
    done = shell(line, place)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == (
        "heatsoak: standard output: cannot be written: No space left on device"
    )
    assert Recording.open(tmp_path / "r").meta.status == "finished"


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        *("analyze r | head -1", "analyze r --format json | head -1", "protocols | true"),
        *("export r -o - --as csv | head -1", "analyze r >&-", "--help | true"),
    ],
)
def test_output_that_is_not_read_to_the_end_is_not_a_failure(place: Path, line: str) -> None:
    done = shell(f"heatsoak {line}", place)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", ["analyze r", "analyze r --format json", "export r -o - --as csv"]
)
def test_output_that_cannot_be_written_is_one_line(place: Path, words: str) -> None:
    done = shell(f"heatsoak {words} >/dev/full", place)
    assert done.returncode == 3
    (line,) = done.stderr.splitlines()
    assert line == "heatsoak: standard output: cannot be written: No space left on device"


@pytest.mark.slow
def test_errors_never_go_to_standard_output(place: Path) -> None:
    done = shell("heatsoak analyze nothing 2>&-", place)
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.slow
def test_the_exit_code_of_a_limit_outlasts_the_reader(place: Path) -> None:
    assert shell("heatsoak analyze r --fail-below 1e9 | true", place).returncode == 1


@pytest.mark.slow
def test_names_that_are_no_utf_8_are_read_and_written(place: Path, tmp_path: Path) -> None:
    name = os.fsdecode(b"r\xff")
    run = ("run", "tiny.toml", "--on", "sim:small.toml", "-o", str(tmp_path / name))
    assert heatsoak_here(*run, cwd=place).returncode == 0
    for words in (
        ("analyze", name),
        ("analyze", name, "--format", "json"),
        ("report", name, "-o", f"{name}.html"),
        ("report", name, "-o", f"{name}.csv"),
        ("export", name, "-o", f"{name}.parquet"),
        ("export", name, "-o", f"{name}.om", "--as", "openmetrics"),
    ):
        done = heatsoak_here(*words, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), words
    assert (tmp_path / f"{name}.parquet").stat().st_size > 0
