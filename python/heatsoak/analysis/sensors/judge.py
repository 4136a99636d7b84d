"""Trust in a temperature, from one recording or several of the same drive: what it reads whenever
throttling starts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from heatsoak.analysis.course import drive_of
from heatsoak.analysis.findings import SensorTrust
from heatsoak.analysis.sensors.flaws import (
    OF_DRIVES,
    OF_HOSTS,
    Flaw,
    is_code,
    lag_s,
    renewed_s,
    step_c,
)
from heatsoak.analysis.sensors.readings import (
    Stretch,
    TemperatureReadings,
    ThermalLog,
    read_log,
    read_stretches,
)
from heatsoak.recording import Recording

#: Readings at the onsets that differ by no more than this, and one step, are the same: a sensor
#: lags, the more the faster it warms, and workloads heat the parts of a drive unlike.
ALIKE_K = 5.0
#: Readings that differ by more than this cannot all be where throttling begins.
APART_K = 10.0
#: Onsets at times that differ by this factor did not come after a like time.
_OTHER_TIME_X = 1.5
_MOST_LISTED = 5


@dataclass(frozen=True)
class EpisodeOnset:
    """Where an episode begins.

    Attributes:
        recording: its place among the recordings that are judged; runs of one log share a path.
        onset_s: from the begin of the step's load.
        cause: the verdict on it.
    """

    recording: int
    step: str
    onset_s: float
    cause: str


def is_thermal(onset: EpisodeOnset) -> bool:
    """Return whether an onset is judged to be of heat."""
    return onset.cause == "thermal"


@dataclass(frozen=True)
class Sighting:
    """What a temperature read at an onset of throttling; without `onset_s` its highest in a step.

    Attributes:
        condition: what repeats of one condition have in common.
        start_c: what it read as the load began.
    """

    condition: object
    step: str
    reading_c: float
    start_c: float | None
    onset_s: float | None


def explains(trust: SensorTrust, sightings: list[Sighting]) -> SensorTrust:
    """Return `trust` with what the onsets of a drive's throttling say of a temperature."""
    seen = [sighting for sighting in sightings if sighting.onset_s is not None]
    if not seen:
        return trust
    readings_c, across, where = _widest(seen)
    spread_k = max(readings_c) - min(readings_c)
    step_k = trust.step_c or 0.0
    at = f"at the onset of throttling it read {_listed(readings_c)} {where}"
    known = {"onsets": len(seen), "spread_at_onset_k": spread_k if len(readings_c) > 1 else None}
    moved = trust.why.split(";")[0]

    def told(verdict: str, why: str) -> SensorTrust:
        return trust.model_copy(update={**known, "trust": verdict, "why": why})

    if len(readings_c) == 1:
        one = "one onset tells" if len(seen) == 1 else "onsets in one condition tell"
        return told("unknown", f"{moved}; {at}: {one} little")
    if spread_k > APART_K + step_k:
        return told("poor", f"{at}: {spread_k:.0f} K apart, it does not explain the throttling")
    hotter = _hotter(sightings, max(readings_c) + ALIKE_K + step_k, min(readings_c) - ALIKE_K)
    if hotter is not None:
        return told(
            "poor",
            f"{at}, and {hotter.reading_c:.0f} C in '{hotter.step}', which did not throttle: "
            "it does not explain the throttling",
        )
    if spread_k > ALIKE_K + step_k:
        return told("unknown", f"{at}: {spread_k:.0f} K apart, which leaves open if it explains it")
    if not _rose(seen):
        return told("unknown", f"{at}, hardly more than before it: it says little")
    if not (across and _varied(seen)):
        return told(
            "unknown", f"{at}, always after a like time from a like start: other conditions tell"
        )
    return told("good", f"{at}, whatever the time it took: it explains the throttling")


def _widest(seen: list[Sighting]) -> tuple[list[float], bool, str]:
    """The readings that lie farthest apart, of one workload in several conditions.

    Repeats of a condition count once, by their median. Where nothing throttled in two conditions
    of one workload, workloads are compared: whether conditions were is the second value, and in
    words the third.
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


def _hotter(sightings: list[Sighting], than_c: float, from_c: float) -> Sighting | None:
    """A step that began cool, got hotter than the onsets elsewhere, and did not throttle."""
    steady = [
        sighting
        for sighting in sightings
        if sighting.onset_s is None
        and sighting.start_c is not None
        and sighting.start_c < from_c
        and sighting.reading_c > than_c
    ]
    return max(steady, key=lambda sighting: sighting.reading_c, default=None)


def _rose(seen: list[Sighting]) -> bool:
    """Whether it ever rose clearly before an onset."""
    return any(s.start_c is not None and s.reading_c - s.start_c >= ALIKE_K for s in seen)


def _varied(seen: list[Sighting]) -> bool:
    """Whether throttling began after unlike times, or from unlike temperatures."""
    times_s = [s.onset_s + 1 for s in seen if s.onset_s is not None]
    starts_c = [s.start_c for s in seen if s.start_c is not None]
    return max(times_s) >= _OTHER_TIME_X * min(times_s) or (
        len(starts_c) > 1 and max(starts_c) - min(starts_c) >= ALIKE_K
    )


def _listed(readings_c: list[float]) -> str:
    if len(readings_c) > _MOST_LISTED:
        return f"{readings_c[0]:.0f} to {readings_c[-1]:.0f} C"
    *first, last = [f"{reading:.0f}" for reading in readings_c]
    return f"{', '.join(first)} and {last} C" if first else f"{last} C"


def judge_sensors(recording: Recording) -> list[SensorTrust]:
    """Return each temperature's trust, from all of a recording.

    Pauses and preconditioning are part of it: a drive that is held at its limit reads the same
    throughout its load, and is no less to be trusted for it. None is called good: that takes
    onsets of throttling, for :func:`judge_sensors_together`.
    """
    return judge_log(read_log(recording))


def judge_sensors_together(
    recordings: Sequence[Recording],
    onsets: Iterable[EpisodeOnset],
    is_heat: Callable[[EpisodeOnset], bool] = is_thermal,
) -> list[list[SensorTrust]]:
    """Return the trust of each recording's temperatures, in the order of `recordings`.

    Recordings of one drive speak for each other: a reading explains throttling if it is the same
    whenever throttling begins, in whatever conditions. `onsets` are those of all episodes, whatever
    their cause: a step without any shows what a temperature reaches where nothing throttles.
    `is_heat` tells which of them are held against the temperatures.
    """
    listed = list(onsets)
    logs = [read_log(recording) for recording in recordings]
    trusts = [judge_log(log) for log in logs]
    drives = [drive_of(recording) for recording in recordings]
    sightings: dict[tuple[object, str], list[Sighting]] = defaultdict(list)
    for index, recording in enumerate(recordings):
        stretches = read_stretches(recording)
        fatal = {trust.name for trust in trusts[index] if trust.trust == "poor"}
        here = [onset for onset in listed if onset.recording == index]
        for readings in logs[index].readings:
            if not readings.is_of_host and readings.name not in fatal:
                clean = readings.only(~is_code(readings))
                sightings[drives[index], readings.name] += _sightings(
                    recording, stretches, clean, here, is_heat
                )
    return [
        [
            trust if trust.trust == "poor" else explains(trust, sightings[drive, trust.name])
            for trust in of_one
        ]
        for drive, of_one in zip(drives, trusts, strict=True)
    ]


def judge_log(log: ThermalLog) -> list[SensorTrust]:
    """Return the trust of the temperatures of one recording, as far as it shows by itself."""
    found: list[SensorTrust] = []
    for index, readings in enumerate(log.readings):
        trust = _judge_readings(readings, log)
        if not readings.is_of_host and trust.trust != "poor":
            trust.same_as = _twin(readings, log.readings[:index])
            if trust.same_as is not None:
                trust.why += f"; it never differs from '{trust.same_as}'"
        found.append(trust)
    return found


def _judge_readings(readings: TemperatureReadings, log: ThermalLog) -> SensorTrust:
    flaws: list[Flaw] = []
    for look in OF_HOSTS if readings.is_of_host else OF_DRIVES:
        flaw = look(readings, log)
        if flaw is not None:
            if flaw.is_fatal:
                return SensorTrust(name=readings.name, trust="poor", why=flaw.text)
            flaws.append(flaw)
            readings = readings.only(~is_code(readings))
    low, high = float(np.min(readings.values)), float(np.max(readings.values))
    if low == high:
        moved = f"it stayed at {low:.0f} C"
    else:
        moved = f"it moved between {low:.0f} and {high:.0f} C"
    trust = SensorTrust(
        name=readings.name,
        trust="unknown",
        why="; ".join([moved, *(flaw.text for flaw in flaws)]),
        step_c=step_c(readings),
        renewed_s=renewed_s(readings),
    )
    if not readings.is_of_host:
        trust.lag_s = lag_s(readings, log)
        trust.why += "; whether it explains throttling takes recordings in several conditions"
    return trust


def _twin(readings: TemperatureReadings, others: list[TemperatureReadings]) -> str | None:
    """Another temperature of the drive from which it never differs, though both move."""
    if len(readings.values) < 2 or np.ptp(readings.values) == 0:
        return None
    return next(
        (o.name for o in others if not o.is_of_host and np.array_equal(o.values, readings.values)),
        None,
    )


def _sightings(
    recording: Recording,
    stretches: dict[str, Stretch],
    readings: TemperatureReadings,
    onsets: list[EpisodeOnset],
    is_heat: Callable[[EpisodeOnset], bool],
) -> list[Sighting]:
    """What a temperature read at the onsets of heat, and at its highest where there was none."""
    labels = tuple(sorted((key, str(v)) for key, v in recording.meta.conditions.items()))
    condition = labels or recording.path_text
    found: list[Sighting] = []
    for onset in onsets:
        stretch = stretches.get(onset.step)
        if stretch is None or not is_heat(onset):
            continue
        reading_c = readings.at(stretch.begin_s + onset.onset_s)
        start_c = readings.at(stretch.begin_s)
        if reading_c is not None:
            found.append(Sighting(condition, onset.step, reading_c, start_c, onset.onset_s))
    fell = {onset.step for onset in onsets}
    for step in recording.meta.protocol.workload_steps:
        stretch = stretches.get(step.name)
        if stretch is None or not step.is_judged or step.name in fell:
            continue
        values = readings.between(stretch.begin_s, stretch.end_s).values
        if len(values) and stretch.end_s - stretch.begin_s >= 60:
            top_c = float(np.quantile(values, 0.9))
            found.append(Sighting(condition, step.name, top_c, float(values[0]), None))
    return found
