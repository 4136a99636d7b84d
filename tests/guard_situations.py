"""Situations in which a drive must not be written, each made around a real loop device.

Whoever asks gives the right ``--erase`` wherever there is one: nothing but the situation itself can
refuse.
"""

import fcntl
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from drive_contents import CONTENTS, ext4, swap
from guarded import SIZE, Drive, Machine, MakeDrive, another_process, fake_proc, run, tool
from heatsoak.sensor import Roots, device_behind
from heatsoak.tools import VARIABLE
from loop_drive import LOCK, detached_behind

PROTOCOLS = {
    "write": '[[steps]]\nname = "w"\nrw = "write"\nbs = "64k"\nio_size = "1m"\n',
    "purge": '[[steps]]\nkind = "purge"\n',
    "copy": '[[steps]]\nkind = "copy"\nsize = "1m"\nbs = "64k"\n',
}


@dataclass
class Attempt:
    """A drive that must not be written, and how a user asks for it all the same.

    Attributes:
        drive: whose bytes are watched; None where it is the machine's own.
        on: what is given to ``--on``, or ``--to``.
        erase: what is given to ``--erase``.
        said: words that the refusal has to say.
        is_nameable: whether it is empty and unused, and only wrongly named.
        protocols: what is run.
    """

    drive: Drive | None
    said: str
    on: Path | None = None
    erase: str | None = None
    is_nameable: bool = False
    protocols: tuple[str, ...] = tuple(PROTOCOLS)

    @property
    def place(self) -> Path:
        if self.on is not None:
            return self.on
        assert self.drive is not None
        return self.drive.node

    @property
    def erase_id(self) -> str:
        if self.erase is not None:
            return self.erase
        assert self.drive is not None
        return self.drive.id


@dataclass
class Bench:
    """What situations are made with."""

    directory: Path
    make: MakeDrive
    patch: pytest.MonkeyPatch
    stack: ExitStack = field(default_factory=ExitStack)

    def roots(self, **trees: Path) -> None:
        """Let the command see other trees of the kernel's than those of this machine."""
        usual = {"sys": Path("/sys"), "dev": Path("/dev"), "proc": Path("/proc")}
        self.patch.setattr(Roots.__init__, "__defaults__", tuple({**usual, **trees}.values()))

    def mount(self, node: Path, *options: str) -> Path:
        place = self.directory / "mounted here"
        place.mkdir()
        run("mount", *options, node, place)
        unmount = [tool("umount"), str(place)]
        self.stack.callback(lambda: subprocess.run(unmount, capture_output=True, check=False))
        return place


Make = Callable[[Bench], AbstractContextManager[Attempt]]
SITUATIONS: dict[str, Make] = {}


def situation(make: Callable[[Bench], Iterator[Attempt]]) -> None:
    """Enter a function into the table under its name."""
    SITUATIONS[make.__name__.replace("_", " ")] = contextmanager(make)


def holding(name: str) -> Make:
    fill, word = CONTENTS[name]

    def make(bench: Bench) -> AbstractContextManager[Attempt]:
        drive = bench.make()
        fill(drive)
        # what lies on it is asked in one place, and these are many
        protocols = tuple(PROTOCOLS) if name in ("ext4", "GPT") else ("write",)
        return nullcontext(Attempt(drive, word, protocols=protocols))

    return make


SITUATIONS |= {f"it holds {name}": holding(name) for name in CONTENTS}


# -- in use


@situation
def mounted(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    ext4(drive)
    place = bench.mount(drive.node, "-o", "noatime")
    run("sync", "-f", place)
    yield Attempt(drive, f"it is mounted on {place}")


@contextmanager
def namespace(mount: str, *arguments: object) -> Iterator[int]:
    """Mount something in a mount namespace of a process's own; give its number."""
    script = f"mount --make-rprivate / && {mount} && echo && read end"
    with subprocess.Popen(
        [tool("unshare"), "--mount", "sh", "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            if process.stdout.readline() != b"\n":
                pytest.skip("mount namespaces cannot be made here")
            yield process.pid
        finally:
            process.stdin.close()


@situation
def mounted_in_another_namespace(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    ext4(drive)
    with namespace('mount -o ro,noload "$0" "$1"', drive.node, bench.directory):
        yield Attempt(drive, f"it is mounted on {bench.directory}")


@situation
def unmounted_lazily_while_a_file_is_open(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    ext4(drive)
    place = bench.mount(drive.node, "-o", "ro")
    bench.stack.callback(os.close, os.open(place, os.O_RDONLY))
    run("umount", "--lazy", place)
    yield Attempt(drive, "holds it exclusively")


@situation
def swap_in_use(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    swap(drive)
    run("swapon", drive.node)
    bench.stack.callback(run, "swapoff", drive.node)
    yield Attempt(drive, "it holds the swap area")


OPENED = "fd = os.open(sys.argv[1], os.O_{})"
#: Maps a file that it does not have open any more.
MAPPED = (
    "import mmap\nfd = os.open(sys.argv[1], os.O_RDWR)\n"
    "mapped = mmap.mmap(fd, 4096)\nos.close(fd)\n"
    "[os.close(int(n)) for n in os.listdir('/proc/self/fd') if int(n) > 2 and "
    "os.path.exists(f'/proc/self/fd/{n}')]"
)


def used(program: str, of: str, said: str = "open for writing") -> Make:
    """Return what has a drive's node, image or deleted image used by another process."""

    @contextmanager
    def make(bench: Bench) -> Iterator[Attempt]:
        drive = bench.make()
        if of == "deleted image":
            kept = drive.image.with_suffix(".kept")
            kept.hardlink_to(drive.image)
            drive.image.unlink()
            drive.image = kept
        with another_process(program, drive.node if of == "node" else drive.image):
            yield Attempt(drive, said)

    return make


SITUATIONS |= {
    "held exclusively by another program": used(
        OPENED.format("RDONLY | os.O_EXCL"), "node", "holds it exclusively"
    ),
    "open for writing elsewhere": used(OPENED.format("RDWR"), "node"),
    "mapped for writing elsewhere": used(MAPPED, "node"),
    "its image open for writing elsewhere": used(OPENED.format("WRONLY"), "image"),
    "its image deleted and open for writing elsewhere": used(
        OPENED.format("WRONLY"), "deleted image"
    ),
    "its image deleted and mapped for writing elsewhere": used(MAPPED, "deleted image"),
}


@contextmanager
def elsewhere(bench: Bench) -> Iterator[tuple[Path, Path]]:
    """Give a directory of another mount namespace, as it is called there and as it is reached here.

    A file system lies there that is mounted nowhere else.
    """
    place = bench.directory / "elsewhere"
    place.mkdir()
    with namespace('mount -t tmpfs none "$0"', place) as pid:
        yield place, Path(f"/proc/{pid}/root{place}")


def attached_elsewhere(bench: Bench, there: Path, reached: Path) -> Drive:
    """Attach an image of another mount namespace: by its path it cannot be found here."""
    image = reached / "drive.img"
    with image.open("wb") as file:
        file.truncate(SIZE)
    pid = reached.parts[2]
    into = ("--target", pid, "--mount", tool("losetup"), "-f", "--show", there / "drive.img")
    bench.stack.enter_context(detached_behind(image))
    with LOCK.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        node = Path(run("nsenter", *into))
    return Drive(image, node)


@situation
def its_image_open_for_writing_in_another_namespace(bench: Bench) -> Iterator[Attempt]:
    with elsewhere(bench) as (there, reached):
        drive = attached_elsewhere(bench, there, reached)
        with another_process(OPENED.format("WRONLY"), drive.image):
            yield Attempt(drive, "open for writing")


@situation
def its_image_behind_a_path_that_is_another_file_here(bench: Bench) -> Iterator[Attempt]:
    with elsewhere(bench) as (there, reached):
        drive = attached_elsewhere(bench, there, reached)
        (there / "drive.img").write_bytes(bytes(4096))
        with another_process(OPENED.format("WRONLY"), drive.image):
            yield Attempt(drive, "open for writing")


@situation
def its_image_attached_twice_once_in_another_namespace(bench: Bench) -> Iterator[Attempt]:
    with elsewhere(bench) as (there, reached):
        first = attached_elsewhere(bench, there, reached)
        second = bench.make(image=first.image)
        yield Attempt(second, f"{first.node.name} is attached to the same file")


@situation
def locked_by_a_partitioning_tool(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    bench.patch.setattr("heatsoak.target.guard.hold._WAITS_S", (0.0, 0.1, 0.3))
    fd = os.open(drive.node, os.O_RDONLY)
    bench.stack.callback(os.close, fd)
    fcntl.flock(fd, fcntl.LOCK_EX)
    yield Attempt(drive, "locked")


@situation
def a_loop_device_lies_on_it(bench: Bench) -> Iterator[Attempt]:
    below = bench.make()
    above = bench.make("--offset", str(1 << 20), image=below.node)
    yield Attempt(below, f"{above.node.name} is attached to it")


@situation
def a_window_onto_another_drive(bench: Bench) -> Iterator[Attempt]:
    below = bench.make()
    above = bench.make("--offset", str(1 << 20), image=below.node)
    size = SIZE - (1 << 20)
    yield Attempt(below, f"it maps {below.node}", above.node, f"{above.node}:{size}")


@situation
def its_image_attached_twice(bench: Bench) -> Iterator[Attempt]:
    first = bench.make()
    second = bench.make(image=first.image)
    yield Attempt(second, f"{first.node.name} is attached to the same file")


@situation
def its_image_attached_twice_by_another_name(bench: Bench) -> Iterator[Attempt]:
    first = bench.make()
    linked = bench.directory / "linked.img"
    linked.hardlink_to(first.image)
    second = bench.make(image=linked)
    yield Attempt(second, f"{first.node.name} is attached to the same file")


# -- what kind of device it is


def with_partition(bench: Bench) -> tuple[Drive, Path]:
    drive = bench.make("--partscan")
    run("addpart", drive.node, 1, 2048, 40960)
    bench.stack.callback(run, "delpart", drive.node, 1)
    part = Path(f"{drive.node}p1")
    if not part.exists():
        pytest.skip("nodes of partitions are not made here")
    return drive, part


@situation
def a_partition(bench: Bench) -> Iterator[Attempt]:
    drive, part = with_partition(bench)
    said = f"it is a partition of {drive.node.name}"
    yield Attempt(drive, said, part, f"{part}:{40960 * 512}")


@situation
def a_disk_with_a_partition(bench: Bench) -> Iterator[Attempt]:
    drive, part = with_partition(bench)
    yield Attempt(drive, f"it has partitions ({part.name})")


@situation
def a_disk_with_a_mounted_partition(bench: Bench) -> Iterator[Attempt]:
    drive, part = with_partition(bench)
    run("mkfs.ext4", "-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", part)
    place = bench.mount(part, "-o", "noatime")
    run("sync", "-f", place)
    yield Attempt(drive, f"something on it is mounted on {place}")


@situation
def attached_read_only(bench: Bench) -> Iterator[Attempt]:
    yield Attempt(bench.make("--read-only"), "read-only")


@situation
def set_read_only(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    run("blockdev", "--setro", drive.node)
    bench.stack.callback(run, "blockdev", "--setrw", drive.node)
    yield Attempt(drive, "read-only")


@situation
def without_a_medium(bench: Bench) -> Iterator[Attempt]:  # noqa: ARG001
    for node in sorted(Path("/dev").glob("loop[0-9]*"), reverse=True):
        size = Path(f"/sys/block/{node.name}/size")
        if size.exists() and size.read_text().strip() == "0":
            yield Attempt(None, "no medium", node, f"{node}:0")
            return
    pytest.skip("every loop device is in use")


@situation
def the_disk_of_the_root_directory(bench: Bench) -> Iterator[Attempt]:  # noqa: ARG001
    name = device_behind(Path("/"))
    node = Path(f"/dev/{name}")
    if name is None or not node.exists():
        pytest.skip("the root directory lies on no disk that can be seen here")
    size = int(Path(f"/sys/block/{name}/size").read_text()) * 512
    yield Attempt(None, "mounted on", node, f"{node}:{size}")


@situation
def a_node_of_a_drive_that_is_gone(bench: Bench) -> Iterator[Attempt]:
    node = bench.directory / "nvme7n1"
    os.mknod(node, stat.S_IFBLK | 0o600, os.makedev(259, 1023))
    yield Attempt(None, "the kernel has no disk with its number", node, "S2R9NX0H")


@situation
def a_link_to_a_drive_that_is_not_empty(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    ext4(drive)
    link = bench.directory / "my drive"
    link.symlink_to(drive.node)
    yield Attempt(drive, "ext4", link, drive.id)


@situation
def a_file_that_is_there(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    ext4(drive)
    place = bench.mount(drive.node, "-o", "noatime")
    path = place / "notes"
    path.write_text("what somebody wrote")
    run("sync", "-f", place)
    yield Attempt(drive, "already exists and would be overwritten", path, drive.id)


# -- how it is named


@situation
def not_named(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    yield Attempt(drive, f"add --erase {drive.id}", erase="", is_nameable=True)


@situation
def named_by_a_mistyped_id(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    wrong = f"{drive.node}:{SIZE + 512}"
    yield Attempt(
        drive, f"this drive (loop, 67.1 MB) is '{drive.id}'", erase=wrong, is_nameable=True
    )


@situation
def named_by_a_link_to_it(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    link = bench.directory / "my-drive"
    link.symlink_to(drive.node)
    yield Attempt(drive, "--erase names", link, f"{link}:{SIZE}", is_nameable=True)


def on_machine(bench: Bench, serial: str | None = None) -> tuple[Drive, Machine]:
    """Return a drive on a machine of its own, where it is called sdx."""
    drive = bench.make()
    machine = Machine(bench.directory / "sys", drive)
    if serial is not None:
        (machine.disk / "device" / "serial").write_text(serial)
    bench.roots(sys=machine.base)
    return drive, machine


AS_SDX = f"/dev/sdx:{SIZE}"


@situation
def named_by_the_serial_of_another_drive(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench, "S2R9NX0H")
    machine.add("sdy", "8:16", SIZE, serial="S3Z8NB0K")
    yield Attempt(drive, "this drive", erase="S3Z8NB0K", is_nameable=True)


@situation
def named_by_its_path_where_it_has_a_serial(bench: Bench) -> Iterator[Attempt]:
    drive, _ = on_machine(bench, "S2R9NX0H")
    yield Attempt(drive, "'S2R9NX0H'", erase=AS_SDX, is_nameable=True)


@situation
def one_of_two_drives_with_one_serial(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench, "S2R9NX0H")
    machine.add("sdy", "8:16", SIZE, serial="S2R9NX0H")
    yield Attempt(drive, "cannot be told apart", erase="S2R9NX0H")


# -- what the kernel has made of it


@situation
def part_of_a_device_mapper_volume_or_an_array(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench)
    (machine.disk / "holders" / "dm-0").mkdir()
    yield Attempt(drive, "it is part of dm-0", erase=AS_SDX)


@situation
def made_of_other_drives(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench)
    (machine.disk / "slaves" / "nvme3n1").symlink_to(machine.add("nvme3n1", "259:3", SIZE))
    yield Attempt(drive, "it is built on nvme3n1", erase=AS_SDX)


@situation
def under_a_mounted_volume(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench)
    volume = machine.add("dm-0", "253:0", SIZE)
    (volume / "slaves" / "sdx").symlink_to(machine.disk)
    proc = fake_proc(bench.directory / "proc", "253:0 / /srv/data")
    bench.roots(sys=machine.base, proc=proc)
    yield Attempt(drive, "something on it is mounted on /srv/data", erase=AS_SDX)


@situation
def served_to_other_machines_by_the_kernel(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench)
    place = machine.base / "kernel/config/nvmet/subsystems/bench/namespaces/1"
    place.mkdir(parents=True)
    (place / "device_path").write_text(f"{drive.node}\n")
    yield Attempt(drive, "an NVMe target serves it", erase=AS_SDX)


@situation
def a_boot_partition_of_an_eMMC(bench: Bench) -> Iterator[Attempt]:  # noqa: N802
    drive, machine = on_machine(bench)
    whole = machine.add("mmcblk0", "179:0", 8 << 30)
    nested = whole / "mmcblk0boot0"
    machine.disk.rename(nested)
    for link in (machine.base / "block" / "sdx", machine.base / "dev" / "block" / drive.number):
        link.unlink()
    (machine.base / "block" / "mmcblk0boot0").symlink_to(nested)
    (machine.base / "dev" / "block" / drive.number).symlink_to(nested)
    yield Attempt(drive, "a hardware partition of mmcblk0", erase=f"/dev/mmcblk0boot0:{SIZE}")


@situation
def raw_flash_of_the_machine(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    machine = Machine(bench.directory / "sys", drive, "mtdblock0")
    bench.roots(sys=machine.base)
    yield Attempt(drive, "raw flash", erase=f"/dev/mtdblock0:{SIZE}")


@situation
def a_zoned_drive(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench)
    (machine.disk / "queue" / "zoned").write_text("host-managed\n")
    yield Attempt(drive, "host-managed zoned", erase=AS_SDX)


@situation
def open_as_a_generic_node(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench)
    generic = machine.disk / "device" / "scsi_generic" / "sg0"
    generic.mkdir(parents=True)
    number = Path("/dev/null").stat().st_rdev  # any character device will do
    (generic / "dev").write_text(f"{os.major(number)}:{os.minor(number)}\n")
    proc = fake_proc(bench.directory / "proc")
    (proc / "1" / "fd" / "3").symlink_to("/dev/null")
    (proc / "1" / "fdinfo").mkdir()
    (proc / "1" / "fdinfo" / "3").write_text("pos:\t0\nflags:\t02\n")
    (proc / "1" / "comm").write_text("scsi-server\n")
    bench.roots(sys=machine.base, proc=proc)
    yield Attempt(drive, "process 1 (scsi-server) has it open for writing", erase=AS_SDX)


# -- what cannot be known


@situation
def a_swap_area_that_cannot_be_found(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    proc = fake_proc(bench.directory / "proc", swaps="/gone partition 32764 0 -2\n")
    bench.roots(proc=proc)
    yield Attempt(drive, "/gone")


@situation
def mounts_that_cannot_be_read(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    proc = fake_proc(bench.directory / "proc")
    (proc / "2" / "fd").mkdir(parents=True)
    (proc / "2" / "mountinfo").mkdir()
    bench.roots(proc=proc)
    yield Attempt(drive, "the mounts of 1 processes")


@situation
def no_processes_to_be_seen(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    (bench.directory / "proc").mkdir()
    bench.roots(proc=bench.directory / "proc")
    yield Attempt(drive, "no processes")


@situation
def a_container_that_does_not_see_all_processes(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    proc = fake_proc(bench.directory / "proc")
    (proc / "2" / "ns" / "pid").unlink()
    (proc / "2" / "ns" / "pid").symlink_to("pid:[4026532289]")
    bench.roots(proc=proc)
    yield Attempt(drive, "cannot see who else uses it")


@situation
def no_blkid_and_no_wipefs(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    (bench.directory / "bin").mkdir()
    bench.patch.setenv(VARIABLE, str(bench.directory / "bin"))
    for name in ("blkid", "wipefs"):
        fake = bench.directory / "bin" / name
        fake.write_text("#!/bin/sh\nexit 7\n")
        fake.chmod(0o755)
    yield Attempt(drive, "blkid cannot tell what is on it")


@situation
def a_loop_device_whose_image_cannot_be_known(bench: Bench) -> Iterator[Attempt]:
    drive, machine = on_machine(bench)
    loop = machine.add("loop99", "7:99", SIZE)  # without a node to ask, and its file is gone
    (loop / "loop").mkdir()
    (loop / "loop" / "backing_file").write_text("/gone/image\n")
    yield Attempt(drive, "loop99", erase=AS_SDX)


@situation
def a_drive_that_cannot_be_read(bench: Bench) -> Iterator[Attempt]:
    drive = bench.make()
    os.truncate(drive.image, SIZE // 2)  # its second half answers with errors
    drive.size_bytes = SIZE
    yield Attempt(drive, "it cannot be read at byte", erase=f"{drive.node}:{SIZE}")


@contextmanager
def bench_in(directory: Path, make: MakeDrive, patch: pytest.MonkeyPatch) -> Iterator[Bench]:
    """Give what situations are made with, and protocols that write."""
    for name, steps in PROTOCOLS.items():
        (directory / f"{name}.toml").write_text(f'name = "{name}"\n{steps}')
    (directory / "source").mkdir()
    bench = Bench(directory, make, patch)
    with bench.stack:
        yield bench
