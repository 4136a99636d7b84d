"""The one door for files that a command writes where its user says.

Each is written completely or not at all. Nothing but a regular file is replaced, and that only when
asked to: never a device or a pipe, what a link points at, what the command reads, or a recording's
own file.
"""

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.files import wrong_kind
from heatsoak.recording.files import (
    made,
    replace_atomically,
    reporting_write_errors,
    require_creatable,
    require_writable,
)
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET, RAW

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
            raise UsageError(
                f"{path}: there is no directory {path.parent}: make it, or name another"
            )
        with reporting_write_errors(path):
            real = Path(os.path.realpath(path))
            if _is_of_a_recording(real):
                raise UsageError(f"{path}: is part of a recording: name another file with -o")
            if path.exists() and (real in read or any(real.is_relative_to(one) for one in logs)):
                raise UsageError(f"{path}: is what is read: name another file with -o")
            if path.exists() and not force:
                raise UsageError(f"{path}: already exists: name another file, or add --force")
        places[real.parent] = path
    for place, path in places.items():
        require_writable(place, path)


def _require_regular(path: Path) -> None:
    """Raise UsageError for whatever is there that is not a regular file."""
    with reporting_write_errors(path):
        if path.is_symlink():
            raise UsageError(f"{path}: is a link: name a file itself with -o")
        if path.exists() and not path.is_file():
            what = wrong_kind(path.stat().st_mode)
            raise UsageError(f"{path}: {what}: name another with -o")


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
