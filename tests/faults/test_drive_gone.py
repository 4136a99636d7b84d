"""The drive under test vanishes, fails, or does not answer, for a time or for ever."""

import os
import random
import signal
import subprocess
import time
from contextlib import AbstractContextManager
from pathlib import Path

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here
from exports import served
from heatsoak.errors import ToolError
from heatsoak.protocol import WorkloadStep
from heatsoak.target.fio import NbdTarget, lane
from loop_drive import attached, detach, none_is_attached
from needs import needs
from started import fill, protocol, small_disk, started
from waiting import is_alive

pytestmark = [pytest.mark.slow, pytest.mark.long, needs("fio", "nbdkit")]
SIZE = 64 << 20


def server(directory: Path) -> AbstractContextManager[tuple[str, "subprocess.Popen[bytes]"]]:
    """Serve 64 MiB of memory at ``socket`` in `directory`."""
    return served(directory / "socket", directory / "pid", "memory", "64M")


def uri(directory: Path) -> str:
    return f"nbd+unix:///?socket={directory / 'socket'}"


def words(tmp_path: Path, rw: str, runtime_s: float = 5) -> list[str]:
    name = protocol(tmp_path, rw=rw, runtime_s=runtime_s)
    return ["run", name, "--on", uri(tmp_path), "-o", "r"]


@pytest.mark.parametrize("rw", ["read", "write"])
def test_a_server_that_is_killed_fails_the_run_which_can_be_resumed_once_it_is_back(
    tmp_path: Path, rw: str
) -> None:
    with server(tmp_path) as (_, serving), started(tmp_path, *words(tmp_path, rw)) as run:
        loader = run.wait_for_load().loader()
        serving.kill()
        line = run.end(3)
    assert line.startswith(
        f"heatsoak: {uri(tmp_path)}: the server is gone: step 'load': fio reported"
    )
    assert "Operation not permitted" not in line
    assert run.status == "failed"
    assert run.events[-1].kind == "fault"
    assert not is_alive(loader)
    done = heatsoak_here(*words(tmp_path, rw), "--resume", cwd=tmp_path)
    assert done.returncode in (2, 3)
    assert "cannot be reached" in done.stderr or "no such socket" in done.stderr
    assert run.status == "failed"
    with server(tmp_path):
        done_here(*words(tmp_path, rw), "--resume", cwd=tmp_path)
    assert run.status == "finished"


def test_a_server_that_hangs_for_a_while_is_reported_and_the_run_continues(tmp_path: Path) -> None:
    with server(tmp_path) as (_, serving), started(tmp_path, *words(tmp_path, "write", 10)) as run:
        run.wait_for_load()
        serving.send_signal(signal.SIGSTOP)
        time.sleep(4)
        serving.send_signal(signal.SIGCONT)
        run.end(0)
    # a busy machine may hold it up at other times too
    held_up = [event for event in run.events if "stalled_s" in event.data]
    told = max(held_up, key=lambda event: event.data["stalled_s"])
    assert told.kind == "warning"
    assert told.step == "load"
    stalled_s = told.data["stalled_s"]
    assert stalled_s > 3
    samples = run.recording.samples().filter(pl.col("interval_s").is_not_null()).sort("t_s")
    # the stretch in which nothing came back is one sample, and no other speaks for its time
    longest = samples.sort("interval_s").row(-1, named=True)
    assert longest["interval_s"] == pytest.approx(stalled_s, abs=1.5)
    assert longest["t_s"] == pytest.approx(told.t_s, abs=1.5)
    run.require_tiled_and_whole()


def test_a_run_whose_server_never_comes_back_can_be_stopped(tmp_path: Path) -> None:
    with server(tmp_path) as (_, serving), started(tmp_path, *words(tmp_path, "read", 20)) as run:
        loader = run.wait_for_load().loader()
        seen = run.recording.samples().height
        serving.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        run.process.send_signal(signal.SIGINT)
        assert run.end(130) == (
            "heatsoak: stopped; the recording so far is in r, and --resume continues it"
        )
    assert not is_alive(loader)
    assert run.status == "interrupted"
    assert run.recording.samples().height >= seen


def test_a_load_that_nothing_comes_back_of_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(tmp_path) as (_, serving):
        target = NbdTarget(uri(tmp_path))
        target.open(writes=False)
        what = WorkloadStep.model_validate({"name": "a", "rw": "read", "bs": "4k", "runtime": "9s"})
        batches = target.run(what)
        while not (isinstance(batch := next(batches), pl.DataFrame) and batch.height):
            pass
        monkeypatch.setattr(lane, "GIVEN_UP_S", 1.0)
        monkeypatch.setattr("heatsoak.target.fio.nbd_client._TIMEOUT_S", 0.5)
        serving.send_signal(signal.SIGSTOP)
        with pytest.raises(ToolError, match=r"no I/O has completed for .*: giving up"):
            list(batches)
        target.close()


def test_a_drive_whose_sectors_fail_ends_the_run_which_can_be_resumed_once_they_are_read(
    tmp_path: Path, seed: int
) -> None:
    image = tmp_path / "image"
    image.write_bytes(random.Random(seed).randbytes(SIZE))
    with attached(image, SIZE) as node:
        command = ["run", protocol(tmp_path, rw="read"), "--on", str(node), "-o", "r"]
        with started(tmp_path, *command) as run:
            run.wait_for_load()
            os.truncate(image, 0)
            line = run.end(3)
        assert "step 'load': fio reported an I/O error, 'Input/output error'" in line
        assert run.status == "failed"
        os.truncate(image, SIZE)
        done_here(*command, "--resume", cwd=tmp_path)
        assert run.status == "finished"
        with none_is_attached():
            detach(node)
            line = complaint(heatsoak_here("run", *command[1:4], cwd=tmp_path), 2)
        assert line == f"heatsoak: {node}: has no capacity, like a detached drive: attach it first"


def test_a_drive_that_takes_no_more_writes_ends_the_run(tmp_path: Path) -> None:
    with small_disk(tmp_path / "m", "96m") as mount, attached(mount / "image", SIZE) as node:
        name = protocol(tmp_path, rw="write", runtime_s=20)
        erase = f"{node}:{SIZE}"
        with started(tmp_path, "run", name, "--on", str(node), "-o", "r", "--erase", erase) as run:
            run.wait_for_load()
            fill(mount)
            line = run.end(3)
    assert "step 'load': fio reported an I/O error" in line
    assert run.status == "failed"
    assert run.recording.samples().height >= 2


def test_a_file_system_under_test_that_fills_up_does_not_matter(tmp_path: Path) -> None:
    with small_disk(tmp_path / "place", "160m") as mount:
        name = protocol(tmp_path, '[[steps]]\nkind = "purge"\n', runtime_s=1.5)
        with started(tmp_path, "run", name, "--on", "place", "-o", "r") as run:
            run.wait_for_load()
            fill(mount)
            run.end(0)
        assert [path.name for path in mount.iterdir()] == ["taken"]
    assert run.status == "finished"
