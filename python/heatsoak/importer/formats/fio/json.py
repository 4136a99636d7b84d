"""fio's JSON (``--output-format=json`` or ``json+``) its terse output (``--minimal``) and its text.

Counters in them are cumulative since fio started. With ``--status-interval`` two consecutive
documents, or the terse lines of two, tell what was done between them; the last one alone has only
means over the whole run. Consecutive groups of jobs (``stonewall``) are steps of one log.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, get_args

from heatsoak.fio import DIRECTIONS
from heatsoak.importer import numbers
from heatsoak.importer.formats import Format, results
from heatsoak.importer.formats.fio import counters
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
#: Where jobs stand in a document; those of several machines in the second.
_JOBS = ("jobs", "client_stats")
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


@dataclass(frozen=True)
class _Document:
    """A document: its jobs, and what it says besides."""

    value: dict[str, Any]
    jobs: list[counters.Job]

    @property
    def stamp_ms(self) -> float | None:
        """When it was written, by the clock; where several machines ran, when they began."""
        for key, unit_ms in (("timestamp_ms", 1), ("timestamp", 1000)):
            value = self.value.get(key)
            if isinstance(value, int | float) and 0 < value * unit_ms < 5e12:
                return float(int(value) * unit_ms)
        return None

    def options_of(self, job: counters.Job) -> dict[str, Any]:
        """Return the options that a job ran with, as far as they were given."""
        given = self.value.get("global options")
        merged: dict[str, Any] = {}
        host = job.identity[2]
        for one in given if isinstance(given, list) else [given]:
            if isinstance(one, dict) and numbers.text_of(one.get("hostname", host)) == host:
                merged |= one
        merged |= job.part.part("job options").value
        aliases = (("readwrite", "rw"), ("blocksize", "bs"))
        return {new: merged[old] for old, new in aliases if old in merged} | merged


class FioRun:
    """One run of fio: its documents as they come."""

    def __init__(self, document: _Document) -> None:
        self.document = document
        self._identities = [job.identity for job in document.jobs]
        self._documents = 0
        self._version = numbers.text_of(document.value.get("fio version"))
        self._first_ms = document.stamp_ms
        self._groups = _groups(document)
        self._steps = [counters.StepCounters() for _ in self._groups]
        self._take(document)

    def add(self, document: _Document) -> bool:
        """Take the next document; False where it is of another run."""
        same = [job.identity for job in document.jobs] == self._identities
        if not same or not self._continues(document):
            return False
        self._take(document)
        return True

    def _continues(self, document: _Document) -> bool:
        """Whether every counter has grown as the clock has."""
        moved_ms = 0.0
        for before, after in zip(self.document.jobs, document.jobs, strict=True):
            for name, new in after.totals.items():
                old = before.totals[name]
                if new.bytes < old.bytes or new.ios < old.ios or new.runtime_ms < old.runtime_ms:
                    return False
                moved_ms = max(moved_ms, new.runtime_ms - old.runtime_ms)
        last_ms, now_ms = self.document.stamp_ms, document.stamp_ms
        if last_ms is None or now_ms is None:
            return True
        wall_ms = now_ms - last_ms
        before_s, after_s = (
            each.jobs[0].part.count("elapsed") for each in (self.document, document)
        )
        if before_s and after_s:
            return abs(wall_ms - 1000.0 * (after_s - before_s)) <= _SLACK_MS
        return -_SLACK_MS <= wall_ms <= _SLACK_MS + 3 * moved_ms

    def _take(self, document: _Document) -> None:
        self._documents += 1
        self.document = document
        for step, group in zip(self._steps, self._groups, strict=True):
            step.take([document.jobs[index] for index in group], document.stamp_ms)

    def log(self, source: Source) -> Log | None:
        """Return what the documents tell; None where nothing was done."""
        version = self._version
        same = Counter(self._identities)
        steps: list[Observed] = []
        facts: list[JobFacts] = []
        remarks: dict[str, bool] = {}
        begin_ms, end_s = self._start_ms(), 0.0
        job_number = 1
        samples: list[dict[str, Any]] = []
        told = [dict.fromkeys(job.name for job in step.jobs if job.name) for step in self._steps]
        names = results.numbered_names(["+".join(each)[:150] or "fio" for each in told])
        for step, name in zip(self._steps, names, strict=True):
            options = [self.document.options_of(job) for job in step.jobs]
            rows = list(step.rows_at(begin_ms, end_s, single=self._documents == 1))
            first_s = last_s = end_s
            if rows:
                first_s, last_s = rows[0][0] - (rows[0][1]["interval_s"] or 0.0), rows[-1][0]
                steps.append(_observed(name, step, options))
                end_s = max(end_s, last_s)
            samples += [{**row, "t_s": at_s, "step": name} for at_s, row in rows]
            for job, own in zip(step.jobs, options, strict=True):
                processes = (
                    1 if same[job.identity] > 1 else numbers.whole_of(own.get("numjobs")) or 1
                )
                last = job_number + processes - 1
                prefixes = frozenset(numbers.text_of(own[k]) or job.name for k in _LOGS if k in own)
                facts.append(JobFacts(name, job_number, last, prefixes, first_s, last_s))
                job_number = last + 1
            remarks |= dict(step.remarks(name if len(self._steps) > 1 else ""))
        if not samples:
            return None
        if len(samples) == len(steps):
            remarks[ONLY_MEANS] = False
        if version.startswith(("fio-2", "fio-1")):
            remarks[f"written by {version}: KiB and us were converted"] = False
        return Log(
            format="fio-json",
            source=source.name,
            samples=results.frame(samples),
            clock="none" if begin_ms is None else "utc",
            start_unix_s=None if begin_ms is None else begin_ms / 1000,
            steps=tuple(steps),
            drive=self._drive(),
            tools={"fio": version} if version else {},
            remarks=tuple(Remark(f"{source.name}: {t}", doubt) for t, doubt in remarks.items()),
            details={
                "fio_jobs": tuple(facts),
                "fio_version": version,
                "fio_directories": source.directories,
            },
            duration_s=end_s,
        )

    def _start_ms(self) -> float | None:
        """Return when the load began, by the clock."""
        started = counters.started_ms(self.document.jobs)
        is_client = not isinstance(self.document.value.get("jobs"), list)
        if started is not None or self._first_ms is None or is_client:
            return started if started is not None else self._first_ms
        ran_ms = [step.first_runtime_ms for step in self._steps]
        return self._first_ms - (max(ran_ms) if self._documents > 1 else sum(ran_ms))

    def _drive(self) -> dict[str, Any]:
        """Return the drive's path: the only one whose use fio counted, or that was named."""
        used = self.document.value.get("disk_util")
        used = [disk for disk in used if isinstance(disk, dict)] if isinstance(used, list) else []
        names = {name for disk in used if (name := numbers.text_of(disk.get("name")))}
        options = [self.document.options_of(job) for job in self.document.jobs]
        asked = {numbers.text_of(one["filename"]) for one in options if "filename" in one}
        if len(asked) == 1 and (path := asked.pop()).startswith("/dev/"):
            return {"path": path}
        return {"path": f"/dev/{names.pop()}"} if len(names) == 1 else {}


def _groups(document: _Document) -> list[list[int]]:
    """Return which jobs ran beside each other, as fio groups them."""
    groups: list[list[int]] = []
    places: dict[int, int] = {}
    for index, job in enumerate(document.jobs):
        group = job.identity[1]
        if group not in places:
            options = document.options_of(job)
            before = [document.jobs[i] for i in groups[-1]] if groups else []
            first_ms, own_ms = counters.started_ms(before), job.started_ms
            beside = bool(groups) and "new_group" in options and "stonewall" not in options
            if first_ms is not None and own_ms is not None:
                beside |= own_ms < first_ms + max(one.runtime_ms for one in before) / 2
            if not beside:
                groups.append([])
            places[group] = len(groups) - 1
        groups[places[group]].append(index)
    return groups


# --- options ---


def _observed(
    name: str, step: counters.StepCounters, options: Sequence[Mapping[str, Any]]
) -> Observed:
    """Return what is known of a step's load."""
    totals = (step.last.read, step.last.write)
    sizes = {total.bytes / total.ios for total in totals if total.ios}
    # of several jobs, the counters tell a mean that may be the size of none
    counted = sizes.pop() if len(sizes) == len(options) == 1 else 0.0
    patterns = [numbers.text_of(one.get("rw")).split(":")[0].strip().lower() for one in options]
    rw = _same([{"readwrite": "rw"}.get(pattern, pattern) or None for pattern in patterns])
    depth = _same(
        [numbers.whole_of(one.get("iodepth")) or (1 if one.get("rw") else None) for one in options]
    )
    share = _same([numbers.whole_of(one.get("rwmixread")) for one in options])
    limits = [
        f"{key}={numbers.text_of(one[key])}" for one in options for key in _LIMITS if key in one
    ]
    jobs = len(step.jobs) if len(step.jobs) > 1 else numbers.whole_of(options[0].get("numjobs"))
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


def _block(options: Mapping[str, Any], counted: float) -> int | None:
    """Return the block size: as asked for, else as the counters have it, if they tell one."""
    match = _BLOCK.fullmatch(numbers.text_of(options.get("bs")).strip())
    if match is not None:
        return int(match[1]) * int(numbers.multiple(match[2])) or None
    return int(counted) if counted > 0 and counted % 512 == 0 else None


def _same(values: list[Any]) -> Any:
    return values[0] if values and all(value == values[0] for value in values) else None


# --- the formats ---


def _is_json(source: Source) -> bool:
    head = "\n".join(source.head_lines)
    is_json = '"fio version"' in head and any(f'"{key}"' in head for key in _JOBS)
    return is_json or _TEXT.search(head) is not None


def _read_json(source: Source, _: Options) -> list[Log]:
    runs = _runs(_documents(source))
    if logs := _logs(source, runs):
        return results.numbered(logs)
    if not runs and _TEXT.search("\n".join(source.head_lines)) is not None:
        jobs = [job for job in _jobs_of_text(source) if job[0].runtime_ms]
        return _read_statuses(source, jobs, "text")
    raise source.error("its jobs have done no I/O" if runs else "holds no results of fio")


def _runs(documents: Iterable[_Document]) -> list[FioRun]:
    runs: list[FioRun] = []
    for document in documents:
        if not runs or not runs[-1].add(document):
            runs.append(FioRun(document))
    return runs


def _logs(source: Source, runs: list[FioRun]) -> list[Log]:
    return [log for run in runs if (log := run.log(source)) is not None]


def _documents(source: Source) -> Iterator[_Document]:
    for found in source.documents():
        value = found.value
        if not isinstance(value, dict):
            continue
        jobs = next((value[k] for k in _JOBS if isinstance(value.get(k), list)), None)
        version = numbers.text_of(value.get("fio version"))
        every = [counters.Job.of(job, version) for job in jobs or () if isinstance(job, dict)]
        single = [job for job in every if job.name != "All clients"]
        if every:
            yield _Document(value, single or every)
        elif jobs is not None or "fio version" in value:
            source.skip(found.line)


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
    return any(map(_TERSE.match, source.head_lines[:100]))


def _read_terse(source: Source, _: Options) -> list[Log]:
    lines = (line for _, line in source.lines() if _TERSE.match(line))
    jobs = [job for line in lines if (job := _job_of(line)) is not None]
    return _read_statuses(source, jobs, "terse output")


def _read_statuses(
    source: Source, jobs: Sequence[tuple[counters.Job, str]], what: str
) -> list[Log]:
    """Return the logs of jobs' totals so far, status by status, each with fio's version."""
    # a status has the jobs up to the first one's next
    size = next(
        (
            at
            for at, (job, _) in enumerate(jobs)
            if job.identity == jobs[0][0].identity
            and job.runtime_ms > _LATER * jobs[0][0].runtime_ms
        ),
        max(1, len(jobs)),
    )
    if len(jobs) < _MIN_STATUSES * size:
        raise source.error(
            f"is fio's {what}, which has totals only: '--status-interval=1' prints these each "
            "second, and '--write_bw_log=NAME --log_avg_msec=1000' writes a log"
        )
    statuses = [jobs[first : first + size] for first in range(0, len(jobs) - size + 1, size)]
    runs = _runs(
        _Document({"fio version": status[0][1], "jobs": []}, [job for job, _ in status])
        for status in statuses
    )
    if logs := _logs(source, runs):
        return logs
    raise source.error("its jobs have done no I/O")


_VERSION = re.compile(r"fio-\d\S{0,20}$")
_JOB = re.compile(r"(\S.{0,200}): \(groupid=(\d{1,9}), jobs=\d{1,9}\): err=")
#: Of a direction, since version 3 and before; then its latencies.
_DONE = re.compile(
    r"\s+(?P<way>read|write)\s*: (?:"
    r"IOPS=(?P<iops>[\d.]+)(?P<k>[kM]?), BW=\S+ \((?P<bw>[\d.]+)(?P<u>[kMG]?)B/s\).*?/"
    r"|io=\S+, bw=(?P<bw2>[\d.]+)(?P<u2>[KMG]?)B/s, iops=(?P<iops2>\d+), runt=\s*)"
    r"(?P<ms>\d{1,12})\s?msec"
)
_TAKEN = re.compile(r"\s+(?P<kind>c?lat) \((?P<unit>[num]sec)\)\s*: .*avg=\s*(?P<mean>[\d.]+)")
_IN_US = {"nsec": 1e-3, "usec": 1.0, "msec": 1e3}


def _jobs_of_text(source: Source) -> Iterator[tuple[counters.Job, str]]:
    """Yield the jobs in fio's text with its version: what they did in all by each status.

    Rates have more digits than totals, so these are made of them.
    """
    version, job, way = "", dict[str, Any](), ""
    for _, line in source.lines():
        if (found := _VERSION.match(line)) is not None:
            version = found[0]
        elif (found := _JOB.match(line)) is not None:
            if job:
                yield counters.Job.of(job, version), version
            job, way = {"jobname": found[1], "groupid": int(found[2])}, ""
        elif job and (found := _DONE.match(line)) is not None:
            way, runtime_ms = found["way"], int(found["ms"])
            base, power = (1000.0, found["u"]) if found["bw"] else (1024.0, found["u2"])
            bw = numbers.scaled(found["bw"] or found["bw2"]) * numbers.multiple(power, base)
            iops = numbers.scaled(found["iops"] or found["iops2"])
            job[way] = _done(bw, iops * numbers.multiple(found["k"] or "", 1000.0), runtime_ms)
        elif way and (found := _TAKEN.match(line)) is not None:
            job[way]["lat"]["mean"] = numbers.scaled(found["mean"], _IN_US[found["unit"]])
    if job:
        yield counters.Job.of(job, version), version


def _done(bytes_s: float, iops: float, runtime_ms: int, lat_us: float = 0.0) -> dict[str, Any]:
    """Return what fio's JSON says of a direction."""
    size, ios = int(bytes_s * runtime_ms / 1000), round(iops * runtime_ms / 1000)
    return {"io_bytes": size, "io_kbytes": size // 1024, "bw": bytes_s / 1024, "iops": iops,
            "total_ios": ios, "runtime": runtime_ms, "lat": {"N": ios, "mean": lat_us}}  # fmt: skip


def _job_of(line: str) -> tuple[counters.Job, str] | None:
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
        total = {"io_bytes": int(kib) * 1024, "io_kbytes": int(kib)}
        job[name] = _done(kib_s * 1024, iops, int(runtime_ms), lat_us) | total
    return counters.Job.of(job, version), version


JSON = Format("fio-json", "fio's JSON output", _is_json, _read_json, priority=70)
TERSE = Format("fio-terse", "fio's terse output", _is_terse, _read_terse, priority=20)
