"""The SMART / health log of an NVMe drive: every temperature and thermal counter in one command.

Needs root. Where it answers it is read instead of the drive's hwmon node: the node costs one
such command for each of its sensors, has no counters, and both would say the same.

Temperatures are whole kelvins in the log. They become Celsius by subtracting 273.15, as the
kernel's hwmon driver does, so that a recording does not depend on which of the two was read;
nvme-cli and smartctl subtract 273 and show 0.15 more.

Offsets are those of the NVM Express base specification, "SMART / Health Information" (log page
02h) and "Identify Controller data structure" (CNS 01h).
"""

import ctypes
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots, SensorInfo
from heatsoak.sensor.placeholder import PlaceholderWatch

ABSOLUTE_ZERO_C = -273.15
LOG_SIZE = 512
IDENTIFY_SIZE = 4096

_ADMIN_CMD = 0xC0484E41  # _IOWR('N', 0x41, struct nvme_admin_cmd), linux/nvme_ioctl.h
_COMMAND = struct.Struct("<BBHIIIQQII6III")
_GET_LOG_PAGE, _IDENTIFY, _GET_FEATURES = 0x02, 0x06, 0x0A
_HEALTH_LOG, _ALL_NAMESPACES = 0x02, 0xFFFFFFFF
_HOST_THERMAL_MANAGEMENT = 0x10
_TIMEOUT_MS = 5000

#: Does what fcntl.ioctl does with a mutable buffer; tests put a drive of their own here.
Ioctl = Callable[[int, int, bytearray], int]


def _kernel_ioctl() -> Ioctl:
    import fcntl  # not there on Windows, where recordings are read all the same

    return fcntl.ioctl


def celsius(kelvin: int) -> float:
    """Return whole kelvins in Celsius, without the noise of binary fractions."""
    return round(kelvin + ABSOLUTE_ZERO_C, 2)


def parse_health_log(page: bytes) -> dict[str, float]:
    """Return the columns of a 512-byte log page; what the drive does not report is left out.

    Raises ValueError for a page of another length.
    """
    kelvins = parse_kelvins(page)
    values = {column: celsius(kelvin) for column, kelvin in kelvins.items()}
    warning_min, critical_min = struct.unpack_from("<II", page, 192)
    counts_and_times = struct.unpack_from("<4I", page, 216)
    values["throttle_time_s.warning"] = warning_min * 60.0
    values["throttle_time_s.critical"] = critical_min * 60.0
    values["throttle_count.tmt1"] = float(counts_and_times[0])
    values["throttle_count.tmt2"] = float(counts_and_times[1])
    values["throttle_time_s.tmt1"] = float(counts_and_times[2])
    values["throttle_time_s.tmt2"] = float(counts_and_times[3])
    return values


def parse_kelvins(page: bytes) -> dict[str, int]:
    """Return the temperatures of a 512-byte log page as they stand there; 0 means absent."""
    if len(page) != LOG_SIZE:
        raise ValueError(f"a health log has {LOG_SIZE} bytes, this one has {len(page)}")
    (composite,) = struct.unpack_from("<H", page, 1)
    sensors = struct.unpack_from("<8H", page, 200)
    kelvins = {"temp_c.composite": composite}
    kelvins |= {f"temp_c.sensor{number}": kelvin for number, kelvin in enumerate(sensors, 1)}
    return {column: kelvin for column, kelvin in kelvins.items() if kelvin}


def parse_identify(page: bytes) -> tuple[dict[str, float], dict[str, Any]]:
    """Return thresholds in Celsius, and details, of an Identify Controller page.

    Raises ValueError for a page of another length than 4096 bytes.
    """
    if len(page) != IDENTIFY_SIZE:
        raise ValueError(f"Identify Controller has {IDENTIFY_SIZE} bytes, this has {len(page)}")
    warning, critical = struct.unpack_from("<HH", page, 266)
    attributes, lowest, highest = struct.unpack_from("<HHH", page, 322)
    kelvins = {
        "warning_c": warning,
        "critical_c": critical,
        "tmt_min_c": lowest,
        "tmt_max_c": highest,
    }
    details = {
        "serial": _words(page[4:24]),
        "model": _words(page[24:64]),
        "firmware": _words(page[64:72]),
        "host_thermal_management": bool(attributes & 1),
    }
    return {name: celsius(kelvin) for name, kelvin in kelvins.items() if kelvin}, details


def _words(raw: bytes) -> str:
    return raw.decode("ascii", "replace").strip("\0 ")


class NvmeAdmin:
    """Admin commands to one controller; only ones that read."""

    def __init__(self, path: Path, ioctl: Ioctl | None = None) -> None:
        """Open the controller's character device; raises OSError."""
        self._ioctl = ioctl or _kernel_ioctl()
        self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)

    def health_log(self) -> bytes:
        """Return the 512 bytes of log page 02h; raises OSError."""
        words = LOG_SIZE // 4 - 1
        return self._run(
            _GET_LOG_PAGE, LOG_SIZE, nsid=_ALL_NAMESPACES, cdw10=_HEALTH_LOG | words << 16
        )[0]

    def identify_controller(self) -> bytes:
        """Return the 4096 bytes of Identify Controller; raises OSError."""
        return self._run(_IDENTIFY, IDENTIFY_SIZE, cdw10=1)[0]

    def thermal_management(self) -> tuple[int, int]:
        """Return TMT1 and TMT2 in kelvin, 0 where off; raises OSError."""
        result = self._run(_GET_FEATURES, 0, cdw10=_HOST_THERMAL_MANAGEMENT)[1]
        return result >> 16, result & 0xFFFF

    def _run(self, opcode: int, length: int, nsid: int = 0, cdw10: int = 0) -> tuple[bytes, int]:
        data = ctypes.create_string_buffer(max(length, 1))
        address = ctypes.addressof(data) if length else 0
        command = bytearray(
            _COMMAND.pack(
                *(opcode, 0, 0, nsid, 0, 0, 0, address, 0, length),
                *(cdw10, 0, 0, 0, 0, 0, _TIMEOUT_MS, 0),
            )
        )
        status = self._ioctl(self._fd, _ADMIN_CMD, command)
        if status:  # a positive value is the drive's own status code
            raise OSError(f"the drive answers admin command {opcode:#04x} with {status:#x}")
        return data.raw[:length], _COMMAND.unpack(bytes(command))[-1]

    def close(self) -> None:
        """Release the descriptor; may be called twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


class NvmeSensor:
    """The health log of one controller as a sensor."""

    def __init__(self, admin: NvmeAdmin, controller: str) -> None:
        """Read the thresholds and the log once; raises OSError where the drive does not answer."""
        self._admin = admin
        self._watch = PlaceholderWatch()
        self.last_error: str | None = None
        thresholds: dict[str, float] = {}
        details: dict[str, Any] = {"controller": controller, "wakes_drive": True}
        try:
            limits, identity = parse_identify(admin.identify_controller())
            thresholds |= limits
            details |= identity
            if identity["host_thermal_management"]:
                for name, kelvin in zip(
                    ("tmt1_c", "tmt2_c"), admin.thermal_management(), strict=True
                ):
                    if kelvin:
                        thresholds[name] = celsius(kelvin)
        except OSError as error:
            details["thresholds_error"] = str(error)
        columns = tuple(self._take(admin.health_log()))
        details["reads_313_k_at_start"] = self._watch.at_placeholder
        self.info = SensorInfo(
            name="nvme",
            source=f"SMART / health log (page 02h) of {controller}, by admin command",
            columns=columns,
            thresholds=thresholds,
            details=details,
        )

    @classmethod
    def find(cls, disk: Path, roots: Roots, ioctl: Ioctl | None = None) -> "NvmeSensor | None":
        """Return the sensor of the drive with the sysfs directory `disk`, or None."""
        for controller in sysfs.nvme_controllers(disk):
            try:
                admin = NvmeAdmin(roots.dev / controller.name, ioctl)
            except OSError:
                continue
            try:
                return cls(admin, controller.name)
            except OSError:
                admin.close()
        return None

    def read(self) -> dict[str, float]:
        """Return temperatures, counts and times; nothing where the drive does not answer."""
        try:
            page = self._admin.health_log()
        except OSError as error:
            self.last_error = str(error)
            return {}
        self.last_error = None
        values = self._take(page)
        return {column: value for column, value in values.items() if column in self.info.columns}

    def _take(self, page: bytes) -> dict[str, float]:
        for column, kelvin in parse_kelvins(page).items():
            self._watch.saw(column, kelvin)
        return parse_health_log(page)

    def notes(self) -> list[str]:
        """Return new warnings about the readings, once."""
        return self._watch.drain()

    def close(self) -> None:
        """Release the descriptor."""
        self._admin.close()
