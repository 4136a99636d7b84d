"""The Rust side: the simulated drive, exact segmentation, fio's logs and traces as streams."""

from collections.abc import Callable
from os import PathLike
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Drive",
    "FioLog",
    "Lumped",
    "Trace",
    "Transfer",
    "decafs",
    "hampel",
    "pelt_mean_var",
    "pieces",
    "whiten",
]

@final
class Drive:
    """A simulated drive in a place, with a clock of its own that starts at 0.

    Specifications and workloads are JSON texts; `crates/drive/src/spec.rs` and `workload.rs` say
    what stands in them. ValueError names the key that is wrong. The drive begins purged, and as
    warm as its place makes it without load.
    """

    def __new__(cls, drive: str, enclosure: str, seed: int = 0) -> Drive: ...
    @property
    def user_bytes(self) -> int:
        """Bytes that a host can address."""
    @property
    def t_s(self) -> float:
        """Simulated time since the drive was made."""
    @property
    def done(self) -> bool:
        """Whether there is nothing to do: no workload or purge, or it has come to its end."""
    @property
    def stopped(self) -> bool:
        """Whether it was too hot, shut itself down, and serves nothing any more."""
    def columns(self) -> list[str]:
        """Names of the columns that `advance` returns."""
    def copy(self) -> Drive:
        """Return another drive in the same state: data, temperatures, clock and chance.

        A drive that took long to be filled can be tried in many ways from there. ValueError in the
        middle of a replay, whose trace can be read but once.
        """
    def begin(self, workloads: str) -> None:
        """Start a list of workloads side by side; those before are dropped."""
    def begin_trace(
        self,
        trace: Trace,
        idle_limit_s: float = 0.025,
        iodepth: int = 32,
        workloads: str = "[]",
    ) -> None:
        """Start the replay of a trace, which is used up by it; what ran before is dropped.

        An I/O is issued as long after the one before it as in the trace, at most `idle_limit_s`
        (math.inf: as long as the trace has it), and once fewer than `iodepth` (1 to 65,536) I/Os,
        and fewer than the depth that the trace tells, are in flight. `workloads`, in the form of
        `begin`, run beside it. `advance` raises ValueError for an error of the trace, with its
        line, and for an I/O that does not lie on the drive, once all before it were issued; the
        drive is done then.
        """
    def end(self) -> None:
        """Drop the workloads, so that the drive idles."""
    def purge(self) -> None:
        """Forget all data; done once the time that the drive needs for it has passed."""
    def hold(self, share: float | None) -> None:
        """Permit this share of everything, 0 to 1, whatever the temperature; None undoes it."""
    def advance(
        self, duration_s: float, sample_s: float, most_ios: int | None = None
    ) -> dict[str, NDArray[np.float64]]:
        """Let time pass, at most to the workloads' end; one value per `sample_s` and column.

        With `most_ios`, only to the end of the sample in which so many I/Os have come back.

        Values that were not measured in an interval are NaN: rates of a direction that no
        workload uses, latencies without I/O, and temperatures but once a second. The last
        interval is as long as it takes for the last I/O to come back. `read_over_10ms` and the
        like count I/Os that came back in the interval and took longer; `busy_pct` is the share of
        it with at least one I/O in flight, exactly.
        """
    def latency_bins(self) -> dict[str, tuple[list[float], list[int]]]:
        """Return how long the I/Os of the last load took, by ``read`` and ``write``.

        Upper ends of bins in us, rising, and I/Os in each; a bin begins where the one before ends.
        Empty for a direction that had none.
        """
    def totals(self) -> str:
        """Return everything that was done since the drive was made: operations by kind, as JSON."""
    def truth(self) -> dict[str, float]:
        """State that no real drive tells: node temperatures, what the governor permits.

        `onset_s` is when the governor first held the last workload back, counted from its start;
        NaN where it never did. `onset_sensor_c` is what the first sensor felt then, unrounded.
        """

@final
class Transfer:
    """A copy of `bytes` from the start of one drive to the start of another, in I/Os of `bs`.

    It begins when it is made; what ran on the drives is dropped. The destination writes only what
    the source has read, and the source reads only while fewer than `buffer_bytes` are read and not
    yet written; each is told of the other every 2 ms of simulated time. ValueError names the number
    that is wrong; RuntimeError where both are the same drive.
    """

    def __new__(
        cls,
        source: Drive,
        destination: Drive,
        bytes: int,
        bs: int,
        iodepth: int,
        buffer_bytes: int,
    ) -> Transfer: ...
    @property
    def done(self) -> bool:
        """Whether all was written, or a drive shut itself down."""
    @property
    def moved_bytes(self) -> tuple[int, int]:
        """Bytes that were read so far, and bytes that were written."""
    def advance(
        self, duration_s: float, sample_s: float
    ) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
        """Let time pass for both drives, at most to the copy's end; columns of each as `Drive` has.

        A drive that has done its part rests until the other has, and gives no values meanwhile.
        """

@final
class Lumped:
    """Heat and governor of a drive in a place, without its flash: for fits.

    Specifications are those of `Drive`. The drive begins as warm as its place makes it.
    """

    def __new__(cls, drive: str, enclosure: str) -> Lumped: ...
    def rest(self, duration_s: float) -> None:
        """Let time pass without load."""
    def serve(
        self,
        dt_s: NDArray[np.float64],
        *,
        mb_s: NDArray[np.float64],
        full_share: NDArray[np.float64],
        least_share: NDArray[np.float64],
        work: dict[str, NDArray[np.float64]],
        air_k: NDArray[np.float64],
        seconds: int | None = None,
        most_late_s: float = ...,
    ) -> dict[str, Any]:
        """Serve what is asked for in parts, of `dt_s` each; what is held back waits for its turn.

        Of each part: `mb_s` asked for in a second; `full_share`, the least permitted share that is
        enough for it, over 1 where it is more than the drive can do; `least_share`, how much of its
        time it takes whatever is permitted, 1 for a load that is no faster after it was held back;
        `work`, series of operations in a second by the names of `Drive.totals`, 0 where there is
        none. `air_k` is how much warmer the air is than it was, second by second.

        Goes on for `seconds`, or until all is served or the drive has shut down. Returns
        `begins_c`, where the governor starts to act; `onset_s`, when it first permitted less than
        was needed (NaN: never), and `onset_sensor_c` then; `stopped_s`, when it shut itself down
        (NaN: never); and for each second, as float arrays, `mb_s` (what was moved) and, at its
        end, `waiting_mb`, `late_s` (how much more waited than without heat, as time at full speed),
        `sensor_c` and `governed_c`. ValueError for series of different lengths, or of numbers that
        cannot be. It ends early, after a second in which more than `most_late_s` got late.
        """
    def warm(self, above_k: float) -> None:
        """Make all of it warmer, as a drive is that has not rested for long enough."""
    def copy(self) -> Lumped:
        """Return it as it is now, to go on otherwise."""
    def follow(
        self,
        dt_s: NDArray[np.float64],
        *,
        work: dict[str, NDArray[np.float64]],
        power_w: NDArray[np.float64],
        air_k: NDArray[np.float64],
        beside: tuple[list[Lumped], list[float], NDArray[np.float64]] | None = None,
    ) -> dict[str, NDArray[np.float64]]:
        """Let a recording pass without the governor; series of one length, NaN where unknown.

        `dt_s` is how long each stretch was, `work` its mean operations in a second as `serve` has
        them, and `power_w`, where it was measured, takes the place of what the work costs. `air_k`
        is how much warmer the air is than the place's own; the drive begins at rest in the first.
        Returns, at the end of each stretch, `governed_c`, the temperature that the governor acts
        on, `sensor_c.NAME` before rounding, and `power_w`, what the work costs by the drive's
        energies. ValueError for other series.

        `beside` are drives that differ from this one a little, what each has measured powers times,
        and their own `air_k`, (stretches, drives): they follow it to first order. Series then are
        (stretches, 1 + drives), this drive's first. ValueError for drives that differ otherwise.
        """

@final
class FioLog:
    """One of fio's per-job logs, read as a stream: rows summed up by direction and 0.1 s.

    Memory grows with the bins in use, not with rows. What the values are is not in the file.
    """

    BIN_MS: ClassVar[int]
    def __new__(cls, keep_rows: bool = False) -> FioLog:
        """Begin; with `keep_rows` every row is kept too, for `rows`."""
    def feed(self, piece: bytes) -> None:
        """Take the next bytes of the file, cut anywhere."""
    def finish(self) -> None:
        """Say that the file has ended; only then is everything below complete."""
    @property
    def columns(self) -> int:
        """How many columns the rows have; 0 where there is none."""
    @property
    def both(self) -> bool:
        """Whether mean and maximum of each window stand side by side."""
    @property
    def priority(self) -> bool:
        """Whether priorities are there, which fio writes since 3.18."""
    @property
    def skipped(self) -> tuple[int, int]:
        """How many lines were damaged, and the number of the first one, from 1."""
    @property
    def disordered(self) -> bool:
        """Whether time fell more than 256 times; what came then was left out."""
    @property
    def run_lines(self) -> list[int]:
        """The line that each run begins at: a stretch of rows in which time does not fall far."""
    @property
    def bin_count(self) -> int:
        """How many bins are held so far, of all runs: what memory grows with."""
    def bins(self, run: int) -> dict[str, NDArray[Any]]:
        """Return the bins of a run, in the order of time; IndexError where there is none.

        `ddir` (0 read, 1 write, 2 trim), `first_ms` and `last_ms` (the least and the greatest
        time in the bin), `count` of rows, `bytes` (sum of block sizes), and of the values
        `mean`, `p50`, `p99`, `p999`, `max`.
        """
    def rows(self) -> dict[str, NDArray[Any]]:
        """Return `time_ms`, `value`, `ddir`, `bs`, `offset` of every row; empty if not kept."""

@final
class Trace:
    """Recorded I/O, in the order of issue, in memory that does not grow with it.

    It can be gone through once. `crates/trace/src/read` knows the formats; docs/traces.md says
    what each of them does not tell.
    """

    @staticmethod
    def open(
        path: str | PathLike[str],
        damaged: str = "error",
        span_bytes: int | None = None,
        wrap: bool = False,
        device: str | None = None,
    ) -> Trace:
        """Open a trace: iolog-v2, iolog-v3, blkparse or msr; plain, or packed by gzip, zstd or xz.

        `damaged`: "error" ends it at the first damaged line, "skip" leaves such lines out and
        counts them. I/O past `span_bytes` is damage too, or with `wrap` folded into the span by
        whole 4 KiB. `device` takes the I/O of one drive or file alone; without it a trace of
        several drives is refused, and the files of an iolog are laid one after another.

        OSError for a file that cannot be read; ValueError for one that is not a trace, and for
        contradicting options.
        """
    @staticmethod
    def synthetic(shape_json: str, scale: float = 1.0, seed: int = 0) -> Trace:
        """Make a trace of a shape; `crates/trace/src/synth/shape.rs` says what stands in one.

        The same arguments give the same trace. ValueError names the key that is wrong.
        """
    @staticmethod
    def of(
        at_ns: NDArray[np.uint64],
        done_ns: NDArray[np.uint64],
        op: NDArray[np.uint8],
        offset: NDArray[np.uint64],
        bytes: NDArray[np.uint32],
        depth: NDArray[np.uint16],
    ) -> Trace:
        """Return the trace of columns of one length, one value for each I/O.

        `at_ns` and `done_ns`: when it was issued, in that order, and when it came back, since the
        first was issued (2^64 - 1 where that is not known). `op`: 0 reads, 1 writes, 2 trims.
        `offset` and `bytes`: where it begins and how long it is. `depth`: I/Os in flight as it was
        issued, itself among them, or 0 where that is not known. ValueError for columns of different
        lengths, an `op` that is none of them, and an `at_ns` that falls.
        """
    @property
    def ios(self) -> int | None:
        """How many I/Os it had as it was made; None if it was read from a file."""
    @property
    def format(self) -> str | None:
        """The format that it was found to have; None if it was not read from a file."""
    @property
    def compression(self) -> str | None:
        """What it is packed with: gzip, zstd, xz, or None."""
    @property
    def skipped(self) -> tuple[int, int, str]:
        """Lines left out so far: how many, the first one's number (from 1; 0: none), and why."""
    def fit(
        self,
        span_bytes: int,
        skip_beyond: bool = False,
        block_bytes: int = 1,
        trims: bool = True,
        idle_limit_s: float | None = None,
    ) -> None:
        """Let what is left of it be given as a place of `span_bytes` takes it.

        I/O past the end is an error, or left out with `skip_beyond`; I/O is widened to whole blocks
        of `block_bytes`; without `trims` those are left out, as I/O of no bytes is. Pauses between
        two issues are cut to `idle_limit_s`; what is left out takes its time all the same.
        """
    @property
    def fitted(self) -> dict[str, int] | None:
        """What was given since `fit`, so far: None without it.

        `reads`, `writes`, `trims`, `read_bytes`, `write_bytes`, `read_begin` and `read_end` (what
        reads cover), `largest_bytes`, `length_ns` (from the first issue to the last), and how many
        were changed or left out: `widened`, `dropped_trims`, `dropped_beyond`, `dropped_empty`.
        """
    def take(self, n: int) -> dict[str, NDArray[Any]]:
        """Return the next `n` records, fewer only at the end or before an error.

        `at_ns` (issue, since the first record), `done_ns` (return, likewise; 2^64 - 1 where the
        trace does not tell), `op` (0 read, 1 write, 2 trim), `offset`, `bytes`, and `depth`
        (I/Os in flight at the issue, itself among them; 0 where the trace does not tell).
        ValueError for damage, with the line's number, once everything before it was taken.
        """
    def statistics(
        self, idle_limit_s: float = 0.025, progress: Callable[[int], object] | None = None
    ) -> str:
        """Count what is left of it, and return the summary as JSON; nothing is left then.

        `crates/trace/src/stats/summary.rs` says what stands in it. `progress` gets the number of
        I/Os so far, now and then; what it raises ends the count. ValueError for damage.
        """
    def write(
        self,
        path: str | PathLike[str],
        format: str,
        name: str = "trace",
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Write what is left of it as `format`, and return how many I/Os; nothing is left then.

        It is packed if `path` ends in .gz, .zst or .xz. `name` is the file (iolog), the process
        (blkparse) or the host (msr) that it tells. `progress` gets the number of I/Os so far, now
        and then; what it raises ends it. ValueError for damage, an unknown format, or a name with
        blanks or commas.
        """
    def write_ticking(
        self,
        path: str | PathLike[str],
        name: str,
        ticks: str,
        last_us: int,
        progress: Callable[[int], object] | None = None,
    ) -> int:
        """Write what is left of it as iolog-v3 with ticks in its pauses; else as `write` does.

        fio looks for I/Os that came back only as it issues one. A tick is a sync of the file
        `ticks`, one whose sync does nothing: 50 us after each I/O and, ever more rarely, up to the
        next one; for `last_us` after the last.
        """

def whiten(
    t_s: NDArray[np.float64], noise: tuple[float, float, float], readings: NDArray[np.float64]
) -> tuple[NDArray[np.float64], float]:
    """Return what is new in each reading, in standard deviations, and ln det of their covariance.

    `noise` is the standard deviation of each reading on its own, that of a deviation that lasts (an
    Ornstein-Uhlenbeck process), and for how long it does. `readings` are (times, columns), each
    column on its own. ValueError for other rows than times.
    """

def decafs(values: NDArray[np.float64], correlation: float, penalty: float) -> NDArray[np.int64]:
    """Return the optimal segmentation into levels under AR(1) noise (exact).

    The result holds the end of each segment (exclusive), the last being len(values): the minimum
    over all segmentations of the squared innovations, each value's distance from its level less
    `correlation` (0 to below 1) times that of the value before, plus `penalty` for each change.
    ValueError for a value that is not finite, values too far apart to be squared (1e150 or so), a
    penalty that is not positive, or a correlation out of range.

    Romano, Rigaill, Runge and Fearnhead, Journal of the American Statistical Association 117
    (2022), without its random walk.
    """

def pieces(
    values: NDArray[np.float64],
    edges: NDArray[np.int64],
    correlation: float,
    sigma: float,
    unit: float,
) -> tuple[NDArray[np.float64], float]:
    """Return the shortest description as levels, lines and approaches, and its length.

    That is twice the negative log-likelihood under AR(1) noise with innovations of `sigma`,
    and `unit` for each parameter; `crates/changepoint/src/pieces.rs` counts them. Pieces end at
    some of `edges`, which rise and end with len(values). A row (pieces, 5) is a piece: its end
    (exclusive), level, change, time constant, and the variance of its innovations over sigma^2. So
    many values after its first it is at level + change * exp(-k / constant), or level + change * k
    where that is infinite.

    ValueError for values that are not finite, and for anything else that is out of range.
    """

def pelt_mean_var(
    values: NDArray[np.float64],
    penalty: float,
    min_length: int = 2,
    least_variance: float = 1e-6,
) -> NDArray[np.int64]:
    """Return the optimal segmentation into normally distributed segments (exact).

    The result holds ends as `decafs` does. Each segment has a variance of its own, and costs
    n ln(variance): twice its negative log-likelihood but for a constant. `penalty` is on that
    scale, free of units: some 5 ln(len(values)), for a mean, a variance and a place each. Segments
    have `min_length` values or more; a series with fewer is one segment.

    Values that are all the same have no greatest likelihood, so no variance is taken to be below
    `least_variance`, in squared units of the values: such a segment costs
    n (ln(least_variance) + variance / least_variance - 1). For values in whole steps, give
    step^2 / 12 at least, or chance repeats pass for segments.

    ValueError for values that `decafs` refuses, a penalty or a least variance that is not positive,
    or a `min_length` below 2. Time grows with len(values) times the segments' length.

    Killick, Fearnhead and Eckley, Journal of the American Statistical Association 107 (2012).
    """

def hampel(values: NDArray[np.float64], half_width: int, limit: float = 3.0) -> NDArray[np.float64]:
    """Return `values` with each outlier replaced by the median around it.

    An outlier is farther than `limit` standard deviations (1.4826 times the median absolute
    deviation) from the median of the 2 x `half_width` + 1 values about it; beyond the ends the
    series is reflected, as NumPy's pad does. A series shorter than that window comes back as it
    is. ValueError for a value that is not finite, or a `half_width` or `limit` below 0.

    Hampel, Journal of the American Statistical Association 69 (1974).
    """
