"""Whose a reading is: which of the logs that are given is of the drive that another one loaded.

A log is the loaded drive's by its names, or by what its own counters moved; another's where any of
these contradicts; else it is open. Of one loaded drive, what is open is taken for its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from heatsoak import words
from heatsoak.identity import DriveIdentity, Node, Sameness, node_in, serial_of
from heatsoak.importer import frames
from heatsoak.importer.log import Alignment, Log, Remark
from heatsoak.importer.recordings import carried_by, unstated_sensors
from heatsoak.recording import columns, grid, schema_of

#: Logs that are farther apart than this do not overlap.
MARGIN_S = 120.0
#: What is said of them then.
APART = "they do not overlap in time"
#: What is said where several drives may be meant.
NAMELESS = "nothing tells which drive it is of"
#: What is said of what is open where one drive was loaded, and how likely that is: a guess.
_TAKEN = "taken for the same drive's, as nothing says whose it is"
_PERHAPS = {"of_drive": 0.98}
#: A drive's counters agree with its load to this; where they are so far off, they do not.
_AGREES, _OFF = 0.05, 0.15
#: How far the courses of two drives are apart. Where a load fell so far from an even one, it is
#: this share of that too: counters of its drive follow it.
_OTHERWISE, _FELL, _NOT_FOLLOWED = 0.1, 0.04, 0.6
#: A course consists of as many stretches at most, each of so many seconds at least.
_STRETCHES, _STRETCH_S = 12, 20.0
#: Less than this tells nothing. The coarsest counters count in 32 GiB, and stand still until then.
_LEAST_MB, _COARSEST_MB = 2000.0, 70_000.0
#: A member of an array moves a part of its load, of so many at most.
_MEMBERS = 8
#: SATA carries less.
_SAS_MB_S = 2400.0
#: Tools that tell an ATA or SCSI drive's temperature in a column of its own.
_TELL_ATA, _OF_ATA = ("smartctl", "lm_sensors"), f"{columns.TEMPERATURES}drive"


@dataclass
class Placed:
    """Where a log belongs beside leading logs, by the numbers of these.

    Attributes:
        beside: what of it is laid beside each, and how far apart they began.
        neighbours: why it is of another drive than each.
        obstacles: beside which it may belong, by what keeps it apart.
    """

    beside: dict[int, tuple[Log, Alignment]] = field(default_factory=dict)
    neighbours: dict[int, str] = field(default_factory=dict)
    obstacles: dict[str, list[int]] = field(default_factory=dict)


class _Whose(NamedTuple):
    """Whether a log is of a leading log's drive, and by what."""

    sameness: Sameness
    why: str = ""


def placed(
    leaders: Sequence[Log], others: Sequence[Log], aligned: Sequence[Sequence[Alignment | str]]
) -> list[Placed]:
    """Return where each of `others` belongs; `aligned` is how each lies beside each leader."""
    drives, told = _identities(leaders), _identities(others)
    whose = _compared(leaders, drives, others, told, aligned)
    for of_other, identity in zip(whose, told, strict=True):
        # what is known of a drive by a log that is its own may tell that another log is not
        for number, each in enumerate(of_other):
            if each.sameness == "same":
                drives[number] = drives[number].with_what(identity)
    whose = _compared(leaders, drives, others, told, aligned)
    may_be = [
        identity
        for identity, of_other in zip(told, whose, strict=True)
        if any(one.why == _TAKEN for one in of_other) and not _same(of_other)
    ]
    return [
        _placed(log, of, how, _are_several(may_be) or _may_be_several(of, drives, leaders, how))
        for log, of, how in zip(others, whose, aligned, strict=True)
    ]


def _same(whose: Sequence[_Whose]) -> list[int]:
    return [number for number, one in enumerate(whose) if one.sameness == "same"]


def _may_be_several(
    whose: Sequence[_Whose],
    drives: Sequence[DriveIdentity],
    leaders: Sequence[Log],
    aligned: Sequence[Alignment | str],
) -> bool:
    """Whether the loads that a log may be of are of several drives, or may well be.

    Two logs of one kind of the same time are, where nothing says that they are of one drive.
    """
    spans = [
        (drive, leader.format, -how.shift_s, leader.end_s - how.shift_s)
        for one, drive, leader, how in zip(whose, drives, leaders, aligned, strict=True)
        if one.sameness == "open" and isinstance(how, Alignment)
    ]
    return any(
        (sameness := one[0].compared(other[0])) == "another"
        or (sameness == "open" and one[1] == other[1] and one[2] < other[3] and other[2] < one[3])
        for one, other in combinations(spans, 2)
    )


def _placed(
    log: Log,
    whose: Sequence[_Whose],
    aligned: Sequence[Alignment | str],
    are_several: bool,
) -> Placed:
    found, of_others, same = Placed(), _of_others(log), _same(whose)
    for number, (one, alignment) in enumerate(zip(whose, aligned, strict=True)):
        kept: Log | None = log
        is_open = one.sameness == "open" and tells_of_drive(log)
        if one.sameness == "another":
            if alignment != APART and not same:
                found.neighbours[number] = f"is of another drive ({one.why}): {_told(log)}"
            kept = of_others
        elif isinstance(alignment, str) or (is_open and not same and are_several):
            obstacle = alignment if isinstance(alignment, str) else NAMELESS
            found.obstacles.setdefault(obstacle, []).append(number)
            continue
        elif is_open:
            kept = None if same else _perhaps(log)
        if kept is not None and isinstance(alignment, Alignment):
            why = f", {one.why}" if one.why and kept is not of_others else ""
            found.beside[number] = kept, replace(alignment, how=f"{alignment.how}{why}")
    return found


def _perhaps(log: Log) -> Log:
    """The log, whose sensors are likely the loaded drive's."""
    sensors = (*log.sensors, *unstated_sensors(log, log.samples))
    return replace(log, sensors=tuple(one.model_copy(update=_PERHAPS) for one in sensors))


def _identities(logs: Sequence[Log]) -> list[DriveIdentity]:
    """What each tells of its drive, the name of its file too where that has no other."""
    found = []
    for log in logs:
        limits_c = {name: c for sensor in log.sensors for name, c in sensor.thresholds.items()}
        identity = DriveIdentity.of(log.drive, limits_c)
        is_alone = sum(each.source == log.source for each in logs) == 1
        node = node_in(log.label) or (node_in(Path(log.source).stem) if is_alone else None)
        if identity.node is None and node is not None:
            identity = replace(identity, node=node, name=identity.name or node.name)
        elif identity.node is None and identity.name:
            # in one file each drive has a name of its own
            identity = replace(identity, node=Node("", f"in {log.source}", identity.name))
        found.append(identity)
    return found


def are_two_drives(one: Log, other: Log) -> bool:
    """Return whether two logs say that they are of different drives."""
    return _are_several([*_identities([one]), *_identities([other])])


def _are_several(drives: Sequence[DriveIdentity]) -> bool:
    return any(one.compared(other) == "another" for one, other in combinations(drives, 2))


def tells_of_drive(log: Log) -> bool:
    """Whether it has what a drive tells of its own heat."""
    known = log.samples.columns
    return log.has_values(*columns.own_temperatures(known), *columns.throttle_columns(known))


def _of_others(log: Log) -> Log | None:
    """What another drive's log has of the machine, and its own temperatures as a neighbour's; None
    if that is nothing."""
    of = f"{columns.NEIGHBOUR} {log.label or Path(log.source).stem} "
    own = columns.own_temperatures(log.samples.columns)
    kept = [
        pl.col(name).alias(name.replace(columns.TEMPERATURES, of)) if name in own else pl.col(name)
        for name in log.samples.columns
        if columns.column_of(name).owner in (columns.Owner.HOST, columns.Owner.SENSOR)
    ]
    if not kept:
        return None
    return replace(log, samples=log.samples.select("t_s", *kept), drive={}, sensors=(), remarks=())


def _told(log: Log) -> str:
    """What is said of a neighbour: how warm it was."""
    values = log.samples.select(columns.own_temperatures(log.samples.columns)).to_numpy()
    if not np.isfinite(values).any():
        return "a neighbour, and no evidence"
    ends = float(np.nanmin(values)), float(np.nanmax(values))
    return f"a neighbour at {words.temps_text(ends)}, and no evidence"


# --- a drive that is seen again ---


def in_courses(logs: Sequence[Log]) -> list[Log]:
    """Return the logs, a drive's single readings in files of their own as one course of it."""
    found: dict[object, Log] = {}
    for log in logs:
        key: object = id(log)
        serial = serial_of(log.drive.get("serial"))
        if serial and log.start_unix_s is not None and not log.has_rates and tells_of_drive(log):
            key = log.format, log.clock, log.label, serial, log.drive.get("model")
        known = found.get(key)
        if known is None or min(known.samples.height, log.samples.height) > 1:
            found[key if known is None else id(log)] = log
        else:
            found[key] = _course(known, log)
    return list(found.values())


def _course(known: Log, log: Log) -> Log:
    """Two logs of one drive as one, whatever their order."""
    first, last = sorted((known, log), key=lambda one: one.start_unix_s or 0.0)
    apart_s = (last.start_unix_s or 0.0) - (first.start_unix_s or 0.0)
    later = last.samples.with_columns(pl.col("t_s") + apart_s)
    samples = pl.concat([first.samples, later], how="diagonal").sort("t_s", maintain_order=True)
    name = Path(last.source).name
    text = f"{name}: readings of the same drive as in {Path(first.source).name}, by its serial"
    return replace(
        last,
        source=first.source,
        samples=samples.select(*schema_of(samples.columns)),
        start_unix_s=first.start_unix_s,
        drive={**first.drive, **last.drive},
        remarks=(*first.remarks, *last.remarks, Remark(text)),
    )


# --- of one drive or another ---------------------------------------------------------------------


def _compared(
    leaders: Sequence[Log],
    drives: Sequence[DriveIdentity],
    others: Sequence[Log],
    told: Sequence[DriveIdentity],
    aligned: Sequence[Sequence[Alignment | str]],
) -> list[list[_Whose]]:
    """Whose each of `others` is, for each leader."""
    found = [
        [
            _whose(leader, drive, log, identity, alignment)
            for leader, drive, alignment in zip(leaders, drives, how, strict=True)
        ]
        for log, identity, how in zip(others, told, aligned, strict=True)
    ]
    # members of an array move the same: what their counters say does not tell them apart
    for of_log in found:
        if _are_several([drives[number] for number in _same(of_log)]):
            of_log[:] = [
                _Whose("open", _TAKEN) if one.sameness == "same" else one for one in of_log
            ]
    for number in range(len(leaders)):
        same = [row for row, of_log in enumerate(found) if of_log[number].sameness == "same"]
        if _are_several([told[row] for row in same]):
            for row in same:
                if found[row][number].why:
                    found[row][number] = _Whose("open", _TAKEN)
    return found


def _whose(
    leader: Log,
    drive: DriveIdentity,
    log: Log,
    identity: DriveIdentity,
    alignment: Alignment | str,
) -> _Whose:
    if not tells_of_drive(log):
        return _Whose("open")
    differ = drive.contradicted_by(identity)
    if differ is not None:
        return _Whose("another", f"{differ[1]}, not {differ[0]}")
    if drive.compared(identity) == "same":
        return _Whose("same")
    if isinstance(alignment, str):
        return _Whose("open")
    return _by_kind(leader, drive, log, identity) or _by_bytes(
        leader, drive, log, alignment.shift_s
    )


def _by_kind(leader: Log, drive: DriveIdentity, log: Log, identity: DriveIdentity) -> _Whose | None:
    """Another drive's, if one of its kind does not move as much as the load did."""
    seen = frames.rated(leader.samples)
    usual_mb_s = float(np.median(frames.moved(seen))) if seen.height else 0.0
    most_mb_s, what = carried_by(log)
    is_ata = log.format in _TELL_ATA and log.has_values(_OF_ATA)
    if is_ata and drive.node is not None and drive.node.name.startswith("nvme"):
        return _Whose("another", f"no NVMe drive as {drive.name} is")
    if is_ata or (identity.node is not None and identity.node.name.startswith("sd")):
        most_mb_s, what = min((most_mb_s, what), (_SAS_MB_S, "SAS carries"))
    if usual_mb_s <= most_mb_s:
        return None
    rate, most = words.rate_text(usual_mb_s), words.rate_text(most_mb_s)
    return _Whose("another", f"{what} {most} at most, and this load moved {rate}")


def _by_bytes(leader: Log, drive: DriveIdentity, log: Log, shift_s: float) -> _Whose:
    """By what the drive's own counters moved while the leading log saw it loaded."""
    taken = _Whose("open", _TAKEN)
    pair = _amounts(leader, log, shift_s)
    if pair is None:
        return taken
    load_mb, own_mb, lasted_s, step_mb = pair
    loaded, moved = float(load_mb.sum()), float(own_mb.sum())
    if loaded < _LEAST_MB:
        return taken
    by_count = f"by its counters it moved {words.size_text(1e6 * moved)} meanwhile"
    beside = f"and the load {words.size_text(1e6 * loaded)}"
    if moved < _AGREES * loaded / _MEMBERS:
        if moved == 0 and loaded < _COARSEST_MB:
            return taken
        return _Whose("another", f"{by_count}, {beside}")
    share = moved / loaded
    slack = len(own_mb) * step_mb / moved
    apart = float(np.abs(own_mb - share * load_mb).sum()) / moved
    fell = float(np.abs(load_mb - loaded * lasted_s / lasted_s.sum()).sum()) / loaded
    most = min(_OTHERWISE, _NOT_FOLLOWED * fell) if fell > _FELL else _OTHERWISE
    if apart > most + slack:
        return _Whose("another", f"{by_count}, {beside}, at other times")
    if any("unit" in one.touches for one in (*log.remarks, *leader.remarks) if one.doubt):
        return taken
    if abs(share - 1.0) <= _AGREES + slack and apart <= _AGREES + slack:
        return _Whose("same", "by its counters of the same drive")
    # a benchmark may load an array, or be one of several
    parts = [] if drive.node is not None else [1.0 / n for n in range(2, _MEMBERS + 1)]
    is_part = any(abs(share / part - 1.0) <= _AGREES for part in parts)
    is_less = share < 1.0 - _OFF - slack and not is_part
    if is_less or (share > 1.0 + _OFF + slack and drive.node is not None):
        return _Whose("another", f"{by_count}, {beside}")
    return taken


def _amounts(
    leader: Log, log: Log, shift_s: float
) -> tuple[grid.Array, grid.Array, grid.Array, float] | None:
    """What the load and a drive's counters moved in stretches of time, and how long these lasted.

    In MB, of the directions that both tell, with what the counters count in; None if there are no
    such directions, or too few readings.
    """
    names = [
        name
        for name in frames.ways_of("bw_mb_s")
        if leader.has_values(name) and log.has_values(name)
    ]
    if not names:
        return None
    series = []
    for one, by_s in ((leader, 0.0), (log, shift_s)):
        seen = one.samples.filter(pl.any_horizontal(pl.col(names).is_not_null()))
        begins_s, ends_s = (times_s + by_s for times_s in grid.spans_s(seen))
        series.append((begins_s, ends_s, frames.moved(seen.select("t_s", *names))))
    first_s = max(begins_s[0] for begins_s, _, _ in series)
    last_s = min(ends_s[-1] for _, ends_s, _ in series)
    begins_s, ends_s, rates = series[1]
    # counters are known where they were read
    edges_s = np.unique(np.append(begins_s, ends_s))
    edges_s = edges_s[(edges_s >= first_s - 1e-6) & (edges_s <= last_s + 1e-6)]
    count = int(min(_STRETCHES, (last_s - first_s) / _STRETCH_S, len(edges_s) - 1))
    if count < 2:
        return None
    edges_s = edges_s[np.linspace(0, len(edges_s) - 1, count + 1).round().astype(int)]
    amounts = [
        grid.Amounts.of(ends, ends - begins, mb_s).between(edges_s) for begins, ends, mb_s in series
    ]
    is_seen = np.all([covered_s >= 0.8 * np.diff(edges_s) for _, covered_s in amounts], axis=0)
    if np.count_nonzero(is_seen) < 2:
        return None
    load_mb, own_mb = (moved[is_seen] for moved, _ in amounts)
    return load_mb, own_mb, np.diff(edges_s)[is_seen], _step_mb(rates * (ends_s - begins_s))


def _step_mb(moved_mb: grid.Array) -> float:
    """What a counter counts in, if that is so much that it shows in its readings; else 0."""
    known = moved_mb[moved_mb > 0]
    if not len(known):
        return 0.0
    counts = moved_mb / known.min()
    is_whole = np.abs(counts - counts.round()) < 0.02
    return float(known.min()) if is_whole.all() and len(np.unique(counts.round())) > 1 else 0.0
