"""Shared by all parts of the guard: doubts, and running tools that examine a device."""

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from heatsoak.errors import ToolError
from heatsoak.output import printable
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.tools import ran, which
from heatsoak.words import duration_text

#: What a container must be given so that the guard can see who uses a drive.
CONTAINER_NEEDS = "start it with --pid=host --cap-add=SYS_PTRACE --cap-add=SYS_ADMIN"
#: The namespace of all processes of a machine; every Linux gives it this number (PROC_PID_INIT_INO
#: in include/linux/proc_ns.h).
_ALL_PROCESSES = "pid:[4026531836]"
#: The kernel's own kthreadd, which is in no container.
_KERNEL_THREAD = "2"


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


def blind_spot(roots: Roots) -> str | None:
    """Return why others may use a drive whom we cannot see; None if we see all processes.

    A container has a ``/proc`` of its own processes: mounts, and programs that have a drive open
    for writing, are not in it if they are the machine's or another container's. Without the
    capability to look at processes with more rights, or forbidden to by AppArmor and the like, we
    see them but not what they have open.
    """
    hint = f"(run heatsoak outside of containers, or {CONTAINER_NEEDS})"
    for process in (_KERNEL_THREAD, "self"):
        try:
            seen = str((roots.proc / process / "ns" / "pid").readlink())
        except PermissionError:
            if os.geteuid() == 0:
                return f"what other processes do cannot be seen, not even by root {hint}"
        except OSError as error:
            if not has_ended(error) or not (roots.proc / process / "ns").is_dir():
                break
            return None  # a kernel without such namespaces
        else:
            if seen == _ALL_PROCESSES:
                return None
            break
    return f"this is a container, which cannot see who else uses it {hint}"


def path_on_machine(path: str, roots: Roots) -> Path:
    """Return where a path that the kernel names is found from here; raises Doubt if unknown.

    In a container, the machine's own paths are below the root of process 1, and the same path of
    the container may be another file.
    """
    there = roots.proc / "1" / "root" / path.lstrip("/")
    try:
        there.stat()
    except PermissionError:
        if _has_own_mounts(roots):
            raise Doubt(
                f"cannot find out what {printable(path)} is outside of this container"
            ) from None
    except (OSError, ValueError):
        pass
    else:
        return there
    return Path(path)


def _has_own_mounts(roots: Roots) -> bool:
    """Whether none of our mounts, which have numbers of their own, is one of process 1's."""
    ours, theirs = (
        {line.split()[0] for line in (sysfs.read_text(place) or "").splitlines()}
        for place in (roots.proc / name / "mountinfo" for name in ("self", "1"))
    )
    return ours.isdisjoint(theirs)


def has_ended(error: OSError) -> bool:
    """Whether examining a process failed because it has ended (a zombie gives EINVAL)."""
    return error.errno in (errno.ENOENT, errno.ESRCH, errno.EINVAL)


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
        raise Doubt(f"{name} did not finish within {duration_text(TIMEOUT_S)}") from None
    except OSError as error:
        raise Doubt(f"{name} cannot be run ({error.strerror})") from None
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def run_on(
    fd: int, tool: str, *options: str, timeout_s: float | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the program `tool` on the device behind `fd`; raises as :func:`heatsoak.tools.ran`."""
    words = [tool, *options, f"/proc/self/fd/{fd}"]
    return ran(words, timeout_s=timeout_s, keep_fds=[fd], apart=True)
