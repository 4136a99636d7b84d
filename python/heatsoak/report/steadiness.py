"""Consistency and trust in sensors in a few words."""

from heatsoak.analysis import Consistency, SensorTrust
from heatsoak.analysis.findings import RateLevel
from heatsoak.units import format_duration

_COUNTS = {2: "two", 3: "three", 4: "four"}


def consistency_text(found: Consistency) -> str:
    """Return ``consistency (last 400 s): 5,800 IOPS +- 1,900, ratio 3.1; two levels: ...``."""
    text = f"consistency (last {found.window_s:.0f} s): {_iops(found.mean_iops)} IOPS"
    if found.ratio is None:
        text += " without any deviation"
    else:
        text += (
            f" +- {_iops(found.stdev_iops)}, ratio {found.ratio:.{1 if found.ratio < 100 else 0}f}"
        )
    if found.derived_from_bytes:
        text += " (by MB/s and block size)"
    if found.each_s != 1:
        text += f" (means of {found.each_s:.3g} s)"
    return "; ".join([text, *_levels(found), *_since(found), *_steady(found)])


def sensor_text(sensor: SensorTrust) -> str | None:
    """Return what must be known of a sensor; None where there is nothing to say."""
    if sensor.trust == "poor":
        return f"{sensor.name}: not to be trusted: {sensor.why}"
    if sensor.trust == "good":
        return f"{sensor.name}: to be trusted: {sensor.why}"
    return None


def _levels(found: Consistency) -> list[str]:
    if len(found.levels) < 2:
        return []
    count = _COUNTS.get(len(found.levels), str(len(found.levels)))
    by_share = sorted(found.levels, key=lambda level: -level.share)
    levels = ", ".join(f"{_short(level)} for {level.share:.0%}" for level in by_share)
    changes = f"{found.changes} change{'' if found.changes == 1 else 's'}"
    return [f"{count} levels: {levels} of the time, {changes}"]


def _since(found: Consistency) -> list[str]:
    since_s = found.as_at_end_since_s
    return [f"so since {format_duration(since_s)}"] if since_s else []


def _steady(found: Consistency) -> list[str]:
    steady = found.steady_state
    if steady is None:
        return []
    figures = f"range {steady.range_pct:.0f} %, slope {steady.slope_pct:.0f} %"
    if not steady.reached or steady.since_s is None:
        return [f"no steady state by SNIA's test ({figures})"]
    begin = format_duration(steady.since_s) if steady.since_s > 0 else "the begin"
    text = f"steady state by SNIA's test from {begin}"
    return [text if steady.at_end else f"{text}, not at the end"]


def _short(level: RateLevel) -> str:
    return f"{level.iops / 1000:.1f} k" if level.iops >= 1000 else f"{level.iops:.0f}"


def _iops(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
