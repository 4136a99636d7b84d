"""Options of the jobs in fio's JSON, and what they tell of the load and the drive."""

import re
from typing import Any, get_args

from heatsoak.importer.formats.fio.json_fields import table_in, text_of, whole_of
from heatsoak.importer.formats.fio.json_step import Step
from heatsoak.protocol import Observed
from heatsoak.protocol.workload import RW

_BLOCK = re.compile(r"(\d{1,12})([kmg]?)b?", re.IGNORECASE | re.ASCII)
#: Options that hold the load back, and have to be known by whoever looks for throttling.
_LIMITS = ("rate", "rate_iops", "rate_min", "thinktime", "flow")


class JobOptions:
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
        merged |= table_in(job, "job options")
        aliases = (("readwrite", "rw"), ("blocksize", "bs"))
        merged |= {new: merged[old] for old, new in aliases if old in merged and new not in merged}
        return merged


def observed_of(
    name: str, jobs: list[dict[str, Any]], options: list[dict[str, Any]], step: Step
) -> Observed:
    """Return what is known of a step's load."""
    assert step.last is not None
    totals = (step.last.read, step.last.write)
    reads, writes = (total.bytes > 0 or total.ios > 0 for total in totals)
    if step.mixed:
        reads = writes = True
    rw = _same([_pattern(text_of(one.get("rw"))) for one in options])
    sizes = {total.bytes / total.ios for total in totals if total.ios}
    bs = _same([_block(one, sizes) for one in options])
    depth = _same(
        [whole_of(one.get("iodepth")) or (1 if one.get("rw") else None) for one in options]
    )
    numjobs = len(jobs) if len(jobs) > 1 else whole_of(options[0].get("numjobs"))
    share = _same([whole_of(one.get("rwmixread")) for one in options])
    limits = [f"{key}={text_of(one[key])}" for one in options for key in _LIMITS if key in one]
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
    said = _BLOCK.fullmatch(text_of(options.get("bs")).strip())
    counted = int(sizes.pop()) if len(sizes) == 1 and float(*sizes).is_integer() else None
    if said is not None:
        size = int(said[1]) * 1024 ** " kmg".index(said[2].lower() or " ")
        return size or None
    return counted if counted and counted % 512 == 0 else None


def _same(values: list[Any]) -> Any:
    return values[0] if values and all(value == values[0] for value in values) else None


def drive_of(document: dict[str, Any], options: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the drive's path: the only one whose use fio counted, or the one that was named."""
    used = document.get("disk_util")
    names = [
        text_of(disk["name"])
        for disk in (used if isinstance(used, list) else [])
        if isinstance(disk, dict) and text_of(disk.get("name"))
    ]
    asked = {text_of(one["filename"]) for one in options if "filename" in one}
    if len(asked) == 1 and (path := asked.pop()).startswith("/dev/"):
        return {"path": path}
    return {"path": f"/dev/{names[0]}"} if len(set(names)) == 1 else {}
