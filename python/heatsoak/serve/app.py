"""Answers requests: reads only, of this machine only, of one directory only."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from heatsoak.errors import HeatsoakError
from heatsoak.output import printable
from heatsoak.serve.following import Channel, Follower, News
from heatsoak.serve.library import Entry, Library
from heatsoak.serve.listing import MOST_TOGETHER, listing
from heatsoak.serve.shelf import Shelf

#: What a browser may call this machine; whatever else it says, a page elsewhere sent it here.
_HOSTS = ("127.0.0.1", "localhost")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


def make_app(library: Library, shelf: Shelf) -> Starlette:
    """Return the application that shows `library`."""
    pages = _Pages(library, shelf)
    return Starlette(
        routes=[
            Route("/", pages.contents),
            Route("/r/", pages.page),
            Route("/r/page.json", pages.json),
            Route("/r/events", pages.events),
            Route("/r/{name:path}/page.json", pages.json),
            Route("/r/{name:path}/events", pages.events),
            Route("/r/{name:path}/", pages.page),
        ],
        middleware=[
            Middleware(_Headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=list(_HOSTS), www_redirect=False),
        ],
        exception_handlers={HeatsoakError: _told, 404: _missing},
    )


@dataclass
class _Pages:
    library: Library
    shelf: Shelf
    channels: dict[str, Channel] = field(default_factory=dict)

    async def contents(self, _: Request) -> Response:
        entries, unread = await run_in_threadpool(self.library.contents)
        return HTMLResponse(listing(entries, unread, str(self.library.root)))

    async def page(self, request: Request) -> Response:
        entries = await self._entries(request)
        if isinstance(entries, Response):
            return entries
        shown = await run_in_threadpool(self.shelf.show, entries)
        return HTMLResponse(shown.html)

    async def json(self, request: Request) -> Response:
        entries = await self._entries(request)
        if isinstance(entries, Response):
            return entries
        shown = await run_in_threadpool(self.shelf.show, entries)
        return Response(shown.json, media_type="application/json")

    async def events(self, request: Request) -> Response:
        name = _name(request)
        channel = self.channels.get(name)
        if channel is None:
            entries = await self._entries(request)
            if isinstance(entries, Response):
                return entries
            if not any(entry.is_running for entry in entries):
                return Response(status_code=204)  # so that the browser does not ask again
            look = await run_in_threadpool(self._looker, name, entries)
            channel = self.channels.setdefault(name, Channel(look, partial(self._close, name)))
        return EventSourceResponse(_sent(channel))

    def _close(self, name: str, channel: Channel) -> None:
        if self.channels.get(name) is channel:
            del self.channels[name]

    async def _entries(self, request: Request) -> "list[Entry] | Response":
        entries, unread = await run_in_threadpool(self.library.find, _name(request))
        if not entries and unread:
            told = "\n".join(f"{one.name}: {one.why}" for one in unread)
            return PlainTextResponse(f"{told}\n", 500 if any(u.has_meta for u in unread) else 404)
        if not entries:
            return _missing(request, None)
        if len(entries) > MOST_TOGETHER:
            text = f"{len(entries)} recordings are too many for one page: choose some of them\n"
            return PlainTextResponse(text, 413)
        return entries

    def _looker(self, name: str, entries: Sequence[Entry]) -> "_LookAtOne | _LookAtAll":
        if len(entries) == 1:
            return _LookAtOne(self.library, self.shelf, entries[0])
        return _LookAtAll(self.library, name, len(entries))


class _LookAtOne:
    """Looks for what is new of one recording, sample by sample."""

    def __init__(self, library: Library, shelf: Shelf, entry: Entry) -> None:
        self._library = library
        self._shelf = shelf
        self._name = entry.name
        self._follower = self._follow(entry)
        #: What came and was not on the page, and was looked for there once: some never is.
        self._missed: set[tuple[str, str]] = set()

    def __call__(self) -> News:
        news = self._follower.look()
        if news.unknown - self._missed:
            # a step has begun, or a sensor of it answers for the first time
            self._missed |= news.unknown
            entries, _ = self._library.find(self._name)
            for entry in entries:
                self._follower = self._follow(entry)
                news.is_new = True
        return news

    def _follow(self, entry: Entry) -> Follower:
        return Follower(entry.recording, self._shelf.show([entry]).page)


@dataclass
class _LookAtAll:
    """Looks whether there are more recordings below a directory, or none that goes on."""

    library: Library
    name: str
    count: int

    def __call__(self) -> News:
        entries, _ = self.library.find(self.name)
        is_new, self.count = len(entries) != self.count, len(entries)
        return News(is_new=is_new, is_over=not any(entry.is_running for entry in entries))


async def _sent(channel: Channel) -> AsyncIterator[dict[str, str]]:
    async for name, data in channel.listen():
        yield {"event": name, "data": data}


def _name(request: Request) -> str:
    return str(request.path_params.get("name", "."))


def _missing(_: Request, __: Exception | None) -> Response:
    return PlainTextResponse(
        "there is no such recording (any more); / lists those there are\n", 404
    )


def _told(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{printable(str(error))}\n", 500)


class _Headers:
    """Adds what keeps other pages out to every answer."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self._app(scope, receive, sent)
