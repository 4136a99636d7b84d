"""A user without root's rights, who can nonetheless run a checkout that lies in root's home.

Checkout and interpreter may lie below a directory that only root enters, as root's home is, and a
test's own files always do. So the user's processes see these directories replaced by ones that lead
to nothing but what he needs, at its own path: in a mount namespace of their own.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

import pytest

#: Debian's nobody, who is a user everywhere, and his group.
NOBODY = 65534
PACKAGES = Path(__file__).resolve().parents[1] / "python"
OWN_MOUNTS = ("unshare", "--mount", "--")
#: Where root's login points to what is root's own.
_OF_ROOT = (
    "TMPDIR",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "HEATSOAK_LOCKS",
    "HEATSOAK_STATE",
)


def as_other_user(*words: str, sees: Sequence[Path] = ()) -> list[str]:
    """Return the command line that runs `words` as another user where we are root, else as we are.

    He can enter the directories `sees`, and find there what their modes let him. Skips the test
    where such a user cannot be made.
    """
    if os.geteuid() != 0:
        return list(words)
    for directory in sees:
        directory.chmod(0o755)
    wanted = [PACKAGES, Path(sys.prefix), Path(sys.base_prefix), *sees]
    shown = sorted({*wanted, *(path.resolve() for path in wanted)})
    line = [sys.executable, __file__, *map(str, shown), "--", *words]
    if not all(path.stat().st_mode & 0o005 == 0o005 for path in shown):
        pytest.skip("this checkout's files are for their owner alone")
    if not _closed(shown):
        return line
    if not _mounts_can_be_made():
        pytest.skip("only root enters the checkout, and nothing can be mounted here")
    return [*OWN_MOUNTS, *line]


@cache
def _mounts_can_be_made() -> bool:
    words = [*OWN_MOUNTS, "mount", "-t", "tmpfs", "tmpfs", "/tmp"]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def _closed(shown: Iterable[Path]) -> set[Path]:
    """The topmost directories above those to be shown that only their owner enters."""
    found = set()
    for path in shown:
        above = (one for one in reversed(path.parents) if not one.stat().st_mode & 0o001)
        found |= set(list(above)[:1])
    return {one for one in found if not found & set(one.parents)}


def _open_up(shown: Iterable[Path]) -> None:
    """Replace what is closed by directories that lead to what is to be shown, and only there."""
    closed = _closed(shown)
    hidden = [path for path in shown if closed & set(path.parents)]
    kept = {path: os.open(path, os.O_PATH) for path in hidden}
    for directory in closed:
        _mount("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(directory))
    for path, fd in kept.items():
        path.mkdir(parents=True, exist_ok=True)
        # by its number, since another directory has its name now
        _mount("--no-canonicalize", "--bind", f"/proc/self/fd/{fd}", str(path), fd=fd)


def _mount(*words: str, fd: int | None = None) -> None:
    subprocess.run(["mount", *words], pass_fds=() if fd is None else (fd,), check=True)


def _main() -> None:
    end = sys.argv.index("--")
    os.umask(0o022)
    _open_up([Path(word) for word in sys.argv[1:end]])
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    for name in _OF_ROOT:
        os.environ.pop(name, None)
    os.environ["HOME"] = "/nonexistent"
    os.chdir(Path.cwd())  # by its name, as it is seen now
    os.execvp(sys.argv[end + 1], sys.argv[end + 1 :])


if __name__ == "__main__":
    _main()
