"""The words of headers in many languages, and how they are looked for.

Headers come in any order of words and in any spelling: a header is cut into tokens, lower case
and without accents, and the tables of this module are looked for in these.
"""

import re
import unicodedata
from typing import Literal, get_args

#: What a column is for where it holds no measurement.
Role = Literal["time", "date", "uptime", "run", "step", "direction", "device"]
ROLES: frozenset[str] = frozenset(get_args(Role))

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


def has_any(tokens: list[str], stems: re.Pattern[str]) -> bool:
    """Return whether any of the tokens has one of the stems."""
    return stems.search(" ".join(tokens)) is not None


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
READ_TOKENS = frozenset({"r", "rd", "reads", "read", "seqread", "randread", "seqrd", "rndrd"})
WRITE_TOKENS = frozenset({
    "w", "wr", "writ", "writes", "write", "seqwrite", "randwrite", "seqwr", "rndwr",
})  # fmt: skip
_NOT_READ = ("ready", "readme")

TEMP = _stems("temp", "temperatur", "tmp", "composite", "hőmérséklet", "lämpötila", "teplot",
              "sıcaklık", "sicaklik", "温度", "溫度", "온도", "температур", "thermal_zone",
              "celsius", "fahrenheit", "tctl", "tdie")  # fmt: skip
RATE_WORDS = _stems("bw", "bandwidth", "throughput", "speed", "rate", "transfer", "durchsatz",
                    "geschwindigkeit", "bandbreite", "debit", "vitesse", "velocid", "velocita",
                    "taxa", "tasa", "szybkosc", "predkosc", "rychlost", "hizi", "snelheid",
                    "hastighet", "速度", "速率", "带宽", "頻寬", "転送", "レート", "スピード",
                    "속도", "скорост", "пропускн", "mbps", "mbs", "kbps")  # fmt: skip
LATENCY = _stems("lat", "latency", "latenz", "latence", "latencia", "latenza", "clat", "await",
                 "延迟", "延遲", "レイテンシ", "지연", "задержк", "antwortzeit")  # fmt: skip
THROTTLE = _stems("throttl", "throtl", "drossel", "gedrosselt", "bridage", "strozzament",
                  "降频", "降頻", "节流", "節流", "スロットリング", "스로틀", "троттл",
                  "тротлин", "dlawien")  # fmt: skip
BUSY = _stems("util", "busy", "activity", "aktivitat", "gesamtaktivitat", "activite", "actividad",
              "attivita", "atividade", "活动", "活動", "アクティビティ", "활동", "активност",
              "auslastung", "活动率", "aktivit", "aktywnosc", "etkinlik")  # fmt: skip
QUEUE = _stems("queue", "qd", "iodepth", "warteschlange", "队列", "佇列", "キュー", "큐",
               "очеред", "inflight")  # fmt: skip
POWER = _stems("power", "leistung", "leistungsaufnahme", "puissance", "potenza", "potencia",
               "功率", "電力", "전력", "мощност", "watt", "watts")  # fmt: skip
LOAD = _stems("usage", "load", "util", "auslastung", "utilisation", "utilization", "uso",
              "charge", "使用率", "利用率", "負荷", "사용", "활용", "загрузк", "использован",
              "last", "nutzung", "pct", "percent", "busy")  # fmt: skip
IOPS = _stems("iops", "iop", "ios", "tps", "每秒")

CPU = frozenset({
    "cpu", "core", "cores", "package", "tctl", "tdie", "ccd", "processor", "prozessor",
    "processeur", "procesador", "processore", "coretemp", "k10temp", "処理", "ia", "htc",
    "prochot", "soc", "apu", "pkg",
})  # fmt: skip
GPU = frozenset({"gpu", "igpu", "dgpu", "vram", "graphics", "grafik", "显存", "hotspot",
                 "junction", "edge"})  # fmt: skip
#: Parts whose columns are not about a drive: networks, memory, boards.
ELSEWHERE = _stems("network", "netzwerk", "net", "lan", "wlan", "wifi", "eth", "ethernet", "nic",
                   "download", "upload", "dl", "up", "rx", "tx", "dram", "dimm", "ddr", "memory",
                   "speicher", "arbeitsspeicher", "ram", "virtual", "page", "pcie", "fan", "pump",
                   "clock", "command", "frame", "framerate", "fps", "battery", "akku", "charge",
                   "motherboard", "mainboard", "vrm", "pch", "chipset", "mosfet", "psu", "vcore",
                   "下载", "上传", "下載", "上傳", "主板", "芯片组", "内存", "显存", "电池",
                   "refresh", "error", "errors", "poll", "sample", "sampling", "vr",
                   "spd", "uncore", "ring", "tvb", "board", "thermal_zone", "zone", "tz",
                   "acpi")  # fmt: skip
DRIVE = _stems("drive", "disk", "ssd", "nvme", "hdd", "hd", "laufwerk", "festplatte", "disque",
               "disco", "磁盘", "磁碟", "硬盘", "硬碟", "驱动器", "ディスク", "ドライブ",
               "드라이브", "디스크", "диск", "накопител", "dysk", "lecteur", "unidad", "schijf",
               "storage", "composite")  # fmt: skip
PLACES = {
    "ambient": "ambient", "amb": "ambient", "raumtemperatur": "ambient",
    "room": "ambient", "umgebung": "ambient", "raum": "ambient",
    "ambiante": "ambient", "ambiente": "ambient", "inlet": "ambient", "intake": "ambient",
    "环境": "ambient", "室温": "ambient", "chamber": "chamber", "case": "case",
    "chassis": "case", "gehause": "case", "enclosure": "case", "boitier": "case",
    "机箱": "case",
}  # fmt: skip

TIME_WORDS: dict[str, Role] = {
    **dict.fromkeys((
        "t", "time", "timestamp", "stamp", "ts", "elapsed", "seconds", "sekunden", "secs",
        "secondes", "segundos", "secondi", "epoch", "unix", "unixtime", "datetime", "zeitstempel",
        "zeitpunkt", "laufzeit", "runtime", "millis", "msec", "zulu", "utc", "horodatage",
        "日時", "日期时间", "时间戳", "時間戳", "タイムスタンプ", "秒", "marca", "tod",
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
TIME_FILLERS = frozenset({
    "local", "wall", "clock", "since", "start", "relative", "rel", "total", "test", "run",
    "running", "real", "log", "logged", "in", "of", "the", "sample", "sampling", "measurement",
    "record", "recorded", "begin", "system", "host", "gmt", "utc", "s", "from", "at", "and", "de",
    "du", "iso", "iso8601", "abs", "absolute", "monotonic", "collection", "capture", "und", "point",
    "tag", "a", "l", "day", "unit", "duration", "hh", "h", "mm", "m", "ss", "ecoule", "ecoulee",
    "transcurrido", "trascorso", "decorrido", "verstrichen", "verstrichene", "vergangene",
    "relativo", "relativa", "verstreken", "uplynuly",
})  # fmt: skip
ROLE_WORDS: dict[str, Role] = {
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

#: Rates are of many things: without unit, direction or drive, a drive's has only these words.
RATE_FILLERS = frozenset({
    "data", "current", "cur", "instant", "instantaneous", "avg", "average", "mean", "total", "io",
    "disk", "the", "of", "de", "daten", "aktuelle", "aktuell", "sequential", "seq", "random",
    "rand", "test", "measured", "interval", "overall", "aggregate", "sum", "job", "fio", "host",
    "sustained",
})  # fmt: skip
EXTREMES = frozenset({"max", "min", "maximum", "minimum", "peak", "std", "stddev", "lowest",
                      "highest"})  # fmt: skip
THROTTLE_FILLERS = frozenset({
    "status", "state", "active", "is", "count", "time", "counter", "s", "total", "events",
    "transitions", "flag", "level", "y", "n", "yes", "no", "true", "false", "mode", "current", "by",
    "temperature", "temp", "reason",
})  # fmt: skip
THERMAL_STATE = frozenset({
    "thermal", "status", "state", "is", "drive", "ssd", "disk", "nvme", "mode", "active", "flag",
    "event", "management", "limiting", "limited",
})  # fmt: skip
TEMP_FILLERS = frozenset({
    "of", "the", "current", "c", "degree", "degrees", "deg", "mean", "avg", "average", "value",
    "input", "reading", "del", "de", "du", "des", "do", "da", "della", "di", "t",
})  # fmt: skip

#: Temperatures that nothing reads: limits and extremes.
NOT_READ_TEMPS = frozenset({
    "limit", "threshold", "max", "min", "warning", "distance", "critical", "target", "tjmax", "tj",
})  # fmt: skip
HOST_TEMP_FILLERS = frozenset({"package", "pkg", "tctl", "tdie", "core", "die"})
#: Shares of a processor or a graphics card that are not its load.
NOT_LOAD = frozenset({
    "memory", "video", "bus", "fan", "limit", "d3d", "max", "t0", "t1",
})  # fmt: skip
DRIVE_TOKENS = frozenset({"disk", "drive", "ssd"})


def direction_of(text: str) -> Literal["read", "write"] | None:
    """Return whether words are about reading or writing; None for neither, and for both."""
    return direction_in(tokens_of(text[:200]))


def direction_in(tokens: list[str]) -> Literal["read", "write"] | None:
    """Return whether tokens are about reading or writing; None for neither, and for both."""
    kept = [token for token in tokens if not token.startswith(_NOT_READ)]
    reads = has_any(kept, _READ) or not READ_TOKENS.isdisjoint(kept)
    writes = has_any(kept, _WRITE) or not WRITE_TOKENS.isdisjoint(kept)
    if reads == writes:
        return None
    return "read" if reads else "write"


def names_drive(header: str) -> bool:
    """Return whether a header says that it is of a drive."""
    return has_any(tokens_of(header[:200]), DRIVE)


def slug(text: str) -> str:
    """Return words as a part of a column's name: ``Sensor 1`` becomes ``sensor1``."""
    words = "_".join(tokens_of(text[:60]))
    return re.sub(r"^([^\W\d_]+)_(\d+)$", r"\1\2", words).strip("_")[:40]
