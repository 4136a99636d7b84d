"""Where a recording's power figures come from, and what the drive's rating is."""

from typing import Any

import polars as pl

from heatsoak.analysis.findings import Power
from heatsoak.analysis.totals import totals
from heatsoak.analysis.view import StepView
from heatsoak.recording import Recording, SensorMeta


def power_of(recording: Recording, samples: pl.DataFrame) -> Power | None:
    """Return where a recording's power figures come from; None if nothing is known."""
    found = _source(recording, samples) or {}
    found |= _rating(recording, samples)
    return Power(**found) if found else None


def step_power(view: StepView) -> dict[str, float]:
    """Return a step's mean power and energy, keyed by their names in the findings."""
    sums = totals(view)
    if sums.power_w is None or sums.energy_j is None:
        return {}
    return {"power_mean_w": sums.power_w, "energy_j": sums.energy_j}


def _source(recording: Recording, samples: pl.DataFrame) -> dict[str, Any] | None:
    meta = recording.meta
    if "power_w" not in meta.columns or samples["power_w"].count() == 0:
        return None
    sensor = next((one for one in meta.sensors if "power_w" in one.columns), None)
    kind = None if sensor is None else sensor.details.get("power")
    if sensor is not None and kind in ("measured", "reported"):
        return {"source": kind, "text": f"{sensor.source}{_quality(sensor)}"}
    if meta.drive.get("kind") == "simulated" or meta.drive.get("simulated"):
        return {"source": "modelled", "text": "by the simulated drive"}
    name = meta.protocol.name if meta.protocol.is_observed else "the recording"
    return {"source": "logged", "text": f"in {name}"}


def _quality(sensor: SensorMeta) -> str:
    details = sensor.details
    words = ["estimated by the drive"] if details.get("estimated") else []
    if (error_pct := details.get("error_pct")) is not None:
        words.append(f"at most {error_pct} % off, as it states")
    return f" ({', '.join(words)})" if words else ""


def _rating(recording: Recording, samples: pl.DataFrame) -> dict[str, Any]:
    """The highest power that the drive states for the power states that it was in."""
    stated = (one.details.get("power_states") for one in recording.meta.sensors)
    states: list[dict[str, Any]] = next((found for found in stated if found), [])
    rated_w = {state["state"]: state["max_w"] for state in states if "max_w" in state}
    seen: set[int] = set()
    if "power_state" in recording.meta.columns:
        seen = set(samples["power_state"].drop_nulls().to_list())
    known = {state: watts for state, watts in rated_w.items() if not seen or state in seen}
    if not known:
        return {}
    return {"rated_max_w": max(known.values()), "rated_states": sorted(known)}
