"""What one step shows: its episodes with their causes, its verdict, and why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from heatsoak.analysis.cause import Case, Judgement, weigh
from heatsoak.analysis.cause.case import alike, level_of
from heatsoak.analysis.cause.evidence.counters import counter_columns
from heatsoak.analysis.consistency import step_consistency
from heatsoak.analysis.copies import always_waited
from heatsoak.analysis.definitions import RECOVERED
from heatsoak.analysis.findings import Episode, StepFindings, Verdict
from heatsoak.analysis.segments import Drop, find_drops, joined
from heatsoak.analysis.series import throughput
from heatsoak.analysis.view import StepView

#: Causes that lower throughput once, and not again later.
_ONCE = ("write-cache", "spare-area")


def judged_drops(
    view: StepView, others: Sequence[StepView] = (), siblings: Sequence[StepView] = ()
) -> list[tuple[Case, Judgement]]:
    """Return a step's drops with their causes; adjacent drops with the same known cause are one.

    A governor or host may lower throughput in two steps, if both together still look like it. A
    cache fills up once and spare area runs out once, so two drops that both look like that are not
    joined: each keeps the cause that its own evidence names.
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


def episode_of(case: Case, judgement: Judgement) -> Episode:
    """Return a drop and its cause as an episode of the findings."""
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
    """The levels before and during a drop, in the logged unit."""
    unit = view.throughput.unit
    if unit == "lat_us":
        return {"before_lat_us": 1e6 / drop.before, "during_lat_us": 1e6 / max(drop.during, 1e-6)}
    return {f"before_{unit}": drop.before, f"during_{unit}": drop.during}


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
    return (
        f"{level:,.0f} MB/s is all that its PCIe link carries ({ceiling:,.0f} MB/s before protocol "
        f"overhead); at the drive's full width and speed it would carry {most:,.0f} MB/s"
    )


#: A governor holds a drive this close to the temperature at which it held it before.
HELD_WITHIN_K = 3.0
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
        before: the full speed of the same load, in the step's unit; None if unknown.
        lost: the share of `before` that is missing from the step's start; None if `before` is.
        is_held: whether the drive stayed as hot; None without temperatures.
        is_counted: whether the drive counted throttling in the step.
    """

    origin: StepView
    drop: Drop
    before: float | None
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
        fell = 1 - self.drop.during / self.drop.before
        by = "heat" if cause == "thermal" else "something"
        text = (
            f"it started right after '{self.origin.step.name}', which {by} had slowed by {fell:.0%}"
        )
        if self.is_held:
            text += ", and stayed as hot"
        if self.is_counted:
            text += "; the drive counted throttling"
        if self.lost is not None:
            text += f"; from the start it ran {self.lost:.0%} below its full speed"
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
    lost = None if before is None else 1 - level_of(view) / before
    if lost is not None and lost <= 1 - RECOVERED:
        return None
    return SlowStart(origin, drop, before, lost, _is_held(view, origin), _is_counted(view))


def _full_speed(view: StepView, origin: StepView, others: list[StepView]) -> float | None:
    """The speed of the same load before it fell, or after a rest; None if there was none."""
    unit = view.throughput.unit
    known = [
        level_of(other)
        for other in others
        if other.slowed_by is None and alike(other.step, view.step)
    ]
    rw = origin.step.rw
    if rw in _SEQUENTIAL and rw == view.step.rw and origin.throughput.unit == unit:
        known.append(level_of(origin))
    return max((level for level in known if level > 0), default=None)


def _is_held(view: StepView, origin: StepView) -> bool | None:
    """Whether the drive stayed as hot as it was at the end of the earlier load."""
    end_s = origin.throughput.duration_s
    late_c, here_c = origin.temp.between(end_s - _LATE_S, end_s), view.temp.values
    if len(late_c) == 0 or len(here_c) == 0:
        return None
    return float(np.median(here_c)) >= float(np.median(late_c)) - HELD_WITHIN_K


def _is_counted(view: StepView) -> bool:
    tracks = (view.track(name).values for name in counter_columns(view))
    return any(len(values) > 1 and values[-1] > values[0] for values in tracks)


def step_findings(
    view: StepView, others: list[StepView], siblings: list[StepView], window_s: float
) -> StepFindings:
    """Return what a step shows; `siblings` are steps of other recordings of its drive."""
    # the loss of one direction may be hidden in the sum
    parts = view.by_direction() if view.drops == [] else [view]
    episodes = [
        episode_of(case, judgement)
        for part in parts
        for case, judgement in judged_drops(part, others, siblings)
    ]
    if not episodes and view.oscillation_from_start is not None:
        case = Case(view.oscillation_from_start, view, list(others), list(siblings))
        judgement = weigh(case)
        # oscillation from the start may be normal for the drive; a governor leaves other traces too
        if judgement.cause == "thermal":
            episodes = [episode_of(case, judgement)]
    mean = view.throughput.mean(-math.inf, math.inf)
    bound = limited_by_link(view) if view.drops == [] and not episodes else None
    waited = always_waited(view) if not episodes else None
    slow = None if bound or waited else _slow_from_the_start(view, others, siblings, episodes)
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


def _slow_from_the_start(
    view: StepView, others: list[StepView], siblings: list[StepView], episodes: list[Episode]
) -> tuple[Verdict, str] | None:
    """Return the verdict on a step that was slow from its start, and the reason."""
    slowed = None if view.drops is None else slow_start(view, [*others, *siblings])
    if slowed is None:
        return None
    deepest = max((episode.depth_pct for episode in episodes), default=0.0)
    if episodes and (slowed.lost is None or 100 * slowed.lost < deepest):
        return None
    beside = [other for other in (view, *others) if other is not slowed.origin]
    judged = judged_drops(slowed.origin, beside, siblings)
    # the last drop that lasted: the first may have another cause
    lasting = [judgement.cause for case, judgement in judged if not case.drop.recovered]
    verdict = slowed.verdict(lasting[-1]) if lasting else None
    return None if verdict is None else (verdict, slowed.reason(lasting[-1]))


def _verdict(view: StepView, episodes: list[Episode]) -> Verdict:
    if view.drops is None:
        return "unknown"
    if not episodes:
        return "steady"
    return max(episodes, key=lambda episode: episode.depth_pct).cause


def _why_unknown(view: StepView) -> str | None:
    """Why a step's throughput could not be judged; None if it was."""
    if view.drops is not None:
        return None
    samples = len(view.throughput.t_s)
    if samples == 0:
        return "no throughput was logged"
    if not view.has_moved:
        return "nothing was moved"
    if samples == 1:
        return "a single mean, not a series"
    return f"too short to judge: {samples} samples in {view.duration_s:.0f} s"


__all__ = ["Drop", "drops_of"]


def drops_of(samples: pl.DataFrame) -> list[Drop] | None:
    """Return the drops in one step's samples; None if there are too few to tell.

    Times count from the start of the first interval that has rates.
    """
    rates = samples.filter(pl.col("interval_s").is_not_null())
    if rates.is_empty():
        return None
    first = rates.row(0, named=True)
    return find_drops(throughput(rates, float(first["t_s"] - first["interval_s"])))
