"""fio's JSON: ``--output-format=json`` or ``json+``, at the end or at every status interval.

Counters in it are cumulative since fio began. With ``--status-interval`` two documents behind each
other tell what was done between them; a last document alone tells only means over the whole run.
Groups of jobs behind each other (``stonewall``) are steps of one log.
"""

import re
from dataclasses import replace
from typing import Any

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.fio.json_run import Run
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source

#: How fio's output for people begins, or its results do.
_TEXT = re.compile(
    rb"^[^\n]{1,200}: \((?:g=\d+\): rw=|groupid=\d+, jobs=\d+\): err=)", re.MULTILINE
)


def _recognises(source: Source) -> bool:
    head = source.head.replace(b"\0", b"")  # of UTF-16 that leaves what is ASCII
    is_json = b'"fio version"' in head and (b'"jobs"' in head or b'"client_stats"' in head)
    return is_json or _TEXT.search(head) is not None


def _read(source: Source, options: Options) -> list[Log]:  # noqa: ARG001 -- as every reader
    runs: list[Run] = []
    broken: list[int] = []
    for document in source.documents():
        jobs = _jobs_of(document.value)
        if jobs is None:
            continue
        if not jobs:
            broken.append(document.line)
            continue
        if not runs or not runs[-1].add(document.value, jobs):
            runs.append(Run(document.value, jobs))
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


FORMAT = Format("fio-json", "fio's JSON output", _recognises, _read)
