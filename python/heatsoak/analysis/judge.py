"""Recordings in, findings out."""

import math
from collections.abc import Iterable

from heatsoak.analysis.consistency import WINDOW_S, step_consistency
from heatsoak.analysis.evidence import Case, weigh
from heatsoak.analysis.findings import (
    Episode,
    Findings,
    RecordingFindings,
    StepFindings,
    Verdict,
)
from heatsoak.analysis.sensors import judge_sensors
from heatsoak.analysis.view import StepView, judged_steps
from heatsoak.analysis.warmth import warmth
from heatsoak.protocol import Observation
from heatsoak.recording import Recording


def analyze(recordings: Iterable[Recording], window_s: float = WINDOW_S) -> Findings:
    """Return what the recordings show, each judged by itself; consistency over `window_s`."""
    return Findings(recordings=[judge(recording, window_s) for recording in recordings])


def judge(recording: Recording, window_s: float = WINDOW_S) -> RecordingFindings:
    """Return what one recording shows; consistency is that of each step's last `window_s`."""
    views = list(judged_steps(recording))
    return RecordingFindings(
        path=str(recording.path),
        drive=recording.meta.drive,
        conditions=dict(recording.meta.conditions),
        steps=[
            _step(view, [other for other in views if other is not view], window_s) for view in views
        ],
        sensors=judge_sensors(recording),
        notes=_notes(recording, views),
    )


def _step(view: StepView, others: list[StepView], window_s: float) -> StepFindings:
    episodes = [_episode(Case(drop, view, others)) for drop in view.drops or []]
    mean = view.throughput.mean(-math.inf, math.inf)
    return StepFindings(
        step=view.step.name,
        workload=view.step.describe(),
        duration_s=view.duration_s,
        mean_mb_s=mean if view.throughput.unit == "mb_s" and math.isfinite(mean) else None,
        start_temp_c=view.temp.at(0.0),
        verdict=_verdict(view, episodes),
        why_unknown=_why_unknown(view),
        episodes=episodes,
        consistency=step_consistency(view, window_s),
    )


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
    if samples == 1:
        return "one mean, no series"
    return f"too short to judge: {samples} samples in {view.duration_s:.0f} s"


def _episode(case: Case) -> Episode:
    drop, view = case.drop, case.view
    is_thermal, confidence, evidence = weigh(case)
    in_bytes = view.throughput.unit == "mb_s"
    return Episode(
        onset_s=drop.onset_s,
        end_s=drop.end_s,
        before_mb_s=drop.before if in_bytes else None,
        during_mb_s=drop.during if in_bytes else None,
        before_iops=None if in_bytes else drop.before,
        during_iops=None if in_bytes else drop.during,
        depth_pct=100 * drop.depth,
        cause="thermal" if is_thermal else "unknown",
        confidence=confidence,
        evidence=evidence,
        oscillates=drop.oscillates,
        period_s=drop.period_s,
        recovered=drop.recovered,
        written_gb_at_onset=view.written_gb(drop.onset_s),
        temp_c_at_onset=view.temp.at(drop.onset_s),
    )


def _notes(recording: Recording, views: list[StepView]) -> list[str]:
    meta = recording.meta
    notes = []
    if recording.was_cut:
        notes.append("the recording was cut, or is still running: it ends where it was cut")
    elif meta.status != "finished":
        notes.append(f"the run was {meta.status}: {meta.reason}")
    for view in views:
        if not view.has_rates:
            notes += [f"'{view.step.name}': {text}" for text in warmth(view)]
    notes += _warm_starts(views)
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
