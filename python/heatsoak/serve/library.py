"""Finds what may be shown, the recordings below one directory and nothing else, and makes it.

Pages and answers are cached until something changes.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from heatsoak.analysis import Answer, analyze
from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.files import open_regular
from heatsoak.importer import divided
from heatsoak.output import printable
from heatsoak.recording import META, Recording, meta
from heatsoak.recording.writer import MAX_EVENTS_BYTES, MAX_META_BYTES
from heatsoak.report.page.contract import Page
from heatsoak.report.page.html import Bundle, render
from heatsoak.report.page.make import make_page

#: A running recording not written to for this long was cut off: even in pauses, sensors are polled
#: every ten seconds.
_QUIET_S = 60.0
#: Larger files are not opened. A month of samples at 10 Hz is a compressed gigabyte; a page of more
#: would not fit in memory.
_MAX_BYTES = {
    META: MAX_META_BYTES,
    meta.EVENTS: MAX_EVENTS_BYTES,
    meta.JOURNAL: 2 << 30,
    meta.PARQUET: 2 << 30,
}
#: Depth of directories that are searched; recordings are in the first two or three.
_DEEPEST = 8


@dataclass(frozen=True)
class Entry:
    """A recording that may be shown.

    Attributes:
        name: its directory relative to the library's, with ``/``; ``.`` for that itself.
    """

    name: str
    recording: Recording
    is_running: bool


@dataclass(frozen=True)
class Unread:
    """A directory or recording that cannot be read.

    Attributes:
        name: as in `Entry`.
        why: the reason, one line.
        has_meta: whether only files other than ``recording.json`` are unreadable.
    """

    name: str
    why: str
    has_meta: bool = False


#: Device, inode, change time and size of each file: if they are the same, so is the recording.
FileStamps = tuple[tuple[int, int, int, int] | None, ...]


class Library:
    """The recordings below a directory, searched again for each request.

    A requested name never becomes a path: it is looked up among the names that were found. No link
    is followed.
    """

    def __init__(self, root: Path) -> None:
        """Raises UsageError if `root` is not a directory."""
        if not root.is_dir():
            raise UsageError(f"{root}: is not a directory")
        self.root = root.resolve()
        self._seen: dict[Path, tuple[FileStamps, Entry | Unread]] = {}

    def contents(self) -> tuple[list[Entry], list[Unread]]:
        """Return all recordings, newest first, and the unreadable ones by name."""
        entries, unread = self._found(".")
        return (
            sorted(
                entries, key=lambda entry: entry.recording.meta.started_unix_s or 0.0, reverse=True
            ),
            unread,
        )

    def find(self, name: str) -> tuple[list[Entry], list[Unread]]:
        """Return the recording `name` or all below it, and the unreadable ones, both by name."""
        entries, unread = self._found(name)
        return sorted(entries, key=lambda entry: entry.name), unread

    def _found(self, wanted: str) -> tuple[list[Entry], list[Unread]]:
        entries: list[Entry] = []
        unread: list[Unread] = []
        seen: dict[Path, tuple[FileStamps, Entry | Unread]] = {}
        for path in self._directories(wanted, unread):
            seen[path] = stamp, found = self._look(path)
            if isinstance(found, Entry):
                entries.append(replace(found, is_running=is_running(found.recording)))
            elif stamp[0] is not None:  # otherwise it was just deleted
                unread.append(found)
        # after a full search, forget what no longer exists
        self._seen = seen if wanted == "." else {**self._seen, **seen}
        return entries, sorted(unread, key=lambda one: one.name)

    def _name(self, directory: Path) -> str:
        return printable(directory.relative_to(self.root).as_posix())

    def _directories(self, wanted: str, unread: list[Unread]) -> Iterator[Path]:
        """Directories with a recording, at or below `wanted`; adds unlistable ones to `unread`."""

        def on_error(error: OSError) -> None:
            name = self._name(Path(error.filename))
            if _is_below(name, wanted):
                unread.append(Unread(name, f"cannot be listed: {error.strerror}"))

        for directory, below, files in os.walk(self.root, onerror=on_error):
            path = Path(directory)
            depth = len(path.relative_to(self.root).parts)
            holds = META in files or META in below
            below[:] = sorted(name for name in below if not name.startswith(".") and name != "raw")
            if depth >= _DEEPEST or holds:
                below.clear()
            if holds and _is_below(self._name(path), wanted):
                yield path

    def _look(self, directory: Path) -> tuple[FileStamps, Entry | Unread]:
        """What is in a directory; cached until one of its files changes."""
        stamp = _stamps(directory)
        before = self._seen.get(directory)
        return (
            before if before is not None and before[0] == stamp else (stamp, self._open(directory))
        )

    def _open(self, directory: Path) -> Entry | Unread:
        name = self._name(directory)
        has_meta = False
        try:
            for file, most_bytes in _MAX_BYTES.items():
                if file == META or (directory / file).is_symlink() or (directory / file).exists():
                    open_regular(directory / file, follow=False, most_bytes=most_bytes).close()
            recording = Recording.open(directory)
            has_meta = True
            if (directory / meta.PARQUET).exists():
                with open_regular(directory / meta.PARQUET, follow=False) as samples:
                    pl.read_parquet_schema(samples)
            return Entry(name, divided(recording), is_running=False)
        except pl.exceptions.PolarsError as error:
            message = " ".join(str(error).split())
            return Unread(name, printable(f"{meta.PARQUET}: is damaged: {message}"), has_meta)
        except OSError as error:
            file_name = Path(error.filename or directory).name
            return Unread(name, printable(f"{file_name}: {error.strerror or error}"), has_meta)
        except Exception as error:  # one bad directory must not hide the others
            message = " ".join(str(error).removeprefix(f"{directory}/").split())
            return Unread(name, printable(message or type(error).__name__), has_meta)


def _stamps(directory: Path) -> FileStamps:
    return tuple(
        _stamp(directory / name) for name in (META, meta.JOURNAL, meta.PARQUET, meta.EVENTS)
    )


def _stamp(file: Path) -> tuple[int, int, int, int] | None:
    try:
        status = file.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns, status.st_size


def is_running(recording: Recording) -> bool:
    """Return whether the recording is being written now."""
    if not recording.was_cut:
        return False
    try:
        written_unix_s = (recording.path / meta.JOURNAL).stat().st_mtime
    except OSError:
        return False
    return time.time() - written_unix_s < _QUIET_S


def _is_below(name: str, wanted: str) -> bool:
    return wanted in (".", name) or name.startswith(f"{wanted}/")


#: Number of cached pages: people look at a few.
_KEPT = 8

#: Which recordings a page was made from, and what they were then.
PageStamp = tuple[tuple[str, bool, FileStamps], ...]


@dataclass(frozen=True)
class RenderedPage:
    """A page, as HTML and as the JSON in it."""

    page: Page
    html: str
    json: str


@dataclass(frozen=True)
class NoAnswer:
    """A recording that cannot be judged; `why` is one line."""

    why: str


class Shelf:
    """A cache of pages and answers, which makes one at a time, in one thread.

    Many threads would each keep memory that such work leaves behind.
    """

    def __init__(self) -> None:
        """Raises ToolError if the page's scripts were not built."""
        self._bundle = Bundle.load()
        self._maker = ThreadPoolExecutor(1)
        self._kept: OrderedDict[PageStamp, RenderedPage] = OrderedDict()
        self._answers: dict[str, tuple[PageStamp, Answer | NoAnswer]] = {}

    def answers(self, entries: Sequence[Entry]) -> dict[str, Answer | NoAnswer | None]:
        """Return the answer of each recording on its own, by its name; None if not judged yet.

        Those of all other recordings are forgotten.
        """
        known = {entry.name: self._answers.get(entry.name) for entry in entries}
        for name in list(self._answers):
            if name not in known:
                self._answers.pop(name, None)  # another request may have been first
        return {
            entry.name: kept[1]
            if (kept := known[entry.name]) and kept[0] == _page_stamp([entry])
            else None
            for entry in entries
        }

    def judge(self, entry: Entry) -> None:
        """Judge a recording, so that :meth:`answers` has what it shows."""
        self._maker.submit(self._judge, entry).result()

    def _judge(self, entry: Entry) -> None:
        stamp = _page_stamp([entry])
        try:
            answer: Answer | NoAnswer = analyze([entry.recording]).answer
        except BaseException as error:  # a panic in polars is not an Exception
            answer = NoAnswer(" ".join(str(error).split()) or type(error).__name__)
        self._answers[entry.name] = (stamp, answer)

    def show(self, entries: Sequence[Entry]) -> RenderedPage:
        """Return the page of the given recordings.

        Of several, those that are damaged or were just deleted are left out; raises UsageError if
        none is left.
        """
        return self._maker.submit(self._show, entries).result()

    def _show(self, entries: Sequence[Entry]) -> RenderedPage:
        stamp = _page_stamp(entries)
        shown = self._kept.pop(stamp, None) or self._make_of_readable(entries)
        self._kept[stamp] = shown
        while len(self._kept) > _KEPT:
            self._kept.popitem(last=False)
        return shown

    def _make_of_readable(self, entries: Sequence[Entry]) -> RenderedPage:
        try:
            return self._make(entries)
        except HeatsoakError:
            readable = [entry for entry in entries if self._can_be_shown(entry)]
            if len(entries) == 1 or not readable:
                raise
            return self._make(readable)

    def _can_be_shown(self, entry: Entry) -> bool:
        try:
            entry.recording.require_unchanged()
            analyze([entry.recording])
        except Exception:  # one bad recording must not hide the others
            return False
        return True

    def _make(self, entries: Sequence[Entry]) -> RenderedPage:
        recordings = [entry.recording for entry in entries]
        try:
            made = make_page(recordings, analyze(recordings))
        except OSError as error:
            raise UsageError(f"{error.filename}: {error.strerror}") from error
        except HeatsoakError:
            raise
        except Exception as error:
            message = " ".join(str(error).split())
            raise UsageError(f"cannot be shown: {type(error).__name__}: {message}") from error
        page = made.model_copy(update={"is_live": any(entry.is_running for entry in entries)})
        return RenderedPage(
            page, render(page, self._bundle, is_served=True), page.model_dump_json()
        )


def _page_stamp(entries: Sequence[Entry]) -> PageStamp:
    return tuple((one.name, one.is_running, _stamps(one.recording.path)) for one in entries)
