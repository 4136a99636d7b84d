"""elbencho: the live CSV (``--livecsv``), and what is left of a phase when it is over.

The live CSV has a row each interval for all threads together ("Total"), with `--livecsvex` one
for each thread; of a mix of reads and writes, a row for each. `DoneBytes` counts from the start of
the phase and is exact where `MiB/s` is a whole number. The results (``--csvfile``, ``--jsonfile``,
``--resfile``) have the mean of each phase.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from heatsoak.importer.formats import Format, results
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.numbers import at, number_of
from heatsoak.importer.source import Source
from heatsoak.importer.timestamps import read_times, span_s
from heatsoak.protocol import Observed
from heatsoak.units import parse_size

#: Lines that tell which of its files one is.
_HEADS = results.lines_of(
    live="".join(rf"(?=(?:.*,)?{name},)" for name in ("Phase", "RuntimeMS", "Rank", "MixType")),
    csv="".join(rf"(?=(?:.*,)?{name} \[last\],)" for name in ("time ms", "MiB/s"))
    + r"(?:.*,)?operation,",
    text=r".*?OPERATION\s+RESULT TYPE\s+FIRST DONE\s+LAST DONE",
    json=r"\s*\{.*\"phase_type\"",
)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}")
#: The direction of a phase by its name; others with bytes are of both.
_DIRECTIONS = {"WRITE": "write", "PUT": "write", "UPLOAD": "write", "MPUPLOAD": "write",
               "READ": "read", "GET": "read", "DOWNLOAD": "read", "VERIFY": "read"}  # fmt: skip
_MAX_NAME = 100
#: Phases that follow each other may overlap by this, since their times are rounded.
_LIVE_OVERLAP_S, _RESULTS_OVERLAP_S = 1.0, 2.0
_MAX_PHASE_S = 1e9


@dataclass
class _Phase(results.Test):
    """A phase; `stamp` is a time as it is written, which is `stamp_s` after its start."""

    label: str = ""
    stamp: str = ""
    stamp_s: float = 0.0
    version: str = ""


def _load_of(name: str, rows: Sequence[results.Row], **asked: Any) -> Observed:
    """Return a phase's load: whether it read and wrote is told by its samples."""
    did = {way for row in rows for way in results.DIRECTIONS if row.get(f"{way}_bw_mb_s", 0.0) > 0}
    said = name[:_MAX_NAME].strip()
    return results.observed_load(
        said or "phase",
        100.0 * ("read" in did) if len(did) == 1 else results.MIXED,
        about="" if name in _DIRECTIONS else said,
        **asked,
    )


def _prefix(phase: str, mix: str = "") -> str:
    direction = mix.lower() if mix in ("Read", "Write") else _DIRECTIONS.get(phase.upper())
    return f"{direction}_" if direction else ""


def _kind(source: Source) -> str:
    """Return which of its files it is; empty for none."""
    kinds = (results.told(line, _HEADS)[0] for line in source.head_lines)
    return next(filter(None, kinds), "")


def _read(source: Source, _: Options) -> list[Log]:
    kind = _kind(source)
    if kind == "live":
        return _read_live(source)
    phases_of = {"csv": _csv_phases, "json": _json_phases}.get(kind, _text_phases)
    phases = [phase for phase in phases_of(source) if phase.rows]
    if not phases:
        raise source.error("holds no phase that read or wrote")
    remark = Remark("results have only the mean of each phase: --livecsv has it as a series")
    return [_log(source, phases, _RESULTS_OVERLAP_S, remark)]


def _log(source: Source, phases: Sequence[_Phase], overlap_s: float, remark: Remark) -> Log:
    """Return the log of phases, at their dates where these rise as the phases last."""
    more: dict[str, Any] = {}
    if all(_DATE.match(phase.stamp) for phase in phases):
        times = read_times([phase.stamp for phase in phases])
        begins = [t - phase.stamp_s for t, phase in zip(times.t_s.tolist(), phases, strict=True)]
        rising = all(
            begin >= before + phase.lasted_s - overlap_s
            for begin, before, phase in zip(begins[1:], begins, phases, strict=False)
        )
        if times.start_unix_s is not None and rising and all(map(math.isfinite, begins)):
            more = {"starts_s": [begin - begins[0] for begin in begins], "clock": times.clock}
            more["start_unix_s"] = times.start_unix_s + begins[0]
    version = next((phase.version for phase in phases if phase.version), "")
    tools = {"elbencho": version[:_MAX_NAME]} if version else {}
    return results.log_of(source, "elbencho", phases, [remark], tools=tools, **more)


# --- while it runs ---


#: What is taken of a row of the live CSV.
_LIVE_VALUES = {"bytes": "DoneBytes", "mib_s": "MiB/s", "iops": "IOPS", "lat_us": "Lat IO us",
                "cpu_pct": "CPU"}  # fmt: skip
#: A phase of the live CSV: its name, label and date; by time in ms, rows by their mix.
_Live = tuple[str, str, str, dict[float, dict[str, results.Row]]]


def _tables(source: Source, kind: str) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV by their header, with their lines; an empty one for each header."""
    columns: list[str] = []
    for number, line in source.kept_lines():
        words = line.split(",")
        if _HEADS[kind].match(line):
            columns = [name.strip() for name in words]
            yield number, {}
        elif columns and line.strip():
            if len(words) < len([name for name in columns if name]):
                source.skip(number)
            else:
                yield number, dict(zip(columns, map(str.strip, words), strict=False))


def _live_runs(source: Source) -> list[list[_Live]]:
    runs: list[list[_Live]] = []
    of, last_ms = ("", ""), -1.0
    for number, cells in _tables(source, "live"):
        if not cells:
            runs.append([])
            continue
        at_ms = number_of(cells["RuntimeMS"])
        if not at_ms >= 0 or not cells["Rank"]:
            source.skip(number)
            continue
        before, of = of, (cells["Phase"], cells.get("Label", ""))
        if runs[-1] and before[1] != of[1]:
            runs.append([])
        if not runs[-1] or before != of or at_ms < last_ms:
            runs[-1].append((*of, cells.get("ISO Date", ""), {}))
        last_ms = at_ms
        row = {key: number_of(cells.get(column)) for key, column in _LIVE_VALUES.items()}
        row["is_total"] = float(cells["Rank"] == "Total")
        rows = runs[-1][-1][3].setdefault(at_ms, {})
        known = rows.setdefault(cells["MixType"], row)
        if row["is_total"] > known["is_total"]:
            rows[cells["MixType"]] = row
        elif known is not row and not known["is_total"]:  # without a total, of all threads
            known["bytes"] += row["bytes"]
    return runs


def _live_phase(
    name: str, label: str, stamp: str, moments: dict[float, dict[str, results.Row]]
) -> _Phase | None:
    """Return a phase with rates in place of counts; None for one that neither read nor wrote."""
    if not any(row["bytes"] > 0 for rows in moments.values() for row in rows.values()):
        return None
    samples, before_ms, before = list[results.Row](), 0.0, dict[str, float]()
    for time_ms, rows in moments.items():
        lasted_s = (time_ms - before_ms) / 1e3
        if not lasted_s > 0:
            continue
        before_ms = time_ms
        samples.append({"t_s": time_ms / 1e3, "interval_s": lasted_s})
        for mix, row in rows.items():
            bw_mb_s = (row["bytes"] - before.get(mix, 0.0)) / lasted_s / 1e6
            before[mix], prefix = row["bytes"], _prefix(name, mix)
            samples[-1] |= {
                f"{prefix}bw_mb_s": bw_mb_s if bw_mb_s >= 0 else row["mib_s"] * results.MIB / 1e6,
                f"{prefix}iops": row["iops"],
                f"{prefix}lat_us": row["lat_us"] if row["lat_us"] > 0 else math.nan,
            }
            if row["is_total"]:
                samples[-1]["cpu_pct"] = row["cpu_pct"]
    first_s = next(iter(moments)) / 1e3
    return _Phase(_load_of(name, samples), samples, label=label, stamp=stamp, stamp_s=first_s)


def _read_live(source: Source) -> list[Log]:
    every = [[_live_phase(*phase) for phase in run] for run in _live_runs(source)]
    kept = [run for phases in every if (run := [one for one in phases if one is not None])]
    runs = [phases for run in kept if (phases := [phase for phase in run if phase.rows])]
    if not runs:
        why = " for long enough" if kept else ""
        raise source.error(f"holds no phase that read or wrote{why}")
    logs = []
    for phases in runs:
        remark = Remark("bytes since the start of a phase: converted to MB/s (10^6 bytes/s)")
        log = _log(source, phases, _LIVE_OVERLAP_S, remark)
        if log.clock == "none" and len(phases) > 1:
            text = "has no dates: its phases are assumed to follow one another immediately"
            log = log.with_remarks(Remark(text, True, ("time",)))
        logs.append(replace(log, label=phases[0].label[:_MAX_NAME] if len(kept) > 1 else ""))
    return logs


# --- when it is over ---


#: Columns of the results as CSV, and where they stand in those as JSON.
_IN_JSON = {
    "operation": "phase_type", "ISO date": "iso_start_date", "block size": "config/block_size",
    "IO depth": "config/io_depth", "threads": "config/threads", "random": "config/random_offsets",
    "version": "config/version", "time ms [last]": "last_done/elapsed_time_ms",
    "CPU% [last]": "last_done/cpu%", "bytes": "last_done/bytes", "IOPS [last]": "last_done/iops",
    "IO lat us [avg]": "last_done/latency/IO/avg_us",
    "IO lat us [max]": "last_done/latency/IO/max_us",
    "rwmix read bytes": "last_done/rwmix_read/bytes",
    "rwmix read IOPS [last]": "last_done/rwmix_read/iops",
    "rwmix read IO lat us [avg]": "last_done/latency/IO/rwmix_read/avg_us",
    "rwmix read IO lat us [max]": "last_done/latency/IO/rwmix_read/max_us",
}  # fmt: skip
#: What stands before columns of the reads of a mix, and before those of its writes in the text.
_MIX, _MIX_WRITES = "rwmix read ", "write "


def _phase_of(row: Mapping[str, Any], *, dated_at_end: bool = False) -> _Phase:
    """Return a phase of results by their columns as CSV; without samples if it did nothing."""

    def of(name: str) -> float:
        return number_of(row.get(name))

    name, lasted_s = str(row["operation"]), of("time ms [last]") / 1e3
    sample = {"t_s": lasted_s, "interval_s": lasted_s, "cpu_pct": of("CPU% [last]")}
    units = (("bytes", 1.0), ("MiB [last]", results.MIB), ("MiB/s [last]", results.MIB * lasted_s))
    moved = {
        start: next((of(start + c) * scale for c, scale in units if of(start + c) > 0), 0.0)
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
    samples, is_random = [sample] if has_done else [], row.get("random")
    load = _load_of(
        name,
        samples,
        random_pct=None
        if is_random in (None, "")
        else 100.0 * (str(is_random).lower() in ("1", "true")),
        bs=of("block size"),
        iodepth=of("IO depth"),
        numjobs=of("threads") * (1.0 if "hosts" not in row else of("hosts") or 1.0),
    )
    stamp, version = (str(row.get(name) or "") for name in ("ISO date", "version"))
    stamp_s = lasted_s if dated_at_end else 0.0
    return _Phase(load, samples, stamp=stamp, stamp_s=stamp_s, version=version)


def _csv_phases(source: Source) -> Iterator[_Phase]:
    for _, row in _tables(source, "csv"):
        if row:
            # since version 3.0, which writes milliseconds, dates are those of the start
            yield _phase_of(row, dated_at_end="." not in row.get("ISO date", ""))


def _json_phases(source: Source) -> Iterator[_Phase]:
    for document in source.documents():
        row = {name: at(document.value, path) for name, path in _IN_JSON.items()}
        if isinstance(row["operation"], str):
            yield _phase_of(row)


_LINES = results.lines_of(
    date=r"ISO DATE:\s*(?P<date>.*?)\s*$",
    command=r"COMMAND LINE:(?P<words>.{0,10000})",
    elapsed=r"(?P<name>\S{1,40})?\s+Elapsed(?P<unit>[^:]{1,34}?)\s*:\s+(?P<values>.{0,450}?)\s*$",
    total=r"\s+[A-Za-z][^:]{0,40}total[^:]{0,40}:",
    IOPS=r"\s+IOPS(?P<of>[^:]{0,40}?)\s*:\s+(?P<values>.{0,450}?)\s*$",
    rate=r"\s+(?:Throughput )?MiB/s(?P<of>[^:]{0,40}?)\s*:\s+(?P<values>.{0,450}?)\s*$",
    latency=r"\s+IO(?P<of>[^:]{0,20}latency[^:]{0,20}?)\s*:\s+(?P<values>.{0,450}?)\s*$",
)
_WAITED = re.compile(r"(avg|max)=(\d{1,15}(?:\.\d{1,6})?)(us|ms|s)")
_READS, _WRITES = re.compile(r"\b(?:read|rd)\b"), re.compile(r"\b(?:write|wr)\b")
_IN_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
_ARGUMENT = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _text_phases(source: Source) -> Iterator[_Phase]:
    row: dict[str, Any] = {}
    date = ""
    asked: dict[str, Any] = {}
    for _, line in source.kept_lines():
        kind, found = results.told(line, _LINES)
        last = found.get("values", "").rpartition(" ")[2]
        of = found.get("of", "")
        start = _MIX if _READS.search(of) else _MIX_WRITES if _WRITES.search(of) else ""
        if kind == "date":
            date, asked = found["date"], {}
        elif kind == "command":
            asked = _asked(_ARGUMENT.findall(found["words"]))
        elif kind == "elapsed":
            if found["name"]:
                if row:
                    yield _phase_of(row)
                row = {"operation": found["name"], "ISO date": date, **asked}
                date = ""  # the heading's is the start of the first phase
            in_ms = "ms" in found["unit"]
            row["time ms [last]"] = number_of(last) if in_ms else 1e3 * (span_s(last) or math.nan)
        elif row and kind in ("IOPS", "rate"):
            row[f"{start}{'IOPS' if kind == 'IOPS' else 'MiB/s'} [last]"] = last
        elif row and kind == "latency":
            for what, amount, unit in _WAITED.findall(found["values"]):
                row[f"{start}IO lat us [{what}]"] = _IN_US[unit] * float(amount)
    if row:
        yield _phase_of(row)


def _asked(words: Sequence[str]) -> dict[str, Any]:
    """Return what the words of the command line say of the load."""
    given: dict[str, str] = {}
    for word, after in zip(words, [*words[1:], ""], strict=True):
        key, _, value = word.partition("=")
        given |= {key: value or after} if word.startswith("-") else {}
    found: dict[str, Any] = {"random": "--rand" in given} if given else {}
    for name, keys in (
        ("block size", ("-b", "--block")),
        ("IO depth", ("--iodepth",)),
        ("threads", ("-t", "--threads")),
    ):
        with suppress(StopIteration, ValueError, OverflowError):
            found[name] = float(next(parse_size(given[key]) for key in keys if key in given))
    return found


FORMAT = Format("elbencho", "elbencho", _kind, _read, priority=140)
