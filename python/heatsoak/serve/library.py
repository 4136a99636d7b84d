"""What may be shown: the recordings that lie below one directory, and nothing else."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from heatsoak.errors import UsageError
from heatsoak.importer import divided
from heatsoak.recording import META, Recording
from heatsoak.recording.layout import EVENTS, JOURNAL, PARQUET
from heatsoak.units import format_path

#: A running recording that was not written to for so long was cut: in pauses, sensors are polled
#: every ten seconds.
_QUIET_S = 60.0
#: Directories below each other; recordings lie in the first two or three.
_DEEPEST = 8


@dataclass(frozen=True)
class Entry:
    """A recording that may be shown.

    Attributes:
        name: its directory, seen from the library's, with ``/``; ``.`` for the library's own.
    """

    name: str
    recording: Recording
    is_running: bool


class Library:
    """The recordings below a directory, looked for anew each time.

    A name is never made into a path: it is looked up among those that were found. What a link
    leads out of the directory is not there.
    """

    def __init__(self, root: Path) -> None:
        """Raises UsageError where `root` is no directory."""
        if not root.is_dir():
            raise UsageError(f"{root}: is not a directory")
        self.root = root.resolve()

    def entries(self) -> list[Entry]:
        """Return all recordings that can be read, newest first."""
        found = [entry for path in self._directories() if (entry := self._entry(path)) is not None]
        return sorted(
            found, key=lambda entry: entry.recording.meta.started_unix_s or 0.0, reverse=True
        )

    def find(self, name: str) -> list[Entry]:
        """Return the recording of that name, or all below it, by name; empty where none is."""
        wanted = [path for path in self._directories() if _is_below(self._name(path), name)]
        found = [entry for path in wanted if (entry := self._entry(path)) is not None]
        return sorted(found, key=lambda entry: entry.name)

    def _name(self, directory: Path) -> str:
        return format_path(PurePosixPath(directory.relative_to(self.root)))

    def _directories(self) -> Iterator[Path]:
        """Directories with a recording, without following links out of what is shown."""
        for directory, below, files in os.walk(self.root):
            path = Path(directory)
            depth = len(path.relative_to(self.root).parts)
            below[:] = sorted(name for name in below if not name.startswith(".") and name != "raw")
            if depth >= _DEEPEST:
                below.clear()
            if META in files:
                below.clear()
                yield path

    def _entry(self, directory: Path) -> Entry | None:
        files = [directory / name for name in (META, JOURNAL, PARQUET, EVENTS)]
        if not all(self._is_inside(file) for file in files):
            return None
        try:
            recording = divided(Recording.open(directory))
        except UsageError:
            return None  # half written, or gone meanwhile
        return Entry(self._name(directory), recording, is_running(recording))

    def _is_inside(self, file: Path) -> bool:
        try:
            return file.resolve().is_relative_to(self.root)
        except (OSError, RuntimeError):
            return False  # a link onto itself


def is_running(recording: Recording) -> bool:
    """Return whether somebody writes the recording now."""
    if not recording.was_cut:
        return False
    try:
        written_unix_s = (recording.path / JOURNAL).stat().st_mtime
    except OSError:
        return False
    return time.time() - written_unix_s < _QUIET_S


def _is_below(name: str, wanted: str) -> bool:
    return wanted in (".", name) or name.startswith(f"{wanted}/")
