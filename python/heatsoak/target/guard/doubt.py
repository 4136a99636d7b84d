"""What all parts of the guard share: doubt, how it is said, and the tools that look at a device."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.sensor.base import Roots
from heatsoak.tools import search_path, which


class Doubt(Exception):  # noqa: N818 -- not an error: a reason to refuse
    """Something could not be found out; its text is a reason."""


def names_in(directory: Path) -> list[str]:
    """Return the names in a directory that has to be there; raises Doubt otherwise."""
    try:
        return sorted(entry.name for entry in directory.iterdir())
    except OSError as error:
        raise Doubt(f"{directory} cannot be read ({error.strerror})") from None


def processes(roots: Roots) -> Iterator[Path]:
    """Return the directories of all processes; raises Doubt where there are none to be seen."""
    found = [name for name in names_in(roots.proc) if name.isdigit()]
    if not found:
        raise Doubt(f"{roots.proc} shows no processes, so who uses it cannot be known")
    return (roots.proc / name for name in found)


TIMEOUT_S = 30.0


def run_tool(fd: int, name: str, *options: str) -> tuple[int, str, str]:
    """Run a tool that reads the device behind `fd`; returns its exit code, output and errors.

    Raises Doubt where it does not come to an end.
    """
    try:
        tool = which(name)
    except ToolError as error:
        raise Doubt(str(error)) from None
    if tool is None:
        raise Doubt(f"{name} is missing, so what is on it cannot be known (install util-linux)")
    try:
        done = run_on(fd, tool, *options, timeout_s=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise Doubt(f"{name} did not end within {TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise Doubt(f"{name} cannot be run ({error.strerror})") from None
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_on(
    fd: int, tool: str, *options: str, timeout_s: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the program `tool` on the device behind `fd`; a terminal's Ctrl-C does not reach it.

    Raises OSError where it cannot be run, subprocess.TimeoutExpired, and ToolError
    as :func:`heatsoak.tools.which` does.
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
