"""Decides during a run which probes are taken: steps that depend on whether an earlier one fell."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import polars as pl

from heatsoak import words
from heatsoak.analysis import limit
from heatsoak.analysis.falls import Drop
from heatsoak.analysis.falls.find import MIN_S
from heatsoak.analysis.rounds import mean_iops
from heatsoak.analysis.series import throughput
from heatsoak.analysis.view import drops_of
from heatsoak.bench.heating import Steadiness
from heatsoak.protocol import Step, WorkloadStep

#: What a drop is seen in.
RATES = ("t_s", "interval_s", "read_bw_mb_s", "write_bw_mb_s", "read_iops", "write_iops")
#: A step that a drop may end is judged this often while it runs...
CHECK_S = 5.0
#: ...or after this share of the time it has run for: a longer series takes longer to judge.
CHECK_SHARE = 0.02
#: Samples come a few at a time: more frames than this are joined.
_MAX_FRAMES = 1000


@dataclass(frozen=True)
class Decision:
    """Whether a probe is taken, and why: ``"'write' fell by 62 % after 18 s"``."""

    is_taken: bool
    reason: str


@dataclass
class _Rates:
    """The rates of a step, as far as it has come."""

    frames: list[pl.DataFrame] = field(default_factory=list)
    start_s: float | None = None
    end_s: float = 0.0
    checked_s: float = 0.0

    def append(self, samples: pl.DataFrame) -> None:
        self.frames.append(samples.select(name for name in RATES if name in samples.columns))
        if len(self.frames) > _MAX_FRAMES:
            self.frames = [pl.concat(self.frames, how="diagonal")]
        if self.start_s is None:
            self.start_s = float(samples["t_s"][0])
        self.end_s = float(samples["t_s"][-1])

    @property
    def duration_s(self) -> float:
        return 0.0 if self.start_s is None else self.end_s - self.start_s

    def drops(self) -> list[Drop] | None:
        if not self.frames:
            return None
        self.frames = [pl.concat(self.frames, how="diagonal")]
        return drops_of(self.frames[0])


@dataclass
class Seeker:
    """Finds how fast a drive goes for ever: tries rates, and says when a stream has told enough.

    Attributes:
        tracks: the step whose rate is sought.
        trials: what was found of each rate.
    """

    tracks: str
    trials: list[limit.Trial] = field(default_factory=list)
    _asked_mb_s: float | None = None
    _temps_c: list[tuple[float, float]] = field(default_factory=list)

    @property
    def is_over(self) -> bool:
        """Whether no further rate need be tried."""
        return bool(self.trials) and limit.next_mb_s(self.trials) is None

    def aimed(self, step: WorkloadStep, rate_mb_s: float | None = None) -> WorkloadStep:
        """Return the step at the next rate, or at the one that it was recorded with."""
        self._temps_c = []
        self._asked_mb_s = rate_mb_s or (limit.next_mb_s(self.trials) if self.trials else None)
        return step if self._asked_mb_s is None else step.at_mb_s(self._asked_mb_s)

    def see(self, t_s: float, temp_c: float | None) -> None:
        """Take a reading of the drive's temperature."""
        if temp_c is not None:
            self._temps_c.append((t_s, temp_c))

    def judge(self, rates: _Rates) -> limit.Trial | None:
        """Return what the stream that runs has shown so far."""
        if not rates.frames or rates.start_s is None:
            return None
        rates.frames = [pl.concat(rates.frames, how="diagonal")]
        first = float(rates.frames[0]["t_s"][0] - (rates.frames[0]["interval_s"][0] or 0.0))
        readings = np.array(self._temps_c).reshape(-1, 2).T
        temps = readings[0] - first, readings[1]
        return limit.trial_of(throughput(rates.frames[0], first), self._asked_mb_s, temps)

    def has_settled(self) -> bool:
        """Whether the temperature no longer rises."""
        if not self._temps_c:
            return False
        steadiness = Steadiness(self._temps_c[0][0])
        for t_s, temp_c in self._temps_c:
            steadiness.add(t_s, {"drive": temp_c})
        return steadiness.is_steady(self._temps_c[-1][0])


@dataclass(frozen=True)
class _Outcome:
    """What became of a step; `drop` is the deepest one of a step that fell."""

    kind: Literal["fell", "steady", "short", "failed", "skipped"]
    drop: Drop | None = None


class Prober:
    """Judges the steps that later ones depend on, and decides which of those are taken.

    Judging must never end a run: where it fails, `warn` is called, and the probes are taken.

    Attributes:
        mean_iops: of the steps that rounds track, one for each round.
        seeker: what finds the rate of the rounds that are taken, where they seek one.
    """

    def __init__(
        self, steps: Iterable[Step], *, can_purge: bool, warn: Callable[[str], None]
    ) -> None:
        """Take the steps in order; `can_purge` says whether a purge can be known to be one."""
        self._steps = {step.name: step for step in steps}
        self._asked = {name for step in self._steps.values() for name in step.only_if_drop_in}
        self._tracked = {
            f"{step.tracks}/{number}"
            for step in self._steps.values()
            if step.kind == "rounds" and step.tracks is not None
            for number in range(1, step.at_most + 1)
        }
        self.mean_iops: list[float] = []
        self.seeker: Seeker | None = None
        self._can_purge = can_purge
        self._warn = warn
        self._outcomes: dict[str, _Outcome] = {}
        self._was_done: dict[str, bool] = {}
        self._rates: _Rates | None = None

    def decide(self, step: Step) -> Decision | None:
        """Return whether `step`, whose turn it is, is taken; None for one that always is."""
        if not step.is_probe:
            return None
        decision = self._decide(step)
        if not decision.is_taken:
            self._was_done[step.name] = False
            self._outcomes[step.name] = _Outcome("skipped")
        return decision

    def is_due(self, step: Step) -> bool:
        """Whether a step that comes later is taken, by what is known so far."""
        if step.purges and not self._can_purge:
            return False
        if (name := step.only_after) is not None:
            is_done = (
                self._was_done[name] if name in self._was_done else self.is_due(self._steps[name])
            )
            if not is_done:
                return False
        outcomes = (self._outcomes.get(name) for name in step.only_if_drop_in)
        return not step.only_if_drop_in or any(one is not None and one.drop for one in outcomes)

    def begin(self, step: Step) -> None:
        """A step begins."""
        is_asked = step.name in self._asked | self._tracked or step.may_end_early
        self._rates = _Rates() if step.loads and is_asked else None

    def append(self, samples: pl.DataFrame) -> None:
        """Take samples of the step that is running."""
        if self._rates is not None:
            self._rates.append(samples)

    def was_down_for(self, min_s: float) -> bool:
        """Whether the running step has been slowed for `min_s` in all.

        Looks only now and then, and says no in between.
        """
        rates = self._rates
        if rates is None:
            return False
        wait_s = max(CHECK_S, CHECK_SHARE * rates.duration_s)
        if rates.duration_s < min_s or rates.end_s - rates.checked_s < wait_s:
            return False
        rates.checked_s = rates.end_s
        drops = self._drops(rates, "cannot tell whether it fell, so it runs to its end")
        if drops == "failed":
            rates.checked_s = float("inf")
            return False
        return sum(drop.end_s - drop.onset_s for drop in drops or []) >= min_s

    def is_told(self, t_s: float, temp_c: float | None) -> bool:
        """Whether the running step has shown whether its rate, which is sought, is held."""
        seeker, rates = self.seeker, self._rates
        if seeker is None or rates is None:
            return False
        seeker.see(t_s, temp_c)
        if rates.end_s - rates.checked_s < max(CHECK_S, CHECK_SHARE * rates.duration_s):
            return False
        rates.checked_s = rates.end_s
        # what is behind has its whole time: a cache may be folded for most of an hour
        return (trial := seeker.judge(rates)) is not None and trial.is_held and seeker.has_settled()

    def end(self, step: Step, *, was_done: bool = True) -> None:
        """A step is over; `was_done` says whether it did what it is for."""
        self._was_done[step.name] = was_done
        rates, self._rates = self._rates, None
        if rates is not None and step.name in self._tracked:
            self.mean_iops.append(mean_iops(rates.frames))
            if self.seeker is not None and (trial := self.seeker.judge(rates)) is not None:
                self.seeker.trials.append(trial)
        if rates is None or step.name not in self._asked:
            return
        drops = self._drops(rates, f"'{step.name}' could not be judged, so its probes are run")
        if drops == "failed":
            outcome = _Outcome("failed")
        elif drops:
            outcome = _Outcome("fell", max(drops, key=lambda drop: drop.depth))
        else:
            outcome = _Outcome("short" if drops is None else "steady")
        self._outcomes[step.name] = outcome

    def _drops(self, rates: _Rates, warning: str) -> list[Drop] | Literal["failed"] | None:
        """Judge what has come of a step; None where that is too short."""
        try:
            return rates.drops()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # whatever is wrong, a panic in Rust included
            lines = str(error).splitlines()
            self._warn(f"{warning}: {lines[0] if lines else type(error).__name__}")
            return "failed"

    def _decide(self, step: Step) -> Decision:
        if step.purges and not self._can_purge:
            return Decision(False, "a file cannot be purged for certain, only a whole drive can")
        if step.only_after is not None and not self._was_done.get(step.only_after, False):
            return Decision(False, f"'{step.only_after}' was not done")
        runtime_s = step.runtime_s if isinstance(step, WorkloadStep) else None
        if runtime_s is not None and runtime_s < MIN_S:
            return Decision(False, f"{words.duration_text(runtime_s)} are too short to judge")
        if not step.only_if_drop_in:
            return Decision(True, f"'{step.only_after}' was done")
        return self._look_for_drop(step.only_if_drop_in)

    def _look_for_drop(self, names: tuple[str, ...]) -> Decision:
        found: dict[str, list[str]] = {}
        for name in names:
            outcome = self._outcomes.get(name, _Outcome("skipped"))
            if (drop := outcome.drop) is not None:
                fell = f"fell by {words.percent_text(100 * drop.depth)}"
                return Decision(True, f"'{name}' {fell} after {words.duration_text(drop.onset_s)}")
            found.setdefault(outcome.kind, []).append(f"'{name}'")
        if "failed" in found:
            return Decision(True, f"{words.listed(found['failed'])} could not be judged")
        said = {"steady": "nothing fell in", "short": "too short to judge:", "skipped": "not run:"}
        whys = [f"{said[kind]} {' or '.join(found[kind])}" for kind in said if kind in found]
        return Decision(False, "; ".join(whys))
