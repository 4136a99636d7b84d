"""elbencho: the live CSV (``--livecsv``), and what is left of a phase when it is over.

The live CSV has a row each interval for all threads together ("Total"), with `--livecsvex` one
for each thread; of a mix of reads and writes, a row for each. `DoneBytes` counts from the start of
the phase and is exact where `MiB/s` is a whole number. The results (``--csvfile``, ``--jsonfile``,
``--resfile``) have the mean of each phase.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from heatsoak.importer.format import Format
from heatsoak.importer.formats.results import MIB, Unreadable, frame_of_steps, observed_load
from heatsoak.importer.lenient import at, number_of
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times
from heatsoak.protocol import Observed
from heatsoak.units import parse_size

_LIVE = frozenset(("Phase", "RuntimeMS", "Rank", "MixType"))
_RESULTS = frozenset(("operation", "time ms [last]", "MiB/s [last]"))
_TEXT = re.compile(r"OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}")
#: The direction of a phase by its name; others with bytes are of both.
_DIRECTIONS = {"WRITE": "write", "PUT": "write", "UPLOAD": "write", "MPUPLOAD": "write",
               "READ": "read", "GET": "read", "DOWNLOAD": "read", "VERIFY": "read"}  # fmt: skip
_MAX_NAME = 100
#: Phases that follow each other may overlap by this, since their times are rounded.
_LIVE_OVERLAP_S, _RESULTS_OVERLAP_S = 1.0, 2.0
_MAX_PHASE_S = 1e9


@dataclass
class _Phase:
    """A phase.

    Attributes:
        rows: its samples, whose `t_s` count from its start; of results a single one.
        stamp: a time as it is written, which is `stamp_s` after its start.
        block, depth, threads: NaN where they are not known.
        random: None where that is not known.
    """

    name: str
    rows: list[dict[str, float]] = field(default_factory=list)
    label: str = ""
    stamp: str = ""
    stamp_s: float = 0.0
    block: float = math.nan
    depth: float = math.nan
    threads: float = math.nan
    random: bool | None = None
    version: str = ""

    @property
    def lasted_s(self) -> float:
        """How long it took."""
        return self.rows[-1]["t_s"]

    def step(self, name: str) -> Observed:
        """Return the step that it is."""
        did = {column.partition("bw")[0] for row in self.rows for column in row if "bw_" in column}
        reads, writes = (bool(did & {"", f"{way}_"}) for way in ("read", "write"))
        return observed_load(
            name,
            "rw" if reads == writes else "read" if reads else "write",
            random=self.random,
            block=self.block,
            depth=self.depth,
            jobs=self.threads,
            did=(reads, writes),
            about="" if self.name in _DIRECTIONS else self.name[:_MAX_NAME],
        )


def _prefix(phase: str, mix: str = "") -> str:
    """Return what stands before the columns of a phase, or of its reads or writes."""
    direction = mix.lower() if mix in ("Read", "Write") else _DIRECTIONS.get(phase.upper())
    return f"{direction}_" if direction else ""


def _recognises(source: Source) -> bool:
    return _kind(source) is not None


def _kind(source: Source) -> str | None:
    for line in source.head_lines:
        if "RuntimeMS" in line and set(line.split(",")) >= _LIVE:
            return "live"
        if "[last]" in line and set(line.split(",")) >= _RESULTS:
            return "csv"
        if "OPERATION" in line and _TEXT.search(line):
            return "text"
        if '"phase_type"' in line and line.lstrip().startswith("{"):
            return "json"
    return None


def _read(source: Source, _: Options) -> list[Log]:
    kind = _kind(source)
    if kind == "live":
        return _read_live(source)
    readers = {"csv": _csv_phases, "json": _json_phases}
    phases = [phase for phase in readers.get(kind or "", _text_phases)(source) if phase.rows]
    if not phases:
        raise source.error("holds no phase that read or wrote")
    remark = Remark("results have only the mean of each phase: --livecsv has it as a series")
    return [_log(source, phases, _RESULTS_OVERLAP_S, remark)[0]]


def _log(
    source: Source, phases: Sequence[_Phase], overlap_s: float, *remarks: Remark
) -> tuple[Log, bool]:
    """Return the log of phases, and whether their dates tell when they were."""
    starts_s, start_unix_s, clock = _starts(phases, overlap_s)
    steps = [
        phase.step(name)
        for phase, name in zip(phases, _step_names(phase.name for phase in phases), strict=True)
    ]
    rows = [
        [{**row, "t_s": start_s + row["t_s"]} for row in phase.rows]
        for phase, start_s in zip(phases, starts_s, strict=True)
    ]
    version = next((phase.version for phase in phases if phase.version), "")
    log = Log(
        format="elbencho",
        source=source.name,
        samples=frame_of_steps(steps, rows),
        clock=clock,
        start_unix_s=start_unix_s,
        steps=tuple(steps),
        tools={"elbencho": version[:_MAX_NAME]} if version else {},
        remarks=remarks,
    )
    return log, clock != "none"


def _starts(phases: Sequence[_Phase], overlap_s: float) -> tuple[list[float], float | None, Clock]:
    """Return when each phase began, from the start of the first one, and what clock that is."""
    if all(_DATE.match(phase.stamp) for phase in phases):
        times = read_times([phase.stamp for phase in phases])
        begins = [
            t_s - phase.stamp_s for t_s, phase in zip(times.t_s.tolist(), phases, strict=True)
        ]
        rising = all(
            begin >= before + phase.lasted_s - overlap_s
            for begin, before, phase in zip(begins[1:], begins, phases, strict=False)
        )
        if times.start_unix_s is not None and rising and all(map(math.isfinite, begins)):
            first = begins[0]
            return [begin - first for begin in begins], times.start_unix_s + first, times.clock
    begins, end_s = [], 0.0
    for phase in phases:
        begins.append(end_s)
        end_s += phase.lasted_s
    return begins, None, "none"


def _step_names(phases: Iterable[str]) -> list[str]:
    """Return names that differ: ``WRITE``, ``READ``, ``WRITE 2``."""
    often: Counter[str] = Counter()
    names: dict[str, None] = {}
    for index, phase in enumerate(phases, 1):
        name = phase[:_MAX_NAME].strip() or "phase"
        often[name] += 1
        if often[name] > 1:
            name = f"{name} {often[name]}"
        names[f"{name} ({index})" if name in names else name] = None
    return list(names)


# --- while it runs ---


#: What is taken of a row of the live CSV.
_LIVE_VALUES = {"bytes": "DoneBytes", "mib_s": "MiB/s", "iops": "IOPS", "lat_us": "Lat IO us",
                "cpu_pct": "CPU"}  # fmt: skip


@dataclass
class _Live:
    """A phase as the live CSV has it: at each time, values of its rows by their mix."""

    name: str
    label: str
    stamp: str
    times_ms: list[float] = field(default_factory=list)
    rows: list[dict[str, dict[str, float]]] = field(default_factory=list)

    def put(self, mix: str, row: dict[str, float]) -> None:
        """Keep the row of all threads; where there is none, the sum of the threads' bytes."""
        known = self.rows[-1].get(mix)
        if known is None or row["is_total"] > known["is_total"]:
            self.rows[-1][mix] = row
        elif not known["is_total"]:
            known["bytes"] += row["bytes"]

    @property
    def has_bytes(self) -> bool:
        """Whether it read or wrote."""
        return any(row["bytes"] > 0 for rows in self.rows for row in rows.values())

    def phase(self) -> _Phase:
        """Return it with rates in place of counts."""
        samples = []
        before_ms, before = 0.0, dict.fromkeys(("", "Read", "Write"), 0.0)
        for time_ms, rows in zip(self.times_ms, self.rows, strict=True):
            lasted_s = (time_ms - before_ms) / 1e3
            if not lasted_s > 0:
                continue
            before_ms = time_ms
            sample = {"t_s": time_ms / 1e3, "interval_s": lasted_s}
            for mix, row in rows.items():
                bw_mb_s = (row["bytes"] - before.get(mix, 0.0)) / lasted_s / 1e6
                before[mix] = row["bytes"]
                prefix = _prefix(self.name, mix)
                sample[f"{prefix}bw_mb_s"] = bw_mb_s if bw_mb_s >= 0 else row["mib_s"] * MIB / 1e6
                sample[f"{prefix}iops"] = row["iops"]
                sample[f"{prefix}lat_us"] = row["lat_us"] if row["lat_us"] > 0 else math.nan
                if row["is_total"]:
                    sample["cpu_pct"] = row["cpu_pct"]
            samples.append(sample)
        return _Phase(self.name, samples, self.label, self.stamp, self.times_ms[0] / 1e3)


def _tables(
    source: Source, mark: str, needed: frozenset[str]
) -> Iterator[tuple[int, dict[str, str] | None]]:
    """Yield the rows of a CSV by their header, with their lines; None for a header itself.

    Rows that are too short are None too, with a line below 0.
    """
    columns: list[str] = []
    for number, line in source.kept_lines():
        words = line.split(",")
        if mark in line and set(words) >= needed:
            columns = [name.strip() for name in words]
            yield number, None
        elif columns and line.strip():
            is_whole = len(words) >= len([name for name in columns if name])
            row = dict(zip(columns, map(str.strip, words), strict=False))
            yield (number, row) if is_whole else (-number, None)


def _read_live(source: Source) -> list[Log]:
    runs: list[list[_Live]] = []
    phase: _Live | None = None
    unreadable = Unreadable()
    for number, cells in _tables(source, "RuntimeMS", _LIVE):
        if cells is None:
            if number > 0:
                runs.append([])
                phase = None
            else:
                unreadable.add(-number)
            continue
        runtime_ms, rank = number_of(cells["RuntimeMS"]), cells["Rank"]
        if not runtime_ms >= 0 or not rank:
            unreadable.add(number)
            continue
        name, label = cells["Phase"], cells.get("Label", "")
        if phase is not None and phase.label != label:
            runs.append([])
        goes_on = phase is not None and (phase.name, phase.label) == (name, label)
        if phase is None or not goes_on or runtime_ms < phase.times_ms[-1]:
            phase = _Live(name, label, cells.get("ISO Date", ""))
            runs[-1].append(phase)
        if not phase.times_ms or runtime_ms > phase.times_ms[-1]:
            phase.times_ms.append(runtime_ms)
            phase.rows.append({})
        row = {key: number_of(cells.get(name)) for key, name in _LIVE_VALUES.items()}
        phase.put(cells["MixType"], row | {"is_total": float(rank == "Total")})
    unreadable.remark_on(source)
    kept = [[phase.phase() for phase in run if phase.has_bytes] for run in runs]
    kept = [run for run in kept if run]
    if not kept:
        raise source.error("holds no phase that read or wrote")
    return [_live_log(source, run, len(kept) > 1) for run in kept]


def _live_log(source: Source, phases: Sequence[_Phase], several: bool) -> Log:
    if not any(phase.rows for phase in phases):
        raise source.error("holds no phase that read or wrote for long enough")
    phases = [phase for phase in phases if phase.rows]
    log, is_dated = _log(
        source,
        phases,
        _LIVE_OVERLAP_S,
        Remark("bytes since the start of a phase: converted to MB/s (10^6 bytes/s)"),
    )
    if not is_dated and len(phases) > 1:
        text = "has no dates: its phases are assumed to follow one another immediately"
        log = log.with_remarks(Remark(text, True, ("time",)))
    return replace(log, label=phases[0].label[:_MAX_NAME] if several else "")


# --- when it is over ---


#: Columns of the results as CSV, and where they stand in those as JSON.
_IN_JSON = {
    "operation": "phase_type",
    "ISO date": "iso_start_date",
    "block size": "config/block_size",
    "IO depth": "config/io_depth",
    "threads": "config/threads",
    "random": "config/random_offsets",
    "version": "config/version",
    "time ms [last]": "last_done/elapsed_time_ms",
    "CPU% [last]": "last_done/cpu%",
    "bytes": "last_done/bytes",
    "IOPS [last]": "last_done/iops",
    "IO lat us [avg]": "last_done/latency/IO/avg_us",
    "IO lat us [max]": "last_done/latency/IO/max_us",
    "rwmix read bytes": "last_done/rwmix_read/bytes",
    "rwmix read IOPS [last]": "last_done/rwmix_read/iops",
    "rwmix read IO lat us [avg]": "last_done/latency/IO/rwmix_read/avg_us",
    "rwmix read IO lat us [max]": "last_done/latency/IO/rwmix_read/max_us",
}
#: What stands before columns of the reads of a mix, and before those of its writes in the text.
_MIX, _MIX_WRITES = "rwmix read ", "write "


def _phase_of(row: Mapping[str, Any], *, dated_at_end: bool = False) -> _Phase:
    """Return a phase of results by their columns as CSV; without samples if it did nothing."""

    def of(name: str) -> float:
        return number_of(row.get(name))

    name, lasted_s = str(row["operation"]), of("time ms [last]") / 1e3
    sample = {"t_s": lasted_s, "interval_s": lasted_s, "cpu_pct": of("CPU% [last]")}
    moved = {
        start: next(
            (
                amount * scale
                for column, scale in (
                    ("bytes", 1.0),
                    ("MiB [last]", MIB),
                    ("MiB/s [last]", MIB * lasted_s),
                )
                if (amount := of(f"{start}{column}")) > 0
            ),
            0.0,
        )
        for start in ("", _MIX_WRITES, _MIX)
    }
    for start, amount in moved.items():
        if amount > 0:
            is_write = start == _MIX_WRITES or (moved[_MIX] > 0 and not moved[_MIX_WRITES])
            prefix = "read_" if start == _MIX else "write_" if is_write else _prefix(name)
            sample[f"{prefix}bw_mb_s"] = amount / lasted_s / 1e6 if lasted_s > 0 else math.nan
            sample[f"{prefix}iops"] = of(f"{start}IOPS [last]")
            sample[f"{prefix}lat_us"] = of(f"{start}IO lat us [avg]")
            if prefix:
                sample[f"{prefix}lat_max_us"] = of(f"{start}IO lat us [max]")
    has_done = 0 < lasted_s < _MAX_PHASE_S and max(moved.values()) > 0
    date = str(row.get("ISO date") or "")
    is_random = row.get("random")
    return _Phase(
        name,
        [sample] if has_done else [],
        stamp=date,
        stamp_s=lasted_s if dated_at_end else 0.0,
        block=of("block size"),
        depth=of("IO depth"),
        threads=of("threads") * (1.0 if "hosts" not in row else of("hosts") or 1.0),
        random=None if is_random in (None, "") else str(is_random).lower() in ("1", "true"),
        version=str(row.get("version") or ""),
    )


def _csv_phases(source: Source) -> Iterator[_Phase]:
    unreadable = Unreadable()
    for number, row in _tables(source, "[last]", _RESULTS):
        if row is not None:
            # since version 3.0, which writes milliseconds, dates are those of the start
            yield _phase_of(row, dated_at_end="." not in row.get("ISO date", ""))
        elif number < 0:
            unreadable.add(-number)
    unreadable.remark_on(source)


def _json_phases(source: Source) -> Iterator[_Phase]:
    for document in source.documents():
        row = {name: at(document.value, path) for name, path in _IN_JSON.items()}
        if isinstance(row["operation"], str):
            yield _phase_of(row)


_ROW = re.compile(r"(\S{1,40})?\s+([A-Za-z][^:]{1,40}?)\s*:\s+(.*)")
_CLOCKED = re.compile(r"(?:(\d{1,6})h)?(?:(\d{1,8})m)?(?:(\d{1,10}(?:\.\d{1,6})?)s)?", re.ASCII)
_WAITED = re.compile(r"(avg|max)=(\d{1,15}(?:\.\d{1,6})?)(us|ms|s)")
_MARKS_OF_MIX = (re.compile(r"\b(read|rd)\b"), re.compile(r"\b(write|wr)\b"))
_IN_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _text_phases(source: Source) -> Iterator[_Phase]:
    row: dict[str, Any] = {}
    date = ""
    command: dict[str, str] = {}
    for _, line in source.kept_lines():
        if line.startswith("ISO DATE:"):
            date, command = line.partition(":")[2].strip(), {}
        elif line.startswith("COMMAND LINE:"):
            command = _arguments(_ARGUMENT.findall(line[:10_000]))
        match = _ROW.match(line) if len(line) < 500 else None
        if match is None:
            continue
        name, what, values = match.groups()
        last = values.split()[-1] if values.split() else ""
        if what.startswith("Elapsed"):
            if name:
                if row:
                    yield _phase_of(row)
                row = {"operation": name, "ISO date": date, **_parameters(command)}
                date = ""  # the heading's is the start of the first phase
            row["time ms [last]"] = number_of(last) if "ms" in what else 1e3 * _seconds(last)
        elif row and not name and "total" not in what:
            is_read, is_write = (re.search(mark, what) for mark in _MARKS_OF_MIX)
            start = _MIX if is_read else _MIX_WRITES if is_write else ""
            if what.startswith("IOPS"):
                row[f"{start}IOPS [last]"] = last
            elif what.startswith(("Throughput MiB/s", "MiB/s")):
                row[f"{start}MiB/s [last]"] = last
            elif "latency" in what.lower() and what.startswith("IO"):
                for kind, amount, unit in _WAITED.findall(values):
                    row[f"{start}IO lat us [{kind}]"] = _IN_US[unit] * float(amount)
    if row:
        yield _phase_of(row)


def _arguments(words: Sequence[str]) -> dict[str, str]:
    found = {}
    for index, word in enumerate(words):
        if word.startswith("-"):
            key, _, value = word.partition("=")
            found[key] = value or (words[index + 1] if index + 1 < len(words) else "")
    return found


def _parameters(command: Mapping[str, str]) -> dict[str, float | str]:
    """Return what the command line says of the load."""
    found: dict[str, float | str] = {"random": str("--rand" in command).lower()} if command else {}
    for name, keys in (
        ("block size", ("-b", "--block")),
        ("IO depth", ("--iodepth",)),
        ("threads", ("-t", "--threads")),
    ):
        with suppress(StopIteration, ValueError, OverflowError):
            found[name] = float(next(parse_size(command[key]) for key in keys if key in command))
    return found


def _seconds(word: str) -> float:
    match = _CLOCKED.fullmatch(word)
    if match is None or not word:
        return math.nan
    hours, minutes, seconds = (float(part or 0) for part in match.groups())
    return 3600 * hours + 60 * minutes + seconds


FORMAT = Format("elbencho", "elbencho", _recognises, _read, priority=140)
