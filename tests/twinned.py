"""Recordings of a simulated drive in several places, and twins fitted to some of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import heatsoak
import pytest
from heatsoak.protocol import Protocol
from heatsoak.recording import Recording
from heatsoak.report.page.contract import Page
from heatsoak.twin import Twin
from made_once import made_once
from paged import page_of, page_once

DRIVE = "pcie4-tlc-1tb"
_READ = {"rw": "read", "bs": "128k", "iodepth": 32, "span": "16GiB"}


def _heat_up(runtime: str) -> Protocol:
    return Protocol.model_validate(
        {
            "name": "heat-up",
            "steps": [
                {"name": "full", "runtime": runtime, **_READ},
                {"kind": "pause", "name": "cool", "duration": "3m"},
            ],
        }
    )


@dataclass(frozen=True)
class Twinned:
    """Recordings by their names, and twins.

    `bench` throttles, `fan` does not; `twin` is fitted to both. `elsewhere` was made in a place
    that it does not have. `cold` did not get to its limit, and its twin is `cold_twin`; `other` is
    of another drive.
    """

    directory: Path

    def recording(self, name: str) -> Recording:
        """Return one of them."""
        return Recording.open(self.directory / name)

    def twin(self, name: str = "twin") -> Twin:
        """Return one of the twins."""
        return Twin.load(self.directory / f"{name}.toml")

    def page(self, names: Sequence[str], twin: str = "twin") -> Page:
        """Return the page of some of them beside a twin."""
        return page_of([self.recording(name) for name in names], twin=self.twin(twin))


def _make(directory: Path) -> None:
    for name, runtime, drive, place in (
        ("bench", "5m", DRIVE, "open-bench"),
        ("fan", "5m", DRIVE, "fan-slow"),
        ("elsewhere", "2m", DRIVE, "fan-fast"),
        ("cold", "80s", DRIVE, "open-bench"),
        ("other", "80s", "samsung-950-pro-512", "open-bench"),
    ):
        heatsoak.run(_heat_up(runtime), f"sim:{drive}@{place}", output=directory / name)
    heatsoak.fit(directory / "bench", directory / "fan").save(directory / "twin.toml")
    heatsoak.fit(directory / "cold").save(directory / "cold_twin.toml")


@pytest.fixture(scope="session")
def twinned(tmp_path_factory: pytest.TempPathFactory) -> Twinned:
    return Twinned(made_once(tmp_path_factory, "twinned", _make))


@pytest.fixture(scope="session")
def twin_page(twinned: Twinned, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A page of three recordings, one of which the twin does not follow; two maps."""
    names = ["bench", "fan", "elsewhere"]
    return page_once(tmp_path_factory, "twin-page", lambda: twinned.page(names))
