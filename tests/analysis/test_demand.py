"""Whether the load asked for as much as before the drop, by everything that may tell."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from heatsoak.analysis.cause import Case, observe, weigh
from heatsoak.protocol import Observed, WorkloadStep
from hypothesis import given, settings
from hypothesis import strategies as st
from viewed import Array, step_view

T_S: Array = np.arange(1.0, 301.0)
BEFORE = T_S <= 120
LOGGED = Observed(name="reads", writes=False, watched=True)
RUN = WorkloadStep.model_validate(
    {"name": "r", "rw": "read", "bs": "128k", "iodepth": 32, "runtime": "300s"}
)
#: What is like no other second: a user's work, and latencies as they are measured.
UNEVEN, FLICKER = 1 + 0.3 * np.sin(7 * T_S), 1 + 0.01 * np.sin(7 * T_S)


def changing(before: float, during: float) -> Array:
    return np.where(BEFORE, before, during)


DROP = changing(2000.0, 1000.0)


def fallen(step: WorkloadStep | Observed = LOGGED, rates: Array = DROP, **columns: Any) -> Case:
    """A drop from 2000 MB/s after 120 s, at one sample a second."""
    view = step_view(T_S, rates, "read", step=step, **columns)
    assert view.drops
    return Case(view.drops[0], view)


uneven = partial(fallen, rates=DROP * UNEVEN)


def demand(case: Case) -> str | None:
    return next((found.seen for found in observe(case) if found.about == "demand"), None)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        # nobody vouches for what a logger saw, and a benchmark does for its load
        (uneven, "not-known"),
        (partial(fallen, RUN), None),
        (partial(fallen, Observed(name="reads", writes=False, rw="read")), None),
        # a rate that is held is that of a load that takes all it can get
        (fallen, "even"),
        # latencies that never change were not measured
        (partial(uneven, read_iops=DROP * 1e6 / 131072 * UNEVEN, read_lat_us=np.full(300, 500.0)),
         "not-known"),
        # a logged queue
        (partial(fallen, queue=changing(32.0, 16.0)), "fewer"),
        (partial(fallen, queue=changing(32.0, 32.0)), "as-many"),
        # a drive that idles waits for its load
        (partial(fallen, busy_pct=changing(99.0, 40.0)), "idler"),
        (partial(fallen, busy_pct=changing(30.0, 15.0)), "never-busy"),
        (partial(fallen, busy_pct=changing(99.0, 99.0)), "as-many"),
        (partial(fallen, rates=np.where((T_S > 120) & (T_S <= 150), 0.0, 2000.0),
                 busy_pct=np.where((T_S > 120) & (T_S <= 150), 0.0, 99.0)), "stood-still"),
        # I/Os of another size are another load, and what comes after a pause may be
        (partial(fallen, read_iops=changing(2000e6 / 131072, 1000e6 / 4096)), "other-load"),
        (partial(fallen, rates=np.where((T_S > 120) & (T_S <= 122), 0.0, DROP)), "after-a-pause"),
    ],
)  # fmt: skip
def test_it_is_told_whether_as_much_was_asked_for(
    make: Callable[[], Case], expected: str | None
) -> None:
    case = make()
    assert demand(case) == expected
    if expected in ("fewer", "idler", "never-busy", "stood-still"):
        assert weigh(case).cause == "limited-by-host"


@pytest.mark.parametrize("step", [LOGGED, RUN])
@settings(max_examples=8, deadline=None)
@given(low=st.floats(0.15, 0.8))
def test_by_littles_law_fewer_ios_in_flight_were_fewer_asked_for(step: Any, low: float) -> None:
    rates = changing(2000.0, 2000.0 * low)
    as_soon, later = changing(2000.0, 2000.0), changing(2000.0, 2000.0 / low)
    for latency, expected in ((as_soon, "fewer"), (later, "as-many")):
        columns = {"read_iops": rates * 1e6 / 131072, "read_lat_us": latency * FLICKER}
        assert demand(fallen(step, rates, **columns)) == expected


def test_more_in_flight_than_a_load_has_are_latencies_of_something_else() -> None:
    columns = {"read_iops": DROP * 1e6 / 131072, "read_lat_us": 6000.0 * FLICKER}
    assert demand(fallen(LOGGED, DROP, **columns)) == "fewer"
    assert demand(fallen(RUN, DROP, **columns)) is None  # 92, where 32 were asked for


@pytest.mark.parametrize(("onset_c", "cause"), [(50.0, "limited-by-host"), (78.0, "unknown")])
def test_what_a_hot_drive_does_after_next_to_nothing_may_be_its_governors(
    onset_c: float, cause: str
) -> None:
    rates = np.where((T_S > 120) & (T_S <= 122), 0.0, DROP)
    temps = np.minimum(onset_c - 20 + T_S / 6, onset_c)
    case = fallen(rates=rates, temp_c__composite=temps)
    assert demand(case) == "after-a-pause"
    assert weigh(case).cause == cause


def test_the_same_drop_is_heat_for_a_benchmark_and_open_for_a_logger() -> None:
    temps = np.minimum(30 + T_S / 3, 68.0)
    benchmark, logger = (
        weigh(uneven(step, temp_c__composite=temps)).shares for step in (RUN, LOGGED)
    )
    assert logger["thermal"] < benchmark["thermal"]
    assert logger["limited-by-host"] > benchmark["limited-by-host"]
