"""The names of recordings among others, and which of them have the same conditions."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from heatsoak.protocol import REPETITIONS, Label
from heatsoak.protocol.conditions import drive_name, label_of
from heatsoak.recording import Recording
from heatsoak.words import said

DRIVE = "drive"
#: The simulated place, which stands for conditions.
ENCLOSURE = "enclosure"


@dataclass(frozen=True)
class Named:
    """A recording with its name among others.

    Attributes:
        label: what distinguishes it from the others; runs in the same conditions are numbered.
        setting: the same without the run's number.
        color: the number of its conditions, from 0.
        conditions: its own, and the drive if there are several.
    """

    recording: Recording
    label: str
    setting: str
    color: int
    conditions: dict[str, Label]


@dataclass(frozen=True)
class Names:
    """Recordings that are looked at together.

    Attributes:
        keys: the conditions in which they differ, in the order of their protocols' axes; ``drive``
            last, if there are several.
    """

    recordings: list[Named]
    keys: list[str]

    @property
    def settings(self) -> list[str]:
        """What the colours mean, in order."""
        return list({one.color: one.setting for one in self.recordings}.values())


def names_of(recordings: Sequence[Recording]) -> Names:
    """Return the recordings with their names."""
    drives = _drives(recordings)
    conditions = [
        {**recording.meta.conditions, **({DRIVE: drive} if len(set(drives)) > 1 else {})}
        for recording, drive in zip(recordings, drives, strict=True)
    ]
    keys = _differing(conditions)
    files = _files_of(recordings)
    # one without the conditions in which the others differ has a name too
    labels = [
        label_of(each, keys) or _without_keys(recording, file)
        for each, recording, file in zip(conditions, recordings, files, strict=True)
    ]
    # labels may be shortened, settings are not
    settings = [tuple(str(each.get(key)) for key in keys) for each in conditions]
    if not keys:
        labels = [_without_keys(*each) for each in zip(recordings, files, strict=True)]
        settings = [(str(file),) for file in files]
    colors = {setting: number for number, setting in enumerate(dict.fromkeys(settings))}
    runs = [
        (setting, recording.meta.protocol.name)
        for setting, recording in zip(settings, recordings, strict=True)
    ]
    named, repeats, seen = [], Counter(runs), Counter[tuple[tuple[str, ...], str]]()
    for number, (recording, known) in enumerate(zip(recordings, conditions, strict=True)):
        setting, run = labels[number], runs[number]
        seen[run] += 1
        label = f"{setting}, run {seen[run]}" if repeats[run] > 1 else setting
        named.append(Named(recording, label, setting, colors[settings[number]], known))
    return Names(_unlike(named), keys)


def _unlike(named: Sequence[Named]) -> list[Named]:
    """Number those whose names are the same although they are not: names are shortened."""
    labels, seen = Counter(one.label for one in named), Counter[str]()
    # the same setting under two protocols never shares a chart, but may share a list
    found = []
    for one in named:
        seen[one.label] += 1
        mark = f" ({seen[one.label]})" if labels[one.label] > 1 else ""
        found.append(replace(one, label=one.label + mark, setting=one.setting + mark))
    return found


def _drives(recordings: Sequence[Recording]) -> list[str]:
    """The drives' names; with serials if only these distinguish two drives."""
    drives = [recording.meta.drive for recording in recordings]
    names = [drive_name(drive) for drive in drives]
    serials = {(name, drive.get("serial")) for name, drive in zip(names, drives, strict=True)}
    copies = {name for name, count in Counter(name for name, _ in serials).items() if count > 1}
    return [
        f"{name} {drive['serial']}" if name in copies and drive.get("serial") else name
        for name, drive in zip(names, drives, strict=True)
    ]


def _differing(conditions: Sequence[dict[str, Label]]) -> list[str]:
    found = dict.fromkeys(key for each in conditions for key in each if key not in REPETITIONS)
    keys = [key for key in found if len({str(each.get(key)) for each in conditions}) > 1]
    # a simulated place implies conditions: if those distinguish all recordings, it adds nothing
    others = [key for key in keys if key != ENCLOSURE]
    return others if _apart(conditions, others) == _apart(conditions, keys) else keys


def _apart(conditions: Sequence[dict[str, Label]], keys: Sequence[str]) -> int:
    """How many sets of conditions these keys distinguish."""
    return len({tuple(str(each.get(key)) for key in keys) for each in conditions})


def _without_keys(recording: Recording, file: str | None) -> str:
    """A name if conditions distinguish nothing: logs are named after their `file`."""
    if file is not None:
        return said(file)
    meta = recording.meta
    # a simulated place implies the others, where there are others
    keys = [key for key in meta.conditions if key != ENCLOSURE] or list(meta.conditions)
    return label_of(meta.conditions, keys) or drive_name(meta.drive)


def _files_of(recordings: Sequence[Recording]) -> list[str | None]:
    """The names of logs' files, behind their directories' where others have the same."""
    paths = [recording.path for recording in recordings]
    files = Counter(path.stem for path in dict.fromkeys(paths))
    return [
        None
        if not recording.meta.protocol.is_observed
        else f"{path.absolute().parent.name}/{path.stem}"
        if files[path.stem] > 1
        else path.stem or str(path)
        for recording, path in zip(recordings, paths, strict=True)
    ]
