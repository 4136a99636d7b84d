"""``heatsoak watch``: somebody else's load, seen by the kernel's counters."""

import gc
import os
import signal
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from counted_disk import CountedDisk
from heatsoak.analysis import analyze
from heatsoak.bench.watch import DriveWatch
from heatsoak.errors import ToolError
from heatsoak.importer import WATCH, divided
from heatsoak.protocol import Observation, Observed
from heatsoak.recording import Recording, RecordingMeta, RecordingWriter
from heatsoak.sensor import CountersSensor, device_behind
from hypothesis import given, settings
from hypothesis import strategies as st
from loaded import moved_bytes
from started import Started, started


@pytest.fixture
def disk(tmp_path: Path) -> CountedDisk:
    return CountedDisk(tmp_path / "machine")


def counters(disk: CountedDisk) -> tuple[CountersSensor, list[float]]:
    """The sensor on a clock that the list holds."""
    now = [100.0]
    return CountersSensor(disk.directory, 0.1, now_s=lambda: now[0]), now


def test_counters_give_the_rates_of_the_interval(disk: CountedDisk) -> None:
    disk.move("write", 7, 4096)
    sensor, now = counters(disk)
    disk.move("read", 200, 128 * 1024, spent_ms=100, busy_ms=50)
    disk.move("write", 50, 4096, spent_ms=10)
    now[0] += 0.1
    row = sensor.read()
    assert row["interval_s"] == pytest.approx(0.1)
    assert row["read_bw_mb_s"] == pytest.approx(200 * 128 * 1024 / 1e5)
    assert row["write_bw_mb_s"] == pytest.approx(50 * 4096 / 1e5)
    assert row["read_iops"] == pytest.approx(2000)
    assert row["read_lat_us"] == pytest.approx(500)
    assert row["write_lat_us"] == pytest.approx(200)
    assert row["busy_pct"] == pytest.approx(50)
    assert row["queue"] == pytest.approx(1.1)
    assert set(row) == set(sensor.info.columns)
    now[0] += 0.1
    still = sensor.read()
    assert still["read_bw_mb_s"] == still["busy_pct"] == 0
    assert "read_lat_us" not in still
    # counters that restart give nothing, and are then counted from there
    disk.counts = [0] * 17
    disk.put()
    now[0] += 1
    assert sensor.read() == {}
    assert sensor.last_error == "the counters of nvme0n1 went backwards"
    disk.move("read", 10, 4096)
    now[0] += 1
    assert sensor.read()["read_iops"] == pytest.approx(10)
    sensor.close()


@pytest.mark.slow
@settings(max_examples=30)
@given(st.lists(st.tuples(st.sampled_from(["read", "write"]), st.integers(0, 5000)), max_size=20))
def test_whatever_was_moved_is_counted_once(moves: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        disk = CountedDisk(Path(directory))
        sensor, now = counters(disk)
        seen = {"read": 0.0, "write": 0.0}
        for way, ios in moves:
            disk.move(way, ios, 4096)
            now[0] += 0.1
            row = sensor.read()
            for name in seen:
                seen[name] += row[f"{name}_iops"] * row["interval_s"]
        sensor.close()
        for name in seen:
            assert seen[name] == pytest.approx(sum(ios for way, ios in moves if way == name))


@pytest.mark.slow
def test_a_drive_that_is_watched_is_recorded_with_its_loads_as_steps(
    disk: CountedDisk, tmp_path: Path
) -> None:
    stop = threading.Event()

    def load() -> None:
        while not stop.wait(0.02):
            disk.move("write", 40, 128 * 1024, spent_ms=20, busy_ms=15)

    loading = threading.Thread(target=load)
    loading.start()
    try:
        beats = []
        recording = disk.watch(tmp_path / "r", slot="top").run(
            3.0, lambda watch: beats.append(watch.elapsed_s)
        )
    finally:
        stop.set()
        loading.join()
    assert recording.meta.status == "finished"
    assert recording.meta.conditions == {"slot": "top"}
    assert isinstance(recording.meta.protocol, Observation)
    [step] = recording.meta.protocol.steps
    assert (step.reads, step.writes) == (False, True)
    samples = recording.samples()
    rates = samples.filter(pl.col("step") == step.name)
    assert rates.height >= 8
    assert rates["interval_s"].median() == pytest.approx(0.1, rel=0.3)
    assert len(beats) >= 2
    assert not (tmp_path / "r" / "samples.jsonl").exists()
    assert divided(recording) is recording
    [found] = analyze([recording]).recordings
    assert [one.step for one in found.steps] == [step.name]


@pytest.mark.slow
def test_a_drive_that_goes_away_ends_the_watch_and_what_was_seen_is_kept(
    disk: CountedDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heatsoak.bench.watch._GONE_S", 0.5)

    def pull(watch: DriveWatch) -> None:
        if watch.elapsed_s > 1 and disk.stat.exists():
            (disk.machine.roots.sys / "block" / "nvme0n1").unlink()
            with disk.stat.open("r+") as file:
                file.truncate()

    with pytest.raises(ToolError, match=r"nvme0n1: is gone; the recording so far is in .*r"):
        disk.watch(tmp_path / "r", slot="top").run(30.0, pull)
    recording = Recording.open(tmp_path / "r")
    assert recording.meta.status == "failed"
    assert recording.samples().height >= 5
    assert any("cannot be read" in event.text for event in recording.events)


def watched(path: Path, status: str = "running") -> Recording:
    """A watch of two loads with half a minute between, ended or cut."""
    t_s = np.arange(1, 1001) * 0.1
    written = np.where((t_s > 5) & (t_s <= 35), 400.0, 0.0)
    read = np.where((t_s > 65) & (t_s <= 95), 900.0, 0.0)
    samples = pl.DataFrame(
        {
            "t_s": t_s,
            "interval_s": 0.1,
            "read_bw_mb_s": read,
            "write_bw_mb_s": written,
            "busy_pct": np.where(read + written > 0, 90.0, 0.0),
        }
    )
    columns = {"t_s": "Float64", "step": "String"} | dict.fromkeys(samples.columns[1:], "Float64")
    meta = RecordingMeta(
        protocol=Observation(name=WATCH, steps=[Observed(name="load")]),
        conditions={},
        drive={"model": "a drive"},
        columns=columns,
        started_unix_s=1e9,
    )
    writer = RecordingWriter(path, meta)
    writer.append(samples)
    if status == "running":
        writer.close()
    else:
        writer.finish("finished", 100.0)
    return Recording.open(path)


def test_an_interrupted_watch_is_divided_when_it_is_read(tmp_path: Path) -> None:
    watched(tmp_path / "r")
    [found] = json_here("analyze", "r", cwd=tmp_path)["recordings"]
    assert [(one["step"], one["verdict"]) for one in found["steps"]] == [
        ("writes 1", "steady"),
        ("reads 2", "steady"),
    ]
    assert [round(one["duration_s"]) for one in found["steps"]] == [30, 30]
    assert any("cut" in note for note in found["notes"])


class TenthsOfSeconds:
    """A clock that goes on by a tenth of a second whenever it is looked at."""

    def __init__(self) -> None:
        self.ticks = count()

    def now_s(self) -> float:
        return next(self.ticks) / 10


def traced_mb(disk: CountedDisk, directory: Path, at_s: Sequence[float]) -> list[float]:
    """What Python holds at some times of a watch at 10 Hz, whose clock is as fast as it can be."""
    seen: list[float] = []

    def look(watch: DriveWatch) -> None:
        disk.move("write", 400, 128 * 1024)
        if len(seen) < len(at_s) and watch.elapsed_s >= at_s[len(seen)]:
            gc.collect()
            seen.append(tracemalloc.get_traced_memory()[0] / 1e6)

    tracemalloc.start()
    try:
        disk.watch(directory, interval_s=0.001).run(at_s[-1] + 30, look)
    finally:
        tracemalloc.stop()
    assert len(seen) == len(at_s)
    return seen


@pytest.mark.slow
def test_the_rows_that_a_watch_judges_take_little_more_than_their_numbers(
    disk: CountedDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heatsoak.target.base.MonotonicClock", TenthsOfSeconds)
    before_mb, after_mb = traced_mb(disk, tmp_path / "r", [60, 360])
    assert after_mb - before_mb < 3000 * 400 / 1e6


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_a_watch_takes_no_more_memory_after_its_first_half_hour(
    disk: CountedDisk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heatsoak.target.base.MonotonicClock", TenthsOfSeconds)
    early_mb, full_mb, later_mb = traced_mb(disk, tmp_path / "r", [60, 2400, 6000])
    assert full_mb - early_mb < 10
    assert later_mb - full_mb < 3  # rows go many at a time


@contextmanager
def watching(directory: Path) -> Iterator[Started]:
    """A watch of the drive that a directory lies on."""
    if device_behind(directory) is None:
        pytest.skip("the tests lie on no drive")
    with started(directory, "watch", str(directory), "-o", "r") as run:
        run.wait_for_rows(8)
        yield run


@pytest.mark.slow
def test_ctrl_c_ends_a_watch_of_this_machines_disk_with_a_recording(tmp_path: Path) -> None:
    with watching(tmp_path) as run:
        with (tmp_path / "written").open("wb") as file:
            for _ in range(8):
                file.write(os.urandom(1 << 20))
                file.flush()
                os.fsync(file.fileno())
        run.wait_until(lambda: moved_bytes(run.recording.samples(), "write") >= 8e6)
        run.end(0, by=signal.SIGINT)
    assert run.status == "finished"
    assert run.recording.meta.reason == "stopped by the user"
    assert moved_bytes(run.recording.samples(), "write") >= 8e6


@pytest.mark.slow
def test_a_watch_that_is_killed_leaves_what_it_saw(tmp_path: Path) -> None:
    with watching(tmp_path) as run:
        run.kill()
    assert run.recording.was_cut
    assert run.recording.samples().height >= 8
    done_here("analyze", "r", cwd=tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere0"], "nowhere0: is not a block device"),
        (["/dev/null"], "/dev/null: is not a block device"),
        (["/proc"], "/proc: is not on a drive that can be watched"),
        ([".", "--for", "soon"], "'--for': 'soon' is not a time"),
        ([".", "--for", "0s"], "'0s' is less than 0.1 s"),
        ([".", "--set", "top"], "--set top: write KEY=VALUE"),
        ([".", "-o", "full"], "full: already exists"),
    ],
)
def test_what_cannot_be_watched_is_one_line(tmp_path: Path, words: list[str], said: str) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "x").write_text("x")
    assert said in complaint(heatsoak_here("watch", *words, cwd=tmp_path), 2)
    assert "neither loaded nor" in done_here("watch", "--help", cwd=tmp_path).stdout
