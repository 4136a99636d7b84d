"""Cases of which one tier takes some, and the next the rest."""

from collections.abc import Iterable
from typing import Any

import pytest


def rest_long(cases: Iterable[Any], every: int) -> list[Any]:
    """Return the cases, all but each `every`-th marked as long."""
    return [
        case if number % every == 0 else pytest.param(case, marks=pytest.mark.long)
        for number, case in enumerate(cases)
    ]


def rest_soak(cases: Iterable[Any], first: int) -> list[Any]:
    """Return the cases: the `first` are for `make verify`, the rest for `make soak`."""
    return [
        pytest.param(case, marks=pytest.mark.long if number < first else pytest.mark.soak)
        for number, case in enumerate(cases)
    ]
