"""What sysstat's tools share: headings, columns and units, numbers, times in any locale, JSON."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from pydantic_core import from_json

from heatsoak.importer.frames import Array, intervals
from heatsoak.importer.numbers import is_number, number_of, scaled
from heatsoak.importer.source import Source
from heatsoak.importer.tables import GIB, KIB, MIB, SECTOR, SYSSTAT
from heatsoak.importer.tables.cells import Words
from heatsoak.importer.timestamps import Times, date_order, read_times

#: Headers in multiples of 1024 bytes.
_KIB_HEADERS = {name for name, (_, scale) in SYSSTAT.items() if scale in (KIB, MIB, GIB)}

_HEADING = re.compile(
    r"(?:Linux|GNU/kFreeBSD)\s+\S+\s+\(.*?\)\s+(.*?)\s*(?:_\S+_\s*(?:\(\d{1,6} CPU\).*)?)?$"
)
#: Letters that some locales write dates and times with.
_DATE_LETTERS = str.maketrans(
    {"年": "-", "月": "-", "日": " ", "년": "-", "월": "-", "일": " ",
     "时": ":", "時": ":", "시": ":", "分": ":", "분": ":", "秒": " ", "초": " ",
     "\u202f": " ", "\u00a0": " "}
)  # fmt: skip
_SPACED = re.compile(r"(?<=\d)([-:])\s+(?=\d)")
_DOTTED_YEAR_FIRST = re.compile(r"\b(\d{4})\. ?(\d{1,2})\. ?(\d{1,2})\.?(?=\s|$)")
_DOTTED_TIME = re.compile(r"(?<![\d.])(\d{1,2})\.(\d{2})\.(\d{2})(?![\d.])")
_HALVES = {"上午": "AM", "午前": "AM", "오전": "AM", "下午": "PM", "午後": "PM", "오후": "PM"}
_HALF_FIRST = re.compile(r"\b([AP]M)\s*(\d{1,2}:\d{2}:\d{2})")
_SHORT_DATE = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/(\d{2})(?![\d/])")

#: Place, quantity, and what a value is multiplied by.
ReportColumn = tuple[int, str, float]
#: Lines that only JSON has that is laid out as sysstat does.
_JSON_LINES = ('{"disk_device"', '"timestamp"')


def date_in_heading(line: str) -> str | None:
    """Return the date of a report's first line: ``Linux 6.1.0 (host)  11/21/2026  _x86_64_``.

    As :func:`stamp` gives it; None where the line is none.
    """
    if not line.startswith(("Linux ", "GNU/kFreeBSD")) or len(line) > 500:
        return None
    match = _HEADING.match(line.strip())
    return stamp(match.group(1)) if match else None


def columns_of(headers: Iterable[str]) -> list[ReportColumn]:
    """Return the columns that are known among `headers`.

    Of several for one quantity the first; no latency of all I/Os beside that of reads.
    """
    found: dict[str, ReportColumn] = {}
    for at, header in enumerate(headers):
        if header in SYSSTAT:
            name, scale = SYSSTAT[header]
            found.setdefault(name, (at, name, scale))
    if "read_lat_us" in found:
        found.pop("lat_us", None)
    return list(found.values())


def values_of(
    columns: Iterable[ReportColumn], words: Sequence[str]
) -> list[tuple[str, float]] | None:
    """Return quantities and values of a row; None where one of them is not a number."""
    values = []
    for at, name, scale in columns:
        value = scaled(words[at], scale)
        if value != value and not is_number(words[at]):
            return None
        values.append((name, value))
    return values


def json_values(numbers: dict[str, Any]) -> list[tuple[str, float]]:
    """Return quantities and values of a JSON object whose keys are headers."""
    words = list(numbers.values())
    return [(name, number_of(words[at]) * scale) for at, name, scale in columns_of(numbers)]


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
            yield key.strip('"'), value


def _members(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """A value and whatever is in it, but for the members of objects of mere numbers and texts."""
    yield key, value
    if isinstance(value, list):
        for item in value:
            yield from _members("", item)
    elif isinstance(value, dict) and any(isinstance(v, (dict, list)) for v in value.values()):
        for name, item in value.items():
            yield from _members(name, item)


def unit_remark(headers: Iterable[str]) -> str:
    """Return how the units of these columns were converted; empty where they were not."""
    headers = list(headers)
    if any(name in _KIB_HEADERS for name in headers):
        return "kB/s and MB/s are multiples of 1024 in iostat and sar: converted to 10^6 bytes/s"
    if any(SYSSTAT.get(name, ("", 0.0))[1] == SECTOR for name in headers):
        return "sectors of 512 bytes: converted to 10^6 bytes/s"
    return ""


def stamp(text: str) -> str:
    """Return a date and time of any locale in letters that :mod:`timestamps` reads."""
    word = text.strip()
    if not word.isascii():
        for local, half in _HALVES.items():
            word = word.replace(local, f" {half} ")
        word = _SPACED.sub(r"\1", word.translate(_DATE_LETTERS))
        word = re.sub(r":(?=\s|$)", "", word)
    word = _DOTTED_YEAR_FIRST.sub(r"\1-\2-\3", word)
    word = _HALF_FIRST.sub(r"\2 \1", word)
    if ":" not in word:
        found = list(_DOTTED_TIME.finditer(word))
        if found:
            last = found[-1]
            word = f"{word[: last.start()]}{':'.join(last.groups())}{word[last.end() :]}"
    return word


def read_stamps(stamps: Sequence[str], date: str = "") -> Times:
    """Read stamps that :func:`stamp` made; `date`, of the heading, is the day of a mere time.

    A two-digit year behind slashes is the C locale's: month first, if the order is open.
    """
    _, doubt = date_order(chain(stamps, [date]))
    if doubt and any(_SHORT_DATE.search(word) for word in chain(stamps, [date])):
        month_first = Words()
        for word in stamps:
            month_first.append(_month_first(word))
        stamps = month_first
        date = _month_first(date)
    else:
        doubt = ""
    times = read_times(stamps)
    if times.clock == "none" and date:
        first = next((word for word, t in zip(stamps, times.t_s, strict=True) if t == 0), "")
        day = read_times([f"{date} {first}"])
        if day.clock == "local":
            times = Times(times.t_s, "local", day.start_unix_s, doubt or day.doubt)
    if doubt and not times.doubt:
        text = "the order of its dates is not certain: read as month before day"
        times = Times(times.t_s, times.clock, times.start_unix_s, text)
    return times


def _month_first(word: str) -> str:
    return _SHORT_DATE.sub(r"20\3-\1-\2", word)


def apart(t_s: Array) -> Array:
    """Return rising times of whole seconds with those that repeat set half an interval on.

    A report that came a little early has the second of the one before.
    """
    same = np.flatnonzero(np.diff(t_s) == 0) + 1
    if not len(same):
        return t_s
    usual = float(np.median(intervals(t_s))) or 1.0
    moved = t_s.copy()
    moved[same] += min(0.5, usual / 2)
    return moved
