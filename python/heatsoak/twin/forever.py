"""How fast a drive can go for ever: the highest rate that heat never holds back."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from heatsoak import ranges
from heatsoak._core import Lumped
from heatsoak.errors import UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.twin import asked
from heatsoak.twin.case import Before, Cooling, LikelyDrive, WorkloadCase, cooled_place
from heatsoak.units import MB

if TYPE_CHECKING:
    from heatsoak.catalog import Drive
    from heatsoak.twin.twin import Twin

#: What is held for so long is held for ever: cases and mounts warm for an hour or two.
LONG_S = 6 * 3600
#: The exact engine shows a load for an hour; its second half counts, when caches are full.
_SHOWN_S = 3600.0
#: A drive that is written without end is full: what it had to spare went long before.
_FILLED = {"name": "fill", "rw": "write", "bs": 1 << 20, "iodepth": 8}
#: Rates nearer to each other than this are the same.
_SAME = 0.005


def for_ever_mb_s(
    subject: "Twin | Drive",
    load: WorkloadStep,
    *,
    before: Sequence[Before] = (),
    enclosure: str | None = None,
    cooling: Cooling | None = None,
    seed: int = 0,
) -> ranges.Range:
    """Return the highest rate that it holds without end, MB/s: of the drive itself, and of 90 % of
    likely ones; 0 for none.

    It is that of the flash where heat does not hold it back. `load` may be of any length and rate;
    the other arguments are those of `predict`. Raises UsageError for loads beside each other, which
    have no one rate, and where :meth:`WorkloadCase.of` does.
    """
    if load.beside:
        raise UsageError(f"{load.name}: has loads beside each other, and so no one rate")
    fill = [WorkloadStep.model_validate(_FILLED)] if load.writes else []
    given: list[Before] = [*before, *fill]

    def case_at(mb_s: float | None) -> tuple[WorkloadCase, _Steady]:
        step = load.model_copy(update={"rate": None if mb_s is None else _rate(load, mb_s)})
        case = WorkloadCase.of(subject, step, _SHOWN_S, before=given, enclosure=enclosure, seed=seed)
        return case, _Steady.of(case.asked)

    case, full = case_at(None)
    changed = cooling or Cooling()
    own = _Resting.of(LikelyDrive.middle(subject, case.place), changed)
    guess_mb_s = own.begins_mb_s(full, full.mb_s)
    # at another rate caches and spare area may do otherwise
    steady = full if guess_mb_s in (0.0, full.mb_s) else case_at(guess_mb_s)[1]
    limit_mb_s = own.limit_mb_s(steady, full.mb_s)
    # governors that hold a rate back a little do so above where they begin: as this one, so others
    begins_mb_s = own.begins_mb_s(steady, full.mb_s)
    bent = limit_mb_s / begins_mb_s if begins_mb_s else 1.0
    others = (_Resting.of(one, changed) for one in case.likely)
    limits = [min(bent * one.begins_mb_s(steady, full.mb_s), full.mb_s) for one in others]
    low, high = np.quantile(limits, ranges.tails(ranges.FITTED_LEVEL), method="weibull").tolist()
    return ranges.Range.around(limit_mb_s, (low, high), "drives", ranges.FITTED_LEVEL).rounded(1)


def _rate(load: WorkloadStep, mb_s: float) -> int:
    """The limit of each job, and of its reads or its writes, at which a load moves so much."""
    share = max(load.read_share, 1 - load.read_share)
    return max(round(mb_s * MB * share / load.numjobs), load.bs)


@dataclass(frozen=True)
class _Steady:
    """A load as it goes on: what it asks for once caches are full."""

    demand: asked.DemandSeries

    @classmethod
    def of(cls, demand: asked.DemandSeries) -> Self:
        """Take the mean of what comes in the second half."""
        begins_s = np.cumsum(demand.dt_s) - demand.dt_s
        weights = demand.dt_s - np.clip(0.5 * demand.dt_s.sum() - begins_s, 0.0, demand.dt_s)
        weights = weights / weights.sum()

        def mean(of: asked.Array) -> asked.Array:
            return np.array([of @ weights])

        return cls(
            replace(
                demand,
                dt_s=np.array([float(LONG_S)]),
                mb_s=mean(demand.mb_s),
                full_share=mean(demand.full_share),
                least_share=mean(demand.least_share),
                work={name: mean(of) for name, of in demand.work.items()},
            )
        )

    @property
    def mb_s(self) -> float:
        """How much it moves in a second."""
        return float(self.demand.mb_s[0])

    def at(self, mb_s: float) -> asked.DemandSeries:
        """Return it slower, or faster."""
        x, of = mb_s / self.mb_s, self.demand
        return replace(
            of,
            mb_s=x * of.mb_s,
            full_share=x * of.full_share,
            least_share=np.minimum(x * of.least_share, 1.0),
            work={name: x * rates for name, rates in of.work.items()},
        )


@dataclass(frozen=True)
class _Resting:
    """A likely drive at rest in its place; None where it runs away idle."""

    lumped: Lumped | None

    @classmethod
    def of(cls, one: LikelyDrive, cooling: Cooling) -> Self:
        """Put it there."""
        place = cooled_place(one.place, cooling, one.product)
        try:
            return cls(Lumped(json.dumps(one.drive), json.dumps(place)))
        except ValueError:
            return cls(None)

    def limit_mb_s(self, steady: _Steady, most_mb_s: float) -> float:
        """The highest rate of which hardly anything ever waits."""

        def holds(lumped: Lumped, mb_s: float) -> bool:
            served = steady.at(mb_s).serve(lumped.copy(), LONG_S, asked.BUFFERED_S)
            return len(served["mb_s"]) >= LONG_S and not np.isfinite(served["stopped_s"])

        return self._highest(holds, most_mb_s)

    def begins_mb_s(self, steady: _Steady, most_mb_s: float) -> float:
        """The rate at which its governor just does not begin to act, which takes much less time."""

        def is_cool(lumped: Lumped, mb_s: float) -> bool:
            demand = steady.at(mb_s)
            limit_c = demand.serve(lumped.copy(), 1)["begins_c"]
            unknown, same = np.array([np.nan]), np.array([0.0])
            followed = lumped.copy().follow(
                demand.dt_s, work=demand.work, power_w=unknown, air_k=same
            )
            return bool(followed["governed_c"][-1] < limit_c)

        return self._highest(is_cool, most_mb_s)

    def _highest(self, is_good: Callable[[Lumped, float], bool], most_mb_s: float) -> float:
        """The highest rate that is good, by bisection: `most_mb_s` at most, 0 for none."""
        if self.lumped is None:
            return 0.0
        if is_good(self.lumped, most_mb_s):
            return most_mb_s
        low, high = 0.0, most_mb_s
        while high - low > _SAME * max(low, 0.1 * most_mb_s):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if is_good(self.lumped, middle) else (low, middle)
        return low
