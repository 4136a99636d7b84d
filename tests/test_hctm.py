"""TMT1 and TMT2 set for a run: what is permitted, and that they are put back whatever happens."""

import json
import mmap
import os
import signal
import traceback
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from damage import DAMAGE
from heatsoak.errors import ToolError, UsageError
from heatsoak.sensor import Roots
from heatsoak.target import DeviceInfo, Note, hctm, undo
from heatsoak.target.device import describe_device
from heatsoak.target.hctm import Thresholds, check, held, left, put_back
from hypothesis import given
from hypothesis import strategies as st
from machine_tree import with_nvme
from nvme_controller import SET_FEATURES, Controller, answered_by

LOWEST, HIGHEST = 303, 358  # 30 C and 85 C
BEFORE = (0, 350)


@dataclass
class Bench:
    """A drive of one machine, and where what was changed is written down."""

    drive: Controller
    roots: Roots
    state: Path

    @property
    def info(self) -> DeviceInfo:
        return describe_device("nvme0n1", self.roots)

    def held(self, wanted: Thresholds) -> AbstractContextManager[list[Note]]:
        return held(self.info, wanted, self.roots)

    def put_back(self) -> list[Note]:
        return put_back(self.roots)

    def is_as_before(self) -> bool:
        """Whether the drive has what it had, and nothing is left to be put back."""
        return self.drive.tmt == BEFORE and list(self.state.glob("*")) == []


def bench_in(directory: Path, kind: type[Controller] = Controller) -> Bench:
    drive = kind(hctm=(LOWEST, HIGHEST), tmt=BEFORE)
    undo.STATE = directory / "state"
    hctm.NvmeController = answered_by(drive)  # type: ignore[misc]
    return Bench(drive, with_nvme(directory), undo.STATE)


@pytest.fixture(autouse=True)
def kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a test, drives and the place of what is written down are the machine's again."""
    monkeypatch.setattr(undo, "STATE", undo.STATE)
    monkeypatch.setattr(hctm, "NvmeController", hctm.NvmeController)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_in(tmp_path)


def test_thresholds_are_set_for_a_run_and_put_back_after_it(bench: Bench) -> None:
    with bench.held(Thresholds(70)) as notes:
        assert bench.drive.tmt == (343, 350)  # what was not asked for stays as it was
        [note] = notes
        assert note.data == {"tmt_k": [343, 350], "tmt_before_k": list(BEFORE)}
        assert "TMT1 70 C (it was off)" in note.text
        # two runs do not set one drive
        with pytest.raises(UsageError, match="another run"), bench.held(Thresholds(60)):
            pytest.fail("it was set")
        assert bench.put_back() == []
        assert bench.drive.tmt == (343, 350)
    assert bench.is_as_before()
    with bench.held(Thresholds(70)):
        bench.drive.tmt = (320, 330)
    assert bench.drive.tmt == (320, 330)  # what others have set meanwhile stays


@pytest.mark.parametrize("ending", [KeyboardInterrupt, OSError, RuntimeError, GeneratorExit])
def test_thresholds_are_put_back_however_the_run_ends(
    bench: Bench, ending: type[BaseException]
) -> None:
    def run() -> None:
        with bench.held(Thresholds(60, 80)):
            assert bench.drive.tmt == (333, 353)
            raise ending

    with pytest.raises(ending):
        run()
    assert bench.is_as_before()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_they_are_put_back_waits_until_they_are(tmp_path: Path, number: int) -> None:
    class Interrupted(Controller):
        def _set_feature(self, feature: int, value: int) -> int:
            os.kill(os.getpid(), number)
            return super()._set_feature(feature, value)

    bench = bench_in(tmp_path, Interrupted)

    def stop(_number: int, _frame: object) -> None:
        assert bench.drive.done  # not before the command was through
        raise KeyboardInterrupt

    usual = signal.signal(number, stop)
    try:
        with pytest.raises(KeyboardInterrupt), bench.held(Thresholds(60, 80)):
            pytest.fail("the signal came while they were set")
    finally:
        signal.signal(number, usual)
    assert bench.is_as_before()


def test_a_drive_that_sets_other_values_than_asked_gets_back_what_it_had(tmp_path: Path) -> None:
    class Rounds(Controller):
        def _set_feature(self, feature: int, value: int) -> int:
            super()._set_feature(feature, value)
            if self.tmt != BEFORE:
                self.tmt = (self.tmt[0] + 1, self.tmt[1])
            return 0

    bench = bench_in(tmp_path, Rounds)
    said = "but read 71 C and 77 C"
    with pytest.raises(ToolError, match=said), bench.held(Thresholds(70)):
        pytest.fail("it was not set")
    assert bench.is_as_before()


def test_a_drive_that_is_gone_at_the_end_does_not_hide_what_ended_the_run(bench: Bench) -> None:
    def run() -> None:
        with bench.held(Thresholds(70)):
            bench.drive.declines = {0x0A: 0x4002}
            raise ToolError("the drive is gone")

    with pytest.raises(
        ToolError,
        match=r"the drive is gone; nvme0: .* `heatsoak list drives --restore` tries again",
    ):
        run()
    bench.drive.declines = {}
    [note] = bench.put_back()
    assert "restored" in note.text
    assert bench.drive.tmt == BEFORE


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
    bench: Bench, wanted: Thresholds, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        check(bench.info, wanted, bench.roots)
    with pytest.raises(UsageError, match=why), bench.held(wanted):
        pytest.fail("it was set")
    assert bench.drive.done == []
    assert bench.is_as_before()
    bench.drive.hctm = None
    with pytest.raises(UsageError, match="has no host controlled thermal management"):
        check(bench.info, wanted, bench.roots)
    assert bench.drive.done == []


class Shared(Controller):
    """A drive that remembers its thresholds for a process's child and parent alike."""

    @property
    def tmt(self) -> tuple[int, int]:
        return int.from_bytes(self.memory[:4], "little"), int.from_bytes(self.memory[4:], "little")

    @tmt.setter
    def tmt(self, value: tuple[int, int]) -> None:
        if "memory" not in self.__dict__:
            self.memory = mmap.mmap(-1, 8)
        self.memory[:] = b"".join(part.to_bytes(4, "little") for part in value)


@pytest.fixture
def killed(tmp_path: Path) -> Bench:
    """Thresholds were set in a process that was killed meanwhile."""
    bench = bench_in(tmp_path, Shared)
    child = os.fork()
    if child == 0:
        try:
            with bench.held(Thresholds(70)):
                os.kill(os.getpid(), signal.SIGKILL)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)  # it must not go on as a second pytest
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert bench.drive.tmt == (343, 350)
    return bench


def test_what_a_killed_run_has_left_is_put_back_by_the_next(killed: Bench) -> None:
    [note] = killed.put_back()
    assert (note.level, killed.drive.tmt) == ("warning", BEFORE)
    assert "restored" in note.text
    assert killed.put_back() == []


def test_what_a_killed_run_has_left_is_reported_while_its_drive_is_away(
    killed: Bench, tmp_path: Path
) -> None:
    serial = tmp_path / "sys" / "devices" / "pci0" / "nvme0" / "serial"
    serial.write_text("another\n")
    for _ in range(2):
        [note] = killed.put_back()
        assert "could not be restored" in note.text
        assert "nvme set-feature" in note.text
    assert killed.drive.tmt == (343, 350)
    # what changed meanwhile, as after a reset, is left alone
    serial.write_text("S1\n")
    killed.drive.tmt = (0, 0)
    [note] = killed.put_back()
    assert "left alone" in note.text
    assert killed.drive.tmt == (0, 0)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_file_sends_nothing_to_a_drive(killed: Bench, damage: str) -> None:
    [file] = killed.state.iterdir()
    DAMAGE[damage](file)
    told = left()
    for notes in (told, killed.put_back()):
        [note] = notes
        assert "\n" not in note.text
        assert str(killed.state) in note.text
        assert killed.drive.tmt == (343, 350)


def test_a_run_that_was_killed_while_it_wrote_down_what_was_had_set_nothing(bench: Bench) -> None:
    bench.state.mkdir()
    (bench.state / "hctm-S1-0.json").write_text(json.dumps({"serial": "S1"})[:-4])
    [note] = bench.put_back()
    assert "had not changed anything" in note.text
    assert bench.drive.done == []
    assert bench.is_as_before()


@pytest.mark.slow
@given(
    tmt1=st.none() | st.just(0.0) | st.floats(-50, 150),
    tmt2=st.none() | st.just(0.0) | st.floats(-50, 150),
)
def test_what_is_set_is_always_permitted_and_always_put_back(
    tmp_path_factory: pytest.TempPathFactory, tmt1: float | None, tmt2: float | None
) -> None:
    bench = bench_in(tmp_path_factory.mktemp("machine"))
    try:
        with bench.held(Thresholds(tmt1, tmt2)):
            low, high = bench.drive.tmt
            assert all(value == 0 or LOWEST <= value <= HIGHEST for value in (low, high))
            assert low == 0 or high == 0 or low < high
    except UsageError:
        assert SET_FEATURES not in bench.drive.done
    assert bench.drive.tmt == BEFORE
