"""Whether a drive's warmth goes with what it does: what heat takes, it takes to cool the drive."""

import numpy as np
import pytest
from heatsoak.analysis.cause import Case, weigh
from numpy.typing import NDArray
from viewed import step_view

Array = NDArray[np.float64]

T_S = np.arange(1.0, 1001)


def warmed(watts: Array, plateau_c: float, tau_s: float = 150.0) -> Array:
    """Whole degrees, every second, of a drive that comes from 30 C to `plateau_c` with 6 W."""
    temp, read = 30.0, []
    for each in watts.tolist():
        temp += (30 + (plateau_c - 30) * each / 6 - temp) / tau_s
        read.append(round(temp))
    return np.array(read, dtype=float)


def said_of(share: Array, temps_c: Array, rw: str = "randwrite") -> tuple[str, set[str]]:
    """The cause of the first drop, and what was seen of its balance."""
    rates = 900 * share * np.random.default_rng(5).normal(1, 0.015, len(share))
    view = step_view(T_S, rates, rw, bs="4k", temp_c__composite=temps_c)
    assert view.drops
    judgement = weigh(Case(view.drops[0], view))
    about = {finding.seen for finding in judgement.findings if finding.about == "heat-balance"}
    return judgement.cause, about


def fallen(onset_s: float, low: float, tau_s: float = 40.0) -> Array:
    return np.where(onset_s > T_S, 1.0, low + (1 - low) * np.exp(-(T_S - onset_s) / tau_s))


@pytest.mark.parametrize("plateau_c", [66.0, 76.0, 84.0])
@pytest.mark.parametrize("kept", [0.9, 1.0, 1.1])
@pytest.mark.parametrize("onset_s", [120.0, 300.0])
def test_a_drive_that_warms_on_while_its_spare_area_runs_out_is_not_throttled(
    onset_s: float, kept: float, plateau_c: float
) -> None:
    watts = np.where(onset_s > T_S, 6.0, 6.0 * kept)
    cause, seen = said_of(fallen(onset_s, 0.3), warmed(watts, plateau_c))
    assert seen == {"whatever-the-load"}
    assert cause != "thermal"


@pytest.mark.parametrize("limit_c", [66.0, 74.0, 82.0])
def test_what_a_governor_takes_goes_with_the_warmth(limit_c: float) -> None:
    temp, share = 30.0, 1.0
    shares, temps = [], []
    for _ in T_S:
        share = float(np.clip(1 - (temp - limit_c) / 6, 0.2, 1))
        temp += (30 + 1.4 * (limit_c - 30) * (0.2 + 0.8 * share) - temp) / 100
        shares.append(share)
        temps.append(round(temp))
    cause, seen = said_of(np.array(shares), np.array(temps, dtype=float))
    assert "whatever-the-load" not in seen
    assert cause == "thermal"


def test_a_load_that_asks_for_less_cools_its_drive() -> None:
    share = np.where(T_S < 400, 1.0, 0.4)
    _, seen = said_of(share, warmed(1 + 5 * share, 70.0), "randread")
    assert seen == {"by-the-load"}


def test_a_drive_that_was_warm_from_the_start_proves_nothing() -> None:
    _, seen = said_of(fallen(300, 0.5), np.full(len(T_S), 70.0))
    assert seen == set()
