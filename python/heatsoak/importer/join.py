"""Several logs of the same hour made into one recording.

What has the finest throughput leads; temperatures, counters and whatever else the others saw are
laid beside it, on its clock. Clocks are aligned by what the logs tell (UTC, or a wall clock), else
by correlation: of throughput with throughput where both have it, of throughput with temperature
otherwise. Where that is not certain the logs stay apart, and it is said.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from heatsoak.importer import align
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.power_shift import power_shift
from heatsoak.importer.summaries import in_steps_of, outline
from heatsoak.recording import schema_of

#: What lies farther than this before or after the load is left out.
MARGIN_S = 120.0
#: Clocks that the correlation finds this far apart are reported; a sensor has a lag of its own.
CLOCKS_AGREE_S = 3.0
HEAT_AGREES_S = 15.0
#: A shift that is not certain is still worth being named from here.
_LIKELY_SCORE, _LIKELY_RUNNER_UP = 0.6, 0.5

_LOADED = ("bw_mb_s", "iops", "lat_us", "lat_p50_us", "lat_p99_us", "lat_p999_us", "lat_max_us")
#: Columns that only the leading log may have.
_LEADERS = {
    *(name for quantity in _LOADED for name in (quantity, f"read_{quantity}", f"write_{quantity}")),
    "queue",
    "interval_s",
    "step",
}
#: So much coarser a log of the load itself leads before one of who looked on.
NEARLY_AS_FINE = 1.5
#: What columns are called together where they are left out.
_KINDS = {"_mb_s": "MB/s", "iops": "IOPS", "_us": "latencies", "": "queue and load of CPU or drive"}


@dataclass(frozen=True)
class Alignment:
    """Seconds to add to the other log's times, and how that is known.

    Attributes:
        doubt: whether something speaks against it.
    """

    shift_s: float
    how: str
    doubt: bool = False


def join(logs: Sequence[Log], shift_s: float | None = None) -> list[Log]:
    """Return the logs, those of the same time put together.

    `shift_s` is added to the times of whatever is laid beside a leading log, from the two logs'
    beginnings, instead of what their clocks or the correlation say.
    """
    # it comes with all other readers, which take a while to load
    from heatsoak.importer.formats.fio.run import join_fio

    logs = [_with_names(log) for log in logs] if len({log.source for log in logs}) > 1 else logs
    logs = _with_summaries(join_fio(list(logs)), shift_s)
    leaders = _leaders(logs)
    leading = {id(leader) for leader in leaders}
    others = [log for log in logs if id(log) not in leading]
    joined = list(leaders)
    apart: list[Log] = []
    for other in others:
        found = False
        obstacles: dict[str, list[str]] = {}
        for index, leader in enumerate(leaders):
            alignment = alignment_of(leader, other, shift_s)
            if isinstance(alignment, Alignment):
                joined[index] = _beside(joined[index], leader, other, alignment)
                found = True
            else:
                obstacles.setdefault(alignment, []).append(_name(leader))
        apart += [] if found else [other.with_remarks(*_kept_apart(other, obstacles))]
    return joined + apart


def _with_names(log: Log) -> Log:
    """Say with each doubt which of several files it is of."""
    name = Path(log.source).name
    return replace(
        log,
        remarks=tuple(
            replace(remark, text=f"{name}: {remark.text}")
            if remark.doubt and name not in remark.text
            else remark
            for remark in log.remarks
        ),
    )


def _with_summaries(logs: list[Log], shift_s: float | None) -> list[Log]:
    """Put a series beside each benchmark's summary that has one, in the benchmark's steps."""
    loggers = [log for log in logs if log.has_rates and log.logs_on and not _is_summary(log)]
    loggers = [log for log in loggers if "step" not in log.samples.columns]
    for summary in [log for log in logs if not log.logs_on and _can_outline(log)]:
        obstacles = []
        for series in sorted(loggers, key=_sampling_s):
            how = _beside_summary(summary, series, shift_s)
            own = in_steps_of(summary, series, *how) if isinstance(how, tuple) else how
            if isinstance(own, Log):
                logs = [own if log is series else log for log in logs if log is not summary]
                loggers = [log for log in loggers if log is not series]
                break
            obstacles.append(Remark(f"{_name(series)} was kept apart from it: {own}", doubt=True))
        else:
            told = summary.with_remarks(*obstacles)
            logs = [told if log is summary else log for log in logs]
    return logs


def _can_outline(log: Log) -> bool:
    has_times = {"step", "interval_s"} <= set(log.samples.columns)
    return log.has_rates and has_times and _is_summary(log)


def _beside_summary(summary: Log, series: Log, shift_s: float | None) -> tuple[float, Remark] | str:
    """How a series lies beside a summary, or why that cannot be told."""
    alignment = None
    if shift_s is not None:
        alignment = Alignment(shift_s, f"shifted by {shift_s:+g} s, as asked")
    elif (alignment := _by_clock(summary, series)) is not None:
        if not _overlap(summary, series, alignment.shift_s):
            return "they do not overlap in time"
    else:
        load = _track(series, ("bw_mb_s",) if summary.has_any("bw_mb_s") else ("iops",))
        if load is not None:
            shift = align.shift_between(outline(summary), load, idle_outside=True)
            if shift.certain:
                alignment = Alignment(
                    shift.shift_s,
                    "aligned by correlation of throughput: shifted by "
                    f"{shift.shift_s:+.1f} s, correlation {shift.score:.2f}",
                )
    if alignment is None:
        return "they have no common clock, and the curve does not tell (--shift SECONDS does)"
    text = f"{_name(series)} was divided into the steps of {_name(summary)}: {alignment.how}"
    return alignment.shift_s, Remark(text, alignment.doubt)


def _leaders(logs: Sequence[Log]) -> list[Log]:
    """The logs that others are laid beside.

    Those of the kind that has the finest throughput: two files of one kind are two runs. Results
    without a series have nothing to be aligned by, and lead themselves.
    """
    series = [log for log in logs if log.has_rates and not _is_summary(log)]
    finest = min(series, key=_sampling_s, default=None)
    if finest is not None:
        # what loaded the drive knows more of the load than what looked on
        near = [log for log in series if _sampling_s(log) <= NEARLY_AS_FINE * _sampling_s(finest)]
        finest = next((log for log in near if not log.logs_on), finest)
    return [
        log
        for log in logs
        if log.has_rates
        and (_is_summary(log) or (finest is not None and log.format == finest.format))
    ]


def _is_summary(log: Log) -> bool:
    """Whether it has a mean for each step only."""
    return log.samples.height < 2 * max(len(log.steps), 1)


def _sampling_s(log: Log) -> float:
    if "interval_s" not in log.samples.columns:
        return float("inf")
    usual = log.samples["interval_s"].median()
    return float(usual) if isinstance(usual, int | float) and usual > 0 else float("inf")


def _kept_apart(log: Log, obstacles: dict[str, list[str]]) -> list[Remark]:
    """Why a log lies beside none of the leaders."""
    remarks = []
    for obstacle, leaders in obstacles.items():
        others = leaders[0] if len(leaders) == 1 else f"{leaders[0]} and {len(leaders) - 1} more"
        text = f"{_name(log)} was kept apart from {others}: {obstacle}"
        remarks.append(Remark(f"{text} (--shift SECONDS puts them together)", doubt=True))
    return remarks


def alignment_of(leader: Log, other: Log, shift_s: float | None) -> Alignment | str:
    """Return how `other` lies beside `leader`, or why that cannot be told.

    `shift_s` is what the user says instead.
    """
    if shift_s is not None:
        return Alignment(shift_s, f"shifted by {shift_s:+g} s, as asked")
    by_clock = _by_clock(leader, other)
    if by_clock is not None:
        if not _overlap(leader, other, by_clock.shift_s):
            return "they do not overlap in time"
        return _checked(leader, other, by_clock)
    by_load = _by_correlation(leader, other)
    return by_load or "they have no common clock, and their curves do not tell how they lie"


def _by_clock(leader: Log, other: Log) -> Alignment | None:
    if leader.begin_unix_s is None or other.begin_unix_s is None:
        return None
    apart_s = other.begin_unix_s - leader.begin_unix_s
    if leader.clock == other.clock:
        return Alignment(apart_s, "aligned by their clocks")
    local, utc = (leader, other) if leader.clock == "local" else (other, leader)
    assert local.begin_unix_s is not None
    assert utc.begin_unix_s is not None
    zone_s = align.zone_shift(utc.begin_unix_s, utc.end_s, local.begin_unix_s, local.end_s)
    if zone_s is None:
        return None
    sign = 1.0 if local is other else -1.0
    hours = -zone_s / 3600
    return Alignment(
        apart_s + sign * zone_s, f"aligned by their clocks, taking {_name(local)} as UTC{hours:+g}"
    )


def _checked(leader: Log, other: Log, by_clock: Alignment) -> Alignment:
    """The alignment by clock, with a word where the curves say something else."""
    by_load = _by_correlation(leader, other, by_clock.shift_s)
    agree_s = HEAT_AGREES_S if _answers_by_heat(other) else CLOCKS_AGREE_S
    if by_load is None or abs(by_load.shift_s - by_clock.shift_s) <= agree_s:
        return by_clock
    return replace(
        by_clock,
        how=f"{by_clock.how}; the curves fit better {by_load.shift_s - by_clock.shift_s:+.1f} s "
        "from there: one clock may be wrong (--shift SECONDS puts it right)",
        doubt=True,
    )


def _by_correlation(leader: Log, other: Log, near_s: float | None = None) -> Alignment | None:
    load = _track(leader, ("bw_mb_s", "iops"))
    if load is None:
        return None
    like = _track(other, ("bw_mb_s", "iops"))
    alone = not leader.logs_on
    if like is not None:
        shift = align.shift_between(load, like, near_s, idle_outside=alone)
        what = "throughput"
    elif not _answers_by_heat(other):
        shift = _shift_by_power(load, other, near_s, alone=alone)
        what = "throughput against power"
    else:
        warmth = _warmest(other)
        if warmth is None:
            return None
        shift = align.thermal_shift(load, warmth, near_s, idle_outside=alone)
        what = "throughput against temperature"
    if not shift.certain:
        return None
    return Alignment(
        shift.shift_s,
        f"aligned by correlation of {what}: shifted by {shift.shift_s:+.1f} s, "
        f"correlation {shift.score:.2f}",
    )


def guessed_shift_s(leader: Log, other: Log) -> float | None:
    """Return the likeliest shift of a log of power that is not certain, None without a likely one.

    To be shown to the user, who may know better.
    """
    load = _track(leader, ("bw_mb_s", "iops"))
    if load is None or _answers_by_heat(other):
        return None
    shift = _shift_by_power(load, other, None, alone=not leader.logs_on)
    likely = shift.score >= _LIKELY_SCORE and shift.runner_up <= _LIKELY_RUNNER_UP
    return shift.shift_s if likely else None


def _shift_by_power(
    load: align.Track, other: Log, near_s: float | None, *, alone: bool
) -> align.Shift:
    drawn = other.samples.select("t_s", "power_w").drop_nulls()
    power = align.Track(drawn["t_s"].to_numpy(), drawn["power_w"].to_numpy())
    return power_shift(load, power, near_s, idle_outside=alone)


def _answers_by_heat(log: Log) -> bool:
    """Whether a log tells of the load by temperatures at best."""
    return not log.has_rates and (log.has_temperatures or not log.has_any("power_w"))


def _track(log: Log, quantities: tuple[str, ...]) -> align.Track | None:
    """Throughput over time, reads and writes together."""
    for quantity in quantities:
        names = [
            name
            for name in (f"read_{quantity}", f"write_{quantity}", quantity)
            if name in log.samples.columns
        ]
        if names:
            rows = log.samples.filter(pl.any_horizontal(pl.col(n).is_not_null() for n in names))
            total = rows.select(pl.sum_horizontal(names)).to_series()
            return align.Track(rows["t_s"].to_numpy(), total.to_numpy())
    return None


def _warmest(log: Log) -> align.Track | None:
    """The drive's temperature that moved most: composite where it is there."""
    names = [name for name in log.samples.columns if name.startswith("temp_c.")]
    own = [n for n in names if not n.removeprefix("temp_c.").startswith(("cpu", "gpu"))] or names
    if "temp_c.composite" in own:
        own = ["temp_c.composite"]
    tracks = []
    for name in own:
        rows = log.samples.select("t_s", name).drop_nulls()
        if rows.height:
            tracks.append(align.Track(rows["t_s"].to_numpy(), rows[name].to_numpy()))
    return max(tracks, key=lambda track: float(np.ptp(track.values)), default=None)


def _overlap(leader: Log, other: Log, shift_s: float) -> bool:
    return shift_s < leader.end_s + MARGIN_S and other.end_s + shift_s > -MARGIN_S


def _beside(joined: Log, leader: Log, other: Log, alignment: Alignment) -> Log:
    """`joined`, which is `leader` with what was laid beside it so far, and `other` too."""
    taken = {name for name in joined.samples.columns if name not in ("t_s",)}
    renamed = {}
    dropped = []
    for name in other.samples.columns:
        if name == "t_s":
            continue
        if name in _LEADERS:
            if name not in ("interval_s", "step"):
                dropped.append(name)
        elif name in taken and "." in name:
            renamed[name] = f"{name}.{other.format}"
        elif name in taken:
            dropped.append(name)
        else:
            renamed[name] = name
    values = (
        other.samples.select(
            (pl.col("t_s") + alignment.shift_s).alias("t_s"),
            *(pl.col(old).alias(new) for old, new in renamed.items()),
        )
        .filter(pl.col("t_s").is_between(-MARGIN_S, leader.end_s + MARGIN_S))
        .filter(pl.any_horizontal(pl.col(new).is_not_null() for new in renamed.values()))
        if renamed
        else pl.DataFrame(schema={"t_s": pl.Float64})
    )
    if "step" in joined.samples.columns and values.height:
        values = with_steps(values, joined.samples)
    samples = pl.concat([joined.samples, values], how="diagonal").sort("t_s", maintain_order=True)
    source = Path(other.source).name
    remarks = [
        *other.remarks,
        Remark(
            f"{source} was laid beside {Path(leader.source).name}: {alignment.how}",
            doubt=alignment.doubt,
        ),
    ]
    if dropped:
        kinds = {next(k for end, k in _KINDS.items() if name.endswith(end)) for name in dropped}
        what = ", ".join(kind for kind in _KINDS.values() if kind in kinds)
        remarks.append(Remark(f"{source}: left out beside finer or equal ones: {what}"))
    sensors = [
        sensor.model_copy(update={"columns": [renamed.get(name, name) for name in sensor.columns]})
        for sensor in other.sensors
    ]
    return replace(
        joined,
        samples=samples.select(*schema_of(samples.columns)),
        drive={**other.drive, **joined.drive},
        conditions={**other.conditions, **joined.conditions},
        tools={**other.tools, **joined.tools},
        sensors=(*joined.sensors, *sensors),
        remarks=(*joined.remarks, *remarks),
    )


def with_steps(values: pl.DataFrame, samples: pl.DataFrame) -> pl.DataFrame:
    """Return readings with the step of `samples` that each falls into."""
    spans = (
        samples.filter(pl.col("step").is_not_null())
        .group_by("step", maintain_order=True)
        .agg(
            begin=(pl.col("t_s") - pl.col("interval_s").fill_null(0.0)).min(),
            end=pl.col("t_s").max(),
        )
    )
    step = pl.lit(None, dtype=pl.String)
    for name, begin_s, end_s in spans.iter_rows():
        step = pl.when(pl.col("t_s").is_between(begin_s, end_s)).then(pl.lit(name)).otherwise(step)
    return values.with_columns(step=step)


def _name(log: Log) -> str:
    return Path(log.source).name + (f" (run {log.label})" if log.label else "")
