"""A file: one of our own making in a directory, or one that is there and is only read."""

import errno
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from heatsoak.errors import RefusedError, ToolError, UsageError
from heatsoak.protocol import PurgeMethod
from heatsoak.sensor.sysfs import device_behind
from heatsoak.target.base import HEARTBEAT, Batch, Identity, Note, RecordingClock
from heatsoak.target.device import describe_device
from heatsoak.target.fio.command import FioPlace, layout_step
from heatsoak.target.fio.lane import Load
from heatsoak.target.fio.target import FioTarget, Regions, Settings
from heatsoak.target.fio.tool import takes_direct
from heatsoak.tools import environment, which
from heatsoak.units import Size, format_bytes

#: A file below this says nothing of a drive, and a file system so full is better left alone.
SMALLEST_ROOM = 64 << 20
#: The share of the file system that stays free.
KEPT_FREE = 0.10

_PROGRESS_S = 5.0
_WHOLE = Size(percent=100.0)


class DirectoryTarget(FioTarget):
    """A test file in a directory, without a name, so that nothing can be left of it.

    The file is reserved whole when the target is opened. A step that reads what no step has
    written yet is preceded by a layout, whose samples are not handed out.
    """

    def __init__(
        self,
        directory: Path,
        file_size: Size = _WHOLE,
        *,
        named: Path | None = None,
        settings: Settings | None = None,
        clock: RecordingClock | None = None,
    ) -> None:
        """Find out how large the file can be; nothing is made yet.

        `file_size` is a share of what may be used: what is free but for 10 % of the file system.
        `named` is what the user called the target, where that is not the directory.

        Raises RefusedError where the file system is too full, UsageError where `directory` is
        none.
        """
        super().__init__(settings, clock)
        self._directory = directory
        self._fd: int | None = None
        self._name: Path | None = None
        self._direct = False
        self._sees_holes = True
        self._laid_out: list[tuple[int, int]] = []
        path = named or directory
        if not directory.is_dir():
            raise UsageError(f"{directory}: is not a directory")
        room = _Room.of(directory)
        if room.usable < SMALLEST_ROOM:
            raise RefusedError(
                f"{directory}: {format_bytes(room.free)} are free, but "
                f"{format_bytes(room.kept + SMALLEST_ROOM)} are needed: 10 % of the file system "
                f"({format_bytes(room.kept)}) stay free"
            )
        wanted = file_size.of(room.usable)
        size = min(wanted, room.usable)
        size -= size % (1 << 20 if size >= 1 << 20 else 4096)
        if size <= 0:
            raise UsageError(f"file_size is {file_size}: a test file needs 4096 bytes at least")
        self._wanted = wanted if wanted > room.usable else None
        self.identity = _identity(
            path,
            directory,
            size,
            {
                "directory": str(directory.resolve()),
                "free_bytes": room.free,
                "kept_free_bytes": room.kept,
            },
        )

    def _claim(self, writes: bool) -> Iterator[Note]:  # noqa: ARG002 -- the file is ours
        if not os.access(self._directory, os.W_OK | os.X_OK):
            raise UsageError(f"{self._directory}: no permission to make a test file there")
        size = self.identity.size_bytes
        if size > _Room.of(self._directory).usable:
            raise RefusedError(
                f"{self._directory}: the room for a test file of {format_bytes(size)} is gone; "
                "10 % of the file system stay free"
            )
        try:
            yield from self._make()
            assert self._fd is not None
            os.ftruncate(self._fd, size)
        except OSError as error:
            raise ToolError(
                f"{self._directory}: a test file cannot be made: {error.strerror}"
            ) from error
        yield from self._reserve()
        # not every file system tells holes, or blocks that are only reserved, from data
        self._sees_holes = os.lseek(self._fd, 0, os.SEEK_HOLE) == 0
        self._direct = takes_direct(self._fio_path())
        if not self._direct:
            yield _page_cache_note(self._directory)
        if self._wanted is not None:
            yield Note(
                "warning",
                f"the test file is {format_bytes(size)} instead of {format_bytes(self._wanted)}: "
                "10 % of the file system stay free",
            )

    def _make(self) -> Iterator[Note]:
        """Open a file that has no name, or as a last resort one that has."""
        with suppress(OSError):
            self._fd = os.open(
                self._directory, os.O_TMPFILE | os.O_RDWR | os.O_EXCL | os.O_CLOEXEC, 0o600
            )
        if self._fd is None:
            self._fd, name = tempfile.mkstemp(".heatsoak", ".", self._directory)
            Path(name).unlink()
        if Path(self._fio_path()).exists():
            return
        os.close(self._fd)  # without /proc there is no way to a file without a name
        self._fd, name = tempfile.mkstemp(".heatsoak", ".", self._directory)
        self._name = Path(name)
        yield Note(
            "warning",
            f"the test file has to have a name, {name}: remove it if heatsoak is killed",
        )

    def _reserve(self) -> Iterator[Note]:
        """Take the blocks now, so that nothing else fills the file system meanwhile."""
        tool = which("fallocate")
        assert self._fd is not None
        if tool is None:
            yield Note(
                "info", "fallocate is not installed: the test file's blocks are not reserved"
            )
            return
        reserved = subprocess.run(
            [tool, "-l", str(self.identity.size_bytes), self._fio_path()],
            pass_fds=[self._fd],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env=environment(),
            check=False,
        )
        if reserved.returncode != 0:
            os.ftruncate(self._fd, 0)
            os.ftruncate(self._fd, self.identity.size_bytes)
            why = (reserved.stderr.strip() or "no reason given").splitlines()[-1]
            yield Note("info", f"the test file's blocks are not reserved: {why}")

    def _fio_path(self) -> str:
        return str(self._name) if self._name is not None else f"/proc/self/fd/{self._fd}"

    def _keep_fds(self) -> list[int]:
        return [] if self._fd is None else [self._fd]

    def _place(self) -> FioPlace:
        return FioPlace(
            (f"--filename={escaped(self._fio_path())}", "--allow_file_create=0"),
            self.size_bytes,
            self.fio.engine(),
            self._direct,
            self._fio_path(),
            self.identity.details.get("logical_block_bytes", 4096) if self._direct else 1,
        )

    def _disk(self) -> str | None:
        device: str | None = self.identity.details.get("device")
        return device

    def describe(self) -> dict[str, Any]:
        """Return how the load is made."""
        return {**super().describe(), "test_file_bytes": self.identity.size_bytes}

    def _before(self, name: str, regions: Regions) -> Iterator[Batch]:
        """Write what the step will read and nobody has written."""
        for begin, end in regions:
            missing = self._unwritten(begin, end)
            if missing is not None:
                yield from self._lay_out(name, *missing)

    def _unwritten(self, start: int, end: int) -> tuple[int, int] | None:
        """Return from the first to the last byte of a range that is a hole, aligned for fio."""
        assert self._fd is not None
        if not self._sees_holes:
            known = any(low <= start and end <= high for low, high in self._laid_out)
            return None if known else (start - start % 4096, end)
        first = os.lseek(self._fd, start, os.SEEK_HOLE)
        if first >= end:
            return None
        last = first
        while True:
            try:
                last = os.lseek(self._fd, last, os.SEEK_DATA)
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
                return first - first % 4096, end  # nothing but hole up to the end
            hole = os.lseek(self._fd, last, os.SEEK_HOLE)
            if hole >= end:
                return first - first % 4096, min(last, end)
            last = hole

    def _lay_out(self, step: str, start: int, end: int) -> Iterator[Batch]:
        size = self.identity.size_bytes
        end = min(-(-end // 4096) * 4096, size)
        yield Note(
            "info",
            f"step '{step}' reads what was not written yet: writing {format_bytes(end - start)} "
            "first, which is not measured but warms the drive",
            {"step": step, "offset": start, "bytes": end - start},
        )
        load = layout_step(start, end - start)
        watch = self._watch(Load.of(load, self._place()))
        line = self.command_line(load, writes=True)
        said_at = time.monotonic()
        for batch in watch.batches(line, self._keep_fds()):
            if isinstance(batch, Note) and batch.level == "info":
                continue
            yield batch if isinstance(batch, Note) else HEARTBEAT
            if time.monotonic() - said_at > _PROGRESS_S and watch.status is not None:
                said_at = time.monotonic()
                done = watch.status.write.bytes
                yield Note(
                    "info",
                    f"laid out {format_bytes(done)} of {format_bytes(end - start)}",
                    {"step": step, "done_bytes": done, "bytes": end - start},
                )
        assert self._fd is not None
        os.fsync(self._fd)
        self._laid_out.append((start, end))

    def _purge(self, method: PurgeMethod) -> Iterator[Batch]:  # noqa: ARG002 -- one way
        """Give all blocks of the file back and take new ones."""
        if self._fd is None:
            raise ToolError("the target is not open")
        os.ftruncate(self._fd, 0)
        os.fsync(self._fd)
        os.ftruncate(self._fd, self.identity.size_bytes)
        self._laid_out.clear()
        yield HEARTBEAT
        yield from self._reserve()
        yield Note(
            "warning",
            "the test file was emptied, but whether its blocks were trimmed on the drive is up to "
            "the file system (mount option discard, or fstrim): the drive may not be like new",
        )

    def _release(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        if self._name is not None:
            self._name.unlink(missing_ok=True)
            self._name = None


class FileTarget(DirectoryTarget):
    """A file by its path: only read where it is there, else one of our own making.

    What is made has no name either, so the path stays as free as it was.
    """

    def __init__(
        self,
        path: Path,
        file_size: Size = _WHOLE,
        *,
        settings: Settings | None = None,
        clock: RecordingClock | None = None,
    ) -> None:
        """Look at the path; raises UsageError where it is something else than a file."""
        self._existing = path if path.exists() else None
        if self._existing is None:
            super().__init__(path.parent, file_size, named=path, settings=settings, clock=clock)
            return
        if not path.is_file():
            raise UsageError(f"{path}: is not a file")
        FioTarget.__init__(self, settings, clock)
        self._fd = None
        self._name = None
        self._direct = False
        self.identity = _identity(path, path, path.stat().st_size, {"existing": True})

    def _claim(self, writes: bool) -> Iterator[Note]:
        path = self._existing
        if path is None:
            yield from super()._claim(writes)
            return
        if writes:
            raise RefusedError(
                f"{path}: is there already and would be overwritten; name a directory, or a file "
                "that does not exist yet"
            )
        if self.identity.size_bytes < 4096:
            raise UsageError(f"{path}: is too small to load, {self.identity.size_bytes} B")
        try:
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            hole = os.lseek(self._fd, 0, os.SEEK_HOLE)
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
        self._direct = takes_direct(self._fio_path())
        if not self._direct:
            yield _page_cache_note(path)
        if hole < self.identity.size_bytes:
            yield Note("warning", f"{path}: has holes, which are read without touching the drive")

    def _before(self, name: str, regions: Regions) -> Iterator[Batch]:
        if self._existing is None:
            yield from super()._before(name, regions)

    def _purge(self, method: PurgeMethod) -> Iterator[Batch]:
        """Purge a file of our own; raises RefusedError for any other."""
        if self._existing is not None:
            raise RefusedError(f"{self._existing}: is not ours to purge")
        yield from super()._purge(method)


class _Room:
    """What a file system has left."""

    def __init__(self, free: int, total: int) -> None:
        self.free = free
        self.kept = int(total * KEPT_FREE)
        self.usable = max(free - self.kept, 0)

    @classmethod
    def of(cls, directory: Path) -> "_Room":
        try:
            state = os.statvfs(directory)
        except OSError as error:
            raise UsageError(f"{directory}: cannot be looked at: {error.strerror}") from error
        return cls(state.f_bavail * state.f_frsize, state.f_blocks * state.f_frsize)


def _page_cache_note(path: Path) -> Note:
    return Note(
        "warning",
        f"{path}: the file system takes no direct I/O, so the page cache is measured as much as "
        "the drive",
    )


def escaped(path: str) -> str:
    """Return a path as fio's filename option takes it."""
    return path.replace("\\", "\\\\").replace(":", "\\:")


def _identity(path: Path, place: Path, size: int, details: dict[str, Any]) -> Identity:
    """Return what a file at `place` lies on: the drive, where there is one to be known."""
    info = None
    with suppress(UsageError):
        if (name := device_behind(place)) is not None:
            info = describe_device(name)
    drive = {} if info is None else info.details()
    return Identity(
        kind="file",
        path=str(path),
        model=info.model if info is not None else None,
        serial=info.serial if info is not None else None,
        size_bytes=size,
        simulated=False,
        details={**drive, **_mount_of(place), **details},
    )


def _mount_of(path: Path) -> dict[str, Any]:
    """Return file system and device of a path, as far as the kernel says."""
    number = path.stat().st_dev
    found: dict[str, Any] = {"device_number": f"{os.major(number)}:{os.minor(number)}"}
    with suppress(OSError, ValueError):
        for line in Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines():
            left, right = line.split(" - ", 1)
            if left.split()[2] == found["device_number"]:
                kind, source, *_ = right.split()
                found |= {"file_system": kind, "mounted": source}
                break
    return found
