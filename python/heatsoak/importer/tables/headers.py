"""What a header of a table means: a quantity, its direction, statistic and unit, and whose it is.

Headers come in any order of words, in many languages, and with their unit anywhere; so words are
looked for, not whole headers. What vendors call things otherwise are rows of `words.toml`.
"""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

from heatsoak.importer import tables
from heatsoak.importer.frames import RATES
from heatsoak.importer.numbers import multiple
from heatsoak.importer.readings import FIELDS, plain
from heatsoak.recording import dtype_of

#: A drive's temperature that a log does not name further.
DRIVE_TEMP = "temp_c.composite"
#: A meter's quantities, of which power is made.
VOLTAGE, CURRENT = "voltage_v", "current_a"
#: Longer headers mean nothing.
_LONGEST = 300
_IN_PLAIN = tables.Unit("other")
Direction = Literal["read", "write"]


@dataclass(frozen=True)
class TableColumn:
    """What a column holds, and where.

    Attributes:
        quantity: a recording's column without direction and statistic, or a role (`ROLES`).
        unit: what makes the recording's unit of its values; what is doubtful, or said, of that.
        direction: of what is read or written; None for both, and where there is none.
        statistic: ``p99`` and its kin of latencies; ``state`` for throttling or not; ``total`` for
            MB moved, in all or in each row, of which the rate is yet to be computed.
        owner: the device it is of; empty where the header names none.
        has_unit: whether the header told the unit.
        general: the less of the header is known, the higher; of two columns of one name the less
            general one is meant.
        index, header: its place and its header, where it is of a table.
    """

    quantity: str
    unit: tables.Unit = _IN_PLAIN
    direction: Direction | None = None
    statistic: str = ""
    owner: str = ""
    has_unit: bool = True
    general: int = 0
    index: int = -1
    header: str = ""

    @property
    def name(self) -> str:
        """The recording's column; ``lat_p99_us`` and its kin tell no direction in some."""
        name = self.quantity
        if name == "lat_us" and self.statistic:
            name = f"lat_{self.statistic}_us"
        return name if self.direction is None else f"{self.direction}_{name}"

    @property
    def is_role(self) -> bool:
        """Whether it says where and when a row belongs, rather than being measured."""
        return self.quantity in tables.ROLES

    @property
    def is_time(self) -> bool:
        """Whether it says when a row was."""
        return self.quantity in tables.TIMES

    @property
    def is_rate(self) -> bool:
        """Whether it is bytes or I/Os a second."""
        return self.quantity in RATES

    @property
    def is_temperature(self) -> bool:
        """Whether it is a temperature, of whatever."""
        return self.quantity.startswith("temp_c.")

    @property
    def is_state(self) -> bool:
        """Whether its values are throttling or not, rather than numbers."""
        return self.statistic == "state"

    @property
    def is_total(self) -> bool:
        """Whether its values are MB moved."""
        return self.statistic == "total"


_NAME = re.compile(r"(?:(read|write)_)?(?:lat_(p\d+|max)_us|(.+))")


def named(name: str, scale: float = 1.0, note: str = "") -> TableColumn:
    """Return a recording's column of this name."""
    match = _NAME.fullmatch(name)
    assert match is not None
    way: Direction | None = tables.direction_of(match[1] or "")
    unit = tables.Unit("other", scale, note=note)
    return TableColumn(match[3] or "lat_us", unit, way, match[2] or "")


#: sysstat's names of rates with a direction, which mean the same in any table.
_SYSSTAT_RATE = re.compile(r"^(?:[rw](?:[kMG]B|sec)|(?:[kMG]B_(?:read|wrtn))|(?:rd|wr)_sec)/s$")
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


def column_of(header: str, unit: str = "") -> TableColumn | None:
    """Return what a column is: measured, a role, or a counter of what was moved; and whose."""
    owner, name = owner_and_name(header)
    found = meaning(name, unit) or total(name)
    return None if found is None else replace(found, owner=owner, header=header)


@lru_cache(maxsize=2048)
def meaning(header: str, unit: str = "") -> TableColumn | None:
    """Return what a column with this header holds; None for what no recording has.

    `unit` is what a row of units says of the column.
    """
    text = tables.mended(header).strip().strip("\"'#").strip()
    if not text or len(text) > _LONGEST:
        return None
    known = _sysstat(text) or _own(text) or _throttle_counter(text)
    if known is not None:
        return known
    text = _IOS_EACH.sub(" [IO/s]", _BYTES_EACH.sub(r" \2 [B/s]", text))
    name, found = tables.split_unit(_PER_SEC.sub(r" \1/s", text))
    if unit.strip():
        found = tables.unit_of(unit) or found
    by_words = _by_words(name, found)
    if by_words is None and (mean := _MEAN.search(text)) is not None:
        return meaning(text[: mean.start()], unit)
    return by_words


def _throttle_counter(text: str) -> TableColumn | None:
    """A drive's own counter, as tools call it."""
    field = FIELDS.get(plain(text))
    if field is None or not field.to.startswith("throttle_"):
        return None
    note = f"'{text}' counts minutes" if field.kind == "minutes" else ""
    return named(field.to, field.scale, note)


def _own(text: str) -> TableColumn | None:
    """A recording's own column."""
    if text == "t_s":
        return TableColumn("time")
    try:
        dtype_of(text)
    except KeyError:
        return None
    return named(text)


def _sysstat(text: str) -> TableColumn | None:
    short = _SYSSTAT_SPELLING.sub(r"\1", text)
    text = _PER_S.sub(r"\1/s", text)
    if text in tables.TOKENS["sysstat"]:
        return named(*tables.SYSSTAT[text])
    if not _SYSSTAT_RATE.match(short):
        return None
    prefix = next((letter for letter in text if letter in "kMG"), "")
    note = f"iostat's {prefix}B/s are {prefix.upper()}iB/s"
    if "sec" in text:
        note = "sectors of 512 bytes converted to bytes"
    return named(*tables.SYSSTAT[short], note)


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

    def meaning(self, quantity: str, scale: float = 1.0, **more: Any) -> TableColumn:
        """Return what these words mean."""
        unit = tables.Unit("other", scale, more.pop("offset", 0.0), more.pop("doubt", ""))
        return TableColumn(quantity, unit, **{"general": len(self.tokens)} | more)

    def in_unit(self, quantity: str, unit: tables.Unit, **more: Any) -> TableColumn:
        """Return a column of values in a unit; what is now is meant rather than extremes."""
        general = len(self.tokens) + 5 * self.has_token("extremes") - self.has_token("now")
        return TableColumn(quantity, unit, **{"general": general} | more)

    @property
    def direction(self) -> Direction | None:
        """What they are of, if it is one of both."""
        return tables.direction_in(self.tokens)


#: What no recording has, though its words are known.
_NOTHING = TableColumn("")


def _by_words(name: str, unit: tables.Unit | None) -> TableColumn | None:
    words = _Words(name, unit)
    for rule in _RULES:
        if (found := rule(words)) is not None:
            return None if found is _NOTHING else found
    return None


def _role(words: _Words) -> TableColumn | None:
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


def _throttle(words: _Words) -> TableColumn | None:
    tokens = words.tokens
    if not words.has("throttle"):
        if "thermal" in tokens and set(tokens) <= tables.TOKENS["thermal_state"]:
            return words.meaning("throttle_count.throttling", statistic="state")
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
        return words.meaning(f"throttle_time_s.{name}", words.scale, general=0)
    is_counter = words.unit is None and words.has_token("counters")
    return TableColumn(f"throttle_count.{name}", statistic="" if is_counter else "state")


def _temperature(words: _Words) -> TableColumn | None:
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
        return words.in_unit(column, unit, general=rank + 2 * len(kept))
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
    if others and not words.is_drive and not words.has_token("drive_parts") and not unit.doubt:
        text = f"'{words.name}' is taken for a sensor of the drive, which its name does not say"
        unit = replace(unit, doubt=text, touches=("temperature",))
    return words.in_unit(column, unit, has_unit=words.unit is not None)


def _host(words: _Words) -> TableColumn | None:
    """Of a processor or a graphics card, or of what is neither drive nor host."""
    if not words.is_cpu and not words.is_gpu:
        return _NOTHING if words.is_elsewhere or "split" in words.tokens else None
    tokens, kind = set(words.tokens), words.kind
    general = len(words.tokens) - ("total" in tokens)
    if kind in (None, "pct") and (words.has("load") or (kind == "pct" and len(words.tokens) == 1)):
        if words.has_token("not_load"):
            return _NOTHING
        if words.is_gpu:
            return words.meaning("gpu_load_pct.0", general=general)
        if {"core", "cores"} & tokens or any(t.isdigit() for t in tokens):
            return _NOTHING
        return words.meaning("cpu_pct", general=general)
    if words.is_gpu and kind == "power":
        return words.meaning("gpu_power_w.0", words.scale, general=general)
    return _NOTHING


def _idle_share(words: _Words) -> TableColumn | None:
    is_idle_time = words.kind == "pct" and words.tokens[:2] == ["idle", "time"]
    if is_idle_time or ("%" in words.name and "idle" in words.tokens):
        return words.meaning("busy_pct", -1.0, offset=100.0)
    return None


def _rate(words: _Words) -> TableColumn | None:
    """Bytes or I/Os a second, by their unit."""
    tokens = words.tokens
    if words.has_token("within_drive") and not words.is_drive:
        return _NOTHING
    if words.unit is not None and words.kind == "rate":
        return words.in_unit("bw_mb_s", words.unit, direction=words.direction)
    if words.kind != "iops" and (words.unit is not None or not words.has("iops")):
        return None
    thousands = "kiops" in tokens or ("k" in tokens and "iops" in tokens)
    unit = words.unit or tables.Unit("iops", 1e3 if thousands else 1.0)
    return words.in_unit("iops", unit, direction=words.direction)


def _latency(words: _Words) -> TableColumn | None:
    tokens = words.tokens
    if (per := _SECONDS_EACH.search(words.name)) is not None:
        direction = tables.direction_in([per.group(1).lower()])
        return words.meaning("lat_us", 1e6, direction=direction)
    is_answer = "response" in tokens or ("access" in tokens and "time" in tokens)
    if not words.has("latency") and not (words.kind == "time" and is_answer):
        return None
    if "slat" in tokens or words.kind not in (None, "time"):
        return _NOTHING
    which = _PERCENTILE.search(words.name.lower())
    statistic = ""
    if which is not None:
        statistic = "p" + re.sub("[.,_]", "", which.group(1))
        if statistic not in ("p50", "p99", "p999"):
            return _NOTHING
    elif "median" in tokens:
        statistic = "p50"
    elif not {"max", "maximum"}.isdisjoint(tokens):
        statistic = "max"
    elif not {"min", "minimum", "stddev", "std"}.isdisjoint(tokens):
        return _NOTHING
    more: dict[str, Any] = {"direction": words.direction, "statistic": statistic}
    if words.unit is None:
        more |= {"doubt": "latencies without a unit are read as microseconds", "has_unit": False}
        return words.meaning("lat_us", **more)
    return words.meaning("lat_us", words.scale * 1e6, **more)


def _queue(words: _Words, stems: str = "queue") -> TableColumn | None:
    return words.meaning("queue") if words.kind is None and words.has(stems) else None


def _busy_share(words: _Words) -> TableColumn | None:
    if words.kind not in (None, "pct") or not words.has("busy"):
        return None
    is_share = words.kind == "pct" or words.is_drive or "%" in words.tokens
    if tables.direction_in(words.tokens) is not None or not is_share:
        return _NOTHING
    return words.meaning("busy_pct")


def _power(words: _Words) -> TableColumn | None:
    has_unit = words.unit is not None
    if words.has_token("not_power"):
        return _NOTHING if words.kind == "power" or words.has("power") else None
    if words.kind == "power" or (not has_unit and words.has("power")):
        return words.meaning("power_w", words.scale, has_unit=has_unit)
    return None


def _bare(words: _Words) -> TableColumn | None:
    """Without a unit: a rate, a place (of a temperature), or a direction alone."""
    tokens = words.tokens
    if words.unit is not None:
        return None
    way: dict[str, Any] = {"direction": words.direction, "has_unit": False}
    if words.has("rate"):
        is_plain = all(
            t.isdigit() or t in tables.TOKENS["rate_fillers"] or tables.has_any([t], "rate")
            for t in tokens
        )
        if words.is_drive or words.direction is not None or is_plain:
            # throughput may be of I/Os
            return words.meaning(
                "bw_mb_s", general=len(tokens) - words.has_token("bytes_each"), **way
            )
    if len(tokens) == 1 and tables.PLACES.get(tokens[0]) in ("ambient", "chamber"):
        return words.meaning(f"temp_c.{tables.PLACES[tokens[0]]}", has_unit=False, general=9)
    alone = tables.TOKENS["read"] | tables.TOKENS["write"] | tables.TOKENS["drive"]
    if words.direction is not None and set(tokens) <= alone:
        return words.meaning("bw_mb_s", general=9, **way)
    return None


#: In the order in which they are asked; the first that knows the words decides.
_RULES: tuple[Callable[[_Words], TableColumn | None], ...] = (
    _role, _throttle, _temperature, _host, _idle_share,
    partial(_queue, stems="in_flight"),  # I/Os that are not done yet are no rate
    _rate, _latency, _queue, _busy_share, _power, _bare,
)  # fmt: skip


# --- counters, and a meter's voltage and current -------------------------------------------------

#: Units of what tables count, in MB.
_SIZES = {
    **{f"{prefix}b": multiple(prefix, 1e3) / 1e6 for prefix in ("", *"kmgt")},
    **{f"{prefix}ib": multiple(prefix) / 1e6 for prefix in "kmgt"},
    **dict.fromkeys(("byte", "bytes"), 1e-6),
    **dict.fromkeys(("sectors", "sector", "lba", "lbas"), 512e-6),
}
_SIZE = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))((?i:(?:[kmgt]i?)?b|bytes?|sectors?|lbas?))(?![A-Za-z])"
)


def total(header: str) -> TableColumn | None:
    """Return a counter of bytes as a column: ``Host Writes [GB]`` is that of writes.

    None for what counts no bytes. Its unit makes MB of its values.
    """
    text = tables.mended(header).strip().strip("\"'#").strip()
    words = _Words(text, None) if len(text) < 100 else None
    if words is None or words.is_cpu or words.is_gpu or words.has_token("not_moved"):
        return None
    if words.is_elsewhere:
        return None
    if words.tokens[-4:] == ["io", "time", "seconds", "total"]:
        return words.meaning("busy_pct", 100.0, statistic="total")
    if words.direction is None and not words.has_token("moved"):
        return None
    sizes = _SIZE.findall(text)
    quantity, scale = "bw_mb_s", _SIZES[sizes[-1].lower()] if sizes else 0.0
    if {"data", "units"} <= set(words.tokens):
        scale = 0.512
    elif not sizes and words.direction is not None and words.has_token("done"):
        quantity, scale = "iops", 1.0
    if not scale:
        return None
    unit = tables.Unit("other", scale, note=f"throughput is the rate of the counter '{text}'")
    return TableColumn(
        quantity, unit, words.direction, "total", general=len(words.tokens), header=header
    )


_ELECTRIC = {
    **{"v": (VOLTAGE, 1.0), "mv": (VOLTAGE, 1e-3)},
    **{"a": (CURRENT, 1.0), "ma": (CURRENT, 1e-3), "ua": (CURRENT, 1e-6)},
    **dict.fromkeys(("volt", "volts"), (VOLTAGE, 1.0)),
    **dict.fromkeys(("amp", "amps", "ampere", "amperes"), (CURRENT, 1.0)),
}
_METERED: dict[str, str] = tables.words_by(tables.TABLES["electric"])
_METERS = re.compile(r"^(.*?)[\s_]*[\[(]?\s*(m?v|[mu]?a|volts?|amp(?:ere)?s?)\s*[\])]?$")


def voltage_and_current(
    header: Sequence[str], units: Sequence[str], taken: Container[int]
) -> list[TableColumn]:
    """Return one voltage and one current; none where one is missing or there are several.

    `units` is the row of units below the header, empty where there is none.
    """
    found: list[TableColumn] = []
    for index, name in enumerate(header):
        unit = units[index] if index < len(units) else ""
        is_open = index not in taken and len(name) <= _LONGEST
        if is_open and (what := _electric(name, unit)) is not None:
            found.append(replace(what, index=index, header=name))
    return found if sorted(each.name for each in found) == sorted((VOLTAGE, CURRENT)) else []


def _electric(header: str, unit: str) -> TableColumn | None:
    text = tables.mended(header).strip().lower()
    match = _METERS.match(text)
    name, shown = (match[1], match[2]) if match is not None else (text, "")
    told = _ELECTRIC.get(unit.strip(" []()").lower()) or _ELECTRIC.get(shown)
    meant = {
        _METERED.get(word)
        for word in tables.tokens_of(name)
        if word not in tables.TOKENS["electric_fillers"]
    }
    meant |= {told[0]} if told is not None else set()
    column = next(iter(meant)) if len(meant) == 1 else None
    return None if column is None else named(column, 1.0 if told is None else told[1])


# --- whose a column is, and names as vendors write them ------------------------------------------

#: A disk by its number and its letters, or by a letter alone, in any language.
DISK_INSTANCE = re.compile(r"^\d{1,3}(?: [A-Z]:)*$|^[A-Z]:$")
VOLUME = re.compile(r"^[A-Z]:$")
#: Libre Hardware Monitor's kinds of sensors; a gigabyte is 2^30 bytes to it.
_MONITOR_UNITS = {
    "temperature": "[°C]", "load": "[%]", "power": "[W]", "throughput": "[B/s]",
    "data": "[GiB]", "smalldata": "[MiB]",
}  # fmt: skip
_VENDORS = [
    (re.compile(row["pattern"].replace("DISK", tables.DISK.pattern)), row)
    for row in tables.TABLES["vendors"]["rows"]
]


def owner_and_name(header: str) -> tuple[str, str]:
    """Return a column's device, empty where the header names none, and its name.

    The name is empty where it is about neither a drive nor the host as a whole.
    """
    for pattern, row in _VENDORS if len(header) <= _LONGEST else ():
        match = pattern.search(header)
        if match is None or ("what" in match.groupdict() and not _is_disk(match["what"])):
            continue
        owner = match.groupdict("").get("drive", "")
        owner = owner.upper() if "what" in match.groupdict() else owner
        name = row["keys"].get(match["key"], "") if "keys" in row else match.expand(row["name"])
        return owner, name
    return "", header


def _is_disk(what: str) -> bool:
    return tables.names_drive(what.replace("disk", " disk")) or "datentr" in what.lower()


def monitor_name(path: str, name: str) -> str:
    """Return a column's name in words: Libre Hardware Monitor writes a sensor's path above it."""
    parts = path.strip().strip("/").split("/")
    unit = next((_MONITOR_UNITS[part] for part in parts if part in _MONITOR_UNITS), "[-]")
    what = parts[0]
    if len(parts) < 3:
        return path.strip() if what else name
    if what in ("nvme", "hdd", "ssd", "storage", "ata"):
        return f"{what}{parts[1]}\x1f{name} {unit}"
    host = next((host for host in ("gpu", "cpu") if host in what), "")
    return f"{host.upper()} {name} {unit}" if host else path.strip()
