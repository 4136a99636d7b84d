"""Logs into recordings, and logs of more samples than a judgement needs, or memory holds, thinned.

What no drive, link or queue can do is left out before: it is of another unit, of several drives, or
of a counter that wrapped. What is thinned are means of short stretches.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import heatsoak
from heatsoak import protocol, recording, words, writing
from heatsoak.errors import UsageError
from heatsoak.importer import frames
from heatsoak.importer.log import Log, Remark
from heatsoak.importer.tables import sizes
from heatsoak.importer.tables.headers import meaning
from heatsoak.recording import grid
from heatsoak.recording.meta import LONGEST_S

#: The name of a step that a log does not name.
LOAD = "load"
#: Over a day at 10 Hz is judged as it is; beyond that, means of at least `_MIN_BIN_S` are taken.
MAX_SAMPLES = 4_000_000
_MIN_BIN_S = 0.1
#: A gap lasts at least this many usual intervals, and this many seconds.
_GAP_INTERVALS = 4.0
_GAP_S = 3.0
#: A shorter one hides no fall that anybody would ask about.
FALL_S = 10.0
#: Gaps that take less of a log hide no load where what is beside them moves less than this.
_FEW, _IDLE_MB_S = 0.1, 1.0
#: I/Os of less than this share move next to nothing.
_MATTERS = 0.1
_YEAR_S = 365.2425 * 86400
_YEAR_1_S, _YEAR_10000_S = -62_135_596_800, 253_402_300_800


def to_recording(
    log: Log, conditions: Mapping[str, str | int | float | bool]
) -> recording.InMemoryRecording:
    """Return `log` as a recording in memory, with more `conditions`."""
    log = directed(log if log.steps else replace(log, steps=(protocol.Observed(name=LOAD),)))
    samples, start_s = _from_zero(_with_step(log))
    labels: protocol.Conditions = dict(log.conditions)
    if log.label and log.label not in labels.values():
        labels["run"] = log.label.removeprefix("run ")
    labels |= conditions
    if _contradicts_itself(log):
        text = f"{log.source}: tells of a load, and of nothing that it moved"
        log = log.with_remarks(Remark(text, True, ("rate",)))
    columns = recording.schema_of(samples.columns)
    began = None if log.start_unix_s is None else log.start_unix_s + start_s
    duration_s = max(float(samples["t_s"][-1]), log.duration_s or 0.0)
    _require_years(log.source, began, duration_s)
    meta = recording.RecordingMeta(
        status="finished",
        protocol=protocol.Observation(
            name=log.format, title="taken elsewhere", steps=list(log.steps)
        ),
        conditions=labels,
        drive=log.drive,
        tools={"heatsoak": heatsoak.__version__, **log.tools},
        load={"imported": {"format": log.format, "source": log.source, **_clock(log, began)}},
        sensors=[*log.sensors, *unstated_sensors(log, samples)],
        columns={name: dtype.__name__ for name, dtype in columns.items()},
        started_unix_s=began if log.clock == "utc" else None,
        duration_s=duration_s,
    )
    events = [event_of(remark) for remark in dict.fromkeys(log.remarks)]
    return recording.InMemoryRecording(
        Path(log.source), meta, samples, events + _step_events(samples)
    )


def event_of(remark: Remark) -> recording.Event:
    """Return a remark as a recording keeps it."""
    if not remark.doubt:
        return recording.Event(t_s=0.0, kind="info", text=remark.text)
    data: dict[str, Any] = {"touches": list(remark.touches)}
    if remark.settles is not None:
        data["settles"] = remark.settles
    return recording.Event(t_s=0.0, kind="warning", text=remark.text, data=data)


def _require_years(source: str, began: float | None, duration_s: float) -> None:
    if duration_s > LONGEST_S:
        years, most = (words.number_text(span_s / _YEAR_S, 2) for span_s in (duration_s, LONGEST_S))
        raise UsageError(
            f"{source}: its times go over {years} years, and a recording over {most} at most: "
            "split it where its clock was set, or leave out the lines whose times are wrong"
        )
    if began is not None and not _YEAR_1_S <= began < _YEAR_10000_S:
        raise UsageError(
            f"{source}: begins {words.signed_text(began / _YEAR_S)} years from 1970, and only dates"
            " of the years 1 to 9999 are read: correct them, or make them seconds from its start"
        )


def _with_step(log: Log) -> Log:
    """A log without a column of steps is one step as a whole."""
    if "step" in log.samples.columns:
        return log
    name = log.steps[0].name if log.steps else LOAD
    return replace(log, samples=log.samples.with_columns(step=pl.lit(name)))


def _rates(log: Log) -> list[str]:
    return [name for name in log.samples.columns if name.endswith(frames.RATES)]


def directed(log: Log) -> Log:
    """Return a log whose steps have no direction in which nothing was done, but in the other."""
    if not (rates := _rates(log)):
        return log
    samples, did = _with_step(log).samples, []
    for direction in ("read", "write"):
        active = [(pl.col(name) > 0).any() for name in rates if name.startswith(direction)]
        did.append(pl.any_horizontal(pl.lit(False), *active).alias(direction))
    found = samples.group_by("step").agg(did).iter_rows()
    known = {step: way for step, *way in found if any(way)}
    steps = []
    for step in log.steps:
        read, written = known.get(step.name, (True, True))
        ways = {"reads": step.reads and read, "writes": step.writes and written}
        steps.append(step.model_copy(update=ways))
    return replace(log, steps=tuple(steps))


def _contradicts_itself(log: Log) -> bool:
    """Whether it shows a load that moved no bytes, or took no I/Os; or one direction's alone."""
    sums = {name: float(log.samples[name].sum()) for name in _rates(log)}
    did_move = [
        any(amount > 0 for name, amount in sums.items() if name.endswith(rate))
        for rate in frames.RATES
        if log.has_any(rate)
    ]
    ios = {way: sums.get(f"{way}_iops", 0.0) for way in ("read", "write")}
    is_half = (
        log.has_any("bw_mb_s")
        and "bw_mb_s" not in sums
        and any(
            count > _MATTERS * sum(ios.values()) and not sums.get(f"{way}_bw_mb_s")
            for way, count in ios.items()
        )
    )
    return (is_half or not all(did_move)) and not any(step.idle for step in log.steps)


def _from_zero(log: Log) -> tuple[pl.DataFrame, float]:
    """The samples counted from the start of the recording, and when that was in the log's time."""
    first = log.samples.row(0, named=True)
    start_s = min(0.0, float(first["t_s"]) - float(first.get("interval_s") or 0.0))
    samples = log.samples.with_columns(pl.col("t_s") - start_s)
    return samples.select(*recording.schema_of(samples.columns)), start_s


def _clock(log: Log, began: float | None) -> dict[str, str | bool]:
    """When it began by a clock whose zone is not known, or that it has no times at all."""
    if log.is_in_order_only:
        return {recording.IN_ORDER_ONLY: True}
    if log.clock != "local" or began is None:
        return {}
    return {"began_local": datetime.fromtimestamp(began, UTC).replace(tzinfo=None).isoformat()}


def unstated_sensors(log: Log, samples: pl.DataFrame) -> list[recording.SensorMeta]:
    """Return sensors whose intervals the log does not state: as often as its samples come."""
    stated = {column for sensor in log.sensors for column in sensor.columns}
    columns = [n for n in samples.columns if n.startswith("temp_c.") and n not in stated]
    if not columns:
        return []
    readings = samples.filter(pl.any_horizontal(pl.col(name).is_not_null() for name in columns))
    usual = readings["t_s"].diff().median() if readings.height > 1 else None
    interval_s = float(usual) if isinstance(usual, int | float) else 0.0
    return [
        recording.SensorMeta(
            name=log.format, source=log.format, columns=columns, interval_s=interval_s
        )
    ]


def _step_events(samples: pl.DataFrame) -> list[recording.Event]:
    spans = (
        samples.filter(pl.col("step").is_not_null())
        .group_by("step", maintain_order=True)
        .agg(begin=pl.col("t_s").min(), end=pl.col("t_s").max())
    )
    events = []
    for name, start_s, end_s in spans.iter_rows():
        events.append(recording.Event(t_s=start_s, kind="step-begin", step=name))
        events.append(recording.Event(t_s=end_s, kind="step-end", step=name))
    return sorted(events, key=lambda event: event.t_s)


def save_all(
    held: Sequence[recording.InMemoryRecording], directory: Path
) -> list[recording.Recording]:
    """Write one recording to `directory`, or several to numbered subdirectories.

    Raises UsageError if `directory` is not empty or cannot be created.
    """
    writing.require_new(directory)
    if len(held) == 1:
        return [held[0].save(directory)]
    width = len(str(len(held)))
    names = [f"{number:0{width}d}-{_slug(one)}" for number, one in enumerate(held, 1)]
    with writing.making(directory) as partial:
        for each, name in zip(held, names, strict=True):
            each.save(partial / name)
    return [recording.Recording.open(directory / name) for name in names]


def _slug(one: recording.InMemoryRecording) -> str:
    words = [one.path.stem, *(str(value) for value in one.meta.conditions.values())]
    plain = "-".join(re.sub(r"[^A-Za-z0-9]+", "-", word).strip("-") for word in words)
    return plain[:60].strip("-") or "recording"


# --- gaps ---


def with_gaps(log: Log) -> Log:
    """Return the log with a remark on the times of which it tells nothing."""
    seen = frames.rated(log.samples) if log.has_rates else log.samples
    t_s = seen["t_s"].to_numpy()
    between = np.diff(t_s)
    if not (between > 0).any() or log.is_in_order_only:
        return log
    is_wide = between > max(_GAP_INTERVALS * grid.usual_of(between), _GAP_S)
    if "step" in seen.columns:
        # between steps nothing need have been logged
        is_wide &= (seen["step"] == seen["step"].shift()).fill_null(True).to_numpy()[1:]
    wide = np.flatnonzero(is_wide)
    if not len(wide):
        return log
    shown = words.listed([words.span_text(t_s[at : at + 2], "s", 2) for at in wide.tolist()], 3)
    where = f"{log.source} ({log.label})" if log.label else log.source
    hides_fall = float(between[wide].max()) > FALL_S
    if log.has_any("bw_mb_s") and float(between[wide].sum()) < _FEW * float(t_s[-1] - t_s[0]):
        # what was idle before and after was not loaded for so short a time
        mb_s = frames.moved(seen)
        hides_fall &= bool((np.maximum(mb_s[wide], mb_s[wide + 1]) > _IDLE_MB_S).any())
    touches: tuple[recording.Touched, ...] = ("rate",) if hides_fall else ()
    return log.with_remarks(Remark(f"{where}: no rows from {shown}", True, touches))


# --- thinning ---


def thinned(log: Log) -> Log:
    """Return the log, or means of it where it has over `MAX_SAMPLES`.

    Rates and latencies are means over the time they speak for, temperatures and the like over
    their readings; greatest latencies stay the greatest, and counters the last.
    """
    if log.samples.height <= MAX_SAMPLES:
        return log
    span_s = float(log.samples["t_s"][-1] - log.samples["t_s"][0])
    bin_s = max(_MIN_BIN_S, span_s / (MAX_SAMPLES / 2))
    bin_s = math.ceil(bin_s / _MIN_BIN_S) * _MIN_BIN_S
    cell = ((pl.col("t_s") - 1e-9) / bin_s).floor()
    samples = grid.binned(log.samples.lazy(), cell).collect()
    if samples.height >= log.samples.height:
        return log
    text = (
        f"{log.samples.height:,} samples were averaged to means of {words.amount_text(bin_s, 's')}"
    )
    return replace(log, samples=samples, remarks=(*log.remarks, Remark(text)))


# --- what no drive can do ------------------------------------------------------------------------

#: What a doubt touches about rates that cannot be taken as they stand.
NOT_TAKEN: tuple[recording.Touched, ...] = ("rate", "unit")
#: The most that is possible, by what a column's name ends in.
MOST = {
    "bw_mb_s": sizes.MAX_MB_S, "iops": sizes.MAX_IOPS,
    "lat_us": 1e11, "queue": 1e7, "busy_pct": 1e5,
}  # fmt: skip
#: In so small a share of samples they are wrong in these alone; a single one is if it is so many
#: times what any other sample is, as where a counter wrapped.
_SPIKES, _FAR = 0.05, 1e3

#: What a drive of a kind moves at most in one direction, by how logs name the kind; the first
#: that fits counts. Hard disks' outer tracks reach 285 MB/s, and twice that with two actuators.
#: SATA carries 6 Gb/s in 10 bits a byte, four lanes of PCIe 5.0 15.8 GB/s.
_CEILINGS_MB_S = (
    (
        re.compile(
            r"\b(?:ST\d{3,5}[A-Z]{2}\d|WDC? ?WD\d{2,4}[A-Z]{4}|WUH7|HU[HS]7|HDW|M[GQ]\d\d"
            r"|\d{4,5} ?rpm\b|hdd\b|hard dis[ck])",
            re.IGNORECASE,
        ),
        600.0,
        "a hard disk moves",
    ),
    (
        re.compile(
            r"\bsata\b(?!.*express)|\bssd 8[4-7]0 (?:evo|pro|qvo)|\b8[4-7]0 (?:evo|pro|qvo)\b"
            r"|\bCT\d{3,4}[BM]X\d00|\b[BM]X[2-5]00\b|\bSSDSC2|\bSA[45]00",
            re.IGNORECASE,
        ),
        600.0,
        "SATA carries",
    ),
    (re.compile(""), 15_800.0, "four lanes of PCIe 5.0 carry"),
)


def possible(log: Log, mapping: Mapping[str, str]) -> Log:
    """Return a log without values that are impossible, or without the column where most are.

    `mapping` is what the user says of columns. Raises UsageError where that makes it so.
    """
    for name in log.samples.columns:
        most = next((most for ending, most in MOST.items() if name.endswith(ending)), math.inf)
        values = log.samples[name].drop_nulls().to_numpy() if most < math.inf else np.empty(0)
        over = int((values > most).sum())
        if not over:
            continue
        is_bw = most == sizes.MAX_MB_S
        shown = words.rate_text(values.max()) if is_bw else words.number_text(values.max())
        what = f"is up to {shown}, which no drive can do"
        others = values[(values > 0) & (values <= most)]
        is_far = over == 1 and len(others) > 0 and values.max() > _FAR * others.max()
        if is_far or over <= _SPIKES * (over + len(others)):
            kept = pl.when(pl.col(name) <= most).then(pl.col(name))
            samples = log.samples.with_columns(kept.alias(name))
            what += f", in {over:,} of {len(values):,} samples: left out"
        else:
            for key, header in mapping.items():
                found = meaning(key)
                if is_bw and found is not None and found.name == name:
                    key_meant = name.removesuffix("bw_mb_s") + sizes.unit_key(
                        values / found.unit.scale
                    )
                    raise UsageError(
                        f"{log.source}: '{header}' as {key} {what}: "
                        f"--map '{key_meant}={header}' may be meant"
                    )
            samples = log.samples.drop(name)
            what += ": its unit is another, or it is of several drives; left out"
        touches = NOT_TAKEN if name.endswith(frames.RATES) else recording.UNREAD
        remark = Remark(f"{log.source}: {name} {what}", True, touches)
        log = replace(log, samples=samples).with_remarks(remark)
    return log.with_remarks(*_beyond_link(log))


def carried_by(log: Log) -> tuple[float, str]:
    """Return what a drive such as the log names moves at most in one direction, and why."""
    texts = "\n".join(map(str, (*log.drive.values(), *log.conditions.values())))
    return next((most, what) for kind, most, what in _CEILINGS_MB_S if kind.search(texts))


def _beyond_link(log: Log) -> list[Remark]:
    """Whether more was moved, most of the time, than a drive such as the log names moves."""
    most, what = carried_by(log)
    for name in log.samples.columns:
        if name.endswith("bw_mb_s"):
            usual = log.samples[name].drop_nulls().median()
            if isinstance(usual, float) and usual > most:
                text = (
                    f"{log.source}: {name} is {words.rate_text(usual)}, more than {what} "
                    f"({words.number_text(most)}): another unit, several drives, or the host's "
                    "memory"
                )
                return [Remark(text, True, NOT_TAKEN)]
    return []
