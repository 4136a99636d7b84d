"""Columns that become a recording's own by more than their header: counters, meters, sizes.

Counters of bytes become rates, a meter's voltage and current power, values without a unit get the
one that makes them a drive's, and what a monitor calls a sensor or a counter becomes words.
"""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace

import numpy as np

from heatsoak.importer import tables
from heatsoak.importer.frames import Array
from heatsoak.importer.numbers import multiple, number_of
from heatsoak.importer.tables.headers import Meaning, directed

#: Units of what tables count, in MB.
_SIZES = {
    **{f"{prefix}b": multiple(prefix, 1e3) / 1e6 for prefix in ("", *"kmgt")},
    **{f"{prefix}ib": multiple(prefix) / 1e6 for prefix in "kmgt"},
    "byte": 1e-6, "bytes": 1e-6, "sectors": 512e-6, "sector": 512e-6, "lba": 512e-6, "lbas": 512e-6,
}  # fmt: skip
_SIZE = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))((?i:(?:[kmgt]i?)?b|bytes?|sectors?|lbas?))(?![A-Za-z])"
)


def total(header: str) -> Meaning | None:
    """Return the meaning of a counter of bytes: ``Host Writes [GB]`` is that of writes.

    None for what counts no bytes. `scale` makes MB of its values.
    """
    text = tables.mended(header).strip().strip("\"'#").strip()
    tokens = tables.tokens_of(text) if len(text) < 100 else []
    words = set(tokens)
    if words & (tables.TOKENS["not_moved"] | tables.TOKENS["cpu"] | tables.TOKENS["gpu"]) or (
        not tables.has_any(tokens, "drive") and tables.has_any(tokens, "elsewhere")
    ):
        return None
    if tokens[-4:] == ["io", "time", "seconds", "total"]:
        return Meaning("busy_pct", 100.0, general=len(tokens), is_total=True)
    direction = tables.direction_in(tokens)
    if direction is None and not words & tables.TOKENS["moved"]:
        return None
    column = directed("bw_mb_s", tokens)
    note = f"throughput is the rate of the counter '{text}'"
    if {"data", "units"} <= words:
        return Meaning(column, 0.512, note=note, general=len(tokens), is_total=True)
    sizes = _SIZE.findall(text)
    if not sizes and direction is not None and words & tables.TOKENS["done"]:
        return Meaning(directed("iops", tokens), note=note, general=len(tokens), is_total=True)
    if not sizes:
        return None
    return Meaning(column, _SIZES[sizes[-1].lower()], note=note, general=len(tokens), is_total=True)


# --- voltage and current, where no column tells the power ----------------------------------------

VOLTAGE, CURRENT = "voltage_v", "current_a"
_SCALES = {
    **{"v": (VOLTAGE, 1.0), "mv": (VOLTAGE, 1e-3)},
    **{"a": (CURRENT, 1.0), "ma": (CURRENT, 1e-3), "ua": (CURRENT, 1e-6)},
    **dict.fromkeys(("volt", "volts"), (VOLTAGE, 1.0)),
    **dict.fromkeys(("amp", "amps", "ampere", "amperes"), (CURRENT, 1.0)),
}
_WORDS: dict[str, str] = tables.words_by(tables.TABLES["electric"])
_UNIT = re.compile(r"^(.*?)[\s_]*[\[(]?\s*(m?v|[mu]?a|volts?|amp(?:ere)?s?)\s*[\])]?$")


def voltage_and_current(
    header: Sequence[str], units: Sequence[str], taken: Container[int]
) -> list[tuple[int, Meaning]]:
    """Return the places of one voltage and of one current; none where one is missing or several.

    `units` is the row of units below the header, empty where there is none.
    """
    found: list[tuple[int, Meaning]] = []
    for index, name in enumerate(header):
        unit = units[index] if index < len(units) else ""
        if index not in taken and (what := _electric(name, unit)) is not None:
            found.append((index, what))
    columns = sorted(what.column for _, what in found)
    return found if columns == sorted((VOLTAGE, CURRENT)) else []


def _electric(header: str, unit: str) -> Meaning | None:
    text = tables.mended(header).strip().replace("µ", "u").replace("μ", "u").lower()
    match = _UNIT.match(text)
    name, shown = (match[1], match[2]) if match is not None else (text, "")
    named = _SCALES.get(unit.strip(" []()").lower()) or _SCALES.get(shown)
    words = [
        word for word in tables.tokens_of(name) if word not in tables.TOKENS["electric_fillers"]
    ]
    meant = {_WORDS.get(word) for word in words}
    if len(meant) > 1 or None in meant or (named is None and not meant):
        return None
    column = meant.pop() if meant else named[0] if named is not None else None
    if column is None or (named is not None and named[0] != column):
        return None
    return Meaning(column, 1.0 if named is None else named[1])


# --- values without a unit -----------------------------------------------------------------------

#: More than any drive, link or queue can do: what is above is a unit or several drives.
MAX_MB_S, MAX_IOPS = 30_000.0, 5e7
IN_BYTES = "bytes a second", 1e-6
#: What the temperature of a drive or a host may be, and what it usually is in other units.
_WARMTH_C = (5.0, 125.0)
_OTHER_DEGREES = {"kelvin": (250.0, 400.0), "millidegrees": (5000.0, 150_000.0)}


def is_warmth(cell: str) -> bool:
    """Return whether a cell may be the temperature of a drive or a host in degrees Celsius."""
    return _WARMTH_C[0] <= number_of(cell) <= _WARMTH_C[1]


def temperature_by_size(what: Meaning, raw: Array, header: str) -> Meaning:
    """Return what a temperature without a unit must be in to be one."""
    known = raw[np.isfinite(raw) & (raw > 0)]
    usual = float(np.median(known)) if len(known) else 0.0
    for unit, (low, high) in _OTHER_DEGREES.items():
        if low < usual < high and (read := tables.unit_of(unit)) is not None:
            doubt = f"'{header}' is read as {unit}"
            return replace(
                what, scale=read.scale, offset=read.offset, doubt=doubt, touches=("temperature",)
            )
    return what


def in_binary(what: Meaning) -> Meaning:
    """Return a rate of bytes whose unit's kilo is 1024."""
    power = round(np.log10(what.scale * 1e6) / 3) if what.column.endswith("bw_mb_s") else 0
    return replace(what, scale=1024.0**power / 1e6, doubt="") if power > 0 else what


def unit_by_magnitude(rates: Iterable[Array]) -> tuple[str, float]:
    """What rates without a unit must be in to be a drive's, and how much of a MB/s that is."""
    known = [values[np.isfinite(values) & (values > 0)] for values in rates]
    typical = max((float(np.median(values)) for values in known if len(values)), default=0.0)
    if typical > 2e7:
        return IN_BYTES
    return ("KiB/s", 1.024e-3) if typical > 2e4 else ("MB/s", 1.0)


def unit_key(values: Array) -> str:
    """Return the unit that makes a drive's rates of values, as ``--map`` writes it."""
    return {"MB/s": "mb_s", "KiB/s": "kib_s"}.get(unit_by_magnitude([np.abs(values)])[0], "b_s")


# --- headers of monitors: a sensor's or a counter's path in place of a plain name ----------------

#: Both call 2^30 bytes a gigabyte.
_MONITOR_UNITS = {
    "temperature": "[°C]", "load": "[%]", "power": "[W]", "throughput": "[B/s]",
    "data": "[GiB]", "smalldata": "[MiB]",
}  # fmt: skip
#: The path of a sensor that is neither a drive's nor the processor's nor the graphics card's.
_ELSEWHERE = re.compile(r"^/[\w-]+(?:/[\w-]+)*/[a-z]+/\d{1,4}$", re.ASCII)


def monitor_name(path: str, name: str) -> str:
    """Return a column's name in words: Libre Hardware Monitor writes a sensor's path above it."""
    parts = path.strip().strip("/").split("/")
    unit = next((_MONITOR_UNITS[part] for part in parts if part in _MONITOR_UNITS), "[-]")
    if len(parts) < 3:
        return path.strip() if parts[0] else name
    what = parts[0]
    if "gpu" in what:
        name = f"GPU {name}"
    elif "cpu" in what:
        name = f"CPU {name}"
    elif what in ("nvme", "hdd", "ssd", "storage", "ata"):
        name = f"{what}{parts[1]}\x1f{name}"
    else:
        return path.strip()
    return f"{name} {unit}"


#: AIDA64's names of what a disk does.
_DISK = re.compile(r"^(Disk \d{1,2}) (?:Activity|Read Speed|Write Speed)$")
#: A drive before or behind what is told of it: ``nvme0n1 write MB/s``.
_OF_DISK = re.compile(
    rf"^(?:/dev/)?({tables.DISK.pattern})[\s_.:/-]+(?=\S)|(?<=\S)[\s_.:/(\[-]+({tables.DISK.pattern})[)\]]?$"
)
#: A disk by its number and its letters, or by a letter alone, in any language.
DISK_INSTANCE = re.compile(r"^\d{1,3}(?: [A-Z]:)*$|^[A-Z]:$")
VOLUME = re.compile(r"^[A-Z]:$")
_ESXTOP = {
    "MBytes Read/sec": "read [MiB/s]", "MBytes Written/sec": "write [MiB/s]",
    "Reads/sec": "r/s", "Writes/sec": "w/s", "Average Driver MilliSec/Command": "await",
    "Average Driver MilliSec/Read": "r_await", "Average Driver MilliSec/Write": "w_await",
}  # fmt: skip
_DISK_OBJECTS = ("physicaldisk", "logicaldisk")
_PDH = re.compile(r"^\\\\[^\\]*\\([^\\(]+)(?:\(([^)]*)\))?\\(.+)$")


#: dstat's columns, its two lines of headers made one: ``dsk_sda_writ``, ``io/total/read``.
_DSTAT = re.compile(r"^(dsk|io)[_/:. ]([\w-]{1,40})[_/:. ](read|writ)$")
#: ``collectl -P``: ``[DSK]WriteKBTot``, ``[DSK:sda]WKBytes``.
_COLLECTL = re.compile(r"^\[([A-Z]+)(?::([^\]]{1,40}))?\](.{1,20})$")
#: All are means over the interval, each second; kB are of 1024 bytes.
_COLLECTL_NAMES = {
    ("DSK", "ReadTot"): "r/s", ("DSK", "WriteTot"): "w/s",
    ("DSK", "ReadKBTot"): "read [KiB/s]", ("DSK", "WriteKBTot"): "write [KiB/s]",
    ("DSK", "Reads"): "r/s", ("DSK", "Writes"): "w/s",
    ("DSK", "RKBytes"): "read [KiB/s]", ("DSK", "WKBytes"): "write [KiB/s]",
    ("DSK", "WaitR"): "r_await", ("DSK", "WaitW"): "w_await",
    ("DSK", "QueLen"): "avgqu-sz", ("DSK", "Util"): "%util", ("CPU", "Totl%"): "CPU usage [%]",
}  # fmt: skip


#: PCP's metrics of drives, whose bytes are of 1024: ``disk.dev.write_bytes-sda``, ``...["sda"]``.
_PCP = re.compile(
    r"^(?:[\w.-]{1,60}:)?disk\.(?:dev|all|dm|md)\.(read|write)(_bytes)?"
    r"(?:(?:-|\.|\[)\"{0,2}([\w./-]{1,60})\"{0,2}\]?)?$"
)


def device_and_name(header: str) -> tuple[str, str]:
    """Return a column's device, empty where the header names none, and its name.

    The name is empty where it is about neither a drive nor the host as a whole.
    """
    if "\x1f" in header:
        device, _, name = header.partition("\x1f")
        return device, name
    if _ELSEWHERE.match(header):
        return "", ""
    if (dstat := _DSTAT.match(header)) is not None:
        device, direction = dstat[2], "write" if dstat[3] == "writ" else "read"
        unit = "[B/s]" if dstat.group(1) == "dsk" else "[IO/s]"
        return "" if device == "total" else device, f"{direction} {unit}"
    if (pcp := _PCP.match(header)) is not None:
        return pcp[3] or "", f"{pcp[1]} [{'KiB/s' if pcp[2] else 'IO/s'}]"
    if (collectl := _COLLECTL.match(header)) is not None:
        return collectl.group(2) or "", _COLLECTL_NAMES.get((collectl[1], collectl[3]), "")
    match = _PDH.match(header)
    if match is None and (named := _OF_DISK.search(header)) is not None:
        return named[1] or named[2], _OF_DISK.sub("", header)
    if match is None:
        numbered = _DISK.match(header)
        return (numbered.group(1) if numbered is not None else ""), header
    what, instance, counter = match.group(1), match.group(2) or "", match.group(3)
    is_disk = what.lower() in _DISK_OBJECTS or tables.names_drive(what) or "datentr" in what.lower()
    if DISK_INSTANCE.match(instance.upper()) and is_disk:
        return instance.upper(), counter
    if what == "Physical Disk SCSI Device":  # esxtop's, whose MB are of 2^20 bytes
        return instance, _ESXTOP.get(counter, "")
    if what.lower() in _DISK_OBJECTS:
        return "", counter if what.lower() == "physicaldisk" else ""
    if what.lower().startswith("processor"):
        return "", "CPU usage [%]" if counter == "% Processor Time" and instance in (
            "_Total", "0,_Total"
        ) else ""  # fmt: skip
    return "", ""
