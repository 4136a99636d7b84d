"""A simulated drive on a scaled clock: what it does, and the state that explains it.

A second of the simulator stands for `scale` seconds. Capacity, heat capacity and the firmware's own
times scale likewise, so rates, power and temperatures are unchanged: a drive of 32 GB simulated for
a minute is one of 320 GB for ten.
"""

import json
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from heatsoak._core import Drive as Core
from heatsoak.analysis.series import Array
from heatsoak.protocol import Pause, Purge, Step, WorkloadStep
from heatsoak.target.simulated import until_done, workloads_json

Spec = dict[str, Any]

#: Sensors are not read more often than this in pauses.
IDLE_GRID_S = 1.0


@dataclass
class NoiselessStep:
    """The noise-free course of one step; arrays of equal length, a value for each `grid_s`.

    Attributes:
        start_s: when the step began; the other times and the grid count from there.
        read_mb_s, write_mb_s: means over the interval that ends at each point of the grid.
        permitted: the governor's share; `spare_gb`, `cached_gb` and `moved` the state of the flash.
        controller_c, nand_c, board_c: temperatures of the nodes, not of any sensor.
    """

    step: Step
    start_s: float
    grid_s: float
    read_mb_s: Array
    write_mb_s: Array
    read_lat_us: Array
    write_lat_us: Array
    read_lat_p99_us: Array
    write_lat_p99_us: Array
    permitted: Array
    spare_gb: Array
    cached_gb: Array
    moved: Array
    controller_c: Array
    nand_c: Array
    board_c: Array
    power_w: Array

    def __len__(self) -> int:
        return len(self.permitted)

    @property
    def duration_s(self) -> float:
        """How long it took."""
        return len(self) * self.grid_s

    @property
    def t_s(self) -> Array:
        """Where each interval ends, from the step's start."""
        return np.arange(1, len(self) + 1, dtype=float) * self.grid_s

    @property
    def rate_mb_s(self) -> Array:
        """Reads and writes together."""
        return self.read_mb_s + self.write_mb_s


_COLUMNS = {
    "read_mb_s": "read_bw_mb_s",
    "write_mb_s": "write_bw_mb_s",
    "read_lat_us": "read_lat_us",
    "write_lat_us": "write_lat_us",
    "read_lat_p99_us": "read_lat_p99_us",
    "write_lat_p99_us": "write_lat_p99_us",
    "permitted": "sim.permitted",
    "spare_gb": "sim.spare_gb",
    "cached_gb": "sim.cached_gb",
    "moved": "sim.moved_per_write",
    "controller_c": "sim.controller_c",
    "nand_c": "sim.nand_c",
    "board_c": "sim.board_c",
    "power_w": "power_w",
}
assert {"step", "start_s", "grid_s", *_COLUMNS} == {field.name for field in fields(NoiselessStep)}
#: Counters; 0 rather than unknown if nothing happened.
_COUNTED = ("read_mb_s", "write_mb_s", "moved")


@dataclass(frozen=True)
class Pace:
    """The host asks for less for a while: at most `mb_s` each of reads and writes."""

    start_s: float
    end_s: float
    mb_s: float


class Machine:
    """A drive in a place, with its clock scaled by `scale`."""

    def __init__(self, drive: Spec, place: Spec, scale: float, grid_s: float, seed: int) -> None:
        self._core = Core(json.dumps(drive), json.dumps(place), seed)
        self._scale = scale
        self._grid_s = grid_s

    @property
    def now_s(self) -> float:
        """Time since the drive was made."""
        return self._core.t_s * self._scale

    @property
    def size_bytes(self) -> int:
        """What the drive stands for can hold."""
        return int(self._core.user_bytes * self._scale) // 4096 * 4096

    def take(self, step: Step, paces: tuple[Pace, ...] = ()) -> NoiselessStep:
        """Run one step to its end; a step without a runtime transfers its bytes once."""
        start_s = self.now_s
        match step:
            case Pause():
                pieces = [self._advance(step.duration_s, IDLE_GRID_S)]
            case Purge():
                self._core.purge()
                pieces = [self._advance(None, IDLE_GRID_S)]
            case WorkloadStep():
                pieces = self._load(step, paces)
        grid_s = self._grid_s if step.loads else IDLE_GRID_S
        arrays = {
            name: np.concatenate([piece[column] for piece in pieces])
            for name, column in _COLUMNS.items()
        }
        for name in _COUNTED:
            arrays[name] = np.nan_to_num(arrays[name])
        return NoiselessStep(step, start_s, grid_s, **arrays)

    def _load(self, step: WorkloadStep, paces: tuple[Pace, ...]) -> list[dict[str, Array]]:
        (load,) = json.loads(workloads_json(step, self._core.user_bytes))
        if step.runtime_s is None:
            self._core.begin(json.dumps([load]))
            return [self._advance(None, self._grid_s)]
        pieces = []
        done_s = 0.0
        for until_s, mb_s in _stretches(step.runtime_s, paces):
            rate = None if mb_s is None else mb_s * 1e6 / step.numjobs
            self._core.begin(json.dumps([{**load, "rate": rate, "runtime_s": None}]))
            pieces.append(self._advance(until_s - done_s, self._grid_s))
            done_s = until_s
        self._core.end()
        return pieces

    def _advance(self, duration_s: float | None, grid_s: float) -> dict[str, Array]:
        """Let `duration_s` pass, or run the current load to its end."""
        sample_s = grid_s / self._scale
        if duration_s is not None:
            return self._core.advance(round(duration_s / grid_s) * sample_s, sample_s)
        pieces = list(until_done(self._core, 100 * sample_s, sample_s))
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def _stretches(runtime_s: float, paces: tuple[Pace, ...]) -> list[tuple[float, float | None]]:
    """Ends of stretches of one pace, and the pace."""
    found: list[tuple[float, float | None]] = []
    for pace in paces:
        found += [(pace.start_s, None), (pace.end_s, pace.mb_s)]
    if not found or found[-1][0] < runtime_s:
        found.append((runtime_s, None))
    return found
