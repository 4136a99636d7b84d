"""A block device, here a loop device, loaded through the descriptor that the guard holds."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from heatsoak.errors import RefusedError, UsageError
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
