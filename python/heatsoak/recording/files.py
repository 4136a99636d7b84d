"""Writing files, completely or not at all: a recording's own, and those that a user names.

`recording.json` has the SHA-256 of the samples, of the events, and of itself. That shows damage and
mix-ups; it is no signature.
"""

import errno
import hashlib
import os
import re
import shutil
import stat
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import polars as pl

from heatsoak import errors, system
from heatsoak.files import read_regular, wrong_kind
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET, PARTIAL, RAW, RecordingMeta

#: Hundreds of steps on a machine with hundreds of sensors take half a megabyte.
MAX_META_BYTES = 16 << 20
#: Ten events of 150 bytes per minute for a month.
MAX_EVENTS_BYTES = 64 << 20


#: Enough for the last events and another `recording.json` when the disk is full.
RESERVE_BYTES = 64 << 10
_OS_ERROR = re.compile(r"os error (\d+)")


def require_creatable(path: Path) -> None:
    """Raise UsageError if `path` cannot be created: it is below a file, or its name is too long."""
    try:
        # each is asked once: others may make and remove it meanwhile
        for parent in path.parents if not os.path.lexists(path) else ():
            with suppress(FileNotFoundError, NotADirectoryError):
                if stat.S_ISLNK(mode := parent.lstat().st_mode) and parent.exists():
                    mode = parent.stat().st_mode
                if not stat.S_ISDIR(mode):
                    raise errors.UsageError(
                        f"{path}: {parent} is a file, not a directory: name another with -o"
                    )
                break
        path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise errors.UsageError(f"{path}: cannot be created: {error.strerror}") from error


def require_writable(directory: Path, named: Path | None = None) -> None:
    """Raise UsageError if nothing can be written in `directory`, or where it would be created.

    `named` is what the user named, where that is a file in it.

    Only trying tells: permissions say nothing of a file system that is read-only, or of a user who
    may write anywhere. A full disk is not complained of here.
    """
    nearest = next((place for place in (directory, *directory.parents) if place.exists()), Path())
    try:
        Path(tempfile.mkdtemp(prefix=".heatsoak-", dir=nearest)).rmdir()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            reason = os.strerror(error.errno) if error.errno else str(error)
            named = named or directory
            place = "" if nearest == named else f"in {nearest.absolute()}: "
            raise errors.UsageError(
                f"{named}: cannot be written: {place}{reason}: name another place with -o"
            ) from None


def require_new(directory: Path, otherwise: str = "") -> None:
    """Raise UsageError where `directory` cannot be made or written, or holds something already.

    `otherwise` adds a way out.
    """
    require_creatable(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise errors.UsageError(
            f"{directory}: already exists: name a new directory with -o{otherwise}"
        )
    require_writable(directory)


@contextmanager
def replace_atomically(path: Path, partial: Path | None = None) -> Iterator[Path]:
    """Yield a path to write to, `partial` if given, then sync that file and move it to `path`.

    Raises OSError also for what polars could not write; nothing is left then.
    """
    partial = partial or path.with_name(path.name + PARTIAL)
    try:
        with _as_system_error(path.parent):  # a full disk is seen while the file is still there
            yield partial
        with partial.open("rb+") as file:
            os.fsync(file.fileno())
        system.replace(partial, path)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)  # it only takes up space
        raise
    system.sync_directory(path.parent)


_making_lock = threading.RLock()
#: How many callers are inside :func:`made` of a directory that was new to them.
_being_made: Counter[Path] = Counter()


@contextmanager
def made(directory: Path) -> Iterator[None]:
    """Make a directory and its parents; with an error, those that were made go again, if empty.

    Of several threads that share a parent and all fail, the last removes it.
    """
    with _making_lock:
        places = (directory, *directory.parents)
        new = [place for place in places if place in _being_made or not place.exists()]
        _being_made.update(new)
    failed = True
    try:
        with _making_lock:  # nobody removes a parent meanwhile
            directory.mkdir(parents=True, exist_ok=True)
        yield
        failed = False
    finally:
        with _making_lock:
            _being_made.subtract(new)
            for place in new:
                if not _being_made[place]:
                    del _being_made[place]
                if failed:
                    with suppress(OSError):
                        place.rmdir()


@contextmanager
def making(directory: Path) -> Iterator[Path]:
    """Yield a directory to fill, which becomes `directory` at the end, or goes with an error.

    `directory` must be new or empty; see :func:`require_new`.
    """
    partial = directory.with_name(f".{uuid.uuid4().hex}{PARTIAL}")
    with ExitStack() as parents:
        with reporting_write_errors(directory):
            parents.enter_context(made(directory.parent))
        try:
            with reporting_write_errors(directory):
                partial.mkdir()
            yield partial
            with reporting_write_errors(directory):
                if directory.exists():
                    directory.rmdir()
                system.replace(partial, directory)
                system.sync_directory(directory.parent)
        except BaseException as error:
            shutil.rmtree(partial, ignore_errors=True)
            if isinstance(error, errors.HeatsoakError):  # by the name that the user gave
                raise type(error)(str(error).replace(str(partial), str(directory))) from error
            raise


def reserve(path: Path) -> None:
    """Reserve disk space with a file at `path`; removing it releases the space."""
    with path.open("wb") as file:
        if not system.allocate(file.fileno(), RESERVE_BYTES):
            file.write(bytes(RESERVE_BYTES))


@contextmanager
def _as_system_error(directory: Path | None = None) -> Iterator[None]:
    """Turn polars' errors into an OSError as the system would raise it, without a number else.

    Polars' errors have the system's number in their message, and for a full disk may only say that
    the file in `directory` is broken.
    """
    try:
        yield
    except (pl.exceptions.PolarsError, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        reported = _OS_ERROR.search(str(error))
        number = system.error_number(int(reported[1])) if reported else None
        if directory is not None and shutil.disk_usage(directory).free < RESERVE_BYTES:
            number = errno.ENOSPC
        if number is not None:
            raise OSError(number, os.strerror(number)) from error
        raise OSError(str(error)) from error


@contextmanager
def reporting_write_errors(place: Path | str) -> Iterator[None]:
    """Turn errors of the system or polars into one line about what is written.

    Raises what :func:`write_error` returns, and BrokenPipeError if the reader has gone.
    """
    try:
        with _as_system_error():
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise write_error(place, error) from error


def write_error(place: Path | str, error: OSError) -> errors.HeatsoakError:
    """Return the error for a failed write of `place`, or for damaged samples that were its source.

    A ToolError with the system's message, or a UsageError.
    """
    if error.errno is None and isinstance(error.__cause__, pl.exceptions.PolarsError):
        return errors.UsageError(
            f"the samples for {place} are damaged: {str(error).splitlines()[0]}"
        )
    message = f"{place}: cannot be written: {error.strerror or error}"
    if isinstance(place, Path) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        message += ": free some space there"
    return errors.ToolError(message)


# --- whether a finished recording's files are still what was recorded ----------------------------

_KEYS = {PARQUET: "samples_sha256", EVENTS: "events_sha256"}
#: The checksums of a recording that goes on.
NO_CHECKSUMS = dict.fromkeys((*_KEYS.values(), "meta_sha256"))


def checksums(directory: Path) -> dict[str, str | None]:
    """Return those of complete samples and events, as `recording.json` has them."""
    return {key: _sha256(directory / name) for name, key in _KEYS.items()}


def write_meta(directory: Path, meta: RecordingMeta) -> None:
    """Write `recording.json`, atomically, with its own checksum if it has those of other files."""
    ends = meta.events_sha256 is not None
    own = hashlib.sha256(_content(meta, "")).hexdigest() if ends else None
    with replace_atomically(directory / META) as partial:
        partial.write_bytes(_content(meta, own))


def changes_of(directory: Path, meta: RecordingMeta) -> str | None:
    """Say that the recording in `directory` was changed after it was made, and what; else None.

    Nothing is known to be where it did not end, or an older version did not say. Raises OSError if
    a file cannot be read.
    """
    said = []
    for name, key in _KEYS.items():
        expected = getattr(meta, key)
        if expected is not None and not (directory / name).exists():
            said.append(f"{name} is missing")
        elif expected is not None and _sha256(directory / name) != expected:
            said.append(f"{name} is not what was recorded")
    own = meta.meta_sha256
    if own is not None or meta.events_sha256 is not None:
        content = read_regular(directory / META, MAX_META_BYTES)
        of_rest = content if own is None else content.replace(own.encode(), b"", 1)
        if hashlib.sha256(of_rest).hexdigest() != own:
            said.append(f"{META} is not what was recorded")
    return f"this recording was changed after it was made: {', '.join(said)}" if said else None


def _content(meta: RecordingMeta, own: str | None) -> bytes:
    """`recording.json`; its own checksum is of the file with nothing in that one's place."""
    whole = meta.model_copy(update={"meta_sha256": own})
    return whole.model_dump_json(indent=1).encode() + b"\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- the one door for files that a command writes where its user says ----------------------------
# Nothing but a regular file is replaced, and that only when asked to: never a device or a pipe,
# what a link points at, what the command reads, or a recording's own file.

_OWN = {META, JOURNAL, PARQUET, EVENTS}


def check_free(
    paths: Iterable[Path],
    *,
    force: bool,
    inputs: Iterable[Path] = (),
    makes_directories: bool = False,
) -> None:
    """Raise UsageError, before anything is written, if a path cannot or must not be written.

    With `force`, a regular file that is there may be replaced, unless it is a recording's own or
    one of the `inputs`: files that the command reads, or directories of logs. The directory of a
    file has to be there, unless the command `makes_directories`: a misspelt one is no other's.
    """
    read = [Path(os.path.realpath(path)) for path in inputs]
    logs = [path for path in read if path.is_dir() and next(path.rglob(META), None) is None]
    places: dict[Path, Path] = {}
    for path in paths:
        require_creatable(path)
        _require_regular(path)
        if not (makes_directories or path.parent.is_dir()):
            raise errors.UsageError(
                f"{path}: there is no directory {path.parent}: make it, or name another"
            )
        with reporting_write_errors(path):
            real = Path(os.path.realpath(path))
            if _is_of_a_recording(real):
                raise errors.UsageError(
                    f"{path}: is part of a recording: name another file with -o"
                )
            if path.exists() and (real in read or any(real.is_relative_to(one) for one in logs)):
                raise errors.UsageError(f"{path}: is what is read: name another file with -o")
            if path.exists() and not force:
                raise errors.UsageError(
                    f"{path}: already exists: name another file, or add --force"
                )
        places[real.parent] = path
    for place, path in places.items():
        require_writable(place, path)


def _require_regular(path: Path) -> None:
    """Raise UsageError for whatever is there that is not a regular file."""
    with reporting_write_errors(path):
        if path.is_symlink():
            raise errors.UsageError(f"{path}: is a link: name a file itself with -o")
        if path.exists() and not path.is_file():
            what = wrong_kind(path.stat().st_mode)
            raise errors.UsageError(f"{path}: {what}: name another with -o")


def _is_of_a_recording(real: Path) -> bool:
    if real.name in _OWN and (real.parent / META).exists():
        return True
    return any(place.name == RAW and (place.parent / META).exists() for place in real.parents)


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a file to write, which replaces `path` once it is complete; see :func:`check_free`.

    Creates directories as needed. Raises ToolError if it cannot be written.
    """
    _require_regular(path)
    with reporting_write_errors(path), made(path.parent):
        partial = path.with_name(f".{uuid.uuid4().hex}.partial")
        with replace_atomically(path, partial):
            yield partial


def write_output(path: Path, text: str) -> None:
    """Write a text file; raises as :func:`replacing` does."""
    with replacing(path) as partial:
        partial.write_text(text, "utf-8", newline="\n")
