"""What a killed run has left on drives: told of, and put back only where that was asked for."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from command import complaint, heatsoak_here
from damage import DAMAGE
from guarded import SIZE, Drive, Machine, drives_in, needs_loop
from heatsoak.recording import Recording
from heatsoak.sensor import Roots
from heatsoak.target import undo
from heatsoak.tools import VARIABLE

SECTORS = SIZE // 512
SHOWN = SECTORS - 4096
COMMAND = "heatsoak drives --restore"

#: Each drive of the bench has a file of its own that says how many sectors it shows.
HDPARM = """#!/bin/sh
for word; do device=$word; done
drive={directory}/$(basename "$(readlink "$device")")
echo "$drive $*" >> {directory}/log
shown=$(cat "$drive")
case "$*" in
    *-N[0-9]*) for word; do case $word in -N*) echo "${{word#-N}}" > "$drive" ;; esac; done ;;
    *) echo " max sectors   = $shown/{native}, HPA is enabled" ;;
esac
"""

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
    """Two drives with serials, each of which shows less than it has since a run was killed."""

    directory: Path
    mine: Drive
    other: Drive
    state: Path

    def shown(self, drive: Drive) -> int:
        return int((self.directory / "bin" / drive.node.name).read_text())

    def told(self) -> list[str]:
        """Return what hdparm was told."""
        log = self.directory / "bin" / "log"
        return log.read_text().splitlines() if log.exists() else []

    def file(self, serial: str) -> Path:
        return self.state / f"capacity-{serial}.json"

    def leave(self, serial: str) -> None:
        self.state.mkdir(exist_ok=True)
        said = {"serial": serial, "native": SECTORS, "shown": SHOWN}
        self.file(serial).write_text(json.dumps(said))


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    with drives_in(tmp_path) as make:
        mine, other = make(name="mine"), make(name="other")
        machine = Machine(tmp_path / "sys", mine)
        (machine.disk / "device" / "serial").write_text("MINE-1")
        machine.add("sdy", other.number, SIZE, serial="OTHER-2")
        dev = tmp_path / "dev"
        dev.mkdir()
        (dev / "sdx").symlink_to(mine.node)
        (dev / "sdy").symlink_to(other.node)
        monkeypatch.setattr(Roots.__init__, "__defaults__", (machine.base, dev, Path("/proc")))
        monkeypatch.setattr(undo, "STATE", tmp_path / "state")
        tools = tmp_path / "bin"
        tools.mkdir()
        for drive in (mine, other):
            (tools / drive.node.name).write_text(f"{SHOWN}\n")
        (tools / "hdparm").write_text(HDPARM.format(directory=tools, native=SECTORS))
        (tools / "hdparm").chmod(0o755)
        monkeypatch.setenv(VARIABLE, str(tools))
        (tmp_path / "write.toml").write_text(
            'name = "write"\n[[steps]]\nname = "w"\nrw = "write"\nbs = "64k"\nio_size = "1m"\n'
        )
        (tmp_path / "read.toml").write_text(
            'name = "read"\n[[steps]]\nname = "r"\nrw = "read"\nbs = "64k"\nio_size = "1m"\n'
        )
        bench = Bench(tmp_path, mine, other, tmp_path / "state")
        bench.leave("MINE-1")
        bench.leave("OTHER-2")
        yield bench


@needs_loop
@pytest.mark.parametrize("erase", [("--erase", "MINE-1"), ()])
def test_a_dry_run_opens_nothing_for_writing_and_sends_no_command(
    bench: Bench, erase: tuple[str, ...]
) -> None:
    words = ("run", "write.toml", "--on", str(bench.mine.node), *erase, "--dry-run")
    with overheard() as (opened, requests):
        done = heatsoak_here(*words, cwd=bench.directory)
    assert done.returncode == (0 if erase else 4), done.stderr
    nodes = {str(drive.node) for drive in (bench.mine, bench.other)}
    nodes |= {str(bench.directory / "dev" / name) for name in ("sdx", "sdy")}
    assert any(path in nodes for path, _ in opened)
    assert [path for path, flags in opened if path in nodes and flags & os.O_ACCMODE] == []
    assert all(request >> 8 & 0xFF != ord("N") for request in requests)  # linux/nvme_ioctl.h
    assert bench.told() == []
    assert sorted(path.name for path in bench.state.iterdir()) == [
        "capacity-MINE-1.json",
        "capacity-OTHER-2.json",
    ]


@needs_loop
def test_a_dry_run_asks_an_nvme_drive_neither_for_its_sanitize_nor_for_its_thresholds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "write.toml").write_text(
        'name = "write"\n[[steps]]\nname = "w"\nrw = "write"\nio_size = "1m"\n'
    )
    with drives_in(tmp_path) as make:
        drive = make()
        machine = Machine(tmp_path / "sys", drive, "nvme0n1")
        controller = tmp_path / "sys" / "devices" / "nvme0"
        controller.mkdir()
        (controller / "serial").write_text("S1\n")
        (machine.disk / "device").rmdir()
        (machine.disk / "device").symlink_to(controller)
        dev = tmp_path / "dev"
        dev.mkdir()
        (dev / "nvme0").touch()
        (dev / "nvme0n1").symlink_to(drive.node)
        monkeypatch.setattr(Roots.__init__, "__defaults__", (machine.base, dev, Path("/proc")))
        words = ("run", "write.toml", "--on", str(drive.node), "--erase", "S1", "--tmt1", "70")
        with overheard() as (opened, _):
            done = heatsoak_here(*words, "--dry-run", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert str(dev / "nvme0") not in [path for path, _ in opened]
        with overheard() as (opened, _):  # nor does a real one that is refused without reading
            complaint(heatsoak_here(*words[:4], "-o", "r", cwd=tmp_path), 4)
        assert str(dev / "nvme0") not in [path for path, _ in opened]
        with overheard() as (opened, _):
            complaint(heatsoak_here(*words, "-o", "r", cwd=tmp_path), 3)
        assert str(dev / "nvme0") in [path for path, _ in opened]


@needs_loop
@pytest.mark.parametrize(
    "words", [("drives",), ("run", "write.toml", "--on", "MINE", "--erase", "MINE-1", "--dry-run")]
)
def test_what_was_left_is_only_reported_with_the_command_that_restores_it(
    bench: Bench, words: tuple[str, ...]
) -> None:
    named = [str(bench.mine.node) if word == "MINE" else word for word in words]
    done = heatsoak_here(*named, cwd=bench.directory)
    assert done.returncode == 0
    for serial in ("MINE-1", "OTHER-2"):
        assert any(serial in line and COMMAND in line for line in done.stderr.splitlines())
    assert bench.told() == []


@pytest.mark.slow
@needs_loop
def test_a_run_that_may_write_restores_what_was_left_on_its_own_drive_only(
    bench: Bench,
) -> None:
    words = ("run", "write.toml", "--on", str(bench.mine.node), "--erase", "MINE-1", "-o", "r")
    done = heatsoak_here(*words, cwd=bench.directory)
    assert done.returncode == 0, done.stderr
    assert bench.shown(bench.mine) == SECTORS
    assert bench.shown(bench.other) == SHOWN
    assert not any(bench.other.node.name in line for line in bench.told())
    assert not bench.file("MINE-1").exists()
    assert bench.file("OTHER-2").exists()
    told = [event.text for event in Recording.open(bench.directory / "r").events]
    assert any("MINE-1" in text and "was restored" in text for text in told)


@pytest.mark.slow
@needs_loop
def test_a_run_that_is_refused_or_only_reads_puts_nothing_back(bench: Bench) -> None:
    on = ("--on", str(bench.mine.node))
    complaint(heatsoak_here("run", "write.toml", *on, "-o", "a", cwd=bench.directory), 4)
    done = heatsoak_here("run", "read.toml", *on, "-o", "b", cwd=bench.directory)
    assert done.returncode == 0, done.stderr
    (bench.directory / "place").mkdir()
    (bench.directory / "file.toml").write_text(
        'name = "file"\nfile_size = "4m"\n[[steps]]\nname = "w"\nrw = "write"\nio_size = "1m"\n'
    )
    words = ("run", "file.toml", "--on", "place", "-o", "c")
    done = heatsoak_here(*words, cwd=bench.directory)
    assert done.returncode == 0, done.stderr
    assert bench.told() == []


@needs_loop
def test_restore_puts_back_what_was_left_on_any_drive_and_says_so(bench: Bench) -> None:
    done = heatsoak_here("drives", "--restore", cwd=bench.directory)
    assert done.returncode == 0, done.stderr
    assert [bench.shown(drive) for drive in (bench.mine, bench.other)] == [SECTORS, SECTORS]
    assert len(done.stdout.splitlines()) == 2
    assert done.stdout.count("was restored") == 2
    done = heatsoak_here("drives", "--restore", cwd=bench.directory)
    assert done.stdout.splitlines() == ["nothing to restore: no killed run left anything changed"]


@needs_loop
def test_restore_says_as_json_what_is_still_left_and_fails(bench: Bench) -> None:
    bench.leave("ABSENT-3")
    done = heatsoak_here("drives", "--restore", "--format", "json", cwd=bench.directory)
    assert done.returncode == 3
    rows = json.loads(done.stdout)
    assert [row["is_left"] for row in rows] == [True, False, False]
    assert "ABSENT-3" in rows[0]["said"]
    assert bench.file("ABSENT-3").exists()


@needs_loop
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_or_foreign_file_is_one_line_and_sends_nothing_to_a_drive(
    bench: Bench, damage: str
) -> None:
    bench.file("OTHER-2").unlink()
    DAMAGE[damage](bench.file("MINE-1"))
    run = ("run", "write.toml", "--on", str(bench.mine.node), "--erase", "MINE-1", "--dry-run")
    for words in (("drives",), run, ("drives", "--restore")):
        done = heatsoak_here(*words, cwd=bench.directory)
        said = done.stdout if "--restore" in words else done.stderr
        [line] = said.splitlines()
        assert str(bench.state) in line
    assert bench.told() == []
