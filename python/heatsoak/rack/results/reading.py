"""Reads what a rack's tests left: recordings, and in `rack.json` the tests that left none."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ValidationError

from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.errors import UsageError
from heatsoak.history.index import recordings_below
from heatsoak.history.summaries import summaries_of
from heatsoak.importer import divided
from heatsoak.output import Progress, printable
from heatsoak.protocol import REPETITIONS, Label, kind_of_condition
from heatsoak.rack.results.measures import Row, rows_of
from heatsoak.recording import Recording

#: What ``heatsoak rack run`` says of its tests.
RACK = "rack.json"
HOST = "host"
_FINISHED = "finished"
#: As wide as a line is drawn.
_LINE_POINTS = 48


@dataclass(frozen=True)
class Tested:
    """One run on one drive, or one that came to nothing.

    Attributes:
        drive: how it is named: its serial, else what else is known.
        labels: what may be a place: its host and how it was cooled; and all that the user gave.
        findings: None without a readable recording.
        state: ``finished``, or what else became of it, and `why`.
        line: throughput over the first step, in MB/s at equal distances.
    """

    host: str | None
    drive: str
    serial: str | None
    model: str | None
    firmware: str | None
    labels: Mapping[str, str]
    recording: str | None
    state: str
    why: str | None
    protocol: str | None = None
    findings: RecordingFindings | None = None
    rows: Sequence[Row] = ()
    line: Sequence[float] = ()

    @property
    def is_finished(self) -> bool:
        """Whether it ran to its end, and left a recording that can be judged."""
        return self.state == _FINISHED and self.findings is not None


class _Test(BaseModel):
    host: str | None = None
    on: str | None = None
    serial: str | None = None
    labels: dict[str, Label] = {}
    state: str = "unknown"
    why: str | None = None
    directory: str | None = None


class _Rack(BaseModel):
    run: str | None = None
    protocol: str | None = None
    tests: list[_Test] = []


@dataclass
class Results:
    """All tests of a rack.

    Attributes:
        run: the id of ``heatsoak rack run``; None for recordings alone.
    """

    tests: list[Tested] = field(default_factory=list)
    run: str | None = None


def read_results(
    directories: Sequence[Path], progress: Progress, on_damaged: Callable[[UsageError], None]
) -> Results:
    """Judge all recordings below the directories, and add the tests that left none.

    `on_damaged` gets the error of each recording that cannot be read. Raises UsageError if there is
    no test at all, or a `rack.json` is damaged.
    """
    listed = {directory: _listed(directory) for directory in directories}
    found = [
        (directory, name, path)
        for directory in directories
        for name, path in recordings_below(directory)
        if not any(part.startswith(".") for part in Path(name).parts)  # not collected as a whole
    ]
    rack = Results(run=next((one.run for one in listed.values() if one and one.run), None))
    known: set[tuple[Path, str]] = set()
    for number, (directory, name, path) in enumerate(found):
        progress(number / len(found), f"judging {name}")
        told = _told_of(name, listed[directory])
        try:
            rack.tests.append(_tested(path, told))
        except UsageError as error:
            on_damaged(error)
            rack.tests.append(_without(told or _Test(on=name), "damaged", str(error)))
        if told is not None:
            known.add((directory, told.directory or ""))
    for directory, rack_file in listed.items():
        for test in rack_file.tests if rack_file else []:
            if test.directory is None or (directory, test.directory) not in known:
                rack.tests.append(_without(test, test.state, test.why))
    if not rack.tests:
        raise UsageError(
            f"{directories[0]}: has no recording in it, nor a {RACK} of heatsoak rack run"
        )
    return rack


def _listed(directory: Path) -> _Rack | None:
    path = directory / RACK
    try:
        return _Rack.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise UsageError(f"{directory}: is not a directory of recordings") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise UsageError(f"{path}: is damaged: {where or 'it'}: {first['msg']}") from error


def _told_of(name: str, rack: _Rack | None) -> _Test | None:
    """What the rack's file says of a recording: its directory is the test's, or below it."""
    for test in rack.tests if rack else []:
        place = Path(test.directory).as_posix() if test.directory is not None else None
        if place is not None and (name == place or name.startswith(f"{place}/")):
            return test
    return None


def _without(test: _Test, state: str, why: str | None) -> Tested:
    """A test that left nothing that could be judged."""
    if state == _FINISHED:
        state, why = "lost", why or "its recording is not there"
    labels = _labels(test.labels, test.host)
    serial = printable(test.serial or _id_in(test.on) or "") or None
    host = labels.get(HOST)
    where = ", ".join(printable(one) for one in (test.on, host) if one)
    return Tested(
        host=host,
        drive=serial or where or "unnamed drive",
        serial=serial,
        model=None,
        firmware=None,
        labels=labels,
        recording=None,
        state=printable(state),
        why=printable(why) if why else None,
    )


def _id_in(on: str | None) -> str | None:
    """A drive's serial or other id, where the test was asked for by that and not by a path."""
    return None if on is None or "/" in on or ":" in on else on


def _tested(path: Path, test: _Test | None) -> Tested:
    recording = Recording.open(path)
    recording.require_loadable()
    recording = divided(recording)
    meta = recording.meta
    (judged,) = analyze([recording]).recordings
    summaries = summaries_of(recording, judged)
    first = summaries[0]
    labels = _labels(meta.conditions, test.host if test else None)
    told = (first["serial"], test.serial if test else None, labels.get("serial"))
    serial = next((printable(one) for one in told if one), None)
    host = labels.get(HOST)
    state, why = str(meta.status), meta.reason
    if meta.status == "running":
        state, why = "interrupted", "the recording was cut short, or is still running"
    if test is not None and test.state != _FINISHED:
        state, why = test.state, test.why or why
    rows = rows_of(summaries)
    return Tested(
        host=host,
        drive=serial or _nameless(first["drive"], labels),
        serial=serial,
        model=first["model"],
        firmware=first["firmware"],
        labels=labels,
        recording=recording.path_text,
        state=printable(state),
        why=printable(why) if why else None,
        protocol=printable(meta.protocol.name),
        findings=judged,
        rows=rows,
        line=_line(recording, rows[0].step) if rows else (),
    )


def _line(recording: Recording, step: str) -> list[float]:
    """Throughput over a step: means of equal parts of its time; none where no bytes were logged."""
    rates = [name for name in ("read_bw_mb_s", "write_bw_mb_s") if name in recording.meta.columns]
    if not rates:
        return []
    t_s, first, last = pl.col("t_s"), pl.col("t_s").min(), pl.col("t_s").max()
    part = ((t_s - first) / (last - first) * _LINE_POINTS).floor().clip(0, _LINE_POINTS - 1)
    found = (
        recording.scan(["t_s", "step", *rates])
        .filter(pl.col("step") == step)
        .with_columns(part.alias("part"), pl.sum_horizontal(rates).alias("rate"))
        .group_by("part")
        .agg(pl.col("rate").mean())
        .sort("part")
        .collect()
    )
    return [round(rate) for rate in found["rate"] if rate is not None and math.isfinite(rate)]


def _nameless(drive: str, labels: Mapping[str, str]) -> str:
    """A drive without a serial is another one wherever it stands."""
    places = [f"{key} {value}" for key, value in labels.items() if is_place(key)]
    return ", ".join([drive, *places])


def _labels(conditions: Mapping[str, Label], host: str | None) -> dict[str, str]:
    told = {HOST: host, **conditions} if host else dict(conditions)
    return {
        printable(name): printable(str(value).lower() if isinstance(value, bool) else str(value))
        for name, value in told.items()
        if name not in REPETITIONS
    }


def is_place(label: str) -> bool:
    """Whether a label says where a drive ran: in which host, or how it was cooled."""
    return label == HOST or kind_of_condition(label) == "cooling"
