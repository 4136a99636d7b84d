"""Runs with the real fio, killed at random times: nothing is lost and nothing is left."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest
from command import heatsoak
from cut_run import PROTOCOL, begin, own_locks, require_whole
from exports import file_export, served
from heatsoak.analysis import analyze
from heatsoak.recording import find_recordings
from heatsoak.recording.meta import JOURNAL, META
from needs import needs
from started import started
from waiting import is_alive, until

pytestmark = [pytest.mark.slow, needs("fio")]

#: How many runs are killed, each up to three times; HEATSOAK_RUNS_TO_KILL=60 takes 20 minutes.
RUNS = int(os.environ.get("HEATSOAK_RUNS_TO_KILL", "6"))
#: How long a run may go on before it is killed; all of it takes about as long.
LONGEST_S = 5.0
#: How long a busy machine may keep it from writing what it saw.
HELD_UP_S = 2.0


def kill(directory: Path, after_s: float) -> int:
    """Kill a run `after_s` after there is something of it, and look at what there is.

    It goes on with one before it. Return how many samples there are.
    """
    output = directory / "r"
    before = times_gone_on(output)
    again = ["--resume"] if output.exists() else []  # it may be killed before that is there
    with begin(directory, *again, env=own_locks(directory)) as run:
        process = run.process
        until((output / JOURNAL).exists, 60)
        time.sleep(after_s)
        was_over = process.poll() is not None
        started = [] if was_over else psutil.Process(process.pid).children()
        process.kill()
        killed_unix_s = time.time()
    assert until(lambda: not any(is_alive(one.pid) for one in started))
    assert list((directory / "place").iterdir()) == []
    if not (output / META).exists():
        return 0  # killed before it had begun
    (recording,) = find_recordings(output)
    samples = recording.samples()
    assert samples["t_s"].null_count() == 0
    assert analyze([recording]).recordings
    # nothing is lost before it begins, after its end, and while the load gets ready
    begun = [event.step for event in recording.events if event.kind == "step-begin"]
    is_measured = bool(begun) and begun[-1] in samples["step"].drop_nulls().unique()
    if not was_over and recording.was_cut and is_measured and times_gone_on(output) > before:
        seen_s = [event.t_s for event in recording.events] + samples["t_s"].to_list()
        assert recording.meta.started_unix_s is not None
        lost_s = killed_unix_s - recording.meta.started_unix_s - max(seen_s, default=0.0)
        # a second, and what other processes on the machine held it up meanwhile
        assert lost_s < 1.0 + HELD_UP_S
    return len(samples)


def times_gone_on(output: Path) -> int:
    """How often a run has begun here; -1 where none has."""
    if not (output / META).exists():
        return -1
    (recording,) = find_recordings(output)
    return sum("was resumed" in event.text for event in recording.events)


def kill_and_resume(directory: Path, chance: random.Random) -> int:
    """Kill a run up to three times, and go on to the end; return how often it was killed."""
    (directory / "place").mkdir(parents=True)
    (directory / "short.toml").write_text(PROTOCOL)
    samples = 0
    kills = chance.randint(1, 3)
    for _ in range(kills):
        now = kill(directory, chance.uniform(0.0, LONGEST_S))
        assert now >= samples  # going on keeps all that was there
        samples = now
    again = ["--resume"] if (directory / "r").exists() else []
    words = ("run", "short.toml", "--on", "place", "-o", "r", *again)
    done = heatsoak(*words, cwd=directory, env={**os.environ, **own_locks(directory)})
    assert done.returncode == 0, done.stderr
    assert len(require_whole(directory / "r").samples()) >= samples
    return kills


@pytest.mark.long
@pytest.mark.timeout(120 + 60 * RUNS)
def test_runs_killed_at_random_times_lose_less_than_a_second_and_can_be_resumed(
    tmp_path: Path, seed: int
) -> None:
    chances = [random.Random(f"{seed} {turn}") for turn in range(RUNS)]
    directories = [tmp_path / str(turn) for turn in range(RUNS)]
    # a run is mostly waited for: some go on at once
    with ThreadPoolExecutor(3) as pool:
        kills = sum(pool.map(kill_and_resume, directories, chances))
    print(f"{kills} kills, {RUNS} recordings whole")


PROTOCOL_OF_A_DRIVE = """
name = "once"
steps = [{ name = "fill", rw = "write", bs = "256k", size = "10%" }]
"""


@pytest.mark.parametrize("overwritten", [None, b"a letter to somebody " * 200, os.urandom(4096)])
def test_what_a_killed_run_left_on_a_drive_is_its_own_only_when_it_is_resumed(
    tmp_path: Path, overwritten: bytes | None
) -> None:
    (tmp_path / "once.toml").write_text(PROTOCOL_OF_A_DRIVE)
    home = {"HOME": str(tmp_path), "HEATSOAK_STATE": str(tmp_path / "state")}
    image = tmp_path / "image"
    with image.open("wb") as file:
        file.truncate(1 << 30)
    slow = ("--filter=rate", "file", image, f"rate={8 * 20_000_000}")
    at = tmp_path / "socket"
    with served(at, tmp_path / "pid", *slow) as (uri, _):
        erase = f"{uri}:{1 << 30}"
        words = ("run", "once.toml", "--on", uri, "--erase", erase)
        with started(tmp_path, *words, "-o", "r", env=home) as run:
            run.wait_for_load()
            run.process.kill()
            run.process.wait()
        if overwritten is not None:
            with image.open("r+b") as file:
                file.write(overwritten)
    with file_export(image, at) as uri:
        of_another = heatsoak(*words, "-o", "other", cwd=tmp_path, env={**os.environ, **home})
        assert of_another.returncode == 4
        assert f"{erase}:NOT-EMPTY" in of_another.stderr
        done = heatsoak(*words, "-o", "r", "--resume", cwd=tmp_path, env={**os.environ, **home})
        # what is random cannot be told from fio's
        is_text = overwritten is not None and overwritten.startswith(b"a letter")
        assert done.returncode == (4 if is_text else 0), done.stderr
        # and what was left is remembered, as of any run that ended
        again = heatsoak(*words, "-o", "new", cwd=tmp_path, env={**os.environ, **home})
        assert again.returncode == done.returncode, again.stderr
