"""Makes fio's command line for a step; nothing is run here."""

import math
import re
import zlib
from dataclasses import dataclass

from heatsoak.errors import RefusedError, UsageError
from heatsoak.protocol import Workload, WorkloadStep
from heatsoak.protocol.workload import wrong_option
from heatsoak.target.base import REPORT_S
from heatsoak.units import Size
from heatsoak.words import size_text

#: Offsets and spans given as shares are rounded down to this, for direct I/O.
_ALIGNMENT = 4096
#: The same in every run, so that each has the same offsets.
SEED = 1


@dataclass(frozen=True)
class FioPlace:
    """What fio loads, and how.

    Attributes:
        arguments: the arguments that name it: ``--filename=...`` or ``--uri=...``.
        size_bytes: the size that spans and offsets are shares of.
        engine: fio's I/O engine.
        direct: whether to bypass the page cache.
        file: its name in an iolog.
        block_bytes: I/O must start and end at multiples of this.
        trims: whether it supports trims.
    """

    arguments: tuple[str, ...]
    size_bytes: int
    engine: str
    direct: bool
    file: str = "target"
    block_bytes: int = 4096
    trims: bool = False


@dataclass(frozen=True)
class Region:
    """The part of a place that a workload accesses, and how much it transfers.

    Attributes:
        io_bytes: bytes that all jobs together transfer, or None if only the runtime ends them.
        capped: whether the workload's span was larger than the place.
    """

    offset: int
    span: int
    io_bytes: int | None
    capped: bool

    @property
    def end(self) -> int:
        """The first byte after it."""
        return self.offset + self.span


def region_of(workload: Workload, size_bytes: int) -> Region:
    """Return the region that `workload` accesses on a place of `size_bytes`.

    A span that is too large is capped; raises UsageError if not even one block fits.
    """
    unit = math.lcm(workload.bs, _ALIGNMENT)
    offset = workload.offset.of(size_bytes)
    if workload.offset.percent is not None:
        offset -= offset % unit
    wanted = workload.span.of(size_bytes)
    span = min(wanted, size_bytes - offset)
    span -= span % workload.bs
    if span <= 0:
        raise UsageError(
            f"the target of {size_text(size_bytes)} has no room for one block of {workload.bs} "
            f"bytes at offset {offset}: choose a smaller bs or offset, or a larger file_size"
        )
    capped = workload.span.bytes is not None and wanted > size_bytes - offset
    return Region(offset, span, workload.transfer_bytes(size_bytes, span), capped)


def job_name(name: str) -> str:
    """Return a step's name in a form that fio and file systems accept."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "step"


def command(fio: str, step: WorkloadStep, place: FioPlace, *, readonly: bool) -> list[str]:
    """Return fio's command line for a step, with one job per workload.

    Raises RefusedError for an option that could make fio access anything else.
    """
    line = measured(fio)
    if readonly:
        line.append("--readonly")
    for index, workload in enumerate(step.workloads):
        name = job_name(step.name) + (f".{index}" if index else "")
        line += job(name, workload, place, seed_of(step.name, index))
    return line


def seed_of(step: str, job: object) -> int:
    """Return a job's seed: a repeated step has the same, and no two write the same data."""
    return zlib.crc32(f"{SEED}/{step}/{job}".encode())


def measured(fio: str) -> list[str]:
    """Return the start of every command line: the options for fio's status output."""
    return [
        fio,
        "--output-format=json+",
        f"--status-interval={round(REPORT_S * 1000)}ms",
        "--eta=never",
    ]


def loading(
    name: str, place: FioPlace, block_bytes: int, depth: int, seed: int, *, grouped: bool = True
) -> list[str]:
    """Return what the arguments of workloads and replays have in common."""
    return [
        f"--name={name}",
        "--thread",
        *(["--group_reporting"] if grouped else []),
        "--exitall_on_error=1",
        f"--ioengine={place.engine}",
        *place.arguments,
        f"--direct={int(place.direct)}",
        f"--bs={block_bytes}",
        f"--iodepth={depth}",
        f"--randseed={seed}",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        "--percentile_list=50:95:99:99.9",
    ]


def job(
    name: str, workload: Workload, place: FioPlace, seed: int, *, grouped: bool = True
) -> list[str]:
    """Return one job's arguments; `grouped` jobs are reported together."""
    region = region_of(workload, place.size_bytes)
    words = [
        *loading(name, place, workload.bs, workload.iodepth, seed, grouped=grouped),
        f"--rw={workload.rw}",
        f"--numjobs={workload.numjobs}",
        f"--offset={region.offset}",
        f"--size={region.span}",
    ]
    if workload.is_mixed and workload.rwmixread is not None:
        words.append(f"--rwmixread={workload.rwmixread}")
    if region.io_bytes is not None:
        each = math.ceil(region.io_bytes / workload.numjobs / workload.bs) * workload.bs
        words.append(f"--io_size={each}")
    if workload.runtime_s is not None:
        words.append(f"--runtime={max(round(workload.runtime_s * 1000), 1)}ms")
        if region.io_bytes is None:
            words.append("--time_based=1")
    if workload.is_random and region.io_bytes != region.span:
        words.append("--norandommap=1")
    if workload.rate is not None:
        words.append(f"--rate={workload.rate}")
    if workload.rate_iops is not None:
        words.append(f"--rate_iops={workload.rate_iops}")
    if workload.read_share < 1:
        words.append("--refill_buffers=1")
        if workload.compress_pct:
            words.append(f"--buffer_compress_percentage={workload.compress_pct}")
    for option, value in workload.fio.items():
        if wrong := wrong_option(option, value):  # only options known to be safe are allowed
            raise RefusedError(f"fio's option '{option}' {wrong}")
        words.append(f"--{option}={value}" if value else f"--{option}")
    return words


def layout_step(offset: int, span: int) -> WorkloadStep:
    """Return a step that fills a region with incompressible data."""
    return WorkloadStep(
        name="layout",
        rw="write",
        bs=1 << 20 if span % (1 << 20) == 0 else 4096,
        iodepth=8,
        span=Size(bytes=span),
        offset=Size(bytes=offset),
    )
