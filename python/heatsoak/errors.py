"""The errors that end a command, each with its exit code.

```
HeatsoakError           3  something failed; base of all
├── UsageError          2  wrong arguments or input files
│   └── ChangedError    3  a recording is not as it was made
├── RefusedError        4  refused for safety
│   └── NotEmptyError   4  a drive that is named holds data
├── ToolError           3  a drive or a tool failed
│   └── ShutDownError   3  a drive overheated and shut itself down
└── RunInterrupted    130  stopped by the user; the recording is kept
    └── LimitReachedError 1  stopped by what the user said when to stop
```

Every message is one line that says what is wrong (file, line or key) and what would be right.
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class HeatsoakError(Exception):
    """Base of all errors that end a command with one line instead of a traceback."""

    exit_code = 3


class UsageError(HeatsoakError):
    """An argument or an input file is wrong."""

    exit_code = 2


class ChangedError(UsageError):
    """A recording was changed after it was made: damaged, edited, or mixed up with another."""

    exit_code = 3


class RefusedError(HeatsoakError):
    """Continuing could destroy data; when in doubt, this is raised."""

    exit_code = 4


class NotEmptyError(RefusedError):
    """A drive that is named holds data, and may only be written by who knows that.

    Attributes:
        held: what is known of the data.
        erase: what ``--erase`` needs.
        answer: what is typed at a terminal instead: the drive's model, or its id.
    """

    def __init__(self, message: str, *, held: str, erase: str, answer: str) -> None:
        super().__init__(message)
        self.held, self.erase, self.answer = held, erase, answer


class ToolError(HeatsoakError):
    """A drive or a tool such as fio failed or is missing."""

    exit_code = 3


class ShutDownError(ToolError):
    """A drive overheated and no longer responds."""


class RunInterrupted(HeatsoakError):  # noqa: N818 -- not an error
    """The user stopped the run; the recording is kept."""

    exit_code = 130


class LimitReachedError(RunInterrupted):
    """Throughput fell, or the drive is too hot, and the user said to stop then."""

    exit_code = 1


def is_stop(error: BaseException) -> bool:
    """Return whether an error is the user's stop, or was caused by it.

    Python 3.11 wraps one that comes while a class is made in another error.
    """
    return isinstance(error, KeyboardInterrupt) or isinstance(error.__cause__, KeyboardInterrupt)


#: System errors that mean a wrong file name, and so a usage error.
_WRONG_FILE = {
    *(errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.ELOOP),
    *(errno.EACCES, errno.EROFS),
}


def of_os_error(error: OSError) -> HeatsoakError:
    """Return ours for a system error: UsageError for a wrong file name, else ToolError."""
    place = f"{os.fsdecode(error.filename)}: " if error.filename is not None else ""
    kind = UsageError if error.errno in _WRONG_FILE else ToolError
    return kind(f"{place}{error.strerror or error}")


@contextmanager
def saying(what: str, kind: type[HeatsoakError] = ToolError) -> Iterator[None]:
    """Turn a system error into ours, which says `what` failed, and the system's reason."""
    try:
        yield
    except OSError as error:
        raise kind(f"{what}: {error.strerror or error}") from error


def without_prefix(said: str) -> str:
    """Return what a validator of ours says, without the words that pydantic puts before it."""
    return said.replace("Value error, ", "")


def suggestion(word: str, known: Iterable[str], likeness: float = 0.5) -> str:
    """Return ``" (did you mean 'x'?)"`` for the closest known word, or an empty string.

    `likeness` is the minimum of difflib's ratio, 0 to 1.
    """
    near = get_close_matches(word, sorted(known), n=1, cutoff=likeness)
    return f" (did you mean '{near[0]}'?)" if near else ""
