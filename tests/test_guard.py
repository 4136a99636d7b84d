"""The write guard against real loop devices; every refusal leaves every byte as it was."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from command import complaint
from drive_contents import ext4
from guarded import (
    SIZE,
    Drive,
    Machine,
    MakeDrive,
    another_process,
    drives_in,
    fake_proc,
    needs_loop,
    run,
    tool,
)
from heatsoak.errors import RefusedError
from heatsoak.sensor import Roots, device_behind
from heatsoak.target.guard import claim, doubt, examine
from heatsoak.tools import VARIABLE
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from other_user import as_other_user


@pytest.fixture
def make_drive(tmp_path: Path) -> Iterator[MakeDrive]:
    """Return a function that attaches empty drives."""
    with drives_in(tmp_path) as make:
        yield make


@pytest.fixture
def drive(make_drive: MakeDrive) -> Drive:
    """Return an empty drive."""
    return make_drive()


def refusal(device: Path, erase_id: str | None, roots: Roots | None = None) -> str:
    """Return the message of a refusal, which has to come."""
    with pytest.raises(RefusedError) as caught:
        claim(device, erase_id, roots).close()
    assert caught.value.exit_code == 4
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{device}: ")
    return message


# -- what is on it


@needs_loop
@pytest.mark.parametrize("silent", ["blkid", "wipefs"])
def test_one_witness_is_enough_to_refuse(
    drive: Drive, silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ext4(drive)
    answer = {"blkid": 2, "wipefs": 0}[silent]
    fake_tool(tmp_path / "bin", silent, f"exit {answer}", monkeypatch)
    assert "ext4" in refusal(drive.node, drive.id)


def fake_tool(directory: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text(f"#!/bin/sh\n{script}\n")
    (directory / name).chmod(0o755)
    monkeypatch.setenv(VARIABLE, str(directory))


@needs_loop
@pytest.mark.parametrize(
    ("name", "script"),
    [
        ("blkid", "exit 4"),
        ("blkid", "exit 0"),
        ("blkid", "echo broken >&2; exit 2"),
        ("blkid", "kill -9 $$"),
        ("wipefs", "exit 1"),
        ("wipefs", "echo something strange"),
        ("wipefs", "echo broken >&2"),
    ],
)
def test_a_witness_that_does_not_answer_plainly_means_refusal(
    drive: Drive, name: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_tool(tmp_path / "bin", name, script, monkeypatch)
    assert name in refusal(drive.node, drive.id)


@needs_loop
def test_a_witness_that_hangs_means_refusal(
    drive: Drive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_tool(tmp_path / "bin", "blkid", "exec sleep 60", monkeypatch)
    monkeypatch.setattr(doubt, "TIMEOUT_S", 0.2)
    assert "blkid did not finish" in refusal(drive.node, drive.id)


@needs_loop
def test_missing_witnesses_mean_refusal(drive: Drive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heatsoak.tools.SYSTEM", ())
    monkeypatch.setattr("heatsoak.tools.LOCAL", ())
    message = refusal(drive.node, drive.id)
    assert "blkid is missing" in message
    assert "wipefs is missing" in message


# -- who uses it


@needs_loop
def test_a_mounted_drive_is_refused(drive: Drive, tmp_path: Path) -> None:
    ext4(drive)
    place = tmp_path / "a place"
    place.mkdir()
    run("mount", drive.node, place)
    try:
        assert f"mounted on {place}" in refusal(drive.node, drive.id)
    finally:
        run("umount", place)


@needs_loop
def test_a_drive_held_by_another_process_is_refused(drive: Drive) -> None:
    with another_process("fd = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL)", drive.node):
        assert "holds it exclusively" in refusal(drive.node, drive.id)
        assert "holds it exclusively" in "; ".join(examine(drive.node)[0])


@needs_loop
def test_a_drive_that_is_only_read_elsewhere_is_accepted(drive: Drive) -> None:
    with (
        another_process("fd = os.open(sys.argv[1], os.O_RDONLY)", drive.node),
        claim(drive.node, drive.id) as held,
    ):
        assert held.id == drive.id


@pytest.mark.slow
@needs_loop
def test_a_drive_that_is_claimed_already_is_refused(drive: Drive) -> None:
    with claim(drive.node, drive.id):
        assert "open for writing" in refusal(drive.node, drive.id)
    claim(drive.node, drive.id).close()


@pytest.mark.slow
@needs_loop
def test_of_many_claims_at_once_one_at_most_holds(drive: Drive) -> None:
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


@needs_loop
def test_a_partition_and_a_disk_with_partitions_are_refused(make_drive: MakeDrive) -> None:
    drive = make_drive("--partscan")
    run("addpart", drive.node, 1, 2048, 4096)
    try:
        part = Path(f"{drive.node}p1")
        if not part.exists():
            pytest.skip("nodes of partitions are not made here")
        assert f"partition of {drive.node.name}" in refusal(part, f"{part}:{4096 * 512}")
        assert f"has partitions ({part.name})" in refusal(drive.node, drive.id)
    finally:
        run("delpart", drive.node, 1)


@needs_loop
def test_a_window_onto_another_drive_and_what_is_behind_it_are_refused(
    make_drive: MakeDrive,
) -> None:
    below = make_drive()
    above = make_drive("--offset", str(1 << 20), image=below.node)
    above.size_bytes = SIZE - (1 << 20)
    assert f"it maps {below.node}" in refusal(above.node, above.id)
    assert f"{above.node.name} is attached to it" in refusal(below.node, below.id)


@needs_loop
def test_a_drive_whose_image_is_attached_twice_is_refused(make_drive: MakeDrive) -> None:
    first = make_drive()
    second = make_drive(image=first.image)
    assert f"{first.node.name} is attached to the same file" in refusal(second.node, second.id)


def test_the_disk_of_the_root_directory_is_refused() -> None:
    name = device_behind(Path("/"))
    if name is None or not Path(f"/dev/{name}").exists():
        pytest.skip("the root directory lies on no disk that can be seen here")
    node = Path(f"/dev/{name}")
    assert "mounted on" in refusal(node, None)
    assert examine(node)[0]


@needs_loop
def test_a_read_only_drive_is_refused(make_drive: MakeDrive) -> None:
    drive = make_drive("--read-only")
    assert "read-only" in refusal(drive.node, drive.id)


@needs_loop
def test_a_drive_without_a_medium_is_refused() -> None:
    for node in sorted(Path("/dev").glob("loop[0-9]*")):
        size = Path(f"/sys/block/{node.name}/size")
        with suppress(OSError):
            if size.read_text().strip() == "0":
                refusal(node, f"{node}:0")
                return
    pytest.skip("every loop device is in use")


@needs_loop
def test_a_user_without_permission_is_refused(drive: Drive) -> None:
    words = ("run", "quick", "--on", str(drive.node), "--erase", drive.id)
    line = as_other_user(sys.executable, "-m", "heatsoak", *words)
    message = complaint(
        subprocess.run(line, cwd="/", capture_output=True, text=True, check=False), 4
    )
    assert "refusing to write to it" in message
    assert "root" in message


# -- what is no drive at all


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


@needs_loop
def test_a_missing_id_is_reported_when_all_else_is_well(drive: Drive) -> None:
    assert f"add --erase {drive.id}" in refusal(drive.node, None)
    assert examine(drive.node) == ([], None)


@needs_loop
def test_a_wrong_id_is_reported_with_the_right_one(drive: Drive) -> None:
    message = refusal(drive.node, "S2R9NX0H")
    assert "'S2R9NX0H'" in message
    assert f"'{drive.id}'" in message


@pytest.mark.slow
@needs_loop
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(erase_id=st.one_of(st.text(), st.sampled_from(["", " ", "/dev/loop0", str(SIZE), "yes"])))
def test_nothing_but_the_right_id_is_taken(drive: Drive, erase_id: str) -> None:
    for wrong in (erase_id, drive.id + erase_id if erase_id else drive.id + " ", str(drive.node)):
        refusal(drive.node, wrong)


@pytest.mark.slow
@needs_loop
def test_a_link_is_followed_to_the_drive_that_has_to_be_named(drive: Drive, tmp_path: Path) -> None:
    link = tmp_path / "my drive"
    link.symlink_to(drive.node)
    refusal(link, f"{link}:{SIZE}")
    with claim(link, drive.id) as held:
        assert os.fstat(held.fd).st_rdev == drive.node.stat().st_rdev
    ext4(drive)
    assert "ext4" in refusal(link, drive.id)


@pytest.fixture
def machine(drive: Drive, tmp_path: Path) -> Machine:
    return Machine(tmp_path / "sys", drive)


@needs_loop
def test_a_drive_with_a_serial_takes_it_and_no_path(machine: Machine) -> None:
    (machine.disk / "device" / "serial").write_text("S2R9NX0H \n")
    node = machine.drive.node
    assert "'S2R9NX0H'" in refusal(node, f"/dev/sdx:{SIZE}", machine.roots)
    claim(node, "S2R9NX0H", machine.roots).close()


@needs_loop
def test_two_drives_with_one_serial_are_refused(machine: Machine) -> None:
    (machine.disk / "device" / "serial").write_text("S2R9NX0H")
    machine.add("sdy", "8:16", SIZE, serial="S2R9NX0H")
    assert "cannot be told apart" in refusal(machine.drive.node, "S2R9NX0H", machine.roots)


@needs_loop
def test_a_drive_of_another_size_than_examined_is_refused(machine: Machine) -> None:
    (machine.disk / "size").write_text(str(SIZE // 512 + 8))
    assert "when it was examined" in refusal(
        machine.drive.node, f"/dev/sdx:{SIZE + 4096}", machine.roots
    )


@needs_loop
@pytest.mark.parametrize("relation", ["holders", "slaves"])
def test_a_drive_that_is_part_of_something_or_made_of_something_is_refused(
    machine: Machine, relation: str
) -> None:
    (machine.disk / relation / "dm-0").mkdir()
    assert "dm-0" in refusal(machine.drive.node, f"/dev/sdx:{SIZE}", machine.roots)


@needs_loop
@pytest.mark.parametrize("lost", ["holders", "slaves", "size", "ro", "dev"])
def test_what_the_kernel_does_not_say_means_refusal(machine: Machine, lost: str) -> None:
    path = machine.disk / lost
    path.rmdir() if path.is_dir() else path.unlink()
    refusal(machine.drive.node, f"/dev/sdx:{SIZE}", machine.roots)


@needs_loop
def test_a_drive_under_a_mounted_volume_is_refused(machine: Machine, tmp_path: Path) -> None:
    volume = machine.add("dm-0", "253:0", SIZE)
    (volume / "slaves" / "sdx").symlink_to(machine.disk)
    roots = Roots(sys=machine.base, proc=fake_proc(tmp_path / "proc", "253:0 / /srv/data"))
    assert "mounted on /srv/data" in refusal(machine.drive.node, f"/dev/sdx:{SIZE}", roots)


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


@needs_loop
def test_a_swap_area_that_cannot_be_found_means_refusal(drive: Drive, tmp_path: Path) -> None:
    roots = Roots(proc=fake_proc(tmp_path / "proc", swaps="/gone partition 32764 0 -2\n"))
    assert "/gone" in refusal(drive.node, drive.id, roots)


@needs_loop
def test_mounts_that_cannot_be_read_mean_refusal(drive: Drive, tmp_path: Path) -> None:
    proc = fake_proc(tmp_path / "proc")
    (proc / "2" / "fd").mkdir(parents=True)
    (proc / "2" / "mountinfo").mkdir()
    assert "cannot be read" in refusal(drive.node, drive.id, Roots(proc=proc))


@needs_loop
def test_a_proc_without_processes_means_refusal(drive: Drive, tmp_path: Path) -> None:
    assert "no processes" in refusal(drive.node, drive.id, Roots(proc=tmp_path))


# -- what is given out


@pytest.mark.slow
@needs_loop
def test_an_empty_drive_is_given_out_and_not_touched_by_that(drive: Drive) -> None:
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


@needs_loop
def test_a_drive_that_changes_while_it_is_held_is_noticed(drive: Drive) -> None:
    with claim(drive.node, drive.id) as held:
        os.truncate(drive.image, SIZE // 2)
        run("losetup", "--set-capacity", drive.node)
        with pytest.raises(RefusedError, match="when it was examined"):
            held.recheck()
