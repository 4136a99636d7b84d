"""What a purge of an NVMe drive can do, and which namespaces it would affect."""

import struct
from dataclasses import dataclass

from heatsoak.errors import ToolError
from heatsoak.sensor.nvme_admin import IDENTIFY, IDENTIFY_SIZE, Ioctl, kernel_ioctl, submit

_GET_NSID = 0x4E40  # _IO('N', 0x40), linux/nvme_ioctl.h
_NAMESPACE, _CONTROLLER, _ACTIVE_LIST, _ALLOCATED_LIST = 0x00, 0x01, 0x02, 0x10
_LISTED = 1024


@dataclass(frozen=True)
class Namespace:
    """A namespace and its controller, by Identify.

    Attributes:
        nsid: its number.
        others: the numbers of all other namespaces of the drive.
        has_hidden: whether there may be namespaces that this controller does not list.
        formats: whether Format NVM is supported.
        formats_all: whether a format, or its erase, affects all namespaces.
        sanitize_action: the Sanitize action: 2 block erase, 4 crypto erase; None if neither.
        layout: the low 12 bits of Format NVM's parameters that keep block size, metadata and
            protection, with bits 12 and 13 for formats beyond the 16th.
        blocks: its size in blocks.
    """

    nsid: int
    others: tuple[int, ...]
    has_hidden: bool
    formats: bool
    formats_all: bool
    sanitize_action: int | None
    layout: int
    blocks: int

    @property
    def is_alone(self) -> bool:
        """Whether it is known to be the drive's only namespace."""
        return not self.others and not self.has_hidden


def look(fd: int, ioctl: Ioctl | None = None) -> Namespace:
    """Return the namespace behind a descriptor; raises OSError, ToolError."""
    nsid = (ioctl or kernel_ioctl())(fd, _GET_NSID, bytearray(4))
    if nsid <= 0:
        raise ToolError("the kernel does not say which namespace it is")
    controller = _identify(fd, _CONTROLLER, 0, ioctl)
    page = _identify(fd, _NAMESPACE, nsid, ioctl)
    (admin_commands,) = struct.unpack_from("<H", controller, 256)  # OACS
    format_attributes = controller[524]  # FNA
    (sanitize,) = struct.unpack_from("<I", controller, 328)  # SANICAP
    manages = bool(admin_commands & 1 << 3)
    listing = _identify(fd, _ALLOCATED_LIST if manages else _ACTIVE_LIST, 0, ioctl)
    listed = [number for number in struct.unpack(f"<{_LISTED}I", listing) if number]
    shared = controller[76] & 0b11  # CMIC: several ports, several controllers
    return Namespace(
        nsid=nsid,
        others=tuple(number for number in listed if number != nsid),
        has_hidden=nsid not in listed or (bool(shared) and not manages),
        formats=bool(admin_commands & 1 << 1),
        formats_all=bool(format_attributes & 0b11),
        sanitize_action=2 if sanitize & 0b010 else 4 if sanitize & 0b001 else None,
        layout=_layout(page),
        blocks=struct.unpack_from("<Q", page, 0)[0],
    )


def _identify(fd: int, structure: int, nsid: int, ioctl: Ioctl | None) -> bytes:
    return submit(fd, IDENTIFY, nsid=nsid, length=IDENTIFY_SIZE, cdw10=structure, ioctl=ioctl)[0]


def _layout(page: bytes) -> int:
    """Return Format NVM's dword 10 for the current format, without an erase."""
    in_use, protection = page[26], page[29]  # FLBAS, DPS
    has_extended_blocks = in_use >> 4 & 1
    return (
        in_use & 0xF
        | has_extended_blocks << 4
        | (protection & 0b111) << 5
        | (protection >> 3 & 1) << 8
        | (in_use >> 5 & 0b11) << 12
    )
