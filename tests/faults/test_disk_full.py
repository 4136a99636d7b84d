"""The disk that the recording lies on fills up, at every time at which it can."""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here
from heatsoak.bench.resume import reopen
from heatsoak.errors import ToolError
from heatsoak.protocol import Observation, Observed
from heatsoak.recording import Event, Recording, RecordingMeta, RecordingWriter
from heatsoak.sensor import device_behind
from started import fill, protocol, small_disk, started
from waiting import is_alive

SAID = "m/r: cannot be written: No space left on device: free some space there"
PAUSE = '[[steps]]\nkind = "pause"\nduration = "6s"\n'


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "place").mkdir()
    with small_disk(tmp_path / "m", "400k") as mount:
        yield mount


def words(tmp_path: Path, steps: str = "", runtime_s: float = 3) -> list[str]:
    name = protocol(tmp_path, steps, runtime_s=runtime_s)
    return ["run", name, "--on", "place", "-o", "m/r"]


@pytest.mark.slow
def test_a_disk_that_fills_up_under_load_ends_the_run_which_can_be_resumed(
    tmp_path: Path, disk: Path
) -> None:
    with started(tmp_path, *words(tmp_path, runtime_s=9)) as run:
        loader = run.wait_for_load().loader()
        taken = fill(disk)
        kept = run.recording.samples().height
        line = run.end(3)
    assert line == f"heatsoak: {SAID}; the recording so far is in m/r, and --resume continues it"
    assert not is_alive(loader)
    assert list((tmp_path / "place").iterdir()) == []
    recording = run.recording
    assert (recording.meta.status, recording.meta.reason) == ("failed", SAID)
    assert recording.events[-1].kind == "fault"
    assert recording.samples().height >= kept
    assert "load" in done_here("analyze", "m/r", cwd=tmp_path).stdout

    fill(disk)
    command = words(tmp_path, runtime_s=9)
    assert complaint(heatsoak_here(*command, "--resume", cwd=tmp_path), 3) == f"heatsoak: {SAID}"
    assert run.recording.samples().height >= kept
    taken.unlink()
    done_here(*command, "--resume", cwd=tmp_path)
    assert run.status == "finished"
    assert run.recording.samples().height > kept


@pytest.mark.long
def test_a_disk_without_room_for_the_end_keeps_all_and_the_end_is_made_up_for(
    tmp_path: Path, disk: Path
) -> None:
    command = words(tmp_path, PAUSE, runtime_s=1)
    with started(tmp_path, *command) as run:
        run.wait_for_event('"step_kind":"pause"')
        taken = fill(disk)
        assert run.end(3).startswith(f"heatsoak: {SAID}")
    recording = run.recording
    assert recording.meta.status == "failed"
    seen = recording.samples().filter(pl.col("step") == "load").height
    assert seen
    taken.unlink()
    done_here(*command, "--resume", cwd=tmp_path)
    assert run.status == "finished"
    assert run.recording.samples().filter(pl.col("step") == "load").height == seen
    assert {path.name for path in run.directory.iterdir()} == {
        *("recording.json", "events.jsonl", "samples.parquet", "raw")
    }


@pytest.mark.slow
def test_a_disk_that_is_full_from_the_start_is_one_line_and_no_obstacle_later(
    tmp_path: Path, disk: Path
) -> None:
    taken = fill(disk)
    command = words(tmp_path, runtime_s=0.5)
    assert complaint(heatsoak_here(*command, cwd=tmp_path), 3) == f"heatsoak: {SAID}"
    taken.unlink()
    done_here(*command, cwd=tmp_path)
    assert Recording.open(disk / "r").meta.status == "finished"


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_stopped_while_the_disk_is_full_ends_like_any_other(
    tmp_path: Path, disk: Path, number: signal.Signals
) -> None:
    with started(tmp_path, *words(tmp_path, runtime_s=20)) as run:
        loader = run.wait_for_load().loader()
        fill(disk)
        line = run.end(130, by=number)
    assert line.startswith("heatsoak: stopped; ")
    assert line.endswith("the recording so far is in m/r, and --resume continues it")
    assert not is_alive(loader)
    assert run.status == "interrupted"
    assert run.recording.samples().height >= 2


@pytest.mark.slow
def test_fio_that_is_killed_while_the_disk_is_full_ends_the_run_in_one_line(
    tmp_path: Path, disk: Path
) -> None:
    with started(tmp_path, *words(tmp_path, runtime_s=20)) as run:
        loader = run.wait_for_load().loader()
        fill(disk)
        os.kill(loader, signal.SIGKILL)
        line = run.end(3)
    assert line.endswith("the recording so far is in m/r, and --resume continues it")
    assert "killed by SIGKILL" in line or SAID in line  # whichever was seen first
    assert run.status == "failed"


@pytest.mark.slow
def test_a_watch_whose_disk_fills_up_ends_in_one_line_and_can_be_analysed(
    tmp_path: Path, disk: Path
) -> None:
    if device_behind(tmp_path) is None:
        pytest.skip("the tests lie on no drive")
    with started(tmp_path, "watch", str(tmp_path), "-o", "m/r") as run:
        run.wait_for_rows(8)
        fill(disk)
        line = run.end(3)
    assert line == f"heatsoak: {SAID}; the recording so far is in m/r"
    assert (run.status, run.recording.meta.reason) == ("failed", SAID)
    assert run.recording.samples().height >= 8
    done_here("analyze", "m/r", cwd=tmp_path)


def test_a_rack_whose_host_has_no_room_left_says_so_and_keeps_what_there_is(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEATSOAK_RACK", str(disk))
    long = tmp_path / "long.toml"
    long.write_text(
        'name = "long"\n[[steps]]\nname = "read"\nrw = "read"\nbs = "128k"\nruntime = "60m"\n'
    )
    start = ("rack", "host", "start", "full", str(long), "--wait")
    done = done_here(*start, "--on", "sim:samsung-950-pro-512", cwd=tmp_path, code=3)
    (test,) = json.loads(done.stdout)["tests"]
    assert test["state"] == "failed"
    assert "No space left on device: free some space there" in test["why"]
    collect = done_here("rack", "host", "collect", "full", "-o", "out", cwd=tmp_path, code=3)
    (collected,) = json.loads(collect.stdout)["tests"]
    assert Recording.open(tmp_path / collected["directory"]).meta.status == "failed"


def test_a_report_that_finds_no_room_is_one_line_and_leaves_nothing(
    tmp_path: Path, disk: Path
) -> None:
    writer = RecordingWriter(tmp_path / "r", meta())
    writer.append(rows(0, 10))
    writer.finish("finished", 1.0)
    taken = fill(disk)
    for name in ("r.html", "r.csv", "r.xml"):
        done = heatsoak_here("report", "r", "-o", f"m/{name}", cwd=tmp_path)
        assert "No space left on device" in complaint(done, 3)
    assert [path.name for path in disk.iterdir()] == [taken.name]


def meta() -> RecordingMeta:
    return RecordingMeta(
        protocol=Observation(name="o", steps=[Observed(name="a")]),
        conditions={},
        drive={},
        columns={"t_s": "Float64", "step": "String", "temp_c.nand": "Float64"},
        started_unix_s=0.0,
    )


def rows(first: int, count: int) -> pl.DataFrame:
    numbers = range(first, first + count)
    return pl.DataFrame({"t_s": [n / 7 for n in numbers], "temp_c.nand": [n**0.5 for n in numbers]})


@pytest.fixture
def larger(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "m", "4m") as mount:
        yield mount


def test_a_journal_continues_in_whole_lines_once_there_is_space_again(larger: Path) -> None:
    writer = RecordingWriter(larger / "r", meta())
    writer.append(rows(0, 10))
    taken = fill(larger)
    with pytest.raises(ToolError, match="free some space there"):
        writer.append(rows(10, 100_000))
    written = (larger / "r" / "samples.jsonl").read_bytes()
    taken.unlink()
    writer.append(rows(10, 5))
    writer.finish("finished", 1.0)
    assert written.count(b"\n") == 10
    assert Recording.open(larger / "r").samples()["t_s"].to_list() == rows(0, 15)["t_s"].to_list()


def test_parquet_that_finds_no_room_leaves_the_journal_and_a_recording_is_reopened_once_it_has(
    larger: Path,
) -> None:
    def written(status: str) -> RecordingWriter:
        writer = RecordingWriter(larger / status, meta())
        for turn in range(20):
            writer.append(rows(1000 * turn, 1000))
        writer.event(Event(t_s=0.0, kind="step-begin", step="a"))
        return writer

    writer = written("finished")
    taken = fill(larger)
    with pytest.raises(ToolError, match="No space left on device: free some space there"):
        writer.finish("finished", 1.0)
    recording = Recording.open(larger / "finished")
    assert recording.meta.status == "failed"
    assert recording.samples().height == 20_000
    assert {path.name for path in recording.path.iterdir()} == {
        *("recording.json", "events.jsonl", "samples.jsonl")
    }
    taken.unlink()
    assert reopen(recording, None)[0].samples().height == 20_000
    # for lack of space it stays as it was
    written("interrupted").finish("interrupted", 1.0)
    place = larger / "interrupted"
    before = {path.name: path.read_bytes() for path in place.iterdir()}
    taken = fill(larger)
    with pytest.raises(ToolError, match="free some space there"):
        reopen(Recording.open(place), 0)
    assert {path.name: path.read_bytes() for path in place.iterdir()} == before
    taken.unlink()
    assert reopen(Recording.open(place), 0)[0].samples().height == 20_000
