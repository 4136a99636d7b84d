"""The host: CPU use since the last reading, load, and the CPU's temperature where it is known.

A benchmark that its own host slows down must not be taken for a drive that throttles.
"""

from pathlib import Path

from heatsoak.sensor import hwmon, sysfs
from heatsoak.sensor.base import Roots, SensorInfo

#: Drivers of CPU temperatures, and the labels that mean the whole package, best first.
_DRIVERS = {
    "coretemp": ("Package id",),
    "k10temp": ("Tdie", "Tctl"),
    "zenpower": ("Tdie", "Tctl"),
    "cpu_thermal": ("",),
}


class CpuSensor:
    """CPU time of the whole host from /proc/stat, load from /proc/loadavg."""

    def __init__(self, roots: Roots) -> None:
        """Take the first reading, which the next one is compared to."""
        self._proc = roots.proc
        self._last = self._times()
        self._temperatures = _package_temperatures(roots)
        self.last_error: str | None = None
        columns = []
        if self._last is not None:
            columns.append("cpu_pct")
        if self._load() is not None:
            columns.append("host_load")
        if self._temperatures:
            columns.append("temp_c.cpu")
        self.info = SensorInfo(
            name="cpu",
            source="/proc/stat (share of all cores since the last reading), /proc/loadavg (1 min)"
            + (", hwmon (warmest package)" if self._temperatures else ""),
            columns=tuple(columns),
            details={"wakes_drive": False},
        )

    @classmethod
    def find(cls, roots: Roots) -> "CpuSensor | None":
        """Return the sensor, None where the kernel shows none of this."""
        sensor = cls(roots)
        return sensor if sensor.info.columns else None

    def read(self) -> dict[str, float]:
        """Return `cpu_pct`, `host_load` and `temp_c.cpu`, as far as they are known."""
        values = {}
        now = self._times()
        if now is not None and self._last is not None:
            busy, total = now[0] - self._last[0], now[1] - self._last[1]
            if total > 0:
                values["cpu_pct"] = min(100.0, max(0.0, 100.0 * busy / total))
        self._last = now
        if (load := self._load()) is not None:
            values["host_load"] = load
        readings = [milli for path in self._temperatures if (milli := sysfs.read_int(path))]
        if readings:
            values["temp_c.cpu"] = max(readings) / 1000
        self.last_error = None if values else f"{self._proc} cannot be read"
        return values

    def _times(self) -> tuple[int, int] | None:
        """Return busy and total ticks of all cores (proc_stat(5); guest time is in user time)."""
        line = (sysfs.read_text(self._proc / "stat") or "").partition("\n")[0].split()
        if len(line) < 6 or line[0] != "cpu" or not all(field.isdigit() for field in line[1:]):
            return None
        ticks = [int(field) for field in line[1:9]]
        total = sum(ticks)
        return total - ticks[3] - ticks[4], total

    def _load(self) -> float | None:
        try:
            return float((sysfs.read_text(self._proc / "loadavg") or "").split(" ")[0])
        except ValueError:
            return None

    def close(self) -> None:
        """Nothing is held."""


def _package_temperatures(roots: Roots) -> list[Path]:
    paths = []
    for node in hwmon.nodes(roots):
        for wanted in _DRIVERS.get(node.name, ()):
            found = [
                node.directory / name
                for name in sysfs.names(node.directory)
                if name.startswith("temp")
                and name.endswith("_input")
                and (
                    sysfs.read_text(node.directory / name.replace("_input", "_label")) or ""
                ).startswith(wanted)
            ]
            if found:
                paths += found
                break
    return paths
