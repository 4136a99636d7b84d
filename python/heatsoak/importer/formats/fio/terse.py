"""fio's terse output (``--minimal``, ``--output-format=terse``): a line of totals for each job.

With ``--status-interval`` the lines come again and again, and are a series, as its JSON is.
"""

import re
from itertools import count
from typing import Any

from heatsoak.importer.formats.base import Format
from heatsoak.importer.formats.fio.json_run import Run
from heatsoak.importer.log import Log, Options
from heatsoak.importer.source import Source

#: The version of the format, fio's own since version 3, the job, its group, its error.
_LINE = re.compile(r"^(?:[3-5];fio-[^;]{1,40}|2);[^;]*;\d{1,9};\d{1,9};\d{1,18};\d")
#: Where a direction's values stand: KiB, KiB/s, I/Os a second, ms; and its mean latency in us.
_FIRST, _LAT_US = range(4), 34
#: How many values a direction has, by the version.
_WIDTHS = {"2": 41, "3": 41, "4": 41, "5": 47}
#: What has run so much longer is of a later status.
_LATER = 1.5
_FEWEST = 3
#: No total is more than this.
_MOST = float(1 << 43)


def _recognises(source: Source) -> bool:
    return any(_LINE.match(line) for line in source.head_lines[:100])


def _read(source: Source, _: Options) -> list[Log]:
    jobs = [job for _, line in source.lines() if _LINE.match(line) and (job := _job_of(line))]
    size = _jobs_in_a_status(jobs)
    if len(jobs) < _FEWEST * size:
        raise source.error(
            "is fio's terse output, which has totals only and nothing of how it went on: take "
            "'--output-format=json --status-interval=1', or '--write_bw_log=NAME "
            "--log_avg_msec=1000'"
        )
    runs: list[Run] = []
    for begin in range(0, len(jobs) - size + 1, size):
        status = jobs[begin : begin + size]
        document = {"fio version": status[0]["fio version"], "jobs": status}
        if not runs or not runs[-1].add(document, status):
            runs.append(Run(document, status))
    logs = [log for log in (run.log(source) for run in runs) if log is not None]
    if not logs:
        raise source.error("its jobs have done no I/O")
    return logs


def _jobs_in_a_status(jobs: list[dict[str, Any]]) -> int:
    """Return how many lines make one status: those up to the first job's next one."""
    for index in range(1, len(jobs)):
        is_same = all(jobs[index][key] == jobs[0][key] for key in ("jobname", "groupid"))
        if is_same and _ran_ms(jobs[index]) > _LATER * _ran_ms(jobs[0]):
            return index
    return max(1, len(jobs))


def _ran_ms(job: dict[str, Any]) -> float:
    return float(max(job["read"]["runtime"], job["write"]["runtime"]))


def _job_of(line: str) -> dict[str, Any] | None:
    """Return a job as fio's JSON has it; None for a line that was cut or damaged."""
    cells = line.strip().split(";")
    version = cells.pop(0)
    fio = cells.pop(0) if version != "2" else ""
    width = _WIDTHS[version]
    job: dict[str, Any] = {"jobname": cells[0], "groupid": int(cells[1]), "fio version": fio}
    for name, first in zip(("read", "write"), count(3, width), strict=False):
        try:
            values = [float(cells[first + at]) for at in (*_FIRST, _LAT_US)]
        except (IndexError, ValueError):
            return None
        if not all(0 <= value < _MOST for value in values):
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
    return job


FORMAT = Format("fio-terse", "fio's terse output", _recognises, _read)
