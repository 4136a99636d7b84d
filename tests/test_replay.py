"""Traces replayed: on simulated drives, and by the real fio on files, drives and exports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from exports import memory_export
from heatsoak._core import Trace
from heatsoak.bench.session import plan_session
from heatsoak.errors import RefusedError, UsageError
from heatsoak.protocol import Protocol, Replay
from heatsoak.recording import find_recordings
from heatsoak.target import parse_place
from heatsoak.target.base import Target
from heatsoak.target.fio import DirectoryTarget, FileTarget, NbdTarget
from heatsoak.target.simulated import SimulatedTarget
from heatsoak.units import Size
from loaded import load, moved_bytes
from needs import needs

MIB = 1 << 20
FIO = needs("fio")


def replay(trace: Path | str, **given: Any) -> Replay:
    return Replay.model_validate({"kind": "replay", "name": "r", "trace": str(trace)} | given)


def iolog(path: Path, *ios: str, file: str = "/dev/sdz") -> Path:
    """An iolog with ``"us action offset bytes"`` for each I/O."""
    parts = [io.split(" ", 1) for io in ios]
    lines = [f"{at_us} {file} {rest}" for at_us, rest in parts]
    head = ["fio version 3 iolog", f"0 {file} add", f"0 {file} open"]
    path.write_text("\n".join([*head, *lines, f"{parts[-1][0]} {file} close"]) + "\n")
    return path


@pytest.fixture(params=["simulated", pytest.param("fio", marks=FIO)])
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Target]:
    """A simulated drive, or a test file that fio loads."""
    made: Target
    if request.param == "simulated":
        made = SimulatedTarget("samsung-950-pro-512")
    else:
        (tmp_path / "under test").mkdir()
        made = DirectoryTarget(tmp_path / "under test", Size(bytes=32 * MIB))
    made.open(writes=True)
    yield made
    made.close()
    if request.param == "fio":
        assert list((tmp_path / "under test").iterdir()) == []


@pytest.mark.slow
def test_all_bytes_of_a_trace_are_moved_and_pauses_are_cut_to_the_limit(
    target: Target, tmp_path: Path
) -> None:
    ios = [f"{100 * at} {'write' if at % 3 else 'read'} {at * 8192} 8192" for at in range(300)]
    log = iolog(tmp_path / "log", *ios)
    samples, notes = load(target, replay(log, iodepth=1))
    assert moved_bytes(samples, "read") == pytest.approx(100 * 8192)
    assert moved_bytes(samples, "write") == pytest.approx(200 * 8192)
    assert [note.text for note in notes if note.level == "warning"] == []
    assert samples["write_over_10ms"].sum() <= 200
    assert set(samples.columns) <= set(target.columns())
    log = iolog(tmp_path / "log", *[f"{at * 60_000_000} write 0 4096" for at in range(11)])
    start_s = target.clock.now_s()
    load(target, replay(log, idle_limit="40ms"))
    assert 0.4 <= target.clock.now_s() - start_s < 60


@pytest.mark.slow
def test_a_damaged_line_is_named_or_left_out_as_asked_and_what_is_no_trace_refused(
    target: Target, tmp_path: Path
) -> None:
    log = iolog(tmp_path / "log", "0 write 0 4096", "1 wrote 0 4096", "2 write 0 4096")
    with pytest.raises(UsageError, match=f"^r: {log}: line 5: "):
        load(target, replay(log))
    samples, notes = load(target, replay(log, damaged="skip", iodepth=1))
    assert moved_bytes(samples, "write") == pytest.approx(8192)
    assert any("left out 1 damaged line, the first is line 5" in note.text for note in notes)
    with pytest.raises(UsageError, match=r"no such file or shape.*destroyer, heavy, light"):
        load(target, replay("lightest"))
    log.write_text("hello\n")
    with pytest.raises(UsageError, match=str(log)):
        load(target, replay(log))


@pytest.mark.slow
@pytest.mark.parametrize("damaged", ["error", "skip"])
def test_an_offset_past_the_end_is_refused_left_out_or_folded(
    target: Target, tmp_path: Path, damaged: str
) -> None:
    far = 1 << 50
    log = iolog(tmp_path / "log", "0 write 0 4096", f"1 write {far} 8192", "2 write 4096 4096")
    named = "line 5" if damaged == "error" else "I/O 2"
    with pytest.raises(UsageError, match=rf"^r: {log}: {named}.*8192 bytes at {far}"):
        load(target, replay(log, damaged=damaged))
    samples, notes = load(target, replay(log, damaged=damaged, beyond="skip", iodepth=1))
    assert moved_bytes(samples, "write") == pytest.approx(8192)
    assert any("left out 1 I/O past the target's end" in note.text for note in notes)
    samples, _ = load(target, replay(log, damaged=damaged, beyond="wrap", iodepth=1))
    assert moved_bytes(samples, "write") == pytest.approx(16384)


@pytest.mark.slow
def test_a_shape_is_made_as_large_as_the_target_and_always_the_same(target: Target) -> None:
    step = replay("light", scale=0.0005, idle_limit="0s", iodepth=1)
    totals = set()
    for _ in range(2):
        samples, notes = load(target, step)
        assert [note.text for note in notes if note.level == "warning"] == []
        totals.add(round(moved_bytes(samples, "read") + moved_bytes(samples, "write")))
    (total,) = totals
    assert total == pytest.approx(0.0005 * 41e9, rel=0.15)  # few I/Os, sizes in whole classes


@pytest.mark.slow
@FIO
def test_nothing_that_a_trace_names_is_opened(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious" * 1024)
    before = victim.stat()
    (tmp_path / "dir").mkdir()
    target = DirectoryTarget(tmp_path / "dir", Size(bytes=16 * MIB))
    target.open(writes=True)
    for name in (str(victim), f"{tmp_path}/new", "../victim"):
        log = iolog(tmp_path / "log", "0 write 0 8192", "1 read 0 4096", file=name)
        _, notes = load(target, replay(log, iodepth=1))
        (line,) = [note.data["command"] for note in notes if "command" in note.data]
        assert str(tmp_path) not in " ".join(line)
    target.close()
    after = victim.stat()
    assert victim.read_bytes() == b"precious" * 1024
    assert (after.st_mtime_ns, after.st_atime_ns) == (before.st_mtime_ns, before.st_atime_ns)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dir", "log", "victim"]
    assert list((tmp_path / "dir").iterdir()) == []


@pytest.mark.slow
@FIO
def test_what_fio_would_drop_is_said_beforehand(tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", "0 write 100 8000", "1 trim 0 4096", "2 write 8192 4096")
    target = DirectoryTarget(tmp_path, Size(bytes=16 * MIB))
    target.open(writes=True)
    samples, notes = load(target, replay(log, iodepth=1))
    target.close()
    warnings = " ".join(note.text for note in notes if note.level == "warning")
    assert "left out 1 trim" in warnings
    if target.describe()["test_file_bytes"] and "widened" in warnings:
        assert moved_bytes(samples, "write") % 512 == 0
    assert moved_bytes(samples, "write") >= 8000 + 4096


@FIO
def test_a_replay_writes_and_is_refused_like_every_write(tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", "0 read 0 4096")
    there = tmp_path / "there"
    there.write_bytes(bytes(MIB))
    step = {"kind": "replay", "name": "r", "trace": str(log)}
    protocol = Protocol.model_validate({"schema": 1, "name": "p", "steps": [step]})
    with pytest.raises(RefusedError, match="would be overwritten"):
        plan_session(parse_place(str(there)), lambda: protocol)
    target = FileTarget(there)
    target.open(writes=False)
    with pytest.raises(RefusedError, match="open for reading"):
        list(target.run(replay(log)))
    target.close()
    assert there.read_bytes() == bytes(MIB)


@pytest.mark.slow
@FIO
@needs("nbdkit")
def test_an_export_gets_just_what_the_trace_writes(tmp_path: Path) -> None:
    log = iolog(tmp_path / "log", "0 write 4096 4096", "1 read 0 4096", "2 write 1048576 512")
    with memory_export(tmp_path, 400) as (uri, _):
        target = NbdTarget(uri)
        target.open(writes=True)
        samples, notes = load(target, replay(log, iodepth=1))
        target.close()
    assert [note.text for note in notes if "fio did" in note.text] == []
    assert moved_bytes(samples, "write") == pytest.approx(4096 + 512)


@pytest.mark.slow
def test_a_trace_that_cannot_be_replayed_ends_the_run_before_anything_is_written(
    tmp_path: Path,
) -> None:
    far = (1 << 50) + 4096
    iolog(tmp_path / "log", "0 write 0 4096", f"1 write {far} 4096")
    (tmp_path / "p.toml").write_text(
        'schema = 1\nname = "p"\n'
        '[[steps]]\nkind = "precondition"\nname = "fill"\nrw = "write"\nspan = "1g"\n'
        '[[steps]]\nkind = "replay"\nname = "again"\ntrace = "log"\n'
    )
    on = ("run", "p.toml", "--on", "sim:samsung-950-pro-512")
    done = heatsoak_here(*on, "-o", "r", cwd=tmp_path)
    assert "again: log: line 5: 4096 bytes at" in complaint(done, 2)
    assert not (tmp_path / "r").exists()
    for beyond, written in (("skip", 4096), ("wrap", 8192)):
        words = ("--dry-run", "--set", f"again.beyond={beyond}")
        (row,) = json_here(*on, *words, cwd=tmp_path)
        assert row["steps"][1]["written_bytes"] == written
        assert row["unknown_steps"] == []


@pytest.mark.slow
@FIO
def test_the_recording_states_what_the_load_cost(tmp_path: Path) -> None:
    (tmp_path / "dir").mkdir()
    (tmp_path / "p.toml").write_text(
        'schema = 1\nname = "p"\nfile_size = "16m"\n'
        '[[steps]]\nname = "w"\nrw = "randwrite"\nbs = "4k"\nruntime = "1s"\n'
    )
    done_here("run", "p.toml", "--on", "dir", "-o", "r", cwd=tmp_path)
    (recording,) = find_recordings(tmp_path / "r")
    (end,) = (event for event in recording.events if event.kind == "step-end")
    assert 0 < end.data["load_cpu_s"] < 10
    [summed] = (e for e in recording.events if "write_ios" in e.data)
    (direction,) = end.data["latency_bins"].items()
    assert direction[0] == "write"
    assert sum(direction[1]["ios"]) == summed.data["write_ios"]


def test_a_fitted_trace_counts_what_it_gave() -> None:
    at = np.arange(4, dtype=np.uint64) * np.uint64(10**9)
    trace = Trace.of(
        at,
        np.full(4, 2**64 - 1, np.uint64),
        np.array([0, 1, 2, 1], np.uint8),
        np.array([4096, 100, 0, 1 << 30], np.uint64),
        np.array([4096, 50, 4096, 512], np.uint32),
        np.zeros(4, np.uint16),
    )
    assert trace.fitted is None
    trace.fit(1 << 20, skip_beyond=True, block_bytes=512, trims=False, idle_limit_s=0.5)
    taken = trace.take(10)
    assert taken["at_ns"].tolist() == [0, 500_000_000]
    assert taken["offset"].tolist() == [4096, 0]
    assert trace.fitted == {
        "reads": 1,
        "writes": 1,
        "trims": 0,
        "read_bytes": 4096,
        "write_bytes": 512,
        "read_begin": 4096,
        "read_end": 8192,
        "largest_bytes": 4096,
        "length_ns": 500_000_000,
        "dropped_trims": 1,
        "dropped_beyond": 1,
        "dropped_empty": 0,
        "widened": 1,
    }
