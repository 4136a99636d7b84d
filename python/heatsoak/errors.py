"""The errors that a user can cause, each with the exit code of the command line.

```
HeatsoakError           3  something failed; base of all
├── UsageError          2  the command's words or files are wrong
├── RefusedError        4  refused for safety
├── ToolError           3  a drive or a tool failed meanwhile
│   └── ShutDownError   3  a drive was too hot and shut itself down
└── RunInterrupted    130  stopped by the user; what was recorded is kept
```

Every message is one line: what is wrong (file, line or key), and what would be right.
"""

import os
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path


class HeatsoakError(Exception):
    """Base of all errors that end a command with one line instead of a traceback."""

    exit_code = 3


class UsageError(HeatsoakError):
    """The command's words, or a file it was given, are wrong."""

    exit_code = 2


class RefusedError(HeatsoakError):
    """Going on could destroy data; in doubt this is raised."""

    exit_code = 4


class ToolError(HeatsoakError):
    """A drive, or a tool such as fio, failed or is missing."""

    exit_code = 3


class ShutDownError(ToolError):
    """A drive was too hot, and serves nothing any more."""


class RunInterrupted(HeatsoakError):  # noqa: N818 -- an end, not an error
    """The user stopped the run; the recording is kept."""

    exit_code = 130


def require_file(path: Path) -> None:
    """Raise UsageError where `path` is there and no regular file: a pipe may never end."""
    if os.path.lexists(path) and not path.is_file():
        raise UsageError(f"{path}: cannot be read: {_kind(path)}, and not a regular file")


def _kind(path: Path) -> str:
    if path.is_dir():
        return "is a directory"
    if path.is_symlink():
        return "is a link to nothing" if not path.exists() else "links to a pipe or a device"
    return "is a pipe" if path.is_fifo() else "is a device or a socket"


def suggestion(word: str, known: Iterable[str], likeness: float = 0.5) -> str:
    """Return ``" (did you mean 'x'?)"`` for the nearest known word, or an empty string.

    `likeness` is difflib's ratio that a word must at least have, 0 to 1.
    """
    near = get_close_matches(word, sorted(known), n=1, cutoff=likeness)
    return f" (did you mean '{near[0]}'?)" if near else ""
