"""All traffic of a block device by the kernel's counters, whoever causes it."""

import os
import time
from collections.abc import Callable
from pathlib import Path

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import Sensor, SensorInfo

SECTOR = 512  # the counters' unit, whatever the drive's block size
# Documentation/block/stat.rst
_SECTORS_READ, _SECTORS_WRITTEN, _IO_TICKS, _SECTORS_DISCARDED = 2, 6, 9, 13

_Sectors = tuple[int, int]


class TrafficSensor(Sensor):
    """Bytes read from and written to one block device, as means since the last reading."""

    def __init__(self, disk: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        """Take the first reading of the device with the sysfs directory `disk`."""
        self._stat = disk / "stat"
        self._name = disk.name
        self._now_s = now_s
        self._last = self._reading()
        self.last_error: str | None = None
        self.info = SensorInfo(
            name="traffic",
            source=f"/sys/block/{disk.name}/stat: all traffic of {disk.name}, whoever causes it",
            columns=("device_read_mb_s", "device_write_mb_s"),
            details={"device": disk.name, "wakes_drive": False},
        )

    @classmethod
    def find(
        cls, disk: Path, now_s: Callable[[], float] = time.monotonic
    ) -> "TrafficSensor | None":
        """Return the sensor of a whole disk, or None if the kernel does not count its traffic.

        Counting can be switched off, and older kernels do not count multipath NVMe drives. dm and
        md count regardless of `iostats`.
        """
        sectors = _sectors(disk / "stat")
        is_off = sysfs.read_int(disk / "queue" / "iostats") == 0
        if sectors is None or (is_off and ("virtual" not in disk.parts or sectors == (0, 0))):
            return None
        return cls(disk, now_s)

    def read(self) -> dict[str, float]:
        """Return both rates; nothing if the counters wrapped or were reset."""
        last, self._last = self._last, self._reading()
        if self._last is None:
            self.last_error = f"{self._stat} cannot be read"
            return {}
        if last is None:
            self.last_error = f"{self._name} came back; rates need another reading"
            return {}
        elapsed_s = self._last[0] - last[0]
        read, written = (new - old for new, old in zip(self._last[1], last[1], strict=True))
        if elapsed_s <= 0 or read < 0 or written < 0:
            self.last_error = f"the counters of {self._name} went backwards"
            return {}
        self.last_error = None
        mb_s = SECTOR / 1e6 / elapsed_s
        return {"device_read_mb_s": read * mb_s, "device_write_mb_s": written * mb_s}

    def _reading(self) -> tuple[float, _Sectors] | None:
        sectors = _sectors(self._stat)
        return None if sectors is None else (self._now_s(), sectors)


class BusyTime:
    """How much of the time a block device had any I/O in flight, whoever caused it.

    The kernel counts it in ticks of its clock (1 to 10 ms); for I/Os shorter than that it only
    samples their starts and ends.
    """

    def __init__(self, disk: Path, now_s: Callable[[], float] = time.monotonic) -> None:
        """Start counting for the device with the sysfs directory `disk`."""
        self._stat = disk / "stat"
        self._now_s = now_s
        self._last = self._reading()

    def pct(self) -> float | None:
        """Return the share since the last call, or None if the kernel does not count it."""
        last, self._last = self._last, self._reading()
        if last is None or self._last is None:
            return None
        elapsed_s, busy_ms = (new - old for new, old in zip(self._last, last, strict=True))
        if elapsed_s <= 0 or busy_ms < 0:
            return None
        return min(100.0, busy_ms / elapsed_s / 10)

    def _reading(self) -> tuple[float, int] | None:
        fields = (sysfs.read_text(self._stat) or "").split()
        if len(fields) <= _IO_TICKS or not fields[_IO_TICKS].isdecimal():
            return None
        return self._now_s(), int(fields[_IO_TICKS])


def _sectors(stat: Path) -> _Sectors | None:
    """Return the sectors read and written since the device was attached."""
    fields = (sysfs.read_text(stat) or "").split()
    if len(fields) <= _SECTORS_WRITTEN or not all(field.isdecimal() for field in fields):
        return None
    return int(fields[_SECTORS_READ]), int(fields[_SECTORS_WRITTEN])


def sectors_changed(disk: Path) -> int | None:
    """Return how many sectors were written and discarded so far; None if that is not counted."""
    fields = (sysfs.read_text(disk / "stat") or "").split()
    if len(fields) <= _SECTORS_DISCARDED:
        return None
    return int(fields[_SECTORS_WRITTEN]) + int(fields[_SECTORS_DISCARDED])


#: Field numbers of the counters of reads and writes: I/Os, sectors, milliseconds.
_READS, _WRITES = (0, 2, 3), (4, 6, 7)
_BUSY_MS, _QUEUE_MS = 9, 10
_MIN_FIELDS = 11
_RATES = ("bw_mb_s", "iops", "lat_us")


class CountersSensor:
    """Mean rates of a whole disk since the last reading, in the columns of a load's samples."""

    def __init__(
        self, disk: Path, interval_s: float, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Take the first reading of the device with the sysfs directory `disk`."""
        self._name = disk.name
        self._fd = os.open(disk / "stat", os.O_RDONLY | os.O_CLOEXEC)
        self._now_s = now_s
        self._last = self._reading()
        self.last_error: str | None = None
        columns = [f"{way}_{rate}" for way in ("read", "write") for rate in _RATES]
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
        fields = (sysfs.read_text(disk / "stat") or "").split()
        is_off = sysfs.read_int(disk / "queue" / "iostats") == 0
        if len(fields) < _MIN_FIELDS or (is_off and "virtual" not in disk.parts):
            return None
        return cls(disk, interval_s)

    def read(self) -> dict[str, float]:
        """Return the rates since the last reading; nothing if the counters were reset."""
        last, self._last = self._last, self._reading()
        if self._last is None:
            self.last_error = f"{self._name} is gone"
            return {}
        if last is None:
            self.last_error = f"{self._name} came back; rates need another reading"
            return {}
        elapsed_s = self._last[0] - last[0]
        done = [new - old for new, old in zip(self._last[1], last[1], strict=True)]
        moved = [done[place] for places in (_READS, _WRITES) for place in places]
        if elapsed_s <= 0 or min(moved) < 0:
            self.last_error = f"the counters of {self._name} went backwards"
            return {}
        self.last_error = None
        row = {"interval_s": elapsed_s}
        for way, places in (("read", _READS), ("write", _WRITES)):
            ios, sectors, spent_ms = (done[place] for place in places)
            row[f"{way}_bw_mb_s"] = sectors * SECTOR / 1e6 / elapsed_s
            row[f"{way}_iops"] = ios / elapsed_s
            if ios:
                row[f"{way}_lat_us"] = 1000 * spent_ms / ios
        row["busy_pct"] = min(100.0, max(0, done[_BUSY_MS]) / elapsed_s / 10)
        row["queue"] = max(0, done[_QUEUE_MS]) / elapsed_s / 1000
        return row

    def _reading(self) -> tuple[float, list[int]] | None:
        try:
            text = os.pread(self._fd, 1024, 0)
            counts = [int(field) for field in text.split()]
        except (OSError, ValueError):
            return None
        return (self._now_s(), counts) if len(counts) >= _MIN_FIELDS else None

    def close(self) -> None:
        """Release the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
