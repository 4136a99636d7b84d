"""The host: CPU use since the last reading, load average, and the CPU's temperature if known.

A load limited by its host must not be mistaken for a drive that throttles. A single-threaded load
can saturate one core while the host as a whole looks idle, so the busiest core is recorded too, and
so is the time that a hypervisor gave to others.
"""

from pathlib import Path
from typing import NamedTuple

from heatsoak.sensor import base, hwmon, sysfs

#: Drivers of CPU temperatures, and the labels that mean the whole package, best first.
_DRIVERS = {
    "coretemp": ("Package id",),
    "k10temp": ("Tdie", "Tctl"),
    "zenpower": ("Tdie", "Tctl"),
    "cpu_thermal": ("",),
}

#: Below this many ticks (usually of 10 ms) a single tick would change the share too much.
_FEWEST_TICKS = 10


class Ticks(NamedTuple):
    """Time of one core, or of all, since boot; stolen time counts as busy."""

    busy: int
    total: int
    stolen: int | None

    def since(self, last: "Ticks") -> "Ticks":
        """Return the difference to `last`."""
        stolen = None if self.stolen is None or last.stolen is None else self.stolen - last.stolen
        return Ticks(self.busy - last.busy, self.total - last.total, stolen)

    def percent(self, part: int) -> float:
        """Return `part` in percent of the total; the kernel's counts can go back a little."""
        return min(100.0, max(0.0, 100.0 * part / self.total))


class CpuSensor(base.Sensor):
    """CPU time from /proc/stat, load from /proc/loadavg."""

    def __init__(self, roots: base.Roots) -> None:
        """Take the first reading, which the next is compared with."""
        self._proc = roots.proc
        self._last = self._times()
        self._temperatures = _package_temperatures(roots)
        columns = []
        if "cpu" in self._last:
            columns.append("cpu_pct")
            columns += ["cpu_core_pct"] if len(self._last) > 1 else []
            columns += ["cpu_steal_pct"] if self._last["cpu"].stolen is not None else []
        if self._load() is not None:
            columns.append("host_load")
        if self._temperatures:
            columns.append("temp_c.cpu")
        self.info = base.SensorInfo(
            name="cpu",
            source="/proc/stat (shares of all cores, and of the busiest, since the last reading), "
            "/proc/loadavg (1 min)" + (", hwmon (warmest package)" if self._temperatures else ""),
            columns=tuple(columns),
            details={"wakes_drive": False},
        )

    @classmethod
    def find(cls, roots: base.Roots) -> "CpuSensor | None":
        """Return the sensor, or None if the kernel has none of this."""
        sensor = cls(roots)
        return sensor if sensor.info.columns else None

    def values(self) -> dict[str, float]:
        """Return those of the CPU time shares, `host_load` and `temp_c.cpu` that are known."""
        values = self._shares()
        if (load := self._load()) is not None:
            values["host_load"] = load
        readings = [milli for path in self._temperatures if (milli := sysfs.read_int(path))]
        if readings:
            values["temp_c.cpu"] = max(readings) / 1000
        if not values:
            raise OSError(f"{self._proc} cannot be read")
        return values

    def _shares(self) -> dict[str, float]:
        now, last = self._times(), self._last
        passed = {name: now[name].since(last[name]) for name in now.keys() & last.keys()}
        host = passed.pop("cpu", None)
        if host is not None and 0 <= host.total < _FEWEST_TICKS:
            return {}  # too soon: compare the next reading with the same one
        self._last = now
        if host is None or host.total < 0:
            return {}
        values = {"cpu_pct": host.percent(host.busy)}
        if host.stolen is not None:
            values["cpu_steal_pct"] = host.percent(host.stolen)
        # a core that was offline for a while has too few ticks to be meaningful
        cores = [core.percent(core.busy) for core in passed.values() if core.total >= _FEWEST_TICKS]
        if cores:
            values["cpu_core_pct"] = max(cores)
        return values

    def _times(self) -> dict[str, Ticks]:
        """Return the ticks of each core, and of all together as ``cpu`` (proc_stat(5))."""
        found = {}
        for line in (sysfs.read_text(self._proc / "stat") or "").splitlines():
            if not line.startswith("cpu"):
                break
            name, *fields = line.split()[:9]  # guest time, which follows, is in user time
            if len(fields) >= 5 and all(field.isdecimal() for field in fields):
                ticks = [int(field) for field in fields]
                total = sum(ticks)
                stolen = ticks[7] if len(ticks) > 7 else None
                found[name] = Ticks(total - ticks[3] - ticks[4], total, stolen)
        return found

    def _load(self) -> float | None:
        try:
            return float((sysfs.read_text(self._proc / "loadavg") or "").split(" ")[0])
        except ValueError:
            return None


def _package_temperatures(roots: base.Roots) -> list[Path]:
    paths = []
    for node in hwmon.nodes(roots):
        for wanted in _DRIVERS.get(node.name, ()):
            found = [
                node.directory / file
                for number, file in node.numbers("temp#_input")
                if node.label(f"temp{number}").startswith(wanted)
            ]
            if found:
                paths += found
                break
    return paths
