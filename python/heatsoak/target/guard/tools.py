"""Runs the tools that look at what is on a device."""

import shutil
import subprocess

from heatsoak.target.guard.doubt import Doubt

#: Where tools are looked for, before the user's own PATH (which rarely has /usr/sbin).
TOOL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"

TIMEOUT_S = 30.0


def run_tool(fd: int, name: str, *options: str) -> tuple[int, str, str]:
    """Run a tool that reads the device behind `fd`; returns its exit code, output and errors.

    Raises Doubt where it does not come to an end.
    """
    tool = shutil.which(name, path=TOOL_PATH) or shutil.which(name)
    if tool is None:
        raise Doubt(f"{name} is missing, so what is on it cannot be known (install util-linux)")
    try:
        done = subprocess.run(
            [tool, *options, f"/proc/self/fd/{fd}"],
            pass_fds=[fd],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            env={"PATH": TOOL_PATH, "LC_ALL": "C"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Doubt(f"{name} did not end within {TIMEOUT_S:.0f} s") from None
    except OSError as error:
        raise Doubt(f"{name} cannot be run ({error.strerror})") from None
    out, err = (raw.decode("utf-8", "replace").strip() for raw in (done.stdout, done.stderr))
    return done.returncode, out, err
