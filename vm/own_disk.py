"""A machine whose files are all on a disk of its own: it can sleep, and lose its power.

A root that is shared by the host survives neither: its driver cannot wake up, and what was
written there is safe on the host whatever becomes of the machine.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from qemu import Qemu, drive, empty

#: What the scripts may call.
TOOLS = (
    *("sh", "cat", "date", "mkdir", "rm", "sleep", "sync", "grep", "tail"),
    *("setpriv", "fio", "blkid", "wipefs", "nvme"),
)
HEATSOAK = Path(__file__).parent.parent / "python" / "heatsoak"
_ENVIRONMENT = """
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp PYTHONUNBUFFERED=1
export PYTHONPATH=/bench:/bench/site
cd /bench
"""
_SEARCHED = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


class OwnDisk:
    """A disk with Python, heatsoak and what it needs; machines start from it one after another."""

    def __init__(self, directory: Path) -> None:
        """Make it in `directory`."""
        self._directory = directory
        self._image = directory / "system.img"
        self.drive = empty(directory / "drive.img")
        self._starts = 0
        root = directory / "root"
        _fill(root)
        self._scripts = root / "bench"
        self._root = root

    def put(self, name: str, text: str) -> None:
        """Put a file beside the scripts, before the first start."""
        (self._root / "bench" / name).write_text(text)

    def script(self, name: str, text: str) -> None:
        """Put a script there; ``heatsoak`` is called ``$heatsoak`` in it."""
        heatsoak = f"heatsoak='{_python()} -m heatsoak'\n"
        self.put(name, f"{_ENVIRONMENT}{heatsoak}exec >/dev/console 2>&1\n{text}")

    def start(self, script: str) -> Qemu:
        """Start a machine that runs the script and switches itself off; its NVMe drive is VM0."""
        if not self._image.exists():
            self._make()
        directory = self._directory / f"start{self._starts}"
        directory.mkdir()
        self._starts += 1
        words = [
            *drive("system", self._image),
            *("-device", "virtio-blk-pci,drive=system"),
            *drive("d0", self.drive),
            *("-device", "nvme,id=n0,serial=VM0"),
            *("-device", "nvme-ns,drive=d0,bus=n0,nsid=1"),
        ]
        return Qemu(directory, f"script=/bench/{script}", words)

    def fetch(self, name: str) -> Path:
        """Return a copy of what a machine that is off left in /bench."""
        place = self._directory / "fetched"
        place.mkdir(exist_ok=True)
        debugfs = shutil.which("debugfs", path=_SEARCHED)
        assert debugfs is not None
        command = [debugfs, "-R", f"rdump /bench/{name} {place}", str(self._image)]
        subprocess.run(command, check=True, capture_output=True)
        return place / name

    def _make(self) -> None:
        used = sum(file.lstat().st_size for file in self._root.rglob("*"))
        with self._image.open("wb") as file:
            file.truncate(int(1.3 * used) + (256 << 20))
        mkfs = shutil.which("mkfs.ext4", path=_SEARCHED)
        assert mkfs is not None
        subprocess.run([mkfs, "-q", "-d", str(self._root), str(self._image)], check=True)
        shutil.rmtree(self._root)


def _fill(root: Path) -> None:
    for place in ("proc", "sys", "dev", "run", "tmp", "etc", "bench/site"):
        (root / place).mkdir(parents=True)
    for name in ("bin", "sbin", "lib", "lib64"):
        if Path("/", name).is_symlink():
            (root / name).symlink_to(Path("/", name).readlink())
    for path in map(Path, ("/etc/passwd", "/etc/group")):
        shutil.copy(path, root / "etc")
    shutil.copytree(HEATSOAK, root / "bench" / "heatsoak", ignore=shutil.ignore_patterns("*.pyc"))
    standard = Path(sysconfig.get_path("stdlib"))
    skipped = shutil.ignore_patterns("test", "*.pyc", "site-packages", "dist-packages", "config-*")
    shutil.copytree(standard, _inside(root, standard), ignore=skipped)
    _copy_packages(root / "bench" / "site")
    found = [shutil.which(name, path=_SEARCHED) for name in TOOLS]
    programs = [_python(), *(Path(path) for path in found if path is not None)]
    for program in programs:
        _copy(root, program)
    loaded = [HEATSOAK / "_core.abi3.so", *standard.rglob("*.so"), *_packages_libraries()]
    for library in _needed([*programs, *loaded]):
        _copy(root, library)


def _python() -> Path:
    return Path(sys.executable).resolve()


def _inside(root: Path, path: Path) -> Path:
    """Return where a file of the host lies in the other root, its directories' links followed."""
    return root / (path.parent.resolve() / path.name).relative_to("/")


def _copy(root: Path, path: Path) -> None:
    to = _inside(root, path)
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(path, to)


def _packages() -> list[str]:
    """Return the names of the packages that heatsoak needs to run, and its own."""
    wanted, found = ["heatsoak"], ["heatsoak"]  # of itself, what it says of its version
    while wanted:
        name = wanted.pop()
        for text in distribution(name).requires or []:
            need = Requirement(text)
            is_wanted = need.marker is None or need.marker.evaluate({"extra": ""})
            if is_wanted and need.name not in found:
                found.append(need.name)
                wanted.append(need.name)
    return found


def _files() -> list[tuple[Path, Path]]:
    """Return the packages' files: where they are, and where from the packages' directory on."""
    pairs = []
    for name in _packages():
        try:
            files = distribution(name).files or []
        except PackageNotFoundError:
            continue
        pairs += [
            (Path(str(file.locate())), Path(str(file)))
            for file in files
            if ".." not in file.parts and file.suffix != ".pyc"
        ]
    return pairs


def _copy_packages(site: Path) -> None:
    for path, name in _files():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, site / name)


def _packages_libraries() -> list[Path]:
    return [path for path, _ in _files() if ".so" in path.suffixes]


def _needed(files: list[Path]) -> set[Path]:
    """Return the system's libraries that programs and libraries are linked with."""
    said = subprocess.run(
        ["ldd", *map(str, files)], capture_output=True, text=True, check=False
    ).stdout
    own = sysconfig.get_path("platlib")
    paths = re.findall(r"^\s*(?:\S+ => )?(/.+) \(0x", said, re.MULTILINE)
    return {Path(path) for path in paths if not path.startswith(own)}
