"""Which runs are compared with which: those whose other conditions are the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from heatsoak.analysis.comparison.runs import ENCLOSURE, PROTOCOL, Run
from heatsoak.protocol import Label

#: Differ along with what is compared as a matter of course; what matters of them is asked apart.
_GOES_ALONG = (ENCLOSURE, PROTOCOL)


@dataclass(frozen=True)
class Stratum:
    """Runs whose other conditions are the same; the baseline's are among them."""

    conditions: dict[str, Label | None]
    runs: dict[Label, list[Run]]


@dataclass(frozen=True)
class Pairing:
    """The strata; `notes` say what was not paired, `unlike` what had to be the same and is not."""

    strata: list[Stratum]
    notes: list[str]
    unlike: list[str]


def pair(runs: Sequence[Run], by: str, baseline: Label, *, anyway: bool = False) -> Pairing:
    """Return the runs in strata of equal other conditions.

    Where a condition never has the same value in a group and in the baseline, the group cannot be
    paired: with `anyway`, that condition is then left out for all.
    """
    keys = list(runs[0].others)
    notes: list[str] = []
    unlike: list[str] = []
    for key in keys[:]:
        apart = _apart(runs, key, baseline)
        if not apart:
            continue
        if key in _GOES_ALONG:
            keys.remove(key)
            if key == ENCLOSURE:
                notes.append(f"the enclosure differs along with {by}: {_values(runs, key)}")
            continue
        unlike += [_difference(runs, key, baseline, group) for group in apart]
        if anyway:
            keys.remove(key)
    strata: dict[tuple[Label | None, ...], dict[Label, list[Run]]] = {}
    for run in runs:
        there = strata.setdefault(tuple(run.others[key] for key in keys), {})
        there.setdefault(run.group, []).append(run)
    kept = []
    for values, groups in strata.items():
        conditions = dict(zip(keys, values, strict=True))
        if baseline in groups and len(groups) > 1:
            kept.append(Stratum(conditions, groups))
        else:
            notes += _unpaired(groups, conditions, by, baseline, runs)
    if not kept and not unlike:
        unlike = [_nearest(runs, keys, baseline)]
    return Pairing(kept, notes, unlike)


def _apart(runs: Sequence[Run], key: str, baseline: Label) -> list[Label]:
    """The groups that share no value of `key` with the baseline."""
    values: dict[Label, set[Label | None]] = {}
    for run in runs:
        values.setdefault(run.group, set()).add(run.others[key])
    return [g for g, own in values.items() if g != baseline and not own & values[baseline]]


def _difference(runs: Sequence[Run], key: str, baseline: Label, group: Label) -> str:
    ours = next(run for run in runs if run.group == group)
    theirs = next(run for run in runs if run.group == baseline)
    return f"{theirs.name} and {ours.name}: {_said(key, theirs)} and {_said(key, ours)}"


def _nearest(runs: Sequence[Run], keys: list[str], baseline: Label) -> str:
    """Name the two recordings of different groups that differ in the fewest conditions."""
    ours, theirs = min(
        ((a, b) for a in runs if a.group != baseline for b in runs if b.group == baseline),
        key=lambda two: sum(two[0].others[key] != two[1].others[key] for key in keys),
    )
    differing = [key for key in keys if ours.others[key] != theirs.others[key]]
    said = "; ".join(f"{_said(key, theirs)} and {_said(key, ours)}" for key in differing)
    return f"{theirs.name} and {ours.name}: {said}"


def _said(key: str, run: Run) -> str:
    value = run.others[key]
    return f"{key} is not said" if value is None else f"{key} is {value}"


def _values(runs: Sequence[Run], key: str) -> str:
    found: dict[Label, list[str]] = {}
    for run in runs:
        text = str(run.others[key])
        if text not in found.setdefault(run.group, []):
            found[run.group].append(text)
    return "; ".join(f"{group}: {', '.join(texts)}" for group, texts in found.items())


def _unpaired(
    groups: dict[Label, list[Run]],
    conditions: dict[str, Label | None],
    by: str,
    baseline: Label,
    runs: Sequence[Run],
) -> list[str]:
    varying = [k for k in conditions if len({run.others[k] for run in runs}) > 1]
    where = ", ".join(
        f"{key} not said" if conditions[key] is None else f"{key} {conditions[key]}"
        for key in varying
    )
    at = f" with {where}" if where else ""
    names = {group: ", ".join(run.name for run in members) for group, members in groups.items()}
    if baseline in groups:
        return [f"not paired: {names[baseline]}: {by} '{baseline}' is alone{at}"]
    return [f"not paired: {name}: there is no {by} '{baseline}'{at}" for name in names.values()]
