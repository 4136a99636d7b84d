"""Logs made of a drive's readings: whose they are, when they were, where a run ends."""

import math
import re
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer.frames import Array, build, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Remark
from heatsoak.importer.readings.rates import counter_rates, evenly
from heatsoak.importer.readings.taking import Drive, Reading, Taking
from heatsoak.importer.source import MOST_RUNS
from heatsoak.importer.timestamps import read_times
from heatsoak.protocol import Observed
from heatsoak.recording import SensorMeta


class Readings(Taking):
    """Takes what a file says, and makes logs of it."""

    def history(
        self,
        column: str,
        values: list[float],
        interval_s: float,
        *,
        begin: str,
        end_unix_s: float | None,
    ) -> list[Log]:
        """Return the log of what a drive itself has written down at regular intervals.

        `begin` is the time of the first, as it is written, and `end_unix_s` that of the last,
        where one of them is known.
        """
        self.end()
        times = read_times([begin]) if begin else None
        clock: Clock = "none"
        zero = None
        if end_unix_s is not None:
            clock, zero = "utc", end_unix_s - interval_s * (len(values) - 1)
        elif times is not None and times.begin_unix_s is not None:
            clock, zero = times.clock, times.begin_unix_s
        self.remark("the series is the drive's own history of its temperature", doubt=False)
        device = self.all[-1].device if self.all else ""
        self.give(device)
        self.all = [Reading(device=device, values={column: value}) for value in values]
        kept = [index for index, value in enumerate(values) if math.isfinite(value)]
        return [
            self._log(
                [self.all[index] for index in kept],
                np.array(kept, dtype=float) * interval_s,
                label="",
                clock=clock,
                begin=zero,
                known=True,
                remarks=list(self.remarks.values()),
            )
        ]

    def finish(self, after: str = "") -> list[Log]:
        """Return the logs; `after` is the time that stands behind the last reading."""
        self.end()
        readings = self.all
        if not readings:
            raise self.source.error("holds no reading of a drive's temperature or counters")
        self.give(readings[-1].device)
        trailing = self.stamp or after
        if len(readings) > 1 and not readings[0].stamp and (trailing or readings[1].stamp):
            # the script told the time behind each reading, not before it
            for here, following in pairwise(readings):
                here.stamp = following.stamp
            readings[-1].stamp = trailing
        named = {reading.device for reading in readings} - {""}
        if len(named) == 1:
            (name,) = named
            for reading in readings:
                reading.device = name
        if len(named) > 1:
            _share_stamps(readings)
        by_device: dict[str, list[Reading]] = {}
        for reading in readings:
            by_device.setdefault(reading.device, []).append(reading)
        if len(by_device) > MOST_RUNS:
            raise self.source.error(f"names {len(by_device)} drives: no machine has so many")
        logs: list[Log] = []
        for device in self._wanted(list(by_device)):
            logs += self._runs(device, by_device[device], several=len(by_device) > 1)
        return logs

    def _wanted(self, devices: list[str]) -> list[str]:
        name = self.options.device
        if name is None or devices == [""]:
            return devices
        short = name.removeprefix("/dev/")
        for device in devices:
            if short and short in (device, device.removeprefix("/dev/")):
                return [device]
        near = [device for device in devices if device.removeprefix("/dev/").startswith(short)]
        if short and len(near) == 1:
            return near
        raise self.source.error(f"tells nothing of {name}, but of {', '.join(devices)}")

    def _runs(self, device: str, readings: list[Reading], several: bool) -> list[Log]:
        remarks = list(self.remarks.values())
        times, clock, begin, known = self._times(readings, remarks)
        kept = np.flatnonzero(np.isfinite(times))
        if len(kept) < len(readings):
            lost = len(readings) - len(kept)
            text = f"{lost} of {len(readings)} readings have no time that can be read: left out"
            remarks.append(Remark(f"{self.source.name}: {text}", doubt=True))
        readings, times = [readings[index] for index in kept], times[kept]
        runs = run_slices(times, least_jump_s=1.0)
        if len(runs) > MOST_RUNS:
            raise self.source.error(f"has a clock that goes back {len(runs) - 1} times")
        logs = []
        for index, run in enumerate(runs, 1):
            words = [device if several else "", f"run {index}" if len(runs) > 1 else ""]
            logs.append(
                self._log(
                    readings[run],
                    times[run],
                    label=" ".join(word for word in words if word),
                    clock=clock,
                    begin=begin,
                    known=known,
                    remarks=list(remarks),
                )
            )
        return logs

    def _times(
        self, readings: list[Reading], remarks: list[Remark]
    ) -> tuple[Array, Clock, float | None, bool]:
        """Times, their clock, its time at 0, and whether they were told at all."""
        told = np.array([math.nan if r.unix_s is None else r.unix_s for r in readings], dtype=float)
        words = [reading.stamp for reading in readings]
        given = self._interval_s()
        if np.isfinite(told).any():
            t_s, known = self._all_times(told, told == told, given, remarks)
            return t_s, "utc", 0.0, known
        if any(words):
            times = read_times(words)
            if times.doubt:
                remarks.append(Remark(f"{self.source.name}: {times.doubt}", doubt=True))
            if np.isfinite(times.t_s).any():
                stamped = np.array([bool(word) for word in words])
                t_s, known = self._all_times(times.t_s, stamped, given, remarks)
                return t_s, times.clock, times.begin_unix_s, known
        if given is None and len(readings) > 1:
            text = (
                "its readings have no times: taken as 1 s apart, and no rates made of its counters "
                "(--map interval_s=SECONDS says how far)"
            )
            remarks.append(Remark(f"{self.source.name}: {text}", doubt=True))
        times_s = np.arange(len(readings), dtype=float) * (given or 1.0)
        return times_s, "none", None, given is not None

    def _all_times(
        self, t_s: Array, stamped: NDArray[np.bool_], given: float | None, remarks: list[Remark]
    ) -> tuple[Array, bool]:
        """The times of all readings, where some have none or all the same; whether they are known.

        A reading whose time is told and cannot be read keeps none.
        """
        places = np.flatnonzero(np.isfinite(t_s))
        index = np.arange(len(t_s), dtype=float)
        if len(t_s) > 1 and len(np.unique(t_s[places])) == 1:
            begin_s = t_s[places[0]] - places[0] * (given or 1.0)
            how = f"{given:g} s apart" if given else "1 s apart, and no rates made of its counters"
            text = (
                f"its {len(t_s)} readings tell a single time: taken as {how} "
                "(--map interval_s=SECONDS says how far)"
            )
            remarks.append(Remark(f"{self.source.name}: {text}", doubt=True))
            return begin_s + index * (given or 1.0), given is not None
        lacking = ~stamped & ~np.isfinite(t_s)
        if not lacking.any():
            return t_s, True
        # a clock that goes back begins another run: it is not evened out over that
        usual_s = max(float(np.median(np.diff(t_s[places]) / np.diff(places))), 0.0)
        evened = np.interp(index, places, t_s[places])
        evened += np.minimum(index - places[0], 0.0) * usual_s
        evened += np.maximum(index - places[-1], 0.0) * usual_s
        text = (
            f"{int(lacking.sum())} of {len(t_s)} readings tell no time: they are spread evenly "
            "between those that do"
        )
        remarks.append(Remark(f"{self.source.name}: {text}", doubt=True))
        return np.where(lacking, evened, t_s), True

    def _interval_s(self) -> float | None:
        text = self.options.mapping.get("interval_s")
        if text is None:
            return self.watch_s
        try:
            seconds = float(text)
        except ValueError:
            seconds = math.nan
        if not 0 < seconds < 1e6:
            raise self.source.error(f"interval_s: {text!r} is no number of seconds")
        return seconds

    def _log(
        self,
        readings: list[Reading],
        times: Array,
        *,
        label: str,
        clock: Clock,
        begin: float | None,
        known: bool,
        remarks: list[Remark],
    ) -> Log:
        def say(text: str, doubt: bool = False) -> None:
            remarks.append(Remark(f"{self.source.name}: {text}", doubt))

        order = np.argsort(times, kind="stable")  # a clock that was set may go back a little
        readings, times = [readings[index] for index in order], times[order]
        first = float(times[0])
        t_s = times - first
        t_s, evened = evenly(t_s)
        if evened:
            say("its times are whole seconds: readings are spread evenly between them")
        columns: dict[str, Array] = {"t_s": t_s, "interval_s": intervals(t_s)}
        for name in dict.fromkeys(name for reading in readings for name in reading.values):
            columns[name] = _column([reading.values for reading in readings], name)
            if name.startswith("temp_c.sensor") and not np.nan_to_num(columns[name]).any():
                del columns[name]  # old versions print 0 C for what is not there
        if np.array_equal(
            columns.get("temp_c.airflow", ()), columns.get("temp_c.drive", ()), equal_nan=True
        ):
            columns.pop("temp_c.airflow", None)  # the same sensor under a second number
        steps: tuple[Observed, ...] = ()
        counters = {
            name: _column([reading.counters for reading in readings], name)
            for name in ("read_bytes", "write_bytes", "read_ios", "write_ios")
        }
        if known and len(t_s) > 1 and any(np.isfinite(c).any() for c in counters.values()):
            rates, said = counter_rates(t_s, counters, self.unit_bytes)
            for text, doubt in said:
                say(text, doubt)
            columns |= rates
            if len(rates) > 1:
                if self.about_counters:
                    say(self.about_counters, doubt=True)
                steps = (_observed(counters),)
        device = readings[0].device
        drive = self._drive(device)
        temperatures = [name for name in columns if name.startswith("temp_c.")]
        own = [*temperatures, *(name for name in columns if name.startswith("throttle_"))]
        spacing = float(columns["interval_s"][0]) if len(t_s) else 0.0
        sensors = (
            (
                SensorMeta(
                    name=self.name,
                    source=self.source.name,
                    columns=own,
                    interval_s=spacing,
                    thresholds=drive.thresholds,
                ),
            )
            if own
            else ()
        )
        return Log(
            format=self.name,
            source=self.source.name,
            samples=build(columns),
            clock=clock,
            begin_unix_s=None if begin is None else begin + first,
            steps=steps,
            label=label,
            drive=drive.identity,
            tools=dict(self.tools),
            sensors=sensors,
            remarks=tuple(remarks),
        )

    def _drive(self, device: str) -> Drive:
        """What is known of a drive, whichever of its names it was told under."""
        merged = Drive({"path": device} if device.startswith("/dev/") else {})
        short = device.removeprefix("/dev/")
        same = {*self._names.get(short, ()), *self._names.get(_whole_of(short) or short, ())}
        same |= {name for name in self._parts.get(short, ()) if short}
        if self._is_alone:
            same.update(self._names.get("", ()))
        for name in sorted(same, key=self._order.__getitem__):
            drive = self.drives[name]
            merged.identity = {**drive.identity, **merged.identity}
            merged.thresholds |= drive.thresholds
        return merged

    @cached_property
    def _is_alone(self) -> bool:
        return len({reading.device for reading in self.all}) == 1

    @cached_property
    def _order(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.drives)}

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        """The names of the drives, by what they are without their directory."""
        return _listed((name.removeprefix("/dev/"), name) for name in self.drives)

    @cached_property
    def _parts(self) -> dict[str, list[str]]:
        """The names of namespaces, by the drive that they are of."""
        shorts = ((name.removeprefix("/dev/"), name) for name in self.drives)
        return _listed((whole, name) for short, name in shorts if (whole := _whole_of(short)))


def _listed(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for key, name in pairs:
        found.setdefault(key, []).append(name)
    return found


def _share_stamps(readings: list[Reading]) -> None:
    """Give drives that were read one behind the other the time that stands before the first."""
    stamp, seen = "", set[str]()
    for reading in readings:
        if reading.stamp:
            stamp, seen = reading.stamp, set()
        elif reading.device not in seen:
            reading.stamp = stamp
        seen.add(reading.device)


def _whole_of(name: str) -> str | None:
    """The drive that a namespace is of: `nvme0` of `nvme0n1`."""
    match = re.fullmatch(r"(.+)n\d+", name)
    return match.group(1) if match is not None else None


def _column(rows: list[dict[str, float]], name: str) -> Array:
    return np.array([row.get(name, math.nan) for row in rows], dtype=float)


def _observed(counters: dict[str, Array]) -> Observed:
    def moved(*names: str) -> bool:
        known = [counters[name] for name in names if np.isfinite(counters[name]).sum() > 1]
        return not known or any(np.nanmax(values) > np.nanmin(values) for values in known)

    reads, writes = moved("read_bytes", "read_ios"), moved("write_bytes", "write_ios")
    if not reads and not writes:
        reads = writes = True
    return Observed(name="load", reads=reads, writes=writes)
