"""Which levels are lowered, against the level that was held before them."""

from collections.abc import Iterator
from dataclasses import dataclass

from heatsoak.analysis.segments.drop import MIN_DROP, RECOVERED
from heatsoak.analysis.segments.levels import Level

#: A first step down that is at least this share of the next one belongs to the same fall.
_SAME_FALL = 0.25

#: A level may be this many standard errors lower than it is.
_DOUBT = 2.0


@dataclass(frozen=True)
class Span:
    """Lowered levels between normal ones.

    Attributes:
        normal: the levels before, since the begin, the last recovery, or a slow start.
        lowered: the levels from the first fall on.
        back: the level at which throughput was back; None where it never was.
    """

    normal: list[Level]
    lowered: list[Level]
    back: Level | None

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
        reference = _mean(normal)
        if lowered:
            if level.value < RECOVERED * reference * (1 - _slack(level)):
                lowered.append(level)
                continue
            yield Span(normal, lowered, level)
            normal, lowered, is_first = [level], [], False
        elif level.value < (1 - MIN_DROP) * reference:
            lowered = [level]
            while len(normal) > 1 and _is_one_fall(normal[-2:], lowered[0]):
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
        yield Span(normal, lowered, None)


def _is_one_fall(last: list[Level], next_: Level) -> bool:
    before, middle = last
    return before.value - middle.value >= _SAME_FALL * (middle.value - next_.value)


def _slack(level: Level) -> float:
    """How much too low a short level may come out by its noise."""
    return min(_DOUBT * level.error, MIN_DROP)


def _length(level: Level) -> int:
    return level.end - level.start


def _mean(levels: list[Level]) -> float:
    total = sum(level.value * _length(level) for level in levels)
    return total / sum(map(_length, levels))
