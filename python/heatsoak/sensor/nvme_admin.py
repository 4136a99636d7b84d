"""Admin commands to an NVMe controller through Linux's ioctl, and its power states."""

import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots

POWER_LOG_SIZE = 64

_CTRATT, _PMS = 96, 1 << 21
_NPSS, _DESCRIPTORS, _DESCRIPTOR_SIZE = 263, 2048, 32
_ENERGY, _INTERVAL_POWER = 232, 240
_ESTIMATED, _ERROR_PCT = 1 << 2, 56
#: Watts per unit, by scale code; other codes are reserved or mean "not reported".
_SCALES_W = {1: 1e-4, 2: 1e-2}


def measures_power(identify: bytes) -> bool:
    """Return whether an Identify Controller page says that the drive measures its power."""
    attributes: int = struct.unpack_from("<I", identify, _CTRATT)[0]
    return bool(attributes & _PMS)


def parse_power_states(identify: bytes) -> list[dict[str, Any]]:
    """Return the power states of an Identify Controller page with their ratings.

    Each has `state` and `operational`, and if the drive states them `max_w` (sustained), `idle_w`,
    `active_w` (maximum over 10 s), `entry_us` and `exit_us` (maximum latencies).
    """
    count = min(identify[_NPSS], 31) + 1
    return [_state(number, identify) for number in range(count)]


def _state(number: int, identify: bytes) -> dict[str, Any]:
    fields = struct.unpack_from("<HxBII4xHBxHB", identify, _DESCRIPTORS + number * _DESCRIPTOR_SIZE)
    most, flags, entry_us, exit_us, idle, idle_scale, active, active_scale = fields
    rated = {
        "max_w": most * (1e-4 if flags & 1 else 1e-2),
        "idle_w": idle * _SCALES_W.get(idle_scale >> 6, 0.0),
        "active_w": active * _SCALES_W.get(active_scale >> 6, 0.0),
        "entry_us": entry_us,
        "exit_us": exit_us,
    }
    known = {name: round(value, 4) for name, value in rated.items() if value}
    return {"state": number, "operational": not flags & 2, **known}


def parse_power(log: bytes) -> dict[str, float]:
    """Return those of `power_w` and `energy_wh` that the drive reports in its health log.

    Only for drives that :func:`measures_power`: in others these bytes are undefined.
    """
    values = {}
    (energy_wh,) = struct.unpack_from("<Q", log, _ENERGY)
    (power,) = struct.unpack_from("<I", log, _INTERVAL_POWER)
    scale_w = _SCALES_W.get(power >> 16 & 0x3)
    if power & 0xFFFF and scale_w is not None and power >> 20 & 0xF == 0:
        values["power_w"] = round((power & 0xFFFF) * scale_w, 4)
    if energy_wh:
        values["energy_wh"] = float(energy_wh)
    return values


def parse_power_log(page: bytes) -> dict[str, Any]:
    """Return how good a drive's own power readings are, from the start of log page 25h."""
    (attributes,) = struct.unpack_from("<H", page, 2)
    error_pct = page[_ERROR_PCT]
    return {
        "estimated": bool(attributes & _ESTIMATED),
        **({"error_pct": error_pct} if error_pct <= 100 else {}),
    }


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

#: Like fcntl.ioctl with a mutable buffer; tests substitute a fake drive.
Ioctl = Callable[[int, int, bytearray], int]


class NvmeStatusError(OSError):
    """The drive rejected a command; `status` is NVMe's status code with its type."""

    def __init__(self, opcode: int, status: int) -> None:
        super().__init__(f"the drive rejected admin command {opcode:#04x}: status {status:#x}")
        self.status = status


def kernel_ioctl() -> Ioctl:
    """Return fcntl.ioctl, imported late: Windows, where recordings can be read, has none."""
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
    """Run one command on the controller (or a namespace's controller) open as `fd`.

    Returns the `length` bytes of data and the completion's first dword. Raises NvmeStatusError if
    the drive rejects the command, OSError if the kernel does.
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
    """Read-only admin commands to one controller."""

    def __init__(self, path: Path, ioctl: Ioctl | None = None) -> None:
        """Open the controller's character device; raises OSError."""
        self._ioctl = ioctl or kernel_ioctl()
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def health_log(self) -> bytes:
        """Return the 512 bytes of log page 02h; raises OSError."""
        return self.log_page(_HEALTH_LOG, LOG_SIZE)

    def power_log(self) -> bytes:
        """Return the first 64 bytes of log page 25h; raises OSError."""
        return self.log_page(_POWER_LOG, POWER_LOG_SIZE)

    def log_page(self, page: int, length: int) -> bytes:
        """Return the first `length` bytes of any log page; raises OSError."""
        return log_page(self._fd, page, length, self._ioctl)

    def identify_controller(self) -> bytes:
        """Return the 4096 bytes of Identify Controller; raises OSError."""
        return self._run(IDENTIFY, IDENTIFY_SIZE, _CONTROLLER)[0]

    def thermal_management(self) -> tuple[int, int]:
        """Return TMT1 and TMT2 in kelvin, 0 if off; raises OSError."""
        result = self._run(GET_FEATURES, 0, HOST_THERMAL_MANAGEMENT)[1]
        return result >> 16, result & 0xFFFF

    def power_state(self) -> int:
        """Return the number of the current power state; raises OSError."""
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
    """Return what `make` returns for the first controller of `disk` that answers, or None."""
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
