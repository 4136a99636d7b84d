"""A block device, here a loop device, loaded through the descriptor that the guard holds."""

import os
import subprocess
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
from drive_contents import mbr_of_one_partition
from guarded import another_process
from heatsoak.errors import NotEmptyError, RefusedError, UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.target import Batch, Note
from heatsoak.target.fio import BlockTarget
from loop_drive import attached

MIB = 1 << 20
SIZE = 32 * MIB


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    """Return an empty loop device."""
    with attached(tmp_path / "drive.img", SIZE) as node:
        yield node


@contextmanager
def opened(drive: Path, erase: str | None = None, *, writes: bool = True) -> Iterator[BlockTarget]:
    named = (erase or f"{drive}:{SIZE}") if writes else None
    target = BlockTarget(drive, named)
    target.open(writes=writes)
    try:
        yield target
    finally:
        target.close()


def step(**given: object) -> WorkloadStep:
    return WorkloadStep.model_validate({"name": "load", "rw": "write", "bs": "64k"} | given)


def last_note(batches: Iterable[Batch]) -> Note:
    return [batch for batch in batches if isinstance(batch, Note)][-1]


@pytest.mark.slow
def test_a_drive_is_refused_unless_it_is_named_and_then_written_whole_and_purged(
    drive: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="not a block device"):
        BlockTarget(tmp_path)
    with pytest.raises(RefusedError, match="--erase"):
        BlockTarget(drive).open(writes=True)
    with opened(drive, writes=False) as target:
        total = last_note(target.run(step(rw="randread", io_size="2m")))
        assert total.data["read_bytes"] == 2 * MIB
        with pytest.raises(RefusedError, match="only open for reading"):
            target.run(step())
        with pytest.raises(RefusedError):
            list(target.purge())
    assert not any((tmp_path / "drive.img").read_bytes())
    with opened(drive) as target:
        assert target.identity.size_bytes == SIZE
        total = last_note(target.run(step(bs="1m")))
        assert total.data["write_bytes"] == SIZE
        with pytest.raises(OSError, match="busy"):
            os.open(drive, os.O_RDWR | os.O_EXCL)  # nobody can mount it meanwhile
        image = (tmp_path / "drive.img").read_bytes()
        assert all(any(image[at : at + 4096]) for at in range(0, SIZE, MIB))
        [note] = [batch for batch in target.purge() if isinstance(batch, Note)]
        assert note.level == "info"
    assert not any((tmp_path / "drive.img").read_bytes())


def make_a_file_system(image: Path, drive: Path) -> None:  # noqa: ARG001
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)


def write_beneath(image: Path, drive: Path) -> None:  # noqa: ARG001
    with image.open("r+b") as file:
        file.seek(1 << 20)
        file.write(b"somebody's data" * 100)


def write_between_samples(image: Path, drive: Path) -> None:  # noqa: ARG001
    fd = os.open(drive, os.O_WRONLY | os.O_SYNC)
    os.pwrite(fd, b"somebody's data".ljust(4096), (4 << 20) + (40 << 10))
    os.close(fd)


def change_nothing(image: Path, drive: Path) -> None:
    """What a refusal would be wrong for."""


@pytest.mark.slow
@pytest.mark.parametrize("last_step", ["completed", "cut short"])
@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (make_a_file_system, "it holds ext4"),
        (write_beneath, "its contents were changed by somebody else"),
        (write_between_samples, "its contents were changed by somebody else"),
        (change_nothing, None),
    ],
)
def test_what_came_between_steps_is_not_written_over(
    drive: Path,
    tmp_path: Path,
    happens: Callable[[Path, Path], None],
    said: str | None,
    last_step: str,
) -> None:
    image = tmp_path / "drive.img"
    with opened(drive) as target:
        for loads in (target.run(step(bs="1m")), target.purge()):
            if last_step == "cut short":
                assert isinstance(loads, Generator)
                next(loads)
                loads.close()
            else:
                list(loads)
            os.sync()
        happens(image, drive)
        before = image.read_bytes()
        if said is None:
            assert list(target.run(step()))
            return
        for writes in (target.run(step()), target.purge()):
            with pytest.raises(RefusedError, match=said):
                list(writes)
        assert image.read_bytes() == before


@pytest.mark.slow
def test_what_others_write_beneath_it_during_a_step_is_not_written_over_by_the_next(
    drive: Path, tmp_path: Path
) -> None:
    image = tmp_path / "drive.img"
    with opened(drive) as target:
        batches = target.run(step(offset="16m", span="8m", runtime="2s"))
        while not (isinstance(batch := next(batches), pl.DataFrame) and batch.height):
            pass
        with image.open("r+b") as file:  # a partition table, and what its partition holds
            file.write(mbr_of_one_partition())
            file.seek(2 * MIB)
            file.write(b"somebody's" * (8 * MIB // 10))
        list(batches)
        before = image.read_bytes()
        assert any(before[16 * MIB : 24 * MIB])
        for writes in (target.run(step()), target.purge("discard")):
            with pytest.raises(RefusedError, match="it holds a dos partition table"):
                list(writes)
        # what only reads disturbs nothing, and comes right after a load
        assert list(target.run(step(rw="randread", io_size="1m")))
        assert image.read_bytes() == before
    with pytest.raises(RefusedError, match="it holds a dos partition table"):
        BlockTarget(drive, f"{drive}:{SIZE}:NOT-EMPTY").open(writes=True)


def test_a_drive_that_another_has_opened_between_steps_is_not_written(drive: Path) -> None:
    with opened(drive) as target:
        list(target.run(step(io_size="1m")))
        # mounting is kept out by the kernel, opening it without O_EXCL is not
        with (
            another_process("fd = os.open(sys.argv[1], os.O_RDWR)", drive) as other,
            pytest.raises(RefusedError, match=rf"\b{other}\b"),
        ):
            list(target.run(step(io_size="1m")))
        assert list(target.run(step(io_size="1m")))


@pytest.mark.slow
def test_what_a_run_has_left_is_known_to_the_next_and_what_others_wrote_is_not(
    drive: Path, tmp_path: Path
) -> None:
    name = f"{drive}:{SIZE}"

    def write(erase: str, between: Callable[[], object] = lambda: None) -> None:
        with opened(drive, erase) as target:
            list(target.run(step(io_size="8m")))
            between()

    def change() -> None:
        write_beneath(tmp_path / "drive.img", drive)

    write(name)
    write(name)
    write(name, between=change)  # after the last step
    with pytest.raises(NotEmptyError, match=" % of it holds data, first at byte 0"):
        write(name)
    write(f"{name}:NOT-EMPTY")
    write(name)
    change()
    with pytest.raises(NotEmptyError):
        write(name)
    with opened(drive, f"{name}:NOT-EMPTY"):
        pass  # nothing was written: what is there is still somebody's
    with pytest.raises(NotEmptyError):
        write(name)
