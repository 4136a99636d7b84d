"""The write guard against real loop devices; every refusal leaves every byte as it was."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from command import complaint
from drive_contents import ext4
from guard_situations import SITUATIONS, bench_in
from guarded import (
    SIZE,
    Drive,
    Machine,
    MakeDrive,
    another_process,
    fake_proc,
    needs_loop,
    run,
    tool,
)
from heatsoak.errors import RefusedError
from heatsoak.sensor import Roots
from heatsoak.target.guard import claim, content, examine
from heatsoak.tools import VARIABLE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from other_user import as_other_user


@pytest.fixture
def drive(make_drive: MakeDrive) -> Drive:
    """Return an empty drive."""
    return make_drive()


@pytest.fixture
def quiet(tmp_path: Path) -> Roots:
    """A machine with hardly a process: what is not about these is asked of it, and so told fast."""
    return Roots(proc=fake_proc(tmp_path / "quiet"))


def refusal(device: Path, erase_id: str | None, roots: Roots | None = None) -> str:
    """Return the message of a refusal, which has to come."""
    with pytest.raises(RefusedError) as caught:
        claim(device, erase_id, roots).close()
    assert caught.value.exit_code == 4
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{device}: ")
    return message


@needs_loop
@pytest.mark.parametrize("name", [name for name in SITUATIONS if not name.startswith("it holds")])
def test_no_drive_is_given_out_that_must_not_be_written(
    make_drive: MakeDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with bench_in(tmp_path, make_drive, monkeypatch) as bench, SITUATIONS[name](bench) as attempt:
        if not attempt.place.is_block_device():
            pytest.skip("no drive is named: the command alone can refuse")
        said = attempt.said.lower()
        assert said in refusal(attempt.place, attempt.erase_id or None).lower()
        if attempt.is_nameable:
            assert examine(attempt.place) == ([], None)
        else:
            assert said in "; ".join(examine(attempt.place)[0]).lower()


# -- what is on it


def fake_tool(directory: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(directory))


@needs_loop
@pytest.mark.parametrize(("silent", "answer"), [("blkid", 2), ("wipefs", 0)])
def test_one_witness_is_enough_to_refuse(
    drive: Drive,
    quiet: Roots,
    silent: str,
    answer: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ext4(drive)
    fake_tool(tmp_path / "bin", silent, f"exit {answer}", monkeypatch)
    assert "ext4" in refusal(drive.node, drive.id, quiet)


@needs_loop
def test_a_witness_that_does_not_answer_plainly_means_refusal(
    drive: Drive, quiet: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (name, script) in enumerate(
        (
            ("blkid", "exit 4"),
            ("blkid", "exit 0"),
            ("blkid", "echo broken >&2; exit 2"),
            ("blkid", "kill -9 $$"),
            ("wipefs", "exit 1"),
            ("wipefs", "echo something strange"),
            ("wipefs", "echo broken >&2"),
        )
    ):
        fake_tool(tmp_path / str(number), name, script, monkeypatch)
        assert name in refusal(drive.node, drive.id, quiet), script
    fake_tool(tmp_path / "hangs", "blkid", "exec sleep 60", monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(content, "TIMEOUT_S", 0.2)
        assert "blkid did not finish" in refusal(drive.node, drive.id, quiet)
    monkeypatch.delenv(VARIABLE)
    for place in ("SYSTEM", "LOCAL"):
        monkeypatch.setattr(f"heatsoak.tools.{place}", ())
    message = refusal(drive.node, drive.id, quiet)
    assert "blkid is missing" in message
    assert "wipefs is missing" in message


# -- who uses it


@needs_loop
def test_a_drive_that_is_only_read_elsewhere_is_accepted(drive: Drive) -> None:
    with (
        another_process("fd = os.open(sys.argv[1], os.O_RDONLY)", drive.node),
        claim(drive.node, drive.id) as held,
    ):
        assert held.id == drive.id


@pytest.mark.slow
@needs_loop
def test_of_many_claims_at_once_or_one_after_the_other_one_at_most_holds(drive: Drive) -> None:
    with claim(drive.node, drive.id):
        assert "open for writing" in refusal(drive.node, drive.id)
    held, refused = [], []

    def attempt() -> None:
        try:
            held.append(claim(drive.node, drive.id))
        except RefusedError as error:
            refused.append(error)

    threads = [threading.Thread(target=attempt) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(held) <= 1
    assert len(held) + len(refused) == len(threads)
    for one in held:
        one.close()
    claim(drive.node, drive.id).close()


@needs_loop
def test_a_user_without_permission_is_refused(drive: Drive) -> None:
    words = ("run", "quick", "--on", str(drive.node), "--erase", drive.id)
    line = as_other_user(sys.executable, "-m", "heatsoak", *words)
    message = complaint(
        subprocess.run(line, cwd="/", capture_output=True, text=True, check=False), 4
    )
    assert "refusing to write to it" in message
    assert "root" in message


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda _: None, "does not exist"),
        (lambda path: path.write_text("data"), "regular file"),
        (lambda path: path.mkdir(), "directory"),
        (os.mkfifo, "pipe"),
        (lambda path: path.symlink_to("/nowhere"), "does not exist"),
        (lambda path: path.symlink_to(path), "cannot be examined"),
        (lambda path: path.symlink_to("/dev/null"), "character device"),
    ],
    ids=["absent", "file", "directory", "pipe", "dangling", "circle", "link"],
)
def test_what_is_not_a_block_device_is_refused(
    make: Callable[[Path], object], word: str, tmp_path: Path
) -> None:
    path = tmp_path / "thing"
    make(path)
    assert word in refusal(path, f"{path}:4096")
    assert word in "; ".join(examine(path)[0])


# -- its name


@pytest.mark.slow
@needs_loop
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(erase_id=st.one_of(st.text(), st.sampled_from(["", " ", "/dev/loop0", str(SIZE), "yes"])))
def test_nothing_but_the_right_id_is_taken(drive: Drive, quiet: Roots, erase_id: str) -> None:
    for wrong in (erase_id, drive.id + erase_id if erase_id else drive.id + " "):
        refusal(drive.node, wrong, quiet)


@pytest.mark.slow
@needs_loop
def test_a_wrong_id_is_reported_with_the_right_one_and_a_link_is_followed_to_the_drive(
    drive: Drive, tmp_path: Path
) -> None:
    refusal(drive.node, str(drive.node))
    message = refusal(drive.node, "S2R9NX0H")
    assert "'S2R9NX0H'" in message
    assert f"'{drive.id}'" in message
    link = tmp_path / "my drive"
    link.symlink_to(drive.node)
    refusal(link, f"{link}:{SIZE}")
    with claim(link, drive.id) as held:
        assert os.fstat(held.fd).st_rdev == drive.node.stat().st_rdev
    ext4(drive)
    assert "ext4" in refusal(link, drive.id)


# -- what the kernel says of it


@pytest.fixture
def machine(drive: Drive, quiet: Roots, tmp_path: Path) -> Machine:
    made = Machine(tmp_path / "sys", drive)
    made.roots = replace(quiet, sys=made.base)
    return made


@needs_loop
def test_a_drive_with_a_serial_takes_it_and_no_path(machine: Machine) -> None:
    (machine.disk / "device" / "serial").write_text("S2R9NX0H \n")
    node = machine.drive.node
    assert "'S2R9NX0H'" in refusal(node, f"/dev/sdx:{SIZE}", machine.roots)
    claim(node, "S2R9NX0H", machine.roots).close()


@needs_loop
def test_what_the_kernel_says_otherwise_or_not_at_all_means_refusal(machine: Machine) -> None:
    def said(size: int = SIZE) -> str:
        return refusal(machine.drive.node, f"/dev/sdx:{size}", machine.roots)

    size = machine.disk / "size"
    size.write_text(str(SIZE // 512 + 8))
    assert "when it was examined" in said(SIZE + 4096)
    size.write_text(str(SIZE // 512))
    claim(machine.drive.node, f"/dev/sdx:{SIZE}", machine.roots).close()
    for relation in ("holders", "slaves"):
        (machine.disk / relation / "dm-0").mkdir()
        assert "dm-0" in said()
        (machine.disk / relation / "dm-0").rmdir()
    for lost in ("holders", "slaves", "size", "ro", "dev"):
        path = machine.disk / lost
        path.rename(machine.base / "lost")
        said()
        (machine.base / "lost").rename(path)
    claim(machine.drive.node, f"/dev/sdx:{SIZE}", machine.roots).close()


@needs_loop
def test_a_second_place_that_a_drive_is_mounted_on_is_counted(
    machine: Machine, tmp_path: Path
) -> None:
    volume = machine.add("dm-0", "253:0", SIZE)
    (volume / "slaves" / "sdx").symlink_to(machine.disk)
    proc = fake_proc(tmp_path / "proc", "253:0 / /srv/data")
    with (proc / "1" / "mountinfo").open("a") as mounts:
        mounts.write("23 1 253:0 / /srv/more rw - ext4 /dev/somewhere rw\n")
    roots = Roots(sys=machine.base, proc=proc)
    said = refusal(machine.drive.node, f"/dev/sdx:{SIZE}", roots)
    assert "mounted on /srv/data and 1 more place" in said
    assert "places" not in said


@needs_loop
def test_a_drive_in_use_as_swap_is_refused(drive: Drive, tmp_path: Path) -> None:
    swaps = f"{drive.node} partition 32764 0 -2\n"
    roots = Roots(proc=fake_proc(tmp_path / "proc", swaps=swaps))
    assert "swap" in refusal(drive.node, drive.id, roots)


# -- what is given out


@pytest.mark.slow
@needs_loop
def test_an_empty_drive_is_given_out_not_touched_by_that_and_watched(drive: Drive) -> None:
    before, writes = drive.sum(), drive.writes()
    with claim(drive.node, drive.id) as held:
        assert held.size_bytes == SIZE
        assert held.path == drive.node
        assert os.fstat(held.fd).st_rdev == drive.node.stat().st_rdev
        assert held.fd_path == f"/proc/self/fd/{held.fd}"
        assert not os.get_inheritable(held.fd)
        held.recheck()
    assert held.fd == -1
    held.close()
    assert drive.writes() == writes
    assert drive.sum() == before
    with claim(drive.node, drive.id) as held:
        os.truncate(drive.image, SIZE // 2)
        run("losetup", "--set-capacity", drive.node)
        with pytest.raises(RefusedError, match="when it was examined"):
            held.recheck()


@pytest.mark.slow
@needs_loop
def test_fio_can_write_through_the_claim(drive: Drive) -> None:
    fio = tool("fio")
    with claim(drive.node, drive.id) as held:
        subprocess.run(
            [
                *(fio, "--name=w", f"--filename={held.fd_path}", "--rw=write", "--bs=128k"),
                *("--size=1m", "--direct=1", "--thread", "--ioengine=psync"),
            ],
            pass_fds=[held.fd],
            check=True,
            capture_output=True,
            timeout=200,
        )
        held.recheck()
    assert any(drive.image.read_bytes()[: 1 << 20])
    assert not any(drive.image.read_bytes()[1 << 20 :])
