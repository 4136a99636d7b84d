"""Runs the tools that look at what is on a device."""

import subprocess

from heatsoak.errors import ToolError
from heatsoak.target.guard.doubt import Doubt
from heatsoak.tools import search_path, which

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
