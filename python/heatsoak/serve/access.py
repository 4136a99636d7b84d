"""Who may ask, by a token or through a socket of his own, and how long he may take to ask."""

import asyncio
import os
import re
import secrets
import socket
from pathlib import Path
from typing import ClassVar, cast

from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol

from heatsoak import system
from heatsoak.errors import UsageError, saying
from heatsoak.files import read_regular

HOST = "127.0.0.1"
#: What names a token for whoever starts this server in a script or container.
VARIABLE = "HEATSOAK_TOKEN"
#: The characters that RFC 6750 allows in a header. The least length is our choice.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{16,256}")
_BACKLOG = 2048
_WANTED = (
    "this server wants its token: open the address that heatsoak serve printed when it started, "
    "which ends with ?token=..., or add ?token= and the token that it was given to its address\n"
)
_WRONG = f"that token is not this server's; {_WANTED}"


def given_token(file: Path | None) -> str | None:
    """Return the token in `file`, or else in `VARIABLE`; None if neither is given.

    Raises UsageError if it cannot be read, or is none.
    """
    where = VARIABLE if file is None else f"--token-file {file}"
    token = os.environ.get(VARIABLE)
    if file is not None:
        with saying(f"{where}: cannot be read", UsageError):
            token = read_regular(file, 4096).decode("utf-8", "replace").strip()
    if token is not None and not _TOKEN.fullmatch(token):
        raise UsageError(f"{where}: a token is 16 to 256 letters, digits and any of -._~+/=")
    return token


def listen(where: int | Path) -> socket.socket:
    """Listen on a port of this machine, or on a new Unix socket of this user alone.

    Raises UsageError if that cannot be done.
    """
    is_path = isinstance(where, Path)
    family: int = getattr(socket, "AF_UNIX", -1) if is_path else socket.AF_INET
    if family < 0:
        raise UsageError("--socket: this system has no Unix sockets for Python: leave it out")
    listening = socket.socket(family)
    mask = os.umask(0o177)  # with a mode that is set later, others would have a moment
    try:
        if isinstance(where, Path):
            listening.bind(os.fsencode(where))
        else:
            system.claim_port(listening)
            listening.bind((HOST, where))
    except OSError as error:
        listening.close()
        what, advice = (
            ("--socket", "it must be a new name, in a directory of yours")
            if is_path
            else ("--port", "--port 0 takes any free one")
        )
        why = f"cannot listen on it: {error.strerror or error}; {advice}"
        raise UsageError(f"{what} {where}: {why}") from error
    finally:
        os.umask(mask)
    listening.listen(_BACKLOG)
    return listening


class Access:
    """Answers nobody but who has the token: in the address, in a header, or then in a cookie."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app = app
        self._token = token
        # every server of this host gets its cookies, whatever the port: they must not tell the
        # token, and need a name of their own
        self._cookie, self._pass = f"heatsoak-{port}", secrets.token_urlsafe(32)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        answer = self._app if scope["type"] != "http" else self._answer(Request(scope))
        await answer(scope, receive, send)

    def _answer(self, request: Request) -> ASGIApp:
        asked = request.query_params.get("token")
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        is_known = _same(request.cookies.get(self._cookie, ""), self._pass)
        # a plus in an address is a space, which no token has
        if asked is not None and _same(asked.replace(" ", "+"), self._token):
            # a browser's history and what is looked at over its shoulder need not have the token
            is_page = "text/html" in request.headers.get("accept", "")
            return self._let_in(request) if is_page else self._app
        if is_known or (scheme.lower() == "bearer" and _same(bearer.strip(), self._token)):
            return self._app
        # who is not let in gets one answer a connection: he could leave others unread
        text = _WANTED if asked is None and not bearer else _WRONG
        return PlainTextResponse(text, 403, headers={"connection": "close"})

    def _let_in(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode("ascii").lstrip("/")
        answer = RedirectResponse(f"/{path}", 303)
        answer.set_cookie(self._cookie, self._pass, httponly=True, samesite="strict")
        return answer


def _same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


#: How long a connection may take until its request is whole, and if there are more such than these
#: many. A browser takes no time: all three are guesses.
_HEAD_S, _CROWDED_S, _CROWD = 10.0, 1.0, 256


class DoorProtocol(H11Protocol):
    """Closes a connection that takes long to ask, and where many do, soon.

    So unfinished requests keep nobody out, however many: they are gone before a limit is reached.
    """

    _waiting: ClassVar[dict["DoorProtocol", asyncio.TimerHandle]] = {}

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(cast(asyncio.Transport, transport))
        self._look()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._look()

    @override
    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._look()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._wait_no_more()

    def _look(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_no_more()  # it is being answered
        elif self not in self._waiting and not self.transport.is_closing():
            self._waiting[self] = self.loop.call_later(_CROWDED_S, self._look_around)

    def _look_around(self) -> None:
        if len(self._waiting) > _CROWD:
            self._wait_no_more()
            self.transport.abort()
        else:
            left_s = _HEAD_S - _CROWDED_S
            self._waiting[self] = self.loop.call_later(left_s, self.transport.abort)

    def _wait_no_more(self) -> None:
        timer = self._waiting.pop(self, None)
        if timer is not None:
            timer.cancel()
