"""Which runs are compared with which: those whose other conditions are the same."""

from collections.abc import Sequence
from dataclasses import dataclass

from heatsoak.analysis.comparison.runs import DRIVE, ENCLOSURE, PROTOCOL, Run
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
    paired: with `anyway`, that condition is then left out for all. An enclosure stands for the
    conditions of a simulated place: the one differs along with the others.
    """
    keys = list(runs[0].others)
    notes: list[str] = []
    apart_in: dict[Label, list[str]] = {}
    for key in keys[:]:
        apart = _apart(runs, key, baseline)
        if not apart:
            continue
        if key in _GOES_ALONG or (by == ENCLOSURE and key != DRIVE):
            keys.remove(key)
            if key != PROTOCOL:
                notes.append(f"{key} differs along with {by}: {_values(runs, key)}")
            continue
        for group in apart:
            apart_in.setdefault(group, []).append(key)
        if anyway:
            keys.remove(key)
    unlike = [_difference(runs, them, baseline, group) for group, them in apart_in.items()]
    strata: dict[tuple[Label | None, ...], dict[Label, list[Run]]] = {}
    for run in runs:
        there = strata.setdefault(tuple(run.others[key] for key in keys), {})
        there.setdefault(run.group, []).append(run)
    kept = []
    for values, groups in strata.items():
        conditions = dict(zip(keys, values, strict=True))
        if baseline in groups and len(groups) > 1:
            kept.append(Stratum(conditions, groups))
        elif not groups.keys() <= apart_in.keys():
            notes += _unpaired(groups, conditions, by, baseline, runs)
    if not kept and not unlike:
        others = dict.fromkeys(run.group for run in runs if run.group != baseline)
        unlike = [_difference(runs, keys, baseline, group) for group in others]
        if anyway:
            kept, notes = [_all_of(runs, keys)], []
    return Pairing(kept, notes, unlike)


def _all_of(runs: Sequence[Run], keys: list[str]) -> Stratum:
    """All runs as one stratum, whatever they differ in."""
    groups: dict[Label, list[Run]] = {}
    for run in runs:
        groups.setdefault(run.group, []).append(run)
    values = {key: {run.others[key] for run in runs} for key in keys}
    return Stratum({key: next(iter(v)) for key, v in values.items() if len(v) == 1}, groups)


def _apart(runs: Sequence[Run], key: str, baseline: Label) -> list[Label]:
    """The groups that share no value of `key` with the baseline."""
    values: dict[Label, set[Label | None]] = {}
    for run in runs:
        values.setdefault(run.group, set()).add(run.others[key])
    return [g for g, own in values.items() if g != baseline and not own & values[baseline]]


def _difference(runs: Sequence[Run], keys: list[str], baseline: Label, group: Label) -> str:
    """Name the two recordings of the groups that differ least in `keys`, and in what."""
    ours, theirs = min(
        ((a, b) for a in runs if a.group == group for b in runs if b.group == baseline),
        key=lambda two: sum(two[0].others[key] != two[1].others[key] for key in keys),
    )
    said = []
    for key in keys:
        one, two = theirs.others[key], ours.others[key]
        if one != two:
            said.append(
                f"{key} is {'not said' if one is None else one} and "
                f"{'not said' if two is None else two}"
            )
    return f"{theirs.name} and {ours.name}: {'; '.join(said)}"


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
