"""Logs made of a drive's readings: whose they are, when they were, rates, where a run ends."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer.counter_rates import rates_of
from heatsoak.importer.frames import Array, build, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Remark
from heatsoak.importer.readings import History, Reading, Readings, ToldDrive
from heatsoak.importer.runs import is_in_no_order
from heatsoak.importer.source import MAX_RUNS
from heatsoak.importer.timestamps import read_times
from heatsoak.protocol import Observed
from heatsoak.recording import SensorMeta, Touched

#: Readings apart by this many whole seconds or more need no evening out.
_COARSE_S = 5.0
#: Counters of readings, by the columns of their rates.
_COUNTED = ("read_bw_mb_s", "write_bw_mb_s", "read_iops", "write_iops")
#: Power-on hours are whole ones, and a clock that is set may be off by one.
_HOURS_APART = 2.0
#: A counter that falls in so many of its readings is not one drive's.
_OFTEN_BACK = 0.25
_HOW_FAR = "(--map interval_s=SECONDS says how far)"


def logs_of_readings(readings: Readings, after: str = "") -> list[Log]:
    """Return a log for each drive, and for each of its runs.

    `after` is the time that stands behind the last reading. Raises UsageError where the file has
    no reading, or none of the drive that is asked for.
    """
    readings.end()
    taken = readings.all
    if not taken:
        raise readings.source.error("holds no reading of a drive's temperature or counters")
    readings.ascribe(taken[-1].device)
    trailing = readings.stamp or after
    if len(taken) > 1 and not taken[0].stamp and (trailing or taken[1].stamp):
        # the script told the time behind each reading, not before it
        for here, following in pairwise(taken):
            here.stamp = following.stamp
        taken[-1].stamp = trailing
    named = {reading.device for reading in taken} - {""}
    if len(named) == 1:
        for reading in taken:
            reading.device = next(iter(named))
    if len(named) > 1:
        _share_stamps(taken)
    by_device: dict[str, list[Reading]] = {}
    for reading in taken:
        by_device.setdefault(reading.device, []).append(reading)
    if len(by_device) > MAX_RUNS:
        raise readings.source.error(f"names {len(by_device)} drives: no machine has that many")
    logs: list[Log] = []
    drives = _Drives(readings, is_alone=len(by_device) == 1)
    for device in _wanted(readings, list(by_device)):
        logs += _runs(readings, drives, device, by_device[device])
    return logs


def history_log(readings: Readings, history: History) -> Log:
    """Return the log of what a drive itself has written down at regular intervals."""
    readings.end()
    device = readings.all[-1].device if readings.all else ""
    readings.ascribe(device)
    readings.remark("the series is the drive's own history of its temperature")
    clock: Clock = "none"
    start_unix_s = None
    interval_s, values = history.interval_s, history.celsius
    if history.end_unix_s is not None:
        clock, start_unix_s = "utc", history.end_unix_s - interval_s * (len(values) - 1)
    elif history.begin and (times := read_times([history.begin])).start_unix_s is not None:
        clock, start_unix_s = times.clock, times.start_unix_s
    kept = [index for index, value in enumerate(values) if math.isfinite(value)]
    return _log(
        readings,
        _Drives(readings, is_alone=True),
        [Reading(device=device, values={"temp_c.drive": values[index]}) for index in kept],
        _Times(np.array(kept, dtype=float) * interval_s, clock, start_unix_s, is_known=True),
        label="",
        remarks=list(readings.remarks.values()),
    )


def _wanted(readings: Readings, devices: list[str]) -> list[str]:
    """Return the drives whose logs are asked for; raises UsageError where none of them is."""
    name = readings.options.device
    if name is None or devices == [""]:
        return devices
    short = name.removeprefix("/dev/")
    for device in devices:
        if short and short in (device, device.removeprefix("/dev/")):
            readings.options.used.add("device")
            return [device]
    near = [device for device in devices if device.removeprefix("/dev/").startswith(short)]
    if short and len(near) == 1:
        readings.options.used.add("device")
        return near
    raise readings.source.error(f"has nothing on {name}, only on {', '.join(devices)}")


def _share_stamps(readings: list[Reading]) -> None:
    """Give drives that were read one behind the other the time that stands before the first."""
    stamp, seen = "", set[str]()
    for reading in readings:
        if reading.stamp:
            stamp, seen = reading.stamp, set()
        elif reading.device not in seen:
            reading.stamp = stamp
        seen.add(reading.device)


def _runs(readings: Readings, drives: "_Drives", device: str, taken: list[Reading]) -> list[Log]:
    source = readings.source
    remarks = list(readings.remarks.values())
    times = _times(readings, taken, remarks)
    kept = np.flatnonzero(np.isfinite(times.t_s))
    if len(kept) < len(taken):
        lost = len(taken) - len(kept)
        text = f"{lost} of {len(taken)} readings have no time that can be read: left out"
        remarks.append(Remark(f"{source.name}: {text}", doubt=True))
    if is_in_no_order(times.t_s[kept]):
        text = "its readings were not in order of time; they were sorted"
        remarks.append(Remark(f"{source.name}: {text}"))
        kept = kept[np.argsort(times.t_s[kept], kind="stable")]
    taken, t_s = [taken[index] for index in kept], times.t_s[kept]
    drives_h = _told_apart(readings, taken, t_s, times)
    logs = []
    for hours, which in drives_h.items():
        own_t_s = t_s[which]
        runs = run_slices(own_t_s, min_jump_s=1.0)
        if len(runs) > MAX_RUNS:
            raise source.error(f"has a clock that goes back {len(runs) - 1} times")
        label = " ".join(["" if drives.is_alone else device, hours])
        logs += [
            _log(
                readings,
                drives,
                [taken[index] for index in which[run].tolist()],
                _Times(own_t_s[run], times.clock, times.start_unix_s, times.is_known),
                hours=hours,
                label=f"{label} {f'run {index}' * (len(runs) > 1)}".strip(),
                remarks=list(remarks),
            )
            for index, run in enumerate(runs, 1)
        ]
    if len(drives_h) > 1:
        text = f"{len(drives_h)} drives under one name, told apart by their power-on hours"
        logs = [log.with_remarks(Remark(f"{source.name}: {text}", doubt=True)) for log in logs]
    return logs


def _told_apart(
    readings: Readings, taken: list[Reading], t_s: Array, times: "_Times"
) -> dict[str, NDArray[np.intp]]:
    """Return the places of each drive's readings, by its power-on hours, of several under one name.

    Hours never go back, nor on by more than the time between readings. Raises UsageError where
    counters go back and forth, and no hours tell whose they are.
    """
    every = np.arange(len(taken))
    hours = _column([reading.health for reading in taken], "power_on_h")
    falls = int(np.count_nonzero(np.diff(hours) < 0))
    is_dated = times.is_known and times.start_unix_s is not None
    if np.isfinite(hours).all() and (is_dated or 0 < falls < len(taken) - 1):
        most_h = _HOURS_APART + (float(np.ptp(t_s)) / 3600.0 if is_dated else 0.0)
        ordered = np.sort(hours)
        firsts = ordered[np.diff(ordered, prepend=-math.inf) > most_h]
        if len(firsts) > 1:
            whose = np.searchsorted(firsts, hours, side="right")
            return {
                f"{first:,.0f} h": every[whose == number] for number, first in enumerate(firsts, 1)
            }
    for name in _COUNTED:
        moved = np.diff(_column([reading.counters for reading in taken], name))
        falls, rises = int(np.count_nonzero(moved < 0)), int(np.count_nonzero(moved > 0))
        if falls >= _OFTEN_BACK * len(taken) > 1 and rises > 1:
            raise readings.source.error(
                f"several drives in one file: its counters go back {falls} times and nothing "
                "tells whose they are: keep a file for each drive"
            )
    return {"": every}


# --- times ---


@dataclass(frozen=True)
class _Times:
    """Times of readings, whose clock tells `start_unix_s` at 0; whether they were told at all."""

    t_s: Array
    clock: Clock
    start_unix_s: float | None
    is_known: bool


def _times(readings: Readings, taken: list[Reading], remarks: list[Remark]) -> _Times:
    def doubt(text: str) -> None:
        remarks.append(Remark(f"{readings.source.name}: {text}", True, ("time",)))

    words = [reading.stamp for reading in taken]
    given_s = _interval_s(readings)
    if any(words):
        times = read_times(words)
        if times.doubt:
            doubt(times.doubt)
        if np.isfinite(times.t_s).any():
            stamped = np.array([bool(word) for word in words])
            t_s, is_known = _all_times(times.t_s, stamped, given_s, doubt)
            return _Times(t_s, times.clock, times.start_unix_s, is_known)
    if given_s is None and len(taken) > 1:
        doubt(
            "its readings have no times: their order is known, not how far apart they are, and no "
            f"rates made of its counters {_HOW_FAR}"
        )
    t_s = np.arange(len(taken), dtype=float) * (given_s or 1.0)
    return _Times(t_s, "none", None, given_s is not None)


def _all_times(
    t_s: Array,
    stamped: NDArray[np.bool_],
    given_s: float | None,
    doubt: Callable[[str], None],
) -> tuple[Array, bool]:
    """Return the times of all readings, where some have none or all the same; whether known.

    A reading whose time cannot be read gets none.
    """
    places = np.flatnonzero(np.isfinite(t_s))
    index = np.arange(len(t_s), dtype=float)
    if len(t_s) > 1 and len(np.unique(t_s[places])) == 1:
        apart_s = given_s or 1.0
        how = f"taken as {given_s:g} s apart" if given_s else "no rates made of its counters"
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


def _interval_s(readings: Readings) -> float | None:
    """Return how far apart readings are, as the user or `watch` says."""
    text = readings.options.mapping.get("interval_s")
    readings.options.used.add("interval_s")
    if text is None:
        return readings.watch_s
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < 1e6:
        raise readings.source.error(f"interval_s: {text!r} is not a number of seconds")
    return seconds


def _evenly(t_s: Array) -> tuple[Array, bool]:
    """Return times whose fractions were cut off, spread as a steady loop would have had them.

    They stay as they are where they have fractions, are far apart, or follow no steady beat; but
    several within one second, or one minute where no seconds are told, are spread over it.
    """
    if len(t_s) < 3 or np.any(t_s != np.floor(t_s)):
        return t_s, False
    steps = np.diff(t_s)
    if float(np.median(steps)) >= _COARSE_S or (steps[0] > 0 and np.all(steps == steps[0])):
        return t_s, False
    index = np.arange(len(t_s), dtype=float)
    beat = (t_s[-1] - t_s[0]) / (len(t_s) - 1)
    if beat <= 0:
        return t_s, False
    off = t_s - beat * index
    # a clock without seconds tells the minute of several readings
    unit_s = 60.0 if np.all(t_s % 60.0 == 0) else 1.0
    if float(off.max() - off.min()) <= 1.5 * unit_s:
        return beat * index, True
    if np.all(steps > 0):
        return t_s, False
    seconds, inverse, counts = np.unique(t_s, return_inverse=True, return_counts=True)
    firsts = np.searchsorted(t_s, seconds)
    return t_s + unit_s * (index - firsts[inverse]) / counts[inverse], True


# --- logs ---


def _log(
    readings: Readings,
    drives: "_Drives",
    taken: list[Reading],
    times: _Times,
    *,
    hours: str = "",
    label: str,
    remarks: list[Remark],
) -> Log:
    """Return the log of one run's readings, in the order of their times.

    `hours` tell the drive from others of its name.
    """

    def say(text: str, doubt: bool = False, touches: tuple[Touched, ...] = ()) -> None:
        remarks.append(Remark(f"{readings.source.name}: {text}", doubt, touches))

    order = np.argsort(times.t_s, kind="stable")  # a clock that was set may go back a little
    taken, first = [taken[index] for index in order], float(times.t_s[order[0]])
    t_s, evened = _evenly(times.t_s[order] - first)
    if evened:
        say("its times are whole seconds: readings are spread evenly between them")
    columns: dict[str, Array] = {"t_s": t_s, "interval_s": intervals(t_s)}
    for name in dict.fromkeys(name for reading in taken for name in reading.values):
        columns[name] = _column([reading.values for reading in taken], name)
        if name.startswith("temp_c.sensor") and not np.nan_to_num(columns[name]).any():
            del columns[name]  # old versions print 0 C for what does not exist
    airflow, drive_c = (columns.get(f"temp_c.{name}", ()) for name in ("airflow", "drive"))
    if np.array_equal(airflow, drive_c, equal_nan=True):
        columns.pop("temp_c.airflow", None)  # the same sensor under a second number
    steps: tuple[Observed, ...] = ()
    counters = {name: _column([reading.counters for reading in taken], name) for name in _COUNTED}
    if times.is_known and len(t_s) > 1:
        rates, said = rates_of(counters, t_s, readings.unit_mb)
        for text, doubt, touches in said:
            say(text, doubt, touches)
        columns |= rates
        if rates:
            if readings.about_counters:
                say(readings.about_counters, True, ("unit",))
            steps = (_observed(counters),)
    drive = drives.named(taken[0].device)
    identity = drive.identity
    if hours:
        identity = identity | {"serial": f"{identity.get('serial', 'no serial')}, {hours}"}
    own = [name for name in columns if name.startswith("temp_c.")]
    own += [name for name in columns if name.startswith("throttle_")]
    sensor = SensorMeta(
        name=readings.name,
        source=readings.source.name,
        columns=own,
        interval_s=float(columns["interval_s"][0]),
        thresholds=drive.thresholds,
        details={name: value for reading in taken for name, value in reading.health.items()},
    )
    return Log(
        format=readings.name,
        source=readings.source.name,
        samples=build(columns),
        clock=times.clock,
        start_unix_s=None if times.start_unix_s is None else times.start_unix_s + first,
        steps=steps,
        label=label,
        drive=identity,
        tools=dict(readings.tools),
        sensors=(sensor,) if own else (),
        remarks=tuple(remarks),
        is_in_order_only=len(t_s) > 1 and not times.is_known,
    )


class _Drives:
    """What is known of the drives, whichever of its names one was told under."""

    def __init__(self, readings: Readings, *, is_alone: bool) -> None:
        """Look at the drives of `readings`; `is_alone` says whether all are of one."""
        self.is_alone = is_alone
        self._drives = readings.drives
        self._order = {name: number for number, name in enumerate(self._drives)}
        shorts = [(name.removeprefix("/dev/"), name) for name in self._drives]
        self._names = _listed(shorts)
        #: Names of namespaces, by the drive that they are of.
        self._parts = _listed((_whole_of(short) or "", name) for short, name in shorts)

    def named(self, device: str) -> ToldDrive:
        """Return what is known of a drive, of its namespaces and of what it is one of."""
        merged = ToldDrive({"path": device} if device.startswith("/dev/") else {})
        short = device.removeprefix("/dev/")
        same = {*self._names.get(short, ()), *self._names.get(_whole_of(short) or short, ())}
        same |= {*self._parts.get(short, ())} if short else set()
        if self.is_alone:
            same.update(self._names.get("", ()))
        for name in sorted(same, key=self._order.__getitem__):
            merged.identity = {**self._drives[name].identity, **merged.identity}
            merged.thresholds |= self._drives[name].thresholds
        return merged


def _listed(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return found


def _whole_of(name: str) -> str | None:
    """The drive that a namespace is of: `nvme0` of `nvme0n1`."""
    match = re.fullmatch(r"(.+)n\d+", name)
    return match.group(1) if match is not None else None


def _column(rows: Sequence[Mapping[str, float]], name: str) -> Array:
    return np.array([row.get(name, math.nan) for row in rows], dtype=float)


def _observed(counters: dict[str, Array]) -> Observed:
    def moved(*names: str) -> bool:
        known = [counters[name] for name in names if np.isfinite(counters[name]).sum() > 1]
        return not known or any(np.nanmax(values) > np.nanmin(values) for values in known)

    reads, writes = (moved(f"{way}_bw_mb_s", f"{way}_iops") for way in ("read", "write"))
    if not reads and not writes:
        reads = writes = True
    return Observed(name="load", reads=reads, writes=writes)
