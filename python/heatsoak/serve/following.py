"""Follows a running recording as it is written, once for all its viewers."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from io import BytesIO
from pathlib import Path

import polars as pl
from anyio import CapacityLimiter, to_thread

from heatsoak.analysis.view import RecordingView, StepView
from heatsoak.files import open_regular
from heatsoak.importer import WATCH
from heatsoak.recording import META, Recording, schema_of
from heatsoak.recording.meta import EVENTS, JOURNAL
from heatsoak.report.page.contract import Appended, Page
from heatsoak.report.page.tracks import courses

#: Threads that read and judge: each keeps close to a megabyte.
_READERS = CapacityLimiter(8)
in_thread = partial(to_thread.run_sync, limiter=_READERS)

#: If a journal has grown by more, for example while a laptop slept, the page is fetched again.
_MAX_BYTES = 8 << 20


@dataclass
class News:
    """What is new since the last look.

    Attributes:
        is_new: whether the page must be fetched again: a step has started, or the run has ended.
        is_over: whether nothing more will come.
        unknown: steps and tracks that have samples but are not on the page.
    """

    appended: list[Appended] = field(default_factory=list)
    is_new: bool = False
    is_over: bool = False
    unknown: set[tuple[str, str]] = field(default_factory=set)


class Follower:
    """Reads a journal's new lines and converts them to updates of the page's tracks."""

    def __init__(self, recording: Recording, page: Page) -> None:
        """Follow the only recording of `page` from the current end of its journal.

        Some samples may already be on the page; their times show that.
        """
        self._recording = recording
        self._schema = schema_of(recording.meta.columns)
        self._views = {view.step.name: view for view in RecordingView(recording).views}
        #: Rows of a watch have no step yet: they continue the last load seen.
        self._without_step = recording.meta.protocol.name == WATCH and list(self._views)[-1:]
        self._tracks = {
            (workload.step, track.name): workload.id
            for workload in page.workloads
            for line in workload.lines
            for track in line.tracks
        }
        self._offset = _size(recording.path / JOURNAL)
        self._events = _size(recording.path / EVENTS)

    def look(self) -> News:
        """Return what is new; a deleted recording is over."""
        path = self._recording.path
        if not (path / META).exists():
            return News(is_new=True, is_over=True)
        if not (path / JOURNAL).exists():
            return News(is_new=True, is_over=True)
        events = _size(path / EVENTS)
        news = News(is_new=events != self._events)
        self._events = events
        try:
            frame = self._read(path / JOURNAL)
        except (OSError, pl.exceptions.PolarsError):
            news.is_new = True
            return news
        if frame is None:
            news.is_new = True
        else:
            news.appended = list(self._appended(frame, news.unknown))
        return news

    def _read(self, journal: Path) -> pl.DataFrame | None:
        """The new rows; None if there are too many to send."""
        with open_regular(journal, follow=False) as file:
            file.seek(self._offset)
            text = file.read(_MAX_BYTES + 1)
        whole = text.rfind(b"\n") + 1
        if len(text) > _MAX_BYTES:
            self._offset = _size(journal)
            return None
        self._offset += whole
        if not whole:
            return pl.DataFrame(schema=self._schema)
        read = pl.read_ndjson(BytesIO(text[:whole]), schema=self._schema)
        return read.filter(pl.col("t_s").is_not_null())  # without seals

    def _appended(self, frame: pl.DataFrame, unknown: set[tuple[str, str]]) -> Iterator[Appended]:
        for (name,), rows in frame.group_by("step", maintain_order=True):
            if name is None and self._without_step:
                name = self._without_step[0]
            if name is None:
                continue  # a pause
            known = self._views.get(str(name))
            if known is None:
                unknown.add((str(name), ""))
                continue
            view = StepView(known.step, rows.sort("t_s"), known.start_s, {}, known.course)
            for course in courses(view):
                workload = self._tracks.get((known.step.name, course.name))
                if workload is None:
                    unknown.add((known.step.name, course.name))
                    continue
                yield Appended(
                    workload=workload,
                    recording=0,
                    track=course.name,
                    t=[round(float(t_s), 3) for t_s in course.t_s],
                    v=[float(f"{value:.6g}") for value in course.values],
                )


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


#: How often a running recording is checked.
LOOK_S = 0.5
#: How often a running recording is judged again.
JUDGE_S = 15.0
#: Maximum number of queued events per browser; beyond that it fetches the page again.
_MAX_BEHIND = 240

#: An event's name and data.
ServerEvent = tuple[str, str]
_FETCH: ServerEvent = ("page", "{}")


class Channel:
    """Sends what `look` finds to all listeners, until the recording is over."""

    def __init__(self, look: Callable[[], News], on_end: Callable[["Channel"], None]) -> None:
        """`on_end` is called when nobody listens any more or the recording is over."""
        self._look = look
        self._on_end = on_end
        self._listeners: set[asyncio.Queue[ServerEvent | None]] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(self) -> AsyncIterator[ServerEvent]:
        """Yield events until the recording is over."""
        queue: asyncio.Queue[ServerEvent | None] = asyncio.Queue(_MAX_BEHIND)
        self._listeners.add(queue)
        if self._task is None:
            self._task = asyncio.create_task(self._watch())
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._listeners.discard(queue)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None  # a new listener may just have got this channel
                self._on_end(self)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        judged_s = loop.time()
        is_over = False
        try:
            while not is_over:
                await asyncio.sleep(LOOK_S)
                news = await in_thread(self._look)
                is_over = news.is_over
                if news.appended:
                    self._send(("append", json.dumps([one.model_dump() for one in news.appended])))
                if news.is_new or loop.time() - judged_s > JUDGE_S:
                    judged_s = loop.time()
                    self._send(_FETCH)
        finally:
            self._end()  # on errors too: listeners then ask again and get an answer

    def _send(self, event: ServerEvent) -> None:
        for queue in self._listeners:
            try:
                queue.put_nowait(event)
            except asyncio.QueueFull:
                _empty(queue)
                queue.put_nowait(_FETCH)

    def _end(self) -> None:
        self._on_end(self)
        for queue in self._listeners:
            if queue.full():
                _empty(queue)
                queue.put_nowait(_FETCH)
            queue.put_nowait(None)


def _empty(queue: asyncio.Queue[ServerEvent | None]) -> None:
    while not queue.empty():
        queue.get_nowait()
