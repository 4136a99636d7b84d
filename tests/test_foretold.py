"""Predictions of loads and cooling that a twin was not fitted to, and what they must not mix up."""

from pathlib import Path

import heatsoak
import pytest
from heatsoak.catalog import load_drive
from heatsoak.protocol import Pause, Protocol, WorkloadStep
from heatsoak.target.simulated import SimulatedTarget
from heatsoak.twin import Cooling, Twin, predict
from made_once import made_once

LOAD = {"rw": "write", "bs": "128k", "iodepth": 32}
PROTOCOL = Protocol(
    name="heat-up",
    title="heat-up",
    steps=(
        WorkloadStep.model_validate({**LOAD, "name": "full", "runtime": "5m"}),
        Pause.model_validate({"kind": "pause", "name": "cool", "duration": "5m"}),
    ),
)


def write(**more: object) -> WorkloadStep:
    return WorkloadStep.model_validate({**LOAD, "name": "write", "runtime": "5m", **more})


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Twin:
    """A twin of the 950 PRO on an open bench, on the base of another drive, slower at writes."""

    def make(directory: Path) -> None:
        heatsoak.run(PROTOCOL, "sim:samsung-950-pro-512@open-bench", output=directory / "bench")

    recordings = made_once(tmp_path_factory, "foretold", make)
    return heatsoak.fit(recordings / "bench", base="samsung-950-pro-256")


def test_a_load_of_half_the_rate_stays_one_on_a_twin_of_a_slower_class(twin: Twin) -> None:
    full = predict(twin, write(), 300)
    half = predict(twin, write(rate=750_000_000), 300)
    by_count = predict(twin, write(rate_iops=750_000_000 // 131_072), 300)
    assert full.full_mb_s == pytest.approx(1500, rel=0.05)
    assert half.full_mb_s == pytest.approx(750, rel=0.02)
    assert by_count.full_mb_s == pytest.approx(750, rel=0.02)
    assert half.throttles < full.throttles


def test_a_twin_reads_data_also_if_nothing_was_said_of_a_fill(twin: Twin) -> None:
    read = WorkloadStep.model_validate({**LOAD, "name": "read", "rw": "read", "runtime": "5m"})
    fill = WorkloadStep.model_validate({**LOAD, "name": "fill"})
    rest = Pause.model_validate({"kind": "pause", "name": "rest", "duration": "2h"})
    empty, filled = predict(twin, read, 300), predict(twin, read, 300, before=[fill, rest])
    assert empty.hidden_temp_c[1] == pytest.approx(filled.hidden_temp_c[1], abs=0.5)


def test_warming_is_counted_from_the_air_that_the_twin_was_fitted_in(twin: Twin) -> None:
    same = predict(twin, write(), 300)
    assert predict(twin, write(), 300, cooling=Cooling(warming_k=0.0)) == same
    warmer = predict(twin, write(), 300, cooling=Cooling(warming_k=8.0))
    assert same.onset_s is not None
    assert warmer.onset_s is not None
    assert warmer.onset_s[1] < 0.95 * same.onset_s[1]
    # limit and air are known together only: an air from elsewhere leaves more open
    set_c = Cooling(ambient_c=twin.enclosure().air_c.value)
    absolute = predict(twin, write(), 300, cooling=set_c)
    assert absolute.onset_s is not None
    assert absolute.onset_s[2] - absolute.onset_s[0] > same.onset_s[2] - same.onset_s[0]


def test_the_middle_is_the_drive_itself() -> None:
    drive, place = load_drive("samsung-950-pro-512"), "puget-top-2gpu-idle"
    step = write(runtime="2m")
    target = SimulatedTarget(drive, place)
    for _ in target.run(step):
        pass
    for seed in range(3):
        found = predict(drive, step, 120, enclosure=place, seed=seed)
        assert found.onset_s is not None
        assert found.onset_s[1] == pytest.approx(target.truth()["onset_s"], rel=0.03)


def test_a_place_without_a_heatsink_brings_none() -> None:
    drive = load_drive("samsung-950-pro-512")
    # the adapter stays where it was measured
    bare, same, sunk = (
        predict(drive, write(), 300, enclosure="open-bench", cooling=Cooling(heatsink=name))
        for name in (None, "anandtech-bench", "wings-px1")
    )
    assert same == bare
    assert sunk.max_reported_temp_c[1] < bare.max_reported_temp_c[1] - 5
