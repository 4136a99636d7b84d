"""The situations: what a drive was asked for, what it did, why. No file formats, no sampling."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from heatsoak_dev.elsewhere import thermal
from heatsoak_dev.elsewhere.noise import Noise, draw_noise, remembered
from heatsoak_dev.elsewhere.thermal import Array, Generator
from heatsoak_dev.elsewhere.truth import Fall, optional


@dataclass
class Scene:
    """A situation on a fine grid, without noise; ``zones`` are falls that nobody has to find."""

    dt: float
    demand: Array
    level: Array
    cause: list[str]
    temps: dict[str, Array]
    warning_c: float
    held: Array
    cpu_pct: Array
    queue: Array
    busy_pct: Array
    others: Array
    stolen_pct: Array
    noise: Noise
    reads: bool
    random: bool
    depth: int
    rotating: bool = False
    loaded: bool = True
    neighbour: dict[str, Array] = field(default_factory=dict)
    zones: list[Fall] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)


@dataclass
class Load:
    """What is asked: MB/s over time on a grid of ``dt``, and how."""

    rng: Generator
    demand: Array
    dt: float
    reads: bool
    random: bool
    depth: int
    sata: bool

    @property
    def top(self) -> float:
        """Return the most that is asked for."""
        return float(self.demand.max())

    @property
    def time(self) -> Array:
        """Return the grid's times."""
        return np.arange(len(self.demand), dtype=float) * self.dt


def between(rng: Generator, low: float, high: float) -> float:
    """Draw a number, each factor as likely as each other."""
    return float(np.exp(rng.uniform(np.log(low), np.log(high))))


def draw_load(
    rng: Generator,
    logger: bool,
    seconds: float,
    *,
    kind: str = "",
    pauses: bool = False,
) -> Load:
    """Draw a steady load; a logger also sees what is before and behind it, and pauses."""
    kind = kind or str(
        rng.choice(["write", "read", "randwrite", "randread"], p=[0.5, 0.3, 0.1, 0.1])
    )
    sata = kind in ("write", "read") and rng.random() < 0.15
    ends = (380, 560) if sata else (180, 1400) if kind.startswith("rand") else (900, 7200)
    if kind == "disk":
        ends = (140, 270)
    dt = 0.25 if seconds <= 2400 else 0.5 if seconds <= 7200 else 1.0
    demand = np.full(int(seconds / dt), between(rng, *ends))
    if logger:
        lead, tail = rng.choice([0, 0, 5, 30, 90], 2)
        demand = np.concatenate([np.zeros(int(lead / dt)), demand, np.zeros(int(tail / dt))])
    if pauses:
        pause_s = min(rng.uniform(60, 400), 0.25 * seconds)
        demand[int(len(demand) * 0.45) :][: int(pause_s / dt)] = 0.0
    depth = int(rng.choice([1, 4, 8, 32, 64]))
    return Load(rng, demand, dt, kind in ("read", "randread"), "rand" in kind, depth, sata)


def staged(
    load: Load,
    governor: thermal.Governor | None = None,
    *,
    limit_c: float = 0.0,
    over_k: float = -20.0,
    media: thermal.Media | None = None,
    housing: str = "",
    warm: float = 0.0,
    cut_s: float = 0.0,
    air_k: Array | None = None,
    reading: Callable[[float, float], float] = lambda _, temp_c: temp_c,
    cooler: Callable[[float], float] = lambda _: 1.0,
    capped: bool = False,
) -> Scene:
    """Run a load on a drive that would settle ``over_k`` above its limit, and keep what happened.

    ``cut_s`` is how much of the beginning the log has missed.
    """
    rng = load.rng
    housing = housing or ("sata" if load.sata else str(rng.choice(["bare", "heatsink", "fan"])))
    limit_c = limit_c or float(rng.integers(68, 84))
    full_w = 2 + 6 * min(load.top / 5000, 1) ** 0.5 + float(rng.uniform(0.5, 3))
    if load.sata or housing == "disk":
        full_w = float(rng.uniform(2.2, 4.0)) if load.sata else float(rng.uniform(6, 9))
    idle_w = full_w * float(rng.uniform(0.08, 0.35))
    body = thermal.draw_body(rng, housing, full_w, idle_w, limit_c + over_k)
    drift = remembered(rng, len(load.demand), load.dt, 0.6, 900)
    done = thermal.run(
        load.demand, body, governor or thermal.never, load.dt, media,
        air_k=drift if air_k is None else air_k + drift, warm=warm, reading=reading, cooler=cooler,
    )  # fmt: skip
    cut = int(cut_s / load.dt)
    demand, level = load.demand[cut:], done.level[cut:]
    count = len(demand)
    active = demand > 0
    read_c = np.array([reading(i * load.dt, c) for i, c in enumerate(done.read_c.tolist())])
    scatter = remembered(rng, count, load.dt, 1.5, 5)
    idle_cpu, busy_cpu = rng.uniform(0.5, 5), rng.uniform(3, 30)
    return Scene(
        dt=load.dt,
        demand=demand,
        level=level,
        cause=done.cause[cut:],
        temps={"composite": read_c[cut:], "sensor2": done.die_c[cut:]},
        warning_c=limit_c + float(rng.integers(0, 4)),
        held=(done.held[cut:] & active).astype(float),
        cpu_pct=np.clip(np.where(active, busy_cpu, idle_cpu) + scatter, 0.2, 99.5),
        queue=np.where(active, float(load.depth), 0.0),
        busy_pct=np.where(active, np.minimum(rng.uniform(96, 100) + 0.3 * scatter, 100.0), 0.0),
        others=np.zeros(count),
        stolen_pct=np.zeros(count),
        noise=draw_noise(rng, capped=capped),
        reads=load.reads,
        random=load.random,
        depth=load.depth,
        rotating=housing == "disk",
        seen={"hot"} if float(read_c.max()) > limit_c - 8 else set(),
    )


def governor_of(rng: Generator, kind: str, limit: float) -> thermal.Governor:
    """Draw a governor of a kind that acts from a limit on."""
    pick = rng.uniform
    if kind == "two-level":
        heavy = limit + float(rng.integers(3, 8))
        light = float(pick(0.5, 0.85))
        return thermal.two_level(
            limit, heavy, float(rng.integers(1, 5)), light, light * pick(0.3, 0.7)
        )
    if kind == "stages":
        light = float(pick(0.55, 0.85))
        return thermal.two_level(
            limit, limit + float(pick(2, 6)), 25, light, light * pick(0.3, 0.7)
        )
    if kind == "stairs":
        step, every = pick(0.03, 0.1), between(rng, 1, 12)
        return thermal.stairs(limit, float(rng.integers(1, 4)), step, every, pick(0.15, 0.4))
    if kind == "square":
        return thermal.square(limit, limit - float(pick(0.5, 8)), float(pick(0.1, 0.6)))
    if kind == "pulses":
        return thermal.pulses(limit, float(pick(0.15, 0.6)), between(rng, 2, 120))
    if kind == "trickle":
        return thermal.square(limit, limit - float(pick(6, 25)), float(pick(0.005, 0.06)))
    return thermal.proportional(limit, pick(0.04, 0.2), pick(0.15, 0.4), between(rng, 3, 40))


GOVERNORS = ("two-level", "stages", "stairs", "square", "pulses", "trickle", "proportional")


def heat(rng: Generator, logger: bool, kind: str) -> Scene:
    """A drive that gets too hot, under one of the governors."""
    load = draw_load(rng, logger, between(rng, 240, 2400), pauses=logger and rng.random() < 0.25)
    limit = float(rng.integers(63, 86))
    scene = staged(load, governor_of(rng, kind, limit), limit_c=limit, over_k=rng.uniform(8, 45))
    if load.demand[len(load.demand) // 2] == 0:
        scene.seen.add("again")
    if rng.random() < 0.3:  # the limit at which it slows lies below what it states
        scene.warning_c = limit + float(rng.integers(4, 13))
    if (
        rng.random() < 0.2
    ):  # the composite is the least margin over sensors with limits of their own
        apart = float(rng.uniform(5, 18))
        both = np.maximum(scene.temps["composite"], scene.temps["sensor2"] - apart)
        scene.temps = {"composite": both, "sensor1": scene.temps["composite"]} | scene.temps
        scene.temps["composite"] = both
    return scene


def before_the_log(rng: Generator, logger: bool) -> Scene:  # noqa: ARG001
    """A log that began when the drive was hot; in half of them a fan is set up later."""
    load = draw_load(rng, False, rng.uniform(900, 2400))
    limit = float(rng.integers(68, 84))
    kind = str(rng.choice(["two-level", "square", "proportional"]))
    fan_s = rng.uniform(500, 800) if rng.random() < 0.5 else 1e9
    return staged(
        load, governor_of(rng, kind, limit), limit_c=limit, over_k=rng.uniform(15, 40), warm=0.7,
        cut_s=300, cooler=lambda at_s: 0.35 if at_s > fan_s else 1.0,
    )  # fmt: skip


def stuck_sensor(rng: Generator, logger: bool) -> Scene:
    """A cool drive that slows, since its sensor sticks at 84 C from some time on."""
    load = draw_load(rng, logger, rng.uniform(400, 1500))
    stuck_s = rng.uniform(60, 300)
    governor = thermal.square(84, 80, float(rng.uniform(0.1, 0.5)))
    scene = staged(
        load, governor, limit_c=84, over_k=-35,
        reading=lambda at_s, temp_c: 84.0 if at_s > stuck_s else temp_c,
    )  # fmt: skip
    scene.seen |= {"spoilt", "hot"}
    return scene


def idle_desktop(rng: Generator, logger: bool) -> Scene:  # noqa: ARG001
    """A desktop whose drive is hardly used, and warmed by a graphics card or processor, or not."""
    load = draw_load(rng, False, between(rng, 1500, 7000))
    count, top = len(load.demand), load.top
    busy = np.repeat(rng.random(count // 40 + 1) < rng.uniform(0.02, 0.4), 40)[:count]
    small = np.where(busy, between(rng, 0.02, 3) * rng.pareto(1.5, count), 0.0)
    load.demand = np.minimum(small, 60.0)
    gaming = np.repeat(rng.random(40) < 0.5, count // 40 + 1)[:count].astype(float)
    if rng.random() < 0.3:
        gaming[:] = 0.0
    air, tau, warmer = np.empty(count), rng.uniform(120, 500), rng.uniform(8, 28)
    value = 0.0
    for index, on in enumerate(gaming.tolist()):
        value += (warmer * on - value) * load.dt / tau
        air[index] = value
    load.demand[0] = top  # only what a full load would be, so that this one is little beside it
    scene = staged(load, limit_c=80, over_k=rng.uniform(-30, -5), air_k=air, housing="bare")
    scene.demand[0] = scene.level[0] = 0.0
    scene.loaded = False
    scene.queue[:], scene.busy_pct[:] = 0.01, np.clip(scene.level / top * 100, 0, 100)
    scene.cpu_pct = np.clip(4 + 35 * gaming + remembered(rng, count, load.dt, 3, 5), 0.5, 100)
    gpu_c = 38 + 1.6 * air + 8 * gaming
    scene.neighbour = {"gpu_pct": 97 * gaming, "gpu_c": gpu_c}
    scene.noise = Noise(0.01, 1, 0.001, 100, 0)
    return scene


#: What a drive of 1 TB, as the logs call it, can hold with one bit instead of three a cell.
MOST_CACHE_MB = 333e3


def cached(rng: Generator, logger: bool, *, hot: bool = False) -> Scene:
    """Writes that outrun a pSLC cache: a level or waves behind it; full speed after a pause."""
    load = draw_load(
        rng, logger, rng.uniform(300, 1800), kind="write", pauses=logger and rng.random() < 0.4
    )
    slow = load.top * rng.uniform(0.12, 0.6)
    fold = slow * rng.uniform(0.3, 0.8)
    waves = between(rng, 3, 40) if rng.random() < 0.4 else 0.0
    size = min(load.top * rng.uniform(15, 0.35 * len(load.demand) * load.dt), MOST_CACHE_MB)
    media = thermal.Cache(size, slow, fold, waves, size / rng.uniform(30, 600))
    limit = float(rng.integers(70, 84))
    governor = governor_of(rng, "two-level", limit) if hot else None
    scene = staged(
        load,
        governor,
        media=media,
        limit_c=limit,
        over_k=rng.uniform(8, 30) if hot else -rng.uniform(12, 35),
    )
    if 0.0 in load.demand[len(load.demand) // 3 : 2 * len(load.demand) // 3]:
        scene.seen.add("again")
    return scene


def spare(rng: Generator, logger: bool) -> Scene:
    """Random writes that use up the spare area, then waves of cleaning."""
    load = draw_load(rng, logger, rng.uniform(900, 3600), kind="randwrite")
    slow = load.top * rng.uniform(0.08, 0.4)
    at_mb = load.top * rng.uniform(40, 500)
    media = thermal.Spare(at_mb, slow, load.top * between(rng, 2, 60))
    scene = staged(load, media=media, over_k=-rng.uniform(12, 35))
    after = np.array([word == "spare-area" for word in scene.cause])
    wave = waves(rng, load.time, rng.uniform(0.03, 0.25))
    scene.level = np.where(after, scene.level * np.minimum(wave, 1.25), scene.level)
    if after.any():
        scene.zones.append(zone(scene, "cleaning", (float(after.argmax()) / len(after), 1.0)))
    return scene


def waves(rng: Generator, time: Array, swing: float) -> Array:
    """Return a slow swing about 1 with a period of minutes that is never quite the same."""
    period = rng.uniform(60, 300)
    phase = 2 * np.pi * time / period + remembered(rng, len(time), time[1], 0.8, period)
    out: Array = 1 + swing * np.sin(phase)
    return out


def zone(scene: Scene, cause: str, share: tuple[float, float] = (0.0, 1.0)) -> Fall:
    """Return a fall that need not be found, over a part of the log."""
    whole = len(scene.demand) * scene.dt
    return optional(share[0] * whole, share[1] * whole, cause)


def cleaning(rng: Generator, logger: bool) -> Scene:
    """A drive in its steady state, whose cleaning comes in waves."""
    load = draw_load(rng, logger, between(rng, 1200, 7000), kind="randwrite")
    scene = staged(load, over_k=-rng.uniform(12, 35))
    scene.level = scene.level * waves(rng, load.time, rng.uniform(0.05, 0.2))
    scene.demand = scene.level.copy()
    scene.zones.append(zone(scene, "cleaning"))
    return scene


def commits(rng: Generator, logger: bool) -> Scene:
    """Short dips at regular times (a journal), now and then some minutes of a patrol read."""
    load = draw_load(rng, logger, between(rng, 900, 5000))
    scene = staged(load, over_k=-rng.uniform(12, 35))
    every, length, deep = between(rng, 5, 40), rng.uniform(0.25, 2), rng.uniform(0.1, 0.6)
    dips = (load.time % every) < length
    scene.level = np.where(dips, scene.level * (1 - deep), scene.level)
    if rng.random() < 0.5:
        whole = len(scene.demand)
        for begin in range(int(whole * 0.3), whole, int(whole * 0.4)):
            end = min(begin + int(rng.uniform(60, 180) / scene.dt), whole)
            scene.level[begin:end] *= 1 - rng.uniform(0.05, 0.12)
            scene.zones.append(zone(scene, "patrol", (begin / whole, end / whole)))
    scene.demand = scene.level.copy()
    scene.zones.append(zone(scene, "commits"))
    return scene


def disk_zones(rng: Generator, logger: bool) -> Scene:  # noqa: ARG001
    """A hard disk from its outer to its inner tracks."""
    load = draw_load(rng, False, rng.uniform(7500, 22000), kind="disk")
    into = np.linspace(0, 1, len(load.demand))
    steps = int(rng.integers(12, 30))
    into = np.floor(into * steps) / steps if rng.random() < 0.7 else into
    inner = rng.uniform(0.4, 0.5)
    scene = staged(load, limit_c=60, over_k=-rng.uniform(12, 25), housing="disk")
    scene.level = load.demand * (1 - inner * (0.6 * into + 0.4 * into**2))
    scene.cause = ["zones"] * len(into)
    scene.noise = Noise(rng.uniform(0.003, 0.02), 1, 0.003, 200, 20)
    return scene


def host_limit(rng: Generator, logger: bool, kind: str) -> Scene:
    """The host asks for less: its processor is busy, its queue is short, its link is halved."""
    load = draw_load(rng, logger, rng.uniform(300, 1800))
    asked, whole = load.demand, len(load.demand)
    begin = int(whole * rng.uniform(0.25, 0.5))
    end = whole if kind == "link" or rng.random() < 0.4 else int(whole * rng.uniform(0.6, 0.85))
    less = 0.5 if kind == "link" else rng.uniform(0.3, 0.85)
    slow = (np.arange(whole) >= begin) & (np.arange(whole) < end) & (asked > 0)
    load.demand = np.where(slow, asked * less, asked)
    scene = staged(load, over_k=-rng.uniform(12, 35))
    scene.demand = asked
    scene.cause = [kind if on else "" for on in slow.tolist()]
    if kind == "host-cpu":
        scene.cpu_pct = np.where(slow, rng.uniform(98.5, 100), scene.cpu_pct)
        scene.queue = np.where(slow, scene.queue * less, scene.queue)
        scene.busy_pct = np.where(slow, scene.busy_pct * less**0.5, scene.busy_pct)
    if kind == "host-queue":
        scene.depth = max(scene.depth, 8)
        scene.queue = np.where(scene.demand > 0, float(scene.depth), 0.0)
        scene.queue = np.where(slow, scene.queue * less * rng.uniform(0.6, 1), scene.queue)
        scene.busy_pct = np.where(slow, scene.busy_pct * less, scene.busy_pct)
    return scene


def interference(rng: Generator, logger: bool) -> Scene:
    """Another process reads from the same drive for a while."""
    load = draw_load(rng, logger, rng.uniform(300, 1800), kind="write")
    scene = staged(load, over_k=-rng.uniform(12, 35))
    whole = len(scene.demand)
    begin, end = int(whole * rng.uniform(0.25, 0.45)), int(whole * rng.uniform(0.55, 0.85))
    slow = (np.arange(whole) >= begin) & (np.arange(whole) < end) & (scene.demand > 0)
    less = rng.uniform(0.35, 0.8)
    taken = scene.level * (1 - less) * rng.uniform(0.85, 1.05)
    scene.others = np.where(slow, taken, 0.0)
    scene.level = np.where(slow, scene.level * less, scene.level)
    scene.cause = ["interference" if on else "" for on in slow.tolist()]
    return scene


def flat(rng: Generator, logger: bool) -> Scene:
    """A drive that holds its speed, for minutes or hours, with dips of seconds or without."""
    long = rng.random() < 0.4
    load = draw_load(rng, logger, between(rng, 3600, 20000) if long else between(rng, 180, 3000))
    scene = staged(load, over_k=-rng.uniform(3, 35), capped=load.sata or rng.random() < 0.2)
    for _ in range(int(rng.integers(0, 4))):
        begin = int(rng.uniform(0.1, 0.9) * len(scene.demand))
        scene.level[begin : begin + int(rng.uniform(0.5, 4) / scene.dt)] *= rng.uniform(0.1, 0.9)
    scene.demand = scene.level.copy()
    return scene


def bursts(rng: Generator, logger: bool) -> Scene:
    """Loads that begin and end, each at full speed."""
    load = draw_load(rng, logger, rng.uniform(600, 2400))
    at = int(rng.uniform(5, 60) / load.dt)
    while at < len(load.demand):
        pause = int(rng.uniform(5, 120) / load.dt)
        load.demand[at : at + pause] = 0.0
        at += pause + int(rng.uniform(20, 150) / load.dt)
    return staged(load, over_k=-rng.uniform(5, 35))


def uneven(rng: Generator, logger: bool) -> Scene:
    """A host that copies files of all sizes: 51 to 2767 MB/s, and the drive could do more."""
    load = draw_load(rng, logger, rng.uniform(400, 2400), kind="write")
    at, whole = 0, len(load.demand)
    while at < whole:
        length = int(between(rng, 2, 60) / load.dt)
        load.demand[at : at + length] = between(rng, 51, 2767) * (load.demand[at] > 0)
        at += length
    scene = staged(load, over_k=-rng.uniform(12, 35))
    scene.queue = np.where(scene.demand > 0, rng.uniform(0.8, 1.6), 0.0)
    scene.busy_pct = np.clip(100 * scene.level / 2900, 0, 100)
    scene.zones.append(zone(scene, "uneven-load"))
    return scene


Maker = Callable[[Generator, bool], Scene]


def governed(kind: str) -> Maker:
    """Return what makes a drive that gets too hot under a governor of this kind."""
    return lambda rng, logger: heat(rng, logger, kind)


def _limited(kind: str) -> Maker:
    return lambda rng, logger: host_limit(rng, logger, kind)


# how often each is drawn, and how it is made
SITUATIONS: dict[str, tuple[float, Maker]] = {
    **{f"heat, {kind}": (5.0, governed(kind)) for kind in GOVERNORS},
    "heat before the log": (3.0, before_the_log),
    "stuck sensor": (2.0, stuck_sensor),
    "idle desktop": (8.0, idle_desktop),
    "write cache": (8.0, cached),
    "write cache, then heat": (3.0, lambda rng, logger: cached(rng, logger, hot=True)),
    "spare area": (5.0, spare),
    "cleaning in waves": (4.0, cleaning),
    "commits and patrols": (4.0, commits),
    "zones of a disk": (3.0, disk_zones),
    **{f"host, {kind}": (2.5, _limited(kind)) for kind in ("host-cpu", "host-queue", "link")},
    "interference": (4.0, interference),
    "flat": (10.0, flat),
    "bursts": (4.0, bursts),
    "uneven load": (4.0, uneven),
}
