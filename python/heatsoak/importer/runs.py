"""Runs from the rows of a table, each with its samples, steps and gaps."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from heatsoak.errors import UsageError
from heatsoak.importer import frames
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.recordings import directed
from heatsoak.importer.source import MAX_RUNS
from heatsoak.importer.timestamps import Times
from heatsoak.protocol import Conditions, Observed
from heatsoak.recording import grid
from heatsoak.recording.columns import status_columns
from heatsoak.recording.meta import LONGEST_S

#: Labels that say which drive it is.
IDENTITY = ("model", "serial", "firmware")
#: A drive counts if it moved at least this share of the bytes that the busiest one moved.
MIN_SHARE = 0.05
#: Or if it was as warm as most drives throttle at.
_HOT_C = 70.0
#: Rows after a changed header continue the run if they follow within this time.
_CONTINUES_S = 60.0
_CONTINUES_INTERVALS = 10.0
#: With more of its rows at the time of another one, they may be of several drives.
_MANY_LOST = 0.25
#: With more of its steps in time going back, a log was not written in the order of time.
_OFTEN_BACK = 0.25

#: A drive busier than this is not idle, whatever it moves.
BUSY_PCT = 20.0

_BLOCK = re.compile(r"(?<![\w.])(\d{1,6})\s?([km])i?b?(?![a-z0-9])", re.IGNORECASE)
_DEPTH = re.compile(r"(?:^|[^a-z])(?:q|qd|iodepth|depth)[ =_]?(\d{1,5})(?!\d)", re.IGNORECASE)
_RANDOM = re.compile(r"rand|rnd", re.IGNORECASE)
_SEQUENTIAL = re.compile(r"seq", re.IGNORECASE)

Indices = NDArray[np.intp]
Texts = NDArray[np.object_]


@dataclass(frozen=True)
class Rows:
    """Rows of one table: when, and what was measured.

    Attributes:
        times: of each row.
        columns: a recording's columns.
        states: 0 or 1 for each row, by the name that its counters get.
        totals: MB moved so far, or in each row's interval, by the column of their rate.
        labels: texts that describe a run if they are the same in all its rows.
        steps: each row's step; None where the table has none.
        runs: each row's run; None where the table has none.
        marks: rows with which a new run begins, whatever the time.
        has_passes: whether each row tells of two passes, one that read and one that wrote.
        goes_on: whether they may continue the run of the rows before (the header has changed).
        drive: the identity of the drive that they are of.
        unit_mb: what totals of MB grow by at least, where all of them count from the first row.
    """

    times: Times
    columns: Mapping[str, frames.Array]
    states: Mapping[str, frames.Array] = field(default_factory=dict)
    totals: Mapping[str, frames.Array] = field(default_factory=dict)
    labels: Mapping[str, Texts] = field(default_factory=dict)
    steps: Sequence[str] | None = None
    runs: Sequence[str] | None = None
    marks: Sequence[int] = ()
    goes_on: bool = False
    has_passes: bool = False
    drive: Mapping[str, Any] = field(default_factory=dict)
    unit_mb: float | None = None

    def part(self, which: Indices | slice) -> "Rows":
        """Return some of the rows."""

        return replace(
            self.changed(lambda values: values[which]),
            times=replace(self.times, t_s=self.times.t_s[which]),
            labels={name: texts[which] for name, texts in self.labels.items()},
            steps=None if self.steps is None else picked_words(self.steps, which),
            runs=None if self.runs is None else picked_words(self.runs, which),
        )

    def changed(self, change: Callable[[frames.Array], frames.Array]) -> "Rows":
        """Return rows with another array for each of numbers."""
        columns, states, totals = (
            {name: change(values) for name, values in each.items()}
            for each in (self.columns, self.states, self.totals)
        )
        return replace(self, columns=columns, states=states, totals=totals)


def picked_words(words: Sequence[str], which: Indices | slice) -> list[str]:
    """Return some of the texts."""
    texts = words if isinstance(words, list) else list(words)
    return texts[which] if isinstance(which, slice) else [texts[at] for at in which.tolist()]


@dataclass
class _Run:
    """A run: its rows, and how they were put together."""

    rows: Rows
    label: str
    named: bool = False
    was_sorted: bool = False
    was_set_back: bool = False


def logs_of(format_name: str, source_name: str, parts: Sequence[Rows]) -> list[Log]:
    """Return a log for each run, and for each drive in it, in the order of the rows.

    Raises UsageError for more than `MAX_RUNS` of them.
    """
    runs: dict[str, list[_Run]] = {}
    count = 0
    for rows in parts:
        words = [str(rows.drive[key]) for key in ("model", "serial", "path") if rows.drive.get(key)]
        own = runs.setdefault(" ".join(words), [])
        for run in _runs(rows):
            if rows.goes_on and own and _follows(own[-1].rows, run.rows):
                own[-1].rows = _joined(own[-1].rows, run.rows)
                continue
            own.append(run)
            count += 1
            if count > MAX_RUNS:
                raise UsageError(
                    f"{source_name}: has over {MAX_RUNS:,} runs or drives: split it (a "
                    "column that divides its rows may not mean runs)"
                )
    drives = [drive for drive, own in runs.items() if own]
    logs = []
    for drive in drives:
        own = runs[drive]
        for number, run in enumerate(own, 1):
            label = run.label if run.named else (str(number) if len(own) > 1 else "")
            if len(drives) > 1:
                label = f"{drive} {label}".strip()
            logs.append(_log(format_name, source_name, replace(run, label=label)))
    return logs


def counts_among(load: float, most: float, temps_c: Iterable[frames.Array]) -> bool:
    """Return whether a drive counts beside one that moved `most`: it carried load, or was hot."""
    return load >= MIN_SHARE * most or any(bool((each >= _HOT_C).any()) for each in temps_c)


def _runs(rows: Rows) -> list[_Run]:
    t_s = rows.times.t_s
    known = np.flatnonzero(np.isfinite(t_s))
    if len(known) == 0:
        return []
    if rows.steps is not None:
        texts: dict[str, str] = {}  # a text for each step, not for each row
        rows = replace(rows, steps=[texts.setdefault(word, word) for word in rows.steps])
    groups: list[tuple[str, Indices]] = [("", known)]
    if rows.runs is not None:
        names = list(rows.runs)
        groups = [
            (name, known[which])
            for name, which in grouped([names[index] for index in known.tolist()]).items()
            if name != ""
        ] or groups
    found = []
    for name, indices in groups:
        is_in_order = len(rows.marks) > 0 or not is_in_no_order(t_s[indices])
        if not is_in_order:
            indices = indices[np.argsort(t_s[indices], kind="stable")]
        # where the header stood again, and where the clock was set: back by more than rows may be
        # out of order, or ahead by more than a recording lasts, as from 1970
        back_s, marks = (
            2.0 * grid.usual_of(np.diff(t_s[indices])),
            np.searchsorted(indices, rows.marks),
        )
        slices = frames.run_slices(t_s[indices], back_s, LONGEST_S, marks)
        starts = [t_s[indices[part.start]] for part in slices]
        was_set_back = rows.times.clock != "none" and any(
            starts[0] < start < t_s[indices[part.stop - 1]]
            for part, start in zip(slices, starts[1:], strict=False)
        )
        for number, part in enumerate(slices[: MAX_RUNS + 1], 1):
            label = name if number == 1 else f"{name}.{number}".strip(".")
            run = _taken(rows, indices[part], label, int(known[0]), named=bool(name))
            found.append(replace(run, was_sorted=not is_in_order, was_set_back=was_set_back))
        if len(found) > MAX_RUNS:
            break  # more than are read
    return found


def is_in_no_order(t_s: frames.Array) -> bool:
    """Return whether rows of one run are not in the order of time, as with the newest first.

    Consecutive runs, each with a clock from 0, have the same times.
    """
    between = np.diff(t_s)
    if len(between) == 0 or np.mean(between < 0) < _OFTEN_BACK:
        return False
    return bool((between <= 0).all() or len(np.unique(t_s)) == len(t_s))


def grouped(words: Sequence[str]) -> dict[str, Indices]:
    """Return where each word stands, in the order in which they first come."""
    found: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        found.setdefault(word, []).append(index)
    return {word: np.array(places) for word, places in found.items()}


def _taken(rows: Rows, indices: Indices, label: str, first: int, *, named: bool) -> _Run:
    """One run of the rows; `first` is the first row of all that has a time."""
    is_row = bool((np.diff(indices) == 1).all())
    # consecutive rows need no copy
    which = slice(int(indices[0]), int(indices[-1]) + 1) if is_row else indices
    part = replace(rows.part(which), runs=None)
    t_s, begin = part.times.t_s, rows.times.start_unix_s
    # a count that begins within the first intervals is the run's own; a clock's begins anywhere
    may_count = begin is None or indices.min() == first
    counts = may_count and 0 <= t_s[0] <= 10 * grid.usual_of(np.diff(t_s))
    first_s = 0.0 if counts else float(t_s[0])
    start_unix_s = None if begin is None else begin + first_s
    times = replace(part.times, t_s=t_s - first_s, start_unix_s=start_unix_s)
    return _Run(replace(part, times=times), label, named)


def _follows(before: Rows, after: Rows) -> bool:
    if before.times.start_unix_s is None or after.times.start_unix_s is None:
        return False
    ends_s = before.times.start_unix_s + before.times.t_s[-1]
    gap_s = after.times.start_unix_s + after.times.t_s[0] - ends_s
    usual_s = grid.usual_of(np.diff(before.times.t_s))
    return bool(0 < gap_s <= max(_CONTINUES_S, _CONTINUES_INTERVALS * usual_s))


def _joined(before: Rows, after: Rows) -> Rows:
    assert before.times.start_unix_s is not None
    assert after.times.start_unix_s is not None
    shift_s = after.times.start_unix_s - before.times.start_unix_s
    old, new = len(before.times.t_s), len(after.times.t_s)

    def both(
        mine: Mapping[str, frames.Array], its: Mapping[str, frames.Array]
    ) -> dict[str, frames.Array]:
        return {
            name: np.concatenate(
                [mine.get(name, np.full(old, np.nan)), its.get(name, np.full(new, np.nan))]
            )
            for name in {**mine, **its}
        }

    steps = None
    if before.steps is not None or after.steps is not None:
        steps = [*(before.steps or [""] * old), *(after.steps or [""] * new)]
    t_s = np.concatenate([before.times.t_s, after.times.t_s + shift_s])
    return replace(
        before,
        times=replace(before.times, t_s=t_s),
        columns=both(before.columns, after.columns),
        states=both(before.states, after.states),
        totals=both(before.totals, after.totals),
        steps=steps,
    )


def _log(format_name: str, source_name: str, run: _Run) -> Log:
    rows = run.rows
    if (np.diff(rows.times.t_s) < 0).any():
        rows = rows.part(np.argsort(rows.times.t_s, kind="stable"))
    columns: dict[str, Any] = dict(rows.columns)
    t_s, begin = rows.times.t_s, rows.times.start_unix_s
    counted, said = _of_totals(rows.totals, t_s, rows.unit_mb)
    columns |= counted
    if rows.steps is None and (rows.has_passes or len(t_s) == 1):
        rows, columns = _of_passes(rows, columns)
        t_s = rows.times.t_s
    has_rates = any(name.endswith(frames.RATES) for name in columns)
    if "interval_s" not in columns and has_rates:
        # work that the first row tells of was done before its time
        has_worked = any(v[0] > 0 for name, v in columns.items() if name.endswith(frames.RATES))
        columns["interval_s"] = grid.covered_s(t_s)
        if t_s[0] < 0.5 * columns["interval_s"][0] and has_worked:
            shift = float(columns["interval_s"][0]) - float(t_s[0])
            t_s = t_s + shift
            begin = None if begin is None else begin - shift
    for name, values in rows.states.items():
        known = np.isfinite(values)
        if not known.any():
            continue
        entered, held_s = frames.entered_and_held(np.where(known, values, 0.0), t_s)
        count, time_s = status_columns(name)
        columns[count] = np.where(known, entered, np.nan)
        columns[time_s] = np.where(known, held_s, np.nan)
    steps, names = _steps_of(rows.steps, columns)
    if names is not None:
        columns["step"] = names
    columns["t_s"] = t_s
    constant = {
        name: str(texts[0]) for name, texts in rows.labels.items() if len(set(texts.tolist())) == 1
    }
    drive = dict(rows.drive) | {name: constant.pop(name) for name in IDENTITY if constant.get(name)}
    conditions: Conditions = {name: text for name, text in constant.items() if text}
    if run.named and run.label not in constant.values():
        conditions |= {"run": run.label}
    samples = frames.build(columns)
    lost = len(t_s) - samples.height
    remarks = [Remark(f"{source_name}: its rows were not in order of time; they were sorted")]
    remarks = remarks * run.was_sorted + [set_back(source_name)] * run.was_set_back
    remarks += [Remark(f"{source_name}: {text}", doubt, touches) for text, doubt, touches in said]
    if lost > _MANY_LOST * len(t_s) and _are_of_several(columns, t_s):
        raise UsageError(
            f"{source_name}: {lost:,} of {len(t_s):,} rows have the time of another one, as if of "
            "several drives: --map device=HEADER says which column names them"
        )
    if lost > 0:
        text = f"{lost:,} of {len(t_s):,} rows have the time of another one: left out"
        remarks.append(Remark(f"{source_name}: {text}", True, ("rate", "identity")))
    log = Log(format_name, source_name, samples, rows.times.clock, begin, steps, run.label)
    return directed(replace(log, drive=drive, conditions=conditions, remarks=tuple(remarks)))


def _are_of_several(columns: Mapping[str, Any], t_s: frames.Array) -> bool:
    """Whether rows of one time differ as drives do, by far more than one drive from row to row."""
    _, firsts = np.unique(t_s, return_index=True)
    seconds = firsts[np.diff(firsts, append=len(t_s)) > 1] + 1
    for name, values in columns.items():
        if not name.endswith(frames.RATES) and not name.startswith("temp_c."):
            continue
        apart = np.abs(values[seconds] - values[seconds - 1])
        moved = np.abs(np.diff(values[firsts]))
        known, usual = apart[np.isfinite(apart)], moved[np.isfinite(moved)]
        least = 0.05 * float(np.nanmedian(np.abs(values))) if np.isfinite(values).any() else 0.0
        if len(known) and len(usual) and np.median(known) > 3 * np.median(usual) + least:
            return True
    return False


def _of_passes(rows: Rows, columns: dict[str, Any]) -> tuple[Rows, dict[str, Any]]:
    """Means of what was read and of what was written, one after the other, as a row each."""
    ways = [way for name in columns if (way := name.removesuffix("_bw_mb_s")) in _WAYS]
    if len(ways) < 2 or not all(np.nan_to_num(columns[f"{way}_bw_mb_s"]).any() for way in ways):
        return rows, columns
    t_s = rows.times.t_s
    count = len(t_s)
    second = np.arange(2 * count) % 2 == 1
    apart_s = grid.covered_s(t_s) if count > 1 else np.ones(1)
    split = {name: np.repeat(values, 2) for name, values in columns.items()}
    for name, values in split.items():
        if (way := name.split("_")[0]) in ways:
            nothing = 0.0 if name.endswith(frames.RATES) else np.nan
            values[second == (way == ways[0])] = nothing
    split["interval_s"] = np.full(2 * count, np.nan)  # how long each took is not read
    t_s = np.repeat(t_s, 2) - np.where(second, 0.0, np.repeat(apart_s / 2, 2)) + apart_s[0]
    return replace(
        rows,
        times=replace(rows.times, t_s=t_s),
        states={name: np.repeat(values, 2) for name, values in rows.states.items()},
        steps=ways * count,
    ), split


_WAYS = ("read", "write")


def set_back(source_name: str) -> Remark:
    """Return the remark about a wall clock that goes back within a log."""
    text = (
        f"{source_name}: its clock goes back: read as another run, and a fall between is not seen"
    )
    return Remark(text, True, ("rate", "time"))


def _of_totals(
    totals: Mapping[str, frames.Array], t_s: frames.Array, unit_mb: float | None
) -> tuple[dict[str, frames.Array], list[frames.Said]]:
    """The rates of what was moved: of counters, or of amounts, which do not rise, in each row."""
    amounts: dict[str, frames.Array] = {}
    counters: dict[str, frames.Array] = {}
    for name, values in totals.items():
        known = values[np.isfinite(values)]
        falls = np.count_nonzero(np.diff(known) < 0)
        if unit_mb is None and falls > 0.01 * len(known):
            with np.errstate(divide="ignore", invalid="ignore"):
                amounts[name] = values / grid.covered_s(t_s)
        else:
            counters[name] = values
    found, said = frames.rates_of(counters, t_s, unit_mb or 0.0)
    if amounts:
        text = "what was moved does not only rise: taken as of each row, not as a rate nor so far"
        said.append((text, True, ("unit",)))
    return amounts | found, said


# --- steps ---


def _steps_of(
    labels: Sequence[str] | None, columns: Mapping[str, Any]
) -> tuple[tuple[Observed, ...], list[str | None] | None]:
    """Return a run's steps, and the name of each row's step; None where it is one load.

    `labels` are the words of the rows in the table's column of steps, `columns` a recording's.
    """
    has_rates = any(name.endswith(frames.RATES) for name in columns)
    if labels is None or not any(labels) or _take_turns(labels):
        return ((Observed(name="load"),) if has_rates else ()), None
    names: list[str | None] = []
    found: dict[str, Observed] = {}
    times: dict[str, int] = {}
    for label, part in frames.stretches(labels):
        label = label.strip()[:150]
        name: str | None = None
        if label and _is_load(columns, part):
            name = label
            while name in found:
                times[label] = times.get(label, 1) + 1
                name = f"{label} ({times[label]})"
            found[name] = _observed(name, label) if has_rates else Observed(name=name)
        names += [name] * (part.stop - part.start)
    return tuple(found.values()), names


def _take_turns(labels: Sequence[str]) -> bool:
    """Whether a few words take turns from row to row, which are no steps."""
    return len([*frames.stretches(labels)]) > max(len(labels) / 2, 20 * len(set(labels)))


def _is_load(columns: Mapping[str, Any], part: slice) -> bool:
    """Whether anything was moved in these rows, or may have been, since no rate was logged.

    A drive that is busy and moves nothing is stalled.
    """
    names = [name for name in columns if name.endswith(frames.RATES)]
    known = [values for name in names if np.isfinite(values := columns[name][part]).any()]
    if not known or any(bool((values > 0).any()) for values in known):
        return True
    return "busy_pct" in columns and bool((columns["busy_pct"][part] >= BUSY_PCT).any())


def _observed(name: str, label: str) -> Observed:
    """What a step's own words tell of its load."""
    fields: dict[str, Any] = {}
    kind = "rand" if _RANDOM.search(label) else ("" if _SEQUENTIAL.search(label) else None)
    what = [word for word in ("read", "write") if word in label.lower()]
    if kind is not None and len(what) == 1:
        fields["rw"] = kind + what[0]
    if (block := _BLOCK.search(label)) is not None and int(block.group(1)) > 0:
        fields["bs"] = int(block.group(1)) << (10 if block.group(2).lower() == "k" else 20)
    if (depth := _DEPTH.search(label)) is not None and int(depth.group(1)) > 0:
        fields["iodepth"] = int(depth.group(1))
    return Observed(name=name, **fields)
