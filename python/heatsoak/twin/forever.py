"""How fast a drive can go for ever: the highest rate that heat never holds back."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np

from heatsoak import ranges
from heatsoak._core import Lumped
from heatsoak.errors import UsageError
from heatsoak.protocol import Pause, WorkloadStep
from heatsoak.twin import asked
from heatsoak.twin.case import Before, Cooling, LikelyDrive, WorkloadCase, cooled_place
from heatsoak.twin.readings import Array

if TYPE_CHECKING:
    from heatsoak.catalog import Drive
    from heatsoak.twin.twin import Twin

#: What is held for so long is held for ever: cases and mounts warm for an hour or two.
LONG_S = 6 * 3600
#: The exact engine shows a load for an hour; its second half counts, when caches are full.
_SHOWN_S = 3600.0
#: A drive that is written without end is full, and what its cache held then was folded long ago.
_FILLED = {"name": "fill", "rw": "write", "bs": 1 << 20, "iodepth": 8}
_FOLDED = {"kind": "pause", "duration": 3600.0}
#: Rates nearer to each other than this are the same.
_SAME, _SAME_K, _MOST_GUESSES = 0.005, 0.05, 12
#: Where a governor begins to act, a rate is near that is held just so.
_NEAR = 0.03


def for_ever_mb_s(
    subject: "Twin | Drive",
    load: WorkloadStep,
    *,
    before: Sequence[Before] = (),
    enclosure: str | None = None,
    cooling: Cooling | None = None,
    seed: int = 0,
) -> tuple[ranges.Range, bool]:
    """Return the highest rate that it holds without end, MB/s: of the drive itself, and of 90 % of
    likely ones; 0 for none. And whether heat sets that of the drive itself.

    Otherwise it is that of the flash, once the cache is full. `load` may be of any length and rate;
    the other arguments are those of `predict`. Raises UsageError for loads beside each other, which
    have no one rate, and where :meth:`WorkloadCase.of` does.
    """
    if load.beside:
        raise UsageError(f"{load.name}: has loads beside each other, and so no one rate")
    given: list[Before] = list(before)
    if load.writes:
        given += [WorkloadStep.model_validate(_FILLED), Pause.model_validate(_FOLDED)]

    def case_at(mb_s: float | None) -> tuple[WorkloadCase, _Steady]:
        free = load.model_copy(update={"rate": None, "rate_iops": None})
        step = free if mb_s is None else load.at_mb_s(mb_s)
        case = WorkloadCase.of(
            subject, step, _SHOWN_S, before=given, enclosure=enclosure, seed=seed
        )
        return case, _Steady.of(case.asked)

    case, full = case_at(None)
    changed = cooling or Cooling()
    own = _Resting.of(LikelyDrive.middle(subject, case.place), changed)
    guess_mb_s = own.begins_mb_s(full, full.mb_s)
    # at another rate caches and spare area may do otherwise
    steady = full if guess_mb_s in (0.0, full.mb_s) else case_at(guess_mb_s)[1]
    begins_mb_s = own.begins_mb_s(steady, full.mb_s)
    limit_mb_s = own.limit_mb_s(steady, full.mb_s, begins_mb_s)
    # governors that hold a rate back a little do so above where they begin: as this one, so others
    bent = limit_mb_s / begins_mb_s if begins_mb_s else 1.0
    others = (_Resting.of(one, changed) for one in case.likely)
    limits = [min(bent * one.begins_mb_s(steady, full.mb_s), full.mb_s) for one in others]
    low, high = np.quantile(limits, ranges.tails(ranges.FITTED_LEVEL), method="weibull").tolist()
    held = ranges.Range.around(limit_mb_s, (low, high), "drives", ranges.FITTED_LEVEL).rounded(1)
    return held, limit_mb_s < full.mb_s


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

        def mean(of: Array) -> Array:
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

    def limit_mb_s(self, steady: _Steady, most_mb_s: float, near_mb_s: float) -> float:
        """The highest rate of which hardly anything ever waits, `most_mb_s` at most; 0 for none.

        It may be near another, which saves looking.
        """

        def holds(mb_s: float) -> bool:
            assert self.lumped is not None
            served = steady.at(mb_s).serve(self.lumped.copy(), LONG_S, asked.BUFFERED_S)
            return len(served["mb_s"]) >= LONG_S and not np.isfinite(served["stopped_s"])

        if self.lumped is None or near_mb_s >= most_mb_s or holds(most_mb_s):
            return 0.0 if self.lumped is None else most_mb_s
        low, high, guesses = 0.0, most_mb_s, [(1 + _NEAR) * near_mb_s, (1 - _NEAR) * near_mb_s]
        while high - low > _SAME * max(low, 0.1 * most_mb_s):
            middle = guesses.pop() if guesses else 0.5 * (low + high)
            if low < middle < high:
                low, high = (middle, high) if holds(middle) else (low, middle)
        return low

    def begins_mb_s(self, steady: _Steady, most_mb_s: float) -> float:
        """The rate at which its governor just does not begin to act, which takes much less time."""
        if self.lumped is None:
            return 0.0
        limit_c = float(steady.demand.serve(self.lumped.copy(), 1)["begins_c"])
        unknown, same = np.array([np.nan]), np.array([0.0])

        def too_warm_k(lumped: Lumped, mb_s: float) -> float:
            of = steady.at(mb_s)
            followed = lumped.copy().follow(of.dt_s, work=of.work, power_w=unknown, air_k=same)
            return float(followed["governed_c"][-1]) - limit_c

        low, high = 0.01 * most_mb_s, most_mb_s
        below_k, above_k = (too_warm_k(self.lumped, mb_s) for mb_s in (low, high))
        if above_k < 0 or below_k >= 0:
            return most_mb_s if above_k < 0 else 0.0
        # a temperature is nearly a line over the rate
        for _ in range(_MOST_GUESSES):
            guess = low - below_k * (high - low) / (above_k - below_k)
            if abs(rise_k := too_warm_k(self.lumped, guess)) < _SAME_K:
                return guess
            low, below_k, high, above_k = (
                (guess, rise_k, high, above_k) if rise_k < 0 else (low, below_k, guess, rise_k)
            )
        return low
