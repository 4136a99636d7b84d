"""What a tool would have logged of a step's rates: means of noisy values, with dips and gaps."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from heatsoak.corpus import noise
from heatsoak.corpus.machine import Array, Course
from heatsoak.protocol import WorkloadStep


@dataclass(frozen=True)
class Habits:
    """How the recordings of a case are taken.

    Attributes:
        gaps: stretches that are missing from the first judged step.
        sensor: ``good``, ``stuck``, ``placeholder``, or ``none`` where nothing of it is recorded.
        weights: what the temperature sensor feels of each node.
        apart: whether sensors have rows of their own, as a poller makes them.
        levels: permitted shares below which NVMe's first and second transition are counted;
            empty where the drive counts nothing.
        others: which of the host's sensors are there: ``cpu``, ``steal``, ``device``, ``link``.
        busy_pct: how busy the whole CPU and its busiest core are by themselves.
        link_mb_s: what the link carries at its best.
    """

    sampling_s: float
    sigma: float
    correlation: float
    has_dips: bool
    gaps: int
    has_latencies: bool
    sensor: str
    weights: dict[str, float]
    lag_s: float
    offset_c: float
    step_c: float
    apart: bool
    levels: tuple[float, ...]
    others: frozenset[str]
    busy_pct: tuple[float, float]
    link_mb_s: float


def share_shown(course: Course, shown: Array) -> Array:
    """Return what is left of the drive's own rate in `shown`, at each point of the grid."""
    own = course.rate_mb_s
    return np.divide(shown, own, out=np.ones_like(own), where=own > 0)


def rates(
    course: Course, habits: Habits, shown: Array, gaps: int, chance: np.random.Generator
) -> pl.DataFrame:
    """Return the samples of a step whose noise-free rate is `shown`, reads and writes together."""
    step = course.step
    assert isinstance(step, WorkloadStep)
    fine = round(course.grid_s / noise.FINE_S)
    size = round(habits.sampling_s / noise.FINE_S)
    factor = noise.factors(
        len(course) * fine, habits.sigma, habits.correlation, habits.has_dips, chance
    )
    share = share_shown(course, shown)
    data: dict[str, Array] = {}
    ways = (("read", step.reads, course.read_mb_s), ("write", step.writes, course.write_mb_s))
    for way, is_used, rate_mb_s in ways:
        if not is_used:
            continue
        seen = noise.averaged(np.repeat(rate_mb_s * share, fine) * factor, size)
        data[f"{way}_bw_mb_s"] = seen
        data[f"{way}_iops"] = seen * 1e6 / step.bs
        for kind in ("lat", "lat_p99") if habits.has_latencies else ():
            of_drive = np.nan_to_num(getattr(course, f"{way}_{kind}_us"))
            # what holds back beside the drive makes I/Os wait longer as it lets through fewer
            waited = np.repeat(of_drive / np.maximum(share, 1e-3), fine) / factor
            data[f"{way}_{kind}_us"] = noise.averaged(waited, size)
    count = len(next(iter(data.values())))
    t_s = course.begin_s + habits.sampling_s * np.arange(1, count + 1, dtype=float)
    t_s[-1] = course.begin_s + course.duration_s
    data = {"t_s": t_s, "interval_s": np.diff(t_s, prepend=course.begin_s), **data}
    return _with_gaps(pl.DataFrame(data), course, habits.sampling_s, gaps, chance)


def _with_gaps(
    frame: pl.DataFrame,
    course: Course,
    sampling_s: float,
    gaps: int,
    chance: np.random.Generator,
) -> pl.DataFrame:
    """Leave out stretches of 2 to 10 s, or of as many samples where those are longer."""
    for _ in range(gaps):
        length_s = chance.uniform(2, 10) * max(1.0, sampling_s)
        begin_s = course.begin_s + chance.uniform(5 * max(1.0, sampling_s), course.duration_s)
        frame = frame.filter(~pl.col("t_s").is_between(begin_s, begin_s + length_s))
    return frame
