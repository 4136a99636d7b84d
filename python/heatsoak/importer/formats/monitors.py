"""Headers of monitors: a sensor's or a counter's path in place of a plain name.

Libre and Open Hardware Monitor have two rows of headers; the Performance Monitor's counters name
a machine, an object and its instance, AIDA64's columns their disk.
"""

import re

from heatsoak.importer.block_devices import DISK
from heatsoak.importer.tables import names_drive
from heatsoak.importer.tables.layout import Layout, ungarbled


def headers_of(layout: Layout) -> tuple[str, ...]:
    """Return the columns' names in words that :mod:`tables.headers` knows."""
    header = ungarbled(layout.header)
    paths = layout.above
    if paths and sum(cell.startswith("/") for cell in paths) > len(paths) // 2:
        return tuple(_monitor_name(path, name) for path, name in zip(paths, header, strict=True))
    return header


#: Both call 2^30 bytes a gigabyte.
_MONITOR_UNITS = {
    "temperature": "[°C]", "load": "[%]", "power": "[W]", "throughput": "[B/s]",
    "data": "[GiB]", "smalldata": "[MiB]",
}  # fmt: skip
#: The path of a sensor that is neither a drive's nor the processor's nor the graphics card's.
_ELSEWHERE = re.compile(r"^/[\w-]+(?:/[\w-]+)*/[a-z]+/\d{1,4}$", re.ASCII)


def _monitor_name(path: str, name: str) -> str:
    """Libre and Open Hardware Monitor write a sensor's path above its name."""
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
    rf"^(?:/dev/)?({DISK.pattern})[\s_.:/-]+(?=\S)|(?<=\S)[\s_.:/(\[-]+({DISK.pattern})[)\]]?$"
)
#: A disk by its number and its letters, or by a letter alone, in any language.
DISK_INSTANCE = re.compile(r"^\d{1,3}(?: [A-Z]:)*$|^[A-Z]:$")
VOLUME = re.compile(r"^[A-Z]:$")
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
    if DISK_INSTANCE.match(instance) and (names_drive(what) or "datentr" in what.lower()):
        return instance, counter
    if what.lower() in ("physicaldisk", "logicaldisk"):
        return "", counter if what.lower() == "physicaldisk" else ""
    if what.lower().startswith("processor"):
        return "", "CPU usage [%]" if counter == "% Processor Time" and instance in (
            "_Total", "0,_Total"
        ) else ""  # fmt: skip
    return "", ""
