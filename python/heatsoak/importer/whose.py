"""Whose a reading is: which of the logs that are given is of the drive that another one loaded.

A log is the loaded drive's by its names, or by what its own counters moved; another's where any of
these contradicts; else it is open. Of one loaded drive, what is open is taken for its own.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path

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
class Pair:
    """A log and a leading one: what each tells of its drive, how they lie in time, and whether they
    are of one drive, and by what.

    Attributes:
        beside: what of the log is laid beside the leading one, and how far apart they began.
        neighbour: why it is of another drive.
        obstacle: what keeps it apart, if it may belong there.
    """

    leader: Log
    drive: DriveIdentity
    log: Log
    told: DriveIdentity
    alignment: Alignment | str
    sameness: Sameness = "open"
    why: str = ""
    beside: tuple[Log, Alignment] | None = None
    neighbour: str = ""
    obstacle: str = ""


#: Whether a log is of a leading log's drive, and by what.
_Whose = tuple[Sameness, str]
_OPEN: _Whose = ("open", _TAKEN)


def placed(
    leaders: Sequence[Log],
    others: Sequence[Log],
    align: Callable[[Log, Log], Alignment | str],
) -> list[list[Pair]]:
    """Return where each of `others` belongs beside each leader; `align` is how two lie in time."""
    leading, rest = (list(zip(logs, _identities(logs), strict=True)) for logs in (leaders, others))
    rows = [[Pair(*leader, *log, align(leader[0], log[0])) for leader in leading] for log in rest]
    _compare(rows)
    # what is known of a drive by a log that is its own may tell that another log is not
    for column in zip(*rows, strict=True):
        known = column[0].drive
        for own in _same(column):
            known = known.with_what(own.told)
        for one in column:
            one.drive = known
    _compare(rows)
    taken = [row for row in rows if any(one.why == _TAKEN for one in row) and not _same(row)]
    are_several = _are_several([row[0].told for row in taken])
    for row in rows:
        _place(row, are_several or _may_be_several(row))
    return rows


def _same(pairs: Sequence[Pair]) -> list[Pair]:
    return [one for one in pairs if one.sameness == "same"]


def _may_be_several(row: Sequence[Pair]) -> bool:
    """Whether the loads that a log may be of are of several drives, or may well be.

    Two logs of one kind of the same time are, where nothing says that they are of one drive.
    """
    spans = [
        (one, -one.alignment.shift_s, one.leader.end_s - one.alignment.shift_s)
        for one in row
        if one.sameness == "open" and isinstance(one.alignment, Alignment)
    ]
    return any(
        (sameness := one.drive.compared(other.drive)) == "another"
        or (sameness == "open" and one.leader.format == other.leader.format and a < d and c < b)
        for (one, a, b), (other, c, d) in combinations(spans, 2)
    )


def _place(row: Sequence[Pair], are_several: bool) -> None:
    is_own = bool(_same(row))
    for one in row:
        kept: Log | None = one.log
        how, is_open = one.alignment, one.sameness == "open" and tells_of_drive(one.log)
        why = f", {one.why}" if one.why and one.sameness != "another" else ""
        if one.sameness == "another":
            if how != APART and not is_own:
                one.neighbour = f"is of another drive ({one.why}): {_told(one.log)}"
            kept = _of_others(one.log)
        elif isinstance(how, str) or (is_open and not is_own and are_several):
            one.obstacle = how if isinstance(how, str) else NAMELESS
            continue
        elif is_open:
            # its sensors are likely the loaded drive's
            sensors = (*one.log.sensors, *unstated_sensors(one.log, one.log.samples))
            likely = tuple(sensor.model_copy(update=_PERHAPS) for sensor in sensors)
            kept = None if is_own else replace(one.log, sensors=likely)
        if kept is not None and isinstance(how, Alignment):
            one.beside = kept, replace(how, how=f"{how.how}{why}")


def _identities(logs: Sequence[Log]) -> list[DriveIdentity]:
    """What each tells of its drive, the name of its file too where that has no other."""
    found = []
    of_source = Counter(log.source for log in logs)
    for log in logs:
        limits_c = {name: c for sensor in log.sensors for name, c in sensor.thresholds.items()}
        identity = DriveIdentity.of(log.drive, limits_c)
        if identity.node is None:
            is_alone = of_source[log.source] == 1
            node = node_in(log.label) or (node_in(Path(log.source).stem) if is_alone else None)
            if node is None and identity.name:
                # in one file each drive has a name of its own
                node = Node("", f"in {log.source}", identity.name)
            name = identity.name or (node and node.name)
            identity = replace(identity, node=node, name=name)
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
    known = values[np.isfinite(values)]
    return f"a neighbour{f' at {words.temps_text(known)}' if len(known) else ''}, and no evidence"


# --- a drive that is seen again ---


def in_courses(logs: Sequence[Log]) -> list[Log]:
    """Return the logs, a drive's single readings in files of their own as one course of it."""
    found: dict[object, Log] = {}
    for log in logs:
        serial, key = serial_of(log.drive.get("serial")), object()
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


def _compare(rows: Sequence[Sequence[Pair]]) -> None:
    """Find whose each log is, in rows of the pairs that it makes with the leading ones."""
    for one in chain.from_iterable(rows):
        one.sameness, one.why = _whose(one)
    # members of an array move the same: what their counters say does not tell them apart
    for row in rows:
        if _are_several([one.drive for one in _same(row)]):
            for one in _same(row):
                one.sameness, one.why = _OPEN
    for column in zip(*rows, strict=True):
        if _are_several([one.told for one in _same(column)]):
            for one in filter(lambda one: one.why, _same(column)):
                one.sameness, one.why = _OPEN


def _whose(pair: Pair) -> _Whose:
    if not tells_of_drive(pair.log):
        return "open", ""
    if (differ := pair.drive.contradicted_by(pair.told)) is not None:
        return "another", f"{differ[1]}, not {differ[0]}"
    sameness = pair.drive.compared(pair.told)
    if sameness == "same" or isinstance(pair.alignment, str):
        return sameness, ""
    return _by_kind(pair) or _by_bytes(pair, pair.alignment.shift_s)


def _by_kind(pair: Pair) -> _Whose | None:
    """Another drive's, if one of its kind does not move as much as the load did."""
    log, node = pair.log, pair.told.node
    seen = frames.rated(pair.leader.samples)
    usual_mb_s = float(np.median(frames.moved(seen))) if seen.height else 0.0
    most_mb_s, what = carried_by(log)
    is_ata = log.format in _TELL_ATA and log.has_values(_OF_ATA)
    if is_ata and pair.drive.node is not None and pair.drive.node.name.startswith("nvme"):
        return "another", f"no NVMe drive as {pair.drive.name} is"
    if is_ata or (node is not None and node.name.startswith("sd")):
        most_mb_s, what = min((most_mb_s, what), (_SAS_MB_S, "SAS carries"))
    if usual_mb_s <= most_mb_s:
        return None
    rate, most = words.rate_text(usual_mb_s), words.rate_text(most_mb_s)
    return "another", f"{what} {most} at most, and this load moved {rate}"


def _by_bytes(pair: Pair, shift_s: float) -> _Whose:
    """By what the drive's own counters moved while the leading log saw it loaded."""
    amounts = _amounts(pair.leader, pair.log, shift_s)
    if amounts is None:
        return _OPEN
    load_mb, own_mb, lasted_s, step_mb = amounts
    loaded, moved = float(load_mb.sum()), float(own_mb.sum())
    if loaded < _LEAST_MB or (moved == 0 and loaded < _COARSEST_MB):
        return _OPEN
    by_count = (
        f"by its counters it moved {words.size_text(1e6 * moved)} meanwhile, "
        f"and the load {words.size_text(1e6 * loaded)}"
    )
    if moved < _AGREES * loaded / _MEMBERS:
        return "another", by_count
    share, slack = moved / loaded, len(own_mb) * step_mb / moved
    apart = float(np.abs(own_mb - share * load_mb).sum()) / moved
    fell = float(np.abs(load_mb - loaded * lasted_s / lasted_s.sum()).sum()) / loaded
    most = min(_OTHERWISE, _NOT_FOLLOWED * fell) if fell > _FELL else _OTHERWISE
    if apart > most + slack:
        return "another", f"{by_count}, at other times"
    if any("unit" in it.touches for it in (*pair.log.remarks, *pair.leader.remarks) if it.doubt):
        return _OPEN
    if max(abs(share - 1.0), apart) <= _AGREES + slack:
        return "same", "by its counters of the same drive"
    is_named = pair.drive.node is not None
    # a benchmark may load an array, or be one of several
    parts = [] if is_named else [1.0 / n for n in range(2, _MEMBERS + 1)]
    is_part = any(abs(share / part - 1.0) <= _AGREES for part in parts)
    is_less = share < 1.0 - _OFF - slack and not is_part
    is_more = share > 1.0 + _OFF + slack and is_named
    return ("another", by_count) if is_less or is_more else _OPEN


def _amounts(
    leader: Log, log: Log, shift_s: float
) -> tuple[grid.Array, grid.Array, grid.Array, float] | None:
    """What the load and a drive's counters moved in stretches of time, and how long these lasted.

    In MB, of the directions that both tell, with what the counters count in; None if there are no
    such directions, or too few readings.
    """
    ways = frames.ways_of("bw_mb_s")
    names = [name for name in ways if leader.has_values(name) and log.has_values(name)]
    if not names:
        return None
    load, own = (
        _amounts_of(one.samples.filter(pl.any_horizontal(pl.col(names).is_not_null())), names, by_s)
        for one, by_s in ((leader, 0.0), (log, shift_s))
    )
    first_s, last_s = max(load.edges_s[0], own.edges_s[0]), min(load.edges_s[-1], own.edges_s[-1])
    # counters are known where they were read
    edges_s = np.unique(own.edges_s)
    edges_s = edges_s[(edges_s >= first_s - 1e-6) & (edges_s <= last_s + 1e-6)]
    count = int(min(_STRETCHES, (last_s - first_s) / _STRETCH_S, len(edges_s) - 1))
    if count < 2:
        return None
    edges_s = edges_s[np.linspace(0, len(edges_s) - 1, count + 1).round().astype(int)]
    (load_mb, its_s), (own_mb, own_s) = load.between(edges_s), own.between(edges_s)
    lasted_s = np.diff(edges_s)
    is_seen = np.minimum(its_s, own_s) >= 0.8 * lasted_s
    if np.count_nonzero(is_seen) < 2:
        return None
    return load_mb[is_seen], own_mb[is_seen], lasted_s[is_seen], _step_mb(np.diff(own.moved)[::2])


def _amounts_of(seen: pl.DataFrame, names: Sequence[str], shift_s: float) -> grid.Amounts:
    begins_s, ends_s = (times_s + shift_s for times_s in grid.spans_s(seen))
    return grid.Amounts.of(ends_s, ends_s - begins_s, frames.moved(seen.select(names)))


def _step_mb(moved_mb: grid.Array) -> float:
    """What a counter counts in, if that is so much that it shows in its readings; else 0."""
    known = moved_mb[moved_mb > 0]
    if not len(known):
        return 0.0
    counts = moved_mb / known.min()
    is_whole = np.abs(counts - counts.round()) < 0.02
    return float(known.min()) if is_whole.all() and len(np.unique(counts.round())) > 1 else 0.0
