"""The sequential steps of a Puget cell, simulated for a fit: heat and governor alone."""

import json
import math
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatsoak._core import Lumped
from heatsoak.protocol import Pause, Protocol, Purge, WorkloadStep
from heatsoak.target.simulated import workloads_json
from heatsoak.twin.calibration import profiles

READ, WRITE = "sequential-read", "sequential-write"
#: Length of the end of a step that its throttled level is taken from.
TAIL_S = 60
#: Time in which a fill is cut up, to see whether it is done.
_FILL_S = 5
#: What of a drive and a place decides what a workload does at a permitted share.
_FLASH = ("capacity", "nand", "controller", "collection", "cache")
_HOST = ("link_mb_s", "host_read_iops", "host_write_iops")

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Fall:
    """How a sequential step fell.

    Attributes:
        onset_s: when the governor first held it back; its whole length where that never was.
        depth_pct: how far its end lies below what was before.
        sensor_c: what the reported temperature was at the onset.
    """

    onset_s: float
    depth_pct: float
    sensor_c: float


def simulate(drive_json: str, place_json: str, steps: Protocol, user_bytes: int) -> dict[str, Fall]:
    """Return how both sequential steps of the protocol fell.

    Raises ValueError for a drive and a place that cannot be, such as one too hot to begin.
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
    """Write so much; raises ValueError where the drive stops before."""
    while left_mb > 0:
        served_mb = float(lumped.load(profile, _FILL_S)["mb_s"].sum())
        if served_mb <= 0:
            raise ValueError("the drive has stopped before it was full")
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
            _known[key] = profiles.of_filled(drive_json, place_json, workloads)
        return _known[key]
