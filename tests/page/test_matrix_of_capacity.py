"""Cells of drives that fall for want of space are not red for being fast."""

from typing import Any

import numpy as np
import pytest
from compared import READ, Array, falling, run
from heatsoak.recording import InMemoryRecording
from paged import page_of

WRITE = {**READ, "name": "write", "rw": "randwrite", "bs": "4k"}


def filling(sink: str, level: float, capacity_mb: float) -> InMemoryRecording:
    """Random writes to a drive of 20 GB that fall when this much is written."""
    rates: Array = np.asarray(falling(capacity_mb / level, 40.0 / level, level))
    small: dict[str, Any] = {"drive": {"size_bytes": 20 * 10**9}, "temp_c": 30.0, "sigma": 0.004}
    return run({"heatsink": sink}, {"write": rates}, steps=[WRITE], way="write", **small)


def test_cells_are_coloured_by_what_was_written_until_the_fall() -> None:
    page = page_of([filling("none", 200, 24_000), filling("fins", 400, 24_000)])
    assert page.matrix is not None
    causes = {e.cause for r in page.recordings for s in r.findings.steps for e in s.episodes}
    assert causes == {"spare-area"}
    onset = next(metric for metric in page.matrix.metrics if metric.id == "onset_s")
    assert onset.rated_by is not None
    slow, fast = (cell.values["onset_s"] for cell in page.matrix.cells)
    assert (slow.value, fast.value) != (slow.rated, fast.rated)
    assert slow.rated == pytest.approx(fast.rated, rel=0.03)
    depth = next(metric for metric in page.matrix.metrics if metric.id == "depth_pct")
    assert depth.rated_by is not None
