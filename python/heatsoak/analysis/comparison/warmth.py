"""Whether a step began warmer in one run than in another, and whether that is the place's doing.

A bare drive rests warmer than one under a heatsink, and one below a graphics card warmer than both:
that belongs to what is compared. A drive that was still cooling when its step began does not, nor
does a first step that nobody let cool down.
"""

import re

import polars as pl

from heatsoak.analysis.comparison.runs import DRIVE, MODEL, Run

#: Starts that are this close are alike.
TOLERANCE_K = 5.0
#: A drive is at rest when it cooled by no more than this in so long.
_REST_K, _REST_S = 1.0, 60.0
#: Conditions that say how warm the drive's surroundings, or its start, are.
_SURROUNDINGS = re.compile(
    r"slot|gpu|heat$|heat_|load|ambient|air|temp|warm|cold|start|enclosure|place|case|room|season",
    re.IGNORECASE,
)


def warm_start(run: Run, other: Run, step: str, by: str) -> str | None:
    """Return how one began the step warm; None where both did not, or where it cannot be told."""
    starts = [r.views[step].temp.at(0.0) for r in (run, other)]
    if starts[0] is None or starts[1] is None or abs(starts[0] - starts[1]) <= TOLERANCE_K:
        return None
    warm, said = (run, "first") if starts[0] > starts[1] else (other, "second")
    rest = _rests(warm, step)
    if rest is None:
        is_same_place = run.group == other.group
        if not is_same_place and (by in (DRIVE, MODEL) or _SURROUNDINGS.search(by)):
            return None
    elif rest:
        return None
    how = "" if rest is None else f", the {said} still cooling"
    return f"it began at {starts[0]:.0f} C and at {starts[1]:.0f} C{how}"


def _rests(run: Run, step: str) -> bool | None:
    """Whether a drive had come to rest as the step began; None where that was not seen.

    A step that follows another at once begins as warm as that left the drive: what is compared may
    do that, so it counts as rest.
    """
    protocol = run.recording.meta.protocol
    if not protocol.is_observed:
        index = next(i for i, each in enumerate(protocol.steps) if each.name == step)
        if index > 0 and protocol.steps[index - 1].loads:
            return True
    view = run.views[step]
    columns = [n for n in view.columns("temp_c.") if view.track(n).at(0.0) == view.temp.at(0.0)]
    if not columns:
        return None
    samples = run.recording.samples(["t_s", "step", columns[0]])
    first_s = samples.filter(pl.col("step") == view.step.name)["t_s"].min()
    assert isinstance(first_s, float)
    before = samples.filter(
        (pl.col("t_s") >= first_s - _REST_S)
        & (pl.col("t_s") < first_s)
        & pl.col(columns[0]).is_finite()
    )[columns[0]]
    if before.len() < 2:
        return None
    return float(before[0]) - float(before[-1]) <= _REST_K
