"""A directory loaded by the real fio, and by programs that only look like it."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import polars as pl
import psutil
import pytest
from heatsoak.errors import RefusedError, ToolError, UsageError
from heatsoak.protocol import WorkloadStep
from heatsoak.target import Note
from heatsoak.target.fio import DirectoryTarget, FileTarget, lane, process
from heatsoak.target.fio.command import FioPlace, command
from heatsoak.target.fio.file import MIN_SPACE
from heatsoak.tools import VARIABLE
from heatsoak.units import Size
from loaded import load, moved_bytes
from waiting import below, is_alive

MIB = 1 << 20
SMALL = Size(bytes=32 * MIB)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    made = tmp_path / "under test"
    made.mkdir()
    return made


@pytest.fixture
def target(directory: Path, tmp_path: Path) -> Iterator[DirectoryTarget]:
    made = DirectoryTarget(directory, SMALL)
    made.raw_dir = tmp_path / "raw"
    yield made
    made.close()
    assert list(directory.iterdir()) == []


def step(**given: Any) -> WorkloadStep:
    return WorkloadStep.model_validate({"name": "load", "rw": "write", "bs": "64k"} | given)


def fio_total(raw: Path, direction: str) -> int:
    return sum(job[direction]["io_bytes"] for job in json.loads(raw.read_text())["jobs"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("what", "moves"),
    [
        (step(name="by time", runtime="900ms", rate="40m", iodepth=8), None),
        (step(name="by bytes", rate="40m", numjobs=3, io_size="24m"), 24 * MIB),
        (step(name="once", rw="randwrite", bs="4k", rate_iops=4000, span="12m"), 12 * MIB),
        (step(name="a half", span="50%", bs="1m"), 16 * MIB),
        (
            step(name="mixed", rw="randrw", rwmixread=70, runtime="700ms", rate="20m", iodepth=4),
            None,
        ),
        (
            step(
                name="beside",
                runtime="900ms",
                rate="20m",
                beside=({"rw": "randread", "runtime": "500ms", "rate_iops": 500},),
            ),
            None,
        ),
        (step(name="as fast as it goes", rw="read", bs="1m", iodepth=4), 32 * MIB),
    ],
    ids=lambda what: getattr(what, "name", ""),
)
def test_the_samples_add_up_to_what_fio_itself_counted_in_intervals_that_are_no_slivers(
    target: DirectoryTarget, tmp_path: Path, what: WorkloadStep, moves: int | None
) -> None:
    target.open(writes=True)
    samples, notes = load(target, what)
    raw = tmp_path / "raw" / f"{what.name.replace(' ', '-')}.json"
    total = notes[-1].data
    for direction in ("read", "write"):
        assert moved_bytes(samples, direction) == pytest.approx(fio_total(raw, direction), rel=1e-9)
        assert total[f"{direction}_bytes"] == fio_total(raw, direction)
    used = "write" if what.writes else "read"
    assert moves in (None, total[f"{used}_bytes"])
    intervals_s = samples["interval_s"].drop_nulls().to_list()
    assert min(intervals_s) >= (0.05 if what.runtime_s else 1e-9)
    assert len(intervals_s) >= (2 if what.runtime_s else 1)
    assert samples["t_s"].is_sorted()
    assert set(samples.columns) == set(target.columns())
    assert samples[f"{used}_lat_p99_us"].drop_nulls().len() > 0


@pytest.mark.slow
def test_where_nothing_is_to_be_written_fio_is_kept_from_writing_as_its_command_line_says(
    target: DirectoryTarget,
) -> None:
    target.open(writes=False)
    with pytest.raises(RefusedError, match="open for reading"):
        list(target.run(step()))
    _, notes = load(target, step(rw="read", bs="1m"))
    [line] = [note.data["command"] for note in notes if "command" in note.data]
    assert "--readonly" in line
    assert line == target.command_line(step(rw="read", bs="1m"))
    assert target.describe()["version"].startswith("fio-")
    assert len(list(target.idle(2.0))) >= 2  # signs of life


@pytest.mark.slow
def test_unwritten_data_is_laid_out_before_reading_once_and_anew_after_a_purge(
    target: DirectoryTarget,
) -> None:
    target.open(writes=True)
    samples, notes = load(target, step(rw="read", span="16m"))
    assert notes[0].data == {"step": "load", "offset": 0, "bytes": 16 * MIB}
    assert moved_bytes(samples, "write") == 0
    _, notes = load(target, step(rw="read", span="16m"))
    assert "bytes" not in notes[0].data
    _, notes = load(target, step(rw="randread", bs="4k", io_size="1m"))
    assert notes[0].data == {"step": "load", "offset": 16 * MIB, "bytes": 16 * MIB}
    # a purge forgets everything, and says what it cannot know
    notes = [note for note in target.purge() if isinstance(note, Note)]
    assert notes[-1].level == "warning"
    _, notes = load(target, step(rw="read"))
    assert notes[0].data["bytes"] == 32 * MIB


@pytest.mark.slow
def test_where_holes_cannot_be_seen_each_region_is_laid_out_once(
    target: DirectoryTarget, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "SEEK_HOLE", os.SEEK_END)  # as file systems without holes answer
    target.open(writes=True)
    laid_out = []
    for span in ("8m", "4m", "16m"):
        _, notes = load(target, step(rw="read", span=span))
        laid_out.append(notes[0].data.get("bytes"))
    assert laid_out == [8 * MIB, None, 16 * MIB]


@pytest.mark.slow
def test_a_span_that_is_too_large_is_capped_with_a_warning(target: DirectoryTarget) -> None:
    target.open(writes=True)
    _, notes = load(target, step(span="1g", bs="1m"))
    assert notes[0].level == "warning"
    assert notes[-1].data["write_bytes"] == 32 * MIB
    with pytest.raises(UsageError, match="no room for one block"):
        list(target.run(step(offset="1g")))


@pytest.mark.slow
def test_closing_the_iterator_ends_fio_and_keeps_its_last_document(
    target: DirectoryTarget, tmp_path: Path
) -> None:
    target.open(writes=True)
    running = target.run(step(runtime="1h", rate="10m"))
    for batch in running:
        if isinstance(batch, pl.DataFrame) and batch.height:
            break
    assert children()
    running.close()  # type: ignore[attr-defined]
    assert children() == []
    assert fio_total(tmp_path / "raw" / "load.json", "write") > 0


def children() -> list[psutil.Process]:
    """The fios that this process has started and that have not ended."""
    return [one for one in below(psutil.Process(), "fio") if is_alive(one.pid)]


# -- what is not fio, or a fio that fails

FAKE = """#!/bin/sh
case "$1" in
  --version) echo fio-3.99; exit;;
  --enghelp) printf 'Available IO engines:\\n\\tpsync\\n'; exit;;
esac
"""


@pytest.fixture
def fake_fio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    programs = tmp_path / "bin"
    programs.mkdir()

    def make(script: str, head: str = FAKE) -> None:
        (programs / "fio").write_text(head + script)
        (programs / "fio").chmod(0o755)
        monkeypatch.setenv(VARIABLE, str(programs))

    return make


GOOD = (
    '{\n "timestamp_ms": %d,\n "jobs": [{"error": %d, "usr_cpu": 0, "sys_cpu": 0, '
    '"read": {"io_bytes": 0, "total_ios": 0, "runtime": 0, "lat_ns": {"mean": 0, "N": 0}}, '
    '"write": {"io_bytes": %d, "total_ios": 9, "runtime": %d, '
    '"lat_ns": {"mean": 5, "N": 9, "bins": {"5": 9}}}}]\n}\n'
)


def say(*documents: tuple[int, int, int, int]) -> str:
    return "".join(f"cat <<'EOF'\n{GOOD % one}EOF\n" for one in documents)


@pytest.mark.parametrize(
    ("script", "complaint", "rows"),
    [
        ("exit 0\n", "ended without a status document", 0),
        ("echo 'fio: bad disk' >&2; exit 3\n", "exit code 3: fio: bad disk", 0),
        (say((1, 0, 4096, 250)) + "exit 4\n", "exit code 4", 1),
        (say((1, 0, 4096, 250), (2, 28, 8192, 500)) + "exit 1\n", "No space left on device", 2),
        (say((1, 0, 4096, 250)) + "echo '{ \"cut\": '\n", "in the middle of a document", 1),
        (say((1, 0, 4096, 250)) + "printf '{]\\n}\\n'; exit 0\n", "not valid JSON", 1),
        (say((1, 0, 4096, 250), (2, 0, 1, 500)), "went backwards", 1),
        ("head -c 2000000 /dev/zero\n", "is not JSON", 0),
        ("kill -SEGV $$\n", "killed by SIGSEGV", 0),
    ],
)
def test_every_way_to_fail_is_one_clear_error_and_keeps_what_was_seen(
    directory: Path, fake_fio: Any, script: str, complaint: str, rows: int
) -> None:
    fake_fio(script)
    target = DirectoryTarget(directory, SMALL)
    notes = target.open(writes=True)
    assert any("neither io_uring nor libaio" in note.text for note in notes)
    seen = 0
    try:
        with pytest.raises(ToolError, match=complaint) as caught:  # noqa: PT012
            for batch in target.run(step()):
                seen += batch.height if isinstance(batch, pl.DataFrame) else 0
        assert "\n" not in str(caught.value)
    finally:
        target.close()
    assert seen == rows
    assert children() == []
    assert list(directory.iterdir()) == []


def test_a_document_of_a_fio_that_fails_is_kept(
    directory: Path, fake_fio: Any, tmp_path: Path
) -> None:
    fake_fio("echo 'cannot go on' >&2\n" + say((1, 0, 4096, 250)) + "exit 4\n")
    target = DirectoryTarget(directory, SMALL)
    target.raw_dir = tmp_path / "raw"
    target.open(writes=True)
    with pytest.raises(ToolError, match="cannot go on"):
        list(target.run(step(name="a/b")))
    target.close()
    assert fio_total(tmp_path / "raw" / "a-b.json", "write") == 4096
    assert (tmp_path / "raw" / "a-b.stderr").read_text() == "cannot go on\n"


@pytest.mark.slow
def test_a_drive_that_hangs_is_warned_of_once_and_waited_for(
    directory: Path, fake_fio: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane, "WARNED_S", 0.6)
    fake_fio(say((1, 0, 4096, 250)) + "sleep 1.5\n" + say((2, 0, 8192, 500)))
    target = DirectoryTarget(directory, SMALL)
    target.open(writes=True)
    samples, notes = load(target, step())
    target.close()
    assert len([note for note in notes if "no I/O has completed" in note.text]) == 1
    assert samples.height == 2


def test_a_clock_that_is_set_while_nothing_moves_makes_no_interval_longer_than_it_was(
    directory: Path, fake_fio: Any
) -> None:
    hour_ms = 3_600_000
    fake_fio(say((1, 0, 4096, 250)) + "sleep 0.4\n" + say((hour_ms, 0, 4096, 250)))
    target = DirectoryTarget(directory, SMALL)
    target.open(writes=True)
    samples, _ = load(target, step())
    target.close()
    assert samples.height == 2
    first, second = samples.rows(named=True)
    assert second["interval_s"] == pytest.approx(second["t_s"] - first["t_s"])
    assert second["write_bw_mb_s"] == 0


@pytest.mark.parametrize(
    ("head", "complaint"),
    [
        ("#!/bin/sh\necho fio-2.16\n", "fio-2.16 is too old: fio 3.20"),
        ("#!/bin/sh\necho hello\n", "is not fio: its version is"),
        ("#!/bin/sh\necho no >&2; exit 1\n", "exit code 1: no"),
        ("#!/no/such/interpreter\n", "cannot be run"),
    ],
)
def test_a_fio_that_will_not_do_is_named(
    directory: Path, fake_fio: Any, head: str, complaint: str
) -> None:
    fake_fio("", head)
    with pytest.raises(ToolError, match=complaint):
        DirectoryTarget(directory, SMALL).open(writes=True)


def test_an_engine_that_the_kernel_forbids_is_not_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "io_uring_works", lambda: False)
    fio = process.Fio("fio", "fio-3.33", frozenset({"io_uring", "libaio", "psync"}))
    assert fio.engine() == "libaio"


# -- what may be loaded at all


def test_a_tenth_of_the_file_system_stays_free_or_the_run_is_refused(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def free(blocks: int) -> None:
        told = os.statvfs_result((4096, 4096, 1_000_000, blocks, blocks, 9, 9, 9, 0, 255))
        monkeypatch.setattr(os, "statvfs", lambda _: told)

    free(110_000)
    with pytest.raises(RefusedError, match=r"451 MB are free, but 477 MB are needed"):
        DirectoryTarget(directory)
    assert MIN_SPACE == 64 * MIB
    free(500_000)
    whole = DirectoryTarget(directory).identity.size_bytes
    assert whole == 400_000 * 4096 // MIB * MIB
    half = DirectoryTarget(directory, Size(percent=50.0)).identity.size_bytes
    assert half == pytest.approx(whole / 2, abs=MIB)
    assert DirectoryTarget(directory, Size(bytes=1 << 40)).identity.size_bytes == whole


def written_into(file: IO[bytes], directory: Path) -> None:  # noqa: ARG001
    file.seek(20 * MIB)
    file.write(b"somebody's data" * 20_000)
    file.close()


def cut_short(file: IO[bytes], directory: Path) -> None:  # noqa: ARG001
    file.truncate(8 * MIB)
    file.close()


def left_open(file: IO[bytes], directory: Path) -> None:
    """As by another process."""


def moved_away(file: IO[bytes], directory: Path) -> None:
    file.close()
    directory.rename(directory.with_name("elsewhere"))
    directory.mkdir()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (written_into, "its contents were changed by somebody else"),
        (cut_short, f"its size was {32 * MIB} and is {8 * MIB} now"),
        (left_open, "has it open for writing"),
        (moved_away, "the directory is another one now"),
    ],
)
def test_a_test_file_that_others_changed_between_two_steps_is_not_written(
    directory: Path, happens: Callable[[IO[bytes], Path], None], said: str
) -> None:
    target = DirectoryTarget(directory, SMALL)
    target.open(writes=True)
    try:
        load(target, step(io_size="1m"))
        load(target, step(rw="randread", io_size="1m", span="2m"))
        list(target.purge())
        (fd,) = target.kept_fds()
        with Path(f"/proc/self/fd/{fd}").open("r+b") as file:
            happens(file, directory)
            before = os.pread(fd, 32 * MIB, 0)
            for writes in (target.run(step(io_size="1m")), target.purge()):
                with pytest.raises(RefusedError, match=said):
                    list(writes)
            assert os.pread(fd, 32 * MIB, 0) == before
    finally:
        target.close()


def linked(name: Path) -> None:
    os.link(name, name.with_name("link"))


def replaced(name: Path) -> None:
    linked(name)
    name.with_name("other").write_bytes(bytes(32 * MIB))
    name.with_name("other").replace(name)


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (linked, "it was given another name"),
        (replaced, r"\.heatsoak is another file now"),
        (Path.unlink, r"\.heatsoak is another file now"),
    ],
)
def test_a_test_file_that_needs_a_name_is_not_written_under_another(
    directory: Path, monkeypatch: pytest.MonkeyPatch, happens: Callable[[Path], None], said: str
) -> None:
    unnamed = DirectoryTarget._fio_path
    monkeypatch.setattr(  # as where /proc is not mounted
        DirectoryTarget, "_fio_path", lambda self: unnamed(self).replace("/proc/", "/no-proc/")
    )
    target = DirectoryTarget(directory, SMALL)
    target.open(writes=True)
    (name,) = directory.glob("*.heatsoak")
    happens(name)
    with pytest.raises(RefusedError, match=said):
        list(target.run(step(io_size="1m")))
    target.close()


def test_an_existing_file_is_read_and_never_written(directory: Path) -> None:
    path = directory / "precious"
    path.write_bytes(os.urandom(4 * MIB))
    before = path.read_bytes()
    target = FileTarget(path)
    with pytest.raises(RefusedError, match="would be overwritten"):
        target.open(writes=True)
    target.open(writes=False)
    samples, _ = load(target, step(rw="read"))
    assert moved_bytes(samples, "read") == pytest.approx(4 * MIB)
    with pytest.raises(RefusedError):
        list(target.purge())
    target.close()
    assert path.read_bytes() == before


def test_a_path_that_is_not_a_directory_is_a_usage_error(directory: Path) -> None:
    with pytest.raises(UsageError, match="is not a directory"):
        DirectoryTarget(directory / "missing")


def test_a_command_line_is_the_same_for_the_same_step_and_leads_fio_nowhere_else() -> None:
    place = FioPlace(("--filename=/proc/self/fd/3",), 32 * MIB, "psync", True)
    for option in ("filename", "directory", "exec_prerun", "ioengine", "write_iolog", "opendir"):
        with pytest.raises(RefusedError, match=option):
            command("fio", step(fio={option: "/etc/passwd"}), place, readonly=False)

    def line(name: str) -> list[str]:
        made = command("fio", step(name=name), place, readonly=False)
        return [word for word in made if word.startswith("--randseed")]

    assert line("a") == line("a") != line("b")
