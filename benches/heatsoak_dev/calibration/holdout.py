"""How well the fit predicts cells that it has not used, compared with main effects alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from heatsoak.catalog import PugetCell
from heatsoak.output import Progress

from heatsoak_dev.calibration.fit import ITERATIONS, lower
from heatsoak_dev.calibration.heatsinks import CoolingPair, HeatsinkPairs, pairs
from heatsoak_dev.calibration.matrix import CellFigures
from heatsoak_dev.calibration.parameters import Vector

_SLOTS = ("top", "upright", "underside")  # against the bottom slot


def onset_s(cell: PugetCell) -> float:
    """The middle of the published range."""
    return sum(cell.onset_s) / 2


def depth_pct(cell: PugetCell) -> float:
    """The middle of the published range."""
    return sum(cell.depth_pct) / 2


def predict(seen: Sequence[PugetCell], cell: PugetCell) -> tuple[float, float]:
    """Return onset in s and depth in % of a cell from others.

    A level of a factor that does not occur in `seen` is taken as the one that changes least.
    """
    effects = np.array([_effects(other) for other in seen])
    logs = np.log([onset_s(other) for other in seen])
    depths = np.array([depth_pct(other) for other in seen])
    here = _effects(cell)
    return (
        float(np.exp(here @ np.linalg.lstsq(effects, logs)[0])),
        float(here @ np.linalg.lstsq(effects, depths)[0]),
    )


def _effects(cell: PugetCell) -> Vector:
    slots = [float(cell.slot == slot) for slot in _SLOTS]
    return np.array([1.0, *slots, float(cell.gpus == 2), float(cell.gpu_load == "loaded")])


#: What counts as near, besides the published tolerance.
NEAR_SHARE, NEAR_PCT = 0.25, 8.0


@dataclass(frozen=True)
class Guess:
    """The prediction for a cell that was left out."""

    cell: PugetCell
    onset_s: float
    depth_pct: float

    @property
    def onset_error_s(self) -> float:
        """Off the middle of the published range."""
        return self.onset_s - onset_s(self.cell)

    @property
    def depth_error_pct(self) -> float:
        """Off the middle of the published range, in percentage points."""
        return self.depth_pct - depth_pct(self.cell)

    @property
    def onset_share(self) -> float:
        """The error of the onset as a share of it."""
        return abs(self.onset_error_s) / onset_s(self.cell)


@dataclass(frozen=True)
class LeaveOneOut:
    """Every cell, predicted without itself.

    Attributes:
        model: by the fits of the simulated drive.
        baseline: by main effects alone.
        parameters: how many numbers each fit had.
    """

    model: tuple[Guess, ...]
    baseline: tuple[Guess, ...]
    parameters: int

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON: every cell, then a summary of both."""
        return {
            "parameters": self.parameters,
            "cells": [
                {
                    "id": model.cell.id,
                    "onset_s": list(model.cell.onset_s),
                    "depth_pct": list(model.cell.depth_pct),
                    "model": {"onset_s": model.onset_s, "depth_pct": model.depth_pct},
                    "baseline": {"onset_s": plain.onset_s, "depth_pct": plain.depth_pct},
                }
                for model, plain in zip(self.model, self.baseline, strict=True)
            ],
            "summary": {"model": summary(self.model), "baseline": summary(self.baseline)},
        }


def leave_one_out(
    *,
    iterations: int = ITERATIONS,
    progress: Progress | None = None,
    catalog_dir: Path | None = None,
) -> LeaveOneOut:
    """Predict every cell from a fit of all others; some minutes.

    The fit is the one that :func:`heatsoak_dev.calibration.calibrate` makes. Writes nothing.
    Raises UsageError for a catalog that cannot be read.
    """
    # shared by all fits, so that none repeats another's simulations
    figures = CellFigures(catalog_dir)
    guesses, plain = [], []
    for index, cell in enumerate(figures.cells):
        figures.hold_out = frozenset([cell.id])

        def say(part: float, text: str, index: int = index, name: str = cell.id) -> None:
            if progress is not None:
                progress((index + part) / len(figures.cells), f"without {name}: {text}")

        found = lower(figures, iterations=iterations, progress=say)
        simulated = {row.id: row.simulated for row in figures.rows(figures.tables.values(found))}
        guesses.append(
            Guess(cell, simulated[f"{cell.id}.onset_s"], simulated[f"{cell.id}.depth_pct"])
        )
        others = [other for other in figures.cells if other is not cell]
        plain.append(Guess(cell, *predict(others, cell)))
    return LeaveOneOut(tuple(guesses), tuple(plain), len(figures.parameters))


def summary(guesses: Sequence[Guess]) -> dict[str, float]:
    """Return mean errors, and how many of the predictions are near.

    Keys: ``onset_error_s`` and ``depth_error_pct`` (means of absolute errors),
    ``onset_error_share``, ``near_onset`` (within a quarter), ``near_depth`` (within 8 points),
    ``near_both``, ``held_onset`` and ``held_depth`` (within the published tolerance), ``cells``.
    """
    near = [(g.onset_share <= NEAR_SHARE, abs(g.depth_error_pct) <= NEAR_PCT) for g in guesses]
    return {
        "onset_error_s": float(np.mean([abs(g.onset_error_s) for g in guesses])),
        "onset_error_share": float(np.mean([g.onset_share for g in guesses])),
        "depth_error_pct": float(np.mean([abs(g.depth_error_pct) for g in guesses])),
        "near_onset": sum(onset for onset, _ in near),
        "near_depth": sum(depth for _, depth in near),
        "near_both": sum(onset and depth for onset, depth in near),
        "held_onset": sum(g.cell.onset_holds(g.onset_s) for g in guesses),
        "held_depth": sum(g.cell.depth_holds(g.depth_pct) for g in guesses),
        "cells": len(guesses),
    }


@dataclass(frozen=True)
class PairGuess:
    """The prediction for a pair of coolings from the pairs of other sites.

    Attributes:
        error_k: how far the second reading is off what was printed.
        is_right: whether the second is the colder one, or the warmer, as printed; of a bound,
            whether it is kept.
        is_shared: whether another site has the second cooling, too.
    """

    pair: CoolingPair
    error_k: float
    is_right: bool
    is_shared: bool


def sites_left_out(progress: Progress | None = None) -> tuple[PairGuess, ...]:
    """Predict the pairs of every site from a fit to those of all others; minutes."""
    figures = HeatsinkPairs()
    sites = list(dict.fromkeys(pair.site for pair in pairs()))
    guesses = []
    for index, site in enumerate(sites):
        figures.hold_out = frozenset([site])
        if progress is not None:
            progress(index / len(sites), f"without {site}")
        values = figures.tables.values(lower(figures))
        rows = {row.id: row for row in figures.rows(values)}
        elsewhere = {pair.place_b for pair in pairs() if pair.site != site}
        for pair in pairs():
            if pair.site == site:
                row = rows[pair.id]
                # without the first reading, the second was printed as a difference from it
                a_c = row.published[0] - pair.b_c[0] if pair.a_c is None else pair.a_c
                change_k = sum(row.published) / 2 - a_c
                is_right = row.ok if pair.held else (row.simulated - a_c) * change_k > 0
                guesses.append(PairGuess(pair, row.error, is_right, pair.place_b in elsewhere))
    return tuple(guesses)
