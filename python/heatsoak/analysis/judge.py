"""Recordings in, findings out."""

import math
from collections.abc import Iterable, Sequence

from heatsoak.analysis.bounds import bound_by_host
from heatsoak.analysis.cause import Case, Judgement, weigh
from heatsoak.analysis.consistency import WINDOW_S, step_consistency
from heatsoak.analysis.copies import copy_findings, introduce, note_of, pairs_of, waited_all_along
from heatsoak.analysis.cost import cost_of
from heatsoak.analysis.fills import slowed_by_fills
from heatsoak.analysis.findings import (
    Episode,
    Findings,
    RecordingFindings,
    StepFindings,
    Verdict,
)
from heatsoak.analysis.looked import Looked, siblings_of
from heatsoak.analysis.power import power_of, step_power
from heatsoak.analysis.rounds import place_in_rounds, rounds_of
from heatsoak.analysis.scores import scores_of
from heatsoak.analysis.segments import Drop, joined
from heatsoak.analysis.sensors import Onset, judge_sensors_together
from heatsoak.analysis.slowed import began_slowed
from heatsoak.analysis.view import StepView
from heatsoak.analysis.warmth import warmth
from heatsoak.protocol import Observation
from heatsoak.recording import Recording

#: Causes that take what they take at once, and no more of it later.
_ONCE = ("write-cache", "spare-area")


def analyze(recordings: Iterable[Recording], window_s: float = WINDOW_S) -> Findings:
    """Return what the recordings show; consistency over the last `window_s` of each step.

    Recordings of one drive speak for each other.
    """
    looked = [Looked(recording) for recording in recordings]
    pairs = pairs_of(looked)
    _introduce(pairs, looked)
    found = [_judge(one, siblings_of(one, looked), window_s) for one in looked]
    trust = judge_sensors_together(
        [one.recording for one in looked],
        [onset for index, findings in enumerate(found) for onset in _onsets(index, findings)],
    )
    for findings, sensors in zip(found, trust, strict=True):
        findings.sensors = sensors
    copies = [copy_findings((looked[s], found[s]), (looked[d], found[d])) for s, d in pairs]
    return Findings(recordings=found, copies=copies)


def _introduce(pairs: list[tuple[int, int]], looked: list[Looked]) -> None:
    """Let both sides of each copy know of the other, and of what took from it."""
    for index, other in pairs:
        introduce(looked[index], looked[other])
    for one in looked:
        for view in one.views:
            if view.partner is not None:
                others = [other for other in one.views if other is not view]
                told = judged_drops(view, others, siblings_of(one, looked))
                partner = view.partner.view.partner
                assert partner is not None
                partner.told = [(case.drop, judgement.cause) for case, judgement in told]


def judge(recording: Recording, window_s: float = WINDOW_S) -> RecordingFindings:
    """Return what one recording shows by itself."""
    return analyze([recording], window_s).recordings[0]


def _judge(looked: Looked, siblings: list[StepView], window_s: float) -> RecordingFindings:
    recording, views = looked.recording, looked.views
    by_name = {view.step.name: view for view in views}
    rounds = rounds_of(recording, by_name)
    places = place_in_rounds(recording)
    return RecordingFindings(
        path=str(recording.path),
        drive=recording.meta.drive,
        conditions=dict(recording.meta.conditions),
        steps=[
            _step(
                view, [other for other in views if other is not view], siblings, window_s
            ).model_copy(
                update=_cost(recording, view)
                | step_power(view)
                | _place(places.get(view.step.name))
            )
            for view in views
        ],
        sensors=[],
        notes=_notes(recording, views, [v for v in views if v.step.name not in places]),
        scores=scores_of(recording, by_name, rounds),
        rounds=rounds,
        power=power_of(recording),
    )


def _cost(recording: Recording, view: StepView) -> dict[str, float]:
    cost = cost_of(recording, view)
    return {} if cost is None else {"cpu_us_per_io": cost.us_per_io, "cpu_core_pct": cost.core_pct}


def _place(place: tuple[str, int] | None) -> dict[str, str | int]:
    return {} if place is None else {"rounds": place[0], "round": place[1]}


def _onsets(index: int, findings: RecordingFindings) -> list[Onset]:
    return [
        Onset(index, step.step, episode.onset_s, episode.cause)
        for step in findings.steps
        for episode in step.episodes
    ]


def _step(
    view: StepView, others: list[StepView], siblings: list[StepView], window_s: float
) -> StepFindings:
    # what one direction loses may be hidden in the sum
    parts = view.apart() if view.drops == [] else [view]
    episodes = [
        _episode(case, judgement)
        for part in parts
        for case, judgement in judged_drops(part, others, siblings)
    ]
    if not episodes and view.swing is not None:
        case = Case(view.swing, view, list(others), list(siblings))
        judgement = weigh(case)
        # what swings from the begin may be the drive's way; a governor leaves other traces too
        if judgement.cause == "thermal":
            episodes = [_episode(case, judgement)]
    mean = view.throughput.mean(-math.inf, math.inf)
    bound = bound_by_host(view) if view.drops == [] and not episodes else None
    waited = waited_all_along(view) if not episodes else None
    slow = None if bound or waited else _slow_from_its_begin(view, others, siblings, episodes)
    return StepFindings(
        step=view.step.name,
        workload=view.step.describe(),
        duration_s=view.duration_s,
        mean_mb_s=mean if view.throughput.unit == "mb_s" and math.isfinite(mean) else None,
        start_temp_c=view.temp.at(0.0),
        verdict="limited-by-host" if bound else slow[0] if slow else _verdict(view, episodes),
        why=[text for text in (bound, waited, slow and slow[1]) if text],
        why_unknown=_why_unknown(view),
        episodes=episodes,
        consistency=step_consistency(view, window_s),
    )


def _slow_from_its_begin(
    view: StepView, others: list[StepView], siblings: list[StepView], episodes: list[Episode]
) -> tuple[Verdict, str] | None:
    """Return the verdict on a step that was slow before anything in it fell, and the reason."""
    slowed = None if view.drops is None else began_slowed(view, [*others, *siblings])
    if slowed is None:
        return None
    deepest = max((episode.depth_pct for episode in episodes), default=0.0)
    if episodes and (slowed.lost is None or 100 * slowed.lost < deepest):
        return None
    beside = [other for other in (view, *others) if other is not slowed.origin]
    told = judged_drops(slowed.origin, beside, siblings)
    # the last that lasted: what fell first may have another cause
    lasting = [judgement.cause for case, judgement in told if not case.drop.recovered]
    verdict = slowed.verdict(lasting[-1]) if lasting else None
    return None if verdict is None else (verdict, slowed.said(lasting[-1]))


def judged_drops(
    view: StepView, others: Sequence[StepView] = (), siblings: Sequence[StepView] = ()
) -> list[tuple[Case, Judgement]]:
    """Return a step's drops with their causes; neighbours of one known cause are one drop.

    A governor or a host may take what it takes in two stairs, if both together still look like it.
    A cache is full once and spare area used up once, so two falls that both look like that are not
    one; each keeps the cause that its own evidence names, and what may be two causes stays apart.
    """
    judged: list[tuple[Case, Judgement]] = []
    for index, drop in enumerate(view.drops or []):
        case = Case(drop, view, list(others), list(siblings), index)
        judgement = weigh(case)
        if judged and case.is_nested:
            last, of_last = judged[-1]
            if of_last.cause == judgement.cause != "unknown":
                whole = Case(joined(last.drop, drop), view, last.others, last.siblings, last.index)
                of_whole = weigh(whole)
                if of_whole.cause == judgement.cause not in _ONCE:
                    judged[-1] = (whole, of_whole)
                    continue
        judged.append((case, judgement))
    return judged


def _verdict(view: StepView, episodes: list[Episode]) -> Verdict:
    if view.drops is None:
        return "unknown"
    if not episodes:
        return "steady"
    return max(episodes, key=lambda episode: episode.depth_pct).cause


def _why_unknown(view: StepView) -> str | None:
    """Why nothing can be said of a step's throughput; None where it was judged."""
    if view.drops is not None:
        return None
    samples = len(view.throughput.t_s)
    if samples == 0:
        return "no throughput was logged"
    if not view.has_moved:
        return "nothing was moved"
    if samples == 1:
        return "one mean, no series"
    return f"too short to judge: {samples} samples in {view.duration_s:.0f} s"


def _episode(case: Case, judgement: Judgement) -> Episode:
    drop, view = case.drop, case.view
    return Episode(
        onset_s=drop.onset_s,
        end_s=drop.end_s,
        direction=view.direction,
        **_levels(drop, view),
        depth_pct=100 * drop.depth,
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
    )


def _levels(drop: Drop, view: StepView) -> dict[str, float]:
    """The levels before and in a drop, in the unit that was logged."""
    unit = view.throughput.unit
    if unit == "lat_us":
        return {"before_lat_us": 1e6 / drop.before, "during_lat_us": 1e6 / max(drop.during, 1e-6)}
    return {f"before_{unit}": drop.before, f"during_{unit}": drop.during}


def _notes(recording: Recording, views: list[StepView], once: list[StepView]) -> list[str]:
    """What a reader must know; `once` are the steps that are no part of rounds."""
    meta = recording.meta
    notes = []
    if recording.was_cut:
        notes.append("the recording was cut, or is still running: it ends where it was cut")
    elif meta.status != "finished":
        notes.append(f"the run was {meta.status}: {meta.reason}")
    for view in views:
        if not view.has_rates:
            notes += [f"'{view.step.name}': {text}" for text in warmth(view)]
    notes += slowed_by_fills(views)
    notes += _warm_starts(once)
    is_alone = all(view.partner is None for view in views)
    if (text := note_of(recording, is_alone=is_alone)) is not None:
        notes.append(text)
    # how a log was read that somebody else took is part of what it shows
    said = ("warning", "info") if isinstance(meta.protocol, Observation) else ("warning",)
    notes += [event.text for event in recording.events if event.kind in said]
    return list(dict.fromkeys(notes))


def _warm_starts(views: list[StepView], tolerance_k: float = 5.0) -> list[str]:
    """Steps that began clearly warmer than the coolest one."""
    starts = [(view.step.name, temp) for view in views if (temp := view.temp.at(0.0)) is not None]
    if not starts:
        return []
    coolest = min(temp for _, temp in starts)
    return [
        f"'{name}' began at {temp:.0f} C, {temp - coolest:.0f} K warmer than the coolest step: "
        "a longer pause would tell more"
        for name, temp in starts
        if temp - coolest > tolerance_k
    ]
