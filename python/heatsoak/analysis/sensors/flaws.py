"""Flaws of a single temperature: impossible values, coarse steps, rare updates, lag."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from heatsoak import words
from heatsoak.analysis.definitions import HOTTEST_C, USUALLY_THROTTLING_C
from heatsoak.analysis.sensors.readings import TemperatureReadings, ThermalLog
from heatsoak.analysis.series import lagged, response
from heatsoak.recording.columns import is_of_surroundings
from heatsoak.recording.grid import Array

#: The fewest readings from which a temperature is called stuck.
_STUCK_READINGS = 30
#: No part of a drive under load is outside these.
_COLDEST_C, _HOTTEST_C = -40.0, 150.0
#: A controller's die warms by about 8 K/s when a load starts.
_FASTEST_K_PER_S = 20.0
#: A reading this far from both its neighbours is an error.
_SPIKE_K = 15.0
#: A drive's temperature changes by at least this much between load and idle.
_MIN_CHANGE_K = 5.0
#: Readings farther apart than this say nothing about the time between them.
_UNSEEN_S = 60.0
#: What a controller does now reaches the flash and the board within this.
_REACHES_S = 30.0

#: A temperature follows the load where that explains so much of it.
_FOLLOWS = 0.5
#: A sensor that gains this much from one reading to the next, and never moves again for so long and
#: so many readings, has locked up.
_LOCKED_K, _LOCKED_S, _LOCKED_READINGS = 15.0, 60.0, 5

#: Values that mean "not measured", and where they come from.
_CODES = {
    **dict.fromkeys((-273.15, -273.0, -274.0), "0 K, a missing sensor"),
    **dict.fromkeys((65261.85, 65262.0), "65535 K, a missing sensor"),
    **dict.fromkeys((255.0, -128.0, 128.0), "an unset byte"),
    65535.0: "an unset word",
    -1.0: "an error code",
    127.0: "the largest signed byte",
}
#: Values that drives and boards report whatever their temperature is.
_PLACEHOLDERS = {
    39.85: "313 K is a placeholder that some drives report",
    0.0: "0 C is reported if nothing was measured",
    273.15: "273.15 is 0 C in kelvins, which is reported if nothing was measured",
    **{code: f"that is {what}" for code, what in _CODES.items()},
}


#: Of 118 public listings of known families, none is so far from what its own sensors make it: 8 K.
_UNLIKE_K = 12.0
#: 313 K, exact or in whole degrees.
_PLACEHOLDER_C = (39.85, 40.0)


@dataclass(frozen=True)
class Flaw:
    """A flaw of a temperature; `is_fatal` if it means that the sensor cannot be trusted."""

    text: str
    is_fatal: bool = True


def stuck(readings: TemperatureReadings, log: ThermalLog) -> Flaw | None:
    """The reading never changes."""
    values, first = readings.values, float(readings.values[0])
    # the surroundings may well stay as warm
    if (
        len(values) < _STUCK_READINGS
        or np.any(values != first)
        or is_of_surroundings(readings.name)
    ):
        return None
    placeholder = _match(first, _PLACEHOLDERS)
    under = ", under load too" if len(log.load) else ""
    text = f"it reads {words.temp_text(first)} all the time{under}"
    return Flaw(f"{text}: {placeholder}" if placeholder else text)


def frozen(readings: TemperatureReadings, log: ThermalLog) -> Flaw | None:
    """The reading froze while the load started or stopped, or while another sensor moved."""
    t_s, values = readings.t_s, readings.values
    if np.ptp(values) < _MIN_CHANGE_K:
        return None
    # what it would have read in a gap is unknown
    parted = (np.diff(values) != 0) | (np.diff(t_s) > _UNSEEN_S)
    ends = np.flatnonzero(np.append(parted, True))
    begins = np.append(0, ends[:-1] + 1)
    longest = int(np.argmax(t_s[ends] - t_s[begins]))
    first, last = int(begins[longest]), int(ends[longest])
    start_s, end_s = float(t_s[first]) + _REACHES_S, float(t_s[last])
    if last - first < _STUCK_READINGS // 2 or end_s - start_s < 120:
        return None
    times = f"from {words.seconds_text(t_s[first])} to {words.seconds_text(end_s)}"
    what = f"it stayed at {words.temp_text(values[first])} {times}"
    loaded = log.is_loaded[int(max(start_s, 0)) : int(end_s)]
    has_changed = min(np.count_nonzero(loaded == 1), np.count_nonzero(loaded == 0)) >= 60
    beside = readings.only((t_s < t_s[first]) | (t_s > end_s))
    if has_changed and _warmed_k(beside, log, start_s, end_s) >= _MIN_CHANGE_K:
        return Flaw(f"{what}, while the load started or stopped")
    for other in log.readings:
        if other.name != readings.name and not other.is_of_host:
            # one that moved only just before a reading did was ahead of it
            meanwhile = other.between(start_s, end_s - _REACHES_S)
            if len(meanwhile) and np.ptp(meanwhile) >= 2 * _MIN_CHANGE_K:
                by = words.kelvin_text(np.ptp(meanwhile))
                return Flaw(f"{what}, while '{other.name}' moved by {by}")
    return None


def _warmed_k(beside: TemperatureReadings, log: ThermalLog, start_s: float, end_s: float) -> float:
    """By how much the load moves a temperature in some time, as that followed it `beside` it."""
    t_s = np.arange(len(log.load), dtype=np.float64)
    known = (t_s >= beside.t_s[0]) & (t_s <= beside.t_s[-1]) & ~((t_s > start_s) & (t_s < end_s))
    temps_c = beside.along(t_s)
    if np.count_nonzero(known) < _STUCK_READINGS or np.ptp(temps_c[known]) < _MIN_CHANGE_K:
        return 0.0
    explained, tau_s, k_per_unit = response(log.load, temps_c, 1.0, known)
    heat = lagged(log.load, 1 / tau_s)[0] if tau_s else log.load
    meanwhile = float(np.ptp(heat[int(max(start_s, 0)) : int(end_s)]))
    return k_per_unit * meanwhile if explained >= _FOLLOWS else 0.0


def locked_up_at(t_s: Array, values: Array) -> int | None:
    """Return the first reading after which a sensor stays hot to the degree; None if there is none.

    Seen on Samsung's 980 and 990 PRO: 84 C until the next start, and the drive slows down for it.
    """
    for at in (np.flatnonzero(np.diff(values) >= _LOCKED_K) + 1).tolist():
        moved = np.flatnonzero(np.abs(values[at:] - values[at]) >= 1)
        end = at + int(moved[0]) if len(moved) else len(values)
        is_long = t_s[end - 1] - t_s[at] >= _LOCKED_S and end - at >= _LOCKED_READINGS
        if is_long and values[at] >= USUALLY_THROTTLING_C:
            return at
    return None


def locked_up(readings: TemperatureReadings, _: ThermalLog) -> Flaw | None:
    """The reading jumps to a hot one and stays there."""
    at = None if readings.is_of_host else locked_up_at(readings.t_s, readings.values)
    if at is None:
        return None
    jumps_at = f"{_jumps(readings.values, at - 1)} at {words.seconds_text(readings.t_s[at])}"
    return Flaw(f"{jumps_at} and stays there to the degree")


def _jumps(values: Array, before: int) -> str:
    return (
        f"it jumps from {words.temp_text(values[before])} to {words.temp_text(values[before + 1])}"
    )


def wrong_unit(readings: TemperatureReadings, _: ThermalLog) -> Flaw | None:
    """The unit is kelvins, Fahrenheit, or tenths or thousandths of a degree."""
    low, high = float(np.min(readings.values)), float(np.max(readings.values))
    span = f"it reads {words.span_text((low, high))}"
    if low >= 250 and high <= 400 and low != high:
        in_c = words.temps_text((low - 273.15, high - 273.15))
        return Flaw(f"{span}: these look like kelvins, {in_c}")
    for unit, scale in (("tenths", 10), ("thousandths", 1000)):
        if 15 * scale <= low and high <= 110 * scale and high > 150:
            in_c = words.temps_text((low / scale, high / scale))
            return Flaw(f"{span}: these look like {unit} of a degree, {in_c}")
    top = float(np.quantile(readings.values, 0.95))
    low_c, high_c = (low - 32) / 1.8, (high - 32) / 1.8
    if top > HOTTEST_C and high_c <= 100 and low_c >= 10:
        in_c = words.temps_text((low_c, high_c))
        return Flaw(f"{span}, more than a drive survives: in Fahrenheit that is {in_c}")
    return None


def codes(readings: TemperatureReadings, _: ThermalLog) -> Flaw | None:
    """Some readings mean "not measured"."""
    wrong = is_code(readings)
    count = int(np.count_nonzero(wrong))
    if count == 0:
        return None
    values, counts = np.unique(readings.values[wrong], return_counts=True)
    value = float(values[np.argmax(counts)])
    rare = count <= 0.01 * len(wrong)
    text = f"{count} of {len(wrong)} readings are {words.number_text(value)} or similar"
    text += f": {_match(value, _CODES)}"
    return Flaw(text, is_fatal=not rare)


def is_code(readings: TemperatureReadings) -> "np.typing.NDArray[np.bool_]":
    """Return which readings mean "not measured", if the others are far from them."""
    values = readings.values
    usual = float(np.median(values))
    wrong = np.zeros(len(values), dtype=bool)
    odd = np.abs(values - usual) > 20
    if odd.any():
        for code in _CODES:
            wrong |= odd & (np.abs(values - code) < 0.01)
        # 0 C is a possible temperature, but no drive drops to it at once
        wrong |= odd & (values == 0) & (np.abs(np.diff(values, prepend=values[0])) > 15)
    return wrong


def wrapped(readings: TemperatureReadings, _: ThermalLog) -> Flaw | None:
    """The reading overflows a byte, or its sign flips."""
    steps = np.diff(readings.values)
    if len(steps) == 0 or np.max(np.abs(steps)) < 100:
        return None
    before, after = readings.values[:-1], readings.values[1:]
    top = np.maximum(before, after)
    over = (np.abs(np.abs(steps) - 256) <= 15) & (top >= 113)
    flips = (np.abs(before + after) <= 3) & (np.abs(steps) > 40)
    for which, what in ((over, "a byte overflows"), (flips, "its sign flips")):
        if which.any():
            return Flaw(f"{_jumps(readings.values, int(np.argmax(which)))}: {what}")
    return None


def impossible(readings: TemperatureReadings, _: ThermalLog) -> Flaw | None:
    """No drive is that cold or hot."""
    low, high = float(np.min(readings.values)), float(np.max(readings.values))
    if low < _COLDEST_C or high > _HOTTEST_C:
        return Flaw(f"{words.temps_text((low, high))} is impossible for a drive")
    return None


def jumps(readings: TemperatureReadings, _: ThermalLog) -> Flaw | None:
    """The reading changes faster than any part of a drive can."""
    t_s, values = readings.t_s, readings.values
    if len(values) < 3:
        return None
    steps, times_s = np.diff(values), np.maximum(np.diff(t_s), 0.5)
    size = np.abs(steps)
    too_fast = size > _FASTEST_K_PER_S * times_s + 2
    away = np.minimum(size[:-1], size[1:]) > _SPIKE_K
    back = (np.abs(steps[:-1] + steps[1:]) < _SPIKE_K / 3) & (times_s[:-1] + times_s[1:] <= 4)
    too_fast[:-1] |= away & back
    count = int(np.count_nonzero(too_fast))
    if count == 0:
        return None
    at = int(np.argmax(np.where(too_fast, size, 0)))
    text = f"{_jumps(values, at)} in {words.seconds_text(times_s[at])}"
    few = count < 3
    return Flaw(text if few else f"{text}, and does so {count} times", is_fatal=not few)


def still_while_counting(readings: TemperatureReadings, log: ThermalLog) -> Flaw | None:
    """The drive counts throttling while it reports nothing but the placeholder."""
    values = readings.values
    if not log.has_counted or len(values) < 2 or np.any(values != values[0]):
        return None
    if float(values[0]) not in _PLACEHOLDER_C or is_of_surroundings(readings.name):
        return None
    text = f"it stays at {words.temp_text(values[0])} while the drive counts throttling"
    return Flaw(f"{text}: {_PLACEHOLDERS[39.85]}")


def unlike_own(readings: TemperatureReadings, log: ThermalLog) -> Flaw | None:
    """The composite is far from what it is by the drive's own sensors, in its family."""
    own = {one.name: float(np.median(one.values)) for one in log.readings if not one.is_of_host}
    if readings.name != "composite" or len(own) < 2:
        return None
    from heatsoak.catalog.families import family_of  # few recordings have both

    family = family_of(log.model)
    made_c = [family.reported_c(name, own[name]) for name in family.composite if name in own]
    if not made_c or abs(own["composite"] - max(made_c)) < _UNLIKE_K:
        return None
    reads, usual = words.temp_text(own["composite"]), words.temp_text(max(made_c))
    return Flaw(
        f"it reads {reads}, and by the drive's own sensors it would be {usual}, as in "
        f"{family.listings} listings of {family.controller}"
    )


#: Checked in this order; the first fatal flaw decides.
OF_DRIVES: tuple[Callable[[TemperatureReadings, ThermalLog], Flaw | None], ...] = (
    stuck,
    still_while_counting,
    unlike_own,
    wrong_unit,
    wrapped,
    codes,
    impossible,
    locked_up,
    jumps,
    frozen,
)
OF_HOSTS = (stuck,)


def _match(value: float, known: dict[float, str]) -> str | None:
    return next((what for code, what in known.items() if abs(value - code) < 0.2), None)


#: Load changes closer together than this do not show the lag.
_MIN_STAY_S = 30
#: The time after a load change in which the response is measured.
_REACH_S = 90
#: Slopes are taken over this time, so that rounding to whole degrees does not dominate them.
_SLOPE_S = 7
_MIN_RESPONSE_K = 5.0
_MIN_CHANGES = 5


def step_c(readings: TemperatureReadings) -> float | None:
    """Return the step that a temperature is rounded to; None if not rounded, or hardly changing."""
    moved = np.abs(np.diff(readings.values))
    moved = moved[moved > 1e-9]
    if len(moved) < _MIN_CHANGES:
        return None
    least = float(np.min(moved))
    if least < 0.01:
        return None
    steps = moved / least
    return round(least, 3) if np.all(np.abs(steps - np.round(steps)) < 0.05) else None


def renewed_s(readings: TemperatureReadings) -> float | None:
    """Return the shortest usual time between changes; None if it rarely changes."""
    at_s = readings.t_s[1:][np.diff(readings.values) != 0]
    if len(at_s) < _MIN_CHANGES + 1:
        return None
    return float(np.quantile(np.diff(at_s), 0.05))


def lag_s(readings: TemperatureReadings, log: ThermalLog) -> float | None:
    """Return how long after the load starts or stops a temperature changes fastest.

    The readings around all load changes are averaged. A heat capacity that is heated directly
    changes fastest at once, whatever its size; one that is heated through another changes later.
    None if no load started or stopped for at least half a minute, or if the temperature did not
    clearly follow.
    """
    curves = [_about(readings, *change) for change in _changes(log)]
    known = [curve for curve in curves if curve is not None]
    if not known or (response := np.mean(known, axis=0))[-1] < _MIN_RESPONSE_K:
        return None
    slope = response[_SLOPE_S:] - response[:-_SLOPE_S]
    # the middle of equal maxima: rounding makes flat tops
    best = np.flatnonzero(slope >= slope.max() - 1e-9)
    fastest = int(best[len(best) // 2])
    return float(max(fastest - _SLOPE_S // 2, 0))


def _changes(log: ThermalLog) -> list[tuple[int, int]]:
    """When the load started (+1) or stopped (-1) and stayed so, in seconds."""
    loaded = log.is_loaded
    known = np.flatnonzero(np.isfinite(loaded))
    if len(known) == 0:
        return []
    begins_s = known[np.flatnonzero(np.diff(loaded[known], prepend=np.nan))]
    lengths_s = np.diff(begins_s, append=known[-1] + 1)
    stays = np.flatnonzero(np.minimum(lengths_s[:-1], lengths_s[1:]) >= _MIN_STAY_S) + 1
    return [(at_s, 1 if loaded[at_s] == 1 else -1) for at_s in begins_s[stays].tolist()]


def _about(readings: TemperatureReadings, at_s: int, sign: int) -> Array | None:
    """How a temperature changed after `at_s`, by second; None if it was read too seldom."""
    before = _SLOPE_S // 2
    near = readings.only((readings.t_s >= at_s - 5) & (readings.t_s < at_s + _REACH_S + 5))
    times_s = near.t_s
    if len(times_s) < 5 or times_s[0] > at_s or times_s[-1] < at_s + _REACH_S:
        return None
    if np.max(np.diff(times_s)) > 5:
        return None
    curve = near.along(at_s + np.arange(-before, _REACH_S + 1.0))
    return np.asarray(sign * (curve - curve[before]))
