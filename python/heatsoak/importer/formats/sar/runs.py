"""Runs and logs made of `sar`'s reports, cut at restarts and where there were none for long."""

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Reports
from heatsoak.importer.formats.sar.reports import ALL, Reader
from heatsoak.importer.frames import Array, intervals
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source

#: Samples further apart than so many intervals are two runs.
_LONGEST_GAP = 3.0


def logs_of_words(source: Source, reader: Reader, options: Options) -> list[Log]:
    """Return the logs of reports whose times are words."""
    known = list(dict.fromkeys([*reader.numbers, *reader.restarts]))
    stamps = [sysstat.stamp(word) for word in known]
    times = sysstat.read_stamps(stamps)
    at = dict(zip(known, times.t_s.tolist(), strict=True))
    t_s = np.asarray([at[word] for word in reader.numbers], dtype=float)
    restarts = np.asarray([at[word] for word in reader.restarts], dtype=float)
    remarks = [Remark(times.doubt, doubt=True)] if times.doubt else []
    return logs_of(source, reader, options, t_s, restarts, times.clock, times.begin_unix_s, remarks)


def logs_of(
    source: Source,
    reader: Reader,
    options: Options,
    t_s: Array,
    restarts: Array,
    clock: Clock,
    begin_unix_s: float | None,
    remarks: list[Remark],
) -> list[Log]:
    """Return the logs of reports numbered by their place in `t_s`."""
    if reader.bad:
        source.remark(f"{reader.bad} lines could not be read, the first is line {reader.first_bad}")
    together = reader.devices.rows.pop(ALL, None)
    if together is not None and not reader.devices.rows:
        reader.devices.rows[ALL] = together
        remarks.append(Remark("all devices of the host together (sar -b)", doubt=True))
    if not reader.devices.rows:
        if not any(name.startswith("temp_c.") for name in reader.shared):
            what = "only averages" if reader.averages and not reader.numbers else "no devices"
            raise source.error(f"holds {what}: 'sar -d' with an interval reports on devices")
        for number in reader.numbers.values():
            reader.devices.add(ALL, number, [])
    runs = _runs(reader, t_s, restarts, clock, begin_unix_s)
    if not runs:
        raise source.error("has no report whose time can be read")
    names, about = reader.devices.chosen(source, options, runs)
    remarks += about
    about_units = sysstat.unit_remark(tuple(reader.headers))
    if about_units:
        remarks.append(Remark(about_units))
    logs = reader.devices.logs(names, runs, format="sar", source=source)
    return [log.with_remarks(*remarks) for log in logs]


def _runs(
    reader: Reader, t_s: Array, restarts: Array, clock: Clock, begin_unix_s: float | None
) -> list[Reports]:
    """Cut the reports into runs: at restarts, and where there were none for a while."""
    order = np.argsort(t_s, kind="stable")
    order = order[np.isfinite(t_s[order])]
    if not len(order):
        return []
    at_s = t_s[order]
    stated_s = np.frombuffer(reader.lasted_s, dtype=float)[order]
    usual_s = intervals(at_s)
    cut = np.zeros(len(order), dtype=bool)
    if len(order) > 1:
        cut[1:] = np.diff(at_s) > _LONGEST_GAP * float(np.median(np.diff(at_s)))
    cut[
        np.searchsorted(at_s, restarts[np.isfinite(restarts)], side="right").clip(0, len(cut) - 1)
    ] = len(restarts) > 0
    cut[0] = True
    begins = np.flatnonzero(cut)
    runs = []
    for begin, end in zip(begins, [*begins[1:], len(order)], strict=True):
        part = slice(int(begin), int(end))
        times = sysstat.apart(at_s[part])
        lasted = intervals(times)
        stated = stated_s[part]
        lasted = np.where((stated > 0) & (stated < 1e6), stated, lasted)
        if end - begin == 1 and not lasted[0] > 0:
            lasted = usual_s[part]
        start = float(times[0] - lasted[0])
        numbers = order[part]
        runs.append(
            Reports(
                t_s=times - start,
                interval_s=lasted,
                numbers=numbers.tolist(),
                clock=clock,
                begin_unix_s=None if begin_unix_s is None else begin_unix_s + start,
                shared={
                    name: _by_number(values, numbers) for name, values in reader.shared.items()
                },
            )
        )
    return runs


def _by_number(values: dict[int, float], numbers: NDArray[np.intp]) -> Array:
    return np.asarray([values.get(number, np.nan) for number in numbers.tolist()], dtype=float)
