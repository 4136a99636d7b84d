"""What a header of a table means: the quantity, its direction and its unit.

Headers come in any order of words, in many languages, and with their unit anywhere; so words are
looked for, not whole headers.
"""

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from heatsoak.importer.tables.units import Kind, Unit, split_unit, unit_of
from heatsoak.importer.tables.words import (
    BUSY,
    CPU,
    DRIVE,
    ELSEWHERE,
    EXTREMES,
    GPU,
    IOPS,
    LATENCY,
    LOAD,
    PLACES,
    POWER,
    QUEUE,
    RATE_FILLERS,
    RATE_WORDS,
    READ_TOKENS,
    ROLE_WORDS,
    ROLES,
    TEMP,
    TEMP_FILLERS,
    THERMAL_STATE,
    THROTTLE,
    THROTTLE_FILLERS,
    TIME_FILLERS,
    TIME_WORDS,
    WRITE_TOKENS,
    Role,
    direction_in,
    has_any,
    mended,
    slug,
    tokens_of,
)
from heatsoak.recording import dtype_of

#: Of a headline temperature that a log does not name further.
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
        state: whether its values are a state (throttling or not), rather than a number.
        has_unit: whether the header told the unit.
        is_total: whether its values are MB moved since some beginning, or in each row, of which
            the column's rate is yet to be made.
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

    @property
    def is_role(self) -> bool:
        """Whether it says where and when a row belongs, rather than being measured."""
        return self.column in ROLES

    @property
    def is_rate(self) -> bool:
        """Whether it is bytes or I/Os a second."""
        return self.column.endswith(("bw_mb_s", "iops"))


#: iostat's and sar's names; their prefixes are binary.
_SYSSTAT = re.compile(
    r"^(r|w|d|rd|wr)?_?([kMG])B(?:_(read|wrtn|dscd))?/s$|^(r|w|rd_|wr_)sec/s$", re.ASCII
)
_SYSSTAT_NAMES = {
    "r/s": ("read_iops", 1.0), "w/s": ("write_iops", 1.0), "rtps": ("read_iops", 1.0),
    "wtps": ("write_iops", 1.0), "tps": ("iops", 1.0), "r_await": ("read_lat_us", 1e3),
    "w_await": ("write_lat_us", 1e3), "await": ("lat_us", 1e3), "aqu-sz": ("queue", 1.0),
    "avgqu-sz": ("queue", 1.0), "%util": ("busy_pct", 1.0),
    "bread/s": ("read_bw_mb_s", 512e-6), "bwrtn/s": ("write_bw_mb_s", 512e-6),
}  # fmt: skip
#: What .NET and WMI glue together.
_PER_SEC = re.compile(r"(?i)(bytes|reads|writes|transfers)_?per_?sec(?:ond)?\s*$")
#: Bytes and the second with words between them: ``Bytes geschrieben/s``, ``磁盘写入字节数/秒``.
_BYTES_EACH = re.compile(
    r"(?i)(bytes|octets|字节数?|位元組|バイト|바이트|байт)(.{0,40})(?:/s|/sec|/秒|/с)\s*$"
)
_IOS_EACH = re.compile(r"(?i)(?:vorgänge|次数)(?:/s|/sek\.?|/秒)\s*$")
#: What says how values were put together, behind the unit.
_MEAN = re.compile(r"(?i)[\s_.(-]+(?:mean|avg|average|mittel|mittelwert)\)?\s*$")
#: NVMe's own counters of throttling, by their many names.
_TMT = re.compile(r"(?i)^th(?:er)?m(?:al)?[ _.]?.*?(?:t|temp|tmt)\.?[ _]?([12])[ _.](.*)$")
_PERCENTILE = re.compile(r"(?:^|[^\d.])p?(50|90|95|99[.,_]?9{0,2})(?:th|%|pct|$|[^\d])")
_SECONDS_EACH = re.compile(r"\bsec/(Read|Write|Transfer)\b", re.IGNORECASE)


@lru_cache(maxsize=2048)
def meaning(header: str, unit: str = "") -> Meaning | None:
    """Return what a column with this header holds; None for what no recording has.

    `unit` is what a row of units says of the column.
    """
    text = mended(header).strip().strip("\"'#").strip()
    if not text or len(text) > 300:
        return None
    if text in _SYSSTAT_NAMES:
        column, scale = _SYSSTAT_NAMES[text]
        return Meaning(column, scale)
    if (sysstat := _sysstat(text)) is not None:
        return sysstat
    if (own := _own(text)) is not None:
        return own
    if (counted := _throttle_counter(text)) is not None:
        return counted
    text = _IOS_EACH.sub(" [IO/s]", _BYTES_EACH.sub(r" \2 [B/s]", text))
    name, found = split_unit(_PER_SEC.sub(r" \1/s", text))
    if unit.strip():
        found = unit_of(unit) or found
    told = _by_words(name, found)
    if told is None and (mean := _MEAN.search(text)) is not None:
        return meaning(text[: mean.start()], unit)
    return told


def _throttle_counter(text: str) -> Meaning | None:
    match = _TMT.match(text)
    if match is None:
        return None
    words = tokens_of(match.group(2))
    if "time" in words:
        return Meaning(f"throttle_time_s.tmt{match.group(1)}")
    return Meaning(f"throttle_count.tmt{match.group(1)}") if _is_count(words) else None


def _is_count(words: list[str]) -> bool:
    return not {"count", "counter", "events", "transitions", "trans", "transition"}.isdisjoint(
        words
    )


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
    match = _SYSSTAT.match(text)
    if match is None:
        return None
    short, prefix, word, sectors = match.groups()
    what = (short or word or sectors or "")[:1]
    if what == "d":
        return None
    column = {"r": "read_bw_mb_s", "w": "write_bw_mb_s"}.get(what)
    if column is None:
        return None
    if sectors:
        return Meaning(column, 512e-6, note="sectors of 512 bytes made bytes")
    scale = 1024.0 ** {"k": 1, "M": 2, "G": 3}[prefix] / 1e6
    return Meaning(column, scale, note=f"iostat's {prefix}B/s are {prefix.upper()}iB/s")


def _by_words(name: str, unit: Unit | None) -> Meaning | None:
    tokens = tokens_of(name)
    kind = unit.kind if unit is not None else None
    role = _role(tokens, kind)
    if role is not None:
        if role == "time" and unit is not None and kind == "time":
            return Meaning(role, unit.scale, general=len(tokens))
        return Meaning(role, has_unit=False, general=len(tokens))
    is_cpu = not CPU.isdisjoint(tokens)
    is_gpu = not GPU.isdisjoint(tokens)
    is_drive = has_any(tokens, DRIVE)
    is_elsewhere = not is_drive and has_any(tokens, ELSEWHERE)
    if has_any(tokens, THROTTLE):
        return None if is_cpu or is_gpu or is_elsewhere else _throttle(tokens, unit)
    if "thermal" in tokens and set(tokens) <= THERMAL_STATE:
        return Meaning("throttle_count.throttling", state=True, general=len(tokens))
    is_sensor = tokens[:1] == ["sensor"] and len(tokens) == 2 and tokens[1].isdigit()
    if kind == "temp" or (unit is None and (is_sensor or has_any(tokens, TEMP))):
        return _temperature(tokens, unit, is_cpu=is_cpu, is_gpu=is_gpu, elsewhere=is_elsewhere)
    if is_cpu or is_gpu:
        return _host(tokens, unit, is_gpu=is_gpu)
    if is_elsewhere or "split" in tokens:
        return None
    if ("%" in name and "idle" in tokens) or (kind == "pct" and tokens[:2] == ["idle", "time"]):
        return Meaning("busy_pct", -1.0, 100.0, general=len(tokens))
    if (per := _SECONDS_EACH.search(name)) is not None:
        return Meaning(directed("lat_us", [per.group(1).lower()]), 1e6, general=len(tokens))
    if kind == "rate":
        assert unit is not None
        return _scaled(directed("bw_mb_s", tokens), unit, tokens)
    if kind == "iops" or (unit is None and has_any(tokens, IOPS)):
        thousands = "kiops" in tokens or ("k" in tokens and "iops" in tokens)
        return _scaled(directed("iops", tokens), unit or Unit("iops", 1e3 if thousands else 1.0),
                       tokens)  # fmt: skip
    if has_any(tokens, LATENCY) or (
        kind == "time" and ("response" in tokens or ("access" in tokens and "time" in tokens))
    ):
        return _latency(name, tokens, unit)
    if has_any(tokens, QUEUE) and kind is None:
        return Meaning("queue", general=len(tokens))
    if kind in (None, "pct") and has_any(tokens, BUSY):
        if direction_in(tokens) is not None or (
            kind is None and not is_drive and "%" not in tokens
        ):
            return None
        return Meaning("busy_pct", general=len(tokens))
    if kind == "power" or (unit is None and has_any(tokens, POWER)):
        scale = unit.scale if unit is not None else 1.0
        return Meaning("power_w", scale, has_unit=unit is not None, general=len(tokens))
    if unit is None and has_any(tokens, RATE_WORDS) and (
        is_drive or direction_in(tokens) is not None or _is_plain_rate(tokens)
    ):  # fmt: skip
        return Meaning(directed("bw_mb_s", tokens), has_unit=False, general=len(tokens))
    if unit is None and len(tokens) == 1 and PLACES.get(tokens[0]) in ("ambient", "chamber"):
        return Meaning(f"temp_c.{PLACES[tokens[0]]}", has_unit=False, general=9)
    if unit is None and set(tokens) <= READ_TOKENS | WRITE_TOKENS | {"disk", "drive", "ssd"}:
        direction = direction_in(tokens)
        if direction is not None:
            return Meaning(f"{direction}_bw_mb_s", has_unit=False, general=9)
    return None


def _is_plain_rate(tokens: list[str]) -> bool:
    return all(t.isdigit() or t in RATE_FILLERS or has_any([t], RATE_WORDS) for t in tokens)


def _role(tokens: list[str], kind: Kind | None) -> Role | None:
    joined = "_".join(token for token in tokens if token not in "#%")
    if joined in ("up_time", "uptime"):
        return "uptime"
    for suffix in ("", "_no", "_nr", "_id", "_number"):
        base = joined.removesuffix(suffix) if suffix else joined
        if base in ROLE_WORDS and kind is None:
            return ROLE_WORDS[base]
    if kind not in (None, "time"):
        return None
    if kind == "time" and not joined:
        return "time"
    words = [token for token in tokens if token not in TIME_FILLERS and not token.isdigit()]
    found = [TIME_WORDS.get(word) or _time_in(word) for word in words]
    if not words:
        return "time" if "duration" in tokens and (kind == "time" or len(tokens) == 1) else None
    if None in found:
        return None
    if "uptime" in found:
        return "uptime"
    if "date" in found and "time" not in found:
        return "date"
    return "time"


def _time_in(word: str) -> Role | None:
    """A language without blanks: ``记录时间``."""
    return (
        "time"
        if len(word) < 9 and word.endswith(("时间", "時間", "时刻", "時刻", "시간"))
        else None
    )


def directed(quantity: str, tokens: list[str]) -> str:
    """Return the column of a quantity, of the direction that the tokens tell."""
    direction = direction_in(tokens)
    return quantity if direction is None else f"{direction}_{quantity}"


def _scaled(column: str, unit: Unit, tokens: list[str]) -> Meaning:
    return Meaning(
        column, unit.scale, unit.offset, unit.doubt, unit.note,
        has_unit=True, general=len(tokens) + (0 if EXTREMES.isdisjoint(tokens) else 5),
    )  # fmt: skip


def _throttle(tokens: list[str], unit: Unit | None) -> Meaning:
    kept = [
        t for t in tokens if not (has_any([t], THROTTLE) or has_any([t], DRIVE) or "therm" in t)
    ]
    name = slug(" ".join(t for t in kept if t not in THROTTLE_FILLERS))
    name = name or "throttling"
    if unit is not None and unit.kind == "time":
        return Meaning(f"throttle_time_s.{name}", unit.scale)
    if unit is None and _is_count(tokens):
        return Meaning(f"throttle_count.{name}")
    return Meaning(f"throttle_count.{name}", state=True)


def _temperature(
    tokens: list[str], unit: Unit | None, *, is_cpu: bool, is_gpu: bool, elsewhere: bool
) -> Meaning | None:
    if any(word in tokens for word in ("limit", "threshold", "max", "min", "warning", "distance",
                                       "critical", "target", "tjmax", "tj")):  # fmt: skip
        return None
    has_unit = unit is not None
    unit = unit or Unit("temp")
    kept = [
        t for t in tokens
        if not (has_any([t], TEMP) or t in TEMP_FILLERS or t == "#")
        or t == "composite"
    ]  # fmt: skip
    if is_gpu or is_cpu:
        host = "gpu" if is_gpu else "cpu"
        rest = slug(" ".join(
            t for t in kept if t not in (host, "package", "pkg", "tctl", "tdie", "core", "die")
        ))  # fmt: skip
        column = f"temp_c.{host}" + (f"_{rest}" if rest else "")
        rank = 0 if {"package", "tctl", "tdie"} & set(tokens) else 1
        return replace(_scaled(column, unit, tokens), general=rank + 2 * len(kept))
    for word, place in PLACES.items():
        if word in tokens or (not word.isascii() and any(word in t for t in tokens)):
            return _scaled(f"temp_c.{place}", unit, tokens)
    if elsewhere:
        return None
    number = next((t for t in reversed(kept) if t.isdigit() and len(t) < 3), "")
    words = [t for t in kept if not t.isdigit() and not has_any([t], DRIVE) and t != "sensor"]
    if "composite" in tokens or (not words and number in ("", "0") and "sensor" not in tokens):
        column = DRIVE_TEMP
    elif not words:
        column = f"temp_c.sensor{number}"
    else:
        column = f"temp_c.{slug(' '.join(kept))}"
    return replace(_scaled(column, unit, tokens), has_unit=has_unit)


def _host(tokens: list[str], unit: Unit | None, *, is_gpu: bool) -> Meaning | None:
    kind = unit.kind if unit is not None else None
    scale = unit.scale if unit is not None else 1.0
    general = len(tokens) - ("total" in tokens)
    if kind in (None, "pct") and (has_any(tokens, LOAD) or (kind == "pct" and len(tokens) == 1)):
        if {"memory", "video", "bus", "fan", "limit", "d3d", "max", "t0", "t1"} & set(tokens):
            return None
        if is_gpu:
            return Meaning("gpu_load_pct.0", general=general)
        if "core" in tokens or "cores" in tokens or any(t.isdigit() for t in tokens):
            return None
        return Meaning("cpu_pct", general=general)
    if is_gpu and kind == "power":
        return Meaning("gpu_power_w.0", scale, general=general)
    return None


def _latency(name: str, tokens: list[str], unit: Unit | None) -> Meaning | None:
    if "slat" in tokens or (unit is not None and unit.kind != "time"):
        return None
    scale = unit.scale * 1e6 if unit is not None else 1.0
    which = _PERCENTILE.search(name.lower())
    suffix = "lat"
    if which is not None:
        digits = re.sub("[.,_]", "", which.group(1))
        if digits not in ("50", "99", "999"):
            return None
        suffix = f"lat_p{digits}"
    elif "median" in tokens:
        suffix = "lat_p50"
    elif not {"max", "maximum"}.isdisjoint(tokens):
        suffix = "lat_max"
    elif not {"min", "minimum", "stddev", "std"}.isdisjoint(tokens):
        return None
    column = directed(f"{suffix}_us", tokens)
    doubt = "" if unit is not None else "latencies without a unit are read as microseconds"
    return Meaning(column, scale, doubt=doubt, has_unit=unit is not None, general=len(tokens))
