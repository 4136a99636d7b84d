"""What drives are compared by: measures, and their values in each judged step of a recording.

The values are those that `heatsoak history` keeps.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Unit = Literal["%", "pp", "K"]


@dataclass(frozen=True)
class Measure:
    """A quantity by which drives are compared.

    Attributes:
        name: in a sentence.
        is_ratio: whether drives differ by a factor, so that its logarithm is compared.
        resolution: no value is known better, in what is compared.
        smallest: a smaller deviation is not worth naming; the same.
    """

    id: str
    name: str
    unit: Unit
    worse: Literal["low", "high"]
    is_ratio: bool
    resolution: float
    smallest: float

    def compared(self, value: float) -> float:
        """Return what is compared of a value."""
        return math.log(value) if self.is_ratio else value

    def shown(self, effect: float) -> float:
        """Return an effect in `unit`."""
        return 100 * math.expm1(effect) if self.is_ratio else effect


#: A rate differs if it differs by 2 %, as where an episode begins (`analysis.definitions`);
#: drives report whole degrees.
MEASURES = (
    Measure("mean_mb_s", "mean speed", "%", "low", True, 1e-4, 0.02),
    Measure("mean_iops", "mean IOPS", "%", "low", True, 1e-4, 0.02),
    Measure("throttled_mb_s", "speed while throttled", "%", "low", True, 1e-3, 0.02),
    Measure("depth_pct", "depth of its fall", "pp", "high", False, 0.1, 2.0),
    Measure("max_temp_c", "highest temperature", "K", "high", False, 0.3, 1.0),
    Measure("onset_s", "time until it throttles", "%", "low", True, 1e-3, 0.02),
)
#: What only a run that throttles has: it is compared where all do.
OF_THROTTLING = ("throttled_mb_s", "onset_s")


@dataclass(frozen=True)
class Row:
    """A judged step of a recording.

    Attributes:
        alike: the same for the same step after the same steps.
        values: by the id of the measure.
    """

    step: str
    workload: str
    alike: str
    verdict: str
    values: Mapping[str, float]


def rows_of(summaries: Sequence[dict[str, Any]]) -> list[Row]:
    """Return the steps that can be compared; of rounds, taken until they are steady, the last."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for summary in summaries:
        if summary.get("step") is not None and summary["is_comparable"]:
            last[summary["step"], summary["alike"]] = summary
    return [_row(one) for one in last.values()]


def _row(summary: Mapping[str, Any]) -> Row:
    mean, level, depth = (summary[name] for name in ("mean_mb_s", "level", "depth_pct"))
    found = {
        "mean_mb_s": mean,
        "mean_iops": summary.get("iops") if mean is None else None,
        "depth_pct": 0.0 if depth is None and summary["verdict"] == "steady" else depth,
        "max_temp_c": summary["max_temp_c"],
    }
    if summary["cause"] == "thermal" and None not in (mean, level, depth):
        found |= {"throttled_mb_s": level * (1 - depth / 100), "onset_s": summary["onset_s"]}
    return Row(
        step=summary["step"],
        workload=summary["workload"],
        alike=summary["alike"],
        verdict=summary["verdict"],
        values={name: float(one) for name, one in found.items() if _is_usable(name, one)},
    )


def _is_usable(measure: str, value: float | None) -> bool:
    needs_logarithm = any(one.is_ratio for one in MEASURES if one.id == measure)
    return value is not None and math.isfinite(value) and (value > 0 or not needs_logarithm)
