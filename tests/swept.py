"""A sweep of a simulated drive, for tests of what is made of it."""

from pathlib import Path

import pytest
from heatsoak.report.page.contract import Page
from heatsoak.report.page.sweep import sweep_page
from heatsoak.sweep import SUMMARY, FinishedSweep, Grid, sweep
from made_once import made_once

#: Some points throttle, some hold, some cannot be; a heatsink is one by name, by number, or none.
GRID = {
    "drives": "samsung-950-pro-512",
    "enclosures": ["puget-top-2gpu-loaded", "open-bench"],
    "workloads": "read",
    "for": "90s",
    "ambient_c": [60, 20, 40, 150],
    "heatsink": ["none", "wings-px1", 5],
}


def _make(directory: Path) -> None:
    found = sweep(Grid.model_validate(GRID), directory / "s", draws=2, jobs=1)
    (directory / "s" / SUMMARY).write_text(found.model_dump_json())


@pytest.fixture(scope="session")
def swept(tmp_path_factory: pytest.TempPathFactory) -> FinishedSweep:
    """A finished sweep; its directory must not be changed."""
    return FinishedSweep.load(made_once(tmp_path_factory, "swept", _make) / "s")


@pytest.fixture(scope="session")
def swept_page(swept: FinishedSweep) -> Page:
    return Page.model_validate_json(sweep_page(swept).model_dump_json())
