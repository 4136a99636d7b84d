"""Finds the programs that heatsoak runs: fio, blkid, hdparm, nvme, nbdkit and others.

Root must only run programs that root alone can change. So root's ``PATH``, which may contain
directories that others can write to, is ignored, and programs are searched for in

1. the directory that ``HEATSOAK_TOOLS`` names, to add or replace a program,
2. ``/usr/local/sbin`` and ``/usr/local/bin``,
3. ``/usr/sbin``, ``/usr/bin``, ``/sbin`` and ``/bin``.

For the first and second, the program, its directory and all directories above it must belong to
root and not be writable by others. If they are not, ``HEATSOAK_TOOLS`` is an error and
``/usr/local`` is skipped (on older Debians it belongs to the group ``staff``). For other users
nothing is checked, and their ``PATH`` is searched last.

Commands that a protocol gives as a heat source are the user's own, and found on the user's
``PATH``.

Dask is found here too, and what all that use a cluster of it need to know before they connect.
"""

import logging
import os
import re
import shutil
import stat
import subprocess
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from heatsoak.errors import ToolError, UsageError
from heatsoak.output import announce
from heatsoak.system import is_root

#: The environment variable that names a directory to search first.
VARIABLE = "HEATSOAK_TOOLS"
LOCAL = ("/usr/local/sbin", "/usr/local/bin")
SYSTEM = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")


def find_tool(name: str, package: str) -> str:
    """Return the path of the program `name` from Debian's `package`.

    Raises ToolError if it is not installed or ``HEATSOAK_TOOLS`` cannot be trusted.
    """
    found = which(name)
    if found is not None:
        return found
    ignored = shutil.which(name)
    hint = f" ({ignored} is not run as root: see {VARIABLE})" if ignored else ""
    raise ToolError(f"{name} is not installed: apt-get install {package}{hint}")


def which(name: str) -> str | None:
    """Return the path of the program `name`, or None if it is not installed.

    Raises ToolError if ``HEATSOAK_TOOLS`` cannot be trusted.
    """
    for directory in _directories():
        found = shutil.which(name, path=directory)
        if found is None:
            continue
        if not is_root() or directory in SYSTEM or _only_root_can_change(Path(found)):
            return found
        if directory not in LOCAL:
            raise ToolError(
                f"{VARIABLE}: {found} is not run as root, since others can change it: "
                "it must belong to root and be writable by root only"
            )
    return None


def search_path() -> str:
    """Return the ``PATH`` for child processes; raises ToolError as :func:`which` does."""
    return os.pathsep.join(_directories())


def environment() -> dict[str, str]:
    """Return the environment for child processes: ours, with that ``PATH`` and in English."""
    return {**os.environ, "PATH": search_path(), "LC_ALL": "C"}


def ran(
    words: Sequence[str],
    *,
    timeout_s: float | None = None,
    keep_fds: Sequence[int] = (),
    apart: bool = False,
) -> "subprocess.CompletedProcess[str]":
    """Run a program to its end, with nothing to read, and return what it said.

    One that runs `apart` gets nothing else of our environment, and no terminal's Ctrl-C.
    Raises OSError, subprocess.TimeoutExpired, and ToolError as :func:`which` does.
    """
    return subprocess.run(
        words,
        pass_fds=keep_fds,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        start_new_session=apart,
        timeout=timeout_s,
        env={"PATH": search_path(), "LC_ALL": "C"} if apart else environment(),
        check=False,
    )


def _directories() -> Iterator[str]:
    only_roots = is_root()
    chosen = os.environ.get(VARIABLE)
    if chosen:
        # links are resolved here, once
        directory = Path(chosen).resolve()
        if only_roots and not (Path(chosen).is_absolute() and _only_root_can_change(directory)):
            raise ToolError(
                f"{VARIABLE}: {chosen} must be the absolute path of a directory that, like all "
                "directories above it, belongs to root and is writable by root only"
            )
        yield str(directory)
    yield from (path for path in LOCAL if not only_roots or _only_root_can_change(Path(path)))
    yield from SYSTEM
    if not only_roots:
        yield from os.get_exec_path()


def _only_root_can_change(path: Path) -> bool:
    """Whether only root can change what is at `path` or put something else there."""
    try:
        path = path.resolve(strict=True)
        if not _only_root_can_write(path.stat()):
            return False
        for above in path.parents:
            status = above.stat()
            # in a sticky directory such as /tmp, others cannot replace root's files
            if not _only_root_can_write(status) and not (
                status.st_uid == 0 and status.st_mode & stat.S_ISVTX
            ):
                return False
    except OSError:
        return False
    return True


def _only_root_can_write(status: os.stat_result) -> bool:
    return status.st_uid == 0 and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


# --- Dask's clusters -----------------------------------------------------------------------------

#: How long to look for a scheduler.
CONNECT_S = 10
#: What encrypts, and lets in only who has a key.
_SAFE = ("tls://", "wss://")
#: As `dask scheduler` prints it, or without the protocol.
_ADDRESS = re.compile(r"([a-z]+://)?\S+:[0-9]+")


def client_class(address: str) -> Any:
    """Return Dask's client; raises UsageError without Dask, and for what is no address.

    Says it where others on the network could use the cluster. Encryption is Dask's own
    configuration, which it reads from its files and the environment.
    """
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--scheduler needs Dask, which is not installed: pip install distributed"
        ) from None
    if not _ADDRESS.fullmatch(address):
        raise UsageError(f"--scheduler {address}: is no address such as tcp://host:8786")
    host = address.rpartition("://")[2].rpartition(":")[0].strip("[]")
    if not address.startswith(_SAFE) and host not in ("localhost", "127.0.0.1", "::1"):
        announce(
            f"--scheduler {address}: is not encrypted, and who reaches it over the network can run "
            "programs on its hosts: use tls:// (docs/sweeps.md)"
        )
    # what it says of lost connections and of others' packages would stand among our own lines
    warnings.simplefilter("ignore", distributed.versions.VersionMismatchWarning)
    for name in ("distributed", "distributed.client"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return distributed.Client


def no_answer(address: str, error: Exception) -> str:
    """Return what to say where a scheduler does not answer."""
    if isinstance(error, TypeError) and address.startswith(_SAFE):
        return (
            f"--scheduler {address}: needs a key and certificates, which Dask's configuration "
            "names: docs/sweeps.md"
        )
    return (
        f"--scheduler {address}: does not answer ({type(error).__name__}): give the address that "
        "dask scheduler prints, such as tcp://host:8786"
    )
