"""What the shell offers when somebody presses Tab: protocols, drives, places, conditions."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from unittest.mock import patch

import pytest
from command import heatsoak_here, ran
from compared import falling, run, steady
from needs import needs
from shells import SHARE, program_in, terminal


def completed(cwd: Path, **environment: str) -> list[str]:
    """Return the lines that heatsoak offers to a shell that has set these variables."""
    with patch.dict(os.environ, environment):
        done = heatsoak_here(cwd=cwd)
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if line]


def asked(typed: str, shell: str, cwd: Path) -> list[str]:
    """Return what is offered behind `typed`, as zsh, fish and the like ask for it."""
    lines = completed(
        cwd,
        _HEATSOAK_COMPLETE=f"complete_{shell}",
        _TYPER_COMPLETE_FISH_ACTION="get-args",
        _TYPER_COMPLETE_ARGS=typed,
    )
    return [line.partition("\t")[0] for line in lines]


def bash(cwd: Path, *words: str) -> list[str]:
    """Return what is offered for the last of the words that bash has made of a line."""
    line = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1)}
    return completed(cwd, _HEATSOAK_COMPLETE="complete_bash", **line)


def test_protocols_drives_and_places_are_offered(tmp_path: Path) -> None:
    assert "quick" in asked("heatsoak run ", "fish", tmp_path)
    assert asked("heatsoak run qu", "fish", tmp_path) == ["quick"]
    drives = asked("heatsoak run quick --on ", "fish", tmp_path)
    assert "sim:samsung-950-pro-512" in drives
    places = asked("heatsoak run quick --on sim:samsung-950-pro-512@plextor", "fish", tmp_path)
    assert places == ["sim:samsung-950-pro-512@plextor-adapter"]
    assert asked("heatsoak lab nbd samsung-950-pro-5", "fish", tmp_path) == ["samsung-950-pro-512"]
    assert asked("heatsoak list drives crucial-t700-2", "fish", tmp_path) == ["crucial-t700-2tb"]
    assert "puget-sata" in asked("heatsoak lab nbd x --place puget-s", "fish", tmp_path)
    assert asked("heatsoak lab schema comp", "fish", tmp_path) == ["compare"]
    assert asked("heatsoak analyze r --fail-on u", "fish", tmp_path) == ["unknown"]


def test_a_drive_a_place_and_a_load_are_offered_alike_wherever_they_are_named(
    tmp_path: Path,
) -> None:
    for start in ("run quick --on", "predict", "lab nbd", "fit x --base"):
        drives = asked(f"heatsoak {start} samsung-950-pro-5", "fish", tmp_path)
        assert drives == ["samsung-950-pro-512"]
        drives = asked(f"heatsoak {start} sim:samsung-950-pro-5", "fish", tmp_path)
        assert drives == ["sim:samsung-950-pro-512"]
    for option in ("--place", "--heatsink"):
        assert asked(f"heatsoak predict x {option} lap", "fish", tmp_path) == ["laptop"]
    loads = asked("heatsoak predict x --workload rand", "fish", tmp_path)
    assert loads == ["randread", "randwrite"]
    assert "heatsink" in asked("heatsoak compare --by h", "fish", tmp_path)


def test_the_figures_of_a_set_are_offered_and_a_path_is_left_to_the_shell(tmp_path: Path) -> None:
    assert "puget.peak_read_mb_s" in asked(
        "heatsoak lab reproduce --only puget.p", "fish", tmp_path
    )
    modern = asked("heatsoak lab reproduce --set modern --only ", "fish", tmp_path)
    assert "950pro256.5min_write_throttles" in modern
    assert not [name for name in modern if name.startswith("puget")]
    wrong = asked("heatsoak lab reproduce --set other --only puget.peak_r", "fish", tmp_path)
    assert wrong in ([], ["puget.peak_read_mb_s"])
    assert asked("heatsoak run quick --on /dev/", "fish", tmp_path) == []
    assert asked("heatsoak run ./mine", "fish", tmp_path) == []


def test_the_conditions_of_a_protocol_and_of_recordings_are_offered(tmp_path: Path) -> None:
    offered = asked("heatsoak run puget --on . --set ", "fish", tmp_path)
    assert {"slot=top", "gpus=2", "gpu_load=idle"} <= set(offered)
    assert "heatsink=none" in asked("heatsoak run quick --on . --set ", "fish", tmp_path)
    assert "heatsink=none" in asked("heatsoak run missing --on . --set ", "fish", tmp_path)
    run({"heatsink": "none"}, falling(60, 0.5), seed=1).save(tmp_path / "r" / "bare")
    run({"heatsink": "big"}, steady(2000), seed=2).save(tmp_path / "r" / "cooled")
    assert asked("heatsoak compare r --by h", "fish", tmp_path) == ["heatsink"]
    line = "heatsoak compare r --by heatsink --baseline "
    assert asked(line, "fish", tmp_path) == ["none", "big"]
    missing = asked("heatsoak compare missing --by ", "fish", tmp_path)
    assert missing == ["drive", "model", "protocol", "file"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("run", "quick", "--on", "sim", ":", "samsung-950-pro-5"), ["samsung-950-pro-512"]),
        (("run", "x", "--on", "sim", ":", "y", "@", "plextor"), ["@plextor-adapter"]),
        (("run", "puget", "--set", "slot", "=", "t"), ["top"]),
        (("run", "puget", "--set", "slot", "=", "top", "qui"), []),
    ],
)
def test_bash_gets_what_it_replaces_of_a_word_that_it_divides(
    tmp_path: Path, words: tuple[str, ...], offered: list[str]
) -> None:
    assert bash(tmp_path, "heatsoak", *words) == offered
    assert "pcie4-tlc-1tb" in bash(tmp_path, "heatsoak", "run", "quick", "--on", "sim", ":")


def shown(directory: Path) -> str:  # noqa: ARG001
    """Return what ``heatsoak --install-completion`` would install."""
    return ran(
        sys.executable,
        "-m",
        "heatsoak",
        "--show-completion",
        "bash",
        check=True,
        env={**os.environ, "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    ).stdout


def loaded(directory: Path) -> str:
    """Return lines that let bash-completion find what a wheel installs."""
    loader = Path("/usr/share/bash-completion/bash_completion")
    if not loader.exists():
        return f". {quote(str(SHARE))}/bash-completion/completions/heatsoak"
    (directory / "bash-completion").symlink_to(SHARE / "bash-completion")
    return f"export XDG_DATA_HOME={directory}; . {loader}"


@pytest.mark.slow
@needs("bash")
@pytest.mark.parametrize("script", [shown, loaded])
def test_a_real_bash_completes_a_target(tmp_path: Path, script: Callable[[Path], str]) -> None:
    program_in(tmp_path)
    (tmp_path / "rc").write_text(f"{script(tmp_path)}\nPS1='> '\nPATH={tmp_path}:$PATH\n")
    with terminal("bash", "--noprofile", "--rcfile", str(tmp_path / "rc"), "-i") as shell:
        shell.until(r"> $")
        if script is loaded:
            shell.type("heatsoak run qu\t")
            shell.until(r"run quick $")
        else:
            shell.type("heatsoak run quick ")
        shell.type("--on sim:samsung-950-pro-5\t")
        shell.until(r"sim:samsung-950-pro-512")
        if script is loaded:
            shell.type("\x7f@plext\t")
            shell.until(r"@plextor-adapter")


@pytest.mark.slow
@needs("zsh")
def test_a_real_zsh_completes_a_protocol_at_the_first_tab(tmp_path: Path) -> None:
    program_in(tmp_path)
    lines = (
        f"fpath=({quote(str(SHARE))}/zsh/site-functions $fpath); PATH={tmp_path}:$PATH; PS1='> '",
        "autoload -U compinit; compinit -u -D",
    )
    (tmp_path / ".zshrc").write_text("\n".join(lines))
    with terminal("zsh", "-d", "-i", ZDOTDIR=str(tmp_path)) as shell:
        shell.until(r"> ")
        shell.type("heatsoak run qu\t")
        shell.until(r"run.*ick ")
        shell.type("--on sim:samsung-950-pro-5\t")
        shell.until(r"12 ")


@pytest.mark.slow
@needs("fish")
def test_a_real_fish_completes_words_and_files(tmp_path: Path) -> None:
    program_in(tmp_path)
    (tmp_path / "mine.csv").touch()
    offered = {
        "heatsoak run qu": "quick",
        "heatsoak run quick --on sim:samsung-950-pro-5": "sim:samsung-950-pro-512",
        "heatsoak analyze ./mi": "./mine.csv",
    }
    asked = "; ".join(f"complete -C {quote(typed)}" for typed in offered)
    done = ran(
        *("fish", "--no-config", "-c"),
        f"source {quote(str(SHARE))}/fish/vendor_completions.d/*; {asked}",
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        cwd=tmp_path,
        check=True,
    )
    found = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert found == list(offered.values())
