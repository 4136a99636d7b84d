"""A drop with everything that may be evidence of its cause."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from heatsoak.analysis.falls import Drop
from heatsoak.analysis.view import SensorTrack, StepView
from heatsoak.recording.columns import is_of_drive

#: A start this close to the level before counts as full speed.
FULL = 0.9
#: A rate of which four fifths stay within this share of the median for so long is held.
_EVEN, _MIN_EVEN_S, _MIN_EVEN_SAMPLES = 0.2, 20.0, 10
#: A part this hot, and this much hotter than the drive as a whole, has a limit of its own.
HOT_PART_C, HOTTER_K = 80.0, 10.0


@dataclass(frozen=True)
class Finding:
    """One piece of evidence: what it is about, what was seen, and a sentence for people.

    `about` and `seen` name a row in the table of weights.
    """

    about: str
    seen: str
    text: str

    @property
    def pair(self) -> tuple[str, str]:
        """Its row in the table of weights."""
        return self.about, self.seen


@dataclass(frozen=True)
class Case:
    """A drop, the step it is in, and what else is known of the drive.

    Attributes:
        others: the other judged steps of the same recording, in time order.
        siblings: judged steps of other recordings of the same drive.
        index: which of the step's drops it is.
    """

    drop: Drop
    view: StepView
    others: list[StepView] = field(default_factory=list)
    siblings: list[StepView] = field(default_factory=list)
    index: int = 0

    @property
    def is_nested(self) -> bool:
        """Whether it falls from a level that was already lowered."""
        drops = self.view.drops or []
        if self.index == 0 or self.index >= len(drops):
            return False
        before = drops[self.index - 1]
        return before.onset_s < self.drop.onset_s <= before.end_s + 1e-6 and (
            not before.recovered or self.drop.onset_s < before.end_s - 1e-6
        )

    @property
    def level_since_s(self) -> float:
        """When the level that it fell from started."""
        drops = self.view.drops or []
        return drops[self.index - 1].onset_s if self.is_nested else self._last_end_s(drops)

    def _last_end_s(self, drops: list[Drop]) -> float:
        ends = [drop.end_s for drop in drops[: self.index] if drop.recovered]
        return max(ends, default=0.0)

    @property
    def length_s(self) -> float:
        """The length of the drop."""
        return self.drop.end_s - self.drop.onset_s

    @cached_property
    def hot_part(self) -> str | None:
        """The column of a part of the drive that was too hot at the onset, whatever the composite.

        None if it was none: then the drive's temperature is :attr:`StepView.temp`.
        """
        parts = [
            (temp_c, name)
            for name in self.view.trusted_temperatures
            if is_of_drive(name)
            and (temp_c := self.view.track(name).at(self.drop.onset_s)) is not None
        ]
        temp_c, name = max(parts, default=(0.0, ""))
        whole_c = self.view.temp.at(self.drop.onset_s)
        if whole_c is None or temp_c < max(HOT_PART_C, whole_c + HOTTER_K):
            return None
        return name

    @property
    def temp(self) -> SensorTrack:
        """The temperature that speaks for the drive in this drop."""
        return self.temp_in(self.view)

    def temp_in(self, view: StepView) -> SensorTrack:
        """Return the same temperature in another step."""
        return view.temp if self.hot_part is None else view.track(self.hot_part)

    @cached_property
    def onset_c(self) -> float | None:
        """The drive's temperature at the onset."""
        return self.temp.at(self.drop.onset_s)

    @cached_property
    def late_c(self) -> float | None:
        """The drive's mean temperature in the second half of the drop; None if it is too short."""
        half_s = self.drop.onset_s + 0.5 * self.length_s
        late = self.temp.between(half_s, self.drop.end_s)
        return float(np.mean(late)) if len(late) and self.length_s >= 10 else None

    def before_and_during(self, column: str) -> tuple[float, float] | None:
        """Return the medians of a column's readings before the onset and in the drop."""
        track = self.view.track(column)
        before = track.between(self.level_since_s, self.drop.onset_s)
        during = track.between(self.drop.onset_s, self.drop.end_s)
        if len(before) == 0 or len(during) == 0:
            return None
        return float(np.median(before)), float(np.median(during))

    def is_even(self, start_s: float, end_s: float) -> bool:
        """Return whether the rate was held, as a benchmark or a copy does and a user's work does
        not."""
        rates = self.view.throughput.between(start_s, end_s).values
        if end_s - start_s < _MIN_EVEN_S or len(rates) < _MIN_EVEN_SAMPLES:
            return False
        low, middle, high = np.quantile(rates, (0.1, 0.5, 0.9))
        return bool(high - low < _EVEN * middle)

    def later_alike(self) -> list[StepView]:
        """Return later steps of the recording with the same load as this one."""
        return [
            other
            for other in self.others
            if other.start_s > self.view.start_s and alike(other.step, self.view.step)
        ]


def is_at_full_speed(view: StepView, views: Iterable[StepView]) -> bool:
    """Return whether no step with the same load started clearly faster than this one.

    A step that starts hot may be throttled from its first sample on, and then never falls.
    """
    return not any(
        FULL * other.level > view.level and alike(other.step, view.step)
        for other in views
        if other is not view
    )


def alike(one: object, other: object) -> bool:
    """Return whether two steps have the same load, as far as known."""
    keys = ("rw", "bs", "iodepth", "numjobs", "rwmixread", "reads", "writes")
    return all(getattr(one, key, None) == getattr(other, key, None) for key in keys)
