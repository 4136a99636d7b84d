"""Two runs on one drive: the second is refused, by whatever name it calls the drive."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command import complaint, done_here, heatsoak_here, ran
from heatsoak.errors import HeatsoakError, RefusedError, ToolError
from heatsoak.sensor import Roots
from heatsoak.target import Place, lock, parse_place
from heatsoak.target.lock import DIRECTORY_VARIABLE, drives_held
from machine import Machine
from needs import needs_root
from other_user import as_other_user
from started import started

LONG = """
schema = 1
name = "long"
file_size = "16m"
steps = [{ name = "read", rw = "randread", rate = "1m", runtime = "60s" }]
"""


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "locks"
    directory.mkdir()
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(directory))
    return directory


def refused(
    place: Place, roots: Roots | None = None, error: type[HeatsoakError] = RefusedError
) -> str:
    """Return why a place cannot be held now."""
    with pytest.raises(error) as caught, drives_held([place], roots or Roots(), "refused"):
        raise AssertionError(f"{place} was held")
    assert caught.value.exit_code == (4 if error is RefusedError else 3)
    return str(caught.value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return parse_place(f"nbd+unix:///?socket={tmp_path}/a")


@pytest.fixture
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where our locks are where no directory is named for them; /run/lock is not touched."""
    monkeypatch.delenv(DIRECTORY_VARIABLE)
    directory = tmp_path / "run"
    if os.geteuid() == 0:
        monkeypatch.setattr(lock, "ROOTS", directory / "heatsoak")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(directory))
    directory.mkdir()
    return directory / "heatsoak"


def test_locks_are_in_a_directory_that_only_we_can_write(place: Place, own_locks: Path) -> None:
    with drives_held([place], Roots(), "first"):
        assert own_locks.stat().st_mode & 0o777 == 0o700
        [file] = own_locks.iterdir()
        assert file.stat().st_mode & 0o077 == 0  # nobody else opens it, and so locks it
        refused(place)


@needs_root
def test_another_user_cannot_keep_roots_runs_away(place: Place) -> None:
    """He makes the lock's file before root does, and holds it, wherever he can write."""
    program = (
        "import fcntl, os, sys\n"
        "held = []\n"
        "for place in ('/run/lock', '/tmp', '/run/heatsoak'):\n"
        "    try:\n"
        "        fd = os.open(f'{place}/{sys.argv[1]}', os.O_RDONLY | os.O_CREAT, 0o666)\n"
        "        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "        held.append(f'{place}/{sys.argv[1]}')\n"
        "    except OSError:\n"
        "        pass\n"
        "print(*held, flush=True)\n"
        "sys.stdin.read()\n"
    )
    run = (
        "import sys; from heatsoak.sensor import Roots; from heatsoak.target import parse_place\n"
        "from heatsoak.target.lock import drives_held\n"
        "with drives_held([parse_place(sys.argv[1])], Roots(), 'run'): print('held')"
    )
    env = {key: value for key, value in os.environ.items() if key != DIRECTORY_VARIABLE}
    plain = re.sub(r"[^A-Za-z0-9]+", "-", place.text)[:40].strip("-")
    name = f"heatsoak-{plain}-{hashlib.sha256(place.text.encode()).hexdigest()[:12]}.lock"
    with subprocess.Popen(
        as_other_user(sys.executable, "-c", program, name),
        cwd="/",
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        held = other.stdout.readline().decode().split()
        try:
            words = [sys.executable, "-c", run, place.text]
            done = ran(*words, env=env)
        finally:
            other.stdin.close()
            other.wait()
            for path in (*held, f"/run/heatsoak/{name}"):
                Path(path).unlink(missing_ok=True)
    assert held
    assert done.stdout == "held\n", done.stderr


@pytest.mark.parametrize("what", ["link", "file", "writable", "another user's"])
def test_a_lock_directory_that_others_made_or_can_write_to_is_not_used(
    tmp_path: Path, place: Place, own_locks: Path, what: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    if what == "link":
        own_locks.symlink_to(elsewhere)
    elif what == "file":
        own_locks.touch()
    else:
        own_locks.mkdir()
        if what == "writable":
            own_locks.chmod(0o777)
        elif os.geteuid() == 0:
            os.chown(own_locks, 65534, 65534)
        else:
            pytest.skip("needs root")
    assert "cannot be locked" in refused(place, error=ToolError)
    assert list(elsewhere.iterdir()) == []


def test_a_pipe_or_a_link_in_place_of_a_lock_is_one_line_and_not_followed(
    tmp_path: Path, place: Place, locks: Path
) -> None:
    with drives_held([place], Roots(), "first"):
        pass
    [file] = locks.iterdir()
    file.unlink()
    os.mkfifo(file)
    assert "is a pipe, not a regular file" in refused(place, error=ToolError)
    file.unlink()
    precious = tmp_path / "precious"
    precious.write_text("precious")
    file.symlink_to(precious)
    assert "cannot be locked" in refused(place, error=ToolError)
    assert precious.read_text() == "precious"


@pytest.mark.slow
def test_the_second_run_on_a_disk_is_refused_until_the_first_is_gone(
    tmp_path: Path, locks: Path
) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "long.toml").write_text(LONG)
    with started(tmp_path, "run", "long.toml", "--on", "one", "-o", "first") as first:
        first.wait_until((first.directory / "recording.json").exists)
        words = ("run", "long.toml", "--on", "two", "-o", "second")
        line = complaint(heatsoak_here(*words, cwd=tmp_path), 4)
        assert "two: another run is using this drive" in line
        assert f"process {first.process.pid}, recording into {tmp_path / 'first'}" in line
        assert not (tmp_path / "second").exists()
        assert list((tmp_path / "two").iterdir()) == []
        done_here("run", "long.toml", "--on", "two", "--dry-run", cwd=tmp_path)
        first.kill()
    (tmp_path / "long.toml").write_text(LONG.replace("60s", "500ms"))
    done_here(*words, cwd=tmp_path)
    assert len(list(locks.iterdir())) == 1


def test_a_drive_is_the_same_by_any_of_its_names(tmp_path: Path, locks: Path) -> None:
    machine = Machine(tmp_path / "machine")
    machine.nvme(0, "0000:01:00.0", "S1")
    block = tmp_path.stat().st_dev
    number = f"{os.major(block)}:{os.minor(block)}"
    machine.link(machine.roots.sys / "dev" / "block" / number, machine.roots.sys / "block/nvme0n1")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    places = [parse_place(str(tmp_path / name)) for name in ("a", "b")]
    with drives_held(places, machine.roots, "both"):
        for place in places:
            assert "another run is using this drive" in refused(place, machine.roots)
    [file] = locks.iterdir()
    with drives_held(places[:1], machine.roots, "again"):
        assert "again" in file.read_text()


def test_simulated_drives_and_other_exports_are_not_locked(tmp_path: Path, locks: Path) -> None:
    simulated = parse_place("sim:samsung-950-pro-512")
    exports = [parse_place(f"nbd+unix:///?socket={tmp_path}/{name}") for name in ("a", "b")]
    with (
        drives_held([simulated, exports[0]], Roots(), "first"),
        drives_held([simulated, exports[1]], Roots(), "second"),
    ):
        refused(exports[0])
    assert len(list(locks.iterdir())) == 2


def test_a_directory_for_locks_that_is_not_there_is_one_line(
    tmp_path: Path, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(DIRECTORY_VARIABLE, str(tmp_path / "nowhere"))
    assert DIRECTORY_VARIABLE in refused(place, error=ToolError)
