"""``heatsoak run PROTOCOL --on SOURCE --to DESTINATION --resume``: a copy that was cut."""

from pathlib import Path

import pytest
from command import complaint, done_here, heatsoak_here
from cut_run import own_locks, wait_for_step
from heatsoak.protocol import ROLES
from heatsoak.recording import Recording, RecordingWriter
from made_recording import remake
from started import started

COPY = """
schema = 1
name = "small"
steps = [
  {{ kind = "pause", duration = "0.2s" }},
  {{ kind = "copy", size = "{size}", bs = "64k", iodepth = 1 }},
]
"""
WORDS = ("run", "small.toml", "--on", "here", "--to", "there", "-o", "r")


def simulated(drive: Path) -> tuple[str, ...]:
    return ("run", "small.toml", "--on", f"sim:{drive}", "--to", f"sim:{drive}")


def statuses(directory: Path) -> list[str]:
    return [Recording.open(directory / role).meta.status for role in ROLES]


@pytest.mark.long
def test_a_copy_that_was_killed_is_made_again_and_what_it_left_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.toml").write_text(COPY.format(size="256MiB"))
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    for more in ((), ("--resume",)):
        with started(tmp_path, *WORDS, *more, env=own_locks(tmp_path)) as run:
            if more:
                run.wait_until((tmp_path / "r~1").exists)
            wait_for_step(tmp_path / "r" / "destination", "copy")
            run.kill()
    cut = [(tmp_path / "r~1" / role / "events.jsonl").read_bytes() for role in ROLES]
    monkeypatch.setenv(*own_locks(tmp_path).popitem())
    done_here(*WORDS, "--resume", cwd=tmp_path)
    assert statuses(tmp_path / "r") == ["finished", "finished"]
    assert statuses(tmp_path / "r~2") == ["running", "running"]
    assert [(tmp_path / "r~1" / role / "events.jsonl").read_bytes() for role in ROLES] == cut
    for role in ROLES:
        notes = [event.text for event in Recording.open(tmp_path / "r" / role).events]
        assert [text for text in notes if "the earlier one is in r~2" in text]
    # whole by now: nothing is done
    before = (tmp_path / "r" / "source" / "recording.json").stat().st_mtime_ns
    done_here(*WORDS, "--resume", cwd=tmp_path)
    assert (tmp_path / "r" / "source" / "recording.json").stat().st_mtime_ns == before
    assert not (tmp_path / "r~3").exists()


def test_another_copy_or_one_that_still_lives_is_not_set_aside(
    tmp_path: Path, small_drive: Path
) -> None:
    protocol = tmp_path / "small.toml"
    protocol.write_text(COPY.format(size="20MB"))
    words = (*simulated(small_drive), "-o", "r")
    done_here(*words, cwd=tmp_path)
    live = remake(tmp_path / "r" / "source", status="running").meta
    with RecordingWriter(tmp_path / "live" / "source", live):
        done = heatsoak_here(*words[:-1], "live", "--resume", cwd=tmp_path)
        assert "live/source: another run is recording there" in complaint(done, 4)
    protocol.write_text(COPY.format(size="30MB"))
    done = heatsoak_here(*words, "--resume", cwd=tmp_path)
    assert "r/source: was started with another protocol: " in complaint(done, 2)
    (tmp_path / "r" / "notes.txt").write_text("mine")
    done = heatsoak_here(*words, "--resume", cwd=tmp_path)
    assert "r: holds notes.txt" in complaint(done, 2)
    assert not (tmp_path / "r~1").exists()
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    done = heatsoak_here(*words[:-1], "file", "--resume", cwd=tmp_path)
    assert "file: is no copy that --resume could make again" in complaint(done, 2)
    assert (tmp_path / "file").read_text() == "mine"
    done_here(*words[:-1], "empty", "--resume", cwd=tmp_path)
    assert not (tmp_path / "empty~1").exists()


def test_without_a_directory_the_last_interrupted_copy_is_repeated(
    tmp_path: Path, small_drive: Path
) -> None:
    (tmp_path / "small.toml").write_text(COPY.format(size="20MB"))
    words = simulated(small_drive)
    done_here(*words, cwd=tmp_path)
    (made,) = (tmp_path / "recordings").iterdir()
    done = heatsoak_here(*words, "--resume", cwd=tmp_path)
    assert "the last run of small in recordings is finished" in complaint(done, 2)
    remake(made / "destination", status="running")
    assert statuses(made) == ["finished", "running"]
    done_here(*words, "--resume", cwd=tmp_path)
    assert sorted(path.name for path in (tmp_path / "recordings").iterdir()) == [
        made.name,
        f"{made.name}~1",
    ]
    assert statuses(made) == ["finished", "finished"]
    done = heatsoak_here(*words, "--resume", cwd=tmp_path)
    assert "is finished" in complaint(done, 2)
