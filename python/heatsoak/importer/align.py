from dataclasses import dataclass

from heatsoak.importer.frames import Array


@dataclass(frozen=True)
class Track:
    t_s: Array
    values: Array


@dataclass(frozen=True)
class Shift:
    shift_s: float
    score: float
    certain: bool


def shift_between(reference: Track, other: Track, near_s: float | None = None) -> Shift:
    return Shift(0, 0, False)


def thermal_shift(reference: Track, other: Track, near_s: float | None = None) -> Shift:
    return Shift(0, 0, False)


def zone_shift(a: float, b: float, c: float, d: float) -> float | None:
    return None
