"""Trust in a temperature, from one recording or several of the same drive."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from heatsoak.analysis.course import drive_of
from heatsoak.analysis.findings import SensorTrust
from heatsoak.analysis.sensors.flaws import OF_DRIVES, OF_HOSTS, Flaw, is_code
from heatsoak.analysis.sensors.onsets import Onset, Sighting, explains, is_thermal
from heatsoak.analysis.sensors.readings import Log, Readings, Stretch, read_log, read_stretches
from heatsoak.analysis.sensors.timing import lag_s, renewed_s, step_c
from heatsoak.recording import Recording


def judge_sensors(recording: Recording) -> list[SensorTrust]:
    """Return each temperature's trust, from all of a recording.

    Pauses and preconditioning are part of it: a drive that is held at its limit reads the same
    throughout its load, and is no less to be trusted for it. None is called good: that takes
    onsets of throttling, for :func:`judge_sensors_together`.
    """
    return judge_log(read_log(recording))


def judge_sensors_together(
    recordings: Sequence[Recording],
    onsets: Iterable[Onset],
    is_heat: Callable[[Onset], bool] = is_thermal,
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


def judge_log(log: Log) -> list[SensorTrust]:
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


def _judge_readings(readings: Readings, log: Log) -> SensorTrust:
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


def _twin(readings: Readings, others: list[Readings]) -> str | None:
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
    readings: Readings,
    onsets: list[Onset],
    is_heat: Callable[[Onset], bool],
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
