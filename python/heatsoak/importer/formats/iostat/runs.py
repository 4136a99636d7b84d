"""Runs and logs made of `iostat`'s reports: their times, or the interval where none are told."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from heatsoak.importer import sysstat
from heatsoak.importer.block_devices import Reports
from heatsoak.importer.formats.iostat.reports import Call, Reader, positive
from heatsoak.importer.frames import Array, intervals, run_slices
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.source import Source

#: A clock may be set back so far without that a new run begins.
_SET_BACK_S = 5.0


def logs_of(source: Source, reader: Reader, options: Options) -> list[Log]:
    """Return the logs of all that was taken."""
    calls = [call for call in reader.calls if call.stamps]
    looped = len(calls) > 2 and all(len(call.stamps) <= 2 for call in calls)
    runs: list[Reports] = []
    dropped = 0
    for together in [calls] if looped else [[call] for call in calls]:
        kept, n_dropped = _runs(source, reader, together, options)
        runs += kept
        dropped += n_dropped
    if not runs:
        raise source.error(
            "holds only averages since boot: 'iostat -xty 1' reports what happens meanwhile"
        )
    if reader.is_cut:
        runs[-1].is_cut = True
    names, remarks = reader.devices.chosen(source, options, runs)
    about_units = sysstat.unit_remark(tuple(reader.headers))
    if about_units:
        remarks.append(Remark(about_units))
    if any("_w+d" in header for header in reader.headers):
        remarks.append(Remark("its writes include discards (iostat -s)", doubt=True))
    if dropped:
        what = "first report" if dropped == 1 else "first report of each call"
        remarks.append(Remark(f"the {what} is the average since boot (no -y): left out"))
    logs = reader.devices.logs(names, runs, format="iostat", source=source)
    if not logs:
        raise source.error(f"has no report of {names[0]} but the average since boot")
    return [log.with_remarks(*remarks) for log in logs]


def _runs(
    source: Source, reader: Reader, calls: list[Call], options: Options
) -> tuple[list[Reports], int]:
    """Return the reports of calls that belong together, and how many averages were left out."""
    stamps: Sequence[str] = calls[0].stamps
    if len(calls) > 1:
        stamps = [stamp for call in calls for stamp in call.stamps]
    numbers = np.concatenate([call.first_number + np.arange(len(call.stamps)) for call in calls])
    cpu_pct = np.concatenate([np.frombuffer(call.cpu_pct, dtype=float) for call in calls])
    lengths_s = np.concatenate([np.frombuffer(call.lengths_s, dtype=float) for call in calls])
    of_call = np.repeat(np.arange(len(calls)), [len(call.stamps) for call in calls])
    boot = np.zeros(len(stamps), dtype=bool)
    usual_s = _usual(lengths_s)
    begin = 0
    for call in calls:
        boot[begin] = _is_since_boot(call, usual_s)
        begin += len(call.stamps)
    if len(calls) > 2 and all(len(call.stamps) == 1 for call in calls):
        boot[:] = False  # a loop around single reports: with -y, or nobody would have made it
        if _hardly_changes(reader, numbers):
            boot[:] = True
    kept = np.flatnonzero(~boot)
    if not len(kept):
        return [], int(boot.sum())
    remarks: list[Remark] = []
    clock: Clock = "none"
    begin_unix_s: float | None = None
    stated = options.mapping.get("interval_s")
    interval_s = positive(stated) if stated is not None else None
    if stated is not None and interval_s is None:
        raise source.error(f"interval_s={stated}: give the seconds between two reports")
    times = sysstat.read_stamps(stamps, calls[0].date) if any(stamps) else None
    if times is not None and np.isfinite(times.t_s).sum() > len(stamps) / 2:
        if times.doubt:
            remarks.append(Remark(times.doubt, doubt=True))
        all_s = times.t_s
        clock, begin_unix_s = times.clock, times.begin_unix_s
        unread = int(np.isnan(all_s[kept]).sum())
        if unread:
            source.remark(f"{unread} reports have no time that can be read: left out")
        kept = kept[np.isfinite(all_s[kept])]
        if not len(kept):
            raise source.error("has times in reports without devices alone: nothing can be placed")
    else:
        if interval_s is None and reader.interval_s is not None:
            interval_s = reader.interval_s
            remarks.append(Remark(f"interval of {interval_s:g} s: from the command line in it"))
        elif interval_s is None and usual_s is not None:
            interval_s = usual_s
            remarks.append(Remark(f"interval of {interval_s:g} s: from totals and their rates"))
        elif interval_s is None:
            interval_s = 1.0
            text = "has no times (iostat -t): taken as a report a second; --map interval_s=N if not"
            remarks.append(Remark(text, doubt=True))
        all_s = np.cumsum(~boot) * interval_s
    runs = []
    absent = _has_gaps(reader, numbers[kept])
    for part in run_slices(all_s[kept], _SET_BACK_S):
        taken = kept[part]
        t_s = sysstat.apart(np.maximum.accumulate(all_s[taken]))
        lasted_s = _lasted(t_s, taken, all_s, boot, of_call)
        if len(taken) == 1 and not lasted_s[0] > 0:
            lasted_s = np.full(1, interval_s or 1.0)
        start_s = float(t_s[0] - lasted_s[0])
        runs.append(
            Reports(
                t_s=t_s - start_s,
                interval_s=lasted_s,
                numbers=numbers[taken],
                clock=clock,
                begin_unix_s=None if begin_unix_s is None else begin_unix_s + start_s,
                shared={"cpu_pct": cpu_pct[taken]},
                absent_is_idle=absent,
                remarks=tuple(remarks),
            )
        )
    return runs, int(boot.sum())


def _is_since_boot(call: Call, usual_s: float | None) -> bool:
    if call.skipped_boot is not None:
        return not call.skipped_boot
    first_s = call.lengths_s[0]
    if usual_s is not None and first_s == first_s:
        return bool(first_s > 3 * usual_s) or len(call.stamps) == 1
    return True


def _usual(lengths_s: Array) -> float | None:
    """The interval that totals and rates tell, in whole seconds where it is so within 3 %."""
    known = lengths_s[1:][np.isfinite(lengths_s[1:])]
    if not len(known):
        return None
    usual = float(np.median(known))
    whole = round(usual) if usual < 1e6 else 0
    if whole < 1:
        return None
    return float(whole) if abs(usual - whole) <= 0.03 * whole else usual


def _hardly_changes(reader: Reader, numbers: NDArray[np.int64]) -> bool:
    """Whether single reports are averages since boot, which no minute changes by much."""
    for rows in reader.devices.rows.values():
        for name in ("read_bw_mb_s", "write_bw_mb_s", "bw_mb_s"):
            values = rows.values(name)
            if values is None or len(values) < len(numbers) or not values.max() > 0:
                continue
            with np.errstate(invalid="ignore", divide="ignore"):
                change = np.abs(np.diff(values)) / values[:-1]
            if not bool(np.all(change < 0.02)):
                return False
    return True


def _has_gaps(reader: Reader, numbers: NDArray[np.int64]) -> bool:
    """Whether some device is missing from some of these reports, as with -z."""
    for rows in reader.devices.rows.values():
        reports = np.frombuffer(rows.reports, dtype=np.int64)
        first, last = np.searchsorted(reports, [numbers[0], numbers[-1] + 1])
        if last - first < len(numbers):
            return True
    return False


def _lasted(
    t_s: Array,
    taken: NDArray[np.intp],
    all_s: Array,
    boot: NDArray[np.bool_],
    of_call: NDArray[np.intp],
) -> Array:
    """Return the seconds that each report is of: since the one before it in the same call."""
    lasted = intervals(t_s)
    for place, index in enumerate(taken.tolist()):
        if index and boot[index - 1] and of_call[index] == of_call[index - 1]:
            since = all_s[index] - all_s[index - 1]
            if since > 0:
                lasted[place] = since
    return lasted
