"""``heatsoak sweep``: what-ifs by the thousand, the same wherever they are run."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here
from heatsoak.sweep import work, workers
from schema_check import complaints
from waiting import until

if TYPE_CHECKING:
    from twinned import Twinned

pytest_plugins = ["twinned"]

EXAMPLE = Path(__file__).parents[1] / "examples" / "cooling.toml"
GRID = """
drives = ["samsung-950-pro-512"]
enclosures = ["puget-top-2gpu-loaded", "wings-px1"]
workloads = ["read"]
for = "90s"
ambient_c = { from = 20, to = 60, steps = 5 }
heatsink = ["none", "plextor-adapter", 5]
"""


def swept(grid: str, *words: str, cwd: Path, into: str = "s") -> dict[str, Any]:
    (cwd / "grid.toml").write_text(grid)
    done = done_here(
        *("sweep", "grid.toml", "-o", into, "--format", "json", "--jobs", "1", *words), cwd=cwd
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def contents(directory: Path) -> dict[str, bytes]:
    """Return each file's bytes by its path."""
    files = sorted(path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}


def table(directory: Path) -> pl.DataFrame:
    """Return the points of a sweep, as anybody would read them."""
    return pl.read_parquet(directory / "points" / "*.parquet")


@pytest.mark.slow
def test_a_point_is_what_predict_says_of_it(tmp_path: Path) -> None:
    swept(GRID, "--draws", "40", cwd=tmp_path)
    rows = table(tmp_path / "s").to_dicts()
    assert len(rows) == 30
    for row in (rows[0], rows[13], rows[29]):
        sink = row["heatsink"] or row["heatsink_k_per_w"]
        words = ["--ambient", str(row["ambient_c"]), "--place", row["enclosure"]]
        words += [] if sink is None else ["--heatsink", str(sink)]
        words += ["--workload", "read", "--for", "90s", "--format", "json"]
        done = heatsoak_here("predict", row["drive"], *words, cwd=tmp_path)
        said = json.loads(done.stdout)
        assert row["throttles"] == said["throttles"]
        assert row["full_mb_s"] == said["full_mb_s"]
        for name, unit in work.RANGES:
            ends = [row[f"{name}_{end}_{unit}"] for end in work.ENDS]
            assert ends == (said[f"{name}_{unit}"] or [None] * 3)


def test_the_first_line_answers_and_the_document_is_as_its_schema(tmp_path: Path) -> None:
    found = swept(GRID, cwd=tmp_path)
    schema = json.loads(heatsoak_here("lab", "schema", "sweep", cwd=tmp_path).stdout)
    assert complaints(found, schema) == []
    points = table(tmp_path / "s")
    assert found["throttling"] == len(points.filter(pl.col("throttles") >= 0.5))
    assert 0 < found["throttling"] < found["points"]
    assert json.loads((tmp_path / "s" / "sweep.json").read_text()) == found
    text = heatsoak_here("sweep", "grid.toml", "-o", "s", cwd=tmp_path).stdout
    assert text.splitlines()[0] == found["answer"]
    assert found["answer"].startswith(f"{found['throttling']} of 30 points throttle; ")
    # the minimum cooling is enough in each place, and hotter air with the same heatsink is not
    least = found["minimum_cooling"]
    same = points.filter(
        pl.col("heatsink").eq_missing(least["heatsink"])
        & pl.col("heatsink_k_per_w").eq_missing(least["heatsink_k_per_w"])
    )
    assert (same.filter(pl.col("ambient_c") == least["ambient_c"])["throttles"] < 0.1).all()
    worst = points.sort("depth_mid_pct", descending=True, nulls_last=True).row(0, named=True)
    assert found["worst"]["depth_pct"] == worst["depth_mid_pct"]


def test_exit_code_1_says_that_too_few_points_keep_full_speed(tmp_path: Path) -> None:
    few = ("--draws", "2")
    found = swept(GRID, *few, cwd=tmp_path)
    kept = 1 - found["throttling"] / found["points"]
    for below, code in ((kept - 0.01, 0), (kept + 0.01, 1)):
        words = ("sweep", "grid.toml", "-o", "s", *few, "--min-share", f"{below:.3f}")
        assert heatsoak_here(*words, cwd=tmp_path).returncode == code


@pytest.mark.slow
def test_processes_write_the_same_bytes_as_one_and_another_seed_others(tmp_path: Path) -> None:
    few = ("--draws", "4")
    swept(GRID, *few, cwd=tmp_path, into="one")
    swept(GRID, *few, "--jobs", "2", cwd=tmp_path, into="two")
    swept(GRID, *few, "--seed", "1", cwd=tmp_path, into="other")
    one, two, other = (contents(tmp_path / name) for name in ("one", "two", "other"))
    assert one == two
    assert not set(other) & {name for name in one if name.endswith("parquet")}


@pytest.mark.long
def test_a_dask_cluster_writes_the_same_bytes_on_workers_with_enough_memory(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    few = ("--draws", "4")
    swept(GRID, *few, cwd=tmp_path, into="here")
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, memory_limit="1GB", dashboard_address=":0"
    ) as cluster:
        at = ("--scheduler", cluster.scheduler_address)
        words = ("sweep", "grid.toml", "-o", "there", *few, *at)
        refused = complaint(heatsoak_here(*words, cwd=tmp_path), 2)
        assert "1 of 1 workers have too little memory, which is 1.14 GB for each thread" in refused
        dask = str(Path(sys.executable).with_name("dask"))
        enough = [dask, "worker", cluster.scheduler_address, "--nworkers", "2", "--nthreads", "1"]
        with subprocess.Popen([*enough, "--memory-limit", "0"], cwd=tmp_path) as worker:
            assert until(lambda: len(cluster.scheduler.workers) == 3)
            done = heatsoak_here(*words, cwd=tmp_path)
            worker.terminate()
    assert done.returncode == 0, done.stderr
    assert "1 of 3 workers have too little memory" in done.stderr
    assert contents(tmp_path / "here") == contents(tmp_path / "there")


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list to which each point that is predicted is added, if it is predicted here."""
    predicted: list[str] = []
    predict_each = work.predict_each

    def predict(packed: bytes, asked: Sequence[work.Asked]) -> Any:
        predicted.extend(name for name, _ in asked)
        return predict_each(packed, asked)

    monkeypatch.setattr("heatsoak.sweep.work.predict_each", predict)
    return predicted


@pytest.mark.slow
def test_after_a_kill_only_what_is_missing_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = GRID.replace("steps = 5", "steps = 20").replace("90s", "10m")
    (tmp_path / "grid.toml").write_text(grid)
    words = ("sweep", "grid.toml", "-o", "s", "--jobs", "2")
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words], cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as process:
        points = tmp_path / "s" / "points"
        assert until(lambda: len(list(points.glob("part-*.parquet"))) >= 2)
        os.kill(process.pid, signal.SIGKILL)
    before = {path: path.stat().st_mtime_ns for path in points.glob("part-*.parquet")}
    kept = set(table(tmp_path / "s")["point"])
    assert 0 < len(kept) < 120
    predicted = counted(monkeypatch)
    swept(grid, cwd=tmp_path)
    every = table(tmp_path / "s")
    assert len(predicted) == len(set(predicted)) == 120 - len(kept)
    assert set(predicted) | kept == set(every["point"])
    assert {path: path.stat().st_mtime_ns for path in before} == before
    swept(grid, cwd=tmp_path, into="whole")
    assert contents(tmp_path / "s") == contents(tmp_path / "whole")


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_done_and_says_so(tmp_path: Path) -> None:
    # so many that no test is too late to stop it
    grid = GRID.replace("steps = 5", "steps = 2000")
    (tmp_path / "grid.toml").write_text(grid)
    words = ("sweep", "grid.toml", "-o", "s", "--jobs", "2")
    with subprocess.Popen(
        [sys.executable, "-m", "heatsoak", *words],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        points = tmp_path / "s" / "points"
        assert until(lambda: any(points.glob("part-*.parquet")))
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=200)
    assert process.returncode == 130, errors
    assert output == ""
    kept = len(table(tmp_path / "s"))
    last = f"heatsoak: stopped by the user: {kept:,} of 12,000 points are in s, and"
    assert errors.splitlines()[-1].startswith(last)


@pytest.mark.slow
def test_a_sweep_that_is_stopped_has_ended_its_processes_and_threads() -> None:
    """What went on would close its pipes while Python's own end writes to them."""
    before = set(threading.enumerate())
    with suppress(KeyboardInterrupt), workers(2) as at:
        at.executor.submit(time.sleep, 1000)
        raise KeyboardInterrupt
    assert set(threading.enumerate()) <= before
    assert multiprocessing.active_children() == []


def test_a_grid_that_grows_keeps_its_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = ("--draws", "2")
    swept(GRID, *few, cwd=tmp_path)
    predicted = counted(monkeypatch)
    larger = GRID.replace(
        "ambient_c = { from = 20, to = 60, steps = 5 }", "ambient_c = [20, 30, 40, 45, 50, 60]"
    )
    swept(larger, *few, cwd=tmp_path)
    assert len(predicted) == 6
    swept(larger, *few, cwd=tmp_path, into="whole")
    assert contents(tmp_path / "s") == contents(tmp_path / "whole")
    # what was computed is not thrown away for a smaller grid, nor for another seed
    for words in (("grid.toml",), ("grid.toml", "--seed", "1")):
        (tmp_path / "grid.toml").write_text(GRID)
        done = heatsoak_here("sweep", *words, "-o", "s", *few, cwd=tmp_path)
        assert "this sweep does not have: name another directory with -o" in complaint(done, 2)


def test_what_can_not_be_at_all_is_a_row_that_says_so(tmp_path: Path) -> None:
    grid = """
    drives = "pcie5-tlc-2tb"
    enclosures = "laptop"
    workloads = "read"
    for = "30s"
    ambient_c = [30, 140]
    """
    found = swept(grid, cwd=tmp_path)
    cool, hot = table(tmp_path / "s").to_dicts()
    assert cool["impossible"] is None
    assert "laptop" in hot["impossible"]
    assert hot["throttles"] is None
    assert found["impossible"] == 1
    assert "gets too hot at rest" in found["answer"]


def test_recorded_workloads_are_followed_and_rates_are_asked_for(tmp_path: Path) -> None:
    rows = "".join(f"{second},{3000 if second < 100 else 0}\n" for second in range(120))
    (tmp_path / "use.csv").write_text("time_s,read_mb_s\n" + rows)
    grid = 'drives = "samsung-950-pro-512"\nworkloads = ["use.csv"]\nambient_c = [20, 60]\n'
    swept(grid, "--draws", "40", cwd=tmp_path)
    cool, hot = table(tmp_path / "s").to_dicts()
    words = ("predict", "samsung-950-pro-512", "--workload", "use.csv", "--ambient", "60")
    said = json.loads(heatsoak_here(*words, "--format", "json", cwd=tmp_path).stdout)
    assert hot["onset_mid_s"] == said["onset_s"][1]
    assert hot["held_mid_s"] == said["held"]["held_s"][1]
    assert cool["throttles"] <= hot["throttles"]
    held = grid + 'holds = "1GB/s"\n'
    (tmp_path / "grid.toml").write_text(held)
    done = heatsoak_here("sweep", "grid.toml", "-o", "h", cwd=tmp_path)
    assert "asks for rates of its own" in complaint(done, 2)
    rates = GRID + 'holds = ["1GB/s", "2500MB/s"]\n'
    swept(rates, cwd=tmp_path, into="rates")
    by_rate = table(tmp_path / "rates").pivot(
        "holds_mb_s",
        index=["enclosure", "ambient_c", "heatsink", "heatsink_k_per_w"],
        values="holds",
    )
    assert (by_rate["1000.0"] >= by_rate["2500.0"]).all()


def test_a_table_that_earlier_releases_left_is_no_matter(tmp_path: Path) -> None:
    few = ("--draws", "2")
    found = swept(GRID, *few, cwd=tmp_path)
    (tmp_path / "s" / "exact").mkdir()
    theirs = pl.DataFrame({"point": ["a"], "throttled": [True]})
    theirs.write_parquet(tmp_path / "s" / "exact" / "part-00000-0.parquet")
    before = contents(tmp_path / "s")
    assert swept(GRID, *few, cwd=tmp_path) == found
    assert contents(tmp_path / "s") == before
    assert heatsoak_here("report", "s", "-o", "x.csv", cwd=tmp_path).returncode == 0
    assert pl.read_csv(tmp_path / "x.csv", infer_schema_length=None)["point"].n_unique() == 30


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ("drives = []", "drives: has no values"),
        ('drives = "nope"', "no simulated drive 'nope'"),
        ("drives = 3", "drives: 3: must be a name in quotes"),
        ('workloads = "write"', "drives is missing"),
        ("ambient_c = [30, 300]", "ambient_c: '300' is not between -40 and 150 C"),
        ("ambient_c = [30, 30.0]", "ambient_c: has 30.0 twice"),
        ("ambient_c = { from = 1, to = 3 }", "a range is { from = 20, to = 50, steps = 7 }"),
        ("ambient_c = { from = 1, to = 3, steps = 1 }", "a range has at least 2 steps"),
        ('ambient_c = { from = "a", to = 3, steps = 4 }', "from a number to a number"),
        ("ambiant_c = 3", "unknown key 'ambiant_c' (did you mean 'ambient_c'?)"),
        ("airflow_m_s = true", "airflow_m_s: 'True' is not a number in m/s"),
        ('heatsink = "wings"', "no simulated place 'wings' (did you mean 'wings-px1'?)"),
        ("heatsink = 0", "heatsink: '0' is no resistance in K/W"),
        ('for = "1y"', "for: '1y' is not a time"),
        ('for = "7h"', "for: 7h: must be between 1s and 6h"),
        ('holds = "fast"', "'fast' is not a rate such as 500MB/s"),
        ('workloads = "wriet"', "wriet: is no load (did you mean 'write'?)"),
        ('enclosures = "moon"', "no simulated place 'moon'"),
        (
            "ambient_c = { from = 1, to = 30, steps = 1000 }\n"
            "warmer_k = { from = 1, to = 30, steps = 1001 }",
            "1,001,000 points, and 1,000,000 are the most",
        ),
        ("drives", "is not valid TOML"),
    ],
)
def test_what_is_wrong_in_a_grid_is_said_in_one_line(tmp_path: Path, grid: str, said: str) -> None:
    own = (
        ""
        if grid.startswith(("drives", 'workloads = "write"'))
        else 'drives = "samsung-950-pro-512"\n'
    )
    (tmp_path / "grid.toml").write_text(own + grid)
    assert said in complaint(heatsoak_here("sweep", "grid.toml", cwd=tmp_path), 2)
    assert not (tmp_path / "sweeps").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nothere.toml",), "nothere.toml: there is no such file"),
        (("grid.toml", "--draws", "7"), "--draws 7: must be 1, the drive itself, or even"),
        (("grid.toml", "--scheduler", "x"), "is no address such as tcp://host:8786"),
        (("grid.toml", "--scheduler", "x:1", "--jobs", "1"), "leave it out with --scheduler"),
        (("grid.toml", "-o", "."), "already exists"),
    ],
)
def test_what_is_wrong_in_the_words_is_said_in_one_line(
    tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    assert said in complaint(heatsoak_here("sweep", *words, cwd=tmp_path), 2)


@pytest.mark.slow
def test_the_example_is_a_grid(tmp_path: Path) -> None:
    few = EXAMPLE.read_text().replace("steps = 7", "steps = 2").replace('"10m"', '"1m"')
    found = swept(few, "--draws", "2", cwd=tmp_path)
    assert found["points"] == 2 * 2 * 2 * 2 * 4
    assert {one["drive"] for one in found["groups"]} == {"samsung-950-pro-512", "pcie4-tlc-1tb"}


@pytest.mark.slow
def test_a_twin_is_swept_in_its_places_as_it_is_predicted(
    tmp_path: Path, twinned: "Twinned"
) -> None:
    twin = twinned.path()
    grid = f'drives = "{twin}"\nworkloads = "write"\nfor = "90s"\nwarmer_k = [0, 10]\n'
    swept(grid, "--draws", "40", cwd=tmp_path)
    rows = table(tmp_path / "s").to_dicts()
    words = ("predict", str(twin), "--workload", "write", "--for", "90s", "--warmer", "10")
    said = json.loads(heatsoak_here(*words, "--format", "json", cwd=tmp_path).stdout)
    assert rows[1]["onset_mid_s"] == said["onset_s"][1]
    middle = swept(grid, "--draws", "1", cwd=tmp_path, into="middle")
    assert table(tmp_path / "middle")["throttles"].to_list() == [0, 1]
    assert middle["throttling"] == 1


def test_a_scheduler_that_strangers_can_use_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("heatsoak.tools.CONNECT_S", 0.1)
    (tmp_path / "grid.toml").write_text(GRID)
    for address, warned in (("tcp://0.0.0.0:9", True), ("tcp://127.0.0.1:9", False)):
        done = done_here(
            *("sweep", "grid.toml", "-o", "s", "--scheduler", address), cwd=tmp_path, code=3
        )
        lines = done.stderr.splitlines()
        assert len(lines) == 1 + warned
        assert ("can run programs on its hosts: use tls://" in lines[0]) == warned
