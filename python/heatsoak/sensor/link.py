"""The path between host and drive: what it is trained to carry, and what happens to it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import SensorInfo
from heatsoak.sensor.traffic import BusyTime

#: Less of the time than this, and the link may have been slowed because there was nothing to do.
_LOADED_PCT = 50.0
_ERRORS = {
    "aer_dev_correctable": "repaired",
    "aer_dev_nonfatal": "unrepaired",
    "aer_dev_fatal": "fatal",
}

_Link = dict[str, Any]


class PathFaults:
    """Compares the path to one drive with what it was."""

    def __init__(
        self, disk: Path, link: _Link, busy_pct: Callable[[], float | None] | None = None
    ) -> None:
        """Begin to look at the path to `disk`, a sysfs directory; its link was `link`.

        `busy_pct` tells how busy the drive was since it was asked last, None for the kernel's word.
        """
        self._controllers = sysfs.nvme_controllers(disk)
        self._busy_pct = busy_pct or BusyTime(disk).pct
        self._states = dict.fromkeys(self._controllers, "live")
        self._errors = self._count_errors()
        self._width = link.get("width")
        self._loaded: _Link | None = None

    def look(self, link: _Link) -> list[str]:
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

    def _look_at_link(self, link: _Link) -> list[str]:
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


def _carries(link: _Link, was: _Link | None = None) -> str:
    before = "" if was is None else f", and carried {was['ceiling_mb_s']:,} before"
    return f"it carries {link['ceiling_mb_s']:,} MB/s at most{before}"


#: Often enough to see a link that retrains; each reading asks the PCI function.
INTERVAL_S = 3.0

#: GT/s of a lane -> generation and MB/s of it after line coding (8b/10b, then 128b/130b, and
#: PCI Express 6.0's flits with 236 of 256 bytes for payload and headers).
_PCIE = {
    2.5: (1, 250.0),
    5.0: (2, 500.0),
    8.0: (3, 984.6),
    16.0: (4, 1969.2),
    32.0: (5, 3938.5),
    64.0: (6, 7375.0),
}
_NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?)")


def link_of(disk: Path) -> dict[str, Any]:
    """Return what is known of the path to the whole disk with the sysfs directory `disk`.

    Keys as in :attr:`heatsoak.target.DeviceInfo.link`; nothing for a disk without such a path.
    """
    controllers = sysfs.nvme_controllers(disk)
    return _pcie_link(controllers[0] / "device") if controllers else _sata_link(disk)


class LinkSensor:
    """What the PCIe or SATA link of a drive carries at most, as it is trained now."""

    def __init__(self, disk: Path, link: dict[str, Any]) -> None:
        """Watch the link of `disk`, which was `link` when it was found."""
        self._disk = disk
        self._faults = PathFaults(disk, link)
        self._notes: list[str] = []
        self.last_error: str | None = None
        where = "current_link_speed x current_link_width" if link["kind"] == "pcie" else "sata_spd"
        self.info = SensorInfo(
            name="link",
            source=f"sysfs: {where} of {disk.name}, MB/s after line coding",
            columns=("link_mb_s",),
            interval_s=INTERVAL_S,
            # the kernel resumes a sleeping PCI function to answer
            details={"link_at_start": link, "wakes_drive": True},
        )

    @classmethod
    def find(cls, disk: Path) -> "LinkSensor | None":
        """Return the sensor of the drive with the sysfs directory `disk`, None without a link."""
        link = link_of(disk)
        return cls(disk, link) if "ceiling_mb_s" in link else None

    def read(self) -> dict[str, float]:
        """Return `link_mb_s`; nothing while the link is down or the drive is gone."""
        link = link_of(self._disk)
        self._notes += self._faults.look(link)
        ceiling_mb_s = link.get("ceiling_mb_s")
        if ceiling_mb_s is None:
            self.last_error = f"the link of {self._disk.name} tells no speed"
            return {}
        self.last_error = None
        return {"link_mb_s": float(ceiling_mb_s)}

    def notes(self) -> list[str]:
        """Return what has happened to the path, once."""
        notes, self._notes = self._notes, []
        return notes

    def close(self) -> None:
        """Nothing is held."""


def _pcie_link(function: Path) -> dict[str, Any]:
    """Return generation and width of a PCI function's link; nothing where it is not PCI."""
    link: dict[str, Any] = {}
    for prefix, place in (("", "current"), ("max_", "max")):
        speed = _NUMBER.match(sysfs.read_text(function / f"{place}_link_speed") or "")
        width = sysfs.read_int(function / f"{place}_link_width")
        if speed is None or not width or float(speed.group(1)) not in _PCIE:
            continue
        generation, lane_mb_s = _PCIE[float(speed.group(1))]
        link |= {
            "kind": "pcie",
            f"{prefix}generation": generation,
            f"{prefix}width": width,
            f"{prefix}ceiling_mb_s": round(lane_mb_s * width),
        }
    return link


def _sata_link(directory: Path) -> dict[str, Any]:
    """Return the SATA or USB speed on the way to the drive; 8b/10b leaves 80 % for SATA."""
    for place in directory.parents:
        if re.fullmatch(r"ata[0-9]+", place.name):
            for name in sysfs.names(place):
                text = sysfs.read_text(place / name / "ata_link" / name / "sata_spd") or ""
                if name.startswith("link") and (speed := _NUMBER.match(text)):
                    gbps = float(speed.group(1))
                    return {"kind": "sata", "gbps": gbps, "ceiling_mb_s": round(gbps * 100)}
        usb_speed = sysfs.read_text(place / "speed") if (place / "busnum").exists() else None
        if speed := _NUMBER.match(usb_speed or ""):
            return {"kind": "usb", "gbps": float(speed.group(1)) / 1000}
    return {}
