"""Series of lowered throughput whose truth is known, with the noise that drives have."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from heatsoak.analysis.series import RateSeries
from numpy.typing import NDArray
from scipy.signal import lfilter

Array = NDArray[np.float64]
FULL = 2500.0
#: Everything is made at this interval and then averaged, as a slower logger does.
FINE_S = 0.1


#: What is left of full throughput at some times; a series is the product of such parts.
Part = Callable[[Array], Array]
#: The end of any step.
END = float("inf")


def low(*spans_s: tuple[float, float], to: float = 0.5) -> Part:
    """At once to a share of what was there, between some times."""
    return lambda t_s: np.where(np.any([(a < t_s) & (t_s < b) for a, b in spans_s], axis=0), to, 1)


def lost(onset_s: float, depth: float, time_constant_s: float = 1e-9) -> Part:
    """What is left where throughput falls at once, or towards a limit."""
    return lambda t_s: (
        1 + depth * np.expm1(-np.clip((t_s - onset_s) / time_constant_s, 0, 700))  # no underflow
    )


def line(*points: tuple[float, float]) -> Part:
    """Straight from point to point."""
    return lambda t_s: np.interp(t_s, *np.array(points).T)


def wave(start_s: float, period_s: float, *points: tuple[float, float], end_s: float = END) -> Part:
    """The same over and over, of points over the share of a period."""

    def at(t_s: Array) -> Array:
        phase = np.mod(t_s - start_s, period_s) / period_s
        return np.where((start_s < t_s) & (t_s < end_s), np.interp(phase, *np.array(points).T), 1.0)

    return at


def swing(
    start_s: float, period_s: float, duty: float = 0.5, to: float = 0.5, end_s: float = END
) -> Part:
    """Falls and recoveries in turn, a fall first; low for a share of each period."""
    square = ((0, to), (duty, to), (duty + 1e-9, 1), (1, 1))
    return wave(start_s, period_s, *square, end_s=end_s)


def of_parts(
    *parts: Part,
    duration_s: float = 300.0,
    sampling_s: float = FINE_S,
    sigma: float | Part = 0.02,
    correlation: float = 0.7,
    seed: int = 1,
) -> RateSeries:
    """What a logger sees of the product of some parts: means over its intervals, and noise."""
    count, each = round(duration_s / sampling_s), max(4, round(sampling_s / FINE_S))
    fine_s = (np.arange(each * count, dtype=np.float64) + 0.5) * (sampling_s / each)
    shares = np.prod([np.ones(len(fine_s)), *(part(fine_s) for part in parts)], axis=0)
    t_s: Array = np.arange(1, count + 1, dtype=np.float64) * sampling_s
    spread = sigma(t_s) if callable(sigma) else sigma
    noise = 1 + spread * (wander(count, correlation, 1.0, np.random.default_rng(seed)) - 1)
    values = FULL * shares.reshape(count, each).mean(axis=1) * np.maximum(noise, 1e-3)
    return RateSeries(t_s, np.full(count, sampling_s), values, "mb_s")


def without(series: RateSeries, start_s: float, end_s: float) -> RateSeries:
    """The series with a gap."""
    keep = (series.t_s <= start_s) | (series.t_s > end_s)
    return RateSeries(series.t_s[keep], series.interval_s[keep], series.values[keep], series.unit)


@dataclass(frozen=True)
class Fall:
    """One true drop."""

    onset_s: float
    end_s: float
    shape: str = "step"


@dataclass
class Made:
    """A series, its true drops, and its rates without noise at `FINE_S`."""

    series: RateSeries
    falls: list[Fall]
    clean: Array = field(repr=False)

    def depth(self, fall: Fall, start_s: float = 0.0) -> float:
        """The depth of a fall as it is defined, of the rates without noise."""
        t_s = np.arange(1, len(self.clean) + 1) * FINE_S
        before = self.clean[(t_s > start_s) & (t_s <= fall.onset_s + 1e-9)]
        during = (t_s > fall.onset_s) & (t_s <= fall.end_s + 1e-9)
        return 1 - float(self.clean[during].mean() / (before.mean() if len(before) else FULL))


def wander(count: int, correlation: float, sigma: float, chance: np.random.Generator) -> Array:
    """Autocorrelated noise around 1."""
    draws = chance.normal(0, sigma * np.sqrt(1 - correlation**2), count)
    draws[:1] = chance.normal(0, sigma, min(count, 1))
    return 1 + np.asarray(lfilter([1.0], [1.0, -correlation], draws), dtype=np.float64)


def observed(
    clean: Array,
    chance: np.random.Generator,
    sampling_s: float = FINE_S,
    *,
    correlation: float | None = None,
    sigma: float | None = None,
    gaps: int = 0,
    dips: float = 0.01,
) -> RateSeries:
    """What a logger sees of `clean`: noise, dips while garbage is collected, and gaps."""
    correlation = chance.uniform(0.6, 0.95) if correlation is None else correlation
    sigma = chance.uniform(0.01, 0.08) if sigma is None else sigma
    values = clean * np.maximum(wander(len(clean), correlation, sigma, chance), 0.01)
    is_dip = chance.random(len(values)) < dips
    values[is_dip] *= chance.uniform(0.2, 0.8, int(is_dip.sum()))
    size = max(1, round(sampling_s / FINE_S))
    count = len(values) // size
    values = values[: count * size].reshape(count, size).mean(axis=1)
    t_s: Array = np.arange(1, count + 1, dtype=np.float64) * (size * FINE_S)
    keep = np.ones(count, dtype=bool)
    for _ in range(gaps):
        start_s = chance.uniform(0, t_s[-1])
        keep &= (t_s < start_s) | (t_s > start_s + chance.uniform(2, 15))
    interval_s = np.full(count, size * FINE_S)
    return RateSeries(t_s[keep], interval_s[keep], values[keep], "mb_s")


def _ramp(t_s: Array, onset_s: float, length_s: float = 2.0) -> Array:
    return np.clip((t_s - onset_s) / length_s, 0, 1)


def _times(duration_s: float) -> Array:
    # the middles of the intervals
    return (np.arange(round(duration_s / FINE_S), dtype=np.float64) + 0.5) * FINE_S


def _depth(chance: np.random.Generator, sigma: float) -> float:
    """A depth that can be seen: at least three times the noise."""
    return float(chance.uniform(max(0.12, 3 * sigma), 0.8))


Shape = tuple[Array, list[Fall]]


def cliff(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:
    t_s = _times(duration_s)
    onset_s = chance.uniform(0.1, 0.7) * duration_s
    length_s = chance.choice([0.2, 2.0])
    return 1 - _depth(chance, sigma) * _ramp(t_s, onset_s, length_s), [Fall(onset_s, duration_s)]


def governor(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:
    """Fast while the controller settles, then slower as the board warms."""
    t_s = _times(duration_s)
    onset_s = chance.uniform(0.05, 0.5) * duration_s
    x = np.maximum(t_s - onset_s, 0)
    depth = _depth(chance, sigma)
    fast = chance.uniform(0.6, 1.0)
    settled = fast * -np.expm1(-x / chance.uniform(1, 5))
    creep = (1 - fast) * -np.expm1(-x / (0.1 * duration_s))
    return 1 - depth * (settled + creep), [Fall(onset_s, duration_s)]


def passing(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:
    """Somebody else's load for a while."""
    t_s = _times(duration_s)
    onset_s = chance.uniform(0.1, 0.5) * duration_s
    end_s = onset_s + chance.uniform(0.15, 0.35) * duration_s
    low = _ramp(t_s, onset_s) - _ramp(t_s, end_s)
    return 1 - _depth(chance, sigma) * low, [Fall(onset_s, end_s)]


def twice(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:
    """Two episodes, both over."""
    t_s = _times(duration_s)
    edges = np.sort(chance.uniform(0.1, 0.9, 4)) * duration_s
    while np.min(np.diff(edges)) < 0.1 * duration_s:
        edges = np.sort(chance.uniform(0.1, 0.9, 4)) * duration_s
    low = sum(_ramp(t_s, a) - _ramp(t_s, b) for a, b in (edges[:2], edges[2:]))
    clean = 1 - _depth(chance, sigma) * np.asarray(low)
    return clean, [Fall(edges[0], edges[1]), Fall(edges[2], edges[3])]


def nested(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:
    """Another cause on top of the first."""
    t_s = _times(duration_s)
    first_s = chance.uniform(0.1, 0.4) * duration_s
    second_s = first_s + chance.uniform(0.15, 0.4) * duration_s
    one, two = (chance.uniform(max(0.2, 4 * sigma), 0.6) for _ in range(2))
    clean = (1 - one * _ramp(t_s, first_s)) * (1 - two * _ramp(t_s, second_s))
    return clean, [Fall(first_s, second_s), Fall(second_s, duration_s)]


def cycle(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:
    """A governor that lets go and takes hold again."""
    t_s = _times(duration_s)
    onset_s = chance.uniform(0.2, 0.5) * duration_s
    period_s = chance.uniform(8, (duration_s - onset_s) / 5)
    duty = chance.uniform(0.3, 0.7)
    phase = np.mod(t_s - onset_s, period_s)
    ramp_s = min(2.0, 0.2 * period_s)
    low = _ramp(phase, 0, ramp_s) - _ramp(phase, duty * period_s, ramp_s)
    low = np.where(t_s < onset_s, 0, low)
    return 1 - _depth(chance, sigma) * low, [Fall(onset_s, duration_s, "cycle")]


def slide(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:  # noqa: ARG001
    """From the outer to the inner tracks."""
    t_s = _times(duration_s)
    onset_s = float(chance.choice([0.0, chance.uniform(0.1, 0.4) * duration_s]))
    x = np.maximum(t_s - onset_s, 0) / (duration_s - onset_s)
    bend = chance.uniform(0.0, 0.5)
    depth = chance.uniform(0.3, 0.6)
    return 1 - depth * ((1 - bend) * x + bend * x**2), [Fall(onset_s, duration_s, "slide")]


def steady(chance: np.random.Generator, duration_s: float, sigma: float) -> Shape:  # noqa: ARG001
    return np.ones(round(duration_s / FINE_S)), []


KINDS: dict[str, Callable[[np.random.Generator, float, float], Shape]] = {
    "cliff": cliff,
    "governor": governor,
    "passing": passing,
    "twice": twice,
    "nested": nested,
    "cycle": cycle,
    "slide": slide,
    "steady": steady,
}


def make(kind: str, seed: int, sampling_s: float = FINE_S, duration_s: float = 600.0) -> Made:
    """Return a series of a kind with noise, dips and, in half of them, gaps."""
    chance = np.random.default_rng([seed, list(KINDS).index(kind)])
    sigma = chance.uniform(0.01, 0.08)
    clean, falls = KINDS[kind](chance, duration_s, sigma)
    clean = FULL * clean
    gaps = int(chance.choice([0, 2]))
    return Made(observed(clean, chance, sampling_s, sigma=sigma, gaps=gaps), falls, clean)
