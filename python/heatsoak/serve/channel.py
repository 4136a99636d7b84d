"""One watcher for each page that somebody looks at, however many they are."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable

from starlette.concurrency import run_in_threadpool

from heatsoak.serve.following import News

#: How often a running recording is looked at.
LOOK_S = 0.5
#: How often the verdict of a running recording is asked for again.
JUDGE_S = 15.0
#: Events that a browser may be behind; then it fetches the page anew.
_MOST_BEHIND = 240

#: An event's name and what it carries.
Event = tuple[str, str]
_FETCH: Event = ("page", "{}")


class Channel:
    """Tells all who listen what `look` finds, until that is over."""

    def __init__(self, look: Callable[[], News], on_end: Callable[["Channel"], None]) -> None:
        """Call `on_end` once nobody listens any more, or all is over."""
        self._look = look
        self._on_end = on_end
        self._listeners: set[asyncio.Queue[Event | None]] = set()
        self._task: asyncio.Task[None] | None = None

    async def listen(self) -> AsyncIterator[Event]:
        """Yield events until the recording is over."""
        queue: asyncio.Queue[Event | None] = asyncio.Queue(_MOST_BEHIND)
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
                self._task = None  # somebody may just have been given this channel
                self._on_end(self)

    async def _watch(self) -> None:
        loop = asyncio.get_running_loop()
        judged_s = loop.time()
        is_over = False
        try:
            while not is_over:
                await asyncio.sleep(LOOK_S)
                news = await run_in_threadpool(self._look)
                is_over = news.is_over
                if news.appended:
                    self._tell(("append", json.dumps([one.model_dump() for one in news.appended])))
                if news.is_new or loop.time() - judged_s > JUDGE_S:
                    judged_s = loop.time()
                    self._tell(_FETCH)
        finally:
            self._end()  # whatever ended it: who listens asks again, and is told

    def _tell(self, event: Event) -> None:
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


def _empty(queue: asyncio.Queue[Event | None]) -> None:
    while not queue.empty():
        queue.get_nowait()
