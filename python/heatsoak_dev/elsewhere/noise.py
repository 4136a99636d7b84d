"""What makes measured throughput rough: noise with memory, wander, dips, jitter."""

from dataclasses import dataclass

import numpy as np

from heatsoak_dev.elsewhere.thermal import Array, Generator


def remembered(rng: Generator, count: int, dt: float, sd: float, tau_s: float) -> Array:
    """Return noise of a standard deviation that forgets itself within ``tau_s`` (AR(1))."""
    keep = float(np.exp(-dt / tau_s))
    fresh = rng.standard_normal(count) * np.sqrt(1 - keep * keep)
    out = np.empty(count)
    value = float(rng.standard_normal())
    for index, shock in enumerate(fresh.tolist()):
        value = keep * value + shock
        out[index] = value
    return sd * out


@dataclass(frozen=True)
class Noise:
    """How rough a load is; shares of its level, dips for each hour."""

    fast: float
    tau_s: float
    wander: float
    wander_s: float
    dips_an_hour: float
    capped: bool = False

    def factor(self, rng: Generator, count: int, dt: float) -> Array:
        """Return what the level is multiplied by."""
        out = 1 + remembered(rng, count, dt, self.fast, self.tau_s)
        out += remembered(rng, count, dt, self.wander, self.wander_s)
        for _ in range(rng.poisson(self.dips_an_hour * count * dt / 3600)):
            begin = int(rng.integers(count))
            length = max(int(rng.uniform(0.2, 3.0) / dt), 1)
            out[begin : begin + length] *= 1 - min(0.03 * (1 + rng.pareto(1.2)), 0.95)
        if self.capped:  # a link's limit: it falls short, and never gets over it
            out = np.minimum(out, 1 + 0.001 * rng.standard_normal(count))
        return np.maximum(out, 0.0)


def draw_noise(rng: Generator, *, capped: bool = False) -> Noise:
    """Draw a roughness, from a quiet link's limit to a drive that is never quiet."""
    return Noise(
        fast=float(np.exp(rng.uniform(np.log(0.002), np.log(0.05)))),
        tau_s=float(np.exp(rng.uniform(np.log(0.1), np.log(20)))),
        wander=float(rng.uniform(0.002, 0.015)),
        wander_s=float(rng.uniform(60, 900)),
        dips_an_hour=float(rng.choice([0, 2, 10, 60])),
        capped=capped,
    )
