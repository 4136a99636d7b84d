"""Runs that were cut, and are resumed."""

import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here
from cut_run import (
    MADE_READY,
    PROTOCOL,
    begin,
    cut_in,
    own_locks,
    require_whole,
    resume_here,
    wait_for_step,
)
from heatsoak.bench.resume import reopen
from heatsoak.recording import Recording, RecordingWriter
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET, RESERVE
from loop_drive import attached
from made_recording import remake
from needs import needs
from rest_long import rest_long
from started import small_disk
from waiting import until

pytestmark = [needs("fio"), pytest.mark.slow]

SIZE = 64 << 20


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A directory with a protocol, and a place to run it on."""
    (tmp_path / "place").mkdir()
    (tmp_path / "short.toml").write_text(PROTOCOL)
    return tmp_path


def steps_begun(recording: Recording) -> list[str]:
    return [str(event.step) for event in recording.events if event.kind == "step-begin"]


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was killed in its last step, not to be changed."""
    directory = tmp_path_factory.mktemp("cut")
    (directory / "place").mkdir()
    (directory / "short.toml").write_text(PROTOCOL)
    cut_in(directory, "write")
    return directory


@pytest.fixture
def copied(cut: Path, tmp_path: Path) -> Path:
    """A copy of it, on the same place."""
    copy = tmp_path / "copied"
    shutil.copytree(cut, copy, ignore=shutil.ignore_patterns("place"))
    (copy / "place").symlink_to(cut / "place")
    return copy


def torn_by_power_loss(directory: Path) -> None:
    with (directory / "r" / JOURNAL).open("ab") as file:
        file.write(b'{"t_s":5.0,"step":"wri\0\0\0\0\n{"t_s": 5.1, "ste')
    with (directory / "r" / EVENTS).open("ab") as file:
        file.write(b'{"t_s": 5.0, "kin')


def files_of(directory: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in directory.iterdir() if path.is_file()}


@pytest.mark.parametrize("by_a_signal", rest_long([False, True], every=2))
def test_a_run_that_was_ended_in_any_way_is_resumed(
    bench: Path, by_a_signal: bool, request: pytest.FixtureRequest
) -> None:
    if by_a_signal:
        cut_in(bench, "write", with_=signal.SIGINT)
        assert Recording.open(bench / "r").meta.status == "interrupted"
        done_here("analyze", "r", cwd=bench)
    else:
        bench = request.getfixturevalue("copied")
    before = Recording.open(bench / "r").samples()
    if not by_a_signal:
        torn_by_power_loss(bench)
    done = resume_here(bench, "--evidence")
    assert done.returncode == 0, done.stderr
    recording = require_whole(bench / "r")
    samples = recording.samples()
    assert samples["t_s"].is_sorted()
    assert len(samples) > len(before)
    # all that was seen before is there still, whatever it is called now
    columns = ["t_s", "write_bw_mb_s", "read_bw_mb_s"]
    kept = samples.filter(pl.col("t_s") <= before["t_s"].max()).select(columns)
    assert kept.equals(before.select(columns))
    # the file went with the process: what was in it is made again
    assert steps_begun(recording)[-3:] == ["fill~1", "pause", "write"]
    (warning,) = (e for e in recording.events if "was resumed" in e.text)
    assert "in 'write'" in warning.text
    assert warning.text in " ".join(done.stdout.split())
    # once it is whole, it is left as it is, and judged
    files = files_of(bench / "r")
    done = resume_here(bench, "--format", "json")
    assert [step["step"] for step in json.loads(done.stdout)["recordings"][0]["steps"]]
    assert files_of(bench / "r") == files


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    with attached(tmp_path / "image", SIZE) as node:
        yield node


_HALF_USED = MADE_READY.replace('"purge"', '"purge", capacity = "50%"')
DRIVE_PROTOCOL = f"""
schema = 1
name = "short"
steps = [{_HALF_USED}
  {{ kind = "pause", duration = "0.2s" }},
  {{ name = "first", rw = "read", bs = "128k", runtime = "1s", rate = "50m" }},
  {{ kind = "pause", name = "rest", duration = "0.2s" }},
  {{ name = "second", rw = "write", bs = "128k", runtime = "1s", rate = "50m" }},
]
"""


@pytest.mark.parametrize(
    ("step", "again"),
    [
        # a read has changed nothing: the drive is as the precondition has left it
        ("first", ["pause", "first", "rest", "second"]),
        # the precondition is cut: it begins on a purged drive again
        ("fill", ["purge", "fill", "pause", "first", "rest", "second"]),
        # what was written is not undone, and the step before is whole
        pytest.param("second", ["rest", "second"], marks=pytest.mark.long),
    ],
)
def test_what_prepared_the_interrupted_step_is_repeated(
    tmp_path: Path, drive: Path, step: str, again: list[str]
) -> None:
    (tmp_path / "short.toml").write_text(DRIVE_PROTOCOL)
    erase = ("--erase", f"{drive}:{SIZE}:NOT-EMPTY")  # what a killed run left is nobody's
    cut_in(tmp_path, step, *erase, on=str(drive))
    before = [name for name in steps_begun(Recording.open(tmp_path / "r")) if name != step]
    done = resume_here(tmp_path, *erase, on=str(drive))
    assert done.returncode == 0, done.stderr
    recording = require_whole(tmp_path / "r")
    assert steps_begun(recording)[-len(again) :] == again
    first_again = next(name for name in (*before, step) if name in again)
    renamed = [f"{name}~1" for name in [*before, step] if name in again]
    assert [name for name in steps_begun(recording) if "~" in name] == renamed
    assert first_again == again[0]
    # what a purge left unused is left unused again, also where it is not repeated
    (gone_on,) = (event.t_s for event in recording.events if "was resumed" in event.text)
    used = [event for event in recording.events if "capacity_bytes" in event.data]
    assert [event.data["capacity_bytes"] for event in used] == [SIZE // 2, SIZE // 2]
    assert used[0].t_s < gone_on < used[1].t_s


@pytest.mark.long
def test_rounds_resume_with_the_round_that_was_interrupted(bench: Path) -> None:
    cut_in(bench, "again/2")
    assert resume_here(bench).returncode == 0
    recording = require_whole(bench / "r")
    begun = steps_begun(recording)
    assert begun.count("rounds") == 1
    assert begun.count("again/1") == 1
    assert begun.index("again/2~1") < begun.index("again/2")
    (end,) = (e for e in recording.events if e.kind == "step-end" and e.step == "rounds")
    assert end.data["rounds"] == 2


@pytest.mark.long
def test_a_resumed_run_can_be_interrupted_and_resumed_again(bench: Path) -> None:
    cut_in(bench, "read")
    with begin(bench, "--resume", env=own_locks(bench)) as run:
        wait_for_step(bench / "r", "fill~1")
        wait_for_step(bench / "r", "fill", "step-end")
        run.kill()
    assert resume_here(bench).returncode == 0
    begun = steps_begun(require_whole(bench / "r"))
    assert [name for name in begun if name.startswith("fill")] == ["fill~1", "fill~2", "fill"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["short.toml", "--on", "place", "--set", "write.runtime=9s"],
            "was started with another protocol: steps.6.",
        ),
        (["short.toml", "--on", "other"], "r: was started on the file system at"),
        (
            ["short.toml", "--on", "place", "--set", "slot=top"],
            "was started with another protocol: conditions.slot was None and is top",
        ),
        (["quick", "--on", "place"], "was started with another protocol: name was short"),
        (["short.toml", "--on", "sim:samsung-950-pro-512"], "r: was started on the file system at"),
    ],
)
def test_another_run_does_not_resume_it(copied: Path, words: list[str], said: str) -> None:
    (copied / "other").mkdir()
    before = files_of(copied / "r")
    line = complaint(heatsoak_here("run", *words, "-o", "r", "--resume", cwd=copied), 2)
    assert said in line
    assert "-o" in line
    # without --resume, it says how to continue
    done = heatsoak_here("run", "short.toml", "--on", "place", "-o", "r", cwd=copied)
    assert "--resume" in complaint(done, 2)
    assert files_of(copied / "r") == before


def test_what_is_not_a_recording_is_not_touched_and_a_run_killed_before_it_recorded_starts_over(
    bench: Path,
) -> None:
    (bench / "r").mkdir()
    for name in ("raw", "photo.jpg", PARQUET):
        (bench / "r" / name).write_text("mine")
        assert f"r: holds {name}" in complaint(resume_here(bench), 2)
        assert (bench / "r" / name).read_text() == "mine"
        (bench / "r" / name).unlink()
    for name in (JOURNAL, EVENTS, RESERVE):
        (bench / "r" / name).touch()
    assert resume_here(bench).returncode == 0
    require_whole(bench / "r")


def test_without_a_directory_the_last_interrupted_run_is_resumed(copied: Path) -> None:
    runs = copied / "recordings"
    runs.mkdir()
    for day in ("20260101", "20260102"):
        shutil.copytree(copied / "r", runs / f"short-{day}-000000")
    words = ("run", "short.toml", "--on", "place", "--resume")
    with patch.dict(os.environ, own_locks(copied)):
        assert heatsoak_here(*words, cwd=copied).returncode == 0
    require_whole(runs / "short-20260102-000000")
    assert Recording.open(runs / "short-20260101-000000").was_cut
    # the one before was given up: the last one counts
    assert "-o" in complaint(heatsoak_here(*words, cwd=copied), 2)


def test_reopening_that_is_killed_at_any_moment_comes_to_the_same(
    cut: Path, tmp_path: Path
) -> None:
    events = Recording.open(cut / "r").events
    since = max(at for at, event in enumerate(events) if event.kind == "step-begin")
    whole = shutil.copytree(cut / "r", tmp_path / "whole")
    assert reopen(Recording.open(whole), since)[1] == 1
    # only the samples were put in place; then the power went
    half = shutil.copytree(cut / "r", tmp_path / "half")
    shutil.copy(whole / JOURNAL, half / JOURNAL)
    (half / f".heatsoak-{0:032x}").write_bytes(b'{"t_s"')
    reopen(Recording.open(half), since)
    assert Recording.open(half).samples().equals(Recording.open(whole).samples())
    assert (half / EVENTS).read_bytes() == (whole / EVENTS).read_bytes()


SIMULATED = """
schema = 1
name = "sim"
steps = [
  { name = "write", rw = "write", bs = "128k", iodepth = 32, runtime = "60s" },
  { name = "read", rw = "randread", iodepth = 32, runtime = "30s" },
]
[matrix]
enclosure = "puget-{slot}-1gpu-idle"
[matrix.axes]
slot = ["bottom", "top", "upright"]
"""


def test_a_simulated_matrix_makes_what_is_missing_the_same_as_it_would_have_been(
    tmp_path: Path, small_drive: Path
) -> None:
    (tmp_path / "sim.toml").write_text(SIMULATED)
    words = ("run", "sim.toml", "--on", f"sim:{small_drive}", "-o", "r")
    done_here(*words, cwd=tmp_path)
    first, second, third = sorted(path.parent for path in (tmp_path / "r").rglob(META))
    expected = {d: Recording.open(d).samples() for d in (first, second, third)}
    kept = (first / META).stat().st_mtime_ns
    # the second was cut, the third was never begun
    remake(second, status="running")
    expected[second].head(100).write_ndjson(second / JOURNAL)
    (second / PARQUET).unlink()
    shutil.rmtree(third)
    done_here(*words, "--resume", cwd=tmp_path)
    for directory, samples in expected.items():
        assert Recording.open(directory).meta.status == "finished"
        assert Recording.open(directory).samples().equals(samples)
    assert (first / META).stat().st_mtime_ns == kept


def test_what_another_run_is_recording_is_not_touched(tmp_path: Path, small_drive: Path) -> None:
    (tmp_path / "sim.toml").write_text(SIMULATED)
    words = ("run", "sim.toml", "--on", f"sim:{small_drive}@puget-top-1gpu-idle", "-o", "r")
    done_here(*words, cwd=tmp_path)
    finished = Recording.open(tmp_path / "r")
    live = tmp_path / "live"
    with RecordingWriter(live, finished.meta.model_copy(update={"status": "running"})) as writer:
        writer.append(finished.samples().head(50))
        before = (live / JOURNAL).read_bytes()
        done = heatsoak_here(*words[:-1], "live", "--resume", cwd=tmp_path)
        assert "live: another run is recording there" in complaint(done, 4)
        assert (live / JOURNAL).read_bytes() == before
    # nobody writes it any more
    done_here(*words[:-1], "live", "--resume", cwd=tmp_path)
    assert Recording.open(live).samples().equals(finished.samples())


def test_a_test_file_of_all_free_space_is_as_large_again_beside_neighbours(tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(PROTOCOL.replace('file_size = "64MiB"\n', ""))
    with small_disk(tmp_path / "place", "80m") as place:
        cut_in(tmp_path, "read")
        had = Recording.open(tmp_path / "r").meta.drive["size_bytes"]
        # what the killed run loaded is freed a moment later
        assert until(lambda: shutil.disk_usage(place).free > had)
        neighbour = place / "neighbour"
        neighbour.write_bytes(bytes(6 << 20))
        assert "no longer space for a test file" in complaint(resume_here(tmp_path), 4)
        neighbour.write_bytes(bytes(2 << 20))
        done = resume_here(tmp_path)
        assert done.returncode == 0, done.stderr
        assert require_whole(tmp_path / "r").meta.drive["size_bytes"] == had
        assert list(place.iterdir()) == [neighbour]
    assert "lies in memory: no drive is measured" in (tmp_path / "r" / "events.jsonl").read_text()
