"""`sar`'s text, in every language, with 12 or 24 hours."""

import re

import numpy as np

from heatsoak.importer import sysstat
from heatsoak.importer.formats.sar.reports import ITEM_HEADERS, RESTART, Reader, Table, table_of
from heatsoak.importer.formats.sar.runs import logs_of
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source

_DAY_S = 86400.0
TIME = re.compile(
    r"\s*(?:([AP]M|上午|下午|午前|午後|오전|오후)\s*)?"
    r"(\d{1,2})[:.,時时시]\s?(\d{2})[:.,分분]\s?(\d{2})(?:[秒초])?"
    r"(?:\s?([AaPp])\.?\s?[Mm]\.?)?(?=\s|$)\s*(.*)",
    re.ASCII | re.DOTALL,
)


def take_text(source: Source, reader: Reader, options: Options) -> list[Log]:
    """Take the lines of sar's text."""
    table: Table | None = None
    date = ""
    first_date: str | None = None
    days = 0.0  # from the first heading's day
    sections: dict[tuple[str, ...], float] = {}
    section: tuple[str, ...] = ()
    halves = False
    for number, line in source.lines():
        match = TIME.match(line)
        if match is None:
            heading = sysstat.heading(line)
            if heading is not None:
                date = sysstat.stamp(heading.date)
                if first_date is None:
                    first_date = date
                else:
                    days = _days_between(first_date, date, days)
                sections, table = {}, None
            elif table is not None and line.strip() and not reader.averages:
                reader.averages = ":" in line
            continue
        half_before, hours, minutes, seconds, half, rest = match.groups()
        hour = int(hours)
        if half_before:
            half = "p" if half_before in ("PM", "下午", "午後", "오후") else "a"
        if half:
            halves = True
            hour = hour % 12 + (12 if half in "pP" else 0)
        second = 3600.0 * hour + 60.0 * int(minutes) + int(seconds)
        words = rest.split()
        if not words:
            continue
        if RESTART.match(rest):
            reader.restarts.append(days * _DAY_S + second)
            continue
        if words[0] == "COM":
            continue
        if words[-1][0] not in "0123456789-+.n" or words[0] in ITEM_HEADERS:
            found = table_of(words)
            if found is not None:
                table, section = found, tuple(words)
                if found.kind in ("disk", "io"):
                    reader.headers.update(dict.fromkeys(words))
                continue
        if table is None or len(words) != table.width:
            if table is not None and table.kind in ("disk", "io"):
                reader.unread(number)
            continue
        last = sections.get(section)
        at = days * _DAY_S + second
        if last is not None:
            at += _DAY_S * max(0.0, np.floor((last - at) / _DAY_S + 0.5))
        sections[section] = at
        if not reader.row(table, words, at, np.nan):
            reader.unread(number)
    return _logs_of_clock(source, reader, options, first_date or "", halves)


def _days_between(first: str, date: str, otherwise: float) -> float:
    times = sysstat.read_stamps([first, date])
    if len(times.t_s) == 2 and np.isfinite(times.t_s).all() and times.clock == "local":
        return float(times.t_s[1] // _DAY_S)
    return otherwise


def _logs_of_clock(
    source: Source, reader: Reader, options: Options, date: str, halves: bool
) -> list[Log]:
    t_s = np.fromiter(reader.numbers.keys(), dtype=float, count=len(reader.numbers))
    begin: float | None = None
    clock: Clock = "none"
    remarks = []
    if date:
        word = f"{date} 12:00:00{' AM' if halves else ''}"
        times = sysstat.read_stamps([word])
        if times.clock == "local" and times.begin_unix_s is not None:
            begin, clock = times.begin_unix_s - (0.0 if halves else 0.5 * _DAY_S), "local"
            if times.doubt:
                remarks.append(Remark(times.doubt, doubt=True))
    restarts = np.asarray(reader.restarts, dtype=float)
    return logs_of(source, reader, options, t_s, restarts, clock, begin, remarks)
