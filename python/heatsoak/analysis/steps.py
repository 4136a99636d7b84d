"""What one step shows: its episodes with their causes, its verdict, and why."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from heatsoak import words
from heatsoak.analysis import definitions, findings, likeness, reference, slow_steps
from heatsoak.analysis.cause import Case, Judgement, excludes_heat, weigh
from heatsoak.analysis.cause.evidence import host
from heatsoak.analysis.cause.evidence.counters import risen
from heatsoak.analysis.claims import of_fall
from heatsoak.analysis.consistency import step_consistency
from heatsoak.analysis.copies import always_waited
from heatsoak.analysis.falls import Drop, joined
from heatsoak.analysis.view import StepView, temp_moves

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
        evidence=[f"{side}: {text}" for side, text in judgement.evidence],
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
    judged = _falls_of(view, others, siblings)
    episodes = [episode_of(case, judgement) for case, judgement in judged]
    falls = map(partial(of_fall, view.step.name), episodes, [found for _, found in judged])
    told = [*falls, *_beside_falls(view, others, siblings, judged, lasting_cause_of)]
    told.sort(key=lambda one: one.rank)
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
        verdict=_verdict(judged, told),
        claims=told,
        episodes=episodes,
        consistency=step_consistency(view, window_s),
    )


def _falls_of(
    view: StepView, others: list[StepView], siblings: list[StepView]
) -> list[tuple[Case, Judgement]]:
    """A step's drops with their causes; without any, an oscillation from its start by heat."""
    # the loss of one direction may be hidden in the sum
    parts = view.by_direction if view.drops == [] else [view]
    judged = [both for part in parts for both in judged_drops(part, others, siblings)]
    if not judged and view.oscillation_from_start is not None:
        case = Case(view.oscillation_from_start, view, list(others), list(siblings))
        judgement = weigh(case)
        # oscillation from the start may be normal for the drive; a governor leaves other traces too
        judged = [(case, judgement)] if judgement.cause == "thermal" else []
    return judged


def _beside_falls(
    view: StepView,
    others: list[StepView],
    siblings: list[StepView],
    judged: list[tuple[Case, Judgement]],
    lasting_cause_of: Callable[[StepView], findings.Verdict | None],
) -> list[findings.Claim]:
    """Look for what was seen beside drops, the more certain first: it excludes what follows."""
    claim, is_judged = partial(findings.Claim, step=view.step.name), view.drops is not None
    bound = host.limited_by_link(view) if view.drops == [] and not judged else None
    waited = None if judged else always_waited(view)
    slow = None
    if not (bound or waited):
        slow = slow_steps.after_a_slow_load(view, others, lasting_cause_of)
        # what fell further afterwards is told by its falls
        if slow and any(100 * case.drop.depth > (slow.loss_pct or 0.0) for case, _ in judged):
            slow = None
    is_sure = slow is not None
    if not (bound or waited or slow):
        slow = slow_steps.slower_than_elsewhere(view, others, siblings)
        is_sure = slow is not None and slow.heat == "yes"
    is_told = is_sure or any(judgement.cause == "thermal" for _, judgement in judged)
    counted = None if is_told else words.listed(risen(view)) or None
    is_told = is_told or counted is not None
    uneven = hidden = hot = None
    if is_judged and not is_told:
        uneven, hidden = _uneven(view, judged)
    if not (bound or waited or is_told or (slow and not judged)):
        fill = [] if view.preceded_by is None else [view.preceded_by]
        hot = slow_steps.hot_from_the_start(view, [*fill, *others, *siblings])
    found: list[findings.Claim] = []
    heat: Literal["no", "open"] | None
    if counted:
        text = f"{counted} in '{view.step.name}'; how much speed that cost cannot be told"
        why = f"the drive's own throttling counters rose: {counted}"
        found.append(claim(what="counted", heat="yes", by="thermal", text=text, reasons=[why]))
    # heat may be why, but no temperature tells
    if slow and (is_sure or (is_judged and not (judged or hot or uneven or counted))):
        found.append(slow)
    if uneven and not waited:
        is_same = _was_so_when_cool(view)
        said = f"{uneven}, as it did while it was cool" if is_same else uneven
        heat = "no" if is_same else "open"
        found.append(claim(what="unseen", heat=heat, text=said, reasons=[said]))
    if is_cool := excludes_heat(view, others):
        for one in found:
            one.heat = "no" if one.heat == "open" else one.heat
    if hot:
        found.append(claim(what="hot", heat="open", text=hot, reasons=[hot]))
    held = [waited] if waited else []
    if unjudged := _why_unknown(view, others):
        is_loaded = view.has_moved and len(view.throughput.t_s) > 1
        # too short to show a fall, and too cool for one of heat
        heat = "no" if is_cool and is_loaded else None
        found.append(claim(what="unseen", heat=heat, text=unjudged, reasons=[unjudged, *held]))
    # whoever waits is uneven too
    if limit := waited if uneven else bound:
        found.append(claim(what="held", heat="no", by="limited-by-host", reasons=[limit]))
    if not (found or judged):
        doubt = slow_steps.begun_slow(view, others, siblings) or hidden
        found.append(claim(what="held", heat="no", by="steady", reasons=held, doubt=doubt))
    return found


def _verdict(
    judged: list[tuple[Case, Judgement]], claims: Sequence[findings.Claim]
) -> findings.Verdict:
    """What slowed a step most; `claims` are in their order."""
    if not judged:
        return claims[0].by
    if any(one.what == "unseen" for one in claims):
        return "unknown"
    lost_pct = 100 * _lost_share([case for case, _ in judged])
    for one in claims:
        if one.onset_s is None and one.loss_pct is not None and one.loss_pct >= lost_pct:
            return one.by
    return max(judged, key=lambda one: _lost(one[0]))[1].cause


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


def _uneven(
    view: StepView, judged: Sequence[tuple[Case, Judgement]]
) -> tuple[str | None, str | None]:
    """Why a step does not show that it held its speeds but for the drops that are told, or what of
    that is a mere doubt.

    A light governor takes no more than noise may hide, but not of a drive that stayed cool.
    Reads and writes are asked as well, for a swing of one may be filled up by the other; and what
    was held before and after a drop, and in one whose cause leaves a level.
    """
    told = [case.drop for case, _ in judged]
    for part in (view, *view.by_direction):
        what = "it" if part.direction is None else f"its {part.direction}s"
        series = host.while_asked(part)
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
            if why is not None and not (told and why[1] is not None):
                text, hidden = why
                is_cool = (view.max_temp_c or 0.0) < definitions.USUALLY_THROTTLING_C
                is_doubt = hidden is not None and hidden < _MAX_HIDDEN and is_cool
                return (None, text) if is_doubt else (text, None)
    return None, None


def _was_so_when_cool(view: StepView) -> bool:
    """Whether throughput was as uneven all the time: its means and lows are those that it had while
    the drive was cool."""
    series, warm = view.throughput, view.temp.values >= definitions.MIN_THROTTLING_C
    if not warm.any() or not temp_moves(view):
        return False
    until_s = float(view.temp.t_s[int(np.argmax(warm))])
    cool, later = series.between(-math.inf, until_s), series.between(until_s, math.inf)
    if np.sum(cool.interval_s) < _COOL_S or min(len(cool.t_s), len(later.t_s)) < _COOL_SAMPLES:
        return False
    parts = [*np.array_split(cool.values, 2), *np.array_split(later.values, 4)]
    told = np.array([(np.mean(part), np.quantile(part, 0.1)) for part in parts])
    return bool(np.all(np.min(told, 0) >= (1 - 2 * definitions.MIN_DROP) * np.max(told, 0)))


#: What a drive did while it was cool takes so long to see.
_COOL_S, _COOL_SAMPLES = 30.0, 20
#: A mean that is lower by less may be chance.
_LOWER = 0.15


def _lost(case: Case) -> float:
    """What a drop cost: what would have been moved at the level before, and was not."""
    return max(case.drop.before - case.drop.during, 0.0) * case.drop.length_s


def _lost_share(cases: Sequence[Case]) -> float:
    """The share of a step's work that its drops cost."""
    lost = sum(map(_lost, cases))
    if lost <= 0:
        return 0.0
    series = cases[0].view.throughput
    return lost / (lost + float(np.sum(series.values * series.interval_s)))


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
