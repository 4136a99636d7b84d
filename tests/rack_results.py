"""Racks of recordings whose drives and places are known."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared import Array, run
from heatsoak.rack.results.reading import Results, read_results
from heatsoak.rack.results.report import report
from heatsoak.rack.results.shown import rack_page as page_of_rack
from heatsoak.rack.state import Rack, Row, load_rack
from heatsoak.report.page.contract import Page
from heatsoak.report.rack import RackReport
from made_once import made_once
from paged import HOSTILE

STEP = {"name": "write", "rw": "write", "bs": "128k", "iodepth": 32, "runtime": "60s"}
SLOTS = {"1": 1.0, "2": 0.97, "3": 0.8, "4": 0.94}
#: How far drives of a model differ, and runs of a drive.
DRIVE_SD, RUN_SD = 0.01, 0.004


def speed(mb_s: float, falls_to: float | None = None) -> Array:
    """A minute of writing; from the twentieth second at a share of its speed."""
    rates = np.full(600, mb_s)
    if falls_to is not None:
        rates[200:] *= falls_to
    return rates


def make_rack(
    directory: Path,
    *,
    hosts: int = 4,
    slots: Mapping[str, float] = SLOTS,
    shares: Mapping[str, float] | None = None,
    falls_to: Mapping[str, float] | None = None,
    models: Sequence[str] = ("Samsung 990 PRO",),
    visits: int = 1,
    temp_c: float | None = 40.0,
    warmer_k: Mapping[str, float] | None = None,
    run_sds: Mapping[str, float] | None = None,
    steps: Sequence[str] = ("write",),
    seed: int = 1,
) -> Path:
    """Record a drive for each slot of each host; S01 is in the first slot of the first host.

    `slots` and `shares` (by serial) are what part of the speed remains; each drive is recorded in
    as many slots as it has `visits`. `falls_to` is what remains after 20 s, `run_sds` (by serial)
    how far a drive's runs are apart, `warmer_k` (by slot or host) what is added to the temperature.
    """
    rng = np.random.default_rng(seed)
    names = list(slots)
    places = [(f"b{host + 1}", slot) for host in range(hosts) for slot in names]
    for number, (host, slot) in enumerate(places):
        serial = f"S{number + 1:02d}"
        known = {"model": models[number % len(models)], "size_bytes": 10**12}
        own = np.exp(rng.normal(0, DRIVE_SD)) * (shares or {}).get(serial, 1.0)
        for visit in range(visits):
            there = names[(names.index(slot) + visit) % len(names)]
            mb_s = (
                2000
                * slots[there]
                * own
                * np.exp(rng.normal(0, (run_sds or {}).get(serial, RUN_SD)))
            )
            made = run(
                {"host": host, "slot": there},
                {step: speed(mb_s, (falls_to or {}).get(serial)) for step in steps},
                steps=[STEP | {"name": step} for step in steps],
                seed=1000 * seed + 10 * number + visit,
                temp_c=temp_c
                and temp_c + sum((warmer_k or {}).get(one, 0.0) for one in (host, there)),
                drive=known | {"serial": serial},
            )
            made.save(directory / host / serial / str(visit))
    return directory


def add_test(rack: Path, **told: Any) -> None:
    """Let the rack's file tell of a test."""
    path = rack / "rack.json"
    rows = load_rack(rack).tests if path.exists() else []
    asked = {"name": told["on"], "host_id": "1", "erase": None, "labels": {}}
    rows.append(Row.model_validate(asked | told))
    known = {"run": "r1", "protocol": "x", "protocol_sha256": "", "together": "host"}
    path.write_text(Rack.model_validate(known | {"tests": rows}).model_dump_json())


def opened(directory: Path) -> Results:
    return read_results([directory], lambda *_: None, lambda _: None)


def judged(directory: Path, **wanted: Any) -> RackReport:
    return report(opened(directory), **wanted)


@pytest.fixture(scope="session")
def rack_page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Sixteen drives of two models, of which one is slow, and a test that was refused."""

    def make(directory: Path) -> None:
        make_rack(directory, shares={"S06": 0.85}, models=("Samsung 990 PRO", "WD SN850X"))
        add_test(directory, host="b5", on=HOSTILE[0], state="refused", why=HOSTILE[1])

    held = opened(made_once(tmp_path_factory, "rack-page", make))
    return page_of_rack(report(held), held)
