"""``heatsoak run`` on drives that must not be written: exit 4, one line why, and not one byte.

Each situation is refused for a protocol that writes, one that only purges, and a copy to it (most
contents: only the first).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from command import complaint, done_here, heatsoak_here
from guard_situations import PROTOCOLS, SITUATIONS, Bench, bench_in
from guarded import Drive, MakeDrive, needs_loop, run
from heatsoak.target.guard import examine
from rest_long import rest_long

pytestmark = needs_loop


@pytest.fixture
def bench(
    tmp_path: Path, make_drive: MakeDrive, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bench]:
    with bench_in(tmp_path, make_drive, monkeypatch) as bench:
        yield bench


def words(protocol: str, bench: Bench, to: Path, erase: str) -> list[str]:
    """Return the command that writes to a place."""
    on = ["--on", str(bench.directory / "source"), "--to"] if protocol == "copy" else ["--on"]
    named = ["--erase", erase] if erase else []
    return ["run", f"{protocol}.toml", *on, str(to), *named, "-o", "r"]


def _header(drive: Drive) -> str:
    return drive.image.read_bytes()[:4096].hex()


@pytest.mark.slow
@pytest.mark.parametrize("name", rest_long(SITUATIONS, every=8))
def test_it_is_refused_by_the_command_with_the_reason_and_stays_as_it_was(
    bench: Bench, name: str
) -> None:
    with SITUATIONS[name](bench) as attempt:
        drive = attempt.drive
        # the kernel itself may write to swap that is in use: there its header counts
        sum_of = _header if name == "swap in use" else Drive.sum
        before = None if drive is None else (sum_of(drive), drive.writes())
        for protocol in attempt.protocols:
            command = words(protocol, bench, attempt.place, attempt.erase_id)
            line = complaint(heatsoak_here(*command, cwd=bench.directory), 4)
            assert line.startswith(f"heatsoak: {attempt.place}: ")
            assert attempt.said.lower() in line.lower()
        assert not (bench.directory / "r").exists()
        if drive is not None and before is not None:
            after = drive.writes()  # the look at its bytes makes its node flush
            assert sum_of(drive) == before[0]
            assert name == "swap in use" or after == before[1]
        if attempt.place.is_block_device():
            reasons = "; ".join(examine(attempt.place)[0])
            assert (reasons == "") == attempt.is_nameable
            assert attempt.is_nameable or attempt.said.lower() in reasons.lower()


def test_the_docs_list_every_situation_and_how_many_there_are() -> None:
    text = (Path(__file__).parent.parent / "docs" / "write-guard.md").read_text("utf-8")
    assert f"{len(SITUATIONS)} situations" in " ".join(text.split())
    rows = " ".join(line for line in text.splitlines() if line.startswith("|"))
    assert [name for name in SITUATIONS if name.removeprefix("it holds ") not in rows] == []


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_drive_whose_data_may_be_lost_is_accepted_and_written(
    bench: Bench, protocol: str
) -> None:
    drive = bench.make()
    with drive.image.open("r+b") as file:
        file.seek(8 << 20)
        file.write(bytes(range(1, 256)) * 4096)
    run("blockdev", "--flushbufs", drive.node)
    before, writes = drive.sum(), drive.writes()
    command = words(protocol, bench, drive.node, f"{drive.id}:NOT-EMPTY")
    done_here(*command, cwd=bench.directory)
    assert drive.sum() != before
    assert drive.writes() != writes
    image = drive.image.read_bytes()
    if protocol == "purge":
        assert not any(image)
    else:
        assert all(any(image[at : at + 65536]) for at in range(0, 1 << 20, 65536))
        assert not any(image[16 << 20 :])
