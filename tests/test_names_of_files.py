"""No name of a file is a pattern, a URL or an option: it is that file's, whatever stands in it."""

import csv
import json
import os
import shutil
import sys
from contextlib import chdir
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, ran
from heatsoak.bench.resume import reopen
from heatsoak.exporter import ExportFormat, export
from heatsoak.output import printable
from heatsoak.recording import Recording, RecordingWriter, find_recordings
from heatsoak.recording.meta import JOURNAL, PARQUET
from heatsoak.serve.library import Library
from hypothesis import example, given, settings
from hypothesis import strategies as st
from made_once import made_once
from made_recording import held, make_recording
from rest_long import rest_long

#: Beside each recording lie some that its name would match, were it a pattern.
DECOYS = ("g1", "g2", "xa", "y1", "a", "b", "x")
AWKWARD = ("g[12]", "x*", "y?", "{a,b}", "**", "x**y", "file:g", "file:", "-x", " %41\n$HOME ~[/b]")

PLAIN_WORDS = st.sampled_from(
    ["file:", "[", "]", "*", "?", "{a,b}", "%20", "s3:", "~", "$HOME", "a"]
)
NAMES = (
    (st.lists(PLAIN_WORDS, min_size=1, max_size=4).map("".join) | st.text(min_size=1, max_size=60))
    .map(lambda text: text.replace("/", "").replace("\0", "").encode("utf-8", "replace"))
    .filter(lambda name: name not in (b"", b".", b"..") and len(name) <= 200)
) | st.binary(min_size=1, max_size=20).filter(
    lambda name: not {0, ord("/")} & {*name} and name not in (b".", b"..")
)


def frame(first: int, value: float) -> pl.DataFrame:
    times = [float(index) for index in range(first, first + 3)]
    return pl.DataFrame({"t_s": times, "step": ["a"] * 3, "read_bw_mb_s": [value] * 3})


def begun(directory: Path, value: float) -> RecordingWriter:
    """Begin a recording, with three rows."""
    recording = held(frame(0, value), rw="read", status="running", duration_s=None)
    writer = RecordingWriter(directory, recording.meta)
    writer.event(recording.events[0])
    writer.append(frame(0, value))
    return writer


@pytest.mark.slow
@settings(max_examples=20)
@given(name=NAMES)
@example(name=b"file:g")
@example(name=b"[ga]*")
@example(name=b"n\xff")
@example(name=b"**")
@pytest.mark.parametrize("is_absolute", [False, True])
def test_a_recording_is_read_where_it_was_written_whatever_it_is_called(
    tmp_path_factory: pytest.TempPathFactory, is_absolute: bool, name: bytes
) -> None:
    base = tmp_path_factory.mktemp("names")
    with chdir(base):
        for decoy in {b"g1", b"a", b"x"} - {name}:
            make_recording(Path(os.fsdecode(decoy)), frame(0, 1.0))
        given_as = Path(os.fsdecode(name))
        path = base / given_as if is_absolute else given_as
        with begun(path, 2.0) as writer:
            running = Recording.open(path).samples()
            writer.finish("finished", 3)
        assert (base / given_as / PARQUET).is_file()
        finished = Recording.open(path)
        assert finished.samples().equals(running)
        assert running.equals(frame(0, 2.0))
        again = reopen(finished, 0)[0]
        assert (base / given_as / JOURNAL).is_file()
        assert again.samples()["read_bw_mb_s"].to_list() == [2.0] * 3
        with RecordingWriter(path, again.meta, resumed=True) as writer:
            writer.append(frame(3, 3.0))
            writer.finish("finished", 6)
        (found,) = find_recordings(path)
        assert found.samples()["read_bw_mb_s"].to_list() == [2.0] * 3 + [3.0] * 3
        for table in ("t.csv", "t.parquet"):
            to = path / table
            export([found], str(to))
            with to.open("rb") as file:
                rows = (pl.read_csv if table == "t.csv" else pl.read_parquet)(file)
            assert rows["read_bw_mb_s"].to_list() == [2.0] * 3 + [3.0] * 3


PROTOCOL = """
name = "short"
steps = [{{ name = "a", rw = "{rw}", bs = "{bs}", iodepth = 32, runtime = "3s" }}]
"""


def run(directory: Path, protocol: str, slot: str, name: str) -> Any:
    words = ["--on", "sim:drive.toml", "--set", f"slot={slot}", "--format", "json"]
    return heatsoak_here("run", protocol, *words, f"--output={name}", cwd=directory)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, small_drive_text: str) -> Path:
    """A directory with a drive, a recording with a plain name, and others."""

    def make(directory: Path) -> None:
        (directory / "drive.toml").write_text(small_drive_text)
        (directory / "p.toml").write_text(PROTOCOL.format(rw="read", bs="128k"))
        (directory / "other.toml").write_text(PROTOCOL.format(rw="randread", bs="4k"))
        assert run(directory, "p.toml", "low", "plain").returncode == 0
        for decoy in DECOYS:
            assert run(directory, "other.toml", "top", decoy).returncode == 0

    return made_once(tmp_path_factory, "names", make)


@pytest.fixture(scope="module")
def plainly(made: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is said of the recording with a plain name."""
    return answers(linked(made, tmp_path_factory.mktemp("plainly")), "plain")


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    return linked(made, tmp_path)


def linked(made: Path, directory: Path) -> Path:
    for path in made.iterdir():
        (directory / path.name).symlink_to(path)
    return directory


def answers(directory: Path, name: str) -> dict[str, Any]:
    """What the commands say of the recording `name`, and what they write beside it."""
    path = f"./{name}"

    def told(*words: str) -> str:
        done = done_here(*words, cwd=directory)
        assert "Traceback" not in done.stderr
        return done.stdout

    def found(text: str) -> Any:
        (recording,) = json.loads(text)["recordings"]
        return {key: value for key, value in recording.items() if key != "path"}

    compared = told("compare", path, "g1", "--by", "slot", "--anyway", "--format", "json")
    rows = [{**row, "warnings": None} for row in json.loads(compared)] if compared else []
    told("export", path, "-o", f"{path}.csv")
    told("export", path, "-o", f"{path}.parquet")
    told("export", path, "-o", f"{path}.plot/", "--as", "fio-plot")
    told("import", f"{path}.csv", "-o", f"{path}.imported")
    told("report", path, "-o", f"{path}.html")
    told("report", path, "-o", f"{path}.tidy.csv")
    with (directory / f"{name}.tidy.csv").open(newline="") as file:
        tidy = [{**row, "path": "", "recording": ""} for row in csv.DictReader(file)]
    with (directory / f"{name}.parquet").open("rb") as parquet:
        samples = pl.read_parquet(parquet)
    return {
        "analyze": found(told("analyze", path, "--format", "json")),
        "compare": [row.get("value") for row in rows],
        "export": (directory / f"{name}.csv").read_bytes(),
        "parquet": samples.rows(),
        "plot": sorted(p.name for p in (directory / f"{name}.plot").rglob("*")),
        "import": found(told("analyze", f"{path}.imported", "--format", "json")),
        "log": found(told("analyze", f"{path}.csv", "--format", "json")),
        "tidy": tidy,
        "pages": (directory / f"{name}.html").stat().st_size > 10_000,
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", rest_long(AWKWARD, every=3))
def test_every_command_says_the_same_of_a_recording_whatever_it_is_called(
    place: Path, plainly: dict[str, Any], name: str
) -> None:
    assert run(place, "p.toml", "low", name).returncode == 0
    assert answers(place, name) == plainly
    shown = {entry.name: entry.recording for entry in Library(place).contents()[0]}
    rates = shown[printable(name)].samples()["read_bw_mb_s"].to_list()
    assert rates == Recording.open(place / "plain").samples()["read_bw_mb_s"].to_list()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["d[12]", "file:d", "d:1\\:2", "-d %20"])
def test_a_directory_under_test_is_the_one_that_was_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / "d1").mkdir()
    (tmp_path / "j[1].fio").write_text("[a]\nrw=read\nbs=64k\nsize=1m\n")
    done_here("run", "j[1].fio", "--on", f"./{name}", "-o", "r*", cwd=tmp_path)
    (recording,) = find_recordings(tmp_path / "r*")
    assert recording.meta.drive["details"]["directory"] == str(tmp_path / name)


#: What writes, before it is told where.
WRITES = [
    ("run", "p.toml", "--on", "sim:drive.toml", "-o"),
    ("run", "p.toml", "--on", "sim:drive.toml", "--resume", "-o"),
    *(("export", "plain", "--as", kind.value, "-o") for kind in ExportFormat),
    ("import", "log.csv", "-o"),
]


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("file/x", "file/x: file is a file, not a directory"),
        ("file/deep/x", "file is a file, not a directory"),
        ("n" * 300, "cannot be created: File name too long"),
    ],
)
def test_a_place_that_cannot_be_made_is_one_line_before_anything_is_done(
    place: Path, to: str, said: str
) -> None:
    (place / "file").write_text("mine")
    (place / "log.csv").write_text("time_s,MB/s\n" + "".join(f"{n},100\n" for n in range(60)))
    were = sorted(place.iterdir())
    for words in WRITES:
        assert said in complaint(heatsoak_here(*words, to, cwd=place), 2), words
        assert sorted(place.iterdir()) == were
    assert (place / "file").read_text() == "mine"
    if to == "file/x":
        for suffix in ("html", "png", "csv", "xml"):
            done = heatsoak_here("report", "plain", "-o", f"{to}.{suffix}", cwd=place)
            assert complaint(done, 2).endswith(f"{said.split(': ')[1]}: name another with -o")


@pytest.mark.slow
def test_more_recordings_are_exported_together_than_files_can_be_open(tmp_path: Path) -> None:
    make_recording(tmp_path / "many" / "0", frame(0, 1.0))
    for number in range(1, 150):
        shutil.copytree(tmp_path / "many" / "0", tmp_path / "many" / str(number))
    few = 'ulimit -n 100; exec "$0" -m heatsoak export many -o all.csv'
    words = ["sh", "-c", few, sys.executable]
    done = ran(*words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len((tmp_path / "all.csv").read_text().splitlines()) == 1 + 150 * 3


def test_logs_of_one_name_are_told_apart_by_their_directories(tmp_path: Path) -> None:
    for name, rate in (("bare", 1200), ("finned", 1500)):
        (tmp_path / name).mkdir()
        rows = "".join(f"{second},{rate},{40 + second % 3}\n" for second in range(60))
        (tmp_path / name / "log.csv").write_text(f"time_s,write_mb_s,temperature_c\n{rows}")
    for words, cwd in (
        (("bare", "finned/log.csv"), tmp_path),
        (("log.csv", "../bare/log.csv"), tmp_path / "finned"),
    ):
        said = heatsoak_here("analyze", *words, cwd=cwd).stdout
        assert "bare/log " in said
        assert "finned/log " in said
