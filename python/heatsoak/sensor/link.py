"""The link between host and drive: its trained speed and width, and its faults."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Sensor, SensorInfo
from heatsoak.sensor.traffic import BusyTime
from heatsoak.words import rate_text

#: A drive busy less than this may have had its link slowed to save power.
_LOADED_PCT = 50.0
_ERRORS = {
    "aer_dev_correctable": "correctable",
    "aer_dev_nonfatal": "non-fatal",
    "aer_dev_fatal": "fatal",
}

_Link = dict[str, Any]

#: Often enough to see a link retrain; each reading queries the PCI function.
INTERVAL_S = 3.0

#: GT/s of a lane -> generation, and MB/s per lane after line coding (8b/10b, then 128b/130b, and
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


def link_of(disk: Path) -> _Link:
    """Return what is known about the link to the whole disk with the sysfs directory `disk`.

    Keys as in :attr:`heatsoak.target.DeviceInfo.link`; empty for a disk without such a link.
    """
    controllers = sysfs.nvme_controllers(disk)
    return _pcie_link(controllers[0] / "device") if controllers else _sata_link(disk)


class LinkSensor(Sensor):
    """The maximum throughput of a drive's PCIe or SATA link as it is trained now.

    Changes of the link and of the drive's controllers, and their errors, become notes.
    """

    def __init__(
        self, disk: Path, link: _Link, busy_pct: Callable[[], float | None] | None = None
    ) -> None:
        """Watch the link of `disk`, which was `link` at the start.

        `busy_pct` returns how busy the drive was since its last call; default: by the kernel.
        """
        self._disk = disk
        self._busy_pct = busy_pct or BusyTime(disk).pct
        self._states = dict.fromkeys(sysfs.nvme_controllers(disk), "live")
        self._errors = self._count_errors()
        self._width = link.get("width")
        self._loaded: _Link | None = None
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
        """Return the sensor of the drive with the sysfs directory `disk`; None without a link."""
        link = link_of(disk)
        return cls(disk, link) if "ceiling_mb_s" in link else None

    def values(self) -> dict[str, float]:
        """Return `link_mb_s`; raises OSError while the link is down or the drive is gone."""
        link = link_of(self._disk)
        self._notes += (*self._state_changes(), *self._link_changes(link), *self._new_errors())
        if (ceiling_mb_s := link.get("ceiling_mb_s")) is None:
            raise OSError(f"the link of {self._disk.name} reports no speed")
        return {"link_mb_s": float(ceiling_mb_s)}

    def _state_changes(self) -> list[str]:
        changes = []
        for controller, was in self._states.items():
            state = sysfs.read_text(controller / "state")
            if state is None or state == was:
                continue
            self._states[controller] = state
            changes.append(f"controller {controller.name} changed from {was} to {state}")
        return changes

    def _link_changes(self, link: _Link) -> list[str]:
        if "ceiling_mb_s" not in link:
            return []
        busy_pct = self._busy_pct()
        is_loaded = busy_pct is None or busy_pct >= _LOADED_PCT
        was, width = self._loaded, self._width
        self._width = link.get("width")
        if is_loaded:
            self._loaded = link
        if width is not None and self._width != width:
            lanes = f"the link changed from {width} to {self._width} lanes"
            return [f"{lanes}: it carries at most {rate_text(link['ceiling_mb_s'])}"]
        if is_loaded and was is not None and was["ceiling_mb_s"] != link["ceiling_mb_s"]:
            now, before = (rate_text(one["ceiling_mb_s"]) for one in (link, was))
            changed = "the link's speed under load changed: it carries at most"
            return [f"{changed} {now}, and carried {before} before"]
        return []

    def _new_errors(self) -> list[str]:
        before, self._errors = self._errors, self._count_errors()
        return [
            f"the PCI Express link of {controller.name} had {count - before[at]} {word} errors"
            for at, count in self._errors.items()
            if count > before.get(at, count)
            for controller, word in [at]
        ]

    def _count_errors(self) -> dict[tuple[Path, str], int]:
        counts = {}
        for controller in self._states:
            for file, word in _ERRORS.items():
                text = sysfs.read_text(controller / "device" / file) or ""
                total = [line.split()[-1] for line in text.splitlines() if line[:6] == "TOTAL_"]
                if total and total[0].isdecimal():
                    counts[controller, word] = int(total[0])
        return counts


def _pcie_link(function: Path) -> _Link:
    """Return generation and width of a PCI function's link; empty if it is not PCI."""
    link: _Link = {}
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


def _sata_link(directory: Path) -> _Link:
    """Return the SATA or USB speed to the drive; 8b/10b leaves 80 % of SATA's bit rate."""
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
