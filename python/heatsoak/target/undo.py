"""Saves an NVMe drive's thresholds to a file before a run changes them, so that they come back.

And where heatsoak keeps what it has to know when it is started again, after a restart too.
"""

import errno
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heatsoak import system, writing
from heatsoak.errors import UsageError
from heatsoak.files import open_regular
from heatsoak.target.base import Note, once_free

STATE = Path("/run/heatsoak")
#: The command that restores what killed runs left changed.
COMMAND = "heatsoak list drives --restore"
#: What is saved, for messages.
WHAT = "TMT1 and TMT2"

#: Maximum file size, far more than is ever written.
_LONGEST = 1 << 20
#: How long to wait for another command that reads the file briefly.
_LOCK_WAITS_S = (0.0, 0.05, 0.2)

_Kelvin = Annotated[int, Field(ge=0, le=0xFFFF)]


class ThresholdsRecord(BaseModel):
    """The contents of a file: drive, controller, thresholds before, and those that were set."""

    model_config = ConfigDict(frozen=True, strict=True)

    serial: str
    number: str = Field(alias="cntlid")
    before: tuple[_Kelvin, _Kelvin] = Field(alias="before_k")
    after: tuple[_Kelvin, _Kelvin] = Field(alias="set_k")


@contextmanager
def taken(path: Path, held: str) -> Iterator[int]:
    """Open and lock a file, which must be empty; it is removed at the end if it still is.

    `held` is the message if another run has it. Raises UsageError if it cannot be written, another
    run has it, or it has contents from a killed run.
    """
    try:
        writing.own_directory(path.parent)
        file = writing.lock_file(path)
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written ({_why(error)}), but what {WHAT} were must be saved before "
            "a change: run as root"
        ) from error
    with ExitStack() as open_:
        open_.callback(os.close, file)
        try:
            writing.require_ours(file)
            lock(file)
        except BlockingIOError:
            raise UsageError(held) from None
        except OSError as error:
            raise UsageError(f"{path}: cannot be used: it {error.strerror}") from None
        if os.fstat(file).st_size:
            raise UsageError(
                f"{path}: has what {WHAT} were before a run that was killed: restore it with "
                f"`{COMMAND}`"
            )
        try:
            yield file
        finally:
            if not os.fstat(file).st_size:
                path.unlink(missing_ok=True)


def lock(file: int) -> None:
    """Take a run's lock on a file; raises BlockingIOError if another run has it."""
    once_free(lambda: system.lock(file), _LOCK_WAITS_S, errno.EWOULDBLOCK)


def still_left(text: str) -> Note:
    """Return the note that something could not be restored, or has not been yet."""
    return Note("warning", text, {"is_left": True})


def left(
    serial: str | None, *, removes: bool = False
) -> Iterator[tuple[Path, ThresholdsRecord | Note]]:
    """Yield each file without a running run, with its contents or a note why they are unknown.

    With `serial`, only those that are known to be of that drive. The file is locked meanwhile; an
    empty one means no change. `removes`: whether a file is removed that was not whole before
    anything was changed.
    """
    try:
        writing.require_ours(STATE)
        paths = sorted(STATE.glob("hctm-*.json"))
    except FileNotFoundError:
        return
    except OSError as error:
        why = f"{STATE}: what killed runs left cannot be trusted: {_why(error)}"
        if serial is None:
            yield STATE, still_left(why)
        return
    for path in paths:
        kept: ThresholdsRecord | Note
        with ExitStack() as open_:
            try:
                file = open_.enter_context(open_regular(path, follow=False, most_bytes=_LONGEST))
                writing.require_ours(file.fileno())
                lock(file.fileno())
                if not (text := file.read()):
                    continue
                kept = ThresholdsRecord.model_validate_json(text)
            except (FileNotFoundError, BlockingIOError):
                continue  # its run has just ended, or is running
            except OSError as error:
                kept = still_left(
                    f"{path}: has {WHAT}, but cannot be used ({_why(error)}): if a run was killed, "
                    f"`{COMMAND}` as root restores it, and so does switching the drive off and on"
                )
            except ValidationError as error:
                kept = _damaged(path, error, remove=removes)
            if serial in (None, None if isinstance(kept, Note) else kept.serial):
                yield path, kept


def _damaged(path: Path, error: ValidationError, *, remove: bool) -> Note:
    if any(one["type"] == "json_invalid" for one in error.errors(include_url=False)):
        # it is synced before anything is changed
        if remove:
            path.unlink(missing_ok=True)
        text = f"{path}: is incomplete; the run that wrote it had not changed anything yet"
        return Note("warning", f"{text}; it was removed" if remove else f"{text} (`{COMMAND}`)")
    return still_left(
        f"{path}: is damaged, so {WHAT} cannot be restored from it: switch the drive off and on, "
        "which restores it, and remove the file"
    )


def _why(error: OSError) -> str:
    """What is wrong, of a file or of the directory that it is in."""
    of_directory = isinstance(error.filename, str) and Path(error.filename).is_dir()
    return f"{error.filename} {error.strerror}" if of_directory else str(error.strerror)


#: Environment variable for another directory.
STATE_VARIABLE = "HEATSOAK_STATE"
#: Where root's is.
ROOTS = Path("/var/lib/heatsoak")


def state_directory() -> Path:
    """Return the directory, which may not be there yet: the one set by the user, or their own."""
    if chosen := os.environ.get(STATE_VARIABLE):
        return Path(chosen)
    if os.geteuid() == 0:
        return ROOTS
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "heatsoak"
