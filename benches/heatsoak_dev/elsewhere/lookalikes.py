"""Situations that look like heat and are none, or like none and are, and sensors that tell little.

A drive in them may be as warm as drives throttle at, and none of what slows it shows in its rate.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heatsoak_dev.elsewhere import situations, thermal
from heatsoak_dev.elsewhere.situations import Load, Maker, Scene, between, draw_load, staged
from heatsoak_dev.elsewhere.thermal import Array, Generator

#: What a drive without a governor settles at, against a limit of 68 to 83 C.
WARM_K = (-35.0, 6.0)
#: A sensor that lags this much, steps of this many kelvins, and one that is read this seldom.
LAG_S, STEP_K, SELDOM_S = 60.0, 5.0, 30.0


def slowed(rng: Generator, load: Load, share: Array, cause: str) -> Scene:
    """Return what happens if a drive at any warmth is given only a `share` of a load to do."""
    asked = load.demand
    load.demand = asked * share
    scene = staged(load, over_k=rng.uniform(*WARM_K))
    scene.demand = asked
    scene.cause = [
        cause if part < 0.98 and on else "" for part, on in zip(share, asked > 0, strict=True)
    ]
    return scene


def waits(scene: Scene, share: Array, *, busy: float = 1.0) -> None:
    """Make a drive wait for its load: fewer in flight, and idle in between."""
    scene.depth = max(scene.depth, 8)
    scene.queue = np.where(scene.demand > 0, scene.depth * share, 0.0)
    scene.busy_pct = scene.busy_pct * share**busy


def begins(rng: Generator, load: Load) -> tuple[int, int]:
    """Draw when something begins and ends, mostly while a drive still warms."""
    whole = len(load.demand)
    begin = int(whole * rng.uniform(0.08, 0.5))
    is_lasting = rng.random() < 0.6
    return begin, whole if is_lasting else int(begin + (whole - begin) * rng.uniform(0.3, 0.8))


def within(load: Load, begin: int, end: int, less: Array | float) -> Array:
    """Return a share of 1, and of `less` between two places of the grid."""
    at = np.arange(len(load.demand))
    out: Array = np.where((at >= begin) & (at < end), less, 1.0)
    return out


def asks_for_less(rng: Generator, logger: bool) -> Scene:
    """A host that asks for less and less: by steps, along a slope, or with the hour."""
    load = draw_load(rng, logger, rng.uniform(300, 2400))
    whole, (begin, end) = len(load.demand), begins(rng, load)
    least = rng.uniform(0.2, 0.85)
    into = np.clip((np.arange(whole) - begin) / max((end - begin) * rng.uniform(0.2, 1), 1), 0, 1)
    kind = rng.integers(3)
    if kind == 0:
        steps = int(rng.integers(1, 6))
        into = np.ceil(into * steps) / steps
    if kind == 1:
        into = 1 - np.exp(-3 * into)
    share = within(load, begin, end, 1 - (1 - least) * into)
    scene = slowed(rng, load, share, "host-queue")
    waits(scene, share, busy=rng.uniform(0.3, 1))
    return scene


def asks_at_times(rng: Generator, logger: bool) -> Scene:
    """A host that works for a second and waits for one, or in longer turns of its own."""
    load = draw_load(rng, logger, rng.uniform(300, 1800))
    begin, end = begins(rng, load)
    period_s = 2.0 if rng.random() < 0.5 else between(rng, 4, 120)
    works = (load.time % period_s) < period_s * rng.uniform(0.3, 0.8)
    share = within(load, begin, end, np.where(works, 1.0, rng.uniform(0.0, 0.5)))
    scene = slowed(rng, load, share, "host-queue")
    inside = within(load, begin, end, 0.0) == 0
    scene.cause = ["host-queue" if on else "" for on in (inside & (scene.demand > 0)).tolist()]
    waits(scene, share)
    return scene


def held_at_once(rng: Generator, logger: bool, cause: str) -> Scene:
    """A host that can do less from some time on, most often so that the drive stops warming."""
    load = draw_load(rng, logger, rng.uniform(300, 2400))
    begin, end = begins(rng, load)
    less = rng.uniform(0.3, 0.85)
    if cause == "link":
        less, end = float(rng.choice([0.5, 0.5, 0.25])), len(load.demand)
    ramp = np.clip((np.arange(len(load.demand)) - begin) * load.dt / between(rng, 0.5, 60), 0, 1)
    share = within(load, begin, end, 1 - (1 - less) * (1.0 if cause == "link" else ramp))
    scene = slowed(rng, load, share, cause)
    slow = share < 0.98
    if cause == "host-cpu":
        scene.cpu_pct = np.where(slow, rng.uniform(98.5, 100), scene.cpu_pct)
    if cause == "steal":
        scene.stolen_pct = np.where(slow, 100 * (1 - share) * rng.uniform(0.4, 0.9), 0.0)
        scene.cpu_pct = np.minimum(scene.cpu_pct, 100 - scene.stolen_pct)
    if cause in ("host-cpu", "steal"):
        waits(scene, share, busy=0.5)
    return scene


def power_state(rng: Generator, logger: bool) -> Scene:
    """A power state that the host sets: slower, and cooler, until it is taken back."""
    return held_at_once(rng, logger, "power-state")


def fan_starts(rng: Generator, logger: bool, kind: str) -> Scene:
    """A fan that starts while a drive is throttled, or at about the time that its cache is full."""
    load = draw_load(rng, logger, rng.uniform(600, 2400), kind="write" if kind == "cache" else "")
    limit = float(rng.integers(64, 84))
    fan_s, better = len(load.demand) * load.dt * rng.uniform(0.2, 0.8), rng.uniform(0.25, 0.7)

    def cooler(at_s: float) -> float:
        return better if at_s > fan_s else 1.0

    if kind == "heat":
        governor = situations.governor_of(rng, str(rng.choice(situations.GOVERNORS)), limit)
        return staged(load, governor, limit_c=limit, over_k=rng.uniform(8, 40), cooler=cooler)
    size = min(load.top * fan_s * rng.uniform(0.7, 1.3), situations.MOST_CACHE_MB)
    slow = load.top * rng.uniform(0.12, 0.6)
    media = thermal.Cache(size, slow, slow, 0.0, size / 200)
    return staged(load, media=media, limit_c=limit, over_k=rng.uniform(*WARM_K), cooler=cooler)


def full_while_hot(rng: Generator, logger: bool) -> Scene:
    """A full cache, or used-up spare area, of a drive as hot as others throttle at."""
    random = rng.random() < 0.3
    load = draw_load(rng, logger, rng.uniform(300, 2400), kind="randwrite" if random else "write")
    after_s = rng.uniform(0.06, 0.6) * len(load.demand) * load.dt
    slow = load.top * rng.uniform(0.12, 0.7)
    media: thermal.Media
    if random:
        media = thermal.Spare(load.top * after_s, slow, load.top * between(rng, 2, 60))
    else:
        size = min(load.top * after_s, situations.MOST_CACHE_MB)
        media = thermal.Cache(size, slow, slow * rng.uniform(0.5, 1), 0.0, size / 200)
    return staged(
        load, media=media, limit_c=float(rng.integers(72, 88)), over_k=rng.uniform(*WARM_K)
    )


@dataclass
class TwoCaches:
    """A cache behind a cache, each slower than the one before once it is full."""

    sizes_mb: tuple[float, float]
    rates_mb_s: tuple[float, float]
    cause: str = "write-cache"
    used_mb: float = 0.0

    def take(self, asked_mb_s: float, dt: float) -> float:
        """Return the rate at which it takes what is asked of it."""
        full = sum(self.used_mb >= size for size in self.sizes_mb)
        rate = min(asked_mb_s, (asked_mb_s, *self.rates_mb_s)[full])
        self.used_mb += rate * dt
        return rate


def full_twice(rng: Generator, logger: bool) -> Scene:
    """A cache that is full, and a second one behind it, of a drive at any warmth."""
    load = draw_load(rng, logger, rng.uniform(300, 2400), kind="write")
    first = load.top * rng.uniform(0.05, 0.3) * len(load.demand) * load.dt
    between_ = load.top * rng.uniform(0.25, 0.7)
    second = first + between_ * rng.uniform(0.1, 0.5) * len(load.demand) * load.dt
    media = TwoCaches((first, second), (between_, between_ * rng.uniform(0.2, 0.8)))
    return staged(load, media=media, over_k=rng.uniform(*WARM_K))


def tests_in_turn(rng: Generator, logger: bool) -> Scene:
    """One test after another, each at a speed of its own, some after a pause."""
    load = draw_load(rng, logger, rng.uniform(240, 1500))
    at, whole, top = 0, len(load.demand), load.top
    while at < whole:
        length = int(between(rng, 15, 200) / load.dt)
        load.demand[at : at + length] *= between(rng, 0.01, 1)
        at += length
        if rng.random() < 0.6:
            pause = int(between(rng, 1, 20) / load.dt)
            load.demand[at : at + pause] = 0.0
            at += pause
    load.demand[np.argmax(load.demand)] = top  # so that the drive is as warm as at full speed
    scene = staged(load, over_k=rng.uniform(*WARM_K))
    scene.zones.append(situations.zone(scene, "uneven-load"))
    return scene


def others_while_hot(rng: Generator, logger: bool) -> Scene:
    """Somebody else's work on a drive at any warmth, which it keeps as warm as it was."""
    scene = situations.interference(rng, logger)
    warmer = rng.uniform(5, 35)
    scene.temps = {name: values + warmer for name, values in scene.temps.items()}
    if scene.temps["composite"].max() > scene.warning_c - 8:
        scene.seen.add("hot")
    return scene


def lagging(temp_c: Array, dt: float) -> Array:
    """Return what a sensor that lags by a minute reads."""
    out, value, part = np.empty(len(temp_c)), float(temp_c[0]), dt / LAG_S
    for index, now in enumerate(temp_c.tolist()):
        value += (now - value) * part
        out[index] = value
    return out


def in_steps(temp_c: Array, dt: float) -> Array:  # noqa: ARG001
    """Return what a sensor that reports in steps of 5 K reads."""
    out: Array = STEP_K * np.floor(temp_c / STEP_K)
    return out


def seldom(temp_c: Array, dt: float) -> Array:
    """Return what a sensor reads that measures each 30 s."""
    every = max(int(SELDOM_S / dt), 1)
    out: Array = temp_c[np.arange(len(temp_c)) // every * every]
    return out


def standing(temp_c: Array, dt: float) -> Array:  # noqa: ARG001
    """Return what a sensor reads that stands at whatever it read at first."""
    return np.full(len(temp_c), float(temp_c[0]))


SENSORS: dict[str, Callable[[Array, float], Array]] = {
    "lags": lagging, "in steps": in_steps, "seldom": seldom, "stands": standing,
}  # fmt: skip
#: How often each sensor is drawn; the rest are good.
OFTEN = {"lags": 0.13, "in steps": 0.1, "seldom": 0.1, "stands": 0.05}


def sensed(rng: Generator, scene: Scene) -> Scene:
    """Draw the sensor that all of a scene's temperatures are read by."""
    name = str(rng.choice([*OFTEN, ""], p=[*OFTEN.values(), 1 - sum(OFTEN.values())]))
    if name:
        read = SENSORS[name]
        scene.temps = {each: read(values, scene.dt) for each, values in scene.temps.items()}
    if name == "stands":
        scene.seen |= {"spoilt", "hot"}
    return scene


def _held(cause: str) -> Maker:
    return lambda rng, logger: held_at_once(rng, logger, cause)


def _fan(kind: str) -> Maker:
    return lambda rng, logger: fan_starts(rng, logger, kind)


def _sensed(make: Maker) -> Maker:
    return lambda rng, logger: sensed(rng, make(rng, logger))


#: How often each is drawn, and how it is made.
LOOKALIKES: dict[str, tuple[float, Maker]] = {
    name: (weight, _sensed(make))
    for name, weight, make in (
        *((f"heat, {kind}", 3.5, situations.governed(kind)) for kind in situations.GOVERNORS),
        ("heat, and a fan starts", 4.0, _fan("heat")),
        ("a fan starts as a cache fills", 4.0, _fan("cache")),
        ("asks for less and less", 8.0, asks_for_less),
        ("asks at times", 4.0, asks_at_times),
        ("bound by the processor", 4.0, _held("host-cpu")),
        ("stolen", 4.0, _held("steal")),
        ("link loses lanes", 4.0, _held("link")),
        ("power state", 4.0, power_state),
        ("full while hot", 8.0, full_while_hot),
        ("full twice", 5.0, full_twice),
        ("one test after another", 6.0, tests_in_turn),
        ("others while hot", 3.0, others_while_hot),
    )
}
