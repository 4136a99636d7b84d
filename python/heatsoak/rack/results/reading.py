"""Reads what a rack's tests left: recordings, and in `rack.json` the tests that left none.

It also says which labels of a test are its place, and what drives are compared by: measures, and
their values in each judged step, which are those that `heatsoak history` keeps.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from heatsoak import output
from heatsoak.analysis import RecordingFindings
from heatsoak.analysis.definitions import METRICS, Metric
from heatsoak.analysis.judge import read_and_judge
from heatsoak.analysis.names import ENCLOSURE
from heatsoak.analysis.view import RecordingView
from heatsoak.errors import UsageError, suggestion
from heatsoak.facts import table
from heatsoak.history.index import recordings_below
from heatsoak.importer import divided
from heatsoak.protocol import REPETITIONS, Label, kind_of_condition, label_text
from heatsoak.rack import state
from heatsoak.recording import Recording, without_copies
from heatsoak.report.rack import RackTestResult
from heatsoak.words import listed, plain

HOST = "host"
_FINISHED = "finished"
#: States of tests that `heatsoak rack run` knows besides the plain ones.
_STATES = {
    "absent": "was not started",
    "starting": "was not started yet",
    "ready": "waits to begin",
    "running": "is still running",
    "cut": "was cut short",
}
#: As wide as a line is drawn.
_LINE_POINTS = 48


#: What drives are compared by, as results call it.
MEASURES = {
    "mean_mb_s": METRICS["mean_mb_s"],
    "mean_iops": METRICS["mean_iops"],
    "throttled_mb_s": Metric("throttled_mb_s", "throttled", "MB/s", "higher", resolution=0.001),
    "depth_pct": METRICS["depth_pct"],
    "max_temp_c": METRICS["temp_max_c"],
    "onset_s": METRICS["onset_s"],
}
#: What only a run that throttles has: it is compared where all do.
OF_THROTTLING = ("throttled_mb_s", "onset_s")


def measured(row: Mapping[str, Any]) -> dict[str, float]:
    """Return the measures that a row of `facts.table` has."""
    values = dict(row)
    if values.get("mean_mb_s") is not None:
        values["mean_iops"] = None
    if (row.get("verdict"), row.get("heat")) == ("thermal", "yes"):
        values["throttled_mb_s"] = row.get("low_mb_s")
    else:
        values["onset_s"] = None
    known = {name: values.get(metric.name) for name, metric in MEASURES.items()}
    return {
        name: float(value)
        for name, value in known.items()
        if value is not None
        and math.isfinite(value)
        and (value > 0 or MEASURES[name].scale == "difference")
    }


class Tested(RackTestResult):
    """One run on one drive, or one that came to nothing.

    Attributes:
        findings: None without a readable recording.
        by_step: rows of `facts.table`, by the names of steps in `findings`.
        rows: those of steps that can be compared; of rounds, taken until they are steady, the last.
        line: throughput over the first step, in MB/s at equal distances.
    """

    protocol: str | None = None
    findings: RecordingFindings | None = None
    by_step: Mapping[str, table.Row] = {}
    rows: Sequence[table.Row] = ()
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
    racks = {directory: _listed(directory) for directory in directories}
    rack = Results(run=next((one.run for one in racks.values() if one), None))
    asked = {
        (directory, Path(test.directory)): test
        for directory, told_by in racks.items()
        for test in (told_by.tests if told_by else [])
        if test.directory is not None
    }
    opened: list[Recording] = []
    told: dict[Path, tuple[str, state.Row | None]] = {}

    def leave_out(path: Path, error: UsageError) -> None:
        on_damaged(error)
        name, test = told[path]
        host, on, labels = (test.host, test.on, test.labels) if test else (None, name, {})
        rack.tests.append(_without(host, on, labels, "damaged", str(error)))

    for directory in directories:
        for name, path in recordings_below(directory):
            if any(part.startswith(".") for part in Path(name).parts):
                continue  # not collected as a whole
            above = [(directory, one) for one in (Path(name), *Path(name).parents[:-1])]
            told[path] = name, next((asked[one] for one in above if one in asked), None)
            try:
                opened.append(Recording.open(path))
            except UsageError as error:
                leave_out(path, error)
    runs, copies = without_copies(opened)
    for text in copies:
        output.announce(text)
    for number, recording in enumerate(runs):
        name, test = told[recording.path]
        progress(number / len(runs), f"judging {name}")
        try:
            rack.tests.append(_tested(recording, test))
        except UsageError as error:
            leave_out(recording.path, error)
    seen = {id(test) for _, test in told.values()}
    for told_by in filter(None, racks.values()):
        for test in told_by.tests:
            if id(test) not in seen:
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
        model=None,
        firmware=None,
        labels=labels,
        recording=None,
        state=became,
        why=_unfinished(became, why),
        values={},
    )


def _unfinished(became: str, why: str | None) -> list[str]:
    """What is wrong with a test that came to this."""
    if became == _FINISHED:
        return []
    what = _STATES.get(became, became)
    return [f"{what}: {output.printable(why)}" if why else what]


def _tested(recording: Recording, test: state.Row | None) -> Tested:
    recording.require_loadable()
    recording = divided(recording)
    meta = recording.meta
    (opened,), found = read_and_judge([recording])
    (judged,) = found.recordings
    by_step = table.rows_of(opened, judged)
    first = table.whose(recording)
    labels = _labels(meta.conditions, test.host if test else None)
    serial = next(filter(None, (first["serial"], labels.get("serial"))), None)
    became, why = str(meta.status), meta.reason
    if meta.status == "running":
        became, why = "interrupted", "the recording was cut short, or is still running"
    if test is not None and test.state != _FINISHED:
        became, why = test.state, test.why or why
    rows = {(row["step"], row["alike"]): row for row in by_step.values() if row["is_comparable"]}
    values: dict[str, dict[str, float]] = {}
    for row in rows.values():
        values.setdefault(row["step"], {}).update(measured(row))
    return Tested(
        host=labels.get(HOST),
        drive=serial or _nameless(first["drive"], labels),
        serial=serial,
        **{key: first[key] for key in ("model", "firmware", "size_bytes", "started_unix_s")},
        labels=labels,
        recording=recording.path_text,
        state=became,
        why=_unfinished(became, why),
        values=values,
        protocol=output.printable(meta.protocol.name),
        findings=judged,
        by_step=by_step,
        rows=list(rows.values()),
        line=_line(opened, next(iter(values))) if values else (),
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
    known = [one for one in varying if one != ENCLOSURE] or varying
    return sorted(known, key=lambda label: (label != HOST, label))


def _of(test: Tested, label: str) -> str:
    return test.labels.get(label, _NOT_TOLD)


def columns_of(tests: Sequence[Tested], labels: Sequence[str]) -> dict[str, list[str]]:
    """Return the place of each test by label; labels that always change together are one."""
    alike: dict[tuple[int, ...], list[str]] = {}
    for label in labels:
        order: dict[str, int] = {}
        numbers = tuple(order.setdefault(_of(one, label), len(order)) for one in tests)
        if len(order) > 1:
            alike.setdefault(numbers, []).append(label)
    return {
        " and ".join(names): [", ".join(_of(one, name) for name in names) for one in tests]
        for names in alike.values()
    }


def where(tests: Sequence[Tested], labels: Sequence[str]) -> str:
    """Return where a drive ran: ``host b2, slot 3``, or ``4 places``."""
    places = {
        ", ".join(f"{plain(one)} {test.labels[one]}" for one in labels if one in test.labels)
        for test in tests
    }
    return places.pop() if len(places) == 1 else f"{len(places)} places"
