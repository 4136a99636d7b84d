"""An external meter's log laid beside a recording: its power becomes the recording's own."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from heatsoak import recording, writing
from heatsoak.errors import UsageError
from heatsoak.importer import join
from heatsoak.importer.api import read
from heatsoak.importer.log import Alignment, Log, Options
from heatsoak.importer.recordings import event_of, save_all
from heatsoak.importer.source import Source
from heatsoak.recording.meta import RAW

#: How much is kept of what the meter saw before and after a recording.
_MARGIN_S = 5.0


def with_meter(
    recordings: Sequence[recording.Recording], file: Path, options: Options | None = None
) -> list[recording.Recording]:
    """Return the recordings with `power_w` as the meter's log in `file` tells it.

    The log is laid beside each by the clocks of both; `options.shift_s` says instead how many
    seconds after a recording's beginning the log begins. Of several recordings, those that the log
    does not reach stay as they are. What is on disk stays so, too.

    Raises UsageError for a file without power, and where it cannot be placed beside any recording.
    """
    options = options or Options()
    logs, shift_s = _power_logs(file, options), options.shift_s
    if shift_s is not None and (len(recordings) > 1 or len(logs) > 1):
        what = "recordings" if len(recordings) > 1 else f"runs in {file.name}"
        raise UsageError(f"--shift is for one recording and one run of a meter: there are {what}")
    joined: list[recording.Recording] = []
    obstacles: list[str] = []
    for base in recordings:
        found = _beside(base, logs, shift_s)
        if isinstance(found, str):
            obstacles.append(found)
            text = f"{file.name}: {found}: its power is left out"
            events = [*base.events, recording.Event(t_s=0.0, kind="warning", text=text)]
            own = base.path, base.meta, base.samples(), events, base.changes
            joined.append(recording.InMemoryRecording(*own))
        else:
            joined.append(_with_power(base, file.name, found))
    if len(obstacles) == len(recordings):
        where = recordings[0].path.name if len(recordings) == 1 else "any recording"
        raise UsageError(
            f"{file}: cannot be placed beside {where}: {obstacles[0]} "
            "(--shift SECONDS says how long after the start of the recording it starts)"
        )
    return joined


def save_with_meter(
    path: Path, file: Path, directory: Path, options: Options | None = None
) -> recording.Recording:
    """Write the recording at `path` with a meter's power to `directory`, and return that.

    The recording itself stays as it is. Raises UsageError as :func:`with_meter` does, where `path`
    holds several recordings, and where `directory` holds something.
    """
    found = recording.find_recordings(path)
    if len(found) > 1:
        raise UsageError(f"{path}: holds {len(found)} recordings: name one of them")
    (joined,) = with_meter(found, file, options)
    assert isinstance(joined, recording.InMemoryRecording)
    (saved,) = save_all([joined], directory)
    if (raw := found[0].path / RAW).is_dir():
        writing.copy_tree(raw, directory / RAW)
    return saved


def _power_logs(file: Path, options: Options) -> list[Log]:
    if not file.is_file():
        raise UsageError(f"{file}: there is no such file")
    logs = []
    for log in read(Source.of_path(file), options):
        if not log.has_any("power_w"):
            continue
        samples = log.samples.select("t_s", "power_w").drop_nulls()
        logs.append(replace(log, samples=samples.filter(pl.col("power_w").is_finite())))
    options.require_used(str(file))
    logs = [log for log in logs if not log.samples.is_empty()]
    if not logs:
        raise UsageError(
            f"{file}: has no power: a column in W or mW, or one in V and one in A, is needed "
            "(--map power_w=HEADER names it)"
        )
    return logs


def _beside(
    base: recording.Recording, logs: Sequence[Log], shift_s: float | None
) -> list[tuple[Log, Alignment]] | str:
    """The meter's runs of a recording's time, and their alignment; or why there are none."""
    began = base.meta.started_unix_s
    own = Log(
        format="recording",
        source=base.path_text,
        samples=base.samples(["t_s"]),
        clock="none" if began is None else "utc",
        start_unix_s=began,
    )
    found = [(log, join.alignment_of(own, log, shift_s)) for log in logs]
    sure = [(log, how) for log, how in found if isinstance(how, Alignment)]
    if not sure:
        return next(how for _, how in found if isinstance(how, str))
    reached = [(log, how) for log, how in sure if not _readings(base, log, how).is_empty()]
    return reached or "they do not overlap in time"


def _readings(base: recording.Recording, log: Log, how: Alignment) -> pl.DataFrame:
    end_s = float(base.samples(["t_s"])["t_s"][-1])
    moved = log.samples.with_columns(pl.col("t_s") + how.shift_s)
    # a recording's time begins at 0
    return moved.filter(pl.col("t_s").is_between(0.0, end_s + _MARGIN_S))


def _with_power(
    base: recording.Recording, name: str, found: Sequence[tuple[Log, Alignment]]
) -> recording.InMemoryRecording:
    old = base.samples()
    had_power = "power_w" in old.columns and old["power_w"].count() > 0
    readings = pl.concat([_readings(base, log, how) for log, how in found]).sort("t_s")
    readings = join.with_steps(readings, old)
    samples = pl.concat([old.drop("power_w", strict=False), readings], how="diagonal_relaxed").sort(
        "t_s", maintain_order=True
    )
    columns = recording.schema_of(samples.columns)
    usual = readings["t_s"].diff().median()
    sensor = recording.SensorMeta(
        name="meter",
        source=f"{name}, a meter beside the drive: {'; '.join(how.how for _, how in found)}",
        columns=["power_w"],
        interval_s=float(usual) if isinstance(usual, int | float) else 0.0,
        details={"power": "measured"},
    )
    others = [
        one.model_copy(update={"columns": [name for name in one.columns if name != "power_w"]})
        for one in base.meta.sensors
        if one.name != "meter"
    ]
    meta = base.meta.model_copy(
        update={
            "columns": {column: dtype.__name__ for column, dtype in columns.items()},
            "sensors": [*others, sensor],
        }
    )
    events = list(base.events)
    for log, how in found:
        # doubts of the meter's log are about power alone
        events += [event_of(replace(remark, touches=())) for remark in log.remarks if remark.doubt]
        text = f"power is that of {name}: {how.how}"
        events.append(recording.Event(t_s=0.0, kind="info", text=text))
    if had_power:
        text = "the power that it was recorded with was set aside for the meter's"
        events.append(recording.Event(t_s=0.0, kind="info", text=text))
    return recording.InMemoryRecording(base.path, meta, samples, events, base.changes)
