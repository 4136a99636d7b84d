"""A step as the judge sees it, of samples that a test makes up."""

from typing import Any

import numpy as np
import polars as pl
from heatsoak.analysis.course import Course
from heatsoak.analysis.view import StepView
from heatsoak.protocol import Observed, WorkloadStep
from numpy.typing import NDArray

Array = NDArray[np.float64]


def step_view(
    t_s: Array,
    rates: Array,
    rw: str = "write",
    *,
    name: str = "w",
    bs: str = "128k",
    step: WorkloadStep | Observed | None = None,
    start_s: float = 0.0,
    limits: dict[str, float] | None = None,
    course: Course | None = None,
    **columns: Any,
) -> StepView:
    """Return the view of rates in MB/s; further columns have __ for a dot in their names."""
    made = WorkloadStep.model_validate({"name": name, "rw": rw, "bs": bs, "runtime": "200s"})
    direction = "read" if rw in ("read", "randread") else "write"
    count = len(rates)
    samples = pl.DataFrame(
        {
            "t_s": start_s + t_s[:count],
            "interval_s": np.full(count, t_s[0]),
            f"{direction}_bw_mb_s": rates,
            **{name.replace("__", "."): values[:count] for name, values in columns.items()},
        }
    )
    return StepView(step or made, samples, start_s, limits or {}, course or Course({}, {}))
