"""`sar` and `sadf`: the text of one, the CSV, tables and JSON of the other, in all languages.

What is read: devices (`-d`), transfers of all of them together (`-b`, where there are no others),
the processors (`-u`), and temperatures (`-m TEMP`).
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any, Literal

import numpy as np
from pydantic_core import from_json

from heatsoak.importer import numbers, reports, timestamps
from heatsoak.importer.formats import Format
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source
from heatsoak.importer.tables import SYSSTAT, columns_of

#: The first two bytes of a binary file.
_MAGIC = (b"\x96\xd5", b"\xd5\x96")
#: A device that stands for all of them: rows of `sar -b`.
_ALL = ""
_DAY_S = 86400.0
_RESTART = re.compile(r"LINUX.RESTART")
_TIME = re.compile(
    r"\s*(?:([AP]M|上午|下午|午前|午後|오전|오후)\s*)?"
    r"(\d{1,2})[:.,時时시]\s?(\d{2})[:.,分분]\s?(\d{2})(?:[秒초])?"
    r"(?:\s?([AaPp])\.?\s?[Mm]\.?)?(?=\s|$)\s*(.*)",
    re.ASCII | re.DOTALL,
)
_AFTERNOON = ("PM", "下午", "午後", "오후")
_UNNAMED = re.compile(r"[^a-z0-9]+")
#: JSON's names, where they are not the headers of the text: sysstat's, then jc's.
_JSON_NAMES = {"rkB": "rkB/s", "wkB": "wkB/s", "rd_sec": "rd_sec/s", "wr_sec": "wr_sec/s",
               "util-percent": "%util", "util": "%util", "bread": "bread/s", "bwrtn": "bwrtn/s",
               "disk_device": "DEV", "disk-device": "DEV", "device": "DEV", "cpu": "CPU",
               "number": "TEMP"}  # fmt: skip
_JSON_NAMES |= {
    re.sub(r"\W", "_", n.lower().replace("%", "percent_")): n
    for n in SYSSTAT
    if "_" in n or "/" in n or "%" in n
}
_SHARES = ("%idle", "%iowait", "%steal")
_JSON_NAMES |= {f"{percent}{n[1:]}": n for percent in ("", "percent_") for n in _SHARES}


def _kind(source: Source) -> Literal["binary", "text", "csv", "pairs", "json"] | None:
    if source.head[:2] in _MAGIC and b"\x21" in source.head[2:4]:
        return "binary"
    for line in source.head_lines:
        if line.startswith("# hostname;interval;timestamp"):
            return "csv"
        if '"disk-device"' in line or '"file-date"' in line:
            return "json"
        if "\t" in line and _is_pair(line.rstrip().split("\t")):
            return "pairs"
        if ("tps" in line or "%idle" in line) and "/s" not in line[:6]:
            match = _TIME.match(line)
            if match is not None and table_of(tuple(match.group(6).split())) is not None:
                return "text"
    return None


def _read(source: Source, options: Options) -> list[Log]:
    kind = _kind(source) or "text"
    if kind == "binary":
        raise source.error(
            "is sar's binary file: 'sadf -d FILE -- -d -u > FILE.csv' makes one to import"
        )
    reader = reports.ReportReader(source, "sar", by_time=True)
    has_averages = _TAKE[kind](source, reader)
    devices = reader.devices
    together = devices.rows.pop(_ALL, None)
    if together is not None and not devices.rows:
        devices.rows[_ALL] = together
    if not devices.rows:
        if not any(name.startswith("temp_c.") for name in devices.host):
            what = "only averages" if has_averages and not reader.calls else "no devices"
            raise source.error(f"holds {what}: 'sar -d' with an interval reports on devices")
        for number in range(len(reader.call.stamps)):
            devices.add(_ALL, number, [])
    return reports.logs_of(source, reader, options)


FORMAT = Format("sar", "sar", _kind, _read, priority=120)


# --- rows ----------------------------------------------------------------------------------------

#: Headers of what stands in a row's first column, or in its last; a table of others is not read.
_ITEMS = ("DEV", "CPU", "TEMP")
#: What a temperature's table has.
_WARMTH = ("degC", "DEVICE")


@lru_cache(maxsize=256)
def table_of(words: tuple[str, ...]) -> reports.ReportTable | None:
    """Return the table whose header these words are; None for what is not a header."""
    are_words = [word[:1].isalpha() or word[:1] == "%" for word in words]
    if not any(are_words):
        return None
    item = next((words[at] for at in (0, -1) if words[at] in _ITEMS), None)
    if item == "CPU" and "%idle" in words:
        return reports.table_of(words, {}, _SHARES[:2], item)
    if item == "TEMP" and set(words) >= set(_WARMTH):
        return reports.table_of(words, {}, (), item)
    if item == "DEV" and (columns := columns_of(words)):
        return reports.ReportTable(words, columns, words.index(item))
    if item is None and not {"rtps", "wtps"}.isdisjoint(words):
        # of `-b`, whose sum of all transfers counts discards, too
        return reports.ReportTable(words, [one for one in columns_of(words) if one[1] != "iops"])
    return reports.ReportTable(words) if item is not None or all(are_words) else None


def _is_read(table: reports.ReportTable) -> bool:
    return bool(table.columns) or table.device_at is not None


def _take(
    reader: reports.ReportReader,
    table: reports.ReportTable,
    words: Sequence[str],
    stamp: str,
    length_s: float = np.nan,
) -> bool:
    """Take a row of the report of this time; False where it is not such a row."""
    item = _ALL if table.device_at is None else words[table.device_at]
    if not _is_read(table) or (table.cpu and item not in ("all", "-1")):
        return True
    if reader.by_time:
        reader.at(stamp, length_s)
    if not table.columns and not table.cpu:
        degrees, device = (words[table.headers.index(name)] for name in _WARMTH)
        _take_degrees(reader, item[:20], device[:100], numbers.scaled(degrees))
        return True
    if table.headers[-1] not in reader.devices.headers:
        reader.devices.headers.update(dict.fromkeys(table.headers))
    return reader.take(table, words)


def _take_degrees(reader: reports.ReportReader, item: str, device: str, degrees: float) -> None:
    """Take a temperature, with the number of its sensor: ``temp_c.nvme_pci_0100_1``."""
    word = _UNNAMED.sub("_", device.lower()).strip("_")
    host = "cpu_" if word.startswith(("coretemp", "k10temp", "zenpower", "cpu")) else ""
    reader.share(f"temp_c.{host}{word or 'sensor'}_{_UNNAMED.sub('_', item.lower())}", degrees)


# --- layouts -------------------------------------------------------------------------------------


def _take_text(source: Source, reader: reports.ReportReader) -> bool:
    table: reports.ReportTable | None = None
    date: str | None = None
    days = 0.0  # from the first heading's day
    sections: dict[tuple[str, ...], float] = {}
    section: tuple[str, ...] = ()
    has_halves = has_averages = False
    for number, line in source.lines():
        match = _TIME.match(line)
        if match is None:
            if (stamp := timestamps.date_in_heading(line)) is not None:
                date = stamp if date is None else date
                days = _days_between(date, stamp, days)
                sections, table = {}, None
            elif table is not None and line.strip():
                has_averages = has_averages or ":" in line
            continue
        half_before, hours, minutes, seconds, half, rest = match.groups()
        hour = int(hours)
        if half_before:
            half = "p" if half_before in _AFTERNOON else "a"
        if half:
            has_halves = True
            hour = hour % 12 + (12 if half in "pP" else 0)
        at_s = days * _DAY_S + 3600.0 * hour + 60.0 * int(minutes) + int(seconds)
        words = rest.split()
        if _RESTART.match(rest):
            reader.restarts[str(at_s)] = None
        if not words or _RESTART.match(rest) or words[0] == "COM":
            continue
        if words[-1][0] not in "0123456789-+.n" or words[0] in _ITEMS:
            found = table_of(tuple(words))
            if found is not None:
                table, section = found, tuple(words)
                continue
        if table is None or len(words) != len(table.headers):
            if table is not None and table.columns:
                source.skip(number)
            continue
        last_s = sections.get(section)
        if last_s is not None:
            at_s += _DAY_S * max(0.0, np.floor((last_s - at_s) / _DAY_S + 0.5))
        sections[section] = at_s
        if not _take(reader, table, words, str(at_s)):
            source.skip(number)

    def times(stamps: Sequence[str], _: str) -> timestamps.Times:
        t_s = np.array(list(stamps), dtype=float)
        midday = timestamps.read_stamps([f"{date} 12:00:00{' AM' if has_halves else ''}"])
        if not date or midday.clock != "local" or midday.start_unix_s is None:
            return timestamps.Times(t_s, "none", None)
        start_unix_s = midday.start_unix_s - (0.0 if has_halves else 0.5 * _DAY_S)
        return timestamps.Times(t_s, "local", start_unix_s, midday.doubt)

    reader.read_stamps = times
    return has_averages


def _days_between(first: str, date: str, otherwise: float) -> float:
    if first == date:
        return 0.0
    times = timestamps.read_stamps([first, date])
    if len(times.t_s) == 2 and np.isfinite(times.t_s).all() and times.clock == "local":
        return float(times.t_s[1] // _DAY_S)
    return otherwise


def _take_csv(source: Source, reader: reports.ReportReader) -> bool:
    tables: list[reports.ReportTable] = []
    layouts: tuple[str, ...] = ()
    for number, line in source.lines():
        words = line.lstrip("# ").strip().split(";")
        if line.startswith("#"):
            if len(words) > 3 and words[2].strip() == "timestamp":
                tables, layouts = _csv_tables(words[3:])
        elif len(words) < 4:
            if line.strip():
                source.skip(number)
        elif _RESTART.match(words[3]):
            reader.restarts[timestamps.plain_stamp(words[2])] = None
        elif not words[3].startswith("COM") and any(map(_is_read, tables)):
            length_s, stamp = numbers.scaled(words[1]), timestamps.plain_stamp(words[2])
            kinds = "".join("nt"[not numbers.is_number(word)] for word in words[3:])
            parts = [
                (table, words[3 + at : 3 + at + len(table.headers)])
                for table, span in zip(tables, _spans(kinds, layouts), strict=False)
                for at in range(*span, len(table.headers))
            ]
            if not parts or not all(_take(reader, *part, stamp, length_s) for part in parts):
                source.skip(number)
    return False


def _csv_tables(names: Sequence[str]) -> tuple[list[reports.ReportTable], tuple[str, ...]]:
    """Return the tables side by side in a header, and how each is laid out in a row.

    It is n for a number, t for a text and ? for either, with + for a table that may be repeated.
    """
    groups: list[list[str]] = [[]]
    for name in names:
        is_first = name.isupper() and name != "DEVICE"
        if groups[-1] and (is_first or groups[-1][-1].endswith("[...]")):
            groups.append([])
        groups[-1].append(name)
    tables, layouts = [], []
    for group in groups:
        heads = tuple(name.removesuffix("[...]") for name in group)
        table = table_of(heads) or reports.ReportTable(heads)
        is_known, item = table.columns or table.cpu, "t" if table.columns else "?"
        kinds = "".join(
            "n" if is_known and at != table.device_at else item for at in range(len(heads))
        )
        tables.append(table)
        layouts.append(kinds + "+" * group[-1].endswith("[...]"))
    return tables, tuple(layouts)


@lru_cache(maxsize=64)
def _spans(kinds: str, layouts: tuple[str, ...]) -> list[tuple[int, int]]:
    """Return where each table is in a row of such words, each as often as it can be; none for a
    row that is laid out otherwise."""
    starts = [{len(kinds)}]  # where the last tables may begin, from the last one on
    for layout in reversed(layouts):
        wanted, fits = layout.rstrip("+"), set[int]()
        for at in range(len(kinds) - len(wanted), -1, -1):
            after = at + len(wanted)
            if after in starts[-1] or (layout.endswith("+") and after in fits):
                pairs = zip(wanted, kinds[at:after], strict=True)
                fits |= {at} if all(one in (kind, "?") for one, kind in pairs) else set()
        starts.append(fits)
    found, at = list[tuple[int, int]](), 0
    for layout, fits in zip(layouts if 0 in starts[-1] else (), starts[-1:0:-1], strict=False):
        begin, at = at, at + len(layout.rstrip("+"))
        while layout.endswith("+") and at in fits:
            at += len(layout) - 1
        found.append((begin, at))
    return found


def _is_pair(words: Sequence[str]) -> bool:
    """Whether a line of ``sadf -p`` has a value that is read."""
    is_one = len(words) == 6 and words[1].lstrip("-").isdecimal()
    return is_one and (words[4] in SYSSTAT or words[4] in _SHARES)


def _take_pairs(source: Source, reader: reports.ReportReader) -> bool:
    """Take `sadf -p`: a value a line, those of a row behind each other."""
    row: dict[str, str] = {}
    of = ["", "", ""]  # the interval, the time, and whose
    for number, line in chain(source.lines(), [(0, "\t" * 5)]):
        words = line.rstrip("\r\n").split("\t")
        if words[1:4] != of and row:
            kind = "CPU" if "%idle" in row else "DEV"
            head, item = ((), ()) if of[2] == "-" else ((kind,), (of[2],))
            if (table := table_of((*head, *row))) is not None:
                _take(reader, table, (*item, *row.values()), of[1], numbers.scaled(of[0]))
            row = {}
        of = words[1:4]
        if len(words) > 3 and _RESTART.match(words[3]):
            reader.restarts[words[2]] = None
        elif _is_pair(words) and numbers.is_number(words[5]):
            row[words[4]] = words[5]
        elif line.strip() and (len(words) < 4 or _is_pair(words)):
            source.skip(number)
    return False


#: Lines that only JSON has that is laid out as sysstat does.
_JSON_LINES = ('{"disk_device"', '"timestamp"')


def json_parts(source: Source) -> Iterator[tuple[str, Any]]:
    """Yield the members of sysstat's JSON, each with its key, and objects in lists with "".

    By lines as sysstat writes them, however they were cut; else whole documents. Where the value
    begins in the line below, it is None here; a blank line is "" twice.
    """
    if not any(
        line.lstrip().startswith(_JSON_LINES) and line.rstrip(" ,").endswith("}")
        for line in source.head_lines
    ):
        for document in source.documents():
            yield from _members("", document.value)
        return
    for number, line in source.lines():
        body = line.strip().rstrip(",")
        key, _, text = body.partition(":") if body[:1] == '"' else ("", "", body)
        text = text.strip()
        if not body:
            yield "", ""
        elif text in ("", "[", "{"):
            yield key.strip('"'), None
        elif text[0] in '{"' and text[-1] != "{":
            try:
                value = from_json(text)
            except ValueError:
                source.skip(number)
                continue
            yield from _members(key.strip('"'), value)


def _members(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value and whatever is in it, but for the members of objects of mere numbers and texts."""
    yield key, value
    if isinstance(value, list):
        for item in value:
            yield from _members("", item)
    elif isinstance(value, dict) and any(isinstance(v, (dict, list)) for v in value.values()):
        for name, item in value.items():
            yield from _members(name, item)


def take_json(source: Source, reader: reports.ReportReader) -> bool:
    """Take what iostat and sadf write, and what jc makes of iostat's text.

    A report's time stands before its values; jc's begin with the processors'.
    """
    stamp, length_s, before = "", np.nan, ""
    for key, value in json_parts(source):
        if key == "date" and isinstance(value, str):
            reader.begin_call(timestamps.plain_stamp(value))
        elif key == "timestamp":
            stamp, length_s = _json_time(value)
            if stamp and not reader.by_time:
                reader.stamp(stamp)
        elif key == "disk" and not reader.by_time:
            reader.header(reports.ReportTable(("disk",)))
        elif before == "statistics" and value == "":
            reader.call.skipped_boot = True  # with -y a blank line stands for the first report
        before = key
        if isinstance(value, dict) and (restart := _json_time(value.get("boot"))[0]):
            reader.restarts[restart] = None
        if isinstance(value, dict) and (stamp or not reader.by_time):
            _take_object(reader, key, value, stamp, length_s)
    return False


def _take_object(
    reader: reports.ReportReader, key: str, value: dict[str, Any], stamp: str, length_s: float
) -> None:
    """Take a row of a device, of the processors, or of a sensor."""
    names = _JSON_NAMES | ({"device": "DEVICE"} if "degC" in value else {})
    if value.get("type") == "cpu" and not reader.by_time:
        reader.begin_report()
    if key == "avg-cpu" or value.get("type") == "cpu":
        value = {"cpu": "all"} | value
    # newer versions have sectors besides kB
    keys = dict.fromkeys(key for key in (*_JSON_NAMES, *value) if key in value)
    row = {names.get(key, key): _word(value[key]) for key in keys}
    row = {head: row[head] for head in (*_ITEMS, *row) if row.get(head)}
    table = table_of(tuple(row)) if row else None
    if table is not None:
        _take(reader, table, list(row.values()), stamp, length_s)


def _word(value: Any) -> str:
    """A text, or a number as one."""
    if isinstance(value, str):
        return value
    return "" if isinstance(value, dict | list) else repr(numbers.number_of(value))


def _json_time(value: Any) -> tuple[str, float]:
    if isinstance(value, str):
        return timestamps.plain_stamp(value), np.nan
    date, time = numbers.at(value, "date"), numbers.at(value, "time")
    if not isinstance(date, str) or not isinstance(time, str):
        return "", np.nan
    zone = " UTC" if value.get("utc") == 1 else ""
    return timestamps.plain_stamp(f"{date} {time}{zone}"), numbers.number_of(value.get("interval"))


_TAKE = {"text": _take_text, "csv": _take_csv, "pairs": _take_pairs, "json": take_json}
