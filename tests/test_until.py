"""``--until``, ``--stop-at`` and ``--on-fall``: an end, or a command, when throughput falls."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import DEVNULL, Popen

import pytest
from command import complaint, done_here, heatsoak_here
from counted_disk import CountedDisk
from heatsoak.bench.falls import FallOptions, read_limit
from heatsoak.bench.watch import DriveWatch
from heatsoak.errors import UsageError
from heatsoak.recording import Recording
from loop_drive import attached
from needs import needs
from started import started


@contextmanager
def falling(disk: CountedDisk, *, after_s: float) -> Iterator[None]:
    """Load a disk at 100 MB/s, and after a while at 30, however busy the machine is."""
    stop, begun_s = threading.Event(), time.monotonic()

    def load() -> None:
        moved, last_s = 0, 0.0
        while not stop.wait(0.02):
            now_s = time.monotonic() - begun_s
            due = round(760 * min(now_s, after_s) + 230 * max(now_s - after_s, 0.0))
            spent_ms = round(1000 * (now_s - last_s))
            disk.move("write", due - moved, 131072, spent_ms=spent_ms, busy_ms=9 * spent_ms // 10)
            moved, last_s = due, now_s

    loading = threading.Thread(target=load)
    loading.start()
    try:
        yield
    finally:
        stop.set()
        loading.join()


def keeps(path: Path, then: str = "") -> list[str]:
    """A command that appends to a file what it is given to read."""
    return [sys.executable, "-c", f"import sys; open({str(path)!r}, 'a').write(input()); {then}"]


def ended(watch: DriveWatch, limit: str | None, command: list[str] | None = None) -> Recording:
    watch.fall_options = FallOptions(
        None if limit is None else read_limit(limit), "--until", command
    )
    return watch.run(45.0 if limit else 20.0, lambda _: None)


@pytest.mark.slow
def test_a_watch_ends_when_throughput_falls(tmp_path: Path) -> None:
    disk = CountedDisk(tmp_path / "machine")
    watch = disk.watch(tmp_path / "r")
    with falling(disk, after_s=10):
        recording = ended(watch, "fall")
    assert recording.meta.status == "finished"
    assert recording.meta.duration_s is not None
    assert recording.meta.duration_s < 45
    assert recording.meta.reason == watch.reached
    assert "--until fall: 'writes' fell by" in str(watch.reached)


@pytest.mark.slow
def test_a_command_gets_each_fall_once_and_its_failure_ends_nothing(tmp_path: Path) -> None:
    disk, said = CountedDisk(tmp_path / "machine"), list[str]()
    watch = disk.watch(tmp_path / "r")
    watch.warn = said.append
    with falling(disk, after_s=8):
        recording = ended(watch, None, keeps(tmp_path / "claims", "sys.exit(7)"))
    assert watch.reached is recording.meta.reason is None
    claim = json.loads((tmp_path / "claims").read_text())  # one document and no more
    assert claim["what"] in ("slow", "throttled")
    assert claim["loss_pct"] == pytest.approx(70, abs=8)
    assert claim["onset_s"] == pytest.approx(8, abs=2)
    assert said == ["--on-fall: ended with exit code 7"]


@pytest.mark.slow
def test_a_temperature_ends_a_watch_at_once(tmp_path: Path) -> None:
    disk = CountedDisk(tmp_path / "machine")
    hot = {"temp1_input": 76_000, "temp1_label": "Composite"}
    with pytest.raises(UsageError, match="--until: no temperature of this drive can be read"):
        ended(disk.watch(tmp_path / "none"), "75C")
    disk.machine.hwmon(0, disk.controller, "nvme", **hot)
    watch = disk.watch(tmp_path / "r")
    recording = ended(watch, "75C")
    assert watch.reached == recording.meta.reason == "--until 75 C: the drive is at 76 C"
    cool = disk.watch(tmp_path / "cool")
    cool.fall_options = FallOptions(80.0, "--until")
    cool.run(2.0, lambda _: None)
    assert cool.reached is None


@pytest.mark.slow
@needs("fio")
def test_a_real_load_that_falls_ends_a_watch_of_its_drive(tmp_path: Path) -> None:
    jobs = ["--rw=write", "--bs=16k", "--size=48m", "--time_based", "--ioengine=libaio"]
    high = [*jobs, "--direct=1", "--iodepth=1", "--runtime=12", "--rate=150m"]
    low = [*jobs, "--direct=1", "--iodepth=1", "--runtime=60", "--rate=60m", "--stonewall"]
    with attached(tmp_path / "image", 64 << 20) as node:
        fio = ["fio", f"--filename={node}", "--name=high", *high, "--name=low", *low]
        words = ["watch", str(node), "--until", "fall", "--on-fall", "tee claim.json", "-o", "r"]
        with Popen(fio, stdout=DEVNULL) as load, started(tmp_path, *words) as run:
            assert "exit code 1: --until fall: 'writes' fell" in run.end(1)
            load.terminate()
    claim = json.loads((tmp_path / "claim.json").read_text())
    # others on this disk may make it fall sooner, and less far
    assert (claim["what"], claim["step"], claim["loss_pct"] >= 5) == ("slow", "writes", True)
    assert "--until fall" in str(run.recording.meta.reason)


@pytest.mark.slow
def test_a_run_stops_where_heat_makes_it_fall_and_keeps_what_it_saw(
    tmp_path: Path, small_drive: Path
) -> None:
    cell = "--set slot=bottom --set gpus=2 --set gpu_load=loaded"
    words = f"run puget --on sim:{small_drive} {cell} --stop-at throttle -o r".split()
    done = done_here(*words, "--on-fall", "tee claim.json", cwd=tmp_path, code=1)
    assert "exit code 1: --stop-at throttle: 'sequential-read' fell by" in done.stderr
    assert done.stdout.startswith("Heat throttles the drive")
    stopped = Recording.open(tmp_path / "r")
    assert stopped.meta.status == "interrupted"
    assert "--stop-at throttle" in str(stopped.meta.reason)
    assert json.loads((tmp_path / "claim.json").read_text())["by"] == "thermal"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["watch", ".", "--until", "warm"], "'warm' is not fall, throttle or a temperature: 75C"),
        (["watch", ".", "--on-fall", "nowhere x"], "'nowhere x' does not begin with a program"),
        (["watch", ".", "--on-fall", "'"], "No closing quotation"),
    ],
)
def test_what_is_no_limit_and_no_command_is_one_line(
    tmp_path: Path, words: list[str], said: str
) -> None:
    assert said in complaint(heatsoak_here(*words, cwd=tmp_path), 2)
