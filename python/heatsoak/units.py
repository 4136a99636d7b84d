"""Quantities as fio writes them and as people read them; temperatures that are possible.

A bare suffix follows fio: ``k`` is 1024 bytes. ``KiB`` is 1024 and ``kB`` or ``KB`` is 1000,
everywhere except in a native fio job file, where fio has it the other way round
(fio's ``kb_base``); see :mod:`heatsoak.protocol.fio_job`.
"""

import math
import re
from dataclasses import dataclass

MB = 1_000_000
GB = 1_000_000_000
TB = 1000 * GB
GIB = 1 << 30

#: Lowest and highest reading that can be a temperature, in C. Industrial drives are rated for -40
#: to 85, so anything outside is a placeholder: drivers report a limit that is not set as -273.15
#: (0 K) or 65261.85 (65535 K), drives report a missing sensor as 255.
POSSIBLE_TEMP_C = (-60.0, 200.0)

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_SIZE = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgtp]?)(i?b)?\s*$", re.IGNORECASE)
_PERCENT = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*%\s*$")
_TIME = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*(us|ms|s|min|m|h|d)?\s*$", re.IGNORECASE)
_WITH_UNIT = re.compile(r"^\s*([-+]?[0-9.]+(?:e[-+]?[0-9]+)?)\s*(\D*?)\s*$", re.IGNORECASE)
_SECONDS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST_S = 1e9


def parse_size(text: str | int | float) -> int:
    """Return the number of bytes in `text` (``4096``, ``"128k"``, ``"16GiB"``, ``"37.6GB"``).

    Raises ValueError, which says what would be right, for anything else.
    """
    if isinstance(text, bool):
        raise ValueError("a size is a number with an optional suffix, such as 128k or 16GiB")
    match = _SIZE.match(str(text))
    if match is None:
        raise ValueError(
            f"'{text}' is not a size: a number with an optional suffix, such as 128k or 16GiB"
        )
    number, prefix, unit = match.groups()
    decimal = unit is not None and unit.lower() == "b" and prefix != ""
    scale: int = (1000 if decimal else 1024) ** _POWERS[prefix.lower()]
    size = float(number) * scale
    if size >= 2**63:
        raise ValueError(f"'{str(text)[:40]}' is more than any drive holds")
    return round(size)


def parse_seconds(text: str | int | float) -> float:
    """Return the seconds in `text` (``300``, ``"300s"``, ``"5m"``, ``"500ms"``, ``"1h"``)."""
    if isinstance(text, float) and 0 <= text <= _LONGEST_S:
        return text  # as text it may have an exponent
    match = None if isinstance(text, bool) else _TIME.match(str(text))
    if match is None:
        raise ValueError(f"'{text}' is not a time: seconds, or a number with us, ms, s, m, h or d")
    seconds = float(match.group(1)) * _SECONDS[(match.group(2) or "s").lower()]
    if seconds > _LONGEST_S:
        raise ValueError(f"'{str(text)[:40]}' is longer than thirty years")
    return seconds


def parse_number(text: str | float, unit: str, low: float, high: float) -> float:
    """Return a number that `unit` may follow: ``35``, ``"35C"``, ``"35 C"``.

    Raises ValueError for anything else, and for what is not between `low` and `high`.
    """
    match = _WITH_UNIT.match(str(text))
    written = "" if match is None else match.group(2).removeprefix("\N{DEGREE SIGN}")
    try:
        if match is None or written.lower() not in ("", unit.lower()):
            raise ValueError
        value = float(match.group(1))
    except ValueError:
        raise ValueError(f"'{text}' is not a number in {unit}") from None
    if not low <= value <= high:
        raise ValueError(f"'{text}' is not between {low:g} and {high:g} {unit}")
    return value


def parse_rate_mb_s(text: str | float) -> float:
    """Return a rate in MB/s (``500``, ``"500MB/s"``, ``"1.5 GB/s"``); raises ValueError."""
    try:
        rate_mb_s = float(text)
    except ValueError:
        try:
            rate_mb_s = parse_size(str(text).removesuffix("/s")) / MB
        except ValueError:
            raise ValueError(f"'{text}' is not a rate such as 500MB/s") from None
    if not math.isfinite(rate_mb_s):
        raise ValueError(f"'{text}' is not a rate such as 500MB/s")
    if rate_mb_s <= 0:
        raise ValueError(f"'{text}' is not more than 0 MB/s")
    return rate_mb_s


def parse_share(text: str | float) -> float:
    """Return a share, 0 to 1, of ``0.95`` or ``"95%"``; raises ValueError for anything else."""
    percent = _PERCENT.match(str(text))
    try:
        share = float(text) if percent is None else float(percent.group(1)) / 100
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise ValueError(f"'{text}' is not a share such as 0.95 or 95%")
    return share


@dataclass(frozen=True)
class Size:
    """A number of bytes, or a share of a whole that is only known at run time."""

    bytes: int | None = None
    percent: float | None = None

    @classmethod
    def parse(cls, text: "str | int | float | Size") -> "Size":
        """Read ``"50%"`` or anything that :func:`parse_size` takes."""
        if isinstance(text, Size):
            return text
        share = _PERCENT.match(str(text))
        if share is None:
            return cls(bytes=parse_size(text))
        percent = float(share.group(1))
        if percent > 100:
            raise ValueError(f"'{text}' is more than 100%")
        return cls(percent=percent)

    def of(self, whole_bytes: int) -> int:
        """Return the size in bytes, for a whole of `whole_bytes`."""
        if self.bytes is not None:
            return self.bytes
        assert self.percent is not None
        return int(whole_bytes * self.percent / 100)

    @property
    def is_positive(self) -> bool:
        """Whether it is more than zero."""
        return (self.bytes or 0) > 0 or (self.percent or 0) > 0

    def __str__(self) -> str:
        return f"{self.percent:g}%" if self.bytes is None else str(self.bytes)


def is_possible_temp(temp_c: float) -> bool:
    """Whether a reading can be a temperature, and is not a placeholder or a fault."""
    low_c, high_c = POSSIBLE_TEMP_C
    return low_c < temp_c < high_c
