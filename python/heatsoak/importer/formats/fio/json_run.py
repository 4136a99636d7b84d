"""One run of fio in its JSON: documents that belong together, and the steps of their jobs."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from heatsoak.importer.formats.fio.json_fields import (
    DIRECTIONS,
    count_in,
    table_in,
    text_of,
    whole_of,
)
from heatsoak.importer.formats.fio.json_options import JobOptions, drive_of, observed_of
from heatsoak.importer.formats.fio.json_step import Rows, Step
from heatsoak.importer.frames import build
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.source import Source
from heatsoak.protocol import Observed

_LOGS = ("write_bw_log", "write_iops_log", "write_lat_log", "write_hist_log")
#: fio's count of its own time and its time stamps agree within this.
_SLACK_MS = 3000.0
ONLY_MEANS = "holds one mean for each step: nothing of how it went on"


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


class Run:
    """One run of fio: its documents as they come."""

    def __init__(self, document: dict[str, Any], jobs: list[dict[str, Any]]) -> None:
        self.key = [_identity(job) for job in jobs]
        self.documents = 1
        self.version = text_of(document.get("fio version"))
        self.is_client = not isinstance(document.get("jobs"), list)
        self.first_ms = _stamp_ms(document)
        self.groups = _groups(document, jobs)
        self.steps = [Step() for _ in self.groups]
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
                old, new = table_in(before, name), table_in(after, name)
                for counter in ("io_bytes", "total_ios", "runtime"):
                    if count_in(new, counter) < count_in(old, counter):
                        return False
                moved_ms = max(moved_ms, count_in(new, "runtime") - count_in(old, "runtime"))
        last_ms, now_ms = _stamp_ms(self.last), _stamp_ms(document)
        if last_ms is None or now_ms is None:
            return True
        wall_ms = now_ms - last_ms
        waited = [count_in(job, "elapsed") for job in (self.jobs[0], jobs[0])]
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
        options = JobOptions(self.last)
        names: dict[str, int] = {}
        same = Counter(map(_identity, self.jobs))
        step_names: list[str] = []
        steps: list[Observed] = []
        facts: list[JobFacts] = []
        remarks: dict[str, bool] = {}
        begin_ms, end_s = self._begin_ms(), 0.0
        job_number = 1
        samples = Rows()
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
                steps.append(observed_of(name, jobs, merged, step))
                end_s = max(end_s, last_s)
            for job, one in zip(jobs, merged, strict=True):
                count = whole_of(one.get("numjobs")) or 1
                repeated = same[_identity(job)] > 1
                last = job_number + (0 if repeated else count - 1)
                prefixes = frozenset(
                    text_of(one[key]) or text_of(job.get("jobname")) for key in _LOGS if key in one
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
            drive=drive_of(self.last, [options.of(job) for job in self.jobs]),
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


def _groups(document: dict[str, Any], jobs: list[dict[str, Any]]) -> list[list[int]]:
    """Return which jobs ran beside each other, as fio groups them."""
    options = JobOptions(document)
    groups: list[list[int]] = []
    places: dict[int, int] = {}
    for index, job in enumerate(jobs):
        group = count_in(job, "groupid")
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
    ran_ms = max(count_in(table_in(one, name), "runtime") for one in before for name in DIRECTIONS)
    return starts[1] < starts[0] + ran_ms / 2


def _started_ms(jobs: list[dict[str, Any]]) -> float | None:
    """Return when the first of `jobs` began; None for fio before 3.34."""
    started = [float(at) for job in jobs if 1e12 < (at := count_in(job, "job_start")) < 5e12]
    return min(started) if started else None


def _stamp_ms(document: dict[str, Any]) -> float | None:
    for key, scale in (("timestamp_ms", 1), ("timestamp", 1000)):
        value = count_in(document, key) * scale
        if 0 < value < 5e12:
            return float(value)
    return None


def _identity(job: dict[str, Any]) -> tuple[str, int, str]:
    return text_of(job.get("jobname")), count_in(job, "groupid"), text_of(job.get("hostname"))


def _name_of(jobs: list[dict[str, Any]]) -> str:
    names = dict.fromkeys(text_of(job.get("jobname")) for job in jobs)
    return "+".join(name for name in names if name)[:150] or "fio"


def _unique(name: str, taken: dict[str, int]) -> str:
    """The name, with a number behind it where it is taken; `taken` has the last one of each."""
    found = name
    while found in taken:
        taken[name] += 1
        found = f"{name} {taken[name]}"
    taken[found] = 1
    return found
