"""What a header of a table means: the quantity, its direction and its unit.

Headers come in any order of words, in many languages, and with their unit anywhere; so words are
looked for, not whole headers.
"""

import re
import unicodedata
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal, get_args

from heatsoak.recording import dtype_of

#: What a column is for besides being one of a recording's.
Role = Literal["time", "date", "uptime", "run", "step", "direction", "device"]
ROLES: frozenset[str] = frozenset(get_args(Role))

Kind = Literal["rate", "iops", "time", "temp", "power", "pct", "flag", "other"]

#: Of a headline temperature that a log does not name further.
DRIVE_TEMP = "temp_c.composite"


@dataclass(frozen=True)
class Unit:
    """A unit, and how values in it become ours (``value * scale + offset``).

    Ours are MB/s (10^6 bytes), I/Os a second, seconds, degrees Celsius, watts and percent.

    Attributes:
        doubt: how it was read where that is not certain.
        note: what was converted, where it is.
    """

    kind: Kind
    scale: float = 1.0
    offset: float = 0.0
    doubt: str = ""
    note: str = ""


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


_KINDS: dict[Kind, tuple[str, ...]] = {
    "flag": ("yes/no", "ja/nein", "oui/non", "si/no", "sí/no", "sim/não", "true/false", "on/off",
             "0/1", "bool", "boolean", "tak/nie", "да/нет", "是/否"),
    "other": ("v", "mv", "a", "ma", "rpm", "mhz", "ghz", "khz", "hz", "gt/s", "fps", "t", "x", "mb",
              "gb", "kb", "tb", "b", "gib", "mib", "kib", "dbm", "db", "mah", "wh", "mwh", "kwh",
              "g", "°", "min/max", "rh", "pa", "hpa"),
    "pct": ("%", "pct", "percent", "prozent", "%rh"),
}  # fmt: skip
_KELVIN = Unit("temp", 1.0, -273.15, note="kelvin made degrees Celsius")
_FAHRENHEIT = Unit("temp", 5 / 9, -160 / 9, note="degrees Fahrenheit made Celsius")
_UNITS: dict[str, Unit] = {
    word: Unit(kind) for kind, words in _KINDS.items() for word in words
} | {
    **dict.fromkeys(("°c", "c", "celsius", "degc", "deg c", "degreec", "degreesc", "grad",
                     "gradc", "degreescelsius", "degcelsius", "ºc", "˚c"), Unit("temp")),
    **dict.fromkeys(("°f", "f", "fahrenheit", "degf", "degreesf", "ºf"), _FAHRENHEIT),
    **dict.fromkeys(("°k", "kelvin", "degk"), _KELVIN),
    **dict.fromkeys(("m°c", "mc", "millidegrees", "millidegreesc", "mdegc", "millicelsius"),
                    Unit("temp", 1e-3, note="thousandths of a degree made degrees")),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds", "sek", "sekunde", "sekunden",
                     "seg", "segundos", "secondes", "secondi", "сек", "с", "秒", "초"),
                    Unit("time")),
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds", "мс",
                     "毫秒", "ミリ秒"), Unit("time", 1e-3)),
    **dict.fromkeys(("us", "usec", "usecs", "micros", "microsecond", "microseconds"),
                    Unit("time", 1e-6)),
    **dict.fromkeys(("ns", "nsec", "nsecs", "nanos", "nanosecond", "nanoseconds"),
                    Unit("time", 1e-9)),
    **dict.fromkeys(("hh:mm:ss", "h:mm:ss", "h:m:s", "mm:ss", "m:ss", "hh:mm", "hh:mm:ss.ms",
                     "hh:mm:ss.fff", "hh:mm:ss.000", "hhmmss", "mm:ss.f"), Unit("time")),
    **dict.fromkeys(("min", "mins", "minute", "minutes", "minuten"), Unit("time", 60.0)),
    **dict.fromkeys(("h", "hour", "hours", "hr", "hrs", "stunden"), Unit("time", 3600.0)),
    **dict.fromkeys(("w", "watt", "watts"), Unit("power")),
    **dict.fromkeys(("mw", "milliwatt", "milliwatts"), Unit("power", 1e-3)),
    **dict.fromkeys(("iops", "io/s", "ios/s", "i/o/s", "ops/s", "op/s", "r/s", "w/s", "1/s",
                     "req/s", "reqs/s", "requests/s", "reads/s", "writes/s", "transfers/s", "tps",
                     "iop/s", "ops"), Unit("iops")),
    **dict.fromkeys(("kiops", "kio/s", "kops/s"), Unit("iops", 1e3)),
}  # fmt: skip

_RATE = re.compile(
    r"^([kmgt]?)(i?)(bytes|byte|octets|octet|bits|bit|b|o)(?:/s|ps|_s|s)$|^sec(?:tors)?/s$",
    re.IGNORECASE,
)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


def unit_of(text: str) -> Unit | None:
    """Return the unit that `text` names, whatever its spelling; None where it names none."""
    if len(text) > 40:
        return None
    compact = _mended(text).strip(" []()<>_.").replace(" ", "")
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
        return Unit("rate", 512e-6, note="sectors of 512 bytes made bytes")
    prefix = prefix.lower()
    power = _POWERS[prefix]
    in_bits = base.lower().startswith("bit") or (base == "b" and text != text.lower())
    scale = (1024.0 if binary else 1000.0) ** power / 1e6 / (8 if in_bits else 1)
    shown = f"{text[: len(prefix)]}{binary}{'bit' if in_bits else 'B'}/s"
    if binary:
        return Unit("rate", scale, note=f"{shown} made MB/s (10^6 bytes)")
    if in_bits:
        sure = base.lower().startswith("bit")
        doubt = "" if sure else f"{text} is read as bits, not bytes, a second"
        return Unit("rate", scale, doubt=doubt, note=f"{shown} made MB/s")
    if power == 0:
        return Unit("rate", scale, note=f"{shown} made MB/s")
    shown = f"{prefix if prefix == 'k' and text[0] == 'k' else prefix.upper()}B/s"
    doubt = f"{shown} is read as 10^{3 * power} bytes a second; some tools mean 2^{10 * power}"
    return Unit("rate", scale, doubt=doubt)


# --- words -------------------------------------------------------------------------------------

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


# Stems: a token begins with one, or, where it is no ASCII, holds it.
_READ = _stems("read", "reading", "lese", "lesen", "gelesen", "lectur", "lettur", "leitur", "lezen",
               "gelezen", "odczyt", "cteni", "okuma", "lasning", "读取", "读", "讀取", "讀",
               "読み取り", "読み込み", "読取", "読込", "リード", "읽기", "чтени", "прочит",
               "olvas")  # fmt: skip
_WRITE = _stems("write", "writing", "written", "wrtn", "schreib", "geschrieb", "ecriture", "ecrit",
                "escritur", "escrit", "scrittur", "gravac", "schrijf", "schrijv", "zapis", "yazma",
                "skriv", "写入", "写", "寫入", "寫", "書き込み", "書込", "ライト", "쓰기", "запис",
                "irasi")  # fmt: skip
_READ_TOKENS = frozenset({"r", "rd", "reads", "read", "seqread", "randread", "seqrd", "rndrd"})
_WRITE_TOKENS = frozenset({
    "w", "wr", "writ", "writes", "write", "seqwrite", "randwrite", "seqwr", "rndwr",
})  # fmt: skip
_NOT_READ = ("ready", "readme")

_TEMP = _stems("temp", "temperatur", "tmp", "composite", "hőmérséklet", "lämpötila", "teplot",
               "sıcaklık", "sicaklik", "温度", "溫度", "온도", "температур", "thermal_zone",
               "celsius", "fahrenheit", "tctl", "tdie")  # fmt: skip
_RATE_WORDS = _stems("bw", "bandwidth", "throughput", "speed", "rate", "transfer", "durchsatz",
                     "geschwindigkeit", "bandbreite", "debit", "vitesse", "velocid", "velocita",
                     "taxa", "tasa", "szybkosc", "predkosc", "rychlost", "hizi", "snelheid",
                     "hastighet", "速度", "速率", "带宽", "頻寬", "転送", "レート", "スピード",
                     "속도", "скорост", "пропускн", "mbps", "mbs", "kbps")  # fmt: skip
_LATENCY = _stems("lat", "latency", "latenz", "latence", "latencia", "latenza", "clat", "await",
                  "延迟", "延遲", "レイテンシ", "지연", "задержк", "antwortzeit")  # fmt: skip
_THROTTLE = _stems("throttl", "throtl", "drossel", "gedrosselt", "bridage", "strozzament",
                   "降频", "降頻", "节流", "節流", "スロットリング", "스로틀", "троттл",
                   "тротлин", "dlawien")  # fmt: skip
_BUSY = _stems("util", "busy", "activity", "aktivitat", "gesamtaktivitat", "activite", "actividad",
               "attivita", "atividade", "活动", "活動", "アクティビティ", "활동", "активност",
               "auslastung", "活动率", "aktivit", "aktywnosc", "etkinlik")  # fmt: skip
_QUEUE = _stems("queue", "qd", "iodepth", "warteschlange", "队列", "佇列", "キュー", "큐",
                "очеред", "inflight")  # fmt: skip
_POWER = _stems("power", "leistung", "leistungsaufnahme", "puissance", "potenza", "potencia",
                "功率", "電力", "전력", "мощност", "watt", "watts")  # fmt: skip
_LOAD = _stems("usage", "load", "util", "auslastung", "utilisation", "utilization", "uso",
               "charge", "使用率", "利用率", "負荷", "사용", "활용", "загрузк", "использован",
               "last", "nutzung", "pct", "percent", "busy")  # fmt: skip
_IOPS = _stems("iops", "iop", "ios", "tps", "每秒")

_CPU = frozenset({
    "cpu", "core", "cores", "package", "tctl", "tdie", "ccd", "processor", "prozessor",
    "processeur", "procesador", "processore", "coretemp", "k10temp", "処理", "ia", "htc",
    "prochot", "soc", "apu", "pkg",
})  # fmt: skip
_GPU = frozenset({"gpu", "igpu", "dgpu", "vram", "graphics", "grafik", "显存", "hotspot",
                  "junction", "edge"})  # fmt: skip
#: Whose columns say nothing of a drive: networks, memory, boards.
_ELSEWHERE = _stems("network", "netzwerk", "net", "lan", "wlan", "wifi", "eth", "ethernet", "nic",
                    "download", "upload", "dl", "up", "rx", "tx", "dram", "dimm", "ddr", "memory",
                    "speicher", "arbeitsspeicher", "ram", "virtual", "page", "pcie", "fan", "pump",
                    "clock", "command", "frame", "framerate", "fps", "battery", "akku", "charge",
                    "motherboard", "mainboard", "vrm", "pch", "chipset", "mosfet", "psu", "vcore",
                    "下载", "上传", "下載", "上傳", "主板", "芯片组", "内存", "显存", "电池",
                    "refresh", "error", "errors", "poll", "sample", "sampling", "vr",
                    "spd", "uncore", "ring", "tvb", "board", "thermal_zone", "zone", "tz",
                    "acpi")  # fmt: skip
_DRIVE = _stems("drive", "disk", "ssd", "nvme", "hdd", "hd", "laufwerk", "festplatte", "disque",
                "disco", "磁盘", "磁碟", "硬盘", "硬碟", "驱动器", "ディスク", "ドライブ",
                "드라이브", "디스크", "диск", "накопител", "dysk", "lecteur", "unidad", "schijf",
                "storage", "composite")  # fmt: skip
_PLACES = {
    "ambient": "ambient", "amb": "ambient", "raumtemperatur": "ambient",
    "room": "ambient", "umgebung": "ambient", "raum": "ambient",
    "ambiante": "ambient", "ambiente": "ambient", "inlet": "ambient", "intake": "ambient",
    "环境": "ambient", "室温": "ambient", "chamber": "chamber", "case": "case",
    "chassis": "case", "gehause": "case", "enclosure": "case", "boitier": "case",
    "机箱": "case",
}  # fmt: skip

_TIME_WORDS: dict[str, Role] = {
    **dict.fromkeys((
        "t", "time", "timestamp", "stamp", "ts", "elapsed", "seconds", "sekunden", "secs",
        "secondes", "segundos", "secondi", "epoch", "unix", "unixtime", "datetime", "zeitstempel",
        "zeitpunkt", "laufzeit", "runtime", "millis", "msec", "zulu", "utc", "horodatage",
        "日時", "日期时间", "时间戳", "時間戳", "タイムスタンプ", "秒", "marca",
    ), "time"),
    **dict.fromkeys((
        "zeit", "uhrzeit", "heure", "hora", "tiempo", "ora", "tempo", "temps", "时间", "時間",
        "時刻", "시간", "время", "cas", "czas", "tid", "tijd", "godzina", "saat", "zaman", "clock",
        "ido", "aika", "klockslag",
    ), "time"),
    **dict.fromkeys((
        "date", "datum", "fecha", "data", "日期", "日付", "날짜", "дата", "tarih", "dato", "day",
        "paivamaara",
    ), "date"),
    **dict.fromkeys(("uptime",), "uptime"),
}  # fmt: skip
_TIME_FILLERS = frozenset({
    "local", "wall", "clock", "since", "start", "relative", "rel", "total", "test", "run",
    "running", "real", "log", "logged", "in", "of", "the", "sample", "sampling", "measurement",
    "record", "recorded", "begin", "system", "host", "gmt", "utc", "s", "from", "at", "and", "de",
    "du", "iso", "iso8601", "abs", "absolute", "monotonic", "collection", "capture", "und", "point",
    "tag", "a", "l", "day", "unit", "duration", "hh", "h", "mm", "m", "ss", "ecoule", "ecoulee",
    "transcurrido", "trascorso", "decorrido", "verstrichen", "verstrichene", "vergangene",
    "relativo", "relativa", "verstreken", "uplynuly",
})  # fmt: skip
_ROLES: dict[str, Role] = {
    **dict.fromkeys((
        "run", "runs", "run_no", "run_id", "run_nr", "run_number", "iteration", "iter", "pass",
        "test_run", "lauf", "durchlauf", "durchgang", "repetition", "repeat", "rep", "trial",
        "loop", "run_index", "testlauf", "cycle", "experiment", "runid", "run_name", "run_label",
        "passe", "essai", "execution", "ejecucion", "prueba", "prova", "回", "次数", "轮次",
    ), "run"),
    **dict.fromkeys((
        "step", "phase", "workload", "test", "job", "jobname", "job_name", "test_name", "step_name",
        "stage", "schritt", "etape", "paso", "fase", "workload_name", "scenario", "testcase",
        "test_case", "pattern", "access_pattern", "阶段", "步骤", "フェーズ",
    ), "step"),
    **dict.fromkeys((
        "op", "operation", "direction", "rw", "ddir", "io_type", "iotype", "io_direction", "dir",
        "access", "richtung", "mode", "operation_type", "read_write", "type",
    ), "direction"),
    **dict.fromkeys((
        "device", "dev", "drive", "disk", "ssd", "disk_name", "device_name", "drive_name", "model",
        "serial", "laufwerk", "gerat", "disque", "namespace", "path", "磁盘", "设备",
    ), "device"),
}  # fmt: skip

_CAMEL = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z]{2})")
_NUMBERED = re.compile(
    r"(?<![^\W_])(temp|temperature|tmp|sensor|ssd|hdd|disk|drive|gpu|cpu|core|run|nic|eth|zone|tz)(\d+)(?![^\W_])"
)
_TOKEN = re.compile(r"[^\W_]+|%|#", re.UNICODE)
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
#: A size behind words of a rate stands for a size each second: ``bw_mib``.
_TAIL_SIZE = re.compile(r"[\s_.]((?:[kmgt]i?)?b(?:ytes)?|bytes)\s*$", re.IGNORECASE)
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
_GLUED_UNIT = re.compile(r"(?<=[a-z])([KMGT]i?(?:B/?s|Bps|bps|B/s))$")
_PERCENTILE = re.compile(r"(?:^|[^\d.])p?(50|90|95|99[.,_]?9{0,2})(?:th|%|pct|$|[^\d])")
_SECONDS_EACH = re.compile(r"\bsec/(Read|Write|Transfer)\b", re.IGNORECASE)


def _mended(text: str) -> str:
    """The text with its degree sign and micro sign as they were before they were garbled."""
    if text.isascii():
        return text
    text = text.replace("℃", "°C").replace("℉", "°F").replace("Â", "").replace("¡æ", "°C")
    text = re.sub("[\ufffd?º˚]{1,2}(?=[CFK]\\b)", "°", text)
    return text.replace("µ", "u").replace("μ", "u").replace("Î¼", "u")


def _tokens(text: str) -> list[str]:
    return _TOKEN.findall(_NUMBERED.sub(r"\1 \2", _fold(_CAMEL.sub(" ", text))))


def _has(tokens: list[str], stems: re.Pattern[str]) -> bool:
    return stems.search(" ".join(tokens)) is not None


def direction_of(text: str) -> Literal["read", "write"] | None:
    """Return whether words are about reading or writing; None for neither, and for both."""
    return _direction(_tokens(text[:200]))


def _direction(tokens: list[str]) -> Literal["read", "write"] | None:
    kept = [token for token in tokens if not token.startswith(_NOT_READ)]
    reads = _has(kept, _READ) or not _READ_TOKENS.isdisjoint(kept)
    writes = _has(kept, _WRITE) or not _WRITE_TOKENS.isdisjoint(kept)
    if reads == writes:
        return None
    return "read" if reads else "write"


def names_drive(header: str) -> bool:
    """Return whether a header says that it is of a drive."""
    return _has(_tokens(header[:200]), _DRIVE)


def slug(text: str) -> str:
    """Return words as a part of a column's name: ``Sensor 1`` becomes ``sensor1``."""
    words = "_".join(_tokens(text[:60]))
    return re.sub(r"^([^\W\d_]+)_(\d+)$", r"\1\2", words).strip("_")[:40]


@lru_cache(maxsize=2048)
def meaning(header: str, unit: str = "") -> Meaning | None:
    """Return what a column with this header holds; None for what no recording has.

    `unit` is what a row of units says of the column.
    """
    text = _mended(header).strip().strip("\"'#").strip()
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
    name, found = _split_unit(_PER_SEC.sub(r" \1/s", text))
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
    words = _tokens(match.group(2))
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


def _split_unit(text: str) -> tuple[str, Unit | None]:
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
        unit = unit_of(written.upper() if len(written) == 1 and group == 2 else written)
        if unit is not None:
            return (text if unit.kind == "iops" else text[: tail.start(group)]), unit
    size = _TAIL_SIZE.search(text)
    if size is not None and _has(_tokens(text[: size.start()]), _RATE_WORDS):
        return text[: size.start()], unit_of(f"{size.group(1)}/s")
    # elapsedMs, TIME_S: only of what cannot be taken for another unit then
    plain = _CAMEL.sub("_", text).lower()
    if plain != text:
        name, unit = _split_unit(plain)
        if unit is not None and unit.kind in ("time", "temp"):
            return name, unit
    return text, None


#: Sizes in MB of what tables count.
_SIZES = {
    **{f"{p}b": 1e3**i / 1e6 for i, p in enumerate(("", "k", "m", "g", "t"))},
    **{f"{p}ib": 1024.0**i / 1e6 for i, p in enumerate(("", "k", "m", "g", "t"))},
    "byte": 1e-6, "bytes": 1e-6, "sectors": 512e-6, "sector": 512e-6, "lba": 512e-6, "lbas": 512e-6,
}  # fmt: skip
_SIZE = re.compile(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))((?i:(?:[kmgt]i?)?b|bytes?|sectors?|lbas?))(?![A-Za-z])"
)
_MOVED = frozenset({"transferred", "moved", "transfered", "ubertragen"})
#: What sizes besides those moved are of.
_NOT_MOVED = frozenset({
    "size", "free", "used", "capacity", "cache", "available", "left", "remaining", "block", "bs",
    "buffer", "request", "req", "limit", "target", "rating", "endurance", "rated", "max", "min",
    "temp", "error", "errors", "lifetime", "wear", "amplification", "nand",
})  # fmt: skip


def total(header: str) -> Meaning | None:
    """Return of which rate a header's column counts the bytes: ``Host Writes [GB]``.

    None for what counts none. `scale` makes MB of its values.
    """
    text = _mended(header).strip().strip("\"'#").strip()
    tokens = _tokens(text) if len(text) < 100 else []
    words = set(tokens)
    if words & (_NOT_MOVED | _CPU | _GPU) or (
        not _has(tokens, _DRIVE) and _has(tokens, _ELSEWHERE)
    ):
        return None
    direction = _direction(tokens)
    if direction is None and not words & _MOVED:
        return None
    column = _directed("bw_mb_s", tokens)
    note = f"throughput is made of the counter '{text}'"
    if {"data", "units"} <= words:
        return Meaning(column, 0.512, note=note, general=len(tokens), is_total=True)
    sizes = _SIZE.findall(text)
    if not sizes:
        return None
    return Meaning(column, _SIZES[sizes[-1].lower()], note=note, general=len(tokens), is_total=True)


def _by_words(name: str, unit: Unit | None) -> Meaning | None:
    tokens = _tokens(name)
    kind = unit.kind if unit is not None else None
    role = _role(tokens, kind)
    if role is not None:
        if role == "time" and unit is not None and kind == "time":
            return Meaning(role, unit.scale, general=len(tokens))
        return Meaning(role, has_unit=False, general=len(tokens))
    is_cpu = not _CPU.isdisjoint(tokens)
    is_gpu = not _GPU.isdisjoint(tokens)
    is_drive = _has(tokens, _DRIVE)
    is_elsewhere = not is_drive and _has(tokens, _ELSEWHERE)
    if _has(tokens, _THROTTLE):
        return None if is_cpu or is_gpu or is_elsewhere else _throttle(tokens, unit)
    if "thermal" in tokens and set(tokens) <= _THERMAL_STATE:
        return Meaning("throttle_count.throttling", state=True, general=len(tokens))
    is_sensor = tokens[:1] == ["sensor"] and len(tokens) == 2 and tokens[1].isdigit()
    if kind == "temp" or (unit is None and (is_sensor or _has(tokens, _TEMP))):
        return _temperature(tokens, unit, is_cpu=is_cpu, is_gpu=is_gpu, elsewhere=is_elsewhere)
    if is_cpu or is_gpu:
        return _host(tokens, unit, is_gpu=is_gpu)
    if is_elsewhere or "split" in tokens:
        return None
    if ("%" in name and "idle" in tokens) or (kind == "pct" and tokens[:2] == ["idle", "time"]):
        return Meaning("busy_pct", -1.0, 100.0, general=len(tokens))
    if (per := _SECONDS_EACH.search(name)) is not None:
        return Meaning(_directed("lat_us", [per.group(1).lower()]), 1e6, general=len(tokens))
    if kind == "rate":
        assert unit is not None
        return _scaled(_directed("bw_mb_s", tokens), unit, tokens)
    if kind == "iops" or (unit is None and _has(tokens, _IOPS)):
        thousands = "kiops" in tokens or ("k" in tokens and "iops" in tokens)
        return _scaled(_directed("iops", tokens), unit or Unit("iops", 1e3 if thousands else 1.0),
                       tokens)  # fmt: skip
    if _has(tokens, _LATENCY) or (
        kind == "time" and ("response" in tokens or ("access" in tokens and "time" in tokens))
    ):
        return _latency(name, tokens, unit)
    if _has(tokens, _QUEUE) and kind is None:
        return Meaning("queue", general=len(tokens))
    if kind in (None, "pct") and _has(tokens, _BUSY):
        if _direction(tokens) is not None or (kind is None and not is_drive and "%" not in tokens):
            return None
        return Meaning("busy_pct", general=len(tokens))
    if kind == "power" or (unit is None and _has(tokens, _POWER)):
        scale = unit.scale if unit is not None else 1.0
        return Meaning("power_w", scale, has_unit=unit is not None, general=len(tokens))
    if unit is None and _has(tokens, _RATE_WORDS) and (
        is_drive or _direction(tokens) is not None or _is_plain_rate(tokens)
    ):  # fmt: skip
        return Meaning(_directed("bw_mb_s", tokens), has_unit=False, general=len(tokens))
    if unit is None and len(tokens) == 1 and _PLACES.get(tokens[0]) in ("ambient", "chamber"):
        return Meaning(f"temp_c.{_PLACES[tokens[0]]}", has_unit=False, general=9)
    if unit is None and set(tokens) <= _READ_TOKENS | _WRITE_TOKENS | {"disk", "drive", "ssd"}:
        direction = _direction(tokens)
        if direction is not None:
            return Meaning(f"{direction}_bw_mb_s", has_unit=False, general=9)
    return None


#: Rates are of many things: without a unit, a direction or a drive nothing else may be said.
_RATE_FILLERS = frozenset({
    "data", "current", "cur", "instant", "instantaneous", "avg", "average", "mean", "total", "io",
    "disk", "the", "of", "de", "daten", "aktuelle", "aktuell", "sequential", "seq", "random",
    "rand", "test", "measured", "interval", "overall", "aggregate", "sum", "job", "fio", "host",
    "sustained",
})  # fmt: skip


def _is_plain_rate(tokens: list[str]) -> bool:
    return all(t.isdigit() or t in _RATE_FILLERS or _has([t], _RATE_WORDS) for t in tokens)


def _role(tokens: list[str], kind: Kind | None) -> Role | None:
    joined = "_".join(token for token in tokens if token not in "#%")
    if joined in ("up_time", "uptime"):
        return "uptime"
    for suffix in ("", "_no", "_nr", "_id", "_number"):
        base = joined.removesuffix(suffix) if suffix else joined
        if base in _ROLES and kind is None:
            return _ROLES[base]
    if kind not in (None, "time"):
        return None
    if kind == "time" and not joined:
        return "time"
    words = [token for token in tokens if token not in _TIME_FILLERS and not token.isdigit()]
    found = [_TIME_WORDS.get(word) or _time_in(word) for word in words]
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


def _directed(quantity: str, tokens: list[str]) -> str:
    direction = _direction(tokens)
    return quantity if direction is None else f"{direction}_{quantity}"


def _scaled(column: str, unit: Unit, tokens: list[str]) -> Meaning:
    return Meaning(
        column, unit.scale, unit.offset, unit.doubt, unit.note,
        has_unit=True, general=len(tokens) + (0 if _EXTREMES.isdisjoint(tokens) else 5),
    )  # fmt: skip


_EXTREMES = frozenset({"max", "min", "maximum", "minimum", "peak", "std", "stddev", "lowest",
                       "highest"})  # fmt: skip
_THROTTLE_FILLERS = frozenset({
    "status", "state", "active", "is", "count", "time", "counter", "s", "total", "events",
    "transitions", "flag", "level", "y", "n", "yes", "no", "true", "false", "mode", "current", "by",
    "temperature", "temp", "reason",
})  # fmt: skip


_THERMAL_STATE = frozenset({
    "thermal", "status", "state", "is", "drive", "ssd", "disk", "nvme", "mode", "active", "flag",
    "event", "management", "limiting", "limited",
})  # fmt: skip


def _throttle(tokens: list[str], unit: Unit | None) -> Meaning:
    kept = [t for t in tokens if not (_has([t], _THROTTLE) or _has([t], _DRIVE) or "therm" in t)]
    name = slug(" ".join(t for t in kept if t not in _THROTTLE_FILLERS))
    name = name or "throttling"
    if unit is not None and unit.kind == "time":
        return Meaning(f"throttle_time_s.{name}", unit.scale)
    if unit is None and _is_count(tokens):
        return Meaning(f"throttle_count.{name}")
    return Meaning(f"throttle_count.{name}", state=True)


_TEMP_FILLERS = frozenset({
    "of", "the", "current", "c", "degree", "degrees", "deg", "mean", "avg", "average", "value",
    "input", "reading", "del", "de", "du", "des", "do", "da", "della", "di", "t",
})  # fmt: skip


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
        if not (_has([t], _TEMP) or t in _TEMP_FILLERS)
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
    for word, place in _PLACES.items():
        if word in tokens or (not word.isascii() and any(word in t for t in tokens)):
            return _scaled(f"temp_c.{place}", unit, tokens)
    if elsewhere:
        return None
    number = next((t for t in reversed(kept) if t.isdigit() and len(t) < 3), "")
    words = [t for t in kept if not t.isdigit() and not _has([t], _DRIVE) and t != "sensor"]
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
    if kind in (None, "pct") and (_has(tokens, _LOAD) or (kind == "pct" and len(tokens) == 1)):
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
    column = _directed(f"{suffix}_us", tokens)
    doubt = "" if unit is not None else "latencies without a unit are read as microseconds"
    return Meaning(column, scale, doubt=doubt, has_unit=unit is not None, general=len(tokens))
