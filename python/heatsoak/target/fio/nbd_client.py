"""A few words of the NBD protocol: how large an export is, what stands in it, and trim.

fio loads exports by itself, but tells neither their size nor what it reads, and no tool of
libnbd's reads a range. Requests are made one at a time; TLS and structured replies are left out.
Numbers from the protocol's own description (doc/proto.md of the NetworkBlockDevice project).
"""

import socket
import struct
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, unquote, urlsplit

from heatsoak.errors import ToolError, UsageError

_PORT = 10809
_TIMEOUT_S = 20.0
_AT_ONCE = 1 << 20

_SERVER_MAGIC = b"NBDMAGICIHAVEOPT"
_OPTION_MAGIC = 0x49484156454F5054
_OPTION_REPLY_MAGIC = 0x3E889045565A9
_REQUEST_MAGIC = 0x25609513
_REPLY_MAGIC = 0x67446698

_FIXED_NEWSTYLE, _NO_ZEROES = 1, 2
_OPT_GO = 7
_REP_ACK, _REP_INFO, _REP_ERROR = 1, 3, 1 << 31
_READ, _DISCONNECT, _TRIM = 0, 2, 4
_FLAG_READ_ONLY, _FLAG_TRIM = 1 << 1, 1 << 5
_LARGEST_REPLY = 1 << 16


@dataclass(frozen=True)
class Address:
    """Where an export is: a unix socket or a host and port, and its name there."""

    socket: str | None
    host: str
    port: int
    export: str


def parse_uri(uri: str) -> Address:
    """Return what an NBD URI names; raises UsageError for what cannot be loaded."""
    want = "such as nbd+unix:///?socket=/run/drive.sock or nbd://host:10809/export"
    try:
        parts = urlsplit(uri)
        port = parts.port or _PORT
    except ValueError as error:
        raise UsageError(f"'{uri}' is not an NBD URI, {want}") from error
    export = unquote(parts.path.removeprefix("/"))
    if parts.scheme == "nbd+unix":
        sockets = parse_qs(parts.query).get("socket", [])
        if len(sockets) != 1:
            raise UsageError(f"'{uri}' names no socket: an NBD URI is {want}")
        return Address(sockets[0], "", 0, export)
    if parts.scheme == "nbd" and parts.hostname:
        return Address(None, parts.hostname, port, export)
    raise UsageError(f"'{uri}' is not an NBD URI that can be loaded, {want}")


class Export:
    """A connection to one export."""

    def __init__(self, uri: str) -> None:
        """Connect; raises UsageError where there is no such socket, ToolError for the rest."""
        self._uri = uri
        address = parse_uri(uri)
        try:
            self._socket = _connect(address)
        except FileNotFoundError as error:
            raise UsageError(f"{uri}: there is no such socket") from error
        except OSError as error:
            raise ToolError(f"{uri}: cannot be reached: {error.strerror or error}") from error
        self._requests = 0
        self.size_bytes = 0
        self._flags = 0
        try:
            self._negotiate(address.export)
        except BaseException:
            self._socket.close()
            raise

    @property
    def read_only(self) -> bool:
        """Whether the server takes no writes."""
        return bool(self._flags & _FLAG_READ_ONLY)

    @property
    def trims(self) -> bool:
        """Whether the server takes trim."""
        return bool(self._flags & _FLAG_TRIM)

    def read(self, offset: int, length: int) -> bytes:
        """Return what stands in a range."""
        parts = []
        for start in range(offset, offset + length, _AT_ONCE):
            size = min(_AT_ONCE, offset + length - start)
            self._ask(_READ, start, size)
            parts.append(self._receive(size))
        return b"".join(parts)

    def trim(self, offset: int, length: int) -> None:
        """Forget a range of up to 4 GiB."""
        self._ask(_TRIM, offset, length)

    def close(self) -> None:
        """Say goodbye; the server may be gone."""
        try:
            self._send(struct.pack(">IHHQQI", _REQUEST_MAGIC, 0, _DISCONNECT, 0, 0, 0))
        except ToolError:
            pass  # it is gone already, which is as good
        finally:
            self._socket.close()

    def _negotiate(self, export: str) -> None:
        if self._receive(16) != _SERVER_MAGIC:
            raise ToolError(f"{self._uri}: does not speak NBD as it has been spoken since 2011")
        (offered,) = struct.unpack(">H", self._receive(2))
        if not offered & _FIXED_NEWSTYLE:
            raise ToolError(f"{self._uri}: the server is too old: it cannot negotiate")
        self._send(struct.pack(">I", offered & (_FIXED_NEWSTYLE | _NO_ZEROES)))
        name = export.encode()
        wish = struct.pack(">I", len(name)) + name + struct.pack(">H", 0)
        self._send(struct.pack(">QII", _OPTION_MAGIC, _OPT_GO, len(wish)) + wish)
        while True:
            magic, option, kind, length = struct.unpack(">QIII", self._receive(20))
            if magic != _OPTION_REPLY_MAGIC or option != _OPT_GO or length > _LARGEST_REPLY:
                raise ToolError(f"{self._uri}: the server's reply makes no sense")
            reply = self._receive(length)
            if kind & _REP_ERROR:
                why = reply.decode("utf-8", "replace") or f"error {kind & ~_REP_ERROR}"
                raise ToolError(f"{self._uri}: the server does not give the export: {why}")
            if kind == _REP_INFO and length >= 12 and reply[:2] == b"\0\0":
                self.size_bytes, self._flags = struct.unpack(">QH", reply[2:12])
            if kind == _REP_ACK:
                return

    def _ask(self, kind: int, offset: int, length: int) -> None:
        self._requests += 1
        self._send(struct.pack(">IHHQQI", _REQUEST_MAGIC, 0, kind, self._requests, offset, length))
        magic, error, handle = struct.unpack(">IIQ", self._receive(16))
        if magic != _REPLY_MAGIC or handle != self._requests:
            raise ToolError(f"{self._uri}: the server's reply makes no sense")
        if error:
            raise ToolError(f"{self._uri}: the server reports error {error} at byte {offset}")

    def _send(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise ToolError(f"{self._uri}: connection lost: {error.strerror or error}") from error

    def _receive(self, length: int) -> bytes:
        data = bytearray()
        while len(data) < length:
            try:
                part = self._socket.recv(length - len(data))
            except OSError as error:
                raise ToolError(
                    f"{self._uri}: the server does not answer: {error.strerror or error}"
                ) from error
            if not part:
                raise ToolError(f"{self._uri}: the server has closed the connection")
            data += part
        return bytes(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _connect(address: Address) -> socket.socket:
    if address.socket is None:
        return socket.create_connection((address.host, address.port), _TIMEOUT_S)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.settimeout(_TIMEOUT_S)
        made.connect(address.socket)
    except BaseException:
        made.close()
        raise
    return made
