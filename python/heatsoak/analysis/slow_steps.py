"""A step in which throughput never fell: why all of it may be slow (the link, what came before, or
the place), and whether it held its speed, in windows from 2 s to the whole of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from heatsoak import words
from heatsoak.analysis import definitions
from heatsoak.analysis.cause.case import FULL, temperature_moves
from heatsoak.analysis.cause.evidence.counters import risen
from heatsoak.analysis.falls import Drop
from heatsoak.analysis.falls.find import Stall
from heatsoak.analysis.findings import Verdict
from heatsoak.analysis.likeness import alike, cooled_otherwise
from heatsoak.analysis.series import Array, RateSeries, resampled, spans_of
from heatsoak.analysis.view import OtherCooling, StepView
from heatsoak.recording.columns import throttle_statuses

#: Packet headers and acknowledgements take part of a link's capacity.
NEAR_CEILING = (0.8, 1.02)
#: A link is narrow if it carries less than this share of what the drive's own link could.
NARROW = 0.95


def limited_by_link(view: StepView) -> str | None:
    """Return why the link limits a step's throughput, not its drive; None if it does not.

    A rate at the ceiling of a link with fewer lanes or an older generation than the drive supports
    would be higher in another host.
    """
    series = view.throughput
    if series.unit != "mb_s" or len(series.values) == 0 or view.course.link_ceiling_mb_s is None:
        return None
    ceiling, most = view.course.link_ceiling_mb_s
    # links sleep when idle: what they carry under load counts
    readings = view.track("link_mb_s").values
    if len(readings):
        ceiling = float(np.median(readings))
    level = float(np.median(series.values))
    low, high = NEAR_CEILING
    if ceiling >= NARROW * most or not low * ceiling <= level <= high * ceiling:
        return None
    carries = f"{words.rate_text(ceiling)} before protocol overhead"
    return (
        f"{words.rate_text(level)} is all that its PCIe link carries ({carries}); at the drive's "
        f"full width and speed it would carry {words.rate_text(most)}"
    )


#: Sequential loads run at about the same speed in blocks of any usual size.
_SEQUENTIAL = ("read", "write")
#: The time at the end of the earlier load over which its temperature is taken.
_LATE_S = 10.0


@dataclass(frozen=True)
class SlowStart:
    """Why a step may have been slow from its start.

    Attributes:
        origin: the first of the loads directly before it whose throughput had fallen.
        drop: the drop of that load that lasted to its end.
        lost: the share of the same load's full speed that is missing from the start; None if that
            is unknown.
        is_held: whether the drive stayed as hot; None without temperatures.
        is_counted: whether the drive counted throttling in the step.
    """

    origin: StepView
    drop: Drop
    lost: float | None
    is_held: bool | None
    is_counted: bool

    def verdict(self, cause: Verdict) -> Verdict | None:
        """Return the step's verdict, given the `cause` of the drop that lasted.

        None if nothing shows that it was slow, or if the earlier load used up a cache or spare
        area: steps are run after such loads on purpose, to see what a drive does then.
        """
        if cause == "thermal":
            if self.is_counted or (self.is_held and self.lost is not None):
                return "thermal"
            return "unknown" if self.is_held or self.lost is not None else None
        return "unknown" if cause == "unknown" and self.lost is not None else None

    def reason(self, cause: Verdict) -> str:
        """Return the reason for the verdict as a sentence; `cause` is that of the earlier drop."""
        by, fell = "heat" if cause == "thermal" else "something", words.share_text(self.drop.depth)
        after = f"right after '{self.origin.step.name}', which {by} had slowed by {fell}"
        if self.lost is None:
            text = f"it started {after}"
        else:
            text = (
                f"it ran {words.share_text(self.lost)} below its full speed from the start, {after}"
            )
        if self.is_held:
            text += ", and stayed as hot"
        if self.is_counted:
            text += "; the drive counted throttling"
        if self.verdict(cause) == "thermal":
            return text
        return f"{text}: a pause between them would tell"


def slow_start(view: StepView, others: list[StepView]) -> SlowStart | None:
    """Return why a step may have been slow from its start; None if no load before it suggests that.

    `others` are other steps of the drive: a faster one with the same load shows the loss.
    """
    origin = view.slowed_by
    drop = None if origin is None else origin.lasting_drop
    if origin is None or drop is None:
        return None
    before = _full_speed(view, origin, others)
    lost = None if before is None else 1 - view.level / before
    if lost is not None and lost <= 1 - definitions.RECOVERED:
        return None
    return SlowStart(origin, drop, lost, _is_held(view, origin), bool(risen(view)))


def _full_speed(view: StepView, origin: StepView, others: list[StepView]) -> float | None:
    """The speed of the same load before it fell, or after a rest; None if there was none."""
    unit = view.throughput.unit
    known = [
        other.level for other in others if other.slowed_by is None and alike(other.step, view.step)
    ]
    rw = origin.step.rw
    if rw in _SEQUENTIAL and rw == view.step.rw and origin.throughput.unit == unit:
        known.append(origin.level)
    return max((level for level in known if level > 0), default=None)


def _is_held(view: StepView, origin: StepView) -> bool | None:
    """Whether the drive stayed as hot as it was at the end of the earlier load."""
    end_s = origin.throughput.duration_s
    late_c, here_c = origin.temp.between(end_s - _LATE_S, end_s), view.temp.values
    if len(late_c) == 0 or len(here_c) == 0:
        return None
    return float(np.median(here_c)) >= float(np.median(late_c)) - definitions.HELD_WITHIN_K


def never_throttled(view: StepView, others: Sequence[StepView]) -> bool:
    """Whether it stayed too cool for that, or the drive's own status said so throughout."""
    top_c, other = view.max_temp_c, view.hottest_beside(-math.inf, math.inf)
    if (
        top_c is not None
        and top_c < definitions.MIN_THROTTLING_C
        and (other is None or other[1] < definitions.USUALLY_THROTTLING_C)
        and temperature_moves(view, others)
    ):
        return True
    return bool(throttle_statuses(view.columns("throttle_"))) and not risen(view)


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
        aside = [
            track.between(-math.inf, first_s) for track in view.own_temps(trusted=False).values()
        ]
        known = (values for values in aside if np.max(values, initial=0.0) <= definitions.HOTTEST_C)
        temps_c, doubt = next(known, temps_c), ", by a sensor that cannot be trusted"
    if len(temps_c) == 0:
        return None
    coolest_c = float(np.min(temps_c))
    speed_up = view.throughput.mean(0.0, 1.0) / max(view.level, 1e-9)
    if coolest_c >= definitions.MIN_THROTTLING_C and speed_up >= definitions.MUCH_FASTER:
        return (
            f"it was {words.number_text(speed_up, 2)} times as fast in its first second, at "
            f"{words.temp_text(temps_c[0])}{doubt}"
        )
    limit_c = definitions.USUALLY_THROTTLING_C
    if coolest_c < limit_c or _is_full_speed(view, others, limit_c):
        return None
    return (
        f"it was at {words.temps_text(temps_c)} from its first second, as hot as drives throttle "
        f"at{doubt}"
    )


def begun_slow(view: StepView, others: Sequence[StepView]) -> str | None:
    """Return why a step that held its speed may have been slow before; None if it was not.

    It began at full speed if it began cool, or warmed while it held that, or ran as fast as another
    step that began cool, as its link or as such drives are rated.
    """
    temps_c = view.temp.values
    if len(temps_c) == 0:
        is_shown, why = False, "no temperature tells whether it was slow before"
    else:
        is_shown = (
            temps_c[0] < definitions.MIN_THROTTLING_C
            or float(np.max(temps_c)) >= temps_c[0] + definitions.HELD_WITHIN_K
        )
        hot = words.temp_text(temps_c[0])
        why = f"it was at {hot} from the start, and may have been slow before"
    return None if is_shown or _is_full_speed(view, others, definitions.MIN_THROTTLING_C) else why


def _is_full_speed(view: StepView, others: Sequence[StepView], cool_c: float) -> bool:
    """Whether a step ran as fast as its link, its rating, or one of `others` that began cooler."""
    if view.throughput.unit == "mb_s":
        known, most = view.course.known, []
        if view.course.link_ceiling_mb_s is not None:
            most.append(NEAR_CEILING[0] * view.course.link_ceiling_mb_s[1])
        if known is not None and known.kind == "model" and view.step.rw in _SEQUENTIAL:
            drive = known.drive
            most.append(FULL * (drive.read_mb_s if view.step.rw == "read" else drive.write_mb_s))
        if any(view.level >= least for least in most):
            return True
    for other in others:
        start_c = other.temp.at(0.0)
        is_cool = start_c is not None and start_c < cool_c
        if is_cool and alike(other.step, view.step) and view.level >= FULL * other.level:
            return True
    return False


@dataclass(frozen=True)
class FasterWhenCooled:
    """The same load on the same drive ran faster with other cooling.

    Attributes:
        lost_share: the share of the other run's throughput that is missing here.
        is_heat: whether the drive was cooler there; if not, a temperature is missing that tells.
    """

    lost_share: float
    is_heat: bool
    text: str


#: A smaller difference between two runs may have many reasons.
_MIN_COOLING_GAIN = 0.1


def faster_when_cooled(view: StepView, siblings: Sequence[StepView]) -> FasterWhenCooled | None:
    """Return the run with other cooling that was most faster; None if no run was.

    One that shows heat counts more than one without the temperatures to show it.
    """
    runs = cooled_otherwise(view, siblings)
    found = [one for other, cooling in runs if (one := _gain(view, other, cooling)) is not None]
    return max(found, key=lambda one: (one.is_heat, one.lost_share), default=None)


def _gain(view: StepView, other: StepView, cooling: OtherCooling) -> FasterWhenCooled | None:
    """How much faster a like run was, if better cooling may be why."""
    if cooling.is_better is False:
        return None
    if view.throughput.unit != other.throughput.unit or not (view.has_moved and other.has_moved):
        return None
    here_c, there_c = view.max_temp_c, other.max_temp_c
    is_told = here_c is not None and there_c is not None
    if here_c is not None and here_c < (
        definitions.MIN_THROTTLING_C if there_c is None else there_c + definitions.HELD_WITHIN_K
    ):
        # it stayed too cool to throttle, or no hotter than there
        return None
    common_s = min(view.duration_s, other.duration_s)
    pairs = {"ran": [each.throughput.mean(0.0, common_s) for each in (view, other)]}
    if view.drops or other.drops:
        pairs["started"] = [view.level, other.level]
    gains = [(there / here, verb) for verb, (here, there) in pairs.items() if here > 0]
    times, verb = max(gains, default=(1.0, ""))
    lost = 1 - 1 / max(times, 1.0)
    if lost < _MIN_COOLING_GAIN:
        return None
    said = f"with {cooling.text} the same load {verb} {words.number_text(times, 2)} times as fast"
    if here_c is not None and there_c is not None:
        said += (
            f", the drive at {words.temp_text(there_c)} at most: here it got "
            f"{words.temp_text(here_c)} hot"
        )
    else:
        said += ", and no temperature shows whether heat is why"
    return FasterWhenCooled(lost, is_told, said)


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
#: Where noise would hide a greater loss for about `_SEEN_S`, nothing is shown.
_HIDDEN, _SEEN_S = 0.15, 30.0
#: The lower quartile of a normal distribution's absolute differences, over its deviation.
_QUARTILE = 0.3186 * math.sqrt(2)


def not_held(series: RateSeries, stalls: Sequence[Stall] = (), what: str = "it") -> str | None:
    """Return why a series without falls does not show that it held its speed; None if it does.

    It did where no window lies more than `MIN_DROP` below the highest of its length, by more than
    noise explains, for `_MIN_LOSS_S` at once, at the end, or at a cost of `MAX_STEADY_LOSS` of the
    work; where it did not swing regularly, which noise does not; and where noise would not hide
    such a loss. `stalls` are left out where they are few. `what` is the series in the sentence:
    ``it``, ``its reads``, ``its writes``.
    """
    if sum(stall.length_s for stall in stalls) < _FEW * series.duration_s:
        series = series.without([(stall.begin_s, stall.end_s) for stall in stalls])
    bin_s = max(series.sampling_s, _BIN_S) if len(series.t_s) else _BIN_S
    bins = _means(series, bin_s)
    if len(bins) < 4:
        return "too little of it was measured to tell"
    return _swing(series, bins, bin_s, what) or _lower(series, bin_s, what) or _missing(bins, what)


def _means(series: RateSeries, bin_s: float) -> Array:
    means = resampled(series, 0.0, series.duration_s, bin_s)
    return means[np.isfinite(means)]


def _missing(bins: Array, what: str) -> str | None:
    """What single bins cost that are too few to stand out of the noise, as a sentence."""
    lost = 1 - float(np.mean(bins)) / max(float(np.median(bins)), 1e-9)
    return (
        f"{what} moved {words.share_text(lost)} less than at its usual speed"
        if lost > definitions.MIN_DROP
        else None
    )


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
    low, high = np.quantile(bins, (0.1, 0.9))
    return (
        f"{what} swung between {series.text(low)} and {series.text(high)} from the start, every "
        f"{words.seconds_text(period * bin_s)}, as under a governor or a load of its own"
    )


def _lower(series: RateSeries, bin_s: float, what: str) -> str | None:
    """The windows below the others that cost most, or the noise that would hide them."""
    worst, said, noise, alike, hidden = 0.0, None, math.inf, 1.0, math.inf
    # a loss may share its first and last sample with what is around it
    min_loss_s = _MIN_LOSS_S + 2 * series.sampling_s
    first_s = bin_s
    while len(bins := _means(series, bin_s)) >= 4:
        if math.isinf(noise) or len(bins) >= _ENOUGH:
            noise, alike = _noise(bins)
        for count in _MEDIANS:
            length_s = count * bin_s
            is_rough = count == 1 and bin_s >= 2 * _LEAST_WINDOW_S and bin_s > first_s
            if len(bins) < 2 * count or length_s < _LEAST_WINDOW_S or is_rough:
                continue
            windows = bins
            if count > 1:
                rows = np.lib.stride_tricks.sliding_window_view(bins, count)
                windows = np.median(rows, axis=1)
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
            level = float(np.mean(windows[low])) if np.any(low) else high
            lost_s = low_s * (1 - level / high) if high > 0 else 0.0
            is_long = at_once_s > min_loss_s or (
                low_s > min_loss_s and lost_s > definitions.MAX_STEADY_LOSS * series.duration_s
            )
            if length_s <= max(_SEEN_S, 5 * first_s):
                hidden = min(hidden, 1 - limit / high if high > 0 else 1.0)
            at_end = bool(low[-1]) and (count > 1 or bool(low[-2]))
            if (is_long or at_end) and lost_s * high > worst:
                worst, said = lost_s * high, (level, low_s, high)
        noise /= math.sqrt(2)
        bin_s *= 2
    if said is not None:
        level, low_s, high = said
        span = f"{words.duration_text(low_s)} of {words.duration_text(series.duration_s)}"
        return (
            f"{what} ran at about {series.text(level)} for {span}, and {series.text(high)} at best"
        )
    if hidden > _HIDDEN:
        speed = "its speed" if what == "it" else f"the speed of {what}"
        if hidden >= 1:
            return f"{speed} varies too much to tell"
        return f"{speed} varies so much that a loss of {words.share_text(hidden)} would not show"
    return None


def _noise(bins: Array) -> tuple[float, float]:
    """The deviation of bins by noise, and how much alike neighbours are, as a factor of variance.

    It is told by differences at three lags, by those that are small: swings and shifts show in the
    others. Correlated noise grows with the lag at most as a random walk does.
    """
    squares: list[float] = []
    for lag in (1, 2, 4):
        if squares and len(bins) < 8 * lag:
            break
        steps = bins[lag:] - bins[:-lag]
        small = float(np.quantile(np.abs(steps - np.median(steps)), 0.25)) / _QUARTILE
        squares.append(max(small, 1e-3 * float(np.median(bins)), 1e-9) ** 2)
    most = max(min(one, 2**index * squares[0]) for index, one in enumerate(squares))
    return math.sqrt(most), most / squares[0]
