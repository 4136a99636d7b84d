"""A whole block device: read as it is, or claimed from the write guard and overwritten."""

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from heatsoak.errors import RefusedError, ToolError, UsageError
from heatsoak.sensor.base import Roots
from heatsoak.target.base import Batch, Clock, Note
from heatsoak.target.device import describe_device
from heatsoak.target.fio.command import Place
from heatsoak.target.fio.target import FioTarget, Regions, Settings
from heatsoak.target.fio.watch import HEARTBEAT
from heatsoak.target.guard import Claim, claim

_BLKDISCARD = 0x1277
_DISCARDED_AT_ONCE = 1 << 30


class BlockTarget(FioTarget):
    """A drive itself. fio opens the descriptor that was examined, never the path."""

    def __init__(
        self,
        path: Path,
        erase_id: str | None = None,
        *,
        roots: Roots | None = None,
        settings: Settings | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Describe the drive without opening it; raises UsageError where it is no block device."""
        super().__init__(settings, clock)
        self._path = path
        self._erase_id = erase_id
        self._roots = roots or Roots()
        self._claimed: Claim | None = None
        self._read_fd: int | None = None
        info = describe_device(path, self._roots)
        self._info = info
        self._number = info.number
        self.identity = info.identity(str(path))

    def _claim(self, writes: bool) -> Iterator[Note]:
        if writes:
            self._claimed = claim(self._path, self._erase_id, self._roots)
            return
        try:
            self._read_fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
        except PermissionError as error:
            raise UsageError(f"{self._path}: no permission to read it: run as root") from error
        except OSError as error:
            raise ToolError(f"{self._path}: cannot be opened: {error.strerror}") from error
        found = os.fstat(self._read_fd)
        number = f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"
        if not stat.S_ISBLK(found.st_mode) or number != self._number:
            raise UsageError(
                f"{self._path}: is not the whole disk {self._number}; name the disk itself"
            )
        yield Note(
            "info",
            f"{self._path}: is only read; where it was never written, a drive may answer without "
            "touching its flash",
        )

    def _fd(self) -> int:
        if self._claimed is not None:
            return self._claimed.fd
        if self._read_fd is None:
            raise ToolError("the target is not open")
        return self._read_fd

    def _keep_fds(self) -> list[int]:
        return [self._fd()]

    def _place(self) -> Place:
        return Place(
            (f"--filename=/proc/self/fd/{self._fd()}", "--allow_file_create=0"),
            self.identity.size_bytes,
            self.fio.engine(),
            direct=True,
            file=f"/proc/self/fd/{self._fd()}",
            block_bytes=self._info.logical_block_bytes,
            trims=self._info.trims,
        )

    def _disk(self) -> str | None:
        return self._info.name

    def describe(self) -> dict[str, Any]:
        """Return how the load is made."""
        erased = {} if self._claimed is None else {"erased": self._claimed.id}
        return {**super().describe(), **erased}

    def _before(self, name: str, regions: Regions) -> Iterator[Batch]:  # noqa: ARG002
        """Make sure that it is still the drive that was examined."""
        if self._claimed is not None:
            self._claimed.recheck()
        yield from ()

    def purge(self) -> Iterator[Batch]:
        """Discard every block through the descriptor that is held."""
        if self._claimed is None:
            raise RefusedError(f"{self._path}: is open for reading and cannot be purged")
        self._claimed.recheck()
        size = self.identity.size_bytes
        for start in range(0, size, _DISCARDED_AT_ONCE):
            length = min(_DISCARDED_AT_ONCE, size - start)
            try:
                fcntl.ioctl(self._claimed.fd, _BLKDISCARD, struct.pack("QQ", start, length))
            except OSError as error:
                if error.errno in (errno.EOPNOTSUPP, errno.ENOTTY, errno.EINVAL):
                    yield Note(
                        "warning",
                        f"{self._path}: takes no discard, so it was not purged: what it held "
                        "still takes up its spare area",
                    )
                    return
                raise ToolError(
                    f"{self._path}: discarding at byte {start} failed: {error.strerror}"
                ) from error
            yield HEARTBEAT
        yield Note("info", f"{self._path}: every block was discarded")

    def _release(self) -> None:
        if self._claimed is not None:
            self._claimed.close()
            self._claimed = None
        if self._read_fd is not None:
            os.close(self._read_fd)
            self._read_fd = None
