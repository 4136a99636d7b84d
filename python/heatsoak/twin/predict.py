"""What a drive would do under a workload, for drives as likely as what is known of them."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, PlainSerializer

from heatsoak import ranges, words
from heatsoak.catalog import Drive
from heatsoak.errors import UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.twin.asked import BUFFERED_S
from heatsoak.twin.case import (
    AIR_K,
    HALVED_AT_M_S,
    RESISTANCE,
    Before,
    Cliff,
    Cooling,
    WorkloadCase,
    is_own,
    slowed_in,
    spreads_of,
)
from heatsoak.twin.demand import Demand

if TYPE_CHECKING:
    from heatsoak.twin.twin import Twin

#: What is less likely is not said to happen, and what is likelier is said without a probability.
_UNLIKELY, _SURE = 0.05, 0.95


def _three(of: ranges.Range) -> list[float]:
    return [of.low, of.mid, of.high]


#: Of likely drives, with 90 %; in JSON low, middle and high.
Likely = Annotated[
    ranges.Range,
    PlainSerializer(_three, return_type=Annotated[list[float], Field(min_length=3, max_length=3)]),
]


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
    times: Likely | None
    held_s: Likely | None
    longest_s: Likely | None
    waiting_gb: Likely | None
    late_pct: Likely | None
    limit_c: float
    recorded_held_s: float


class Prediction(BaseModel):
    """What a drive would do; ranges are of likely drives, None where none applies.

    Attributes:
        answer: in a sentence.
        throttles: the probability that heat slows it.
        onset_s: when it begins to, if it does; `onset_gb` after how much was moved.
        depth_pct: how much of its speed heat takes in the worst minute, if it throttles.
        throttled_mb_s: what it moves in that minute, and `unheated_mb_s` what it would move then
            without heat.
        shuts_down: the probability that it gets so hot that it shuts itself down, and `shutdown_s`
            when that is.
        takes_s: how long a load takes that ends with its data.
        full_mb_s: the most that it moves in a second without heat.
        max_reported_temp_c: the highest temperature that it reports.
        hidden_temp_c: the highest that its governor sees.
        holds: the probability that it holds the asked rate throughout; None if none was asked for.
        cliff: where a full cache or used-up spare area slows it, without heat.
        first: which of the two is likelier to slow it first.
        assumed: what was taken as given.
        for_ever_mb_s: the highest rate that it holds without end, where that was asked for.
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
    onset_s: Likely | None
    onset_gb: Likely | None
    depth_pct: Likely | None
    throttled_mb_s: Likely | None
    unheated_mb_s: Likely | None = None
    shuts_down: float = 0.0
    shutdown_s: Likely | None = None
    takes_s: Likely | None = None
    full_mb_s: float
    max_reported_temp_c: Likely
    hidden_temp_c: Likely
    holds: float | None
    cliff: Cliff | None
    first: Literal["heat", "write-cache", "spare-area"] | None
    assumed: list[str]
    held: Held | None = None
    for_ever_mb_s: Likely | None = None

    @property
    def may_throttle(self) -> bool:
        """Whether it is likely enough to throttle that more is said of it."""
        return self.throttles >= _UNLIKELY


def predict(
    subject: "Twin | Drive",
    workload: WorkloadStep | Demand,
    duration_s: float | None,
    *,
    before: Sequence[Before] = (),
    enclosure: str | None = None,
    cooling: Cooling | None = None,
    holds_mb_s: float | None = None,
    for_ever: bool = False,
    seed: int = 0,
) -> Prediction:
    """Return what a twin or a drive of the catalog would do under a workload.

    `before` are loads that prepare the drive, such as a fill, and pauses; it begins at rest. Of a
    demand, the first `duration_s` are followed. `enclosure` is one of the twin's places or of the
    catalog's; without it, the twin's first or the drive's usual one. `for_ever` asks also for the
    rate that it holds without end. Raises UsageError for what is unknown, or cannot be simulated,
    and for a rate to be held by a demand, which has its own.
    """
    if isinstance(workload, Demand) and for_ever:
        raise UsageError(f"{workload.name}: asks for rates of its own: leave out --for-ever")
    if isinstance(workload, Demand) and holds_mb_s is not None:
        raise UsageError(
            f"{workload.name}: asks for rates of its own, so none can be held: leave out "
            "--holds (holds_mb_s)"
        )
    case = WorkloadCase.of(
        subject, workload, duration_s, before=before, enclosure=enclosure, seed=seed
    )
    found = told(case, cooling or Cooling(), holds_mb_s)
    if not for_ever or isinstance(workload, Demand):
        return found
    from heatsoak.twin.forever import for_ever_mb_s  # few ask

    held, by_heat = for_ever_mb_s(
        subject, workload, before=before, enclosure=enclosure, cooling=cooling, seed=seed
    )
    answer = f"{_for_ever_text(held, by_heat=by_heat)}. {found.answer}"
    return found.model_copy(update={"for_ever_mb_s": held, "answer": answer})


def _for_ever_text(held: ranges.Range, *, by_heat: bool) -> str:
    if held.mid == 0:
        return "Holds no rate for ever"
    likely = words.interval_text(held, "MB/s", 1)
    limited = "heat allows no more" if by_heat else "with or without heat"
    return f"Holds {words.rate_text(held.mid, 1)} for ever ({likely}), {limited}"


def told(case: WorkloadCase, cooling: Cooling, holds_mb_s: float | None = None) -> Prediction:
    """Return what a case comes to with some cooling.

    Raises UsageError as :meth:`WorkloadCase.outcomes` does.
    """
    subject, workload, cliff = case.subject, case.workload, case.cliff
    outcomes = list(case.outcomes(cooling, holds_mb_s or 0.0))
    throttles = slowed_in(outcomes)

    def of_slowed(name: str) -> ranges.Range | None:
        return range_of([getattr(one, name) for one in outcomes if one.onset_s is not None])

    reported = range_of([one.reported_c for one in outcomes])
    hidden = range_of([one.hottest_c for one in outcomes])
    assert reported is not None
    assert hidden is not None
    holds = None
    if holds_mb_s is not None:
        held = [one.behind_mb <= holds_mb_s * BUFFERED_S for one in outcomes]
        holds = round(float(np.mean(held)), 3)
    onset = of_slowed("onset_s")
    first: Literal["heat", "write-cache", "spare-area"] | None = None if not cliff else cliff.cause
    if onset is not None and throttles >= 0.5 and (cliff is None or onset.mid < cliff.onset_s):
        first = "heat"
    prediction = Prediction(
        answer="",
        drive=f"{subject.model or subject.base} (twin)"
        if not isinstance(subject, Drive)
        else subject.model,
        place=case.place,
        workload=workload.describe(),
        duration_s=float(case.seconds),
        throttles=round(throttles, 3),
        onset_s=onset,
        onset_gb=of_slowed("onset_gb"),
        depth_pct=None if isinstance(workload, Demand) else of_slowed("depth_pct"),
        throttled_mb_s=None if isinstance(workload, Demand) else of_slowed("worst_mb_s"),
        unheated_mb_s=None if isinstance(workload, Demand) else of_slowed("free_mb_s"),
        shuts_down=round(float(np.mean([one.shutdown_s is not None for one in outcomes])), 3),
        shutdown_s=_known([one.shutdown_s for one in outcomes]),
        takes_s=_known([one.took_s for one in outcomes]) if case.ends else None,
        full_mb_s=round(float(case.asked.mb_s.max()), 1),
        max_reported_temp_c=reported,
        hidden_temp_c=hidden,
        holds=holds,
        cliff=cliff,
        first=first,
        assumed=list(_assumed(subject, cooling, workload)),
        held=Held(
            gb=round(workload.gb, 3),
            times=of_slowed("times"),
            held_s=of_slowed("held_s"),
            longest_s=of_slowed("longest_s"),
            waiting_gb=of_slowed("waiting_gb"),
            late_pct=of_slowed("late_pct"),
            limit_c=round(float(np.median([one.limit_c for one in outcomes])), 2),
            recorded_held_s=round(workload.held_s, 1),
        )
        if isinstance(workload, Demand)
        else None,
    )
    said = (
        _answer_of_demand(prediction, workload)
        if isinstance(workload, Demand)
        else _answer(prediction, holds_mb_s)
    )
    return prediction.model_copy(update={"answer": warned(subject, said)})


def warned(subject: "Twin | Drive", answer: str) -> str:
    """Return an answer with its doubt: what a twin does not reproduce, or that nobody measured."""
    if not isinstance(subject, Drive):
        return f"{subject.not_reproduced} {answer}".strip()
    if subject.basis is None:
        return answer
    by = "its class" if subject.basis == "class" else "its data sheet and class"
    return f"Nobody measured this drive; by {by}: {answer[:1].lower()}{answer[1:]}"


def _known(values: Sequence[float | None]) -> ranges.Range | None:
    return range_of([value for value in values if value is not None])


def range_of(values: Sequence[float]) -> ranges.Range | None:
    """Return what likely drives have, with 90 %; None of none."""
    if not values:
        return None
    low, high = ranges.tails(ranges.FITTED_LEVEL)
    # by ranks among one more than there are: so many of the next lie within
    low, mid, high = np.quantile(values, (low, 0.5, high), method="weibull").tolist()
    return ranges.Range(low, mid, high, "drives", ranges.FITTED_LEVEL).rounded(2)


def _assumed(
    subject: "Twin | Drive", cooling: Cooling, workload: WorkloadStep | Demand
) -> Iterator[str]:
    if isinstance(subject, Drive):
        if subject.basis:
            yield "nobody measured it: what its data sheet does not tell are figures of its class"
        power, limit_k = spreads_of(subject)
        yield (
            f"drives of a model and their rooms differ: air by {words.kelvin_text(AIR_K)}, "
            f"resistance to it by {words.share_text(RESISTANCE)}, power by "
            f"{words.share_text(power)}, limit by {words.kelvin_text(limit_k)}"
        )
    else:
        yield from subject.assumed
    yield "it starts at rest"
    if cooling.airflow_m_s is not None:
        speed = words.amount_text(HALVED_AT_M_S, "m/s")
        yield f"moving air of {speed} halves a resistance that nothing is known of"
    if isinstance(workload, WorkloadStep):
        return
    yield (
        "what is held back waits and is served later, and what comes next comes when it came; "
        f"up to {words.seconds_text(BUFFERED_S)} of full speed may wait before that counts"
    )
    yield (
        "reads come from flash and writes are programmed once: caches and spare area are not "
        "followed"
    )
    if workload.is_recorded:
        of = "" if is_own(subject, workload) else f", of {workload.model}"
        yield f"it asks for what was moved when it was recorded{of}"
    if workload.held_s > 0:
        yield (
            f"heat held the recorded drive back for {words.duration_text(workload.held_s)}: what it"
            " moved then is the least that was asked of it"
        )
    yield from workload.remarks


def _answer_of_demand(found: Prediction, demand: Demand) -> str:
    held = found.held
    assert held is not None
    length = words.duration_text(found.duration_s)
    what = f"what {demand.name} does in {length}"
    likely = _likely_text(found.throttles)
    if not found.may_throttle or found.onset_s is None:
        return (
            f"Heat does not slow {what}{likely}: its governor sees "
            f"{words.temp_text(found.hidden_temp_c.mid)} at most, of a limit of "
            f"{words.temp_text(held.limit_c)}.{demand.doubt}"
        )
    assert held.times is not None
    assert held.held_s is not None
    assert held.waiting_gb is not None
    assert held.late_pct is not None
    times = round(held.times.mid)
    often = "once" if times == 1 else f"{times} times"
    how = (
        f"first after {_time_text(found.onset_s)}, {often}, for "
        f"{words.duration_text(held.held_s.mid)} in all; up to "
        f"{words.amount_text(held.waiting_gb.mid, 'GB', 2)} wait, and "
        f"{words.percent_text(held.late_pct.mid)} of its GB come late"
    )
    if found.throttles < 0.5:
        return f"Heat probably does not slow {what}{likely}; if it does, {how}.{demand.doubt}"
    return f"Heat slows {what}{likely}: {how}.{demand.doubt}"


def _time_text(of: ranges.Range) -> str:
    if of.low == of.high:
        return words.duration_text(of.mid)
    return f"{words.duration_text(of.mid)} ({words.interval_text(of, 's', 1)})"


def _answer(found: Prediction, holds_mb_s: float | None) -> str:
    length = words.duration_text(found.duration_s)
    hottest = f"{words.range_text(found.max_reported_temp_c, 'C')} by its own sensor at most"
    start = ""
    if found.takes_s is not None:
        start = f"Takes {_time_text(found.takes_s)}. "
    if found.holds is not None and holds_mb_s is not None:
        rate = words.rate_text(holds_mb_s)
        start += f"{words.share_text(found.holds)} likely to hold {rate} for {length}. "
    likely = _likely_text(found.throttles)
    if not found.may_throttle or found.onset_s is None:
        said = f"Does not throttle in {length}{likely}: {hottest}."
    else:
        how = f"after {_time_text(found.onset_s)}{_what_follows(found)}; {hottest}."
        if found.throttles < 0.5:
            said = f"Probably does not throttle in {length}{likely}; if it does, {how}"
        else:
            said = f"Throttles{likely} {how}"
    is_off = found.shutdown_s is not None and found.shuts_down >= _SURE
    if found.cliff is not None and not is_off:
        said += f" {found.cliff.sentence}"
    return start + said


def _likely_text(throttles: float) -> str:
    """How likely what is said of throttling is, where likely drives do not agree."""
    likely = max(throttles, 1 - throttles)
    return "" if likely == 1 else f" ({words.share_text(likely)} likely)"


def _what_follows(found: Prediction) -> str:
    """What becomes of the speed, or of the drive, once it throttles."""
    assert found.throttled_mb_s is not None
    assert found.unheated_mb_s is not None
    after = ""
    if found.shutdown_s is not None and found.shuts_down >= _UNLIKELY:
        sure = found.shuts_down >= _SURE
        likely = "" if sure else f"{words.share_text(found.shuts_down)} likely, "
        is_off = found.shutdown_s.high < 1
        when = "before that" if is_off else f"after {_time_text(found.shutdown_s)}"
        after = f", and shuts itself down, {likely}{when}"
        if sure:
            return after
    full, left = (one.mid for one in (found.unheated_mb_s, found.throttled_mb_s))
    return f": {words.rate_text(full, 1)} become {words.number_text(left, 1)}{after}"
