"""Cases of which `make test` takes some, and `make verify` the rest."""

from collections.abc import Iterable
from typing import Any

import pytest


def rest_long(cases: Iterable[Any], every: int) -> list[Any]:
    """Return the cases, all but each `every`-th marked as long."""
    return [
        case if number % every == 0 else pytest.param(case, marks=pytest.mark.long)
        for number, case in enumerate(cases)
    ]
