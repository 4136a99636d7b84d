"""A drop with everything that may be evidence of its cause."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from heatsoak.analysis import definitions
from heatsoak.analysis.falls import Drop
from heatsoak.analysis.likeness import alike
from heatsoak.analysis.view import StepView, temp_moves

#: A rate of which four fifths stay within this share of the median for so long is held.
EVEN, _MIN_EVEN_S, _MIN_EVEN_SAMPLES = 0.2, 20.0, 10
#: A fall as fast comes at once: with a sample a second, a switch shows over two or three.
AT_ONCE_S = 2.5
#: A sensor is read this near to an onset.
_AROUND_ONSET_S = 5.0
#: What begins later in a drop did not cause it; sensors and governors settle within that time.
AROUND_S = 180.0


#: What was seen, by its name in the table of weights, and a sentence that says so.
Evidence = tuple[str, str]


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
        if self.is_nested:
            return drops[self.index - 1].onset_s
        ends = [drop.back_s for drop in drops[: self.index] if drop.recovered]
        return max(ends, default=0.0)

    @property
    def own_end_s(self) -> float:
        """Where it falls further at once, whose cause may be another; else its end."""
        later = (self.view.drops or [])[self.index + 1 :]
        at_once = (one for one in later if one.shape == "step" and one.fall_s <= AT_ONCE_S)
        inside = (one.onset_s for one in at_once if one.onset_s < self.drop.end_s)
        return min(inside, default=self.drop.end_s)

    @property
    def around_s(self) -> float:
        """Until when what happens may explain the onset; a slow fall may take longer."""
        drop = self.drop
        cycles_s = 2 * (drop.period_s or 0.0)
        return min(drop.end_s, drop.onset_s + max(AROUND_S, 2 * drop.fall_s, cycles_s))

    @property
    def spans_s(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """From when to when the level before was held, and what may explain the onset happened."""
        onset_s = self.drop.onset_s
        return (self.level_since_s, onset_s), (onset_s, self.around_s)

    @property
    def settled_s(self) -> float:
        """When the fall itself is over, or the drop."""
        return min(self.drop.onset_s + self.drop.fall_s, self.drop.end_s)

    @cached_property
    def onset_c(self) -> float | None:
        """The drive's temperature at the onset."""
        return self.view.temp.at(self.drop.onset_s)

    @cached_property
    def hotter(self) -> tuple[str, float] | None:
        """Another sensor of the drive that was as hot as drives throttle at, though the drive's own
        temperature was not, and how hot, in C."""
        if self.onset_c is None or self.onset_c >= definitions.USUALLY_THROTTLING_C:
            return None
        onset_s = self.drop.onset_s
        return self.view.at_its_limit(onset_s - _AROUND_ONSET_S, onset_s + _AROUND_ONSET_S)

    @cached_property
    def has_temp(self) -> bool:
        """Whether a temperature of the drive was seen to move, and what it was at the onset."""
        return self.onset_c is not None and temp_moves(self.view, *self.others)

    @cached_property
    def late_c(self) -> float | None:
        """The drive's mean temperature in the second half of the drop; None if it is too short."""
        half_s = self.drop.onset_s + 0.5 * self.drop.length_s
        late = self.view.temp.between(half_s, self.drop.end_s)
        return float(np.mean(late)) if len(late) and self.drop.length_s >= 10 else None

    def before_and_during(self, column: str) -> tuple[float, float] | None:
        """Return the medians of a column's readings before the onset, and after it until
        `around_s`.

        Of a rate that swings, the mean is taken there: its median is one of two levels.
        """
        before, during = (self.view.track(column).between(*span_s) for span_s in self.spans_s)
        if len(before) == 0 or len(during) == 0:
            return None
        level = np.mean if self.drop.oscillates else np.median
        return float(np.median(before)), float(level(during))

    def unevenness(self, start_s: float, end_s: float) -> float:
        """Return how far most rates lie apart, over their median; infinite of too few.

        A benchmark or a copy holds its rate below `EVEN`, and a user's work does not.
        """
        rates = self.view.throughput.between(start_s, end_s).values
        if end_s - start_s < _MIN_EVEN_S or len(rates) < _MIN_EVEN_SAMPLES:
            return np.inf
        low, middle, high = np.quantile(rates, (0.1, 0.5, 0.9))
        return float((high - low) / middle) if middle > 0 else np.inf

    def later_alike(self) -> list[StepView]:
        """Return later steps of the recording with the same load as this one."""
        return [
            other
            for other in self.others
            if other.start_s > self.view.start_s and alike(other.step, self.view.step)
        ]
