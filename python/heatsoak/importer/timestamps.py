"""Dates and times as logs write them, made into seconds.

A column's format is found in its first word, and polars reads what is in it. Everything else is
read word by word: no library reads what loggers write. dateutil and dateparser take bare numbers
for dates, fill in parts of today's, swap day and month word by word, and need 10 to 1000 times as
long.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import chain, islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.importer.frames import Array
from heatsoak.importer.log import Clock
from heatsoak.importer.numbers import MAX_NUMBER, number_of
from heatsoak.recording import Touched, grid
from heatsoak.words import amount_text

_DAY_S = 86400.0
#: A clock that goes back by more than this has passed midnight; by less, a new run begins.
_MIDNIGHT_S = 43200.0

#: Summer time begins and ends on Sundays up to this time of the day, if rows are no further apart.
_CHANGED_BY_S, _MOST_BETWEEN_S = 4 * 3600.0, 600.0

_DATE = re.compile(r"(?<!\d)(\d{1,4})([./-])(\d{1,2})\2(\d{1,4})(?!\d)")
_TIME = re.compile(
    r"(?<![\d.])(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:[.,:](\d{1,9}))?)?\s*([ap]\.?m\.?)?(?!\d)",
    re.IGNORECASE,
)
_ZONE = re.compile(r"(?:(?<=\d)|(?<=\s))(Z|UTC|GMT|[+-]\d{2}:?\d{2})(?=\s|$)")
#: A span: ``12s``, ``T+12s``, ``1h 02m 03s``, ``2 days 01:02:03``.
_SPAN = re.compile(
    r"^(?:T\s?)?[+-]?\s?(?:(\d{1,5}) ?h(?:ours?|rs?)?)?[ ,:]*"
    r"(?:(\d{1,6}) ?m(?:in(?:utes?)?)?)?[ ,:]*"
    r"(?:(\d{1,9}(?:[.,]\d{1,9})?) ?(ms|s(?:ec(?:onds?)?)?))?$",
    re.IGNORECASE,
)
_DAYS = re.compile(r"^(\d{1,4}) ?d(?:ays?)?[ ,:]+(?=\d)", re.IGNORECASE)
#: Dates without marks, or with the same one: ``20261120T140317``, ``2026-11-20-14-03-17``.
_COMPACT = re.compile(
    r"^((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)[-_T .]?(\d\d)[-_.h]?(\d\d)[-_.m]?(\d\d)"
    r"(?:[.,](\d{1,9}))?(?![\d:])"
)
#: A date without marks before a time with them: ``20261120 14:03:17``.
_PACKED = re.compile(r"^((?:19|20)\d\d)(\d\d)(\d\d)[ T](?=\d{1,2}:)")
#: Minutes and seconds, perhaps with a fraction.
_SHORT = re.compile(r"^\D{0,3}(\d{1,3}):(\d{2})([.,]\d{1,9})?$")
#: Days since the end of 1899, as spreadsheets keep times: 1990 to 2080.
_SERIAL = (32_874.0, 65_745.0)
_SERIAL_EPOCH_D = 25_569.0
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WORD_DATE = re.compile(
    r"(?:(\d{1,2})[ -])?([A-Z][a-z]{2})[a-z]*[ -]+(\d{1,2}|\d{4})(?=[ ,]|$)"
    r"(?:.*?\b((?:19|20)\d{2}))?"
)

#: What polars reads: a date with a year of four digits, and a time with seconds.
_PLAIN = re.compile(
    r"(?:(\d{4})([./-])\d{1,2}\2\d{1,2}|\d{1,2}([./-])\d{1,2}\3\d{4})([ T])"
    r"\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d{1,6})?(Z?)"
)

#: A time server sets a clock back by at most this, this often, in a log of this many rows or more.
_SET_BY_S, _SET_TIMES, _MIN_ROWS = 15.0, 2, 30
#: This many words are read at once.
_BLOCK = 1 << 14
#: Numbers of this size are an epoch (2001 to 2128) in s, ms, us or ns.
_EPOCHS = ((1e9, 5e9, 1.0), (1e12, 5e12, 1e-3), (1e15, 5e15, 1e-6), (1e18, 5e18, 1e-9))


#: How the doubt begins that only a date's order is open.
_ORDER_OPEN = "the order of its dates is not certain"


@dataclass(frozen=True)
class Times:
    """The times of a log's rows.

    Attributes:
        t_s: seconds from the first readable row; NaN for rows that cannot be read. Falls where
            the log's clock went back.
        clock: what they count from.
        start_unix_s: the clock's time at 0; None with the clock ``none``.
        doubt: what is uncertain about them, or empty.
    """

    t_s: Array
    clock: Clock
    start_unix_s: float | None
    doubt: str = ""

    @property
    def touches(self) -> tuple[Touched, ...]:
        """What the doubt leaves open: whatever day it is, a log of one day has the same course."""
        is_order = self.doubt.startswith(_ORDER_OPEN) and ";" not in self.doubt
        times_s = (self.start_unix_s or 0.0) + self.t_s[np.isfinite(self.t_s)]
        is_one_day = len(times_s) > 0 and np.ptp(np.floor(times_s / _DAY_S)) == 0
        return () if is_order and is_one_day else ("time",)


def read_times(
    words: Sequence[str], scale_s: float | None = None, *, day_first: bool | None = None
) -> Times:
    """Read a column of time stamps: dates with times, times of a day, epochs, or plain numbers.

    `scale_s` is the unit of plain numbers where the header tells it (1e-3 for ms). A date alone is
    midnight. Times of a day without a date continue after midnight. `day_first` is the order of
    the dates where the format fixes it.
    """
    first = next(iter(words), "").strip()
    if _COMPACT.match(first) is None:
        numbers = _numbers(words)
        readable = np.isfinite(numbers).sum()
        if 2 * readable > len(words) or (
            readable > 0.5 * max(1, sum(bool(word.strip()) for word in words))
        ):
            return _of_numbers(numbers, scale_s)
        if (short := _minutes(words)) is not None:
            return short
    day_first, doubt = date_order(words) if day_first is None else (day_first, "")
    seconds, has_date, has_zone = _seconds(words, day_first)
    if not has_date.any():
        return _from_first(_past_midnight(seconds), "none", "")
    seconds[~has_date] = np.nan  # a damaged one among dates tells no day
    seconds, said = _through_changes(seconds, has_summer=not has_zone)
    clock: Clock = "utc" if has_zone else "local"
    return _from_first(seconds, clock, "; ".join(filter(None, (doubt, said))))


def _through_changes(seconds: Array, *, has_summer: bool) -> tuple[Array, str]:
    """Return a wall clock's times without the hour that it was set to or from summer time.

    Nor with the seconds by which it was set back once or twice, as time servers do. Also returns
    what is doubtful of that: it is known by the night, and by the jump.
    """
    known = np.flatnonzero(np.isfinite(seconds))
    between = np.diff(seconds[known])
    usual = grid.usual_of(between)
    if not 0 < usual <= _MOST_BETWEEN_S:
        return seconds, ""
    before = seconds[known[:-1]]
    # days are counted from a Thursday
    is_night = ((before // _DAY_S + 4) % 7 == 0) & (before % _DAY_S <= _CHANGED_BY_S)
    is_hour = np.abs(np.abs(between - usual) - 3600.0) <= 0.5 * usual
    is_summer = is_night & is_hour & has_summer
    # rows that are out of order are followed by a jump forward
    goes_on = np.append(between[1:], usual) <= usual + np.minimum(usual, -between / 2)
    is_set = (between < 0) & (between >= -_SET_BY_S) & goes_on
    is_set &= (np.count_nonzero(between < 0) <= _SET_TIMES) & (len(between) >= _MIN_ROWS)
    # a series that begins again goes back by all of it
    is_set &= -between < 0.1 * (before - before[0])
    moved_s, taken = 0.0, seconds.copy()
    said: dict[str, None] = {}
    for at in np.flatnonzero(is_summer | is_set | (between < -_MIDNIGHT_S)).tolist():
        # another series, of a run or a drive, begins again without it
        is_change = bool(is_summer[at] or is_set[at])
        moved_s = moved_s + (usual - between[at] if is_change else -moved_s)
        taken[known[at + 1] :] = seconds[known[at + 1] :] + moved_s
        if is_summer[at]:
            said["its clock was set by an hour in the night of a Sunday"] = None
        elif is_set[at]:
            said[f"its clock was set back by {amount_text(usual - between[at], 's', 2)}"] = None
    return taken, f"{'; '.join(said)}: taken as going on" if said else ""


def _seconds(words: Sequence[str], day_first: bool) -> tuple[Array, NDArray[np.bool_], bool]:
    """Each word's seconds, whether it has a date, and whether any of them has a zone."""
    first = next(iter(words), "").strip()
    plain = _PLAIN.fullmatch(first)
    format, zoned = (None, False) if plain is None else (_format(plain, day_first), bool(plain[5]))
    seconds = np.full(len(words), np.nan)
    has_date = np.zeros(len(words), dtype=bool)
    has_zone = False
    rest = iter(words)
    for start in range(0, len(words), _BLOCK):
        block = list(islice(rest, _BLOCK))
        part = slice(start, start + len(block))
        if format is not None:
            moments = pl.Series(block, dtype=pl.String).str.to_datetime(
                format, time_unit="us", strict=False
            )
            us = moments.to_physical().fill_null(0).to_numpy()
            days, us_of_day = np.divmod(us, int(_DAY_S * 1e6))
            whole_s, part_us = np.divmod(us_of_day, 1_000_000)
            # a year that is not written in full is not the one meant
            has_date[part] = moments.dt.year().is_between(1000, 9999).fill_null(False).to_numpy()
            has_zone = has_zone or (zoned and bool(has_date[part].any()))
            seconds[part] = _DAY_S * days + (whole_s + part_us / 1e6)
        for index in (start + np.flatnonzero(~has_date[part])).tolist():
            parsed = _moment(block[index - start], day_first)
            seconds[index] = np.nan
            if parsed is not None:
                seconds[index], has_date[index], is_zoned = parsed
                has_zone = has_zone or is_zoned
    return seconds, has_date, has_zone


def _format(plain: re.Match[str], day_first: bool) -> str:
    """What polars calls the format of a word."""
    year, mark, other_mark, between, zone = plain.groups()
    if year:
        date = f"%Y{mark}%m{mark}%d"
    else:
        day, month = ("%d", "%m") if day_first else ("%m", "%d")
        date = f"{day}{other_mark}{month}{other_mark}%Y"
    return f"{date}{between}%H:%M:%S%.f{zone}"


def date_order(words: Iterable[str]) -> tuple[bool, str]:
    """Return whether the day stands before the month in these dates, and what is doubtful of it."""
    first, second, separator, clock12 = 0, 0, "", False
    for word in words:
        match = _DATE.search(word)
        if match is None or len(match.group(1)) > 2:
            continue
        first, second = max(first, int(match.group(1))), max(second, int(match.group(3)))
        separator = match.group(2)
        clock12 = clock12 or re.search(r"\d\s*[ap]\.?m\b", word, re.IGNORECASE) is not None
    if first > 12 or not separator:
        return True, ""
    if second > 12:
        return False, ""
    month_first = separator == "-" or (separator == "/" and clock12)
    order = "month before day" if month_first else "day before month"
    doubt = "" if separator == "." else f"{_ORDER_OPEN}: read as {order}"
    return not month_first, doubt


def _numbers(words: Sequence[str]) -> Array:
    rest = iter(words)
    blocks = []
    while block := list(islice(rest, _BLOCK)):
        if len(block) < _BLOCK:
            blocks.append(np.array([number_of(word) for word in block], float))
            continue
        numbers = pl.Series(block).cast(pl.Float64, strict=False).fill_null(np.nan)
        values = numbers.to_numpy(writable=True)
        others = np.flatnonzero(~(np.abs(values) < MAX_NUMBER))
        values[others] = [number_of(block[index]) for index in others.tolist()]
        blocks.append(values)
    return np.concatenate(blocks) if blocks else np.empty(0)


def _of_numbers(numbers: Array, scale_s: float | None) -> Times:
    finite = numbers[np.isfinite(numbers)]
    typical = float(np.median(finite))
    apart = np.abs(np.diff(finite))
    is_serial = _SERIAL[0] < typical < _SERIAL[1] and len(finite) > 1 and apart.max() < 0.05
    if is_serial and scale_s is None:
        # to the millisecond: more digits than that they do not have
        return _from_first(np.round((numbers - _SERIAL_EPOCH_D) * _DAY_S, 3), "local", "")
    for low, high, scale in _EPOCHS:
        if low <= typical <= high:
            times = _from_first(numbers, "utc", "")
            return replace(
                times, t_s=times.t_s * scale, start_unix_s=(times.start_unix_s or 0.0) * scale
            )
    return _from_first(numbers * (scale_s or 1.0), "none", "", keeps_zero=True)


def _from_first(seconds: Array, clock: Clock, doubt: str, *, keeps_zero: bool = False) -> Times:
    finite = seconds[np.isfinite(seconds)]
    begin = float(finite[0]) if len(finite) else 0.0
    if keeps_zero and begin >= 0 and len(finite) > 1 and begin <= 10 * abs(finite[1] - begin):
        begin = 0.0  # a count that began at the first interval's end
    known = begin if clock != "none" and len(finite) else None
    return Times(seconds - begin, clock, known, doubt)


def _minutes(words: Sequence[str]) -> Times | None:
    """Minutes and seconds, as a stop watch or a spreadsheet shows them; None for anything else."""
    filled = (word.strip() for word in words if word.strip())
    found = [_SHORT.match(word) for word in islice(filled, 2000)]
    known = [match for match in found if match is not None]
    if len(known) < 2 or len(known) < 0.9 * len(found):
        return None
    first = known[0]
    has_fraction = any(match.group(3) for match in known)
    begins = int(first.group(1)) == 0 and int(first.group(2)) < 31
    if not (has_fraction or begins or any(int(match.group(1)) > 23 for match in known)):
        return None
    seconds = np.full(len(words), np.nan)
    for index, word in enumerate(words):
        if (match := _SHORT.match(word.strip())) is not None:
            seconds[index] = 60.0 * int(match[1]) + number_of(f"{match[2]}{match[3] or ''}")
    # from 59:59 to 00:00 an hour has passed; what jumps elsewhere is a new run
    passed = seconds[is_known := np.isfinite(seconds)]
    is_new_hour = np.append(False, (passed[:-1] > 3540) & (passed[1:] < 60))
    seconds[is_known] += 3600.0 * np.cumsum(is_new_hour)
    doubt = "" if has_fraction else "its times are read as minutes and seconds"
    return _from_first(seconds, "none", doubt, keeps_zero=True)


def _past_midnight(seconds: Array) -> Array:
    known = np.isfinite(seconds)
    nights = np.cumsum(np.diff(seconds[known], prepend=np.nan) < -_MIDNIGHT_S)
    unwrapped = seconds.copy()
    unwrapped[known] += _DAY_S * nights
    return unwrapped


def _moment(word: str, day_first: bool) -> tuple[float, bool, bool] | None:
    """Seconds (from the epoch, or from midnight), whether dated, whether it has a zone."""
    word = _PACKED.sub(r"\1-\2-\3 ", word.strip())
    if (compact := _COMPACT.match(word)) is not None:
        year, month, day, hour, minute, second = (int(compact.group(i)) for i in (1, 3, 4, 5, 6, 7))
        midnight = _midnight(year, month, day)
        if midnight is not None:
            is_utc = word[compact.end() :].endswith("Z")
            part = float(f"0.{compact.group(8)}") if compact.group(8) else 0.0
            return midnight + 3600.0 * hour + 60.0 * minute + second + part, True, is_utc
    span = span_s(word)
    if span is not None:
        return span, False, False
    date = _date(word, day_first)
    time = _time(word)
    if date is None:
        return None if time is None else (time, False, False)
    seconds = date + (time or 0.0)
    zone = _ZONE.search(word)
    if zone is None or time is None:
        return seconds, True, False
    return seconds - _zone_s(zone.group(1)), True, True


def span_s(word: str) -> float | None:
    """Return how long a span is: ``12s``, ``1h 02m 03s``, ``2 days 01:02:03``; None for no span."""
    days = _DAYS.match(word)
    rest = word[days.end() :] if days is not None else word
    match = _SPAN.match(rest) if 0 < len(rest) < 40 else None
    begin = 0.0 if days is None else _DAY_S * int(days.group(1))
    if match is None or not any(match.groups()[:3]):
        time = _time(rest) if days is not None else None
        return None if time is None else begin + time
    hours, minutes, seconds, unit = match.groups()
    if not (hours or minutes or unit):
        return None  # a mere number
    value = number_of(seconds) if seconds else 0.0
    value *= 1e-3 if (unit or "").lower() == "ms" else 1.0
    return begin + 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + value


def _date(word: str, day_first: bool) -> float | None:
    match = _DATE.search(word)
    if match is not None:
        a, b, c = int(match.group(1)), int(match.group(3)), int(match.group(4))
        if len(match.group(1)) > 2:
            year, month, day = a, b, c
        else:
            (day, month), year = ((a, b) if day_first else (b, a)), c
        return _midnight(year + 2000 if year < 100 else year, month, day)
    named = _WORD_DATE.search(word)
    if named is None or named.group(2).lower() not in _MONTHS:
        return None
    before, name, after, year_text = named.groups()
    month = 1 + _MONTHS.index(name.lower())
    if before and len(after) == 4:
        return _midnight(int(after), month, int(before))
    if year_text is None or len(after) == 4:
        return None
    return _midnight(int(year_text), month, int(after))


def _midnight(year: int, month: int, day: int) -> float | None:
    try:
        return datetime(year, month, day, tzinfo=UTC).timestamp()
    except (ValueError, OverflowError):
        return None


def _time(word: str) -> float | None:
    match = _TIME.search(word)
    if match is None:
        return None
    hours, minutes, seconds, fraction, half = match.groups()
    hour = int(hours)
    if half:
        hour = hour % 12 + (12 if half.lower().startswith("p") else 0)
    value = 3600.0 * hour + 60.0 * int(minutes) + int(seconds or 0)
    return value + (float(f"0.{fraction}") if fraction else 0.0)


def _zone_s(zone: str) -> float:
    if zone in ("Z", "UTC", "GMT"):
        return 0.0
    sign = -1.0 if zone[0] == "-" else 1.0
    digits = zone[1:].replace(":", "")
    return sign * (3600.0 * int(digits[:2]) + 60.0 * int(digits[2:]))


# --- in any locale, as sysstat writes them -------------------------------------------------------

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


def date_in_heading(line: str) -> str | None:
    """Return the date of a report's first line: ``Linux 6.1.0 (host)  11/21/2026  _x86_64_``.

    As :func:`plain_stamp` gives it; None where the line is none.
    """
    if not line.startswith(("Linux ", "GNU/kFreeBSD")) or len(line) > 500:
        return None
    match = _HEADING.match(line.strip())
    return plain_stamp(match.group(1)) if match else None


def plain_stamp(text: str) -> str:
    """Return a date and time of any locale in letters that :func:`read_times` reads."""
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
    """Read stamps that :func:`plain_stamp` made; `date`, of the heading, is the day of a mere time.

    A two-digit year behind slashes is the C locale's: month first, if the order is open.
    """
    _, doubt = date_order(chain(stamps, [date]))
    is_short = bool(doubt) and any(map(_SHORT_DATE.search, chain(stamps, [date])))
    day_first = False if is_short else None
    times = read_times(stamps, day_first=day_first)
    if times.clock == "none" and date:
        first = next((word for word, t in zip(stamps, times.t_s, strict=True) if t == 0), "")
        day = read_times([f"{date} {first}"], day_first=day_first)
        if day.clock == "local":
            times = replace(day, t_s=times.t_s)
    if is_short and not times.doubt:
        text = f"{_ORDER_OPEN}: read as month before day"
        times = replace(times, doubt=text)
    return times
