"""Places that lie in memory: what fits is allowed with a warning, and anything else refused."""

from pathlib import Path

import psutil
import pytest
from command import complaint, heatsoak_here, json_here
from heatsoak.errors import RefusedError
from heatsoak.target.fio import DirectoryTarget, FileTarget
from heatsoak.target.memory import memory_under
from heatsoak.units import Size
from machine import Machine
from needs import needs
from started import small_disk

MIB = 1 << 20
WARNING = "lies in memory: no drive is measured"
#: Text of a protocol that writes a test file of all that is free.
ALL_FREE = 'name = "short"\n[[steps]]\nname = "load"\nrw = "write"\nbs = "64k"\nruntime = "1s"\n'


@needs("fio")
def test_what_does_not_fit_into_memory_is_refused_before_anything_is_reserved(
    tmp_path: Path,
) -> None:
    (tmp_path / "short.toml").write_text(ALL_FREE)
    with small_disk(tmp_path / "place", "8000g") as place:
        run = ("run", "short.toml", "--on", str(place), "--set")
        for more in (["--dry-run"], ["-o", "r"], ["--erase", "S1"]):
            said = complaint(heatsoak_here(*run, "file_size=7000GB", *more, cwd=tmp_path), 4)
            assert f"{place}: lies in memory, and a test file of 7 TB does not fit" in said
            assert not (tmp_path / "r").exists()
        (row,) = json_here(*run, "file_size=64MiB", "--dry-run", cwd=tmp_path)
        assert row["warnings"] == [f"{place}: {WARNING}"]
        assert row["size_bytes"] == 64 * MIB
        (row,) = json_here(*run[:-1], "--dry-run", cwd=tmp_path)
        assert row["size_bytes"] < psutil.virtual_memory().total * 0.9
        assert f"{place}: {WARNING}" in heatsoak_here(*run[:-1], "--dry-run", cwd=tmp_path).stdout
        found = json_here("doctor", "--on", str(place), cwd=tmp_path)["facts"][0]
        assert found["state"] == "limited"
        assert found["found"].startswith(f"{WARNING}; a test file of ")
        assert list(place.iterdir()) == []


def test_where_device_nodes_are_no_file_is_made(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(ALL_FREE)
    refused = "/dev: holds the kernel's device nodes"
    for more in (["--dry-run"], ["-o", "r"]):
        done = heatsoak_here("run", "short.toml", "--on", "/dev", *more, cwd=tmp_path)
        assert refused in complaint(done, 4)
    found = json_here("doctor", "--on", "/dev", cwd=tmp_path)["facts"][0]
    assert (found["state"], f"/dev: {found['found']}".startswith(refused)) == ("missing", True)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine that keeps every file in memory."""
    return mounted(Machine(tmp_path / "machine"), "/ rw - tmpfs tmpfs rw")


def mounted(machine: Machine, *mounts: str) -> Machine:
    lines = "\n".join(f"1 0 0:30 / {mount}" for mount in mounts)
    machine.write(machine.roots.proc / "self", mountinfo=lines)
    return machine


#: A group's limit, what it has taken, what of that is dropped if need be, and where they are told.
GROUPS = {
    "0::/jobs/one": ("", "memory.max", "memory.current", "inactive_file"),
    "4:cpu,memory:/jobs/one": (
        "memory",
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        "total_inactive_file",
    ),
}


@pytest.mark.parametrize("line", GROUPS)
@pytest.mark.parametrize("level", ["jobs/one", "jobs", ""])
def test_the_limit_of_a_control_group_counts_as_the_memory_that_is_free(
    tmp_path: Path, machine: Machine, line: str, level: str
) -> None:
    controller, limit, taken, cache = GROUPS[line]
    group = machine.roots.sys / "fs" / "cgroup" / controller / level
    told = {limit: 300 * MIB, taken: 150 * MIB, "memory.stat": f"anon 1\n{cache} {50 * MIB}"}
    machine.write(machine.roots.proc / "self", cgroup=f"{line}\n9:pids:/")
    machine.write(group, **told)
    whole = DirectoryTarget(tmp_path, roots=machine.roots)
    assert whole.identity.size_bytes == 180 * MIB
    half = DirectoryTarget(tmp_path, Size(percent=50.0), roots=machine.roots)
    assert half.identity.size_bytes == 90 * MIB
    assert DirectoryTarget(tmp_path, Size(bytes=180 * MIB), roots=machine.roots)
    with pytest.raises(RefusedError, match="of which 10 % is kept free: --set file_size=171MiB"):
        DirectoryTarget(tmp_path, Size(bytes=181 * MIB), roots=machine.roots)
    # somebody else takes some between the plan and the run
    machine.write(group, **{limit: 250 * MIB})
    with pytest.raises(RefusedError, match="no longer space for a test file of 189 MB: 5 % of"):
        whole.open(writes=True)
    machine.write(group, **{limit: 150 * MIB})
    with pytest.raises(RefusedError, match="10 % of the free memory"):
        DirectoryTarget(tmp_path, roots=machine.roots)
    machine.write(group, **{limit: "max"})
    assert DirectoryTarget(tmp_path, roots=machine.roots).size_bytes > 180 * MIB


def test_memory_is_known_below_overlays_loop_devices_and_on_ram_disks(
    tmp_path: Path, machine: Machine
) -> None:
    roots, place = machine.roots, tmp_path / "place"
    place.mkdir()
    assert memory_under(place, roots) == "tmpfs"
    for kind in ("ramfs", "devtmpfs"):
        assert memory_under(place, mounted(machine, f"/ rw - {kind} none rw").roots) == kind
    number = f"{place.stat().st_dev >> 8}:{place.stat().st_dev & 255}"
    on_disk = f"{tmp_path} rw - ext4 /dev/disk rw"
    mounted(machine, on_disk)
    assert memory_under(place, roots) is None
    disk = machine.disk(machine.devices / "virtual" / "block", "zram0", number, 1)
    assert memory_under(place, roots) == "zram0"
    disk.rename(disk.with_name("loop0"))
    for link in (roots.sys / "block" / "zram0", roots.sys / "dev" / "block" / number):
        link.unlink()
    machine.link(roots.sys / "block" / "loop0", disk.with_name("loop0"))
    machine.link(roots.sys / "dev" / "block" / number, disk.with_name("loop0"))
    assert memory_under(place, roots) is None
    shm = tmp_path / "shm"
    shm.mkdir()
    (shm / "image").touch()
    machine.write(disk.with_name("loop0") / "loop", backing_file=shm / "image")
    assert memory_under(place, roots) is None
    in_memory = f"{shm} rw - tmpfs tmpfs rw"
    mounted(machine, on_disk, in_memory)
    assert memory_under(place, roots) == "tmpfs"
    mounted(machine, in_memory, f"{place} rw - overlay none rw,upperdir={shm},workdir=/w")
    assert memory_under(place, roots) == "tmpfs"
    mounted(machine, f"{place} rw - overlay none rw,upperdir={place},workdir=/w")
    assert memory_under(place, roots) is None  # leads to itself


def test_a_file_that_is_read_in_memory_is_no_drive_either(tmp_path: Path, machine: Machine) -> None:
    (tmp_path / "file").write_bytes(bytes(MIB))
    target = FileTarget(tmp_path / "file", roots=machine.roots)
    assert WARNING in target.open(writes=False)[0].text
    target.close()
