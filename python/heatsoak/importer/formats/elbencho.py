"""elbencho: the live CSV (``--livecsv``), and what is left of a phase when it is over.

The live CSV has a row each interval for all threads together ("Total"), with `--livecsvex` one
for each thread; of a mix of reads and writes, a row for each. `DoneBytes` counts from the phase's
begin and is exact where `MiB/s` is a whole number. The results (``--csvfile``, ``--jsonfile``,
``--resfile``) have the mean of each phase.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from heatsoak.importer.formats.base import Format
from heatsoak.importer.frames import build
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times
from heatsoak.protocol import Observed
from heatsoak.protocol.workload import RW
from heatsoak.units import parse_size

_MIB = 1048576.0
_LIVE = frozenset(("Phase", "RuntimeMS", "Rank", "MixType"))
_RESULTS = frozenset(("operation", "time ms [last]", "MiB/s [last]"))
_TEXT = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}")
#: The direction of a phase by its name; others with bytes are of both.
_DIRECTIONS = {"WRITE": "write", "PUT": "write", "UPLOAD": "write", "MPUPLOAD": "write",
               "READ": "read", "GET": "read", "DOWNLOAD": "read", "VERIFY": "read"}  # fmt: skip
_LONGEST_NAME = 100


def _recognises(source: Source) -> bool:
    return _kind(source) is not None


def _kind(source: Source) -> str | None:
    for line in source.head_lines:
        if "RuntimeMS" in line and set(line.split(",")) >= _LIVE:
            return "live"
        if "[last]" in line and set(line.split(",")) >= _RESULTS:
            return "results"
        if "OPERATION" in line and _TEXT.search(line):
            return "text"
        if '"phase_type"' in line and line.lstrip().startswith("{"):
            return "json"
    return None


def _read(source: Source, options: Options) -> list[Log]:
    del options
    kind = _kind(source)
    if kind == "live":
        return _read_live(source)
    if kind == "results":
        return _of_phases(source, list(_csv_phases(source)))
    if kind == "json":
        return _of_phases(source, list(_json_phases(source)))
    return _of_phases(source, list(_text_phases(source)))


# --- while it runs ---


@dataclass
class _Live:
    """A phase as the live CSV has it: at each time, its rows by their mix."""

    name: str
    label: str
    times_ms: list[float] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    rows: list[dict[str, dict[str, float]]] = field(default_factory=list)

    @property
    def has_bytes(self) -> bool:
        return any(row["bytes"] > 0 for rows in self.rows for row in rows.values())


def _read_live(source: Source) -> list[Log]:
    runs: list[list[_Live]] = []
    columns: dict[str, int] = {}
    phase: _Live | None = None
    bad, first_bad = 0, 0
    for number, line in source.kept_lines():
        words = line.split(",")
        if "RuntimeMS" in line and set(words) >= _LIVE:
            columns = {name.strip(): at for at, name in enumerate(words) if name.strip()}
            runs.append([])
            phase = None
            continue
        if not line.strip() or not columns:
            continue
        runtime_ms = _number(words, columns["RuntimeMS"])
        rank = _word(words, columns["Rank"])
        done = _number(words, columns.get("DoneBytes"))
        if not runtime_ms >= 0 or not rank or len(words) < len(columns):
            bad, first_bad = bad + 1, first_bad or number
            continue
        name, label = _word(words, columns["Phase"]), _word(words, columns.get("Label"))
        if phase is not None and phase.label != label:
            runs.append([])
        if (
            phase is None
            or (phase.name, phase.label) != (name, label)
            or runtime_ms < phase.times_ms[-1]
        ):
            phase = _Live(name, label)
            runs[-1].append(phase)
        if not phase.times_ms or runtime_ms > phase.times_ms[-1]:
            phase.times_ms.append(runtime_ms)
            phase.ends.append(_word(words, columns.get("ISO Date")))
            phase.rows.append({})
        row = {
            "bytes": done,
            "mib_s": _number(words, columns.get("MiB/s")),
            "iops": _number(words, columns.get("IOPS")),
            "lat_us": _number(words, columns.get("Lat IO us")),
            "cpu_pct": _number(words, columns.get("CPU")),
            "total": float(rank == "Total"),
        }
        _put(phase.rows[-1], _word(words, columns["MixType"]), row)
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")
    kept = [[phase for phase in run if phase.has_bytes] for run in runs]
    kept = [run for run in kept if run]
    if not kept:
        raise source.error("holds no phase that read or wrote")
    return [_live_log(source, run, len(kept) > 1) for run in kept]


def _put(rows: dict[str, dict[str, float]], mix: str, row: dict[str, float]) -> None:
    """Keep the row of all threads; where there is none, the sum of the threads' bytes."""
    known = rows.get(mix)
    if known is None or (row["total"] and not known["total"]):
        rows[mix] = row
    elif not row["total"] and not known["total"]:
        known["bytes"] += row["bytes"]


def _live_log(source: Source, phases: Sequence[_Live], several: bool) -> Log:
    remarks = [Remark("bytes since the phase's begin: differenced, as MB/s (10^6 bytes/s)")]
    begins_s, begin_unix_s, clock = _begins(phases)
    if clock == "none" and len(phases) > 1:
        remarks.append(
            Remark("has no dates: its phases are taken to follow each other at once", doubt=True)
        )
    rows: list[dict[str, Any]] = []
    steps = []
    for phase, begin_s, name in zip(phases, begins_s, _step_names(phases), strict=True):
        directions = set()
        before_s, before = 0.0, dict.fromkeys(("", "Read", "Write"), 0.0)
        for time_ms, by_mix in zip(phase.times_ms, phase.rows, strict=True):
            at_s = time_ms / 1e3
            lasted_s = at_s - before_s
            if not lasted_s > 0:
                continue
            sample: dict[str, Any] = {"t_s": begin_s + at_s, "interval_s": lasted_s, "step": name}
            for mix, row in by_mix.items():
                prefix = _prefix(phase.name, mix)
                directions.add(prefix)
                moved = row["bytes"] - before.get(mix, 0.0)
                before[mix] = row["bytes"]
                bw_mb_s = moved / lasted_s / 1e6
                if not bw_mb_s >= 0:
                    bw_mb_s = row["mib_s"] * _MIB / 1e6
                sample[f"{prefix}bw_mb_s"] = bw_mb_s
                sample[f"{prefix}iops"] = row["iops"]
                sample[f"{prefix}lat_us"] = row["lat_us"] if row["lat_us"] > 0 else math.nan
                if row["total"]:
                    sample["cpu_pct"] = row["cpu_pct"]
            before_s = at_s
            rows.append(sample)
        both = "" in directions
        steps.append(
            Observed(
                name=name,
                reads=both or "read_" in directions,
                writes=both or "write_" in directions,
                about="" if phase.name in _DIRECTIONS else phase.name[:_LONGEST_NAME],
            )
        )
    if not rows:
        raise source.error("holds no phase that read or wrote for a while")
    used = {row["step"] for row in rows}
    return Log(
        format="elbencho",
        source=source.name,
        samples=_frame(rows),
        clock=clock,
        begin_unix_s=begin_unix_s,
        steps=tuple(step for step in steps if step.name in used),
        label=phases[0].label[:_LONGEST_NAME] if several else "",
        conditions={},
        remarks=tuple(remarks),
    )


def _begins(phases: Sequence[_Live]) -> tuple[list[float], float | None, Clock]:
    """Return when each phase began, from the first one's begin, and what clock that is."""
    words = [phase.ends[0] for phase in phases]
    if all(_DATE.match(word) for word in words):
        times = read_times(words)
        begins = [
            t_s - phase.times_ms[0] / 1e3
            for t_s, phase in zip(times.t_s.tolist(), phases, strict=True)
        ]
        rising = all(
            begin >= before + phase.times_ms[-1] / 1e3 - 1.0
            for begin, before, phase in zip(begins[1:], begins, phases, strict=False)
        )
        if times.begin_unix_s is not None and rising and all(map(math.isfinite, begins)):
            first = begins[0]
            return [begin - first for begin in begins], times.begin_unix_s + first, times.clock
    ends = np.cumsum([0.0, *(phase.times_ms[-1] / 1e3 for phase in phases[:-1])])
    return ends.tolist(), None, "none"


def _step_names(phases: Sequence[Any]) -> list[str]:
    names: list[str] = []
    for phase in phases:
        name = phase.name[:_LONGEST_NAME].strip() or "phase"
        count = sum(known == name or known.startswith(f"{name} ") for known in names)
        names.append(f"{name} {count + 1}" if count else name)
    taken: set[str] = set()
    for index, name in enumerate(names):
        if name in taken:
            names[index] = f"{name} ({index + 1})"
        taken.add(names[index])
    return names


def _prefix(phase: str, mix: str) -> str:
    if mix in ("Read", "Write"):
        return f"{mix.lower()}_"
    direction = _DIRECTIONS.get(phase.upper())
    return f"{direction}_" if direction else ""


def _frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    names = dict.fromkeys(name for row in rows for name in row)
    return build({name: [row.get(name) for row in rows] for name in names})


def _word(words: Sequence[str], at: int | None) -> str:
    return words[at].strip() if at is not None and at < len(words) else ""


def _number(words: Sequence[str], at: int | None) -> float:
    return _float(_word(words, at))


def _float(word: Any) -> float:
    """A finite number of a text or of JSON, up to 1e18; else NaN."""
    try:
        value = float(word) if isinstance(word, (str, int, float)) else math.nan
    except (ValueError, OverflowError):
        return math.nan
    return value if abs(value) <= 1e18 else math.nan


# --- when it is over ---


@dataclass
class _Phase:
    """A phase's means, by the names that :func:`_sample` takes."""

    name: str
    values: dict[str, float] = field(default_factory=dict)
    date: str = ""
    #: Whether the date is the phase's begin, as since 3.0, or its end.
    from_begin: bool = True
    bs: float = math.nan
    iodepth: float = math.nan
    threads: float = math.nan
    random: bool | None = None
    version: str = ""
    label: str = ""


def _of_phases(source: Source, phases: Sequence[_Phase]) -> list[Log]:
    phases = [
        phase
        for phase in phases
        if 0 < phase.values.get("lasted_s", math.nan) < 1e9
        and any(phase.values.get(f"{d}bytes", 0.0) > 0 for d in ("", "read_", "write_"))
    ]
    if not phases:
        raise source.error("holds no phase that read or wrote")
    begins_s, begin_unix_s, clock = _phase_begins(phases)
    rows = []
    steps = []
    for phase, begin_s, name in zip(phases, begins_s, _step_names(phases), strict=True):
        values = phase.values
        lasted_s = values["lasted_s"]
        row: dict[str, Any] = {"t_s": begin_s + lasted_s, "interval_s": lasted_s, "step": name}
        done = {d: values.get(f"{d}bytes", 0.0) for d in ("", "read_", "write_")}
        for prefix, moved in done.items():
            if moved > 0:
                row[f"{prefix}bw_mb_s"] = moved / lasted_s / 1e6
                for quantity in ("iops", "lat_us", "lat_max_us"):
                    if prefix or quantity != "lat_max_us":
                        row[f"{prefix}{quantity}"] = values.get(f"{prefix}{quantity}", math.nan)
        row["cpu_pct"] = values.get("cpu_pct", math.nan)
        rows.append(row)
        reads, writes = (done[d] > 0 or done[""] > 0 for d in ("read_", "write_"))
        steps.append(
            Observed(
                name=name,
                reads=reads,
                writes=writes,
                rw=_pattern(reads, writes, phase.random),
                bs=_whole(phase.bs),
                iodepth=_whole(phase.iodepth),
                numjobs=_whole(phase.threads),
                about="" if phase.name in _DIRECTIONS else phase.name[:_LONGEST_NAME],
            )
        )
    version = next((phase.version for phase in phases if phase.version), "")
    return [
        Log(
            format="elbencho",
            source=source.name,
            samples=_frame(rows),
            clock=clock,
            begin_unix_s=begin_unix_s,
            steps=tuple(steps),
            tools={"elbencho": version[:_LONGEST_NAME]} if version else {},
            remarks=(
                Remark("results have only the mean of each phase: --livecsv shows its course"),
            ),
        )
    ]


def _pattern(reads: bool, writes: bool, random: bool | None) -> RW | None:
    if random is None or not (reads or writes):
        return None
    if reads and writes:
        return "randrw" if random else "rw"
    if reads:
        return "randread" if random else "read"
    return "randwrite" if random else "write"


def _whole(value: float) -> int | None:
    return int(value) if 1 <= value <= 2**50 else None


def _phase_begins(phases: Sequence[_Phase]) -> tuple[list[float], float | None, Clock]:
    lasted = [phase.values["lasted_s"] for phase in phases]
    if all(_DATE.match(phase.date) for phase in phases):
        times = read_times([phase.date for phase in phases])
        begins = [
            t_s - (0.0 if phase.from_begin else phase.values["lasted_s"])
            for t_s, phase in zip(times.t_s.tolist(), phases, strict=True)
        ]
        ends = [begin + length for begin, length in zip(begins, lasted, strict=True)]
        rising = all(begin >= end - 2.0 for begin, end in zip(begins[1:], ends, strict=False))
        if times.begin_unix_s is not None and rising and all(map(math.isfinite, begins)):
            first = begins[0]
            return [begin - first for begin in begins], times.begin_unix_s + first, times.clock
    return np.cumsum([0.0, *lasted[:-1]]).tolist(), None, "none"


def _csv_phases(source: Source) -> Iterator[_Phase]:
    columns: dict[str, int] = {}
    bad, first_bad = 0, 0
    for number, line in source.kept_lines():
        words = line.split(",")
        if "[last]" in line and set(words) >= _RESULTS:
            columns = {name: at for at, name in enumerate(words)}
            continue
        if not columns or not line.strip():
            continue
        if len(words) < len(columns):
            bad, first_bad = bad + 1, first_bad or number
            continue

        row = {name: _word(words, at) for name, at in columns.items()}
        name = row["operation"]
        date = row.get("ISO date", "")
        phase = _Phase(
            name,
            date=date,
            from_begin="." in date,
            bs=_float(row.get("block size")),
            iodepth=_float(row.get("IO depth")),
            threads=_float(row.get("threads")) * (_float(row.get("hosts")) or 1.0),
            random=row.get("random", "") == "1" if row.get("random") else None,
            version=row.get("version", ""),
        )
        phase.values["lasted_s"] = _float(row["time ms [last]"]) / 1e3
        phase.values["cpu_pct"] = _float(row.get("CPU% [last]"))
        reading = _float(row.get("rwmix read MiB [last]")) > 0
        for prefix, start in (("write_" if reading else _prefix(name, ""), ""),
                              *((("read_", "rwmix read "),) if reading else ())):  # fmt: skip
            moved = _float(row.get(f"{start}MiB [last]")) * _MIB
            if not moved > 0:
                moved = _float(row.get(f"{start}MiB/s [last]")) * _MIB * phase.values["lasted_s"]
            phase.values[f"{prefix}bytes"] = moved
            phase.values[f"{prefix}iops"] = _float(row.get(f"{start}IOPS [last]"))
            phase.values[f"{prefix}lat_us"] = _float(row.get(f"{start}IO lat us [avg]"))
            phase.values[f"{prefix}lat_max_us"] = _float(row.get(f"{start}IO lat us [max]"))
        yield phase
    if bad:
        source.remark(f"{bad} lines could not be read, the first is line {first_bad}")


def _json_phases(source: Source) -> Iterator[_Phase]:
    for document in source.documents():
        value = document.value
        name = _entry(value, "phase_type")
        if not isinstance(name, str):
            continue
        config, last = _entry(value, "config"), _entry(value, "last_done")
        random, date = _entry(config, "random_offsets"), _entry(value, "iso_start_date")
        version = _entry(config, "version")
        phase = _Phase(
            name,
            date=date if isinstance(date, str) else "",
            bs=_float(_entry(config, "block_size")),
            iodepth=_float(_entry(config, "io_depth")),
            threads=_float(_entry(config, "threads")),
            random=str(random).lower() in ("true", "1") if random is not None else None,
            version=version if isinstance(version, str) else "",
        )
        phase.values["lasted_s"] = _float(_entry(last, "elapsed_time_ms")) / 1e3
        phase.values["cpu_pct"] = _float(_entry(last, "cpu%"))
        latency = _entry(_entry(last, "latency"), "IO")
        read = _entry(last, "rwmix_read")
        parts = [("write_" if read else _prefix(name, ""), last, latency)]
        if read:
            parts.append(("read_", read, _entry(latency, "rwmix_read")))
        for prefix, done, waited in parts:
            phase.values[f"{prefix}bytes"] = _float(_entry(done, "bytes"))
            phase.values[f"{prefix}iops"] = _float(_entry(done, "iops"))
            phase.values[f"{prefix}lat_us"] = _float(_entry(waited, "avg_us"))
            phase.values[f"{prefix}lat_max_us"] = _float(_entry(waited, "max_us"))
        yield phase


def _entry(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


_ROW = re.compile(r"(\S{1,40})?\s+([A-Za-z][^:]{1,40}?)\s*:\s+(.*)")
_CLOCKED = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,10}(?:\.\d{1,6})?)s)?", re.ASCII)
_WAITED = re.compile(r"(avg|max)=(\d{1,15}(?:\.\d{1,6})?)(us|ms|s)")
_SECONDS = {"us": 1.0, "ms": 1e3, "s": 1e6}
_WORDS = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _text_phases(source: Source) -> Iterator[_Phase]:
    phase: _Phase | None = None
    date = ""
    command: dict[str, str] = {}
    for _, line in source.kept_lines():
        if line.startswith("ISO DATE:"):
            date = line.partition(":")[2].strip()
            command = {}
        elif line.startswith("COMMAND LINE:"):
            command = _arguments(_WORDS.findall(line[:10_000]))
        match = _ROW.match(line) if len(line) < 500 else None
        if match is None:
            continue
        name, what, values = match.groups()
        if name and what.startswith("Elapsed"):
            if phase is not None:
                yield phase
            phase = _text_phase(name, command)
            phase.date, date = date, ""  # the heading's is the first phase's begin
        if phase is not None and (not name or what.startswith("Elapsed")):
            _take_text(phase, what, values)
    if phase is not None:
        yield phase


def _arguments(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for index, word in enumerate(words):
        if word.startswith("-"):
            key, _, value = word.partition("=")
            found[key] = value or (words[index + 1] if index + 1 < len(words) else "")
    return found


def _text_phase(name: str, command: Mapping[str, str]) -> _Phase:
    def size(*keys: str) -> float:
        for key in keys:
            if key in command:
                try:
                    return float(parse_size(command[key]))
                except (ValueError, OverflowError):
                    return math.nan
        return math.nan

    return _Phase(
        name,
        bs=size("-b", "--block"),
        iodepth=size("--iodepth"),
        threads=size("-t", "--threads"),
        random="--rand" in command if command else None,
    )


def _take_text(phase: _Phase, what: str, text: str) -> None:
    values = phase.values
    last = text.split()[-1] if text.split() else ""
    mix = "read_" if re.search(r"\b(read|rd)\b", what) else ""
    prefix = mix or ("write_" if re.search(r"\b(write|wr)\b", what) else _prefix(phase.name, ""))
    if what.startswith("Elapsed"):
        values["lasted_s"] = _float(last) / 1e3 if "ms" in what else _seconds(last)
    elif "total" in what:
        return
    elif what.startswith("IOPS"):
        values[f"{prefix}iops"] = _float(last)
    elif what.startswith(("Throughput MiB/s", "MiB/s")):
        values[f"{prefix}bytes"] = _float(last) * _MIB * values.get("lasted_s", math.nan)
    elif "latency" in what.lower() and what.startswith("IO"):
        for name, number, unit in _WAITED.findall(text):
            key = f"{prefix}lat_us" if name == "avg" else f"{prefix}lat_max_us"
            values[key] = _float(number) * _SECONDS[unit]


def _seconds(word: str) -> float:
    match = _CLOCKED.fullmatch(word)
    if match is None or not word:
        return math.nan
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


FORMAT = Format("elbencho", "elbencho", _recognises, _read)
