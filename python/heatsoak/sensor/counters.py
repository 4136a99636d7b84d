"""What somebody else's load does, by the kernel's own counters of a block device.

Documentation/admin-guide/iostats.rst of the kernel says what is counted: I/Os as they complete,
after neighbours were merged; their time from the request's making to its completion; and the time
in which any was in flight, by a tick of the kernel's clock. Discards and flushes are left out.
"""

import os
import time
from collections.abc import Callable
from pathlib import Path

from heatsoak.sensor import sysfs
from heatsoak.sensor.base import SensorInfo
from heatsoak.sensor.traffic import SECTOR

#: Places of the counters of reads and of writes: I/Os, sectors, milliseconds.
_READS, _WRITES = (0, 2, 3), (4, 6, 7)
_BUSY_MS, _QUEUE_MS = 9, 10
_LEAST_FIELDS = 11
_RATES = ("bw_mb_s", "iops", "lat_us")


class CountersSensor:
    """Rates of a whole disk as means since the last reading, in the columns of a load's samples."""

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
        """Return the sensor of a whole disk, None where the kernel does not count its I/O."""
        fields = (sysfs.read_text(disk / "stat") or "").split()
        is_off = sysfs.read_int(disk / "queue" / "iostats") == 0
        if len(fields) < _LEAST_FIELDS or (is_off and "virtual" not in disk.parts):
            return None
        return cls(disk, interval_s)

    def read(self) -> dict[str, float]:
        """Return what was done since the last reading; nothing after counters that began anew."""
        last, self._last = self._last, self._reading()
        if self._last is None:
            self.last_error = f"{self._name} is gone"
            return {}
        if last is None:
            self.last_error = f"{self._name} came back, and its counters have to be read twice"
            return {}
        elapsed_s = self._last[0] - last[0]
        done = [new - old for new, old in zip(self._last[1], last[1], strict=True)]
        moved = [done[place] for places in (_READS, _WRITES) for place in places]
        if elapsed_s <= 0 or min(moved) < 0:
            self.last_error = f"the counters of {self._name} went back"
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
        return (self._now_s(), counts) if len(counts) >= _LEAST_FIELDS else None

    def close(self) -> None:
        """Release the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
