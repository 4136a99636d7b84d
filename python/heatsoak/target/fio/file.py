"""A file: our own test file in a directory, or a file that is there and only read."""

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from heatsoak import errors
from heatsoak.protocol import PurgeMethod
from heatsoak.sensor import Roots, sysfs
from heatsoak.target import base, memory
from heatsoak.target.device import drive_behind
from heatsoak.target.fio.command import FioPlace, layout_step
from heatsoak.target.fio.process import FioWatch, takes_direct
from heatsoak.target.fio.target import FioTarget, Regions
from heatsoak.target.guard import refusal
from heatsoak.target.guard.look import TargetView
from heatsoak.target.guard.users import writers_of_own
from heatsoak.tools import ran, which
from heatsoak.units import Size
from heatsoak.words import percent_text, size_text

#: A smaller file says nothing about a drive, and a file system that full is better left alone.
MIN_SPACE = 64 << 20
#: Share of the file system that stays free; and where a file is made again, since others wrote
#: meanwhile.
KEPT_FREE, KEPT_FREE_AGAIN = 0.10, 0.05

_PROGRESS_S = 5.0
_WHOLE = Size(percent=100.0)


class DirectoryTarget(FioTarget):
    """A test file in a directory, without a name, so that it cannot be left behind.

    All its blocks are reserved when the target is opened. Before a step reads what has not been
    written yet, it is laid out, without yielding samples.
    """

    _fd: int | None = None
    _name: Path | None = None
    _direct = False

    def __init__(
        self,
        directory: Path,
        file_size: Size = _WHOLE,
        *,
        again: bool = False,
        roots: Roots | None = None,
    ) -> None:
        """Determine how large the file can be, without creating it.

        `file_size` can be a share of the usable space, which is the free space minus 10 % of the
        file system, and in memory at most 90 % of what is free. `again` is for a file that was
        here before: it is as large as it was, and 5 % are enough.

        Raises RefusedError if the file system is too full, or lies in memory that is, and for
        device nodes; UsageError if `directory` is not one.
        """
        super().__init__(roots)
        self._directory = directory
        self._kept_free = KEPT_FREE_AGAIN if again else KEPT_FREE
        self._sees_holes = True
        self._laid_out: list[tuple[int, int]] = []
        self._claimed_in: os.stat_result | None = None
        if not directory.is_dir():
            raise errors.UsageError(f"{directory}: is not a directory")
        space = _Space(directory, self._kept_free, self._roots)
        if again:
            self._require_space(file_size.of(space.usable))
        elif space.usable < MIN_SPACE:
            raise errors.RefusedError(
                f"{directory}: {size_text(space.free)} are free, but "
                f"{size_text(space.kept + MIN_SPACE)} are needed: 10 % of {space.what} "
                f"({size_text(space.kept)}) is kept free"
            )
        wanted = file_size.of(space.usable)
        if space.is_memory and wanted > space.usable:
            fits = int(space.usable * (1 - KEPT_FREE_AGAIN))  # a moment later too
            raise errors.RefusedError(
                f"{directory}: lies in memory, and a test file of {size_text(wanted)} does not fit "
                f"into the {size_text(space.free)} that are free, of which 10 % is kept free: "
                f"--set file_size={fits >> 20}MiB fits"
            )
        size = min(wanted, space.usable)
        size -= size % (1 << 20 if size >= 1 << 20 else 4096)
        if size <= 0:
            raise errors.UsageError(
                f"file_size is {file_size}: a test file needs at least 4096 bytes"
            )
        self._wanted = wanted if wanted > space.usable else None
        self.identity = _identity(
            directory,
            size,
            {
                "directory": str(directory.resolve()),
                "free_bytes": space.free,
                "kept_free_bytes": space.kept,
            },
            self._roots,
        )

    def _claim(self, writes: bool) -> Iterator[base.Note]:  # noqa: ARG002 -- the file is ours
        size = self.identity.size_bytes
        self._require_space(size)
        in_memory = memory.memory_note(self._directory, self._roots)
        if in_memory is not None:
            yield in_memory
        try:
            yield from self._make()
            assert self._fd is not None
            self._claimed_in = self._directory.stat()
            # looking at it must not read ahead into what was never written
            os.posix_fadvise(self._fd, 0, 0, os.POSIX_FADV_RANDOM)
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise type(errors.of_os_error(error))(
                f"{self._directory}: a test file cannot be created: {error.strerror}"
            ) from error
        yield from self._reserve()
        # not every file system reports holes, or distinguishes reserved blocks from data
        self._sees_holes = os.lseek(self._fd, 0, os.SEEK_HOLE) == 0
        self._direct = takes_direct(self._fio_path())
        if not self._direct and in_memory is None:
            yield _page_cache_note(self._directory)
        if self._wanted is not None:
            yield base.Note(
                "warning",
                f"the test file is {size_text(size)} instead of {size_text(self._wanted)}: "
                "10 % of the file system is kept free",
            )

    def _require_space(self, size: int) -> None:
        space = _Space(self._directory, self._kept_free, self._roots, KEPT_FREE_AGAIN)
        if size > space.usable:
            raise errors.RefusedError(
                f"{self._directory}: there is no longer space for a test file of "
                f"{size_text(size)}: {percent_text(100 * space.kept_share)} of {space.what} is "
                "kept free"
            )

    def _make(self) -> Iterator[base.Note]:
        """Open a file without a name, or with a name as the last resort."""
        with tempfile.TemporaryFile(suffix=".heatsoak", prefix=".", dir=self._directory) as file:
            self._fd = os.dup(file.fileno())
        if Path(self._fio_path()).exists():
            return
        os.close(self._fd)  # without /proc, fio cannot open a file without a name
        self._fd, name = tempfile.mkstemp(".heatsoak", ".", self._directory)
        self._name = Path(name)
        yield base.Note(
            "warning", f"the test file needs a name here, {name}: remove it if heatsoak is killed"
        )

    def _reserve(self) -> Iterator[base.Note]:
        """Reserve the blocks now, so that nothing else can take the space."""
        tool = which("fallocate")
        assert self._fd is not None
        if tool is None:
            yield base.Note(
                "info", "fallocate is not installed: the test file's blocks are not reserved"
            )
            return
        words = [tool, "-l", str(self.identity.size_bytes), self._fio_path()]
        reserved = ran(words, keep_fds=[self._fd])
        if reserved.returncode != 0:
            os.ftruncate(self._fd, 0)
            os.ftruncate(self._fd, self.identity.size_bytes)
            why = (reserved.stderr.strip() or "no reason given").splitlines()[-1]
            yield base.Note("info", f"the test file's blocks are not reserved: {why}")

    def _fio_path(self) -> str:
        return str(self._name) if self._name is not None else f"/proc/self/fd/{self._fd}"

    def kept_fds(self) -> list[int]:
        """Return the descriptors that fio inherits."""
        return [] if self._fd is None else [self._fd]

    def place(self) -> FioPlace:
        """Return what fio loads."""
        path = self._fio_path().replace("\\", "\\\\").replace(":", "\\:")  # as fio has them escaped
        return FioPlace(
            (f"--filename={path}", "--allow_file_create=0"),
            self.size_bytes,
            self.fio.engine(),
            self._direct,
            self._fio_path(),
            self.identity.details.get("logical_block_bytes", 4096) if self._direct else 1,
        )

    def describe(self) -> dict[str, Any]:
        """Return how the load is made."""
        return {**super().describe(), "test_file_bytes": self.identity.size_bytes}

    @property
    def _what(self) -> str:
        return f"the test file in {self._directory}"

    def _held(self) -> TargetView | None:
        if self._fd is None:
            return None
        return TargetView(os.fstat(self._fd).st_size, partial(_written, self._fd))

    def _again(self, held: TargetView) -> AbstractContextManager[TargetView]:
        assert self._fd is not None
        file = os.fstat(self._fd)
        reasons = writers_of_own(self._fd)
        if not _is(self._directory.stat, self._claimed_in):
            reasons.append("the directory is another one now: moved, unmounted or mounted over")
        if self._name is not None and not _is(self._name.lstat, file):
            reasons.append(f"{self._name} is another file now")
        if file.st_nlink > 1:
            reasons.append("it was given another name")
        if reasons:
            raise refusal(self._what, reasons)
        return super()._again(held)

    def _before(self, name: str, regions: Regions) -> Iterator[base.Batch]:
        """Write what the step will read and what has not been written yet."""
        for begin, end in regions:
            missing = self._unwritten(begin, end)
            if missing is not None:
                yield from self._lay_out(name, *missing)

    def _unwritten(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the part of a range from its first to its last hole, aligned for fio."""
        assert self._fd is not None
        if not self._sees_holes:
            known = any(low <= start and end <= high for low, high in self._laid_out)
            return None if known else (start - start % 4096, end)
        first = os.lseek(self._fd, start, os.SEEK_HOLE)
        if first >= end:
            return None
        # what is written up to the end need not be written again
        last = [begin for begin, until in _data_in(self._fd, first, end) if until >= end]
        return first - first % 4096, last[0] if last else end

    def _lay_out(self, step: str, start: int, end: int) -> Iterator[base.Batch]:
        size = self.identity.size_bytes
        end = min(-(-end // 4096) * 4096, size)
        yield base.Note(
            "info",
            f"step '{step}' reads data that was not written yet: writing "
            f"{size_text(end - start)} first, which is not measured but warms the drive",
            {"step": step, "offset": start, "bytes": end - start},
        )
        load = layout_step(start, end - start)
        watch = FioWatch(self.lane(load))
        line = self.command_line(load, writes=True)
        said_at = time.monotonic()
        for _, batch in watch.batches(line, self.kept_fds()):
            if isinstance(batch, base.Note) and batch.level == "info":
                continue
            yield batch if isinstance(batch, base.Note) else base.HEARTBEAT
            if time.monotonic() - said_at > _PROGRESS_S and watch.status is not None:
                said_at = time.monotonic()
                done = watch.status.write.bytes
                yield base.Note(
                    "info",
                    f"laid out {size_text(done)} of {size_text(end - start)}",
                    {"step": step, "done_bytes": done, "bytes": end - start},
                )
        assert self._fd is not None
        os.fsync(self._fd)
        self._laid_out.append((start, end))

    def _purge(self, method: PurgeMethod) -> Iterator[base.Batch]:  # noqa: ARG002 -- one way
        """Release all blocks of the file and reserve new ones."""
        if self._fd is None:
            raise errors.ToolError("the target is not open")
        os.ftruncate(self._fd, 0)
        os.fsync(self._fd)
        os.ftruncate(self._fd, self.identity.size_bytes)
        self._laid_out.clear()
        yield base.HEARTBEAT
        yield from self._reserve()
        yield base.Note(
            "warning",
            "the test file was emptied, but whether its blocks were trimmed on the drive depends "
            "on the file system (mount option discard, or fstrim): the drive may not be like new",
        )

    def _release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._name is not None:
            self._name.unlink(missing_ok=True)
            self._name = None


class FileTarget(DirectoryTarget):
    """A file that is there already, and is only read."""

    def __init__(self, path: Path, *, roots: Roots | None = None) -> None:
        """Examine the path; raises UsageError if it is not a file."""
        if not path.is_file():
            raise errors.UsageError(f"{path}: is not a file")
        FioTarget.__init__(self, roots)
        self._path = path
        self.identity = _identity(path, path.stat().st_size, {"existing": True}, self._roots)

    def _claim(self, writes: bool) -> Iterator[base.Note]:
        path = self._path
        if writes:
            raise errors.RefusedError(
                f"{path}: already exists and would be overwritten: name a directory instead"
            )
        if self.identity.size_bytes < 4096:
            raise errors.UsageError(
                f"{path}: has {self.identity.size_bytes} bytes, too few to load"
            )
        with errors.saying(f"{path}: cannot be read", errors.UsageError):
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            hole = os.lseek(self._fd, 0, os.SEEK_HOLE)
        self._direct = takes_direct(self._fio_path())
        if (note := memory.memory_note(path, self._roots)) is not None:
            yield note
        elif not self._direct:
            yield _page_cache_note(path)
        if hole < self.identity.size_bytes:
            yield base.Note(
                "warning", f"{path}: has holes, which are read without accessing the drive"
            )

    def _held(self) -> TargetView | None:
        return None

    def _before(self, name: str, regions: Regions) -> Iterator[base.Batch]:  # noqa: ARG002
        yield from ()

    def _purge(self, method: PurgeMethod) -> Iterator[base.Batch]:  # noqa: ARG002
        raise errors.RefusedError(
            f"{self._path}: was not created by heatsoak, so it will not be purged"
        )


class _Space:
    """The free space of a file system, or of the memory that it lies in, of which a share is kept.

    What is free in memory changes while nobody writes files: `memory_share` may be less.
    """

    def __init__(
        self, directory: Path, kept_share: float, roots: Roots, memory_share: float | None = None
    ) -> None:
        kind = memory.memory_under(directory, roots)
        if kind == memory.DEVICES:
            raise errors.RefusedError(
                f"{directory}: holds the kernel's device nodes: name a directory on a drive, or a "
                "drive itself"
            )
        with errors.saying(f"{directory}: cannot be examined", errors.UsageError):
            total, _, self.free = shutil.disk_usage(directory)
        self.what, self.is_memory = "the file system", False
        self._count(total, kept_share)
        if kind is None:
            return
        free = memory.free_memory_bytes(roots)
        kept_share = kept_share if memory_share is None else memory_share
        # ramfs has no size of its own
        if total == 0 or int(free * (1 - kept_share)) < self.usable:
            self.what, self.is_memory, self.free = "the free memory", True, free
            self._count(free, kept_share)

    def _count(self, whole: int, kept_share: float) -> None:
        self.kept_share, self.kept = kept_share, int(whole * kept_share)
        self.usable = max(self.free - self.kept, 0)


def _written(fd: int, offset: int, length: int) -> bytes:
    """Return what was written into a range of a file, and zeros where nothing was.

    On some file systems, a reserved block that was read no longer looks like a hole.
    """
    found = bytearray(length)
    for begin, end in _data_in(fd, offset, offset + length):
        piece = os.pread(fd, end - begin, begin)
        found[begin - offset : begin - offset + len(piece)] = piece
    return bytes(found)


def _data_in(fd: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield start and end of each part of a range of a file that was written."""
    while start < end:
        try:
            begin = os.lseek(fd, start, os.SEEK_DATA)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            return
        start = min(os.lseek(fd, begin, os.SEEK_HOLE), end)
        if begin < start:
            yield begin, start


def _is(status: Callable[[], os.stat_result], expected: os.stat_result | None) -> bool:
    """Whether the `status` that is asked for now is of the expected file or directory."""
    with suppress(OSError):
        return expected is not None and os.path.samestat(status(), expected)
    return False


def _page_cache_note(path: Path) -> base.Note:
    return base.Note(
        "warning",
        f"{path}: the file system does not support direct I/O, so the page cache is measured as "
        "much as the drive",
    )


def _identity(place: Path, size: int, details: dict[str, Any], roots: Roots) -> base.Identity:
    """Return the identity of a file at or in `place`, with its drive if known."""
    info = None
    with suppress(errors.UsageError):
        info = drive_behind(place, roots)
    drive = {} if info is None else info.details()
    mount = sysfs.mount_of(place.resolve(), roots)
    mounted = {} if mount is None else {"file_system": mount.kind, "mounted": mount.source}
    number = {"device_number": sysfs.number_of(place.stat().st_dev)}
    return base.Identity(
        kind="file",
        path=str(place),
        model=info.model if info is not None else None,
        serial=info.serial if info is not None else None,
        size_bytes=size,
        simulated=False,
        details={**drive, **number, **mounted, **details},
    )
