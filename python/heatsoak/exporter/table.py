"""CSV and Parquet tables with the columns of a recording."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

import polars as pl

from heatsoak.exporter.names import ExportFormat, condition_names
from heatsoak.output import printable, spreadsheet_text
from heatsoak.protocol import Label, label_text
from heatsoak.recording import Recording, schema_of

#: The column with the recording's name in a table of several.
RECORDING = "recording"
_TRUTH = "sim."
_LARGEST_INT = 2**63


def sample_columns(recording: Recording, *, truth: bool) -> list[str]:
    """Return the columns to export, with `truth` including what only a simulator knows."""
    return [
        name for name in schema_of(recording.meta.columns) if truth or not name.startswith(_TRUTH)
    ]


def samples_of(recording: Recording, columns: Iterable[str]) -> pl.LazyFrame:
    """Return its samples, with NaN and infinities as null."""
    floats = [name for name, dtype in schema_of(columns).items() if dtype == pl.Float64]
    return recording.scan(columns).with_columns(
        pl.when(pl.col(name).is_finite()).then(pl.col(name)).alias(name) for name in floats
    )


def long_table(recordings: Mapping[str, Recording], *, truth: bool) -> pl.LazyFrame:
    """Return the concatenated samples, preceded by columns for name and conditions.

    A condition that a recording does not have is null there.
    """
    every = list(recordings.values())
    columns = list(schema_of(name for one in every for name in sample_columns(one, truth=truth)))
    names = condition_names(every, [RECORDING, *columns])
    dtypes = {key: _dtype([r.meta.conditions.get(key) for r in every]) for key in names}
    frames = []
    for name, recording in recordings.items():
        given = recording.meta.conditions
        labels = [pl.lit(name).alias(RECORDING)]
        labels += [
            pl.lit(_as(given.get(key), dtype), dtype=dtype).alias(names[key])
            for key, dtype in dtypes.items()
        ]
        frames.append(samples_of(recording, columns).select(*labels, *columns))
    return pl.concat(frames)


def write_table(
    frame: pl.LazyFrame, to: IO[bytes], kind: ExportFormat, about: Mapping[str, str]
) -> None:
    """Write `frame`, in streaming; `about` becomes the Parquet file's metadata."""
    if kind is ExportFormat.PARQUET:
        frame.sink_parquet(to, compression="zstd", metadata=dict(about))
    else:
        for_spreadsheets(frame).sink_csv(to)


def parquet_metadata(recordings: Mapping[str, Recording]) -> dict[str, str]:
    """Return a Parquet file's metadata: flat for one recording, one JSON object for several."""
    if len(recordings) == 1:
        (recording,) = recordings.values()
        return {
            f"heatsoak.{key}": value if isinstance(value, str) else json.dumps(value)
            for key, value in _facts(recording).items()
        }
    facts = {name: _facts(recording) for name, recording in recordings.items()}
    return {"heatsoak.schema_version": "1", "heatsoak.recordings": json.dumps(facts)}


def _facts(recording: Recording) -> dict[str, Any]:
    meta = recording.meta
    return {
        "schema_version": meta.schema_version,
        "status": meta.status,
        "protocol": meta.protocol.name,
        "drive": meta.drive,
        "conditions": meta.conditions,
        "started_unix_s": meta.started_unix_s,
        "tools": meta.tools,
    }


def utf8_label(value: Label) -> str:
    """Return a condition's value as text; a lone surrogate cannot be encoded."""
    return label_text(value).encode(errors="replace").decode()


def _dtype(values: Iterable[Label | None]) -> type[pl.DataType]:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return pl.Boolean
    whole = [value for value in values if isinstance(value, int)]
    if any(abs(value) >= _LARGEST_INT for value in whole):
        return pl.String
    if kinds == {int}:
        return pl.Int64
    return pl.Float64 if kinds and kinds <= {int, float} else pl.String


def _as(value: Label | None, dtype: type[pl.DataType]) -> Label | None:
    return utf8_label(value) if dtype == pl.String and value is not None else value


def count_rows(recordings: Sequence[Recording]) -> int:
    """Return how many samples they have."""
    return sum(int(one.scan(["t_s"]).select(pl.len()).collect().item()) for one in recordings)


def write_spreadsheet(table: pl.DataFrame, file: IO[bytes]) -> None:
    """Write a table as CSV: commas, UTF-8, empty cells for missing values, text as text."""
    for_spreadsheets(table.lazy()).collect().write_csv(file)


def for_spreadsheets(frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return `frame` with :func:`spreadsheet_text` applied to every text and header.

    Control characters are escaped too, since somebody may look at it in a terminal.
    """

    def shown(text: str) -> str:
        return spreadsheet_text(printable(text))

    def each_once(column: pl.Series) -> pl.Series:
        found = column.drop_nulls().unique()
        return column.replace(found, [shown(text) for text in found])

    schema = frame.collect_schema()
    texts = pl.col([name for name, dtype in schema.items() if dtype == pl.String])
    return frame.with_columns(
        texts.map_batches(each_once, return_dtype=pl.String, is_elementwise=True)
    ).rename({name: shown(name) for name in schema})
