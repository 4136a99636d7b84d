"""A demand over time on likely drives: what heat makes wait, for how long, and how much of it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from heatsoak._core import Lumped
from heatsoak.catalog import Drive
from heatsoak.twin.case import DRAWS, Cooling, LikelyDrives
from heatsoak.twin.demand import Demand
from heatsoak.twin.readings import Array
from heatsoak.twin.twin import Twin

#: A rate is held as long as no more of it than this time's is waiting: what a recorder buffers.
BUFFERED_S = 1.0


@dataclass(frozen=True)
class Outcome:
    """What a demand was to one likely drive.

    Attributes:
        onset_s: when it was first held back so far that more than :data:`BUFFERED_S` waited; None
            if it never was. What follows is 0 then.
        onset_gb: what it had moved by then.
        times: how often it was held back so far, until it had caught up.
        held_s: for how long in all, and `longest_s` at a time.
        waiting_gb: the most that waited.
        late_pct: the share of all that was moved while something waited for heat, or never.
        hottest_c: what its governor saw at most; `reported_c` its own sensor.
        limit_c: where its governor begins to act.
        mean_mb_s: what it moved in the mean.
    """

    onset_s: float | None
    onset_gb: float
    times: int
    held_s: float
    longest_s: float
    waiting_gb: float
    late_pct: float
    hottest_c: float
    reported_c: float
    limit_c: float
    mean_mb_s: float

    @classmethod
    def of(cls, served: dict[str, Any], demand: Demand) -> Self:
        """Sum up what the engine gave."""
        late_s: Array = served["late_s"]
        moved_mb: Array = served["mb_s"]
        edges = np.diff((late_s > 0).astype(np.int8), prepend=0, append=0)
        begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
        most_s = np.maximum.reduceat(late_s, begins) if len(begins) else np.zeros(0)
        begins, ends = begins[most_s > BUFFERED_S], ends[most_s > BUFFERED_S]
        lengths_s = ends - begins
        inside = np.zeros(len(late_s), dtype=np.bool_)
        for begin, end in zip(begins, ends, strict=True):
            inside[begin:end] = True
        late_mb = float(moved_mb[inside].sum())
        if inside[-1]:
            late_mb += float(served["waiting_mb"][-1])
        return cls(
            onset_s=float(begins[0]) if len(begins) else None,
            onset_gb=float(moved_mb[: begins[0]].sum() / 1e3) if len(begins) else 0.0,
            times=len(begins),
            held_s=float(lengths_s.sum()),
            longest_s=float(lengths_s.max(initial=0)),
            waiting_gb=float(served["waiting_mb"][inside].max(initial=0.0)) / 1e3,
            late_pct=late_mb / demand.gb / 10,
            hottest_c=float(served["governed_c"].max()),
            reported_c=float(served["sensor_c"].max()),
            limit_c=served["begins_c"],
            mean_mb_s=float(moved_mb.mean()),
        )


@dataclass(frozen=True)
class DemandCase:
    """A demand on likely drives in a place, which begin at rest.

    Attributes:
        full_share: how much of its time the drive needs at full speed for each second's demand.
    """

    subject: Twin | Drive
    drives: LikelyDrives
    demand: Demand
    full_share: Array

    @classmethod
    def of(
        cls,
        subject: Twin | Drive,
        demand: Demand,
        *,
        enclosure: str | None = None,
        seed: int = 0,
        draws: int = DRAWS,
    ) -> Self:
        """Find out what the demand is to the drive; UsageError for an unknown place."""
        drives = LikelyDrives.of(subject, enclosure, seed, draws)
        share = _full_share(subject, demand, drives.enclosure.get("link_mb_s"))
        return cls(subject, drives, demand, share)

    @property
    def place(self) -> str:
        """The place's name."""
        return self.drives.place

    def outcomes(self, cooling: Cooling) -> Iterator[Outcome]:
        """Yield what becomes of it on each likely drive with other cooling.

        Raises UsageError where most of them cannot be there at all.
        """
        for lumped in self.drives.cooled(cooling):
            yield Outcome.of(self._served(lumped, np.inf), self.demand)

    def slowed(self, cooling: Cooling) -> Iterator[bool]:
        """Yield whether heat slows each likely drive, which is followed no further than needed.

        Raises UsageError as :meth:`outcomes` does.
        """
        for lumped in self.drives.cooled(cooling):
            yield bool(self._served(lumped, BUFFERED_S)["late_s"][-1] > BUFFERED_S)

    def _served(self, lumped: Lumped, most_late_s: float) -> dict[str, Any]:
        return lumped.serve(
            read_mb_s=self.demand.read_mb_s,
            write_mb_s=self.demand.write_mb_s,
            read_iops=self.demand.read_iops,
            write_iops=self.demand.write_iops,
            full_share=self.full_share,
            most_late_s=most_late_s,
        )


def slowed_in(outcomes: Iterable[Outcome]) -> float:
    """Return the share of likely drives that heat slows."""
    return float(np.mean([one.onset_s is not None for one in outcomes]))


def _full_share(subject: Twin | Drive, demand: Demand, link_mb_s: float | None) -> Array:
    drive = subject.own_base if isinstance(subject, Twin) else subject
    read_mb_s, write_mb_s = drive.read_mb_s, drive.write_mb_s
    if isinstance(subject, Twin):
        read_mb_s = subject.full_load.read_mb_s or read_mb_s
        write_mb_s = subject.full_load.write_mb_s or write_mb_s
    if link_mb_s is not None:
        read_mb_s, write_mb_s = min(read_mb_s, link_mb_s), min(write_mb_s, link_mb_s)
    # reads and writes take turns at what serves them; each is bound by its bytes or its number
    share = np.maximum(demand.read_mb_s / read_mb_s, demand.read_iops / drive.read_iops)
    share += np.maximum(demand.write_mb_s / write_mb_s, demand.write_iops / drive.write_iops)
    if is_own(subject, demand):
        # what a drive was seen to do in a second took it no longer
        share = np.minimum(share, 1.0)
    return np.ascontiguousarray(share)


def is_own(subject: Twin | Drive, demand: Demand) -> bool:
    """Return whether the drive, or one of its model, is what was recorded."""
    return demand.is_recorded and demand.model in (None, subject.model)
