"""fio's JSON (``--output-format=json`` or ``json+``) and its terse output (``--minimal``).

Counters in them are cumulative since fio started. With ``--status-interval`` two consecutive
documents, or the terse lines of two, tell what was done between them; the last one alone has only
means over the whole run. Consecutive groups of jobs (``stonewall``) are steps of one log.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, get_args

from pydantic import Field

from heatsoak.importer.format import Format
from heatsoak.importer.formats.fio.counters import CounterRows, Job, StepCounters
from heatsoak.importer.formats.results.core import DIRECTIONS, numbered
from heatsoak.importer.frames import build
from heatsoak.importer.lenient import Count, Items, Lenient, Text, text_of, whole_of
from heatsoak.importer.log import Log, Options, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed
from heatsoak.protocol.workload import RW

ONLY_MEANS = "holds one mean for each step, and no series"
_LOGS = ("write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log")
#: fio's count of its own time and its time stamps agree within this.
_SLACK_MS = 3000.0
_BLOCK = re.compile(r"(\d{1,12})([kmg]?)b?", re.IGNORECASE | re.ASCII)
#: Options that hold the load back, and have to be known by whoever looks for throttling.
_LIMITS = ("rate", "rate_iops", "rate_min", "thinktime", "flow")
_MAX_DEPTH = 1 << 20
#: How fio's output for people begins, or its results do.
_TEXT = re.compile(r"^[^\n]{1,200}: \((?:g=\d+\): rw=|groupid=\d+, jobs=\d+\): err=)", re.MULTILINE)


@dataclass(frozen=True)
class JobFacts:
    """What the JSON of a run tells those who read its other logs.

    Attributes:
        step: the step that the job belongs to.
        first, last: numbers of its processes, as names of logs have them: ``P_bw.N.log``.
        prefixes: what its logs are called; empty where it wrote none, or options are missing.
        start_s, end_s: when it ran, in `t_s`.
    """

    step: str
    first: int
    last: int
    prefixes: frozenset[str]
    start_s: float
    end_s: float


class _Document(Lenient):
    """What a document says besides its jobs."""

    version: Text = Field("", alias="fio version")
    timestamp_ms: Count = 0
    timestamp: Count = 0
    jobs: Any = None
    global_options: Any = Field(None, alias="global options")
    disk_util: Items = Field([])

    @property
    def stamp_ms(self) -> float | None:
        """When it was written, by the clock; where several machines ran, when they began."""
        for value in (self.timestamp_ms, self.timestamp * 1000):
            if 0 < value < 5e12:
                return float(value)
        return None

    def options_of(self, job: Job) -> dict[str, Any]:
        """Return the options that a job ran with, as far as they were given."""
        given = self.global_options
        merged: dict[str, Any] = {}
        for one in given if isinstance(given, list) else [given]:
            if isinstance(one, dict) and text_of(one.get("hostname", job.hostname)) == job.hostname:
                merged |= one
        merged |= job.options
        aliases = (("readwrite", "rw"), ("blocksize", "bs"))
        return {new: merged[old] for old, new in aliases if old in merged} | merged


class FioRun:
    """One run of fio: its documents as they come."""

    def __init__(self, value: dict[str, Any], jobs: list[Job]) -> None:
        document = _Document.model_validate(value)
        self.document, self.jobs = document, jobs
        self._identities = [job.identity for job in jobs]
        self._documents = 0
        self._version = document.version
        self._first_ms = document.stamp_ms
        self._groups = _groups(document, jobs)
        self._steps = [StepCounters() for _ in self._groups]
        self._take(document, jobs)

    def add(self, value: dict[str, Any], jobs: list[Job]) -> bool:
        """Take the next document; False where it is of another run."""
        document = _Document.model_validate(value)
        same = [job.identity for job in jobs] == self._identities
        if not same or not self._continues(document, jobs):
            return False
        self._take(document, jobs)
        return True

    def _continues(self, document: _Document, jobs: list[Job]) -> bool:
        """Whether every counter has grown as the clock has."""
        moved_ms = 0.0
        for before, after in zip(self.jobs, jobs, strict=True):
            for name in (*DIRECTIONS, "mixed"):
                old, new = before.done(name), after.done(name)
                if (
                    new.io_bytes < old.io_bytes
                    or new.total_ios < old.total_ios
                    or new.runtime < old.runtime
                ):
                    return False
                moved_ms = max(moved_ms, new.runtime - old.runtime)
        last_ms, now_ms = self.document.stamp_ms, document.stamp_ms
        if last_ms is None or now_ms is None:
            return True
        wall_ms = now_ms - last_ms
        before_s, after_s = self.jobs[0].elapsed, jobs[0].elapsed
        if before_s and after_s:
            return abs(wall_ms - 1000.0 * (after_s - before_s)) <= _SLACK_MS
        return -_SLACK_MS <= wall_ms <= _SLACK_MS + 3 * moved_ms

    def _take(self, document: _Document, jobs: list[Job]) -> None:
        self._documents += 1
        self.document, self.jobs = document, jobs
        for step, group in zip(self._steps, self._groups, strict=True):
            step.take([jobs[index] for index in group], document.stamp_ms, self._version)

    def log(self, source: Source) -> Log | None:
        """Return what the documents tell; None where nothing was done."""
        version = self._version
        taken: dict[str, int] = {}
        same = Counter(self._identities)
        step_names: list[str] = []
        steps: list[Observed] = []
        facts: list[JobFacts] = []
        remarks: dict[str, bool] = {}
        begin_ms, end_s = self._start_ms(), 0.0
        job_number = 1
        samples = CounterRows()
        for step in self._steps:
            options = [self.document.options_of(job) for job in step.jobs]
            name = _unique(_name_of(step.jobs), taken)
            first_s, last_s = end_s, end_s
            before = len(samples)
            single = self._documents == 1
            for at_s, row in step.rows_at(begin_ms, end_s, _started_ms(step.jobs), single=single):
                if len(samples) == before:
                    first_s = at_s - (row["interval_s"] or 0.0)
                last_s = at_s
                samples.add(at_s, row)
                step_names.append(name)
            if len(samples) > before:
                steps.append(_observed(name, step, options))
                end_s = max(end_s, last_s)
            for job, own in zip(step.jobs, options, strict=True):
                processes = 1 if same[job.identity] > 1 else whole_of(own.get("numjobs")) or 1
                last = job_number + processes - 1
                prefixes = frozenset(text_of(own[k]) or job.jobname for k in _LOGS if k in own)
                facts.append(JobFacts(name, job_number, last, prefixes, first_s, last_s))
                job_number = last + 1
            remarks |= dict(step.remarks(name if len(self._steps) > 1 else ""))
        if not step_names:
            return None
        if len(samples) == len(steps):
            remarks[ONLY_MEANS] = False
        if version.startswith(("fio-2", "fio-1")):
            remarks[f"written by {version}: KiB and us were converted"] = False
        return Log(
            format="fio-json",
            source=source.name,
            samples=build({**samples.columns(), "step": step_names}),
            clock="none" if begin_ms is None else "utc",
            start_unix_s=None if begin_ms is None else begin_ms / 1000,
            steps=tuple(steps),
            drive=self._drive(),
            tools={"fio": version} if version else {},
            remarks=tuple(Remark(f"{source.name}: {t}", doubt) for t, doubt in remarks.items()),
            details={"fio_jobs": tuple(facts), "fio_version": version},
            duration_s=end_s,
        )

    def _start_ms(self) -> float | None:
        """Return when the load began, by the clock."""
        started = _started_ms(self.jobs)
        is_client = not isinstance(self.document.jobs, list)
        if started is not None or self._first_ms is None or is_client:
            return started if started is not None else self._first_ms
        ran_ms = [step.first_runtime_ms for step in self._steps]
        return self._first_ms - (max(ran_ms) if self._documents > 1 else sum(ran_ms))

    def _drive(self) -> dict[str, Any]:
        """Return the drive's path: the only one whose use fio counted, or that was named."""
        used = [disk for disk in self.document.disk_util if isinstance(disk, dict)]
        names = {name for disk in used if (name := text_of(disk.get("name")))}
        options = [self.document.options_of(job) for job in self.jobs]
        asked = {text_of(one["filename"]) for one in options if "filename" in one}
        if len(asked) == 1 and (path := asked.pop()).startswith("/dev/"):
            return {"path": path}
        return {"path": f"/dev/{names.pop()}"} if len(names) == 1 else {}


def _groups(document: _Document, jobs: list[Job]) -> list[list[int]]:
    """Return which jobs ran beside each other, as fio groups them."""
    groups: list[list[int]] = []
    places: dict[int, int] = {}
    for index, job in enumerate(jobs):
        if job.groupid not in places:
            options = document.options_of(job)
            beside = bool(groups) and (
                _overlap([jobs[i] for i in groups[-1]], job)
                or ("new_group" in options and "stonewall" not in options)
            )
            if not beside:
                groups.append([])
            places[job.groupid] = len(groups) - 1
        groups[places[job.groupid]].append(index)
    return groups


def _overlap(before: Sequence[Job], job: Job) -> bool:
    """Whether `job` began while those before it ran, where fio says when."""
    first_ms, own_ms = _started_ms(before), _started_ms([job])
    if first_ms is None or own_ms is None:
        return False
    ran_ms = max(one.done(name).runtime for one in before for name in DIRECTIONS)
    return own_ms < first_ms + ran_ms / 2


def _started_ms(jobs: Iterable[Job]) -> float | None:
    """Return when the first of `jobs` began; None for fio before 3.34."""
    return min((float(job.job_start) for job in jobs if 1e12 < job.job_start < 5e12), default=None)


def _name_of(jobs: Iterable[Job]) -> str:
    names = dict.fromkeys(job.jobname for job in jobs)
    return "+".join(name for name in names if name)[:150] or "fio"


def _unique(name: str, taken: dict[str, int]) -> str:
    """The name, with a number behind it where it is taken; `taken` has the last one of each."""
    found = name
    while found in taken:
        taken[name] += 1
        found = f"{name} {taken[name]}"
    taken[found] = 1
    return found


# --- options ---


def _observed(name: str, step: StepCounters, options: Sequence[Mapping[str, Any]]) -> Observed:
    """Return what is known of a step's load."""
    assert step.last is not None
    totals = (step.last.read, step.last.write)
    sizes = {total.bytes / total.ios for total in totals if total.ios}
    # of several jobs, the counters tell a mean that may be the size of none
    counted = sizes.pop() if len(sizes) == len(options) == 1 else 0.0
    rw = _same([_pattern(one) for one in options])
    depth = _same(
        [whole_of(one.get("iodepth")) or (1 if one.get("rw") else None) for one in options]
    )
    share = _same([whole_of(one.get("rwmixread")) for one in options])
    limits = [f"{key}={text_of(one[key])}" for one in options for key in _LIMITS if key in one]
    jobs = len(step.jobs) if len(step.jobs) > 1 else whole_of(options[0].get("numjobs"))
    return Observed(
        name=name,
        reads=step.used["read"] or step.mixed,
        writes=step.used["write"] or step.mixed,
        rw=rw if rw in get_args(RW) else None,
        bs=_same([_block(one, counted) for one in options]),
        iodepth=depth if depth and depth <= _MAX_DEPTH else None,
        numjobs=jobs or None,
        rwmixread=share if share is not None and share <= 100 and rw in ("rw", "randrw") else None,
        about=" ".join(dict.fromkeys(limits))[:200],
    )


def _pattern(options: Mapping[str, Any]) -> Any:
    kind = text_of(options.get("rw")).split(":")[0].strip().lower()
    return {"readwrite": "rw"}.get(kind, kind) or None


def _block(options: Mapping[str, Any], counted: float) -> int | None:
    """Return the block size: as asked for, else as the counters have it, if they tell one."""
    match = _BLOCK.fullmatch(text_of(options.get("bs")).strip())
    if match is not None:
        return int(match[1]) * 1024 ** " kmg".index(match[2].lower() or " ") or None
    return int(counted) if counted > 0 and counted % 512 == 0 else None


def _same(values: list[Any]) -> Any:
    return values[0] if values and all(value == values[0] for value in values) else None


# --- the formats ---


def _is_json(source: Source) -> bool:
    head = "\n".join(source.head_lines)
    is_json = '"fio version"' in head and ('"jobs"' in head or '"client_stats"' in head)
    return is_json or _TEXT.search(head) is not None


def _read_json(source: Source, _: Options) -> list[Log]:
    runs: list[FioRun] = []
    broken: list[int] = []
    for document in source.documents():
        jobs = _jobs_of(document.value)
        if jobs:
            if not runs or not runs[-1].add(document.value, jobs):
                runs.append(FioRun(document.value, jobs))
        elif jobs is not None:
            broken.append(document.line)
    if broken:
        source.remark(f"{len(broken)} documents have no jobs, the first is in line {broken[0]}")
    logs = [log for run in runs if (log := run.log(source)) is not None]
    if logs:
        return numbered(logs)
    if not runs and _TEXT.search("\n".join(source.head_lines)) is not None:
        raise source.error(
            "is fio's text, which has means only: '--output-format=json --status-interval=1', "
            "or '--write_bw_log=NAME', writes what can be imported"
        )
    raise source.error("its jobs have done no I/O" if runs else "holds no results of fio")


def _jobs_of(document: Any) -> list[Job] | None:
    """Return a document's jobs, those of all clients; None for a document that is not fio's."""
    if not isinstance(document, dict):
        return None
    jobs = document.get("jobs")
    if not isinstance(jobs, list):
        jobs = document.get("client_stats")
    if not isinstance(jobs, list):
        return [] if "fio version" in document else None
    found = [Job.model_validate(job) for job in jobs if isinstance(job, dict)]
    single = [job for job in found if job.jobname != "All clients"]
    return single or found


#: The version of the format, fio's own since version 3, the job, its group, its error.
_TERSE = re.compile(r"^(?:[3-5];fio-[^;]{1,40}|2);[^;]*;\d{1,9};\d{1,9};\d{1,18};\d")
#: Where a direction's values stand: KiB, KiB/s, I/Os a second, ms, and its mean latency in us.
_VALUES = (0, 1, 2, 3, 34)
#: How many values a direction has, by the version.
_WIDTHS = {"2": 41, "3": 41, "4": 41, "5": 47}
#: A job that has run longer by this factor is of a later status.
_LATER = 1.5
_MIN_STATUSES = 3
#: No total is more than this.
_MAX_TOTAL = float(1 << 43)


def _is_terse(source: Source) -> bool:
    return any(_TERSE.match(line) for line in source.head_lines[:100])


def _read_terse(source: Source, _: Options) -> list[Log]:
    lines = (line for _, line in source.lines() if _TERSE.match(line))
    jobs = [job for line in lines if (job := _job_of(line)) is not None]
    size = _jobs_in_a_status([job for job, _ in jobs])
    if len(jobs) < _MIN_STATUSES * size:
        raise source.error(
            "is fio's terse output, which has totals only: use "
            "'--output-format=json --status-interval=1', or '--write_bw_log=NAME "
            "--log_avg_msec=1000'"
        )
    runs: list[FioRun] = []
    for first in range(0, len(jobs) - size + 1, size):
        status = [job for job, _ in jobs[first : first + size]]
        document = {"fio version": jobs[first][1], "jobs": []}
        if not runs or not runs[-1].add(document, status):
            runs.append(FioRun(document, status))
    logs = [log for run in runs if (log := run.log(source)) is not None]
    if not logs:
        raise source.error("its jobs have done no I/O")
    return logs


def _jobs_in_a_status(jobs: list[Job]) -> int:
    """Return how many lines make one status: those up to the first job's next one."""
    for index, job in enumerate(jobs):
        if job.identity == jobs[0].identity and _ran_ms(job) > _LATER * _ran_ms(jobs[0]):
            return index
    return max(1, len(jobs))


def _ran_ms(job: Job) -> float:
    return float(max(job.done(name).runtime for name in DIRECTIONS))


def _job_of(line: str) -> tuple[Job, str] | None:
    """Return a job and fio's version; None for a line that was cut or damaged."""
    cells = line.strip().split(";")
    format_version = cells.pop(0)
    version = cells.pop(0) if format_version != "2" else ""
    job: dict[str, Any] = {"jobname": cells[0], "groupid": int(cells[1])}
    for name, first in zip(DIRECTIONS, count(3, _WIDTHS[format_version]), strict=False):
        try:
            values = [float(cells[first + at]) for at in _VALUES]
        except (IndexError, ValueError):
            return None
        if not all(0 <= value < _MAX_TOTAL for value in values):
            return None
        kib, kib_s, iops, runtime_ms, lat_us = values
        ios = round(iops * runtime_ms / 1000)
        job[name] = {
            "io_bytes": int(kib) * 1024,
            "io_kbytes": int(kib),
            "bw": kib_s,
            "iops": iops,
            "total_ios": ios,
            "runtime": int(runtime_ms),
            "lat": {"N": ios, "mean": lat_us},
        }
    return Job.model_validate(job), version


JSON = Format("fio-json", "fio's JSON output", _is_json, _read_json, priority=70)
TERSE = Format("fio-terse", "fio's terse output", _is_terse, _read_terse, priority=20)
