"""Connections to an NBD export through libnbd: its size, block status, reads and trim.

libnbd is called through ctypes: its Python module only works with the distribution's own Python,
and its command-line tools do not keep a connection open, as the guard of an export must. fio's nbd
engine uses the same library, so it is installed wherever fio can load an export.
"""

import ctypes
import errno
import ipaddress
import os
import re
import socket
import stat
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlsplit

from heatsoak.errors import ToolError, UsageError
from heatsoak.output import printable
from heatsoak.target.base import Closing

_PORT = 10809
_TIMEOUT_S = 20.0
_POLL_MS = 200
#: Sizes of single requests: servers allow reads of up to 32 MiB, and lengths below 4 GiB.
_READ_BYTES = 1 << 20
#: How many of them are under way at a time.
_DEPTH = 32
_STATUS_BYTES = 2 << 30
#: At 2 GiB per request, asking about all of a larger export would take minutes.
_MAX_STATUS_BYTES = 1 << 50

#: NBD's metadata context for which parts of an export have data (doc/proto.md).
_ALLOCATION = b"base:allocation"
_HOLE_OF_ZEROS = 1 | 2


@dataclass(frozen=True)
class ExportAddress:
    """The address of an export: a Unix socket or a host and port, and its name there."""

    socket: str | None
    host: str
    port: int
    export: str

    @property
    def key(self) -> str:
        """A key that is the same for all spellings of the socket or host, such as links."""
        if self.socket is not None:
            try:
                found = os.stat(self.socket)  # noqa: PTH116 -- as connect() takes it
                return f"nbd-{found.st_dev}-{found.st_ino}-{self.export}"
            except OSError:
                return f"nbd-{os.path.realpath(self.socket)}-{self.export}"
        try:
            found_there = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
            hosts = {str(there[4][0]).partition("%")[0] for there in found_there}
            is_here = any(ipaddress.ip_address(host).is_loopback for host in hosts)
        except OSError:
            hosts, is_here = {self.host.lower()}, False
        # one server may listen on all addresses of this machine
        host = "loopback" if is_here else min(hosts)
        return f"nbd-{host}-{self.port}-{self.export}"


def parse_uri(uri: str) -> ExportAddress:
    """Return the address in an NBD URI; raises UsageError if it is invalid or not supported."""
    want = "such as nbd+unix:///?socket=/run/drive.sock or nbd://host:10809/export"
    try:
        parts = urlsplit(uri)
        port = parts.port or _PORT
    except ValueError as error:
        raise UsageError(f"'{uri}' is not an NBD URI, {want}") from error
    export = unquote(parts.path.removeprefix("/"))
    if "\0" in unquote(uri):
        raise UsageError(f"'{uri}' has a NUL byte: an NBD URI is {want}")
    if parts.scheme == "nbd+unix":
        sockets = parse_qs(parts.query).get("socket", [])
        if len(sockets) != 1:
            raise UsageError(f"'{uri}' names no socket: an NBD URI is {want}")
        return ExportAddress(sockets[0], "", 0, export)
    if parts.scheme == "nbd" and parts.hostname:
        return ExportAddress(None, parts.hostname, port, export)
    raise UsageError(f"'{uri}' is not an NBD URI that can be loaded, {want}")


class Server(Closing):
    """The server behind a URI, held so that every connection reaches the same one.

    A Unix socket is held by a descriptor, so that connections go to that socket even if its path is
    replaced. For TCP, the numeric address is kept, even if the name resolves differently later.
    """

    def __init__(self, uri: str) -> None:
        """Find the server; raises UsageError if there is no such socket."""
        self._given = uri
        self._address = parse_uri(uri)
        self._peer: tuple[str, int] = (self._address.host, self._address.port)
        self.fd: int | None = None
        if self._address.socket is None:
            return
        try:
            self.fd = os.open(self._address.socket, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise UsageError(f"{uri}: there is no such socket") from error
        except OSError as error:
            raise ToolError(f"{uri}: cannot be reached: {error.strerror or error}") from error
        if not stat.S_ISSOCK(os.fstat(self.fd).st_mode):
            self.close()
            raise UsageError(f"{uri}: is not a socket")

    @property
    def uri(self) -> str:
        """A URI of the held server, for a process that inherits `fd`."""
        export = quote(os.fsencode(self._address.export))
        if self.fd is not None:
            return f"nbd+unix:///{export}?socket=/proc/self/fd/{self.fd}"
        host, port = self._peer
        host = f"[{quote(host, safe=':')}]" if ":" in host else host
        return f"nbd://{host}:{port}/{export}"

    def connect(self) -> "NbdConnection":
        """Return a new connection to the export; raises ToolError if that fails."""
        try:
            made = self._connect()
        except OSError as error:
            is_silent = isinstance(error, TimeoutError)
            why = "it does not answer" if is_silent else error.strerror or error
            raise ToolError(f"{self._given}: cannot be reached: {why}") from error
        return NbdConnection(self._given, made, os.fsencode(self._address.export))

    def _connect(self) -> socket.socket:
        if self.fd is None:
            made = socket.create_connection(self._peer, _TIMEOUT_S)
            self._peer = made.getpeername()[:2]
            # the held connection may be silent for a step of several hours
            made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            return made
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            made.settimeout(_TIMEOUT_S)
            made.connect(f"/proc/self/fd/{self.fd}")
        except BaseException:
            made.close()
            raise
        return made

    def is_in_place(self) -> bool:
        """Whether the URI's path still leads to the held socket."""
        if self.fd is None or self._address.socket is None:
            return True
        try:
            found = os.stat(self._address.socket)  # noqa: PTH116 -- as connect() takes it
        except OSError:
            return False
        return os.path.samestat(found, os.fstat(self.fd))

    def close(self) -> None:
        """Release the socket; may be called twice."""
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class NbdConnection(Closing):
    """A connection to one export."""

    def __init__(self, uri: str, made: socket.socket, name: bytes) -> None:
        """Open the export `name` through the socket `made`, which is taken over.

        Raises ToolError if the server refuses.
        """
        self._uri = uri
        with made:
            self._library = _library()
            self._handle = self._library.nbd_create()
            if self._handle is None:
                raise ToolError(f"{uri}: {self._reason()}")
            try:
                self._call("nbd_set_export_name", name)
                self._call("nbd_add_meta_context", _ALLOCATION)
                self._call("nbd_aio_connect_socket", made.detach())
                self._wait(lambda: self._call("nbd_aio_is_ready") == 1)
                self.size_bytes: int = self._call("nbd_get_size")
                self.read_only = bool(self._call("nbd_is_read_only"))
                self.trims = bool(self._call("nbd_can_trim"))
                #: Whether it can report which of its parts are holes.
                self.tells_holes = self.size_bytes <= _MAX_STATUS_BYTES and bool(
                    self._call("nbd_can_meta_context", _ALLOCATION)
                )
            except BaseException:
                self.close()
                raise

    def read(self, offset: int, length: int) -> bytes:
        """Return the contents of a range; raises ToolError if it cannot be read."""
        end = offset + length
        starts = range(offset, end, _READ_BYTES)
        return b"".join(self.read_many((at, min(_READ_BYTES, end - at)) for at in starts))

    def read_many(self, places: Iterable[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the contents of ranges, each of 1 MiB at most, with several reads under way.

        Where one cannot be read while others are under way, the connection is closed.
        """
        under_way: deque[tuple[int, Any]] = deque()
        try:
            for start, size in places:
                buffer = ctypes.create_string_buffer(size)
                cookie = self._call("nbd_aio_pread", buffer, size, start, _NO_CALLBACK, 0)
                under_way.append((cookie, buffer))
                if len(under_way) == _DEPTH:
                    yield self._answer(*under_way.popleft())
            while under_way:
                yield self._answer(*under_way.popleft())
        finally:
            if under_way:  # late answers would be written to freed memory
                self.close()

    def _answer(self, cookie: int, buffer: Any) -> bytes:
        self._end(cookie)
        answer: bytes = buffer.raw
        return answer

    def trim(self, offset: int, length: int) -> None:
        """Trim a range of less than 4 GiB."""
        self._end(self._call("nbd_aio_trim", length, offset, _NO_CALLBACK, 0))

    def first_filled(self) -> int | None:
        """Return the first byte that is not in a hole of zeros, or None.

        Only if the server `tells_holes`.
        """
        offset = 0
        while offset < self.size_bytes:
            before = offset
            for length, state in self._extents(offset):
                if state & _HOLE_OF_ZEROS != _HOLE_OF_ZEROS:
                    return offset
                offset += length
            if offset == before:
                raise ToolError(
                    f"{self._uri}: the server does not report the status of byte {offset}"
                )
        return None

    def _extents(self, offset: int) -> Iterator[tuple[int, int]]:
        """Return length and state of consecutive extents from `offset` on."""
        found: list[int] = []

        def note(
            _user: int, context: bytes, _at: int, entries: Any, count: int, _error: Any
        ) -> int:
            if context == _ALLOCATION:
                found.extend(entries[:count])
            return 0

        length = min(self.size_bytes - offset, _STATUS_BYTES)
        callback = _Extents(_EXTENTS_FUNCTION(note), None, None)
        asked = self._call("nbd_aio_block_status", length, offset, callback, _NO_CALLBACK, 0)
        self._end(asked)
        return zip(found[::2], found[1::2], strict=True)

    def close(self) -> None:
        """Disconnect, even if the server is gone; may be called twice."""
        if self._handle is not None:
            self._library.nbd_aio_disconnect(self._handle, 0)
            self._library.nbd_close(self._handle)
            self._handle = None

    def _end(self, cookie: int) -> None:
        """Wait for the answer to a command."""
        result = 0

        def is_over() -> bool:
            nonlocal result
            result = int(self._library.nbd_aio_command_completed(self._handle, cookie))
            return result != 0

        try:
            self._wait(is_over)
        except BaseException:
            # a late answer would be written to freed memory
            self.close()
            raise
        if result < 0:
            raise ToolError(f"{self._uri}: {self._reason()}")

    def _wait(self, is_over: Callable[[], bool]) -> None:
        """Let libnbd talk to the server until `is_over`; signals may interrupt each poll."""
        give_up = time.monotonic() + _TIMEOUT_S
        while not is_over():
            moved = self._library.nbd_poll(self._handle, _POLL_MS)
            if moved < 0 and self._library.nbd_get_errno() != errno.EINTR:
                raise ToolError(f"{self._uri}: {self._reason()}")
            if moved > 0:
                give_up = time.monotonic() + _TIMEOUT_S
            elif time.monotonic() > give_up:
                raise ToolError(f"{self._uri}: the server does not answer")

    def _call(self, name: str, *words: Any) -> int:
        if self._handle is None:
            raise ToolError(f"{self._uri}: the connection is lost")
        result: int = getattr(self._library, name)(self._handle, *words)
        if result < 0:
            raise ToolError(f"{self._uri}: {self._reason()}")
        return result

    def _reason(self) -> str:
        """libnbd's message for the call that has just failed, without the call's name."""
        said = self._library.nbd_get_error() or b"libnbd failed"
        text = printable(said.decode("utf-8", "replace"))
        return re.sub(r"^nbd_\w+: ", "", text)[:300]


def _callback_of(function: Any) -> Any:
    """Return libnbd's structure for a callback of a type; one of zeros is none."""
    rest = [("user_data", ctypes.c_void_p), ("free", ctypes.c_void_p)]
    return type("Callback", (ctypes.Structure,), {"_fields_": [("callback", function), *rest]})


_EXTENTS_FUNCTION = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.c_void_p,
    ctypes.c_char_p,
    ctypes.c_uint64,
    ctypes.POINTER(ctypes.c_uint32),
    ctypes.c_size_t,
    ctypes.POINTER(ctypes.c_int),
)


_Callback, _Extents = _callback_of(ctypes.c_void_p), _callback_of(_EXTENTS_FUNCTION)
_NO_CALLBACK = _Callback()
_INT, _LONG, _TEXT, _POINTER = ctypes.c_int, ctypes.c_int64, ctypes.c_char_p, ctypes.c_void_p
_U32, _U64 = ctypes.c_uint32, ctypes.c_uint64
#: Return type and parameter types of libnbd's functions; the first parameter is the handle.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "nbd_create": (_POINTER,),
    "nbd_close": (None, _POINTER),
    "nbd_get_error": (_TEXT,),
    "nbd_get_errno": (_INT,),
    "nbd_set_export_name": (_INT, _POINTER, _TEXT),
    "nbd_add_meta_context": (_INT, _POINTER, _TEXT),
    "nbd_can_meta_context": (_INT, _POINTER, _TEXT),
    "nbd_aio_connect_socket": (_INT, _POINTER, _INT),
    "nbd_aio_is_ready": (_INT, _POINTER),
    "nbd_get_size": (_LONG, _POINTER),
    "nbd_is_read_only": (_INT, _POINTER),
    "nbd_can_trim": (_INT, _POINTER),
    "nbd_poll": (_INT, _POINTER, _INT),
    "nbd_aio_command_completed": (_INT, _POINTER, _U64),
    "nbd_aio_pread": (_LONG, _POINTER, _POINTER, ctypes.c_size_t, _U64, _Callback, _U32),
    "nbd_aio_trim": (_LONG, _POINTER, _U64, _U64, _Callback, _U32),
    "nbd_aio_block_status": (_LONG, _POINTER, _U64, _U64, _Extents, _Callback, _U32),
    "nbd_aio_disconnect": (_INT, _POINTER, _U32),
}


@lru_cache(maxsize=1)
def _library() -> Any:
    """Return libnbd, whose interface is stable for its soname."""
    try:
        library = ctypes.CDLL("libnbd.so.0")
        for name, (result, *words) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, words
    except (OSError, AttributeError):
        raise ToolError("libnbd is not installed: apt-get install libnbd0") from None
    return library
