"""Whether a recording's files are what was recorded, and whether a file may be written by a user.

`recording.json` has the SHA-256 of the samples, of the events, and of itself; before there is one,
a journal has that of each block of its lines. That shows damage and mix-ups; it is no signature.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

from heatsoak import errors, writing
from heatsoak.files import open_regular, read_regular
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET, RAW, RecordingMeta

#: Hundreds of steps on a machine with hundreds of sensors take half a megabyte.
MAX_META_BYTES = 16 << 20
#: Ten events of 150 bytes per minute for a month.
MAX_EVENTS_BYTES = 64 << 20

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
    writing.replace_file(directory / META, _content(meta, own))


class JournalSeal:
    """Seals a journal: a line after each block has the SHA-256 of the seal before and the block."""

    _PREFIX = b'{"sha256":"'
    _BLOCK_BYTES = 8 << 10

    def __init__(self, seal: bytes = b"") -> None:
        self._block, self._bytes = hashlib.sha256(seal), 0

    @classmethod
    def going_on(cls, path: Path) -> "JournalSeal":
        """Return what seals a journal that has no seals yet, with what is written to it next."""
        going = cls()
        with path.open("rb") as file:
            going._block = hashlib.file_digest(file, hashlib.sha256)
            going._bytes = file.tell()
        return going

    def after(self, lines: bytes) -> tuple[bytes, "JournalSeal"]:
        """Return what is written for more lines, with a seal if it is time for one, and what
        seals what comes then."""
        following = JournalSeal()
        following._block, following._bytes = self._block.copy(), self._bytes + len(lines)
        following._block.update(lines)
        if following._bytes < self._BLOCK_BYTES:
            return lines, following
        seal = following._block.hexdigest().encode()
        return lines + self._PREFIX + seal + b'"}\n', JournalSeal(seal)

    @classmethod
    def is_broken(cls, path: Path) -> bool:
        """Whether a line was changed after it was written; unknown of what a power loss damaged.

        Raises OSError.
        """
        block, is_damaged = hashlib.sha256(), False
        with open_regular(path) as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break  # cut off, or being written
                if line.startswith(cls._PREFIX):
                    seal = line[len(cls._PREFIX) :].partition(b'"')[0]
                    if not is_damaged and block.hexdigest().encode() != seal:
                        return True
                    block, is_damaged = hashlib.sha256(seal), False
                else:
                    block.update(line)
                    is_damaged |= not line.startswith(b"{") or b"\0" in line
        return False


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
    if not (directory / PARQUET).exists() and JournalSeal.is_broken(directory / JOURNAL):
        said.append(f"{JOURNAL} is not what was recorded")
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


#: Files that no output replaces, even when asked to.
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
        if writing.is_stream(path):
            continue
        writing.require_creatable(path)
        writing.require_regular(path)
        if not (makes_directories or path.parent.is_dir()):
            raise errors.UsageError(
                f"{path}: there is no directory {path.parent}: make it, or name another"
            )
        with writing.reporting_write_errors(path):
            real = Path(os.path.realpath(path))
            if _is_of_a_recording(real):
                raise errors.UsageError(
                    f"{path}: is part of a recording: name another file with -o"
                )
            if path.exists() and (real in read or any(real.is_relative_to(one) for one in logs)):
                raise errors.UsageError(f"{path}: is what is read: name another file with -o")
            if path.exists() and not force:
                raise writing.already_there(path)
        places[real.parent] = path
    for place, path in places.items():
        writing.require_writable(place, path)


def _is_of_a_recording(real: Path) -> bool:
    if real.name in _OWN and (real.parent / META).exists():
        return True
    return any(place.name == RAW and (place.parent / META).exists() for place in real.parents)
