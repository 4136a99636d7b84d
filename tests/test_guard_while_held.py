"""A drive from its claim to the end of the run: nobody else gets it, none takes its place."""

import errno
import fcntl
import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from command import done_here
from drive_contents import CONTENTS, ext4
from guarded import SIZE, Drive, MakeDrive, another_process, needs_loop, run
from heatsoak.errors import RefusedError
from heatsoak.protocol import Protocol
from heatsoak.target import Place
from heatsoak.target.fio import BlockTarget
from heatsoak.target.guard.content import marks
from heatsoak.target.place import inventory
from hypothesis import given
from hypothesis import strategies as st
from loop_drive import detach, detached_behind, none_is_attached

pytestmark = [needs_loop, pytest.mark.slow]


def is_held(node: Path) -> bool:
    try:
        os.close(os.open(node, os.O_RDONLY | os.O_EXCL))
    except OSError as error:
        return error.errno == errno.EBUSY
    return False


def test_no_one_else_can_take_the_drive_from_the_first_step_to_the_last(
    make_drive: MakeDrive,
) -> None:
    drive = make_drive()
    steps = Protocol.model_validate(
        {
            "name": "held",
            "steps": [
                {"name": "w", "rw": "write", "bs": "64k", "io_size": "2m"},
                {"kind": "purge"},
                {"kind": "pause", "duration": "300ms"},
                {"name": "r", "rw": "randread", "io_size": "1m"},
            ],
        }
    ).workload_steps
    target = BlockTarget(drive.node, drive.id)
    assert not is_held(drive.node)
    target.open(writes=True)
    try:
        looks = [
            is_held(drive.node)
            for batches in (
                target.run(steps[0]),
                target.purge(),
                target.idle(0.3),
                target.run(steps[1]),
            )
            for _ in batches
        ]
        looks.append(is_held(drive.node))
    finally:
        target.close()
    assert len(looks) > 4
    assert all(looks)
    assert not is_held(drive.node)


def test_a_drive_that_vanished_in_between_or_another_in_its_place_is_refused(
    make_drive: MakeDrive, tmp_path: Path
) -> None:
    drive = make_drive()
    other = tmp_path / "other.img"
    with other.open("wb") as file:
        file.truncate(SIZE)
    target = Place(str(drive.node), "block").target(None, erase_id=drive.id)
    with detached_behind(other):
        with none_is_attached():
            detach(drive.node)
            with pytest.raises(RefusedError, match="another drive"):
                target.open(writes=True)
            run("losetup", drive.node, other)
        with pytest.raises(RefusedError, match=r"its sequence was .*: it is another drive"):
            target.open(writes=True)
    assert not any(other.read_bytes())


def test_a_drive_replaced_between_two_steps_gets_none_of_the_next(make_drive: MakeDrive) -> None:
    """The kernel's count of disks tells two that have all else in common."""
    drive = make_drive()
    writes = drive.writes()
    target = BlockTarget(drive.node, drive.id)
    target.open(writes=True)
    try:
        held = target._claimed
        assert held is not None
        assert held.info.sequence is not None
        held.info = replace(held.info, sequence=held.info.sequence - 1)
        step = Protocol.model_validate(
            {"name": "next", "steps": [{"name": "w", "rw": "write", "io_size": "1m"}]}
        ).workload_steps[0]
        for batches in (target.run(step), target.purge("discard")):
            with pytest.raises(RefusedError, match="removed or replaced"):
                list(batches)
    finally:
        target.close()
    assert drive.writes() == writes


def test_a_protocol_that_only_reads_cannot_write_whatever_is_on_the_drive(
    make_drive: MakeDrive, tmp_path: Path
) -> None:
    drive = make_drive()
    ext4(drive)
    before, writes = drive.sum(), drive.writes()
    (tmp_path / "reads.toml").write_text(
        'name = "reads"\n[[steps]]\nname = "r"\nrw = "randread"\nio_size = "4m"\n'
    )
    done_here("run", "reads.toml", "--on", str(drive.node), "-o", "r", cwd=tmp_path)
    events = [json.loads(line) for line in (tmp_path / "r/events.jsonl").read_text().splitlines()]
    (line,) = [event["data"]["command"] for event in events if "command" in event.get("data", {})]
    assert "--readonly" in line
    assert drive.writes() == writes
    assert drive.sum() == before


def test_a_lock_that_is_let_go_soon_is_waited_for_and_one_is_kept_for_the_whole_claim(
    make_drive: MakeDrive,
) -> None:
    drive = make_drive()
    others = os.open(drive.node, os.O_RDONLY)
    fcntl.flock(others, fcntl.LOCK_SH)
    ending = threading.Timer(0.3, os.close, (others,))  # as udev does when it has looked
    ending.start()
    target = BlockTarget(drive.node, drive.id)
    fd = os.open(drive.node, os.O_RDONLY)
    try:
        target.open(writes=True)
        with pytest.raises(BlockingIOError):
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        target.close()
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    finally:
        ending.join()
        os.close(fd)
        target.close()


def test_drives_says_of_each_what_a_run_on_it_would_say(make_drive: MakeDrive) -> None:
    def holding(name: str) -> Drive:
        drive = make_drive(name=name)
        CONTENTS[name][0](drive)
        return drive

    expected = {holding(name): CONTENTS[name][1] for name in ("ext4", "LVM PV", "GPT")}
    expected[make_drive("--read-only", name="read-only")] = "read-only"
    busy, free = make_drive(name="busy"), make_drive(name="free")
    expected[busy] = "open for writing"
    with another_process("fd = os.open(sys.argv[1], os.O_RDWR)", busy.node):
        rows = {row.path: row for row in inventory()}
        for drive, word in expected.items():
            row = rows[str(drive.node)]
            assert not row.writable
            assert word in row.why.lower() + row.why
            with pytest.raises(RefusedError) as refused:
                BlockTarget(drive.node, drive.id).open(writes=True)
            assert str(refused.value) == f"{drive.node}: refusing to write to it: {row.why}"
    assert rows[str(free.node)].writable
    assert rows[str(free.node)].id == free.id


@given(begin=st.binary(max_size=8192), end=st.binary(max_size=8192), more=st.integers(0, 1 << 40))
def test_marks_are_looked_for_in_any_bytes(begin: bytes, end: bytes, more: int) -> None:
    length = min(len(begin), len(end))
    found = marks(begin[:length], end[:length], length + more)
    assert all(isinstance(kind, str) and kind for kind in found)
    assert marks(bytes(length), bytes(length), length + more) == []
