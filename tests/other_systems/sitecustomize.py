"""Shows heatsoak's own modules another operating system than the one that Python runs on.

Python imports this before anything else where its directory is on PYTHONPATH. What the system
lacks stands in a file that ``HEATSOAK_TESTS_SYSTEM`` names (`other_system.write_lacks`). Libraries
see the real system, but what heatsoak does through them to files is held to the other's rules:

- Windows neither moves nor removes what is open or mapped, nor a directory that holds it; it
  refuses some names, makes no links, and ends lines of text with CR LF;
- nowhere but on Linux are there /proc, /sys and /run;
- names that differ in case alone are one file, on Windows and mostly on macOS;
- text has an encoding: the default one is not UTF-8 (PEP 597 finds who relies on it).

Left out is what Rust does: what polars opens by a path is only seen while it is open or mapped.
"""

import builtins
import errno
import io
import json
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from typing import Any

LACKS = json.loads(Path(os.environ["HEATSOAK_TESTS_SYSTEM"]).read_text("utf-8"))
PLATFORM: str = LACKS["platform"]
IS_WINDOWS = PLATFORM == "win32"

#: Names that Windows has for devices, with any ending (Naming Files, Paths, and Namespaces).
DEVICES = re.compile(r"(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(\..*)?", re.IGNORECASE)
REFUSED = re.compile(r'[<>:"|?*\\\x00-\x1f]|[. ]$')
OF_LINUX = re.compile(r"/(proc|sys|run)(/|$)")
#: Modules through which heatsoak reaches files, between it and the system.
BETWEEN = ("os", "io", "pathlib", "shutil", "tempfile", "contextlib", "posixpath", "genericpath")


def is_heatsoaks(name: str) -> bool:
    """Whether a module is one of heatsoak's."""
    return name == "heatsoak" or name.startswith("heatsoak.")


def asked_by_heatsoak() -> bool:
    """Whether heatsoak does what is being done, directly or through Python's own file modules."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name != __name__ and name.split(".")[0] not in BETWEEN:
            return is_heatsoaks(name)
        frame = frame.f_back
    return False


# what heatsoak's modules import


class SeenModule(types.ModuleType):
    """A module without the names that the system lacks, and with others that it has."""

    def __init__(self, real: types.ModuleType, lacks: Sequence[str], has: dict[str, Any]) -> None:
        super().__init__(real.__name__, real.__doc__)
        self.__dict__.update(has, _real=real, _lacks=frozenset(lacks), _has=frozenset(has))

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__["_lacks"]:
            raise AttributeError(f"{self.__name__} has no {name} on {PLATFORM}")
        return getattr(self.__dict__["_real"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.__dict__["_real"], name, value)


class Msvcrt(types.ModuleType):
    """Windows' locks: they belong to an open file, and nobody else can read the bytes."""

    LK_NBLCK = 2

    @staticmethod
    def locking(file: int, mode: int, count: int) -> None:
        """Lock `count` bytes from where `file` stands; raises PermissionError if another has."""
        import fcntl

        assert (mode, count) == (Msvcrt.LK_NBLCK, 1)
        at = os.lseek(file, 0, os.SEEK_CUR)
        if not os.fstat(file).st_size <= at < 1 << 31:
            raise OSError(errno.EDEADLK, "nobody could read what is locked", str(file))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(errno.EACCES, "Permission denied") from None


HAS: dict[str, dict[str, Any]] = {"sys": {"platform": PLATFORM}}
if IS_WINDOWS:
    HAS["os"] = {"name": "nt"}
SEEN: dict[str, types.ModuleType] = {
    name: SeenModule(__import__(name), LACKS["names"].get(name, ()), HAS.get(name, {}))
    for name in LACKS["names"].keys() | HAS.keys()
}
if IS_WINDOWS:
    SEEN["msvcrt"] = Msvcrt("msvcrt")


def import_for_heatsoak(
    name: str,
    module: dict[str, Any] | None = None,
    local: dict[str, Any] | None = None,
    wanted: Sequence[str] = (),
    level: int = 0,
) -> types.ModuleType:
    """Import as the system would."""
    first = name.partition(".")[0]
    if level == 0 and first in LACKS["modules"]:
        raise ModuleNotFoundError(f"No module named {name!r} on {PLATFORM}", name=name)
    if level == 0 and name in SEEN:
        return SEEN[name]
    found = builtins.__import__(name, module, local, wanted, level)
    return SEEN.get(first, found) if level == 0 and not wanted else found


class Loader(SourceFileLoader):
    """Runs a module with imports of its own, those of its functions included."""

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's code."""
        code = self.get_code(module.__name__)
        assert code is not None
        module.__dict__["__builtins__"] = {**builtins.__dict__, "__import__": import_for_heatsoak}
        exec(code, module.__dict__)


class Finder(MetaPathFinder):
    """Finds heatsoak's modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to load one of heatsoak's modules, None for others."""
        spec = PathFinder.find_spec(name, path, target) if is_heatsoaks(name) else None
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = Loader(name, spec.loader.path)
        return spec


sys.meta_path.insert(0, Finder())

# what heatsoak does to files


def text(path: Any) -> str | None:
    """A path as text; None for a descriptor."""
    return os.fsdecode(path) if isinstance(path, str | bytes | os.PathLike) else None


def files_in_use() -> Iterator[str]:
    """What this process has open or mapped."""
    for entry in os.scandir("/proc/self/fd"):
        try:
            yield os.readlink(entry.path)  # noqa: PTH115 -- pathlib would be watched itself
        except OSError:
            continue
    with open("/proc/self/maps", "rb") as maps:  # noqa: PTH123 -- as above
        yield from (os.fsdecode(line.split(maxsplit=5)[5].strip()) for line in maps if b"/" in line)


def require_free(path: str) -> None:
    """Raise PermissionError for what is open, as for error 32 of Windows."""
    place = os.path.realpath(path)
    if any(used == place or used.startswith(f"{place}/") for used in files_in_use()):
        raise PermissionError(errno.EACCES, "is being used by a process (WinError 32)", path)


def require_name(path: str) -> None:
    """Raise OSError for a name that a file of ours must not have, as for error 123."""
    folder, name = os.path.split(os.path.join(os.getcwd(), path))  # noqa: PTH109, PTH118
    if IS_WINDOWS and (REFUSED.search(name) or DEVICES.fullmatch(name)):
        raise OSError(errno.EINVAL, "the file name is incorrect (WinError 123)", path)
    try:
        beside = os.listdir(folder)  # noqa: PTH208 -- as above
    except OSError:
        return
    if name not in beside:
        alike = [one for one in beside if one.casefold() == name.casefold()]
        if alike:
            raise FileExistsError(errno.EEXIST, f"is {alike[0]}, where case does not count", path)


def require_elsewhere(path: str) -> None:
    """Raise FileNotFoundError for what Linux alone has."""
    if OF_LINUX.match(path):
        raise FileNotFoundError(errno.ENOENT, f"there is none on {PLATFORM}", path)


def opened(path: Any, _mode: Any, flags: int) -> None:
    """Check what is opened."""
    if (name := text(path)) is not None:
        require_elsewhere(name)
        if flags & os.O_CREAT:
            require_name(name)


def moved(source: Any, target: Any, *_: Any) -> None:
    """Check what is renamed or replaced."""
    for name in (text(source), text(target)):
        if IS_WINDOWS and name is not None:
            require_free(name)
    if (name := text(target)) is not None:
        require_name(name)


def removed(path: Any, *_: Any) -> None:
    """Check what is removed."""
    if IS_WINDOWS and (name := text(path)) is not None:
        require_free(name)


def made(path: Any, *_: Any) -> None:
    """Check a directory that is made."""
    if (name := text(path)) is not None:
        require_name(name)


def listed(path: Any = ".", *_: Any) -> None:
    """Check what is listed."""
    if (name := text(path)) is not None:
        require_elsewhere(name)


def linked(source: Any, *_: Any) -> None:
    """Refuse a symbolic link, which takes a privilege on Windows."""
    if IS_WINDOWS:
        raise OSError(errno.EPERM, "a required privilege is not held (WinError 1314)", text(source))


CHECKS: dict[str, Callable[..., None]] = {
    "open": opened,
    "os.rename": moved,
    "os.remove": removed,
    "os.rmdir": removed,
    "shutil.rmtree": removed,
    "os.mkdir": made,
    "os.listdir": listed,
    "os.scandir": listed,
    "os.symlink": linked,
}
is_checking = False


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Hold heatsoak to the system's rules."""
    global is_checking
    check = CHECKS.get(event)
    if check is None or is_checking:
        return
    is_checking = True
    try:
        if asked_by_heatsoak():
            check(*arguments)
    finally:
        is_checking = False


sys.addaudithook(watch)

# text: its encoding, and the ends of its lines

warnings.filterwarnings("ignore", category=EncodingWarning)  # libraries have their own reasons
warnings.filterwarnings("error", category=EncodingWarning, module=r"heatsoak(\..*)?$")
real_open = io.open


def open_text(
    file: Any,
    mode: str = "r",
    buffering: int = -1,
    encoding: str | None = None,
    errors: str | None = None,
    newline: str | None = None,
    closefd: bool = True,
    opener: Any = None,
) -> Any:
    """Open as the system would; heatsoak has to say which encoding."""
    if "b" not in mode:
        if encoding is None and asked_by_heatsoak():
            raise EncodingWarning(f"{file}: opened as text without an encoding")
        if IS_WINDOWS and newline is None and set(mode) & set("wax+"):
            newline = "\r\n"
    return real_open(file, mode, buffering, encoding, errors, newline, closefd, opener)


io.open = builtins.open = open_text
