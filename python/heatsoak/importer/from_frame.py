"""A frame of samples as a recording: what somebody measured and holds in Python."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from heatsoak.errors import UsageError, suggestion
from heatsoak.importer.frames import intervals
from heatsoak.importer.log import Log
from heatsoak.importer.recordings import thinned, to_recording, with_gaps
from heatsoak.importer.stretches import with_stretches
from heatsoak.protocol import Conditions, Observed
from heatsoak.recording import InMemoryRecording, schema_of
from heatsoak.recording.columns import FAMILIES, FIXED, TEMPERATURES, column_of
from heatsoak.recording.meta import LONGEST_S
from heatsoak.recording.reader import cleaned


def recording_of_frame(
    frame: pl.DataFrame, name: str, conditions: Conditions, drive: Mapping[str, Any]
) -> InMemoryRecording:
    """Return samples in a recording's columns as a recording, with stretches of load as its steps.

    `name` is what it is called among others; `drive` what is known of the drive's identity. `t_s`
    is needed, and something measured; rates are means over the `interval_s` that ends at `t_s`, by
    default the time since the row before. Rows are put in order of time. Raises UsageError, naming
    the column, for one that a recording does not have, or of the wrong type.
    """
    if not isinstance(frame, pl.DataFrame):
        raise UsageError(f"a frame has to be a polars DataFrame, not a {type(frame).__name__}")
    columns = frame.columns
    for column in columns:
        _require_known(column)
    if "t_s" not in columns:
        raise UsageError("the frame has no column t_s: the end of each sample's interval, in s")
    schema = schema_of(columns)
    if not schema.keys() - {"t_s", "step", "interval_s"}:
        raise UsageError(
            "the frame has nothing measured beside t_s: it needs columns such as read_bw_mb_s or "
            "temp_c.composite"
        )
    for column, dtype in schema.items():
        given = frame.schema[column]
        if not (given in (dtype, pl.Null) or (dtype.is_numeric() and given.is_numeric())):
            raise UsageError(f"the frame's column {column} is {given}: it has to be {dtype()}")
    if frame.is_empty():
        raise UsageError("the frame has no rows: there is nothing in it to judge")
    times = frame["t_s"].cast(pl.Float64).to_numpy()
    unknown = int(np.sum(~np.isfinite(times)))
    if unknown:
        raise UsageError(f"the frame's column t_s has {unknown} rows without a time: drop them")
    if (most_s := float(np.max(np.abs(times)))) > LONGEST_S:
        raise UsageError(
            f"the frame's column t_s reaches {most_s:.0f} s: count it from the recording's start"
        )
    samples = cleaned(frame.lazy(), schema).collect()
    samples = samples.sort("t_s", maintain_order=True)
    if "interval_s" not in columns:
        samples = samples.with_columns(interval_s=intervals(samples["t_s"].to_numpy()))
    log = Log(format="frame", source=name, samples=samples, drive=_identity(drive))
    if "step" in columns:
        steps = samples["step"].drop_nulls().unique(maintain_order=True)
        log = replace(log, steps=tuple(Observed(name=step) for step in steps))
    return to_recording(with_stretches(with_gaps(thinned(log))), conditions)


def _require_known(name: str) -> None:
    try:
        column_of(name)
    except KeyError:
        if name.startswith(TEMPERATURES.partition("_")[0]):
            near = f" (did you mean '{TEMPERATURES}composite'?)"
        else:
            near = suggestion(name, [*FIXED, *(f"{prefix}NAME" for prefix in FAMILIES)])
        raise UsageError(
            f"the frame's column {name} is not one of a recording{near}: rename or leave it out"
        ) from None


def _identity(drive: Mapping[str, Any]) -> dict[str, Any]:
    types: dict[str, type] = {"model": str, "serial": str, "path": str, "size_bytes": int}
    for key, value in drive.items():
        if key not in types:
            raise UsageError(
                f"drive: {key} is not known of a drive{suggestion(key, types)}: {', '.join(types)}"
            )
        if not isinstance(value, types[key]) or isinstance(value, bool):
            raise UsageError(f"drive: {key} is {value!r}: it has to be {types[key].__name__}")
    return dict(drive)
