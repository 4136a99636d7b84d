"""The journal of a running recording: JSON lines, of which the last may be incomplete."""

import json
import math
import os
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import TypeGuard

import polars as pl

from heatsoak.files import open_regular

Schema = dict[str, type[pl.DataType]]


def scan_journal(path: Path, schema: Schema) -> pl.LazyFrame:
    """Return the journal's complete lines, without an incomplete last line.

    Lines damaged by a power loss are skipped.
    """
    size = _whole_size(path)
    if size == 0:
        return pl.LazyFrame(schema=schema)
    # opened here, since polars could take a path for a pattern or a URL
    with open_regular(path) as file:
        is_whole = size == os.fstat(file.fileno()).st_size
        frame = pl.scan_ndjson(file if is_whole else BytesIO(file.read(size)), schema=schema)
    return _salvaged(path, schema) if _is_damaged(frame) else frame


def whole_lines(path: Path) -> Iterator[bytes]:
    """Yield the complete lines of a file; nothing without a file."""
    try:
        with open_regular(path) as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except FileNotFoundError:
        return


def _salvaged(path: Path, schema: Schema) -> pl.LazyFrame:
    rows = []
    for line in whole_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(row, dict) and _is_number(row.get("t_s")):
            rows.append({name: _typed(row.get(name), dtype) for name, dtype in schema.items()})
    return pl.LazyFrame(rows, schema=schema)


def _typed(value: object, dtype: type[pl.DataType]) -> float | str | None:
    """Return the value if a column of this type can hold it, else None."""
    if dtype == pl.String:
        return value if isinstance(value, str) and _is_text(value) else None
    if not _is_number(value):
        return None
    if dtype == pl.Int64:
        return int(value) if abs(value) < 2**63 else None
    return float(value)


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False  # a lone surrogate
    return True


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a finite number that fits in a float; a bool is not."""
    try:
        return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]
    except OverflowError:
        return False  # an integer of hundreds of digits


def _is_damaged(frame: pl.LazyFrame) -> bool:
    try:
        # polars only decodes columns that are selected, so select all
        return bool(frame.select(pl.all().null_count()).collect()["t_s"].item())
    except (pl.exceptions.PolarsError, OSError):
        return True


def _whole_size(path: Path) -> int:
    """Number of bytes up to and including the last newline."""
    try:
        with open_regular(path) as file:
            end = file.seek(0, os.SEEK_END)
            while end > 0:
                start = max(0, end - 65536)
                file.seek(start)
                newline = file.read(end - start).rfind(b"\n")
                if newline >= 0:
                    return start + newline + 1
                end = start
    except FileNotFoundError:
        pass
    return 0
