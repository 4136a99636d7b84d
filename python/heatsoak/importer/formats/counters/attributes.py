"""Tables of ATA and SCSI drives: attributes, device statistics, and their own temperatures (SCT).

What an attribute's raw value counts is up to the drive's maker; smartctl's names tell some of it.
"""

import math
import re
from collections.abc import Iterator
from typing import Any

from heatsoak.importer.fields import FIELDS, plain
from heatsoak.importer.lenient import at
from heatsoak.importer.readings import COUNTED, History, Readings, count_in, json_number

_ATTRIBUTE = re.compile(
    r"\s{0,4}(\d{1,3}) ([A-Za-z][\w./+-]{2,40})\s+(0x[0-9a-f]{4}|[A-Z-]{6,7})\s"
)
#: Of device statistics (ATA log 04h), and what a SCSI drive has processed.
_STATISTIC = re.compile(
    r"\s*(?:0x01|1)\s+0x0[0-9a-f]{2}\s+\d\s+(\d{1,20})[\s~].*?([A-Z][a-z]+ [\w ]{4,60}?)\s*$"
)
_PROCESSED = re.compile(r"(read|write):\s+(?:\d+\s+){5}(\d{1,15}[.,]\d{3})\s")
_HISTORY_ROW = re.compile(
    r"\s*(\d{1,5})\s+(\d{4}-\d{2}-\d{2} \d{2}:\d{2})\s+(-?\d{1,3}|\?)(?:\s|$)"
)
_HISTORY_SKIP = re.compile(r"\s*\.\.\.\s+\.\.\(\s*(\d{1,4}) skipped\)")
_UNITS = re.compile(r"_(\d{1,4})?(MiB|GiB|GB|TiB|TB|MB)$")
_UNIT_MB = {"MB": 1.0, "GB": 1e3, "TB": 1e6}
_UNIT_MB |= {"MiB": 2**20 / 1e6, "GiB": 2**30 / 1e6, "TiB": 2**40 / 1e6}


class Tables:
    """Takes what a drive's tables say to its readings.

    Attributes:
        has_headers: whether each reading begins with the tool's own first line.
        history: the drive's own table of temperatures, as it was told last.
    """

    def __init__(self, readings: Readings) -> None:
        """Start without any."""
        self._readings = readings
        self.has_headers = False
        #: Each attribute stands in a reading once.
        self._numbers: set[int] = set()
        #: Whether the reading has counters of device statistics, which are better than attributes.
        self._is_precise = False
        self.history = History()

    def begin(self, device: str = "") -> None:
        """Start a reading with the tool's own first words."""
        self._readings.begin(device)
        self.has_headers, self._is_precise = True, False
        self._numbers.clear()

    def take_row(self, line: str) -> bool:
        """Take a row of a table; return whether it is one."""
        if (attribute := _ATTRIBUTE.match(line)) is not None:
            raw = line.split()[9 if attribute[3].startswith("0x") else 7 :]
            if raw:
                self._attribute(int(attribute[1]), attribute[2], " ".join(raw))
        elif (row := _HISTORY_ROW.match(line)) is not None:
            self.history.begin = self.history.begin or row[2]
            self.history.add(float(row[3]) if row[3] != "?" else math.nan)
        elif (skip := _HISTORY_SKIP.match(line)) is not None:
            self.history.add(*self.history.celsius[-1:] * int(skip[1]))
        elif (found := _STATISTIC.match(line)) is not None and plain(found[2]) in FIELDS:
            self._statistic(found[2], count_in(found[1]))
        elif (processed := _PROCESSED.match(line)) is not None:
            place = f"scsi_error_counter_log/{processed[1]}/gigabytes_processed"
            self._readings.take(place, processed[2], starts=False)
        else:
            return False
        return True

    def take_document(self, value: dict[str, Any], unix_s: float | None) -> None:
        """Take the tables of smartctl's JSON, which was written at `unix_s`."""
        for page in _rows(at(value, "ata_device_statistics/pages")):
            for row in _rows(page.get("table")):
                self._statistic(str(row.get("name")), json_number(row.get("value")))
        for row in _rows(at(value, "ata_smart_attributes/table")):
            raw, number, name = at(row, "raw/string"), row.get("id"), row.get("name")
            if isinstance(raw, str) and isinstance(number, int) and isinstance(name, str):
                self._attribute(number, name[:80], raw[:80])
        history = at(value, "ata_sct_temperature_history")
        if isinstance(table := at(history, "table"), list):
            self.history = History.every(json_number(at(history, "logging_interval_minutes")))
            for item in table:
                self.history.add(math.nan if (known := json_number(item)) is None else known)
            self.history.end_unix_s = unix_s

    def _statistic(self, name: str, value: float | None) -> None:
        if (field := FIELDS.get(plain(name))) is None or field.kind not in ("sectors", "count"):
            return
        if not self._is_precise:
            self._is_precise = True
            for counted in COUNTED:
                self._readings.current.values.pop(counted, None)
        self._readings.take(plain(name), value, starts=False)

    def _attribute(self, number: int, name: str, raw: str) -> None:
        readings = self._readings
        if number in self._numbers:
            readings.begin(readings.current.device)
            self._numbers.clear()
        self._numbers.add(number)
        first = re.match(r"-?\d{1,20}", raw)
        value = float(first.group()) if first else None
        lower = name.lower()
        if number in (190, 194, 231) and "temperature" in lower:
            has_other = "temp_c.drive" in readings.current.values
            if number == 194 and has_other and self.has_headers:
                readings.value("temp_c.airflow", readings.current.values.pop("temp_c.drive"))
            if number == 194 or not has_other:
                readings.value("temp_c.drive", value, starts=not self.has_headers)
        elif "thermal_throttl" in lower:
            if not readings.throttled(raw) and lower.endswith("cnt"):
                readings.value("throttle_count.drive", value, starts=False)
        elif number == 9 and "hour" in lower:
            readings.value("power_on_h", value, starts=False)
        elif value is not None and not self._is_precise:
            self._moved(name, value)

    def _moved(self, name: str, value: float) -> None:
        """Take an attribute that may count what was read or written."""
        lower, readings = name.lower(), self._readings
        direction = "write" if "writ" in lower else "read" if "read" in lower else ""
        unit = _UNITS.search(name)
        by_host = lower.startswith(("total_", "host_", "lifetime_")) and "nand" not in lower
        if not direction or not by_host or (unit is None and "lbas" not in lower):
            return
        if unit is None:
            size = readings.sector_bytes
            readings.unit_mb = size / 1e6
            readings.about_counters = f"{name} was read as sectors of {size:.0f} bytes"
        else:
            readings.unit_mb = float(unit[1] or 1) * _UNIT_MB[unit[2]]
        readings.value(f"{direction}_bw_mb_s", value * readings.unit_mb, starts=False)


def _rows(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (row for row in value if isinstance(row, dict))
