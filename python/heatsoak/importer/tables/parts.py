"""Some rows of a table, and rows of one direction each as rows of both."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from heatsoak.importer.frames import Array
from heatsoak.importer.runs import Indices, Rows
from heatsoak.importer.tables.words import direction_of


def pivoted(rows: Rows, directions: Sequence[str]) -> Rows:
    """Rows of one direction each, as rows with a column for each direction."""
    kinds = {word: direction_of(word) for word in set(directions)}
    which = [kinds[word] for word in directions]
    masks = {kind: np.array([w == kind for w in which]) for kind in ("read", "write")}
    columns: dict[str, Array] = {}
    for name, values in rows.columns.items():
        if name in ("bw_mb_s", "iops") or name.startswith("lat_"):
            for kind, mask in masks.items():
                if mask.any():
                    columns[f"{kind}_{name}"] = np.where(mask, values, np.nan)
        else:
            columns[name] = values
    return _merged(replace(rows, columns=columns))


def picked(words: Sequence[str], which: Indices) -> list[str]:
    """Some of the texts."""
    texts = words if isinstance(words, list) else list(words)
    return [texts[index] for index in which.tolist()]


def part_of(rows: Rows, which: Indices, drive: dict[str, str]) -> Rows:
    """Some of the rows."""
    return replace(
        rows,
        times=replace(rows.times, t_s=rows.times.t_s[which]),
        columns={name: values[which] for name, values in rows.columns.items()},
        states={name: values[which] for name, values in rows.states.items()},
        totals={name: values[which] for name, values in rows.totals.items()},
        labels={name: texts[which] for name, texts in rows.labels.items()},
        steps=None if rows.steps is None else picked(rows.steps, which),
        runs=None if rows.runs is None else picked(rows.runs, which),
        drive=drive,
    )


def _merged(rows: Rows) -> Rows:
    """Neighbouring rows of the same time as one row."""
    t_s = rows.times.t_s
    if len(t_s) < 2:
        return rows
    first = np.concatenate([[True], t_s[1:] != t_s[:-1]])
    if first.all():
        return rows
    group = np.cumsum(first) - 1
    keep = np.flatnonzero(first)
    kept = part_of(rows, keep, dict(rows.drive))

    def fold(values: Array) -> Array:
        out = np.full(len(keep), np.nan)
        known = np.isfinite(values)
        out[group[known][::-1]] = values[known][::-1]
        return out

    return replace(
        kept,
        columns={name: fold(values) for name, values in rows.columns.items()},
        states={name: fold(values) for name, values in rows.states.items()},
        totals={name: fold(values) for name, values in rows.totals.items()},
    )
