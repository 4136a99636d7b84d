"""The cells of a comparison: which runs of each step are compared, under which other conditions."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from heatsoak.analysis.comparison.likeness import cut_short, differences
from heatsoak.analysis.comparison.measures import Measure
from heatsoak.analysis.comparison.pairing import Stratum
from heatsoak.analysis.comparison.runs import PROTOCOL, Run
from heatsoak.protocol import Label, ScoreRule


@dataclass
class Section:
    """One step of one protocol, or one of its scores.

    Attributes:
        score: where it is one; `step` is then its name.
        cells: the runs of each group in each stratum, by the stratum's number.
        caveats: how runs that were taken all the same are unlike.
    """

    protocol: str
    step: str
    workload: str
    cells: dict[int, dict[Label, list[Run]]] = field(default_factory=dict)
    caveats: list[str] = field(default_factory=list)
    score: ScoreRule | None = None

    def measured(self, run: Run) -> dict[str, Measure]:
        """Return what `run` measured of it, by the metric's name."""
        return (run.measures if self.score is None else run.scores).get(self.step, {})


@dataclass
class Unlike:
    """Differences between two recordings, with the steps that they were found in."""

    first: str
    second: str
    found: dict[str, list[str]] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def sentence(self) -> str:
        """Return all of it as a line."""
        parts = []
        for text, steps in self.found.items():
            is_everywhere = len(steps) == len(self.steps) and len(steps) > 1
            where = "" if is_everywhere or text.startswith("'") else f" in {_quoted(steps)}"
            parts.append(f"{text}{where}")
        return f"{self.first} and {self.second}: {'; '.join(parts)}"


def find_sections(
    strata: Sequence[Stratum], by: str, baseline: Label, *, anyway: bool = False
) -> tuple[list[Section], list[str]]:
    """Return the steps that can be compared, and a line for each two runs that are unlike.

    Each run of a stratum is held against the first of the baseline's; unlike ones are left out,
    or with `anyway` taken with a caveat.
    """
    sections: dict[tuple[str, str], Section] = {}
    unlike: dict[tuple[str, str], Unlike] = {}
    for number, stratum in enumerate(strata):
        reference_runs = stratum.runs[baseline]
        names = list(dict.fromkeys(name for run in reference_runs for name in run.views))
        for name in names:
            protocol = str(stratum.conditions.get(PROTOCOL) or reference_runs[0].protocol)
            whole = [run for run in reference_runs if name in run.views]
            reference = next((run for run in whole if cut_short(run, name) is None), whole[0])
            section = sections.setdefault(
                (protocol if by != PROTOCOL else "", name),
                Section(protocol, name, reference.views[name].step.describe()),
            )
            cell = section.cells.setdefault(number, {})
            for group, runs in stratum.runs.items():
                for run in runs:
                    texts = _against(reference, run, name, by)
                    if texts:
                        entry = unlike.setdefault(
                            (reference.name, run.name), Unlike(reference.name, run.name)
                        )
                        entry.steps = [n for n in names if n in run.views] or names
                        for text in texts:
                            entry.found.setdefault(text, []).append(name)
                            if anyway:
                                section.caveats.append(f"{reference.name} and {run.name}: {text}")
                    if name in run.views and (anyway or not texts):
                        cell.setdefault(group, []).append(run)
        _name_missing(stratum, names, reference_runs[0], unlike)
    for section in sections.values():
        section.cells = {
            number: groups
            for number, groups in section.cells.items()
            if baseline in groups and len(groups) > 1
        }
    lines = [entry.sentence() for entry in unlike.values()]
    return [section for section in sections.values() if section.cells], lines


def _against(reference: Run, run: Run, name: str, by: str) -> list[str]:
    if name not in run.views:
        return ["the second has no such step"]
    texts = []
    for each, place in ((reference, "first"), (run, "second")):
        why = cut_short(each, name)
        if why is not None and (each is run or run is not reference):
            texts.append(f"{why} (the {place})")
    if run is reference:
        return texts[:1]
    return texts + differences(reference, run, name, by)


def _name_missing(
    stratum: Stratum, names: list[str], reference: Run, unlike: dict[tuple[str, str], Unlike]
) -> None:
    """Steps that only a recording of another group has."""
    for runs in stratum.runs.values():
        for run in runs:
            for name in run.views:
                if name not in names:
                    entry = unlike.setdefault(
                        (reference.name, run.name), Unlike(reference.name, run.name)
                    )
                    entry.found.setdefault("the first has no such step", []).append(name)


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
