"""TMT1 and TMT2 set for a run: what is permitted, and that they are put back whatever happens."""

import json
import mmap
import os
import signal
from pathlib import Path

import pytest
from damage import DAMAGE
from ended_inside import interrupted_by, killed_after
from heatsoak.errors import ToolError, UsageError
from heatsoak.sensor import Roots
from heatsoak.target import DeviceInfo
from heatsoak.target.device import describe_device
from heatsoak.target.hctm import Thresholds, check, held, left, put_back
from hypothesis import given
from hypothesis import strategies as st
from machine_tree import with_nvme
from nvme_controller import SET_FEATURES, Controller

LOWEST, HIGHEST = 303, 358  # 30 C and 85 C
BEFORE = (0, 350)


@pytest.fixture
def roots(tmp_path: Path) -> Roots:
    return with_nvme(tmp_path)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def drive_of(roots: Roots) -> DeviceInfo:
    return describe_device("nvme0n1", roots)


def controller() -> Controller:
    return Controller(hctm=(LOWEST, HIGHEST), tmt=BEFORE)


def test_thresholds_are_set_for_a_run_and_put_back_after_it(roots: Roots, state: Path) -> None:
    drive = controller()
    with held(drive_of(roots), Thresholds(70), roots, ioctl=drive.ioctl, state=state) as notes:
        assert drive.tmt == (343, 350)  # what was not asked for stays as it was
        [note] = notes
        assert note.data == {"tmt_k": [343, 350], "tmt_before_k": list(BEFORE)}
        assert "TMT1 70 C (it was off)" in note.text
    assert drive.tmt == BEFORE
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("ending", [KeyboardInterrupt, OSError, RuntimeError, GeneratorExit])
def test_thresholds_are_put_back_however_the_run_ends(
    roots: Roots, state: Path, ending: type[BaseException]
) -> None:
    drive = controller()

    def run() -> None:
        with held(drive_of(roots), Thresholds(60, 80), roots, ioctl=drive.ioctl, state=state):
            assert drive.tmt == (333, 353)
            raise ending

    with pytest.raises(ending):
        run()
    assert drive.tmt == BEFORE
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_they_are_put_back_waits_until_they_are(
    roots: Roots, state: Path, number: int
) -> None:
    class Interrupted(Controller):
        def _set_feature(self, feature: int, value: int) -> int:
            os.kill(os.getpid(), number)
            return super()._set_feature(feature, value)

    drive = Interrupted(hctm=(LOWEST, HIGHEST), tmt=BEFORE)

    def sent() -> None:
        assert drive.done  # not before the command was through

    with (
        interrupted_by(number, sent),
        held(drive_of(roots), Thresholds(60, 80), roots, ioctl=drive.ioctl, state=state),
    ):
        pytest.fail("the signal came while they were set")
    assert drive.tmt == BEFORE
    assert list(state.iterdir()) == []


def test_a_drive_that_sets_other_values_than_asked_gets_back_what_it_had(
    roots: Roots, state: Path
) -> None:
    class Rounds(Controller):
        def _set_feature(self, feature: int, value: int) -> int:
            super()._set_feature(feature, value)
            if self.tmt != BEFORE:
                self.tmt = (self.tmt[0] + 1, self.tmt[1])
            return 0

    drive = Rounds(hctm=(LOWEST, HIGHEST), tmt=BEFORE)
    with (
        pytest.raises(ToolError, match="but read 71 C and 77 C"),
        held(drive_of(roots), Thresholds(70), roots, ioctl=drive.ioctl, state=state),
    ):
        pytest.fail("it was not set")
    assert drive.tmt == BEFORE
    assert list(state.iterdir()) == []


def test_a_drive_that_is_gone_at_the_end_does_not_hide_what_ended_the_run(
    roots: Roots, state: Path
) -> None:
    drive = controller()

    def run() -> None:
        with held(drive_of(roots), Thresholds(70), roots, ioctl=drive.ioctl, state=state):
            drive.declines = {0x0A: 0x4002}
            raise ToolError("the drive is gone")

    with pytest.raises(
        ToolError, match=r"the drive is gone; nvme0: .* `heatsoak drives --restore` tries again"
    ):
        run()
    drive.declines = {}
    [note] = put_back(roots, ioctl=drive.ioctl, state=state)
    assert "restored" in note.text
    assert drive.tmt == BEFORE


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_file_sends_nothing_to_a_drive(
    roots: Roots, state: Path, damage: str
) -> None:
    drive = Shared()
    killed_run(drive, roots, state)
    [file] = state.iterdir()
    DAMAGE[damage](file)
    told = left(state=state)
    for notes in (told, put_back(roots, ioctl=drive.ioctl, state=state)):
        [note] = notes
        assert "\n" not in note.text
        assert str(state) in note.text
        assert drive.tmt == (343, 350)


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (Thresholds(20), "permits 30 C to 85 C"),
        (Thresholds(tmt2_c=86), "permits 30 C to 85 C"),
        (Thresholds(80), "TMT1 must be lower"),
        (Thresholds(70, 70), "TMT1 must be lower"),
    ],
)
def test_what_the_drive_does_not_permit_is_refused_before_anything_is_set(
    roots: Roots, state: Path, wanted: Thresholds, why: str
) -> None:
    drive = controller()
    with pytest.raises(UsageError, match=why):
        check(drive_of(roots), wanted, roots, drive.ioctl)
    with (
        pytest.raises(UsageError, match=why),
        held(drive_of(roots), wanted, roots, ioctl=drive.ioctl, state=state),
    ):
        pytest.fail("it was set")
    assert drive.done == []
    assert list(state.iterdir()) == []


def test_a_drive_without_hctm_gets_no_command(roots: Roots) -> None:
    drive = Controller()
    with pytest.raises(UsageError, match="has no host controlled thermal management"):
        check(drive_of(roots), Thresholds(70), roots, drive.ioctl)
    assert drive.done == []


def test_two_runs_do_not_set_one_drive(roots: Roots, state: Path) -> None:
    drive = controller()
    with held(drive_of(roots), Thresholds(70), roots, ioctl=drive.ioctl, state=state):
        with (
            pytest.raises(UsageError, match="another run"),
            held(drive_of(roots), Thresholds(60), roots, ioctl=drive.ioctl, state=state),
        ):
            pytest.fail("it was set")
        assert put_back(roots, ioctl=drive.ioctl, state=state) == []
        assert drive.tmt == (343, 350)
    assert drive.tmt == BEFORE


def test_what_others_have_set_meanwhile_stays(roots: Roots, state: Path) -> None:
    drive = controller()
    with held(drive_of(roots), Thresholds(70), roots, ioctl=drive.ioctl, state=state):
        drive.tmt = (320, 330)
    assert drive.tmt == (320, 330)


class Shared(Controller):
    """A drive that remembers its thresholds for a process's child and parent alike."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 8)
        super().__init__(hctm=(LOWEST, HIGHEST), tmt=BEFORE)

    @property
    def tmt(self) -> tuple[int, int]:
        return int.from_bytes(self.memory[:4], "little"), int.from_bytes(self.memory[4:], "little")

    @tmt.setter
    def tmt(self, value: tuple[int, int]) -> None:
        self.memory[:] = b"".join(part.to_bytes(4, "little") for part in value)


def killed_run(drive: Controller, roots: Roots, state: Path) -> None:
    """Set thresholds in a process that is killed meanwhile."""
    setting = held(drive_of(roots), Thresholds(70), roots, ioctl=drive.ioctl, state=state)
    killed_after(setting.__enter__)


def test_what_a_killed_run_has_left_is_put_back_by_the_next(roots: Roots, state: Path) -> None:
    drive = Shared()
    killed_run(drive, roots, state)
    assert drive.tmt == (343, 350)
    [note] = put_back(roots, ioctl=drive.ioctl, state=state)
    assert (note.level, drive.tmt) == ("warning", BEFORE)
    assert "restored" in note.text
    assert put_back(roots, ioctl=drive.ioctl, state=state) == []


def test_what_a_killed_run_has_left_is_reported_while_its_drive_is_away(
    roots: Roots, state: Path, tmp_path: Path
) -> None:
    drive = Shared()
    killed_run(drive, roots, state)
    (tmp_path / "sys" / "devices" / "pci0" / "nvme0" / "serial").write_text("another\n")
    for _ in range(2):
        [note] = put_back(roots, ioctl=drive.ioctl, state=state)
        assert "could not be restored" in note.text
        assert "nvme set-feature" in note.text
    assert drive.tmt == (343, 350)


def test_what_changed_after_a_killed_run_is_left_alone(roots: Roots, state: Path) -> None:
    drive = Shared()
    killed_run(drive, roots, state)
    drive.tmt = (0, 0)  # as after a reset
    [note] = put_back(roots, ioctl=drive.ioctl, state=state)
    assert "left alone" in note.text
    assert drive.tmt == (0, 0)


def test_a_run_that_was_killed_while_it_wrote_down_what_was_had_set_nothing(
    roots: Roots, state: Path
) -> None:
    drive = controller()
    state.mkdir()
    (state / "hctm-S1-0.json").write_text(json.dumps({"serial": "S1"})[:-4])
    [note] = put_back(roots, ioctl=drive.ioctl, state=state)
    assert "had not changed anything" in note.text
    assert drive.done == []
    assert list(state.iterdir()) == []


@pytest.mark.slow
@given(
    tmt1=st.none() | st.just(0.0) | st.floats(-50, 150),
    tmt2=st.none() | st.just(0.0) | st.floats(-50, 150),
)
def test_what_is_set_is_always_permitted_and_always_put_back(
    tmp_path_factory: pytest.TempPathFactory, tmt1: float | None, tmt2: float | None
) -> None:
    directory = tmp_path_factory.mktemp("machine")
    roots = with_nvme(directory)
    drive = controller()
    wanted = Thresholds(tmt1, tmt2)
    try:
        with held(drive_of(roots), wanted, roots, ioctl=drive.ioctl, state=directory / "state"):
            low, high = drive.tmt
            assert all(value == 0 or LOWEST <= value <= HIGHEST for value in (low, high))
            assert low == 0 or high == 0 or low < high
    except UsageError:
        assert SET_FEATURES not in drive.done
    assert drive.tmt == BEFORE
