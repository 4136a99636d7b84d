"""Wrong calls, by their kinds: each is one clear line and exit code 2, and none is accepted."""

import shlex
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


@pytest.mark.parametrize(
    ("words", "limits"),
    [
        (("analyze", "x", "--fail-below"), ("500MB/s", "0.5 GB/s")),
        (("predict", "x", "--min-probability"), ("95%", "95 %", "0.95")),
        (("sweep", "x", "--min-share"), ("95%", "0.95")),
        (("lab", "reproduce", "--drive", "x", "--min-figures"), ("40",)),
    ],
)
def test_a_limit_is_taken_with_the_unit_that_is_printed(
    words: tuple[str, ...], limits: tuple[str, ...], tmp_path: Path
) -> None:
    for limit in limits:  # the complaint is about the file, not the limit
        said = complaint(heatsoak_here(*words, limit, cwd=tmp_path), 2)
        assert words[-1] not in said


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("analyze x --fail-below", "5%"),
        ("predict x --min-probability", "500MB/s"),
        ("sweep x --min-share", "40"),
        ("lab reproduce --min-figures", "5%"),
    ],
)
def test_a_limit_of_another_commands_kind_is_refused(
    words: str, limit: str, tmp_path: Path
) -> None:
    said = complaint(heatsoak_here(*words.split(), limit, cwd=tmp_path), 2)
    assert words.split()[-1] in said
    assert limit in said


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("drives --known", "list drives --known"),
        ("schema analyze", "lab schema analyze"),
        ("trace stats gone", "lab trace gone"),
        ("trace check light --scale 0.001", "lab trace --check light --scale 0.001"),
        ("nbd gone --socket s --enclosure x", "lab nbd gone --socket s --place x"),
        ("reproduce --only gone --fail-below 2", "lab reproduce --only gone --min-figures 2"),
        ("advise gone --enclosure laptop", "predict --cooling gone --place laptop"),
        ("predict gone --enclosure=laptop --fail-below 1", "predict gone --place=laptop "
         "--min-probability 1"),
        ("sweep gone --fail-below 1", "sweep gone --min-share 1"),
    ],
)  # fmt: skip
def test_what_commands_and_options_were_called_is_understood(
    before: str, now: str, tmp_path: Path
) -> None:
    old, new = (heatsoak_here(*words.split(), cwd=tmp_path) for words in (before, now))
    assert (old.returncode, old.stdout) == (new.returncode, new.stdout)
    notes = [line for line in old.stderr.splitlines() if " is now " in line]
    assert notes
    assert [line for line in old.stderr.splitlines() if line not in notes] == (
        new.stderr.splitlines()
    )


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("test", "heatsoak run may be what you look for (Run a protocol on a drive"),
        ("check", "heatsoak analyze may be"),
        ("monitor", "heatsoak watch may be"),
        ("rnu", "rnu: is no command: heatsoak run may be"),
        ("qwertz", "qwertz: is no command: heatsoak --help lists the commands"),
        ("run quick", "name what is tested: a directory such as ., or --on with a drive"),
        ("run quick /dev/null", "/dev/null: is no directory: name what is tested with --on"),
        ("run quick . --on .", "--on . says already what is tested"),
        ("run quick --on sim:samsung-950-pro-512@", "there is no simulated place ''"),
        ("run quick --on x --place laptop", "goes behind its name: sim:DRIVE@PLACE"),
        ("run quick --on '990 PRO 2TB'", "here; sim:samsung-990-pro-2tb simulates one"),
        ("run quick --on . --set size=10", "size=10: is less than a block"),
        ("list places lapto", "lapto: is none of the places (did you mean 'laptop'?)"),
        ("list protocols quik", "quik: is none of the protocols (did you mean 'quick'?)"),
        ("predict x write", "'write' is one word too many: heatsoak predict [OPTIONS] {TWIN"),
        ("predict directory", "heatsoak fit directory -o twin.toml"),
        ("history . --since yesterday", "'yesterday' is not a date such as"),
        ("run quick --on samsng-950-pro-512", "did you mean 'samsung-950-pro-512'?"),
        ("run quick --on . --set runtime=fast", "a number with us, ms, s"),
        ("predict x --price a=2", "--price: says what a heatsink costs: add --cooling"),
        ("predict x --cooling --holds 1GB/s", "--cooling: tries heatsinks itself"),
    ],
)  # fmt: skip
def test_what_people_try_is_answered_by_what_would_be_right(
    words: str, right: str, tmp_path: Path
) -> None:
    (tmp_path / "directory").mkdir()
    said = complaint(heatsoak_here(*shlex.split(words), cwd=tmp_path), 2)
    assert right in said
    assert said.count("'fast'") <= 1


def test_a_rate_without_a_unit_is_told_what_it_is_taken_for(tmp_path: Path) -> None:
    done = heatsoak_here("analyze", "gone", "--fail-below", "500", cwd=tmp_path)
    assert done.stderr.startswith("heatsoak: --fail-below 500: is taken for 500 MB/s\n")
