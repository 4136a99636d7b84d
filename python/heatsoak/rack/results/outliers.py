"""Drives that are unlike others of their model, wherever they ran.

The drive that deviates most is set aside, and the others say what to expect of it: its deviation
over their spread is the externally studentised one. Then the next, since two drives that are slow
hide each other, until a third of what tells drives apart is used up; all up to the last that
deviates beyond chance are unlike the others. That is the generalised test for extreme studentised
deviates (Rosner 1983), whose figures are for samples larger than a rack; so here the chances of all
drives, of all measures and of one half, a quarter, an eighth for each next drive add up
(Bonferroni): in a rack without an outlier, one is named in 5 of 100 cases at most.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from heatsoak.protocol.phrases import listed, plain
from heatsoak.rack.results.compared import UNIT_WORDS, Compared, deviation, interval, number, shown
from heatsoak.rack.results.effects import LEVEL, Fit
from heatsoak.rack.results.findings import RackOutlier

#: Of fewer drives, nobody can say which one is unlike the others.
MIN_DRIVES = 4
#: One in so many drives that are more than needed to tell models and places may be set aside.
_ONE_IN = 3
#: With at least this many drives of each model in each place, places are fitted for each model.
_MIN_DRIVES_PER_PLACE = 3
#: An outlier deviates within its own places by at least this share of its overall deviation.
_MIN_SHARE_IN_PLACE = 0.5

_WORDS = {
    "mean_mb_s": ("slower", "faster"),
    "mean_iops": ("slower", "faster"),
    "throttled_mb_s": ("slower while throttled", "faster while throttled"),
    "depth_pct": ("deeper in its fall", "less deep in its fall"),
    "max_temp_c": ("hotter", "cooler"),
    "onset_s": ("earlier to throttle", "later to throttle"),
}


def set_aside(found: Sequence[Compared]) -> list[Compared]:
    """Return the same with drives set aside that deviate beyond chance, far enough to matter."""
    return [_without_unlike(one, len(found)) for one in found]


def _without_unlike(one: Compared, looked_at: int) -> Compared:
    seen, fit = one.seen, one.fit
    has_models = len(set(seen.models)) > 1
    if is_by_model := has_models and seen.min_drives_per_place >= _MIN_DRIVES_PER_PLACE:
        seen = seen.by_model()
        fit = Fit(seen)
    model_of = dict(zip(seen.drives, seen.models, strict=True))
    count = Counter(model_of.values())
    may_go = {model: (n - 1) // 2 for model, n in count.items() if n >= MIN_DRIVES}
    tried: list[tuple[str, float]] = []
    most, unlike = fit.drive_df // _ONE_IN, 0
    while fit.knows_drives and len(tried) < most:
        gone = [drive for drive, _ in tried]
        left = [drive for drive in model_of if drive not in gone and may_go.get(model_of[drive])]
        drive = fit.most_unlike(left)
        if drive is None:
            break
        others = Fit(seen.without([*gone, drive]))
        shifts = [others.shift(seen.only(one)) for one in (*gone, drive)]
        may_go[model_of[drive]] -= 1
        shift = shifts[-1]
        if shift is None or None in shifts:
            break  # too few would be left to tell its places
        below = float(shift.below(np.zeros(1))[0])
        looks = len(left) * looked_at * 2 ** (len(tried) + 1)
        tried.append((drive, min(1.0, 2 * min(below, 1 - below) * looks)))
        if tried[-1][1] < 1 - LEVEL:
            unlike = len(tried)
        fit = others
    named = dict(tried[:unlike])
    if not named:
        return one
    aside = replace(one, fit=Fit(one.seen.without(named)), unlike=named)
    # a spread of next to nothing makes much of next to nothing
    far = {
        drive: probability
        for drive, probability in named.items()
        if abs(off := deviation(aside, drive).value) >= one.measure.smallest
        and (is_by_model or not has_models or _is_off_in_its_place(one, drive, off))
    }
    return replace(one, fit=Fit(one.seen.without(far)), unlike=far) if far else one


def _is_off_in_its_place(one: Compared, drive: str, off: float) -> bool:
    """Whether a drive deviates from other drives of its model in the same places, too.

    If not, the place slows that model, and no drive is to blame. Without another drive of the model
    there, it cannot be told.
    """
    seen = one.seen.by_model()
    shift = Fit(seen.without([drive])).shift(seen.only(drive))
    return shift is not None and float(shift.middle[0]) / off >= _MIN_SHARE_IN_PLACE


def outliers(found: Sequence[Compared], where: dict[str, str]) -> list[RackOutlier]:
    """Return the drives that were set aside, with what they deviate by; likeliest first."""
    named = [_named(one, drive, where) for one in found for drive in one.unlike]
    return sorted(named, key=lambda one: one.probability)


def _named(one: Compared, drive: str, where: dict[str, str]) -> RackOutlier:
    seen, measure = one.seen, one.measure
    own = deviation(one, drive)
    found = RackOutlier(
        drive=drive,
        model=seen.models[list(seen.drives).index(drive)],
        where=where.get(drive, ""),
        step=one.row.step,
        measure=measure.id,
        unit=measure.unit,
        deviation=shown(measure, own),
        probability=one.unlike[drive],
        is_worse=(own.value < 0) == (measure.worse == "low"),
        sentence="",
    )
    return found.model_copy(update={"sentence": sentence([amount(found)], found.step)})


def amount(one: RackOutlier) -> str:
    """Return how far a drive deviates: ``14 % slower (9 to 19)``."""
    word = _WORDS[one.measure][0 if one.is_worse else 1]
    size = f"{number(one.deviation.value)} {UNIT_WORDS[one.unit]}"
    return f"{size} {word} ({interval(one.deviation)})"


def sentence(amounts: Sequence[str], step: str) -> str:
    """Return how far a drive deviates, and from what."""
    return f"{listed(amounts)} than others of its model in {plain(step)}"
