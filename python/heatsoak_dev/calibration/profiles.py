"""What a workload does in a second at each permitted share, and a Puget cell made from that."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

from heatsoak._core import Drive as Core
from heatsoak._core import Lumped
from heatsoak.analysis.definitions import LAST_S
from heatsoak.protocol import Pause, Protocol, Purge, WorkloadStep
from heatsoak.target.simulated import workloads_json

from heatsoak_dev.calibration.parameters import Vector

#: Shares that are measured; between them, and below the least, everything is taken as linear.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: Time at a share before it is measured, and measured.
SETTLE_S, MEASURE_S = 0.2, 0.5
#: Under steady random writes, time at full share in which several blocks are collected.
WORN_S = 5.0
_FILL = '[{"rw": "write", "bs": 131072, "iodepth": 32, "span_bytes": %d, "io_bytes": %d}]'
_CONTINUOUS_S = 1e9


def measure(core: Core, workloads: str, full_s: float = 0.0) -> str:
    """Return the profile of `workloads` on a drive, as :class:`Lumped` takes it.

    Each share is measured for half a second, and for as long as what takes `full_s` with
    everything permitted.

    The workloads run on the drive and change its state.
    """
    spec = json.loads(workloads)
    for workload in spec:
        workload.pop("io_bytes", None)
        workload["runtime_s"] = _CONTINUOUS_S
    levels = []
    core.begin(json.dumps(spec))
    for share in SHARES:
        core.hold(share)
        core.advance(SETTLE_S, SETTLE_S)
        before = json.loads(core.totals())
        measure_s = max(MEASURE_S, full_s / share)
        samples = core.advance(measure_s, measure_s)
        after = json.loads(core.totals())
        rates = sum(
            float(samples[name][0])
            for name in ("read_bw_mb_s", "write_bw_mb_s")
            if samples[name][0] == samples[name][0]
        )
        levels.append(
            {
                "share": share,
                "mb_s": rates,
                "work": {key: (after[key] - before[key]) / measure_s for key in after},
            }
        )
    return json.dumps(levels)


@cache
def of_filled(drive_json: str, enclosure_json: str, workloads: str) -> str:
    """Return the profile of `workloads` on a drive that was filled in a sequence before."""
    return measure(filled(drive_json, enclosure_json), workloads)


@cache
def of_worn(drive_json: str, enclosure_json: str, workloads: str, written_bytes: int) -> str:
    """Return the profile of `workloads` after they wrote so much to a drive that was full."""
    core = worn(drive_json, enclosure_json, workloads, written_bytes)
    return measure(core, workloads, WORN_S)


@cache
def of_after(drive_json: str, enclosure_json: str, before: str, workloads: str) -> str:
    """Return the profile of `workloads` on a new drive that other workloads ran on before."""
    core = Core(drive_json, enclosure_json)
    core.hold(1.0)
    core.begin(before)
    _run(core, lambda: core.done)
    return measure(core, workloads)


def filled(drive_json: str, enclosure_json: str) -> Core:
    """Return a drive that was filled in a sequence."""
    core = Core(drive_json, enclosure_json)
    core.hold(1.0)
    core.begin(_FILL % (core.user_bytes, core.user_bytes))
    _run(core, lambda: core.done)
    return core


@cache
def hour_iops(
    drive_json: str, enclosure_json: str, workloads: str, duration_s: int, end_s: int
) -> float:
    """Return the mean of the last `end_s` of a workload's writes on a filled drive, governed."""
    core = filled(drive_json, enclosure_json)
    core.hold(None)
    spec = json.loads(workloads)
    for workload in spec:
        workload["runtime_s"] = _CONTINUOUS_S
    core.begin(json.dumps(spec))
    samples = core.advance(float(duration_s), float(end_s))
    return float(samples["write_iops"][-1])


def worn(drive_json: str, enclosure_json: str, workloads: str, written_bytes: int) -> Core:
    """Return a drive that was filled, and on which `workloads` wrote so much after that."""
    core = filled(drive_json, enclosure_json)
    spec = json.loads(workloads)
    for workload in spec:
        workload.pop("runtime_s", None)
        workload["io_bytes"] = written_bytes
    core.begin(json.dumps(spec))
    _run(core, lambda: core.done)
    return core


def _run(core: Core, done: Callable[[], bool]) -> None:
    while not done():
        core.advance(3600.0, 60.0)
    core.end()


READ, WRITE = "sequential-read", "sequential-write"
#: Length of the end of a step that its throttled level is taken from.
TAIL_S = int(LAST_S)
#: The time slice of a fill, after which its end is checked.
_FILL_S = 5
#: The parameters of a drive and place that determine what a workload does at a permitted share.
_FLASH = ("capacity", "nand", "controller", "collection", "cache")
_HOST = ("link_mb_s", "host_read_iops", "host_write_iops")


@dataclass(frozen=True)
class Fall:
    """How a sequential step fell.

    Attributes:
        onset_s: when the governor first throttled it; its whole length if it never did.
        depth_pct: how far its end is below the level before.
        sensor_c: what the reported temperature was at the onset.
    """

    onset_s: float
    depth_pct: float
    sensor_c: float


def simulate(drive_json: str, place_json: str, steps: Protocol, user_bytes: int) -> dict[str, Fall]:
    """Return how both sequential steps of the protocol fell.

    Raises ValueError for an impossible drive and place, such as one too hot to start.
    """
    lumped = Lumped(drive_json, place_json)
    seen: dict[str, Fall] = {}
    for step in steps.steps:
        match step:
            case Purge():
                pass  # as a pause of seconds
            case Pause():
                lumped.rest(step.duration_s)
            case WorkloadStep():
                profile = profile_of_filled(
                    drive_json, place_json, workloads_json(step, user_bytes)
                )
                if step.runtime_s is None:
                    fill(lumped, profile, user_bytes / 1e6)
                else:
                    load = lumped.load(profile, round(step.runtime_s))
                    if step.name in (READ, WRITE):
                        seen[step.name] = _fall(load)
        if len(seen) == 2:
            break
    return seen


def fill(lumped: Lumped, profile: str, left_mb: float) -> None:
    """Write this much; raises ValueError if the drive stops before."""
    while left_mb > 0:
        served_mb = float(lumped.load(profile, _FILL_S)["mb_s"].sum())
        if served_mb <= 0:
            raise ValueError("the drive stopped before it was full")
        left_mb -= served_mb


def _fall(load: dict[str, Any]) -> Fall:
    rates: Vector = load["mb_s"]
    onset_s = float(load["onset_s"])
    if math.isnan(onset_s):
        return Fall(float(len(rates)), 0.0, float(load["sensor_c"][-1]))
    before = rates[: max(1, int(onset_s))].mean()
    depth_pct = 100 * (1 - rates[-TAIL_S:].mean() / before)
    return Fall(onset_s, float(depth_pct), float(load["onset_sensor_c"]))


_known: dict[tuple[str, str, str], str] = {}
_measuring = Lock()


def profile_of_filled(drive_json: str, place_json: str, workloads: str) -> str:
    """Return what `workloads` do on a filled drive, measured once for each kind of flash."""
    drive, place = json.loads(drive_json), json.loads(place_json)
    flash = json.dumps([drive.get(table) for table in _FLASH])
    host = json.dumps([place.get(key) for key in _HOST])
    key = (flash, host, workloads)
    with _measuring:
        if key not in _known:
            _known[key] = of_filled(drive_json, place_json, workloads)
        return _known[key]
