"""A step in which throughput never fell: why all of it may be slow (what came before, or the
place), and whether it held its speed, in windows from 2 s to the whole of it."""

import math
from collections.abc import Callable, Sequence

import numpy as np

from heatsoak import words
from heatsoak.analysis import claims, definitions, reference
from heatsoak.analysis.cause.evidence.counters import risen
from heatsoak.analysis.falls.find import Stall
from heatsoak.analysis.findings import Claim, Verdict
from heatsoak.analysis.likeness import SEQUENTIAL, cooled_otherwise
from heatsoak.analysis.series import Array, RateSeries, resampled, spans_of
from heatsoak.analysis.view import OtherCooling, StepView

#: The time at the end of the earlier load over which its temperature is taken.
_LATE_S = 10.0


def after_a_slow_load(
    view: StepView, others: list[StepView], cause_of: Callable[[StepView], Verdict | None]
) -> Claim | None:
    """Return that a step was slow from its start, by a load directly before it that had fallen.

    None if nothing shows that it was, or if that load used up a cache or spare area: steps are run
    after such loads on purpose. `others` are of the same recording: one with the same load shows
    the loss. `cause_of` tells why another step lost speed that it did not regain.
    """
    origin = view.slowed_by
    if view.drops is None or origin is None or (drop := origin.lasting_drop) is None:
        return None
    full = reference.full_speed(view, [one for one in others if one.slowed_by is None])
    known = [] if full is None else [full.mid]
    rw = origin.step.rw
    is_same = rw == view.step.rw and origin.throughput.unit == view.throughput.unit
    if is_same and rw in SEQUENTIAL and origin.level > 0:
        known.append(origin.level)
    lost = 1 - view.level / max(known) if known else None
    cause, is_held, is_counted = cause_of(origin), _is_held(view, origin), bool(risen(view))
    is_slow = lost is not None or (cause == "thermal" and (is_held or is_counted))
    is_full = lost is not None and lost <= 1 - definitions.RECOVERED
    if cause not in ("thermal", "unknown") or is_full or not is_slow:
        return None
    is_heat = cause == "thermal" and (is_counted or (is_held and lost is not None))
    by = "heat" if cause == "thermal" else "something"
    text = "it started " if lost is None else f"{_below(lost)} from the start, "
    text += f"right after '{origin.step.name}', which {by} had slowed by "
    text += f"{words.share_text(drop.depth)}{', and stayed as hot' if is_held else ''}"
    text += "; the drive counted throttling" if is_counted else ""
    text += "" if is_heat else ": a pause between them would tell"
    return claims.slow(view.step.name, lost, text, is_heat=is_heat)


def _is_held(view: StepView, origin: StepView) -> bool:
    """Whether the drive stayed as hot as it was at the end of the earlier load."""
    end_s = origin.throughput.duration_s
    late_c, here_c = origin.temp.between(end_s - _LATE_S, end_s), view.temp.values
    late, here = (np.median(temps_c) if len(temps_c) else np.nan for temps_c in (late_c, here_c))
    return bool(here >= late - definitions.HELD_WITHIN_K)


def hot_from_the_start(view: StepView, others: Sequence[StepView]) -> str | None:
    """Return why a step may have been throttled from its first sample on; None if nothing says so.

    Only the time until it first fell counts: a drive that fell for another reason may cool then.
    `others` are other steps of the drive: one with the same load that started cooler and no faster
    shows that this one was not throttled.
    """
    first_s = min((drop.onset_s for drop in view.drops or []), default=math.inf)
    temps_c = view.temp.between(-math.inf, first_s)
    doubt = ""
    if len(view.temp.values) == 0:
        # one that stands still may be right; what no drive survives is another unit, or a code
        tracks = view.own_temps(trusted=False).values()
        aside = [track.between(-math.inf, first_s) for track in tracks]
        known = (values for values in aside if np.max(values, initial=0.0) <= definitions.HOTTEST_C)
        temps_c, doubt = next(known, temps_c), ", by a sensor that cannot be trusted"
    if len(temps_c) == 0:
        return None
    coolest_c = float(np.min(temps_c))
    speed_up = reference.started_faster(view)
    if coolest_c >= definitions.MIN_THROTTLING_C and speed_up >= definitions.MUCH_FASTER:
        times, hot = words.number_text(speed_up, 2), words.temp_text(temps_c[0])
        return f"it was {times} times as fast in its first second, at {hot}{doubt}"
    limit_c = definitions.USUALLY_THROTTLING_C
    if coolest_c < limit_c or reference.is_shown(view, others, limit_c):
        return None
    hot = words.temps_text(temps_c)
    return f"it was at {hot} from its first second, as hot as drives throttle at{doubt}"


def begun_slow(
    view: StepView, others: Sequence[StepView], siblings: Sequence[StepView]
) -> str | None:
    """Return why a step that held its speed may have been slow before; None if it was not.

    It began at full speed if it began cool, or warmed while it held that, or ran as fast as another
    step that began cool, as its link or as such drives are rated. What `siblings`, steps of other
    recordings, held is told beside it.
    """
    if (slow := reference.lost_from_start(view, others)) is not None:
        return _below(slow[0], f", {view.throughput.text(slow[1].mid)}, from the start")
    cool_c, temps_c, is_shown = definitions.MIN_THROTTLING_C, view.temp.values, False
    why = "no temperature tells whether it was slow before"
    if len(temps_c):
        warm_c = temps_c[0] + definitions.HELD_WITHIN_K
        is_shown = temps_c[0] < cool_c or np.max(temps_c) >= warm_c
        hot = words.temp_text(temps_c[0])
        why = f"it was at {hot} from the start, and may have been slow before"
    if is_shown or reference.is_shown(view, [*others, *siblings], cool_c):
        return None
    if (slow := reference.lost_from_start(view, siblings)) is not None:
        why += f"; in another recording it did {view.throughput.text(slow[1].mid)}"
    return why


def _below(lost: float, full: str = "") -> str:
    return f"it ran {words.share_text(lost)} below its full speed{full}"


def slower_than_elsewhere(
    view: StepView, others: Sequence[StepView], siblings: Sequence[StepView]
) -> Claim | None:
    """Return how much slower a step was from its start than elsewhere, where heat may be why.

    `others` are of the same recording: those count that began cool. `siblings` are of other
    recordings of the drive: those count that were cooled better, and first if the temperatures
    show that.
    """
    found = [_when_cooled(view, *other) for other in cooled_otherwise(view, siblings)]
    slow = reference.lost_from_start(view, filter(reference.began_cool, others))
    if slow is not None and not reference.began_cool(view):
        at = "" if view.start_c is None else f", at {words.temp_text(view.start_c)}"
        full = f", {view.throughput.text(slow[1].mid)}, from the start{at}"
        found.append(claims.slow(view.step.name, slow[0], _below(slow[0], full)))
    return min(filter(None, found), key=lambda one: one.rank, default=None)


def _when_cooled(view: StepView, other: StepView, cooling: OtherCooling) -> Claim | None:
    here_c, there_c = view.max_temp_c, other.max_temp_c
    too_cool_c = definitions.MIN_THROTTLING_C
    if there_c is not None:
        too_cool_c = there_c + definitions.HELD_WITHIN_K  # no hotter than with the other cooling
    if cooling.is_better is False or (here_c is not None and here_c < too_cool_c):
        return None
    common_s = min(view.duration_s, other.duration_s)
    ran = [one.throughput.mean(0.0, common_s) for one in (view, other)]
    pairs = [ran, [view.level, other.level]] if view.drops or other.drops else [ran]
    lost = max((1 - here / there for here, there in pairs if 0 < here < there), default=0.0)
    is_like = view.throughput.unit == other.throughput.unit and view.has_moved
    if not is_like or lost < 1 - reference.FULL:
        return None
    times = words.number_text(1 / (1 - lost), 2)
    said = f"with {cooling.text} the same load ran {times} times as fast, "
    if here_c is None or there_c is None:
        said += "and no temperature shows whether heat is why"
        return claims.slow(view.step.name, lost, said)
    here, there = map(words.temp_text, (here_c, there_c))
    said += f"the drive at {there} at most: here it got {here} hot"
    return claims.slow(view.step.name, lost, said, is_heat=True)


#: Means are over at least this.
_BIN_S = 0.5
#: No window is shorter, but for a longer sampling interval.
_LEAST_WINDOW_S = 2.0
#: Standstills that take less of the time are a note.
_FEW = 0.05
#: A loss that lasts for less is a stall, and a speed that is held for less is a burst.
_MIN_LOSS_S = 10.0
#: Windows are medians of so many bins, which a short stall does not move; of one where bins are
#: short themselves.
_MEDIANS = (1, 3, 5)
#: Where fewer bins are left, their noise is told by those of half the length.
_ENOUGH = 32
#: How often steady noise may be taken for a regular swing. Noise whose neighbours are alike has
#: its power at periods of more bins than `_QUICK`: there a swing has more than half of all.
_BY_CHANCE, _QUICK, _MOST = 1e-4, 12.0, 0.5
#: Where noise would hide a greater loss for about `_SEEN_S`, that is said.
_HIDDEN, _SEEN_S = 0.15, 30.0
#: The lower quartile of a normal distribution's absolute differences, over its deviation.
_QUARTILE = 0.3186 * math.sqrt(2)


#: Why a series does not show that it held its speed; and the share that it may have lost unseen,
#: where its noise is all that there is.
Unheld = tuple[str, float | None]


def not_held(series: RateSeries, stalls: Sequence[Stall] = (), what: str = "it") -> Unheld | None:
    """Return why a series without falls does not show that it held its speed; None if it does.

    It did where no window lies more than `MIN_DROP` below the highest of its length, by more than
    noise explains, for `MAX_STEADY_FALL_S` at once, at the end, or at a cost of `MAX_STEADY_LOSS`
    of the work; where it did not swing regularly, which noise does not; and where noise would not
    hide such a loss. `stalls` are left out where they are few. `what` is the series in the
    sentence: ``it``, ``its reads``, ``its writes``.
    """
    moving = series.without([(stall.begin_s, stall.end_s) for stall in stalls])
    if np.sum(moving.interval_s) > (1 - _FEW) * np.sum(series.interval_s):
        series = moving
    bin_s = max(series.sampling_s, _BIN_S) if len(series.t_s) else _BIN_S
    bins = _means(series, bin_s)
    if len(bins) < 4:
        return "too little of it was measured to tell", None
    if said := _swing(series, bins, bin_s, what):
        return said, None
    lower = _lower(series, bin_s, what)
    # single bins may cost as much that are too few to stand out of the noise
    lost = 1 - float(np.mean(bins)) / max(float(np.median(bins)), 1e-9)
    if lost > definitions.MIN_DROP and (lower is None or lower[1] is not None):
        return f"{what} moved {words.share_text(lost)} less than at its usual speed", None
    return lower


def _means(series: RateSeries, bin_s: float) -> Array:
    means = resampled(series, 0.0, series.duration_s, bin_s)
    return means[np.isfinite(means)]


def _swing(series: RateSeries, bins: Array, bin_s: float, what: str) -> str | None:
    """A line in the spectrum of bins (Fisher's test), as a sentence."""
    power = np.square(np.abs(np.fft.rfft(bins - np.mean(bins))[1:]))
    if len(power) < 4 or not np.any(power > 0):
        return None
    at = int(np.argmax(power))
    period = len(bins) / (1 + at)
    share = float(power[at] / np.sum(power))
    chance = len(power) * (1 - share) ** (len(power) - 1)
    is_regular = share > _MOST if period > _QUICK else chance < _BY_CHANCE
    size = 2 * math.sqrt(float(power[at])) / len(bins)
    if at == 0 or not is_regular or size < definitions.MIN_DROP * float(np.mean(bins)):
        return None
    low, high = map(series.text, np.quantile(bins, (0.1, 0.9)))
    every = words.seconds_text(period * bin_s)
    said = f"{what} swung between {low} and {high} from the start, every {every}, as under a "
    return f"{said}governor or a load of its own"


def _lower(series: RateSeries, bin_s: float, what: str) -> Unheld | None:
    """The windows below the others that cost most, or the noise that would hide them."""
    worst, said, noise, alike, hidden = 0.0, "", math.inf, 1.0, math.inf
    # a loss may share its first and last sample with what is around it
    min_loss_s, first_s = _MIN_LOSS_S + 2 * series.sampling_s, bin_s
    most_s = definitions.MAX_STEADY_FALL_S + 2 * series.sampling_s
    while len(bins := _means(series, bin_s)) >= 4:
        if math.isinf(noise) or len(bins) >= _ENOUGH:
            noise, alike = _noise(bins)
        for count in _MEDIANS:
            length_s = count * bin_s
            is_rough = count == 1 and bin_s >= 2 * _LEAST_WINDOW_S and bin_s > first_s
            if len(bins) < 2 * count or length_s < _LEAST_WINDOW_S or is_rough:
                continue
            windows = np.median(np.lib.stride_tricks.sliding_window_view(bins, count), axis=1)
            error = noise * (1.25 * math.sqrt(alike / count) if count > 1 else 1.0)
            # so many deviations is the most extreme of so many, with one to spare
            error *= math.sqrt(2 * math.log(len(windows))) + 1.0
            error *= 1 + 3 / len(bins) if len(bins) < _ENOUGH else 1.0
            # what is held for less is a burst
            held = min(max(1, round(_MIN_LOSS_S / bin_s)), len(windows))
            high = float(np.sort(windows)[-held]) - error
            limit = (1 - definitions.MIN_DROP) * high - error
            low = windows < limit
            low_s = float(np.sum(low)) * bin_s
            at_once_s = max((end - start for start, end in spans_of(low)), default=0) * bin_s
            if length_s <= max(_SEEN_S, 5 * first_s):
                hidden = min(hidden, 1 - limit / high if high > 0 else 1.0)
            if not low.any():
                continue
            level = float(np.mean(windows[low]))
            lost_s = low_s * (1 - level / high)
            is_dear = lost_s > definitions.MAX_STEADY_LOSS * series.duration_s
            is_long = at_once_s > most_s or (low_s > min_loss_s and is_dear)
            at_end = bool(low[-1]) and (count > 1 or bool(low[-2]))
            if (is_long or at_end) and lost_s * high > worst:
                worst, low_text = lost_s * high, words.duration_text(low_s)
                said = f"{what} ran at about {series.text(level)} for {low_text} of "
                said += f"{words.duration_text(series.duration_s)}, and {series.text(high)} at best"
        noise /= math.sqrt(2)
        bin_s *= 2
    if said:
        return said, None
    if hidden <= _HIDDEN:
        return None
    speed = "its speed" if what == "it" else f"the speed of {what}"
    if hidden >= 1:
        return f"{speed} varies too much to tell", 1.0
    lost = words.share_text(hidden)
    return f"{speed} varies so much that a loss of {lost} would not show", hidden


def _noise(bins: Array) -> tuple[float, float]:
    """The deviation of bins by noise, and how much alike neighbours are, as a factor of variance.

    It is told by differences at three lags, by those that are small: swings and shifts show in the
    others. Correlated noise grows with the lag at most as a random walk does.
    """
    squares: list[float] = []
    for lag in (1, *(lag for lag in (2, 4) if len(bins) >= 8 * lag)):
        steps = bins[lag:] - bins[:-lag]
        small = float(np.quantile(np.abs(steps - np.median(steps)), 0.25)) / _QUARTILE
        squares.append(max(small, 1e-3 * float(np.median(bins)), 1e-9) ** 2)
    most = max(min(one, 2**index * squares[0]) for index, one in enumerate(squares))
    return math.sqrt(most), most / squares[0]
