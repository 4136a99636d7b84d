"""sysstat's text: a table of devices below the processors', in every version and locale."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heatsoak.importer import sysstat
from heatsoak.importer.formats.iostat.reports import COMMAND, Reader, take_command
from heatsoak.importer.source import Source

_DIGITS = frozenset("0123456789-+.,n")
_DEVICE_WORDS = frozenset(("Device", "Device:", "device", "device:"))
_STAMP = re.compile(r"(?<!\d)\d{1,2}:\d{2}(?::\d{2}|\s*[AaPp]\.?[Mm])")
#: What stands before every line where a tool such as `ts` added the time: no more than so long.
_LONGEST_PREFIX = 60
_TABLE_START = re.compile(r"(?:avg-cpu:|Device:?|Linux) ")
_TOTALS = re.compile(r"(?:kB|MB|Blk|GB)_(?:read|wrtn)")


@dataclass
class _Table:
    """A header's columns: `names[i]` is what the i-th value of a row becomes, if anything."""

    names: list[tuple[str, float] | None]
    headers: tuple[str, ...]
    #: The index of the word that names the device: 0 or -1.
    device_at: int
    #: Columns of totals with those of their rates.
    rates: list[tuple[int, int]]

    #: Whether the header itself begins with blanks, as all lines of a quoted text do.
    indented: bool = False

    @property
    def width(self) -> int:
        return len(self.names)


def unprefixed(words: list[str]) -> list[str]:
    """Return a header's words without those that another tool put before them."""
    for index, word in enumerate(words[:6]):
        if word in _DEVICE_WORDS:
            return words[index:]
    return words


def table_of(words: list[str]) -> _Table | None:
    """Return the table whose header these words are."""
    if words[0] in _DEVICE_WORDS or (
        words[0] not in sysstat.COLUMNS and not words[0][0].isdigit() and "/s" not in words[0]
    ):
        headers, device_at = words[1:], 0
    elif words[-1] in _DEVICE_WORDS:
        headers, device_at = words[:-1], -1
    else:
        return None
    known = [sysstat.COLUMNS.get(header) for header in headers]
    if sum(column is not None for column in known) < 2 or not {"rtps", "KB/t"}.isdisjoint(words):
        return None
    if not any(header.endswith("/s") or header == "tps" for header in headers):
        return None
    if words[0] not in _DEVICE_WORDS and device_at == 0 and not _is_translated(words):
        return None
    taken: set[str] = set()
    names: list[tuple[str, float] | None] = []
    both = any(column is not None and column[0] == "read_lat_us" for column in known)
    for column in known:
        wanted = column is not None and column[0] not in taken
        if column is not None and both and column[0] == "lat_us":
            wanted = False
        names.append(column if wanted else None)
        if column is not None:
            taken.add(column[0])
    rates = [
        (index, headers.index(f"{header}/s"))
        for index, header in enumerate(headers)
        if _TOTALS.fullmatch(header) and f"{header}/s" in headers
    ]
    return _Table(names, tuple(headers), device_at, rates)


def _is_translated(words: list[str]) -> bool:
    """Whether a header begins with another language's word for a device."""
    return words[0][0].isalpha() and words[1] in ("tps", "r/s", "rrqm/s")


def take_text(source: Source, reader: Reader) -> None:
    """Take the lines of sysstat's text."""
    table: _Table | None = None
    last_header, last_table = "", table
    pending = ""
    other = False
    idle_at: list[int] = []
    bad, first_bad = 0, 0
    prefix_words = _prefix_words(source.head_lines)
    prefix = ""
    for number, line in source.lines():
        if prefix_words:
            parts = line.split(None, prefix_words)
            prefix = sysstat.stamp(" ".join(parts[:prefix_words]))
            line = parts[prefix_words] if len(parts) > prefix_words else ""
        words = line.split()
        reader.is_cut = True
        if not words:
            table, other, pending = None, False, ""
            reader.is_cut = False
            call = reader.calls[-1] if reader.calls else None
            if call is not None and call.blanks is not None and not call.stamps:
                call.blanks += 1
            continue
        if table is not None:
            at = table.device_at
            if len(words) == table.width + 1 and words[1 + at][0] in _DIGITS:
                device = words[at]
                values = words[1:] if at == 0 else words[:-1]
            elif pending and len(words) == table.width and words[0][0] in _DIGITS:
                device, values, pending = pending, words, ""
            elif len(words) > table.width + 1 and all(
                map(sysstat.is_number, words[-table.width :])
            ):
                device, values = " ".join(words[: -table.width]), words[-table.width :]
            else:
                device, values = "", []
            if device and _take_row(reader, table, device, values):
                if line[0] == " " and at == 0 and device is words[0] and not table.indented:
                    reader.devices.groups.add(device)  # of -g: its name is set in by a blank
                continue
            if len(words) == 1 and not sysstat.is_number(words[0]):
                pending = words[0]
                continue
        if idle_at and sysstat.is_number(words[0]):
            idle = [sysstat.scaled(words[at], 1.0) for at in idle_at if at < len(words)]
            reader.cpu(sum(idle) if len(idle) == len(idle_at) else np.nan, prefix)
            idle_at = []
            continue
        if words[0] == "avg-cpu:" and "%idle" in words:
            idle_at = [words.index(word) - 1 for word in ("%idle", "%iowait") if word in words]
            table, pending = None, ""
            continue
        heading = sysstat.heading(line)
        if heading is not None:
            reader.begin_call(sysstat.stamp(heading.date))
            reader.call.blanks = 0
            table, idle_at = None, []
            continue
        if len(words) > 2 and ("/s" in line or "tps" in line):
            found = last_table if line == last_header else table_of(words)
            if found is not None:
                table, pending, other = found, "", False
                last_header, last_table = line, found
                table.indented = line[0].isspace()
                reader.header(found.headers, prefix)
                continue
            if sum(word.endswith("/s") for word in words) > 1:
                table, other = None, True  # a table of file systems
                continue
        if len(line) <= 80:
            stamp = sysstat.stamp(line)
            if _STAMP.search(stamp):
                reader.stamp(stamp)
                table, idle_at = None, []
                continue
        command = COMMAND.search(line) if "iostat" in line else None
        if command is not None:
            take_command(reader, command.group(1).split())
        elif not other and (
            table is not None or sum(map(sysstat.is_number, words)) >= min(3, len(words))
        ):
            bad, first_bad = bad + 1, first_bad or number
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")
    for call in reader.calls:
        if call.skipped_boot is None and call.blanks is not None and call.blanks >= 2:
            call.skipped_boot = True  # with -y a blank line stands for the first report


def _take_row(reader: Reader, table: _Table, device: str, words: Sequence[str]) -> bool:
    values = []
    for column, word in zip(table.names, words, strict=True):
        if column is not None:
            value = sysstat.scaled(word, column[1])
            if value != value and not sysstat.is_number(word):
                return False
            values.append((column[0], value))
    reader.row(device, values)
    for total_at, rate_at in table.rates:
        total, rate = sysstat.scaled(words[total_at], 1.0), sysstat.scaled(words[rate_at], 1.0)
        if words[total_at][-1].isdigit():
            reader.length(total, rate)
    return True


def _prefix_words(lines: Sequence[str]) -> int:
    """How many words a tool put before each line: a time, as `ts` does; 0 without one."""
    for line in lines:
        match = _TABLE_START.search(line[: _LONGEST_PREFIX + 9])
        if match is not None:
            prefix = line[: match.start()]
            has_time = _STAMP.search(prefix) or re.search(r"\b\d{10}\b", prefix)
            return len(prefix.split()) if has_time else 0
    return 0
