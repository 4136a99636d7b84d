"""What a workload does in a second with everything permitted, and a Puget cell made from that."""

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
from heatsoak._core import Drive as Core
from heatsoak._core import Lumped
from heatsoak.analysis.definitions import LAST_S
from heatsoak.protocol import Pause, Protocol, Purge, WorkloadStep
from heatsoak.target.simulated import workloads_json
from heatsoak.twin.asked import DemandSeries, RateBounds

from heatsoak_dev.calibration.parameters import Vector

#: Time before it is measured, and measured.
SETTLE_S, MEASURE_S = 0.2, 0.5
#: Under steady random writes, time in which several blocks are collected.
WORN_S = 5.0
_FILL = '[{"rw": "write", "bs": 131072, "iodepth": 32, "span_bytes": %d, "io_bytes": %d}]'
_CONTINUOUS_S = 1e9


@dataclass(frozen=True)
class Profile:
    """What a workload moves and does in a second, and what that needs of a drive's speeds."""

    mb_s: float
    work: dict[str, float]
    speeds: RateBounds

    def asked(self, seconds: float) -> DemandSeries:
        """Return a demand for all it can get, for so long."""
        work = {key: np.array([value]) for key, value in self.work.items()}
        share, one = self.speeds.share_of(work), np.ones(1)
        return DemandSeries(one * seconds, one * self.mb_s, share, one, work)

    def run(self, lumped: Lumped, seconds: int) -> dict[str, Any]:
        """Return what heat makes of it."""
        return self.asked(seconds).serve(lumped, seconds)


def measure(core: Core, drive_json: str, workloads: str, measure_s: float = MEASURE_S) -> Profile:
    """Return the profile of `workloads` on a drive, whose state they change."""
    spec = json.loads(workloads)
    for workload in spec:
        workload.pop("io_bytes", None)
        workload["runtime_s"] = _CONTINUOUS_S
    core.begin(json.dumps(spec))
    core.hold(1.0)
    core.advance(SETTLE_S, SETTLE_S)
    before = json.loads(core.totals())
    samples = core.advance(measure_s, measure_s)
    after = json.loads(core.totals())
    mb_s = sum(float(np.nansum(samples[f"{way}_bw_mb_s"][:1])) for way in ("read", "write"))
    controller = json.loads(drive_json)["controller"]
    return Profile(
        mb_s,
        {key: (after[key] - before[key]) / measure_s for key in after},
        RateBounds(controller["read_mb_s"], controller["write_mb_s"]),
    )


@cache
def of_filled(drive_json: str, enclosure_json: str, workloads: str) -> Profile:
    """Return the profile of `workloads` on a drive that was filled in a sequence before."""
    return measure(filled(drive_json, enclosure_json), drive_json, workloads)


@cache
def of_worn(drive_json: str, enclosure_json: str, workloads: str, written_bytes: int) -> Profile:
    """Return the profile of `workloads` after they wrote so much to a drive that was full."""
    core = worn(drive_json, enclosure_json, workloads, written_bytes)
    return measure(core, drive_json, workloads, WORN_S)


@cache
def of_after(drive_json: str, enclosure_json: str, before: str, workloads: str) -> Profile:
    """Return the profile of `workloads` on a new drive that other workloads ran on before."""
    core = Core(drive_json, enclosure_json)
    core.hold(1.0)
    core.begin(before)
    _run(core, lambda: core.done)
    return measure(core, drive_json, workloads)


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
                    load = profile.run(lumped, round(step.runtime_s))
                    if step.name in (READ, WRITE):
                        seen[step.name] = _fall(load)
        if len(seen) == 2:
            break
    return seen


def fill(lumped: Lumped, profile: Profile, mb: float) -> None:
    """Write this much; raises ValueError if the drive stops before."""
    served = profile.asked(mb / profile.mb_s).serve(lumped)
    if served["mb_s"].sum() < 0.999 * mb:
        raise ValueError("the drive stopped before it was full")


def _fall(load: dict[str, Any]) -> Fall:
    rates: Vector = load["mb_s"]
    onset_s = float(load["onset_s"])
    if math.isnan(onset_s):
        return Fall(float(len(rates)), 0.0, float(load["sensor_c"][-1]))
    before = rates[: max(1, int(onset_s))].mean()
    depth_pct = 100 * (1 - rates[-TAIL_S:].mean() / before)
    return Fall(onset_s, float(depth_pct), float(load["onset_sensor_c"]))


_known: dict[tuple[str, str, str], Profile] = {}
_measuring = Lock()


def profile_of_filled(drive_json: str, place_json: str, workloads: str) -> Profile:
    """Return what `workloads` do on a filled drive, measured once for each kind of flash."""
    drive, place = json.loads(drive_json), json.loads(place_json)
    flash = json.dumps([drive.get(table) for table in _FLASH])
    host = json.dumps([place.get(key) for key in _HOST])
    key = (flash, host, workloads)
    with _measuring:
        if key not in _known:
            _known[key] = of_filled(drive_json, place_json, workloads)
        return _known[key]
