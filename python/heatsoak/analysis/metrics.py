"""What is measured of steps, and as scores: its unit, which way is better, what it is called."""

from dataclasses import dataclass
from typing import Literal

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class Metric:
    """A measured quantity.

    Attributes:
        better: which direction is better; None if neither is.
        scale: whether a change is a ratio, or a difference in `delta_unit`.
        negligible: a change too small to matter, as a share or in `delta_unit`.
        is_shown: whether tables for people include it.
    """

    name: str
    title: str
    unit: str
    better: Direction | None
    scale: Literal["ratio", "difference"] = "ratio"
    delta_unit: str = ""
    negligible: float = 0.005
    is_shown: bool = True


#: In the order of tables. A score has one of those named for it, and a rate its efficiency too.
METRICS = {
    metric.name: metric
    for metric in (
        Metric("mean_mb_s", "mean", "MB/s", "higher"),
        Metric("mean_iops", "mean", "IOPS", "higher"),
        Metric("end_mb_s", "end level", "MB/s", "higher"),
        Metric("end_iops", "end level", "IOPS", "higher"),
        Metric("onset_s", "falls after", "s", "higher"),
        Metric("onset_gb", "falls after", "GB", "higher"),
        Metric("before_mb_s", "until then", "MB/s", "higher"),
        Metric("before_iops", "until then", "IOPS", "higher"),
        Metric("low_mb_s", "falls to", "MB/s", "higher"),
        Metric("low_iops", "falls to", "IOPS", "higher"),
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


def metric_of_score(metric: str, statistic: str) -> Metric:
    """Return what a score of a step's `metric` is, of which `statistic` is taken."""
    kinds = {"mean": metric, "stdev": f"stdev_{metric}", "consistency": "consistency"}
    return METRICS[f"score_{kinds[statistic]}"]
