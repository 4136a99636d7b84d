"""Whatever happens to a target between two steps of a run, nothing is written over it.

By seed: a kind of target, what happens to it, and when. What comes between the samples is not seen
(docs/write-guard.md): these targets are so small that 200 kB always reach one.
"""

import os
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from command import heatsoak_here
from documented import table
from drive_contents import CONTENTS
from exports import file_export
from guarded import Drive, another_process, needs_loop
from heatsoak.bench.conductor import Conductor
from heatsoak.target.fio import DirectoryTarget
from janitor import undone_by
from loop_drive import attached, losetup
from needs import needs
from rest_long import rest_soak
from started import small_disk

pytestmark = [needs_loop, pytest.mark.slow, needs("nbdkit", "fio")]

MIB = 1 << 20
#: Two of the 256 parts that a sample is taken from have less than 200 kB.
SIZE = 24 * MIB
SIGNATURES = (
    *("ext4", "vfat", "swap", "GPT", "MBR", "LVM PV", "mdraid 0.90", "mdraid 1.0", "mdraid 1.2"),
    *("ZFS", "ZFS, only its last label", "DRBD", "bcache"),
)


Event = Callable[["Scene"], None]


@dataclass
class Scene:
    """A target that something happens to.

    Attributes:
        on: its name for ``--on``.
        path: where its contents are, for somebody else.
        kept: descriptors of the files that were at that path, before and after, and what was in
            each right after it happened.
    """

    kind: str
    base: Path
    on: str
    path: Path
    chance: random.Random
    stack: ExitStack
    kept: dict[int, bytes] = field(default_factory=dict)

    def suffer(self, event: Event) -> None:
        """Let something happen."""
        files = [self._opened()]
        event(self)
        os.sync()
        if self.path.exists():
            files.append(self._opened())
        self.kept = {fd: contents(fd) for fd in files}

    def _opened(self) -> int:
        fd = os.open(self.path, os.O_RDONLY)
        self.stack.callback(os.close, fd)
        return fd

    def another(self) -> Path:
        """Return an empty file of the same size, beside the target."""
        made = self.base / "another"
        with made.open("wb") as file:
            file.truncate(SIZE)
        return made


def contents(fd: int) -> bytes:
    return os.pread(fd, os.fstat(fd).st_size, 0)


# -- what happens


def a_signature(scene: Scene) -> None:
    made = scene.another()
    CONTENTS[scene.chance.choice(SIGNATURES)][0](Drive(made, made))
    with made.open("rb") as source, scene.path.open("r+b") as target:
        while piece := source.read(4096):
            if any(piece):
                target.seek(source.tell() - len(piece))
                target.write(piece)


def data_without_a_signature(scene: Scene) -> None:
    length = 200_000
    at = scene.chance.choice((0, SIZE - length, scene.chance.randrange(SIZE - length)))
    with scene.path.open("r+b") as target:
        target.seek(at)
        target.write(scene.chance.randbytes(length))


def opened_by_another(scene: Scene) -> None:
    scene.stack.enter_context(another_process("fd = os.open(sys.argv[1], os.O_RDWR)", scene.path))


def resized(scene: Scene) -> None:
    os.truncate(
        scene.path, SIZE + scene.chance.choice((-1, 1)) * scene.chance.randrange(1, 9) * MIB
    )
    if scene.kind == "a drive":
        assert losetup("-c", scene.on).returncode == 0


def another_in_its_place(scene: Scene) -> None:
    """An image under the same path; a loop device and whoever has it open keep the old one."""
    made = scene.another()
    made.write_bytes(scene.chance.randbytes(4096) + bytes(SIZE - 4096))
    os.sync()
    made.replace(scene.path)


def another_name(scene: Scene) -> None:
    """A hard link; to a file without a name there can be none."""
    done = subprocess.run(
        ["ln", "--logical", scene.path, scene.base / "link"], check=False, capture_output=True
    )
    assert (done.returncode != 0) == (scene.kind == "a directory")


def another_directory_in_its_place(scene: Scene) -> None:
    directory = Path(scene.on)
    directory.rename(scene.base / "moved")
    directory.mkdir()


def mounted_on(scene: Scene) -> None:
    if scene.kind == "a drive":
        done = subprocess.run(["mount", scene.on, scene.base], check=False, capture_output=True)
        assert done.returncode != 0
        return
    scene.stack.enter_context(undone_by("umount", "--lazy", scene.on))
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", scene.on], check=True)


def unmounted(scene: Scene) -> None:
    subprocess.run(["umount", "--lazy", scene.on], check=True)


#: The rows of the table in the documentation, and how to make each happen.
EVENTS: dict[str, Event] = {
    "a file system, partition table, array member or the like appears": a_signature,
    "data without a signature are written": data_without_a_signature,
    "it is resized": resized,
    "another program opens it for writing": opened_by_another,
    "another image takes the path of its own": another_in_its_place,
    "another directory takes its place": another_directory_in_its_place,
    "something is mounted on it": mounted_on,
    "it is unmounted": unmounted,
    "it gets a hard link": another_name,
}


def answers() -> dict[str, dict[Event, str]]:
    """Return, from the documentation, what heatsoak does of each kind of target at each event."""
    head, *rows = table("write-guard", "what happens between two steps")
    assert [row[0] for row in rows] == list(EVENTS)
    found = {
        kind: {EVENTS[row[0]]: row[at] for row in rows if row[at]}
        for at, kind in enumerate(head[1:], 1)
    }
    a_file = (a_signature, data_without_a_signature, resized, opened_by_another, another_name)
    return found | {"a file": dict.fromkeys((*a_file, another_in_its_place), "only read")}


ANSWERS = answers()


@contextmanager
def target(kind: str, event: Event, base: Path, chance: random.Random) -> Iterator[Scene]:
    image, directory = base / "image", base / "directory"
    with ExitStack() as stack:
        if kind == "a directory":
            if event is unmounted:
                stack.enter_context(small_disk(directory, "300m"))
            else:
                directory.mkdir()
            yield Scene(kind, base, str(directory), directory, chance, stack)
            return
        with image.open("wb") as file:
            file.truncate(SIZE)
        on = str(image)
        if kind == "a drive":
            on = str(stack.enter_context(attached(image, SIZE)))
        elif kind == "an export":
            on = stack.enter_context(file_export(image, base / "socket"))
        yield Scene(kind, base, on, image, chance, stack)


# -- a run, and when it happens


def steps(scene: Scene) -> list[str]:
    """Draw the steps of a protocol: loads, purges, pauses, copies; the last one writes."""
    chance = scene.chance

    def load(rw: str) -> str:
        offset = chance.randrange(SIZE // MIB - 4)
        return f'rw = "{rw}"\nbs = "64k"\nio_size = "2m"\noffset = "{offset}m"\nspan = "4m"\n'

    copy, pause, purge = (
        'kind = "copy"\nsize = "2m"\n',
        'kind = "pause"\nduration = 0.1\n',
        'kind = "purge"\n',
    )
    if scene.kind == "a file":
        pool, last = [load("randread"), load("read"), pause], load("randread")
    elif chance.random() < 0.2:
        pool, last = [copy, pause], copy
    else:
        pool = [load("write"), load("randwrite"), load("randread"), purge, pause]
        last = chance.choice((load("write"), load("randrw"), purge))
    return [chance.choice(pool) for _ in range(chance.randrange(2, 5))] + [last]


def happening(scene: Scene, event: Event, before_step: int) -> AbstractContextManager[object]:
    """Return a patch that lets it happen right before a step, or at the start of a pause."""
    numbers = count()
    take = Conductor._take

    def take_after_it(self: Conductor, *given: Any) -> None:
        if next(numbers) == before_step:
            loaded = self.drives.targets[-1]
            if isinstance(loaded, DirectoryTarget) and scene.kind == "a directory":
                (fd,) = loaded.kept_fds()
                scene.path = Path(f"/proc/{os.getpid()}/fd/{fd}")
            scene.suffer(event)
        take(self, *given)

    return patch.object(Conductor, "_take", take_after_it)


@pytest.mark.parametrize("case", rest_soak(range(200), first=8))
def test_nothing_is_written_over_what_happened_between_two_steps(
    tmp_path: Path, seed: int, case: int
) -> None:
    chance = random.Random(f"{seed} {case}")
    kind = list(ANSWERS)[case % len(ANSWERS)]
    event, answer = chance.choice(list(ANSWERS[kind].items()))
    with target(kind, event, tmp_path, chance) as scene:
        drawn = steps(scene)
        text = "".join(f'[[steps]]\nname = "s{n}"\n{step}' for n, step in enumerate(drawn))
        (tmp_path / "drawn.toml").write_text(f'name = "drawn"\nfile_size = "24MiB"\n{text}')
        on: tuple[str, ...] = ("--on", scene.on)
        if any("copy" in step for step in drawn):
            with (tmp_path / "source").open("wb") as file:
                file.truncate(SIZE)
            on = ("--on", str(tmp_path / "source"), "--to", scene.on)
        erase = ("--erase", f"{scene.on}:{SIZE}") if kind == "a drive" else ()
        with happening(scene, event, chance.randrange(len(drawn))):
            done = heatsoak_here("run", "drawn.toml", *on, *erase, "-o", "r", cwd=tmp_path)
        said = f"{kind}, {event.__name__}, {drawn}: {done.stderr}"
        assert scene.kept, said
        is_changed = [contents(fd) != before for fd, before in scene.kept.items()]
        if answer == "only read":
            assert done.returncode in (0, 3), said
            assert not any(is_changed), said
        elif answer == "refused":
            assert done.returncode == 4, said
            assert "refusing to write to it" in done.stderr
            assert not any(is_changed), said
        else:
            assert done.returncode == 0, said
            # the held file alone is written, whatever has its path
            assert event is not another_in_its_place or not is_changed[-1], said
        if kind == "a directory":
            assert list(Path(scene.on).iterdir()) == []
