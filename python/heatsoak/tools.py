"""Where the programs that heatsoak runs are found: fio, blkid, hdparm, nvme, nbdkit and others.

What root runs must be root's own. So root's ``PATH`` is not asked, which may lead through
directories that others can write to; programs are looked for in

1. the directory that ``HEATSOAK_TOOLS`` names, for a program of one's own or in place of another,
2. ``/usr/local/sbin`` and ``/usr/local/bin``,
3. ``/usr/sbin``, ``/usr/bin``, ``/sbin`` and ``/bin``.

The first must, and the second may, be such that nobody but root can change them: the directory,
those above it and the program belong to root and are not writable by others (where ``/usr/local``
belongs to the group ``staff``, as on older Debians, it is passed over). Any other user may run what
he likes: for him nothing is checked, and his ``PATH`` comes last.

The commands that a protocol gives as heat are words of the user's, and are found on his ``PATH``.
"""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from heatsoak.errors import ToolError

#: Names a directory whose programs come first.
VARIABLE = "HEATSOAK_TOOLS"
LOCAL = ("/usr/local/sbin", "/usr/local/bin")
SYSTEM = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")


def find_tool(name: str, package: str) -> str:
    """Return the path of the program `name`, which Debian's `package` has.

    Raises ToolError where it is not installed, or ``HEATSOAK_TOOLS`` is not to be trusted.
    """
    found = which(name)
    if found is not None:
        return found
    passed_over = shutil.which(name)
    but = f" ({passed_over} is not run as root: see {VARIABLE})" if passed_over else ""
    raise ToolError(f"{name} is not installed: apt-get install {package}{but}")


def which(name: str) -> str | None:
    """Return the path of the program `name`, None where it is not installed.

    Raises ToolError where ``HEATSOAK_TOOLS`` is not to be trusted.
    """
    for directory in _directories():
        found = shutil.which(name, path=directory)
        if found is None:
            continue
        if os.geteuid() != 0 or directory in SYSTEM or _is_roots(Path(found)):
            return found
        if directory not in LOCAL:
            raise ToolError(
                f"{VARIABLE}: {found} can be changed by others than root, and is not run as root: "
                "it has to belong to root and be writable by root alone"
            )
    return None


def search_path() -> str:
    """Return the ``PATH`` for programs that we run; raises ToolError as :func:`which` does."""
    return os.pathsep.join(_directories())


def environment() -> dict[str, str]:
    """Return the environment for programs that we run: ours, with that ``PATH``, in English."""
    return {**os.environ, "PATH": search_path(), "LC_ALL": "C"}


def _directories() -> Iterator[str]:
    is_root = os.geteuid() == 0
    chosen = os.environ.get(VARIABLE)
    if chosen:
        # where a link leads is decided here, once
        directory = Path(chosen).resolve()
        if is_root and not (Path(chosen).is_absolute() and _is_roots(directory)):
            raise ToolError(
                f"{VARIABLE}: {chosen} has to be the whole path of a directory that belongs to "
                "root, as do those above it, and is writable by root alone"
            )
        yield str(directory)
    yield from (path for path in LOCAL if not is_root or _is_roots(Path(path)))
    yield from SYSTEM
    if not is_root:
        yield from os.get_exec_path()


def _is_roots(path: Path) -> bool:
    """Whether nobody but root can change what is at `path`, or put something else there."""
    try:
        path = path.resolve(strict=True)
        if not _is_roots_alone(path.stat()):
            return False
        for above in path.parents:
            status = above.stat()
            # below a sticky directory such as /tmp what is root's stays
            if not _is_roots_alone(status) and not (
                status.st_uid == 0 and status.st_mode & stat.S_ISVTX
            ):
                return False
    except OSError:
        return False
    return True


def _is_roots_alone(status: os.stat_result) -> bool:
    return status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
