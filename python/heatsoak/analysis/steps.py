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
from heatsoak.analysis.copies import waited_all_along
from heatsoak.analysis.definitions import RECOVERED
from heatsoak.analysis.findings import Episode, StepFindings, Verdict
from heatsoak.analysis.segments import Drop, find_drops, joined
from heatsoak.analysis.series import throughput
from heatsoak.analysis.view import StepView

#: Causes that take what they take at once, and no more of it later.
_ONCE = ("write-cache", "spare-area")


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


def episode_of(case: Case, judgement: Judgement) -> Episode:
    """Return a drop and its cause as they stand in the findings."""
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


#: Packets and acknowledgements take their part of what a link carries.
NEAR_CEILING = (0.8, 1.02)
#: A link is narrow where it carries less than this share of what the drive could take.
NARROW = 0.95


def bound_by_host(view: StepView) -> str | None:
    """Return why a step's level is its host's and not its drive's; None where it is not.

    A rate that stays at the ceiling of a link with fewer lanes, or of an older generation, than
    the drive has, would be higher elsewhere.
    """
    series = view.throughput
    if series.unit != "mb_s" or len(series.values) == 0 or view.course.link_ceiling_mb_s is None:
        return None
    ceiling, most = view.course.link_ceiling_mb_s
    # links sleep when idle: what they carried under load counts
    readings = view.track("link_mb_s").values
    if len(readings):
        ceiling = float(np.median(readings))
    level = float(np.median(series.values))
    low, high = NEAR_CEILING
    if ceiling >= NARROW * most or not low * ceiling <= level <= high * ceiling:
        return None
    return (
        f"{level:,.0f} MB/s is what its PCIe link carries ({ceiling:,.0f} MB/s before protocol); "
        f"the drive's own would carry {most:,.0f} MB/s"
    )


#: A governor holds a drive this close to where it held it before.
HELD_WITHIN_K = 3.0
#: Sequential loads do about the same in blocks of any usual size.
_SEQUENTIAL = ("read", "write")
#: How long the end of the earlier load is looked at for its temperature.
_LATE_S = 10.0


@dataclass(frozen=True)
class Slowed:
    """What a step began behind.

    Attributes:
        origin: the load that had fallen, the first of those right behind each other.
        drop: its drop that still lasted.
        before: what it, or a like load, did at full speed, in the step's unit; None where no like
            load is known.
        lost: the share of `before` that is missing from the step's begin; None as `before` is.
        is_held: whether the drive stayed as hot; None without temperatures.
        is_counted: whether the drive counted that it throttled in the step.
    """

    origin: StepView
    drop: Drop
    before: float | None
    lost: float | None
    is_held: bool | None
    is_counted: bool

    def verdict(self, cause: Verdict) -> Verdict | None:
        """Return what the step's slowness is, where `cause` is that of the drop that lasted.

        None where nothing shows that it was slow, or where the earlier load used up what stays used
        up: steps are run behind such loads for what a drive does then.
        """
        if cause == "thermal":
            if self.is_counted or (self.is_held and self.lost is not None):
                return "thermal"
            return "unknown" if self.is_held or self.lost is not None else None
        return "unknown" if cause == "unknown" and self.lost is not None else None

    def said(self, cause: Verdict) -> str:
        """Return the reason of the verdict as a sentence; `cause` is that of the earlier drop."""
        fell = 1 - self.drop.during / self.drop.before
        by = "heat" if cause == "thermal" else "something"
        text = (
            f"it began right behind '{self.origin.step.name}', which {by} had slowed by {fell:.0%}"
        )
        if self.is_held:
            text += ", and stayed as hot"
        if self.is_counted:
            text += "; the drive counted its throttling"
        if self.lost is not None:
            text += f"; from its begin {self.lost:.0%} of its full speed were missing"
        if self.verdict(cause) == "thermal":
            return text
        return f"{text}: a pause between them would tell"


def began_slowed(view: StepView, others: list[StepView]) -> Slowed | None:
    """Return how a step was slow from its begin; None where nothing before it says that.

    `others` are further steps of the drive: a like one that was faster shows what is missing.
    """
    origin = view.fallen_before
    drop = None if origin is None else origin.lasting_drop
    if origin is None or drop is None:
        return None
    before = _full_speed(view, origin, others)
    lost = None if before is None else 1 - level_of(view) / before
    if lost is not None and lost <= 1 - RECOVERED:
        return None
    return Slowed(origin, drop, before, lost, _is_held(view, origin), _is_counted(view))


def _full_speed(view: StepView, origin: StepView, others: list[StepView]) -> float | None:
    """What a like load did before it fell, or after a rest; None where there was none."""
    unit = view.throughput.unit
    known = [
        level_of(other)
        for other in others
        if other.fallen_before is None and alike(other.step, view.step)
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


__all__ = ["Drop", "drops_of"]


def drops_of(samples: pl.DataFrame) -> list[Drop] | None:
    """Return the drops in one step's samples; None where they are too few to tell.

    Times count from the begin of the first interval that has rates.
    """
    rates = samples.filter(pl.col("interval_s").is_not_null())
    if rates.is_empty():
        return None
    first = rates.row(0, named=True)
    return find_drops(throughput(rates, float(first["t_s"] - first["interval_s"])))
