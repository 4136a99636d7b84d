"""Tables as loggers write them: here their words and units in many languages (`words.toml`).

Headers come in any order of words and in any spelling: a header is cut into tokens, lower case
and without accents, and the words are looked for in these.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal, get_args

from heatsoak.importer.numbers import is_number, scaled
from heatsoak.recording import Touched

#: What a column is for where it holds no measurement.
ColumnRole = Literal["time", "date", "uptime", "run", "step", "direction", "device"]
ROLES: frozenset[str] = frozenset(get_args(ColumnRole))
#: Those that tell when a row was.
TIMES = ("time", "date", "uptime")

CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_NUMBERED = re.compile(
    r"(?<![^\W_])(temp|temperature|tmp|sensor|ssd|hdd|disk|drive|gpu|cpu|core|run|nic|eth|zone|tz)(\d+)(?![^\W_])"
)
_TOKEN = re.compile(r"[^\W_]+|%|#", re.UNICODE)


def mended(text: str) -> str:
    """The text with its degree sign and micro sign as they were before they were garbled."""
    if text.isascii():
        return text
    text = text.replace("℃", "°C").replace("℉", "°F").replace("Â", "").replace("¡æ", "°C")
    text = re.sub("[\ufffd?º˚]{1,2}(?=[CFK]\\b)", "°", text)
    return text.replace("µ", "u").replace("μ", "u").replace("Î¼", "u")


def tokens_of(text: str) -> list[str]:
    """Return the words of a header, folded; its numbers, percent and number signs, too."""
    return _TOKEN.findall(_NUMBERED.sub(r"\1 \2", _fold(CAMEL.sub(" ", text))))


def has_any(tokens: list[str], stems: str) -> bool:
    """Return whether any of the tokens has one of the stems of a name in `words.toml`."""
    return _STEMS[stems].search(" ".join(tokens)) is not None


def _fold(text: str) -> str:
    """Lower case without accents, so that ``Débit`` and ``debit`` are one."""
    lowered = text.lower()
    if lowered.isascii():
        return lowered
    kept = unicodedata.normalize("NFD", lowered)
    return unicodedata.normalize("NFC", "".join(c for c in kept if not "\u0300" <= c <= "\u0304"))


def _stems(*words: str) -> re.Pattern[str]:
    """Match tokens that are, or long ones that begin with, or in part are, one of these."""
    patterns = []
    for word in dict.fromkeys(_fold(word) for word in words):
        inside = not word.isascii() or len(word) > 6
        begin = "" if inside else "(?<![^ ])"
        patterns.append(begin + re.escape(word) + ("" if inside or len(word) > 3 else "(?![^ ])"))
    return re.compile("|".join(patterns))


def words_by(meanings: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return what each word means, of lists of words by their meaning."""
    return {word: meaning for meaning, words in meanings.items() for word in words}


def _listed(table: Any) -> Any:
    """A table of `words.toml` with lists of words in place of texts of them."""
    if isinstance(table, list):
        return [
            row | {k: _words(row[k]) for k in ("names", "headers") if k in row} for row in table
        ]
    return {key: _words(each) if isinstance(each, str) else each for key, each in table.items()}


def _words(text: str) -> list[str]:
    return [word.replace("~", " ") for word in text.split()]


_TEXT = (files(__package__) / "words.toml").read_text("utf-8")
#: `words.toml`.
TABLES: dict[str, Any] = {name: _listed(table) for name, table in tomllib.loads(_TEXT).items()}

_STEMS = {name: _stems(*words) for name, words in TABLES["stems"].items()}
TOKENS: dict[str, frozenset[str]] = {
    name: frozenset(words) for name, words in TABLES["tokens"].items()
}
PLACES: dict[str, str] = words_by(TABLES["places"])
TIME_WORDS: dict[str, ColumnRole] = words_by(TABLES["times"])
ROLE_WORDS: dict[str, ColumnRole] = words_by(TABLES["roles"])
#: Words that begin as those of reading do.
_NOT_READ = ("ready", "readme")


def direction_of(text: str) -> Literal["read", "write"] | None:
    """Return whether words are about reading or writing; None for neither, and for both."""
    return direction_in(tokens_of(text[:200]))


def direction_in(tokens: list[str]) -> Literal["read", "write"] | None:
    """Return whether tokens are about reading or writing; None for neither, and for both."""
    kept = [token for token in tokens if not token.startswith(_NOT_READ)]
    reads = has_any(kept, "read") or not TOKENS["read"].isdisjoint(kept)
    writes = has_any(kept, "write") or not TOKENS["write"].isdisjoint(kept)
    if reads == writes:
        return None
    return "read" if reads else "write"


#: What kernels call a drive, or a part of one.
DISK = re.compile(
    r"(?:[shv]d[a-z]+|xvd[a-z]+|nvme\d+(?:n\d+)?|mmcblk\d+|nbd\d+|pmem\d+|dasd[a-z]+|fd\d+|sr\d+|"
    r"disk\d+|ada\d+|da\d+|nda\d+|nvd\d+|wd\d+|c\d+t\w+d\d+|cciss/c\d+d\d+)"
    r"(?:p?\d+)?"
)


def names_drive(header: str) -> bool:
    """Return whether a header says that it is of a drive."""
    return has_any(tokens_of(header[:200]), "drive")


def slug(text: str) -> str:
    """Return words as a part of a column's name: ``Sensor 1`` becomes ``sensor1``."""
    words = "_".join(tokens_of(text[:60]))
    return re.sub(r"^([^\W\d_]+)_(\d+)$", r"\1\2", words).strip("_")[:40]


# --- units, in all their spellings ---------------------------------------------------------------

UnitKind = Literal["rate", "iops", "time", "temp", "power", "pct", "flag", "other"]


@dataclass(frozen=True)
class Unit:
    """A unit, and how values in it become ours (``value * scale + offset``).

    Ours are MB/s (10^6 bytes), I/Os a second, seconds, degrees Celsius, watts and percent.

    Attributes:
        doubt: how it was read where that is not certain.
        note: what was converted, where it is.
        touches: what the doubt leaves open.
    """

    kind: UnitKind
    scale: float = 1.0
    offset: float = 0.0
    doubt: str = ""
    note: str = ""
    touches: tuple[Touched, ...] = ("unit",)


def _units() -> dict[str, Unit]:
    units: dict[str, Unit] = {}
    for row in TABLES["units"]:
        unit = Unit(**{name: value for name, value in row.items() if name != "names"})
        units |= dict.fromkeys(row["names"], unit)
    return units


_UNITS = _units()
_KELVIN = _UNITS["kelvin"]

_RATE = re.compile(
    r"^([kmgt]?)(i?)(bytes|byte|octets|octet|bits|bit|b|o)(?:/s|ps|_s|s)$|^sec(?:tors)?/s$",
    re.IGNORECASE,
)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_BRACKETS = re.compile(r"[\[(<]([^\[\]()<>]{0,40})[\])>]")
_TAIL_UNIT = re.compile(
    r"(?:^|[\s_,:./-])("
    r"[kKmMgGtT]?[iI]?(?:[bB]ytes?|[bB]its?|[bB]|(?<=[kKmMgGi])o)"
    r"(?:\s?/\s?s(?:ec(?:ond)?s?)?|ps|_s|[_ ]?per[_ ]?s(?:ec(?:ond)?)?)"
    r"|[kK]?(?:IO|io|I/O|op|ops|req)s?\s?/\s?s(?:ec)?"
    r"|(?:[rR]eads|[wW]rites|[tT]ransfers)\s?/\s?s(?:ec)?"
    r"|°\s?[CFK]|deg[_ ]?[CFcf]|[CF]|[munµμ]?s|(?i:[num]?secs?|seconds|minutes|mins|hours)"
    r"|(?<=elapsed[_ ])min|(?<=time[_ ])min|m?W|mw|%|pct|K)\s*$"
    r"|[_ ]([cfkw])$"
)
#: A size behind words of a rate is a size per second: ``bw_mib``.
_TAIL_SIZE = re.compile(r"[\s_.]((?:[kmgt]i?)?b(?:ytes)?|bytes)\s*$", re.IGNORECASE)
_GLUED_UNIT = re.compile(r"(?<=[a-z])([KMGT]i?(?:B/?s|Bps|bps)|[KMGT]ibs)$")


def unit_of(text: str) -> Unit | None:
    """Return the unit that `text` names, whatever its spelling; None where it names none."""
    if len(text) > 40:
        return None
    compact = mended(text).strip(" []()<>_.").replace(" ", "")
    compact = compact.replace("µ", "u").replace("μ", "u")
    compact = re.sub(r"(?i)_?per_?", "/", compact)
    compact = re.sub(r"(?i)/sec(?:ond)?s?\.?$", "/s", compact).replace("/с", "/s")
    compact = compact.replace("Б/s", "B/s").replace("МB", "MB").replace("Мб/s", "MB/s")
    if compact == "K":
        return _KELVIN
    known = _UNITS.get(compact.lower())
    if known is not None:
        return known
    match = _RATE.match(compact)
    return None if match is None else _rate_unit(compact, match)


def _rate_unit(text: str, match: re.Match[str]) -> Unit:
    prefix, binary, base = match.groups()
    if base is None:
        return Unit("rate", 512e-6, note="sectors of 512 bytes converted to bytes")
    power = _POWERS[prefix.lower()]
    in_bits = base.lower().startswith("bit") or (base == "b" and text != text.lower())
    scale = (1024.0 if binary else 1000.0) ** power / 1e6 / (8 if in_bits else 1)
    letter = "k" if prefix == "k" and not binary else prefix.upper()
    shown = f"{letter}{'i' * bool(binary)}{'bit' if in_bits else 'B'}/s"
    if binary:
        return Unit("rate", scale, note=f"{shown} converted to MB/s (10^6 bytes)")
    if in_bits:
        sure = base.lower().startswith("bit")
        doubt = "" if sure else f"{text} is read as bits, not bytes, a second"
        return Unit("rate", scale, doubt=doubt, note=f"{shown} converted to MB/s")
    if power == 0:
        return Unit("rate", scale, note=f"{shown} converted to MB/s")
    doubt = f"{shown} is read as 10^{3 * power} bytes a second; some tools mean 2^{10 * power}"
    # a few per cent turn no answer round
    return Unit("rate", scale, doubt=doubt, touches=())


def split_unit(text: str) -> tuple[str, Unit | None]:
    """Take the unit out of a header."""
    for match in reversed(list(_BRACKETS.finditer(text))):
        unit = unit_of(match.group(1))
        if unit is not None:
            kept = match.group(1) if unit.kind == "iops" else ""  # as r/s tells the direction
            return f"{text[: match.start()]} {kept} {text[match.end() :]}", unit
    for pattern in (_TAIL_UNIT, _GLUED_UNIT):
        tail = pattern.search(text)
        if tail is None:
            continue
        group = tail.lastindex or 0
        written = tail.group(group)
        if written.endswith("ibs"):
            written = written.replace("ibs", "iB/s")  # writeMibs: no tool writes Mibit so
        unit = unit_of(written.upper() if len(written) == 1 and group == 2 else written)
        if unit is not None:
            return (text if unit.kind == "iops" else text[: tail.start(group)]), unit
    size = _TAIL_SIZE.search(text)
    if size is not None and has_any(tokens_of(text[: size.start()]), "rate"):
        return text[: size.start()], unit_of(f"{size.group(1)}/s")
    # elapsedMs, TIME_S: only of what cannot be taken for another unit then
    plain = CAMEL.sub("_", text).lower()
    if plain != text:
        name, unit = split_unit(plain)
        if unit is not None and unit.kind in ("time", "temp"):
            return name, unit
    return text, None


# --- what sysstat's column names mean ------------------------------------------------------------

KIB = 1024 / 1e6
SECTOR = 512 / 1e6
MIB = 1024 * KIB
GIB = 1024 * MIB

_SYSSTAT_UNITS = {"kB": KIB, "MB": MIB, "GB": GIB, "Blk": SECTOR, "sec": SECTOR}
_SYSSTAT_WAYS = (("r", "read", "read"), ("w", "write", "wrtn"))

#: Header -> column of a recording, and what a value is multiplied by. Kilobytes are KiB in all of
#: sysstat, sectors and blocks are 512 bytes, `await` is in ms. After those come the columns of the
#: BSDs' and Solaris' `iostat -x`.
SYSSTAT: dict[str, tuple[str, float]] = {
    **{f"{r}{unit}/s": (f"{name}_bw_mb_s", scale)
       for r, name, _ in _SYSSTAT_WAYS for unit, scale in _SYSSTAT_UNITS.items()},
    **{f"{unit}_{verb}/s": (f"{name}_bw_mb_s", scale)
       for _, name, verb in _SYSSTAT_WAYS for unit, scale in _SYSSTAT_UNITS.items()},
    **{f"{unit}_w+d/s": ("write_bw_mb_s", scale) for unit, scale in _SYSSTAT_UNITS.items()},
    **{f"{unit}/s": ("bw_mb_s", scale) for unit, scale in _SYSSTAT_UNITS.items()},
    **{f"d{unit}/s": ("discard_bw_mb_s", scale) for unit, scale in _SYSSTAT_UNITS.items()},
    **{header: (name, scale) for name, scale, headers in (
        ("read_bw_mb_s", SECTOR, "rd_sec/s bread/s"), ("write_bw_mb_s", SECTOR, "wr_sec/s bwrtn/s"),
        ("read_bw_mb_s", KIB, "kr/s"), ("write_bw_mb_s", KIB, "kw/s"), ("iops", 1.0, "tps"),
        ("read_bw_mb_s", MIB, "Mr/s"), ("write_bw_mb_s", MIB, "Mw/s"), ("discard_iops", 1.0, "d/s"),
        ("read_iops", 1.0, "r/s rtps"), ("write_iops", 1.0, "w/s wtps"),
        ("read_lat_us", 1e3, "r_await ms/r"), ("write_lat_us", 1e3, "w_await ms/w"),
        ("lat_us", 1e3, "await ms/t svc_t asvc_t"), ("busy_pct", 1.0, "%util %b"),
        ("queue", 1.0, "avgqu-sz avgqu-s aqu-sz qlen actv"),
    ) for header in headers.split()},
}  # fmt: skip
#: Headers in multiples of 1024 bytes.
_KIB_HEADERS = {name for name, (_, scale) in SYSSTAT.items() if scale in (KIB, MIB, GIB)}
#: Place, quantity, and what a value is multiplied by.
ReportColumn = tuple[int, str, float]


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


def unit_remark(headers: Iterable[str]) -> str:
    """Return how the units of these columns were converted; empty where they were not."""
    headers = list(headers)
    if any(name in _KIB_HEADERS for name in headers):
        return "kB/s and MB/s are multiples of 1024 in iostat and sar: converted to 10^6 bytes/s"
    if any(SYSSTAT.get(name, ("", 0.0))[1] == SECTOR for name in headers):
        return "sectors of 512 bytes: converted to 10^6 bytes/s"
    return ""
