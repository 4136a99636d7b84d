"""Where a drive is mounted, in any process's view, and whether it holds swap."""

import errno
import stat
from pathlib import Path

from heatsoak.output import printable
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.target.device import DeviceInfo
from heatsoak.target.guard.doubt import Doubt, processes
from heatsoak.target.guard.structure import rests_on


def has_ended(error: OSError) -> bool:
    """Whether a look into a process failed because it has ended (a zombie gives EINVAL)."""
    return error.errno in (errno.ENOENT, errno.ESRCH, errno.EINVAL)


def mounts(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look at the mounts as each process sees them: namespaces and chroots all differ."""
    unseen: list[str] = []
    texts: dict[str, None] = {}
    for process in processes(roots):
        try:
            texts[(process / "mountinfo").read_text("utf-8", "surrogateescape")] = None
        except OSError as error:
            if not has_ended(error):
                unseen.append(process.name)
    if not texts:
        raise Doubt("no process's mounts can be read (run as root)")
    places: dict[str, None] = {}
    direct = False
    verdicts: dict[tuple[str, str], bool] = {}
    for text in texts:
        for mount in sysfs.parse_mounts(text):
            key = (mount.number, mount.source)
            if key not in verdicts:
                numbers = {mount.number, sysfs.block_number(mount.source)}
                verdicts[key] = any(rests_on(number, info, roots) for number in numbers if number)
            if verdicts[key]:
                places[mount.place] = None
                direct = direct or mount.number == info.number
    reasons = []
    if places:
        first = printable(next(iter(places)))
        more = f" and {len(places) - 1} more places" if len(places) > 1 else ""
        how = "it is mounted on" if direct else "what lies on it is mounted on"
        reasons.append(f"{how} {first}{more}")
    if unseen:
        reasons.append(
            f"the mounts of {len(unseen)} processes, such as {unseen[0]}, cannot be read "
            "(look as root, outside containers)"
        )
    return reasons


def swaps(info: DeviceInfo, roots: Roots) -> list[str]:
    """Look for swap areas on the drive."""
    try:
        lines = (roots.proc / "swaps").read_text("utf-8", "surrogateescape").splitlines()[1:]
    except FileNotFoundError:
        return []  # a kernel without swap
    except OSError as error:
        raise Doubt(f"{roots.proc}/swaps cannot be read ({error.strerror})") from None
    for line in lines:
        path = sysfs.unescape(line.split()[0]) if line.split() else ""
        number = _number_beneath(path.removesuffix(" (deleted)"), roots)
        if number is None:
            raise Doubt(f"where the swap area {printable(path)} lies cannot be found out")
        if rests_on(number, info, roots):
            return [f"it holds the swap area {printable(path)}"]
    return []


def _number_beneath(path: str, roots: Roots) -> str | None:
    """Return the number of the device that `path` is, or that the file at `path` lies on."""
    try:
        status = Path(path).stat()
    except (OSError, ValueError):
        directory = sysfs.directory_of_name(Path(path).name, roots)
        return None if directory is None else sysfs.read_text(directory / "dev")
    is_device = stat.S_ISBLK(status.st_mode)
    return sysfs.number_of(status.st_rdev if is_device else status.st_dev)
