"""Runs the application on 127.0.0.1."""

import contextlib
import os
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn
from typing_extensions import override

from heatsoak import system
from heatsoak.errors import UsageError
from heatsoak.serve.app import make_app
from heatsoak.serve.library import Library
from heatsoak.serve.shelf import Shelf

_HOST = "127.0.0.1"
_BACKLOG = 2048
#: Longer than the time that connections get to close.
_END_S = 4.0
#: Descriptors reserved for files.
_SPARE_FILES = 128


def serve(root: Path, port: int, on_ready: Callable[[str], None]) -> None:
    """Serve the recordings below `root` until interrupted; port 0 is any free one.

    Calls `on_ready` with the address. Raises UsageError if `root` is not a directory or the port is
    in use, ToolError if the page's scripts were not built.
    """
    app = make_app(Library(root), Shelf())
    listening = _listen(port)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        server_header=False,
        limit_concurrency=_most_connections(),
        timeout_graceful_shutdown=2,
        lifespan="off",
    )
    on_ready(f"http://{_HOST}:{listening.getsockname()[1]}/")
    server = _Server(config)
    try:
        with contextlib.suppress(KeyboardInterrupt):
            server.run(sockets=[listening])
    finally:
        for thread in threading.enumerate():
            if thread.name.startswith("AnyIO worker") and server.last.is_alive():
                thread.join()
        server.last.cancel()


class _Server(uvicorn.Server):
    """Exits some time after it is told to, even if a thread is still reading or judging."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        # threads cannot be interrupted, but they only read: nothing is lost
        self.last = threading.Timer(_END_S, os._exit, [0])
        self.last.daemon = True

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        super().handle_exit(sig, frame)
        with contextlib.suppress(RuntimeError):  # already started
            self.last.start()


def _listen(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    system.claim_port(listening)
    try:
        listening.bind((_HOST, port))
    except OSError as error:
        listening.close()
        raise UsageError(
            f"--port {port}: cannot listen on it: {error.strerror}; --port 0 takes any free one"
        ) from error
    listening.listen(_BACKLOG)
    return listening


def _most_connections() -> int | None:
    """The limit of open files, so that beyond it clients get an error response."""
    limit = system.open_files_limit(65_536)
    return None if limit is None else max(limit - _SPARE_FILES, 16)
