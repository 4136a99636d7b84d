"""Trust in a temperature, from one or several recordings of the same drive: a trusted sensor reads
the same whenever throttling starts."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import polars as pl

from heatsoak import words
from heatsoak.analysis.findings import Claim, SensorTrust
from heatsoak.analysis.sensors import flaws
from heatsoak.analysis.sensors.readings import TemperatureReadings, ThermalLog, read_log
from heatsoak.identity import numbered
from heatsoak.recording import Recording

#: Readings at the onsets are the same if they differ by no more than this plus one step: a sensor
#: lags more the faster it warms, and workloads heat different parts of a drive.
ALIKE_K = 5.0
#: Readings that differ by more than this cannot all be the throttling temperature.
APART_K = 10.0
#: A reading tells the temperature so many seconds after it at most.
_NEAR_S = 15.0
#: Onset times that differ by this factor are different.
_OTHER_TIME_X = 1.5


@dataclass(frozen=True)
class ReadingAtOnset:
    """A temperature's reading at an onset of throttling, or without `onset_s`, its highest in a
    step.

    Attributes:
        condition: a key that is the same for repeats of one condition.
        start_c: the reading when the load started.
    """

    condition: object
    step: str
    reading_c: float
    start_c: float | None
    onset_s: float | None


def trust_from_onsets(trust: SensorTrust, sightings: list[ReadingAtOnset]) -> SensorTrust:
    """Return `trust`, updated with what the onsets of throttling say about a temperature."""
    seen = [sighting for sighting in sightings if sighting.onset_s is not None]
    if not seen or trust.trust == "poor":
        return trust
    readings_c, across, where = _widest(seen)
    spread_k = max(readings_c) - min(readings_c)
    step_k, apart = trust.step_c or 0.0, f"{words.kelvin_text(spread_k)} apart"
    why = f"at the onset of throttling it read {words.temps_text(readings_c)} {where}"
    # a step that started cool, got hotter than the onsets, and did not throttle
    cool = [s for s in sightings if s.start_c is not None and s.start_c < min(readings_c) - ALIKE_K]
    than_c = max(readings_c) + ALIKE_K + step_k
    steady = [s for s in cool if s.onset_s is None and s.reading_c > than_c]
    hotter = max(steady, key=lambda sighting: sighting.reading_c, default=None)
    verdict = "unknown"
    if len(readings_c) == 1:
        one = "one onset says" if len(seen) == 1 else "onsets in one condition say"
        why = f"{trust.why.split(';')[0]}; {why}: {one} little"
    elif spread_k > APART_K + step_k:
        verdict, why = "poor", f"{why}: {apart}, it does not explain the throttling"
    elif hotter is not None:
        verdict, there = "poor", f"{words.temp_text(hotter.reading_c)} in '{hotter.step}'"
        why += f", and {there}, which did not throttle: it does not explain the throttling"
    elif spread_k > ALIKE_K + step_k:
        why += f": {apart}: it may or may not explain the throttling"
    elif not any(s.start_c is not None and s.reading_c - s.start_c >= ALIKE_K for s in seen):
        why += ", hardly higher than before: that says little"
    elif not (across and _varied(seen)):
        why += ", always after a similar time from a similar start: other conditions would tell"
    else:
        verdict, why = "good", f"{why}, however long it took: it explains the throttling"
    known_k = spread_k if len(readings_c) > 1 else None
    update = {"onsets": len(seen), "spread_at_onset_k": known_k, "trust": verdict, "why": why}
    return trust.model_copy(update=update)


def _widest(seen: list[ReadingAtOnset]) -> tuple[list[float], bool, str]:
    """The readings that differ most, for one workload in several conditions.

    Repeats of a condition count once, by their median. If no workload throttled in two conditions,
    workloads are compared instead. The second value says whether conditions were compared, and the
    third says it in words.
    """
    cells: dict[str, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sighting in seen:
        cells[sighting.step][sighting.condition].append(sighting.reading_c)
    by_step = {step: [*map(median, by.values())] for step, by in cells.items()}
    step, readings = max(by_step.items(), key=lambda item: (max(item[1]) - min(item[1]), item[0]))
    if len(readings) > 1:
        return sorted(readings), True, f"in {len(readings)} conditions ('{step}')"
    several = sorted(map(median, by_step.values()))
    return several, False, f"in {len(several)} steps" if len(several) > 1 else f"('{step}')"


def _varied(seen: list[ReadingAtOnset]) -> bool:
    """Whether throttling started after different times, or from different temperatures."""
    times_s = [s.onset_s + 1 for s in seen if s.onset_s is not None]
    starts_c = [s.start_c for s in seen if s.start_c is not None]
    return max(times_s) >= _OTHER_TIME_X * min(times_s) or (
        len(starts_c) > 1 and max(starts_c) - min(starts_c) >= ALIKE_K
    )


@dataclass(frozen=True)
class Sensed:
    """A recording's temperatures, and the trust in each on its own.

    None is called good: that takes onsets of throttling, with :func:`judge_sensors_together`.
    """

    recording: Recording
    log: ThermalLog
    trusts: list[SensorTrust]

    @property
    def distrusted(self) -> frozenset[str]:
        """The names of temperatures with a flaw."""
        return frozenset(trust.name for trust in self.trusts if trust.trust == "poor")


def sense(recording: Recording, samples: pl.DataFrame | None = None) -> Sensed:
    """Return a recording's temperatures, judged on their own; `samples` are all of its samples.

    Pauses and preconditioning count too: a drive held at its limit reads the same throughout its
    load, which is not a flaw.
    """
    log = read_log(recording, samples)
    return Sensed(recording, log, judge_log(log))


def judge_sensors_together(
    sensed: Sequence[Sensed], falls: Sequence[Sequence[Claim]]
) -> list[list[SensorTrust]]:
    """Return the trust in the temperatures of each recording.

    Recordings of the same drive are evidence for each other: a reading explains throttling if it is
    the same whenever throttling starts, in any conditions. `falls` are those of each recording,
    whatever their cause: a step without any shows what a temperature reaches without throttling.
    """
    drives = numbered([one.recording.identity for one in sensed])
    sightings: dict[tuple[int, str], list[ReadingAtOnset]] = defaultdict(list)
    for one, drive, here in zip(sensed, drives, falls, strict=True):
        for readings in one.log.readings:
            if not readings.is_of_host and readings.name not in one.distrusted:
                clean = readings.only(~flaws.is_code(readings))
                sightings[drive, readings.name] += _sightings(one, clean, here)
    return [
        [trust_from_onsets(trust, sightings[drive, trust.name]) for trust in one.trusts]
        for one, drive in zip(sensed, drives, strict=True)
    ]


def judge_log(log: ThermalLog) -> list[SensorTrust]:
    """Return the trust in the temperatures of one recording, judged on its own."""
    found: list[SensorTrust] = []
    for index, readings in enumerate(log.readings):
        trust = _judge_readings(readings, log)
        if not readings.is_of_host and trust.trust != "poor":
            # another temperature of the drive that always reads the same, though both change
            beside = log.readings[:index] if np.ptp(readings.values) > 0 else []
            same = (one for one in beside if np.array_equal(one.values, readings.values))
            trust.same_as = next((one.name for one in same if not one.is_of_host), None)
            if trust.same_as is not None:
                trust.why += f"; it always reads the same as '{trust.same_as}'"
        found.append(trust)
    return found


def _judge_readings(readings: TemperatureReadings, log: ThermalLog) -> SensorTrust:
    found: list[flaws.Flaw] = []
    for check in flaws.OF_HOSTS if readings.is_of_host else flaws.OF_DRIVES:
        if (flaw := check(readings, log)) is not None:
            if flaw.is_fatal:
                return SensorTrust(name=readings.name, trust="poor", why=flaw.text)
            found.append(flaw)
            readings = readings.only(~flaws.is_code(readings))
    low, high = float(np.min(readings.values)), float(np.max(readings.values))
    moved = f"it {'stayed at' if low == high else 'ranged from'} {words.temps_text((low, high))}"
    trust = SensorTrust(
        name=readings.name,
        trust="unknown",
        why="; ".join([moved, *(flaw.text for flaw in found)]),
        step_c=flaws.step_c(readings),
        renewed_s=flaws.renewed_s(readings),
    )
    if not readings.is_of_host:
        trust.lag_s = flaws.lag_s(readings, log)
        trust.why += "; recordings in several conditions would tell whether it explains throttling"
    return trust


def _sightings(
    one: Sensed, readings: TemperatureReadings, falls: Sequence[Claim]
) -> list[ReadingAtOnset]:
    """A temperature's readings at the onsets of heat, and its highest in steps without an onset."""
    recording, stretches = one.recording, one.log.stretches
    labels = tuple(sorted((key, str(v)) for key, v in recording.meta.conditions.items()))
    condition = labels or recording.path_text
    found: list[ReadingAtOnset] = []
    for fall in falls:
        stretch = stretches.get(name := fall.step or "")
        if stretch is None or fall.onset_s is None or fall.what != "throttled":
            continue
        reading_c = readings.at(stretch.start_s + fall.onset_s, _NEAR_S)
        start_c = readings.at(stretch.start_s, _NEAR_S)
        if reading_c is not None:
            found.append(ReadingAtOnset(condition, name, reading_c, start_c, fall.onset_s))
    fell = {fall.step for fall in falls}
    for step in recording.meta.protocol.workload_steps:
        stretch = stretches.get(step.name)
        if stretch is None or not step.is_judged or step.name in fell:
            continue
        values = readings.between(stretch.start_s, stretch.end_s)
        if len(values) and stretch.end_s - stretch.start_s >= 60:
            top_c = float(np.quantile(values, 0.9))
            found.append(ReadingAtOnset(condition, step.name, top_c, float(values[0]), None))
    return found
