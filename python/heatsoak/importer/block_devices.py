"""Reports on the block devices of a host, as iostat, sar and dstat write them.

A reader splits its layout into values: of a device in a report, or of the host. It says when the
reports were (:class:`Reports`), and gets a log of each device that carried load, with what the
machine's other drives moved meanwhile.
"""

import re
from array import array
from bisect import bisect_left
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.importer import frames, recordings
from heatsoak.importer.log import Clock, Log, Options, Remark
from heatsoak.importer.runs import MIN_SHARE
from heatsoak.importer.source import Source
from heatsoak.importer.tables import DISK, unit_remark
from heatsoak.importer.tables.rows import wanted_drives
from heatsoak.protocol import Observed
from heatsoak.recording import grid
from heatsoak.recording.columns import schema_of
from heatsoak.words import listed, rate_text

#: A layer over other devices has no load of its own where theirs are this share of its bytes.
_SAME_BYTES = 0.8
#: An array has a load where it moves this share of its most; its course takes so many reports.
_LOADED, _LEAST_REPORTS = 0.1, 10
#: The most drives that are tested at once; the busiest are taken.
_MAX_DEVICES = 32
#: The most names that a remark lists.
_MAX_NAMED = 8
#: Discards of this much on average are a load of their own.
_DISCARDS_MB_S = 20.0

_MAJOR_MINOR = re.compile(r"dev(\d{1,4})-(\d{1,7})")
#: An NVMe drive's path under multipathing; the drive itself is listed too.
_HIDDEN_PATH = re.compile(r"nvme(\d+)c\d+n(\d+)")
_ARRAY = re.compile(r"md(?:_?\w{1,32})|dev9-\d{1,7}")
#: Majors of loop, md, and of what device-mapper is given.
_LAYER_MAJORS = frozenset((7, 9, *range(240, 255)))
_KERNEL_NAME = re.compile(r"[a-z]+[0-9a-z]*(?:/[a-z0-9]+)?|dm-\d+")
#: What udev names drives by, and where: by what they are, or by what is on them.
_LINKS = {
    "id": re.compile(r"(?:ata|nvme|scsi|sata|usb|wwn|mmc|virtio|ieee1394|dm|lvm|md)-\S*[-_.]\S+"),
    "uuid": re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
}


class DeviceRows:
    """Values of one device, or of the host: the number of each report, and a column a quantity.

    A value that a report does not have is NaN.
    """

    def __init__(self) -> None:
        self.reports = array("q")
        self.columns: dict[str, array[float]] = {}

    def add(self, report: int, values: Iterable[tuple[str, float]]) -> None:
        """Add values of a report; those of one report may come in several parts."""
        row = len(self.reports) - 1
        if row >= 0 and report < self.reports[-1]:
            row = bisect_left(self.reports, report)
        if row < 0 or self.reports[row] != report:
            self.reports.append(report)
            for column in self.columns.values():
                column.append(np.nan)
            row = len(self.reports) - 1
        for name, value in values:
            known = self.columns.get(name)
            if known is None:
                known = self.columns[name] = array("d", [np.nan]) * len(self.reports)
            known[row] = value

    @property
    def size_bytes(self) -> int:
        """Bytes of its values."""
        return 8 * len(self.reports) * (1 + len(self.columns))

    @cached_property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each row's report; no rows can be added afterwards."""
        return np.frombuffer(self.reports, dtype=np.int64)

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(self.numbers, kind="stable")

    def rows_of(self, reports: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Return the row of each report, and whether there is one (else the row is any)."""
        place = np.searchsorted(self.numbers, reports, sorter=self._order)
        rows = self._order[np.minimum(place, len(self._order) - 1)]
        return rows, self.numbers[rows] == reports

    @cached_property
    def is_idle(self) -> NDArray[np.bool_]:
        """Whether all that a row counts is 0."""
        counts = np.array([np.zeros(len(self.reports)), *self.columns.values()])
        return np.asarray(~np.nan_to_num(counts).any(axis=0))

    @cached_property
    def values(self) -> dict[str, frames.Array]:
        """Its columns; no rows can be added afterwards."""
        return {name: np.frombuffer(column, dtype=float) for name, column in self.columns.items()}


@dataclass(frozen=True)
class Reports:
    """Reports of one run, in order of time.

    Attributes:
        ends_s: the end of each report's interval, rising, in seconds of the clock.
        interval_s: how long each interval was.
        numbers: the reports' numbers in :class:`Devices`, in the same order.
        start_unix_s: the clock's time at 0 s; None with the clock ``none``.
        absent_is_idle: whether a device that is missing from a report did nothing.
        omits_idle: whether that is known.
        is_cut: whether devices may be missing from the last report for another reason.
    """

    ends_s: frames.Array
    interval_s: frames.Array
    numbers: Sequence[int] | NDArray[np.int64]
    clock: Clock = "none"
    start_unix_s: float | None = None
    absent_is_idle: bool = False
    omits_idle: bool = False
    is_cut: bool = False
    remarks: tuple[Remark, ...] = ()


class Devices:
    """What a log says of all devices, and of their host, report by report."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.rows: dict[str, DeviceRows] = {}
        #: Quantities that all devices share (`cpu_pct`, `temp_c.*`).
        self.host: dict[str, DeviceRows] = {}
        #: Sums of other devices in the same log: only taken where they are asked for.
        self.groups: set[str] = set()
        #: The columns' names in the log.
        self.headers: dict[str, None] = {}
        #: Whether rates are given as what was moved in a report's interval.
        self.are_totals = False
        #: Whether a name that the kernel does not give is device-mapper's.
        self.has_mapped = True

    def add(self, device: str, report: int, values: Iterable[tuple[str, float]]) -> None:
        """Add values of a device in a report."""
        rows = self.rows.get(device)
        if rows is None:
            rows = self.rows[device] = DeviceRows()
        before = rows.size_bytes
        rows.add(report, values)
        self._source.keep(rows.size_bytes - before)

    def share(self, column: str, report: int, value: float) -> None:
        """Add a value of the host in a report."""
        self.host.setdefault(column, DeviceRows()).add(report, [(column, value)])

    def logs(
        self, format: str, options: Options, runs: Sequence[Reports], *remarks: Remark
    ) -> list[Log]:
        """Return a log for each chosen device in each run that has rows of it.

        Those that carried load, busiest first, or the one that `options` names. Raises UsageError
        where that is not in the log.
        """
        names, drives, about = self._chosen(options, runs)
        if units := unit_remark(self.headers):
            about.append(Remark(units))
        logs: list[Log] = []
        for index, run in enumerate(runs):
            found: dict[str, Log] = {}
            for name in dict.fromkeys([*names, *drives]):
                words = [name] if len(names) > 1 else []
                words += [f"run {index + 1}"] if len(runs) > 1 else []
                log = self._log(format, name, run, ", ".join(words))
                if log is not None:
                    found[name] = log.with_remarks(*about, *remarks)
            taken = [found[name] for name in names if name in found]
            logs += with_other_drives(taken, [found[name] for name in drives if name in found])
        if not logs:
            raise self._source.error(f"has no report of {names[0]} but the average since boot")
        return logs

    def _chosen(
        self, options: Options, runs: Sequence[Reports]
    ) -> tuple[list[str], list[str], list[Remark]]:
        """The devices to take, busiest first, all drives that moved anything, and a remark.

        Whole devices that in `runs` carried at least 5 % of the busiest one's bytes are taken, and
        arrays that did not do what their drives did.
        """
        numbers = np.concatenate([np.asarray(run.numbers, dtype=np.int64) for run in runs])
        loads = {name: _load(rows, numbers) for name, rows in self.rows.items()}
        whole = [name for name in loads if name not in self.groups and not is_part(name, self.rows)]
        disks = dict.fromkeys(name for name in whole if not _is_layer(name))
        drives = [name for name in disks or whole if loads[name] > 0]
        if options.device is not None:
            known = [name for name in self.rows if name]
            paths = [self._path_of(name) for name in known]
            named = wanted_drives(self._source, options, known, paths)
            named = [name for name in named if not is_part(name, named)]
            return sorted(named, key=lambda name: -loads[name])[:_MAX_DEVICES], drives, []
        on_disks = sum(loads[name] for name in disks)
        kept = [
            name
            for name in whole
            if name in disks
            or loads[name] <= 0
            or on_disks < _SAME_BYTES * loads[name]
            or (is_array(name) and self._has_own_course(name, disks))
        ] or list(loads)
        kept.sort(key=lambda name: -loads[name])
        least = MIN_SHARE * loads[kept[0]]
        taken = [name for name in kept if loads[name] >= least and loads[name] > 0][:_MAX_DEVICES]
        if not taken:
            taken = kept[:1]
        rest = sorted((name for name in loads if name not in taken), key=lambda name: -loads[name])
        words = listed([name or "all drives together" for name in rest], _MAX_NAMED)
        text = (
            f"left out, with little load or none of their own: {words}; --device takes one of them"
        )
        return taken, drives, [Remark(text)] if rest else []

    def _has_own_course(self, array: str, disks: Iterable[str]) -> bool:
        """Whether at times its drives moved far more for each of its bytes than at others."""
        rows = self.rows[array]
        own = _moved(rows)
        on_disks = np.zeros(len(own))
        for name in disks:
            row, there = self.rows[name].rows_of(rows.numbers)
            on_disks += np.where(there, _moved(self.rows[name])[row], 0.0)
        loaded = own > _LOADED * np.max(own, initial=0.0)
        shares = own[loaded] / np.maximum(on_disks[loaded], own[loaded] * 1e-3)
        if len(shares) < _LEAST_REPORTS:
            return False
        low, high = np.percentile(shares, [10, 90])
        return bool(low < _SAME_BYTES * high)

    def _path_of(self, name: str) -> str:
        """A device's path: ``/dev/sda``, ``/dev/block/8:0`` of ``dev8-0``.

        Its name where its place is not known.
        """
        numbered = _MAJOR_MINOR.fullmatch(name)
        if numbered is not None:
            return f"/dev/block/{int(numbered.group(1))}:{int(numbered.group(2))}"
        for link, names in _LINKS.items():
            if names.fullmatch(name):
                return f"/dev/disk/by-{link}/{name}"
        if _KERNEL_NAME.fullmatch(name):
            return f"/dev/{name}"
        return f"/dev/mapper/{name}" if self.has_mapped and name[:1].isalpha() else name

    def _log(self, format: str, name: str, reports: Reports, label: str) -> Log | None:
        rows = self.rows[name]
        wanted = np.asarray(reports.numbers, dtype=np.int64)
        row, there = rows.rows_of(wanted)
        if not there.any():
            return None
        kept = there.copy()
        if reports.absent_is_idle:
            kept[: -1 if reports.is_cut else None] = True
        start_s = float(reports.ends_s[0] - reports.interval_s[0])
        columns: dict[str, Any] = {
            "t_s": (reports.ends_s - start_s)[kept],
            "interval_s": reports.interval_s[kept],
        }
        for column, shared in self.host.items():
            host_row, known = shared.rows_of(wanted)
            columns[column] = np.where(known, shared.values[column][host_row], np.nan)[kept]
        wrong = 0
        for column, values in rows.values.items():
            taken = values[row]
            if self.are_totals and not column.endswith("lat_us"):
                with np.errstate(divide="ignore", invalid="ignore"):
                    taken = taken / reports.interval_s
            is_lat = column.endswith("lat_us")
            with np.errstate(invalid="ignore"):
                is_wrong = (taken < 0) | np.isinf(taken)
                wrong += int((is_wrong & there).sum())
                taken = np.where(is_wrong | (is_lat & (taken == 0)), np.nan, taken)
            absent = np.nan if is_lat else 0.0
            columns[column] = np.where(there, taken, absent)[kept]
        remarks = list(reports.remarks)
        busy_pct = columns.get("busy_pct")
        discarded = columns.pop("discard_bw_mb_s", None)
        columns.pop("discard_iops", None)
        if discarded is not None and np.nan_to_num(discarded).any():
            most = rate_text(float(np.nanmax(discarded)))
            text = f"it was asked for discards too, of up to {most}"
            is_load = float(np.nanmean(discarded)) >= _DISCARDS_MB_S
            remarks.append(Remark(text, True, ("rate",) if is_load else ()))
        if name == "" and _moves(columns):
            text = "all drives of the machine together: one may hide another"
            remarks.append(Remark(text, True, ("identity",)))
        if busy_pct is not None and not np.nan_to_num(busy_pct).any() and _moves(columns):
            del columns["busy_pct"]  # md and others keep no account of it
        if wrong:
            text = f"{wrong} values below zero, or of an interval of no time: left out"
            remarks.append(Remark(text, True))
        if not there[kept].all():
            told_s = columns["t_s"][there[kept]]
            is_long = bool((np.diff(told_s) > recordings.FALL_S).any()) and not reports.omits_idle
            text = f"reports without {name}: taken as idle, as with iostat -z"
            remarks.append(Remark(text, is_long, ("rate",)))
        begin = None if reports.start_unix_s is None else reports.start_unix_s + start_s
        samples, steps = frames.build(columns), (Observed(name="load"),)
        label = label or ("" if name or not rows.columns else "all drives together")
        log = Log(format, self._source.name, samples, reports.clock, begin, steps, label)
        drive = {"path": path} if (path := self._path_of(name)) else {}
        return recordings.directed(replace(log, drive=drive, remarks=tuple(remarks)))


def is_disk(name: str) -> bool:
    """Return whether a name is one that a kernel gives a drive, or a part of one."""
    return DISK.fullmatch(name) is not None


def _is_layer(name: str) -> bool:
    """Whether it may stand on other devices in the log: dm, md, loop, LVM's names."""
    numbered = _MAJOR_MINOR.fullmatch(name)
    return not is_disk(name) if numbered is None else int(numbered[1]) in _LAYER_MAJORS


def is_array(name: str) -> bool:
    """Return whether a name is one that a kernel gives an array of drives."""
    return _ARRAY.fullmatch(name) is not None


def is_part(name: str, names: Container[str]) -> bool:
    """Return whether a device is a partition of another of these `names`, or a path to one."""
    numbered = _MAJOR_MINOR.fullmatch(name)
    if numbered is not None:
        major, minor = int(numbered.group(1)), int(numbered.group(2))
        base = f"dev{major}-{minor - minor % 16}"
        return major == 8 and base != name and base in names
    hidden = _HIDDEN_PATH.fullmatch(name)
    if hidden is not None:
        return f"nvme{hidden.group(1)}n{hidden.group(2)}" in names
    base = name.rstrip("0123456789")
    if base == name:
        return False
    if base in names:
        return is_disk(base)
    return base[-1:] in ("p", "s") and base[:-1] in names


def _moved(rows: DeviceRows) -> frames.Array:
    """Its throughput in each of its reports, in any unit; 0 where it is not known."""
    known = [np.nan_to_num(rows.values[n]) for n in frames.ways_of("bw_mb_s") if n in rows.values]
    return np.maximum(sum(known, start=np.zeros(len(rows.reports))), 0.0)


def _load(rows: DeviceRows, numbers: NDArray[np.int64]) -> float:
    """Its bytes in these reports, in any unit; its I/Os where a log has no bytes."""
    counted = np.isin(rows.numbers, numbers)
    for quantity, scale in (("bw_mb_s", 1.0), ("iops", 1e-3)):
        names = (*frames.ways_of(quantity), f"discard_{quantity}")
        columns = [rows.values[name] for name in names if name in rows.values]
        if columns:
            every = np.concatenate(columns)
            with np.errstate(invalid="ignore"):
                possible = (every >= 0) & (every <= recordings.MOST[quantity])
            return float(every[possible & np.tile(counted, len(columns))].sum()) * scale
    return 0.0


def _moves(columns: Mapping[str, Any]) -> bool:
    return any(
        np.nan_to_num(values).any()
        for name, values in columns.items()
        if name.endswith(frames.RATES)
    )


# --- what the machine's other drives moved in the same log, beside each that is taken ------------

#: The column of a recording.
OTHER_DRIVES = "other_drives_mb_s"


def with_other_drives(logs: Sequence[Log], drives: Iterable[Log]) -> list[Log]:
    """Return logs of one file, each with what the drives of its machine moved besides.

    `drives` are whole drives, taken or not, on the same clock. Beside an array or a partition it is
    what its own drives moved beyond it, as when an array is rebuilt.
    """
    others = []
    for log in drives:
        if log.has_any("bw_mb_s"):
            _, begins_s, ends_s, mb_s = _spans(log)
            others.append(grid.Amounts.of(ends_s, ends_s - begins_s, mb_s))
    return [_beside(log, others) if log.has_any("bw_mb_s") else log for log in logs]


def _spans(log: Log) -> tuple[pl.DataFrame, frames.Array, frames.Array, frames.Array]:
    """The samples that have a rate, when each begins and ends by the clock, and its MB/s."""
    seen = frames.rated(log.samples)
    begins_s, ends_s = (times_s + (log.start_unix_s or 0.0) for times_s in grid.spans_s(seen))
    return seen, begins_s, ends_s, frames.moved(seen)


def _beside(log: Log, drives: Iterable[grid.Amounts]) -> Log:
    seen, begins_s, ends_s, own_mb_s = _spans(log)
    all_mb = sum(each.between(np.stack([begins_s, ends_s]))[0][0] for each in drives)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = all_mb / (ends_s - begins_s) - own_mb_s
    others = np.where(others < 1e-3 * own_mb_s, 0.0, others)  # sums are rounded
    if not np.nan_to_num(others, posinf=0.0).any():
        return log
    column = seen.select("t_s").with_columns(pl.Series(OTHER_DRIVES, others, nan_to_null=True))
    samples = log.samples.join(column, on="t_s", how="left", maintain_order="left")
    return replace(log, samples=samples.select(*schema_of(samples.columns)))
