"""What a recording did to its drive over time: loads, rests, purges, bytes written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from heatsoak.protocol import Conditions, Load, LoadStep, Observation, Observed, Protocol
from heatsoak.recording import Event, Recording, SensorMeta, step_of_attempt
from heatsoak.units import GB

if TYPE_CHECKING:
    from heatsoak.catalog import Likeness


#: The keys that define a load. Where a log lacks one of the first, it is not known.
WORKLOAD = tuple(Load.model_fields)
MORE = ("rate", "rate_iops", "compress_pct", "fio", "beside")
REPLAY = ("trace", "scale", "seed", "idle_limit_s", "damaged", "beyond")
_DIRECTIONS = ("reads", "writes")


def load_of(step: object) -> tuple[Any, ...]:
    """Return what a step asks of a drive, as far as known; the same for steps with the same load,
    whatever their lengths."""
    keys = (*WORKLOAD, *MORE, *REPLAY, *_DIRECTIONS)
    return tuple(getattr(step, key, 0) or 0 for key in keys)


@dataclass(frozen=True)
class StepLoad:
    """One step that loaded the drive, preconditioning included.

    Attributes:
        start_s: when its load started, from the recording's start.
        end_s: its last sample.
        written_gb: how much it wrote; 0 if that was not logged.
    """

    step: LoadStep | Observed
    start_s: float
    end_s: float
    written_gb: float


@dataclass(frozen=True)
class Course:
    """A recording's loads and purges, and the drive that they ran on.

    Attributes:
        drive: the target's identity, as the recording has it.
        purges_s: when each purge ended.
        begins_purged: whether the drive was empty when the recording started.
        distrusted: the names of temperatures that are not used as evidence.
        sensors: those of the recording.
        protocol: what was asked of it, or the kind of log; None if unknown.
    """

    drive: dict[str, Any]
    conditions: Conditions
    loads: tuple[StepLoad, ...] = ()
    purges_s: tuple[float, ...] = ()
    begins_purged: bool = False
    distrusted: frozenset[str] = field(default=frozenset())
    sensors: Sequence[SensorMeta] = ()
    protocol: Protocol | Observation | None = None

    @property
    def drive_gb(self) -> float | None:
        """The size of the whole drive; None if the target was a part of one, or if neither the
        recording nor the drive's model tells it."""
        if self.drive.get("kind") in ("file", "nbd"):
            return None
        size, model = self.drive.get("size_bytes"), self.drive.get("model")
        if not size and model:
            from heatsoak.catalog import named_bytes  # as below

            size = named_bytes(str(model))
        return float(size) / 1e9 if size else None

    @property
    def known(self) -> Likeness | None:
        """The catalog's drive of the same model or its family; None if nobody measured one."""
        if not (model := self.drive.get("model")):
            return None
        from heatsoak.catalog import like  # few recordings are held against the catalog

        size = self.drive_gb and round(self.drive_gb * GB)
        found = like(str(model), size)
        return None if found is None or found.drive.basis else found

    @property
    def hint(self) -> Likeness | None:
        """The same but for a simulated drive, of which it would be the truth.

        It is no more than that: makers change what is in a drive and keep its name.
        """
        return None if self.drive.get("simulated") else self.known

    @property
    def link_ceiling_mb_s(self) -> tuple[float, float] | None:
        """What the drive's link carries, and what it would at its full width and generation."""
        link = (self.drive.get("details") or {}).get("link") or {}
        now, most = link.get("ceiling_mb_s"), link.get("max_ceiling_mb_s")
        return (float(now), float(most or now)) if now else None

    def loads_before(self, start_s: float) -> list[StepLoad]:
        """Return the loads that started before `start_s`."""
        return [load for load in self.loads if load.start_s < start_s - 1e-6]

    def rest_before_s(self, start_s: float) -> float:
        """Return how long the drive had no load before `start_s`; infinite before the first
        load."""
        ends = [load.end_s for load in self.loads_before(start_s)]
        return max(0.0, start_s - max(ends)) if ends else math.inf

    def since_written_s(self, start_s: float) -> float:
        """Return how long nothing had been written before `start_s`; infinite on an empty drive."""
        ends = [load.end_s for load in self.loads_before(start_s) if load.written_gb > 0]
        last_s = max(ends, default=-math.inf)
        return math.inf if self.was_purged_between(last_s, start_s) else max(start_s - last_s, 0.0)

    def was_purged_between(self, first_s: float, last_s: float) -> bool:
        """Return whether a purge ended in this time."""
        return any(first_s < t_s <= last_s + 1e-6 for t_s in self.purges_s)

    def last_purge_s(self, t_s: float) -> float | None:
        """Return when the drive was last empty, up to `t_s`; None if unknown."""
        purges = [purge_s for purge_s in self.purges_s if purge_s <= t_s + 1e-6]
        if purges:
            return max(purges)
        return 0.0 if self.begins_purged else None

    def written_before_gb(self, start_s: float) -> float:
        """Return how much earlier loads wrote since the last purge, or since the start."""
        purge_s = self.last_purge_s(start_s)
        since_s = -math.inf if purge_s is None else purge_s
        since = (load for load in self.loads_before(start_s) if load.start_s >= since_s - 1e-6)
        return sum(load.written_gb for load in since)

    def unrested_gb(self, start_s: float, rest_s: float) -> float:
        """Return how much was written before `start_s` without a purge or rest of `rest_s`."""
        total_gb, before_s = 0.0, start_s
        for load in reversed(self.loads_before(start_s)):
            if before_s - load.end_s >= rest_s or self.was_purged_between(load.end_s, start_s):
                break
            total_gb, before_s = total_gb + load.written_gb, load.start_s
        return total_gb


def end_of(recording: Recording, step: str) -> Event | None:
    """Return the event with which a step ended, of several attempts the last; None without one."""
    events = reversed(recording.events)
    return next((one for one in events if one.kind == "step-end" and one.step == step), None)


def course_of(
    recording: Recording, samples: pl.DataFrame, distrusted: frozenset[str] = frozenset()
) -> Course:
    """Return the course of a recording; `samples` hold step, time and write rates."""
    meta = recording.meta
    return Course(
        drive=meta.drive,
        conditions=_conditions(recording),
        loads=tuple(_loads(recording, samples)),
        purges_s=tuple(
            event.t_s
            for event in recording.events
            if event.kind == "step-end"
            and event.step in _purges(recording)
            and event.data.get("was_done", True)
        ),
        # each recording has a new simulated drive
        begins_purged=bool(meta.drive.get("simulated")),
        distrusted=distrusted,
        sensors=meta.sensors,
        protocol=meta.protocol,
    )


def _conditions(recording: Recording) -> Conditions:
    """A recording's labels, with the place of a simulated drive, which is how it is cooled."""
    place = (recording.meta.drive.get("details") or {}).get("enclosure")
    return ({"enclosure": str(place)} if place else {}) | dict(recording.meta.conditions)


def _purges(recording: Recording) -> set[str | None]:
    return {
        event.step
        for event in recording.events
        if event.kind == "step-begin" and event.data.get("step_kind") == "purge"
    }


def _loads(recording: Recording, samples: pl.DataFrame) -> list[StepLoad]:
    steps = {step.name: step for step in recording.meta.protocol.workload_steps}
    if samples["interval_s"].null_count() == samples.height:
        return []
    written = pl.lit(0.0)
    if "write_bw_mb_s" in samples.columns:
        written = pl.col("write_bw_mb_s").fill_nan(None) * pl.col("interval_s")
    rows = (
        samples.lazy()
        .filter(pl.col("step").is_not_null(), pl.col("interval_s").is_not_null())
        .group_by("step", maintain_order=True)
        .agg(
            (pl.col("t_s") - pl.col("interval_s")).min().alias("start_s"),
            pl.col("t_s").max().alias("end_s"),
            (written.sum() / 1e3).alias("written_gb"),
        )
        .collect()
    )
    return [
        StepLoad(steps[name], row["start_s"], row["end_s"], row["written_gb"] or 0.0)
        for row in rows.iter_rows(named=True)
        # an interrupted attempt loaded the drive too
        if (name := step_of_attempt(row["step"], steps)) is not None and np.isfinite(row["start_s"])
    ]
