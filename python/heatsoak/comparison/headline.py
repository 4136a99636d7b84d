"""What a comparison shows, in a sentence or two: the difference between the runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from heatsoak import words
from heatsoak.analysis import definitions
from heatsoak.analysis.findings import Throttles
from heatsoak.comparison import model
from heatsoak.comparison.pairing import TOLERANCE_K
from heatsoak.comparison.runs import KEYS
from heatsoak.protocol import Label
from heatsoak.protocol.conditions import phrase
from heatsoak.units import GB

#: With more steps, they are counted instead of named.
_MAX_STEPS = 3
#: Without an interval, changes smaller than what counts as the onset of a fall are not mentioned.
_MIN_UNTESTED_PCT = 100 * definitions.ONSET_LOSS
#: Changes that differ by fewer points than a fall takes say the same.
SAME_POINTS = 100 * definitions.MIN_DROP
_MAX_DETAILS = 4
_NOUNS = {"sequential", "random", "mixed"}

#: The judge's answers: of both, of the group, and of the baseline where it has another.
_THROTTLED: dict[Throttles, tuple[str, str, str]] = {
    "yes": ("both throttled", "it throttled", "throttled"),
    "no": ("neither throttled", "no throttling", "did not"),
    "cannot-tell": ("both may have throttled", "it may have throttled", "may have throttled"),
}

Steps = Mapping[tuple[str, str, str], Mapping[str, model.ComparisonRow]]


def headlines(
    by: str,
    groups: Sequence[Label],
    rows: Sequence[model.ComparisonRow],
    throttling: Mapping[Label, Throttles],
) -> list[model.ComparisonHeadline]:
    """Return a headline for each group but the baseline, which comes first in `groups`.

    `throttling` says whether each group's drives throttle; without an entry, nothing is said of it.
    """
    baseline, *others = groups
    return [_headline(by, group, baseline, rows, throttling) for group in others]


@dataclass
class _Told:
    """What was found: clauses of one sentence, more sentences, and what is better or worse."""

    clauses: list[str] = field(default_factory=list)
    falls: list[str] = field(default_factory=list)
    details: list[str] = field(default_factory=list)
    tones: set[model.Tone] = field(default_factory=set)


def _headline(
    by: str,
    group: Label,
    baseline: Label,
    rows: Sequence[model.ComparisonRow],
    throttling: Mapping[Label, Throttles],
) -> model.ComparisonHeadline:
    own = summaries([row for row in rows if row.group == group])
    steps, scores = _by_step(own, are_scores=False), _by_step(own, are_scores=True)
    told = _Told()
    main = _speeds(steps, told) if steps else _scores(scores, told)
    _until_the_fall(steps, main, told)
    _steady(steps, told)
    _throttles(throttling.get(group), throttling.get(baseline), _name(by, baseline), told)
    cured = throttling.get(group) == "no" and throttling.get(baseline) == "yes"
    _falls(steps, told, is_said=cured)
    _warmth(steps, told)
    # what a thing changes is said of the thing; other conditions are told apart
    whose = where(by, group)
    if str(baseline).casefold() != "none":
        whose += f" rather than {_name(by, baseline)}"
    # a name keeps its case
    whose = whose if by in KEYS else words.capital(whose)
    said_ = "; ".join([f"{whose}{one_run_each(main)}: {', '.join(told.clauses)}", *told.falls])
    return model.ComparisonHeadline(
        group=group,
        text=f"{not_alike(own)}{said_}.",
        details=[_sentence(each) for each in told.details],
        tone=told.tones.pop() if len(told.tones) == 1 else "mixed" if told.tones else "alike",
    )


def _sentence(text: str) -> str:
    return f"{words.capital(text)}."


def not_alike(rows: Sequence[model.ComparisonRow]) -> str:
    """Return what comes before all else if recordings were compared that were not run alike."""
    return "Not run alike. " if any(row.caveats for row in rows) else ""


def one_run_each(rows: Sequence[model.ComparisonRow]) -> str:
    """Return what follows the groups' names if nothing tells how far their next runs may differ."""
    open_ = [row for row in rows if row.interval_of is None]
    if not open_:
        return ""
    if any(max(row.runs, row.baseline_runs) > row.pairs for row in open_):
        return ", on too few drives to tell chance"
    return ", one run in each condition" if any(row.pooled for row in open_) else ", one run each"


def summaries(rows: Sequence[model.ComparisonRow]) -> list[model.ComparisonRow]:
    """Return the rows over all sets of other conditions, if there are several sets."""
    pooled = {row.measured for row in rows if row.pooled}
    return [row for row in rows if row.pooled or row.measured not in pooled]


def _by_step(
    rows: Sequence[model.ComparisonRow], *, are_scores: bool
) -> dict[tuple[str, str, str], dict[str, model.ComparisonRow]]:
    """Rows by protocol, model and step, then by metric."""
    found: dict[tuple[str, str, str], dict[str, model.ComparisonRow]] = {}
    for row in rows:
        if (row.definition is not None) == are_scores:
            found.setdefault((row.protocol, row.model, row.step), {})[row.metric] = row
    return found


def main_rows(rows: Sequence[model.ComparisonRow]) -> list[model.ComparisonRow]:
    """Return the rates of a group's steps; where only scores are compared, those."""
    own = summaries(rows)
    steps = _by_step(own, are_scores=False)
    return _rates(steps) if steps else _score_rows(_by_step(own, are_scores=True))


def _rates(steps: Steps) -> list[model.ComparisonRow]:
    return [row for each in steps.values() if (row := _rate(each, "mean")) is not None]


def _score_rows(scores: Steps) -> list[model.ComparisonRow]:
    return [row for each in scores.values() for row in each.values() if row.title == "score"]


def where(by: str, group: Label) -> str:
    """Return a group in words: what it is, or in what conditions: ``with heatsink fins``."""
    if by in KEYS:
        return words.said(group)
    return phrase({by: group}, [by])


def _name(by: str, group: Label) -> str:
    return where(by, group).removeprefix("in ")


def change_of(row: model.ComparisonRow) -> float | None:
    """Return the change in percent, if it is worth a word."""
    if row.delta_pct is None or row.verdict in ("no difference shown", "negligible"):
        return None
    if row.verdict in ("one run", "not tested") and abs(row.delta_pct) < _MIN_UNTESTED_PCT:
        return None
    return row.delta_pct


def _rate(of_step: Mapping[str, model.ComparisonRow], kind: str) -> model.ComparisonRow | None:
    """A rate: IOPS for random loads, MB/s for others."""
    first = next(iter(of_step.values()))
    units = ("iops", "mb_s") if first.workload.startswith("random") else ("mb_s", "iops")
    return next((of_step[f"{kind}_{u}"] for u in units if f"{kind}_{u}" in of_step), None)


def _speeds(steps: Steps, told: _Told) -> list[model.ComparisonRow]:
    """Say how much faster the steps are; return their rates."""
    rates = _rates(steps)
    changed = [(row, pct) for row in rates if (pct := change_of(row)) is not None]
    told.tones |= {"better" if pct > 0 else "worse" for _, pct in changed}
    if not rates:
        told.clauses.append("no rates to compare")
    elif not changed:
        told.clauses.append("no faster or slower, as far as can be told")
    elif len(rates) > _MAX_STEPS:
        told.clauses += _counted(len(rates), [pct for _, pct in changed])
    else:
        nouns = _nouns(rates)
        parts = [_faster(pct, nouns[id(row)]) for row, pct in changed]
        told.clauses.append(words.listed(parts))
        if len(changed) < len(rates):
            alike = [nouns[id(row)] for row in rates if all(row is not r for r, _ in changed)]
            told.clauses.append(f"{words.listed(alike)} as fast")
    return rates


def _counted(steps: int, changes: Sequence[float]) -> list[str]:
    said_ = []
    for word, found in (
        ("faster", [pct for pct in changes if pct > 0]),
        ("slower", [-pct for pct in changes if pct < 0]),
    ):
        if found:
            by = words.span_text(found, "%", 2)
            said_.append(f"{word} in {len(found)} of {steps} steps, by {by}")
    return said_


def _nouns(rates: Sequence[model.ComparisonRow]) -> dict[int, str]:
    """What each row is a rate of: ``random writes``, with the step's name if several are."""
    loads = [row.workload.partition(",")[0] for row in rates]
    found = {}
    for row, load in zip(rates, loads, strict=True):
        step = f"'{words.plain(row.step)}'" + (f" of {words.said(row.model)}" if row.model else "")
        is_plain = load.partition(" ")[0] in _NOUNS and load.endswith(("read", "write"))
        if not is_plain:
            found[id(row)] = step
        elif loads.count(load) > 1:
            found[id(row)] = f"{load}s in {step}"
        else:
            found[id(row)] = f"{load}s"
    return found


def _faster(pct: float, noun: str = "") -> str:
    if pct >= 100:
        much = f"{words.number_text(1 + pct / 100, 2)} times as fast"
    else:
        much = f"{words.percent_text(abs(pct))} {'faster' if pct > 0 else 'slower'}"
    return f"{noun} {much}".lstrip()


def _steady(steps: Steps, told: _Told) -> None:
    """Say how the last 400 s differ, if the whole step does not say it."""
    if len(steps) > _MAX_STEPS:
        return
    for of_step in steps.values():
        row, whole = of_step.get("consistency_mean_iops"), _rate(of_step, "mean")
        if row is None or whole is None:
            continue
        pct, other = change_of(row), change_of(whole)
        if pct is None and other is None:
            continue
        if pct is None:
            told.clauses.append("the same in the last 400 s")
        elif abs(pct - (other or 0.0)) > SAME_POINTS:
            told.tones.add("better" if pct > 0 else "worse")
            told.clauses.append(f"{_faster(pct)} in the last 400 s")


def _scores(scores: Steps, told: _Told) -> list[model.ComparisonRow]:
    rows = _score_rows(scores)
    changed = [(row, pct) for row in rows if change_of(row) and (pct := row.better_by_pct)]
    told.tones |= {"better" if pct > 0 else "worse" for _, pct in changed}
    if len(rows) > _MAX_STEPS and changed:
        told.clauses += _counted(len(rows), [pct for _, pct in changed])
    else:
        told.clauses += [
            f"'{words.said(row.step)}' {words.percent_text(abs(pct))} "
            f"{'better' if pct > 0 else 'worse'}"
            for row, pct in changed
        ] or ["no difference shown"]
    return rows


def _until_the_fall(steps: Steps, main: Sequence[model.ComparisonRow], told: _Told) -> None:
    """Say how much faster it is until it falls, if the whole step hides that."""
    if len(steps) > _MAX_STEPS:
        return
    for of_step in steps.values():
        row = _rate(of_step, "before")
        pct = None if row is None else change_of(row)
        whole = next((r.delta_pct or 0.0 for r in main if row and r.step == row.step), 0.0)
        if row is None or pct is None or abs(pct - whole) <= SAME_POINTS:
            continue
        told.tones.add("better" if pct > 0 else "worse")
        told.clauses.append(f"{_faster(pct)} until {_it(row, steps)} falls")


def _it(row: model.ComparisonRow, steps: Steps) -> str:
    return "it" if len(steps) == 1 else f"'{words.plain(row.step)}'"


def _throttles(one: Throttles | None, two: Throttles | None, baseline: str, told: _Told) -> None:
    if one is None or one == "not-loaded" or two is None:
        return
    of_both, of_one, _ = _THROTTLED[one]
    if {one, two} == {"yes", "no"}:
        told.tones.add("better" if one == "no" else "worse")
    if one == two:
        told.clauses.append(of_both)
    elif two in _THROTTLED:
        it = "it " if baseline.startswith(("with ", "without ")) else ""
        told.clauses.append(f"{of_one} ({baseline} {it}{_THROTTLED[two][2]})")
    else:
        told.clauses.append(of_one)


def _warmth(steps: Steps, told: _Told) -> None:
    """Say how hot the hottest step was."""
    rows = [row for each in steps.values() if (row := each.get("temp_max_c")) is not None]
    known = [(r.value, r.baseline) for r in rows if r.value is not None and r.baseline is not None]
    if not known:
        return
    one, two = max(value for value, _ in known), max(value for _, value in known)
    if abs(one - two) > TOLERANCE_K:
        told.details.append(f"{words.temp_text(one)} at most, not {words.temp_text(two)}")


def _falls(steps: Steps, told: _Told, *, is_said: bool) -> None:
    """Say what differs in when it falls; what no longer falls, unless that `is_said`."""
    for of_step in steps.values():
        row = of_step.get("onset_s")
        if row is None:
            continue
        name = _it(row, steps)
        one, two = row.value, row.baseline
        if one is None and two is not None:
            told.tones.add("better")
            if not is_said:
                told.falls.append(f"{name} never falls")
            in_ = "" if name == "it" else f"in {name} "
            told.details.append(f"{in_}the baseline falls after {words.duration_text(two)}")
        elif one is not None and two is None:
            told.tones.add("worse")
            told.falls.append(f"{name} falls after {words.duration_text(one)}, the baseline never")
        elif one is None or two is None:
            continue  # neither falls
        elif max(one, two) > definitions.SAME_ONSET_RATIO * min(one, two):
            _moved(row, name, one, two, of_step.get("onset_gb"), told)
    if len(told.falls) > _MAX_STEPS:
        more = len(told.falls) - _MAX_STEPS + 1
        told.falls = [*told.falls[: _MAX_STEPS - 1], f"{more} more steps fall at other times"]
    told.details = told.details[:_MAX_DETAILS]


def _moved(
    row: model.ComparisonRow,
    name: str,
    one_s: float,
    two_s: float,
    written: model.ComparisonRow | None,
    told: _Told,
) -> None:
    """Say that it falls at another time, and whether only for being faster or slower."""
    direction: definitions.Direction = "higher" if one_s > two_s else "lower"
    when, speed = {"higher": ("later", "slower"), "lower": ("sooner", "faster")}[direction]
    why = ""
    if row.why_neither is None:
        told.tones.add("better" if direction == row.better else "worse")
    elif row.why_neither == model.WAS_SLOW:
        why = ", but what falls later was slow from its start"
    else:
        why = f", but only because it is {speed}"
    told.falls.append(f"{name} falls {when}{why}")
    times = f"{name} falls after {words.duration_text(one_s)}, not {words.duration_text(two_s)}"
    if written is None or written.value is None or written.baseline is None:
        told.details.append(times)
        return
    one, two = (words.size_text(GB * gb) for gb in (written.value, written.baseline))
    wrote = f"both times after {one}" if one == two else f"after {one}, not {two}"
    told.details.append(f"{times}; {wrote}")
