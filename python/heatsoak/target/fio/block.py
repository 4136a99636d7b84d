"""A whole block device: only read, or claimed through the write guard and overwritten."""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from heatsoak import errors
from heatsoak.protocol import PurgeMethod
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.traffic import sectors_changed
from heatsoak.target import base, hctm, purge
from heatsoak.target.device import describe_device
from heatsoak.target.fio.command import FioPlace
from heatsoak.target.fio.target import FioTarget
from heatsoak.target.guard import HeldDrive, claim
from heatsoak.target.guard.look import TargetView


class BlockTarget(FioTarget):
    """A whole drive. fio opens the descriptor that was examined, never the path."""

    def __init__(
        self,
        path: Path,
        erase_id: str | None = None,
        *,
        roots: Roots | None = None,
        purges: Collection[PurgeMethod] = (),
    ) -> None:
        """Describe the drive without opening it; raises UsageError if it is not a block device.

        `purges` are the purge methods that will be used: a drive that does not support these is not
        opened.
        """
        super().__init__(roots)
        self._path = path
        self._erase_id = erase_id
        self._purges = purges
        self._claimed: HeldDrive | None = None
        self._read_fd: int | None = None
        info = describe_device(path, self._roots)
        if info.size_bytes == 0:
            raise errors.UsageError(
                f"{path}: has no capacity, like a detached drive: attach it first"
            )
        self._info = info
        self._number = info.number
        self.identity = info.identity(str(path))

    def _claim(self, writes: bool) -> Iterator[base.Note]:
        if writes:
            self._claimed = claim(
                self._path, self._erase_id, self._roots, known=self._info, resumes=self.resumes
            )
            yield self._overwrites(self._claimed.data)
            # restore what an earlier, killed run left changed on this drive (and no other)
            if self._info.serial is not None:
                yield from hctm.put_back(self._roots, serial=self._info.serial)
            for method in self._purges:
                purge.require(self._claimed, method)
            return
        with errors.saying(f"{self._path}: cannot be opened"):
            try:
                self._read_fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            except PermissionError as error:
                raise errors.UsageError(
                    f"{self._path}: no permission to read it: run as root"
                ) from error
        found = os.fstat(self._read_fd)
        if not stat.S_ISBLK(found.st_mode) or sysfs.number_of(found.st_rdev) != self._number:
            raise errors.UsageError(
                f"{self._path}: is not the whole disk {self._number}: name the disk itself"
            )
        yield base.Note(
            "info",
            f"{self._path}: will only be read; a drive may answer reads of blocks that were never "
            "written without accessing its flash",
        )

    def _fd(self) -> int:
        if self._claimed is not None:
            return self._claimed.fd
        if self._read_fd is None:
            raise errors.ToolError("the target is not open")
        return self._read_fd

    def kept_fds(self) -> list[int]:
        """Return the descriptors that fio inherits."""
        return [self._fd()]

    def place(self) -> FioPlace:
        """Return what fio loads."""
        return FioPlace(
            (f"--filename=/proc/self/fd/{self._fd()}", "--allow_file_create=0"),
            self.size_bytes,
            self.fio.engine(),
            direct=True,
            file=f"/proc/self/fd/{self._fd()}",
            block_bytes=self._info.logical_block_bytes,
            trims=self._info.trims,
        )

    def describe(self) -> dict[str, Any]:
        """Return how the load is made."""
        erased = {} if self._claimed is None else {"erased": self._claimed.id}
        return {**super().describe(), **erased}

    @property
    def _left_as(self) -> str | None:
        return self._info.erase_id

    def _held(self) -> TargetView | None:
        if self._claimed is None:
            return None
        disk = sysfs.directory_of_number(self._number, self._roots)
        changed = None if disk is None else sectors_changed(disk)
        return TargetView.through(self._claimed.fd, self._info.size_bytes, changed)

    def _again(self, held: TargetView) -> AbstractContextManager[TargetView]:
        assert self._claimed is not None
        self._claimed.examine_again()
        return super()._again(held)

    def _explained(self, error: errors.ToolError) -> errors.HeatsoakError | None:
        # the kernel sets a removed drive's size to 0, which fio reports as a lack of space
        if sysfs.directory_of_number(self._number, self._roots) is None:
            return errors.ToolError(f"{self._path}: the drive is gone: {error}")
        return None

    def _purge(self, method: PurgeMethod) -> Iterator[base.Batch]:
        """Purge through the claimed descriptor, with :mod:`heatsoak.target.purge`."""
        if self._claimed is None:
            raise errors.RefusedError(
                f"{self._path}: is only open for reading and cannot be purged"
            )
        yield from purge.purge(self._claimed, method)

    def _release(self) -> None:
        if self._claimed is not None:
            self._claimed.close()
            self._claimed = None
        if self._read_fd is not None:
            os.close(self._read_fd)
            self._read_fd = None
