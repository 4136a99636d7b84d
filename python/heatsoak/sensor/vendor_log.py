"""Throttling counters in vendor-specific log pages, read with nvme-cli.

Most drives have none, and then there is no such sensor. Each reading costs a process and an admin
command, so it is read rarely. The JSON keys are those of nvme-cli 1.16 to 2.x:

- ``nvme ocp smart-add-log``: OCP Datacenter NVMe SSD, log page C0h, byte 96, which counts to 255;
  nvme-cli checks the page's GUID;
- ``nvme intel smart-add-log``: log page CAh of Intel's and Solidigm's drives, attribute EAh.
"""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Roots, Sensor, SensorInfo
from heatsoak.tools import ran, which

INTERVAL_S = 10.0

_TIMEOUT_S = 5.0


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


class VendorLogSensor(Sensor):
    """The throttling count in one log of one controller."""

    def __init__(self, tool: str, node: Path, log: _Log) -> None:
        """Read it once; raises OSError or ValueError if the drive has no such log."""
        self._command = [tool, log.name, "smart-add-log", str(node), "-o", "json"]
        self._log = log
        self._column = f"throttle_count.{log.name}"
        self.last_error: str | None = None
        self._take()
        self.info = SensorInfo(
            name=f"{log.name}-log",
            source=f"nvme {log.name} smart-add-log of {node.name}, by nvme-cli",
            columns=(self._column,),
            interval_s=INTERVAL_S,
            details={"wakes_drive": True, "cost": "a process and an admin command a reading"},
        )

    @classmethod
    def find(cls, disk: Path, roots: Roots) -> "VendorLogSensor | None":
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

    def read(self) -> dict[str, float]:
        """Return the count; nothing if the drive or nvme-cli does not answer."""
        try:
            count = self._take()
        except (OSError, ValueError) as error:
            self.last_error = str(error)
            return {}
        self.last_error = None
        return {self._column: count}

    def _take(self) -> float:
        try:
            done = ran(self._command, timeout_s=_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise OSError(f"nvme-cli did not answer within {_TIMEOUT_S:g} s") from None
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
