"""What a drive would do under a workload, for drives as likely as what is known of them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from heatsoak.analysis.definitions import LAST_S, MIN_DROP
from heatsoak.analysis.falls import find_drops
from heatsoak.analysis.series import Series
from heatsoak.catalog import Drive
from heatsoak.errors import UsageError
from heatsoak.protocol import Pause, WorkloadStep
from heatsoak.twin.case import (
    AIR_K,
    HALVED_AT_M_S,
    LIMIT_K,
    POWER,
    RESISTANCE,
    Case,
    Cooling,
    Phase,
)
from heatsoak.twin.demand import Demand
from heatsoak.twin.readings import Array
from heatsoak.twin.served import BUFFERED_S, DemandCase, Outcome, is_own, slowed_in
from heatsoak.twin.twin import Twin
from heatsoak.units import format_duration

#: 90 % of what is likely, and its middle.
_QUANTILES = (0.05, 0.5, 0.95)
#: What is less likely is not said to happen, and what is likelier is said without a probability.
_UNLIKELY, _SURE = 0.05, 0.95

#: Low, middle, high: the middle 90 % of what is likely.
Range = Annotated[list[float], Field(min_length=3, max_length=3)]


class Cliff(BaseModel):
    """Where the workload slows down without any heat."""

    cause: Literal["write-cache", "spare-area"]
    onset_s: float
    depth_pct: float

    @property
    def sentence(self) -> str:
        """It in a sentence."""
        what = {"write-cache": "its write cache is full", "spare-area": "its spare area runs out"}
        return (
            f"Without heat {what[self.cause]} after {format_duration(self.onset_s)}: "
            f"-{self.depth_pct:.0f} %."
        )


class Held(BaseModel):
    """What heat makes of a recorded workload; ranges are of drives that it slows, None without any.

    Attributes:
        gb: what the workload reads and writes in all, 10^9 bytes.
        times: how often the drive is held back until it has caught up.
        held_s: for how much of the workload's time it is, in all; `longest_s` at a time.
        waiting_gb: the most that waits.
        late_pct: the share of all bytes that is moved while something waits for heat, or not by
            the end.
        limit_c: where its governor begins to act, by what the governor sees.
        recorded_held_s: for how long heat held back the drive that was recorded: what it moved then
            is the least that was asked of it. 0 for a trace.
    """

    gb: float
    times: Range | None
    held_s: Range | None
    longest_s: Range | None
    waiting_gb: Range | None
    late_pct: Range | None
    limit_c: float
    recorded_held_s: float


class Prediction(BaseModel):
    """What a drive would do; ranges are low, middle and high of 90 %, None where none applies.

    Attributes:
        answer: in a sentence.
        throttles: the probability that heat slows it.
        onset_s: when it begins to, if it does; `onset_gb` after how much was moved.
        depth_pct: how much of its speed heat takes in the worst minute, if it throttles.
        throttled_mb_s: what it moves in that minute.
        full_mb_s: what it moves at first; of a recorded workload, the most it asks for in a second.
        max_reported_temp_c: the highest temperature that it reports.
        hidden_temp_c: the highest that its governor sees.
        holds: the probability that it holds the asked rate throughout; None if none was asked for.
        cliff: where a full cache or used-up spare area slows it, without heat.
        first: which of the two is likelier to slow it first.
        assumed: what was taken as given.
        held: what waits of a recorded workload, which asks for more or less as time passes; None
            for any other. `depth_pct` and `throttled_mb_s` are None for one.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    answer: str
    drive: str
    place: str
    workload: str
    duration_s: float
    throttles: float
    onset_s: Range | None
    onset_gb: Range | None
    depth_pct: Range | None
    throttled_mb_s: Range | None
    full_mb_s: float
    max_reported_temp_c: Range
    hidden_temp_c: Range
    holds: float | None
    cliff: Cliff | None
    first: Literal["heat", "write-cache", "spare-area"] | None
    assumed: list[str]
    held: Held | None = None


def predict(
    subject: Twin | Drive,
    workload: WorkloadStep | Demand,
    duration_s: float,
    *,
    before: Sequence[WorkloadStep | Pause] = (),
    enclosure: str | None = None,
    cooling: Cooling | None = None,
    holds_mb_s: float | None = None,
    seed: int = 0,
) -> Prediction:
    """Return what a twin or a drive of the catalog would do under a workload.

    `before` are loads that prepare the drive, such as a fill, and pauses; it begins at rest. Of a
    demand, the first `duration_s` are followed. `enclosure` is one of the twin's places or of the
    catalog's; without it, the twin's first or the drive's usual one. Raises UsageError for what is
    unknown, or cannot be simulated, and for a rate to be held by a demand, which has its own.
    """
    if isinstance(workload, Demand):
        if holds_mb_s is not None:
            raise UsageError(
                f"{workload.name}: asks for rates of its own, so none can be held: leave out "
                "--holds (holds_mb_s)"
            )
        demand = workload.first(duration_s)
        demanded = DemandCase.of(subject, demand, enclosure=enclosure, seed=seed)
        return told_of_demand(demanded, cooling or Cooling())
    case = Case.of(subject, workload, duration_s, before=before, enclosure=enclosure, seed=seed)
    return told(case, cooling or Cooling(), holds_mb_s, cliff=cliff_of(case))


def cliff_of(case: Case) -> Cliff | None:
    """Return where the rate falls with everything permitted."""
    drive, phases = case.drive, case.phases
    lengths_s = np.array([one["mb"] / one["mb_s"] for one in phases])
    ends_s = np.cumsum(lengths_s)
    t_s = np.arange(1.0, max(ends_s[-1], 2.0))
    rates = np.array([one["mb_s"] for one in phases])
    values = rates[np.minimum(np.searchsorted(ends_s, t_s - 0.5), len(rates) - 1)]
    drops = find_drops(Series(t_s, np.ones(len(t_s)), values, "mb_s"))
    if not drops:
        return None
    drop = max(drops, key=lambda one: one.depth * (one.end_s - one.onset_s))
    programmed = phases[0]["work"].get("programmed_pages", 0.0)
    moved_mb = float(np.interp(drop.onset_s, ends_s, np.cumsum([one["mb"] for one in phases])))
    if not programmed:
        return None
    spare_mb = (drive.raw_bytes - drive.user_bytes) / 1e6
    is_cache = drive.cache is not None and moved_mb < drive.user_bytes / 1e6 + spare_mb
    return Cliff(
        cause="write-cache" if is_cache else "spare-area",
        onset_s=round(drop.onset_s, 1),
        depth_pct=round(100 * drop.depth, 1),
    )


@dataclass(frozen=True)
class Slowed:
    """How heat slowed one drive: when, and what it moved in its worst minute."""

    onset_s: float
    onset_gb: float
    depth_pct: float
    mb_s: float


def throttles_in(case: Case, loads: Sequence[Mapping[str, Array]]) -> float:
    """Return the share of likely drives that heat slows, by what :meth:`Case.loads` gave."""
    return float(np.mean([slowed(case.phases, load) is not None for load in loads]))


def slowed(phases: Sequence[Phase], load: Mapping[str, Array]) -> Slowed | None:
    """Return what heat took, beside what the workload does at the same place without heat.

    `load` has `onset_s`, not finite where no governor acted, and `mb_s` second by second.
    """
    onset_s = float(load["onset_s"])
    if not np.isfinite(onset_s):
        return None
    ends_mb = np.cumsum([phase["mb"] for phase in phases])
    rates = np.array([phase["mb_s"] for phase in phases])
    moved_mb = np.cumsum(load["mb_s"])
    free = rates[np.minimum(np.searchsorted(ends_mb, moved_mb), len(rates) - 1)]
    after = slice(min(int(onset_s), len(moved_mb) - 1), None)
    shares = _means(load["mb_s"][after] / free[after], LAST_S)
    lowest = int(np.argmin(shares))
    # the governor's first act may be too small to see
    if 1 - shares[lowest] < MIN_DROP:
        return None
    onset_mb = float(np.interp(onset_s, np.arange(1, len(moved_mb) + 1), moved_mb))
    return Slowed(
        onset_s,
        onset_mb / 1e3,
        100 * float(1 - shares[lowest]),
        float(_means(load["mb_s"][after], LAST_S)[lowest]),
    )


def told(
    case: Case, cooling: Cooling, holds_mb_s: float | None = None, *, cliff: Cliff | None
) -> Prediction:
    """Return what a case comes to with some cooling; raises UsageError as :meth:`Case.loads`.

    `cliff` is the case's by :func:`cliff_of`, which is the same for any cooling.
    """
    subject, seconds = case.subject, case.seconds
    loads = case.loads(cooling)
    by_heat = [one for load in loads if (one := slowed(case.phases, load)) is not None]
    holds = None
    if holds_mb_s is not None:
        waiting_mb = [_most_waiting_mb(load["mb_s"], holds_mb_s) for load in loads]
        holds = round(float(np.mean(np.array(waiting_mb) <= holds_mb_s * BUFFERED_S)), 3)
    throttles = len(by_heat) / len(loads)
    onset = _range([one.onset_s for one in by_heat])
    reported = _range([float(np.max(load["sensor_c"])) for load in loads])
    hidden = _range([float(np.max(load["governed_c"])) for load in loads])
    assert reported is not None
    assert hidden is not None
    first: Literal["heat", "write-cache", "spare-area"] | None = None if not cliff else cliff.cause
    if onset is not None and throttles >= 0.5 and (cliff is None or onset[1] < cliff.onset_s):
        first = "heat"
    prediction = Prediction(
        answer="",
        drive=_name(subject),
        place=case.place,
        workload=case.workload.describe(),
        duration_s=float(seconds),
        throttles=round(throttles, 3),
        onset_s=onset,
        onset_gb=_range([one.onset_gb for one in by_heat]),
        depth_pct=_range([one.depth_pct for one in by_heat]),
        throttled_mb_s=_range([one.mb_s for one in by_heat]),
        full_mb_s=round(case.phases[0]["mb_s"], 1),
        max_reported_temp_c=reported,
        hidden_temp_c=hidden,
        holds=holds,
        cliff=cliff,
        first=first,
        assumed=list(_assumed(subject, cooling)),
    )
    return prediction.model_copy(
        update={"answer": warned(subject, _answer(prediction, holds_mb_s))}
    )


def told_of_demand(case: DemandCase, cooling: Cooling) -> Prediction:
    """Return what a demand comes to with some cooling; UsageError as for a load."""
    demand, outcomes = case.demand, list(case.outcomes(cooling))
    held_back = [one for one in outcomes if one.onset_s is not None]
    throttles = slowed_in(outcomes)
    reported = _range([one.reported_c for one in outcomes])
    hidden = _range([one.hottest_c for one in outcomes])
    assert reported is not None
    assert hidden is not None

    def of_slowed(name: str) -> Range | None:
        return _range([getattr(one, name) for one in held_back])

    prediction = Prediction(
        answer="",
        drive=_name(case.subject),
        place=case.place,
        workload=demand.describe(),
        duration_s=float(demand.seconds),
        throttles=round(throttles, 3),
        onset_s=of_slowed("onset_s"),
        onset_gb=of_slowed("onset_gb"),
        depth_pct=None,
        throttled_mb_s=None,
        full_mb_s=round(float(np.max(demand.read_mb_s + demand.write_mb_s)), 1),
        max_reported_temp_c=reported,
        hidden_temp_c=hidden,
        holds=None,
        cliff=None,
        first="heat" if throttles >= 0.5 else None,
        assumed=[*_assumed(case.subject, cooling), *_assumed_of(demand, case.subject)],
        held=Held(
            gb=round(demand.gb, 3),
            times=of_slowed("times"),
            held_s=of_slowed("held_s"),
            longest_s=of_slowed("longest_s"),
            waiting_gb=of_slowed("waiting_gb"),
            late_pct=of_slowed("late_pct"),
            limit_c=_middle_limit_c(outcomes),
            recorded_held_s=round(demand.held_s, 1),
        ),
    )
    return prediction.model_copy(
        update={"answer": warned(case.subject, _answer_of_demand(prediction, demand))}
    )


def warned(subject: Twin | Drive, answer: str) -> str:
    """Return an answer after what a twin does not reproduce of its own log."""
    return f"{subject.not_reproduced} {answer}".strip() if isinstance(subject, Twin) else answer


def _middle_limit_c(outcomes: Sequence[Outcome]) -> float:
    return round(float(np.median([one.limit_c for one in outcomes])), 2)


def _name(subject: Twin | Drive) -> str:
    return f"{subject.model or subject.base} (twin)" if isinstance(subject, Twin) else subject.model


def _most_waiting_mb(mb_s: Array, wanted_mb_s: float) -> float:
    """The most that is still to be moved, second by second, of what comes at a rate."""
    behind = np.cumsum(wanted_mb_s - mb_s)
    return float(np.max(behind - np.minimum(np.minimum.accumulate(behind), 0.0)))


def _means(values: Array, window_s: float) -> Array:
    """The means over windows of seconds, or over all where that is less."""
    width = min(int(window_s), len(values))
    return np.convolve(values, np.ones(width) / width, "valid")


def _range(values: Sequence[float]) -> Range | None:
    if not values:
        return None
    # by ranks among one more than there are: so many of the next lie within
    return [round(float(q), 2) for q in np.quantile(values, _QUANTILES, method="weibull")]


def _assumed(subject: Twin | Drive, cooling: Cooling) -> Iterator[str]:
    if not isinstance(subject, Twin):
        yield (
            f"drives of a model and their rooms differ: air by {AIR_K:.0f} K, resistance to it by "
            f"{RESISTANCE:.0%}, power by {POWER:.0%}, limit by {LIMIT_K:.0f} K"
        )
    else:
        yield from subject.assumed
    yield "it starts at rest"
    if cooling.airflow_m_s is not None:
        yield f"moving air of {HALVED_AT_M_S:.0f} m/s halves a resistance that nothing is known of"


def _assumed_of(demand: Demand, subject: Twin | Drive) -> Iterator[str]:
    yield (
        "what is held back waits and is served later, and what comes next comes when it came; "
        f"up to {BUFFERED_S:.0f} s of full speed may wait before that counts"
    )
    yield (
        "reads come from flash and writes are programmed once: caches and spare area are not "
        "followed"
    )
    if demand.is_recorded:
        of = "" if is_own(subject, demand) else f", of {demand.model}"
        yield f"it asks for what was moved when it was recorded{of}"
    if demand.held_s > 0:
        yield (
            f"heat held the recorded drive back for {format_duration(demand.held_s)}: what it "
            "moved then is the least that was asked of it"
        )
    yield from demand.remarks


def _answer_of_demand(found: Prediction, demand: Demand) -> str:
    held = found.held
    assert held is not None
    length = format_duration(found.duration_s)
    what = f"what {demand.name} does in {length}"
    if found.throttles < _UNLIKELY or found.onset_s is None:
        return (
            f"Heat does not slow {what}: its governor sees {found.hidden_temp_c[1]:.0f} C at most, "
            f"of a limit of {held.limit_c:.0f} C.{demand.doubt}"
        )
    assert held.times is not None
    assert held.held_s is not None
    assert held.waiting_gb is not None
    assert held.late_pct is not None
    sure = (
        "Heat slows" if found.throttles >= _SURE else f"Heat slows, {found.throttles:.0%} likely,"
    )
    low, middle, high = found.onset_s
    times = round(held.times[1])
    often = "once" if times == 1 else f"{times} times"
    return (
        f"{sure} {what}: first after {format_duration(middle)} ({low:,.0f} to {high:,.0f} s), "
        f"{often}, for {format_duration(held.held_s[1])} in all; up to "
        f"{held.waiting_gb[1]:,.1f} GB wait, and {held.late_pct[1]:.0f} % of its GB come late."
        f"{demand.doubt}"
    )


def _answer(found: Prediction, holds_mb_s: float | None) -> str:
    length = format_duration(found.duration_s)
    hottest = f"{found.max_reported_temp_c[1]:.0f} C by its own sensor at most"
    if found.holds is not None and holds_mb_s is not None:
        start = (
            f"Holds {holds_mb_s:,.0f} MB/s for {length} with a probability of {found.holds:.0%}. "
        )
    else:
        start = ""
    if found.throttles < _UNLIKELY or found.onset_s is None:
        said = f"Does not throttle in {length}: {hottest}."
    else:
        assert found.depth_pct is not None
        assert found.throttled_mb_s is not None
        low, middle, high = found.onset_s
        sure = (
            "Throttles" if found.throttles >= _SURE else f"Throttles, {found.throttles:.0%} likely,"
        )
        left_mb_s = found.throttled_mb_s[1]
        become = f"{found.full_mb_s:,.0f} MB/s become {left_mb_s:,.0f}"
        if left_mb_s == 0:
            become = "then it is so hot that it shuts itself down"
        said = (
            f"{sure} after {format_duration(middle)} ({low:,.0f} to {high:,.0f} s): {become}; "
            f"{hottest}."
        )
    if found.cliff is not None:
        said += f" {found.cliff.sentence}"
    return start + said
