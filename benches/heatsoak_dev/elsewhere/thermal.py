"""How a drive warms, and governors that hold it back: two or three nodes, written for this test.

Nothing here is shared with heatsoak's own simulator. Numbers are plausible, not fitted: a bare
M.2 module holds about 8 J/K and sheds heat at 9 to 15 K/W in still air; its controller stands
some kelvins above it for each watt and follows within seconds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Generator = np.random.Generator

# die, board, sink in J/K; die to board, board to sink in K/W; drawn between these
HOUSINGS: dict[str, tuple[tuple[float, float], ...]] = {
    "bare": ((1.0, 2.5), (6.0, 10.0), (0.0, 0.0), (2.0, 4.5), (0.0, 0.0)),
    "heatsink": ((1.0, 2.5), (6.0, 10.0), (20.0, 70.0), (2.0, 4.0), (0.8, 2.0)),
    "fan": ((1.0, 2.5), (6.0, 10.0), (15.0, 40.0), (2.0, 4.0), (0.8, 2.0)),
    "sata": ((2.0, 5.0), (40.0, 70.0), (0.0, 0.0), (2.0, 5.0), (0.0, 0.0)),
    "disk": ((20.0, 40.0), (350.0, 500.0), (0.0, 0.0), (0.5, 1.0), (0.0, 0.0)),
}


@dataclass(frozen=True)
class Body:
    """A drive and what carries its heat away; ``share`` of the sensor is at the controller."""

    die: float
    board: float
    sink: float
    die_to_board: float
    board_to_sink: float
    to_air: float
    air_c: float
    share: float
    lag_s: float
    idle_w: float
    full_w: float

    def settled_c(self, watts: float, share: float | None = None) -> float:
        """Return what the sensor (or a point between board and die) reads in the end."""
        weight = self.share if share is None else share
        onward = self.to_air + (self.board_to_sink if self.sink else 0.0)
        return self.air_c + watts * (onward + weight * self.die_to_board)


def draw_body(rng: Generator, housing: str, full_w: float, idle_w: float, settles_c: float) -> Body:
    """Draw a body whose sensor would settle at ``settles_c`` if the load went on for ever."""
    die, board, sink, inner, pad = (float(rng.uniform(*ends)) for ends in HOUSINGS[housing])
    share = float(rng.uniform(0, 0.6))
    lag_s = float(np.exp(rng.uniform(np.log(1), np.log(30))))
    before_air = (pad if sink else 0.0) + share * inner
    air_c = float(rng.uniform(20, 34))
    to_air = max((settles_c - air_c) / full_w - before_air, 0.5)
    air_c = settles_c - full_w * (to_air + before_air)
    return Body(die, board, sink, inner, pad, to_air, air_c, share, lag_s, idle_w, full_w)


# says what share of its speed a drive may have, of its sensor's reading and the time since the last
Governor = Callable[[float, float], float]


def never(temp_c: float, dt: float) -> float:  # noqa: ARG001
    """Hold nothing back."""
    return 1.0


def two_level(
    light_c: float, heavy_c: float, hysteresis_k: float, light: float, heavy: float
) -> Governor:
    """Throttle lightly and heavily, with hysteresis; with much of it, stages stay."""
    level = 0

    def allow(temp_c: float, _: float) -> float:
        nonlocal level
        if temp_c >= heavy_c:
            level = 2
        elif temp_c >= light_c:
            level = max(level, 1)
        if level == 2 and temp_c < heavy_c - hysteresis_k:
            level = 1
        if level == 1 and temp_c < light_c - hysteresis_k:
            level = 0
        return (1.0, light, heavy)[level]

    return allow


def stairs(limit_c: float, band_k: float, step: float, every_s: float, floor: float) -> Governor:
    """Take many small steps: one down each time it is too hot, one up each time it is cool."""
    share, since_s = 1.0, 0.0

    def allow(temp_c: float, dt: float) -> float:
        nonlocal share, since_s
        since_s += dt
        if since_s >= every_s:
            since_s = 0.0
            if temp_c >= limit_c:
                share = max(share - step, floor)
            elif temp_c < limit_c - band_k:
                share = min(share + step, 1.0)
        return share

    return allow


def square(limit_c: float, release_c: float, low: float) -> Governor:
    """Allow full speed or little, by a limit and a release; with almost nothing, a trickle."""
    slow = False

    def allow(temp_c: float, _: float) -> float:
        nonlocal slow
        slow = temp_c >= limit_c or (slow and temp_c > release_c)
        return low if slow else 1.0

    return allow


def pulses(limit_c: float, low: float, period_s: float) -> Governor:
    """Take turns of a fixed length between full and low speed, more of the latter when hot."""
    duty, into_s = 1.0, 0.0

    def allow(temp_c: float, dt: float) -> float:
        nonlocal duty, into_s
        into_s += dt
        if into_s >= period_s:
            into_s = 0.0
            change = 0.15 if temp_c < limit_c - 2 else -0.15 if temp_c >= limit_c else 0.0
            duty = min(max(duty + change, 0.25), 1.0)
        return low if into_s < period_s * (1 - duty) else 1.0

    return allow


def proportional(limit_c: float, for_each_k: float, floor: float, settling_s: float) -> Governor:
    """Slow by a part for each kelvin too much, gradually."""
    share = 1.0

    def allow(temp_c: float, dt: float) -> float:
        nonlocal share
        wanted = min(max(1 - for_each_k * (temp_c - limit_c), floor), 1.0)
        share += (wanted - share) * min(dt / settling_s, 1.0)
        return 1.0 if share > 0.999 else share

    return allow


class Media(Protocol):
    """What flash can take besides heat."""

    cause: str

    def take(self, asked_mb_s: float, dt: float) -> float:
        """Return the rate at which it takes what is asked of it."""


@dataclass
class Cache:
    """A pSLC cache: full speed for some MB; then slower, perhaps in waves; regained when idle."""

    size_mb: float
    slow_mb_s: float
    fold_mb_s: float
    wave_s: float
    regained_mb_s: float
    cause: str = "write-cache"
    used_mb: float = 0.0
    full: bool = False
    time_s: float = 0.0

    def take(self, asked_mb_s: float, dt: float) -> float:
        """Return the rate in the cache, or behind it."""
        if asked_mb_s <= 0:
            self.used_mb = max(self.used_mb - self.regained_mb_s * dt, 0.0)
            self.full = self.full and self.used_mb > 0.7 * self.size_mb
            return 0.0
        if not self.full:
            self.used_mb += asked_mb_s * dt
            self.full, self.time_s = self.used_mb >= self.size_mb, 0.0
            return asked_mb_s
        self.time_s += dt
        folding = self.wave_s > 0 and self.time_s % self.wave_s > 0.6 * self.wave_s
        return min(asked_mb_s, self.fold_mb_s if folding else self.slow_mb_s)


@dataclass
class Spare:
    """Spare area that random writes use up: full speed, then a fall to what cleaning leaves."""

    size_mb: float
    slow_mb_s: float
    ramp_mb: float
    cause: str = "spare-area"
    written_mb: float = 0.0

    def take(self, asked_mb_s: float, dt: float) -> float:
        """Return the rate that the spare area left allows."""
        over = min(max((self.written_mb - self.size_mb) / self.ramp_mb, 0.0), 1.0)
        rate = min(asked_mb_s, asked_mb_s + (self.slow_mb_s - asked_mb_s) * over)
        self.written_mb += rate * dt
        return rate


@dataclass
class Run:
    """What a drive did and how warm it was, on the fine grid."""

    level: Array
    cause: list[str]
    board_c: Array
    die_c: Array
    read_c: Array
    held: npt.NDArray[np.bool_]


def run(
    demand: Array,
    body: Body,
    governor: Governor,
    dt: float,
    media: Media | None = None,
    *,
    air_k: Array | None = None,
    cooler: Callable[[float], float] = lambda _: 1.0,
    reading: Callable[[float, float], float] = lambda _, temp_c: temp_c,
    warm: float = 0.0,
) -> Run:
    """Run a load. ``cooler`` scales the way to the air over time, ``reading`` spoils the sensor.

    ``warm`` is how far towards the settled temperature of the full load it starts.
    """
    count, top = len(demand), float(demand.max()) or 1.0
    began_w = body.idle_w + warm * (body.full_w - body.idle_w)
    board = body.settled_c(began_w, 0.0)
    die, sink = body.settled_c(began_w, 1.0), body.air_c + began_w * body.to_air
    sensor = body.settled_c(began_w)
    level, dies, boards, reads = (np.empty(count) for _ in range(4))
    held, cause = np.zeros(count, bool), [""] * count
    for index in range(count):
        air = body.air_c + (float(air_k[index]) if air_k is not None else 0.0)
        share = governor(reading(index * dt, sensor), dt)
        asked = float(demand[index])
        done = asked * share
        if media is not None:
            taken = media.take(done, dt)
            if taken < done * 0.98:
                cause[index] = media.cause
            done = taken
        if share < 0.98 and not cause[index] and asked > 0:
            cause[index] = "thermal"
        watts = body.idle_w + (body.full_w - body.idle_w) * done / top
        up = (die - board) / body.die_to_board
        onward = body.to_air * cooler(index * dt)
        if body.sink:
            over = (board - sink) / body.board_to_sink
            sink += dt * (over - (sink - air) / onward) / body.sink
        else:
            over = (board - air) / onward
        die += dt * (watts - up) / body.die
        board += dt * (up - over) / body.board
        at = board + body.share * (die - board)
        sensor += (at - sensor) * min(dt / body.lag_s, 1.0)
        level[index], dies[index], boards[index], reads[index] = done, die, board, sensor
        held[index] = share < 0.98
    return Run(level, cause, boards, dies, reads, held)
