"""What loggers would have seen of a scene: samples, polls, whole kelvins, missed rows."""

from dataclasses import dataclass

import numpy as np

from heatsoak_dev.elsewhere.situations import Scene
from heatsoak_dev.elsewhere.thermal import Array, Generator


@dataclass
class Polls:
    """Readings of a drive's health, at times of their own."""

    at_s: Array
    temps: dict[str, Array]
    written_mb: Array
    read_mb: Array
    held_s: Array
    held_count: Array


@dataclass
class Observed:
    """A scene as logged: means over rows that end at ``at_s``, and polls. MB are decimal."""

    scene: Scene
    start_unix_s: float
    duration_s: float
    interval_s: float
    at_s: Array
    read: Array
    write: Array
    others: Array
    cpu_pct: Array
    stolen_pct: Array
    busy_pct: Array
    queue: Array
    polls: Polls

    @property
    def block_kib(self) -> int:
        """Return the block size of the load."""
        return 4 if self.scene.random else 128

    def at_polls(self, name: str) -> Array:
        """Return a temperature as a logger of the same rows reads it."""
        index = np.clip(np.searchsorted(self.polls.at_s, self.at_s, "right") - 1, 0, None)
        return self.polls.temps[name][index]

    def iops(self, mb_s: Array) -> Array:
        """Return I/Os a second at a rate."""
        return mb_s * 1e6 / (self.block_kib * 1024)

    def await_ms(self) -> Array:
        """Return the time of an I/O by Little's law, 0 where there was none."""
        rate = self.iops(self.read + self.write + self.others)
        return np.where(rate > 0.01, 1000 * self.queue / np.maximum(rate, 0.01), 0.0)


def means(series: Array, dt: float, edges: Array) -> Array:
    """Return the mean of a series between each two edges, which lie anywhere."""
    total = np.concatenate([[0.0], np.cumsum(series) * dt])
    grid = np.arange(len(total)) * dt
    out: Array = np.diff(np.interp(edges, grid, total)) / np.diff(edges)
    return out


def roughness(scene: Scene, interval_s: float) -> float:
    """Return how far the level strays on its own in some ten samples, as a share of it."""
    noise = scene.noise
    kept = min(2 * noise.tau_s / max(10 * interval_s, 10.0), 1.0)
    return float(np.hypot(noise.slow, noise.fast * np.sqrt(kept)))


def blur_s(scene: Scene, interval_s: float, depth: float) -> float:
    """Return how long one must look to tell a fall of a depth (a share) from the noise.

    That is until the mean is known to a quarter of the depth. Nothing is blurred if each sample
    tells by itself.
    """
    noise, quarter = scene.noise, depth / 4
    sampled = noise.fast * np.sqrt(min(2 * noise.tau_s / interval_s, 1.0))
    if np.hypot(sampled, noise.slow) < quarter:
        return 0.0
    rest = max(quarter**2 - noise.slow**2, quarter**2 / 4)
    return float(2 * noise.tau_s * noise.fast**2 / rest)


def observe(
    rng: Generator, scene: Scene, interval_s: float, poll_s: float, jitter: float = 0.0
) -> Observed:
    """Sample a scene. Rows are missed now and then where a logger would miss some.

    ``jitter`` is how uneven the times of rows are, as a share of their interval.
    """
    count, dt = len(scene.demand), scene.dt
    duration = count * dt
    rate = scene.level * scene.noise.factor(rng, count, dt)
    edges = np.arange(0, duration + 1e-9, interval_s)
    if rng.random() < 0.25 and len(edges) > 40:  # missed rows: the next one spans both
        keep = rng.random(len(edges)) > rng.uniform(0.002, 0.03)
        keep[:2] = keep[-1] = True
        edges = edges[keep]
    if jitter:
        edges[1:-1] += interval_s * np.clip(rng.normal(0, jitter, len(edges) - 2), -0.3, 0.3)
    still = np.zeros(count)
    own = means(rate, dt, edges)
    nothing = np.zeros(len(own))
    if scene.loaded:
        writes = nothing if scene.reads else own
        reads = own if scene.reads else nothing
    else:
        share = rng.random(len(own))
        writes, reads = own * share, own * (1 - share)
    # a poll is late by some ms, sometimes by more, and some are missed
    times = np.arange(rng.uniform(0, min(poll_s, 5)), duration, poll_s)
    times = times + np.abs(rng.normal(0, 0.02, len(times)))
    times = times[(rng.random(len(times)) > 0.01) | (np.arange(len(times)) < 2)]
    index = np.minimum((times / dt).astype(int), count - 1)
    moved = np.cumsum(rate) * dt
    flank = np.diff(scene.held, prepend=0.0) > 0
    jitter = 0.5 + rng.normal(0, 0.2, len(times)) * (scene.temps["composite"][index] != 84.0)
    polls = Polls(
        at_s=times,
        temps={name: np.floor(value[index] + jitter) for name, value in scene.temps.items()},
        written_mb=(np.zeros(count) if scene.reads else moved)[index],
        read_mb=(moved if scene.reads else np.cumsum(scene.others + still) * dt)[index],
        held_s=(np.cumsum(scene.held) * dt)[index],
        held_count=np.cumsum(flank)[index].astype(float),
    )
    return Observed(
        scene=scene,
        start_unix_s=float(1_690_000_000 + rng.integers(0, 60_000_000)),
        duration_s=duration,
        interval_s=interval_s,
        at_s=edges[1:],
        read=reads,
        write=writes,
        others=means(scene.others, dt, edges),
        cpu_pct=means(scene.cpu_pct, dt, edges),
        stolen_pct=means(scene.stolen_pct, dt, edges),
        busy_pct=means(scene.busy_pct, dt, edges),
        queue=means(scene.queue, dt, edges),
        polls=polls,
    )
