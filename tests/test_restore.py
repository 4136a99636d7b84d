"""What a killed run has left on drives: told of, and put back only where that was asked for."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import nvme_controller
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from damage import DAMAGE
from guarded import Drive, Machine, drives_in, needs_loop
from heatsoak.recording import Recording
from heatsoak.sensor import Roots
from heatsoak.target import hctm, undo
from nvme_controller import Controller

#: TMT1 and TMT2 in kelvin: as they were, and as a killed run has set them.
BEFORE, SET = (0, 350), (343, 350)
COMMAND = "heatsoak list drives --restore"

_opened: list[tuple[str, int]] = []
_commands: list[int] = []
_listens = False


def _hear(event: str, words: tuple[object, ...]) -> None:
    if not _listens:
        return
    if event == "open" and isinstance(words[2], int):
        _opened.append((str(words[0]), words[2]))
    elif event == "fcntl.ioctl" and isinstance(words[1], int):
        _commands.append(words[1])


sys.addaudithook(_hear)  # PEP 578: Python tells what it opens, and there is no taking it away again


@contextmanager
def overheard() -> Iterator[tuple[list[tuple[str, int]], list[int]]]:
    """Give what this process opens, with the flags, and the requests of its ioctls."""
    global _listens
    _opened.clear()
    _commands.clear()
    _listens = True
    try:
        yield _opened, _commands
    finally:
        _listens = False


@dataclass
class Bench:
    """An NVMe drive with the thresholds of a killed run; of another one they are only known."""

    directory: Path
    drive: Drive
    controller: Controller
    state: Path

    def file(self, serial: str) -> Path:
        return self.state / f"hctm-{serial}-0.json"

    def leave(self, serial: str) -> None:
        self.state.mkdir(exist_ok=True)
        said = {"serial": serial, "cntlid": "0", "before_k": BEFORE, "set_k": SET}
        self.file(serial).write_text(json.dumps(said))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with drives_in(tmp_path) as make:
        drive = make()
        machine = Machine(tmp_path / "sys", drive, "nvme0n1")
        place = tmp_path / "sys" / "devices" / "nvme0"
        place.mkdir()
        (place / "serial").write_text("MINE-1\n")
        (place / "cntlid").write_text("0\n")
        (machine.disk / "device").rmdir()
        (machine.disk / "device").symlink_to(place)
        (tmp_path / "sys" / "class" / "nvme").mkdir(parents=True)
        (tmp_path / "sys" / "class" / "nvme" / "nvme0").symlink_to(place)
        dev = tmp_path / "dev"
        dev.mkdir()
        (dev / "nvme0").touch()
        (dev / "nvme0n1").symlink_to(drive.node)
        monkeypatch.setattr(Roots.__init__, "__defaults__", (machine.base, dev, Path("/proc")))
        monkeypatch.setattr(undo, "STATE", tmp_path / "state")
        controller = Controller(hctm=(303, 358), tmt=SET)
        # sensors and others that ask get the kernel's answers
        monkeypatch.setattr(hctm, "NvmeController", nvme_controller.answered_by(controller))
        for name, rw in (("write", "write"), ("read", "read")):
            step = f'[[steps]]\nname = "s"\nrw = "{rw}"\nbs = "64k"\nio_size = "1m"\n'
            (tmp_path / f"{name}.toml").write_text(f'name = "{name}"\n{step}')
        bench = Bench(tmp_path, drive, controller, tmp_path / "state")
        bench.leave("MINE-1")
        bench.leave("OTHER-2")
        yield bench


@needs_loop
@pytest.mark.parametrize("erase", [("--erase", "MINE-1"), ()])
def test_a_dry_run_opens_nothing_for_writing_and_sends_no_command(
    bench: Bench, erase: tuple[str, ...]
) -> None:
    words = ("run", "write.toml", "--on", str(bench.drive.node), *erase, "--dry-run")
    with overheard() as (opened, requests):
        done = heatsoak_here(*words, cwd=bench.directory)
    assert done.returncode == (0 if erase else 4), done.stderr
    nodes = {str(bench.drive.node), str(bench.directory / "dev" / "nvme0n1")}
    assert any(path in nodes for path, _ in opened)
    assert [path for path, flags in opened if path in nodes and flags & os.O_ACCMODE] == []
    assert all(request >> 8 & 0xFF != ord("N") for request in requests)  # linux/nvme_ioctl.h
    assert bench.controller.done == []
    assert sorted(bench.state.iterdir()) == [bench.file("MINE-1"), bench.file("OTHER-2")]


@needs_loop
def test_a_dry_run_asks_an_nvme_drive_neither_for_its_sanitize_nor_for_its_thresholds(
    bench: Bench,
) -> None:
    node, on = str(bench.directory / "dev" / "nvme0"), ("--on", str(bench.drive.node))
    words = ("run", "write.toml", *on, "--erase", "MINE-1", "--tmt1", "70")
    with overheard() as (opened, _):
        done = heatsoak_here(*words, "--dry-run", cwd=bench.directory)
    assert done.returncode == 0, done.stderr
    assert node not in [path for path, _ in opened]
    with overheard() as (opened, _):  # nor does a real one that is refused without reading
        complaint(heatsoak_here(*words[:4], "-o", "r", cwd=bench.directory), 4)
    assert node not in [path for path, _ in opened]
    with overheard() as (opened, _):
        assert heatsoak_here(*words, "-o", "r", cwd=bench.directory).returncode == 0
    assert node in [path for path, _ in opened]


@needs_loop
@pytest.mark.parametrize(
    "words",
    [("list", "drives"), ("run", "write.toml", "--on", "MINE", "--erase", "MINE-1", "--dry-run")],
)
def test_what_was_left_is_only_reported_with_the_command_that_restores_it(
    bench: Bench, words: tuple[str, ...]
) -> None:
    named = [str(bench.drive.node) if word == "MINE" else word for word in words]
    done = done_here(*named, cwd=bench.directory)
    for serial in ("MINE-1", "OTHER-2"):
        assert any(serial in line and COMMAND in line for line in done.stderr.splitlines())
    assert bench.controller.done == []


@pytest.mark.slow
@needs_loop
def test_a_run_that_may_write_restores_what_was_left_on_its_own_drive_only(bench: Bench) -> None:
    words = ("run", "write.toml", "--on", str(bench.drive.node), "--erase", "MINE-1", "-o", "r")
    done_here(*words, cwd=bench.directory)
    assert bench.controller.tmt == BEFORE
    assert not bench.file("MINE-1").exists()
    assert bench.file("OTHER-2").exists()
    told = [event.text for event in Recording.open(bench.directory / "r").events]
    assert any("MINE-1" in text and "were restored" in text for text in told)


@pytest.mark.slow
@needs_loop
def test_a_run_that_is_refused_or_only_reads_puts_nothing_back(bench: Bench) -> None:
    on = ("--on", str(bench.drive.node))
    complaint(heatsoak_here("run", "write.toml", *on, "-o", "a", cwd=bench.directory), 4)
    done_here("run", "read.toml", *on, "-o", "b", cwd=bench.directory)
    (bench.directory / "place").mkdir()
    (bench.directory / "file.toml").write_text(
        'name = "file"\nfile_size = "4m"\n[[steps]]\nname = "w"\nrw = "write"\nio_size = "1m"\n'
    )
    words = ("run", "file.toml", "--on", "place", "-o", "c")
    done_here(*words, cwd=bench.directory)
    assert bench.controller.done == []


@needs_loop
def test_restore_puts_back_what_was_left_and_says_what_is_still_left(bench: Bench) -> None:
    rows = json_here("list", "drives", "--restore", cwd=bench.directory, code=3)
    assert [row["is_left"] for row in rows] == [False, True]
    assert "were restored" in rows[0]["said"]
    assert "OTHER-2" in rows[1]["said"]
    assert bench.controller.tmt == BEFORE
    assert list(bench.state.iterdir()) == [bench.file("OTHER-2")]
    bench.file("OTHER-2").unlink()
    done = done_here("list", "drives", "--restore", cwd=bench.directory)
    assert done.stdout.splitlines() == ["nothing to restore: no killed run left anything changed"]


@needs_loop
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_file_is_one_line_and_sends_nothing_to_a_drive(
    bench: Bench, damage: str
) -> None:
    bench.file("OTHER-2").unlink()
    DAMAGE[damage](bench.file("MINE-1"))
    run = ("run", "write.toml", "--on", str(bench.drive.node), "--erase", "MINE-1", "--dry-run")
    for words in (("list", "drives"), run, ("list", "drives", "--restore")):
        done = heatsoak_here(*words, cwd=bench.directory)
        said = done.stdout if "--restore" in words else done.stderr
        [line] = said.splitlines()
        assert str(bench.state) in line
    assert bench.controller.done == []
