"""Admin commands to an NVMe controller, as Linux passes them on.

Opcodes and fields are those of the NVM Express base specification; the command's layout and its
number are linux/nvme_ioctl.h's.
"""

import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots
from heatsoak.sensor.nvme_power import POWER_LOG_SIZE

LOG_SIZE = 512
IDENTIFY_SIZE = 4096

GET_LOG_PAGE, IDENTIFY, GET_FEATURES = 0x02, 0x06, 0x0A
ALL_NAMESPACES = 0xFFFFFFFF
HOST_THERMAL_MANAGEMENT = 0x10

_ADMIN_CMD = 0xC0484E41  # _IOWR('N', 0x41, struct nvme_admin_cmd)
_COMMAND = struct.Struct("<BBHIIIQQII6III")
_HEALTH_LOG, _POWER_LOG = 0x02, 0x25
_POWER_MANAGEMENT = 0x02
_CONTROLLER = 0x01
_TIMEOUT_MS = 5000

T = TypeVar("T")

#: Does what fcntl.ioctl does with a mutable buffer; tests put a drive of their own here.
Ioctl = Callable[[int, int, bytearray], int]


class NvmeStatusError(OSError):
    """The drive itself said no; `status` is its status code with type, as NVMe numbers them."""

    def __init__(self, opcode: int, status: int) -> None:
        super().__init__(f"the drive answers admin command {opcode:#04x} with {status:#x}")
        self.status = status


def kernel_ioctl() -> Ioctl:
    """Return fcntl.ioctl, which Windows has not, where recordings are read all the same."""
    import fcntl

    return fcntl.ioctl


def submit(
    fd: int,
    opcode: int,
    *,
    nsid: int = 0,
    length: int = 0,
    cdw10: int = 0,
    cdw11: int = 0,
    timeout_ms: int = _TIMEOUT_MS,
    ioctl: Ioctl | None = None,
) -> tuple[bytes, int]:
    """Run one command on the controller, or the controller of the namespace, behind `fd`.

    Returns the `length` bytes that it gave and the first word of its completion. Raises
    NvmeStatusError where the drive says no, OSError where the kernel does.
    """
    data = ctypes.create_string_buffer(max(length, 1))
    address = ctypes.addressof(data) if length else 0
    command = bytearray(
        _COMMAND.pack(
            *(opcode, 0, 0, nsid, 0, 0, 0, address, 0, length),
            *(cdw10, cdw11, 0, 0, 0, 0, timeout_ms, 0),
        )
    )
    status = (ioctl or kernel_ioctl())(fd, _ADMIN_CMD, command)
    if status:
        raise NvmeStatusError(opcode, status)
    return data.raw[:length], _COMMAND.unpack(bytes(command))[-1]


def log_page(fd: int, page: int, length: int, ioctl: Ioctl | None = None) -> bytes:
    """Return the first `length` bytes of a log page of the controller; raises OSError."""
    cdw10 = page | (length // 4 - 1) << 16
    return submit(fd, GET_LOG_PAGE, length=length, nsid=ALL_NAMESPACES, cdw10=cdw10, ioctl=ioctl)[0]


class NvmeAdmin:
    """Admin commands to one controller; only ones that read."""

    def __init__(self, path: Path, ioctl: Ioctl | None = None) -> None:
        """Open the controller's character device; raises OSError."""
        self._ioctl = ioctl or kernel_ioctl()
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def health_log(self) -> bytes:
        """Return the 512 bytes of log page 02h; raises OSError."""
        return self.log_page(_HEALTH_LOG, LOG_SIZE)

    def power_log(self) -> bytes:
        """Return the begin of log page 25h, 64 bytes; raises OSError."""
        return self.log_page(_POWER_LOG, POWER_LOG_SIZE)

    def log_page(self, page: int, length: int) -> bytes:
        """Return the first `length` bytes of any log page; raises OSError."""
        return log_page(self._fd, page, length, self._ioctl)

    def identify_controller(self) -> bytes:
        """Return the 4096 bytes of Identify Controller; raises OSError."""
        return self._run(IDENTIFY, IDENTIFY_SIZE, _CONTROLLER)[0]

    def thermal_management(self) -> tuple[int, int]:
        """Return TMT1 and TMT2 in kelvin, 0 where off; raises OSError."""
        result = self._run(GET_FEATURES, 0, HOST_THERMAL_MANAGEMENT)[1]
        return result >> 16, result & 0xFFFF

    def power_state(self) -> int:
        """Return the number of the power state it is in; raises OSError."""
        return self._run(GET_FEATURES, 0, _POWER_MANAGEMENT)[1] & 0x1F

    def _run(self, opcode: int, length: int, cdw10: int) -> tuple[bytes, int]:
        return submit(self._fd, opcode, length=length, cdw10=cdw10, ioctl=self._ioctl)

    def close(self) -> None:
        """Release the descriptor; may be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def first_that_answers(
    disk: Path, roots: Roots, ioctl: Ioctl | None, make: Callable[[NvmeAdmin, str], T]
) -> T | None:
    """Return what `make` gives for the first controller of `disk` that answers, or None."""
    for controller in sysfs.nvme_controllers(disk):
        try:
            admin = NvmeAdmin(roots.dev / controller.name, ioctl)
        except OSError:
            continue
        try:
            return make(admin, controller.name)
        except OSError:
            admin.close()
    return None
