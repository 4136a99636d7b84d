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
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots, SensorInfo
from heatsoak.sensor.nvme_power import (
    POWER_LOG_SIZE,
    measures_power,
    parse_power,
    parse_power_log,
    parse_power_states,
)
from heatsoak.sensor.placeholder import PlaceholderWatch

ABSOLUTE_ZERO_C = -273.15
LOG_SIZE = 512
IDENTIFY_SIZE = 4096

_ADMIN_CMD = 0xC0484E41  # _IOWR('N', 0x41, struct nvme_admin_cmd), linux/nvme_ioctl.h
_COMMAND = struct.Struct("<BBHIIIQQII6III")
_GET_LOG_PAGE, _IDENTIFY, _GET_FEATURES = 0x02, 0x06, 0x0A
_HEALTH_LOG, _POWER_LOG, _ALL_NAMESPACES = 0x02, 0x25, 0xFFFFFFFF
_POWER_MANAGEMENT, _HOST_THERMAL_MANAGEMENT = 0x02, 0x10
_TIMEOUT_MS = 5000

T = TypeVar("T")

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
        return self._log_page(_HEALTH_LOG, LOG_SIZE)

    def power_log(self) -> bytes:
        """Return the begin of log page 25h, 64 bytes; raises OSError."""
        return self._log_page(_POWER_LOG, POWER_LOG_SIZE)

    def identify_controller(self) -> bytes:
        """Return the 4096 bytes of Identify Controller; raises OSError."""
        return self._run(_IDENTIFY, IDENTIFY_SIZE, cdw10=1)[0]

    def thermal_management(self) -> tuple[int, int]:
        """Return TMT1 and TMT2 in kelvin, 0 where off; raises OSError."""
        result = self._run(_GET_FEATURES, 0, cdw10=_HOST_THERMAL_MANAGEMENT)[1]
        return result >> 16, result & 0xFFFF

    def power_state(self) -> int:
        """Return the number of the power state it is in; raises OSError."""
        return self._run(_GET_FEATURES, 0, cdw10=_POWER_MANAGEMENT)[1] & 0x1F

    def _log_page(self, page: int, length: int) -> bytes:
        words = length // 4 - 1
        return self._run(_GET_LOG_PAGE, length, nsid=_ALL_NAMESPACES, cdw10=page | words << 16)[0]

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


class NvmeSensor:
    """The health log of one controller as a sensor; of drives that tell it, power too."""

    def __init__(self, admin: NvmeAdmin, controller: str) -> None:
        """Read the thresholds and the log once; raises OSError where the drive does not answer."""
        self._admin = admin
        self._has_power = False
        self._watch = PlaceholderWatch()
        self.last_error: str | None = None
        thresholds: dict[str, float] = {}
        details: dict[str, Any] = {"controller": controller, "wakes_drive": True}
        try:
            page = admin.identify_controller()
            limits, identity = parse_identify(page)
            thresholds |= limits
            details |= identity
            details["power_states"] = parse_power_states(page)
            self._has_power = measures_power(page)
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
        if "power_w" in columns:
            details |= {"power": "reported", **self._power_quality()}
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
        return first_that_answers(disk, roots, ioctl, cls)

    def leave_out(self, column: str) -> None:
        """Give `column` no more: another sensor tells it better."""
        columns = tuple(name for name in self.info.columns if name != column)
        self.info = replace(self.info, columns=columns)

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
        return parse_health_log(page) | (parse_power(page) if self._has_power else {})

    def _power_quality(self) -> dict[str, Any]:
        try:
            return parse_power_log(self._admin.power_log())
        except OSError:
            return {}

    def notes(self) -> list[str]:
        """Return new warnings about the readings, once."""
        return self._watch.drain()

    def close(self) -> None:
        """Release the descriptor."""
        self._admin.close()
