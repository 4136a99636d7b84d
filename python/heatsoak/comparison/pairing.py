"""Which runs are compared with which: the same step in the same other conditions."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import polars as pl

from heatsoak.analysis.course import end_of
from heatsoak.analysis.likeness import differences
from heatsoak.analysis.names import DRIVE, ENCLOSURE
from heatsoak.comparison.runs import FILE, MODEL, PROTOCOL, GroupedRun, drive_label
from heatsoak.facts.table import Measure
from heatsoak.protocol import Label, Protocol, ScoreRule, kind_of_condition
from heatsoak.words import share_text, temp_text

#: Keys that naturally differ along with what is compared; what matters in them is checked
#: elsewhere.
_GOES_ALONG = (ENCLOSURE, PROTOCOL)
#: Start temperatures this close are alike.
TOLERANCE_K = 5.0
#: A drive is at rest if it cooled by at most this much in this time.
_REST_K, _REST_S = 1.0, 60.0


@dataclass(frozen=True)
class Stratum:
    """Runs with the same other conditions, including runs of the baseline.

    Attributes:
        model: the drive's model, if several are compared separately; empty otherwise.
    """

    conditions: dict[str, Label | None]
    runs: dict[Label, list[GroupedRun]]
    model: str = ""


@dataclass(frozen=True)
class Pairing:
    """The strata; `notes` say what was not paired, `unlike` what should be the same but is not."""

    strata: list[Stratum]
    notes: list[str]
    unlike: list[str]


def pair(runs: Sequence[GroupedRun], by: str, baseline: Label, *, anyway: bool = False) -> Pairing:
    """Return the runs in strata of equal other conditions.

    If a condition never has the same value in a group and in the baseline, the group cannot be
    paired; with `anyway`, that condition is then ignored for all. An enclosure implies the
    conditions of a simulated place, so it differs along with them.
    """
    keys = list(runs[0].others)
    groups = _grouped(runs)
    notes: list[str] = []
    apart_in: dict[Label, list[str]] = {}
    for key in keys[:]:
        values = {g: dict.fromkeys(run.others[key] for run in of) for g, of in groups.items()}
        apart = [g for g, of in values.items() if of.keys().isdisjoint(values[baseline])]
        if not apart:
            continue
        several = key == DRIVE and _are_several(groups)
        if several or key in _GOES_ALONG or (by == ENCLOSURE and key != DRIVE):
            keys.remove(key)
            if several:
                notes.append(f"different drives with each {by}: intervals cover how drives differ")
            elif key != PROTOCOL:
                said = [f"{group}: {', '.join(map(str, of))}" for group, of in values.items()]
                notes.append(f"{key} differs along with {by}: {'; '.join(said)}")
            continue
        for group in apart:
            apart_in.setdefault(group, []).append(key)
        if anyway:
            keys.remove(key)
    ours = groups.pop(baseline)
    unlike = [_difference(groups[group], ours, them) for group, them in apart_in.items()]
    strata: dict[tuple[Label | None, ...], list[GroupedRun]] = {}
    for run in runs:
        strata.setdefault(tuple(run.others[key] for key in keys), []).append(run)
    kept = []
    for alike in strata.values():
        stratum = _stratum(alike, keys)
        if baseline in stratum.runs and len(stratum.runs) > 1:
            kept.append(stratum)
        elif not stratum.runs.keys() <= apart_in.keys():
            notes += _unpaired(stratum, by, baseline, runs)
    if not kept and not unlike:
        unlike = [_difference(theirs, ours, keys) for theirs in groups.values()]
        if anyway:
            kept, notes = [_stratum(runs, keys)], []
    return Pairing(kept, notes, unlike)


def _grouped(runs: Sequence[GroupedRun]) -> dict[Label, list[GroupedRun]]:
    groups: dict[Label, list[GroupedRun]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(run)
    return groups


def _stratum(runs: Sequence[GroupedRun], keys: Sequence[str]) -> Stratum:
    """Runs as one stratum, however they differ: of these keys, those that are the same in all."""
    values = {key: {run.others[key] for run in runs} for key in keys}
    alike = {key: one.pop() for key, one in values.items() if len(one) == 1}
    return Stratum(alike, _grouped(runs))


def _are_several(groups: Mapping[Label, Sequence[GroupedRun]]) -> bool:
    """Whether each group has several drives, all of one model: how far these differ is told."""
    models = {
        drive_label(run.recording.meta.drive, with_serial=False)
        for runs in groups.values()
        for run in runs
    }
    return len(models) == 1 and all(len({run.drive for run in of}) > 1 for of in groups.values())


def _difference(
    runs: Sequence[GroupedRun], of_baseline: Sequence[GroupedRun], keys: Sequence[str]
) -> str:
    """Name the two recordings that differ least in `keys`, and how."""
    ours, theirs = min(
        product(runs, of_baseline),
        key=lambda two: sum(two[0].others[key] != two[1].others[key] for key in keys),
    )
    said = []
    for key in keys:
        one, two = theirs.others[key], ours.others[key]
        if one != two:
            said.append(
                f"{key} is {'not stated' if one is None else one} and "
                f"{'not stated' if two is None else two}"
            )
    return f"{theirs.name} and {ours.name}: {'; '.join(said)}"


def _unpaired(stratum: Stratum, by: str, baseline: Label, runs: Sequence[GroupedRun]) -> list[str]:
    where = ", ".join(
        f"{key} {'not stated' if value is None else value}"
        for key, value in stratum.conditions.items()
        if len({run.others[key] for run in runs}) > 1
    )
    at = f" with {where}" if where else ""
    names = {group: ", ".join(run.name for run in of) for group, of in stratum.runs.items()}
    if baseline in names:
        return [f"not paired: {names[baseline]}: only {by} '{baseline}' was run{at}"]
    return [f"not paired: {name}: there is no {by} '{baseline}'{at}" for name in names.values()]


@dataclass
class PairedStep:
    """One step of one protocol, or one of its scores.

    Attributes:
        model: the drive's model, if several are compared separately; empty otherwise.
        score: the score, if it is one; `step` is then its name.
        cells: the runs of each group in each stratum, by the stratum's number.
        caveats: how runs that are compared anyway differ.
    """

    protocol: str
    model: str
    step: str
    workload: str = ""
    cells: dict[int, dict[Label, list[GroupedRun]]] = field(default_factory=dict)
    caveats: list[str] = field(default_factory=list)
    score: ScoreRule | None = None

    def measured(self, run: GroupedRun) -> dict[str, Measure]:
        """Return the measures of `run` for it, by metric name."""
        return (run.measures if self.score is None else run.scores).get(self.step, {})


@dataclass
class Unlike:
    """Differences between two recordings, with the steps in which they were found."""

    first: str
    second: str
    found: dict[str, list[str]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def sentence(self) -> str:
        """Return all differences as one line."""
        parts = []
        for text, steps in self.found.items():
            is_everywhere = len(steps) == len(self.steps) and len(steps) > 1
            where = "" if is_everywhere or text.startswith("'") else f" in {_quoted(steps)}"
            parts.append(f"{text}{where}")
        return f"{self.first} and {self.second}: {'; '.join(parts)}"


def find_sections(
    strata: Sequence[Stratum], by: str, baseline: Label, *, anyway: bool = False
) -> tuple[list[PairedStep], list[str]]:
    """Return the steps that can be compared, and a line for each pair of runs that differ.

    Each run of a stratum is compared with the first of the baseline; runs that differ are left out,
    or with `anyway` kept with a caveat.
    """
    sections: dict[tuple[str, str, str], PairedStep] = {}
    unlike: dict[tuple[str, str], Unlike] = {}
    for number, stratum in enumerate(strata):
        reference_runs = stratum.runs[baseline]
        names = list(dict.fromkeys(name for run in reference_runs for name in run.views))
        protocol = str(stratum.conditions.get(PROTOCOL) or reference_runs[0].protocol)
        for name in names:
            whole = [run for run in reference_runs if name in run.views]
            reference = next((run for run in whole if _cut_short(run, name) is None), whole[0])
            section = sections.setdefault(
                (protocol if by != PROTOCOL else "", stratum.model, name),
                PairedStep(protocol, stratum.model, name, reference.views[name].step.describe()),
            )
            cell = section.cells.setdefault(number, {})
            for group, runs in stratum.runs.items():
                for run in runs:
                    texts = _against(reference, run, name, by)
                    if texts:
                        entry = _between(unlike, reference, run)
                        entry.steps = [n for n in names if n in run.views] or names
                        for text in texts:
                            entry.found.setdefault(text, []).append(name)
                            if anyway:
                                section.caveats.append(f"{reference.name} and {run.name}: {text}")
                    if name in run.views and (anyway or not texts):
                        cell.setdefault(group, []).append(run)
        _name_missing(stratum, names, reference_runs[0], unlike)
    lines = [entry.sentence() for entry in unlike.values()]
    return _with_others(sections.values(), baseline), lines


def _with_others(sections: Iterable[PairedStep], baseline: Label) -> list[PairedStep]:
    """The sections in which something is compared with the baseline, and only that of each."""
    for section in sections:
        section.cells = {
            number: groups
            for number, groups in section.cells.items()
            if baseline in groups and len(groups) > 1
        }
    return [section for section in sections if section.cells]


def _against(reference: GroupedRun, run: GroupedRun, name: str, by: str) -> list[str]:
    """How a run of a step differs from that of the baseline, apart from what is compared."""
    if name not in run.views:
        return ["the second does not have this step"]
    texts = []
    for each, place in ((reference, "first"), (run, "second")):
        why = _cut_short(each, name)
        if why is not None and (each is run or run is not reference):
            texts.append(f"{why} (the {place})")
    if run is reference:
        return texts[:1]
    texts += differences(
        reference.views[name],
        run.views[name],
        is_other_drive=by in (DRIVE, MODEL),
        is_other_protocol=by == PROTOCOL,
    )
    warm = _warm_start(reference, run, name, by)
    return [*texts, *([warm] if warm else [])]


def _cut_short(run: GroupedRun, step: str) -> str | None:
    """Return why the step of a run is incomplete; None if it is complete."""
    meta = run.recording.meta
    if meta.status == "finished":
        return None
    last = list(run.views)[-1]
    if step != last or end_of(run.recording, step) is not None:
        return None
    if run.recording.was_cut:
        return f"'{step}' was cut short, or is still running"
    return f"the run was {meta.status} in '{step}'{f': {meta.reason}' if meta.reason else ''}"


def _warm_start(run: GroupedRun, other: GroupedRun, step: str, by: str) -> str | None:
    """Return how the start temperatures differ; None if they do not, or if that is to be
    expected."""
    starts = [r.views[step].temp.at(0.0) for r in (run, other)]
    if starts[0] is None or starts[1] is None or abs(starts[0] - starts[1]) <= TOLERANCE_K:
        return None
    warm, said = (run, "first") if starts[0] > starts[1] else (other, "second")
    rest = _rests(warm, step)
    if rest is None:
        is_same_place = run.group == other.group
        is_cooling = by in (DRIVE, MODEL, FILE) or kind_of_condition(by) == "cooling"
        if is_cooling and not is_same_place:
            return None
    elif rest:
        return None
    how = "" if rest is None else f", with the {said} still cooling"
    return f"it started at {temp_text(starts[0])} and at {temp_text(starts[1])}{how}"


def _rests(run: GroupedRun, step: str) -> bool | None:
    """Whether a drive had cooled to rest when the step started; None if that is unknown.

    A step right after another starts as warm as that one left the drive, which may be an effect of
    what is compared, so it counts as rest.
    """
    protocol = run.recording.meta.protocol
    if not protocol.is_observed:
        index = next(i for i, each in enumerate(protocol.steps) if each.name == step)
        if index > 0 and protocol.steps[index - 1].loads:
            return True
    view = run.views[step]
    columns = [n for n in view.columns("temp_c.") if view.track(n).at(0.0) == view.start_c]
    if not columns:
        return None
    samples = run.opened.samples
    first_s = samples.filter(pl.col("step") == view.step.name)["t_s"].min()
    assert isinstance(first_s, float)
    before = samples.filter(
        (pl.col("t_s") >= first_s - _REST_S)
        & (pl.col("t_s") < first_s)
        & pl.col(columns[0]).is_finite()
    )[columns[0]]
    if before.len() < 2:
        return None
    return float(before[0]) - float(before[-1]) <= _REST_K


def _name_missing(
    stratum: Stratum, names: list[str], reference: GroupedRun, unlike: dict[tuple[str, str], Unlike]
) -> None:
    """Add steps that only a recording of another group has."""
    for runs in stratum.runs.values():
        for run in runs:
            for name in run.views:
                if name not in names:
                    found = _between(unlike, reference, run).found
                    found.setdefault("the first does not have this step", []).append(name)


def _between(unlike: dict[tuple[str, str], Unlike], one: GroupedRun, other: GroupedRun) -> Unlike:
    """The differences between two runs, which may be the first that are found."""
    return unlike.setdefault((one.name, other.name), Unlike(one.name, other.name))


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def score_sections(
    sections: Sequence[PairedStep],
    strata: Sequence[Stratum],
    by: str,
    baseline: Label,
    *,
    anyway: bool = False,
) -> tuple[list[PairedStep], list[str]]:
    """Return the scores that can be compared, and a note for each that a run lacks.

    `sections` are those of the steps. Rounds are alike if they and all steps before them are,
    however many rounds were run.
    """
    found: dict[tuple[str, str, str], PairedStep] = {}
    notes: list[str] = []
    for number, stratum in enumerate(strata):
        reference = stratum.runs[baseline][0]
        protocol = reference.recording.meta.protocol
        if not isinstance(protocol, Protocol):
            continue
        for score in protocol.scores:
            name = str(stratum.conditions.get(PROTOCOL) or protocol.name)
            key = (name if by != PROTOCOL else "", stratum.model, score.name)
            section = found.setdefault(
                key, PairedStep(name, stratum.model, score.name, score=score)
            )
            for group, runs in stratum.runs.items():
                for run in runs:
                    if _has_rounds(score, protocol) and not anyway:
                        why = _unlike_rounds(protocol, run)
                        if why is not None:
                            notes.append(f"{reference.name} and {run.name}: {why}")
                            continue
                    if not _is_alike(run, score, protocol, sections, number, key[0]):
                        continue
                    if score.name in run.scores:
                        section.cells.setdefault(number, {}).setdefault(group, []).append(run)
                    else:
                        (why,) = [one.why for one in run.found.scores if one.name == score.name]
                        notes.append(f"{run.name} has no score '{score.name}': {why}")
    return _with_others(found.values(), baseline), notes


def _steps_of_rounds(protocol: Protocol) -> set[str]:
    return {step.name for rounds in protocol.rounds for step in rounds.steps}


def _has_rounds(score: ScoreRule, protocol: Protocol) -> bool:
    return not _steps_of_rounds(protocol).isdisjoint(score.steps)


def _unlike_rounds(protocol: Protocol, run: GroupedRun) -> str | None:
    """How a run differs from one of `protocol`, if rounds are compared."""
    other = run.recording.meta.protocol
    if not isinstance(other, Protocol) or protocol.steps != other.steps:
        return "their rounds have different steps, or different steps before them"
    if protocol.scale != other.scale:
        here, there = share_text(protocol.scale), share_text(other.scale)
        return f"one is at {here} and one at {there} of the sizes and times"
    return None


def _is_alike(
    run: GroupedRun,
    score: ScoreRule,
    protocol: Protocol,
    sections: Sequence[PairedStep],
    number: int,
    of_protocol: str,
) -> bool:
    """Whether a run has the score, and all of its steps outside of rounds are compared."""
    if score not in run.recording.meta.protocol.scores:
        return False
    for name in set(score.steps) - _steps_of_rounds(protocol):
        taken = [
            each
            for section in sections
            if section.step == name and of_protocol in ("", section.protocol)
            for each in section.cells.get(number, {}).get(run.group, [])
        ]
        if not any(each is run for each in taken):
            return False
    return True
