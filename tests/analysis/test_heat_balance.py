"""Whether a drive's warmth goes with what it does: what heat takes, it takes to cool the drive."""

from itertools import product

import numpy as np
import pytest
from heatsoak.analysis.cause import Case, weigh
from viewed import Array, step_view
from warmth import governed, warmed

T_S = np.arange(1.0, 1001)


def said_of(share: Array, temps_c: Array, rw: str = "randwrite") -> tuple[str, set[str]]:
    """The likeliest cause of the first drop, and what was seen of its balance."""
    rates = 900 * share * np.random.default_rng(5).normal(1, 0.015, len(share))
    view = step_view(T_S, rates, rw, bs="4k", temp_c__composite=temps_c)
    assert view.drops
    judgement = weigh(Case(view.drops[0], view))
    about = {finding.seen for finding in judgement.findings if finding.about == "heat-balance"}
    return judgement.likeliest, about


def fallen(onset_s: float, low: float, tau_s: float = 40.0) -> Array:
    return np.where(onset_s > T_S, 1.0, low + (1 - low) * np.exp(-(T_S - onset_s) / tau_s))


def test_a_drive_that_warms_on_while_its_spare_area_runs_out_is_not_throttled() -> None:
    for onset_s, kept, plateau_c in product((120.0, 300.0), (0.9, 1.0, 1.1), (66.0, 76.0, 84.0)):
        watts = np.where(onset_s > T_S, 6.0, 6.0 * kept)
        temps_c = warmed(watts, 30, (plateau_c - 30) / 6, 150)
        cause, seen = said_of(fallen(onset_s, 0.3), temps_c)
        assert seen == {"whatever-the-load"}, (onset_s, kept, plateau_c)
        assert cause != "thermal", (onset_s, kept, plateau_c)


@pytest.mark.parametrize("limit_c", [66.0, 74.0, 82.0])
def test_what_a_governor_takes_goes_with_the_warmth(limit_c: float) -> None:
    k_per_w = 1.4 * (limit_c - 30) * 0.8 / 6
    cause, seen = said_of(*governed(len(T_S), "proportion", limit_c, 30, k_per_w, 100, 1.5))
    assert "whatever-the-load" not in seen
    assert cause == "thermal"


def test_a_load_that_asks_for_less_cools_its_drive() -> None:
    share = np.where(T_S < 400, 1.0, 0.4)
    _, seen = said_of(share, warmed(1 + 5 * share, 30, 40 / 6, 150), "randread")
    assert seen == {"by-the-load"}


def test_a_drive_that_was_warm_from_the_start_proves_nothing() -> None:
    _, seen = said_of(fallen(300, 0.5), np.full(len(T_S), 70.0))
    assert seen == set()
