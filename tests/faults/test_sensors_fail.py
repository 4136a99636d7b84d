"""Sensors that vanish, hang or tell nonsense while a run goes on."""

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from exports import memory_export
from machine import Machine
from needs import needs
from started import Started, protocol, started

pytestmark = [pytest.mark.slow, needs("fio", "nbdkit")]
#: Longer than any of these waits.
RUNTIME_S = 300


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
            run.wait_for_load()
            columns = ("temp_c.composite", "link_mb_s")
            run.wait_until(lambda: all(readings(run, column).height for column in columns))
            yield run


def warnings(run: Started) -> list[str]:
    return [event.text for event in run.events if event.kind == "warning"]


def readings(run: Started, column: str) -> pl.DataFrame:
    """Return what there is of a column so far, and when."""
    return run.recording.samples(["t_s", column]).drop_nulls()


def stopped_at(run: Started, temp_c: float) -> None:
    """Stop a run once this is what its drive's sensor says."""
    run.wait_until(lambda: readings(run, "temp_c.composite")["temp_c.composite"][-1] == temp_c)
    stop(run)


def stop(run: Started) -> None:
    """Stop a run, which nothing has ended so far."""
    run.end(130, by=signal.SIGINT)
    assert run.status == "interrupted"


def test_a_link_that_retrains_and_an_impossible_reading_are_reported_and_end_nothing(
    run: Started, drive: Drive
) -> None:
    drive.put(drive.node / "temp1_input", "65261850")
    drive.put(drive.function / "current_link_width", "1")
    run.wait_for_event("the link changed from 4 to 1 lanes")
    drive.put(drive.node / "temp1_input", "41000")
    stopped_at(run, 41.0)
    impossible = [text for text in warnings(run) if "which is impossible for a drive" in text]
    assert len(impossible) == 1
    assert impossible[0].startswith("composite reads 65,262 C")


def test_a_drive_at_its_limit_ends_the_run_as_before(run: Started, drive: Drive) -> None:
    drive.put(drive.node / "temp1_input", "86000")
    assert "composite reads 86 C, and the drive's critical limit is 85 C" in run.end(3)
    assert run.status == "failed"


@pytest.mark.long
def test_a_node_that_comes_back_is_found_again_and_one_that_never_answers_loses_only_its_column(
    run: Started, drive: Drive
) -> None:
    (drive.machine.roots.sys / "class" / "hwmon" / drive.node.name).unlink()
    shutil.rmtree(drive.node)
    run.wait_for_event("nvme cannot be read (none of its temperatures can be read)")
    node = drive.heated(7, 55)
    run.wait_for_event("nvme answers again")
    run.wait_until(lambda: readings(run, "temp_c.composite")["temp_c.composite"][-1] == 55.0)
    os.mkfifo(node / "new")
    (node / "new").replace(node / "temp1_input")
    run.wait_for_event("nvme: a reading has hung for")
    before = readings(run, "temp_c.composite")
    run.wait_until(lambda: readings(run, "link_mb_s")["t_s"][-1] > before["t_s"][-1])
    stop(run)
    assert readings(run, "temp_c.composite").equals(before)
