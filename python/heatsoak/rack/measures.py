"""What is compared of a rack: a row for each judged step of each recording, and what came to none.

The rows are those that `heatsoak history` keeps.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import BaseModel, ValidationError

from heatsoak.analysis import RecordingFindings, analyze
from heatsoak.errors import UsageError
from heatsoak.history.index import recordings_below
from heatsoak.history.summaries import summaries_of
from heatsoak.importer import divided
from heatsoak.output import Progress, printable
from heatsoak.protocol import REPETITIONS, Label, kind_of_condition
from heatsoak.recording import Recording

#: What ``heatsoak rack run`` says of its tests.
RACK = "rack.json"
HOST = "host"
_FINISHED = "finished"
#: As wide as a line is drawn.
_LINE_POINTS = 48

Unit = Literal["%", "pp", "K"]


@dataclass(frozen=True)
class Measure:
    """A quantity by which drives are compared.

    Attributes:
        name: in a sentence.
        is_ratio: whether drives differ by a factor, so that its logarithm is compared.
        resolution: no value is known better, in what is compared.
        smallest: a smaller deviation is not worth naming; the same.
    """

    id: str
    name: str
    unit: Unit
    worse: Literal["low", "high"]
    is_ratio: bool
    resolution: float
    smallest: float

    def compared(self, value: float) -> float:
        """Return what is compared of a value."""
        return math.log(value) if self.is_ratio else value

    def shown(self, effect: float) -> float:
        """Return an effect in `unit`."""
        return 100 * math.expm1(effect) if self.is_ratio else effect


#: A rate differs if it differs by 2 %, as where an episode begins (`analysis.definitions`);
#: drives report whole degrees.
MEASURES = (
    Measure("mean_mb_s", "mean speed", "%", "low", True, 1e-4, 0.02),
    Measure("mean_iops", "mean IOPS", "%", "low", True, 1e-4, 0.02),
    Measure("throttled_mb_s", "speed while throttled", "%", "low", True, 1e-3, 0.02),
    Measure("depth_pct", "depth of its fall", "pp", "high", False, 0.1, 2.0),
    Measure("max_temp_c", "highest temperature", "K", "high", False, 0.3, 1.0),
    Measure("onset_s", "time until it throttles", "%", "low", True, 1e-3, 0.02),
)
#: What only a run that throttles has: it is compared where all do.
OF_THROTTLING = ("throttled_mb_s", "onset_s")


@dataclass(frozen=True)
class Row:
    """A judged step of a recording.

    Attributes:
        alike: the same for the same step after the same steps.
        values: by the id of the measure.
    """

    step: str
    workload: str
    alike: str
    verdict: str
    values: Mapping[str, float]


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
class Rack:
    """All tests of a rack.

    Attributes:
        run: the id of ``heatsoak rack run``; None for recordings alone.
    """

    tests: list[Tested] = field(default_factory=list)
    run: str | None = None


def read_rack(
    directories: Sequence[Path], progress: Progress, on_damaged: Callable[[UsageError], None]
) -> Rack:
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
    rack = Rack(run=next((one.run for one in listed.values() if one and one.run), None))
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
    rows = [_row(one) for one in _last_rounds(summaries)]
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


def _last_rounds(summaries: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The steps that can be compared; of rounds, taken until they are steady, the last."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for row in summaries:
        if row.get("step") is not None and row["is_comparable"]:
            last[row["step"], row["alike"]] = row
    return list(last.values())


def _row(summary: Mapping[str, Any]) -> Row:
    mean, level, depth = (summary[name] for name in ("mean_mb_s", "level", "depth_pct"))
    found = {
        "mean_mb_s": mean,
        "mean_iops": summary.get("iops") if mean is None else None,
        "depth_pct": 0.0 if depth is None and summary["verdict"] == "steady" else depth,
        "max_temp_c": summary["max_temp_c"],
    }
    if summary["cause"] == "thermal" and None not in (mean, level, depth):
        found |= {"throttled_mb_s": level * (1 - depth / 100), "onset_s": summary["onset_s"]}
    return Row(
        step=summary["step"],
        workload=summary["workload"],
        alike=summary["alike"],
        verdict=summary["verdict"],
        values={name: float(one) for name, one in found.items() if _is_usable(name, one)},
    )


def _is_usable(measure: str, value: float | None) -> bool:
    needs_logarithm = any(one.is_ratio for one in MEASURES if one.id == measure)
    return value is not None and math.isfinite(value) and (value > 0 or not needs_logarithm)
