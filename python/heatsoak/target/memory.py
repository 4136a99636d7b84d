"""Places that lie in memory: no drive is measured there, and what is not free ends processes."""

from collections.abc import Iterator
from pathlib import Path

from heatsoak.sensor import Roots, sysfs
from heatsoak.target.base import Note

#: The kernel's own file system of device nodes.
DEVICES = "devtmpfs"
_FILE_SYSTEMS = ("tmpfs", "ramfs", DEVICES)
#: How RAM disks are called.
DISKS = ("zram", "ram")


def memory_under(path: Path, roots: Roots) -> str | None:
    """Return the file system or RAM disk that keeps a file or directory in memory, if one does.

    Overlays are followed to their upper layer, loop devices to their file.
    """
    layers: set[Path] = set()
    while path not in layers and path.exists():
        layers.add(path)
        mount = sysfs.mount_of(path.resolve(), roots)
        if mount is not None and mount.kind in _FILE_SYSTEMS:
            return DEVICES if Path(mount.place) == roots.dev else mount.kind
        below = None if mount is None else sysfs.upper_layer(mount)
        if below is None:
            disk = sysfs.device_behind(path, roots)
            if disk is None or disk.startswith(DISKS):
                return disk
            file = roots.sys / "block" / disk / "loop" / "backing_file"
            below = Path(sysfs.read_text(file) or path)
        path = below
    return None


def memory_note(path: Path, roots: Roots) -> Note | None:
    """Return the warning that a place lies in memory, if it does."""
    if memory_under(path, roots) is None:
        return None
    return Note("warning", f"{path}: lies in memory: no drive is measured")


def free_memory_bytes(roots: Roots) -> int:
    """Return how much can be taken before the kernel ends processes for it."""
    import psutil  # takes a while to load, and only this needs it

    return max(0, min([psutil.virtual_memory().available, *_left_by_groups(roots)]))


#: A control group's limit, what it has taken, and what of that is cache that can be dropped; by
#: the kernel's cgroup-v1/memory.rst and cgroup-v2.rst.
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
_V2 = ("memory.max", "memory.current", "inactive_file")


def _left_by_groups(roots: Roots) -> Iterator[int]:
    """What each control group that this process is in leaves below its limit."""
    for line in (sysfs.read_text(roots.proc / "self" / "cgroup") or "").splitlines():
        _, controllers, own = line.split(":", 2)
        top, (limit, taken, cache) = roots.sys / "fs" / "cgroup", _V2
        if "memory" in controllers.split(","):
            top, (limit, taken, cache) = top / "memory", _V1
        elif controllers:
            continue
        group = top / own.lstrip("/")
        # in a container, the names of the groups above its own may lead nowhere
        for directory in (group, *group.parents[: len(group.parts) - len(top.parts)]):
            most, used = sysfs.read_int(directory / limit), sysfs.read_int(directory / taken)
            if most is not None and used is not None:
                counts = (sysfs.read_text(directory / "memory.stat") or "").split()
                dropped = counts[counts.index(cache) + 1] if cache in counts else 0
                yield most - used + int(dropped)
