"""Reads what a rack's tests left: recordings, and in `rack.json` the tests that left none.

It also says which labels of a test are its place, and what drives are compared by: measures, and
their values in each judged step, which are those that `heatsoak history` keeps.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from heatsoak import output
from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.judge import read_and_judge
from heatsoak.analysis.names import ENCLOSURE
from heatsoak.analysis.view import RecordingView
from heatsoak.errors import UsageError, suggestion
from heatsoak.facts.table import summaries_of
from heatsoak.history.index import recordings_below
from heatsoak.importer import divided
from heatsoak.protocol import REPETITIONS, Label, kind_of_condition, label_text
from heatsoak.rack import state
from heatsoak.recording import Recording, without_copies
from heatsoak.words import listed, plain

HOST = "host"
_FINISHED = "finished"
#: As wide as a line is drawn.
_LINE_POINTS = 48


Unit = Literal["%", "pp", "K"]


@dataclass(frozen=True)
class DriveMeasure:
    """A quantity by which drives are compared.

    Attributes:
        name: in a sentence.
        unit: of what drives differ by; `value_unit` is that of values.
        is_ratio: whether drives differ by a factor, so that its logarithm is compared.
        resolution: no value is known better, in what is compared.
        smallest: a smaller deviation is not worth naming; the same.
    """

    id: str
    name: str
    unit: Unit
    value_unit: str
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
    DriveMeasure("mean_mb_s", "mean speed", "%", "MB/s", "low", True, 1e-4, 0.02),
    DriveMeasure("mean_iops", "mean IOPS", "%", "IOPS", "low", True, 1e-4, 0.02),
    DriveMeasure("throttled_mb_s", "speed while throttled", "%", "MB/s", "low", True, 1e-3, 0.02),
    DriveMeasure("depth_pct", "depth of its fall", "pp", "%", "high", False, 0.1, 2.0),
    DriveMeasure("max_temp_c", "highest temperature", "K", "C", "high", False, 0.3, 1.0),
    DriveMeasure("onset_s", "time until it throttles", "%", "s", "low", True, 1e-3, 0.02),
)
#: What only a run that throttles has: it is compared where all do.
OF_THROTTLING = ("throttled_mb_s", "onset_s")


@dataclass(frozen=True)
class StepRow:
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


def rows_of(summaries: Sequence[dict[str, Any]]) -> list[StepRow]:
    """Return the steps that can be compared; of rounds, taken until they are steady, the last."""
    last: dict[tuple[str, str], dict[str, Any]] = {}
    for summary in summaries:
        if summary.get("step") is not None and summary["is_comparable"]:
            last[summary["step"], summary["alike"]] = summary
    return [_row(one) for one in last.values()]


def _row(summary: Mapping[str, Any]) -> StepRow:
    mean, level, depth = (summary[name] for name in ("mean_mb_s", "level", "depth_pct"))
    found = {
        "mean_mb_s": mean,
        "mean_iops": summary.get("iops") if mean is None else None,
        "depth_pct": 0.0 if depth is None and summary["verdict"] == "steady" else depth,
        "max_temp_c": summary["max_temp_c"],
    }
    if summary["cause"] == "thermal" and None not in (mean, level, depth):
        found |= {"throttled_mb_s": level * (1 - depth / 100), "onset_s": summary["onset_s"]}
    return StepRow(
        step=summary["step"],
        workload=summary["workload"],
        alike=summary["alike"],
        verdict=summary["verdict"],
        values={name: float(one) for name, one in found.items() if _is_usable(name, one)},
    )


def _is_usable(measure: str, value: float | None) -> bool:
    needs_logarithm = any(one.is_ratio for one in MEASURES if one.id == measure)
    return value is not None and math.isfinite(value) and (value > 0 or not needs_logarithm)


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
    labels: Mapping[str, str]
    state: str
    why: str | None
    model: str | None = None
    firmware: str | None = None
    recording: str | None = None
    protocol: str | None = None
    findings: RecordingFindings | None = None
    rows: Sequence[StepRow] = ()
    line: Sequence[float] = ()

    @property
    def is_finished(self) -> bool:
        """Whether it ran to its end, and left a recording that can be judged."""
        return self.state == _FINISHED and self.findings is not None


@dataclass
class Results:
    """All tests of a rack.

    Attributes:
        run: the id of ``heatsoak rack run``; None for recordings alone.
    """

    tests: list[Tested] = field(default_factory=list)
    run: str | None = None


def read_results(
    directories: Sequence[Path], progress: output.Progress, on_damaged: Callable[[UsageError], None]
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
    runs: list[Recording] = []
    rack = Results(run=next((one.run for one in listed.values() if one), None))
    known: set[tuple[Path, str]] = set()
    for number, (directory, name, path) in enumerate(found):
        progress(number / len(found), f"judging {name}")
        told = _told_of(name, listed[directory])
        try:
            recording = Recording.open(path)
            runs, copies = without_copies([*runs, recording])
            if not copies:
                rack.tests.append(_tested(recording, told))
            for text in copies:
                output.announce(text)
        except UsageError as error:
            on_damaged(error)
            host, on, labels = (told.host, told.on, told.labels) if told else (None, name, {})
            rack.tests.append(_without(host, on, labels, "damaged", str(error)))
        if told is not None:
            known.add((directory, told.directory or ""))
    for directory, rack_file in listed.items():
        for test in rack_file.tests if rack_file else []:
            if test.directory is None or (directory, test.directory) not in known:
                rack.tests.append(_without(test.host, test.on, test.labels, test.state, test.why))
    if not rack.tests:
        raise UsageError(
            f"{directories[0]}: has no recording in it, nor a {state.NAME} of heatsoak rack run"
        )
    return rack


def _listed(directory: Path) -> state.Rack | None:
    if directory.is_file():
        raise UsageError(f"{directory}: is not a directory of recordings")
    return state.load_rack(directory) if (directory / state.NAME).exists() else None


def _told_of(name: str, rack: state.Rack | None) -> state.Row | None:
    """What the rack's file says of a recording: its directory is the test's, or below it."""
    for test in rack.tests if rack else []:
        place = Path(test.directory).as_posix() if test.directory is not None else None
        if place is not None and (name == place or name.startswith(f"{place}/")):
            return test
    return None


def _without(
    host: str | None, on: str, given: Mapping[str, Label], became: str, why: str | None
) -> Tested:
    """A test that left nothing that could be judged, and what `became` of it."""
    if became == _FINISHED:
        became, why = "lost", why or "its recording is not there"
    labels = _labels(given, host)
    # asked for by a serial or another id, and not by a path
    serial = None if "/" in on or ":" in on else output.printable(on)
    return Tested(
        host=labels.get(HOST),
        drive=serial or ", ".join(filter(None, (output.printable(on), labels.get(HOST)))),
        serial=serial,
        labels=labels,
        state=became,
        why=output.printable(why) if why else None,
    )


def _tested(recording: Recording, test: state.Row | None) -> Tested:
    recording.require_loadable()
    recording = divided(recording)
    meta = recording.meta
    (opened,), found = read_and_judge([recording])
    (judged,) = found.recordings
    summaries = summaries_of(opened, judged)
    first = summaries[0]
    labels = _labels(meta.conditions, test.host if test else None)
    serial = next(
        (output.printable(one) for one in (first["serial"], labels.get("serial")) if one), None
    )
    host = labels.get(HOST)
    became, why = str(meta.status), meta.reason
    if meta.status == "running":
        became, why = "interrupted", "the recording was cut short, or is still running"
    if test is not None and test.state != _FINISHED:
        became, why = test.state, test.why or why
    rows = rows_of(summaries)
    return Tested(
        host=host,
        drive=serial or _nameless(first["drive"], labels),
        serial=serial,
        model=first["model"],
        firmware=first["firmware"],
        labels=labels,
        recording=recording.path_text,
        state=became,
        why=output.printable(why) if why else None,
        protocol=output.printable(meta.protocol.name),
        findings=judged,
        rows=rows,
        line=_line(opened, rows[0].step) if rows else (),
    )


def _line(opened: RecordingView, step: str) -> list[float]:
    """Throughput over a step: means of equal parts of its time; none where no bytes were logged."""
    rates = next((view.throughput for view in opened.views if view.step.name == step), None)
    if rates is None or rates.unit != "mb_s":
        return []
    means = rates.means(np.linspace(0.0, rates.duration_s, _LINE_POINTS + 1))
    return [round(rate) for rate in means.tolist() if math.isfinite(rate)]


def _nameless(drive: str, labels: Mapping[str, str]) -> str:
    """A drive without a serial is another one wherever it stands."""
    places = [f"{key} {value}" for key, value in labels.items() if is_place(key)]
    return ", ".join([drive, *places])


def _labels(conditions: Mapping[str, Label], host: str | None) -> dict[str, str]:
    told = {HOST: host, **conditions} if host else dict(conditions)
    return {
        output.printable(name): output.printable(label_text(value))
        for name, value in told.items()
        if name not in REPETITIONS
    }


def is_place(label: str) -> bool:
    """Whether a label says where a drive ran: in which host, or how it was cooled."""
    return label == HOST or kind_of_condition(label) == "cooling"


#: Where a test lacks a label that others have.
_NOT_TOLD = "not told"


def place_labels(tests: Sequence[Tested], wanted: Sequence[str] = ()) -> list[str]:
    """Return the labels that are the place: those wanted, else host and cooling where they vary.

    Raises UsageError for a label that no test has.
    """
    known = list(dict.fromkeys(label for one in tests for label in one.labels))
    for label in wanted:
        if label not in known:
            there = f"there is {listed(known)}" if known else "there is none"
            raise UsageError(
                f"--by-place {label}: no recording has such a label"
                f"{suggestion(label, known)}: {there}"
            )
    if wanted:
        return list(dict.fromkeys(wanted))
    varying = [one for one in known if is_place(one) and len({_of(t, one) for t in tests}) > 1]
    # a simulated place is known by what it stands for
    return sorted([one for one in varying if one != ENCLOSURE] or varying, key=_host_first)


def _host_first(label: str) -> tuple[bool, str]:
    return label != "host", label


def _of(test: Tested, label: str) -> str:
    return test.labels.get(label, _NOT_TOLD)


def columns_of(tests: Sequence[Tested], labels: Sequence[str]) -> dict[str, list[str]]:
    """Return the place of each test by label; labels that always change together are one."""
    found: dict[str, list[str]] = {}
    for label in labels:
        column = [_of(one, label) for one in tests]
        same = next((name for name, other in found.items() if _is_same(column, other)), None)
        if same is None:
            found[label] = column
        else:
            both = [", ".join(pair) for pair in zip(found[same], column, strict=True)]
            found = {(f"{k} and {label}" if k == same else k): v for k, v in found.items()}
            found[f"{same} and {label}"] = both
    return {name: column for name, column in found.items() if len(set(column)) > 1}


def _is_same(a: Sequence[str], b: Sequence[str]) -> bool:
    return len(set(a)) == len(set(b)) == len(set(zip(a, b, strict=True)))


def where(tests: Sequence[Tested], labels: Sequence[str]) -> str:
    """Return where a drive ran: ``host b2, slot 3``, or ``4 places``."""
    places = {_in_words(one.labels, labels) for one in tests}
    return places.pop() if len(places) == 1 else f"{len(places)} places"


def _in_words(of: Mapping[str, str], labels: Sequence[str]) -> str:
    return ", ".join(f"{plain(label)} {of[label]}" for label in labels if label in of)
