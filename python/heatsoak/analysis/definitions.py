"""What counts as an episode, and what is measured: definitions that the judge, the labelled corpus,
comparisons and the calibration share.

To change what counts is to change what a figure means: fit the weights (`make weights`) and the
simulated drive (`make calibrate`) again afterwards.
"""

from dataclasses import dataclass
from typing import Literal

#: Throughput has left its level when this share of it is lost: the onset.
ONSET_LOSS = 0.02
#: A smaller loss is not an episode.
MIN_DROP = 0.05
#: A first second faster than its level by this factor is no burst into a buffer, but a fall.
MUCH_FASTER = 1.5
#: Throughput has recovered when it is back at this share of the level before.
RECOVERED = 0.97
#: A load of so many MB/s hardly warms a drive: a guess, some 0.3 W and 3 K.
HARDLY_WARMS_MB_S = 50.0
#: What an episode or a step has come to is its mean over the last seconds.
LAST_S = 60.0
#: The lowest level of an episode is one that was held for so long.
HELD_S = 5.0
#: A step is steady if its falls cost less than this share of its work and none lasts longer.
MAX_STEADY_LOSS = 0.01
MAX_STEADY_FALL_S = 30.0
#: Onsets that differ by less than this factor have not moved.
SAME_ONSET_RATIO = 1.1
#: Hardly any drive throttles at a lower temperature, as it reports it.
MIN_THROTTLING_C = 55.0
#: Most drives throttle at this temperature or above, as they report it.
USUALLY_THROTTLING_C = 70.0
#: A reading above this is more than a drive survives.
HOTTEST_C = 115.0
#: A reported temperature that moves less under a load does not show its heat.
MIN_RISE_K = 5.0
#: A temperature this close to another is held there: sensors round to a kelvin, and lag.
HELD_WITHIN_K = 3.0
#: This many regular falls and recoveries are an oscillation; fewer may be chance.
MIN_CYCLES = 3
#: Why a step without rates was not judged.
NO_THROUGHPUT = "no throughput was logged"

Direction = Literal["higher", "lower"]


@dataclass(frozen=True)
class Metric:
    """A measured quantity.

    Attributes:
        better: which direction is better; None if neither is.
        scale: whether a change is a ratio, or a difference in `delta_unit`.
        negligible: a change too small to matter, as a share or in `delta_unit`.
        resolution: no value is known better; likewise. Drives report whole degrees.
        is_shown: whether tables for people include it.
    """

    name: str
    title: str
    unit: str
    better: Direction | None
    scale: Literal["ratio", "difference"] = "ratio"
    delta_unit: str = ""
    negligible: float = 0.005
    resolution: float = 0.0001
    is_shown: bool = True


#: In the order of tables. A score has one of those named for it, and a rate its efficiency too.
METRICS = {
    metric.name: metric
    for metric in (
        Metric("mean_mb_s", "mean", "MB/s", "higher"),
        Metric("mean_iops", "mean", "IOPS", "higher"),
        Metric("end_mb_s", "end level", "MB/s", "higher"),
        Metric("end_iops", "end level", "IOPS", "higher"),
        Metric("onset_s", "falls after", "s", "higher", resolution=0.001),
        Metric("onset_gb", "falls after", "GB", "higher"),
        Metric("onset_temp_c", "falls at", "C", None, "difference", "K", 1.0, 0.3, False),
        Metric("before_mb_s", "until then", "MB/s", "higher"),
        Metric("before_iops", "until then", "IOPS", "higher"),
        Metric("low_mb_s", "falls to", "MB/s", "higher"),
        Metric("low_iops", "falls to", "IOPS", "higher"),
        Metric("depth_pct", "falls by", "%", "lower", "difference", "pp", 1.0, 0.1),
        Metric("depth_at_end_pct", "last 60 s", "%", "lower", "difference", "pp", 1.0, 0.1, False),
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
        Metric("temp_start_c", "start", "C", None, "difference", "K", 1.0, 0.3),
        Metric("temp_max_c", "hottest", "C", "lower", "difference", "K", 1.0, 0.3),
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
        Metric("score_limit_mb_s", "score", "MB/s", "higher"),
        Metric("score_mb_s_per_w", "efficiency", "MB/s per W", "higher"),
    )
}


def metric_of_score(metric: str, statistic: str) -> Metric:
    """Return what a score of a step's `metric` is, of which `statistic` is taken."""
    kinds = {"mean": metric, "stdev": f"stdev_{metric}", "consistency": "consistency"}
    return METRICS[f"score_{kinds[statistic]}"]
