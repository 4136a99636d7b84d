"""What temperatures and counters show by themselves, where no throughput was logged."""

import numpy as np

from heatsoak.analysis.view import StepView, Track

#: A temperature that moved less than this says nothing of the load.
LEAST_RISE_K = 5.0
#: This close to its highest a temperature counts as held there.
HELD_WITHIN_K = 3.0
#: Held for less than this it may just have been passing.
LEAST_HELD_S = 60.0


def warmth(view: StepView) -> list[str]:
    """Return sentences on the drive's temperature, its limits and its counters in this step."""
    said = [*_course(view.temp), *_limits(view), *_counters(view)]
    if not said:
        return ["neither throughput nor a temperature of the drive was logged"]
    return [*said, "whether the drive slowed takes a log of its throughput from the same time"]


def _course(temp: Track) -> list[str]:
    if len(temp.values) == 0:
        return []
    start_c, low_c, top_c = temp.values[0], np.min(temp.values), np.max(temp.values)
    if len(temp.values) == 1:
        return [
            f"the temperature was {start_c:.0f} C, in a single reading: a series has its course"
        ]
    if top_c - low_c < LEAST_RISE_K:
        return [f"the temperature hardly moved: {low_c:.0f} to {top_c:.0f} C"]
    near = temp.t_s[temp.values >= top_c - HELD_WITHIN_K]
    reached_s, held_s = float(near[0] - temp.t_s[0]), float(near[-1] - near[0])
    if top_c - start_c > HELD_WITHIN_K:
        text = f"the temperature went from {start_c:.0f} C to {top_c:.0f} C in {reached_s:.0f} s"
    else:
        text = (
            f"the temperature was between {low_c:.0f} and {top_c:.0f} C, {start_c:.0f} C at first"
        )
    within = temp.values[(temp.t_s >= near[0]) & (temp.t_s <= near[-1])]
    if held_s >= LEAST_HELD_S and np.mean(within >= top_c - HELD_WITHIN_K) > 0.9:
        text += (
            f" and stayed within {HELD_WITHIN_K:.0f} K of that for {held_s:.0f} s, as it does "
            "under a governor, or in balance with its cooling"
        )
    return [text]


def _limits(view: StepView) -> list[str]:
    if len(view.temp.values) == 0:
        return []
    top_c = float(np.max(view.temp.values))
    reached = [
        f"{name.removesuffix('_c')} ({limit:.0f} C)"
        for name, limit in sorted(view.limits_c.items(), key=lambda item: item[1])
        if 0 < limit <= top_c
    ]
    return [f"it reached the drive's limits: {', '.join(reached)}"] if reached else []


def _counters(view: StepView) -> list[str]:
    moved = []
    for name in view.columns("throttle_count.") + view.columns("throttle_time_s."):
        values = view.track(name).values
        if values[-1] > values[0]:
            unit = " s" if name.startswith("throttle_time_s.") else ""
            moved.append(f"{name.split('.', 1)[1]} by {values[-1] - values[0]:g}{unit}")
    return [f"the drive's own throttling counters rose: {', '.join(moved)}"] if moved else []
