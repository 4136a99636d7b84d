"""What a fit says in words: the answer, and what the data cannot tell."""

import numpy as np

from heatsoak import words
from heatsoak.twin import readings, twin
from heatsoak.twin.model import GOVERNED
from heatsoak.twin.readings import Array, MeasuredRecording

#: Two parameters that move together as closely as this, and are each known less well than
#: `_LITTLE_LEARNED`, show only in combination.
_TOGETHER = 0.75
_LITTLE_LEARNED = 0.8
#: Of these the data say next to nothing.
_NOTHING_LEARNED = 0.1
#: Beginning this much warmer than at rest is worth a word.
_HOT_START_K = 6.0

#: A temperature that graphics cards and processors have at work.
_AT_WORK_C = 80.0
_NEIGHBOURS = {
    "gpu_share": "The graphics card",
    "cpu_share": "The processor",
}

#: What nobody asks for, and only widens intervals.
_NUISANCES = (GOVERNED, "meter_x", "start_k", "neighbour_lag_s")

_WORDS = {
    "die_k_per_w": "the controller's resistance to the board",
    "die_j_per_k": "the controller's heat capacity",
    "static_x": "power awake",
    "read_x": "energy per byte read",
    "write_x": "energy per byte written",
    "dense_x": "what writes past the cache cost more",
    "rest_w": "power at rest",
    "limit_c": "the limit",
    GOVERNED: "what the governor feels of the flash",
    "meter_x": "the power meter's error",
    "sensor_share": "what the sensor feels of the controller",
    "flash_share": "what else it feels of the flash",
    "sensor_lag_s": "the sensor's lag",
    "sensor_offset_k": "the sensor's offset",
    "air_c": "the air",
    "k_per_w": "resistance to the air",
    "j_per_k": "heat capacity",
    "mount_k_per_w": "resistance to the mount",
    "mount_j_per_k": "the mount's heat capacity",
    "start_k": "warmth at the start",
    "tmt_offset_k": "what the threshold that was set is off by",
    "gpu_share": "the share of the graphics card's warmth",
    "cpu_share": "the share of the processor's warmth",
    "case_share": "the share of the case's warmth",
    "neighbour_lag_s": "the lag of the air behind them",
}


def answer(estimates: list[twin.DerivedQuantity], measured: list[MeasuredRecording]) -> str:
    """Return the fit's result in a sentence: the limit where it was met, and the cooling."""
    limit = next((e for e in estimates if e.name == "limit_reported_c"), None)
    resistance = next(e for e in estimates if e.name == "air_k_per_w")
    slow = next(e for e in estimates if e.name == "time_constant_s")
    seen_c = max(float(np.max(one.reading_c)) for one in measured)
    if any(one.has_power or one.has_load for one in measured):
        ends = words.interval_text(resistance.range)
        cooling = f"{words.amount_text(resistance.value, resistance.unit, 2)} to the air ({ends})"
    else:
        cooling = f"time constant {words.range_text(slow.range, slow.unit)}"
    if limit is not None:
        return (
            f"Throttles at {words.range_text(limit.range, limit.unit)} by its own sensor; "
            f"{cooling}."
        )
    if any(one.onsets for one in measured):
        return (
            "Throttled only where the host told it to: its own limit is above "
            f"{words.temp_text(seen_c)} by its own sensor; {cooling}."
        )
    if any(one.falls for one in measured):
        return f"No fall of its throughput is known to be heat: its limit is open; {cooling}."
    return (
        f"Never throttled: its limit is above {words.temp_text(seen_c)} by its own sensor; "
        f"{cooling}."
    )


def told(
    parameters: list[twin.FittedParameter],
    covariance: Array,
    measured: list[MeasuredRecording],
    recordings: list[twin.FittedRecording],
) -> list[str]:
    """Return what a reader of the result has to know."""
    said = []
    if not any(one.has_power for one in measured):
        said.append(
            "Power was not recorded: it is taken from drives of the class, and resistances with it."
        )
    said += [
        f"{one.path}: {said_of}"
        for one in measured
        for said_of in filter(None, map(_cause_of, one.falls))
    ]
    said += [
        f"{one.path} began {words.kelvin_text(one.start_k)} warmer than at rest."
        for one in recordings
        if one.start_k > _HOT_START_K
    ]
    said += _neighbours(parameters)
    if not any(one.has_load for one in measured):
        said.append(
            "It was never under load: its limit, and what its work costs, are those of its class."
        )
    said += _pairs(parameters, covariance)
    loose = [
        _words(p.name)
        for p in parameters
        if p.learned < _NOTHING_LEARNED and p.name.partition("@")[0] not in _NUISANCES
    ]
    if loose:
        said.append(
            f"Nothing was learned of {words.listed(loose)}: as expected of drives of the class."
        )
    return said


def _cause_of(fall: readings.LoadFall) -> str | None:
    """What the twin makes of a fall that the judge leaves open, or sees otherwise."""
    if fall.by_heat == (fall.cause == "thermal") and fall.cause != "unknown":
        return None
    by_log = "left open by its log" if fall.cause == "unknown" else f"{fall.cause} by its log"
    what, share = ("heat", fall.heat) if fall.by_heat else ("not heat", 1.0 - fall.heat)
    return f"{fall.told}: {by_log}, {what} by the twin ({words.share_text(share)} likely)."


def _neighbours(parameters: list[twin.FittedParameter]) -> list[str]:
    """What a graphics card or processor does to the air, at a temperature that it has at work."""
    air_c = {p.name.partition("@")[2]: p.value for p in parameters if p.name.startswith("air_c@")}
    said = []
    for parameter in parameters:
        own, _, place = parameter.name.partition("@")
        if own in _NEIGHBOURS:
            more_k = parameter.range.times(_AT_WORK_C - air_c[place])
            said.append(
                f"{_NEIGHBOURS[own]} at {words.temp_text(_AT_WORK_C)} makes the drive's air "
                f"{words.kelvin_text(more_k.mid)} warmer ({words.interval_text(more_k, 'K')})."
            )
    return said


def _pairs(parameters: list[twin.FittedParameter], covariance: Array) -> list[str]:
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    found = []
    for i, one in enumerate(parameters):
        for j, other in enumerate(parameters[:i]):
            rho = float(correlation[i, j])
            if {one.name.partition("@")[0], other.name.partition("@")[0]} & set(_NUISANCES):
                continue
            if abs(rho) < _TOGETHER or max(one.learned, other.learned) > _LITTLE_LEARNED:
                continue
            if one.scale == other.scale == "log":
                how = "a ratio" if rho > 0 else "a product"
            else:
                how = "a difference" if rho > 0 else "a sum"
            found.append((-abs(rho), f"{_words(other.name)} and {_words(one.name)}", how))
    return [f"{names[0].upper()}{names[1:]} only show as {how}." for _, names, how in sorted(found)]


def _words(name: str) -> str:
    own, _, place = name.partition("@")
    return _WORDS[own] + (f" ({place})" if place and own != "start_k" and place != "here" else "")
