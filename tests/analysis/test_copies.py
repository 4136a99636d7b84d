"""Which of a copy's drives waits for the other, from what either recording has of it."""

from typing import Any

import numpy as np
import pytest
from heatsoak.analysis.cause import Case, observe, weigh
from heatsoak.analysis.copies import in_flight, waiting_shares
from heatsoak.analysis.falls import Drop
from heatsoak.analysis.view import Partner, StepView
from heatsoak.protocol import ROLES, Role, WorkloadStep
from hypothesis import given, settings
from hypothesis import strategies as st
from viewed import Array, step_view

T_S: Array = np.arange(1, 1201) / 10
ONSET_S, FULL, LOW = 50.0, 2000.0, 800.0
RATES: Array = np.where(T_S <= ONSET_S, FULL, LOW)
DEPTH = 8
OTHER: dict[Role, Role] = {"source": "destination", "destination": "source"}


def side(role: Role, in_flight: Array | float, rates: Array = RATES, **columns: Any) -> StepView:
    """One side of a copy in I/Os of 1 MB, with so many of them in flight."""
    rw = "read" if role == "source" else "write"
    step = WorkloadStep.model_validate(
        {"name": "copy", "rw": rw, "bs": "1m", "iodepth": DEPTH, "size": "100g"}
    )
    latency_us = np.broadcast_to(in_flight, T_S.shape) * 1e6 / rates
    of_direction: dict[str, Any] = {f"{rw}_iops": rates, f"{rw}_lat_us": latency_us}
    return step_view(T_S, rates, rw, step=step, **of_direction, **columns)


def introduced(source: StepView, destination: StepView) -> dict[Role, StepView]:
    source.partner = Partner("destination", destination)
    destination.partner = Partner("source", source)
    return {"source": source, "destination": destination}


def only_drop(view: StepView) -> Drop:
    assert view.drops is not None
    (drop,) = view.drops
    return drop


def seen(view: StepView) -> dict[str, str]:
    return {f.about: f.seen for f in observe(Case(only_drop(view), view))}


def test_little_s_law_gives_the_io_in_flight() -> None:
    queue = in_flight(side("source", 3.0))
    assert queue is not None
    assert queue.means(np.array([0.0, 10.0, 60.0, 120.0])) == pytest.approx([3.0, 3.0, 3.0])


def test_the_queue_of_a_whole_copy_says_nothing_of_one_side() -> None:
    queue = in_flight(side("source", 3.0, queue=np.full(len(T_S), float(DEPTH))))
    assert queue is not None
    assert queue.means(np.array([0.0, 120.0])) == pytest.approx([3.0])


@pytest.mark.parametrize("slow", ROLES)
def test_the_drive_with_the_full_queue_holds_up_the_other(slow: Role) -> None:
    fast = OTHER[slow]
    views = introduced(*(side(role, 7.9 if role == slow else 0.4) for role in ROLES))
    assert seen(views[fast])["partner"] == "held-up"
    assert seen(views[slow])["partner"] == "waited"
    judged = weigh(Case(only_drop(views[fast]), views[fast]))
    assert judged.cause == "limited-by-host"
    (line,) = [text for _, text in judged.evidence if f"the {slow}" in text]
    assert "0.4 of 8 I/Os in flight here, 7.9 of 8 there" in line
    assert weigh(Case(only_drop(views[slow]), views[slow])).cause != "limited-by-host"


def test_the_others_cause_is_named_once_it_is_known() -> None:
    views = introduced(side("source", 0.4), side("destination", 8.0))
    partner = views["source"].partner
    assert partner is not None
    partner.causes = [(only_drop(views["destination"]), "thermal")]
    (line,) = [f.text for f in observe(Case(only_drop(views["source"]), views["source"]))][:1]
    assert line.startswith("the destination fell at the same time, by 60 %, and the cause is there")
    partner.causes = [(only_drop(views["destination"]), "unknown")]
    (line,) = [f.text for f in observe(Case(only_drop(views["source"]), views["source"]))][:1]
    assert "the cause is there" not in line


def test_heat_is_named_only_where_the_drive_did_not_wait() -> None:
    """A throttled drive's temperature, and a queue that says whether it was throttled."""
    temps = {"temp_c__composite": np.where(T_S <= ONSET_S, 40 + 0.8 * T_S, 80.0)}
    counted = {"throttle_time_s__1": np.clip(T_S - ONSET_S, 0, None)}
    views = introduced(side("source", 0.4, **temps), side("destination", 8.0))
    assert weigh(Case(only_drop(views["source"]), views["source"])).cause == "limited-by-host"
    both_full = introduced(side("source", 8.0, **temps, **counted), side("destination", 8.0))
    view = both_full["source"]
    assert seen(view)["partner"] == "both-busy"
    assert weigh(Case(only_drop(view), view)).cause == "thermal"


def test_without_a_partner_or_without_latencies_nothing_is_said() -> None:
    assert "partner" not in seen(side("source", 0.4))
    views = introduced(side("source", 0.4), side("destination", np.nan))
    assert "partner" not in seen(views["source"])
    assert waiting_shares(views["source"], views["destination"]) is None


def test_queues_of_which_nothing_was_logged_are_not_taken_for_empty() -> None:
    step = WorkloadStep.model_validate(
        {"name": "copy", "rw": "read", "bs": "1m", "iodepth": DEPTH, "size": "100g"}
    )
    source, destination = (step_view(T_S, RATES, "read", step=step, read_iops=RATES) for _ in "ab")
    assert waiting_shares(source, destination) is None


@settings(max_examples=20, deadline=None)
@given(st.lists(st.tuples(st.floats(0, DEPTH), st.floats(0, DEPTH)), min_size=120, max_size=120))
def test_what_one_waits_the_other_is_waited_for(levels: list[tuple[float, float]]) -> None:
    one, other = (np.repeat([level[at] for level in levels], 10) for at in (0, 1))
    source, destination = side("source", one), side("destination", other)
    shares = waiting_shares(source, destination)
    mirrored = waiting_shares(destination, source)
    assert shares is not None
    assert mirrored == pytest.approx(shares[::-1])
    assert min(shares) >= 0
    assert sum(shares) <= 1 + 1e-9
    expected = np.mean([b - a >= 0.25 * DEPTH for a, b in levels])
    assert shares[0] == pytest.approx(expected, abs=0.05)


def test_only_the_time_of_both_counts() -> None:
    """A source is done before its destination, which has a buffer left to write."""
    early = side("source", 8.0)
    early = StepView(
        early.step, early.samples.head(600), early.start_s, early.limits_c, early.course
    )
    late = side("destination", np.where(T_S <= 60, 0.1, 8.0))
    assert waiting_shares(early, late) == pytest.approx((0.0, 1.0))
