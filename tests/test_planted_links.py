"""What another user plants where root writes is not followed, whoever writes there."""

import os
import shutil
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from command import complaint, done_here, heatsoak_here
from compared import falling, run
from heatsoak import writing
from heatsoak.bench.resume import reopen
from heatsoak.errors import HeatsoakError
from heatsoak.protocol import load
from heatsoak.rack.kept import Kept, RackTest
from heatsoak.recording import Event, Recording, RecordingWriter
from heatsoak.recording.meta import EVENTS, JOURNAL, META, PARQUET, RAW, RESERVE
from made_recording import remake
from other_user import NOBODY

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root and another user")

FILES = (META, JOURNAL, EVENTS, PARQUET, RESERVE)
LOG = "time_s,read_mb_s,temperature_c\n" + "".join(f"{i},1500,{40 + i % 3}\n" for i in range(60))


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    """A directory of another user's."""
    directory = tmp_path / "shared"
    directory.mkdir(mode=0o777)
    os.chown(directory, NOBODY, NOBODY)
    return directory


@pytest.fixture
def precious(tmp_path: Path) -> Iterator[Path]:
    """A directory of root's with a file, which nobody is to change."""
    directory = tmp_path / "precious"
    directory.mkdir()
    (directory / "thesis").write_text("years of work")
    yield directory
    assert {path.name: path.read_text() for path in directory.iterdir()} == {
        "thesis": "years of work"
    }


def planted(link: Path, target: Path) -> Path:
    """Make a link as another user's, in place of what is there."""
    if link.exists() or link.is_symlink():
        link.rename(link.with_name(f"{link.name}.was"))
    link.symlink_to(target)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    return link


@pytest.fixture
def cut(shared: Path) -> Path:
    """A recording of the other user's that was cut, after a step began."""
    directory = shared / "r"
    done = run({}, falling(60, 0.5)[:300], seed=1)
    with RecordingWriter(directory, done.meta.model_copy(update={"status": "running"})) as writer:
        writer.append(done.samples())
        writer.event(Event(t_s=0.0, kind="step-begin", step="load", text="x"))
    for path in (directory, *directory.iterdir()):
        os.chown(path, NOBODY, NOBODY)
    return directory


@pytest.mark.parametrize("name", [*FILES, *(f"{name}.partial" for name in FILES)])
def test_a_resumed_run_writes_through_no_link(cut: Path, precious: Path, name: str) -> None:
    planted(cut / name, precious / "thesis")
    # what is read or appended to is refused as a link, the rest is made anew
    is_made_anew = name.endswith(".partial") or name == RESERVE
    with nullcontext() if is_made_anew else suppress(HeatsoakError):
        recording, _ = reopen(Recording.open(cut), 0)
        with RecordingWriter(cut, recording.meta, resumed=True) as writer:
            writer.append(run({}, falling(60, 0.5)[:300], seed=2).samples())
            writer.event(Event(t_s=1.0, kind="info", text="x"))
            writer.finish("finished", 1.0)
        assert Recording.open(cut).meta.status == "finished"


def test_what_a_tool_said_is_kept_in_no_directory_that_a_link_leads_to(
    cut: Path, precious: Path
) -> None:
    planted(cut / RAW, precious)
    with pytest.raises(OSError, match=RAW):
        writing.numbered_file(cut / RAW / "load.json")
    (cut / RAW).unlink()
    (cut / RAW).mkdir()
    planted(cut / RAW / "load.json", precious / "thesis")
    with writing.numbered_file(cut / RAW / "load.json") as file:
        assert Path(file.name).name == "load-2.json"


def test_a_link_that_another_user_made_leads_root_nowhere(
    shared: Path, precious: Path, tmp_path: Path
) -> None:
    """Also where it is on the way to what root names; root's own is followed."""
    recording = run({}, falling(60, 0.5)[:900], seed=1).save(tmp_path / "r")
    (tmp_path / "log.csv").write_text(LOG)
    planted(shared / "link", precious)
    for words in (
        ("export", "r", "--as", "csv", "-o", "shared/link/x.csv"),
        ("report", "r", "-o", "shared/link/x.html"),
        ("fit", "r", "-o", "shared/link/x.toml"),
        ("lab", "trace", "light", "--scale", "0.0005", "-o", "shared/link/x.log"),
        ("history", "r", "-o", "shared/link/x.parquet"),
        ("import", "log.csv", "-o", "shared/link/x"),
    ):
        done = heatsoak_here(*words, cwd=tmp_path)
        assert done.returncode in (2, 3), words
        assert "is a link of another user" in done.stderr, words
    assert recording.path.exists()
    (tmp_path / "own").mkdir()
    (tmp_path / "way").symlink_to("own")
    done_here("export", "r", "--as", "csv", "-o", "way/x.csv", cwd=tmp_path)
    assert (tmp_path / "own" / "x.csv").exists()


def test_who_became_root_by_sudo_may_have_links_of_his_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("home", "disk"):
        (tmp_path / name).mkdir(mode=0o775)
        os.chown(tmp_path / name, NOBODY, NOBODY)
    planted(tmp_path / "home" / "data", tmp_path / "disk")
    path = tmp_path / "home" / "data" / "x"
    with pytest.raises(HeatsoakError, match="another user: name where it leads"):
        writing.write_output(path, "x", replace=False)
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    monkeypatch.setenv("SUDO_GID", str(NOBODY))
    writing.write_output(path, "x", replace=False)
    assert (tmp_path / "disk" / "x").read_text() == "x"


def test_the_index_of_a_history_is_locked_by_no_link(
    shared: Path, precious: Path, tmp_path: Path
) -> None:
    run({}, falling(60, 0.5)[:300], seed=1).save(shared / "r")
    planted(shared / ".history.parquet.lock", precious / "new")
    done = heatsoak_here("history", "shared", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert "is a link" in done.stderr


def test_a_file_with_another_name_is_not_appended_to(shared: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text("")
    os.link(tmp_path / "theirs", shared / JOURNAL)
    with writing.Directory(shared) as place, pytest.raises(OSError, match="another name"):
        place.append(JOURNAL)


def test_a_directory_that_is_being_filled_is_no_link_either(shared: Path, precious: Path) -> None:
    recording = run({}, falling(60, 0.5)[:300], seed=1)

    def fill() -> None:
        with writing.making(shared / "new") as partial:
            shutil.rmtree(partial)
            planted(partial, precious)
            recording.save(partial / "r")

    with pytest.raises(HeatsoakError):
        fill()


def test_a_sweep_goes_on_past_a_planted_part(shared: Path, precious: Path, tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(
        'drives = "samsung-950-pro-512"\nworkloads = "read"\nfor = "30s"\nambient_c = [20, 30]\n'
    )
    words = ("sweep", "grid.toml", "--draws", "2", "--jobs", "1", "-o", "shared/s")
    (shared / "s").mkdir()
    planted(shared / "s" / "points", precious)
    assert "points" in complaint(heatsoak_here(*words, cwd=tmp_path), 2)


def test_what_a_killed_process_was_writing_is_swept(tmp_path: Path) -> None:
    left, theirs = tmp_path / f".heatsoak-{1:032x}", tmp_path / f".heatsoak-{2:032x}"
    left.mkdir()
    (left / "x").write_text("x")
    theirs.mkdir()
    with writing.Directory(theirs) as held, writing.making(tmp_path / "new"):
        held.keep()
    with writing.making(tmp_path / "other"):
        pass
    assert not left.exists()


def test_a_simulated_run_begins_again_past_planted_links(
    shared: Path, precious: Path, tmp_path: Path, small_drive: Path
) -> None:
    words = ("run", "quick", "--on", f"sim:{small_drive}", "--set", "read.runtime=5s")
    done_here(*words, "--set", "write.runtime=5s", "-o", "shared/r", cwd=tmp_path)
    remake(shared / "r", status="running")
    (shared / "r" / PARQUET).rename(shared / "r" / JOURNAL)
    left = shared / "r" / f".heatsoak-{1:032x}"
    planted(left, precious / "thesis")
    again = (*words, "--set", "write.runtime=5s", "-o", "shared/r", "--resume")
    assert "is not empty" in complaint(heatsoak_here(*again, cwd=tmp_path), 2)
    left.unlink()
    left.write_text("what a killed run was writing")
    done_here(*again, cwd=tmp_path)
    assert not left.exists()


@pytest.mark.parametrize("name", ["lock", "reserve", "state.json", "state.json.partial"])
def test_what_a_host_keeps_of_a_test_is_written_through_no_link(
    shared: Path, precious: Path, name: str
) -> None:
    kept = Kept(shared)
    planted(shared / name, precious / "thesis")
    with suppress(OSError), kept.locked() as lock:
        assert lock is not None
    test = RackTest(run="r", name="t", on="S1", erase_id=None, protocol=load("quick"))
    is_read = name == "state.json"  # where what the link leads to is no test's
    with kept.room_for_the_end(), suppress(HeatsoakError) if is_read else nullcontext():
        with kept.changing(test) as state:
            state.attempt(1).began_unix_s = 1.0
        known = kept.read()
        assert known is not None
        assert known.attempts[0].began_unix_s == 1.0
