"""Shared by all parts of the guard: doubts, and running tools that examine a device."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor.base import Roots
from heatsoak.tools import search_path, which


class Doubt(Exception):  # noqa: N818 -- not an error: a reason to refuse
    """Something could not be determined; the message is a reason to refuse."""


def names_in(directory: Path) -> list[str]:
    """Return the names in a directory that must exist; raises Doubt otherwise."""
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError as error:
        raise Doubt(f"{directory} cannot be read ({error.strerror})") from None


def processes(roots: Roots) -> Iterator[Path]:
    """Return the directories of all processes; raises Doubt if none are visible."""
    found = [name for name in names_in(roots.proc) if name.isdigit()]
    if not found:
        raise Doubt(f"{roots.proc} shows no processes, so there is no way to tell who is using it")
    return (roots.proc / name for name in found)


TIMEOUT_S = 30.0


def run_tool(fd: int, name: str, *options: str) -> tuple[int, str, str]:
    """Run a tool that reads the device behind `fd`; returns its exit code, output and errors.

    Raises Doubt if it is missing, cannot be run or does not end.
    """
    try:
        tool = which(name)
    except ToolError as error:
        raise Doubt(str(error)) from None
    if tool is None:
        raise Doubt(
            f"{name} is missing, so there is no way to tell what is on it (install util-linux)"
        )
    try:
        done = run_on(fd, tool, *options, timeout_s=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Doubt(f"{name} did not finish within {TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise Doubt(f"{name} cannot be run ({error.strerror})") from None
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_on(
    fd: int, tool: str, *options: str, timeout_s: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the program `tool` on the device behind `fd`; a terminal's Ctrl-C does not reach it.

    Raises OSError if it cannot be run, subprocess.TimeoutExpired, and ToolError like
    :func:`heatsoak.tools.which`.
    """
    return subprocess.run(
        [tool, *options, f"/proc/self/fd/{fd}"],
        pass_fds=[fd],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        start_new_session=True,
        timeout=timeout_s,
        env={"PATH": search_path(), "LC_ALL": "C"},
        check=False,
    )
