"""A block device, here a loop device, loaded through the descriptor that the guard holds."""

import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path

import pytest
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


def step(**given: object) -> WorkloadStep:
    return WorkloadStep.model_validate({"name": "load", "rw": "write", "bs": "64k"} | given)


def last_note(batches: Iterable[Batch]) -> Note:
    return [batch for batch in batches if isinstance(batch, Note)][-1]


@pytest.mark.slow
def test_a_named_empty_drive_is_written_whole_and_purged(drive: Path, tmp_path: Path) -> None:
    target = BlockTarget(drive, f"{drive}:{SIZE}")
    assert target.identity.size_bytes == SIZE
    target.open(writes=True)
    try:
        total = last_note(target.run(step(bs="1m")))
        assert total.data["write_bytes"] == SIZE
        with pytest.raises(OSError, match="busy"):
            os.open(drive, os.O_RDWR | os.O_EXCL)  # nobody can mount it meanwhile
        image = (tmp_path / "drive.img").read_bytes()
        assert all(any(image[at : at + 4096]) for at in range(0, SIZE, MIB))
        [note] = [batch for batch in target.purge() if isinstance(batch, Note)]
        assert note.level == "info"
    finally:
        target.close()
    assert not any((tmp_path / "drive.img").read_bytes())


@pytest.mark.slow
def test_a_drive_that_is_not_named_is_refused_and_can_be_read(drive: Path, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="--erase"):
        BlockTarget(drive).open(writes=True)
    target = BlockTarget(drive)
    target.open(writes=False)
    try:
        total = last_note(target.run(step(rw="randread", io_size="2m")))
        assert total.data["read_bytes"] == 2 * MIB
        with pytest.raises(RefusedError):
            list(target.run(step()))
        with pytest.raises(RefusedError):
            list(target.purge())
    finally:
        target.close()
    assert not any((tmp_path / "drive.img").read_bytes())


def test_what_is_not_a_block_device_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not a block device"):
        BlockTarget(tmp_path)


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
    target = BlockTarget(drive, f"{drive}:{SIZE}")
    target.open(writes=True)
    try:
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
    finally:
        target.close()


def test_a_drive_that_another_has_opened_between_steps_is_not_written(drive: Path) -> None:
    target = BlockTarget(drive, f"{drive}:{SIZE}")
    target.open(writes=True)
    try:
        list(target.run(step(io_size="1m")))
        # mounting is kept out by the kernel, opening it without O_EXCL is not
        code = f"import sys; file = open({str(drive)!r}, 'r+b'); print(flush=True); input()"
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as other:
            assert other.stdout is not None
            other.stdout.readline()
            with pytest.raises(RefusedError, match=rf"\b{other.pid}\b"):
                list(target.run(step(io_size="1m")))
            other.kill()
        assert list(target.run(step(io_size="1m")))
    finally:
        target.close()


@pytest.mark.slow
def test_what_a_run_has_left_is_known_to_the_next_and_what_others_wrote_is_not(
    drive: Path, tmp_path: Path
) -> None:
    name = f"{drive}:{SIZE}"

    def write(erase: str, between: Callable[[], object] = lambda: None) -> None:
        target = BlockTarget(drive, erase)
        target.open(writes=True)
        try:
            list(target.run(step(io_size="8m")))
            between()
        finally:
            target.close()

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
    target = BlockTarget(drive, f"{name}:NOT-EMPTY")
    target.open(writes=True)
    target.close()  # nothing was written: what is there is still somebody's
    with pytest.raises(NotEmptyError):
        write(name)
