"""What is asked of a drive, as the engine takes it, and what became of that."""

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from heatsoak._core import Lumped
from heatsoak.analysis.definitions import LAST_S, MIN_DROP
from heatsoak.catalog import Drive
from heatsoak.twin.readings import Array

#: Operations in a second, by the names that the engine has for them.
Work = dict[str, Array]
#: A rate is held as long as no more of it than this time's is waiting: what a recorder buffers.
BUFFERED_S = 1.0
#: As the engine counts what is read and written.
_PAGE_BYTES = 4096
#: How many likely drives are looked at.
DRAWS = 40
#: Rates past the cache vary by less than this.
_DIRECT_X = 1.2


def work_of(
    drive: Drive, read_mb_s: Array, write_mb_s: Array, read_iops: Array, write_iops: Array
) -> Work:
    """Return the work of rates; what is not known counts as none.

    Writes are taken to be programmed once, into the cache where they are faster than the flash
    takes them directly, and reads to come from flash: what collection adds does not show in rates.
    """
    # the greater of a number and none is the number
    reads, writes = (np.fmax(mb_s, 0.0) * 1e6 / _PAGE_BYTES for mb_s in (read_mb_s, write_mb_s))
    read_commands, write_commands = np.fmax(read_iops, 0.0), np.fmax(write_iops, 0.0)
    is_cached = write_mb_s > _direct_mb_s(drive)
    controller = drive.controller
    busy_us = read_commands * controller.read_command_us.value
    busy_us = busy_us + write_commands * controller.write_command_us.value
    return {
        "read_commands": read_commands,
        "write_commands": write_commands,
        "host_read_pages": reads,
        "host_write_pages": writes,
        "read_pages": reads,
        "programmed_pages": writes,
        "cached_pages": np.where(is_cached, writes, 0.0),
        "erased_pages": writes,
        "busy_s": busy_us * 1e-6,
    }


def folding(drive: Drive, work: Work, dt_s: float) -> Work:
    """Return work with what a drive moves out of its write cache while nothing is asked of it."""
    cache = drive.cache
    if cache is None or not work["cached_pages"].any():
        return work
    is_idle = (work["host_read_pages"] + work["host_write_pages"] == 0.0).tolist()
    most, holds = (dt_s * cache.fold_mb_s.value * 1e6, cache.bytes.value)
    kept, idle_s, moved = 0.0, 0.0, []
    for cached, idle in zip(
        (dt_s * work["cached_pages"] * _PAGE_BYTES).tolist(), is_idle, strict=True
    ):
        kept = min(kept + cached, holds)
        idle_s = idle_s + dt_s if idle else 0.0
        moved.append(min(most, kept) if idle_s > cache.fold_after_s.value else 0.0)
        kept -= moved[-1]
    pages = np.array(moved) / dt_s / _PAGE_BYTES
    each = ("read_pages", "programmed_pages", "erased_pages")
    return {**work, **{name: work[name] + pages for name in each}, "moved_pages": pages}


def _direct_mb_s(drive: Drive) -> float:
    """The most that is written past a cache; infinite without one."""
    if drive.cache is None:
        return np.inf
    nand = drive.nand
    return _DIRECT_X * nand.dies.value * nand.unit_bytes.value / nand.program_us.value


@dataclass(frozen=True)
class RateBounds:
    """What bounds a drive's rates where flash does not: its own paths, and the host's link."""

    read_mb_s: float
    write_mb_s: float
    link_mb_s: float = np.inf

    def share_of(self, work: Work) -> Array:
        """Return the least permitted share that is enough for some work in a second.

        A share is one of firmware's time and of both data paths, which work beside each other.
        """
        read_mb_s, write_mb_s = _moved(work)
        paths = np.maximum(read_mb_s / self.read_mb_s, write_mb_s / self.write_mb_s)
        return np.maximum(work["busy_s"], paths)

    def link_share_of(self, work: Work) -> Array:
        """Return how much of its time the link needs, whatever the governor permits."""
        return np.maximum(*_moved(work)) / self.link_mb_s


def _moved(work: Work) -> tuple[Array, Array]:
    read, write = (
        work[f"host_{way}_pages"] * _PAGE_BYTES / 1e6 for way in ("read", "write")
    )  # fmt: skip
    return read, write


@dataclass(frozen=True)
class DemandSeries:
    """A demand in parts, one after another: series of one length.

    Attributes:
        dt_s: in how much time each part is asked for.
        mb_s: how much, in a second.
        full_share: the least share of everything that is enough for it.
        least_share: how much of its time it takes whatever is permitted; 1 for what asks for all it
            can get, which is no faster after it was held back.
        work: what that is, in a second.
        air_k: how much warmer the air is than when it begins, second by second; none if it stays.
    """

    dt_s: Array
    mb_s: Array
    full_share: Array
    least_share: Array
    work: Work
    air_k: Array = field(default_factory=lambda: np.zeros(0))

    def lasting(self, seconds: float) -> Self:
        """Return it with its last part going on until `seconds`, if it is shorter."""
        dt_s = self.dt_s.copy()
        dt_s[-1] += max(seconds - float(dt_s.sum()), 0.0)
        return replace(self, dt_s=dt_s)

    def serve(
        self, lumped: Lumped, seconds: int | None = None, most_late_s: float = np.inf
    ) -> dict[str, Any]:
        """Return what becomes of it, as the engine has it: for so long, or until all is served."""
        return lumped.serve(**vars(self), seconds=seconds, most_late_s=most_late_s)

    def gb_by(self, t_s: float) -> float:
        """Return how much was asked for by then."""
        ends_s, mb = np.cumsum(self.dt_s), np.cumsum(self.dt_s * self.mb_s)
        return float(np.interp(t_s, np.append(0.0, ends_s), np.append(0.0, mb))) / 1e3

    def free_mb_s(self, moved_mb: Array) -> Array:
        """Return the rates that are asked for after so much was moved."""
        ends_mb = np.cumsum(self.dt_s * self.mb_s)
        return self.mb_s[np.minimum(np.searchsorted(ends_mb, moved_mb), len(ends_mb) - 1)]

    def slowed(self, mb_s: Array, onset_s: float) -> "Slowed | None":
        """Return how rates fell below those asked for, from an onset on; None if hardly.

        Heat that takes less than :data:`MIN_DROP` of any minute cannot be told from other things.
        """
        moved_mb = np.cumsum(mb_s)
        free_mb_s = self.free_mb_s(moved_mb)
        after = slice(min(int(onset_s), len(mb_s) - 1), None)
        shares = means_over(int(LAST_S), mb_s[after] / free_mb_s[after])
        lowest = int(np.argmin(shares))
        if 1 - shares[lowest] < MIN_DROP:
            return None
        return Slowed(
            onset_s,
            float(np.interp(onset_s, np.arange(len(mb_s) + 1), np.append(0.0, moved_mb))) / 1e3,
            100 * float(1 - shares[lowest]),
            *(float(means_over(int(LAST_S), of[after])[lowest]) for of in (mb_s, free_mb_s)),
        )


@dataclass(frozen=True)
class Slowed:
    """How heat slowed a drive: when, what it moved in its worst minute, and would have without."""

    onset_s: float
    onset_gb: float
    depth_pct: float
    mb_s: float
    free_mb_s: float


def behind(missing: Array) -> Array:
    """Return how much waits after each second, of what comes beyond what is served."""
    total = np.cumsum(missing)
    return np.asarray(total - np.minimum(np.minimum.accumulate(total), 0.0))


def held_back(late_s: Array) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return where each time begins and ends in which more than :data:`BUFFERED_S` gets late."""
    edges = np.diff((late_s > 0).astype(np.int8), prepend=0, append=0)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    most_s = np.maximum.reduceat(late_s, begins) if len(begins) else np.zeros(0)
    return begins[most_s > BUFFERED_S], ends[most_s > BUFFERED_S]


def means_over(most: int, values: Array) -> Array:
    """Return the means over windows of so many values, or over all where those are fewer."""
    width = min(most, len(values))
    return np.convolve(values, np.ones(width) / width, "valid") if width else values
