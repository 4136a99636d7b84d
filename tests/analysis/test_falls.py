"""Drops that are found in series whose truth is known: one table of cases, and laws."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise, product
from types import EllipsisType
from typing import Any

import numpy as np
import pytest
from heatsoak.analysis.definitions import MIN_DROP
from heatsoak.analysis.falls import Drop, find, find_drops, joined
from heatsoak.analysis.series import Array, RateSeries
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_series import (
    END,
    FINE_S,
    FULL,
    KINDS,
    Part,
    line,
    lost,
    low,
    make,
    observed,
    of_parts,
    swing,
    wander,
    wave,
    without,
)

#: What a drop has to have, by the names of its attributes: a value, or one and how far it may be.
Wanted = dict[str, Any]
ANY: Wanted = {}


def fall(onset_s: float, within_s: float = 1.0, **more: Any) -> Wanted:
    return {"onset_s": (onset_s, within_s), **more}


def cycle(
    onset_s: float, within_s: float = 1.0, period_s: float | None = None, **more: Any
) -> Wanted:
    period = {} if period_s is None else {"period_s": (period_s, 0.05 * period_s)}
    return fall(onset_s, within_s, shape="cycle", **period, **more)


@dataclass(frozen=True)
class Case:
    """A series and what has to be found in it, in the order of onsets; `...` are any drops.

    Attributes:
        seeds: how many draws of noise.
        misses: in how many of them something else may be found.
        median_s: the median of the first onset over all draws, and how far it may be.
        counted: which of the drops count.
        made: how noise and sampling differ from those of :func:`of_parts`.
    """

    why: str
    parts: list[Part]
    wanted: list[Wanted | EllipsisType]
    seeds: int = 1
    misses: int = 0
    median_s: tuple[float, float] | None = None
    gap_s: tuple[float, float] | None = None
    counted: Callable[[list[Drop]], list[Drop]] = list
    made: dict[str, Any] = field(default_factory=dict)

    def drops(self, seed: int) -> list[Drop]:
        of = of_parts(*self.parts, **self.made, seed=seed)
        of = without(of, *self.gap_s) if self.gap_s else of
        drops = find_drops(of)
        assert drops is not None
        obeys(drops, of)
        return drops


def case(why: str, parts: list[Part], wanted: list[Wanted | EllipsisType], /, **more: Any) -> Case:
    own = {name: more.pop(name) for name in [*more] if name in Case.__dataclass_fields__}
    return Case(why, parts, wanted, **own, made=more)


def lasting(drops: list[Drop]) -> list[Drop]:
    return [one for one in drops if not one.recovered]


def touching_as_one(drops: list[Drop]) -> list[Drop]:
    whole: list[Drop] = []
    for one in drops:
        if whole and whole[-1].end_s >= one.onset_s:
            whole[-1] = joined(whole[-1], one)
        else:
            whole.append(one)
    return whole


def agrees(drop: Drop, wanted: Wanted) -> bool:
    for name, value in wanted.items():
        seen = getattr(drop, name)
        if isinstance(value, tuple):
            if seen is None or not abs(seen - value[0]) <= value[1]:
                return False
        elif seen != value:
            return False
    return True


def agree(drops: list[Drop], wanted: list[Wanted | EllipsisType]) -> bool:
    if not wanted:
        return not drops
    first, *others = wanted
    if first is ...:
        return any(agree(drops[skipped:], others) for skipped in range(len(drops) + 1))
    return bool(drops) and agrees(drops[0], first) and agree(drops[1:], others)


def obeys(drops: list[Drop] | None, of: RateSeries) -> None:
    """Whatever a series is, its drops are such."""
    for drop in drops or []:
        begin_s, end_s = np.min(of.t_s - of.interval_s), np.max(of.t_s)
        assert begin_s - 1e-6 <= drop.onset_s <= drop.end_s <= drop.back_s <= end_s + 1e-6
        assert MIN_DROP / 2 <= max(drop.depth, drop.depth_at_end) <= 1
        assert drop.before > drop.during >= drop.lowest >= 0
        least, most = np.min(of.values), np.max(of.values)
        for level in (drop.before, drop.during, drop.lowest, drop.last):
            assert least - 1e-9 * most <= level <= (1 + 1e-9) * most
        assert drop.fall_s >= 0
        assert drop.oscillates == (drop.shape == "cycle") == (drop.period_s is not None)
    for one, two in pairwise(drops or []):
        assert one.onset_s <= two.onset_s


def levels(*pieces: tuple[float, float]) -> Part:
    """A level after another, each for so long."""
    ends_s = np.cumsum([0.0, *(length_s for length_s, _ in pieces)]).tolist()
    spans_of = list(zip(pairwise(ends_s), (level for _, level in pieces), strict=True))
    return lambda t_s: np.prod([low(span, to=level)(t_s) for span, level in spans_of], axis=0)


def drifting(period_s: float, drift: float, share_after: float) -> list[Part]:
    """A governor that swings from 60 s on, with periods that grow, while others take a share."""

    def at(t_s: Array) -> Array:
        age_s = np.maximum(t_s - 60, 0.0)
        phase = np.mod(age_s / period_s * (1 - drift * age_s / 240), 1.0)
        return np.where((t_s > 60) & (phase < 0.5), 0.5, 1.0)

    return [at, low((180, END), to=share_after)]


def starting(start_s: float, gaps_s: Array, low_s: float) -> list[tuple[float, float]]:
    """Lows of so long, with so long from the start of each to the next."""
    return [(at, at + low_s) for at in (start_s + np.cumsum([0.0, *gaps_s])).tolist()]


def back_briefly(lows_s: list[float], high_s: float) -> list[tuple[float, float]]:
    """Lows of these lengths from 100 s on, with so short recoveries between."""
    starts_s = 100 + np.cumsum([0.0, *(low_s + high_s for low_s in lows_s[:-1])])
    return [(at, at + low_s) for at, low_s in zip(starts_s.tolist(), lows_s, strict=True)]


def wild(t_s: Array) -> Array:
    waves = np.interp(t_s, np.arange(170, 301, 10), np.sin(np.arange(14) * 2.4))
    return np.where(t_s > 170, 1 + 0.2 * waves, 1.0)


def slow_waves(t_s: Array) -> Array:
    return np.asarray(0.93 + 0.07 * np.cos(2 * np.pi * t_s / 600))


#: A burst of 20 s, and levels that fall and rise again.
BURST = low((140, 160), to=1.5)
WANDERING = ((200, 1), (90, 0.935), (310, 1), (140, 1.06), (170, 1), (120, 0.93), (400, 1))
SWINGS: list[tuple[str, Part, float, float]] = [
    ("sawtooth of 10 s", wave(0, 10, (0, 0.7), (1, 1.3)), 0.1, 10),
    ("sawtooth of 30 s", wave(0, 30, (0, 0.7), (1, 1.3)), 0.1, 30),
    ("square, high first", swing(-8, 20, 0.4), 0.1, 20),
    ("square, low first", swing(0, 20, 0.6), 0.1, 20),
    ("flushes each 5 s", swing(0, 5, 0.3, 0.3), 0.1, 5),
    ("flushes each 5 s, seen each 1 s", swing(0, 5, 0.2, 0.3), 1.0, 5),
    ("reports every other second", swing(1, 2, 0.5, 0.0), 1.0, 2),
]
CYCLES: list[tuple[str, list[Part], float, float, float]] = [
    ("30 s", [swing(100, 30)], 0.1, 30, 0.5),
    ("quicker than a level is long", [swing(100, 2)], 0.1, 2, 0.5),
    ("three slow samples a phase", [swing(100, 6)], 1.0, 6, 0.5),
    ("mostly high", [swing(100, 20, 0.3)], 0.1, 20, 0.3),
    ("mostly low", [swing(100, 20, 0.7)], 0.1, 20, 0.7),
    ("never quite back", [low((100, END), to=0.85), swing(100, 20, 0.5, 0.59)], 0.1, 20, 0.5),
    ("triangle", [wave(100, 12, (0, 1), (0.5, 0.5), (1, 1))], 0.1, 12, 0.5),
    ("sawtooth", [wave(100, 20, (0, 0.5), (1, 1))], 0.1, 20, 0.5),
]

ONSETS_AND_DEPTHS = [
    *(
        case(
            f"a governor takes {depth:.0%} from {onset_s} s on, noise of {sigma:.1%}",
            [lost(onset_s, depth, 30)],
            # an onset is where 2 % are lost; with noise a slide of 1 % a second hides its first
            [fall(onset_s - 30 * np.log1p(-0.02 / depth), 2 if sigma > 0.005 else 0.3,
                  depth_at_end=(depth, 0.02), shape="step", recovered=False)],
            sigma=sigma, correlation=0.8,
        )
        for onset_s, depth in [(7, 0.76), (15, 0.68), (30, 0.6), (55, 0.4), (65, 0.42)]
        for sigma in (0.002, 0.01, 0.03)
    ),
    *(
        case(
            f"a fall of {depth:.0%} within {tau_s} s is found neither late nor early",
            [lost(100, depth, tau_s)],
            # what loses 2 % in so long shows that long after its start, in this noise
            [ANY, ...], median_s=(100 + late_s, max(1.0, 0.5 * late_s)), seeds=6, sigma=0.03,
        )
        for depth in (0.15, 0.5)
        for tau_s in (10, 30, 90)
        for late_s in [-tau_s * np.log1p(-0.02 / depth)]
    ),
    *(
        case(
            f"a step is found at {sampling_s} s a sample",
            [low((100, END), to=0.6)],
            [fall(100, max(0.6, 1.2 * sampling_s), depth=(0.4, 0.01),
                  fall_s=(0, 2 + 2 * sampling_s))],
            correlation=0.5, sampling_s=sampling_s, duration_s=max(300, 60 * sampling_s),
        )
        for sampling_s in (0.01, 0.1, 0.25, 1.0, 5.0, 10.0)
    ),
    case("40 s suffice at 10 Hz", [low((20, END), to=0.6)], [fall(20, 0.1)], duration_s=40),
    case("a minute suffices at 1 Hz", [low((20, END), to=0.6)], [fall(20)],
         duration_s=60, sampling_s=1.0),
    case("a step shows in noise that remembers", [low((120, END), to=0.7)], [fall(120, 0.3)],
         correlation=0.95, sigma=0.06),
    case("changes of level do not pass for noise: a small fall beside a large one",
         [low((42, 86), to=0.85), low((113, 136), (150, 160), (175, 190), to=0.3)],
         [..., fall(42, 3, recovered=True), ...], seeds=3, correlation=0.85, sigma=0.05),
    *(
        case(f"a gap from {gap_s[0]} to {gap_s[1]} s is no drop and shifts none",
             [low((100, END))], [fall(100, 0.3, depth=(0.5, 0.01))], gap_s=gap_s)
        for gap_s in [(60, 95), (105, 140), (20, 30)]
    ),
    case("smooth before and wild after", [low((100, END), to=0.3)],
         [fall(100, 0.5, recovered=False)], correlation=0.8,
         sigma=lambda t_s: np.where(t_s <= 100, 0.01, 0.4)),
    case("a drive that stops has lost all", [low((140, END), to=0)],
         [fall(140, 0.3, depth=(1, 1e-6))]),
    case("depth is that of the mean, and the end is told", [lost(60, 0.5, 60)],
         [{"depth": (0.38, 0.01), "depth_at_end": (0.4843, 0.001)}], sigma=0.0),
    *(
        case(f"what stays low is a level however it moves there, at {s:g} s a sample",
             [line((100 * s, 1), (100 * s + 1e-6, 0.12), (120 * s, 0.32), (120 * s + 1e-6, 1))],
             [fall(100 * s, s, end_s=(120 * s, 1.5 * s), depth=(0.78, 0.02))],
             sigma=0.001, sampling_s=s, duration_s=300 * s)
        for s in (1.0, 5.0)
    ),
]  # fmt: skip

NONE = [
    case("dips while garbage is collected", [swing(0, 10, 0.01, 0.3)], [], correlation=0.6),
    *(case(f"a loss of {depth:.0%}", [low((100, END), to=1 - depth)], [], sigma=0.005)
      for depth in (0.0, 0.02, 0.04)),
    case("a slow start", [line((0, 0.5), (30, 1))], []),
    case("a burst", [BURST], []),
    case("a burst is not the level to compare with", [BURST, low((220, END), to=0.6)],
         [fall(220, 0.3)]),
    case("a burst at the start is no level", [low((0, 1), to=1.3)], []),
    case("a start that is fast and soon over is a level", [low((15, END), to=0.3)],
         [fall(15, 0.3)]),
    *(case(f"a swing from the start: {name}", [part], [], sampling_s=sampling_s)
      for name, part, sampling_s, _ in SWINGS),
    *(
        # no mean of a swing is taken over less than a period
        case(f"the fall of a swing's mean: {name}", [part, low((180, END), to=0.4)],
             [fall(180, max(2 * sampling_s, period_s), depth=(0.6, 0.05))], sampling_s=sampling_s)
        for name, part, sampling_s, period_s in SWINGS
    ),
    *(
        case(f"stalls of few seconds, at {sampling_s} s a sample",
             [low((40, 43), (150, 152), (155, 156.5), (260, 263.5), to=0.4)], [],
             seeds=3, sampling_s=sampling_s)
        for sampling_s in (0.1, 1.0)
    ),
    *(
        case(f"what is low for several seconds is one, at {sampling_s} s a sample",
             [low((150, 157), to=0.4)], [fall(150)], seeds=3, sampling_s=sampling_s)
        for sampling_s in (0.1, 1.0)
    ),
    case("a few regular dips of a short run",
         [low((14, 15), (18, 19), (22, 23), (26, 27), to=0.91)], [],
         duration_s=29, sampling_s=1.0, sigma=0.005),
    case("a level that wanders up and down is no fall", [levels(*WANDERING)], [],
         duration_s=1430, sampling_s=1.0, sigma=0.005, correlation=0.5),
    case("a level that wanders only down is", [levels(*((s, min(x, 1)) for s, x in WANDERING))],
         [ANY, ANY], duration_s=1430, sampling_s=1.0, sigma=0.005, correlation=0.5),
    case("regular dips that cost next to nothing", [swing(150, 150, 2 / 150, 0.6)], [],
         duration_s=3000, sampling_s=1.0, sigma=0.005, correlation=0.5),
    case("regular dips that cost next to nothing hide no fall",
         [swing(150, 150, 2 / 150, 0.6, end_s=2020), low((2020, END), to=0.7)],
         [fall(2020, 2, oscillates=False)],
         duration_s=3000, sampling_s=1.0, sigma=0.005, correlation=0.5),
]  # fmt: skip

SHAPES = [
    case("recovery ends a drop", [low((100, 200), to=0.6)],
         [fall(100, 0.6, recovered=True, end_s=(200, 0.6))]),
    case("a level that wanders before it is left at once is not coming back",
         [low((100, 300), to=0.7), low((200, 202), to=0.8), line((202, 0.94), (290, 1.02))],
         [fall(100, end_s=(300, 1), recovered=True)], duration_s=500, sampling_s=1.0, sigma=0.005),
    case("a slow recovery is over when throughput is back",
         [line((60, 1), (60.01, 0.5), (120, 0.5), (220, 1))],
         [{"recovered": True, "back_s": (214, 8)}]),
    case("a fall that recovers in the last minute has fallen", [low((600, 870), to=0.47)],
         [fall(600, 2, recovered=True, end_s=(870, 2), depth=(0.53, 0.02))],
         duration_s=900, sampling_s=1.0, correlation=0.5),
    case("irregular dips stay apart", [low((40, 50), (75, 105), (200, 206), (230, 255))],
         [fall(at, 0.4, recovered=True, oscillates=False) for at in (40, 75, 200, 230)]),
    case("three dips that come irregularly", [low((23, 36), (50, 80), (95, 118), to=0.45)],
         [fall(23, 0.4), fall(50, 0.4), fall(95, 0.4)]),
    *(
        case(f"a decline from the start, bent by {bend}, is a slide since 2 % are lost",
             [lambda t_s, bend=bend: 1 - 0.5 * (t_s / 600) ** bend],  # type: ignore[misc]
             [{"shape": "slide", "before": (FULL, 0.02 * FULL), "fall_s": (450, 150)}],
             median_s=(600 * 0.04 ** (1 / bend), 20), seeds=5, duration_s=600)
        for bend in (1.0, 1.5, 2.0)
    ),
    case("a decline after a level is a slide since 2 % are lost", [line((200, 1), (600, 0.5))],
         [fall(216, 5, shape="slide")], duration_s=600),
    *(
        case(f"a governor's fall and creep within {tau_s} s is one step", [lost(60, 0.5, tau_s)],
             [{"shape": "step", "fall_s": (reached_s, max(1, 0.25 * reached_s))}])
        for tau_s in (1, 5, 20, 60)
        for reached_s in [min(2.3 * tau_s, 240)]
    ),
    case("quick stairs are one fall",
         [line((100, 1), (100.01, 0.8), (105, 0.8), (105.01, 0.64), (110, 0.64), (110.01, 0.5),
               (115, 0.5), (115.01, 0.4))],
         [fall(100, 0.3, depth_at_end=(0.6, 0.03), lowest=(0.4 * FULL, 0.02 * FULL))]),
    case("saw teeth of ten minutes are falls", [wave(0, 600, (0, 1), (1, 0.1))],
         [{"depth": (0.65, 0.35)}, ...], duration_s=2700, sampling_s=1.0, correlation=0.5),
    case("a cliff in slow waves is a fall of its own depth",
         [slow_waves, low((4000, END), to=0.1)],
         [..., fall(4000, 5, depth=(0.9, 0.03), recovered=False)],
         duration_s=5400, sampling_s=1.0, correlation=0.5),
    case("three falls that are not alike are three drops",
         [low((170, 252), to=0.3), low((336, 387)), low((450, 512), to=0.76)],
         # noise that rises and falls for long passes for a slide now and then
         [fall(170, 2, depth=(0.7, 0.05)), fall(336, 2, depth=(0.5, 0.05)),
          fall(450, 2, depth=(0.24, 0.05))],
         seeds=4, misses=1, duration_s=615, sampling_s=1.0, sigma=0.03),
    case("a slow swing from the start falls each time", [swing(167, 332, 151 / 332, 0.45)],
         [fall(167, depth=(0.55, 0.02)), ..., {"depth": (0.55, 0.02), "end_s": (920, 0)}],
         duration_s=920, sampling_s=1.0),
]  # fmt: skip

SWINGING = [
    *(
        case(f"regular falls and recoveries are one drop: {name}", parts,
             [cycle(100, max(1.5, 2.5 * sampling_s), period_s, duty=(duty, 0.12))],
             sampling_s=sampling_s)
        for name, parts, sampling_s, period_s, duty in CYCLES
    ),
    case("a deeper fall after which it swings on ends a cycle",
         [swing(100, 12), low((220, END), to=0.3)],
         [cycle(100, 1.5, end_s=(220, 2)), fall(220, 2, depth=(0.7, 0.05))]),
    case("a deeper fall after which it swings no more ends a cycle",
         [swing(100, 12, end_s=220), low((220, END), to=0.225)],
         [cycle(100, 1.5, end_s=(220, 2)), fall(220, 2, depth=(0.7, 0.05))]),
    case("a cycle that ends is over", [swing(100, 20, end_s=200)],
         [cycle(100, 1.5, recovered=True, end_s=(190, 1))]),
    case("a long cycle is as deep as its mean, and its lows are told", [swing(600, 180)],
         [cycle(600, depth=(0.25, 0.03), lowest=(0.5 * FULL, 0.05 * FULL))],
         duration_s=1850, sampling_s=0.5),
    case("a cycle before a deeper step is found through its own noise",
         [swing(65, 22, 0.25, 0.45, end_s=253), low((253, END), to=0.27)],
         [cycle(65, 2, recovered=False, end_s=(253, 2)), fall(253, 2, shape="step")],
         seeds=3, duration_s=330, sigma=0.05),
    *(
        case(f"a first low of {low_s} s in samples of 5 s is the onset",
             [swing(1160, 110, 0.5, 0.45), low((1050, 1050 + low_s), to=0.45)],
             [cycle(1050, 7.5)], duration_s=2100, sampling_s=5.0)
        for low_s in (8, 15, 30)
    ),
    *(
        case(f"a period that drifts to {longest_s} s is one cycle, at {sampling_s} s a sample",
             [low(*starting(100, np.linspace(14, longest_s, 60), 6))],
             [cycle(100, 2.5 * sampling_s + 0.5)], duration_s=800, sampling_s=sampling_s)
        for longest_s in (15, 25, 35)
        for sampling_s in (0.1, 1.0)
    ),
    case("a period that drifts by a tenth is one cycle", drifting(8.0, 0.1, 1.0), [cycle(60)],
         seeds=3),
    case("lows that grow to several times their length are one cycle",
         [low(*((at, at + gap_s - 5) for (at, _), gap_s in zip(
             starting(90, np.linspace(9, 27, 12), 0), [*np.linspace(9, 27, 12), 30], strict=True)),
             to=0.55)],
         [cycle(90)], seeds=3, duration_s=320, sigma=0.05),
    case("a cycle that starts soon is no swing from the start", [swing(50, 27, 0.5, 0.45)],
         [cycle(50, 7.5)], duration_s=1800, sampling_s=5.0),
    case("a cycle that starts at once is a swing from the start", [swing(12, 27, 0.5, 0.45)], [],
         duration_s=1800, sampling_s=5.0),
    # its high parts do not come up to the middle of the former ones
    case("a swing that goes on lower has fallen",
         [swing(60, 16, 0.6, end_s=220), low((220, END), to=0.55), swing(220, 20, 0.8, 0.3 / 0.55)],
         [cycle(60), fall(220)], seeds=3, duration_s=320, sigma=0.03),
    case("a gap of a few periods does not end a swing",
         [low(*starting(60, np.linspace(3.4, 6.0, 60), 2), to=0.3)],
         [cycle(60, end_s=(300, 1))], gap_s=(180, 190), sigma=0.035),
    case("a fall before a cycle is a drop of its own",
         [low((40, END), to=0.82), swing(70, 12, 0.5, 0.35)],
         [fall(40, shape="step", end_s=(70, 1)),
          cycle(70, before=(0.82 * FULL, 0.025 * FULL))],
         seeds=3, duration_s=260, sigma=0.04),
    case("three falls at even times that last unlike are no cycle",
         [low((55, 85), (130, 185), (215, 245))],
         [fall(at, oscillates=False) for at in (55, 130, 215)], seeds=3, sigma=0.05),
    case("three falls at even times that last alike are one",
         [low((100, 130), (175, 205), (250, 280))], [cycle(100)]),
    case("a swing that starts with a longer high part leaves no other when it is taken off",
         [low((60, 90), (135, 165), (210, 240))], [cycle(60)]),
    # as long as the high parts of the swing, and higher than they are
    case("what swings below the first level fell from it",
         [low((32, END), to=0.83), swing(97, 57, 0.4, 0.75)], [fall(32), ...],
         seeds=3, duration_s=275),
    case("a low that was back for a moment belongs to the fall that follows",
         [low((435, 460), (475, 500), (515, END))], [fall(435, 5)],
         seeds=3, duration_s=1500, sampling_s=5.0),
    *(
        # its first low is at 100 s, its second at 220 s: the fall comes before a third
        case(f"a fall at {fall_s} s below the lows of a swing of two periods ends it",
             [swing(100, 120, 0.4, 0.65, end_s=fall_s), low((fall_s, END), to=0.3)],
             [fall(100, 2), ..., fall(fall_s, 2, depth=(0.75, 0.25))],
             seeds=3, duration_s=500, sampling_s=1.0, sigma=0.03)
        for fall_s in (290, 325)
    ),
    *(
        # of a fall by half, a part comes back in the course of time
        case(f"a swing of {period_s:g} s that starts long after a fall is a drop of its own",
             [line((60, 1), (60.01, 0.45), (210, 0.6)), swing(210, period_s, duty, 0.4)],
             [fall(60, sampling_s, recovered=False, oscillates=False, end_s=(210, within_s)),
              cycle(210, within_s) | {"period_s": (period_s, 0.1 * period_s)}],
             seeds=3, duration_s=end_s, sampling_s=sampling_s, sigma=0.03)
        for period_s, duty, sampling_s, end_s in [
            (15.0, 0.4, 0.1, 300), (30.0, 0.3, 1.0, 400), (35.0, 0.4, 5.0, 900)]
        for within_s in [max(2.0, 2 * sampling_s)]
    ),
    # which is back in a sample or two
    case("a late swing that is high at the end is measured to its last low",
         [low((60, END)), swing(310, 200, 0.6)],
         [fall(60, oscillates=False), cycle(310, 2, end_s=(830, 6))],
         duration_s=890, sampling_s=1.0),
    # the lows start with the fall: there was no level that the swing itself took
    case("what swings since a fall fell so", [low((60, END), to=0.6), swing(60, 20, 0.4)],
         [cycle(60)], seeds=3),
    *(
        case(f"lows of {lows_s} s between brief recoveries are one drop",
             [low(*spans)], [fall(100, end_s=(spans[-1][1], 1))], duration_s=spans[-1][1])
        for lows_s in [[3.0, 28, 29, 3, 60], [29.3, 3, 3, 60], [3, 5.25, 3, 60],
                       [4.0, 4, 3, 2.5, 8, 36, 60]]
        for spans in [back_briefly(lows_s, 3.5)]
    ),
    *(
        case(f"a dip at {dip_s} s is no part of a swing long after it",
             [wave(40, 8, (0, 1), (0.5, 0.48), (1, 1), end_s=86), low((86, END), to=0.05),
              low((dip_s, dip_s + 0.6), to=0.3)],
             [fall(40, 2), ..., fall(86, 4)], seeds=3, duration_s=120, sigma=0.03)
        for dip_s in (0.0, 4.0)
    ),
    *(
        # three samples a period do not always show that it is regular
        case(f"lows that samples of 5 s show in part, from {at_s} s on",
             [swing(at_s, 14.6, 0.5, 0.45)], [wanted, ...], seeds=seeds, misses=misses,
             duration_s=1500, sampling_s=5.0, sigma=0.03)
        for at_s, wanted, seeds, misses in [
            (480.0, cycle(480, 10), 2, 0), (482.5, cycle(482.5, 10), 2, 0),
            (483.7, cycle(483.7, 10), 2, 0), (481.3, cycle(481.3, 10), 8, 4)]
    ),
    case("lows that samples of 5 s show in part, cycle or not", [swing(481.3, 14.6, 0.5, 0.45)],
         [fall(481.3, 10), ...], seeds=3, duration_s=1500, sampling_s=5.0, sigma=0.03),
    *(
        case(f"a fall {low_s} s into the last low of a slow swing is from that low",
             [swing(54, 55, 0.75, 0.65, end_s=219 + low_s), low((219 + low_s, END), to=0.4)],
             [cycle(54, 2), fall(219 + low_s, shape="step")],
             seeds=3, duration_s=275, sigma=0.03)
        for low_s in (10, 14)
    ),
    case("two dips before falls of another depth do not swing with them",
         [low((58, 61), (178, 181), to=0.65), low((299, 938), (1166, 1790), to=0.03)],
         [fall(299, 2, depth=(0.97, 0.02)), fall(1166, 2)],
         duration_s=2000, sampling_s=1.0, sigma=0.005, correlation=0.5),
    *(
        # means of whole periods know no better
        case(f"what falls while a swing of {period_s:g} s, drifting by {drift}, goes on beneath",
             drifting(period_s, drift, 0.6),
             [cycle(60), fall(180, 1.5 * period_s, depth=(0.4, 0.08))], seeds=3)
        for period_s, drift in [(6.0, 0.0), (6.0, 0.1), (12.0, 0.0)]
    ),
    case("the noise of a slide is no cycle", [line((250, 1), (1100, 0.6))],
         [{"oscillates": False}], seeds=3, duration_s=1100, sampling_s=1.0, sigma=0.05),
]  # fmt: skip

#: Falls on top of falls.
SECOND = [
    *(
        case(f"a deeper fall from {name} is a drop of its own",
             [first, low((200, END))],
             [fall(60, 3, recovered=False, end_s=(200, 0.3)),
              fall(200, 0.3, before=(settled * FULL, 0.02 * settled * FULL))])
        for name, first, settled in [
            ("a lowered level", low((60, END), to=0.6), 0.6),
            ("what a governor came to", lost(60, 0.5, 60), 0.583)]
    ),
    case("a deeper fall that passes is a drop beside the first",
         [low((60, END), to=0.6), low((150, 200))],
         [fall(60, 0.5, end_s=(300, 0.5)), fall(150, 0.5, end_s=(200, 0.6), recovered=True)]),
    *(
        case(f"a second fall of {depth:.0%}, {name}",
             [lost(60, 0.4, tau_s), lost(220, depth)],
             [fall(60, 3), fall(220, 0.5, depth=(depth, 0.02))])
        for depth in (0.1, 0.13, 0.3)
        for name, tau_s in [("after one at once", 1e-9), ("after one of 20 s", 20)]
    ),
    case("less than eight percent more is the same drop", [lost(60, 0.4), lost(200, 0.06)],
         [fall(60)], sigma=0.01),
    *(
        # a drive may win back some of its rate before it is held back again
        case(f"a slow fall within {tau_s} s from a level that rises by {rise:.0%}",
             [lost(40, 0.6), line((40, 1), (160, 1 + rise)), lost(160, 0.3, tau_s)],
             [fall(40, 0.5), fall(160, 8, depth=(0.6, 0.4))])
        for rise in (0.0, 0.3)
        for tau_s in (10, 25)
    ),
    *(
        # it may be back for a moment before it settles
        case(f"a slow fall from a level held for {level_s} s, after {back_s} s of being back",
             [lost(50, 0.6), low((50.5, 50.5 + back_s), to=0.85 / 0.4),
              lost(50 + level_s, 0.55, level_s)],
             [ANY, ..., fall(50 + level_s, max(10, 0.25 * level_s)), ...],
             seeds=4, misses=1, sigma=0.03)
        for level_s in (25, 100)
        for back_s in (0, 4)
    ),
    case("a level that dips stays settled",
         [lost(60, 0.3), low((120, 124), (172, 176), (186, 190), to=0.4), lost(204, 0.5)],
         [fall(60), fall(204)], counted=lasting),
    # a level and a steep bend fit both together about as well
    case("a late cliff does not hide the fall before it",
         [lost(40, 0.25, 25), lost(250, 0.8, 3)], [fall(40, 10), fall(250)],
         seeds=3, sigma=0.05, correlation=0.9),
    *(
        case(f"a sudden fall of {depth:.0%} is not part of the approach before it",
             [lost(80, 0.3, 35), lost(170, depth), wild], [fall(80, 8), fall(170), ...],
             seeds=4, misses=1, sigma=0.03)
        for depth in (0.35, 0.5, 0.7)
    ),
    case("a level that was held for seven seconds may be fallen from",
         [lost(25, 0.15), lost(32, 0.85)], [fall(25), fall(32)], seeds=3, sigma=0.03),
    case("what is let go for a moment does not hide that it falls lower",
         [low((20, 33), (38, 52), to=0.35), low((33, 38), (52, 57), to=0.9),
          low((57, END), to=0.23)],
         [fall(20), fall(57, 2, depth=(0.65, 0.35))], seeds=3, sigma=0.03),
    case("falls from a level that rises pass",
         [lost(30, 0.65), line((30, 1), (150, 1.6)), low((130, 150), to=0.6)],
         [fall(30, end_s=(300, 0)), fall(130, recovered=True, end_s=(150, 1))]),
    # a governor may take too much at first, and settles at what it permits
    case("what is held after an undershoot is the level of a second fall",
         [low((40, 70), to=0.45), low((70, END), to=0.7), lost(200, 0.25)],
         [fall(40), fall(200)], seeds=3),
    case("a slow fall from a level that rises",
         [line((415, 1), (415.01, 0.42), (1275, 0.6)), lost(1275, 0.28 / 0.6, 250)],
         [fall(415, 150), fall(1275, 150)],
         seeds=3, duration_s=2220, sampling_s=5.0, sigma=0.03, correlation=0.1),
]  # fmt: skip

TABLE = [*ONSETS_AND_DEPTHS, *NONE, *SHAPES, *SWINGING, *SECOND]


def check(one: Case, seeds: range, misses: int) -> None:
    """Have all draws but so many show what is wanted."""
    found = {seed: one.drops(seed) for seed in seeds}
    wrong = [of for of in found.items() if not agree(one.counted(of[1]), one.wanted)]
    assert len(wrong) <= misses, wrong
    if one.median_s is not None:
        onset_s, within_s = one.median_s
        median_s = np.median([drops[0].onset_s for drops in found.values()])
        assert median_s == pytest.approx(onset_s, abs=within_s)


@pytest.mark.parametrize("one", TABLE, ids=lambda one: one.why)
def test_what_is_there_is_found(one: Case) -> None:
    check(one, range(1, one.seeds + 1), one.misses)


def drawn_cycle(chance: np.random.Generator) -> Case:
    """A cycle starts with its first low."""
    # swings of a third within some seconds may pass for noise that lasts: which noise there is, is
    # chosen before the falls are told as one cycle; stronger noise may make a low of its own
    onset_s, period_s = chance.uniform(60, 150), chance.uniform(12, 30)
    part = swing(onset_s, period_s, chance.uniform(0.3, 0.7), chance.uniform(0.3, 0.7))
    return case("", [part], [cycle(onset_s, 2, period_s)],
                duration_s=400, sigma=chance.uniform(0.01, 0.03))  # fmt: skip


def back_for_long(chance: np.random.Generator) -> Case:
    """A low that was back for long is a fall of its own."""
    again_s = chance.uniform(120, 160)
    return case("", [low((60, 80), (again_s, END))], [fall(60), fall(again_s)], sigma=0.03)


def ended_below(chance: np.random.Generator) -> Case:
    """A fall below the lows of a swing, so late in its sixth period, ends it."""
    least, most = np.array([(15, 40), (0.35, 0.65), (0.4, 0.7), (0.5, 0.8), (0, 1), (1, 3)]).T
    period_s, duty, to, deeper, phase, left = chance.uniform(least, most).tolist()
    fall_s = 60 + (5 + phase) * period_s
    # from the low part before it, which may have just begun, or ended less than a second ago
    begun_s = phase * period_s if (phase - duty) * period_s < 1 else 0.0
    parts = [swing(60, period_s, duty, to, end_s=fall_s), low((fall_s, END), to=deeper * to)]
    return case("", parts,
                [cycle(60), fall(fall_s - begun_s / 2, 1 + begun_s / 2, oscillates=False)],
                duration_s=fall_s + left * period_s)  # fmt: skip


def briefly_back(chance: np.random.Generator) -> Case:
    """Lows of any length between brief recoveries are one drop: the first as brief as a stall."""
    lows_s = [*chance.uniform(2.5, 45, chance.integers(3, 9)).tolist(), 60.0]
    spans = back_briefly(lows_s, chance.uniform(2.5, 6))
    return case("", [low(*spans)], [fall(100, end_s=(spans[-1][1], 1))],
                counted=touching_as_one, duration_s=spans[-1][1])  # fmt: skip


def approached(chance: np.random.Generator) -> Case:
    """A governor's approach is one fall, also where it creeps on."""
    while True:
        depth, tau_s, creep = chance.uniform([0.1, 1, -0.05], [0.8, 100, 0.1])
        parts = [lost(60, depth, tau_s), line((60, 1), (300, 1 - creep))]
        late = of_parts(*parts, sigma=0).mean(240, 300)
        if late < 0.92 * FULL:  # what is lost on the whole has to be clear of the least that counts
            return case("", parts, [ANY])


def swinging_below(chance: np.random.Generator) -> Case:
    """What swings a little below its level does not fall again."""
    size, period_s, phase = chance.uniform([0, 60, 0], [0.035, 120, 2 * np.pi])
    return case(
        "",
        [lost(60, 0.5), lambda t_s: np.where(
            t_s > 60, 1 + size * np.sin(2 * np.pi * t_s / period_s + phase), 1)],
        [fall(60)], counted=lasting,
    )  # fmt: skip


def dips_of_a_quarter(chance: np.random.Generator) -> Case:
    """Dips of a quarter of a minute and more are falls."""
    parts, at_s = [], 60.0
    while at_s < 1700:
        end_s = at_s + chance.uniform(15, 45)
        parts.append(low((at_s, end_s), to=1 - chance.uniform(0.26, 0.58)))
        at_s = end_s + chance.uniform(60, 240)
    return case("", parts, [ANY, ...], duration_s=1800, sampling_s=1.0, correlation=0.5)


def slow_first_second(chance: np.random.Generator) -> Case:
    """A slow first second is no level."""
    least, most = np.array([(0.5, 2.5), (0.1, 0.9), (60, 600), (0, 0.05), (0, 0.8)]).T
    low_s, to, long_s, sigma, correlation = chance.uniform(least, most).tolist()
    sampling_s = float(chance.choice([0.1, 0.5, 1.0, 2.0]))
    return case("", [low((0, low_s), to=to)], [], duration_s=long_s, sigma=sigma,
                correlation=correlation, sampling_s=sampling_s)  # fmt: skip


DRAWN = [
    *(drawn_cycle, back_for_long, ended_below, briefly_back, slow_first_second),
    *(approached, swinging_below, dips_of_a_quarter),
]


@pytest.mark.parametrize("count", [3, pytest.param(12, marks=pytest.mark.long)])
@pytest.mark.parametrize("draw", DRAWN)
def test_it_is_found_wherever_it_lies(
    draw: Callable[[np.random.Generator], Case], count: int, seed: int
) -> None:
    chance = np.random.default_rng(seed)
    wrong = []
    for _ in range(count):
        one = draw(chance)
        drops = one.drops(int(chance.integers(2**31)))
        if not agree(one.counted(drops), one.wanted):
            wrong.append((one, drops))
    # of a thousand draws one to five mislead
    assert len(wrong) <= count // 12, wrong


@pytest.mark.long
def test_the_table_holds_in_other_noise(seed: int) -> None:
    noisy = [one for one in TABLE if one.seeds > 1]
    wrong = []
    for one in noisy:
        for number in range(2):
            drops = one.drops(1000 * seed + number)
            if not agree(one.counted(drops), one.wanted):
                wrong.append((one.why, number))
    # of a hundred draws one misleads
    assert len(wrong) <= 0.05 * 2 * len(noisy), wrong


# ---- series that no table has


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(7, marks=pytest.mark.long)])
@pytest.mark.parametrize("sampling_s", [0.1, 1.0, 5.0])
def test_noise_alone_makes_no_drops(sampling_s: float, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    for _ in range(count):
        assert find_drops(observed(np.full(36_000, FULL), chance, sampling_s, gaps=2)) == []


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize(("sampling_s", "within_s"), [(FINE_S, 1.5), (1.0, 3.0), (5.0, 6.0)])
def test_made_series_are_judged_as_they_were_made(
    sampling_s: float, within_s: float, count: int, seed: int
) -> None:
    true, hits, false, errors, depths = 0, 0, 0, [], []
    for kind, number in product(KINDS, range(count)):
        made = make(kind, 8 * (seed - 1) + number, sampling_s)
        drops = find_drops(made.series)
        assert drops is not None
        true += len(made.falls)
        false += max(0, len(drops) - len(made.falls))
        # a fall is from the level that it was at, for a minute at most
        befores_s = [0.0] + [
            max(one.onset_s, two.onset_s - 60) if one.end_s == two.onset_s else one.end_s
            for one, two in pairwise(made.falls)
        ]
        for fall, before_s, drop in zip(made.falls, befores_s, drops, strict=False):
            reach_s = 0.3 * (fall.end_s - fall.onset_s) if fall.shape == "slide" else 15
            if abs(drop.onset_s - fall.onset_s) > reach_s:
                continue
            # in samples of 5 s some periods of fresh draws are too short to be told
            may_differ = seed != 1 and sampling_s == 5.0 and fall.shape == "cycle"
            hits += may_differ or drop.shape == fall.shape
            depths.append(100 * abs(drop.depth - made.depth(fall, before_s)))
            if fall.shape != "slide":
                errors.append(abs(drop.onset_s - fall.onset_s))
    # the fixed draws are held to more than fresh ones, of which 576 series had nine falls too many
    # and 648 falls eleven that were not found
    missed, false_most, quantile = (0.05, 1.0, 0.9) if seed == 1 else (0.07, 0.5 * count, 0.85)
    assert true - hits <= max(1, missed * true)
    assert false <= max(1, false_most)
    assert np.median(errors) <= 0.4 * within_s
    assert np.quantile(errors, quantile) <= within_s
    assert np.median(depths) <= 1
    assert np.quantile(depths, 0.9) <= 4


def test_intervals_may_be_irregular() -> None:
    chance = np.random.default_rng(4)
    interval_s = chance.uniform(0.3, 1.7, 400)
    t_s = np.cumsum(interval_s)
    values = np.where(t_s < 150, 500.0, 300.0) * chance.normal(1, 0.02, 400)
    (drop,) = find_drops(RateSeries(t_s, interval_s, values, "mb_s")) or []
    assert drop.onset_s == pytest.approx(150, abs=1.7)


@pytest.mark.parametrize(
    "count",
    [pytest.param(10**6, marks=pytest.mark.long), pytest.param(10**7, marks=pytest.mark.soak)],
)
def test_millions_of_samples_are_judged(count: int) -> None:
    t_s: Array = np.arange(1, count + 1, dtype=np.float64) * FINE_S
    values = np.where(t_s <= 0.6 * t_s[-1], 500.0, 300.0)
    values *= wander(len(t_s), 0.8, 0.03, np.random.default_rng(1))
    (drop,) = find_drops(RateSeries(t_s, np.full(len(t_s), FINE_S), values, "mb_s")) or []
    assert drop.onset_s == pytest.approx(0.6 * t_s[-1], abs=0.5)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rate", [np.nan, np.inf, 0.0, -1.0, 7.0])
@pytest.mark.parametrize("count", [0, 1, 11, 12, 30, 50, 3000])
def test_a_rate_that_never_changes_is_no_drop_and_too_little_has_no_answer(
    rate: float, count: int
) -> None:
    t_s: Array = np.arange(1, count + 1, dtype=np.float64) * 0.1
    drops = find_drops(RateSeries(t_s, np.full(count, 0.1), np.full(count, rate), "mb_s"))
    is_measured = np.isfinite(rate) and rate >= 0
    assert drops == ([] if is_measured and count >= 50 else None)


def test_what_is_no_drop_can_be_asked_about() -> None:
    swinging = find(of_parts(swing(20, 40, to=0.7)))
    assert swinging is not None
    assert swinging.drops == []
    assert swinging.swing is not None
    assert agrees(swinging.swing, cycle(20, 1, 40))
    for to, count in ((0.92, 0), (0.0, 1)):
        dip = of_parts(low((5000, 5010), to=to), duration_s=10800, sampling_s=1.0, sigma=0.005)
        dipping = find(dip)
        assert dipping is not None
        assert dipping.drops == []
        stalls = [one for one in dipping.stalls if abs(one.begin_s - 5000) <= 2]
        assert len(stalls) == count
        assert all(one.length_s > 5 for one in stalls)


def test_two_falls_joined_start_as_the_first_and_end_as_the_later() -> None:
    one, two = find_drops(of_parts(low((60, END), to=0.6), low((200, END)))) or []
    both = joined(one, two)
    assert (both.onset_s, both.end_s, both.before) == (one.onset_s, two.end_s, one.before)
    assert both.depth == pytest.approx((140 * 0.4 + 100 * 0.7) / 240, abs=0.02)
    assert (both.lowest, both.last) == (two.lowest, two.last)
    assert both.fall_s >= two.onset_s - one.onset_s
    outer, inner = find_drops(of_parts(low((60, END), to=0.6), low((150, 200)))) or []
    both = joined(outer, inner)
    assert both.end_s == outer.end_s
    assert both.depth == pytest.approx((190 * 0.4 + 50 * 0.7) / 240, abs=0.02)


def test_a_fall_is_as_deep_beside_a_deeper_one_that_passes_within_it() -> None:
    outer, inner = find_drops(of_parts(low((60, END), to=0.5), low((150, 200), to=0.4))) or []
    assert (outer.depth, inner.depth) == pytest.approx((0.5, 0.6), abs=0.02)


# ---- laws


@given(
    scale=st.floats(1e-3, 1e9),
    to=st.floats(0.2, 0.9),
    later_s=st.floats(-1e4, 1e5),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=5)
def test_neither_the_unit_nor_the_time_of_day_matters(
    scale: float, to: float, later_s: float, seed: int
) -> None:
    of = of_parts(low((250, END), to=to), duration_s=600, sampling_s=1.0, seed=seed)
    drops = find_drops(of)
    scaled = find_drops(RateSeries(of.t_s, of.interval_s, scale * of.values, "mb_s"))
    assert drops
    assert scaled
    (one,), (other,) = drops, scaled
    same = {name: (getattr(one, name), 1e-6) for name in ("onset_s", "end_s", "depth")}
    assert agrees(other, same | {"shape": one.shape})
    (later,) = find_drops(RateSeries(of.t_s + later_s, of.interval_s, of.values, "mb_s")) or []
    assert agrees(later, fall(one.onset_s + later_s, 0.2, depth=(one.depth, 1e-3)))


@given(
    held_s=st.floats(0.0, 20.0),
    sampling_s=st.sampled_from([0.1, 0.25, 0.5, 1.0]),
    seed=st.integers(0, 99),
)
@example(held_s=0.0, sampling_s=1.0, seed=0)
@example(held_s=1.0, sampling_s=0.25, seed=0)
@settings(deadline=None, max_examples=20)
def test_a_fall_is_as_deep_however_briefly_its_level_was_held(
    held_s: float, sampling_s: float, seed: int
) -> None:
    of = of_parts(lost(held_s, 0.7, 15), sampling_s=sampling_s, sigma=0.01, seed=seed)
    (one,) = find_drops(of) or []
    assert one.depth == pytest.approx(0.665, abs=0.03)
    assert one.onset_s == pytest.approx(held_s + 0.5, abs=2.0)


@given(
    held_s=st.floats(2.2, 20.0),
    sampling_s=st.sampled_from([0.1, 0.25, 0.5]),
    to=st.floats(0.1, 0.6),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=20)
def test_a_fall_at_once_is_found_where_three_samples_held_its_level(
    held_s: float, sampling_s: float, to: float, seed: int
) -> None:
    of = of_parts(low((held_s, END), to=to), sampling_s=sampling_s, sigma=0.01, seed=seed)
    (one,) = find_drops(of) or []
    assert one.depth == pytest.approx(1 - to, abs=0.03)
    assert one.onset_s == pytest.approx(held_s, abs=max(0.5, 2 * sampling_s))


@given(start_s=st.integers(100, 250), length_s=st.integers(20, 200), seed=st.integers(0, 99))
@settings(deadline=None, max_examples=5)
def test_a_passing_fall_is_the_same_backwards(start_s: int, length_s: int, seed: int) -> None:
    end_s = start_s + length_s
    for a_s, b_s in ((start_s, end_s), (600 - end_s, 600 - start_s)):
        one = case("", [low((a_s, b_s))], [fall(a_s, 3, end_s=(b_s, 3))],
                   duration_s=600, sampling_s=1.0, sigma=0.005, correlation=0.5)  # fmt: skip
        assert agree(one.drops(seed), one.wanted)


def regular(values: list[float], sampling_s: float) -> RateSeries:
    t_s: Array = np.arange(1, len(values) + 1, dtype=np.float64) * sampling_s
    return RateSeries(t_s, np.full(len(values), sampling_s), np.array(values), "mb_s")


def at_any_times(rows: list[tuple[float, float]]) -> RateSeries:
    t_s, values = np.array(rows).reshape(-1, 2).T
    return RateSeries(t_s, np.full(len(rows), 0.5), values, "mb_s")


def mostly_idle(seed: int, share: float, held: int, sampling_s: float) -> RateSeries:
    chance = np.random.default_rng(seed)
    bursts = np.where(chance.random(100) < share, chance.lognormal(0, 2, 100), 0.0)
    return regular(np.repeat(bursts, held).tolist(), sampling_s)


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
@given(
    st.builds(
        regular,
        st.lists(st.floats(min_value=0, max_value=1e5), max_size=200),
        st.sampled_from([0.01, 0.1, 1.0, 10.0]),
    )
    | st.builds(
        at_any_times,
        st.lists(
            st.tuples(
                st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, 0.0, 1.0, 1.0]),
                st.floats(width=32),
            ),
            max_size=120,
        ),
    )
    | st.builds(
        mostly_idle,
        st.integers(0, 10_000),
        st.sampled_from([0.1, 0.3, 0.5]),
        st.integers(1, 8),
        st.sampled_from([0.1, 1.0, 2.0]),
    )
)
@example(at_any_times([(float(index), 1e9 if index < 40 else 1e-3) for index in range(80)]))
@example(at_any_times([(0.1 * index, 5.0 * (index % 2)) for index in range(100)]))
@example(mostly_idle(7, 0.3, 6, 1.0))
@settings(deadline=None, max_examples=60)
def test_any_series_has_an_answer(of: RateSeries) -> None:
    good = np.isfinite(of.t_s)
    measured = RateSeries(of.t_s[good], of.interval_s[good], of.values[good], "mb_s")
    obeys(find_drops(of), measured)


@pytest.mark.parametrize("count", [15, pytest.param(60, marks=pytest.mark.long)])
def test_short_falls_to_a_noisy_level_are_found(count: int) -> None:
    # as of a served drive whose rate was cut after 7 s and given back after 14
    interval_s = np.full(82, 0.26)
    t_s = np.cumsum(interval_s)
    is_cut = (t_s > 7.2) & (t_s < 14.2)
    depths = []
    for seed in range(count):
        noise = np.random.default_rng(seed).normal(0, np.where(is_cut, 0.08, 0.03))
        values = np.where(is_cut, 16.0, 40.0) * (1 + noise)
        drops = find_drops(RateSeries(t_s, interval_s, values, "mb_s"))
        assert drops, seed
        depths.append(max(one.depth for one in drops))
    # a dip just before it may be taken for its begin
    assert np.mean(np.abs(np.array(depths) - 0.6) < 0.06) > 0.9


@pytest.mark.parametrize("onset_s", [60, 140, 250])
@pytest.mark.parametrize("left", [0.0, 0.03, 0.3])
def test_stalls_of_a_second_that_come_ever_more_often_are_a_fall(onset_s: int, left: float) -> None:
    """As a governor makes that stops a drive for a moment each time that it reaches its limit."""
    rng = np.random.default_rng(onset_s)
    values = 6400 * rng.normal(1, 0.01, 600)
    at_s, period_s = float(onset_s), 13.0
    while at_s < 600:
        values[int(at_s)] *= left
        at_s, period_s = at_s + period_s, max(0.93 * period_s, 3.0)
    t_s = np.arange(1.0, 601.0)
    drops = find_drops(RateSeries(t_s, np.ones(600), values, "mb_s"))
    assert drops
    assert onset_s - 10 <= drops[0].onset_s <= onset_s + 60
    lost = 1 - min(drop.during for drop in drops) / drops[0].before
    assert lost == pytest.approx((1 - left) / 3, abs=0.08)
    # as often from the start on, they are how it runs
    evenly = np.where(np.arange(600) % 7 == 3, left, 1.0) * 6400 * rng.normal(1, 0.01, 600)
    assert not find_drops(RateSeries(t_s, np.ones(600), evenly, "mb_s"))
