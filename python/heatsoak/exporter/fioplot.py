"""Logs and JSON for fio-plot, as its bench-fio has fio write them.

There is a directory for each block size (below one for the mix, if reads and writes are mixed).
It has, for each access pattern, queue depth and number of jobs, a log of each quantity,
``randread-iodepth-32-numjobs-1_bw.1.log``, and ``randread-32-1.json``. fio-plot adds up files with
the same directory and name, so a step that repeats another gets its own directory.

fio-plot 1.1.21; log lines as fio 3.33 writes them with ``log_avg_msec``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import heatsoak
from heatsoak import protocol
from heatsoak.errors import UsageError
from heatsoak.exporter.names import file_name, unused
from heatsoak.recording import Recording, grid
from heatsoak.words import block_text

_Array = NDArray[np.float64]

_SIDES = ("read", "write")
#: Quantity of a log -> column without its direction, and fio's unit (KiB/s, 1/s, ns) in ours.
_LOGS = {"bw": ("bw_mb_s", 1024 / 1e6), "iops": ("iops", 1.0), "lat": ("lat_us", 1e-3)}
#: fio-plot misreads logs with a longer average interval between lines.
_LONGEST_S = 1.0
_ROWS_AT_ONCE = 50_000
_BUCKETS = ("2", "4", "10", "20", "50", "100", "250", "500", "750", "1000")


@dataclass(frozen=True)
class FioFile:
    """A file to write: its path in the export's directory, its text, and what was assumed."""

    place: PurePosixPath
    text: Iterable[str]
    rows: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Rates:
    """One direction of a step: intervals, from the step's start, and means; NaN if unknown."""

    end_s: _Array
    interval_s: _Array
    values: dict[str, _Array]
    lat_max_us: _Array


def fio_files(recording: Recording) -> Iterator[FioFile]:
    """Yield the files of one recording's steps; raises UsageError if no step has rates."""
    taken: set[str] = set()
    steps: Sequence[protocol.LoadStep | protocol.Observed] = recording.meta.protocol.workload_steps
    # judged steps first, so that they get the plain names
    for step in sorted(steps, key=lambda step: not step.is_judged):
        load, notes = _known_of(step)
        sides = _sides(recording, step, notes)
        if not sides:
            continue
        directory = _directory(load)
        stem = f"{load.rw}-iodepth-{load.iodepth}-numjobs-{load.numjobs}"
        if f"{directory / stem}".casefold() in taken:
            name = unused(f"{directory.name}-{file_name(step.name)}", taken)
            directory = directory.with_name(name)
            taken.add(name)
        taken.add(f"{directory / stem}".casefold())
        yield from _logs(directory / stem, sides)
        document = _document(recording, load, sides, notes)
        text = json.dumps(document, indent=2) + "\n"
        name = f"{load.rw}-{load.iodepth}-{load.numjobs}.json"
        yield FioFile(directory / name, [text], 1, tuple(notes))
    if not taken:
        raise UsageError(f"{recording.path}: no step has rates that fio-plot could draw")


def _known_of(step: protocol.LoadStep | protocol.Observed) -> tuple[protocol.Observed, list[str]]:
    """Return a step's load in fio's words, and what had to be assumed for that."""
    notes, rw = [], step.rw
    if rw is None:
        rw = protocol.rw_of(reads=step.reads, writes=step.writes)
        notes.append(f"access pattern not known: written as {rw}")
    known: dict[str, Any] = {"bs": step.bs, "rwmixread": step.rwmixread}
    for name in ("iodepth", "numjobs"):
        known[name] = getattr(step, name) or 1
        if getattr(step, name) is None:
            notes.append(f"{name} not known: written as 1")
    return protocol.Observed(name=step.name, rw=rw, **known), notes


def _directory(load: protocol.Observed) -> PurePosixPath:
    """Where bench-fio puts it."""
    block = block_text(load.bs) if load.bs else "bs-unknown"
    if not load.is_mixed:
        return PurePosixPath(block)
    mix = "" if load.rwmixread is None else str(load.rwmixread)
    return PurePosixPath(f"{load.rw}{mix}", block)


def _sides(
    recording: Recording, step: protocol.LoadStep | protocol.Observed, notes: list[str]
) -> dict[str, _Rates]:
    """Return the rates of each direction that has any; `notes` get what is assumed."""
    columns = ["t_s", "step", "interval_s"]
    columns += [f"{s}{c}" for s in ("read_", "write_", "") for c in ("bw_mb_s", "iops", "lat_us")]
    columns += ["read_lat_max_us", "write_lat_max_us"]
    rows = recording.scan(columns).filter(pl.col("step") == step.name).collect()
    found = {side: rates for side in _SIDES if (rates := _rates(rows, f"{side}_", step.bs))}
    whole = _rates(rows, "", step.bs)
    if whole is not None and not found:
        side = "read" if step.reads else "write"
        if step.reads and step.writes:
            notes.append("reads and writes were logged together: written as reads")
        found = {side: whole}
    start_s = min((float((r.end_s - r.interval_s)[0]) for r in found.values()), default=0.0)
    found = {
        side: _Rates(rates.end_s - start_s, rates.interval_s, rates.values, rates.lat_max_us)
        for side, rates in found.items()
    }
    if found and all(np.isnan(rates.values["lat"]).all() for rates in found.values()):
        notes.append("latency not known: 0 in the JSON")
    return found


def _rates(rows: pl.DataFrame, prefix: str, bs: int | None) -> _Rates | None:
    names = [f"{prefix}{column}" for column, _ in _LOGS.values()]
    rows = rows.filter(pl.any_horizontal(pl.col(name).is_finite() for name in names[:2]))
    if rows.is_empty():
        return None
    end_s = rows["t_s"].to_numpy()
    values = {
        log: rows[name].to_numpy() / unit
        for (log, (_, unit)), name in zip(_LOGS.items(), names, strict=True)
    }
    if bs is not None:  # with a single block size, each follows from the other
        values["iops"] = np.where(
            np.isnan(values["iops"]), values["bw"] * 1024 / bs, values["iops"]
        )
        values["bw"] = np.where(np.isnan(values["bw"]), values["iops"] * bs / 1024, values["bw"])
    lat_max = f"{prefix}lat_max_us"
    nothing = np.full(len(end_s), np.nan)
    return _Rates(
        end_s,
        grid.covered_s(end_s, rows["interval_s"].to_numpy()),
        {log: array.astype(float) for log, array in values.items()},
        rows[lat_max].to_numpy().astype(float) if lat_max in rows.columns else nothing,
    )


def _logs(stem: PurePosixPath, sides: Mapping[str, _Rates]) -> Iterator[FioFile]:
    for log in _LOGS:
        frames = []
        for ddir, side in enumerate(_SIDES):
            if side in sides and np.isfinite(sides[side].values[log]).any():
                time_ms, values = _pieces(sides[side], log)
                frames.append(pl.DataFrame({"ms": time_ms, "value": values, "ddir": ddir}))
        if not frames:
            continue
        rows = pl.concat(frames).sort("ms", "ddir", maintain_order=True)
        place = stem.with_name(f"{stem.name}_{log}.1.log")
        yield FioFile(place, _lines(rows), rows.height)


def _lines(rows: pl.DataFrame) -> Iterator[str]:
    line = pl.format("{}, {}, {}, 0, 0\n", "ms", "value", "ddir")
    for part in rows.iter_slices(_ROWS_AT_ONCE):
        yield "".join(part.select(line).to_series())


def _pieces(rates: _Rates, log: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return times (ms) and rounded values, with long intervals split into pieces of a second."""
    known = np.isfinite(rates.values[log])
    end_s, interval_s, values = (
        rates.end_s[known],
        rates.interval_s[known],
        rates.values[log][known],
    )
    covered_s, span_s = float(interval_s.sum()), float(end_s[-1] - end_s[0])
    longest_s = _LONGEST_S * min(1.0, covered_s / span_s) if span_s > 0 else _LONGEST_S
    number = np.maximum(1, np.ceil(interval_s / max(longest_s, 1e-3) - 1e-9)).astype(np.int64)
    last = np.repeat(np.cumsum(number), number)
    before_end = last - 1 - np.arange(number.sum())  # 0 for the last piece of an interval
    piece_s = np.repeat(interval_s / number, number)
    time_ms = np.rint(1000 * (np.repeat(end_s, number) - before_end * piece_s)).astype(np.int64)
    return time_ms, np.repeat(np.rint(values), number).astype(np.int64)


def _document(
    recording: Recording, load: protocol.Observed, sides: Mapping[str, _Rates], notes: list[str]
) -> dict[str, Any]:
    meta = recording.meta
    keys = ("name", "rw", "bs", "iodepth", "numjobs", "rwmixread")
    options = {key: getattr(load, key) for key in keys}
    options["bs"] = block_text(load.bs) if load.bs else "unknown"
    job = {
        "jobname": load.name,
        "groupid": 0,
        "error": 0,
        "job options": {key: str(value) for key, value in options.items() if value is not None},
        "read": _summary(sides.get("read")),
        "write": _summary(sides.get("write")),
        "trim": _summary(None),
        # fio-plot requires these, but they are not known
        "usr_cpu": 0.0,
        "sys_cpu": 0.0,
        "latency_ns": dict.fromkeys(_BUCKETS, 0.0),
        "latency_us": dict.fromkeys(_BUCKETS, 0.0),
        "latency_ms": dict.fromkeys([*_BUCKETS, "2000", ">=2000"], 0.0),
    }
    return {
        "fio version": f"heatsoak {heatsoak.__version__}",
        "jobs": [job],
        "heatsoak": {
            "drive": meta.drive,
            "conditions": meta.conditions,
            "protocol": meta.protocol.name,
            "started_unix_s": meta.started_unix_s,
            "assumed": notes,
        },
    }


def _summary(rates: _Rates | None) -> dict[str, Any]:
    """Return fio's figures for one direction; zeros, as in fio, if it did nothing."""
    if rates is None:
        nothing = np.empty(0)
        rates = _Rates(nothing, nothing, dict.fromkeys(_LOGS, nothing), nothing)
    seconds, bw, iops = rates.interval_s, rates.values["bw"], rates.values["iops"]
    weights = np.where(np.isfinite(iops), iops, 1.0) * seconds
    lat_mean, lat_dev = _mean(rates.values["lat"], weights)
    bw_mean, bw_dev = _mean(bw, seconds)
    iops_mean, iops_dev = _mean(iops, seconds)
    lat_max_us = rates.lat_max_us[np.isfinite(rates.lat_max_us)]
    total_ios = round(float(np.nansum(iops * seconds)))
    io_bytes = round(1024 * float(np.nansum(bw * seconds)))
    latency: dict[str, Any] = {"mean": lat_mean, "stddev": lat_dev, "N": total_ios}
    if len(lat_max_us):
        latency["max"] = round(1000 * float(lat_max_us.max()))
    return {
        "io_bytes": io_bytes,
        "io_kbytes": io_bytes // 1024,
        "bw_bytes": round(1024 * bw_mean),
        "bw": round(bw_mean),
        "iops": iops_mean,
        "runtime": round(1000 * float(seconds.sum())),
        "total_ios": total_ios,
        "lat_ns": latency,
        "bw_mean": bw_mean,
        "bw_dev": bw_dev,
        "bw_samples": int(np.isfinite(bw).sum()),
        "iops_mean": iops_mean,
        "iops_stddev": iops_dev,
        "iops_samples": int(np.isfinite(iops).sum()),
    }


def _mean(values: _Array, weights: _Array) -> tuple[float, float]:
    """Return mean and standard deviation of the finite values; 0 if there are none."""
    known = np.isfinite(values)
    total = float(weights[known].sum())
    if total <= 0:
        return 0.0, 0.0
    mean = float(np.average(values[known], weights=weights[known]))
    spread = float(np.average((values[known] - mean) ** 2, weights=weights[known]))
    return mean, spread**0.5
