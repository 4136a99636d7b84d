"""The command line of fio for a step: workloads in, arguments out; nothing is run here."""

import math
import re
import zlib
from dataclasses import dataclass

from heatsoak.errors import RefusedError, UsageError
from heatsoak.protocol import Workload, WorkloadStep
from heatsoak.protocol.fio_options import wrong_option
from heatsoak.units import Size, format_bytes

#: Offsets and spans given as shares are rounded down to this, so that direct I/O takes them.
_ALIGNMENT = 4096


@dataclass(frozen=True)
class FioPlace:
    """Where fio loads, and how it gets there.

    Attributes:
        arguments: what names the place to fio: ``--filename=...`` or ``--uri=...``.
        size_bytes: what spans and offsets are shares of.
        engine: fio's I/O engine.
        direct: whether the page cache is passed by.
        file: what an iolog calls the place.
        block_bytes: I/O has to begin and end at multiples of this.
        trims: whether it takes trims.
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
    """The part of a place that a workload addresses, and how much it transfers there.

    Attributes:
        io_bytes: bytes after which all jobs together end, or None where only the runtime does.
        capped: whether the workload asked for more than there is.
    """

    offset: int
    span: int
    io_bytes: int | None
    capped: bool

    @property
    def end(self) -> int:
        """The first byte behind it."""
        return self.offset + self.span


def region_of(workload: Workload, size_bytes: int) -> Region:
    """Return what `workload` addresses on a place of `size_bytes`.

    A span that is too large is capped; raises UsageError where not one block is left.
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
            f"the target of {format_bytes(size_bytes)} has no room for one block of {workload.bs} "
            f"bytes at offset {offset}: choose a smaller bs or offset, or a larger file_size"
        )
    capped = workload.span.bytes is not None and wanted > size_bytes - offset
    io_bytes = workload.io_size.of(size_bytes) if workload.io_size else None
    if io_bytes is None and workload.runtime_s is None:
        io_bytes = span
    return Region(offset, span, io_bytes, capped)


def job_name(name: str) -> str:
    """Return a step's name as fio and file systems take it."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "step"


def command(
    fio: str,
    step: WorkloadStep,
    place: FioPlace,
    status_interval_s: float,
    seed: int,
    readonly: bool,
) -> list[str]:
    """Return fio's command line for a step; those beside it are further jobs of the same fio.

    The seed of each job comes from `seed` and the step's name, so that a step repeats its offsets
    when it is run again and two steps do not write the same data.

    Raises RefusedError for an option that could lead fio off its place.
    """
    line = measured(fio, status_interval_s)
    if readonly:
        line.append("--readonly")
    for index, workload in enumerate(step.workloads):
        name = job_name(step.name) + (f".{index}" if index else "")
        line += job(name, workload, place, zlib.crc32(f"{seed}/{step.name}/{index}".encode()))
    return line


def measured(fio: str, status_interval_s: float) -> list[str]:
    """Return the beginning of every command line: how fio says what it does."""
    return [
        fio,
        "--output-format=json+",
        f"--status-interval={round(status_interval_s * 1000)}ms",
        "--eta=never",
    ]


def job(
    name: str, workload: Workload, place: FioPlace, seed: int, *, grouped: bool = True
) -> list[str]:
    """Return one job's arguments; a `grouped` one is reported together with those beside it."""
    region = region_of(workload, place.size_bytes)
    words = [
        f"--name={name}",
        "--thread",
        *(["--group_reporting"] if grouped else []),
        "--exitall_on_error=1",
        f"--ioengine={place.engine}",
        *place.arguments,
        f"--direct={int(place.direct)}",
        f"--rw={workload.rw}",
        f"--bs={workload.bs}",
        f"--iodepth={workload.iodepth}",
        f"--numjobs={workload.numjobs}",
        f"--offset={region.offset}",
        f"--size={region.span}",
        f"--randseed={seed}",
        "--lat_percentiles=1",
        "--clat_percentiles=0",
        "--percentile_list=50:95:99:99.9",
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
    if workload.writes:
        words.append("--refill_buffers=1")
        if workload.compress_pct:
            words.append(f"--buffer_compress_percentage={workload.compress_pct}")
    return words + [_passed_on(option, value) for option, value in workload.fio.items()]


def _passed_on(option: str, value: str) -> str:
    """Return an option of the user's; only those known to stay on the place get through."""
    if wrong := wrong_option(option, value):
        raise RefusedError(f"fio's option '{option}' {wrong}")
    return f"--{option}={value}" if value else f"--{option}"


def layout_step(offset: int, span: int) -> WorkloadStep:
    """Return the step that fills a region with incompressible data."""
    return WorkloadStep(
        name="layout",
        rw="write",
        bs=1 << 20 if span % (1 << 20) == 0 else 4096,
        iodepth=8,
        span=Size(bytes=span),
        offset=Size(bytes=offset),
    )
