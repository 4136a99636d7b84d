"""Whether the temperatures of a recording can be trusted."""

import numpy as np

from heatsoak.analysis.findings import SensorTrust
from heatsoak.analysis.series import Array
from heatsoak.recording import Recording

#: 313 K, which some drives report whatever their temperature is.
PLACEHOLDER_C = (39.85, 40.0)
#: These may well stay the same.
_SURROUNDINGS = frozenset({"ambient", "chamber"})


def judge_sensors(recording: Recording) -> list[SensorTrust]:
    """Return each temperature's trust, from all of a recording.

    Pauses and preconditioning are part of it: a drive that is held at its limit reads the same
    throughout its load, and is no less to be trusted for it.
    """
    names = [name for name in recording.meta.columns if name.startswith("temp_c.")]
    samples = recording.samples(names)
    readings = {name: samples[name].drop_nulls().drop_nans().to_numpy() for name in names}
    has_load = any(name.endswith(("bw_mb_s", "iops")) for name in recording.meta.columns)
    return [
        _judge(name, values, has_load=has_load)
        for name, values in readings.items()
        if len(values) > 0
    ]


def _judge(column: str, values: Array, *, has_load: bool) -> SensorTrust:
    name = column.removeprefix("temp_c.")
    low, high = float(np.min(values)), float(np.max(values))
    if len(values) >= 30 and low == high:
        if name in _SURROUNDINGS:
            return SensorTrust(name=name, trust="unknown", why=f"it stayed at {low:.0f} C")
        why = f"it reads {low:.0f} C all the time" + (", under load too" if has_load else "")
        if any(abs(low - placeholder) < 0.2 for placeholder in PLACEHOLDER_C):
            why += ": 313 K is a placeholder that some drives report"
        return SensorTrust(name=name, trust="poor", why=why)
    if low < -40 or high > 150:
        return SensorTrust(name=name, trust="poor", why=f"{low:.0f} to {high:.0f} C is no drive's")
    return SensorTrust(
        name=name,
        trust="unknown",
        why=f"it moved between {low:.0f} and {high:.0f} C; whether it explains throttling takes "
        "recordings in several conditions",
    )
