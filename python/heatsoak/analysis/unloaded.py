"""The time in which a log shows a drive without a load to judge: how long, how hot, and why.

A drive that idles in a hot machine is warmed by its neighbours, which is what its owner wants to
know.
"""

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from heatsoak.analysis.findings import Unloaded
from heatsoak.analysis.series import Array
from heatsoak.analysis.view import SensorTrack
from heatsoak.recording import Recording
from heatsoak.recording.columns import drive_temperatures, is_of_drive
from heatsoak.units import format_duration

#: A shorter time says little.
_MIN_S = 60.0
#: A temperature that moved less followed nothing.
_MIN_RANGE_K = 3.0
#: It follows what explains this much of its variance.
_MIN_EXPLAINED = 0.7
_TIME_CONSTANTS_S = np.geomspace(4.0, 1600.0, 14)
_MAX_STEPS = 2000
#: Columns of the host that may warm a drive, by what people call them.
_NEIGHBOURS = {
    "temp_c.gpu": "the graphics card",
    "gpu_": "the graphics card",
    "temp_c.cpu": "the processor",
    "cpu_pct": "the processor",
    "temp_c.ambient": "the room",
    "temp_c.chamber": "the room",
    "temp_c.case": "the air in the case",
}


def unloaded_of(recording: Recording) -> Unloaded | None:
    """Return what is known of the time without a load; None if there was hardly any."""
    columns = [name for name in recording.meta.columns if not name.startswith("sim.")]
    judged = [step.name for step in recording.meta.protocol.workload_steps if step.is_judged]
    samples = recording.samples(columns)
    if "step" in samples.columns:
        samples = samples.filter(~pl.col("step").is_in(judged) | pl.col("step").is_null())
    if samples.height < 2:
        return None
    duration_s = _length_s(samples["t_s"].to_numpy())
    if duration_s < _MIN_S:
        return None
    rate = _rate(samples)
    temp = _temperature(samples)
    found = _followed(samples, temp, rate)
    max_c = float(np.max(temp.values)) if len(temp.values) else None
    moving = None if rate is None else float(np.max(rate.values))
    busy = samples["busy_pct"].mean() if "busy_pct" in samples.columns else None
    busy_pct = float(busy) if isinstance(busy, (int, float)) else None
    seen = [
        *([f"at most {moving:,.3g} MB/s"] if moving is not None else []),
        *([f"busy {busy_pct:.0f} % of the time"] if busy_pct is not None else []),
    ]
    reasons = []
    if max_c is not None:
        reasons.append(f"it was at {max_c:.0f} C at most")
    if found is not None:
        reasons.append(
            f"its temperature followed {found[0]}, with a time constant of "
            f"{format_duration(found[1])}"
        )
    return Unloaded(
        duration_s=duration_s,
        busy_pct=busy_pct,
        max_mb_s=moving,
        max_temp_c=max_c,
        follows=None if found is None else found[0],
        time_constant_s=None if found is None else found[1],
        text=f" in {format_duration(duration_s)}" + (f" ({', '.join(seen)})" if seen else ""),
        reasons=reasons,
    )


def _length_s(t_s: Array) -> float:
    """The time that the rows cover, without what lies between them and was loaded."""
    between = np.diff(t_s)
    usual = float(np.median(between))
    return float(np.sum(between[between <= 3 * usual])) if usual > 0 else 0.0


def _rate(samples: pl.DataFrame) -> SensorTrack | None:
    names = [n for n in ("read_bw_mb_s", "write_bw_mb_s", "bw_mb_s") if n in samples.columns]
    if not names:
        return None
    rows = samples.filter(pl.any_horizontal(pl.col(n).is_not_null() for n in names))
    total = rows.select(pl.sum_horizontal(pl.col(n).fill_null(0) for n in names)).to_series()
    values = np.nan_to_num(total.cast(pl.Float64).to_numpy())
    return SensorTrack(rows["t_s"].to_numpy(), values) if len(values) else None


def _temperature(samples: pl.DataFrame) -> SensorTrack:
    tracks = [_track(samples, name) for name in drive_temperatures(samples.columns)]
    return max(
        (track for track in tracks if len(track.values)),
        key=lambda track: float(np.max(track.values)),
        default=SensorTrack(np.empty(0), np.empty(0)),
    )


def _track(samples: pl.DataFrame, name: str) -> SensorTrack:
    rows = samples.filter(pl.col(name).is_not_null() & pl.col(name).cast(pl.Float64).is_finite())
    return SensorTrack(rows["t_s"].to_numpy(), rows[name].cast(pl.Float64).to_numpy())


def _candidates(
    samples: pl.DataFrame, rate: SensorTrack | None
) -> Iterator[tuple[str, SensorTrack]]:
    if rate is not None:
        yield "its own work", rate
    for name in samples.columns:
        what = next((w for start, w in _NEIGHBOURS.items() if name.startswith(start)), None)
        if what is not None and not (name.startswith("temp_c.") and is_of_drive(name)):
            yield what, _track(samples, name)


def _followed(
    samples: pl.DataFrame, temp: SensorTrack, rate: SensorTrack | None
) -> tuple[str, float] | None:
    """What explains most of the temperature as its lagged cause, and the time constant in s."""
    from scipy.signal import lfilter  # not every recording has temperatures

    if len(temp.values) < 10 or float(np.ptp(temp.values)) < _MIN_RANGE_K:
        return None
    span_s = float(temp.t_s[-1] - temp.t_s[0])
    step_s = max(1.0, span_s / _MAX_STEPS)
    grid_s = np.arange(temp.t_s[0], temp.t_s[-1], step_s)
    temps_c = np.interp(grid_s, temp.t_s, temp.values)
    best = (_MIN_EXPLAINED, "", 0.0)
    for what, track in _candidates(samples, rate):
        if len(track.values) < 10 or float(np.ptp(track.values)) == 0:
            continue
        cause = np.interp(grid_s, track.t_s, track.values)
        for tau_s in _TIME_CONSTANTS_S:
            gain = -math.expm1(-step_s / tau_s)
            lagged, _ = lfilter([gain], [1.0, gain - 1.0], cause, zi=[(1 - gain) * cause[0]])
            if float(np.std(lagged)) == 0:
                continue
            r = float(np.corrcoef(lagged, temps_c)[0, 1])
            # less heat never warms
            if r > 0 and r * r > best[0]:
                best = (r * r, what, float(tau_s))
    return (best[1], best[2]) if best[1] else None
