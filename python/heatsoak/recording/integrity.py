"""What a finished recording says of its own files, so that whoever opens it sees that one changed.

`recording.json` has the SHA-256 of each file that is read again, itself included. That shows damage
and mix-ups; it is no signature.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.files import read_regular
from heatsoak.recording.files import MAX_META_BYTES, replace_atomically
from heatsoak.recording.meta import EVENTS, META, OLDER_CHECKSUM, PARQUET, RecordingMeta

#: How whatever is said of such a recording begins.
CHANGED = "this recording was changed after it was made"
_COVERED = {PARQUET, EVENTS, META}
_KEYS = {*RecordingMeta.model_fields, OLDER_CHECKSUM}


def checksums(directory: Path) -> dict[str, str]:
    """Return the `sha256` of a recording whose samples and events are complete."""
    return {PARQUET: _sha256(directory / PARQUET), EVENTS: _sha256(directory / EVENTS), META: ""}


def write_meta(directory: Path, meta: RecordingMeta) -> None:
    """Write `recording.json`, atomically, with its own checksum if it has those of other files."""
    content = _content(meta)
    if META in meta.sha256:
        # of the file with nothing in the place of this
        own = hashlib.sha256(content).hexdigest()
        content = _content(meta.model_copy(update={"sha256": {**meta.sha256, META: own}}))
    with replace_atomically(directory / META) as partial:
        partial.write_bytes(content)


def changes(directory: Path, meta: RecordingMeta) -> str | None:
    """Return what was changed since the recording in `directory` was made; None if nothing was.

    Nothing is known to be where it was never finished, or an older version did not say. Raises
    UsageError if a file cannot be read.
    """
    return ", ".join(_changes(directory, meta)) or None


def _changes(directory: Path, meta: RecordingMeta) -> Iterator[str]:
    for name in (PARQUET, EVENTS):
        try:
            if name in meta.sha256 and _sha256(directory / name) != meta.sha256[name]:
                yield f"{name} is not what was recorded"
        except FileNotFoundError:
            yield f"{name} is missing"
        except OSError as error:
            raise UsageError(f"{directory / name}: cannot be read: {error.strerror}") from error
    if not _is_as_written(directory / META, meta):
        yield f"{META} is not what was recorded"


def _is_as_written(file: Path, meta: RecordingMeta) -> bool:
    own = meta.sha256.get(META)
    if own is None and meta.status == "running":
        return True
    content = read_regular(file, MAX_META_BYTES)
    if own is not None:
        of_rest = hashlib.sha256(content.replace(own.encode(), b"", 1)).hexdigest()
        return own == of_rest and meta.sha256.keys() == _COVERED
    # older versions wrote neither this nor an unknown key, which a flipped bit makes of its name
    return meta.sha256.keys() <= {PARQUET} and json.loads(content).keys() <= _KEYS


def _content(meta: RecordingMeta) -> bytes:
    return meta.model_dump_json(indent=1).encode() + b"\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
