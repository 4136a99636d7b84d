"""Logs made of a drive's readings: whose they are, and when they were."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak.identity import node_of
from heatsoak.importer import frames, runs
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.readings import COUNTED, Reading, Readings, TemperatureHistory, ToldDrive
from heatsoak.importer.reports import stated_interval
from heatsoak.importer.source import MAX_RUNS
from heatsoak.importer.tables.rows import wanted_drives
from heatsoak.importer.timestamps import Times, read_times
from heatsoak.recording import HEALTH, SensorMeta, grid
from heatsoak.words import amount_text, listed, temp_text

#: Readings apart by this many whole seconds or more need no evening out.
_COARSE_S = 5.0
#: Power-on hours are whole ones, and a clock that is set may be off by one.
_HOURS_APART = 2.0
#: A counter that falls in so many of its readings is not one drive's.
_OFTEN_BACK = 0.25
_HOW_FAR = "(--map interval_s=SECONDS says how far)"


def logs_of_readings(readings: Readings) -> list[Log]:
    """Return a log for each drive, and for each of its runs.

    Raises UsageError where the file has no reading, or none of the drive that is asked for.
    """
    readings.end()
    taken = readings.all
    if not taken:
        raise readings.source.error(_no_reading(readings))
    readings.ascribe(taken[-1].device)
    readings.name_all()
    if len(taken) > 1 and not taken[0].stamp and (readings.stamp or taken[1].stamp):
        # the script told the time behind each reading, not before it
        for here, following in pairwise(taken):
            here.stamp = following.stamp
        taken[-1].stamp = readings.stamp
    named = {reading.device for reading in taken} - {""}
    if len(named) == 1:
        for reading in taken:
            reading.device = next(iter(named))
    if len(named) > 1:
        _share_stamps(taken)
    by_device: dict[str, list[Reading]] = {}
    for reading in taken:
        by_device.setdefault(reading.device, []).append(reading)
    names = list(by_device)
    # one drive that has another kind of name may still be the one that is asked for
    if len(names) > 1 or node_of(names[0]) is not None:
        names = wanted_drives(readings.source, readings.options, names)
    logs: list[Log] = []
    for device in names:
        own, is_alone = by_device[device], len(by_device) == 1
        logs += _of_device(readings, device, own, is_alone=is_alone)
    return logs


def _no_reading(readings: Readings) -> str:
    """Say what a file without readings does tell."""
    readings.ascribe("")
    limits_c = [t.thresholds for t in readings.drives.values() if t.thresholds]
    if not limits_c:
        return "holds no reading of a drive's temperature or counters"
    told = [
        f"{name.removesuffix('_c').replace('_', ' ').upper()} {temp_text(celsius)}"
        for name, celsius in limits_c[0].items()
    ]
    return (
        f"tells only a drive's limits ({listed(told)}), no temperature and no count: "
        "'nvme smart-log' in a loop has these"
    )


def history_log(readings: Readings, history: TemperatureHistory) -> Log:
    """Return the log of what a drive itself has written down at regular intervals."""
    readings.end()
    device = readings.all[-1].device if readings.all else ""
    readings.ascribe(device)
    readings.source.note("the series is the drive's own history of its temperature")
    values = np.array(history.celsius, dtype=float)
    kept = np.flatnonzero(np.isfinite(values))
    t_s, times = np.array(kept, dtype=float) * history.interval_s, read_times([history.begin])
    if (end_unix_s := history.end_unix_s) is not None:
        times = Times(t_s, "utc", end_unix_s - history.interval_s * (len(values) - 1))
    taken = [Reading(values={"temp_c.drive": values[index]}) for index in kept]
    drive = _told_of(readings, device, is_alone=True)
    (log,) = _logs(readings, taken, replace(times, t_s=t_s), drive, is_known=True)
    return log


def _share_stamps(readings: list[Reading]) -> None:
    """Give drives that were read one behind the other the time that stands before the first."""
    stamp, seen = "", set[str]()
    for reading in readings:
        if reading.stamp:
            stamp, seen = reading.stamp, set()
        elif reading.device not in seen:
            reading.stamp = stamp
        seen.add(reading.device)


def _of_device(
    readings: Readings, device: str, taken: list[Reading], *, is_alone: bool
) -> list[Log]:
    name = readings.source.name
    remarks: list[Remark] = []
    times, is_known = _times(readings, taken, remarks)
    kept = np.flatnonzero(np.isfinite(times.t_s))
    if len(kept) < len(taken):
        lost = len(taken) - len(kept)
        text = f"{lost} of {len(taken)} readings have no time that can be read: left out"
        remarks.append(Remark(f"{name}: {text}", doubt=True))
    if runs.is_in_no_order(times.t_s[kept]):
        remarks.append(Remark(f"{name}: its readings were not in order of time; they were sorted"))
        kept = kept[np.argsort(times.t_s[kept], kind="stable")]
    taken, times = [taken[index] for index in kept], replace(times, t_s=times.t_s[kept])
    drive = _told_of(readings, device, is_alone=is_alone)
    drives_h = _told_apart(readings, taken, times, is_dated=is_known and times.clock != "none")
    if len(drives_h) > 1:
        text = f"{len(drives_h)} drives under one name, told apart by their power-on hours"
        remarks.append(Remark(f"{name}: {text}", doubt=True))
    logs = []
    for hours, which in drives_h.items():
        own = drive
        if hours:
            serial = f"{drive.identity.get('serial', 'no serial')}, {hours}"
            own = replace(drive, identity=drive.identity | {"serial": serial})
        part = [taken[index] for index in which.tolist()]
        found = _logs(readings, part, replace(times, t_s=times.t_s[which]), own, is_known=is_known)
        for number, log in enumerate(found, 1):
            words = ("" if is_alone else device, hours, f"run {number}" if len(found) > 1 else "")
            label = " ".join(word for word in words if word)
            logs.append(replace(log, label=label, remarks=(*remarks, *log.remarks)))
    return logs


def _told_apart(
    readings: Readings, taken: list[Reading], times: Times, *, is_dated: bool
) -> dict[str, NDArray[np.intp]]:
    """Return the places of each drive's readings, by its power-on hours, of several under one name.

    Hours never go back, nor on by more than the time between readings. Raises UsageError where
    counters go back and forth, and no hours tell whose they are.
    """
    every = np.arange(len(taken))
    hours = _column(taken, "power_on_h")
    falls = int(np.count_nonzero(np.diff(hours) < 0))
    if np.isfinite(hours).all() and (is_dated or 0 < falls < len(taken) - 1):
        most_h = _HOURS_APART + (float(np.ptp(times.t_s)) / 3600.0 if is_dated else 0.0)
        ordered = np.sort(hours)
        firsts = ordered[np.diff(ordered, prepend=-math.inf) > most_h]
        if len(firsts) > 1:
            whose = np.searchsorted(firsts, hours, side="right")
            return {
                amount_text(first, "h"): every[whose == number]
                for number, first in enumerate(firsts, 1)
            }
    for name in COUNTED:
        moved = np.diff(_column(taken, name))
        falls, rises = int(np.count_nonzero(moved < 0)), int(np.count_nonzero(moved > 0))
        if falls >= _OFTEN_BACK * len(taken) > 1 and rises > 1:
            raise readings.source.error(
                f"several drives in one file: its counters go back {falls} times and nothing "
                "tells whose they are: keep a file for each drive"
            )
    return {"": every}


# --- times ---


def _times(readings: Readings, taken: list[Reading], remarks: list[Remark]) -> tuple[Times, bool]:
    """Return the times of readings, and whether they were told."""

    def doubt(text: str) -> None:
        remarks.append(Remark(f"{readings.source.name}: {text}", True, ("time",)))

    words = [reading.stamp for reading in taken]
    readings.options.used.add("interval_s")
    given_s = stated_interval(readings.source, readings.options) or readings.watch_s
    if any(words):
        times = read_times(words)
        if times.doubt:
            text = f"{readings.source.name}: {times.doubt}"
            remarks.append(Remark(text, True, times.touches))
        if np.isfinite(times.t_s).any():
            stamped = np.array([bool(word) for word in words])
            t_s, is_known = _all_times(times.t_s, stamped, given_s, doubt)
            return replace(times, t_s=t_s), is_known
    if given_s is None and len(taken) > 1:
        doubt(
            "its readings have no times: their order is known, not how far apart they are, and no "
            f"rates made of its counters {_HOW_FAR}"
        )
    t_s = np.arange(len(taken), dtype=float) * (given_s or 1.0)
    return Times(t_s, "none", None), given_s is not None


def _all_times(
    t_s: frames.Array,
    stamped: NDArray[np.bool_],
    given_s: float | None,
    doubt: Callable[[str], None],
) -> tuple[frames.Array, bool]:
    """Return the times of all readings, where some have none or all the same; whether known.

    A reading whose time cannot be read gets none.
    """
    places = np.flatnonzero(np.isfinite(t_s))
    index = np.arange(len(t_s), dtype=float)
    if len(t_s) > 1 and len(np.unique(t_s[places])) == 1:
        apart_s = given_s or 1.0
        how = (
            f"taken as {amount_text(given_s, 's')} apart"
            if given_s
            else "no rates made of its counters"
        )
        doubt(f"its {len(t_s)} readings all have the same time: {how} {_HOW_FAR}")
        return t_s[places[0]] + (index - places[0]) * apart_s, given_s is not None
    lacking = ~stamped & ~np.isfinite(t_s)
    if not lacking.any():
        return t_s, True
    # a clock that goes back begins another run: it is not evened out over that
    usual_s = max(float(np.median(np.diff(t_s[places]) / np.diff(places))), 0.0)
    evened = np.interp(index, places, t_s[places])
    evened += np.minimum(index - places[0], 0.0) * usual_s
    evened += np.maximum(index - places[-1], 0.0) * usual_s
    doubt(
        f"{int(lacking.sum())} of {len(t_s)} readings have no time: they are spread evenly "
        "between those that do"
    )
    return np.where(lacking, evened, t_s), True


def _evenly(t_s: frames.Array) -> frames.Array:
    """Return times whose fractions were cut off, spread as a steady loop would have had them.

    They stay as they are where they have fractions, are far apart, or follow no steady beat; but
    several within one second, or one minute where no seconds are told, are spread over it.
    """
    if len(t_s) < 3 or np.any(t_s != np.floor(t_s)):
        return t_s
    steps = np.diff(t_s)
    if float(np.median(steps)) >= _COARSE_S or (steps[0] > 0 and np.all(steps == steps[0])):
        return t_s
    index = np.arange(len(t_s), dtype=float)
    beat = (t_s[-1] - t_s[0]) / (len(t_s) - 1)
    if beat <= 0:
        return t_s
    off = t_s - t_s[0] - beat * index
    # a clock without seconds tells the minute of several readings
    unit_s = 60.0 if np.all((t_s - t_s[0]) % 60.0 == 0) else 1.0
    if float(off.max() - off.min()) <= 1.5 * unit_s:
        return np.asarray(t_s[0] + beat * index)
    return frames.spread(t_s, unit_s)


# --- logs ---


def _logs(
    readings: Readings, taken: list[Reading], times: Times, drive: ToldDrive, *, is_known: bool
) -> list[Log]:
    """Return a log for each run of one drive's readings: a clock that goes back begins another."""
    source, first = readings.source.name, float(times.t_s[0])
    marks = np.flatnonzero(np.diff(times.t_s) < -1.0) + 1
    if len(marks) >= MAX_RUNS:
        raise readings.source.error(f"has a clock that goes back {len(marks)} times")
    t_s = np.concatenate([_evenly(run) for run in np.split(times.t_s - first, marks)])
    evened = not np.array_equal(t_s, times.t_s - first)
    columns: dict[str, frames.Array] = {}
    for name in dict.fromkeys(name for reading in taken for name in reading.values):
        if name in (*COUNTED, *HEALTH):
            continue
        columns[name] = _column(taken, name)
        if name.startswith("temp_c.sensor") and not np.nan_to_num(columns[name]).any():
            del columns[name]  # old versions print 0 C for what does not exist
    airflow, drive_c = (columns.get(f"temp_c.{name}", ()) for name in ("airflow", "drive"))
    if np.array_equal(airflow, drive_c, equal_nan=True):
        columns.pop("temp_c.airflow", None)  # the same sensor under a second number
    rows = runs.Rows(
        Times(t_s, times.clock, None if (at := times.start_unix_s) is None else at + first),
        columns,
        totals={name: _column(taken, name) for name in COUNTED if is_known},
        unit_mb=readings.unit_mb,
        marks=marks.tolist(),
        drive=drive.identity,
    )
    last = {name: value for reading in taken for name, value in reading.values.items()}
    health = {name: int(last[name]) for name in HEALTH if name in last}
    if drive.counts is not None:
        health["counts"] = int(drive.counts)
    logs = []
    for log in runs.logs_of(readings.name, source, [rows]):
        own = [name for name in log.samples.columns if name.startswith(("temp_c.", "throttle_"))]
        sensor = SensorMeta(
            name=readings.name,
            source=source,
            columns=own,
            interval_s=float(grid.covered_s(log.samples["t_s"].to_numpy())[0]),
            thresholds=drive.thresholds,
            details=health,
        )
        if evened:
            text = "its times are whole seconds: readings are spread evenly between them"
            log = log.with_remarks(Remark(f"{source}: {text}"))
        if readings.about_counters and log.has_rates:
            text = f"{source}: {readings.about_counters}"
            log = log.with_remarks(Remark(text, True, ("unit",)))
        logs.append(
            replace(
                log,
                tools=dict(readings.tools),
                sensors=(sensor,) if own or sensor.details else (),
                is_in_order_only=log.samples.height > 1 and not is_known,
            )
        )
    return logs


def _column(taken: Sequence[Reading], name: str) -> frames.Array:
    return np.array([reading.values.get(name, math.nan) for reading in taken], dtype=float)


def _told_of(readings: Readings, device: str, *, is_alone: bool) -> ToldDrive:
    """Return what is known of a drive, of its namespaces and of what it is one of.

    `is_alone`: whether there is no other drive, so that what was told of none is its own too.
    """
    merged = ToldDrive()
    node = node_of(device)
    parts = [name for name in readings.drives if node is not None and node_of(name) == node]
    names = dict.fromkeys([device, *parts, *([""] if is_alone else [])])
    for name in reversed(names):
        merged.add(readings.drives.get(name, ToldDrive()))
    if device and str(merged.identity.get("serial")) not in device:
        merged.identity["path"] = device
    return merged
