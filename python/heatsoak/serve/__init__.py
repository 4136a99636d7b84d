"""Shows past and running recordings of one directory in a browser on this machine.

Read-only, for one user of this machine, for one directory only. `access` says who may ask,
`library` finds the recordings, and makes and caches their pages, `following` sends updates of
running ones.
"""

import asyncio
import datetime
import os
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path, PurePosixPath
from types import FrameType
from urllib.parse import quote

import uvicorn
from sse_starlette import EventSourceResponse
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from typing_extensions import override

from heatsoak import system, words
from heatsoak.analysis import Answer
from heatsoak.analysis.findings import Throttles
from heatsoak.errors import HeatsoakError
from heatsoak.output import printable
from heatsoak.serve import access, following
from heatsoak.serve.library import Entry, Library, NoAnswer, Shelf, Unread

__all__ = ["Library", "listing", "make_app", "serve"]

#: Allowed host names: with any other, a page elsewhere has sent the browser here.
_HOSTS = ("127.0.0.1", "localhost")
_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"content-security-policy", b"frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)


def make_app(library: Library, shelf: Shelf, token: str | None, port: int) -> Starlette:
    """Return the application that shows `library` to who has the token, if there is one."""
    known = [] if token is None else [Middleware(access.Access, token=token, port=port)]
    pages = _Pages(library, shelf)
    return Starlette(
        routes=[
            Route("/", pages.contents),
            Route("/r/", pages.page),
            Route("/r/page.json", pages.page),
            Route("/r/events", pages.events),
            Route("/r/{name:path}/page.json", pages.page),
            Route("/r/{name:path}/events", pages.events),
            Route("/r/{name:path}/", pages.page),
        ],
        middleware=[
            Middleware(_Headers),
            *known,
            Middleware(TrustedHostMiddleware, allowed_hosts=list(_HOSTS), www_redirect=False),
        ],
        exception_handlers={HeatsoakError: _failed, 404: _missing},
    )


@dataclass
class _Pages:
    library: Library
    shelf: Shelf
    channels: dict[str, following.Channel] = field(default_factory=dict)
    judging: asyncio.Task[None] | None = None

    async def contents(self, _: Request) -> Response:
        entries, unread = await following.in_thread(self.library.contents)
        answers = await following.in_thread(self.shelf.answers, entries)
        # the list does not wait: what is not judged yet is judged behind it, and shown next time
        waiting = [e for e in entries if answers[e.name] is None and not e.is_running]
        if waiting and (self.judging is None or self.judging.done()):
            self.judging = asyncio.create_task(self._judge(waiting))
        return HTMLResponse(listing(entries, unread, str(self.library.root), answers))

    async def _judge(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            await following.in_thread(self.shelf.judge, entry)

    async def page(self, request: Request) -> Response:
        """Return the page, or its JSON alone."""
        entries = await self._entries(request)
        if isinstance(entries, Response):
            return entries
        shown = await following.in_thread(self.shelf.show, entries)
        if request.url.path.endswith("/page.json"):
            return Response(shown.json, media_type="application/json")
        return HTMLResponse(shown.html)

    async def events(self, request: Request) -> Response:
        name = _name(request)
        channel = self.channels.get(name)
        if channel is None:
            entries = await self._entries(request)
            if isinstance(entries, Response):
                return entries
            if not any(entry.is_running for entry in entries):
                return Response(status_code=204)  # tells the browser not to reconnect
            look = await following.in_thread(self._looker, name, entries)
            channel = self.channels.setdefault(
                name, following.Channel(look, partial(self._close, name))
            )
        return EventSourceResponse(_sent(channel))

    def _close(self, name: str, channel: following.Channel) -> None:
        if self.channels.get(name) is channel:
            del self.channels[name]

    async def _entries(self, request: Request) -> "list[Entry] | Response":
        entries, unread = await following.in_thread(self.library.find, _name(request))
        if not entries and unread:
            reasons = "\n".join(f"{one.name}: {one.why}" for one in unread)
            status = 500 if any(one.has_meta for one in unread) else 404
            return PlainTextResponse(f"{reasons}\n", status)
        if not entries:
            return _missing(request, None)
        if len(entries) > MAX_TOGETHER:
            text = f"{len(entries)} recordings are too many for one page: choose fewer\n"
            return PlainTextResponse(text, 413)
        return entries

    def _looker(self, name: str, entries: Sequence[Entry]) -> "_LookAtOne | _LookAtAll":
        if len(entries) == 1:
            return _LookAtOne(self.library, self.shelf, entries[0])
        return _LookAtAll(self.library, name, len(entries))


class _LookAtOne:
    """Looks for new samples of one recording."""

    def __init__(self, library: Library, shelf: Shelf, entry: Entry) -> None:
        self._library = library
        self._shelf = shelf
        self._name = entry.name
        self._follower = self._follow(entry)
        #: Steps and tracks not on the page although it was made again: some never appear there.
        self._missed: set[tuple[str, str]] = set()

    def __call__(self) -> following.News:
        news = self._follower.look()
        if news.unknown - self._missed:
            # a step has started, or a sensor has its first reading
            self._missed |= news.unknown
            entries, _ = self._library.find(self._name)
            for entry in entries:
                self._follower = self._follow(entry)
                news.is_new = True
        return news

    def _follow(self, entry: Entry) -> following.Follower:
        return following.Follower(entry.recording, self._shelf.show([entry]).page)


@dataclass
class _LookAtAll:
    """Looks for new recordings below a directory, and whether any is still running."""

    library: Library
    name: str
    count: int

    def __call__(self) -> following.News:
        entries, _ = self.library.find(self.name)
        is_new, self.count = len(entries) != self.count, len(entries)
        return following.News(is_new=is_new, is_over=not any(entry.is_running for entry in entries))


async def _sent(channel: following.Channel) -> AsyncIterator[dict[str, str]]:
    async for name, data in channel.listen():
        yield {"event": name, "data": data}


def _name(request: Request) -> str:
    return str(request.path_params.get("name", "."))


def _missing(_: Request, __: Exception | None) -> Response:
    return PlainTextResponse("there is no such recording (any more); see / for a list\n", 404)


def _failed(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"{printable(str(error))}\n", 500)


class _Headers:
    """Adds headers that keep other pages out to every response."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *_HEADERS]
            await send(message)

        await self._app(scope, receive, sent)


#: Longer than the time that connections get to close.
_END_S = 4.0
#: Connections at once: live pages, mostly, and what comes in a second of a flood.
_MOST_CONNECTIONS = 4_096
#: Descriptors reserved for files.
_SPARE_FILES = 128


def serve(
    root: Path, where: int | Path, token: str | None, on_ready: Callable[[str], None]
) -> None:
    """Serve the recordings below `root` until interrupted, on a port or on a Unix socket.

    Port 0 is any free one. Who asks must know `token`; without one, a port gets a new one, which
    its address has. Calls `on_ready` with that, or with the socket's path. Raises UsageError if
    `root` is not a directory or `where` cannot be listened on, ToolError if the page's scripts were
    not built.
    """
    library, shelf = Library(root), Shelf()
    with ExitStack() as at_end:
        listening, port, address = access.listen(where), 0, str(where)
        if isinstance(where, Path):
            at_end.callback(where.unlink, missing_ok=True)
        else:
            port = listening.getsockname()[1]
            address = f"http://{access.HOST}:{port}/"
            if token is None:
                token = secrets.token_urlsafe(32)
                address += f"?token={token}"
        on_ready(address)
        server = _Server(_config(make_app(library, shelf, token, port)), at_end.close)
        try:
            with suppress(KeyboardInterrupt):
                server.run(sockets=[listening])
        finally:
            for thread in threading.enumerate():
                if thread.name.startswith("AnyIO worker") and server.last.is_alive():
                    thread.join()
            server.last.cancel()


def _config(app: Starlette) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=access.DoorProtocol,
        ws="none",
        log_level="critical",
        access_log=False,
        server_header=False,
        limit_concurrency=_most_connections(),
        timeout_graceful_shutdown=2,
        lifespan="off",
    )


class _Server(uvicorn.Server):
    """Exits some time after it is told to, even if a thread is still reading or judging."""

    def __init__(self, config: uvicorn.Config, at_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._at_end = at_end
        # threads cannot be interrupted, but they only read: nothing is lost
        self.last = threading.Timer(_END_S, self._leave)
        self.last.daemon = True

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        with suppress(RuntimeError):  # already started
            self.last.start()

    def _leave(self) -> None:
        self._at_end()
        os._exit(0)


def _most_connections() -> int:
    """The most that open files allow, so that beyond it clients get an error response."""
    limit = system.open_files_limit(_MOST_CONNECTIONS + _SPARE_FILES) or 65_536
    return min(_MOST_CONNECTIONS, max(limit - _SPARE_FILES, 16))


#: Recordings that one page may show.
MAX_TOGETHER = 200

#: What was found of each recording, by its name; None while it is not judged.
Answers = Mapping[str, Answer | NoAnswer | None]

_WORDS: dict[Throttles, str] = {
    "yes": "throttles",
    "no": "did not throttle",
    "cannot-tell": "cannot tell",
    "not-loaded": "not loaded",
}
#: How soon the list is fetched again, and while recordings are being judged.
_AGAIN_S, _SOON_S = 15, 3

_STYLE = """
:root { color-scheme: light dark; --line: #ccd; --dim: #667; --link: #0b5394; --live: #a83200; }
@media (prefers-color-scheme: dark) {
  :root { --line: #445; --dim: #9aa; --link: #8ec4ff; --live: #ffb08a; }
}
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; }
h2 { font-size: 1.2rem; margin-top: 2rem; }
div { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; padding: .4rem .8rem .4rem 0; border-bottom: 1px solid var(--line);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--dim); font-weight: 600; white-space: nowrap; }
a { color: var(--link); }
.dim { color: var(--dim); }
.live, .yes { color: var(--live); font-weight: 600; }
"""


def listing(
    entries: Sequence[Entry], unread: Sequence[Unread], where: str, answers: Answers
) -> str:
    """Return the index page as HTML; `where` is the directory that is shown."""
    rows = "\n".join(_row(entry, answers.get(entry.name)) for entry in entries)
    is_open = any(answers.get(entry.name) is None and not entry.is_running for entry in entries)
    together = "\n".join(_together(name, count) for name, count in _groups(entries))
    table = (
        "<div><table><thead><tr><th>Recording</th><th>Answer</th><th>Drive</th>"
        f"<th>Conditions</th><th>Protocol</th><th>Started</th><th>State</th></tr></thead><tbody>{rows}</tbody>"
        "</table></div>"
        if entries
        else ""
        if unread
        else "<p>No recordings yet: make one with <code>heatsoak run</code>.</p>"
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="{_SOON_S if is_open else _AGAIN_S}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>heatsoak: recordings</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>Recordings</h1>
<p class="dim">{_text(where)}</p>
{f"<ul>{together}</ul>" if together else ""}
{table}
{_unread(unread)}
</main>
</body>
</html>
"""


def address(name: str) -> str:
    """Return the URL path of a recording's page, or of the page of a directory's recordings."""
    return "/r/" if name == "." else f"/r/{quote(name)}/"


def _unread(unread: Sequence[Unread]) -> str:
    if not unread:
        return ""
    rows = "\n".join(
        f"<tr><td>{_text(one.name)}</td><td>{_text(one.why)}</td></tr>" for one in unread
    )
    return (
        "<h2>Unreadable recordings</h2><div><table><thead><tr><th>Directory</th><th>Why</th></tr>"
        f"</thead><tbody>{rows}</tbody></table></div>"
    )


def _row(entry: Entry, answer: Answer | NoAnswer | None) -> str:
    meta = entry.recording.meta
    drive = meta.drive.get("model") or meta.drive.get("path") or "a drive"
    simulated = ' <span class="dim">(simulated)</span>' if meta.drive.get("simulated") else ""
    cells = [
        f'<a href="{escape(address(entry.name))}">{_text(entry.name)}</a>',
        _answer(entry, answer),
        _text(str(drive)) + simulated,
        _text(words.labels_text(meta.conditions)),
        _text(meta.protocol.name),
        escape(_start_time(meta.started_unix_s)),
        _state(entry),
    ]
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _answer(entry: Entry, answer: Answer | NoAnswer | None) -> str:
    """What the recording shows on its own, as its page says."""
    if entry.is_running:
        return '<span class="dim">when it is finished</span>'
    if answer is None:
        return '<span class="dim">being judged</span>'
    if isinstance(answer, NoAnswer):
        return f'<span class="dim">cannot be judged: {_text(answer.why)}</span>'
    word = f'<span class="{answer.throttles}">{_WORDS[answer.throttles]}</span>'
    return f'{word}<br><span class="dim">{_text(answer.sentence)}</span>'


def _state(entry: Entry) -> str:
    meta = entry.recording.meta
    if entry.is_running:
        return '<span class="live">running</span>'
    if entry.recording.was_cut:
        return "cut"
    lasted = "" if meta.duration_s is None else f", {words.duration_text(meta.duration_s)}"
    return escape(f"{meta.status}{lasted}")


def _start_time(started_unix_s: float | None) -> str:
    if started_unix_s is None:
        return ""
    try:
        started = datetime.datetime.fromtimestamp(started_unix_s)
    except (OverflowError, ValueError, OSError):
        return ""
    return f"{started:%Y-%m-%d %H:%M}"


def _groups(entries: Sequence[Entry]) -> list[tuple[str, int]]:
    """Directories with several recordings, and their number."""
    counts: dict[str, int] = {}
    for entry in entries:
        for parent in PurePosixPath(entry.name).parents:
            counts[str(parent)] = counts.get(str(parent), 0) + 1
    return sorted((name, count) for name, count in counts.items() if 1 < count <= MAX_TOGETHER)


def _together(name: str, count: int) -> str:
    what = "all recordings" if name == "." else name
    return f'<li><a href="{escape(address(name))}">{_text(what)}: {count} together</a></li>'


def _text(text: str) -> str:
    return escape(words.shortened(printable(text), 200))
