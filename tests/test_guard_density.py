"""How densely the guard looks at a drive, and how likely it is that it misses a piece."""

import subprocess
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from command import done_here, heatsoak_here
from documented import table
from drive_contents import mbr_of_one_partition
from exports import file_export
from guarded import MakeDrive, needs_loop, tool
from heatsoak.errors import NotEmptyError
from heatsoak.protocol import WorkloadStep
from heatsoak.target.fio import BlockTarget, NbdTarget
from heatsoak.target.guard import check, claim, examine
from heatsoak.target.guard.look import (
    SAMPLE_BYTES,
    Data,
    TargetView,
    changes,
    contents,
    look,
    look_for_data,
    nothing_found,
    parts_of,
    places,
    spread,
)
from heatsoak.units import Size
from hypothesis import given
from hypothesis import strategies as st
from needs import needs

MIB = 1 << 20
TB = 10**12
SIZE = 4 * TB


def missed(piece_mib: float, part_mib: float = 64) -> float:
    """The chance that a piece has no sample in it, as docs/write-guard.md says it."""
    x = piece_mib / part_mib
    if x >= 2:
        return 0
    return (2 - x) ** 3 / 6 if x >= 1 else 1 - x + x**3 / 6


def drawn(size: int, piece_bytes: int, seed: int, draws: int) -> float:
    """Return the share of pieces, anywhere on a drive, that no block that is read touches."""
    starts = np.random.default_rng(seed).integers(0, size - piece_bytes, draws)
    blocks = np.array(spread(size, SAMPLE_BYTES, parts_of(size)))
    # the first block that ends after the piece begins
    nearest = np.searchsorted(blocks + SAMPLE_BYTES, starts, side="right")
    begins = np.append(blocks, size)[nearest]
    return float(np.mean(begins >= starts + piece_bytes))


@pytest.mark.parametrize("size", [TB, 4 * TB])
def test_a_piece_of_300_mib_is_missed_hardly_ever(size: int, seed: int) -> None:
    assert drawn(size, 300 * MIB, seed, 4000) < 0.01


@pytest.mark.parametrize("piece_mib", [8, 32, 64, 96, 120, 128])
@pytest.mark.parametrize("size", [TB, 4 * TB])
def test_the_chance_of_a_smaller_one_is_as_documented(size: int, piece_mib: int, seed: int) -> None:
    chance = missed(piece_mib)
    allowed = 5 * (chance * (1 - chance) / 100_000) ** 0.5 + 1e-3
    assert drawn(size, piece_mib * MIB, seed, 100_000) == pytest.approx(chance, abs=allowed)


def test_the_docs_have_the_chances_that_the_formula_gives() -> None:
    head, *rows = table("write-guard", "a piece of")
    for piece, *chances in rows:
        for title, said in zip(head[1:], chances, strict=True):
            chance = missed(float(piece.split()[0]), float(title.split()[-2]))
            assert said == (f"{100 * chance:.0f} %" if chance else "never")


@given(size=st.integers(1 << 20, 1 << 50))
def test_at_most_65000_places_are_read_and_the_same_each_time(size: int) -> None:
    parts = parts_of(size)
    # both ends in pieces, and copies of superblocks, besides the samples of both kinds
    assert 2048 <= parts <= 62_500
    assert parts + 2048 + 8 + 17 <= 65_000
    assert size / parts <= max(64 * MIB, size / 62_500) or parts == 2048


def holding(size: int, start: int, length: int) -> tuple[TargetView, list[int]]:
    """A drive that holds one piece, and of which nothing is ever made; and how often it is read."""
    reads: list[int] = []

    def read(offset: int, wanted: int) -> bytes:
        reads.append(offset)
        is_in = start < offset + wanted and offset < start + length
        return (b"\xa5\x5a" * (wanted // 2)) if is_in else bytes(wanted)

    return TargetView(size, read), reads


def between_few_samples(size: int, length: int) -> int:
    """Return where a piece lies so that a listing finds nothing."""
    few = np.array([start for start, _ in places(size, 2048)])
    widest = int(np.argmax(np.diff(few)))
    return int(few[widest] + (few[widest + 1] - few[widest] - length) // 2)


def test_a_whole_look_finds_what_a_listing_misses_and_reads_the_same_again() -> None:
    start = between_few_samples(SIZE, 300 * MIB)
    view, reads = holding(SIZE, start, 300 * MIB)
    listed = look_for_data(view, is_whole=False)
    assert listed.first is None
    few = len(reads)
    reads.clear()
    found = look_for_data(view)
    assert few < 2100 < len(reads) <= 65_000
    assert found.first is not None
    assert start - SAMPLE_BYTES < found.first < start + 300 * MIB
    assert found == look_for_data(view)
    assert found.digest.split()[0] == listed.digest
    elsewhere = holding(SIZE, start - 200 * MIB, 300 * MIB)[0]
    assert look_for_data(elsewhere).digest != found.digest


@needs_loop
@pytest.mark.slow
def test_files_that_are_left_between_two_samples_of_a_listing_are_found_before_a_run(
    make_drive: MakeDrive, tmp_path: Path
) -> None:
    drive = make_drive(size=SIZE)
    files = tmp_path / "files"
    files.mkdir()
    (files / "photos").write_bytes(np.random.default_rng(1).bytes(300 * MIB))
    start = between_few_samples(SIZE, 400 * MIB) // MIB * MIB
    # the partition table that told of it was wiped
    options = ["-q", "-F", "-E", f"offset={start},lazy_itable_init=1", "-d", str(files)]
    subprocess.run([tool("mkfs.ext4"), *options, str(drive.image), "400M"], check=True)
    assert drive.image.stat().st_size == SIZE
    assert examine(drive.node) == ([], None)
    for attempt in (check, claim):
        with pytest.raises(NotEmptyError, match="less than 1 % of it holds data, first at byte"):
            attempt(drive.node, drive.id)
    (tmp_path / "w.toml").write_text('name = "w"\n[[steps]]\nname = "w"\nrw = "write"\n')
    words = ("run", "w.toml", "--on", str(drive.node), "--erase", drive.id, "-o", "r")
    done = heatsoak_here(*words, cwd=tmp_path)
    assert done.returncode == 4
    assert "it is not empty" in done.stderr
    said = " ".join(done_here("list", "drives", cwd=tmp_path).stdout.split())
    assert "nothing found in" in said
    assert "safe" not in said


@needs_loop
@needs("fio")
@pytest.mark.slow
def test_what_a_run_left_on_a_large_drive_is_known_to_a_listing_and_to_the_next_run(
    make_drive: MakeDrive,
) -> None:
    size = 400 * 10**9
    drive = make_drive(size=size)
    with closing(BlockTarget(drive.node, drive.id)) as target:
        notes = target.open(writes=True)
        assert any("nothing found in 5,961 places" in note.text for note in notes)
        list(target.run(WorkloadStep(name="w", rw="write", bs=MIB, io_size=Size(bytes=8 * MIB))))
    assert examine(drive.node) == ([], None)
    assert check(drive.node, drive.id) is None
    few = set(spread(size, SAMPLE_BYTES, 2048))
    somewhere = next(at for at in spread(size, SAMPLE_BYTES, parts_of(size))[9:] if at not in few)
    with drive.image.open("r+b") as image:
        image.seek(somewhere)
        image.write(b"somebody's data")
    assert examine(drive.node) == ([], None)
    with pytest.raises(NotEmptyError):
        check(drive.node, drive.id)


@needs("nbdkit")
def test_an_export_without_block_status_is_read_at_all_those_places(tmp_path: Path) -> None:
    size, image = TB, tmp_path / "image"
    start = between_few_samples(size, 128 * MIB)
    with image.open("wb") as file:
        file.truncate(size)
        file.seek(start)
        file.write(b"somebody's data." * (8 * MIB))
    with (
        file_export(image, tmp_path / "socket", "--filter=noextents") as uri,
        pytest.raises(NotEmptyError, match="less than 1 % of it holds data"),
    ):
        NbdTarget(uri, f"{uri}:{size}").open(writes=True)


@pytest.mark.parametrize("pattern", [b"\0", b"\xff", b"\x55\xaa", b"\xde\xad\xbe\xef", b"abcd"])
def test_what_fio_repeats_by_a_pattern_is_no_signature(pattern: bytes) -> None:
    def read(_: int, length: int) -> bytes:
        return (pattern * (length // len(pattern) + 1))[:length]

    assert contents(TargetView(64 * MIB, read)) == []


def test_random_data_that_look_like_a_signature_are_ours_and_a_real_one_amid_them_is_not() -> None:
    image = bytearray(16 * MIB)
    view = TargetView(len(image), lambda at, length: bytes(image[at : at + length]))
    for number in range(50):
        image[:] = np.random.default_rng(number).bytes(len(image))
        image[1080:1082] = b"\x53\xef"  # ext4, as far as two bytes can tell
        if contents(view):
            break
    assert contents(view)
    assert changes(look(view), view) == []
    image[446:512] = mbr_of_one_partition()[446:]
    assert changes(look(view), view)


def test_what_is_said_where_nothing_is_found_names_what_may_be_missed() -> None:
    said = nothing_found(4 * TB)
    assert said.startswith("nothing found in 59,605 places, ")
    assert "pieces under 134 MB may be missed" in said
    # more than the reads are enough for
    assert "pieces under 512 MB may be missed" in nothing_found(16 * TB)
    assert "2,048 places" in nothing_found(4 * TB, is_whole=False)
    assert "empty" not in str(Data("", 0, 1)).replace("it is not empty", "")
