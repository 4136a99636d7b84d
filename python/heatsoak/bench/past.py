"""What a run that was cut had done, and where one goes on with it.

Steps that had ended are kept. The step that was cut is taken again from its begin, and with it
what had made the drive ready for it directly before: pauses always, purges and preconditions where
the cut step may have changed data. A test file of our own is gone with the process that made it, so
there the preconditions since the last purge are repeated as well.
"""

from collections import deque
from functools import cached_property
from typing import Any

import polars as pl

from heatsoak.bench.interruptions import passed_since
from heatsoak.bench.probes import RATES
from heatsoak.bench.same_run import require_same_run
from heatsoak.bench.taken import Turn, turns_of
from heatsoak.errors import UsageError
from heatsoak.protocol import (
    Precondition,
    Protocol,
    Purge,
    Step,
)
from heatsoak.recording import Recording, Reopened, reopen
from heatsoak.target import Identity
from heatsoak.units import format_bytes, format_duration


class Past:
    """A recording that is to be gone on with.

    Attributes:
        restores: preconditions that had ended and are taken once more before anything else, each
            with its place among the protocol's steps.
        capacity: the purge that left a part of the target unused, where the last one did.
        start_s: what the recording's clock shows now.
    """

    def __init__(self, recording: Recording) -> None:
        """Read what was done; raises UsageError where the recording is of no run."""
        protocol = recording.meta.protocol
        if not isinstance(protocol, Protocol) or recording.meta.part_of_copy is not None:
            what = "one of a copy's two" if isinstance(protocol, Protocol) else "no run of ours"
            raise UsageError(
                f"{recording.path}: is {what}, and cannot be gone on with: name a new directory "
                "with -o"
            )
        self.recording = recording
        self.protocol = protocol
        turns, self._begun, self._ended = turns_of(protocol, recording.events)
        self._cut = turns[-1] if turns and not turns[-1].is_over else None
        first = self._first_again(turns)
        self._kept = deque(turns[:first])
        self._again = turns[first:]
        self.since = self._again[0].at if self._again else None
        self.kept_count = len(self._kept)
        self.restores = self._lost() if self._file_is_gone else []
        self.capacity = self._capacity()
        self._last_s = self._seen_until_s()
        self._passed_s = passed_since(recording.meta)
        # a wall clock that was set back must not let time go backwards
        self.start_s = max(self._last_s, self._passed_s or 0.0)
        self.attempt = 0

    def require_same(
        self, protocol: Protocol, conditions: dict[str, Any], identity: Identity
    ) -> None:
        """Raise UsageError unless it is the same protocol, conditions and drive."""
        require_same_run(self.recording, protocol, conditions, identity)
        size_bytes = self.recording.meta.drive.get("size_bytes")
        if identity.size_bytes != size_bytes:
            raise UsageError(
                f"{self.recording.path}: its target had {format_bytes(int(size_bytes or 0))}, and "
                f"this one has {format_bytes(identity.size_bytes)}: make it as large as it was, or "
                "begin anew in a new directory with -o"
            )

    def reopen(self) -> Reopened:
        """Make the recording one that can be written on."""
        reopened = reopen(self.recording, self.since)
        self.recording, self.attempt = reopened.recording, reopened.attempt
        self.__dict__.pop("_samples", None)
        return reopened

    def describe(self) -> str:
        """Return what happens in a sentence, for the recording and for whoever watches."""
        gap = format_duration(self.start_s - self._last_s)
        later = "some time later" if self._passed_s is None else f"{gap} later"
        status, reason = self.recording.meta.status, self.recording.meta.reason
        how = {"running": "was cut", "failed": "failed"}.get(status, f"was {status}")
        where = "between two steps"
        if self._cut is not None:
            where = f"in '{self._cut.name}' after {self._last_s - self._cut.begin_s:.1f} s"
        because = f" ({reason})" if reason and status == "failed" else ""
        names = list(dict.fromkeys(f"'{turn.name}'" for turn in self._again))
        names = [
            f"'{step.name}'" for _, step in self.restores if f"'{step.name}'" not in names
        ] + names
        again = f"; taken again: {', '.join(names)}" if names else ""
        lost = ", since the test file was gone" if self._file_is_gone and names else ""
        return f"the run {how} {where}{because}, and was gone on with {later}{again}{lost}"

    @property
    def file_bytes(self) -> int | None:
        """How large a test file of our own has to be made again; None for what has its size."""
        return int(self.recording.meta.drive["size_bytes"]) if self._file_is_gone else None

    def take(self, index: int, number: int | None = None) -> Turn | None:
        """Return the turn that a step had, where it is kept; in the order of the steps.

        Raises UsageError where another step's turn comes first.
        """
        if not self._kept:
            return None
        turn = self._kept[0]
        if (turn.index, turn.round) != (index, number):
            raise UsageError(
                f"{self.recording.path}: its events do not fit its protocol at '{turn.name}': "
                "it cannot be gone on with; name a new directory with -o"
            )
        return self._kept.popleft()

    def has_begun(self, index: int) -> bool:
        """Whether rounds had begun, and nothing before them is taken again."""
        return self._is_kept(self._begun.get(index))

    def has_ended(self, index: int) -> bool:
        """Whether rounds had ended."""
        return self._is_kept(self._ended.get(index))

    def kept_s(self, index: int) -> float:
        """Return how long the kept turns of rounds took that have not been asked for yet."""
        return sum(turn.duration_s for turn in self._kept if turn.index == index)

    def drop_rounds(self, index: int) -> None:
        """Leave out the turns of rounds that had ended."""
        while self._kept and self._kept[0].index == index and self._kept[0].round is not None:
            self._kept.popleft()

    def samples(self, step: str) -> pl.DataFrame | None:
        """Return the rates that were recorded of a step."""
        return self._samples.get((step,))

    @cached_property
    def _samples(self) -> dict[tuple[Any, ...], pl.DataFrame]:
        columns = [name for name in RATES if name in self.recording.meta.columns or name == "t_s"]
        rows = self.recording.scan(["step", *columns]).filter(
            pl.col("step").is_not_null(), pl.col("interval_s").is_not_null()
        )
        return rows.collect().partition_by("step", as_dict=True, include_key=False)

    def _is_kept(self, at: int | None) -> bool:
        return at is not None and (self.since is None or at < self.since)

    @property
    def _file_is_gone(self) -> bool:
        drive = self.recording.meta.drive
        return drive.get("kind") == "file" and not drive.get("details", {}).get("existing")

    def _first_again(self, turns: list[Turn]) -> int:
        """The first turn, by its place among all, that is taken again."""
        first = len(turns) - (self._cut is not None)
        changed = self._cut is not None and self._step_of(self._cut).changes_data
        while first > 0:
            step = self._step_of(turns[first - 1])
            if not step.only_prepares:
                break
            if not (changed or self._file_is_gone or step.kind == "pause"):
                break
            first -= 1
        return first

    def _lost(self) -> list[tuple[int, Precondition]]:
        """The kept preconditions that made what was in the test file; of rounds the last."""
        found: dict[tuple[int, str], Precondition] = {}
        for turn in self._kept:
            step = self._step_of(turn)
            if step.purges:
                found.clear()
            elif isinstance(step, Precondition) and not turn.is_skipped:
                found[turn.index, turn.name.removesuffix(f"/{turn.round}")] = step
        return [(index, step) for (index, _), step in found.items()]

    def _capacity(self) -> Purge | None:
        purges = [self._step_of(turn) for turn in self._kept if turn.was_done]
        last = next((step for step in reversed(purges) if step.kind == "purge"), None)
        return None if last is None or last.takes_all else last

    def _step_of(self, turn: Turn) -> Step:
        step = self.protocol.steps[turn.index]
        if turn.round is None or step.kind != "rounds":
            return step
        return next(one for one in step.of_round(turn.round) if one.name == turn.name)

    def _seen_until_s(self) -> float:
        last = self.recording.scan(["t_s"]).select(pl.col("t_s").max()).collect().item()
        times = [event.t_s for event in self.recording.events]
        return max([last or 0.0, self.recording.meta.duration_s or 0.0, *times])
