"""An NBD export: a virtual drive, or somebody's data behind a socket."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from heatsoak import errors
from heatsoak.protocol import PurgeMethod
from heatsoak.target import base
from heatsoak.target.fio.command import FioPlace
from heatsoak.target.fio.nbd_client import NbdConnection, Server
from heatsoak.target.fio.target import FioTarget
from heatsoak.target.guard import look, refusal
from heatsoak.target.guard.hold import Naming
from heatsoak.words import size_text

_TRIMMED_AT_ONCE = 1 << 30


class NbdTarget(FioTarget):
    """An export that fio loads with its nbd engine.

    It is only written without ``--erase`` if the server says that all of it is a hole of zeros
    (NBD's block status); otherwise ``--erase URI:SIZE_BYTES`` must name it, as a block device
    is named, and it must not have anything that a block device must not have. The connection used
    to check this is kept open until the end, and before every step a new one must lead to the same
    server, size and contents. Whether another client uses it at the same time cannot be known.
    """

    def __init__(self, uri: str, erase_id: str | None = None) -> None:
        """Ask the server for the size; raises UsageError or ToolError if it gives none."""
        super().__init__()
        self._uri = uri
        self._erase_id = erase_id
        self._server: Server | None = None
        self._connection: NbdConnection | None = None
        with Server(uri) as server, server.connect() as export:
            size = export.size_bytes
            self._trims = export.trims
        if size < look.SAMPLE_BYTES:
            raise errors.UsageError(f"{uri}: the export has {size} bytes, too few to load")
        self.identity = base.Identity(
            kind="nbd", path=uri, model=None, serial=None, size_bytes=size, simulated=False
        )

    def _claim(self, writes: bool) -> Iterator[base.Note]:
        self._server = Server(self._uri)
        export = self._server.connect()
        if not writes:
            export.close()
            return
        self._connection = export
        self._demand_writable(export)
        if reasons := look.contents(_view(export)):
            raise refusal(self._uri, reasons)
        filled, data = _why_not_empty(export), None
        if filled is not None:
            data = look.of_others(self._left_as, look.look_for_data(_view(export)), self.resumes)
        if filled is not None or self._erase_id is not None:
            unnamed = f"{filled}; if it may be overwritten"
            named = Naming(self._uri, [self._left_as], "export", unnamed)
            if (refused := named.refused(self._erase_id, data)) is not None:
                raise refused
        try:
            self._server.connect().close()
        except errors.ToolError as error:
            raise errors.ToolError(
                f"{self._uri}: the server allows only one connection, but heatsoak keeps one open "
                "beside fio's: let it allow several (qemu-nbd --shared=0)"
            ) from error
        if filled is not None:
            yield self._overwrites(data)
        yield base.Note(
            "info",
            f"{self._uri}: will be overwritten; there is no way to tell whether another client is "
            "using it too",
        )

    def _demand_writable(self, export: NbdConnection) -> None:
        if export.size_bytes != self.identity.size_bytes:
            sizes = f"its size was {self.identity.size_bytes} and is {export.size_bytes} now"
            raise refusal(self._uri, [sizes])
        if export.read_only:
            raise refusal(self._uri, ["the server is read-only"])

    def place(self) -> FioPlace:
        """Return what fio loads."""
        if "nbd" not in self.fio.engines:
            raise errors.ToolError(f"{self.fio.version} was built without its nbd engine")
        if self._server is None:
            raise errors.ToolError("the target is not open")
        return FioPlace(
            (f"--uri={self._server.uri}",),
            self.size_bytes,
            "nbd",
            direct=False,
            file="nbd",
            block_bytes=512,
            trims=self._trims,
        )

    def kept_fds(self) -> list[int]:
        """Return the descriptors that fio inherits."""
        return [] if self._server is None or self._server.fd is None else [self._server.fd]

    def describe(self) -> dict[str, Any]:
        """Return how the load is made."""
        return {**super().describe(), "uri": self._uri}

    @property
    def _left_as(self) -> str:
        return f"{self._uri}:{self.identity.size_bytes}"

    def _held(self) -> look.TargetView | None:
        return None if self._connection is None else _view(self._connection)

    @contextmanager
    def _again(self, held: look.TargetView) -> Iterator[look.TargetView]:
        """Give the export as a new connection finds it, which must lead to the claimed one."""
        assert self._server is not None
        try:
            held.read(0, look.SAMPLE_BYTES)
        except errors.ToolError as error:
            raise self._lost() from error
        if not self._server.is_in_place():
            raise refusal(self._uri, ["its socket was replaced"])
        with self._server.connect() as export:
            self._demand_writable(export)
            yield _view(export)

    def _answers(self) -> bool:
        """Whether a server answers, be it the one that was examined or another."""
        with suppress(errors.ToolError, errors.UsageError), Server(self._uri) as server:
            server.connect().close()
            return True
        return False

    def _lost(self) -> errors.HeatsoakError:
        """Return the error for a lost connection."""
        if not self._answers():
            return errors.ToolError(f"{self._uri}: the server is gone")
        another = "the server that was examined has closed its connection, and another answers now"
        return refusal(self._uri, [another])

    def _explained(self, error: errors.ToolError) -> errors.HeatsoakError | None:
        if self._connection is not None:
            with suppress(errors.ToolError):
                self._connection.read(0, look.SAMPLE_BYTES)
                return None
            lost = self._lost()
        else:
            if self._answers():
                return None
            lost = errors.ToolError(f"{self._uri}: the server is gone")
        return type(lost)(f"{lost}: {error}")

    def _purge(self, method: PurgeMethod) -> Iterator[base.Batch]:  # noqa: ARG002 -- one way
        """Trim the whole export through the open connection."""
        held = self._connection
        if held is None:
            raise errors.RefusedError(f"{self._uri}: is only open for reading and cannot be purged")
        if not held.trims:
            yield base.Note("warning", f"{self._uri}: does not support trim, so it was not purged")
            return
        size = self.identity.size_bytes
        for start in range(0, size, _TRIMMED_AT_ONCE):
            held.trim(start, min(_TRIMMED_AT_ONCE, size - start))
            yield base.HEARTBEAT
        yield base.Note("info", f"{self._uri}: {size_text(size)} were trimmed")

    def _release(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
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
    for start, length in look.places(export.size_bytes):  # the server may be wrong
        if look.is_filled(export.read(start, length)):
            return f"it has data near byte {start}, where the server reports a hole"
    return None


def _view(export: NbdConnection) -> look.TargetView:
    """Return what a connection shows; of an export that is one hole, nothing."""

    @cache
    def is_hole() -> bool:
        return export.tells_holes and export.first_filled() is None

    return look.TargetView(
        export.size_bytes,
        lambda offset, length: b"" if is_hole() else export.read(offset, length),
        read_many=lambda all_: [b""] * len(all_) if is_hole() else export.read_many(all_),
    )
