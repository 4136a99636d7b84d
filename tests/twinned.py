"""Recordings of a simulated drive in several places, and twins fitted to some of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import heatsoak
import pytest
from command import done_here
from heatsoak.protocol import Protocol
from heatsoak.recording import Recording
from heatsoak.report.page.contract import Page
from heatsoak.twin.twin import Twin
from made_once import made_once
from paged import page_of, page_once

DRIVE = "samsung-950-pro-512"
LOAD = {"rw": "write", "bs": "128k", "iodepth": 32}
#: How long each recording's load is, of which drive, and where.
RECORDINGS = {
    "bench": ("4m", DRIVE, "open-bench"),
    "fan": ("4m", DRIVE, "fan-slow"),
    "elsewhere": ("2m", DRIVE, "fan-fast"),
    "cold": ("80s", DRIVE, "open-bench"),
    "other": ("80s", "pcie4-tlc-1tb", "open-bench"),
}
#: What each twin is fitted to, and in which words.
TWINS = {
    "twin": ("bench", "fan"),
    "cold_twin": ("cold", "--base", "pcie3-tlc-1tb", "--format", "json"),
    "slower": ("bench", "--base", "samsung-950-pro-256"),
}


@dataclass(frozen=True)
class Twinned:
    """Recordings by their names, and twins.

    `bench` throttles, `fan` does not; `twin` is fitted to both, `slower` to `bench` on the base of
    a slower drive. `elsewhere` was made in a place that no twin has. `cold` did not get to its
    limit, and its twin is `cold_twin`; `other` is of another drive.
    """

    factory: pytest.TempPathFactory

    @staticmethod
    def heat_up(runtime: str) -> Protocol:
        """Return a load of all the drive can, and three minutes to cool down."""
        full = {"name": "full", "runtime": runtime, "span": "16GiB", **LOAD}
        cool = {"kind": "pause", "name": "cool", "duration": "3m"}
        return Protocol.model_validate({"name": "heat-up", "steps": [full, cool]})

    @property
    def directory(self) -> Path:
        """Where the recordings are."""

        def make(directory: Path) -> None:
            for name, (runtime, drive, place) in RECORDINGS.items():
                on = f"sim:{drive}@{place}"
                heatsoak.run(self.heat_up(runtime), on, output=directory / name)

        return made_once(self.factory, "twinned", make)

    def recording(self, name: str) -> Recording:
        """Return one of them."""
        return Recording.open(self.directory / name)

    def path(self, name: str = "twin") -> Path:
        """Return the file of one of the twins; what its fit said is beside it."""

        def make(directory: Path) -> None:
            words = ("fit", *TWINS[name], "-o", str(directory / "twin.toml"))
            done = done_here(*words, cwd=self.directory)
            (directory / "said").write_text(done.stdout)

        return made_once(self.factory, f"twinned-{name}", make) / "twin.toml"

    def twin(self, name: str = "twin") -> Twin:
        """Return one of the twins."""
        return Twin.load(self.path(name))

    def page(self, names: Sequence[str], twin: str = "twin") -> Page:
        """Return the page of some recordings beside a twin."""
        return page_of([self.recording(name) for name in names], twin=self.twin(twin))


@pytest.fixture(scope="session")
def twinned(tmp_path_factory: pytest.TempPathFactory) -> Twinned:
    return Twinned(tmp_path_factory)


@pytest.fixture(scope="session")
def twin_page(twinned: Twinned, tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A page of three recordings, one of which the twin does not follow; two maps."""
    names = ["bench", "fan", "elsewhere"]
    # of half as many resistances, a map takes half as long
    with patch("heatsoak.report.page.twin._RESISTANCES", 4):
        return page_once(tmp_path_factory, "twin-page", lambda: twinned.page(names))
