"""Which levels are lowered, against the level that was held before them."""

from collections.abc import Iterator
from dataclasses import dataclass

from heatsoak.analysis.definitions import MIN_DROP, RECOVERED
from heatsoak.analysis.segments.levels import Level

#: A first step down that is at least this share of the next one belongs to the same fall.
_SAME_FALL = 0.25

_CLEARLY_LOWER = 0.01
#: A level may be this many standard errors lower than it is.
_DOUBT = 2.0


@dataclass(frozen=True)
class Span:
    """Lowered levels between normal ones.

    Attributes:
        normal: the levels before, since the begin, the last recovery, or a slow start.
        lowered: the levels from the first fall on.
        back: the level at which throughput was back; None where it never was.
        is_first: whether nothing was lowered before.
    """

    normal: list[Level]
    lowered: list[Level]
    back: Level | None
    is_first: bool

    @property
    def begin(self) -> int:
        """The first bin of the level before."""
        return self.normal[0].start

    @property
    def end(self) -> int:
        """The bin behind the last lowered one."""
        return self.lowered[-1].end if self.back is None else self.back.start


def lowered_spans(levels: list[Level]) -> Iterator[Span]:
    """Yield the stretches in which throughput is below `MIN_DROP` of the level before."""
    normal: list[Level] = [levels[0]]
    lowered: list[Level] = []
    is_first = True
    for level in levels[1:]:
        reference = _usual(normal)
        if lowered:
            if not is_back(level, reference):
                lowered.append(level)
                continue
            yield Span(normal, lowered, level, is_first)
            normal, lowered, is_first = [level], [], False
        elif level.value < (1 - MIN_DROP) * reference:
            lowered = [level]
            while len(normal) > 1 and _is_one_fall(reference, normal[-2:], lowered[0]):
                lowered.insert(0, normal.pop())
        elif (
            is_first
            and level.value > reference / RECOVERED
            and 2 * _length(level) > sum(map(_length, normal))
        ):
            # what came before was a slow start, not the level to compare with
            normal = [level]
        else:
            normal.append(level)
    if lowered:
        yield Span(normal, lowered, None, is_first)


def _is_one_fall(reference: float, last: list[Level], next_: Level) -> bool:
    before, middle = last
    is_lower = middle.value < (1 - _CLEARLY_LOWER) * reference
    return is_lower and before.value - middle.value >= _SAME_FALL * (middle.value - next_.value)


def is_back(level: Level, reference: float) -> bool:
    """Whether a level is as high as `reference`; a short one may come out low by its noise."""
    return level.value >= RECOVERED * reference * (1 - min(_DOUBT * level.error, MIN_DROP))


def _length(level: Level) -> int:
    return level.end - level.start


def _usual(levels: list[Level]) -> float:
    """The level of the best quarter of the time: a burst is none, and a creep does not lower it."""
    left = 0.25 * sum(map(_length, levels))
    for level in sorted(levels, key=lambda level: -level.value):
        left -= _length(level)
        if left <= 0:
            return level.value
    return levels[-1].value
