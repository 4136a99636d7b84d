"""The SMART / health log of an NVMe drive, its power state, and its throttling counters."""

import json
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

from heatsoak.sensor import base, nvme_admin, sysfs
from heatsoak.tools import ran, which
from heatsoak.words import seconds_text

ABSOLUTE_ZERO_C = -273.15


def celsius(kelvin: int) -> float:
    """Convert whole kelvins to Celsius, without floating-point noise."""
    return round(kelvin + ABSOLUTE_ZERO_C, 2)


def parse_health_log(page: bytes) -> dict[str, float]:
    """Return the columns of a 512-byte log page, leaving out what the drive does not report.

    Raises ValueError for any other length.
    """
    kelvins = parse_kelvins(page)
    values = {column: celsius(kelvin) for column, kelvin in kelvins.items()}
    values["critical_warning"] = page[0]
    minutes = zip(("warning", "critical"), struct.unpack_from("<II", page, 192), strict=True)
    values |= {f"throttle_time_s.{name}": 60.0 * time_min for name, time_min in minutes}
    names = [f"{what}.tmt{n}" for what in ("throttle_count", "throttle_time_s") for n in (1, 2)]
    return values | dict(zip(names, map(float, struct.unpack_from("<4I", page, 216)), strict=True))


def parse_wear(page: bytes) -> dict[str, float]:
    """Return how far a drive is used up, in percent, what was ever written to it, in GB, and for
    how many hours it was on.

    Of a 512-byte log page: Percentage Used, Data Units Written (of 512,000 bytes), Power On Hours.
    """
    written, on_h = (int.from_bytes(page[at : at + 16], "little") for at in (48, 128))
    return {"used_pct": float(page[5]), "written_gb": written * 512_000 / 1e9, "power_on_h": on_h}


def parse_kelvins(page: bytes) -> dict[str, int]:
    """Return the raw temperatures of a 512-byte log page in kelvin, without the absent (0)."""
    if len(page) != nvme_admin.LOG_SIZE:
        raise ValueError(f"a health log has {nvme_admin.LOG_SIZE} bytes, this one has {len(page)}")
    (composite,) = struct.unpack_from("<H", page, 1)
    sensors = struct.unpack_from("<8H", page, 200)
    kelvins = {"temp_c.composite": composite}
    kelvins |= {f"temp_c.sensor{number}": kelvin for number, kelvin in enumerate(sensors, 1)}
    return {column: kelvin for column, kelvin in kelvins.items() if kelvin}


def parse_identify(page: bytes) -> tuple[dict[str, float], dict[str, Any]]:
    """Return thresholds in Celsius, and details, from a 4096-byte Identify Controller page.

    Raises ValueError for any other length.
    """
    if len(page) != nvme_admin.IDENTIFY_SIZE:
        raise ValueError(
            f"Identify Controller has {nvme_admin.IDENTIFY_SIZE} bytes, this has {len(page)}"
        )
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


class _ControllerSensor(base.Sensor):
    """A sensor that asks one controller by admin commands."""

    def __init__(self, admin: nvme_admin.NvmeAdmin, controller: str) -> None:  # noqa: ARG002 -- for subclasses
        self._admin = admin

    @classmethod
    def find(
        cls, disk: Path, roots: base.Roots, ioctl: nvme_admin.Ioctl | None = None
    ) -> Self | None:
        """Return the sensor of the drive with the sysfs directory `disk`, or None."""
        return nvme_admin.first_that_answers(disk, roots, ioctl, cls)

    def close(self) -> None:
        """Release the descriptor."""
        self._admin.close()


class NvmeSensor(_ControllerSensor):
    """The health log of one controller as a sensor; includes power if the drive reports it."""

    def __init__(self, admin: nvme_admin.NvmeAdmin, controller: str) -> None:
        """Read the thresholds and the log once; raises OSError if the drive does not answer."""
        super().__init__(admin, controller)
        self._has_power = False
        self._watch = base.PlaceholderWatch()
        thresholds: dict[str, float] = {}
        details: dict[str, Any] = {"controller": controller, "wakes_drive": True}
        try:
            page = admin.identify_controller()
            limits, identity = parse_identify(page)
            thresholds |= limits
            details |= identity
            details["power_states"] = nvme_admin.parse_power_states(page)
            self._has_power = nvme_admin.measures_power(page)
            if identity["host_thermal_management"]:
                for name, kelvin in zip(
                    ("tmt1_c", "tmt2_c"), admin.thermal_management(), strict=True
                ):
                    if kelvin:
                        thresholds[name] = celsius(kelvin)
        except OSError as error:
            details["thresholds_error"] = str(error)
        log = admin.health_log()
        columns = tuple(self._take(log))
        details |= parse_wear(log)
        details["reads_313_k_at_start"] = self._watch.at_placeholder
        if "power_w" in columns:
            details |= {"power": "reported", **self._power_quality()}
        self.info = base.SensorInfo(
            name="nvme",
            source=f"SMART / health log (page 02h) of {controller}, by admin command",
            columns=columns,
            thresholds=thresholds,
            details=details,
        )

    def leave_out(self, column: str) -> None:
        """Stop reporting `column`: another sensor is a better source."""
        columns = tuple(name for name in self.info.columns if name != column)
        self.info = replace(self.info, columns=columns)

    def values(self) -> dict[str, float]:
        """Return temperatures, counts and times; raises OSError if the drive does not answer."""
        values = self._take(self._admin.health_log())
        return {column: value for column, value in values.items() if column in self.info.columns}

    def _take(self, page: bytes) -> dict[str, float]:
        for column, kelvin in parse_kelvins(page).items():
            self._notes += self._watch.saw(column, kelvin)
        return parse_health_log(page) | (nvme_admin.parse_power(page) if self._has_power else {})

    def _power_quality(self) -> dict[str, Any]:
        try:
            return nvme_admin.parse_power_log(self._admin.power_log())
        except OSError:
            return {}


INTERVAL_S = 5.0


class PowerStateSensor(_ControllerSensor):
    """The current power state of one controller."""

    def __init__(self, admin: nvme_admin.NvmeAdmin, controller: str) -> None:
        """Read it once; raises OSError if the drive does not answer."""
        super().__init__(admin, controller)
        admin.power_state()
        self.info = base.SensorInfo(
            name="nvme-power-state",
            source=f"power state of {controller} (Get Features 02h), by admin command",
            columns=("power_state",),
            interval_s=INTERVAL_S,
            details={
                "controller": controller,
                "wakes_drive": True,
                "cost": "one admin command a reading",
            },
        )

    def values(self) -> dict[str, float]:
        """Return the state's number; raises OSError if the drive does not answer."""
        return {"power_state": self._admin.power_state()}


# --- throttling counters in vendor-specific log pages, read with nvme-cli ------------------------

# Most drives have none, and then there is no such sensor. Each reading costs a process and an admin
# command, so it is read rarely. The JSON keys are those of nvme-cli 1.16 to 2.x:
#
# - `nvme ocp smart-add-log`: OCP Datacenter NVMe SSD, log page C0h, byte 96, which counts to 255;
#   nvme-cli checks the page's GUID;
# - `nvme intel smart-add-log`: log page CAh of Intel's and Solidigm's drives, attribute EAh.

_VENDOR_INTERVAL_S, _TIMEOUT_S = 10.0, 5.0


def ocp_count(document: Any) -> Any:
    """Return the count in an OCP log; None if it has none."""
    names = ("Number of Thermal throttling events", "thermal_throttling_events")
    return next((document[name] for name in names if name in document), None)


def intel_count(document: Any) -> Any:
    """Return the count in Intel's additional SMART log; raises KeyError if it has none."""
    return document["Device stats"]["thermal_throttle_status"]["raw"]["cnt"]


@dataclass(frozen=True)
class _Log:
    """A plugin's log: the PCI vendors that have it (empty for all), and where the count is."""

    name: str
    vendors: tuple[str, ...]
    count: Callable[[Any], Any]


_LOGS = (_Log("ocp", (), ocp_count), _Log("intel", ("0x8086", "0x025e"), intel_count))


class VendorLogSensor(base.Sensor):
    """The throttling count in one log of one controller."""

    def __init__(self, tool: str, node: Path, log: _Log) -> None:
        """Read it once; raises OSError or ValueError if the drive has no such log."""
        self._command = [tool, log.name, "smart-add-log", str(node), "-o", "json"]
        self._log = log
        self._column = f"throttle_count.{log.name}"
        self._take()
        self.info = base.SensorInfo(
            name=f"{log.name}-log",
            source=f"nvme {log.name} smart-add-log of {node.name}, by nvme-cli",
            columns=(self._column,),
            interval_s=_VENDOR_INTERVAL_S,
            details={"wakes_drive": True, "cost": "a process and an admin command a reading"},
        )

    @classmethod
    def find(cls, disk: Path, roots: base.Roots) -> "VendorLogSensor | None":
        """Return the sensor of the drive with the sysfs directory `disk`, or None."""
        tool = which("nvme")
        if tool is None:
            return None
        for controller in sysfs.nvme_controllers(disk):
            vendor = sysfs.read_text(controller / "device" / "vendor")
            for log in _LOGS:
                if not log.vendors or vendor in log.vendors:
                    try:
                        return cls(tool, roots.dev / controller.name, log)
                    except (OSError, ValueError):
                        continue
        return None

    def values(self) -> dict[str, float]:
        """Return the count; raises OSError or ValueError if drive or nvme-cli do not answer."""
        return {self._column: self._take()}

    def _take(self) -> float:
        try:
            done = ran(self._command, timeout_s=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise OSError(f"nvme-cli did not answer within {seconds_text(_TIMEOUT_S)}") from None
        if done.returncode != 0:
            raise OSError(f"nvme-cli: {' '.join(done.stderr.split())}")
        return parse(done.stdout, self._log.count)


def parse(text: str, count: Callable[[Any], Any]) -> float:
    """Return the count from nvme-cli's output; raises ValueError if there is none."""
    try:
        document, _ = json.JSONDecoder().raw_decode(text[max(text.find("{"), 0) :])
        value = count(document)
    except (KeyError, TypeError) as error:
        raise ValueError("the log has no throttling count") from error
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"the log's throttling count is {value!r}")
    return float(value)
