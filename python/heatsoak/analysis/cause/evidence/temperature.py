"""Evidence from the drive's temperature: how it changed before and during the drop, whether
throughput follows it, and whether less work cools the drive."""

from itertools import pairwise

import numpy as np

from heatsoak import words
from heatsoak.analysis import definitions, reference
from heatsoak.analysis.cause.case import Case, Evidence
from heatsoak.analysis.cause.evidence import counters
from heatsoak.analysis.sensors.flaws import locked_up_at
from heatsoak.analysis.series import TIME_CONSTANTS_S, Array, lagged, resampled
from heatsoak.analysis.view import StepView
from heatsoak.recording import columns
from heatsoak.recording.grid import SensorTrack

#: At these temperatures most, many, some, few and hardly any drives throttle; below, none.
GRADES = (
    ("very-hot", 75.0),
    ("hot", 65.0),
    ("warm", 60.0),
    ("lukewarm", definitions.MIN_THROTTLING_C),
    ("cool", 45.0),
)
#: Under a governor a temperature stays this close to where throttling began.
NEAR_ONSET_K = 4.0
#: Beyond the hysteresis of most governors.
FAR_K = 8.0
#: A sensor lags: it still gains what it would in this time at its slope before the onset.
LAG_S = 10.0
MAX_LAG_K = 15.0
#: The time before the onset over which the temperature's slope is taken.
BEND_S = 60.0
MIN_BEND_S = 15.0
MIN_READINGS = 5
#: The smallest change that a sensor of whole kelvins shows.
CHANGES_K = 1.0
#: A temperature that rose this much in the last minute was far from equilibrium.
STOPPED_K = 3.0
#: A drive that runs at full speed at a temperature for this long does not throttle there.
AT_SPEED_S = 10.0
#: A load that warmed its drive by this much and never fell was not throttled at that temperature.
WARMED_K = 4.0
#: Clearly hotter, with sensors that round and lag.
CLEARLY_K = 5.0


def locked_up(case: Case) -> Evidence | None:
    """A drive slows down for what its sensor says, even if that has locked up."""
    view = case.view
    for name in columns.own_temperatures(view.columns(columns.TEMPERATURES)):
        track = view.track(name)
        at = locked_up_at(track.t_s, track.values)
        if at is None:
            continue
        before, after = track.t_s[at - 1 : at + 1]
        # loggers ask a sensor more seldom than they write it down
        if before - counters.LATE_S <= case.drop.onset_s <= after + counters.LATE_S:
            hot = words.temp_text(track.values[at])
            return "locked-up", f"its sensor jumped to {hot} just then and has not moved since"
    return None


def at_onset(case: Case) -> Evidence | None:
    """Drives throttle at a reported 60 to 90 C; hardly any does when cool.

    What falls for long may do so for what it becomes meanwhile, and what falls again and again for
    what it was in the first few cycles.
    """
    drop, onset_c = case.drop, case.onset_c
    if onset_c is None:
        return None
    fell_s = max(drop.fall_s, definitions.MIN_CYCLES * (drop.period_s or 0.0))
    fell_c = float(
        np.max(case.view.temp.between(drop.onset_s, drop.onset_s + fell_s), initial=onset_c)
    )
    text = f"it was at {words.temp_text(onset_c)} when it fell"
    if fell_c >= onset_c + definitions.MIN_RISE_K:
        text += f", and at {words.temp_text(fell_c)} before it fell no more"
    else:
        fell_c = onset_c
    seen = grade_of(fell_c)
    if case.hotter is not None and seen in ("cold", "cool", "lukewarm"):
        return None  # one sensor is no evidence against heat while another is at its limit
    return seen, text


def grade_of(temp_c: float) -> str:
    """Return how many drives throttle at a temperature, as what is seen of it."""
    return next((grade for grade, from_c in GRADES if temp_c >= from_c), "cold")


def course(case: Case) -> Evidence | None:
    """A governor lets the temperature rise to its limit and then holds it there."""
    onset_c, late_c = case.onset_c, case.late_c
    if onset_c is None or late_c is None:
        return None
    then = "then"
    if case.drop.oscillates:
        # it is let go and cut again, each time at its limit
        half_s = case.drop.onset_s + 0.5 * case.drop.length_s
        late_c = float(np.max(case.view.temp.between(half_s, case.drop.end_s)))
        then = "then at most"
    start_c = float(np.min(case.view.temp.between(0.0, case.drop.onset_s), initial=onset_c))
    path = f"from {words.temp_text(start_c)} to {words.temp_text(onset_c)} at the onset"
    path += f", {then} {words.temp_text(late_c)}"
    more_k = late_c - onset_c
    to_come_k = min(LAG_S * max(_slope_k_s(case) or 0.0, 0.0), MAX_LAG_K)

    def seen(what: str, text: str) -> Evidence:
        return what, f"{text}: {path}"

    if more_k <= -NEAR_ONSET_K and counters.counted_it(case):
        # a governor with much hysteresis throttles more than it needs to
        return seen("cooled-counted", "the drive cooled while it counted its throttling")
    if more_k <= -FAR_K:
        return seen("cooled-far", "the drive cooled a lot while it stayed slow")
    if more_k <= -NEAR_ONSET_K:
        return seen("cooled", "the drive cooled while it stayed slow")
    if more_k > NEAR_ONSET_K + to_come_k:
        return seen("rose-on", "the temperature kept rising while it was slow")
    if onset_c - start_c < definitions.MIN_RISE_K and not case.is_nested:
        return seen("flat", "the reported temperature hardly moved before the onset")
    if abs(more_k) <= NEAR_ONSET_K / 2:
        # a load that happens to change seldom does so at its new equilibrium
        if (_rise_before_k(case) or 0.0) >= STOPPED_K and not case.is_nested:
            return seen("stopped", "the temperature was rising until then, and was held there")
        return seen("held", "the temperature rose and was held there")
    return seen("stayed-up", "the temperature rose and stayed up")


def recovery(case: Case) -> Evidence | None:
    """A governor releases the drive once it has cooled; other causes end at any temperature."""
    drop, onset_c = case.drop, case.onset_c
    within = case.view.temp.between(drop.onset_s, drop.back_s)
    is_brief = drop.length_s < MIN_BEND_S or len(within) < MIN_READINGS
    # a governor that holds a limit lets go as slowly as the drive cools
    half_s, lag_s = 0.5 * (drop.onset_s + drop.back_s), LAG_S if is_brief else 0.0
    late_c = case.view.temp.between(half_s, drop.back_s + lag_s)
    if not drop.recovered or drop.oscillates or onset_c is None or len(late_c) == 0:
        return None
    coolest_c = float(np.min(late_c))
    said = (
        f"it fell at {words.temp_text(onset_c)} and was back at full speed at "
        f"{words.temp_text(coolest_c)}"
    )
    if coolest_c <= onset_c - (2 if is_brief else 1) * CHANGES_K:
        return "cooler", said
    # what a sensor does not show of a brief fall may have been all the same
    return None if is_brief else ("as-hot", said)


def bend(case: Case) -> Evidence | None:
    """A drive that reaches a limit was warming until then; in equilibrium it reaches none."""
    change_k = _rise_before_k(case)
    if change_k is None:
        return None
    length_s = _length_before_s(case)
    span = f"in the {words.seconds_text(length_s)} before the onset"
    if change_k >= CHANGES_K:
        return "rising", f"the temperature was rising, by {words.kelvin_text(change_k)} {span}"
    if change_k <= -CHANGES_K:
        return "falling", f"the temperature was falling, by {words.kelvin_text(-change_k)} {span}"
    if length_s >= 2 * MIN_BEND_S:
        return "level", f"the temperature was level {span}"
    return None


def _rise_before_k(case: Case) -> float | None:
    """How much the temperature rose in the time before the onset."""
    slope_k_s = _slope_k_s(case)
    return None if slope_k_s is None else slope_k_s * _length_before_s(case)


def _length_before_s(case: Case) -> float:
    """The length of the time before the onset over which the slope is taken."""
    return min(case.drop.onset_s - case.level_since_s, BEND_S)


def _slope_k_s(case: Case) -> float | None:
    """How fast the temperature rose before the onset; None if unknown."""
    end_s = case.drop.onset_s
    start_s = max(case.level_since_s, end_s - BEND_S)
    temp = case.view.temp
    inside = (temp.t_s >= start_s) & (temp.t_s <= end_s)
    if end_s - start_s < MIN_BEND_S or np.count_nonzero(inside) < MIN_READINGS:
        return None
    return float(np.polyfit(temp.t_s[inside] - start_s, temp.values[inside], 1)[0])


def hotter_at_full_speed(case: Case) -> Evidence | None:
    """A drive does not throttle at a temperature at which it runs at full speed for a while.

    A step that starts hot may be throttled from its first sample on, and then never falls.
    """
    if case.onset_c is None or case.is_nested:
        return None
    best: tuple[float, str] | None = None
    views = (case.view, *case.others)
    for view in views:
        is_burst = reference.started_faster(view) > definitions.MUCH_FASTER
        if is_burst or reference.lost_from_start(view, views, in_any_state=True) is not None:
            continue
        temp_c = _hottest_at_full_speed(view)
        if temp_c is not None and (best is None or temp_c > best[0]):
            best = (temp_c, view.step.name)
    if best is None or best[0] < case.onset_c + CLEARLY_K:
        return None
    fast = f"it ran at full speed at {words.temp_text(best[0])} ('{best[1]}')"
    return "hotter", f"{fast}, but fell at {words.temp_text(case.onset_c)}"


def _hottest_at_full_speed(view: StepView) -> float | None:
    """The highest temperature that lasted for a while outside of drops."""
    temp, drops = view.temp, view.drops
    if drops is None or len(temp.values) == 0:
        return None
    free = np.ones(len(temp.t_s), dtype=bool)
    for drop in drops:
        # a sensor that lags still shows the time before a drop started or ended
        free &= (temp.t_s < drop.onset_s) | (temp.t_s > drop.back_s + AT_SPEED_S)
    free &= temp.t_s <= view.throughput.duration_s
    readings = np.sort(temp.values[free])
    if not drops and (len(readings) == 0 or readings[-1] - readings[0] < WARMED_K):
        # a load that was as hot from the start may have been throttled from the start
        return None
    interval_s = float(np.median(np.diff(temp.t_s))) if len(temp.t_s) > 1 else 1.0
    count = max(3, round(AT_SPEED_S / max(interval_s, 1e-3)))
    return float(readings[-count]) if len(readings) >= count else None


def same_at_each_onset(case: Case) -> Evidence | None:
    """Heat acts at one temperature, whatever the load and however long it took to reach it."""
    here_c = case.onset_c
    if here_c is None:
        return None
    onsets = [
        (temp_c, view.step.name)
        for view in case.others
        for drop in (view.drops or [])[:1]
        if (temp_c := view.temp.at(drop.onset_s)) is not None
        and abs(drop.onset_s - case.drop.onset_s) > 0.1 * case.drop.onset_s
    ]
    if not onsets:
        return None
    other_c, name = max(onsets, key=lambda onset: abs(onset[0] - here_c))
    apart_k = abs(other_c - here_c)
    said = f"'{name}' fell at {words.temp_text(other_c)}, this one at {words.temp_text(here_c)}"
    if apart_k <= NEAR_ONSET_K:
        return "same", f"the same temperature at each onset: {said}"
    if apart_k >= 2 * NEAR_ONSET_K:
        return "apart", f"onsets at different temperatures: {said}"
    return None


#: The fall itself is left out; what is left of a shorter drop tells nothing.
SETTLED_S, MIN_LEFT_S = 2.0, 40.0
#: Rate and temperature are compared over stretches of this length, so few to so many of them.
STRETCH_S = 5.0
MIN_STRETCHES, MAX_STRETCHES = 8, 40
#: Rates that vary by less than this share of the level before are constant.
CONSTANT = 0.08
#: A temperature that moves by the first would change what a governor permits; by less than the
#: second, hardly.
MOVES_K, STILL_K = 4.0, 1.5
#: One explains this much more of the variance than the other.
BETTER = 0.1


def follows(case: Case) -> Evidence | None:
    """A governor permits less the hotter the drive is; a full cache does not depend on it."""
    compared = _stretches(case)
    if compared is None:
        return None
    t_s, rates, temps_c = compared
    moved, moved_k = float(np.ptp(rates)), float(np.ptp(temps_c))
    span = f"while it was slow, the temperature varied by {words.kelvin_text(moved_k)}"
    if moved < CONSTANT:
        if moved_k >= MOVES_K:
            return "regardless", f"{span}, and the rate stayed the same"
        return "both-still", f"{span}, and the rate stayed the same too"
    rate = f"the rate by {words.share_text(moved)} of the level before"
    if moved_k < STILL_K:
        return "rate-alone", f"{span} only, {rate}"
    with_temp, with_time = _correlation(temps_c, rates), _correlation(t_s, rates)
    if with_temp < 0 and with_temp**2 > with_time**2 + BETTER:
        return "follows", "the hotter it was, the slower: the rate followed the temperature"
    if with_time**2 > with_temp**2 + BETTER:
        return "time", "the rate followed time rather than the temperature"
    if with_temp < -0.5:
        return "against-each-other", "the rate fell as the temperature rose, both with time"
    if with_temp > 0.5:
        return "together", "rate and temperature rose and fell together"
    return "unlike", f"{span}, {rate}, independently"


def _stretches(case: Case) -> tuple[Array, Array, Array] | None:
    """Times, rates as shares of the level before, and temperatures, over the settled drop."""
    drop, temp, series = case.drop, case.view.temp, case.view.throughput
    begin_s, end_s = drop.onset_s + SETTLED_S, case.own_end_s
    if drop.shape != "slide":
        begin_s = max(begin_s, case.settled_s)
    if end_s - begin_s < MIN_LEFT_S or len(temp.values) < MIN_STRETCHES:
        return None
    count = int(np.clip((end_s - begin_s) / STRETCH_S, MIN_STRETCHES, MAX_STRETCHES))
    edges = np.linspace(begin_s, end_s, count + 1)
    rates = np.array([series.mean(a, b) for a, b in pairwise(edges)])
    middle_s = (edges[1:] + edges[:-1]) / 2
    measured = np.isfinite(rates)
    if np.count_nonzero(measured) < MIN_STRETCHES - 2:
        return None
    t_s = middle_s[measured]
    return t_s, rates[measured] / drop.before, temp.along(t_s)


def _correlation(one: Array, other: Array) -> float:
    spread = float(np.std(one) * np.std(other))
    covariance = float(np.mean((one - one.mean()) * (other - other.mean())))
    return covariance / spread if spread > 0 else 0.0


#: A shorter level, or a shorter drop from it, says nothing about the drive's heat balance.
MIN_SECOND_FALL_S = 15.0
#: A change that a sensor of whole kelvins does not show.
UNMOVED_K = 1.0
#: A drive that does this much less cools by more than that.
MIN_DEPTH = 0.15


def balance(case: Case) -> Evidence | None:
    """A drive that does half as much gets cooler, unless somebody else makes up the difference.

    A governor throttles further because the drive got hotter, and it stays at that temperature only
    as long as it does less.
    """
    drop, temp = case.drop, case.view.temp
    if _counted_again(case):
        # the drive reports it
        return None
    since_s = case.level_since_s
    settled_s = 0.5 * (drop.onset_s - since_s)
    if not case.is_nested or drop.depth < MIN_DEPTH:
        return None
    if settled_s < MIN_SECOND_FALL_S or case.drop.length_s < 2 * MIN_SECOND_FALL_S:
        return None
    period_s = _period_s(case)
    if period_s > settled_s:
        return None
    half_c, before_c = (_at(temp, t_s, period_s) for t_s in (since_s + settled_s, drop.onset_s))
    late_c = case.late_c
    if half_c is None or before_c is None or late_c is None:
        return None
    there = f"{words.temps_text((half_c, before_c))} for {words.seconds_text(settled_s)}"
    said = f"it had been at {there} when it fell again"
    if abs(before_c - half_c) > UNMOVED_K:
        return None
    if abs(late_c - before_c) <= UNMOVED_K:
        less = f"though it did {words.share_text(drop.depth)} less"
        return "as-hot", f"{said}, and stayed at {words.temp_text(late_c)}, {less}"
    if late_c < before_c:
        return "cooler", f"{said}, and cooled to {words.temp_text(late_c)}"
    return "hotter", f"{said}, and rose to {words.temp_text(late_c)}"


def _period_s(case: Case) -> float:
    """The period of an oscillation before or during the drop; 0 if there is none."""
    both = (case.drop, (case.view.drops or [case.drop])[max(case.index - 1, 0)])
    return max(drop.period_s or 0.0 for drop in both)


def _at(temp: SensorTrack, t_s: float, period_s: float) -> float | None:
    """The temperature at a time; its mean over the period before if it oscillates."""
    within = temp.between(t_s - period_s, t_s)
    return float(np.mean(within)) if period_s and len(within) else temp.at(t_s)


def _counted_again(case: Case) -> bool:
    """Whether the drive counted at the onset that it started to throttle, or to throttle harder."""
    names = counters.counter_columns(case.view)
    counts = [name for name in names if name.startswith(columns.COUNTS)]
    start_s, end_s = case.drop.onset_s - counters.SLACK_S, case.drop.onset_s + counters.LATE_S
    return bool(counters.risen(case.view, counts, start_s, end_s))


#: A drive that warmed by less than this before it fell does not show how its load heats it.
MIN_BALANCE_RISE_K = 5.0
MIN_BALANCE_READINGS = 8
#: Over a longer time, the case may warm as much as doing less cools the drive.
_SLOW_S = 180.0
#: The fit uses at most this many even steps, each at least this long.
_MAX_STEPS, _MIN_STEP_S = 400, 1.0
#: The share of power that follows the rate: of a drive that is as busy as before, and of one that
#: does less. In between it may be either.
_BUSY, _IDLER = np.arange(-0.3, 0.26, 0.1), np.arange(0.5, 1.31, 0.1)
#: The error of a sensor of whole kelvins, and how far apart its errors are independent.
_ROUNDED_K, _INDEPENDENT_S = 0.3, 10.0
#: How much likelier one must be than the other, in logarithms.
_CLEARLY = 4.0


def heat_follows_load(case: Case) -> Evidence | None:
    """Whether the temperature responds to the loss of throughput.

    Skips slow drops, as under a governor that holds one temperature while the case warms up, and
    drops within another drop, where the outer oscillation may continue.
    """
    if case.is_nested or case.drop.shape == "slide" or case.drop.fall_s > _SLOW_S:
        return None
    fitted = _log_likelihoods(case)
    if fitted is None:
        return None
    busy, idler = fitted
    if busy > idler + _CLEARLY:
        text = "it got as warm as if it had lost nothing: it was slower, but as busy"
        return "whatever-the-load", text
    if idler > busy + _CLEARLY:
        return "by-the-load", "it was as warm as its lower throughput explains"
    return None


def _log_likelihoods(case: Case) -> tuple[float, float] | None:
    """For a drive as busy as before and for one that does less; None if too little is known."""
    temp, end_s = case.view.temp, case.drop.end_s
    inside = (temp.t_s >= 0) & (temp.t_s <= end_s)
    t_s, temps_c = temp.t_s[inside], temp.values[inside]
    before = temps_c[t_s <= case.drop.onset_s]
    if len(t_s) < MIN_BALANCE_READINGS or len(before) < 2 or np.ptp(before) < MIN_BALANCE_RISE_K:
        return None
    step_s = max(_MIN_STEP_S, end_s / _MAX_STEPS)
    count = int(end_s / step_s)
    rates = resampled(case.view.throughput, 0.0, count * step_s, step_s) / case.drop.before
    known = np.flatnonzero(np.isfinite(rates))
    if len(known) < MIN_BALANCE_READINGS:
        return None
    grid = np.arange(count)
    rates = np.interp(grid, known, rates[known])
    warmth = np.interp(step_s * (grid + 1), t_s, temps_c)
    errors = [_least_error(warmth, rates, shares, step_s) for shares in (_BUSY, _IDLER)]
    independent = 0.5 * end_s / _INDEPENDENT_S
    busy, idler = (-independent * float(np.log(error + _ROUNDED_K**2)) for error in errors)
    return busy, idler


def _least_error(warmth: Array, rates: Array, shares: Array, step_s: float) -> float:
    """The least mean square error over all shares and pairs of time constants."""
    steps = step_s / TIME_CONSTANTS_S
    constant, by_rate = (lagged(spent, *steps) for spent in (np.ones(len(rates)), rates))
    rest = warmth - warmth.mean()
    least = float(rest @ rest)
    one, two = np.triu_indices(len(TIME_CONSTANTS_S), 1)
    with np.errstate(divide="ignore", invalid="ignore"):  # work that never changes explains nothing
        for share in shares:
            parts = (1 - share) * constant + share * by_rate
            parts -= parts.mean(axis=1, keepdims=True)
            squares, along = parts @ parts.T, parts @ rest
            alone = np.diag(squares)
            least = min(least, float(np.min(rest @ rest - np.maximum(along, 0.0) ** 2 / alone)))
            determinant = alone[one] * alone[two] - squares[one, two] ** 2
            first = (alone[two] * along[one] - squares[one, two] * along[two]) / determinant
            second = (alone[one] * along[two] - squares[one, two] * along[one]) / determinant
            left = rest @ rest - first * along[one] - second * along[two]
            # power never cools
            least = min(least, float(np.min(left[(first >= 0) & (second >= 0)], initial=np.inf)))
    return max(least, 0.0) / len(warmth)
