"""What monitors of a whole machine print, report by report: a head that names columns, and rows.

vmstat, `zpool iostat`, dstat, collectl, nmon, and loops around `/proc/diskstats`. Their kilobytes
and blocks are of 1024 bytes, in all versions.
"""

import re
from collections.abc import Callable, Sequence

import numpy as np

from heatsoak.importer import numbers, reports
from heatsoak.importer.formats import Format
from heatsoak.importer.formats.results import numbered_names
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.readings import stamp_in
from heatsoak.importer.source import Source
from heatsoak.importer.tables import KIB, SECTOR, ReportColumn, values_of
from heatsoak.importer.tables.layout import split
from heatsoak.importer.timestamps import plain_stamp, read_stamps

#: Headings in a pool's table that are no device.
_SECTIONS = frozenset(("logs", "cache", "spares", "special", "dedup", "errors:"))
#: A device's counters since boot: reads, writes and more of `/proc/diskstats`, perhaps behind a
#: time.
_COUNTERS = re.compile(r"(.*?)\s*\b(\d{1,4})\s+(\d{1,7})\s+([a-z]\S*)((?:\s+\d{1,20}){11,17})\s*")
_MAX_LINE = 400


#: Takes a file's reports; may return what is to be said of it.
_Take = Callable[[Source, reports.ReportReader], Remark | None]


def _format(
    name: str,
    title: str,
    marks: Sequence[str],
    take: _Take,
    priority: int = 131,
    *,
    by_time: bool = False,
    counts: bool = False,
) -> Format:
    """A format whose files have a line of each of the `marks`."""
    known = [re.compile(mark) for mark in marks]

    def recognises(source: Source) -> bool:
        lines = [line[:_MAX_LINE] for line in source.head_lines]
        return all(any(map(mark.search, lines)) for mark in known)

    def read(source: Source, options: Options) -> list[Log]:
        reader = reports.ReportReader(source, name, counts=counts, by_time=by_time)
        remark = take(source, reader)
        if not reader.devices.rows:
            raise source.error("holds a header, and no rows below it")
        logs = reports.logs_of(source, reader, options)
        return [log.with_remarks(remark) for log in logs] if remark else logs

    return Format(name, title, recognises, read, priority)


# --- vmstat --------------------------------------------------------------------------------------

_VMSTAT = {"bi": ("read_bw_mb_s", KIB), "bo": ("write_bw_mb_s", KIB)}
#: What jc calls vmstat's columns.
_JC = {"bi": "blocks_in", "bo": "blocks_out", "id": "idle_time", "wa": "io_wait_time"}
_IS_VMSTAT = r"\br\s+b\s+swpd\s.*\bbi\s+bo\b|\"blocks_in\": ?\d"


def _take_vmstat(source: Source, reader: reports.ReportReader) -> None:
    table: reports.ReportTable | None = None
    if source.first_character in ("[", "{"):
        table = reports.table_of(list(_JC), _VMSTAT, ("id", "wa"))
        for row in (one.value for one in source.documents()):
            told = [numbers.at(row, name) for name in ("timestamp", "timezone")]
            reader.begin_report(plain_stamp(" ".join(word for word in told if word)))
            reader.take(table, [str(numbers.at(row, name)) for name in _JC.values()])
        return
    first = 0  # where vmstat's own words begin: a tool may have put a time before them
    for number, line in source.lines():
        words = line.split()
        if "bi" in words and "bo" in words and "r" in words:
            first = words.index("r")
            table = reports.table_of(
                [w for w in words[first:] if w.islower()], _VMSTAT, ("id", "wa")
            )
            continue
        if table is None:
            continue
        end = first + len(table.headers)
        if len(words) < end or not all(map(numbers.is_number, words[first:end])):
            if words and numbers.is_number(words[0]):
                source.skip(number)
            continue
        reader.begin_report(plain_stamp(" ".join((*words[:first], *words[end:]))))
        reader.take(table, words[first:end])


# --- zpool iostat --------------------------------------------------------------------------------


def _take_zpool(source: Source, reader: reports.ReportReader) -> None:
    reader.devices.has_mapped = False
    groups = reader.devices.groups
    waits_at = 0
    above, above_indent = "", 0
    for _, line in source.lines():
        words = [
            word if at == 0 else word.replace("K", "k") for at, word in enumerate(line.split())
        ]
        if words[:3] == ["capacity", "operations", "bandwidth"]:
            # each of these heads two columns, of reads and of writes
            waits_at = 1 + 2 * words.index("disk_wait") if "disk_wait" in words else 0
            continue
        indent = len(line) - len(line.lstrip())
        is_row = len(words) >= 7 and all(w == "-" or numbers.is_number(w) for w in words[1:7])
        if not is_row:
            stamp = stamp_in(line)
            if stamp is not None and words[0] not in ("pool", "vdev"):
                reader.stamp(plain_stamp(stamp))
            continue
        if above and indent > above_indent:
            groups.add(above)  # the pool, or a mirror in it
        above, above_indent = words[0], indent
        if words[0] in _SECTIONS or set(words[3:7]) == {"-"}:
            groups.add(words[0])
            continue
        # in millions, whether exact (`-p`) or rounded with a letter of powers of 1024
        millions = [numbers.scaled(word, 1e-6) for word in words[3:7]]
        values = [
            *zip(("read_iops", "write_iops"), (1e6 * value for value in millions[:2]), strict=True),
            *zip(("read_bw_mb_s", "write_bw_mb_s"), millions[2:], strict=True),
        ]
        if waits_at and len(words) > waits_at + 1:
            values += [
                (f"{of}_lat_us", _zfs_us(words[waits_at + at]))
                for at, of in enumerate(("read", "write"))
            ]
        reader.row(words[0], values)


def _zfs_us(word: str) -> float:
    """A wait in us; one without a unit is in ns."""
    match = re.fullmatch(r"([\d.]{1,20})(ns|us|ms|s|)", word)
    scales = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "": 1e-3}
    return np.nan if match is None else numbers.scaled(match.group(1), scales[match.group(2)])


# --- dstat, dool and pcp-dstat: CSV below two lines that name groups and their columns -----------

_BEGIN = re.compile(r'"(?:Dstat|dool|pcp-dstat) \S{1,20} CSV output"', re.IGNORECASE)
_CALL = re.compile(r'"Cmdline:","[^"]*(?:dstat|dool)')
_PREAMBLE = ('"Author:"', '"Host:"', '"URL:"')
_YEAR = re.compile(r'"Date:",\s*"\d{1,2} [A-Z][a-z]{2} (\d{4})')
_DELAY = re.compile(r"(?:^|\s)([1-9]\d{0,5})(?:\s+\d{1,9})?\"")
_DAY_MONTH = re.compile(r"(\d{1,2})-(\d{1,2}) (\d{1,2}:\d{2}:\d{2})")
_MONTH_DAY = re.compile(r"([A-Z][a-z]{2})-(\d{1,2}) (\d{1,2}:\d{2}:\d{2})")
#: By group and column, a second; `total` is of all disks together.
_DSTAT = {
    **dict.fromkeys(("dsk read", "disk read"), ("read_bw_mb_s", 1e-6)),
    **dict.fromkeys(("dsk writ", "disk writ"), ("write_bw_mb_s", 1e-6)),
    "io read": ("read_iops", 1.0),
    "io writ": ("write_iops", 1.0),
}
_TOTAL = "total"


def _take_dstat(source: Source, reader: reports.ReportReader) -> Remark | None:
    groups: list[str] = []
    names: list[str] = []
    tables: dict[str, reports.ReportTable] = {}
    time_at: int | None = None
    year, is_pcp = "", False
    for number, line in source.lines():
        body = line.strip()
        words = body.split(",")
        if _BEGIN.match(body) or body.startswith('"Cmdline:"'):
            is_pcp = is_pcp or body.lower().startswith('"pcp')
            if body.startswith('"C'):
                date, delay = _YEAR.search(body), _DELAY.search(body.split(",,,,")[0])
                year = date.group(1) if date is not None else ""
                reader.interval_s = float(delay.group(1)) if delay is not None else 1.0
            groups, tables = [], {}
        elif body.startswith(_PREAMBLE):
            groups = []
        elif body.startswith('"'):
            texts = split(body, ",")
            if not groups:
                for text in texts:
                    groups.append(text or (groups[-1] if groups else ""))
                continue
            tables, time_at = _dstat_tables(groups, texts)
            groups, names = [], texts
            reader.begin_call("")
        elif any(tables) and body[:1] not in ("", '"'):
            if len(words) != len(names):
                source.skip(number)
                continue
            reader.begin_report("" if time_at is None else _dated(words[time_at].strip('"'), year))
            for device, table in tables.items():
                if device:
                    reader.row(device, values_of(table.columns, words) or [])
                elif table.cpu:
                    reader.share(reports.CPU, table.cpu_pct(words))
    if not any(tables) and not reader.devices.rows:
        raise source.error("holds no disks: 'dstat --time --disk --io --output FILE' records them")
    reader.devices.groups.add(_TOTAL)
    if set(reader.devices.rows) == {_TOTAL}:
        reader.devices.rows = {"": reader.devices.rows[_TOTAL]}
    doubt = Remark("pcp-dstat's dsk columns are taken as bytes/s", True, ("unit",))
    return doubt if is_pcp else None


def _dstat_tables(
    groups: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, reports.ReportTable], int | None]:
    """Return a table for each device, that of the processors under "", and the time's place."""
    columns: dict[str, list[ReportColumn]] = {}
    idle: list[tuple[int, float]] = []
    time_at: int | None = None
    for place, (group, name) in enumerate(zip(groups, names, strict=False)):
        word = name.rpartition(":")[2]
        kind, _, device = group.partition("/")
        if (known := _DSTAT.get(f"{kind} {word}")) is not None:
            columns.setdefault(device or _TOTAL, []).append((place, *known))
        elif word == "util" and group:
            columns.setdefault(group, []).append((place, "busy_pct", 1.0))
        elif word in ("idl", "wai") and group in ("total cpu usage", "total usage"):
            idle.append((place, -1.0))
        elif word in ("time", "date/time", "epoch") and (time_at is None or word == "epoch"):
            time_at = place
    tables = {device: reports.ReportTable(names, own) for device, own in columns.items()}
    return tables | ({"": reports.ReportTable(names, cpu=tuple(idle))} if idle else {}), time_at


def _dated(word: str, year: str) -> str:
    """A time with the year of the preamble: ``21-11 10:21:53``, ``Nov-21 10:21:53``."""
    if not year:
        return word
    word = _DAY_MONTH.sub(rf"{year}-\2-\1 \3", word)
    return _MONTH_DAY.sub(rf"\2 \1 {year} \3", word)


# --- collectl ------------------------------------------------------------------------------------

#: By the header, and its number among those of the same name: reads come before writes.
_COLLECTL = {
    "KBRead": ("read_bw_mb_s", KIB), "Reads": ("read_iops", 1.0),
    "KBWrit": ("write_bw_mb_s", KIB), "KBWrite": ("write_bw_mb_s", KIB),
    "Writes": ("write_iops", 1.0), "cpu": (reports.CPU, 1.0),
    "KBytes": ("read_bw_mb_s", KIB), "KBytes 2": ("write_bw_mb_s", KIB),
    "IOs": ("read_iops", 1.0), "IOs 2": ("write_iops", 1.0),
    "QLen": ("queue", 1.0), "Util": ("busy_pct", 1.0),
}  # fmt: skip
#: With waits of reads and of writes the third is of both.
_COLLECTL_WAITS = {"Wait": ("read_lat_us", 1e3), "Wait 2": ("write_lat_us", 1e3)}
_RECORD = re.compile(r"### RECORD +\d+ >>> .* <<< \((\d{9,10}(?:\.\d+)?)\)")
_COLLECTL_HEAD = re.compile(r"# ?(?:\S+ +)*(?:KBRead .*KBWrit|Name +KBytes .*KBytes|User .*Idle )")
_ROUNDED = re.compile(r"(\d{1,9})([KMG])")


def _take_collectl(source: Source, reader: reports.ReportReader) -> None:
    reader.begin_call("")
    reader.call.skipped_boot = True
    table: reports.ReportTable | None = None
    before = ""
    has_records = False  # a line above each report tells its time
    for number, line in source.lines():
        if _COLLECTL_HEAD.match(line):
            table = _collectl_table(line.lstrip("# ").split())
        elif line.startswith("#"):
            if (record := _RECORD.match(line)) is not None:
                has_records = True
                reader.stamp(record[1])
            table = table if record is None and "<-" in line else None
        elif table is not None and line.strip():
            words = [_unrounded(word) for word in line.split()]
            timed = zip(table.headers, words, strict=False)
            stamp = " ".join(word for header, word in timed if header in ("Date", "Time"))
            is_read = bool(table.columns or table.cpu) and len(words) == len(table.headers)
            if stamp != before and is_read and not has_records:
                before = stamp
                reader.stamp(stamp)
            if not is_read or not reader.take(table, words):
                source.skip(number)


def _collectl_table(words: list[str]) -> reports.ReportTable:
    headers = numbered_names(words)
    waits = _COLLECTL_WAITS if "Wait 3" in headers else {"Wait": ("lat_us", 1e3)}
    is_cpu = "KBytes" not in headers and "Idle" in headers
    return reports.table_of(
        headers, {} if is_cpu else _COLLECTL | waits, ("Idle", "Wait") * is_cpu, "Name"
    )


def _unrounded(word: str) -> str:
    match = _ROUNDED.fullmatch(word)
    return word if match is None else str(float(match[1]) * numbers.multiple(match[2], 1000.0))


# --- nmon: a line for each quantity, with all disks in it, and a line that says when -------------

_NMON = {
    "DISKREAD": ("read_bw_mb_s", KIB), "DISKWRITE": ("write_bw_mb_s", KIB),
    "DISKBUSY": ("busy_pct", 1.0), "DISKXFER": ("iops", 1.0),
    "DISKREADSERV": ("read_lat_us", 1e3), "DISKWRITESERV": ("write_lat_us", 1e3),
}  # fmt: skip
_SNAPSHOT = re.compile(r"T\d{1,9}")


def _take_nmon(source: Source, reader: reports.ReportReader) -> None:
    moments: dict[str, str] = {}
    names: dict[str, list[str]] = {}
    for number, line in source.lines():
        words = line.strip().split(",")
        known = _NMON.get(words[0].rstrip("0123456789"))  # a line has 150 disks at most
        if len(words) < 3:
            continue
        if words[0] == "ZZZZ":
            moments[words[1]] = " ".join((*words[3:4], words[2])).title()
        elif known is not None or words[0] == "CPU_ALL":
            if not _SNAPSHOT.fullmatch(words[1]):
                names[words[0]] = words[2:]
                continue
            reader.at(words[1])
            values = dict(zip(names.get(words[0], ()), words[2:], strict=False))
            if known is None:
                idle = [numbers.scaled(values.get(name, "")) for name in ("Idle%", "Wait%")]
                reader.share(reports.CPU, 100.0 - sum(idle))
                continue
            for device, word in values.items():
                reader.row(device, [(known[0], numbers.scaled(word, known[1]))])
            if not values:
                source.skip(number)
    reader.read_stamps = lambda words, _: read_stamps([moments.get(w, "") for w in words])


# --- /proc/diskstats in a loop, or as collectl keeps it ------------------------------------------


def _take_diskstats(source: Source, reader: reports.ReportReader) -> None:
    before: dict[str, list[float]] = {}
    for _, line in source.lines():
        match = _COUNTERS.fullmatch(line) if len(line) <= _MAX_LINE else None
        if match is None:
            stamp = stamp_in(line)
            if stamp is not None:
                reader.stamp(plain_stamp(stamp))
            continue
        device, prefix = match.group(4), stamp_in(match.group(1)) or ""
        now = [float(word) for word in match.group(5).split()]
        moved = [b - a if b >= a else np.nan for a, b in zip(before.get(device, ()), now)]  # noqa: B905
        before[device] = now
        reader.row(device, _moved(moved or [np.nan] * len(now)), plain_stamp(prefix))
    if len(reader.call.stamps) < 3:
        raise source.error(
            "holds the counters of fewer than three moments, of which no course can be made: "
            "repeat 'date; cat /proc/diskstats; sleep 1'"
        )


def _moved(moved: list[float]) -> list[tuple[str, float]]:
    """What a device's counters moved by: bytes, I/Os, ms of waiting and of being busy."""
    values = []
    for of, first in (("read", 0), ("write", 4), ("discard", 11)):
        if len(moved) <= first + 3:
            continue
        ios, _, sectors, waited_ms = moved[first : first + 4]
        values += [(f"{of}_bw_mb_s", sectors * SECTOR), (f"{of}_iops", ios)]
        if of != "discard":
            values.append((f"{of}_lat_us", waited_ms * 1e3 / ios if ios > 0 else np.nan))
    return [*values, ("busy_pct", moved[9] / 10), ("queue", moved[10] / 1e3)]


VMSTAT = _format("vmstat", "vmstat", [_IS_VMSTAT], _take_vmstat)
ZPOOL = _format(
    "zpool",
    "zpool iostat",
    [r"^\s*capacity\s+operations\s+bandwidth\b", r"^(?:pool|vdev|\s)\s*.*\balloc\s+free\b"],
    _take_zpool,
)
DSTAT = _format("dstat", "dstat", [rf"(?i)^\s*{_BEGIN.pattern}|^{_CALL.pattern}"], _take_dstat, 150)
COLLECTL = _format("collectl", "collectl", [_COLLECTL_HEAD.pattern], _take_collectl)
NMON = _format("nmon", "nmon", [r"^AAA,progname,"], _take_nmon, by_time=True)
DISKSTATS = _format(
    "diskstats",
    "/proc/diskstats in a loop",
    [rf"^{_COUNTERS.pattern}$"],
    _take_diskstats,
    132,
    counts=True,
)
