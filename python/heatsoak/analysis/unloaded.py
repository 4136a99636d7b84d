"""The time in which a log shows a drive without a load to judge: how long, how hot, and why.

A drive that idles in a hot machine is warmed by its neighbours, which is what its owner wants to
know.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from heatsoak.analysis.findings import Unloaded
from heatsoak.analysis.series import TIME_CONSTANTS_S, lagged
from heatsoak.analysis.view import SensorTrack, StepView
from heatsoak.words import duration_text, percent_text, temp_text

#: A temperature that moved less followed nothing.
_MIN_RANGE_K = 3.0
#: It follows what explains this much of its variance.
_MIN_EXPLAINED = 0.7
#: With fewer readings, anything may look alike.
_MIN_READINGS = 10
_MAX_STEPS = 2000
#: Columns of the host that may warm a drive, by how they start, and what people call them.
_NEIGHBOURS = {
    "temp_c.gpu": "the graphics card",
    "temp_c.cpu": "the processor",
    "cpu_pct": "the processor",
    "temp_c.ambient": "the room",
    "temp_c.chamber": "the room",
    "temp_c.case": "the air in the case",
}
#: A spell at this much and more, in which this much is moved, is work: a burst of it.
_BURST_MB_S, _BURST_GB = 20.0, 0.5
#: Where the drive was less busy, it had time to rest.
_BUSY_PCT = 20.0


def unloaded_of(view: StepView) -> Unloaded:
    """Return what is known of the time without a load, which is `view`."""
    rate, temp = view.throughput, view.temp
    max_c = max(temp.values.tolist(), default=None)
    busy = view.track("busy_pct").values
    busy_pct = float(np.mean(busy)) if len(busy) else None
    seen = []
    if len(rate.values) and rate.unit != "lat_us":
        seen.append(f"at most {rate.text(np.max(rate.values))}")
    if busy_pct is not None:
        seen.append(f"busy {percent_text(round(busy_pct))} of the time")
    found = _followed(view)
    bursts = _bursts(view) if rate.unit == "mb_s" else []
    reasons = []
    if max_c is not None:
        reasons.append(f"it was at {temp_text(max_c)} at most")
    if found is not None:
        slowly = duration_text(found.time_constant_s)
        reasons.append(f"its temperature followed {found.what}, with a time constant of {slowly}")
    return Unloaded(
        duration_s=view.duration_s,
        busy_pct=busy_pct,
        max_mb_s=max(rate.values.tolist(), default=None) if rate.unit == "mb_s" else None,
        max_temp_c=max_c,
        longest_burst_s=max((burst.length_s for burst in bursts), default=None),
        bursts_gb=sum(burst.moved_gb for burst in bursts),
        follows=None if found is None else found.what,
        follows_column=None if found is None else found.column,
        time_constant_s=None if found is None else found.time_constant_s,
        text=f" in {duration_text(view.duration_s)}" + (f" ({', '.join(seen)})" if seen else ""),
        reasons=reasons,
    )


@dataclass(frozen=True)
class _Burst:
    length_s: float
    moved_gb: float


def _bursts(view: StepView) -> list[_Burst]:
    """The spells of work, each too short to be a load that is judged."""
    rate, busy = view.throughput, view.track("busy_pct")
    if len(rate.values) == 0:
        return []
    working = rate.values >= max(_BURST_MB_S, 0.1 * float(np.max(rate.values)))
    edges = np.flatnonzero(np.diff(working, prepend=False, append=False))
    found = []
    for begin, end in edges.reshape(-1, 2).tolist():
        busy_pct = busy.between(rate.t_s[begin], rate.t_s[end - 1])
        if len(busy_pct) and float(np.mean(busy_pct)) < _BUSY_PCT:
            continue
        interval_s = rate.interval_s[begin:end]
        moved_gb = float(np.sum(rate.values[begin:end] * interval_s)) / 1000
        found.append(_Burst(float(np.sum(interval_s)), moved_gb))
    return [burst for burst in found if burst.moved_gb >= _BURST_GB]


@dataclass(frozen=True)
class _Followed:
    """What a temperature followed; `column` is None for the drive's own work."""

    what: str
    column: str | None
    time_constant_s: float


def _candidates(view: StepView) -> Iterator[tuple[str, str | None, SensorTrack]]:
    yield "its own work", None, SensorTrack(view.throughput.t_s, view.throughput.values)
    for start, what in _NEIGHBOURS.items():
        for name in view.columns(start):
            yield what, name, view.track(name)


def _followed(view: StepView) -> _Followed | None:
    """What explains most of the temperature as its lagged cause."""
    temp = view.temp
    if len(temp.values) < _MIN_READINGS or float(np.ptp(temp.values)) < _MIN_RANGE_K:
        return None
    step_s = max(1.0, float(temp.t_s[-1] - temp.t_s[0]) / _MAX_STEPS)
    grid_s = np.arange(temp.t_s[0], temp.t_s[-1], step_s)
    temps_c = np.interp(grid_s, temp.t_s, temp.values)
    explained, best = _MIN_EXPLAINED, None
    for what, column, track in _candidates(view):
        if len(track.values) < _MIN_READINGS or float(np.ptp(track.values)) == 0:
            continue
        cause = np.interp(grid_s, track.t_s, track.values)
        for tau_s in TIME_CONSTANTS_S:
            followed = lagged(cause - cause[0], step_s / tau_s)
            if float(np.std(followed)) == 0:
                continue
            r = float(np.corrcoef(followed, temps_c)[0, 1])
            # less heat never warms
            if r > 0 and r * r > explained:
                explained, best = r * r, _Followed(what, column, float(tau_s))
    return best
