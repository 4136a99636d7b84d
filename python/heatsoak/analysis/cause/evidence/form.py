"""The form of the drop itself: how it falls, whether it ends, how restless it is."""

import numpy as np

from heatsoak.analysis.cause.case import Case, Finding

#: A drop that lasts this long was given the time to end.
LONG_S = 60.0
#: A cache or spare area is used up at once; heat bites slowly, unless it acts in steps.
FALLS_S = (("sharp-step", 2.5), ("step", 8.0), ("gradual", 30.0))
#: How much of the level before is lost, in words.
LOST = (("little", 0.2), ("some", 0.4), ("half", 0.6), ("much", 0.8))
#: So many times as restless as before.
WILDER = 2.5
#: The fewest samples whose scatter says something.
LEAST_SAMPLES = 20
#: Power that falls this much less than the rate is spent on something else.
SPENT_INSIDE = 0.25


def shape(case: Case) -> Finding | None:
    """A step, a slide, or a cycle with its period."""
    drop = case.drop
    if drop.shape == "cycle":
        period = "" if drop.period_s is None else f" every {drop.period_s:.0f} s"
        return Finding("shape", "cycle", f"it swings between levels{period}, as governors do")
    if drop.shape == "slide":
        over = f" over {drop.fall_s:.0f} s" if drop.fall_s >= 1 else ""
        return Finding("shape", "slide", f"it slid down{over}")
    sampling_s = case.view.throughput.sampling_s
    kind = next((name for name, most_s in FALLS_S if drop.fall_s <= most_s + sampling_s), "slow")
    return Finding(
        "shape", kind, f"nine tenths of it were lost within {max(drop.fall_s, sampling_s):.2g} s"
    )


def depth(case: Case) -> Finding:
    """How much is gone: collection takes most of it, governors seldom do."""
    lost = case.drop.depth
    seen = next((name for name, below in LOST if lost < below), "most")
    return Finding("depth", seen, f"{lost:.0%} of the level before are gone")


def end(case: Case) -> Finding | None:
    """Whether it ended under the same load; what was used up seldom comes back by itself."""
    if case.drop.oscillates:
        return None
    if case.drop.recovered:
        return Finding(
            "end", "by-itself", f"it ended by itself after {case.last_s:.0f} s, under the same load"
        )
    if case.last_s >= LONG_S:
        return Finding("end", "lasted", f"it lasted to the end, {case.last_s:.0f} s")
    return None


def unrest(case: Case) -> Finding | None:
    """How much the rate scatters from sample to sample, against before."""
    series, drop = case.view.throughput, case.drop
    before = _scatter(
        series.values[(series.t_s > case.level_since_s) & (series.t_s <= drop.onset_s)]
    )
    settled_s = min(drop.onset_s + drop.fall_s, drop.end_s)
    during = _scatter(series.values[(series.t_s > settled_s) & (series.t_s <= drop.end_s)])
    if before is None or during is None or drop.oscillates:
        return None
    if during > WILDER * max(before, 0.005):
        return Finding(
            "unrest",
            "wilder",
            f"it scatters more: {during:.1%} from sample to sample, before {before:.1%}",
        )
    return Finding("unrest", "alike", f"it scatters as before: {during:.1%}, before {before:.1%}")


def _scatter(values: np.ndarray) -> float | None:
    """The usual relative difference between neighbours."""
    if len(values) < LEAST_SAMPLES:
        return None
    level = float(np.median(values))
    return float(np.median(np.abs(np.diff(values)))) / level if level > 0 else None


def power(case: Case) -> Finding | None:
    """A drive that moves data for itself draws power for it; one held back draws less."""
    powers = case.before_and_during("power_w")
    if powers is None or powers[0] <= 0:
        return None
    kept, rate = powers[1] / powers[0], case.drop.during / case.drop.before
    said = f"power went from {powers[0]:.1f} W to {powers[1]:.1f} W"
    if kept - rate >= SPENT_INSIDE:
        return Finding("power", "kept", f"{said}: it was busy with something of its own")
    return Finding("power", "fell", f"{said}, with the rate")
