"""Links that retrain, controllers that are reset, and errors on the way, as the kernel tells."""

from itertools import pairwise
from pathlib import Path

import pytest
from heatsoak.sensor import Sensor, drive_sensors
from heatsoak.sensor.link import LinkSensor, link_of
from machine import Machine

TRAINED = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": 4}


class Drive:
    """An NVMe drive in a tree of our own, and what is told of the path to it."""

    def __init__(self, directory: Path) -> None:
        self.machine = Machine(directory)
        self.controller, self.disk = self.machine.nvme(0, "0000:02:00.0", "S1", **TRAINED)
        self.function = self.controller.parent.parent
        self.change(self.controller, state="live")
        self.sensor = self._sensor()

    def _sensor(self) -> Sensor:
        found = drive_sensors("nvme0n1", self.machine.roots)
        return next(sensor for sensor in found if sensor.info.name == "link")

    def change(self, directory: Path, **files: object) -> None:
        self.machine.write(directory, **files)

    def told(self) -> list[str]:
        self.sensor.read()
        return self.sensor.notes()


@pytest.fixture
def drive(tmp_path: Path) -> Drive:
    return Drive(tmp_path)


def test_a_link_that_loses_lanes_is_reported_once_and_again_when_it_has_them_back(
    drive: Drive,
) -> None:
    assert [drive.told() for _ in range(3)] == [[], [], []]
    drive.change(drive.function, current_link_width=1)
    (text,) = drive.told()
    assert text == "the link changed from 4 to 1 lanes: it carries at most 985 MB/s"
    assert drive.told() == []
    drive.change(drive.function, current_link_width=4)
    (text,) = drive.told()
    assert text.startswith("the link changed from 1 to 4 lanes")


def test_a_controller_that_is_reset_is_reported_in_every_state_that_is_seen(drive: Drive) -> None:
    told = []
    for state in ("resetting", "resetting", "connecting", "live", "live", "dead"):
        drive.change(drive.controller, state=state)
        told += drive.told()
    # also while the link is down
    drive.change(drive.function, current_link_speed="Unknown", current_link_width=0)
    drive.change(drive.controller, state="deleting")
    told += drive.told()
    states = ("live", "resetting", "connecting", "live", "dead", "deleting")
    assert told == [
        f"controller nvme0 changed from {before} to {after}" for before, after in pairwise(states)
    ]


def test_errors_of_the_link_are_counted_from_where_they_were(drive: Drive) -> None:
    def count(total: int) -> None:
        drive.change(drive.function, aer_dev_correctable=f"RxErr {total}\nTOTAL_ERR_COR {total}")

    count(7)
    assert drive.told() == []
    count(9)
    assert drive.told() == ["the PCI Express link of nvme0 had 2 correctable errors"]
    assert drive.told() == []
    count(0)  # after a reset
    assert drive.told() == []
    drive.change(drive.function, aer_dev_fatal="TOTAL_ERR_FATAL 0", aer_dev_nonfatal="nonsense")
    assert drive.told() == []


@pytest.mark.parametrize(
    ("busy_pct", "told"),
    [([90, 5, 90], 0), ([90, 90, 90], 2), ([5, 5, 5], 0), ([None, None, None], 2)],
)
def test_a_speed_counts_only_where_the_drive_was_loaded(
    drive: Drive, busy_pct: list[float | None], told: int
) -> None:
    left = iter(busy_pct)
    drive.sensor = LinkSensor(drive.disk, link_of(drive.disk), lambda: next(left))
    texts = []
    for speed in ("8.0 GT/s PCIe", "2.5 GT/s PCIe", "8.0 GT/s PCIe"):
        drive.change(drive.function, current_link_speed=speed)
        texts += drive.told()
    assert len(texts) == told
    assert all("under load" in text for text in texts)
