"""fio's JSON: ``--output-format=json`` or ``json+``, at the end or at every status interval.

Counters in it are cumulative since fio began. With ``--status-interval`` two documents behind each
other tell what was done between them; a last document alone tells only means over the whole run.
Groups of jobs behind each other (``stonewall``) are steps of one log.
"""

import math
import re
from array import array
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from heatsoak.errors import HeatsoakError
from heatsoak.fio import Differencer, Status
from heatsoak.importer.formats.base import Format
from heatsoak.importer.frames import build
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed
from heatsoak.protocol.model import RW

_DIRECTIONS = ("read", "write")
_LOGS = ("write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log")
_BLOCK = re.compile(r"(\d{1,12})([kmg]?)b?", re.IGNORECASE | re.ASCII)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)
#: Options that hold the load back, and have to be known by whoever looks for throttling.
_LIMITS = ("rate", "rate_iops", "rate_min", "thinktime", "flow")
#: fio's count of its own time and its time stamps agree within this.
_SLACK_MS = 3000.0
#: What the clock is ahead of the sum of intervals by, where nothing ran in between.
_WAITED_S = 0.1
ONLY_MEANS = "holds one mean for each step: nothing of how it went on"
#: Percentiles that fio prints of a whole run.
_PERCENTILES = (("p50", 50.0), ("p99", 99.0), ("p999", 99.9))


@dataclass(frozen=True)
class JobFacts:
    """What the JSON of a run tells those who read its other logs.

    Attributes:
        step: the step that the job belongs to.
        first, last: numbers of its processes, as names of logs have them: ``P_bw.N.log``.
        prefixes: what its logs are called; empty where it wrote none, or options are missing.
        begin_s, end_s: when it ran, in `t_s`.
    """

    step: str
    first: int
    last: int
    prefixes: frozenset[str]
    begin_s: float
    end_s: float


#: How fio's output for people begins, or its results do.
_TEXT = re.compile(
    rb"^[^\n]{1,200}: \((?:g=\d+\): rw=|groupid=\d+, jobs=\d+\): err=)", re.MULTILINE
)


def _recognises(source: Source) -> bool:
    head = source.head.replace(b"\0", b"")  # of UTF-16 that leaves what is ASCII
    is_json = b'"fio version"' in head and (b'"jobs"' in head or b'"client_stats"' in head)
    return is_json or _TEXT.search(head) is not None


def _read(source: Source, options: Options) -> list[Log]:  # noqa: ARG001 -- as every reader
    runs: list[_Run] = []
    broken: list[int] = []
    for document in source.documents():
        jobs = _jobs_of(document.value)
        if jobs is None:
            continue
        if not jobs:
            broken.append(document.line)
            continue
        if not runs or not runs[-1].add(document.value, jobs):
            runs.append(_Run(document.value, jobs))
    if broken:
        source.remark(f"{len(broken)} documents have no jobs, the first is in line {broken[0]}")
    logs = [log for log in (run.log(source) for run in runs) if log is not None]
    if not logs:
        raise source.error(_why_nothing(source, bool(runs)))
    if len(logs) == 1:
        return logs
    return [_labelled(log, number) for number, log in enumerate(logs, 1)]


def _why_nothing(source: Source, has_runs: bool) -> str:
    if has_runs:
        return "its jobs have done no I/O"
    if _TEXT.search(source.head) is not None:
        return (
            "is fio's text, which has means only: '--output-format=json --status-interval=1', "
            "or '--write_bw_log=NAME', writes what can be imported"
        )
    return "holds no results of fio"


def _labelled(log: Log, number: int) -> Log:
    return replace(log, label=f"run {number}")


def _jobs_of(document: Any) -> list[dict[str, Any]] | None:
    """Return a document's jobs, those of all clients; None for a document that is not fio's."""
    if not isinstance(document, dict):
        return None
    jobs = document.get("jobs")
    if not isinstance(jobs, list):
        jobs = document.get("client_stats")
    if not isinstance(jobs, list):
        return [] if "fio version" in document else None
    jobs = [job for job in jobs if isinstance(job, dict)]
    single = [job for job in jobs if job.get("jobname") != "All clients"]
    return single or jobs


class _Run:
    """One run of fio: its documents as they come."""

    def __init__(self, document: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
        self.key = [_identity(job) for job in jobs]
        self.documents = 1
        self.version = _text(document.get("fio version"))
        self.is_client = not isinstance(document.get("jobs"), list)
        self.first_ms = _stamp_ms(document)
        self.groups = _groups(document, jobs)
        self.steps = [_Step() for _ in self.groups]
        self._take(document, jobs)

    def add(self, document: dict[str, Any], jobs: list[dict[str, Any]]) -> bool:
        """Take the next document; False where it is of another run."""
        if [_identity(job) for job in jobs] != self.key or not self._continues(document, jobs):
            return False
        self.documents += 1
        self._take(document, jobs)
        return True

    def _continues(self, document: dict[str, Any], jobs: list[dict[str, Any]]) -> bool:
        """Whether every counter has grown as the clock has."""
        moved_ms = 0.0
        for before, after in zip(self.jobs, jobs, strict=True):
            for name in ("read", "write", "mixed"):
                old, new = _table(before, name), _table(after, name)
                for counter in ("io_bytes", "total_ios", "runtime"):
                    if _count(new, counter) < _count(old, counter):
                        return False
                moved_ms = max(moved_ms, _count(new, "runtime") - _count(old, "runtime"))
        last_ms, now_ms = _stamp_ms(self.last), _stamp_ms(document)
        if last_ms is None or now_ms is None:
            return True
        wall_ms = now_ms - last_ms
        waited = [_count(job, "elapsed") for job in (self.jobs[0], jobs[0])]
        if all(waited):
            return abs(wall_ms - 1000.0 * (waited[1] - waited[0])) <= _SLACK_MS
        return -_SLACK_MS <= wall_ms <= _SLACK_MS + 3 * moved_ms

    def _take(self, document: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
        self.last, self.jobs = document, jobs
        at_ms = _stamp_ms(document)
        for step, group in zip(self.steps, self.groups, strict=True):
            step.take([jobs[index] for index in group], at_ms, self.version)

    def log(self, source: Source) -> Log | None:
        """Return what the documents tell; None where nothing was done."""
        options = _Options(self.last)
        names: set[str] = set()
        step_names: list[str] = []
        steps: list[Observed] = []
        facts: list[JobFacts] = []
        remarks: dict[str, bool] = {}
        begin_ms, end_s = self._begin_ms(), 0.0
        job_number = 1
        samples = _Rows()
        for step, group in zip(self.steps, self.groups, strict=True):
            jobs = [self.jobs[index] for index in group]
            merged = [options.of(job) for job in jobs]
            name = _unique(_name_of(jobs), names)
            first_s, last_s = end_s, end_s
            begun = len(samples)
            started_ms = _started_ms(jobs)
            single = self.documents == 1
            for at_s, row in step.rows_at(begin_ms, end_s, started_ms, single=single):
                if len(samples) == begun:
                    first_s = at_s - (row["interval_s"] or 0.0)
                last_s = at_s
                samples.add(at_s, row)
                step_names.append(name)
            if len(samples) > begun:
                steps.append(_observed(name, jobs, merged, step))
                end_s = max(end_s, last_s)
            for job, one in zip(jobs, merged, strict=True):
                count = _whole(one.get("numjobs")) or 1
                repeated = sum(_identity(other) == _identity(job) for other in self.jobs) > 1
                last = job_number + (0 if repeated else count - 1)
                prefixes = frozenset(
                    _text(one[key]) or _text(job.get("jobname")) for key in _LOGS if key in one
                )
                facts.append(JobFacts(name, job_number, last, prefixes, first_s, last_s))
                job_number = last + 1
            for text, doubt in step.remarks(name if len(self.steps) > 1 else ""):
                remarks[f"{source.name}: {text}"] = doubt
        if not step_names:
            return None
        if len(samples) == len(steps):
            remarks[f"{source.name}: {ONLY_MEANS}"] = False
        if self.version.startswith(("fio-2", "fio-1")):
            remarks[f"{source.name}: written by {self.version}: KiB and us were converted"] = False
        return Log(
            format="fio-json",
            source=source.name,
            samples=build({**samples.columns(), "step": step_names}),
            clock="none" if begin_ms is None else "utc",
            begin_unix_s=None if begin_ms is None else begin_ms / 1000,
            steps=tuple(steps),
            drive=_drive(self.last, [options.of(job) for job in self.jobs]),
            tools={"fio": self.version} if self.version else {},
            remarks=tuple(Remark(text, doubt) for text, doubt in remarks.items()),
            details={"fio_jobs": tuple(facts), "fio_version": self.version},
            duration_s=end_s,
        )

    def _begin_ms(self) -> float | None:
        """Return when the load began, by the clock."""
        started = [ms for job in self.jobs if (ms := _started_ms([job])) is not None]
        if started:
            return min(started)
        if self.first_ms is None or self.is_client:
            return self.first_ms  # a client's stamp is its begin
        if self.documents > 1:
            ran_ms = [step.first_runtime_ms for step in self.steps]
            return self.first_ms - max(ran_ms)
        return self.first_ms - sum(step.first_runtime_ms for step in self.steps)


class _Rows:
    """Rows of numbers with their times, kept by column, since there can be very many."""

    def __init__(self) -> None:
        self._times = array("d")
        self._columns: dict[str, array[float]] = {}

    def add(self, at: float | None, row: Mapping[str, float | None]) -> None:
        """Add a row; numbers that it does not have are None."""
        for name in row:
            if name not in self._columns:
                self._columns[name] = array("d", [math.nan]) * len(self._times)
        for name, column in self._columns.items():
            value = row.get(name)
            column.append(math.nan if value is None else value)
        self._times.append(math.nan if at is None else at)

    def __len__(self) -> int:
        return len(self._times)

    def first(self, count: int) -> Iterator[tuple[float | None, dict[str, float | None]]]:
        """Yield so many rows."""
        for index in range(min(count, len(self))):
            at = self._times[index]
            row = {name: _known(column[index]) for name, column in self._columns.items()}
            yield _known(at), row

    def columns(self) -> dict[str, Any]:
        """Return the times as `t_s`, and the columns."""
        return {"t_s": self._times, **self._columns}


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value


@dataclass
class _Step:
    """Jobs beside each other: what they did between documents."""

    differencer: Differencer = field(
        default_factory=lambda: Differencer(math.nan, reads=True, writes=True)
    )
    rows: "_Rows" = field(default_factory=lambda: _Rows())
    moving: int = 0
    first_runtime_ms: float = 0.0
    last: Status | None = None
    jobs: list[dict[str, Any]] = field(default_factory=list)
    mixed: bool = False
    completion: bool = False
    reset: bool = False

    def take(self, jobs: list[dict[str, Any]], at_ms: float | None, version: str) -> None:
        """Take the jobs of the next document."""
        self.mixed = self.mixed or any("mixed" in j and "read" not in j for j in jobs)
        plain = [self._plain(job, version) for job in jobs]
        status = Status.of({"timestamp_ms": int(at_ms or 0), "jobs": plain})
        before, self.last, self.jobs = self.last, status, jobs
        if before is None:
            self.first_runtime_ms = status.runtime_ms
        try:
            row = self.differencer.row(status)
        except HeatsoakError:
            self.reset = True
            self.differencer = Differencer(math.nan, reads=True, writes=True)
            self.differencer.row(status)
            return
        if row is None:
            return
        del row["queue"]
        self.rows.add(at_ms, row)
        if before is None or status.runtime_ms > before.runtime_ms or status.bytes > before.bytes:
            self.moving = len(self.rows)

    def _plain(self, job: dict[str, Any], version: str) -> dict[str, Any]:
        """Return a job in the form of fio 3.20 and later, whichever it was written by."""
        plain: dict[str, Any] = {"error": 0, "usr_cpu": 0.0, "sys_cpu": 0.0}
        for name in _DIRECTIONS:
            table = _table(job, "mixed" if self.mixed and name == "read" else name)
            plain[name] = self._direction(table, version)
        return plain

    def _direction(self, table: Mapping[str, Any], version: str) -> dict[str, Any]:
        runtime = _count(table, "runtime")
        in_kib = "io_kbytes" not in table and _is_kib(table, version)
        moved = _count(table, "io_bytes") * (1024 if in_kib else 1)
        ios = _count(table, "total_ios") or round(_float(table, "iops") * runtime / 1000)
        latency, bins, completion = _latency(table, ios)
        self.completion = self.completion or completion
        return {
            "io_bytes": min(moved, (1 << 63) - 1),
            "total_ios": min(ios, (1 << 63) - 1),
            "runtime": runtime,
            "lat_ns": {**latency, "bins": bins},
        }

    def rows_at(
        self, begin_ms: float | None, end_s: float, started_ms: float | None, *, single: bool
    ) -> Iterator[tuple[float, dict[str, float | None]]]:
        """Yield the samples with their `t_s`; those after the last I/O are left out."""
        if self.last is None:
            return
        used = {name: getattr(self.last, name).bytes > 0 for name in _DIRECTIONS}
        used |= {name: used[name] or getattr(self.last, name).ios > 0 for name in used}
        if not any(used.values()):
            return
        at_s = end_s
        for index, (stamp_ms, row) in enumerate(self.rows.first(self.moving)):
            interval_s = row["interval_s"] or 0.0
            wall_s = None
            if begin_ms is not None and stamp_ms is not None and not single:
                wall_s = (stamp_ms - begin_ms) / 1000
            elif index == 0 and begin_ms is not None and started_ms is not None:
                wall_s = (started_ms - begin_ms) / 1000 + interval_s
            # intervals are fio's own count; the clock says where it stood still, or was not yet
            next_s = at_s + interval_s
            ended = 0 < index == self.moving - 1  # the document came later than the last I/O
            if not ended and wall_s is not None and next_s + _WAITED_S < wall_s < next_s + 86_400:
                next_s = wall_s
            at_s = next_s
            shown = self._shown(row, used)
            if single and index == 0:
                shown.update(self._whole_run(used))
            yield at_s, shown

    def _shown(
        self, row: dict[str, float | None], used: dict[str, bool]
    ) -> dict[str, float | None]:
        kept = {
            key: value
            for key, value in row.items()
            if not any(key.startswith(f"{name}_") and not used[name] for name in used)
        }
        if not self.mixed:
            return kept
        together = {"bw_mb_s", "iops", "lat_us"}
        plain = {key.removeprefix("read_"): value for key, value in kept.items()}
        return {k: v for k, v in plain.items() if k in together or k == "interval_s"}

    def _whole_run(self, used: dict[str, bool]) -> dict[str, float | None]:
        """Return percentiles and maxima of the whole run, as fio itself has them."""
        found: dict[str, float | None] = {}
        if self.mixed:
            return found
        for name in _DIRECTIONS:
            tables = [_table(job, name) for job in self.jobs]
            tables = [table for table in tables if _count(table, "io_bytes")]
            if not used[name] or not tables:
                continue
            greatest = [_float(*_timed(table)[:2], scale=_timed(table)[2]) for table in tables]
            found[f"{name}_lat_max_us"] = max(greatest) or None
            if len(tables) > 1:
                continue
            for table, scale in _percentile_tables(tables[0]):
                self.completion = "lat_ns" not in tables[0] or not _table(
                    _table(tables[0], "lat_ns"), "percentile"
                )
                printed = {float(key): value for key, value in table.items() if _is_number(key)}
                for short, percent in _PERCENTILES:
                    value = printed.get(percent)
                    if isinstance(value, int | float) and 0 < value < 1e18:
                        found[f"{name}_lat_{short}_us"] = float(value) * scale
        return found

    def remarks(self, name: str) -> Iterator[tuple[str, bool]]:
        """Yield what has to be said, and whether it is a doubt."""
        where = f"step {name}: " if name else ""
        if self.completion:
            yield "latencies, or their percentiles, are those of completion (clat)", False
        if self.mixed:
            yield f"{where}reads and writes are counted together (unified_rw_reporting)", False
        if self.reset:
            yield f"{where}its counters fell meanwhile: the interval is left out", True
        if any(_count(_table(job, "trim"), "io_bytes") for job in self.jobs):
            yield "trims are left out", False


def _timed(table: Mapping[str, Any]) -> tuple[Mapping[str, Any], str, float]:
    """Return the table of latencies with its `max` and what makes us of it."""
    for key, scale in (("lat_ns", 1e-3), ("clat_ns", 1e-3), ("lat", 1.0), ("clat", 1.0)):
        found = _table(table, key)
        if _float(found, "max"):
            return found, "max", scale
    return {}, "max", 1.0


def _percentile_tables(table: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], float]]:
    """Yield what fio printed as percentiles, the better last."""
    for key, scale in (("clat", 1.0), ("clat_ns", 1e-3), ("lat_ns", 1e-3)):
        found = _table(_table(table, key), "percentile")
        if found:
            yield found, scale


def _latency(table: Mapping[str, Any], ios: int) -> tuple[dict[str, float], dict[str, int], bool]:
    """Return count and mean (ns), and buckets (ns), of a direction; whether clat stands for it."""
    found: dict[str, float] = {"N": 0, "mean": 0.0}
    bins: dict[str, int] = {}
    completion = False
    for key, scale in (("lat_ns", 1), ("lat", 1000), ("clat_ns", 1), ("clat", 1000)):
        part = _table(table, key)
        mean = _float(part, "mean", scale=scale)
        count = _count(part, "N") if "N" in part else ios
        if not found["N"] and count and mean:
            found = {"N": count, "mean": mean}
            completion = key.startswith("clat")
        counts = _table(part, "bins")
        if not bins and counts:
            bins = {
                str(int(ns) * scale): count
                for ns, count in counts.items()
                if ns.isascii() and ns.isdigit() and len(ns) < 16
                if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1 << 53
            }
            completion = completion or key.startswith("clat")
    return found, bins, completion


def _is_kib(table: Mapping[str, Any], version: str) -> bool:
    """Whether `io_bytes` is in KiB, as fio had it before version 3."""
    bw_kib, runtime = _float(table, "bw"), _float(table, "runtime")
    if bw_kib > 8 and runtime > 0:
        return _float(table, "io_bytes") < 32 * bw_kib * runtime / 1000
    return version.startswith(("fio-2", "fio-1"))


class _Options:
    """The options of each job, with the global ones."""

    def __init__(self, document: dict[str, Any]) -> None:
        said = document.get("global options")
        many = said if isinstance(said, list) else [said]
        self._global = [one for one in many if isinstance(one, dict)]

    def of(self, job: dict[str, Any]) -> dict[str, Any]:
        """Return the options that a job ran with, as far as they were given."""
        merged: dict[str, Any] = {}
        for one in self._global:
            same_host = "hostname" not in one or one["hostname"] == job.get("hostname")
            if same_host:
                merged |= one
        merged |= _table(job, "job options")
        aliases = (("readwrite", "rw"), ("blocksize", "bs"))
        merged |= {new: merged[old] for old, new in aliases if old in merged and new not in merged}
        return merged


def _observed(
    name: str, jobs: list[dict[str, Any]], options: list[dict[str, Any]], step: _Step
) -> Observed:
    """Return what is known of a step's load."""
    assert step.last is not None
    totals = (step.last.read, step.last.write)
    reads, writes = (total.bytes > 0 or total.ios > 0 for total in totals)
    if step.mixed:
        reads = writes = True
    rw = _same([_pattern(_text(one.get("rw"))) for one in options])
    sizes = {total.bytes / total.ios for total in totals if total.ios}
    bs = _same([_block(one, sizes) for one in options])
    depth = _same([_whole(one.get("iodepth")) or (1 if one.get("rw") else None) for one in options])
    numjobs = len(jobs) if len(jobs) > 1 else _whole(options[0].get("numjobs"))
    share = _same([_whole(one.get("rwmixread")) for one in options])
    limits = [f"{key}={_text(one[key])}" for one in options for key in _LIMITS if key in one]
    return Observed(
        name=name,
        reads=reads,
        writes=writes,
        rw=rw if rw in get_args(RW) else None,
        bs=bs,
        iodepth=depth if depth and depth <= 1 << 20 else None,
        numjobs=numjobs or None,
        rwmixread=share if share is not None and share <= 100 and rw in ("rw", "randrw") else None,
        about=" ".join(dict.fromkeys(limits))[:200],
    )


def _pattern(text: str) -> Any:
    kind = text.split(":")[0].strip().lower()
    return {"readwrite": "rw"}.get(kind, kind) or None


def _block(options: dict[str, Any], sizes: set[float]) -> int | None:
    """Return the block size: as asked for, else as the counters have it."""
    said = _BLOCK.fullmatch(_text(options.get("bs")).strip())
    counted = int(sizes.pop()) if len(sizes) == 1 and float(*sizes).is_integer() else None
    if said is not None:
        size = int(said[1]) * 1024 ** " kmg".index(said[2].lower() or " ")
        return size or None
    return counted if counted and counted % 512 == 0 else None


def _same(values: list[Any]) -> Any:
    return values[0] if values and all(value == values[0] for value in values) else None


def _drive(document: dict[str, Any], options: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the drive's path: the only one whose use fio counted, or the one that was named."""
    used = document.get("disk_util")
    names = [
        _text(disk["name"])
        for disk in (used if isinstance(used, list) else [])
        if isinstance(disk, dict) and _text(disk.get("name"))
    ]
    asked = {_text(one["filename"]) for one in options if "filename" in one}
    if len(asked) == 1 and (path := asked.pop()).startswith("/dev/"):
        return {"path": path}
    return {"path": f"/dev/{names[0]}"} if len(set(names)) == 1 else {}


def _groups(document: dict[str, Any], jobs: list[dict[str, Any]]) -> list[list[int]]:
    """Return which jobs ran beside each other, as fio groups them."""
    options = _Options(document)
    groups: list[list[int]] = []
    places: dict[int, int] = {}
    for index, job in enumerate(jobs):
        group = _count(job, "groupid")
        if group not in places:
            said = options.of(job)
            beside = bool(groups) and (
                _overlap([jobs[i] for i in groups[-1]], job)
                or ("new_group" in said and "stonewall" not in said)
            )
            places[group] = len(groups) - 1 if beside else len(groups)
            if not beside:
                groups.append([])
        groups[places[group]].append(index)
    return groups


def _overlap(before: list[dict[str, Any]], job: dict[str, Any]) -> bool:
    """Whether `job` began while those before it ran, where fio says when."""
    starts = _started_ms(before), _started_ms([job])
    if starts[0] is None or starts[1] is None:
        return False
    ran_ms = max(_count(_table(one, name), "runtime") for one in before for name in _DIRECTIONS)
    return starts[1] < starts[0] + ran_ms / 2


def _started_ms(jobs: list[dict[str, Any]]) -> float | None:
    """Return when the first of `jobs` began; None for fio before 3.34."""
    started = [float(at) for job in jobs if 1e12 < (at := _count(job, "job_start")) < 5e12]
    return min(started) if started else None


def _stamp_ms(document: dict[str, Any]) -> float | None:
    for key, scale in (("timestamp_ms", 1), ("timestamp", 1000)):
        value = _count(document, key) * scale
        if 0 < value < 5e12:
            return float(value)
    return None


def _identity(job: dict[str, Any]) -> tuple[str, int, str]:
    return _text(job.get("jobname")), _count(job, "groupid"), _text(job.get("hostname"))


def _name_of(jobs: list[dict[str, Any]]) -> str:
    names = dict.fromkeys(_text(job.get("jobname")) for job in jobs)
    return "+".join(name for name in names if name)[:150] or "fio"


def _unique(name: str, taken: set[str]) -> str:
    found, number = name, 2
    while found in taken:
        found, number = f"{name} {number}", number + 1
    taken.add(found)
    return found


def _table(parent: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def _count(parent: Mapping[str, Any], key: str) -> int:
    value = parent.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if 0 <= value < 1 << 53 else 0


def _float(parent: Mapping[str, Any], key: str, *, scale: float = 1.0) -> float:
    value = parent.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0.0
    return float(value) * scale if -1e300 < value < 1e300 and value > 0 else 0.0


def _whole(value: Any) -> int | None:
    text = _text(value).strip()
    return int(text) if _NUMBER.fullmatch(text) else None


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d{1,3}(?:\.\d{1,9})?", text, re.ASCII) is not None


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()[:300]
    return str(value) if isinstance(value, int) and abs(value) < 1 << 63 else ""


FORMAT = Format("fio-json", "fio's JSON output", _recognises, _read)
