"""Intervals and outliers of ``heatsoak rack report`` on racks of known effects."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest

pytestmark = [pytest.mark.long, pytest.mark.slow]
RACKS = 100
#: Of each drive in each slot; a single one tells less, and each night is enough for it.
RUNS = [3, pytest.param(1, marks=pytest.mark.soak)]


@pytest.fixture(scope="module")
def bench() -> Iterator[ModuleType]:
    with patch.object(sys, "path", [str(Path(__file__).parents[1] / "benches"), *sys.path]):
        yield importlib.import_module("rack")


@pytest.mark.parametrize("is_crossed", [True, False])
@pytest.mark.parametrize("runs", RUNS)
@pytest.mark.parametrize(("drive_sd", "run_sd"), [(0.02, 0.01), (0.005, 0.02), (0.0, 0.01)])
def test_intervals_hold(
    bench: ModuleType, is_crossed: bool, runs: int, drive_sd: float, run_sd: float
) -> None:
    rng = np.random.default_rng(3)
    design = {"is_crossed": is_crossed, "runs": runs, "drive_sd": drive_sd, "run_sd": run_sd}
    slots, drives = bench.coverage(rng, RACKS, **design)
    assert slots >= 0.9
    assert drives >= 0.9


@pytest.mark.parametrize("is_crossed", [True, False])
@pytest.mark.parametrize("runs", RUNS)
def test_outliers_are_seldom_named_where_there_are_none(
    bench: ModuleType, is_crossed: bool, runs: int
) -> None:
    false = sum(bench.named(np.random.default_rng(5), RACKS, is_crossed=is_crossed, runs=runs))
    assert false <= 0.1


@pytest.mark.parametrize("is_crossed", [True, False])
@pytest.mark.parametrize("runs", RUNS)
def test_a_slot_that_slows_one_model_condemns_no_drive(
    bench: ModuleType, is_crossed: bool, runs: int
) -> None:
    spread = {"drive_sd": 0.01, "run_sd": 0.007}
    design = {"is_crossed": is_crossed, "runs": runs, "is_hot": True, **spread}
    assert sum(bench.named(np.random.default_rng(7), RACKS, **design)) <= 0.1
    slow, other = bench.named(np.random.default_rng(8), RACKS, **design, slower=bench.SLOWER)
    assert slow >= 0.9
    assert other <= 0.1


def test_a_slow_drive_is_found(bench: ModuleType) -> None:
    design = {"is_crossed": True, "runs": 3, "drive_sd": 0.01, "slower": bench.SLOWER}
    slow, other = bench.named(np.random.default_rng(6), RACKS, **design)
    assert slow >= 0.9
    assert other <= 0.1


@pytest.mark.parametrize("is_crossed", [True, False])
def test_a_drive_whose_runs_vary_is_found(bench: ModuleType, is_crossed: bool) -> None:
    rng = np.random.default_rng(9)
    design = {"is_crossed": is_crossed, "runs": 3, "drive_sd": 0.01, "run_sd": 0.007}
    found = beside = false = 0
    for _ in range(40):
        (none,) = bench.set_aside([bench.make(rng, **design).compared])
        (one,) = bench.set_aside([bench.make(rng, **design, is_noisy=True).compared])
        false += bool(none.varies)
        found += bench.NOISY in one.varies
        beside += any(drive != bench.NOISY for drive in one.aside)
    assert found >= 36
    assert beside <= 6
    assert false <= 4
