"""Steady state as the SNIA Solid State Storage Performance Test Specification defines it.

Rounds are minutes of a step, or those of a protocol, whose tracked step is to become steady.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from heatsoak.analysis import findings, limit
from heatsoak.analysis.series import Array, RateSeries, iops, resampled
from heatsoak.analysis.view import StepView
from heatsoak.protocol import MIN_STEADY_ROUNDS, Rounds
from heatsoak.recording import Recording
from heatsoak.words import percent_text

#: The range of the tracked value in five rounds is at most this share of its average, and the line
#: through them rises or falls by at most that one.
_MAX_RANGE, _MAX_SLOPE = 0.20, 0.10
#: A step's own rounds.
_ROUND_S = 60.0


def steady_state(series: RateSeries) -> findings.SteadyState | None:
    """Return whether and from when minutes are steady.

    None for fewer than five whole ones, or if there was no I/O at all. One of which less than half
    was measured has no mean.
    """
    count = int((series.duration_s + 1e-6) // _ROUND_S)
    return _judge_rounds(resampled(series, 0.0, count * _ROUND_S, _ROUND_S), _ROUND_S)


def _judge_rounds(means: Array, round_s: float) -> findings.SteadyState | None:
    """Whether and from when the means of rounds are steady; NaN means not measured.

    Five rounds in a row are steady if the greatest mean exceeds the least by at most 20 % of their
    average, and the ends of the least-squares line through them are at most 10 % of it apart (SNIA
    SSS PTS 2.0.1, "Steady State"). Rounds may also be steps of a protocol. The figures are those of
    the first window that passes, or of the last one if none does.
    """
    if len(means) < MIN_STEADY_ROUNDS:
        return None
    windows = np.lib.stride_tricks.sliding_window_view(means, MIN_STEADY_ROUNDS)
    average = windows.mean(axis=1)
    x = np.arange(MIN_STEADY_ROUNDS) - (MIN_STEADY_ROUNDS - 1) / 2
    slope = windows @ x / (x @ x)
    known = np.flatnonzero(average > 0)  # NaN is not
    if len(known) == 0:
        return None
    spread = np.ptp(windows[known], axis=1) / average[known]
    drift = np.abs(slope[known]) * (MIN_STEADY_ROUNDS - 1) / average[known]
    # rounding must not push a value at exactly the limit over it
    passes = (spread <= _MAX_RANGE + 1e-9) & (drift <= _MAX_SLOPE + 1e-9)
    reached = bool(passes.any())
    shown = int(np.argmax(passes)) if reached else len(known) - 1
    return findings.SteadyState(
        reached=reached,
        since_s=float(known[shown]) * round_s if reached else None,
        at_end=bool(passes[-1]) and int(known[-1]) == len(windows) - 1,
        round_s=round_s,
        mean_iops=float(average[known[shown]]),
        range_pct=100 * float(spread[shown]),
        slope_pct=100 * float(drift[shown]),
    )


def mean_iops(frames: Sequence[pl.DataFrame]) -> float:
    """Return the mean IOPS of one step's samples; NaN if nothing was measured."""
    if not frames:
        return float("nan")
    return iops(pl.concat(frames, how="diagonal"), 0.0).mean(-np.inf, np.inf)


def judge_tracked(means: Sequence[float]) -> findings.SteadyState | None:
    """Return whether the means of the last five rounds are steady; None if there are fewer."""
    return _judge_rounds(np.array(means[-MIN_STEADY_ROUNDS:], dtype=float), 1.0)


def tracked_text(rounds: Rounds, taken: int, found: findings.SteadyState | None) -> str:
    """Return a sentence that says whether the completed rounds became steady."""
    if found is None:
        return (
            f"'{rounds.name}' cannot be called steady: {taken} whole rounds with IOPS of "
            f"'{rounds.tracks}', but {MIN_STEADY_ROUNDS} are needed"
        )
    figures = (
        f"differ by {percent_text(found.range_pct)} and drift by {percent_text(found.slope_pct)}"
    )
    if found.reached:
        first = taken - MIN_STEADY_ROUNDS + 1
        return f"steady in rounds {first} to {taken}: IOPS of '{rounds.tracks}' {figures}"
    return (
        f"'{rounds.name}' did not become steady in {taken} rounds: in the last "
        f"{MIN_STEADY_ROUNDS} the IOPS of '{rounds.tracks}' {figures}; the limits are 20 and 10 %"
    )


def rounds_of(recording: Recording, views: Mapping[str, StepView]) -> list[findings.RoundsFindings]:
    """Return the findings on a recording's rounds; `views` are its judged steps by name."""
    return [_found(rounds, recording, views) for rounds in recording.meta.protocol.rounds]


def place_in_rounds(recording: Recording) -> dict[str, dict[str, str | int]]:
    """Return the name of the rounds and the round number of each step in rounds, by step name."""
    return {
        step.name: {"rounds": rounds.name, "round": number}
        for rounds in recording.meta.protocol.rounds
        for number in range(1, rounds.at_most + 1)
        for step in rounds.of_round(number)
    }


def _found(
    rounds: Rounds, recording: Recording, views: Mapping[str, StepView]
) -> findings.RoundsFindings:
    ended = {event.step for event in recording.events if event.kind == "step-end"}
    is_whole = recording.meta.status == "finished"
    taken = 0
    for number in range(1, rounds.at_most + 1):
        names = [step.name for step in rounds.of_round(number) if step.loads]
        if not all(name in ended or (is_whole and name in views) for name in names):
            break
        taken = number
    means: list[float] = []
    if rounds.tracks is not None:
        seen = [views.get(f"{rounds.tracks}/{number}") for number in range(1, taken + 1)]
        means = [np.nan if v is None else v.iops.mean(-np.inf, np.inf) for v in seen]
    if rounds.until == "limit":
        trials = trials_of(rounds, recording, views)
        told = {"text": limit.limit_text(trials, writes=rounds.changes_data)}
        found, is_over = None, bool(trials) and limit.next_mb_s(trials) is None
    else:
        found = judge_tracked(means) if rounds.tracks is not None else None
        is_over = found is not None and found.reached
        steady = f"{taken} rounds" if rounds.tracks is None else tracked_text(rounds, taken, found)
        told = {"text": steady}
    return findings.RoundsFindings(
        name=rounds.name,
        taken=taken,
        tracked=rounds.tracks,
        iops=[mean if np.isfinite(mean) else None for mean in means],
        is_steady=None if rounds.tracks is None else is_over,
        range_pct=None if found is None else found.range_pct,
        slope_pct=None if found is None else found.slope_pct,
        steps=list(_steps(rounds, taken, views)),
        **told,
    )


def trials_of(
    rounds: Rounds, recording: Recording, views: Mapping[str, StepView]
) -> list[limit.Trial]:
    """Return what was found of each rate that rounds tried of the step that they track."""
    rates = {
        event.step: event.data.get("rate_mb_s")
        for event in recording.events
        if event.kind == "step-begin"
    }
    found = []
    for number in range(1, rounds.at_most + 1):
        view = views.get(f"{rounds.tracks}/{number}")
        if view is not None and view.throughput.unit == "mb_s":
            name, temp = view.step.name, view.temp
            found.append(limit.trial_of(view.throughput, rates.get(name), (temp.t_s, temp.values)))
    return [one for one in found if one is not None]


def _steps(
    rounds: Rounds, taken: int, views: Mapping[str, StepView]
) -> Iterator[findings.RoundStep]:
    last = range(max(1, taken - MIN_STEADY_ROUNDS + 1), taken + 1)
    for step in rounds.steps:
        if not step.is_judged:
            continue
        seen = [view for n in last if (view := views.get(f"{step.name}/{n}")) is not None]
        moved = [view.throughput for view in seen if view.throughput.unit == "mb_s"]
        yield findings.RoundStep(
            step=step.name,
            workload=step.describe(),
            mean_iops=_mean([view.iops for view in seen]),
            mean_mb_s=_mean(moved),
        )


def _mean(series: Sequence[RateSeries]) -> float | None:
    values = [one.mean(-np.inf, np.inf) for one in series]
    known = [value for value in values if np.isfinite(value)]
    return float(np.mean(known)) if known else None
