"""Sensors that vanish, hang or tell nonsense while a run goes on."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from exports import memory_export
from machine import Machine
from started import Started, protocol, started

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("fio") is None or shutil.which("nbdkit") is None,
        reason="fio or nbdkit is not installed",
    ),
]
RUNTIME_S = 7


class Drive:
    """What the sensors of a drive are read from."""

    def __init__(self, base: Path) -> None:
        self.machine = Machine(base)
        trained = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": 4}
        self.controller, _ = self.machine.nvme(0, "0000:02:00.0", "S1", **trained)
        self.function = self.controller.parent.parent
        self.node = self.heated(0, 40)

    def heated(self, number: int, temp_c: int) -> Path:
        """Add an hwmon node of the drive's."""
        return self.machine.hwmon(
            number,
            self.controller,
            "nvme",
            temp1_label="Composite",
            temp1_input=1000 * temp_c,
            temp1_crit=85000,
        )

    def put(self, file: Path, text: str) -> None:
        """Change a file at once, as the kernel does: no reader sees half of it."""
        new = file.with_name("new")
        new.write_text(f"{text}\n")
        new.replace(file)


@pytest.fixture
def drive(tmp_path: Path) -> Drive:
    return Drive(tmp_path / "tree")


@pytest.fixture
def run(tmp_path: Path, drive: Drive) -> Iterator[Started]:
    name = protocol(tmp_path, rw="read", runtime_s=RUNTIME_S)
    with memory_export(tmp_path) as (uri, _):
        words = ["run", name, "--on", uri, "--sensors", str(drive.machine.roots.sys.parent)]
        with started(tmp_path, *words, "-o", "r") as run:
            yield run.wait_for_load()


def warnings(run: Started) -> list[str]:
    return [event.text for event in run.events if event.kind == "warning"]


def temps_c(run: Started) -> list[float]:
    column = run.recording.samples(["temp_c.composite"])["temp_c.composite"]
    return column.drop_nulls().to_list()


def test_a_link_that_retrains_and_an_impossible_reading_are_reported_and_end_nothing(
    run: Started, drive: Drive
) -> None:
    drive.put(drive.node / "temp1_input", "65261850")
    drive.put(drive.function / "current_link_width", "1")
    run.wait_for_event("the link changed from 4 to 1 lanes")
    drive.put(drive.node / "temp1_input", "41000")
    run.end(0)
    impossible = [text for text in warnings(run) if "which is impossible for a drive" in text]
    assert len(impossible) == 1
    assert impossible[0].startswith("composite reads 65261.8 C")
    assert temps_c(run)[-1] == 41.0


def test_a_drive_at_its_limit_ends_the_run_as_before(run: Started, drive: Drive) -> None:
    drive.put(drive.node / "temp1_input", "86000")
    assert "composite reads 86 C, and the drive's critical limit is 85 C" in run.end(3)
    assert run.status == "failed"


def test_a_node_that_comes_back_under_another_number_is_found_again(
    run: Started, drive: Drive
) -> None:
    (drive.machine.roots.sys / "class" / "hwmon" / drive.node.name).unlink()
    shutil.rmtree(drive.node)
    run.wait_for_event("nvme cannot be read (none of its temperatures can be read)")
    drive.heated(7, 55)
    run.end(0)
    assert temps_c(run)[-1] == 55.0
    assert "nvme answers again" in [event.text for event in run.events]


def test_a_node_that_never_answers_loses_only_its_own_column(run: Started, drive: Drive) -> None:
    os.mkfifo(drive.node / "new")
    (drive.node / "new").replace(drive.node / "temp1_input")
    run.end(0)
    assert any("nvme: a reading has hung for" in text for text in warnings(run))
    assert run.status == "finished"
    link = run.recording.samples(["t_s", "link_mb_s"]).filter(pl.col("link_mb_s").is_not_null())
    hung_s = run.recording.samples(["t_s", "temp_c.composite"]).drop_nulls()["t_s"].max()
    assert link["t_s"].max() > hung_s  # type: ignore[operator]
