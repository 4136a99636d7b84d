"""The least cooling that keeps a workload at full speed, and what heatsinks would bring."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict

from heatsoak import catalog, words
from heatsoak.errors import UsageError
from heatsoak.output import Progress
from heatsoak.protocol import WorkloadStep
from heatsoak.twin import predict
from heatsoak.twin.asked import BUFFERED_S
from heatsoak.twin.case import Before, Cooling, DriveOutcome, WorkloadCase, slowed_in
from heatsoak.twin.demand import Demand
from heatsoak.twin.twin import Twin

#: Cooling is enough where fewer of the likely drives throttle.
ENOUGH = 0.1
#: Heatsinks that can be bought: from large ones in a strong flow to foils.
_K_PER_W = (0.3, 100.0)
#: From still air to a gale at the drive: fans in a case give 0.5 to 3 m/s.
_MOST_M_S = 20.0
#: Searches end where they are this exact.
_EXACTNESS = 0.05
#: Air temperatures of the curve.
_AIRS_C = tuple(range(20, 56, 5))


class Need(BaseModel):
    """How much air has to move at a temperature; None where no flow is enough."""

    ambient_c: float
    airflow_m_s: float | None


class Offer(BaseModel):
    """A heatsink of the catalog, put on in this place.

    Attributes:
        throttles: the probability that it still throttles; `mean_mb_s` over the whole time.
        gain_pct: more than without; `gain_pct_per_price` for each unit of its price.
        held_s: for how long it still holds back a recorded workload, in the mean; None for others.
    """

    heatsink: str
    description: str
    throttles: float
    mean_mb_s: float
    gain_pct: float
    price: float | None = None
    gain_pct_per_price: float | None = None
    held_s: float | None = None


Matters = Literal["yes", "no", "not-enough"]


class Advice(BaseModel):
    """What cooling a workload needs.

    Attributes:
        answer: in a sentence.
        matters: ``no`` where it keeps its speed as it is, ``yes`` where cooling brings that, and
            ``not-enough`` where none does.
        throttles: the probability that heat slows it as it is; `mean_mb_s` over the whole time.
        heatsink_k_per_w: the weakest heatsink that is enough, beside the drive's own way to the
            air; None where none is needed, or none is enough.
        needs_k_per_w: what the likely drives need that throttle, and that a heatsink can help.
        kept: the share of likely drives that the strongest heatsink keeps at full speed.
        airflow_m_s: the least flow that is enough instead; likewise.
        curve: the flow that is needed at other air temperatures.
        offers: heatsinks of the catalog, the best first.
        held_s: for how long heat holds back a recorded workload as it is, in the mean of likely
            drives; `hottest_c` is what its governor sees at most then, and `limit_c` where that
            begins to act. None for other workloads.
    """

    model_config = ConfigDict(frozen=True)

    schema_version: Literal[1] = 1
    answer: str
    place: str
    workload: str
    duration_s: float
    matters: Matters
    throttles: float
    mean_mb_s: float
    heatsink_k_per_w: float | None
    needs_k_per_w: predict.Likely | None = None
    kept: float = 1.0
    airflow_m_s: float | None
    curve: list[Need]
    offers: list[Offer]
    held_s: float | None = None
    hottest_c: float | None = None
    limit_c: float | None = None


def advise(
    subject: Twin | catalog.Drive,
    workload: WorkloadStep | Demand,
    duration_s: float | None,
    *,
    before: Sequence[Before] = (),
    enclosure: str | None = None,
    cooling: Cooling | None = None,
    prices: Mapping[str, float] | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Advice:
    """Return what cooling a drive needs for a workload, in one of its places.

    Of a demand, the first `duration_s` are followed. `cooling` is what is changed about the place
    to begin with. `prices` are those of heatsinks by their names, in any currency. Raises
    UsageError for what is unknown, or cannot be simulated.
    """
    sinks = _sinks(prices or {})
    here = cooling or Cooling()
    case = WorkloadCase.of(
        subject, workload, duration_s, before=before, enclosure=enclosure, seed=seed
    )
    parts = 3 + len(_AIRS_C) + len(sinks)
    done = count(1)

    def tell(what: str) -> None:
        if progress is not None:
            progress(next(done) / parts, what)

    as_is = list(case.outcomes(here))
    throttles, mean_mb_s = slowed_in(as_is), _mean("mean_mb_s", as_is)
    tell("as it is")

    needs = _needs(case, here, is_slowed=throttles > ENOUGH)
    tell("the least airflow")
    tell("the weakest heatsink")
    curve = _curve(case, here, tell)
    offers: list[Offer] = []
    for name, place in sinks.items():
        offers += _offer(case, name, place, here, mean_mb_s, prices or {})
        tell(f"heatsink {name}")
    is_helped = any(needs[key] is not None for key in ("heatsink_k_per_w", "airflow_m_s"))
    matters: Matters = "no" if throttles <= ENOUGH else "yes" if is_helped else "not-enough"
    advice = Advice(
        answer="",
        place=case.place,
        workload=case.workload.describe(),
        duration_s=float(case.seconds),
        matters=matters,
        throttles=round(throttles, 3),
        mean_mb_s=round(mean_mb_s, 1),
        **needs,
        curve=curve,
        offers=sorted(
            offers, key=lambda offer: (offer.throttles, offer.held_s or 0.0, -offer.mean_mb_s)
        ),
    )
    if isinstance(workload, Demand):
        advice = advice.model_copy(update=_of_demand(as_is))
        said = _answer(advice, f"what {workload.name} does") + workload.doubt
    else:
        said = _answer(advice, None)
    return advice.model_copy(update={"answer": predict.warned(subject, said)})


def _sinks(prices: Mapping[str, float]) -> dict[str, str]:
    """The catalog's heatsinks by name, as places; raises UsageError for a price of another."""
    sinks: dict[str, str] = {}
    for place in map(catalog.load_enclosure, catalog.enclosure_ids()):
        name = str(place.conditions.get("heatsink", "none"))
        if name != "none":
            # of several places, the one that is nothing more than the heatsink
            sinks[name] = min(sinks.get(name, place.id), place.id, key=len)
    for name in prices:
        if name not in sinks:
            raise UsageError(f"--price {name}: no such heatsink: there are {', '.join(sinks)}")
    return sinks


def _needs(case: WorkloadCase, here: Cooling, *, is_slowed: bool) -> dict[str, Any]:
    """What is enough, as an advice has it."""
    if not is_slowed:
        return {"heatsink_k_per_w": None, "airflow_m_s": None}
    needed = _weakest_sinks(case, here)
    return {
        "airflow_m_s": _least_airflow(case, here, here.airflow_m_s or 0.0),
        # so many may still throttle
        "heatsink_k_per_w": needed[int(ENOUGH * len(needed))] or None,
        "needs_k_per_w": predict.range_of([one for one in needed if 0 < one < _K_PER_W[1]]),
        "kept": round(float(np.mean([one > 0 for one in needed])), 3),
    }


def _least_airflow(case: WorkloadCase, air: Cooling, from_m_s: float) -> float | None:
    return _least(lambda m_s: _is_enough(case, replace(air, airflow_m_s=m_s)), from_m_s, _MOST_M_S)


def _weakest_sinks(case: WorkloadCase, here: Cooling) -> list[float]:
    """The weakest that is enough for each likely drive, in K/W and ascending; 0 where none is."""
    ends = 1 / _K_PER_W[1], 1 / _K_PER_W[0]

    def weakest(of: WorkloadCase) -> float:
        # conductances are searched, of which less is weaker
        least = _least(lambda w_per_k: _is_enough(of, replace(here, heatsink=1 / w_per_k)), *ends)
        return 0.0 if least is None else round(1 / least, 2)

    return sorted(weakest(replace(case, likely=[one])) for one in case.likely)


def _curve(case: WorkloadCase, here: Cooling, tell: Callable[[str], None]) -> list[Need]:
    """How much air has to move at other temperatures of it."""
    curve: list[Need] = []
    for air_c in _AIRS_C:
        # warmer air never needs less
        from_m_s = curve[-1].airflow_m_s if curve else 0.0
        air = replace(here, ambient_c=air_c, warming_k=0.0)
        needed = None if from_m_s is None else _least_airflow(case, air, from_m_s)
        curve.append(Need(ambient_c=air_c, airflow_m_s=needed))
        tell(f"air of {air_c} C")
    return curve


def _of_demand(outcomes: Sequence[DriveOutcome]) -> dict[str, float]:
    """What is said of a recorded workload alone."""
    return {
        "held_s": round(_mean("held_s", outcomes), 1),
        "hottest_c": round(float(np.median([one.hottest_c for one in outcomes])), 1),
        "limit_c": round(float(np.median([one.limit_c for one in outcomes])), 1),
    }


def _offer(
    case: WorkloadCase,
    name: str,
    place: str,
    here: Cooling,
    bare_mb_s: float,
    prices: Mapping[str, float],
) -> Iterator[Offer]:
    """A heatsink with what it brings; nothing where it does not fit the drive."""
    try:
        found = list(case.outcomes(replace(here, heatsink=place)))
    except UsageError:
        return
    mean_mb_s = _mean("mean_mb_s", found)
    gain_pct = 100 * (mean_mb_s / bare_mb_s - 1)
    price = prices.get(name)
    yield Offer(
        heatsink=name,
        description=catalog.load_enclosure(place).description,
        throttles=round(slowed_in(found), 3),
        mean_mb_s=round(mean_mb_s, 1),
        gain_pct=round(gain_pct, 1),
        price=price,
        gain_pct_per_price=None if not price else round(gain_pct / price, 3),
        held_s=round(_mean("held_s", found), 1) if isinstance(case.workload, Demand) else None,
    )


def _is_enough(case: WorkloadCase, cooling: Cooling) -> bool:
    """Whether few enough throttle: neither drives nor a demand are followed further than needed."""
    most_late_s = BUFFERED_S if isinstance(case.workload, Demand) else np.inf
    slowed = 0
    try:
        for one in case.outcomes(cooling, most_late_s=most_late_s):
            slowed += one.onset_s is not None
            if slowed > ENOUGH * len(case.likely):
                return False
    except UsageError:  # too hot even for a drive at rest
        return False
    return True


def _least(is_enough: Callable[[float], bool], low: float, high: float) -> float | None:
    """The least of a range that is enough; None if none is. More is never worse."""
    if is_enough(low):
        return round(low, 3)
    if not is_enough(high):
        return None
    while high - low > _EXACTNESS * high:
        middle = 0.5 * (low + high)
        if is_enough(middle):
            high = middle
        else:
            low = middle
    return round(high, 3)


def _mean(name: str, outcomes: Sequence[DriveOutcome]) -> float:
    return float(np.mean([getattr(one, name) for one in outcomes]))


def _answer(advice: Advice, recorded: str | None) -> str:
    length = words.duration_text(advice.duration_s)
    if advice.matters == "no":
        if advice.hottest_c is None or advice.limit_c is None:
            return f"Needs no more cooling: it keeps its speed for {length} as it is."
        return (
            f"Needs no more cooling: heat does not slow {recorded} (hottest "
            f"{words.temp_text(advice.hottest_c)} of a limit of {words.temp_text(advice.limit_c)})."
        )
    if advice.matters == "not-enough" and advice.kept <= ENOUGH:
        return f"No cooling of the drive alone keeps its speed for {length}: the air is too hot."
    if advice.matters == "not-enough":
        return (
            f"Open whether cooling of the drive alone keeps its speed for {length}: the strongest "
            f"heatsink does with {words.share_text(advice.kept)} likely."
        )
    ways = []
    if advice.airflow_m_s is not None:
        ways.append(f"air that moves at {words.amount_text(advice.airflow_m_s, 'm/s', 2)}")
    if advice.heatsink_k_per_w is not None:
        enough = [offer for offer in advice.offers if offer.throttles <= ENOUGH]
        # the cheapest, or else the one that does least beyond that
        least = min(reversed(enough), key=lambda offer: offer.price or np.inf, default=None)
        such = f", such as '{least.heatsink}'" if least else ""
        sink = words.amount_text(advice.heatsink_k_per_w, "K/W")
        needs = ""
        if advice.needs_k_per_w is not None:
            needs = f"; likely drives need {words.range_text(advice.needs_k_per_w, 'K/W')}"
        ways.append(f"a heatsink of {sink} or less{such}{needs}")
    return f"Keeps its speed for {length} with {', or '.join(ways)}."
