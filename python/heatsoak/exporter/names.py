"""Formats by file name, and unique and safe names for recordings, their files and conditions."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from itertools import count
from pathlib import Path

from heatsoak.errors import UsageError
from heatsoak.recording import Recording
from heatsoak.recording.bundle import SUFFIX


class ExportFormat(StrEnum):
    """A format to export to."""

    CSV = "csv"
    PARQUET = "parquet"
    FIO_PLOT = "fio-plot"
    OPENMETRICS = "openmetrics"
    BUNDLE = "bundle"


#: The suffix of each format's files in a directory.
SUFFIXES = {
    ExportFormat.CSV: ".csv",
    ExportFormat.PARQUET: ".parquet",
    ExportFormat.OPENMETRICS: ".om",
    ExportFormat.BUNDLE: SUFFIX,
}
_BY_SUFFIX = (ExportFormat.CSV, ExportFormat.PARQUET, ExportFormat.BUNDLE)
STANDARD_OUTPUT = "-"


def kind_of(to: str) -> ExportFormat:
    """Return the format for the suffix of `to`; raises UsageError for an unknown suffix."""
    kind = next((kind for kind in _BY_SUFFIX if to.lower().endswith(SUFFIXES[kind])), None)
    if kind is None:
        raise UsageError(
            f"-o {to}: the suffix does not say the format: add --as {', '.join(ExportFormat)}"
        )
    return kind


def is_directory(to: str, kind: ExportFormat) -> bool:
    """Whether `to` gets one file per recording instead of one for all.

    True if it is a directory, ends in a slash, or has no suffix and does not exist.
    """
    if to == STANDARD_OUTPUT:
        return False
    path = Path(to)
    if kind is ExportFormat.FIO_PLOT or to.endswith("/") or path.is_dir():
        return True
    return not path.suffix and not path.exists()


#: Maximum bytes of a file name, leaving some of the usual 255 for what is appended.
_LONGEST = 150


def file_name(text: str) -> str:
    """Return `text` as a file name: letters, digits, ``._+=@-``, never hidden or empty."""
    name = re.sub(r"[^\w.+=@-]+", "_", unicodedata.normalize("NFC", text)).strip("._")
    return name.encode()[:_LONGEST].decode(errors="ignore") or "unnamed"


def unused(name: str, taken: Collection[str], joint: str = "-") -> str:
    """Return `name`, with a number appended if it is taken (ignoring case)."""
    seen = {other.casefold() for other in taken}
    numbered = (f"{name}{joint}{number}" for number in count(2))
    return (
        name
        if name.casefold() not in seen
        else next(n for n in numbered if n.casefold() not in seen)
    )


def recording_names(recordings: Sequence[Recording]) -> list[str]:
    """Return a unique name for each: its directory's, with as much of its path as necessary."""
    paths = [recording.path.resolve() for recording in recordings]
    names: list[str] = []
    for path in paths:
        others = [other for other in paths if other != path]
        names.append(unused(_shortest(path, others), names))
    return names


def _shortest(path: Path, others: Iterable[Path]) -> str:
    """Return the shortest tail of `path` that no other (different) path has."""
    parts = path.parts[1:] or path.parts
    whole = _tail(parts, len(parts)).casefold()
    tails = [other.parts[1:] for other in others]
    tails = [tail for tail in tails if _tail(tail, len(tail)).casefold() != whole]
    for length in range(1, len(parts)):
        name = _tail(parts, length)
        if all(_tail(tail, length).casefold() != name.casefold() for tail in tails):
            return name
    return _tail(parts, len(parts))


def _tail(parts: Sequence[str], length: int) -> str:
    return file_name("-".join(parts[-length:]))


def condition_names(recordings: Iterable[Recording], taken: Collection[str]) -> dict[str, str]:
    """Return condition -> column for every condition of any recording.

    A condition with the name of one of the columns `taken` is prefixed with ``condition.``.
    """
    keys = dict.fromkeys(key for recording in recordings for key in recording.meta.conditions)
    names: dict[str, str] = {}
    for key in keys:
        wanted = f"condition.{key}" if key in taken else key
        names[key] = unused(wanted, [*taken, *names.values()])
    return names
