"""What a header of a table means: the quantity, its direction and its unit.

Headers come in any order of words, in many languages, and with their unit anywhere; so words are
looked for, not whole headers.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any

from heatsoak.importer import tables
from heatsoak.importer.frames import RATES
from heatsoak.importer.readings import FIELDS, plain
from heatsoak.recording import Touched, dtype_of

#: A drive's temperature that a log does not name further.
DRIVE_TEMP = "temp_c.composite"


@dataclass(frozen=True)
class Meaning:
    """What a column holds.

    Attributes:
        column: the recording's column, or a role (`ROLES`), or ``lat_p99_us`` and its kin where
            it does not tell reads from writes.
        scale: with `offset`, what makes the recording's unit of a value.
        doubt: how its unit was read where that is not certain.
        note: what was converted, where something was.
        touches: what the doubt leaves open.
        state: whether its values are a state (throttling or not), rather than a number.
        has_unit: whether the header told the unit.
        is_total: whether its values are MB moved, in all or in each row, from which the rate is
            yet to be computed.
        general: the less of the header is known, the higher; of two columns with the same
            meaning the less general one is meant.
    """

    column: str
    scale: float = 1.0
    offset: float = 0.0
    doubt: str = ""
    note: str = ""
    state: bool = False
    has_unit: bool = True
    general: int = 0
    is_total: bool = False
    touches: tuple[Touched, ...] = ("unit",)

    @property
    def is_role(self) -> bool:
        """Whether it says where and when a row belongs, rather than being measured."""
        return self.column in tables.ROLES

    @property
    def is_rate(self) -> bool:
        """Whether it is bytes or I/Os a second."""
        return self.column.endswith(RATES)


#: sysstat's names that mean the same in any table: those of rates, with a direction.
_SYSSTAT_RATE = re.compile(r"^(?:[rw](?:[kMG]B|sec)|(?:[kMG]B_(?:read|wrtn))|(?:rd|wr)_sec)/s$")
_SYSSTAT_NAMES = frozenset({
    "r/s", "w/s", "rtps", "wtps", "tps", "r_await", "w_await", "await", "aqu-sz", "avgqu-sz",
    "%util", "bread/s", "bwrtn/s",
})  # fmt: skip
#: Other tools' spellings of them: ``rd_kB/s``, ``w_sec/s``.
_SYSSTAT_SPELLING = re.compile(r"^(r|w)(?:d|r)?_?(?=(?:[kMG]B|sec)/s$)")
#: What .NET and WMI write as one word.
_PER_SEC = re.compile(r"(?i)(bytes|reads|writes|transfers)_?per_?sec(?:ond)?\s*$")
#: sysstat's ``w/s`` where a slash would not do: ``w_per_s``.
_PER_S = re.compile(r"(?i)^([rw])_per_s$")
#: Bytes and the second with words between them: ``Bytes geschrieben/s``, ``磁盘写入字节数/秒``.
_BYTES_EACH = re.compile(
    r"(?i)(bytes|octets|字节数?|位元組|バイト|바이트|байт)(.{0,40})(?:/s|/sec|/秒|/с)\s*$"
)
_IOS_EACH = re.compile(r"(?i)(?:vorgänge|次数)(?:/s|/sek\.?|/秒)\s*$")
#: How values were averaged, behind the unit.
_MEAN = re.compile(r"(?i)[\s_.(-]+(?:mean|avg|average|mittel|mittelwert)\)?\s*$")
_PERCENTILE = re.compile(r"(?:^|[^\d.])p?(50|90|95|99[.,_]?9{0,2})(?:th|%|pct|$|[^\d])")
_SECONDS_EACH = re.compile(r"\bsec/(Read|Write|Transfer)\b", re.IGNORECASE)


@lru_cache(maxsize=2048)
def meaning(header: str, unit: str = "") -> Meaning | None:
    """Return what a column with this header holds; None for what no recording has.

    `unit` is what a row of units says of the column.
    """
    text = tables.mended(header).strip().strip("\"'#").strip()
    if not text or len(text) > 300:
        return None
    if (known := _sysstat(text)) is not None:
        return known
    if (own := _own(text)) is not None:
        return own
    if (counted := _throttle_counter(text)) is not None:
        return counted
    text = _IOS_EACH.sub(" [IO/s]", _BYTES_EACH.sub(r" \2 [B/s]", text))
    name, found = tables.split_unit(_PER_SEC.sub(r" \1/s", text))
    if unit.strip():
        found = tables.unit_of(unit) or found
    by_words = _by_words(name, found)
    if by_words is None and (mean := _MEAN.search(text)) is not None:
        return meaning(text[: mean.start()], unit)
    return by_words


def _throttle_counter(text: str) -> Meaning | None:
    """A drive's own counter, as tools call it."""
    field = FIELDS.get(plain(text))
    if field is None or not field.to.startswith("throttle_"):
        return None
    note = f"'{text}' counts minutes" if field.kind == "minutes" else ""
    return Meaning(field.to, field.scale, note=note)


def _own(text: str) -> Meaning | None:
    """A recording's own column."""
    if text == "t_s":
        return Meaning("time", has_unit=True)
    try:
        dtype_of(text)
    except KeyError:
        return None
    return Meaning(text)


def _sysstat(text: str) -> Meaning | None:
    short = _SYSSTAT_SPELLING.sub(r"\1", text)
    text = _PER_S.sub(r"\1/s", text)
    if text in _SYSSTAT_NAMES:
        return Meaning(*tables.SYSSTAT[text])
    if not _SYSSTAT_RATE.match(short):
        return None
    column, scale = tables.SYSSTAT[short]
    if "sec" in text:
        return Meaning(column, scale, note="sectors of 512 bytes converted to bytes")
    prefix = next(letter for letter in text if letter in "kMG")
    return Meaning(column, scale, note=f"iostat's {prefix}B/s are {prefix.upper()}iB/s")


# --- by words --------------------------------------------------------------------------------


class _Words:
    """A header as words, without its unit.

    Attributes:
        kind, scale: of its unit; None, and 1, without one.
        is_elsewhere: whether they name something in the host that is no drive.
    """

    def __init__(self, name: str, unit: tables.Unit | None) -> None:
        self.name, self.unit, self.tokens = name, unit, tables.tokens_of(name)
        self.kind = None if unit is None else unit.kind
        self.scale = 1.0 if unit is None else unit.scale
        self.is_cpu, self.is_gpu = self.has_token("cpu"), self.has_token("gpu")
        self.is_drive = self.has("drive")
        self.is_elsewhere = not self.is_drive and self.has("elsewhere")

    def has(self, stems: str) -> bool:
        """Whether any word has one of the stems."""
        return tables.has_any(self.tokens, stems)

    def has_token(self, name: str) -> bool:
        """Whether any word is one of these tokens."""
        return not tables.TOKENS[name].isdisjoint(self.tokens)

    def meaning(self, column: str, scale: float = 1.0, **more: Any) -> Meaning:
        """Return the meaning that these words have."""
        return Meaning(column, scale, general=more.pop("general", len(self.tokens)), **more)

    def in_unit(self, column: str, unit: tables.Unit) -> Meaning:
        """Return the meaning of values in a unit; what is now is meant rather than extremes."""
        general = len(self.tokens) + 5 * self.has_token("extremes") - self.has_token("now")
        return Meaning(
            column,
            unit.scale,
            unit.offset,
            unit.doubt,
            unit.note,
            general=general,
            touches=unit.touches,
        )


#: What no recording has, though its words are known.
_NOTHING = Meaning("")


def _by_words(name: str, unit: tables.Unit | None) -> Meaning | None:
    words = _Words(name, unit)
    for rule in _RULES:
        if (found := rule(words)) is not None:
            return None if found is _NOTHING else found
    return None


def _role(words: _Words) -> Meaning | None:
    role = _role_of(words.tokens, words.kind)
    if role is None:
        return None
    if role == "time" and words.kind == "time":
        # a unit alone may be of a part: ``ns`` beside a clock
        return words.meaning(role, words.scale, general=len(words.tokens) or 9)
    return words.meaning(role, has_unit=False)


def _role_of(tokens: list[str], kind: tables.UnitKind | None) -> tables.ColumnRole | None:
    joined = "_".join(token for token in tokens if token not in "#%")
    if joined in ("up_time", "uptime"):
        return "uptime"
    for suffix in ("", "_no", "_nr", "_id", "_number"):
        base = joined.removesuffix(suffix) if suffix else joined
        if base in tables.ROLE_WORDS and kind is None:
            return tables.ROLE_WORDS[base]
    if kind not in (None, "time"):
        return None
    if kind == "time" and not joined:
        return "time"
    words = [
        token
        for token in tokens
        if token not in tables.TOKENS["time_fillers"] and not token.isdigit()
    ]
    found = [tables.TIME_WORDS.get("time" if _TIME_IN.match(word) else word) for word in words]
    if not words:
        is_span = "duration" in tokens and (kind == "time" or len(tokens) == 1)
        return "time" if is_span or tokens == ["clock"] else None
    if None in found:
        return None
    if "uptime" in found:
        return "uptime"
    if "date" in found and "time" not in found:
        return "date"
    return "time"


#: Languages without blanks: ``记录时间``.
_TIME_IN = re.compile(r".{0,6}(?:时间|時間|时刻|時刻|시간)$")


def directed(quantity: str, tokens: list[str]) -> str:
    """Return the column of a quantity, of the direction that the tokens tell."""
    direction = tables.direction_in(tokens)
    return quantity if direction is None else f"{direction}_{quantity}"


def _throttle(words: _Words) -> Meaning | None:
    tokens = words.tokens
    if not words.has("throttle"):
        if "thermal" in tokens and set(tokens) <= tables.TOKENS["thermal_state"]:
            return words.meaning("throttle_count.throttling", state=True)
        return None
    if words.is_cpu or words.is_gpu or words.is_elsewhere:
        return _NOTHING
    kept = [
        t
        for t in tokens
        if not (tables.has_any([t], "throttle") or tables.has_any([t], "drive") or "therm" in t)
    ]
    name = (
        tables.slug(" ".join(t for t in kept if t not in tables.TOKENS["throttle_fillers"]))
        or "throttling"
    )
    if words.kind == "time":
        return Meaning(f"throttle_time_s.{name}", words.scale)
    is_counter = words.unit is None and words.has_token("counters")
    return Meaning(f"throttle_count.{name}", state=not is_counter)


def _temperature(words: _Words) -> Meaning | None:
    tokens = words.tokens
    is_sensor = tokens[:1] == ["sensor"] and len(tokens) == 2 and tokens[1].isdigit()
    if words.kind != "temp" and (words.unit is not None or not (is_sensor or words.has("temp"))):
        return None
    if words.has_token("not_read_temps"):
        return _NOTHING
    unit = words.unit or tables.Unit("temp")
    kept = [
        t for t in tokens
        if not (tables.has_any([t], "temp") or t in tables.TOKENS["temp_fillers"] or t == "#")
        or t == "composite"
    ]  # fmt: skip
    if words.is_gpu or words.is_cpu:
        host = "gpu" if words.is_gpu else "cpu"
        rest = tables.slug(
            " ".join(t for t in kept if t not in {host, *tables.TOKENS["host_temp_fillers"]})
        )
        column = f"temp_c.{host}" + (f"_{rest}" if rest else "")
        rank = 0 if {"package", "tctl", "tdie"} & set(tokens) else 1
        return replace(words.in_unit(column, unit), general=rank + 2 * len(kept))
    for word, place in tables.PLACES.items():
        if word in tokens or (not word.isascii() and any(word in t for t in tokens)):
            return words.in_unit(f"temp_c.{place}", unit)
    if words.is_elsewhere or (words.has_token("other_temps") and not words.is_drive):
        return _NOTHING
    number = next((t for t in reversed(kept) if t.isdigit() and len(t) < 3), "")
    others = [
        t for t in kept if not t.isdigit() and not tables.has_any([t], "drive") and t != "sensor"
    ]
    if "composite" in tokens or (not others and number in ("", "0") and "sensor" not in tokens):
        column = DRIVE_TEMP
    elif not others:
        column = f"temp_c.sensor{number}"
    else:
        column = f"temp_c.{tables.slug(' '.join(kept))}"
    found = replace(words.in_unit(column, unit), has_unit=words.unit is not None)
    if others and not words.is_drive and not words.has_token("drive_parts") and not found.doubt:
        text = f"'{words.name}' is taken for a sensor of the drive, which its name does not say"
        found = replace(found, doubt=text, touches=("temperature",))
    return found


def _host(words: _Words) -> Meaning | None:
    """Of a processor or a graphics card, or of what is neither drive nor host."""
    if not words.is_cpu and not words.is_gpu:
        return _NOTHING if words.is_elsewhere or "split" in words.tokens else None
    tokens, kind = set(words.tokens), words.kind
    general = len(words.tokens) - ("total" in tokens)
    if kind in (None, "pct") and (words.has("load") or (kind == "pct" and len(words.tokens) == 1)):
        if words.has_token("not_load"):
            return _NOTHING
        if words.is_gpu:
            return Meaning("gpu_load_pct.0", general=general)
        if {"core", "cores"} & tokens or any(t.isdigit() for t in tokens):
            return _NOTHING
        return Meaning("cpu_pct", general=general)
    if words.is_gpu and kind == "power":
        return Meaning("gpu_power_w.0", words.scale, general=general)
    return _NOTHING


def _idle_share(words: _Words) -> Meaning | None:
    is_idle_time = words.kind == "pct" and words.tokens[:2] == ["idle", "time"]
    if is_idle_time or ("%" in words.name and "idle" in words.tokens):
        return words.meaning("busy_pct", -1.0, offset=100.0)
    return None


def _rate(words: _Words) -> Meaning | None:
    """Bytes or I/Os a second, by their unit."""
    tokens = words.tokens
    if words.has_token("within_drive") and not words.is_drive:
        return _NOTHING
    if words.unit is not None and words.kind == "rate":
        return words.in_unit(directed("bw_mb_s", tokens), words.unit)
    if words.kind != "iops" and (words.unit is not None or not words.has("iops")):
        return None
    thousands = "kiops" in tokens or ("k" in tokens and "iops" in tokens)
    unit = words.unit or tables.Unit("iops", 1e3 if thousands else 1.0)
    return words.in_unit(directed("iops", tokens), unit)


def _latency(words: _Words) -> Meaning | None:
    tokens = words.tokens
    if (per := _SECONDS_EACH.search(words.name)) is not None:
        return words.meaning(directed("lat_us", [per.group(1).lower()]), 1e6)
    is_answer = "response" in tokens or ("access" in tokens and "time" in tokens)
    if not words.has("latency") and not (words.kind == "time" and is_answer):
        return None
    if "slat" in tokens or words.kind not in (None, "time"):
        return _NOTHING
    which = _PERCENTILE.search(words.name.lower())
    suffix = "lat"
    if which is not None:
        digits = re.sub("[.,_]", "", which.group(1))
        if digits not in ("50", "99", "999"):
            return _NOTHING
        suffix = f"lat_p{digits}"
    elif "median" in tokens:
        suffix = "lat_p50"
    elif not {"max", "maximum"}.isdisjoint(tokens):
        suffix = "lat_max"
    elif not {"min", "minimum", "stddev", "std"}.isdisjoint(tokens):
        return _NOTHING
    column = directed(f"{suffix}_us", tokens)
    if words.unit is not None:
        return words.meaning(column, words.scale * 1e6)
    doubt = "latencies without a unit are read as microseconds"
    return words.meaning(column, doubt=doubt, has_unit=False)


def _queue(words: _Words, stems: str = "queue") -> Meaning | None:
    return words.meaning("queue") if words.kind is None and words.has(stems) else None


def _busy_share(words: _Words) -> Meaning | None:
    if words.kind not in (None, "pct") or not words.has("busy"):
        return None
    is_share = words.kind == "pct" or words.is_drive or "%" in words.tokens
    if tables.direction_in(words.tokens) is not None or not is_share:
        return _NOTHING
    return words.meaning("busy_pct")


def _power(words: _Words) -> Meaning | None:
    has_unit = words.unit is not None
    if words.has_token("not_power"):
        return _NOTHING if words.kind == "power" or words.has("power") else None
    if words.kind == "power" or (not has_unit and words.has("power")):
        return words.meaning("power_w", words.scale, has_unit=has_unit)
    return None


def _bare(words: _Words) -> Meaning | None:
    """Without a unit: a rate, a place (of a temperature), or a direction alone."""
    tokens = words.tokens
    if words.unit is not None:
        return None
    direction = tables.direction_in(tokens)
    if words.has("rate"):
        is_plain = all(
            t.isdigit() or t in tables.TOKENS["rate_fillers"] or tables.has_any([t], "rate")
            for t in tokens
        )
        if words.is_drive or direction is not None or is_plain:
            # throughput may be of I/Os
            general = len(tokens) - words.has_token("bytes_each")
            return words.meaning(directed("bw_mb_s", tokens), has_unit=False, general=general)
    if len(tokens) == 1 and tables.PLACES.get(tokens[0]) in ("ambient", "chamber"):
        return words.meaning(f"temp_c.{tables.PLACES[tokens[0]]}", has_unit=False, general=9)
    if (
        direction is not None
        and set(tokens) <= tables.TOKENS["read"] | tables.TOKENS["write"] | tables.TOKENS["drive"]
    ):
        return words.meaning(f"{direction}_bw_mb_s", has_unit=False, general=9)
    return None


#: In the order in which they are asked; the first that knows the words decides.
_RULES: tuple[Callable[[_Words], Meaning | None], ...] = (
    _role,
    _throttle,
    _temperature,
    _host,
    _idle_share,
    partial(_queue, stems="in_flight"),  # I/Os that are not done yet are no rate
    _rate,
    _latency,
    _queue,
    _busy_share,
    _power,
    _bare,
)
