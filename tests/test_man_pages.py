"""The manual pages that are installed with heatsoak: one a command, saying what its help says."""

import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from command import ran
from heatsoak.cli.app import app
from needs import needs

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "build_backend"))
from man_pages import EXAMPLES, main, pages

MADE = pages()


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("man pages") / "man1"
    main(path)
    return path


def complaints(*command: str, page: Path) -> list[str]:
    """Return what a tool finds wrong with a page."""
    done = subprocess.run(
        [*command, str(page)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.stdout.splitlines()


def shown(page: Path) -> str:
    """Return a page as people read it, with its spaces made one."""
    done = ran(
        "man",
        "-l",
        str(page),
        env={"PATH": "/usr/bin:/bin", "MANWIDTH": "80", "LC_ALL": "C.UTF-8"},
        check=True,
    )
    return " ".join(done.stdout.split())


def test_pages_of_commands_that_are_gone_are_removed(tmp_path: Path) -> None:
    (tmp_path / "heatsoak-gone.1").write_text(".TH GONE 1\n")
    main(tmp_path)
    assert {path.name: path.read_text("ascii") for path in tmp_path.iterdir()} == MADE


def test_every_command_has_a_page_and_developers_commands_have_none() -> None:
    for name in ("heatsoak", "heatsoak-run", "heatsoak-rack", "heatsoak-rack-run"):
        assert f"{name}.1" in MADE
    assert "heatsoak-calibrate.1" not in MADE
    assert "heatsoak-rack-perform.1" not in MADE


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("mandoc", "-T", "lint"), marks=needs("mandoc")),
        pytest.param(("groff", "-man", "-ww", "-z"), marks=needs("groff")),
    ],
)
def test_no_tool_finds_anything_wrong(words: tuple[str, ...], directory: Path) -> None:
    for name in MADE:
        # a page without a date stays the same from day to day
        found = complaints(*words, page=directory / name)
        assert [line for line in found if "missing date" not in line] == [], name


@needs("man")
def test_a_page_reads_like_one(directory: Path) -> None:
    page = shown(directory / "heatsoak-run.1")
    assert "heatsoak-run - run a protocol on a drive, and judge what was recorded SYNOPSIS" in page
    assert "heatsoak run [OPTION ...] PROTOCOL [DIR]" in page
    assert "--erase ID The drive whose data may be destroyed; ID:NOT-EMPTY if it holds any." in page
    assert "--format text|json Print a table, or one JSON document. [default: text]" in page
    assert "4 Refused for safety. 130 Interrupted" in page
    assert "SEE ALSO heatsoak(1)" in page
    assert "4 Refused" not in shown(directory / "heatsoak-analyze.1")
    assert "heatsoak-rack(1)" in shown(directory / "heatsoak-rack-run.1")


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_are_lines_that_the_command_takes(page: str) -> None:
    for line, _ in EXAMPLES[page]:
        program, *words = shlex.split(line)
        assert program == "heatsoak"
        command: Any = typer.main.get_command(app)
        context = typer.Context(command, info_name=program)
        while words[0] in getattr(command, "commands", {}):
            command = command.commands[words.pop(0)]
            context = typer.Context(command, info_name=line, parent=context)
            if not words:
                break
        command.make_context(line, words, parent=context.parent)  # raises on a wrong word
