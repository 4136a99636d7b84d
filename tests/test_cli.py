"""The command line as a user meets it: words, output, exit codes."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest
import typer
from command import complaint, done_here, heatsoak_here, json_here, ran
from heatsoak import catalog
from heatsoak.cli.app import app
from heatsoak.cli.commands import COMMANDS
from heatsoak.recording import find_recordings
from loaded import moved_bytes
from loop_drive import attached
from needs import needs
from other_user import as_other_user
from started import small_disk

PUGET_CELL = [*("--set", "slot=top"), *("--set", "gpus=1"), *("--set", "gpu_load=idle")]


def test_help_version_and_commands_are_shown_by_their_usual_names(tmp_path: Path) -> None:
    for words, begins in (
        ("--version", "heatsoak 0."),
        ("-v", "heatsoak 0."),
        ("-h", "Usage: heatsoak [OPTIONS] COMMAND"),
        ("help", "Usage: heatsoak [OPTIONS] COMMAND"),
        ("run -h", "Usage: heatsoak run"),
        ("help run", "Usage: heatsoak run"),
        ("rack stop -h", "Usage: heatsoak rack stop"),
    ):
        assert done_here(*words.split(), cwd=tmp_path).stdout.startswith(begins), words
    shown = done_here("--help", cwd=tmp_path).stdout
    assert not any(f" {hidden} " in shown for hidden in ("calibrate", "corpus"))
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, (_, what) in (row for rows in COMMANDS.values() for row in rows.items()):
        assert commands[name].help.startswith(what)
        assert f"  {what}\n" in shown  # on one line
    group = done_here("lab", cwd=tmp_path)  # without a command, its help
    assert group.stderr == ""
    assert group.stdout == done_here("lab", "--help", cwd=tmp_path).stdout
    usual, all_of_it = (
        done_here("run", "quick", word, cwd=tmp_path).stdout for word in ("--help", "--help-all")
    )
    left = re.findall(r"--\S+\b", usual.partition("--help-all also shows")[2])
    assert "--tmt1" in left
    assert all(f"\n  {option} " in all_of_it and f"\n  {option} " not in usual for option in left)


@pytest.mark.slow
def test_nothing_waits_for_what_it_does_not_use(tmp_path: Path, small_drive: Path) -> None:
    for words in ("--help", "--version", ""):
        loaded = loaded_by(*words.split())
        assert not loaded & {"numpy", "polars", "pydantic", "rich.console", "heatsoak.analysis"}
    assert not loaded_by("lab", "schema") & {"numpy", "polars", "heatsoak.analysis"}
    assert not loaded_by("list", "drives", "--help") & {
        "heatsoak.analysis",
        "heatsoak.bench.conductor",
    }
    done_here("run", "quick", "--on", f"sim:{small_drive}", "-o", "r", cwd=tmp_path)
    loaded = loaded_by("analyze", str(tmp_path / "r"))
    assert "polars" in loaded
    # each of these takes as long as all that is needed
    assert not loaded & {"scipy.special", "scipy.signal", "scipy.stats", "scipy.optimize"}
    assert not loaded & {"heatsoak.catalog", "heatsoak.importer.formats", "matplotlib"}


def loaded_by(*words: str) -> set[str]:
    """The modules that a command line has loaded when it ends."""
    code = (
        "import atexit, sys; from heatsoak.cli import main;"
        f"sys.argv = ['heatsoak', *{words}];"
        "atexit.register(lambda: print(*sys.modules, file=sys.stderr)); main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "quick", "--on", "nowhere"), "nowhere: there is no such target"),
        (("run", "quick", "--on", "sim:950"), "no simulated drive '950'"),
        (("run", "quick", "--on", "sim:samsung-950-pro-512@moon"), "no simulated place 'moon'"),
        (("run", "quick", "--on", "/dev/null"), "neither file, directory nor block device"),
        (("run", "mine.toml", "--on", "."), "unknown key 'runtme' in steps[1]"),
        (("run", "quick", "--on", ".", "--set", "heatsnk=none"), "did you mean 'heatsink'?"),
        (("watch", ".", "--set", "heatsnk=none"), "did you mean 'heatsink'?"),
        (("run", "quick", "--on", ".", "--scale=half"), "'half' is not a share such as"),
        (
            ("compare", "x", "--by", "slot", "--fail-below", "500MB/s"),
            "No such option: --fail-below: heatsoak compare --help-all lists its options",
        ),
        (("analyze", "x", "-o", "y.html"), "-o: heatsoak analyze --help-all lists its options"),
        (("analyze", "nowhere"), "nowhere: there is no such file or directory"),
        (("analyze", "empty"), "nothing can be imported: there is no file in it"),
        (("analyze", "broken"), "broken/recording.json: invalid JSON"),
        (("demo", "-o", "broken"), "broken: already exists"),
        (("demo", "-o", "mine.toml/x"), "mine.toml is a file, not a directory"),
        (("run", "pipe", "--on", "."), "pipe: is a pipe, not a regular file"),
        (("run", "quick", "--on", "sim:pipe.toml"), "pipe.toml: is a pipe, not a regular file"),
        (("analyze", "pipe"), "pipe: is a pipe, not a regular file"),
        (("lab", "trace", "pipe"), "pipe: is a pipe, not a regular file"),
        (("lab", "trace", "x", "--span", "9" * 400), "more than any drive holds"),
        (("lab", "trace", "x", "--idle-limit", "9" * 400), "longer than thirty years"),
        (("lab", "trace", "n" * 300), "File name too long"),
    ],
)
def test_a_wrong_word_or_file_is_one_line_and_exit_code_2(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    step = 'name = "x"\n[[steps]]\nname = "a"\nrw = "read"\n'
    (tmp_path / "mine.toml").write_text(step + "runtme = 5\n")
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "recording.json").write_text("{")
    (tmp_path / "x").touch()
    for pipe in ("pipe", "pipe.toml"):
        os.mkfifo(tmp_path / pipe)
    assert said in complaint(heatsoak_here(*words, cwd=tmp_path), 2)


@pytest.mark.parametrize(
    "error",
    [RecursionError("deep"), MemoryError(), pl.exceptions.PanicException("a\nb"), KeyError(1)],
)
def test_an_internal_error_is_one_line_and_its_details_are_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fails(**_: object) -> None:
        raise error

    monkeypatch.setattr("heatsoak.cli.app.app", fails)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    line = complaint(heatsoak_here("list", "protocols", cwd=tmp_path), 3)
    assert f"internal error: {type(error).__name__}" in line
    (file,) = tmp_path.glob("heatsoak-fault-*.txt")
    assert line.endswith(f"please report it with the details in {file}")
    assert "Traceback" in file.read_text()
    monkeypatch.setenv("HEATSOAK_DEBUG", "1")
    assert "Traceback" in heatsoak_here("list", "protocols", cwd=tmp_path).stderr


def test_ctrl_c_before_a_command_has_begun_is_its_exit_code_alone(tmp_path: Path) -> None:
    program = """
import sys
class Interrupted:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
import heatsoak.cli
"""
    words = [sys.executable, "-c", program]
    done = ran(*words, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
def test_no_permission_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for name, mode in (("place", 0o555), ("his", 0o777)):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(mode)
    words = (sys.executable, "-m", "heatsoak", "run", "quick", "--on", "../place")
    line = as_other_user(*words, sees=[tmp_path])
    done = ran(*line, cwd=tmp_path / "his")
    assert "a test file cannot be created: Permission denied" in complaint(done, 2)


@pytest.mark.slow
def test_a_full_file_system_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with small_disk(tmp_path / "full", "32m") as place:
        done = heatsoak_here("run", "quick", "--on", "full", cwd=tmp_path)
        assert "10 % of the file system" in complaint(done, 4)
        assert list(place.iterdir()) == []
        assert not (tmp_path / "recordings").exists()


def test_without_fio_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("heatsoak.tools.SYSTEM", ())
    monkeypatch.setattr("heatsoak.tools.LOCAL", ())
    monkeypatch.setenv("PATH", "")
    done = heatsoak_here("run", "quick", "--on", ".", cwd=tmp_path)
    assert "fio is not installed: apt-get install fio" in complaint(done, 3)


def test_a_refusal_comes_before_any_other_complaint(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("nonsense")
    with attached(tmp_path / "image", 64 << 20) as device:
        subprocess.run(["mkfs.ext4", "-q", str(device)], check=True)
        for words in ("puget", "pugget", "mine.toml", "quick --set bs=0", "puget -o ."):
            done = heatsoak_here("run", *words.split(), "--on", str(device), cwd=tmp_path)
            assert "ext4" in complaint(done, 4), words


@pytest.mark.slow
def test_one_simulated_cell_runs_judges_and_can_fail_a_limit(
    tmp_path: Path, small_drive: Path
) -> None:
    place = ("slot=top", "gpus=2", "gpu_load=loaded", "runtime=60s")
    words = ["run", "puget", "--on", f"sim:{small_drive}", "-o", "r"]
    words += [word for setting in place for word in ("--set", setting)]
    found = json_here(*words, "--fail-on", "throttle", cwd=tmp_path, code=1)
    (recording,) = found["recordings"]
    assert recording["conditions"] == {"slot": "top", "gpus": 2, "gpu_load": "loaded"}
    assert [step["step"] for step in recording["steps"]] == [
        *("sequential-read", "sequential-write", "random-read", "random-write")
    ]
    assert recording["steps"][0]["verdict"] == "thermal"
    assert Path(tmp_path, recording["path"]).is_dir()
    for below, code in (("1", 0), ("100000", 1)):
        judged = heatsoak_here("analyze", "r", "--fail-below", below, cwd=tmp_path)
        assert judged.returncode == code


FEW_SECONDS = """
schema = 1
name = "seconds"
steps = [
  { name = "write", rw = "write", bs = "128k", iodepth = 32, runtime = "2s" },
  { kind = "pause", duration = "1s" },
  { name = "both", rw = "randread", bs = "4k", iodepth = 16, runtime = "2s", \
beside = [{ rw = "randwrite", bs = "4k", iodepth = 4, runtime = "2s" }] },
]
"""
LATENCIES = [
    f"{direction}_lat{kind}_us"
    for direction in ("read", "write")
    for kind in ("", "_p50", "_p99", "_p999", "_max")
]


def one_of_each_class() -> list[str]:
    classes = {catalog.load_drive(one).base or one: one for one in catalog.drive_ids()}
    return sorted(classes.values())


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.parametrize("drive_id", one_of_each_class())
def test_every_drive_of_the_catalog_runs(tmp_path: Path, drive_id: str) -> None:
    (tmp_path / "seconds.toml").write_text(FEW_SECONDS)
    words = ("run", "seconds.toml", "--on", f"sim:{drive_id}", "-o", "r")
    (judged,) = json_here(*words, cwd=tmp_path)["recordings"]
    assert [step["step"] for step in judged["steps"]] == ["write", "both"]
    (recording,) = find_recordings(tmp_path / "r")
    assert recording.meta.status == "finished"
    place = catalog.load_enclosure(catalog.load_drive(drive_id).enclosure)
    assert recording.meta.conditions == place.labels
    samples = recording.samples()
    write, both = (samples.filter(samples["step"] == name) for name in ("write", "both"))
    assert write["write_bw_mb_s"].max() > 400  # type: ignore[operator]
    # workloads beside each other, with latencies of either
    assert set(LATENCIES) <= set(both.columns)
    for name in ("read_iops", "write_iops", "power_w", *LATENCIES):
        assert (both[name] > 0).all(), name
        assert both[name].null_count() == 0, name
    assert both["temp_c.composite"].drop_nulls().is_between(20, 90).all()


@pytest.mark.slow
def test_a_drive_that_shuts_down_is_exit_code_3_and_leaves_its_recording(
    tmp_path: Path, small_hot_drive: Path
) -> None:
    (tmp_path / "reads.toml").write_text(
        'schema = 1\nname = "reads"\n[[steps]]\nname = "read"\nrw = "read"\nbs = "128k"\n'
        'iodepth = 32\nruntime = "300s"\n'
    )
    on = f"sim:{small_hot_drive}@open-bench"
    done = heatsoak_here("run", "reads.toml", "--on", on, "-o", "r", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"heatsoak: {on}: shut itself down at ")
    assert last.endswith("the recording so far is in r")
    (recording,) = find_recordings(tmp_path / "r")
    assert recording.meta.status == "failed"
    seen = recording.samples()
    assert 60 < seen["t_s"].max() < 200  # type: ignore[operator]
    assert seen["read_bw_mb_s"][20] > 12_000
    done_here("analyze", "r", cwd=tmp_path)


#: The limit of the catalog moves with each fit.
FITTED_LIMIT = r"engage_c = \{[^}]*\}"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("dies = { value = 32,", "dies = { value = 0,", "nand.dies is 0: "),
        ("dies = { value = 32,", "dies = { value = -8,", "nand.dies is -8: "),
        ("dies = { value = 32,", "dies = { value = 2.5,", "nand.dies is 2.5: "),
        ("dies = { value = 32,", "dies = { value = 1e30,", "nand.dies"),
        ("raw_bytes = { value = 8589934592,", "raw_bytes = { value = 8000000000,", "no spare area"),
        (
            "purge_s = {",
            'reserve_bytes = { value = -4096, assumed = "x" }\npurge_s = {',
            "capacity.reserve_bytes is -4096: ",
        ),
        (
            "[thermal.links.die]",
            '[thermal.nodes.lost]\nj_per_k = { value = 1, assumed = "x" }\n[thermal.links.die]',
            "thermal.nodes.lost is floating",
        ),
        ('between = ["nand", "board"]', 'between = ["nand", "bord"]', "thermal.links.nand"),
        (FITTED_LIMIT, 'engage_c = { value = 20, assumed = "x" }', "governor.law.engage_c is 20: "),
        ("read_us = { value = 50,", "read_us = { value = nan,", "nand.read_us.value: "),
        ("idle_w = { value = 0.4,", "idle_w = { value = inf,", "energy.idle_w.value: "),
        ("idle_w = { value = 0.4,", "idle_w = { value = -1,", "energy.idle_w is -1: "),
        ("erase_us = {", "erase_ms = {", "unknown key 'erase_ms' in nand"),
        ("lag_s = { value = 5,", "lag_s = { value = -5,", "sensors.composite.lag_s is -5: "),
        ("weights = { nand = {", "weights = { nandd = {", "sensors.composite.weights.nandd"),
        ('kind = "band"', 'kind = "bend"', "governor.law"),
    ],
)
def test_a_drive_that_cannot_be_is_one_line_that_names_the_key(
    tmp_path: Path, small_drive_text: str, old: str, new: str, named: str
) -> None:
    text, count = re.subn(old if old == FITTED_LIMIT else re.escape(old), new, small_drive_text)
    assert count == 1
    (tmp_path / "my.toml").write_text(text, "utf-8")
    said = complaint(heatsoak_here("run", "quick", "--on", "sim:my.toml", cwd=tmp_path), 2)
    assert "my.toml" in said
    assert named in said
    assert not (tmp_path / "recordings").exists()


@pytest.mark.slow
def test_an_enclosure_can_be_named_and_brings_its_conditions(
    tmp_path: Path, small_drive: Path
) -> None:
    target = f"sim:{small_drive}@puget-top-2gpu-loaded"
    (recording,) = json_here("run", "quick", "--on", target, cwd=tmp_path)["recordings"]
    place = {"slot": "top", "gpus": 2, "gpu_load": "loaded"}
    assert recording["conditions"] == {**place, "enclosure": "puget-top-2gpu-loaded"}


def test_a_dry_run_reports_bytes_endurance_and_time_and_touches_nothing(tmp_path: Path) -> None:
    target = "sim:samsung-950-pro-512"
    (run,) = json_here("run", "puget", "--on", target, *PUGET_CELL, "--dry-run", cwd=tmp_path)
    assert run["size_bytes"] == 512_110_190_592
    by_name = {step["step"]: step for step in run["steps"]}
    assert by_name["create-file"]["written_bytes"] == pytest.approx(run["size_bytes"])
    assert by_name["sequential-read"]["written_bytes"] == 0
    assert run["written_bytes"] == sum(step["written_bytes"] for step in run["steps"])
    assert run["endurance_pct"] == pytest.approx(100 * run["written_bytes"] / 400e12)
    assert run["duration_s"] == sum(step["duration_s"] for step in run["steps"])
    text = heatsoak_here("run", "quick", "--on", ".", "--dry-run", cwd=tmp_path)
    assert "at most" in text.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_of_a_matrix_is_a_table_of_its_cells_and_the_steps_of_each_once(
    tmp_path: Path,
) -> None:
    done = heatsoak_here(
        "run", "puget", "--on", "sim:samsung-950-pro-512", "--dry-run", cwd=tmp_path
    )
    first, *lines = done.stdout.splitlines()
    assert re.fullmatch(
        r"puget on sim:samsung-950-pro-512: 14 recordings, .* in all; at most .* TB written", first
    )
    cells = [line.split() for line in lines[1:15]]
    assert cells[0] == ["1", "bottom", "1", "idle"]
    assert cells[-1] == ["14", "underside", "1", "loaded"]
    assert done.stdout.count("sequential-write") == 1
    assert len(lines) < 40


def test_a_new_recording_goes_where_there_is_a_directory_and_only_what_is_there_is_resumed(
    tmp_path: Path,
) -> None:
    words = ("run", "quick", "--on", "sim:samsung-950-pro-512", "-o")
    line = complaint(heatsoak_here(*words, "/no/such/r", cwd=tmp_path), 2)
    assert "there is no directory /no/such: make it" in line
    line = complaint(heatsoak_here(*words, "nothing", "--resume", cwd=tmp_path), 2)
    assert "nothing: there is nothing to resume" in line
    assert list(tmp_path.iterdir()) == []


@needs("fio")
def test_a_matrix_on_a_real_drive_asks_for_the_cell_it_is_in(tmp_path: Path) -> None:
    done = heatsoak_here("run", "puget", "--on", ".", cwd=tmp_path)
    assert "--set slot=bottom" in complaint(done, 2)
    loaded = [*PUGET_CELL[:-1], "gpu_load=loaded"]
    done = heatsoak_here("run", "puget", "--on", ".", *loaded, cwd=tmp_path)
    if not any(shutil.which(name) for name in ("gpu-burn", "gpu_burn")):
        assert "asks for gpu heat at 100 % here: gpu-burn is not" in complaint(done, 2)


def test_lists_are_json_too(tmp_path: Path) -> None:
    drives = json_here("list", "drives", cwd=tmp_path)
    keys = {"id", "path", "model", "serial", "size_bytes", "simulated", "sensors", "writable"}
    assert all(keys | {"schema_version", "why", "erase"} == row.keys() for row in drives)
    assert any(row["simulated"] for row in drives)
    protocols = json_here("list", "protocols", cwd=tmp_path)
    by_name = {row["name"]: row for row in protocols}
    assert by_name["puget"]["recordings"] == 14
    assert 80 <= by_name["quick"]["duration_without_probes_s"] <= 130
    assert by_name["quick"]["duration_s"] <= 250


SHORT = """
schema = 1
name = "short"
file_size = "128MiB"
steps = [
  { kind = "precondition", name = "fill", rw = "write", bs = "1m", iodepth = 4 },
  { name = "read", rw = "read", bs = "128k", iodepth = 8, runtime = "1s" },
  { kind = "pause", duration = "0.5s" },
  { name = "write", rw = "randwrite", bs = "4k", iodepth = 4, runtime = "1s" },
]
"""


@pytest.mark.slow
@needs("fio")
def test_a_run_on_a_directory_agrees_with_fio_and_leaves_nothing_behind(tmp_path: Path) -> None:
    place = tmp_path / "place"
    place.mkdir()
    (tmp_path / "short.toml").write_text(SHORT)
    found = json_here("run", "short.toml", "--on", "place", "-o", "r", cwd=tmp_path)
    assert list(place.iterdir()) == []
    (recording,) = find_recordings(tmp_path / "r")
    assert recording.meta.status == "finished"
    samples = recording.samples()
    for step in ("fill", "read", "write"):
        (job,) = json.loads((tmp_path / "r" / "raw" / f"{step}.json").read_text())["jobs"]
        rows = samples.filter(samples["step"] == step)
        for direction in ("read", "write"):
            counted = pytest.approx(job[direction]["io_bytes"], rel=0.01, abs=1)
            assert moved_bytes(rows, direction) == counted
    (judged,) = found["recordings"]
    assert [step["step"] for step in judged["steps"]] == ["read", "write"]


STOPPED_IN_A_CLASS = """
import os, signal, sys
from heatsoak.cli import app, main

class Field:
    def __set_name__(self, owner, name):
        os.kill(os.getpid(), signal.{name})

def command(**_):
    type("Made", (), dict(field=Field()))

app.app = command
main()
"""


STOPPED_IN_AN_IMPORT = """
import os, signal, sys, weakref
import heatsoak.cli

class Stopping:
    def find_spec(self, name, *_):
        if name == "heatsoak.cli.overview":
            lock = set()
            told = weakref.ref(lock, lambda _: os.kill(os.getpid(), signal.{name}))
            del lock  # Python goes on after an error here

sys.meta_path.insert(0, Stopping())
sys.argv = ["heatsoak", "doctor"]
heatsoak.cli.main()
"""


STOPPED_IN_A_MODEL = """
import os, signal
from heatsoak.cli import app, main
from heatsoak.toml import LateModel
from pydantic_core import core_schema

class Word:
    @classmethod
    def __get_pydantic_core_schema__(cls, *_):
        return core_schema.literal_schema([cls()])

    def __index__(self):
        os.kill(os.getpid(), signal.{name})
        raise TypeError  # pydantic goes on after an error here

class Model(LateModel):
    word: Word

app.app = lambda **_: Model(word=1)
main()
"""


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("program", [STOPPED_IN_A_CLASS, STOPPED_IN_AN_IMPORT, STOPPED_IN_A_MODEL])
def test_a_stop_while_a_class_or_model_is_made_or_something_is_imported_is_an_interruption(
    program: str, name: str
) -> None:
    words = [sys.executable, "-c", program.format(name=name)]
    done = ran(*words)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "heatsoak: interrupted\n")


@pytest.mark.slow
def test_recordings_are_judged_where_linux_only_modules_are_missing(tmp_path: Path) -> None:
    hidden = "import sys, psutil; sys.modules['fcntl'] = sys.modules['termios'] = None; "
    code = hidden + "from heatsoak.cli import main; sys.argv = ['heatsoak', 'analyze', 'x']; main()"
    done = ran(sys.executable, "-c", code, cwd=tmp_path)
    assert "no such file or directory" in complaint(done, 2)


@pytest.mark.slow
def test_calibrate_shows_how_the_catalog_does(tmp_path: Path) -> None:
    check = ("calibrate", "--check", "--stage", "puget")
    (found,) = json_here(*check, cwd=tmp_path)["stages"]
    assert len(found["parameters"]) <= 20
    for metric in ("onset_s", "depth_pct"):
        rows = [row for row in found["rows"] if row["id"].endswith(metric)]
        assert len(rows) == 14
        assert sum(row["ok"] for row in rows) >= 10
    text = heatsoak_here(*check, cwd=tmp_path).stdout
    assert "parameters fitted to" in text
    wrong = done_here("calibrate", "--stage", "pugte", cwd=tmp_path, code=2)
    assert "did you mean 'puget'" in wrong.stderr
    wrong = done_here("calibrate", "--hold-out", "puget.tpo.1gpu.idle", cwd=tmp_path, code=2)
    assert "did you mean" in wrong.stderr


@pytest.mark.slow
@needs("fio")
def test_a_fio_job_file_runs_and_says_what_it_could_not_take(tmp_path: Path) -> None:
    job = "[global]\nrw=randread\nsize=64m\nruntime=1\ntime_based\niodepth=4\n[a]\n"
    (tmp_path / "two.fio").write_text(job + "filename=/dev/sda\n[b]\nstonewall\nrw=write\n")
    done = done_here("run", "two.fio", "--on", ".", "-o", "r", "--format", "json", cwd=tmp_path)
    (recording,) = json.loads(done.stdout)["recordings"]
    assert [step["step"] for step in recording["steps"]] == ["a", "b"]
    assert "filename" in done.stderr
    assert any("filename" in note for note in recording["notes"])


def test_without_a_command_it_says_which_questions_are_answered_how(tmp_path: Path) -> None:
    done = heatsoak_here(cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for command in ("demo", "doctor", "run", "watch", "analyze", "compare", "report", "list"):
        assert any(f"  heatsoak {command}" in line and "?" in line for line in lines), command


def test_a_result_ends_with_what_was_written_and_the_next_command(
    tmp_path: Path, small_drive: Path
) -> None:
    (tmp_path / "tiny.toml").write_text(
        'schema = 1\nname = "tiny"\nfile_size = "64MiB"\n[[steps]]\nname = "write"\nrw = "write"\n'
        'bs = "128k"\nruntime = "2s"\n'
    )
    words = ("run", "tiny.toml", "--on", f"sim:{small_drive}", "-o", "my run")
    ran = heatsoak_here(*words, cwd=tmp_path)
    written, charts = ran.stdout.splitlines()[-2:]
    assert re.fullmatch(r"[0-9.]+ (MB|GB) were written", written)
    assert charts == "charts: heatsoak report 'my run' -o report.html"
    judged = heatsoak_here("analyze", "my run", cwd=tmp_path)
    assert judged.stdout.splitlines()[-1] == charts


def test_the_time_to_go_counts_no_probe_that_may_not_be_needed(
    tmp_path: Path, small_drive: Path
) -> None:
    words = ("run", "quick", "--on", f"sim:{small_drive}", "-o", "r")
    ran = heatsoak_here(*words, cwd=tmp_path)
    first = ran.stderr.splitlines()[0]
    dry = heatsoak_here(*words[:-2], "--dry-run", cwd=tmp_path)
    takes = re.search(r"Takes (.*), with all probes", dry.stdout)
    assert takes is not None
    assert first.endswith(f"; {takes[1]} to go")
