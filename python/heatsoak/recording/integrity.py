"""Shows whether a finished recording's files are still what was recorded.

`recording.json` has the SHA-256 of the samples, of the events, and of itself. That shows damage and
mix-ups; it is no signature.
"""

import hashlib
from pathlib import Path

from heatsoak.files import read_regular
from heatsoak.recording.files import MAX_META_BYTES, replace_atomically
from heatsoak.recording.meta import EVENTS, META, PARQUET, RecordingMeta

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
