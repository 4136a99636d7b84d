"""An NBD export: a virtual drive, or somebody's data behind a socket."""

import hashlib
import os
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from heatsoak.errors import HeatsoakError, RefusedError, ToolError, UsageError
from heatsoak.protocol import LoadStep, PurgeMethod
from heatsoak.target.base import HEARTBEAT, Batch, Identity, Note, RecordingClock
from heatsoak.target.fio.command import FioPlace
from heatsoak.target.fio.nbd_client import NbdConnection, Server
from heatsoak.target.fio.target import FioTarget, Regions, Settings
from heatsoak.target.guard import left
from heatsoak.target.guard.content import content
from heatsoak.target.guard.data import look_for_data
from heatsoak.target.guard.look import SAMPLE_BYTES, places
from heatsoak.target.guard.named import Naming, refusal
from heatsoak.units import format_bytes

_TRIMMED_AT_ONCE = 1 << 30


@dataclass(frozen=True)
class _Seen:
    """The contents of an export when it was examined.

    Attributes:
        digest: of its ends and samples; empty if all of it is a hole of zeros.
        reasons: the reasons not to write to it.
    """

    digest: str
    reasons: list[str]


class NbdTarget(FioTarget):
    """An export that fio loads with its nbd engine.

    It is only written without ``--erase`` if the server says that all of it is a hole of zeros
    (NBD's block status); otherwise ``--erase URI:SIZE_BYTES`` must name it, as a block device is
    named, and it must not have anything that a block device must not have. The connection used to
    check this is kept open until the end, and before every step a new one must lead to the same
    server, size and contents. Whether another client uses it at the same time cannot be known.
    """

    def __init__(
        self,
        uri: str,
        erase_id: str | None = None,
        *,
        settings: Settings | None = None,
        clock: RecordingClock | None = None,
    ) -> None:
        """Ask the server for the size; raises UsageError or ToolError if it gives none."""
        super().__init__(settings, clock)
        self._uri = uri
        self._erase_id = erase_id
        self._server: Server | None = None
        self._held: NbdConnection | None = None
        self._seen: _Seen | None = None
        self._is_written = False
        with Server(uri) as server, server.connect() as export:
            size = export.size_bytes
            self._trims = export.trims
        if size < SAMPLE_BYTES:
            raise UsageError(f"{uri}: the export has {size} bytes, too few to load")
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
        filled, data = _why_not_empty(export), None
        if filled is not None:
            data = left.unknown(self._name(), look_for_data(export.read, export.size_bytes))
        if filled is not None or self._erase_id is not None:
            unnamed = f"{filled}; if it may be overwritten"
            named = Naming(self._uri, [self._name()], "export", unnamed)
            if (refused := named.refused(self._erase_id, data)) is not None:
                raise refused
        self._demand_second()
        if data is not None:
            yield Note("warning", f"{self._uri}: {data}; this run overwrites it")
        yield Note(
            "info",
            f"{self._uri}: will be overwritten; there is no way to tell whether another client is "
            "using it too",
        )

    def _demand_writable(self, export: NbdConnection) -> None:
        if export.size_bytes != self.identity.size_bytes:
            raise self._refusal(
                f"its size was {self.identity.size_bytes} and is {export.size_bytes} now"
            )
        if export.read_only:
            raise self._refusal("the server is read-only")

    def _demand_second(self) -> None:
        """Raise ToolError if the server does not allow a second connection."""
        assert self._server is not None
        try:
            self._server.connect().close()
        except ToolError as error:
            raise ToolError(
                f"{self._uri}: the server allows only one connection, but heatsoak keeps one open "
                "beside fio's: let it allow several (qemu-nbd --shared=0)"
            ) from error

    def _name(self) -> str:
        return f"{self._uri}:{self.identity.size_bytes}"

    def _refusal(self, *reasons: str) -> RefusedError:
        return refusal(self._uri, *reasons)

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
        """Check that it is still the claimed export with the same contents."""
        if self._held is None:
            return
        yield from self._recheck(self._held)
        self._seen, self._is_written = None, True  # until the step has ended

    def _recheck(self, held: NbdConnection) -> Iterator[Batch]:
        """Raise RefusedError unless a new connection leads to the claimed export."""
        assert self._server is not None
        try:
            held.read(0, SAMPLE_BYTES)
        except ToolError as error:
            raise self._lost() from error
        if not self._server.is_in_place():
            raise self._refusal("its socket was replaced")
        expected = self._seen
        if expected is None:
            expected = yield from _look(held)
        with self._server.connect() as export:
            self._demand_writable(export)
            seen = yield from _look(export)
        if seen.reasons:
            raise self._refusal(*seen.reasons)
        if seen.digest != expected.digest:
            raise self._refusal("its contents were changed by somebody else")

    def _lost(self) -> HeatsoakError:
        """Return the error for a lost connection."""
        try:
            with Server(self._uri) as server:
                server.connect().close()
        except (ToolError, UsageError):
            return ToolError(f"{self._uri}: the server is gone")
        return self._refusal(
            "the server that was examined has closed its connection, and another answers now"
        )

    def run(self, step: LoadStep) -> Iterator[Batch]:
        """Run one workload or replay; if it fails because the server is gone, the error says so."""
        try:
            yield from super().run(step)
        except ToolError as error:
            if self._seen is not None:  # fio was not started
                raise
            raise self._explained(error) from error
        if self._held is not None:
            self._seen = yield from _look(self._held)

    def _explained(self, error: ToolError) -> HeatsoakError:
        """Return why a step failed: because the server is gone, or else `error`."""
        if self._held is not None:
            with suppress(ToolError):
                self._held.read(0, SAMPLE_BYTES)
                return error
            lost = self._lost()
        else:
            with suppress(ToolError, UsageError), Server(self._uri) as server:
                server.connect().close()
                return error
            lost = ToolError(f"{self._uri}: the server is gone")
        return type(lost)(f"{lost}: {error}")

    def _purge(self, method: PurgeMethod) -> Iterator[Batch]:  # noqa: ARG002 -- one way
        """Trim the whole export through the open connection."""
        held = self._held
        if held is None:
            raise RefusedError(f"{self._uri}: is only open for reading and cannot be purged")
        yield from self._recheck(held)
        if not held.trims:
            yield Note("warning", f"{self._uri}: does not support trim, so it was not purged")
            return
        size = self.identity.size_bytes
        self._seen, self._is_written = None, True
        for start in range(0, size, _TRIMMED_AT_ONCE):
            held.trim(start, min(_TRIMMED_AT_ONCE, size - start))
            yield HEARTBEAT
        self._seen = yield from _look(held)
        yield Note("info", f"{self._uri}: {format_bytes(size)} were trimmed")

    def _remember(self, held: NbdConnection) -> None:
        """Let the next run know what this one has written, unless it was changed since."""
        if not self._is_written or self._seen is None:
            return
        with suppress(ToolError):
            if _whole(_look(held)).digest == self._seen.digest:
                left.remember(self._name(), look_for_data(held.read, held.size_bytes))

    def _release(self) -> None:
        if self._held is not None:
            self._remember(self._held)
            self._held.close()
            self._held = None
        if self._server is not None:
            self._server.close()
            self._server = None


def _why_not_empty(export: NbdConnection) -> str | None:
    """Return why an export is not known to be empty; None if it is."""
    if not export.tells_holes:
        return "the server does not say whether it is empty (NBD's base:allocation)"
    filled = export.first_filled()
    if filled is not None:
        return f"it has data, or allocated space, at byte {filled}"
    for start, length in places(export.size_bytes):  # the server may be wrong
        if _is_filled(export.read(start, length)):
            return f"it has data near byte {start}, where the server reports a hole"
    return None


def _is_filled(piece: bytes) -> bool:
    return piece.count(0) < len(piece)


def _look(export: NbdConnection) -> Generator[Batch, None, _Seen]:
    """Examine an export, yielding heartbeats; one that is all hole is not read."""
    if export.tells_holes and export.first_filled() is None:
        return _Seen("", [])
    size, digest = export.size_bytes, hashlib.sha256()
    with os.fdopen(os.memfd_create("heatsoak-export"), "r+b", buffering=0) as copy:
        copy.truncate(size)
        for start, length in places(size):
            piece = export.read(start, length)
            digest.update(piece)
            if _is_filled(piece):
                os.pwrite(copy.fileno(), piece, start)
            yield HEARTBEAT
        return _Seen(digest.hexdigest(), content(copy.fileno(), size))


def _whole(looking: Generator[Batch, None, _Seen]) -> _Seen:
    """Return the result, ignoring heartbeats."""
    while True:
        try:
            next(looking)
        except StopIteration as end:
            seen: _Seen = end.value
            return seen
