"""An NBD export: a virtual drive, or somebody's data behind a socket."""

import hashlib
import os
import shlex
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from heatsoak.errors import HeatsoakError, RefusedError, ToolError, UsageError
from heatsoak.output import printable
from heatsoak.protocol import LoadStep, PurgeMethod
from heatsoak.target.base import HEARTBEAT, Batch, Identity, Note, RecordingClock
from heatsoak.target.fio.command import FioPlace
from heatsoak.target.fio.nbd_client import NbdConnection, Server
from heatsoak.target.fio.target import FioTarget, Regions, Settings
from heatsoak.target.guard.content import content
from heatsoak.units import format_bytes

#: How much of each end is looked at; no signature that blkid knows lies deeper inside.
_END_BYTES = 4 << 20
_PIECE_BYTES = 1 << 20
#: What lies between the ends only helps to know an export again; emptiness is never sampled.
_SAMPLES = 256
_SAMPLE_BYTES = 4096
_TRIMMED_AT_ONCE = 1 << 30


@dataclass(frozen=True)
class _Seen:
    """What an export held when it was looked at.

    Attributes:
        digest: of its ends and samples; empty where all of it is a hole of zeros.
        reasons: what speaks against writing there.
    """

    digest: str
    reasons: list[str]


class NbdTarget(FioTarget):
    """An export that fio loads with its nbd engine.

    Written without ``--erase`` only where the server says that all of it is a hole of zeros
    (NBD's block status); otherwise ``--erase URI:SIZE_BYTES`` has to name it, and it may hold
    nothing that a block device may not hold. The connection over which that was seen is held until
    the end, and before every step a new one has to lead to the same server, size and content.
    Whether another client uses it at the same time, nobody can tell.
    """

    def __init__(
        self,
        uri: str,
        erase_id: str | None = None,
        *,
        settings: Settings | None = None,
        clock: RecordingClock | None = None,
    ) -> None:
        """Ask the server for the size; raises UsageError or ToolError where it gives none."""
        super().__init__(settings, clock)
        self._uri = uri
        self._erase_id = erase_id
        self._server: Server | None = None
        self._held: NbdConnection | None = None
        self._seen: _Seen | None = None
        with Server(uri) as server, server.connect() as export:
            size = export.size_bytes
            self._trims = export.trims
        if size < _SAMPLE_BYTES:
            raise UsageError(f"{uri}: the export holds {size} bytes, too few to load")
        self.identity = Identity(
            kind="nbd", path=uri, model=None, serial=None, size_bytes=size, simulated=False
        )

    def _claim(self, writes: bool) -> Iterator[Note]:
        self._server = Server(self._uri)
        export = self._server.connect()
        if not writes:
            export.close()
            return
        self._held = export
        self._demand_writable(export)
        seen = self._seen = _whole(_look(export))
        if seen.reasons:
            raise self._refusal(*seen.reasons)
        if self._erase_id is not None and self._erase_id != self._name():
            raise self._refusal(
                f"--erase names '{self._erase_id}', but this export is '{self._name()}'"
            )
        if self._erase_id is None and (filled := _why_not_empty(export)) is not None:
            raise self._refusal(
                f"{filled}; if that may be lost, add --erase {shlex.quote(self._name())}"
            )
        self._demand_second()
        yield Note(
            "info",
            f"{self._uri}: is written; whether another client uses it too cannot be known",
        )

    def _demand_writable(self, export: NbdConnection) -> None:
        if export.size_bytes != self.identity.size_bytes:
            raise self._refusal(
                f"its size was {self.identity.size_bytes} and is {export.size_bytes} now"
            )
        if export.read_only:
            raise self._refusal("the server is read-only")

    def _demand_second(self) -> None:
        """Raise ToolError where the server takes no client beside the connection that is held."""
        assert self._server is not None
        try:
            self._server.connect().close()
        except ToolError as error:
            raise ToolError(
                f"{self._uri}: the server takes only one connection, and heatsoak holds one while "
                "fio loads: let it take several (qemu-nbd --shared=0)"
            ) from error

    def _name(self) -> str:
        return f"{self._uri}:{self.identity.size_bytes}"

    def _refusal(self, *reasons: str) -> RefusedError:
        return RefusedError(printable(f"{self._uri}: will not be written: {'; '.join(reasons)}"))

    def _place(self) -> FioPlace:
        if "nbd" not in self.fio.engines:
            raise ToolError(f"{self.fio.version} was built without its nbd engine")
        if self._server is None:
            raise ToolError("the target is not open")
        return FioPlace(
            (f"--uri={self._server.uri}",),
            self.size_bytes,
            "nbd",
            direct=False,
            file="nbd",
            block_bytes=512,
            trims=self._trims,
        )

    def _keep_fds(self) -> list[int]:
        return [] if self._server is None or self._server.fd is None else [self._server.fd]

    def describe(self) -> dict[str, Any]:
        """Return how the load is made."""
        return {**super().describe(), "uri": self._uri}

    def _before(self, name: str, regions: Regions) -> Iterator[Batch]:  # noqa: ARG002
        """Make sure that it is still the export that was claimed, with what it held."""
        if self._held is None:
            return
        yield from self._recheck(self._held)
        self._seen = None  # until the step has ended

    def _recheck(self, held: NbdConnection) -> Iterator[Batch]:
        """Raise RefusedError unless a new connection leads to what was claimed."""
        assert self._server is not None
        try:
            held.read(0, _SAMPLE_BYTES)
        except ToolError as error:
            raise self._lost() from error
        if not self._server.is_in_place():
            raise self._refusal("its socket is another one now")
        expected = self._seen
        if expected is None:
            expected = yield from _look(held)
        with self._server.connect() as export:
            self._demand_writable(export)
            seen = yield from _look(export)
        if seen.reasons:
            raise self._refusal(*seen.reasons)
        if seen.digest != expected.digest:
            raise self._refusal("it does not hold what it did: somebody else has changed it")

    def _lost(self) -> HeatsoakError:
        """Return what to say once the connection that is held has ended."""
        try:
            with Server(self._uri) as server:
                server.connect().close()
        except (ToolError, UsageError):
            return ToolError(f"{self._uri}: the server has gone")
        return self._refusal(
            "the server that was examined has ended its connection, and what answers now is another"
        )

    def run(self, step: LoadStep) -> Iterator[Batch]:
        """Run one workload or replay; says so where it failed because the server has gone."""
        try:
            yield from super().run(step)
        except ToolError as error:
            if self._seen is not None:  # fio had not begun
                raise
            raise self._told(error) from error
        if self._held is not None:
            self._seen = yield from _look(self._held)

    def _told(self, error: ToolError) -> HeatsoakError:
        """Return why a step failed: for want of a server, or as `error` says."""
        if self._held is not None:
            with suppress(ToolError):
                self._held.read(0, _SAMPLE_BYTES)
                return error
            lost = self._lost()
        else:
            with suppress(ToolError, UsageError), Server(self._uri) as server:
                server.connect().close()
                return error
            lost = ToolError(f"{self._uri}: the server has gone")
        return type(lost)(f"{lost}: {error}")

    def _purge(self, method: PurgeMethod) -> Iterator[Batch]:  # noqa: ARG002 -- one way
        """Trim the whole export through the connection that is held."""
        held = self._held
        if held is None:
            raise RefusedError(f"{self._uri}: is open for reading and cannot be purged")
        yield from self._recheck(held)
        if not held.trims:
            yield Note("warning", f"{self._uri}: takes no trim, so it was not purged")
            return
        size = self.identity.size_bytes
        self._seen = None
        for start in range(0, size, _TRIMMED_AT_ONCE):
            held.trim(start, min(_TRIMMED_AT_ONCE, size - start))
            yield HEARTBEAT
        self._seen = yield from _look(held)
        yield Note("info", f"{self._uri}: {format_bytes(size)} were trimmed")

    def _release(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
        if self._server is not None:
            self._server.close()
            self._server = None


def _why_not_empty(export: NbdConnection) -> str | None:
    """Return why an export is not plainly empty; None where it is."""
    if not export.tells_holes:
        return "the server does not say whether it is empty (NBD's base:allocation)"
    filled = export.first_filled()
    if filled is not None:
        return f"it holds data, or space taken for some, at byte {filled}"
    for start, length in _places(export.size_bytes):  # a server may be wrong
        if _is_filled(export.read(start, length)):
            return f"it holds data near byte {start}, which the server calls a hole"
    return None


def _is_filled(piece: bytes) -> bool:
    return piece.count(0) < len(piece)


def _places(size: int) -> Iterator[tuple[int, int]]:
    """Return offset and length of what an export is known by: both ends, and samples in between."""
    tail = max(size - _END_BYTES, _END_BYTES)
    tail -= tail % _SAMPLE_BYTES
    step = max((tail - _END_BYTES) // _SAMPLES, _SAMPLE_BYTES)
    for start in range(0, min(_END_BYTES, size), _PIECE_BYTES):
        yield start, min(_PIECE_BYTES, size - start)
    for start in range(_END_BYTES, tail, step):
        yield start - start % _SAMPLE_BYTES, _SAMPLE_BYTES
    for start in range(tail, size, _PIECE_BYTES):
        yield start, min(_PIECE_BYTES, size - start)


def _look(export: NbdConnection) -> Generator[Batch, None, _Seen]:
    """Look at an export, with signs of life; nothing is read of what is a hole from end to end."""
    if export.tells_holes and export.first_filled() is None:
        return _Seen("", [])
    size, digest = export.size_bytes, hashlib.sha256()
    with os.fdopen(os.memfd_create("heatsoak-export"), "r+b", buffering=0) as copy:
        copy.truncate(size)
        for start, length in _places(size):
            piece = export.read(start, length)
            digest.update(piece)
            if _is_filled(piece):
                os.pwrite(copy.fileno(), piece, start)
            yield HEARTBEAT
        return _Seen(digest.hexdigest(), content(copy.fileno(), size))


def _whole(looking: Generator[Batch, None, _Seen]) -> _Seen:
    """Return what comes of it, where nobody waits for signs of life."""
    while True:
        try:
            next(looking)
        except StopIteration as end:
            seen: _Seen = end.value
            return seen
