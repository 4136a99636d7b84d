"""smartd's log of a drive's attributes (``smartd -A``): a line each half hour, in UTC.

Only temperatures are read: what its other attributes count differs between vendors.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from heatsoak.importer.format import Format
from heatsoak.importer.formats import plain
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.units import is_possible_temp

_LINE = re.compile(r"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d);((?:\s*[\w-]+;[\d;-]+)+)\s*$", re.ASCII)
#: ATA's attributes are a number, a normalized and a raw value; those of others a name and a value.
_ATTRIBUTE = re.compile(r"(\d+);\d+;(\d+);|(?<=\s)(temperature);(\d+);", re.ASCII | re.IGNORECASE)
_TEMPERATURES = {"194": "temp_c.drive", "190": "temp_c.airflow", "": "temp_c.drive"}
_FILE = re.compile(r"attrlog\.(.+)-([^-.]+)\.\w+\.csv")


def _recognises(source: Source) -> bool:
    shown = [line for line in source.head_lines[:20] if line.strip()]
    return bool(shown) and all(map(_LINE.match, shown))


def _read(source: Source, options: Options) -> list[Log]:
    rows = list(_rows(source))
    if not any(len(row) > 1 for row in rows):
        raise source.error("is smartd's attribute log of a drive that tells no temperature")
    drive = _FILE.fullmatch(Path(source.name).name)
    remark = Remark(f"{source.name}: of smartd's attributes only temperatures are read")
    return [
        replace(
            log.with_remarks(remark),
            drive={"model": drive[1], "serial": drive[2]} if drive else log.drive,
        )
        for log in plain.read_rows(source, options, iter(rows))
    ]


def _rows(source: Source) -> Iterator[dict[str, str]]:
    for _, line in source.kept_lines():
        if (match := _LINE.match(line)) is None:
            continue
        row = {"time": f"{match[1]}Z"}
        for number, raw, _, value in _ATTRIBUTE.findall(match[2]):
            # above the low byte vendors keep the lowest and the highest so far
            celsius = int(value or raw) & 0xFF
            if number in _TEMPERATURES and is_possible_temp(celsius):
                row.setdefault(_TEMPERATURES[number], str(celsius))
        if "temp_c.drive" not in row and "temp_c.airflow" in row:
            row["temp_c.drive"] = row.pop("temp_c.airflow")
        yield row


FORMAT = Format("smartd", "smartd's attribute log", _recognises, _read, priority=35)
