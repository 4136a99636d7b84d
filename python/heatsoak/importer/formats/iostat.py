"""`iostat`: sysstat's in all versions, languages and layouts, as text or JSON, its own and jc's;
BSD's and macOS'.

What is read of each report: throughput, I/Os, latencies, queue, and how busy each device and the
processors were.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from typing import Literal

import numpy as np

from heatsoak.importer import numbers, reports, tables
from heatsoak.importer.block_devices import is_disk
from heatsoak.importer.formats import Format
from heatsoak.importer.formats.sar import take_json
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import date_in_heading, plain_stamp

_DIGITS = frozenset("0123456789-+.,n")
_DEVICE_WORDS = frozenset(("Device", "Device:", "device", "device:"))
_STAMP = re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2}|\s*[AaPp]\.?[Mm])")
#: The longest prefix that a tool such as `ts` puts before every line.
_MAX_PREFIX = 60
_TABLE_START = re.compile(r"(?:avg-cpu:|Device:?|Linux) ")
#: What a row of shares that was cut lacks.
_NO_SHARES = ["nan"] * 20
#: What macOS names beside the disks.
_MACOS_OTHERS = frozenset(("tty", "cpu", "load", "average"))


def _kind(source: Source) -> Literal["text", "json", "bsd", "rows"] | None:
    before = ""
    if source.first_character == "[" or source.first_character == "{":
        rows = [one.value for one in islice(source.documents(), 2)]
        if any(isinstance(row, dict) and row.get("type") == "device" for row in rows):
            return "json"
    for line in source.head_lines:
        if '"disk_device"' in line:
            return "json"
        if "/s" in line or "%b" in line or "%util" in line:
            words = _without_prefix(line.split())
            if len(words) > 2 and _table_of(tuple(words)) is not None:
                return "text"
            if "KB/t" in line and _disks_of(before, line):
                return "bsd"
        elif "avg-cpu:" in line and "%iowait" in line:
            return "text"
        if line.strip():
            before = line
    return "rows" if _are_rows(source.head_lines) else None


def _read(source: Source, options: Options) -> list[Log]:
    reader = reports.ReportReader(source, "iostat")
    kind = _kind(source)
    if kind == "json":
        take_json(source, reader)
    elif kind == "bsd":
        _take_bsd(source, reader)
    else:
        headers = _headers_of(source.head_lines) if kind == "rows" else ()
        if kind == "rows" and not headers:
            raise source.error(
                "holds rows of drives without the header that says what they are: keep it, as in "
                "iostat -xty 1 | grep -E 'Device|sda'"
            )
        _take_text(source, reader, _table_of(("Device", *headers)) if headers else None)
    if not reader.devices.rows:
        raise source.error("holds no devices: only 'iostat' with devices (without -c) can be read")
    return reports.logs_of(source, reader, options)


FORMAT = Format("iostat", "iostat", _kind, _read, priority=130)


# --- disks side by side --------------------------------------------------------------------------


def _take_bsd(source: Source, reader: reports.ReportReader) -> None:
    """`iostat -d` of BSD and macOS: disks side by side, a line for each report."""
    disks: list[tuple[str, int]] = []
    before, idle_at, width = "", -1, 0
    reader.devices.headers["MB/s"] = None
    for number, line in source.lines():
        words = line.split()
        if not words:
            continue
        if "KB/t" in words:
            disks = _disks_of(before, line)
            idle_at = words.index("id") if "id" in words else -1
            width = len(words)
        elif disks and len(words) == width and all(map(numbers.is_number, words)):
            reader.begin_report()
            for disk, at in disks:
                columns = tables.columns_of(("KB/t", "tps", "MB/s"))
                reader.row(disk, tables.values_of(columns, words[at : at + 3]) or [])
            if idle_at >= 0:
                reader.cpu(100.0 - numbers.scaled(words[idle_at]))
        elif not reader.command(line) and disks and numbers.is_number(words[0]):
            source.skip(number)
        before = line


def _disks_of(names: str, header: str) -> list[tuple[str, int]]:
    """Return each disk's name and where its three values begin."""
    words = header.split()
    places = [at for at in range(len(words) - 2) if words[at : at + 3] == ["KB/t", "tps", "MB/s"]]
    disks = [name for name in names.split() if name not in _MACOS_OTHERS]
    return list(zip(disks, places, strict=True)) if len(disks) == len(places) else []


# --- sysstat's text ------------------------------------------------------------------------------


def _row_of(table: reports.ReportTable, words: list[str], pending: str) -> list[str]:
    """Return a row's words, with the device where its header is; none for what is not a row.

    `pending` is a device that stood alone in the line before.
    """
    width, at = len(table.headers) - 1, -1 if table.device_at else 0
    device, values = words[at], words[1:] if at == 0 else words[:-1]
    if len(words) == width + 1 and words[1 + at][0] in _DIGITS:
        return words
    if pending and len(words) == width and words[0][0] in _DIGITS:
        device, values = pending, words
    elif len(words) > width + 1 and not numbers.is_number(words[-width - 1]):
        device, values = " ".join(words[:-width]), words[-width:]
        if not all(map(numbers.is_number, values)):
            return []
    else:
        return []
    return [device, *values] if at == 0 else [*values, device]


def _without_prefix(words: list[str]) -> list[str]:
    """Return a header's words without those that another tool put before them."""
    for index, word in enumerate(words[:6]):
        if word in _DEVICE_WORDS:
            return words[index:]
    return words


@lru_cache(maxsize=16)
def _table_of(words: tuple[str, ...]) -> reports.ReportTable | None:
    """Return the table whose header these words are, with the word for devices first or last."""
    is_named = words[0] in _DEVICE_WORDS
    if is_named or (
        words[0] not in tables.SYSSTAT and not words[0][0].isdigit() and "/s" not in words[0]
    ):
        headers, device_at = words[1:], 0
    elif words[-1] in _DEVICE_WORDS:
        headers, device_at = words[:-1], len(words) - 1
    else:
        return None
    is_device = sum(header in tables.SYSSTAT for header in headers) >= 2 and any(
        header.endswith("/s") or header == "tps" for header in headers
    )
    # another language's word for a device
    is_translated = words[0][0].isalpha() and words[1:2] in (("tps",), ("r/s",), ("rrqm/s",))
    is_other = not {"rtps", "KB/t", "Tape:"}.isdisjoint(words)
    if is_other or not is_device or not (is_named or device_at or is_translated):
        return None
    return reports.ReportTable(words, tables.columns_of(words), device_at)


# --- rows that were taken out of reports ---------------------------------------------------------

#: What `iostat -x` has said of each drive, by how many numbers: those of sysstat 5, 10, 11.7, 12.1
#: and 12.3. `_` stands for the unit, which those of sizes tell: they have one of their own.
_ROWS = {
    11: "rrqm/s wrqm/s r/s w/s r_/s w_/s avgrq-sz avgqu-sz await svctm %util",
    13: "rrqm/s wrqm/s r/s w/s r_/s w_/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    15: "r/s w/s r_/s w_/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz "
        "svctm %util",
    20: "r/s r_/s rrqm/s %rrqm r_await rareq-sz w/s w_/s wrqm/s %wrqm w_await wareq-sz "
        "d/s d_/s drqm/s %drqm d_await dareq-sz aqu-sz %util",
    22: "r/s r_/s rrqm/s %rrqm r_await rareq-sz w/s w_/s wrqm/s %wrqm w_await wareq-sz "
        "d/s d_/s drqm/s %drqm d_await dareq-sz f/s f_await aqu-sz %util",
}  # fmt: skip
#: Units of throughput, and how many KiB one is.
_ROW_UNITS = {"sec": 0.5, "kB": 1.0, "MB": 1024.0}
#: With so few numbers, or so few rows at work, they may be anything.
_LEAST_NUMBERS, _LEAST_ROWS = 5, 3


def _words_of(lines: Sequence[str]) -> list[list[str]]:
    """The words of each line; a file that was cut may end in zeros."""
    return [words for line in lines if (words := line.strip(" \t\0").split())]


def _are_rows(lines: Sequence[str]) -> bool:
    rows = _words_of(lines)
    return len(rows) >= _LEAST_ROWS and all(
        len(row) == len(rows[0]) > _LEAST_NUMBERS
        and is_disk(row[0])
        and all(map(numbers.is_number, row[1:]))
        for row in rows
    )


def _headers_of(lines: Sequence[str]) -> Sequence[str]:
    """Return the headers of rows without one; none where rates and sizes do not agree on them."""
    rows = np.array([[numbers.scaled(word) for word in row[1:]] for row in _words_of(lines)])
    headers = _ROWS.get(rows.shape[1], "").split()
    if not headers:
        return ()
    column = dict(zip(headers, rows.T, strict=True))
    ios, moved = [column["r/s"], column["w/s"]], [column["r_/s"], column["w_/s"]]
    if "avgrq-sz" in column:  # in sectors, of reads and writes together
        ios, moved, kib = [sum(ios)], [sum(moved)], [column["avgrq-sz"] / 2]
    else:
        kib = [column["rareq-sz"], column["wareq-sz"]]
    all_ios, all_moved, all_kib = (np.concatenate(each) for each in (ios, moved, kib))
    worked = (all_ios >= 1) & (all_kib > 0)
    for unit, size_kib in _ROW_UNITS.items():
        off = np.abs(all_moved * size_kib - all_kib * all_ios)
        # as both were rounded
        fits = off <= 0.02 * all_kib * all_ios + 0.01 * (size_kib + all_kib + all_ios)
        if worked.sum() >= _LEAST_ROWS and fits[worked].mean() > 0.9:
            return [header.replace("_/s", f"{unit}/s") for header in headers]
    return ()


# --- sysstat's text, line by line ----------------------------------------------------------------


def _take_text(
    source: Source, reader: reports.ReportReader, table: reports.ReportTable | None = None
) -> None:
    """Take the lines of reports; `table` is that of rows without headers."""
    every = table
    is_indented = False  # whether the header begins with blanks, as all of a quoted text does
    pending = ""
    is_other = False
    processors: reports.ReportTable | None = None
    prefix_words = _prefix_words(source.head_lines)
    prefix = ""
    for number, line in source.lines():
        if prefix_words:
            parts = line.split(None, prefix_words)
            prefix = plain_stamp(" ".join(parts[:prefix_words]))
            line = parts[prefix_words] if len(parts) > prefix_words else ""
        words = line.split()
        reader.is_cut = bool(words)
        if not words:
            table, is_other, pending = every, False, ""
            call = reader.calls[-1] if reader.calls else None
            if call is not None and call.blanks is not None and not call.stamps:
                call.blanks += 1
            continue
        if table is not None:
            if row := _row_of(table, words, pending):
                device = row[table.device_at or 0]
                pending = "" if device == pending else pending
                if reader.take(table, row, prefix):
                    if line[0] == " " and device is words[0] and not is_indented:
                        reader.devices.groups.add(device)  # of -g: indented by a blank
                    continue
            if len(words) == 1 and not numbers.is_number(words[0]):
                pending = words[0]
                continue
        if processors is not None and numbers.is_number(words[0]):
            reader.take(processors, [*words, *_NO_SHARES][: len(processors.headers)], prefix)
            processors = None
            continue
        if words[0] == "avg-cpu:" and "%idle" in words:
            processors = reports.table_of(words[1:], {}, ("%idle", "%iowait"))
            table, pending = None, ""
            continue
        if (date := date_in_heading(line)) is not None:
            reader.begin_call(date)
            reader.call.blanks = 0
            table, processors = None, None
            continue
        if len(words) > 2 and ("/s" in line or "tps" in line):
            if (found := _table_of(tuple(words))) is not None:
                table, pending, is_other = found, "", False
                is_indented = line[0].isspace()
                reader.header(found, prefix)
                continue
            if sum(word.endswith("/s") for word in words) > 1:
                table, is_other = None, True  # a table of file systems
                continue
        if len(line) <= 80:
            stamp = plain_stamp(line)
            if _STAMP.search(stamp):
                reader.stamp(stamp)
                table, processors = None, None
                continue
        is_numbers = sum(map(numbers.is_number, words)) >= min(3, len(words))
        if not reader.command(line) and not is_other and (table is not None or is_numbers):
            source.skip(number)
    for call in reader.calls:
        if call.skipped_boot is None and call.blanks is not None and call.blanks >= 2:
            call.skipped_boot = True  # with -y a blank line stands for the first report


def _prefix_words(lines: Sequence[str]) -> int:
    """How many words a tool put before each line: a time, as `ts` does; 0 without one."""
    for line in lines:
        match = _TABLE_START.search(line[: _MAX_PREFIX + 9])
        if match is not None:
            prefix = line[: match.start()]
            has_time = _STAMP.search(prefix) or re.search(r"\b\d{10}\b", prefix)
            return len(prefix.split()) if has_time else 0
    return 0
