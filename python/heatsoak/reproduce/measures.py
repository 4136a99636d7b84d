"""One function for each kind of published figure: recordings in, a number out.

Statements give 1 if they hold and 0 if not. catalog/published.toml has the articles' own words
beside each figure. A measure raises NotMeasured with a reason if the recordings show nothing to
measure.
"""

from collections.abc import Callable
from operator import attrgetter, itemgetter
from statistics import median

import numpy as np
import polars as pl

from heatsoak import words
from heatsoak.analysis import Episode, consistency
from heatsoak.analysis.definitions import LAST_S, MIN_DROP
from heatsoak.analysis.findings import RateLevel
from heatsoak.facts.table import Row, level_mb_s
from heatsoak.protocol import WorkloadStep
from heatsoak.reproduce import runner
from heatsoak.reproduce.reviews import REVIEW_MEASURES

#: Changes smaller than this share do not count, as falls smaller than it are not episodes.
NOTICEABLE = MIN_DROP
#: Two consistencies within this factor of each other are alike.
ALIKE_X = 2.0
#: How many seconds of a stream a capture may buffer before it drops frames.
CAPTURE_BUFFER_S = 1.0


# ---- onset and depth


def cell_onset_s(case: runner.FigureInput) -> runner.Figure:
    """The earlier onset of a cell's steps."""
    return onset_s(case)


def cell_depth_pct(case: runner.FigureInput) -> runner.Figure:
    """The deeper fall of a cell's steps, by its last 60 s, as it was drawn."""
    rows = _fallen(runner.only(case.runs), case.steps)
    return float(max(row["depth_at_end_pct"] for row in rows))


def earliest_onset_s(case: runner.FigureInput) -> runner.Figure:
    """The soonest onset of all places in which there is one."""
    rows = [run.row(name) for run in case.runs for name in case.steps]
    onsets = [row["onset_s"] for row in rows if "onset_s" in row]
    if not onsets:
        raise runner.NotMeasured("nothing throttled anywhere")
    return float(min(onsets))


def onset_s(case: runner.FigureInput) -> runner.Figure:
    """How long a step keeps its level."""
    return _onset_s(runner.only(case.runs), case.steps)


def written_gb_at_onset(case: runner.FigureInput) -> runner.Figure:
    """How much a step writes while it keeps its level, 10^9 bytes."""
    return _written_gb(_first(runner.only(case.runs), case.steps).get("onset_gb"))


def cliff_s(case: runner.FigureInput) -> runner.Figure:
    """When the deepest fall of a step starts; heat must not be its cause."""
    episode, but = _cliff(case)
    return runner.MeasuredFigure(episode.onset_s, but)


def cliff_gb(case: runner.FigureInput) -> runner.Figure:
    """How much was written before a step's deepest fall, 10^9 bytes; heat must not be its cause."""
    episode, but = _cliff(case)
    return runner.MeasuredFigure(_written_gb(episode.written_gb_at_onset), but)


def onset_later_s(case: runner.FigureInput) -> runner.Figure:
    """How much later it throttles than in each compared place; the least fitting value."""
    return case.farthest(
        [_onset_s(run, case.steps) - _onset_s(other, case.steps) for run, other in case.pairs()]
    )


def onset_ratio_x(case: runner.FigureInput) -> runner.Figure:
    """Its onset divided by that in each compared place; the least fitting value."""
    return case.farthest(
        [_onset_s(run, case.steps) / _onset_s(other, case.steps) for run, other in case.pairs()]
    )


def temp_at_onset_c(case: runner.FigureInput) -> runner.Figure:
    """The reported temperature when it starts to throttle; the least fitting of several places."""
    temps = [_first(run, case.steps).get("onset_temp_c") for run in case.runs]
    known = [temp for temp in temps if temp is not None]
    if len(known) < len(temps):
        raise runner.NotMeasured("no temperature was recorded")
    return case.farthest(known)


def throttles(case: runner.FigureInput) -> runner.Figure:
    """Whether any of the steps falls because of heat."""
    return any(run.step(name).by_heat for run in case.runs for name in case.steps)


# ---- reported temperatures


def max_temp_c(case: runner.FigureInput) -> runner.Figure:
    """The highest that the drive reports in the steps."""
    run = runner.only(case.runs)
    why = "{}: no temperature was recorded in '{}'".format
    return max(run.number(name, "temp_max_c", why(run.job.name, name)) for name in case.steps)


def steady_temp_c(case: runner.FigureInput) -> runner.Figure:
    """The mean of what the drive reports in the last 60 s of a step."""
    return _mean_at_end_c(_temps_c(runner.only(case.runs), runner.only_step(case.steps)))


def idle_temp_c(case: runner.FigureInput) -> runner.Figure:
    """The mean of what the drive reports in the last 60 s of the pause before a step."""
    run, name = runner.only(case.runs), runner.only_step(case.steps)
    before = pl.col("t_s") < run.view(name).start_s
    return _mean_at_end_c(_temps_c(run, None).filter(before))


# ---- levels


def peak_mb_s(case: runner.FigureInput) -> runner.Figure:
    """The greatest level before an onset, or of a whole step without one."""
    peaks = [_level_before(run, name) for run in case.runs for name in case.steps]
    return max(peaks)


def is_slower(case: runner.FigureInput) -> runner.Figure:
    """Whether any of the steps ends below what the other drive's ends at."""
    return any(
        _end_mb_s(run, name) < _end_mb_s(other, name)
        for name in case.steps
        for run in case.runs
        for other in case.against
    )


def level_gain_mb_s(case: runner.FigureInput) -> runner.Figure:
    """The greatest difference of a step's end level from that in the compared places."""
    return max(
        _end_mb_s(run, name) - _end_mb_s(other, name)
        for run, other in case.pairs()
        for name in case.steps
    )


def falls(case: runner.FigureInput) -> runner.Figure:
    """Whether any of the steps has an episode."""
    return any("onset_s" in run.row(name) for run in case.runs for name in case.steps)


def is_host_limit(case: runner.FigureInput) -> runner.Figure:
    """Whether the steps are slower than elsewhere, with as many cards, and yet do not fall."""
    for run in case.runs:
        for name in case.steps:
            verdict = run.row(name)["verdict"]
            if verdict not in ("steady", "limited-by-host"):
                return runner.MeasuredFigure(0.0, f"'{name}' in {run.job.place} is {verdict}")
    for run, other in case.pairs():
        for name in case.steps:
            here, there = _level_before(run, name), _level_before(other, name)
            if here >= (1 - NOTICEABLE) * there:
                rates = f"{words.number_text(here)} and {words.rate_text(there)}"
                why = f"'{name}' is no slower than in {other.job.place}: {rates}"
                return runner.MeasuredFigure(0.0, why)
    return 1.0


# ---- steady state: the last 400 s, each second


def steady_mean_iops(case: runner.FigureInput) -> runner.Figure:
    """The mean."""
    return _steady(runner.only(case.runs), case.steps, "mean_iops")


def steady_stdev_iops(case: runner.FigureInput) -> runner.Figure:
    """The standard deviation."""
    return _steady(runner.only(case.runs), case.steps, "stdev_iops")


def steady_mean_change_pct(case: runner.FigureInput) -> runner.Figure:
    """The mean compared with that of the other place, in percent; less is negative."""
    both = (runner.only(case.runs), runner.only(case.against))
    here, there = (_steady(run, case.steps, "mean_iops") for run in both)
    return 100 * (here / _positive(there) - 1)


def is_one_level(case: runner.FigureInput) -> runner.Figure:
    """Whether there is one level and no other."""
    return len(_levels(case)) == 1


def lower_level_iops(case: runner.FigureInput) -> runner.Figure:
    """The lowest of several levels."""
    return _two_levels(case)[0].iops


def upper_level_iops(case: runner.FigureInput) -> runner.Figure:
    """The highest of several levels."""
    return _two_levels(case)[-1].iops


def lows_above_highs(case: runner.FigureInput) -> runner.Figure:
    """Whether the slowest second beats the fastest one of the other place."""
    here, there = (
        _seconds(runner.only(runs), case.steps).values for runs in (case.runs, case.against)
    )
    return float(here.min()) > float(there.max())


def ratios_are_alike(case: runner.FigureInput) -> runner.Figure:
    """Whether the ratios of all drives are within a factor of two."""
    if not all(_steady(run, case.steps, "stdev_iops") for run in case.runs):
        return runner.MeasuredFigure(0.0, "a drive with no deviation has no ratio")
    ratios = [_steady(run, case.steps, "ratio") for run in case.runs]
    return max(ratios) <= ALIKE_X * min(ratios)


# ---- gains of one place over another, step by step


def largest_gain_x(case: runner.FigureInput) -> runner.Figure:
    """The largest ratio of a step's mean to the same step's in the other place."""
    return max(1 + gain for gain in _gains(case).values())


def score_gain_pct(case: runner.FigureInput) -> runner.Figure:
    """How much greater the mean of the steps' means is than in the other place, in percent."""
    here, there = (_score(runner.only(runs), case.steps) for runs in (case.runs, case.against))
    return 100 * (here / there - 1)


def score_is_above(case: runner.FigureInput) -> runner.Figure:
    """Whether the mean of the steps' means is noticeably greater than the other drive's."""
    here, there = (_score(runner.only(runs), case.steps) for runs in (case.runs, case.against))
    return here > (1 + NOTICEABLE) * there


def scores_change_pct(case: runner.FigureInput) -> runner.Figure:
    """How much better the protocols' scores are than in the other place, in percent.

    Worse is negative, for rates and for times; of several scores, the least fitting one.
    """
    return case.farthest(
        [_change_pct(run, other, name) for run, other in case.pairs() for name in case.scores]
    )


def gain_is_there_alone(case: runner.FigureInput) -> runner.Figure:
    """Whether the singled-out steps gain noticeably, and no other step does."""
    there, elsewhere = _parted(case)
    return _holds(
        min(there.values()) >= NOTICEABLE
        and all(abs(gain) < NOTICEABLE for gain in elsewhere.values()),
        _gains_text({**there, **elsewhere}),
    )


def gain_is_most_there(case: runner.FigureInput) -> runner.Figure:
    """Whether the singled-out steps gain noticeably, and each more than any other step."""
    there, elsewhere = _parted(case)
    least = min(there.values())
    return _holds(
        least >= NOTICEABLE and least > max(elsewhere.values()), _gains_text({**there, **elsewhere})
    )


def is_not_throttled(case: runner.FigureInput) -> runner.Figure:
    """Whether the steps have no thermal episode, and are no slower than in the other place.

    The latter because a step that starts throttled shows no fall.
    """
    for name in case.steps:
        for run in case.runs:
            if run.step(name).by_heat:
                return runner.MeasuredFigure(0.0, f"'{name}' throttles")
    gains = _gains(case)
    return _holds(all(gain > -NOTICEABLE for gain in gains.values()), _gains_text(gains))


# ---- the rest


def duration_min(case: runner.FigureInput) -> runner.Figure:
    """How long a step takes, in minutes."""
    return float(runner.only(case.runs).row(runner.only_step(case.steps))["duration_s"]) / 60


def most_power_w(case: runner.FigureInput) -> runner.Figure:
    """The greatest power of any second of any recording."""
    peaks = []
    for run in case.runs:
        samples = run.recording.samples(["t_s", "power_w"]).drop_nulls()
        if samples.is_empty():
            raise runner.NotMeasured(f"{run.job.name}: no power was recorded")
        seconds = samples.group_by((pl.col("t_s") - 1e-9).floor()).agg(pl.col("power_w").mean())
        peaks.append(float(seconds["power_w"].to_numpy().max()))
    return max(peaks)


def keeps_rate(case: runner.FigureInput) -> runner.Figure:
    """Whether a stream of the step's rate is never more than its buffer behind."""
    run = runner.only(case.runs)
    view = run.view(runner.only_step(case.steps))
    if not isinstance(view.step, WorkloadStep) or view.step.rate is None:
        raise runner.NotMeasured(f"'{view.step.name}' has no rate to keep")
    rate_mb_s = view.step.rate / 1e6
    series = view.throughput
    written_mb = np.cumsum(series.values * series.interval_s)
    behind_s = float(np.max(series.t_s - written_mb / rate_mb_s))
    return _holds(
        behind_s <= CAPTURE_BUFFER_S,
        f"the stream is up to {words.number_text(behind_s, 2)} s ahead of the drive",
    )


def pause_s(case: runner.FigureInput) -> runner.Figure:
    """The median actual pause between two workloads."""
    recording = runner.only(case.runs).recording
    names = {step.name for step in recording.meta.protocol.steps if step.kind == "pause"}
    lengths = [
        float(event.data["duration_s"])
        for event in recording.events
        if event.kind == "step-end" and event.step in names
    ]
    if not lengths:
        raise runner.NotMeasured("there was no pause")
    return median(lengths)


def total_h(case: runner.FigureInput) -> runner.Figure:
    """The total length of the recordings, in hours."""
    return sum(run.recording.meta.duration_s or 0.0 for run in case.runs) / 3600


def measured(by: str, case: runner.FigureInput) -> runner.MeasuredFigure:
    """Return what the measure of that name gives; raises NotMeasured where there is nothing."""
    found = MEASURES[by](case)
    return (
        found if isinstance(found, runner.MeasuredFigure) else runner.MeasuredFigure(float(found))
    )


#: The measures, by their names in ``catalog/published.toml`` and ``modern.toml``.
MEASURES: dict[str, Callable[[runner.FigureInput], runner.Figure]] = {
    measure.__name__: measure
    for measure in (
        *(cell_onset_s, cell_depth_pct, earliest_onset_s, onset_s, written_gb_at_onset),
        *(cliff_s, cliff_gb, onset_later_s, onset_ratio_x, temp_at_onset_c),
        *(throttles, max_temp_c, steady_temp_c, idle_temp_c),
        *(peak_mb_s, is_slower, level_gain_mb_s, falls, is_host_limit),
        *(steady_mean_iops, steady_stdev_iops, steady_mean_change_pct),
        *(is_one_level, lower_level_iops, upper_level_iops, lows_above_highs, ratios_are_alike),
        *(largest_gain_x, score_gain_pct, score_is_above, scores_change_pct),
        *(gain_is_there_alone, gain_is_most_there, is_not_throttled),
        *(duration_min, most_power_w, keeps_rate, pause_s, total_h),
    )
} | REVIEW_MEASURES


def _holds(holds: bool, otherwise: str) -> runner.MeasuredFigure:
    return runner.MeasuredFigure(1.0) if holds else runner.MeasuredFigure(0.0, otherwise)


def _fallen(run: runner.FinishedRun, steps: tuple[str, ...]) -> list[Row]:
    rows = [row for row in map(run.row, steps) if "onset_s" in row]
    if not rows:
        raise runner.NotMeasured(f"nothing falls in {run.job.place}: {', '.join(steps)}")
    return rows


def _first(run: runner.FinishedRun, steps: tuple[str, ...]) -> Row:
    return min(_fallen(run, steps), key=itemgetter("onset_s"))


def _onset_s(run: runner.FinishedRun, steps: tuple[str, ...]) -> float:
    return float(_first(run, steps)["onset_s"])


def _cliff(case: runner.FigureInput) -> tuple[Episode, str | None]:
    """The deepest fall, and what speaks against its being a cliff."""
    run = runner.only(case.runs)
    _fallen(run, case.steps)
    steps = list(map(run.step, case.steps))
    fell = [episode for step in steps for episode in step.episodes]
    deepest = max(fell, key=attrgetter("depth_pct"))
    is_heat = any(deepest in step.by_heat for step in steps)
    return deepest, "it is judged to be heat" if is_heat else None


def _written_gb(written_gb: float | None) -> float:
    if written_gb is None:
        raise runner.NotMeasured("nothing was written")
    return written_gb


def _level_before(run: runner.FinishedRun, name: str) -> float:
    level = level_mb_s(run.row(name))
    return _mean_mb_s(run, name) if level is None else level


def _temps_c(run: runner.FinishedRun, name: str | None) -> pl.DataFrame:
    """What the drive reports in a step, or in all pauses: columns t_s and temp_c."""
    samples = run.recording.samples(["t_s", "step", "temp_c.composite"])
    temps = samples.filter(pl.col("step").eq_missing(name)).drop_nulls("temp_c.composite")
    if temps.is_empty():
        where = "pauses" if name is None else f"'{name}'"
        raise runner.NotMeasured(f"{run.job.name}: no temperature was recorded in {where}")
    return temps.select("t_s", temp_c="temp_c.composite")


def _mean_at_end_c(temps: pl.DataFrame) -> float:
    at_end = temps.filter(pl.col("t_s") > temps["t_s"].to_numpy().max() - LAST_S)
    return float(at_end["temp_c"].to_numpy().mean())


def _end_mb_s(run: runner.FinishedRun, name: str) -> float:
    return run.number(name, "end_mb_s", f"'{name}' in {run.job.place} moved nothing")


def _steady(run: runner.FinishedRun, steps: tuple[str, ...], what: str) -> float:
    name = runner.only_step(steps)
    return run.number(name, f"consistency_{what}", "the step is too short")


def _seconds(run: runner.FinishedRun, steps: tuple[str, ...]) -> consistency.PerSecond:
    found = consistency.by_second(run.view(runner.only_step(steps)).iops, consistency.WINDOW_S)
    if len(found.values) == 0:
        raise runner.NotMeasured("the step is too short")
    return found


def _levels(case: runner.FigureInput) -> list[RateLevel]:
    return consistency.rate_levels(_seconds(runner.only(case.runs), case.steps))[0]


def _two_levels(case: runner.FigureInput) -> list[RateLevel]:
    levels = _levels(case)
    if len(levels) < 2:
        raise runner.NotMeasured(f"it stays at one level, {words.number_text(levels[0].iops)} IOPS")
    return levels


def _mean_mb_s(run: runner.FinishedRun, name: str) -> float:
    mean = run.number(name, "mean_mb_s", f"'{name}' in {run.job.place} moved nothing")
    return _positive(mean)


def _score(run: runner.FinishedRun, steps: tuple[str, ...]) -> float:
    return float(np.mean([_mean_mb_s(run, name) for name in steps]))


def _change_pct(run: runner.FinishedRun, other: runner.FinishedRun, name: str) -> float:
    here, there = (_known_score(each, name) for each in (run, other))
    change_pct = 100 * (here / _positive(there) - 1)
    return change_pct if run.score(name).better == "higher" else 0.0 - change_pct


def _known_score(run: runner.FinishedRun, name: str) -> float:
    score = run.score(name)
    if score.value is None:
        raise runner.NotMeasured(f"{run.job.name}: '{name}': {score.why}")
    return score.value


def _gains(case: runner.FigureInput) -> dict[str, float]:
    """Gain of each step as a share; the steps of several protocols are pooled."""
    many = len(case.runs) > 1
    return {
        f"{run.job.protocol} {name}" if many else name: _mean_mb_s(run, name)
        / _mean_mb_s(other, name)
        - 1
        for run, other in case.pairs()
        for name in case.steps
    }


def _parted(case: runner.FigureInput) -> tuple[dict[str, float], dict[str, float]]:
    gains = _gains(case)
    there = {name: gains.pop(name) for name in case.at}
    return there, gains


def _gains_text(gains: dict[str, float]) -> str:
    return "gains: " + ", ".join(
        f"{name} {words.signed_text(100 * gain)} %" for name, gain in gains.items()
    )


def _positive(value: float) -> float:
    if value <= 0:
        raise runner.NotMeasured("nothing moved")
    return value
