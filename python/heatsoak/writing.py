"""The one door for what is written: whole or not at all, and never through a link of others.

A file has no name while it is written, where the system can do that, in a directory that was opened
and checked once; it is synced, and then gets its name. What is there already is replaced only where
that was asked for, even if it appeared meanwhile. What has a fixed name from the start, such as a
journal, is opened without following a link.
"""

import errno
import os
import re
import shutil
import stat
import tempfile
import threading
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedRandom, FileIO
from pathlib import Path
from typing import IO

from heatsoak import errors, system
from heatsoak.files import free_path, wrong_kind

#: Enough for the last events and another `recording.json` when the disk is full.
RESERVE_BYTES = 64 << 10
#: The names of what is being written, where it needs one.
_PARTIAL = re.compile(r"\.heatsoak-[0-9a-f]{32}")
_OS_ERROR = re.compile(r"os error (\d+)")

_DIRECTORY = getattr(os, "O_DIRECTORY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FILE = _NO_LINK | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_MOST_LINKS = 40
#: Where Linux shows the files that a process has open, also those without a name.
_OPEN_FILES = Path("/proc/self/fd")


class Directory:
    """A directory that was opened once: what is written in it is opened relative to it.

    For root, a link on the way to it counts only where no other user can have put it. Where a
    system cannot open relative to a directory (Windows), names are joined to its path. All methods
    raise OSError.
    """

    def __init__(self, path: Path, *, at: int | None = None) -> None:
        self.path = path
        self._at = at
        if at is None and not system.IS_WINDOWS:
            self._at = _walk_to(path) if system.is_root() else os.open(path, _DIRECTORY)

    def close(self) -> None:
        """Close it."""
        if self._at is not None:
            os.close(self._at)
            self._at = None

    def __enter__(self) -> "Directory":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _name(self, name: str) -> str:
        return name if self._at is not None else str(self.path / name)

    def open(self, name: str, flags: int, mode: int = 0o666) -> int:
        """Open a regular file that has no other name, and no link to one."""
        try:
            file = os.open(self._name(name), flags | _FILE, mode, dir_fd=self._at)
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise OSError(errno.ELOOP, "is a link", str(self.path / name)) from None
        status = os.fstat(file)
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 1:
            return file
        os.close(file)
        is_file = stat.S_ISREG(status.st_mode)
        why = "has another name elsewhere" if is_file else wrong_kind(status.st_mode)
        raise OSError(errno.ELOOP, why, str(self.path / name))

    def append(self, name: str) -> FileIO:
        """Open a file to append to; it is made if it is not there."""
        return FileIO(self.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND), "ab+")

    def new(self, name: str) -> BufferedRandom:
        """Make a file; raises FileExistsError if there is one."""
        file = FileIO(self.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL), "rb+")
        file.name = str(self.path / name)
        return BufferedRandom(file)

    def below(self, name: str) -> "Directory":
        """Open a directory in it, and no link to one; it is made if it is not there."""
        with suppress(FileExistsError):
            os.mkdir(self._name(name), dir_fd=self._at)
        if self._at is None:
            return Directory(self.path / name)
        inner = os.open(name, _DIRECTORY | _NO_LINK, dir_fd=self._at)
        return Directory(self.path / name, at=inner)

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        system.remove(self._name(name), at=self._at)

    def rename(self, name: str, new: str) -> None:
        """Rename what has a name, in place of a file that has the new one."""
        system.replace(self._name(name), self._name(new), at=self._at)

    def try_out(self) -> None:
        """Make a directory in it, and remove it again."""
        name = self._name(_partial_name())
        os.mkdir(name, dir_fd=self._at)
        os.rmdir(name, dir_fd=self._at)

    def reserve(self, name: str) -> None:
        """Reserve disk space with a file; removing it releases the space."""
        self.remove(name)
        with self.new(name) as file:
            if not system.allocate(file.fileno(), RESERVE_BYTES):
                file.write(bytes(RESERVE_BYTES))

    @contextmanager
    def writing(self, name: str, *, replace: bool = True) -> Iterator[IO[bytes]]:
        """Yield a file that gets its `name` once it is whole and synced.

        In place of a file that has it if it may `replace` that, else FileExistsError is raised.
        Raises OSError also for what polars could not write; nothing is left then.
        """
        partial, file = self._begun()
        leftovers = [] if partial is None else [partial]  # which only take up space
        try:
            with file:
                with as_system_error(self.path):  # a full disk is seen while the file is there
                    yield file
                    file.flush()
                os.fsync(file.fileno())
                if partial is None and replace:
                    leftovers.append(partial := _partial_name())
                if not file.name:
                    self._link(file, partial or name)
            if partial is not None and not replace:
                os.close(self.open(name, os.O_CREAT | os.O_EXCL))  # the name is ours from here on
                leftovers.append(name)
            if partial is not None:
                self.rename(partial, name)
        except BaseException:
            for left in leftovers:
                with suppress(OSError):
                    self.remove(left)
            raise
        self.sync()

    def _begun(self) -> tuple[str | None, BufferedRandom]:
        """Open a file without a name; or with one, which is returned, where none can be."""
        if self._at is not None and hasattr(os, "O_TMPFILE") and _OPEN_FILES.exists():
            with suppress(OSError):  # not on each file system
                flags = os.O_TMPFILE | os.O_RDWR
                raw = FileIO(os.open(".", flags, 0o666, dir_fd=self._at), "rb+")
                raw.name = ""
                return None, BufferedRandom(raw)
        self.sweep()
        name = _partial_name()
        file = self.new(name)
        _lock(file.fileno())
        return name, file

    def _link(self, file: IO[bytes], name: str) -> None:
        """Give a file that has none a name: linkat(2) follows the link in /proc to it."""
        os.link(_OPEN_FILES / str(file.fileno()), name, dst_dir_fd=self._at)

    @contextmanager
    def held(self, *, wait: bool) -> Iterator[None]:
        """Keep it from other processes that ask for that.

        Raises BlockingIOError if another has it and `wait` is false.
        """
        # Windows cannot lock a directory
        flags = os.O_RDWR | os.O_CREAT
        lock = self.open(_LOCK, flags) if self._at is None else os.open(".", 0, dir_fd=self._at)
        try:
            system.lock(lock, wait=wait)
            yield
        finally:
            os.close(lock)

    @property
    def pinned(self) -> Path:
        """A path to it for libraries, which others cannot lead elsewhere meanwhile."""
        return self.path if self._at is None else Path(f"/dev/fd/{self._at}")

    def keep(self) -> None:
        """Keep it from being swept while it is open."""
        if self._at is not None:
            _lock(self._at)

    def sweep(self) -> None:
        """Remove what killed processes of this user were writing here."""
        for path in self.path.iterdir():
            if _PARTIAL.fullmatch(path.name):
                with suppress(OSError):  # it is being written
                    left = os.open(self._name(path.name), _NO_LINK, dir_fd=self._at)
                    try:
                        system.lock(left)
                        is_directory = stat.S_ISDIR(os.fstat(left).st_mode)
                    finally:
                        os.close(left)
                    shutil.rmtree(path) if is_directory else self.remove(path.name)

    def sync(self) -> None:
        """Sync its names to disk; Windows can only sync files."""
        if self._at is not None:
            os.fsync(self._at)


#: What is locked where a directory cannot be.
_LOCK = ".heatsoak.lock"


def require_ours(place: Path | int) -> os.stat_result:
    """Raise PermissionError if another user owns a path or open file, or can write to it.

    Root's is as good as this user's. Raises OSError if it cannot be examined.
    """
    status = os.fstat(place) if isinstance(place, int) else place.lstat()
    if status.st_uid not in (0, getattr(os, "geteuid", int)()):
        raise PermissionError(errno.EPERM, "belongs to another user", str(place))
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EPERM, "can be written by other users", str(place))
    return status


def own_directory(path: Path) -> Path:
    """Return a directory that nobody else can write to, made if need be; raises OSError."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    require_ours(path)
    return path


def _partial_name() -> str:
    return f".heatsoak-{uuid.uuid4().hex}"


def _lock(file: int) -> None:
    """Keep a file or directory from being swept."""
    with suppress(OSError):  # a file system without locks
        system.lock(file)


def _walk_to(path: Path) -> int:
    """Open a directory one name at a time; raises OSError for a link that others may have made."""
    on_the_way = _DIRECTORY | _NO_LINK | getattr(os, "O_PATH", 0)
    at = os.open("/" if path.is_absolute() else ".", on_the_way)
    try:
        names = [name for name in path.parts if name != path.anchor]
        links = 0
        while names:
            name = names.pop(0)
            try:
                inner = os.open(name, on_the_way, dir_fd=at)
            except NotADirectoryError:
                links += 1
                leads_to = Path(_own_link(name, at, path))
                if links > _MOST_LINKS:
                    raise
                names[:0] = [part for part in leads_to.parts if part != leads_to.anchor]
                inner = os.open("/" if leads_to.is_absolute() else ".", on_the_way, dir_fd=at)
            os.close(at)
            at = inner
        return os.open(".", _DIRECTORY, dir_fd=at)
    finally:
        os.close(at)


def _own_link(name: str, at: int, path: Path) -> str:
    """Return where a link leads that nobody but root, or who became root by sudo, can have made.

    Raises OSError for any other.
    """
    link, place = os.stat(name, dir_fd=at, follow_symlinks=False), os.fstat(at)
    if not stat.S_ISLNK(link.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    by_sudo = (os.environ.get(name, "") for name in ("SUDO_UID", "SUDO_GID"))
    users, groups = ({0, int(text) if text.isdecimal() else 0} for text in by_sudo)
    others = stat.S_IWOTH | (0 if place.st_gid in groups else stat.S_IWGRP)
    is_shared = place.st_mode & others and not place.st_mode & stat.S_ISVTX
    if {link.st_uid, place.st_uid} - users or is_shared:
        why = f"{name} on its way is a link of another user: name where it leads"
        raise OSError(errno.ELOOP, why, str(path))
    return os.readlink(name, dir_fd=at)


# --- what is written where a user says ------------------------------------------------------------


def require_creatable(path: Path) -> None:
    """Raise UsageError if `path` cannot be created: it is below a file, or its name is too long."""
    try:
        # each is asked once: others may make and remove it meanwhile
        for parent in path.parents if not os.path.lexists(path) else ():
            with suppress(FileNotFoundError, NotADirectoryError):
                if stat.S_ISLNK(mode := parent.lstat().st_mode) and parent.exists():
                    mode = parent.stat().st_mode
                if not stat.S_ISDIR(mode):
                    raise errors.UsageError(
                        f"{path}: {parent} is a file, not a directory: name another with -o"
                    )
                break
        path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        raise errors.UsageError(f"{path}: cannot be created: {error.strerror}") from error


def require_writable(directory: Path, named: Path | None = None) -> None:
    """Raise UsageError if nothing can be written in `directory`, or where it would be created.

    `named` is what the user named, where that is a file in it.

    Only trying tells: permissions say nothing of a file system that is read-only, or of a user who
    may write anywhere. A full disk is not complained of here.
    """
    nearest = next((place for place in (directory, *directory.parents) if place.exists()), Path())
    try:
        with Directory(nearest) as opened:
            opened.try_out()
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            reason = error.strerror or str(error)
            named = named or directory
            place = "" if nearest == named else f"in {nearest.absolute()}: "
            raise errors.UsageError(
                f"{named}: cannot be written: {place}{reason}: name another place with -o"
            ) from None


def require_new(directory: Path, otherwise: str = "") -> None:
    """Raise UsageError where `directory` cannot be made or written, or holds something already.

    `otherwise` adds a way out.
    """
    require_creatable(directory)
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise errors.UsageError(
            f"{directory}: already exists: name a new directory with -o{otherwise}"
        )
    require_writable(directory)


def require_regular(path: Path) -> None:
    """Raise UsageError for whatever is there that is not a regular file."""
    with reporting_write_errors(path):
        if path.is_symlink():
            raise errors.UsageError(f"{path}: is a link: name a file itself with -o")
        if path.exists() and not path.is_file():
            what = wrong_kind(path.stat().st_mode)
            raise errors.UsageError(f"{path}: {what}: name another with -o")


def _is_open_already(path: Path) -> bool:
    return path == Path("/dev/stdout") or path.parent == Path("/dev/fd")


def is_stream(path: Path) -> bool:
    """Whether what is written there goes to another process: a pipe of this user's, or an open
    file by its number, as shells name those of ``>(command)``."""
    if _is_open_already(path):
        return True
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISFIFO(status.st_mode) and status.st_uid == getattr(os, "geteuid", int)()


def _stream_to(path: Path, content: IO[bytes]) -> None:
    follows = 0 if _is_open_already(path) else _NO_LINK
    try:
        # does not wait for a reader, as what follows would
        probe = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0) | follows)
    except OSError as error:
        if error.errno == errno.ENXIO:
            raise errors.UsageError(f"{path}: nobody reads this pipe") from None
        raise
    try:
        content.seek(0)
        with Path(f"/dev/fd/{probe}").open("wb") as pipe:  # the same, whatever has its name now
            shutil.copyfileobj(content, pipe)
    finally:
        os.close(probe)


@contextmanager
def output(path: Path, *, replace: bool) -> Iterator[IO[bytes]]:
    """Yield a file to write, which is `path` once it is complete, or is then sent down a pipe.

    Directories are made as needed. A file that is there is replaced only if `replace`, else
    UsageError is raised. Raises ToolError if it cannot be written.
    """
    if is_stream(path):
        with reporting_write_errors(path), tempfile.TemporaryFile() as content:
            yield content
            _stream_to(path, content)
        return
    require_regular(path)
    with reporting_write_errors(path), made(path.parent), Directory(path.parent) as place:
        try:
            with place.writing(path.name, replace=replace) as file:
                yield file
        except FileExistsError:
            raise already_there(path) from None


def already_there(path: Path) -> errors.UsageError:
    """Return the error for a file that is there, which was not to be replaced."""
    return errors.UsageError(f"{path}: already exists: name another file, or add --force")


def write_output(path: Path, text: str, *, replace: bool) -> None:
    """Write a text file; raises as :func:`output` does."""
    with output(path, replace=replace) as file:
        file.write(text.encode())


def replace_file(path: Path, content: bytes) -> None:
    """Write a file of ours, in place of what it was; raises OSError."""
    with Directory(path.parent) as place, place.writing(path.name) as file:
        file.write(content)


def numbered_file(path: Path) -> BufferedRandom:
    """Make a file, with a number behind its name if that is taken; its `name` is its path.

    Its directory is made, and is no link. Raises OSError.
    """
    directory = path.parent
    directory.parent.mkdir(parents=True, exist_ok=True)
    with Directory(directory.parent) as above, above.below(directory.name) as place:
        while True:
            with suppress(FileExistsError):
                return place.new((path := free_path(path)).name)


def lock_file(path: Path, mode: int = 0o600) -> int:
    """Open a file to lock, which is made if it is not there; raises OSError.

    It may be another user's, in a directory that is shared: then it is open for reading alone.
    """
    with Directory(path.parent) as place:
        # somebody may make it between our attempts
        again = (os.O_RDWR, os.O_RDONLY)
        for flags in (*again, os.O_RDWR | os.O_CREAT | os.O_EXCL, *again):
            try:
                return place.open(path.name, flags, mode)
            except OSError as error:
                last = error
        raise last


def path_to(file: IO[bytes]) -> str:
    """Return a path at which a library can open a file that :meth:`Directory.writing` gave."""
    return file.name if system.IS_WINDOWS else f"/dev/fd/{file.fileno()}"


def size_of(file: IO[bytes]) -> int:
    """Return how many bytes were written to a file so far."""
    file.flush()
    return os.fstat(file.fileno()).st_size


_making_lock = threading.RLock()
#: How many callers are inside :func:`made` of a directory that was new to them.
_being_made: Counter[Path] = Counter()


@contextmanager
def made(directory: Path) -> Iterator[None]:
    """Make a directory and its parents; with an error, those that were made go again, if empty.

    Of several threads that share a parent and all fail, the last removes it.
    """
    with _making_lock:
        places = (directory, *directory.parents)
        new = [place for place in places if place in _being_made or not place.exists()]
        _being_made.update(new)
    failed = True
    try:
        with _making_lock:  # nobody removes a parent meanwhile
            directory.mkdir(parents=True, exist_ok=True)
        yield
        failed = False
    finally:
        with _making_lock:
            _being_made.subtract(new)
            for place in new:
                if not _being_made[place]:
                    del _being_made[place]
                if failed:
                    with suppress(OSError):
                        place.rmdir()


@contextmanager
def making(directory: Path) -> Iterator[Path]:
    """Yield a directory to fill, which becomes `directory` at the end, or goes with an error.

    `directory` must be new or empty; see :func:`require_new`.
    """
    partial = directory.with_name(_partial_name())
    with ExitStack() as open_:
        with reporting_write_errors(directory):
            open_.enter_context(made(directory.parent))
            parent = open_.enter_context(Directory(directory.parent))
            parent.sweep()
        try:
            with reporting_write_errors(directory):
                open_.enter_context(parent.below(partial.name)).keep()
            yield partial
            with reporting_write_errors(directory):
                if directory.exists():
                    directory.rmdir()
                parent.rename(partial.name, directory.name)
                parent.sync()
        except BaseException as error:
            shutil.rmtree(partial, ignore_errors=True)
            if isinstance(error, errors.HeatsoakError):  # by the name that the user gave
                raise type(error)(str(error).replace(str(partial), str(directory))) from error
            raise


def copy_tree(source: Path, directory: Path) -> None:
    """Copy a directory with all that is in it to `directory`, which must be new or empty."""
    with (
        making(directory) as partial,
        reporting_write_errors(directory),
        Directory(partial) as place,
    ):
        shutil.copytree(source, place.pinned, symlinks=True, dirs_exist_ok=True)


# --- errors ---------------------------------------------------------------------------------------


@contextmanager
def as_system_error(directory: Path | None = None) -> Iterator[None]:
    """Turn errors of polars into an OSError as the system would raise it, without a number else.

    Polars' errors have the system's number in their message, and for a full disk may only say that
    the file in `directory` is broken.
    """
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise
        raise _system_error(error, directory) from error
    except Exception as error:
        if not _is_of_polars(error):
            raise
        raise _system_error(error, directory) from error


def _system_error(error: Exception, directory: Path | None) -> OSError:
    reported = _OS_ERROR.search(str(error))
    number = system.error_number(int(reported[1])) if reported else None
    if directory is not None and shutil.disk_usage(directory).free < RESERVE_BYTES:
        number = errno.ENOSPC
    return OSError(str(error)) if number is None else OSError(number, os.strerror(number))


def _is_of_polars(error: BaseException | None) -> bool:
    """Whether it is polars', which is not loaded to ask that."""
    return any(kind.__module__.startswith("polars.") for kind in type(error).__mro__)


@contextmanager
def reporting_write_errors(place: Path | str) -> Iterator[None]:
    """Turn errors of the system or polars into one line about what is written.

    Raises what :func:`write_error` returns, and BrokenPipeError if the reader has gone.
    """
    try:
        with as_system_error():
            yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise write_error(place, error) from error


def write_error(place: Path | str, error: OSError) -> errors.HeatsoakError:
    """Return the error for a failed write of `place`, or for damaged samples that were its source.

    A ToolError with the system's message, or a UsageError.
    """
    if error.errno is None and _is_of_polars(error.__cause__):
        return errors.UsageError(
            f"the samples for {place} are damaged: {str(error).splitlines()[0]}"
        )
    message = f"{place}: cannot be written: {error.strerror or error}"
    if isinstance(place, Path) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        message += ": free some space there"
    return errors.ToolError(message)
