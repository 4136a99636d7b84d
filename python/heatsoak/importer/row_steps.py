"""The steps of a table's run, by the words that stand in its rows, and what was done in each."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from heatsoak.importer.frames import stretches
from heatsoak.protocol import Observed

#: A drive busier than this is not idle, whatever it moves.
BUSY_PCT = 20.0

_BLOCK = re.compile(r"(?<![\w.])(\d{1,6})\s?([km])i?b?(?![a-z0-9])", re.IGNORECASE)
_DEPTH = re.compile(r"(?:^|[^a-z])(?:q|qd|iodepth|depth)[ =_]?(\d{1,5})(?!\d)", re.IGNORECASE)
_RANDOM = re.compile(r"rand|rnd", re.IGNORECASE)
_SEQUENTIAL = re.compile(r"seq", re.IGNORECASE)


def steps_of(
    labels: list[str] | None, columns: Mapping[str, Any]
) -> tuple[tuple[Observed, ...], list[str | None] | None]:
    """Return a run's steps, and the name of each row's step; None where it is one load.

    `labels` are the words of the rows in the table's column of steps, `columns` a recording's.
    """
    if labels is None or not any(labels):
        whole = _observed("load", "", columns, slice(None))
        return ((whole,) if whole is not None else ()), None
    names: list[str | None] = []
    found: dict[str, Observed] = {}
    times: dict[str, int] = {}
    for label, part in stretches(labels):
        label = label.strip()[:150]
        name: str | None = None
        if label and _is_load(columns, part):
            name = label
            while name in found:
                times[label] = times.get(label, 1) + 1
                name = f"{label} ({times[label]})"
            found[name] = _observed(name, label, columns, part) or Observed(name=name)
        names += [name] * (part.stop - part.start)
    return tuple(found.values()), names


def _is_load(columns: Mapping[str, Any], part: slice) -> bool:
    """Whether anything was moved in these rows, or may have been, since no rate was logged.

    A drive that is busy and moves nothing is stalled.
    """
    names = [name for name in columns if name.endswith(("bw_mb_s", "iops"))]
    known = [values for name in names if np.isfinite(values := columns[name][part]).any()]
    if not known or any(bool((values > 0).any()) for values in known):
        return True
    return "busy_pct" in columns and bool((columns["busy_pct"][part] >= BUSY_PCT).any())


def _observed(name: str, label: str, columns: Mapping[str, Any], part: slice) -> Observed | None:
    """What the rows, and the step's own words, tell of its load."""
    did = {}
    for direction in ("read", "write"):
        rates = [
            columns[column][part]
            for column in (f"{direction}_bw_mb_s", f"{direction}_iops")
            if column in columns
        ]
        known = [values for values in rates if np.isfinite(values).any()]
        did[direction] = not known or any(bool((values > 0).any()) for values in known)
    if not any(name.endswith(("bw_mb_s", "iops")) for name in columns):
        return None
    told: dict[str, Any] = {}
    if label:
        lowered = label.lower()
        kind = "rand" if _RANDOM.search(label) else ("" if _SEQUENTIAL.search(label) else None)
        what = [word for word in ("read", "write") if word in lowered]
        if kind is not None and len(what) == 1:
            told["rw"] = kind + what[0]
        if (block := _BLOCK.search(label)) is not None and int(block.group(1)) > 0:
            told["bs"] = int(block.group(1)) << (10 if block.group(2).lower() == "k" else 20)
        if (depth := _DEPTH.search(label)) is not None and int(depth.group(1)) > 0:
            told["iodepth"] = int(depth.group(1))
    return Observed(name=name, reads=did["read"], writes=did["write"], **told)
