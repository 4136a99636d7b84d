"""What one step shows: its episodes with their causes, its verdict, and why."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from heatsoak import words
from heatsoak.analysis import definitions, findings, likeness, reference, slow_steps
from heatsoak.analysis.cause import Case, Judgement, weigh
from heatsoak.analysis.cause.evidence.counters import risen
from heatsoak.analysis.claims import Signs, claims_of
from heatsoak.analysis.consistency import step_consistency
from heatsoak.analysis.copies import always_waited
from heatsoak.analysis.falls import Drop, joined
from heatsoak.analysis.view import StepView

#: Causes that lower throughput once, and not again later.
_ONCE = {"write-cache", "spare-area"}
#: Causes under which throughput is even.
_LEVEL = ("write-cache", "limited-by-host")
#: Noise that would hide a smaller loss is told beside the answer; a greater one leaves it open.
_MAX_HIDDEN = 0.3
#: Drives beside it in one log wait for it.
_WAITED_FOR = ("partner", "waited")


def judged_drops(
    view: StepView, others: Sequence[StepView] = (), siblings: Sequence[StepView] = ()
) -> list[tuple[Case, Judgement]]:
    """Return a step's drops with their causes; a fall goes on until it recovers or another cause
    begins.

    A governor or host may lower throughput in several steps, or by a slope, a level and swings; one
    that loses far more than what came before stands alone. A cache fills up once and spare area
    runs out once, so a drop that is named so is not joined: each keeps the cause that its own
    evidence names.
    """
    judged: list[tuple[Case, Judgement]] = []
    for index, drop in enumerate(map(partial(_from_full_speed, view, others), view.drops or [])):
        case = Case(drop, view, list(others), list(siblings), index)
        judgement = weigh(case)
        last, of_last = judged[-1] if judged else (case, judgement)
        # what is lost by far with the second is not told as if it began with the first
        is_much = drop.before - drop.during > 2 * (last.drop.before - last.drop.during)
        if judged and case.is_nested and not is_much:
            whole = Case(joined(last.drop, drop), view, last.others, last.siblings, last.index)
            if (of_whole := _of_both(of_last, judgement, weigh(whole))) is not None:
                judged[-1] = (whole, of_whole)
                continue
        judged.append((case, judgement))
    return judged


def _from_full_speed(view: StepView, others: Sequence[StepView], drop: Drop) -> Drop:
    """A drop; where it began before its level was seen, from the full speed, if that is known."""
    full = reference.full_speed(view, [view, *others]) if drop.from_start else None
    if full is None or full.mid < reference.FULL * drop.before:
        return drop
    return replace(drop, before=max(full.mid, drop.before), from_start=False)


def _of_both(first: Judgement, second: Judgement, whole: Judgement) -> Judgement | None:
    """What two falls without a recovery between them are as one; None if they have two causes.

    What is named of either is named of both, unless the whole shows something else.
    """
    if first.likeliest != second.likeliest or {first.cause, second.cause} & _ONCE:
        return None
    if whole.cause != "unknown":
        return whole if whole.cause == first.likeliest else None
    named = next((one for one in (first, second) if one.cause != "unknown"), None)
    return whole if named is None else named.without("depth")


def episode_of(case: Case, judgement: Judgement) -> findings.Episode:
    """Return a drop and its cause as an episode of the findings."""
    drop, view = case.drop, case.view
    return findings.Episode(
        onset_s=drop.onset_s,
        end_s=drop.end_s,
        direction=view.direction,
        **_levels(drop, view),
        depth_pct=100 * drop.depth,
        depth_at_end_pct=100 * drop.depth_at_end,
        cause=judgement.cause,
        confidence=judgement.confidence,
        evidence=judgement.evidence,
        likelihoods={cause: round(share, 4) for cause, share in judgement.shares.items()},
        shape=drop.shape,
        fall_s=drop.fall_s,
        oscillates=drop.oscillates,
        period_s=drop.period_s,
        duty=drop.duty,
        recovered=drop.recovered,
        written_gb_at_onset=view.written_gb(drop.onset_s),
        temp_c_at_onset=case.onset_c,
        hotter_sensor=case.hotter and case.hotter[0],
        hotter_c_at_onset=case.hotter and case.hotter[1],
        from_start=drop.from_start,
        excludes_heat=judgement.excludes_heat,
        shows_heat=judgement.shows_heat,
        holds_up=next((one.text for one in judgement.findings if one.pair == _WAITED_FOR), None)
        if view.beside
        else None,
        sensor_locked_up=any(one.pair == ("sensor", "locked-up") for one in judgement.findings),
    )


def _levels(drop: Drop, view: StepView) -> dict[str, float]:
    """The levels of a drop, in the logged unit."""
    unit = view.throughput.unit
    rates = {"before": drop.before, "during": drop.during, "lowest": drop.lowest}
    return {
        f"{name}_{unit}": 1e6 / max(rate, 1e-6) if unit == "lat_us" else rate
        for name, rate in rates.items()
    }


def lasting_cause(
    view: StepView, others: Sequence[StepView], siblings: Sequence[StepView]
) -> findings.Verdict | None:
    """Return the cause of a step's last drop that lasted; None if none did."""
    judged = judged_drops(view, others, siblings)
    # the first may have another cause
    lasting = [judgement.cause for case, judgement in judged if not case.drop.recovered]
    return lasting[-1] if lasting else None


def step_findings(
    view: StepView,
    others: list[StepView],
    siblings: list[StepView],
    window_s: float,
    lasting_cause_of: Callable[[StepView], findings.Verdict | None],
) -> findings.StepFindings:
    """Return what a step shows; `siblings` are steps of other recordings of its drive."""
    judged, dips = _judged_or_dips(view, others, siblings)
    episodes = [episode_of(case, judgement) for case, judgement in judged]
    signs = _signs_of(view, others, siblings, judged, lasting_cause_of, dips)
    mean = view.throughput.mean(-math.inf, math.inf)
    has_bytes = view.throughput.unit == "mb_s"
    return findings.StepFindings(
        step=view.step.name,
        workload=view.step.describe(),
        duration_s=view.duration_s,
        mean_mb_s=mean if has_bytes and math.isfinite(mean) else None,
        full_mb_s=reference.full_speed(view, [view, *others]) if has_bytes else None,
        start_temp_c=view.start_c,
        max_temp_c=view.max_temp_c,
        temp_sensor=view.main_sensor or None,
        still_warming_k=_still_warming_k(view),
        verdict=_verdict(view, judged, signs),
        claims=claims_of(view.step.name, episodes, signs),
        episodes=episodes,
        consistency=step_consistency(view, window_s),
    )


def _judged_or_dips(
    view: StepView, others: list[StepView], siblings: list[StepView]
) -> tuple[list[tuple[Case, Judgement]], str | None]:
    """A step's drops with their causes, or what is said of them if they do not matter."""
    # the loss of one direction may be hidden in the sum
    parts = view.by_direction if view.drops == [] else [view]
    judged = [both for part in parts for both in judged_drops(part, others, siblings)]
    if judged and not matters([case for case, _ in judged]):
        return [], _dips([case for case, _ in judged])
    if not judged and view.oscillation_from_start is not None:
        case = Case(view.oscillation_from_start, view, list(others), list(siblings))
        judgement = weigh(case)
        # oscillation from the start may be normal for the drive; a governor leaves other traces too
        if judgement.cause == "thermal":
            return [(case, judgement)], None
    return judged, None


def _signs_of(
    view: StepView,
    others: list[StepView],
    siblings: list[StepView],
    judged: list[tuple[Case, Judgement]],
    lasting_cause_of: Callable[[StepView], findings.Verdict | None],
    dips: str | None,
) -> Signs:
    """Look for what was seen beside drops, the more certain first: it excludes what follows."""
    bound = slow_steps.limited_by_link(view) if view.drops == [] and not judged else None
    waited = always_waited(view) if not judged else None
    slow = None
    if not (bound or waited):
        slow = slow_steps.after_a_slow_load(view, others, lasting_cause_of)
        # what fell further afterwards is told by its falls
        if slow and any(case.drop.depth > (slow.lost_share or 0.0) for case, _ in judged):
            slow = None
    found = None
    if not (bound or waited or slow):
        found = slow_steps.slower_than_elsewhere(view, others, siblings)
    is_cooled = found is not None and found.verdict == "thermal"
    is_heat = is_cooled or "thermal" in [judgement.cause for _, judgement in judged]
    counted = None if is_heat or slow else words.listed(risen(view)) or None
    uneven = hidden = hot = None
    unheld = None if is_heat or counted or slow or view.drops is None else _uneven(view, judged)
    if unheld is not None:
        # a light governor takes no more than noise may hide, but not of a drive that stayed cool
        is_cool = (view.max_temp_c or 0.0) < definitions.USUALLY_THROTTLING_C
        is_doubt = unheld.hidden is not None and unheld.hidden < _MAX_HIDDEN and is_cool
        uneven, hidden = (None, unheld.text) if is_doubt else (unheld.text, None)
    if not (bound or waited or slow or is_heat or counted or (found and not judged)):
        fill = [] if view.preceded_by is None else [view.preceded_by]
        hot = slow_steps.hot_from_the_start(view, [*fill, *others, *siblings])
    # heat may be why, but no temperature tells
    is_settled = judged or hot or uneven or counted or view.drops is None
    # whoever waits is uneven too
    limit = (waited if uneven else None) or (None if uneven else bound)
    return Signs(
        limit=limit,
        slow=slow,
        slower=None if is_settled and not is_cooled else found,
        counted=counted,
        uneven=None if waited else uneven,
        unjudged=_why_unknown(view, others),
        hot=hot,
        held=dips or waited,
        doubt=None if judged else slow_steps.begun_slow(view, others, siblings) or hidden,
        excludes_heat=slow_steps.never_throttled(view, others),
    )


def _verdict(
    view: StepView, judged: list[tuple[Case, Judgement]], signs: Signs
) -> findings.Verdict:
    """What slowed a step most."""
    if signs.counted and not judged:
        return "thermal"
    if signs.limit:
        return "limited-by-host"
    if signs.slow:
        return signs.slow.verdict
    slower = signs.slower
    if slower and slower.verdict == "thermal":
        if not judged or (slower.lost_share or 0.0) > _lost_share([case for case, _ in judged]):
            return "thermal"
    elif slower or view.drops is None or signs.uneven or (signs.hot and not judged):
        return "unknown"
    return max(judged, key=lambda one: _lost(one[0]))[1].cause if judged else "steady"


def _still_warming_k(view: StepView) -> float | None:
    """How much a step warmed in its last third, to its highest; None for next to nothing."""
    end_s = view.duration_s
    before = view.temp.between(0.6 * end_s, 0.7 * end_s)
    last = view.temp.between(0.9 * end_s, end_s)
    if not (len(before) and len(last)):
        return None
    last_c, tolerance_k = float(np.median(last)), definitions.HELD_WITHIN_K
    warmed_k = last_c - float(np.median(before))
    ended_hottest = last_c >= float(np.max(view.temp.values)) - tolerance_k
    return warmed_k if ended_hottest and warmed_k >= tolerance_k else None


def _uneven(view: StepView, judged: Sequence[tuple[Case, Judgement]]) -> slow_steps.NotHeld | None:
    """Why a step does not show that it held its speeds but for the drops that are told.

    Reads and writes are asked as well, for a swing of one may be filled up by the other; and what
    was held before and after a drop, and in one whose cause leaves a level.
    """
    told = [case.drop for case, _ in judged]
    for part in (view, *view.by_direction):
        what = "it" if part.direction is None else f"its {part.direction}s"
        series = part.throughput
        spans_s = [(drop.begin_s, drop.end_s + series.sampling_s) for drop in told]
        held = [series.without(spans_s)]
        held += [
            series.between(drop.onset_s + drop.fall_s + series.sampling_s, drop.end_s)
            for drop, cause in ((case.drop, judgement.cause) for case, judgement in judged)
            if drop.shape == "step" and cause in _LEVEL
        ]
        for some in held:
            if told and float(np.sum(some.interval_s)) < definitions.MAX_STEADY_FALL_S:
                continue
            why = slow_steps.not_held(some, part.stalls, what)
            # what noise may hide is nothing beside a fall that was seen
            if why is not None and not (told and why.hidden is not None):
                return why
    return None


#: A mean that is lower by less may be chance.
_LOWER = 0.15


def _lost(case: Case) -> float:
    """What a drop cost: what would have been moved at the level before, and was not."""
    return max(case.drop.before - case.drop.during, 0.0) * case.length_s


def _lost_share(cases: Sequence[Case]) -> float:
    """The share of a step's work that its drops cost."""
    lost = sum(map(_lost, cases))
    if lost <= 0:
        return 0.0
    series = cases[0].view.throughput
    return lost / (lost + float(np.sum(series.values * series.interval_s)))


def matters(cases: Sequence[Case]) -> bool:
    """Return whether drops are more than short dips of a steady step."""
    is_long = any(case.length_s > definitions.MAX_STEADY_FALL_S for case in cases)
    return is_long or _lost_share(cases) >= definitions.MAX_STEADY_LOSS


def _dips(cases: Sequence[Case]) -> str:
    """What is said of drops that do not matter."""
    longest_s = max(case.length_s for case in cases)
    deepest = max(case.drop.depth for case in cases)
    dips = "a short dip" if len(cases) == 1 else f"{len(cases)} short dips, at most"
    cost = f"{words.share_text(_lost_share(cases))} of the work"
    size = f"{words.share_text(deepest)} and {words.seconds_text(longest_s)}"
    return f"{dips} of {size}, which cost {cost}"


def _why_unknown(view: StepView, others: Sequence[StepView]) -> str | None:
    """Why a step's throughput could not be judged; None if it was."""
    if view.drops is not None:
        return None
    samples = len(view.throughput.t_s)
    if samples == 0:
        return definitions.NO_THROUGHPUT
    if not view.has_moved:
        return "nothing was moved"
    if samples == 1:
        return f"a single mean, {_beside_earlier(view, others) or 'not a series'}"
    return f"too short to judge: {samples} samples in {words.seconds_text(view.duration_s)}"


def _beside_earlier(view: StepView, others: Sequence[StepView]) -> str:
    """How far a mean is below the best of the same test before it; empty where it is not."""
    earlier = [
        other
        for other in others
        if other.start_s < view.start_s
        and len(other.throughput.t_s) == 1
        and other.has_moved
        and likeness.alike(other.step, view.step)
    ]
    best = max(earlier, key=lambda other: other.throughput.values[0], default=view)
    lost = 1.0 - view.throughput.values[0] / best.throughput.values[0]
    if lost < _LOWER or view.throughput.unit == "lat_us":
        return ""
    before = words.duration_text(view.start_s - best.start_s)
    return f"{words.share_text(lost)} below that of the same test {before} before"
