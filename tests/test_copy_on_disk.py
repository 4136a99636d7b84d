"""A copy between real places with the real fio: directories, files, loop devices, exports."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from exports import memory_export, set_rate
from heatsoak.protocol import ROLES
from heatsoak.recording import Recording
from loaded import moved_bytes
from loop_drive import attached
from needs import needs
from started import started
from waiting import until

MIB = 1 << 20
SIZE = 96 * MIB

pytestmark = [needs("fio"), pytest.mark.slow]

ROOT = Path(__file__).parents[1]


@pytest.fixture
def short(tmp_path: Path) -> Path:
    """A protocol that copies SIZE bytes, and two empty directories."""
    (tmp_path / "short.toml").write_text(protocol(SIZE))
    for role in ROLES:
        (tmp_path / f"{role} dir").mkdir()
    return tmp_path


def protocol(size: int, bs: str = "1m") -> str:
    return f'schema = 1\nname = "short"\n[[steps]]\nkind = "copy"\nsize = {size}\nbs = "{bs}"\n'


def filled(path: Path, size: int = SIZE) -> str:
    """Write random bytes, and return what they add up to."""
    path.write_bytes(os.urandom(size))
    return checksum(path)


def checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def copied(directory: Path, source: str | Path, to: str | Path, *words: str) -> dict[str, Any]:
    on = ("run", "short.toml", "--on", str(source), "--to", str(to), "-o", "r")
    found: dict[str, Any] = json_here(*on, *words, cwd=directory)
    return found


def copied_bytes(recording: Recording, direction: str) -> float:
    return moved_bytes(recording.samples().filter(pl.col("step") == "copy"), direction)


def test_all_bytes_go_from_one_directory_to_another_and_nothing_is_left(short: Path) -> None:
    found = copied(short, "source dir", "destination dir")
    source, destination = (Recording.open(short / "r" / role) for role in ROLES)
    assert copied_bytes(source, "read") == pytest.approx(SIZE, rel=1e-6)
    assert copied_bytes(destination, "write") == pytest.approx(SIZE, rel=1e-6)
    for recording, idle in ((source, "write"), (destination, "read")):
        assert copied_bytes(recording, idle) == 0
    ((copy,),) = [one["steps"] for one in found["copies"]]
    assert copy["bytes"] == pytest.approx(SIZE, rel=1e-6)
    assert [list((short / f"{role} dir").iterdir()) for role in ROLES] == [[], []]
    # fio's own output, each side's apart
    for role in ROLES:
        document = json.loads((short / "r" / role / "raw" / "copy.json").read_text())
        assert [job["jobname"] for job in document["jobs"]] == [role]
    # both are on one disk, and say so
    for recording in found["recordings"]:
        assert any("share a disk" in note for note in recording["notes"])
    told = heatsoak_here("analyze", "r", cwd=short).stdout
    assert sum("source and destination are both on " in line for line in told.splitlines()) == 1


def test_a_file_that_is_there_is_only_read(short: Path) -> None:
    file = short / "film.mkv"
    before = filled(file)
    file.chmod(0o400)
    copied(short, file, "destination dir")
    assert checksum(file) == before
    source = Recording.open(short / "r" / "source")
    assert [e.step for e in source.events if e.kind == "step-begin"] == ["copy"]
    assert copied_bytes(source, "read") == pytest.approx(SIZE, rel=1e-6)


def test_fio_holds_a_source_device_for_reading_alone(tmp_path: Path) -> None:
    before = filled(tmp_path / "image")
    (tmp_path / "to").mkdir()
    (tmp_path / "short.toml").write_text(protocol(SIZE, "16k"))
    words = [sys.executable, "-m", "heatsoak", "run", "short.toml", "--to", "to", "-o", "r"]
    seen: set[int] = set()
    with attached(tmp_path / "image", SIZE) as node:
        with subprocess.Popen([*words, "--on", str(node)], cwd=tmp_path) as process:
            while process.poll() is None:
                seen |= access_modes(process.pid, node)
                time.sleep(0.02)
        assert process.returncode == 0
    assert seen == {os.O_RDONLY}
    assert checksum(tmp_path / "image") == before


def access_modes(pid: int, node: Path) -> set[int]:
    """How a process and its children have a node open."""
    found = set()
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for of in (str(pid), *children):
            for fd in Path(f"/proc/{of}/fd").iterdir():
                if str(fd.readlink()) == str(node):
                    flags = Path(f"/proc/{of}/fdinfo/{fd.name}").read_text()
                    (octal,) = [x.split()[1] for x in flags.splitlines() if x.startswith("flags")]
                    found.add(int(octal, 8) & os.O_ACCMODE)
    except OSError:
        pass  # it has ended, or closed it
    return found


def test_a_destination_device_has_to_be_named_and_is_untouched_until_then(short: Path) -> None:
    with attached(short / "image", SIZE) as node:
        for name, source in (
            ("short.toml", "source dir"),
            ("nowhere.toml", "source dir"),
            ("short.toml", "nowhere"),
            ("quick", "source dir"),
        ):
            words = ("run", name, "--on", source, "--to", str(node), "-o", "r")
            done = heatsoak_here(*words, cwd=short)
            assert "--erase" in complaint(done, 4)
        assert not any((short / "image").read_bytes())
        assert not (short / "r").exists()
        assert list((short / "source dir").iterdir()) == []
        copied(short, "source dir", node, "--erase", f"{node}:{SIZE}")
        image = (short / "image").read_bytes()
        assert all(any(image[at : at + 4096]) for at in range(0, SIZE, MIB))


def test_what_may_not_be_overwritten_is_refused_with_its_bytes_unchanged(short: Path) -> None:
    file, image = short / "film.mkv", short / "image"
    subprocess.run(["mkfs.ext4", "-q", str(image), "64m"], check=True)
    sums = filled(file), checksum(image)
    done = heatsoak_here(
        "run", "short.toml", "--on", "source dir", "--to", str(file), "-o", "r", cwd=short
    )
    assert "would be overwritten" in complaint(done, 4)
    with attached(image, 64 * MIB) as node:
        name = f"{node}:{64 * MIB}"
        words = ("--to", str(node), "--erase", name, "-o", "r")
        done = heatsoak_here("run", "short.toml", "--on", "source dir", *words, cwd=short)
        assert "ext4" in complaint(done, 4)
    with attached(short / "empty", SIZE) as node:
        words = ("--to", str(node), "--erase", f"{node}:{SIZE}", "-o", "r")
        done = heatsoak_here("run", "short.toml", "--on", str(node), *words, cwd=short)
        assert "is the source itself" in complaint(done, 4)
    assert not any((short / "empty").read_bytes())
    assert (checksum(file), checksum(image)) == sums
    assert not (short / "r").exists()


def test_too_little_room_on_either_side_is_one_line(short: Path) -> None:
    filled(short / "film.mkv", 32 * MIB)
    places = ("--on", "film.mkv", "--to", "destination dir")
    said = complaint(heatsoak_here("run", "short.toml", *places, cwd=short), 2)
    assert "film.mkv and destination dir: there is room to copy 33.6 MB" in said
    assert "'copy' copies 101 MB: --set copy.size=32MiB would fit" in said
    places = ("--on", "source dir", "--to", "destination dir")
    huge = ("--set", f"size={os.statvfs(short).f_blocks * os.statvfs(short).f_frsize}")
    for words in (huge, (*huge, "--dry-run")):
        said = complaint(heatsoak_here("run", "copy", *places, *words, cwd=short), 2)
        assert "10 % of a file system is kept free" in said


def test_a_copy_of_at_most_so_much_is_smaller_where_that_does_not_fit(short: Path) -> None:
    whole = os.statvfs(short).f_blocks * os.statvfs(short).f_frsize
    text = (ROOT / "python/heatsoak/protocol/bundled/copy.toml").read_text("utf-8")
    assert 'at_most = "200GB"' in text
    (short / "huge.toml").write_text(text.replace('"200GB"', str(whole)))
    places = ("--on", "source dir", "--to", "destination dir", "--dry-run")
    done = done_here("run", "huge.toml", *places, "--format", "json", cwd=short)
    assert "that is what there is room for" in done.stderr
    for row in json.loads(done.stdout):
        steps = {step["step"]: step for step in row["steps"]}
        assert 2 * row["written_bytes"] < whole
        assert steps["pause"]["duration_s"] < 150
    done = heatsoak_here("run", "copy", *places, "--set", "size=100MB", cwd=short)
    assert "too short to be judged" in done.stderr


def test_an_interrupted_copy_keeps_both_recordings_and_leaves_nothing(short: Path) -> None:
    (short / "short.toml").write_text(protocol(SIZE, "4k"))
    words = ["run", "short.toml", "--on", "source dir", "--to", "destination dir", "-o", "r"]
    with started(short, *words) as run:
        run.wait_until(lambda: all(run.has_samples_of("copy", below=role) for role in ROLES))
        line = run.end(130, by=signal.SIGINT)
    assert line.endswith("the recordings of both drives so far are in r")
    for role in ROLES:
        recording = Recording.open(short / "r" / role)
        assert recording.meta.status == "interrupted"
        assert recording.samples(["step"])["step"].eq("copy").any()
        assert list((short / f"{role} dir").iterdir()) == []
    done_here("analyze", "r", cwd=short)


@pytest.mark.long
@needs("nbdkit")
@pytest.mark.parametrize("slow", ROLES)
def test_the_side_that_gets_slow_is_named_and_the_other_waits_for_it(
    tmp_path: Path, slow: str
) -> None:
    """Exports of memory, one of which is cut to a third on the way."""
    (tmp_path / "short.toml").write_text(protocol(640 * 1000 * 1000, "512k"))
    for role in ROLES:
        (tmp_path / role).mkdir()
    # a busy machine can still serve this much, in few and large requests
    fast_mb_s, slow_mb_s = 40, 12
    with (
        memory_export(tmp_path / "source", 2 * fast_mb_s) as source,
        memory_export(tmp_path / "destination", 2 * fast_mb_s) as destination,
    ):
        rate = (source if slow == "source" else destination)[1]
        set_rate(rate, fast_mb_s)

        def cut() -> None:
            journal = tmp_path / "r" / slow / "samples.jsonl"
            assert until(lambda: journal.exists() and '"step":"copy"' in journal.read_text())
            time.sleep(8)
            set_rate(rate, slow_mb_s)

        cutter = threading.Thread(target=cut)
        cutter.start()
        found = copied(tmp_path, source[0], destination[0])
        cutter.join()
    ((copy,),) = [one["steps"] for one in found["copies"]]
    assert copy["bottleneck"] == slow
    steps = dict(zip(ROLES, (one["steps"][0] for one in found["recordings"]), strict=True))
    (waiting,) = [role for role in ROLES if role != slow]
    assert steps[waiting]["episodes"], steps[waiting]
    # a busy machine adds short dips of its own
    longest = max(steps[waiting]["episodes"], key=lambda one: one["end_s"] - one["onset_s"])
    assert longest["cause"] == "limited-by-host"
    assert any(f"the {slow} fell at the same time" in line for line in longest["evidence"])
    # a drive that waited was not asked for as much
    assert not any(": the load asked for as much" in line for line in longest["evidence"])
    assert steps[slow]["verdict"] != "limited-by-host"
