"""Whatever is on a drive, it is refused by name or asked for; an empty drive is neither."""

import os
import pty
from collections.abc import Callable
from pathlib import Path

import pytest
from at_terminal import at_terminal
from command import complaint, done_here, heatsoak, heatsoak_here
from drive_contents import NAMED, UNNAMED, Fill, all_of, by_chance
from guard_situations import PROTOCOLS
from guarded import Drive, Machine, MakeDrive, another_process, fake_proc, needs_loop, run
from heatsoak.errors import NotEmptyError, RefusedError
from heatsoak.protocol import WorkloadStep
from heatsoak.sensor import Roots
from heatsoak.target.fio import BlockTarget
from heatsoak.target.guard import check, claim
from rest_long import rest_long

pytestmark = needs_loop
MIB = 1 << 20
SIZE = 160 * MIB


def filled(make_drive: MakeDrive, fill: Fill) -> Drive:
    drive: Drive = make_drive(size=SIZE)
    fill(drive)
    run("blockdev", "--flushbufs", drive.node)
    return drive


@pytest.mark.parametrize("name", rest_long(NAMED, every=6))
def test_what_has_a_mark_is_refused_by_its_name_whatever_is_said(
    make_drive: MakeDrive, name: str
) -> None:
    fill, word = NAMED[name]
    drive = filled(make_drive, fill)
    for erase in (drive.id, f"{drive.id}:NOT-EMPTY"):
        with pytest.raises(RefusedError, match=f"(?i)it holds .*{word}"):
            check(drive.node, erase)


@pytest.mark.parametrize("name", rest_long(UNNAMED, every=8))
def test_what_has_none_is_written_only_by_who_says_that_it_is_not_empty(
    make_drive: MakeDrive, name: str
) -> None:
    drive = filled(make_drive, UNNAMED[name])
    for attempt in (check, claim):
        with pytest.raises(NotEmptyError, match=" % of it holds data, first at byte") as refused:
            attempt(drive.node, drive.id)
        assert refused.value.exit_code == 4
        assert str(refused.value).endswith(f"give --erase {drive.id}:NOT-EMPTY")
        assert refused.value.answer == drive.id
    data = check(drive.node, f"{drive.id}:NOT-EMPTY")
    assert data is not None


def test_who_looks_at_drives_keeps_nobody_from_one(make_drive: MakeDrive, tmp_path: Path) -> None:
    drive = filled(make_drive, UNNAMED["TIFF"])
    machine = Machine(tmp_path / "sys", drive)  # not those of other tests, which are held too
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "sdx").symlink_to(drive.node)
    looking = """
from pathlib import Path
from threading import Thread
from heatsoak.sensor import Roots
from heatsoak.target.place import inventory
roots = Roots(sys=Path(sys.argv[1]), dev=Path(sys.argv[2]))
def look():
    while True: inventory(roots)
assert "holds data" in str(inventory(roots)[0]), inventory(roots)[0]
for _ in range(3): Thread(target=look, daemon=True).start()
"""
    with another_process(looking, machine.base, tmp_path / "dev"):
        # with hardly a process in sight it is asked often in little time
        quiet = Roots(proc=fake_proc(tmp_path / "proc"))
        for roots in (None, None, *[quiet] * 15):
            for attempt in (check, claim):
                with pytest.raises(NotEmptyError):
                    attempt(drive.node, drive.id, roots)


def ours(drive: Drive) -> None:
    target = BlockTarget(drive.node, drive.id)
    target.open(writes=True)
    try:
        list(target.run(WorkloadStep(name="w", rw="write", bs=MIB)))
    finally:
        target.close()


EMPTY: dict[str, tuple[int, Callable[[Drive], object]]] = {
    "never written": (64 * MIB, lambda _: None),
    "zeroed": (64 * MIB, all_of(bytes(MIB))),
    "discarded": (64 * MIB, lambda drive: (by_chance()(drive), run("blkdiscard", drive.node))),
    "FFh": (64 * MIB, all_of(b"\xff" * MIB)),
    "another repeated byte, partly discarded": (
        64 * MIB,
        lambda drive: (all_of(b"\x5a" * MIB)(drive), run("blkdiscard", "-l", 8 * MIB, drive.node)),
    ),
    "small": (1 * MIB, lambda _: None),
    "large": (1 << 42, lambda _: None),
    "of an odd size": (64 * MIB + 7 * 512, all_of(b"\xff" * 512)),
    "as heatsoak left it": (64 * MIB, ours),
}


@pytest.mark.parametrize("name", rest_long(EMPTY, every=3))
def test_an_empty_drive_needs_no_more_than_its_name(make_drive: MakeDrive, name: str) -> None:
    size, fill = EMPTY[name]
    drive = make_drive(size=size)
    fill(drive)
    os.sync()
    assert check(drive.node, drive.id) is None
    with claim(drive.node, drive.id) as held:
        assert held.data is None


def purge_of(drive: Drive, tmp_path: Path) -> tuple[str, ...]:
    """Write a protocol that purges; return the command that runs it."""
    (tmp_path / "purge.toml").write_text(f'name = "purge"\n{PROTOCOLS["purge"]}')
    return ("run", "purge.toml", "--on", str(drive.node), "--erase", drive.id, "-o", "r")


@pytest.mark.slow
def test_a_run_says_first_what_it_overwrites_and_another_follows_without_asking(
    make_drive: MakeDrive, tmp_path: Path
) -> None:
    drive = filled(make_drive, by_chance(0.5))
    (tmp_path / "two.toml").write_text(f'name = "two"\n{PROTOCOLS["write"]}')
    words = ("run", "two.toml", "--on", str(drive.node), "--erase")
    said = f"{drive.node}: it is not empty: 50 % of it holds data, first at byte 0"
    for more in (("--dry-run",), ("-o", "r")):
        refused = heatsoak_here(*words, drive.id, *more, cwd=tmp_path)
        assert refused.returncode == 4
        done = done_here(*words, f"{drive.id}:NOT-EMPTY", *more, cwd=tmp_path)
        assert said in done.stderr.splitlines()[0]
    assert said in (tmp_path / "r" / "events.jsonl").read_text()
    done_here(*words, drive.id, "-o", "again", cwd=tmp_path)


@pytest.mark.slow
def test_at_a_terminal_only_the_drives_model_or_id_means_yes(
    make_drive: MakeDrive, tmp_path: Path
) -> None:
    drive = filled(make_drive, by_chance(0.25))
    before = drive.sum()
    words = purge_of(drive, tmp_path)
    # nothing is asked where nobody sees the question
    master, slave = pty.openpty()
    try:
        done = heatsoak(*words, cwd=tmp_path, stdin=slave)
    finally:
        os.close(slave)
        os.close(master)
    assert f"--erase {drive.id}:NOT-EMPTY" in complaint(done, 4)
    for answer in ("yes", drive.id):
        with at_terminal(*words, cwd=tmp_path) as terminal:
            asked = terminal.read_until(f"If it may, type {drive.id}: ")
            assert "25 % of it holds data, first at byte 0; all of it will be overwritten." in asked
            terminal.type(answer)
            code, _ = terminal.end()
        if answer == "yes":
            assert code == 4
            assert f"give --erase {drive.id}:NOT-EMPTY" in " ".join(terminal.said.split())
            assert drive.sum() == before
    assert code == 0, terminal.said
    assert not any(drive.image.read_bytes())


def test_the_docs_list_every_content() -> None:
    text = (Path(__file__).parent.parent / "docs" / "write-guard.md").read_text("utf-8")
    rows = " ".join(" ".join(line for line in text.splitlines() if line.startswith("|")).split())
    assert [name for name in (*NAMED, *UNNAMED, *EMPTY) if name not in rows] == []
    assert f"{len(NAMED) + len(UNNAMED)} more contents" in " ".join(text.split())
