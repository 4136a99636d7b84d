"""Whether the load asked for as much as before the drop, by everything that may tell."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import pytest
from heatsoak.analysis.cause import Case, observe, weigh
from heatsoak.analysis.course import Course
from heatsoak.analysis.view import StepView
from heatsoak.protocol import Observed, WorkloadStep
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

Array = NDArray[np.float64]
T_S: Array = np.arange(1.0, 301.0)
BEFORE = T_S <= 120
LOGGED = Observed(name="reads", writes=False, watched=True)
RUN = WorkloadStep.model_validate(
    {"name": "r", "rw": "read", "bs": "128k", "iodepth": 32, "runtime": "300s"}
)


def fallen(
    step: WorkloadStep | Observed = LOGGED,
    low: float = 0.5,
    columns: Mapping[str, Array] | None = None,
    rates: Array | None = None,
) -> Case:
    """A drop to `low` of 2000 MB/s after 120 s, at one sample a second."""
    series = np.where(BEFORE, 2000.0, 2000.0 * low) if rates is None else rates
    samples = pl.DataFrame(
        {"t_s": T_S, "interval_s": np.ones(len(T_S)), "read_bw_mb_s": series, **(columns or {})}
    )
    view = StepView(step, samples, 0.0, {}, Course({}, {}))
    assert view.drops
    return Case(view.drops[0], view)


#: A user's work: no second is like another.
UNEVEN = 1 + 0.3 * np.sin(7 * T_S)


def uneven(step: WorkloadStep | Observed = LOGGED, **columns: Array) -> Case:
    """The same drop under an uneven load."""
    named = {name.replace("__", "."): values for name, values in columns.items()}
    return fallen(step, columns=named, rates=np.where(BEFORE, 2000.0, 1000.0) * UNEVEN)


def demand(case: Case) -> str | None:
    return next((found.seen for found in observe(case) if found.about == "demand"), None)


def iops_of(low: float, block: float = 131072.0) -> Array:
    return np.where(BEFORE, 2000.0, 2000.0 * low) * 1e6 / block


def flickering(values: Array) -> Array:
    """Latencies as they are measured: never twice the same."""
    return np.asarray(values * (1 + 0.01 * np.sin(7 * T_S)))


def test_nobody_vouches_for_what_a_logger_saw_and_a_benchmark_does_for_its_load() -> None:
    assert demand(uneven()) == "not-known"
    assert demand(fallen(RUN)) is None
    assert demand(fallen(Observed(name="reads", writes=False, rw="read"))) is None


def test_a_rate_that_is_held_is_that_of_a_load_that_takes_all_it_can_get() -> None:
    assert demand(fallen()) == "even"


def test_ios_of_another_size_are_another_load() -> None:
    small = np.where(BEFORE, 2000e6 / 131072, 1000e6 / 4096)
    assert demand(fallen(columns={"read_iops": small})) == "other-load"
    assert weigh(fallen(columns={"read_iops": small})).cause == "limited-by-host"


@pytest.mark.parametrize("step", [LOGGED, RUN])
@given(low=st.floats(0.15, 0.8))
def test_by_littles_law_fewer_ios_in_flight_were_fewer_asked_for(step: Any, low: float) -> None:
    as_soon = flickering(np.full(len(T_S), 2000.0))
    later = flickering(np.where(BEFORE, 2000.0, 2000.0 / low))
    for latency, expected in ((as_soon, "fewer"), (later, "as-many")):
        columns = {"read_iops": iops_of(low), "read_lat_us": latency}
        assert demand(fallen(step, low, columns)) == expected


def test_latencies_that_never_change_were_not_measured() -> None:
    case = uneven(read_iops=iops_of(0.5) * UNEVEN, read_lat_us=np.full(len(T_S), 500.0))
    assert demand(case) == "not-known"


def test_a_logged_queue_settles_it_too() -> None:
    assert demand(fallen(columns={"queue": np.where(BEFORE, 32.0, 16.0)})) == "fewer"
    assert demand(fallen(columns={"queue": np.full(len(T_S), 32.0)})) == "as-many"


@pytest.mark.parametrize(
    ("before", "during", "expected"),
    [(99.0, 40.0, "idler"), (30.0, 15.0, "never-busy"), (99.0, 99.0, "as-many")],
)
def test_a_drive_that_idles_waits_for_its_load(before: float, during: float, expected: str) -> None:
    case = fallen(columns={"busy_pct": np.where(BEFORE, before, during)})
    assert demand(case) == expected
    if expected != "as-many":
        assert weigh(case).cause == "limited-by-host"


def test_a_load_that_comes_after_a_pause_may_be_another() -> None:
    rates = np.where(BEFORE, 2000.0, 1000.0)
    rates[120:122] = 0.0
    assert demand(fallen(rates=rates)) == "after-a-pause"


def test_the_same_drop_is_heat_for_a_benchmark_and_open_for_a_logger() -> None:
    temps = np.minimum(30 + T_S / 3, 68.0)
    benchmark = weigh(uneven(RUN, temp_c__composite=temps))
    logger = weigh(uneven(LOGGED, temp_c__composite=temps))
    assert logger.shares["thermal"] < benchmark.shares["thermal"]
    assert logger.shares["limited-by-host"] > benchmark.shares["limited-by-host"]
