"""What is compared: the metrics of steps, and those of scores."""

from dataclasses import dataclass
from typing import Literal

from heatsoak.analysis.comparison.model import Direction


@dataclass(frozen=True)
class Metric:
    """Something that is compared.

    Attributes:
        better: which way is better; None where neither is.
        scale: whether a change is a ratio, or a difference in `delta_unit`.
        negligible: a change that matters to nobody, as a share or in `delta_unit`.
        is_shown: whether the tables for people have it.
    """

    name: str
    title: str
    unit: str
    better: Direction | None
    scale: Literal["ratio", "difference"] = "ratio"
    delta_unit: str = ""
    negligible: float = 0.005
    is_shown: bool = True


#: Of steps.
METRICS = {
    metric.name: metric
    for metric in (
        Metric("mean_mb_s", "mean", "MB/s", "higher"),
        Metric("mean_iops", "mean", "IOPS", "higher"),
        Metric("end_mb_s", "end level", "MB/s", "higher"),
        Metric("end_iops", "end level", "IOPS", "higher"),
        Metric("onset_s", "falls after", "s", "higher"),
        Metric("depth_pct", "falls by", "%", "lower", "difference", "pp", 1.0),
        Metric("consistency_mean_iops", "last 400 s", "IOPS", "higher"),
        Metric("consistency_stdev_iops", "stdev of these", "IOPS", "lower"),
        Metric("consistency_ratio", "mean / stdev", "x", "higher"),
        Metric("latency_mean_us", "mean latency", "us", "lower", is_shown=False),
        Metric("read_latency_p99_us", "p99 of reads", "us", "lower"),
        Metric("write_latency_p99_us", "p99 of writes", "us", "lower"),
        Metric("busy_mb_s", "while busy", "MB/s", "higher"),
        Metric("service_us", "service time", "us", "lower"),
        Metric("over_10ms_pct", "over 10 ms", "%", "lower", "difference", "pp", 0.01),
        Metric("over_100ms_pct", "over 100 ms", "%", "lower", "difference", "pp", 0.01),
        Metric("energy_j", "energy", "J", "lower"),
        Metric("duration_s", "takes", "s", "lower"),
        Metric("temp_start_c", "start", "C", None, "difference", "K", 1.0),
        Metric("temp_max_c", "hottest", "C", "lower", "difference", "K", 1.0),
        Metric("power_mean_w", "mean power", "W", None),
        Metric("efficiency_mb_per_j", "efficiency", "MB/J", "higher"),
    )
}

#: Of scores; each score has one of them, and a rate its efficiency too.
SCORE_METRICS = {
    metric.name: metric
    for metric in (
        Metric("score_iops", "score", "IOPS", "higher"),
        Metric("score_mb_s", "score", "MB/s", "higher"),
        Metric("score_stdev_iops", "score", "IOPS", "lower"),
        Metric("score_stdev_mb_s", "score", "MB/s", "lower"),
        Metric("score_consistency", "score", "x", "higher"),
        Metric("score_service_us", "score", "us", "lower"),
        Metric("score_over_10ms_pct", "score", "%", "lower", "difference", "pp", 0.01),
        Metric("score_over_100ms_pct", "score", "%", "lower", "difference", "pp", 0.01),
        Metric("score_duration_s", "score", "s", "lower"),
        Metric("score_energy_j", "score", "J", "lower"),
        Metric("score_mb_s_per_w", "efficiency", "MB/s per W", "higher"),
    )
}


def metric_of(name: str) -> Metric:
    """Return a metric of steps or of scores; raises KeyError for a name that is neither's."""
    return METRICS.get(name) or SCORE_METRICS[name]
