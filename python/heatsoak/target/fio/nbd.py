"""An NBD export: a virtual drive, or somebody's data behind a socket."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

from heatsoak.errors import RefusedError, ToolError, UsageError
from heatsoak.protocol import LoadStep, PurgeMethod
from heatsoak.target.base import HEARTBEAT, Batch, Clock, Identity, Note
from heatsoak.target.fio.command import Place
from heatsoak.target.fio.nbd_client import Export
from heatsoak.target.fio.target import FioTarget, Settings
from heatsoak.target.guard import TOOL_PATH
from heatsoak.units import format_bytes

#: How much of each end is looked at; no signature that blkid knows lies deeper inside.
_END_BYTES = 4 << 20
_SAMPLES = 256
_SAMPLE_BYTES = 4096
_TRIMMED_AT_ONCE = 1 << 30


class NbdTarget(FioTarget):
    """An export that fio loads with its nbd engine.

    Written without ``--erase`` only where it is plainly empty: both ends and samples in between
    are zeros. Otherwise ``--erase URI:SIZE_BYTES`` has to name it, and neither end may carry
    a signature. Whether another client uses it, nobody can tell.
    """

    def __init__(
        self,
        uri: str,
        erase_id: str | None = None,
        *,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Ask the server for the size; raises UsageError or ToolError where it gives none."""
        super().__init__(settings, clock)
        self._uri = uri
        self._erase_id = erase_id
        with Export(uri) as export:
            size = export.size_bytes
            self._trims = export.trims
        if size < _SAMPLE_BYTES:
            raise UsageError(f"{uri}: the export holds {size} bytes, too few to load")
        self.identity = Identity(
            kind="nbd", path=uri, model=None, serial=None, size_bytes=size, simulated=False
        )

    def _claim(self, writes: bool) -> Iterator[Note]:
        if not writes:
            return
        with Export(self._uri) as export:
            if export.size_bytes != self.identity.size_bytes:
                raise RefusedError(
                    f"{self._uri}: will not be written: its size was {self.identity.size_bytes} "
                    f"and is {export.size_bytes} now"
                )
            if export.read_only:
                raise RefusedError(f"{self._uri}: will not be written: the server is read-only")
            if self._erase_id is None:
                self._demand_empty(export)
            else:
                self._demand_named(export)
        yield Note(
            "info",
            f"{self._uri}: is written; whether another client uses it too cannot be known",
        )

    def _demand_empty(self, export: Export) -> None:
        filled = _first_filled(export)
        if filled is None:
            return
        raise RefusedError(
            f"{self._uri}: will not be written: it holds data near byte {filled}; if it may be "
            f"lost, add --erase '{self._name()}'"
        )

    def _demand_named(self, export: Export) -> None:
        signature = _signature(export)
        if signature is not None:
            raise RefusedError(f"{self._uri}: will not be written: it holds {signature}")
        if self._erase_id != self._name():
            raise RefusedError(
                f"{self._uri}: will not be written: --erase names '{self._erase_id}', but this "
                f"export is '{self._name()}'"
            )

    def _name(self) -> str:
        return f"{self._uri}:{self.identity.size_bytes}"

    def _place(self) -> Place:
        if "nbd" not in self.fio.engines:
            raise ToolError(f"{self.fio.version} was built without its nbd engine")
        return Place(
            (f"--uri={self._uri}",),
            self.size_bytes,
            "nbd",
            direct=False,
            file="nbd",
            block_bytes=512,
            trims=self._trims,
        )

    def describe(self) -> dict[str, Any]:
        """Return how the load is made."""
        return {**super().describe(), "uri": self._uri}

    def run(self, step: LoadStep) -> Iterator[Batch]:
        """Run one workload or replay; says so where it failed because the server has gone."""
        try:
            yield from super().run(step)
        except ToolError as error:
            try:
                Export(self._uri).close()
            except (ToolError, UsageError):
                raise ToolError(f"{self._uri}: the server has gone: {error}") from error
            raise

    def _purge(self, method: PurgeMethod) -> Iterator[Batch]:  # noqa: ARG002 -- one way
        """Trim the whole export."""
        if not self._writes:
            raise RefusedError(f"{self._uri}: is open for reading and cannot be purged")
        with Export(self._uri) as export:
            if not export.trims:
                yield Note("warning", f"{self._uri}: takes no trim, so it was not purged")
                return
            size = self.identity.size_bytes
            for start in range(0, size, _TRIMMED_AT_ONCE):
                export.trim(start, min(_TRIMMED_AT_ONCE, size - start))
                yield HEARTBEAT
        yield Note("info", f"{self._uri}: {format_bytes(size)} were trimmed")

    def _release(self) -> None:
        """Nothing is held between steps."""


def _ends(size: int) -> list[tuple[int, int]]:
    """Return offset and length of both ends; one stretch where they meet."""
    if size <= 2 * _END_BYTES:
        return [(0, size)]
    tail = size - _END_BYTES
    tail -= tail % _SAMPLE_BYTES
    return [(0, _END_BYTES), (tail, size - tail)]


def _first_filled(export: Export) -> int | None:
    """Return where something other than zeros was found, None where all that was read is zero."""
    size = export.size_bytes
    places = _ends(size)
    step = max((size - 2 * _END_BYTES) // _SAMPLES, _SAMPLE_BYTES)
    for start in range(_END_BYTES, size - _END_BYTES, step):
        places.append((start - start % _SAMPLE_BYTES, _SAMPLE_BYTES))
    for start, length in places:
        if any(export.read(start, length)):
            return start
    return None


def _signature(export: Export) -> str | None:
    """Return what blkid sees on a sparse copy that holds only the ends; None for nothing.

    Raises RefusedError where that cannot be found out.
    """
    blkid = shutil.which("blkid", path=TOOL_PATH) or shutil.which("blkid")
    if blkid is None:
        raise RefusedError("blkid is missing, so what an export holds cannot be known")
    # in memory, where a sparse file may be of any size; file systems end at 16 TiB or before
    with os.fdopen(os.memfd_create("heatsoak"), "r+b") as copy:
        try:
            copy.truncate(export.size_bytes)
        except OSError as error:
            raise RefusedError(
                f"what an export of {format_bytes(export.size_bytes)} holds cannot be known: "
                f"{error.strerror}"
            ) from error
        for start, length in _ends(export.size_bytes):
            copy.seek(start)
            copy.write(export.read(start, length))
        copy.flush()
        seen = subprocess.run(
            [blkid, "-p", "-o", "export", f"/dev/fd/{copy.fileno()}"],
            pass_fds=[copy.fileno()],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    if seen.returncode == 2 and not seen.stdout:
        return None
    if seen.returncode == 0:
        found = dict(line.split("=", 1) for line in seen.stdout.splitlines() if "=" in line)
        return found.get("TYPE") or found.get("PTTYPE") or "something that blkid knows"
    if seen.returncode == 8:
        return "signatures that contradict each other"
    raise RefusedError(f"blkid cannot tell what the export holds (exit code {seen.returncode})")
