"""Drives that are unlike others of their model, wherever they ran.

The drive that deviates most is set aside, and the others say what to expect of it: its deviation
over their spread is the externally studentised one. Then the next, since two drives that are slow
hide each other, until a third of what tells drives apart is used up; all up to the last that
deviates beyond chance are unlike the others. That is the generalised test for extreme studentised
deviates (Rosner 1983), whose figures are for samples larger than a rack; so here the chances of all
drives, of all measures and of one half, a quarter, an eighth for each next drive add up
(Bonferroni): in a rack without an outlier, one is named in 5 of 100 cases at most.

Before that, drives are set aside whose own runs are further apart than those of all others: by
Fisher's F, of what drives, models and places leave of each run, with the same chances added up.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy

from heatsoak import ranges, words
from heatsoak.facts.effects import EffectsFit, Observations
from heatsoak.rack.results import compared
from heatsoak.report.rack import RackOutlier

#: Of fewer drives, nobody can say which one is unlike the others.
MIN_DRIVES = 4
#: One in so many drives that are more than needed to tell models and places may be set aside.
_ONE_IN = 3
#: Of so many that do not deviate beyond chance, one after the other, none hides the next.
_MOST_HIDDEN = 12
#: With at least this many drives of each model in each place, places are fitted for each model.
_MIN_DRIVES_PER_PLACE = 3
#: An outlier deviates within its own places by at least this share of its overall deviation.
_MIN_SHARE_IN_PLACE = 0.5

#: Runs are far apart if they are so this many times as far as those of other drives.
_MIN_TIMES_APART = 2.0
#: What a drive's runs tell of their spread: at least as much as two runs in one place.
_MIN_RUN_DF = 1.5
#: Speeds: of a temperature or a depth, the room or the load may vary.
SPEEDS = ("mean_mb_s", "mean_iops")


def set_aside(found: Sequence[compared.Compared]) -> list[compared.Compared]:
    """Return the same with drives set aside that deviate beyond chance, far enough to matter."""
    return [_without_unlike(_without_varying(one, len(found)), len(found)) for one in found]


def _without_varying(one: compared.Compared, looked_at: int) -> compared.Compared:
    """Set aside the drives whose own runs differ more than those of others."""
    if one.measure not in SPEEDS:
        return one
    seen = one.seen
    left, free = seen.by_model().unexplained(by_drive=True)
    names, of = np.unique(seen.drives, return_inverse=True)
    # a rate is not known better than that
    power, df = np.bincount(of, left + free * seen.resolution**2), np.bincount(of, free)
    rest = np.ones(len(names), dtype=bool)
    varies: dict[str, compared.RunSpread] = {}
    for tried in range(len(names) // _ONE_IN):
        able = rest & (df >= _MIN_RUN_DF)
        if rest.sum() < MIN_DRIVES or not able.any():
            break
        most = int(np.argmax(np.where(able, power / np.maximum(df, _MIN_RUN_DF), -1.0)))
        rest[most] = False
        others_df = float(df[rest].sum())
        if others_df < _MIN_RUN_DF:
            break
        sd, others = math.sqrt(power[most] / df[most]), math.sqrt(power[rest].sum() / others_df)
        chance = float(scipy.special.fdtrc(df[most], others_df, (sd / others) ** 2))
        probability = min(1.0, chance * int(able.sum()) * looked_at * 2 ** (tried + 1))
        is_far = sd >= max(one.smallest, _MIN_TIMES_APART * others)
        if probability >= 1 - ranges.USUAL_LEVEL or not is_far:
            break
        low, high = (
            math.sqrt(power[most] / float(scipy.special.chdtri(df[most], share)))
            for share in ranges.tails(ranges.USUAL_LEVEL)
        )
        own = ranges.Range.around(sd, (low, high), "runs")
        varies[str(names[most])] = compared.RunSpread(own, others, probability)
    return replace(one, fit=EffectsFit(seen.without(varies)), varies=varies) if varies else one


def _without_unlike(one: compared.Compared, looked_at: int) -> compared.Compared:
    seen, fit = one.seen.without(one.varies), one.fit
    has_models = len(set(seen.models)) > 1
    enough = seen.min_drives_per_place >= _MIN_DRIVES_PER_PLACE
    if has_models:
        seen = seen.by_model(apart=enough)
        fit = EffectsFit(seen)
    is_by_model = seen.is_by_model
    model_of = dict(zip(seen.drives, seen.models, strict=True))
    count = Counter(model_of.values())
    may_go = {model: (n - 1) // 2 for model, n in count.items() if n >= MIN_DRIVES}
    tried: dict[str, float] = {}
    runs_of: list[Observations] = []
    most, unlike = fit.drive_df // _ONE_IN, 0
    while fit.knows_drives and len(tried) < min(most, unlike + _MOST_HIDDEN):
        left = {one for one in model_of if one not in tried and may_go.get(model_of[one])}
        drive = fit.most_unlike(left)
        if drive is None:
            break
        others = EffectsFit(seen.without({*tried, drive}))
        runs_of.append(seen.only(drive))
        shifts = [others.shift(own) for own in runs_of]
        may_go[model_of[drive]] -= 1
        shift = shifts[-1]
        if shift is None or None in shifts:
            break  # too few would be left to tell its places
        looks = len(left) * looked_at * 2 ** (len(tried) + 1)
        tried[drive] = min(1.0, float(shift.chance()[0]) * looks)
        if tried[drive] < 1 - ranges.USUAL_LEVEL:
            unlike = len(tried)
        fit = others
    named = dict(list(tried.items())[:unlike])
    if not named:
        return one
    aside = replace(one, fit=EffectsFit(one.seen.without([*named, *one.varies])), unlike=named)
    # a spread of next to nothing makes much of next to nothing
    far = {
        drive: probability
        for drive, probability in named.items()
        if (found := compared.deviation(aside, drive)) is not None
        and abs(found.mid) >= one.smallest
        and (is_by_model or not has_models or _is_off_in_its_place(one, drive, found.mid))
    }
    if not far:
        return one
    return replace(one, fit=EffectsFit(one.seen.without([*far, *one.varies])), unlike=far)


def _is_off_in_its_place(one: compared.Compared, drive: str, off: float) -> bool:
    """Whether a drive deviates from other drives of its model in the same places, too.

    If not, the place slows that model, and no drive is to blame. Without another drive of the model
    there, it cannot be told.
    """
    seen = one.seen.without(one.varies).by_model()
    shift = EffectsFit(seen.without([drive])).shift(seen.only(drive))
    return shift is not None and float(shift.middle[0]) / off >= _MIN_SHARE_IN_PLACE


def outliers(found: Sequence[compared.Compared], where: dict[str, str]) -> list[RackOutlier]:
    """Return the drives that were set aside, with what they deviate by; likeliest first."""
    named = [_outlier(one, drive, where) for one in found for drive in one.aside]
    return sorted(named, key=lambda one: one.probability)


def _outlier(one: compared.Compared, drive: str, where: dict[str, str]) -> RackOutlier:
    spread = one.varies.get(drive)
    own = compared.deviation(one, drive) if spread is None else spread.own
    assert own is not None  # it was set aside because the others can tell
    found = RackOutlier(
        drive=drive,
        model=one.seen.models[list(one.seen.drives).index(drive)],
        where=where.get(drive, ""),
        step=one.row["step"],
        measure=one.measure,
        unit=one.unit,
        deviation=own.mapped(one.shown),
        probability=one.unlike[drive] if spread is None else spread.probability,
        is_worse=spread is not None or (own.mid < 0) == (one.worse == "low"),
        varies=spread is not None,
        sentence="",
    )
    return found.model_copy(
        update={"sentence": sentence([found]) if spread is None else _varies(one, found, spread)}
    )


def _varies(one: compared.Compared, found: RackOutlier, spread: compared.RunSpread) -> str:
    others = words.number_text(one.shown(spread.others), 2)
    unit = compared.UNIT_WORDS[found.unit]
    return (
        f"its {one.said} in {words.plain(found.step)} varies by "
        f"{words.number_text(found.deviation.mid, 2)} {unit} from run to run "
        f"({words.interval_text(found.deviation)}), that of other drives by {others} {unit}"
    )


def _amount(one: RackOutlier) -> str:
    """How far a drive deviates: ``14 % slower (9 to 19)``."""
    word = compared.WORDS[one.measure][1 if one.is_worse else 2]
    size = one.deviation.size
    return (
        f"{words.number_text(size.mid, 2)} {compared.UNIT_WORDS[one.unit]} {word} "
        f"({words.interval_text(size)})"
    )


def sentence(unlike: Sequence[RackOutlier]) -> str:
    """Return how far a drive deviates, in each step, and from what."""
    steps: dict[str, list[str]] = {}
    for one in unlike:
        steps.setdefault(one.step, []).append(_amount(one))
    return compared.than_others(steps, "others of its model")
