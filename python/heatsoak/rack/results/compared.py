"""What places and drives do to each measure, in figures and in a sentence."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from heatsoak import words
from heatsoak.analysis.definitions import ONSET_LOSS
from heatsoak.facts.effects import EffectsFit, Observations
from heatsoak.rack.results import reading
from heatsoak.ranges import Range
from heatsoak.report import rack

UNKNOWN_MODEL = "unknown model"
Unit = Literal["%", "pp", "K"]
UNIT_WORDS: dict[Unit, str] = {"%": "%", "pp": "percentage points", "K": "K"}
#: Each measure in a sentence, and what a drive is that is worse, or better.
WORDS = {
    "mean_mb_s": ("mean speed", "slower", "faster"),
    "mean_iops": ("mean IOPS", "slower", "faster"),
    "throttled_mb_s": (
        "speed while throttled",
        "slower while throttled",
        "faster while throttled",
    ),
    "depth_pct": ("depth of its fall", "deeper in its fall", "less deep in its fall"),
    "max_temp_c": ("highest temperature", "hotter", "cooler"),
    "onset_s": ("time until it throttles", "earlier to throttle", "later to throttle"),
}
#: Places are those of each model if they would differ so much between models by this chance.
_INTERPLAY_BY_CHANCE = 0.001


@dataclass(frozen=True)
class RunSpread:
    """How far a drive's own runs are apart, as a standard deviation, and those of the others.

    Attributes:
        probability: that the runs of any drive of a rack are as far apart by chance.
    """

    own: Range
    others: float
    probability: float


@dataclass(frozen=True)
class Compared:
    """One measure of one step, of all runs that have it.

    Attributes:
        row: of `facts.table`: its step and workload.
        unlike: the drives that are set aside, as unlike others of their model, with how probable it
            is that any drive of a rack deviates as much by chance.
        varies: those that are set aside since their own runs differ more than those of others.
        fit: to all other drives.
    """

    row: Mapping[str, Any]
    measure: str
    seen: Observations
    fit: EffectsFit
    unlike: Mapping[str, float] = field(default_factory=dict)
    varies: Mapping[str, RunSpread] = field(default_factory=dict)

    @property
    def aside(self) -> list[str]:
        """The drives that take no part in the fit."""
        return [*self.unlike, *self.varies]

    @cached_property
    def places(self) -> dict[str, dict[str, Range] | None]:
        """What each place of each label does; None where that cannot be told."""
        return {label: self.fit.places(label) for label in self.seen.places}

    @property
    def said(self) -> str:
        """The measure in a sentence: ``mean speed``."""
        return WORDS[self.measure][0]

    @property
    def is_ratio(self) -> bool:
        """Whether drives differ by a factor, so that its logarithm is compared."""
        return reading.MEASURES[self.measure].scale == "ratio"

    @property
    def unit(self) -> Unit:
        """That of what drives differ by."""
        return "%" if self.is_ratio else "K" if self.measure == "max_temp_c" else "pp"

    @property
    def worse(self) -> Literal["low", "high"]:
        """Which values are worse."""
        return "low" if reading.MEASURES[self.measure].better == "higher" else "high"

    @property
    def smallest(self) -> float:
        """A smaller deviation is not worth naming: of a rate, as where an episode begins."""
        return {"%": ONSET_LOSS, "pp": 100 * ONSET_LOSS, "K": 1.0}[self.unit]

    def shown(self, effect: float) -> float:
        """Return an effect in `unit`."""
        return 100 * math.expm1(effect) if self.is_ratio else effect


def compare(tests: Sequence[reading.Tested], labels: Sequence[str]) -> list[Compared]:
    """Fit each measure of each step that at least two runs share."""
    groups: dict[tuple[str | None, str, str], list[_Step]] = {}
    for test in tests:
        for row in test.rows if test.is_finished else ():
            key = test.protocol, row["step"], row["alike"]
            groups.setdefault(key, []).append((test, row, reading.measured(row)))
    return [one for group in groups.values() for one in _measures(group, labels)]


_Step = tuple[reading.Tested, Mapping[str, Any], Mapping[str, float]]


def _measures(group: Sequence[_Step], labels: Sequence[str]) -> Iterator[Compared]:
    for measure, metric in reading.MEASURES.items():
        having = [one for one in group if measure in one[2]]
        if len(having) < 2 or (measure in reading.OF_THROTTLING and len(having) < len(group)):
            continue
        values = [known[measure] for *_, known in having]
        if metric.scale == "ratio":
            values = list(map(math.log, values))
        if measure == "depth_pct" and not any(values):
            continue  # nothing falls
        ran = [test for test, *_ in having]
        seen = Observations(
            values,
            [one.model or UNKNOWN_MODEL for one in ran],
            [one.drive for one in ran],
            reading.columns_of(ran, labels),
            metric.resolution,
        )
        yield compared(having[0][1], measure, seen)


def compared(row: Mapping[str, Any], measure: str, seen: Observations) -> Compared:
    """Return a measure fitted, with each model's places apart if a place slows some alone."""
    if len(set(seen.models)) > 1 and seen.interplay < _INTERPLAY_BY_CHANCE:
        seen = seen.by_model()
    return Compared(row, measure, seen, EffectsFit(seen))


def told(one: Compared) -> rack.RackMeasure:
    """Return the figures of a measure, and the sentence."""
    fit, seen = one.fit, one.seen
    parts = _parts(one)
    whole = sum(parts.values())
    shares = {name: 100 * part / whole for name, part in parts.items()} if whole > 0 else {}
    places = [_differences(one, label, shares.get(f"place {label}")) for label in seen.places]
    found = rack.RackMeasure(
        step=one.row["step"],
        workload=one.row["workload"],
        measure=one.measure,
        name=f"{words.plain(one.row['step'])}: {one.said}",
        unit=one.unit,
        value_unit=reading.MEASURES[one.measure].unit,
        worse=one.worse,
        runs=len(seen.values),
        drive_sd=_shown(one, fit.drive_sd),
        run_sd=_shown(one, fit.run_sd),
        drive_share_pct=shares.get("drive"),
        run_share_pct=shares.get("run"),
        places=places,
        drives=_drives(one),
        sentence="",
    )
    return found.model_copy(update={"sentence": _sentence(one, found)})


def _shown(one: Compared, effect: Range | None) -> Range | None:
    return None if effect is None else effect.mapped(one.shown)


def _widest(one: Compared, effect: Range | None) -> Range | None:
    """How much the worst is worse than the best: of a factor, the share that it lacks."""
    return None if effect is None else effect.mapped(lambda value: -one.shown(-value))


def _differences(one: Compared, label: str, share_pct: float | None) -> rack.PlaceDifferences:
    found = one.places[label]
    effects = found or {}
    return rack.PlaceDifferences(
        label=label,
        places=[
            rack.PlaceEffect(place=place, effect=effects[place].mapped(one.shown))
            for place in sorted(effects, key=natural)
        ],
        widest=_widest(one, one.fit.widest(label)),
        why_unknown=None if found is not None else _why_unknown(one, label),
        share_pct=share_pct,
    )


def natural(text: str) -> list[tuple[bool, float, str]]:
    """Return a key by which ``slot 10`` comes after ``slot 9``."""
    # of what a pattern in parentheses splits, every second part is a match
    parts = enumerate(re.split(r"([0-9]+)", text))
    return [(i % 2 == 0, float(one) if i % 2 else 0.0, one) for i, one in parts if one]


def _why_unknown(one: Compared, label: str) -> str:
    """Why what a label does cannot be told: what goes with it."""
    seen = one.seen
    if one.fit.is_apart(label):
        return (
            "too few drives to tell the place from the drive: run drives in several places, or "
            "name fewer labels with --by-place"
        )
    for name in seen.places:
        kept = {other: column for other, column in seen.places.items() if other != name}
        if name != label and EffectsFit(replace(seen, places=kept)).is_apart(label):
            return f"{label} and {name} cannot be told apart: they change together"
    return f"{label} and model cannot be told apart: each {label} had drives of its own model"


def _parts(one: Compared) -> dict[str, float]:
    """The variance due to each label, to the drives and to runs, where all of it can be told."""
    fit = one.fit
    if fit.drive_sd is None:
        return {}
    parts = {"drive": fit.drive_sd.mid**2}
    if fit.run_sd is not None:
        parts["run"] = fit.run_sd.mid**2
    for label, found in one.places.items():
        if found is None:
            return {}
        effects = [effect.mid for effect in found.values()]
        # of a normal law, an interval of 95 % is 3.92 standard deviations wide
        chance = [((effect.high - effect.low) / 3.92) ** 2 for effect in found.values()]
        parts[f"place {label}"] = max(0.0, float(np.mean(np.square(effects)) - np.mean(chance)))
    return parts


def _drives(one: Compared) -> list[rack.DriveEffect]:
    seen, fit = one.seen, one.fit
    model_of = dict(zip(seen.drives, seen.models, strict=True))
    means = _by_drive(seen, seen.values)
    of_models: dict[str, list[float]] = {}
    for name, model in model_of.items():
        of_models.setdefault(model, []).append(means[name])
    of_model = {model: float(np.mean(of)) for model, of in of_models.items()}
    own = fit.drives()
    if own is not None:
        # of one whose runs vary, a mean tells less than the others' noise says
        own |= {name: found for name in one.unlike if (found := deviation(one, name)) is not None}
    of_place = _of_places(one)
    return [
        rack.DriveEffect(
            drive=name,
            model=model,
            measured=one.shown(means[name] - of_model[model]),
            of_place=None if of_place is None else one.shown(of_place[name]),
            own=None if own is None else _shown(one, own.get(name)),
        )
        for name, model in sorted(model_of.items(), key=lambda pair: (pair[1], natural(pair[0])))
    ]


def deviation(one: Compared, drive: str) -> Range | None:
    """Return how far a drive that was set aside is from what the others suggest, if they do."""
    shift = one.fit.shift(one.seen.only(drive))
    return None if shift is None else shift.ranges("drives")[0]


def _by_drive(seen: Observations, values: ArrayLike) -> dict[str, float]:
    names, of = np.unique(seen.drives, return_inverse=True)
    means = np.bincount(of, np.asarray(values)) / np.bincount(of)
    return dict(zip(names.tolist(), means.tolist(), strict=True))


def _of_places(one: Compared) -> dict[str, float] | None:
    """What its places make of each drive's mean."""
    seen = one.seen
    total = np.zeros(len(seen.values))
    for label, column in seen.columns.items():
        effects = one.places[label]
        if effects is None:
            return None
        total += [effects[place].mid for place in column]
    return _by_drive(seen, total)


def _sentence(one: Compared, found: rack.RackMeasure) -> str:
    unit = UNIT_WORDS[found.unit]
    step = words.plain(one.row["step"])
    least = one.shown(one.smallest)
    widest = [
        (wide, place) for place in found.places if (wide := place.widest) and wide.high >= least
    ]
    is_by_model = one.seen.is_by_model
    by_place = [
        f"by up to {words.number_text(wide.mid, 2)} {unit} between {_many(place.label)} "
        f"({words.interval_text(wide)}{_worst(place, found.worse, is_by_model=is_by_model)})"
        for wide, place in sorted(widest, key=lambda pair: -pair[0].mid)
    ]
    parts = [f"{one.said} in {step} differs {words.listed(by_place)}"] if by_place else []
    subject = "" if by_place else f"{one.said} in {step}: "
    if found.drive_sd is not None:
        amount = words.range_text(found.drive_sd, unit)
        noise = "" if found.run_sd else ", the noise of single runs included"
        parts.append(f"drives of one model differ by {amount}, one standard deviation{noise}")
    if found.run_sd is not None:
        parts.append(f"repeated runs differ by {words.number_text(found.run_sd.mid, 2)} {unit}")
    if one.aside:
        parts.append(f"unlike the others and left out: {words.listed(one.aside, words.MOST_NAMED)}")
    said = subject + "; ".join(parts or ["too few drives and runs to compare"])
    return f"{words.capital(said)}."


def _worst(of: rack.PlaceDifferences, worse: Literal["low", "high"], *, is_by_model: bool) -> str:
    """Which place is worse than the mean of all, if one is beyond chance."""
    sign = 1 if worse == "high" else -1
    last = max(of.places, key=lambda one: sign * one.effect.mid)
    if min(sign * last.effect.low, sign * last.effect.high) <= 0:
        return ""
    model, place = _model_and_place(last.place, is_by_model=is_by_model)
    for_model = f"for {model} " if model else ""
    return f"; {worse}est {for_model}in {words.plain(of.label)} {place}"


def _model_and_place(text: str, *, is_by_model: bool) -> tuple[str, str]:
    """What ``990 PRO in 3`` names, if places are those of each model."""
    model, _, place = text.rpartition(" in ")
    return (model, place) if is_by_model else ("", text)


def _many(label: str) -> str:
    name = words.plain(label)
    return name if name.endswith("s") or " and " in name else f"{name}s"


def warmest(found: Sequence[Compared], measures: Sequence[rack.RackMeasure]) -> list[str]:
    """Return of each label's warmest place how much hotter drives are there, beyond chance."""
    hotter: dict[tuple[str, str, str], dict[str, list[str]]] = {}
    for one, told_of in zip(found, measures, strict=True):
        for of in told_of.places if one.measure == "max_temp_c" else []:
            most = max(of.places, key=lambda place: place.effect.mid, default=None)
            if most is None or most.effect.low <= 0:
                continue
            each = [_model_and_place(p.place, is_by_model=one.seen.is_by_model) for p in of.places]
            model, place = each[of.places.index(most)]
            alike = [whose for whose, _ in each].count(model)
            # the others are as much below the mean of all as this one is above it, together
            others = alike / (alike - 1)
            whose = f" of {model}" if model else ""
            amounts = hotter.setdefault((whose, of.label, place), {})
            amounts[told_of.step] = [words.range_text(most.effect.times(others), "K hotter")]
    return [
        f"Drives{whose} in {words.plain(label)} {place} are the warmest: "
        f"{than_others(steps, f'in other {_many(label)}')}."
        for (whose, label, place), steps in hotter.items()
    ]


def than_others(amounts: Mapping[str, Sequence[str]], others: str) -> str:
    """Return by how much something differs in each step, and from what, which is said once."""
    if len(amounts) == 1:
        ((step, of),) = amounts.items()
        return f"{words.listed(of)} than {others} in {words.plain(step)}"
    said = ", ".join(f"{words.listed(of)} in {words.plain(step)}" for step, of in amounts.items())
    return f"{said} than {others}"
