"""What happens to the path between host and drive: told in words as it is seen.

- The NVMe driver's state of the controller (`state`, drivers/nvme/host/sysfs.c): anything but
  `live` means that it is being reset, lost, or given up.
- A link that has trained to other lanes, or to another speed under load; at rest, links are slowed
  on purpose.
- PCI Express errors that the kernel has counted (Documentation/ABI/testing/
  sysfs-bus-pci-devices-aer_stats): the link repeats what came damaged, which takes time.

All of it is in the kernel's memory; what lasts shorter than the time between two looks is not seen.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from heatsoak.sensor import sysfs
from heatsoak.sensor.traffic import BusyTime

#: Less of the time than this, and the link may have been slowed because there was nothing to do.
_LOADED_PCT = 50.0
_ERRORS = {
    "aer_dev_correctable": "repaired",
    "aer_dev_nonfatal": "unrepaired",
    "aer_dev_fatal": "fatal",
}

Link = dict[str, Any]


class PathFaults:
    """Compares the path to one drive with what it was."""

    def __init__(
        self, disk: Path, link: Link, busy_pct: Callable[[], float | None] | None = None
    ) -> None:
        """Begin to look at the path to `disk`, a sysfs directory; its link was `link`.

        `busy_pct` tells how busy the drive was since it was asked last, None for the kernel's word.
        """
        self._controllers = sysfs.nvme_controllers(disk)
        self._busy_pct = busy_pct or BusyTime(disk).pct
        self._states = dict.fromkeys(self._controllers, "live")
        self._errors = self._count_errors()
        self._width = link.get("width")
        self._loaded: Link | None = None

    def look(self, link: Link) -> list[str]:
        """Return what has changed since the last look; `link` is as it is trained now."""
        return [*self._look_at_states(), *self._look_at_link(link), *self._look_at_errors()]

    def _look_at_states(self) -> list[str]:
        told = []
        for controller, was in self._states.items():
            state = sysfs.read_text(controller / "state")
            if state is None or state == was:
                continue
            self._states[controller] = state
            told.append(f"the controller {controller.name} is {state}, and was {was}")
        return told

    def _look_at_link(self, link: Link) -> list[str]:
        if "ceiling_mb_s" not in link:
            return []
        busy_pct = self._busy_pct()
        is_loaded = busy_pct is None or busy_pct >= _LOADED_PCT
        was, width = self._loaded, self._width
        self._width = link.get("width")
        if is_loaded:
            self._loaded = link
        if width is not None and self._width != width:
            return [f"the link has {self._width} lanes now, and had {width}: {_carries(link)}"]
        if is_loaded and was is not None and was["ceiling_mb_s"] != link["ceiling_mb_s"]:
            return [f"the link has another speed under load: {_carries(link, was)}"]
        return []

    def _look_at_errors(self) -> list[str]:
        before, self._errors = self._errors, self._count_errors()
        return [
            f"the PCI Express link of {controller.name} had {count - before[at]} {word} errors"
            for at, count in self._errors.items()
            if count > before.get(at, count)
            for controller, word in [at]
        ]

    def _count_errors(self) -> dict[tuple[Path, str], int]:
        counts = {}
        for controller in self._controllers:
            for file, word in _ERRORS.items():
                text = sysfs.read_text(controller / "device" / file) or ""
                total = [line.split()[-1] for line in text.splitlines() if line[:6] == "TOTAL_"]
                if total and total[0].isdecimal():
                    counts[controller, word] = int(total[0])
        return counts


def _carries(link: Link, was: Link | None = None) -> str:
    before = "" if was is None else f", and carried {was['ceiling_mb_s']:,} before"
    return f"it carries {link['ceiling_mb_s']:,} MB/s at most{before}"
