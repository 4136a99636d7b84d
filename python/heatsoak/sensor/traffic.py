"""All traffic of a block device by the kernel's counters, whoever causes it."""

import time
from collections.abc import Callable
from pathlib import Path

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Sensor, SensorInfo

SECTOR = 512  # the counters' unit, whatever the drive's block size
#: Places of the counters (Documentation/block/stat.rst): I/Os, sectors and milliseconds of each
#: direction, then those of both together.
_WAYS = {"read": (0, 2, 3), "write": (4, 6, 7)}
_MOVED = [place for places in _WAYS.values() for place in places]
_BUSY_MS, _QUEUE_MS, _SECTORS_DISCARDED = 9, 10, 13
_MIN_FIELDS = 11

Clock = Callable[[], float]


class _Counters:
    """What the kernel counts of a block device, and by how much that grew."""

    def __init__(self, disk: Path, now_s: Clock) -> None:
        """Take the first reading of the device with the sysfs directory `disk`."""
        self._disk, self._now_s = disk, now_s
        self._last = self._reading()

    def grown(self) -> tuple[float, list[int]]:
        """Return the seconds since the last call, and by how much each counter grew.

        Raises OSError where that is not known, or counters of reads or writes went backwards.
        """
        last, self._last = self._last, self._reading()
        if self._last is None:
            raise OSError(f"{self._disk / 'stat'} cannot be read")
        if last is None:
            raise OSError(f"{self._disk.name} came back; rates need another reading")
        elapsed_s = self._last[0] - last[0]
        grown = [new - old for new, old in zip(self._last[1], last[1], strict=True)]
        if elapsed_s <= 0 or any(grown[place] < 0 for place in _MOVED):
            raise OSError(f"the counters of {self._disk.name} went backwards")
        return elapsed_s, grown

    def _reading(self) -> tuple[float, list[int]] | None:
        counts = _counts(self._disk)
        return None if counts is None else (self._now_s(), counts)


def _counts(disk: Path) -> list[int] | None:
    """Return what the kernel has counted since the device was attached; None without counters."""
    try:
        counts = [int(field) for field in (sysfs.read_text(disk / "stat") or "").split()]
    except ValueError:
        return None
    return counts if len(counts) >= _MIN_FIELDS else None


def _is_counted(disk: Path) -> bool:
    """Whether the kernel counts the I/O of a whole disk.

    Counting can be switched off, and older kernels do not count multipath NVMe drives. dm and md
    count regardless of `iostats`.
    """
    counts = _counts(disk)
    if counts is None or sysfs.read_int(disk / "queue" / "iostats") != 0:
        return counts is not None
    return "virtual" in disk.parts and any(counts[sectors] for _, sectors, _ in _WAYS.values())


class TrafficSensor(Sensor):
    """Bytes read from and written to one block device, as means since the last reading."""

    def __init__(self, disk: Path, now_s: Clock = time.monotonic) -> None:
        """Take the first reading of the device with the sysfs directory `disk`."""
        self._counters = _Counters(disk, now_s)
        self.info = SensorInfo(
            name="traffic",
            source=f"/sys/block/{disk.name}/stat: all traffic of {disk.name}, whoever causes it",
            columns=("device_read_mb_s", "device_write_mb_s"),
            details={"device": disk.name, "wakes_drive": False},
        )

    @classmethod
    def find(cls, disk: Path) -> "TrafficSensor | None":
        """Return the sensor of a whole disk, or None if the kernel does not count its traffic."""
        return cls(disk) if _is_counted(disk) else None

    def values(self) -> dict[str, float]:
        """Return both rates; raises OSError if the counters wrapped or were reset."""
        elapsed_s, grown = self._counters.grown()
        return {
            f"device_{way}_mb_s": grown[sectors] * SECTOR / 1e6 / elapsed_s
            for way, (_, sectors, _) in _WAYS.items()
        }


class CountersSensor(Sensor):
    """Mean rates of a whole disk since the last reading, in the columns of a load's samples."""

    def __init__(self, disk: Path, interval_s: float, now_s: Clock = time.monotonic) -> None:
        """Take the first reading of the device with the sysfs directory `disk`."""
        self._counters = _Counters(disk, now_s)
        columns = [f"{way}_{rate}" for way in _WAYS for rate in ("bw_mb_s", "iops", "lat_us")]
        self.info = SensorInfo(
            name="counters",
            source=f"/sys/block/{disk.name}/stat: all I/O of {disk.name}, whoever asks for it",
            columns=("interval_s", *columns, "queue", "busy_pct"),
            interval_s=interval_s,
            details={"device": disk.name, "wakes_drive": False},
        )

    @classmethod
    def find(cls, disk: Path, interval_s: float) -> "CountersSensor | None":
        """Return the sensor of a whole disk, or None if the kernel does not count its I/O."""
        return cls(disk, interval_s) if _is_counted(disk) else None

    def values(self) -> dict[str, float]:
        """Return the rates since the last reading; raises OSError if the counters were reset."""
        elapsed_s, grown = self._counters.grown()
        row = {"interval_s": elapsed_s}
        for way, places in _WAYS.items():
            ios, sectors, spent_ms = (grown[place] for place in places)
            row[f"{way}_bw_mb_s"] = sectors * SECTOR / 1e6 / elapsed_s
            row[f"{way}_iops"] = ios / elapsed_s
            if ios:
                row[f"{way}_lat_us"] = 1000 * spent_ms / ios
        row["busy_pct"] = min(100.0, max(0, grown[_BUSY_MS]) / elapsed_s / 10)
        row["queue"] = max(0, grown[_QUEUE_MS]) / elapsed_s / 1000
        return row


class BusyTime:
    """How much of the time a block device had any I/O in flight, whoever caused it.

    The kernel counts it in ticks of its clock (1 to 10 ms); for I/Os shorter than that it only
    samples their starts and ends.
    """

    def __init__(self, disk: Path) -> None:
        """Start counting for the device with the sysfs directory `disk`."""
        self._counters = _Counters(disk, time.monotonic)

    def pct(self) -> float | None:
        """Return the share since the last call, or None if the kernel does not count it."""
        try:
            elapsed_s, grown = self._counters.grown()
        except OSError:
            return None
        busy_ms = grown[_BUSY_MS]
        return min(100.0, busy_ms / elapsed_s / 10) if busy_ms >= 0 else None


def sectors_changed(disk: Path) -> int | None:
    """Return how many sectors were written and discarded so far; None if that is not counted."""
    counts = _counts(disk) or ()
    if len(counts) <= _SECTORS_DISCARDED:
        return None
    return counts[_WAYS["write"][1]] + counts[_SECTORS_DISCARDED]
