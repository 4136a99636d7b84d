"""What a workload does in a second at each share that firmware permits.

Measured once on the exact engine, held at one share after the other; resistances, energies and
limits change nothing in it, so that a fit runs heat and governor alone (`heatsoak._core.Lumped`).
"""

import json
from collections.abc import Callable
from functools import cache

from heatsoak._core import Drive as Core

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

    The workloads run on the drive, so that its state goes on.
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
