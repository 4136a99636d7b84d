"""Identifies block devices by sysfs and udev: model, serial, size and link.

Nothing here opens a device; everything works without root.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from heatsoak.errors import UsageError
from heatsoak.identity import serial_of
from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.link import link_of
from heatsoak.target.base import Identity

SECTOR = 512  # the unit of sizes in sysfs, whatever the drive's block size


@dataclass(frozen=True)
class DeviceInfo:
    """One whole disk.

    Attributes:
        name: the kernel's name, such as ``nvme0n1``.
        path: its device node.
        number: ``MAJ:MIN``.
        by_ids: its names below ``/dev/disk/by-id``.
        wwid: the world-wide name of the drive or namespace, unless another disk here shares it.
        sequence: the kernel's disk sequence number, unique within a boot.
        serial_shared_with: other disks of this machine that report the same serial.
        transport: ``nvme``, ``sata``, ``usb``, ``sas``, ``scsi``, ``virtio``, ``mmc``, or the
            kind of a virtual one, such as ``loop``.
        link: what is known of the link to the drive, as JSON values: ``kind``, ``generation``,
            ``width`` and their ``max_*``, ``ceiling_mb_s`` after line coding and before
            protocol overhead.
        trims: whether it supports trims (discards).
    """

    name: str
    path: Path
    number: str
    size_bytes: int
    logical_block_bytes: int
    model: str | None
    serial: str | None
    firmware: str | None
    wwid: str | None
    by_ids: tuple[str, ...]
    sequence: int | None
    rotational: bool
    read_only: bool
    transport: str
    serial_shared_with: tuple[str, ...] = ()
    link: dict[str, Any] = field(default_factory=dict)
    trims: bool = False

    @property
    def erase_ids(self) -> tuple[str, ...]:
        """What ``--erase`` accepts for this drive, best first; empty if it cannot be identified.

        These are the serial and by-id names. Two drives with the same serial (cheap USB bridges)
        also compete for the same by-id name, so only a world-wide name identifies them. A drive
        with none of these is identified by path and size.
        """
        if self.serial_shared_with:
            return () if self.wwid is None else (self.wwid,)
        known = [name for name in (self.serial, *self.by_ids, self.wwid) if name]
        return tuple(known) or (f"{self.path}:{self.size_bytes}",)

    @property
    def erase_id(self) -> str | None:
        """The best name for ``--erase``; None if the drive cannot be identified."""
        return next(iter(self.erase_ids), None)

    def identity(self, path: str) -> Identity:
        """Return its identity for the recording; `path` is as given by the user."""
        return Identity(
            kind="block",
            path=path,
            model=self.model,
            serial=self.serial,
            size_bytes=self.size_bytes,
            simulated=False,
            details=self.details(),
        )

    def details(self) -> dict[str, Any]:
        """Return the details for the recording, as JSON values."""
        own = ("serial", "firmware", "wwid", "transport", "rotational", "logical_block_bytes")
        known = {name: getattr(self, name) for name in own}
        return {"device": self.name, **known, "link": self.link}


class DriveRow(BaseModel):
    """One row of ``heatsoak list drives``.

    Attributes:
        schema_version: goes up when a key of the JSON changes its meaning or goes away.
        id: for ``--erase`` if it is a real drive, for ``--on`` if it is a simulated one.
        path: the device node; None for a simulated drive.
        sensors: the columns that its own sensors fill.
        writable: whether it may be written once it is named with ``--erase``.
        why: why it must not be written, or what is needed to write it.
        erase: what ``--erase`` needs; None if it must not be written, or needs no name.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    id: str
    path: str | None
    model: str | None
    serial: str | None
    size_bytes: int
    simulated: bool
    sensors: list[str]
    writable: bool
    why: str
    erase: str | None = None


def list_devices(roots: Roots | None = None) -> list[DeviceInfo]:
    """Return all whole disks except those without a size, in the kernel's order."""
    roots = roots or Roots()
    links = _by_ids(roots)
    names = sorted(sysfs.names(roots.sys / "block"), key=_natural)
    directories = (sysfs.directory_of_name(name, roots) for name in names)
    found = (_describe(each, roots, links) for each in directories if each is not None)
    return [info for info in found if info is not None and info.size_bytes > 0]


def describe_device(path: Path | str, roots: Roots | None = None) -> DeviceInfo:
    """Return the whole disk for a device node, a link to one, or a kernel name.

    A partition stands for its disk. Raises UsageError for anything else.
    """
    roots = roots or Roots()
    number = sysfs.block_number(str(Path(path).absolute()))
    directory = None if number is None else sysfs.directory_of_number(number, roots)
    if number is None and "/" not in str(path):
        directory = sysfs.directory_of_name(str(path), roots)
    info = None
    if directory is not None:
        info = _describe(sysfs.whole_disk(directory), roots, _by_ids(roots))
    if info is None:
        raise UsageError(f"{path}: is not a block device: `heatsoak list drives` lists them")
    return info


def drive_called(text: str, roots: Roots) -> DeviceInfo | None:
    """Return the whole disk with this name, serial or id; None if there is none.

    Raises UsageError if several are called that.
    """
    named = [one for one in list_devices(roots) if text in (one.name, *one.erase_ids)]
    if len(named) > 1:
        raise UsageError(f"{text}: {len(named)} drives of this host are called that")
    return named[0] if named else None


def drive_behind(path: Path, roots: Roots | None = None) -> DeviceInfo | None:
    """Return the whole disk under a file, directory or device node; None if there is none.

    Raises UsageError if the kernel does not describe it.
    """
    name = sysfs.device_behind(path, roots)
    # by its kernel name: in a container the drive exists, but not its device node
    return None if name is None else describe_device(name, roots)


def describe_number(number: str, roots: Roots) -> DeviceInfo | None:
    """Return the disk ``MAJ:MIN`` as it is now; None for a partition or if it does not exist."""
    directory = sysfs.directory_of_number(number, roots)
    if directory is None or (directory / "partition").exists():
        return None
    return _describe(directory, roots, _by_ids(roots))


def _describe(directory: Path, roots: Roots, links: dict[str, list[str]]) -> DeviceInfo | None:
    number = sysfs.read_text(directory / "dev")
    sectors = sysfs.read_int(directory / "size")
    if number is None or sectors is None:
        return None  # hidden paths of a multipath namespace have no number
    name = directory.name
    serial = _serial(directory)
    wwid = _wwid(directory)
    if _sharing(directory, wwid, roots, _wwid):
        wwid = None  # not unique
    return DeviceInfo(
        name=name,
        path=roots.dev / name.replace("!", "/"),
        number=number,
        size_bytes=sectors * SECTOR,
        logical_block_bytes=sysfs.read_int(directory / "queue" / "logical_block_size") or SECTOR,
        model=_model(directory),
        serial=serial,
        firmware=_first(directory, "device/firmware_rev", "device/rev", "device/fwrev"),
        wwid=wwid,
        by_ids=tuple(links.get(number, ())),
        sequence=sysfs.read_int(directory / "diskseq"),
        rotational=sysfs.read_int(directory / "queue" / "rotational") == 1,
        read_only=sysfs.read_int(directory / "ro") != 0,
        transport=_transport(directory),
        serial_shared_with=_sharing(directory, serial, roots, _serial),
        link=link_of(directory),
        trims=(sysfs.read_int(directory / "queue" / "discard_max_bytes") or 0) > 0,
    )


def _first(directory: Path, *places: str) -> str | None:
    return next((text for place in places if (text := sysfs.read_text(directory / place))), None)


def _serial(directory: Path) -> str | None:
    """Return the serial, or None if it is missing or obviously not one."""
    found = [_first(directory, "device/serial", "serial")]
    found += [sysfs.read_text(one / "serial") for one in sysfs.nvme_controllers(directory)]
    page = sysfs.read_bytes(directory / "device" / "vpd_pg80")
    if page is not None and len(page) > 4:  # SPC-4, Unit Serial Number page
        length = int.from_bytes(page[2:4], "big")
        found.append(page[4 : 4 + length].decode("ascii", "replace"))
    serial = serial_of(next((text for text in found if text), None))
    return serial if serial is not None and len(serial) > 1 else None


def _model(directory: Path) -> str | None:
    page = sysfs.read_bytes(directory / "device" / "vpd_pg89")
    if page is not None and len(page) >= 572:  # SAT, ATA Information page: IDENTIFY at byte 60
        words = page[60 + 54 : 60 + 94]
        swapped = bytes(words[at ^ 1] for at in range(len(words)))
        if text := swapped.decode("ascii", "replace").strip("\0 "):
            return text
    found = [_first(directory, "device/model", "device/name")]
    found += [sysfs.read_text(one / "model") for one in sysfs.nvme_controllers(directory)]
    return next((model for model in found if model), None)


def _wwid(directory: Path) -> str | None:
    wwid = _first(directory, "wwid", "device/wwid")
    return " ".join(wwid.split()) if wwid else None


def _sharing(
    directory: Path, value: str | None, roots: Roots, read: Callable[[Path], str | None]
) -> tuple[str, ...]:
    """Return the other disks for which `read` returns the same `value`."""
    if value is None:
        return ()
    own = sysfs.read_text(directory / "dev")
    others = []
    for name in sysfs.names(roots.sys / "block"):
        other = (roots.sys / "block" / name).resolve()
        number = sysfs.read_text(other / "dev")
        if other != directory and number not in (None, own) and read(other) == value:
            others.append(name)
    return tuple(others)


def _by_ids(roots: Roots) -> dict[str, list[str]]:
    base = roots.dev / "disk" / "by-id"
    if not base.is_dir():  # in a container, which may see that of the machine
        base = roots.proc / "1" / "root" / "dev" / "disk" / "by-id"
    found: dict[str, list[str]] = {}
    for name in sorted(sysfs.names(base), key=lambda name: (name.startswith("wwn-"), name)):
        if (number := sysfs.block_number(str(base / name))) is not None:
            found.setdefault(number, []).append(name)
    return found


def _transport(directory: Path) -> str:
    parts = directory.parts
    if "virtual" in parts and "nvme-subsystem" not in parts:
        return directory.name.rstrip("0123456789").rstrip("-")
    for word, kind in (("usb", "usb"), ("nvme", "nvme"), ("ata", "sata"), ("virtio", "virtio")):
        if any(re.fullmatch(rf"{word}[0-9]+", part) for part in parts):
            return kind
    if any(part.startswith("end_device-") for part in parts):
        return "sas"
    if any(part.startswith("mmc") for part in parts):
        return "mmc"
    return "scsi" if any(part.startswith("target") for part in parts) else "unknown"


def _natural(name: str) -> list[tuple[int, str]]:
    return [
        (int(part or -1), "") if part.isdigit() else (-1, part)
        for part in re.split(r"([0-9]+)", name)
    ]
