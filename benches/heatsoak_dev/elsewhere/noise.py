"""What makes measured throughput rough: noise with memory, wander, dips, jitter."""

from dataclasses import dataclass

import numpy as np

from heatsoak_dev.elsewhere.thermal import Array, Generator

DRIFT_S = 300.0
LONGEST_DIP_S = 5.0  # some measured ones last 15 s; who calls those falls is not wrong
SPREAD = 0.3  # of the logarithm: how far a load's figures are from those of a measured one
# how uneven HWiNFO's rows are, as a share of their interval (0.7 to 3.9 % in five logs)
JITTER = 0.017


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


def swing(rng: Generator, count: int, dt: float, period_s: float) -> Array:
    """Return a wave between -1 and 1 that is never quite the same."""
    phase = 2 * np.pi * (np.arange(count) * dt / period_s + rng.random())
    out: Array = np.sin(phase + remembered(rng, count, dt, 0.8, period_s))
    return out


@dataclass(frozen=True)
class Noise:
    """How rough a load is; shares of its level, dips for each hour.

    ``up`` is how far the fast noise goes up by how far it goes down. ``drift`` is like ``wander``,
    over minutes. Dips have about the depth ``dip`` and length ``dip_s``; if these are 0, a drawn
    one that is mostly small.
    """

    fast: float
    tau_s: float
    wander: float
    wander_s: float
    dips_an_hour: float
    capped: bool = False
    up: float = 1.0
    drift: float = 0.0
    wave: float = 0.0
    wave_s: float = 0.0
    dip: float = 0.0
    dip_s: float = 0.0

    @property
    def slow(self) -> float:
        """Return the standard deviation of what is slower than the fast noise."""
        return float(np.hypot(np.hypot(self.wander, self.drift), self.wave / np.sqrt(2)))

    def seems_to_fall(self, load_s: float) -> bool:
        """Say whether a load is too short to show that a wave or drift comes back.

        Who sees less than three of its periods may well speak of a fall, of 5 % and more.
        """
        wave = 2 * self.wave >= 0.05 and load_s < 3 * self.wave_s
        return wave or (2 * self.drift >= 0.05 and load_s < 12 * DRIFT_S)

    def factor(self, rng: Generator, count: int, dt: float) -> Array:
        """Return what the level is multiplied by."""
        fast = remembered(rng, count, dt, self.fast, self.tau_s)
        out = 1 + np.where(fast > 0, self.up * fast, fast) * np.sqrt(2 / (1 + self.up**2))
        out += remembered(rng, count, dt, self.wander, self.wander_s)
        if self.drift:
            out += remembered(rng, count, dt, self.drift, DRIFT_S)
        if self.wave:
            out += self.wave * swing(rng, count, dt, self.wave_s)
        for _ in range(rng.poisson(self.dips_an_hour * count * dt / 3600)):
            begin = int(rng.integers(count))
            if self.dip:
                length_s = min(self.dip_s * rng.lognormal(0, SPREAD), LONGEST_DIP_S)
                depth = min(self.dip * rng.lognormal(0, SPREAD), 1.0)
            else:
                length_s = rng.uniform(0.2, 3.0)
                depth = min(0.03 * (1 + rng.pareto(1.2)), 0.95)
            out[begin : begin + max(int(length_s / dt), 1)] *= 1 - depth
        if self.capped:  # a link's limit: it falls short, and never gets over it
            out = np.minimum(out, 1 + 0.001 * rng.standard_normal(count))
        factor: Array = np.maximum(out, 0.0)
        return factor


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


# Real logs where nothing falls, by `benches/roughness.py --rows` on 23 logs of 6 public sources in
# benches/real_logs.toml, 2026-11-23; a row is a log, or a part of one that differs. First the loads
# it stands for (w, r: in sequence, W, R: random). Noise: sd in %, memory in s, up by down;
# wander: sd in %, memory in s, sd of means of 5 min in %; a wave: amplitude in %, period in s;
# dips: how many an hour, their depth in %, their length in s.
# Left out are three readers beside writers, of which nobody could say what falls, and hard disks.
MEASURED: tuple[tuple[str, tuple[float, ...]], ...] = (
    # random writes, data-centre NVMe drives that are full: at rest, restless
    ("W", (2.15, 3.46, 1.13, 0.36, 190, 0.40, 0.45, 1583, 0.2, 8.9, 10)),
    ("W", (1.82, 3.33, 1.34, 0.19, 230, 0.48, 0.70, 1426, 0.3, 5.4, 10)),
    ("W", (0.71, 4.37, 0.95, 0.24, 200, 0.20, 0, 0, 0, 0, 0)),
    ("W", (0.48, 14.31, 0.87, 0.23, 150, 0.22, 0, 0, 0, 0, 0)),
    ("W", (2.60, 0.36, 1.03, 0.49, 41, 0.43, 0, 0, 0, 0, 0)),
    ("W", (5.50, 6.91, 0.67, 0.99, 100, 0.78, 0, 0, 2.4, 16.5, 10)),
    ("W", (3.45, 4.34, 1.58, 0.72, 230, 0.61, 0, 0, 0, 0, 0)),
    ("W", (4.53, 23.94, 0.55, 0.95, 70, 0.57, 3.64, 185, 2.4, 12.4, 10)),
    ("W", (4.56, 1.19, 0.98, 2.83, 29, 1.56, 0, 0, 4.2, 18.5, 1)),
    ("W", (1.84, 1.20, 0.94, 4.53, 63, 2.59, 0, 0, 25.3, 7.0, 2)),
    ("W", (7.57, 1.84, 1.09, 5.62, 25, 2.31, 0, 0, 7.3, 31.8, 1)),
    # the same, not yet full
    ("W", (0.13, 9.82, 0.42, 0.08, 120, 0, 0, 0, 0, 0, 0)),
    ("W", (0.46, 3.33, 0.59, 0.11, 280, 0.17, 0.21, 1516, 0, 0, 0)),
    ("W", (1.22, 0.43, 0.53, 0.33, 158, 0.30, 0.40, 1372, 3.0, 5.5, 1.5)),
    ("W", (0.78, 0.33, 0.79, 0.23, 79, 0.10, 0, 0, 0, 0, 0)),
    # zones with trims, the last ones small; writes in sequence
    ("wW", (1.28, 0.33, 0.60, 1.86, 30, 0.71, 0, 0, 40.1, 7.6, 1)),
    ("wW", (1.15, 0.55, 0.79, 1.38, 31, 0.33, 2.91, 234, 12.7, 7.0, 2)),
    ("wW", (15.69, 1.09, 0.85, 7.00, 29, 2.14, 0, 0, 0, 0, 0)),
    ("w", (0.88, 0.33, 0.45, 0.17, 28, 0, 0, 0, 0, 0, 0)),
    ("w", (4.11, 0.87, 0.37, 4.18, 22, 0, 0, 0, 7.5, 98.3, 5)),
    ("w", (0.54, 3.33, 0.94, 0.04, 50, 0, 0, 0, 0, 0, 0)),
    ("w", (0.21, 3.33, 0.84, 0.01, 65, 0, 0, 0, 0, 0, 0)),
    ("w", (1.83, 12.78, 0.75, 0.34, 80, 0, 0, 0, 0, 0, 0)),
    # reads of NVMe drives; beside writers
    ("rR", (0.27, 0.33, 0.51, 0.06, 56, 0, 0, 0, 0, 0, 0)),
    ("rR", (0.26, 0.33, 1.37, 0.04, 16, 0, 0, 0, 0, 0, 0)),
    ("rR", (0.46, 0.33, 0.43, 0.16, 25, 0, 0, 0, 87.8, 18.2, 1)),
    ("rR", (0.47, 0.33, 0.63, 0.22, 42, 0, 0, 0, 68.8, 17.5, 1)),
    ("R", (3.54, 0.33, 0.47, 0.25, 14, 0, 0, 0, 0, 0, 0)),
    ("RW", (1.34, 0.33, 0.25, 0.79, 58, 0, 0, 0, 136.4, 14.5, 4)),
    ("R", (9.28, 1.64, 2.25, 5.41, 20, 0, 0, 0, 0, 0, 0)),
    # databases, and disks of a cloud
    ("rwRW", (4.28, 0.33, 0.91, 1.23, 22, 0, 0, 0, 67.4, 13.6, 1)),
    ("rwRW", (7.30, 1.71, 0.76, 0, 14, 0, 4.47, 48, 8.0, 30.1, 1)),
    ("rwRW", (10.94, 0.33, 0.93, 0.90, 18, 0, 0, 0, 0, 0, 0)),
    ("w", (33.92, 0.33, 0.93, 3.37, 27, 1.51, 0, 0, 0, 0, 0)),
    ("w", (2.10, 0.33, 0.13, 0.05, 1, 0, 0, 0, 0, 0, 0)),
)


def measured_noise(rng: Generator, *, reads: bool, random: bool, capped: bool = False) -> Noise:
    """Draw a roughness near that of a real log of such a load."""
    load = ("R" if random else "r") if reads else ("W" if random else "w")
    rows = [row for loads, row in MEASURED if load in loads]
    if capped:  # a drive whose link is its limit has no reason to wander
        rows = [row for row in rows if row[3] < 1]
    row = np.array(rows[int(rng.integers(len(rows)))])
    near = row * rng.lognormal(0, SPREAD, len(row))
    near[[0, 3, 5, 6, 9]] /= 100
    fast, tau_s, up, wander, wander_s, drift, wave, wave_s, often, dip, dip_s = near.tolist()
    return Noise(
        fast, tau_s, wander, wander_s, often, capped, up, drift, wave, wave_s, min(dip, 1.0), dip_s
    )
