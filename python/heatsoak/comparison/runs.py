"""Recordings as runs in groups: what they are grouped by, and what pairs must share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from heatsoak.analysis.findings import RecordingFindings, StepFindings
from heatsoak.analysis.names import DRIVE
from heatsoak.analysis.view import RecordingView, StepView
from heatsoak.errors import UsageError, suggestion
from heatsoak.facts import table
from heatsoak.identity import numbered
from heatsoak.protocol import REPETITIONS, Label
from heatsoak.recording import Recording, without_copies
from heatsoak.words import listed

#: What recordings can be grouped by, besides their conditions.
MODEL, PROTOCOL, FILE = "model", "protocol", "file"
KEYS = (DRIVE, MODEL, PROTOCOL, FILE)
_BASELINE = "none"
_LOAD = "load"


@dataclass(frozen=True)
class GroupedRun:
    """One recording, and the group that it belongs to.

    Attributes:
        opened: the recording as the judge read it.
        found: what the judge found in it.
        drive: the number of its drive among those that are compared.
        others: what it must share with another run to be paired with it.
        alias: the name used here for its only step, if logs name the same load differently.
    """

    opened: RecordingView
    found: RecordingFindings
    drive: int
    group: Label
    others: dict[str, Label | None]
    alias: str | None = None

    @property
    def recording(self) -> Recording:
        """The recording itself."""
        return self.opened.recording

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.recording.path_text

    @property
    def protocol(self) -> str:
        """The protocol's name, or the kind of log it was imported from."""
        return self.recording.meta.protocol.name

    @cached_property
    def judged(self) -> dict[str, StepFindings]:
        """What its steps show, by name, without steps in rounds, whose number varies."""
        return {self.alias or step.step: step for step in self.found.steps if step.rounds is None}

    @cached_property
    def views(self) -> dict[str, StepView]:
        """Its judged steps with rates, by name; one that has begun since is left out."""
        named = {self.alias or view.step.name: view for view in self.opened.views if view.has_rates}
        return {name: view for name, view in named.items() if name in self.judged}

    @cached_property
    def scores(self) -> dict[str, dict[str, table.Measure]]:
        """The measures of each score that has a value, by score and metric name."""
        return {
            score.name: table.score_measures(score)
            for score in self.found.scores
            if score.value is not None
        }

    @cached_property
    def measures(self) -> dict[str, dict[str, table.Measure]]:
        """The measures of each step, by step and metric name."""
        return {
            name: table.measures_of(view, self.judged[name]) for name, view in self.views.items()
        }


def drive_label(drive: dict[str, Any], *, with_serial: bool = True) -> str:
    """Return a drive's name for people; copies of a model differ by their serial."""
    name = str(drive.get("model") or drive.get("path") or "unnamed drive")
    serial = drive.get("serial")
    simulated = " (simulated)" if drive.get("simulated") else ""
    return f"{name}{f' {serial}' if serial and with_serial else ''}{simulated}"


def group_runs(
    opened: Sequence[RecordingView], found: Sequence[RecordingFindings], by: str
) -> tuple[list[GroupedRun], list[str]]:
    """Return the recordings that have a value of `by`, as runs, and notes on the others.

    `found` is what they show, in the same order. A recording that is given twice counts once.
    Raises UsageError if none has it.
    """
    once: dict[object, tuple[RecordingView, RecordingFindings]] = {}
    for judged in zip(opened, found, strict=True):
        once.setdefault(judged[0].recording.run, judged)
    given, notes = without_copies([view.recording for view in opened])
    if not given:
        raise UsageError("nothing to compare: name recordings, or directories of them")
    group_of = {id(recording): _group(recording, by) for recording in given}
    if by == FILE:
        group_of = _files(given)
    known = [r for r in given if group_of[id(r)] is not None]
    if not known:
        keys = sorted({key for r in given for key in r.meta.conditions} | set(KEYS))
        raise UsageError(
            f"--by {by}: no recording has the condition '{by}'{suggestion(by, keys)}: "
            f"there are {', '.join(keys)}"
        )
    left_out = [recording.path_text for recording in given if recording not in known]
    if left_out:
        notes.append(f"left out, without a condition '{by}': {listed(left_out, 3)}")
    # a drive may be called by other words in another recording of it
    names: dict[int, str] = {}
    drives = numbered([recording.identity for recording in known])
    others = [
        _others(recording, by, names.setdefault(drive, drive_label(recording.meta.drive)))
        for drive, recording in zip(drives, known, strict=True)
    ]
    # a condition that only one recording states is a difference too
    keys = list(dict.fromkeys(key for labels in others for key in labels))
    runs = [
        GroupedRun(*once[recording.run], drive, group, {key: labels.get(key) for key in keys})
        for drive, recording, labels in zip(drives, known, others, strict=True)
        if (group := group_of[id(recording)]) is not None
    ]
    return _with_aliases(runs), notes


def choose_baseline(
    runs: Sequence[GroupedRun], by: str, wanted: str | None
) -> tuple[Label, list[str]]:
    """Return the group that the others are compared with, and a note if it is a default.

    Raises UsageError if no recording has `wanted`, or if there is only one group.
    """
    groups = list(dict.fromkeys(run.group for run in runs))
    names = [str(group) for group in groups]
    if wanted is not None:
        matching = [g for g in groups if str(g).casefold() == wanted.casefold()]
        if not matching:
            raise UsageError(
                f"--baseline {wanted}: no recording has {by} '{wanted}'"
                f"{suggestion(wanted, names)}: there are {', '.join(names)}"
            )
    if len(groups) == 1:
        raise UsageError(
            f"--by {by}: all recordings have {by} '{groups[0]}': add one with another value"
        )
    if wanted is not None:
        return matching[0], []
    for group in groups:
        if str(group).casefold() == _BASELINE:
            return group, []
    return groups[0], [
        f"compared with {by} '{groups[0]}', the first one given; --baseline chooses another"
    ]


def _with_aliases(runs: list[GroupedRun]) -> list[GroupedRun]:
    """Logs with one load each are taken as the same load, whatever their files are called."""
    logged = [r for r in runs if r.recording.meta.protocol.is_observed]
    names = {step.name for r in logged for step in r.recording.meta.protocol.workload_steps}
    if len(names) < 2 or any(len(r.recording.meta.protocol.workload_steps) > 1 for r in logged):
        return runs
    return [replace(run, alias=_LOAD) if run in logged else run for run in runs]


def _group(recording: Recording, by: str) -> Label | None:
    meta = recording.meta
    if by == DRIVE:
        return drive_label(meta.drive)
    if by == MODEL:
        return drive_label(meta.drive, with_serial=False)
    return meta.protocol.name if by == PROTOCOL else meta.conditions.get(by)


def _files(recordings: Sequence[Recording]) -> dict[int, Label | None]:
    """The names of recordings and logs, with their directories where only these differ."""
    names = [recording.path.stem for recording in recordings]
    paths = [recording.path_text for recording in recordings]
    is_unique = len(set(names)) == len(set(paths))
    return {
        id(recording): name if is_unique else path
        for recording, name, path in zip(recordings, names, paths, strict=True)
    }


def _others(recording: Recording, by: str, drive: str) -> dict[str, Label | None]:
    """What a recording must share with another to be paired with it."""
    meta = recording.meta
    others: dict[str, Label | None] = {
        key: value
        for key, value in meta.conditions.items()
        if by != FILE and key != by and key not in REPETITIONS
    }
    if by not in (DRIVE, MODEL):
        others[DRIVE] = drive
    if by != PROTOCOL:
        others[PROTOCOL] = meta.protocol.name
    return others
