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
    step_k = trust.step_c or 0.0
    at = f"at the onset of throttling it read {words.temps_text(readings_c)} {where}"
    known = {"onsets": len(seen), "spread_at_onset_k": spread_k if len(readings_c) > 1 else None}
    moved = trust.why.split(";")[0]

    def judged(verdict: str, why: str) -> SensorTrust:
        return trust.model_copy(update={**known, "trust": verdict, "why": why})

    if len(readings_c) == 1:
        one = "one onset says" if len(seen) == 1 else "onsets in one condition say"
        return judged("unknown", f"{moved}; {at}: {one} little")
    if spread_k > APART_K + step_k:
        return judged(
            "poor", f"{at}: {words.kelvin_text(spread_k)} apart, it does not explain the throttling"
        )
    hotter = _hotter(sightings, max(readings_c) + ALIKE_K + step_k, min(readings_c) - ALIKE_K)
    if hotter is not None:
        return judged(
            "poor",
            f"{at}, and {words.temp_text(hotter.reading_c)} in '{hotter.step}', which did not "
            "throttle: it does not explain the throttling",
        )
    if spread_k > ALIKE_K + step_k:
        return judged(
            "unknown",
            f"{at}: {words.kelvin_text(spread_k)} apart: it may or may not explain the throttling",
        )
    if not _rose(seen):
        return judged("unknown", f"{at}, hardly higher than before: that says little")
    if not (across and _varied(seen)):
        return judged(
            "unknown",
            f"{at}, always after a similar time from a similar start: other conditions would tell",
        )
    return judged("good", f"{at}, however long it took: it explains the throttling")


def _widest(seen: list[ReadingAtOnset]) -> tuple[list[float], bool, str]:
    """The readings that differ most, for one workload in several conditions.

    Repeats of a condition count once, by their median. If no workload throttled in two conditions,
    workloads are compared instead. The second value says whether conditions were compared, and the
    third says it in words.
    """
    cells: dict[str, dict[object, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sighting in seen:
        cells[sighting.step][sighting.condition].append(sighting.reading_c)
    by_step = {
        step: [median(readings) for readings in conditions.values()]
        for step, conditions in cells.items()
    }
    step, readings = max(by_step.items(), key=lambda item: (max(item[1]) - min(item[1]), item[0]))
    if len(readings) > 1:
        return sorted(readings), True, f"in {len(readings)} conditions ('{step}')"
    several = sorted(median(readings) for readings in by_step.values())
    if len(several) == 1:
        return several, False, f"('{step}')"
    return several, False, f"in {len(several)} steps"


def _hotter(sightings: list[ReadingAtOnset], than_c: float, from_c: float) -> ReadingAtOnset | None:
    """A step that started cool, got hotter than the other onsets, and did not throttle."""
    steady = [
        sighting
        for sighting in sightings
        if sighting.onset_s is None
        and sighting.start_c is not None
        and sighting.start_c < from_c
        and sighting.reading_c > than_c
    ]
    return max(steady, key=lambda sighting: sighting.reading_c, default=None)


def _rose(seen: list[ReadingAtOnset]) -> bool:
    """Whether the temperature ever rose clearly before an onset."""
    return any(s.start_c is not None and s.reading_c - s.start_c >= ALIKE_K for s in seen)


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
            trust.same_as = _twin(readings, log.readings[:index])
            if trust.same_as is not None:
                trust.why += f"; it always reads the same as '{trust.same_as}'"
        found.append(trust)
    return found


def _judge_readings(readings: TemperatureReadings, log: ThermalLog) -> SensorTrust:
    found: list[flaws.Flaw] = []
    for check in flaws.OF_HOSTS if readings.is_of_host else flaws.OF_DRIVES:
        flaw = check(readings, log)
        if flaw is not None:
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


def _twin(readings: TemperatureReadings, others: list[TemperatureReadings]) -> str | None:
    """Another temperature of the drive that always reads the same, though both change."""
    if len(readings.values) < 2 or np.ptp(readings.values) == 0:
        return None
    return next(
        (o.name for o in others if not o.is_of_host and np.array_equal(o.values, readings.values)),
        None,
    )


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
