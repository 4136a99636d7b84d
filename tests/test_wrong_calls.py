"""Wrong calls, by their kinds: each is one clear line and exit code 2, and none is accepted."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from command import complaint, heatsoak_here
from heatsoak.cli.app import app

#: What options are called in help that take a number, with a unit or without.
NUMBERS = {"C", "K", "M_S", "N", "P", "RATE", "SHARE", "SIZE", "TIME"}
#: Others that do not take any word.
CHOICES = {"--format", "--fail-on", "--as", "--seed", "--port", "--since", "--together"}


def commands(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each command, those of groups too, with the words that call it."""
    for name in getattr(group, "commands", {}):
        yield from commands(group.commands[name], (*words, name))
    if not hasattr(group, "commands"):
        yield words, group


ALL = list(commands(typer.main.get_command(app)))
OPTIONS = [
    (*words, option.opts[0])
    for words, command in ALL
    for option in command.params
    if option.param_type_name == "option"
    if option.metavar in NUMBERS or option.opts[0] in CHOICES
]


def test_options_of_all_kinds_are_found() -> None:
    found = {words[-1] for words in OPTIONS}
    assert found >= {"--fail-below", "--ambient", "--warmer", "--for", "--seed", "--format"}


@pytest.mark.parametrize("words", OPTIONS, ids=" ".join)
def test_a_word_of_another_kind_is_refused_by_name(words: tuple[str, ...], tmp_path: Path) -> None:
    for wrong in ("5parsecs", "nan", "fast", "1,5"):
        said = complaint(heatsoak_here(*words, wrong, cwd=tmp_path), 2)
        assert words[-1] in said
        assert wrong in said
    assert "is empty" in complaint(heatsoak_here(*words, "", cwd=tmp_path), 2)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("words", [words for words, _ in ALL], ids=" ".join)
def test_an_unknown_option_is_refused(words: tuple[str, ...], tmp_path: Path) -> None:
    assert "--warp" in complaint(heatsoak_here(*words, "--warp", cwd=tmp_path), 2)


def test_one_word_too_many_is_refused_with_the_usage(tmp_path: Path) -> None:
    said = complaint(heatsoak_here("predict", "x", "write", cwd=tmp_path), 2)
    assert said == "heatsoak: 'write' is one word too many: heatsoak predict [OPTIONS] {TWIN|DRIVE}"


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        (("analyze", "x"), ("500MB/s", "0.5 GB/s", "500")),
        (("predict", "x"), ("95%", "95 %", "0.95")),
        (("sweep", "x"), ("95%", "0.95")),
        (("reproduce", "--drive", "x"), ("40",)),
    ],
)
def test_a_limit_is_taken_with_the_unit_that_is_printed(
    words: tuple[str, ...], limits: tuple[str, ...], tmp_path: Path
) -> None:
    for limit in limits:  # the complaint is about the file, not the limit
        said = complaint(heatsoak_here(*words, "--fail-below", limit, cwd=tmp_path), 2)
        assert "--fail-below" not in said


@pytest.mark.parametrize(
    ("words", "limit"),
    [("analyze", "5%"), ("predict", "500MB/s"), ("sweep", "40"), ("reproduce", "5%")],
)
def test_a_limit_of_another_commands_kind_is_refused(
    words: str, limit: str, tmp_path: Path
) -> None:
    said = complaint(heatsoak_here(words, "x", "--fail-below", limit, cwd=tmp_path), 2)
    assert "--fail-below" in said
    assert limit in said


@pytest.mark.parametrize(
    ("words", "right"),
    [
        (("predict", "directory"), "heatsoak fit directory -o twin.toml"),
        (("history", ".", "--since", "yesterday"), "'yesterday' is not a date such as"),
        (("run", "quick", "--on", "samsng-950-pro-512"), "did you mean 'samsung-950-pro-512'?"),
        (("run", "quick", "--on", ".", "--set", "runtime=fast"), "a number with us, ms, s"),
    ],
)
def test_a_wrong_word_is_told_what_would_be_right(
    words: tuple[str, ...], right: str, tmp_path: Path
) -> None:
    (tmp_path / "directory").mkdir()
    said = complaint(heatsoak_here(*words, cwd=tmp_path), 2)
    assert right in said
    assert said.count("'fast'") <= 1
