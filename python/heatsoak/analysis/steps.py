"""What one step shows: its episodes, its verdict, and why."""

import math

from heatsoak.analysis.bounds import bound_by_host
from heatsoak.analysis.cause import Case, weigh
from heatsoak.analysis.consistency import step_consistency
from heatsoak.analysis.copies import waited_all_along
from heatsoak.analysis.episodes import episode_of, judged_drops
from heatsoak.analysis.findings import Episode, StepFindings, Verdict
from heatsoak.analysis.slowed import began_slowed
from heatsoak.analysis.view import StepView


def step_findings(
    view: StepView, others: list[StepView], siblings: list[StepView], window_s: float
) -> StepFindings:
    """Return what a step shows; `siblings` are steps of other recordings of its drive."""
    # what one direction loses may be hidden in the sum
    parts = view.apart() if view.drops == [] else [view]
    episodes = [
        episode_of(case, judgement)
        for part in parts
        for case, judgement in judged_drops(part, others, siblings)
    ]
    if not episodes and view.swing is not None:
        case = Case(view.swing, view, list(others), list(siblings))
        judgement = weigh(case)
        # what swings from the begin may be the drive's way; a governor leaves other traces too
        if judgement.cause == "thermal":
            episodes = [episode_of(case, judgement)]
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
