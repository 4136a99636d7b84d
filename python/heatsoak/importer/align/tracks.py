"""One quantity of a log, and what it is on a grid of even cells."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from heatsoak.importer.frames import intervals

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]

#: No log is longer; time stamps that say so are damaged.
_LONGEST_S = 1e9
#: The fewest samples of the coarser log that may overlap.
LEAST_SAMPLES = 16
#: Cells of the common grid in the coarser log's interval.
_CELLS_PER_INTERVAL = 4


@dataclass(frozen=True)
class Track:
    """One quantity of a log.

    Attributes:
        t_s: times, in seconds by the log's own clock, in any order.
        values: as many values, in any unit; NaN is unknown.
    """

    t_s: Array
    values: Array


@dataclass(frozen=True)
class Steps:
    """A track as values that hold for an interval each.

    Attributes:
        edges_s: begin and end of each interval, rising.
        integral: at each edge, of the values since the begin, as shares of the greatest.
        known_s: at each edge, of 1 since the begin.
        usual_s: the usual interval.
    """

    edges_s: Array
    integral: Array
    known_s: Array
    usual_s: float

    @classmethod
    def of(cls, track: Track, *, centred: bool = False) -> "Steps | None":
        """Return it, None where it has too few values to tell anything.

        An interval ends at its value's time, or has it in its middle if `centred`.
        """
        fine = np.isfinite(track.t_s) & np.isfinite(track.values)
        t_s, first = np.unique(track.t_s[fine], return_index=True)
        if len(t_s) < LEAST_SAMPLES or t_s[-1] - t_s[0] > _LONGEST_S:
            return None
        values = track.values[fine][first]
        values = values / max(float(np.abs(values).max()), 1e-300)
        lengths = intervals(t_s)
        usual_s = float(np.median(lengths))
        edges_s = np.column_stack([t_s - lengths, t_s]).ravel()
        nothing = np.zeros(len(t_s))
        return cls(
            edges_s + (usual_s / 2 if centred else 0.0),
            np.cumsum(np.column_stack([nothing, lengths * values]).ravel()),
            np.cumsum(np.column_stack([nothing, lengths]).ravel()),
            usual_s,
        )

    @property
    def begin_s(self) -> float:
        """Where the first interval begins."""
        return float(self.edges_s[0])

    @property
    def span_s(self) -> float:
        """From the first interval's begin to the last one's end."""
        return float(self.edges_s[-1] - self.edges_s[0])

    def on_grid(self, cell_s: float, begin_s: float, span_s: float) -> tuple[Array, Flags]:
        """Return the mean in each cell, and whether at least half of the cell is known."""
        edges_s = begin_s + cell_s * np.arange(max(1, round(span_s / cell_s)) + 1)
        known_s = np.diff(np.interp(edges_s, self.edges_s, self.known_s))
        total = np.diff(np.interp(edges_s, self.edges_s, self.integral))
        known = known_s >= 0.5 * cell_s
        return np.where(known, total / np.where(known, known_s, 1.0), 0.0), known


def grid_of(a: Steps, b: Steps, pad_s: float, most: int) -> tuple[float, int]:
    """Return the length of a cell, and how many are one sample of the coarser log."""
    coarse_s = max(a.usual_s, b.usual_s)
    least_s = (a.span_s + b.span_s + 2 * pad_s) / most
    cells = max(1, min(_CELLS_PER_INTERVAL, int(coarse_s / least_s)))
    return max(coarse_s / cells, least_s), cells


def on_common_grid(a: Steps, cell_s: float, pad_s: float, idle: bool) -> tuple[Array, Flags, float]:
    """Return the reference with what is known around it, and where that begins."""
    begin_s = a.begin_s - pad_s
    x, known = a.on_grid(cell_s, begin_s, a.span_s + 2 * pad_s)
    return x, (np.ones_like(known) if idle else known), begin_s


def answer_of(values: Array, known: Flags, tau: float) -> Array:
    """Return the first-order lag of `values`, settled at the first; gaps hold what was before."""
    last = np.maximum.accumulate(np.where(known, np.arange(len(values)), 0))
    held = values[last]
    keep = float(np.exp(-1.0 / tau))
    smooth = pl.Series(held).ewm_mean(alpha=1 - keep, adjust=False)
    return np.asarray(smooth.to_numpy(), dtype=np.float64)
