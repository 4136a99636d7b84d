"""Whether the temperatures of a recording can be trusted."""

import numpy as np

from heatsoak.analysis.findings import SensorTrust
from heatsoak.analysis.view import StepView

#: 313 K, which some drives report whatever their temperature is.
PLACEHOLDER_C = (39.85, 40.0)


def judge_sensors(views: list[StepView]) -> list[SensorTrust]:
    """Return each temperature's trust, from all steps of a recording."""
    names = dict.fromkeys(name for view in views for name in view.columns("temp_c."))
    return [_judge(name, views) for name in names]


def _judge(column: str, views: list[StepView]) -> SensorTrust:
    name = column.removeprefix("temp_c.")
    values = np.concatenate([view.track(column).values for view in views])
    low, high = float(np.min(values)), float(np.max(values))
    if len(values) >= 30 and low == high:
        why = f"it reads {low:.0f} C all the time, under load too"
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
