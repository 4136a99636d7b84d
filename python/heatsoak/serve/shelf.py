"""Makes the pages and answers of recordings, and caches them until something changes."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from heatsoak.analysis import Answer, analyze
from heatsoak.errors import HeatsoakError, UsageError
from heatsoak.recording import META
from heatsoak.recording.meta import EVENTS, JOURNAL, PARQUET
from heatsoak.report.page.contract import Page
from heatsoak.report.page.html import Bundle, render
from heatsoak.report.page.make import make_page
from heatsoak.serve.library import Entry

#: Number of cached pages: people look at a few.
_KEPT = 8

#: Name, change time and size of each file that a page was made from.
PageStamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Shown:
    """A page, as HTML and as the JSON in it."""

    page: Page
    html: str
    json: str


@dataclass(frozen=True)
class NoAnswer:
    """A recording that cannot be judged; `why` is one line."""

    why: str


class Shelf:
    """A cache of pages and answers, which makes one at a time."""

    def __init__(self) -> None:
        """Raises ToolError if the page's scripts were not built."""
        self._bundle = Bundle.load()
        self._lock = threading.Lock()
        self._kept: OrderedDict[PageStamp, Shown] = OrderedDict()
        self._answers: dict[str, tuple[PageStamp, Answer | NoAnswer]] = {}

    def answers(self, entries: Sequence[Entry]) -> dict[str, Answer | NoAnswer | None]:
        """Return the answer of each recording on its own, by its name; None if not judged yet.

        Those of all other recordings are forgotten.
        """
        known = {entry.name: self._answers.get(entry.name) for entry in entries}
        for name in list(self._answers):
            if name not in known:
                del self._answers[name]
        return {
            entry.name: kept[1]
            if (kept := known[entry.name]) and kept[0] == _stamp([entry])
            else None
            for entry in entries
        }

    def judge(self, entry: Entry) -> None:
        """Judge a recording, so that :meth:`answers` has what it shows."""
        stamp = _stamp([entry])
        with self._lock:
            try:
                answer: Answer | NoAnswer = analyze([entry.recording]).answer
            except BaseException as error:  # a panic in polars is not an Exception
                answer = NoAnswer(" ".join(str(error).split()) or type(error).__name__)
            self._answers[entry.name] = (stamp, answer)

    def show(self, entries: Sequence[Entry]) -> Shown:
        """Return the page of the given recordings.

        Of several, those that are damaged or were just deleted are left out; raises UsageError if
        none is left.
        """
        stamp = _stamp(entries)
        with self._lock:
            shown = self._kept.pop(stamp, None) or self._make_of_readable(entries)
            self._kept[stamp] = shown
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return shown

    def _make_of_readable(self, entries: Sequence[Entry]) -> Shown:
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

    def _make(self, entries: Sequence[Entry]) -> Shown:
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
        return Shown(page, render(page, self._bundle, is_served=True), page.model_dump_json())


def _stamp(entries: Sequence[Entry]) -> PageStamp:
    found = []
    for entry in entries:
        for name in (META, JOURNAL, PARQUET, EVENTS):
            file: Path = entry.recording.path / name
            try:
                status = file.stat()
            except OSError:
                continue
            found.append((str(file), status.st_mtime_ns, status.st_size))
        found.append((entry.name, int(entry.is_running), 0))
    return tuple(found)
