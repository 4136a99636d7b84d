"""``heatsoak rack host``: what a host does, whoever asks it."""

import json
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import forked
import pytest
import slurm
import yaml
from command import complaint, heatsoak, heatsoak_here, ran
from exports import set_rate
from heatsoak.rack.kept import kept_tests
from heatsoak.recording import Recording
from needs import needs
from prometheus_client.parser import text_string_to_metric_families
from racked import CONTRIB, FILL_ONCE, counting_drive, kill
from waiting import until

DRIVES = ("sim:samsung-950-pro-512", "sim:wd-sn570-1tb@laptop")
SHORT = """
name = "short"
steps = [{ name = "read", rw = "read", bs = "128k", iodepth = 8, runtime = "5s" }]
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a short protocol, and a program called heatsoak."""
    monkeypatch.setenv("HEATSOAK_RACK", str(tmp_path / "home"))
    (tmp_path / "short.toml").write_text(SHORT)
    (tmp_path / "once.toml").write_text(FILL_ONCE)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "heatsoak").symlink_to(forked.program())
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{Path(sys.executable).parent}", prepend=":")
    return tmp_path


def asked(place: Path, *words: str, code: int = 0) -> Any:
    """Return the tests that a command prints."""
    done = heatsoak_here("rack", "host", *words, cwd=place)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout)["tests"]


def recorded(place: Path) -> int:
    return len(list((place / "out").glob("*/*/recording.json")))


def test_a_test_is_started_once_followed_and_collected(place: Path) -> None:
    words = ("start", "monday", "short.toml", "--on", DRIVES[0], "--wait")
    (first,) = asked(place, *words)
    assert first["state"] == "finished"
    samples = Path(first["recording"]) / "samples.parquet"
    at = samples.stat().st_mtime_ns
    assert asked(place, *words) == [first]
    assert asked(place, *words, "--resume") == [first]
    assert samples.stat().st_mtime_ns == at
    asked(place, "start", "monday", "short.toml", "--on", DRIVES[1], "--wait")
    assert [row["state"] for row in asked(place, "status", "monday")] == ["finished"] * 2
    stopped = heatsoak_here("rack", "host", "stop", "monday", cwd=place)
    assert json.loads(stopped.stdout)["stopped"] == 0
    for _ in range(2):
        found = asked(place, "collect", "monday", "-o", "out", "--host", "b1")
        assert [Recording.open(place / row["directory"]).meta.status for row in found] == [
            "finished"
        ] * 2
    report = heatsoak_here("rack", "report", "out", "--format", "json", cwd=place)
    assert len(json.loads(report.stdout)["tests"]) == 2
    # without a directory it is packed
    with (place / "b1.tar").open("wb") as file:
        packs = (sys.executable, "-m", "heatsoak", "rack", "host", "collect", "monday")
        subprocess.run([*packs, "--host", "b1"], stdout=file, check=True)
    with tarfile.open(place / "b1.tar") as tar:
        tar.extractall(place / "packed", filter="data")
    paths = [{str(one.relative_to(place / top)) for one in (place / top).rglob("*")}
             for top in ("out", "packed")]  # fmt: skip
    assert paths[0] == paths[1]


def test_all_drives_of_a_file_are_tested_together(place: Path) -> None:
    own = [("b1", DRIVES[0]), ("b1", DRIVES[1]), ("b2", "S1")]
    listed = "".join(f'[[drive]]\nhost = "{host}"\non = "{on}"\n' for host, on in own)
    (place / "racks.toml").write_text(listed)
    words = ("start", "monday", "short.toml", "--drives", "racks.toml", "--wait")
    assert [row["on"] for row in asked(place, *words, "--host", "b1")] == [*DRIVES]
    assert [kept.status().state for kept in kept_tests("monday")] == ["finished"] * 2
    done = heatsoak_here("rack", "host", *words, "--host", "b3", cwd=place)
    assert complaint(done, 2).endswith("lists no drive of b3: --host NAME says what it is")


@needs("nbdkit", "fio")
@pytest.mark.slow
def test_what_is_told_of_a_test_is_told_of_its_newest_attempt(place: Path) -> None:
    with counting_drive(place / "drive", 8, 256) as drive:
        words = ("start", "monday", "once.toml", "--on", drive.uri, "--erase", drive.erase_id)
        asked(place, *words)
        (kept,) = kept_tests("monday")
        assert until(lambda: drive.starts == 1)
        asked(place, "stop", "monday")
        assert until(lambda: kept.status().has_ended)
        (row,) = asked(place, *words, code=3)  # stopped, it does not begin again
        assert (row["state"], row["attempt"]) == ("interrupted", 1)
        (row,) = asked(place, *words, "--resume")
        for _ in range(2):
            assert (row["attempt"], row["why"]) == (2, None)
            assert row["state"] in ("starting", "ready", "running")
            assert row["progress"] < 1
            (row,) = asked(place, "status", "monday")
        assert until(lambda: kept.status().state == "running")
        assert kill(kept)
        assert until(lambda: kept.process() is None)
        (row,) = asked(place, "status", "monday", code=3)
        assert (row["state"], row["attempt"]) == ("cut", 2)
        set_rate(drive.rate, 400)
        (row,) = asked(place, *words, "--resume", "--wait")
        assert (row["state"], row["attempt"]) == ("finished", 3)
        assert drive.is_whole


def test_each_cell_of_a_matrix_is_collected(place: Path) -> None:
    matrix = '[matrix]\nenclosure = "{place}"\n[matrix.axes]\nplace = ["open-bench", "laptop"]\n'
    (place / "matrix.toml").write_text(SHORT + matrix)
    asked(place, "start", "monday", "matrix.toml", "--on", DRIVES[0], "--wait")
    (row,) = asked(place, "collect", "monday", "-o", "out")
    assert len(list((place / row["directory"]).glob("*/recording.json"))) == 2


def test_a_refused_test_says_so_in_its_exit_code(place: Path) -> None:
    (place / "data").mkdir()
    (place / "data" / "file").write_bytes(bytes(1 << 20))
    (place / "write.toml").write_text(SHORT.replace('rw = "read"', 'rw = "write"'))
    words = ("start", "monday", "write.toml", "--on", str(place / "data" / "file"), "--wait")
    (row,) = asked(place, *words, code=4)
    assert row["state"] == "refused"
    assert (place / "data" / "file").read_bytes() == bytes(1 << 20)
    assert asked(place, "status", "monday", code=4)[0]["why"] == row["why"]


def test_what_cannot_be_asked_is_one_line(place: Path) -> None:
    assert asked(place, "status", "tuesday", code=2) == []
    for words, said in (
        (("status", "../x"), "'../x': cannot be the name of a test's directory"),
        (("start", "monday"), "Missing argument 'PROTOCOL'"),
        (("start", "monday", "short.toml"), "name a drive with --on, or a file with --drives"),
        (("start", "monday", "short.toml", "--on", "a", "--drives", "b"), "name a drive with"),
        (("make", "monday"), "run monday: no tests came by standard input: docker exec needs -i"),
    ):
        done = heatsoak("rack", "host", *words, cwd=place, stdin=subprocess.DEVNULL)
        assert said in complaint(done, 2)
    asked(place, "start", "monday", "short.toml", "--on", DRIVES[0], "--wait")
    next(place.glob("home/monday/*/state.json")).write_text("{")
    done = heatsoak_here("rack", "host", "status", "monday", cwd=place)
    assert "state.json: is damaged: " in complaint(done, 3)


@needs("nbdkit", "fio")
@pytest.mark.slow
def test_a_host_s_tests_are_metrics(place: Path) -> None:
    asked(place, "start", "monday", "short.toml", "--on", DRIVES[0], "--wait")
    words = ("rack", "host", "metrics", "--host", "b1")
    with counting_drive(place / "drive", 8, 256) as drive:
        on = ("--on", drive.uri, "--erase", drive.erase_id)
        asked(place, "start", "monday", "once.toml", *on)
        found: dict[tuple[str, ...], float] = {}

        def has_throughput() -> bool:
            assert heatsoak_here(*words, "-o", "rack.prom", cwd=place).returncode == 0
            found.update(values((place / "rack.prom").read_text()))
            return ("heatsoak_write_bytes_per_second", drive.uri) in found

        assert until(has_throughput)
        text = (place / "rack.prom").read_bytes()
        for kept in kept_tests("monday"):
            kill(kept)
    assert found["heatsoak_rack_test_state", drive.uri, "running"] == 1
    assert found["heatsoak_rack_test_state", drive.uri, "cut"] == 0
    assert found["heatsoak_rack_test_state", DRIVES[0], "finished"] == 1
    assert 0 <= found["heatsoak_rack_test_progress_ratio", drive.uri] < 1
    assert found["heatsoak_write_bytes_total", drive.uri] > 0
    assert found["heatsoak_drive_info", drive.uri] == 1
    assert ("heatsoak_write_bytes_per_second", DRIVES[0]) not in found
    if shutil.which("promtool"):
        checked = ran("promtool", "check", "metrics", input=text.decode())
        assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout
    assert values(ran(sys.executable, "-m", "heatsoak", *words, cwd=place).stdout)[
        "heatsoak_rack_test_state", drive.uri, "cut"
    ]


def values(text: str) -> dict[tuple[str, ...], float]:
    """Return metrics by their names, devices, and states where they have one."""
    return {
        (
            one.name,
            *(one.labels[key] for key in ("device", "state") if key in one.labels),
        ): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_the_script_for_slurm_tests_the_drive_of_its_line(place: Path) -> None:
    (place / "drives.txt").write_text("\n".join(DRIVES) + "\n")
    command = [str(CONTRIB / "slurm.sh"), "monday", "short.toml", "drives.txt", "out"]
    for task in ("1", "2", "2"):  # the last one, as if it had been requeued
        done = ran(*command, cwd=place, env={**os.environ, "SLURM_ARRAY_TASK_ID": task})
        assert done.returncode == 0, done.stderr
    assert recorded(place) == len(DRIVES)


@pytest.mark.skipif(not slurm.is_installed(), reason="needs root and Slurm")
def test_slurm_tests_each_drive_of_an_array(place: Path) -> None:
    (place / "drives.txt").write_text("\n".join(DRIVES) + "\n")
    array = ["sbatch", "--wait", "--array=1-2", str(CONTRIB / "slurm.sh")]
    words = ["monday", "short.toml", "drives.txt", "out"]
    with slurm.slurm(place / "slurm") as env:
        subprocess.run([*array, *words], cwd=place, env=env, check=True, timeout=300)
    assert recorded(place) == len(DRIVES)


@pytest.mark.long
def test_the_playbook_tests_all_drives_and_collects(place: Path) -> None:
    # b2 has no heatsoak
    hosts = "b1 heatsoak={bin}/heatsoak\nb2 heatsoak={bin}/none\n".format(bin=place / "bin")
    settings = f"ansible_connection=local\nansible_python_interpreter={sys.executable}\n"
    (place / "hosts.ini").write_text(f"[rack]\n{hosts}[rack:vars]\n{settings}")
    names = [("b1", DRIVES[0]), ("b1", DRIVES[1]), ("b2", DRIVES[0])]
    (place / "racks.toml").write_text(
        "".join(f'[[drive]]\nhost = "{host}"\non = "{on}"\n' for host, on in names)
    )
    # its own line, with a protocol of ours
    playbook = (CONTRIB / "ansible.yml").read_text()
    (line,) = (one for one in playbook.splitlines() if "ansible-playbook -i" in one)
    told = (str(CONTRIB / one) if one == "ansible.yml" else one for one in line.strip("# ").split())
    program, *words = told
    words = [one.replace("=quick", f"={place}/short.toml") for one in words]
    env = {**os.environ, "ANSIBLE_LOCAL_TEMP": str(place / "tmp"), "PWD": str(place)}
    kept = yaml.safe_load(playbook)[0]["vars"]["kept"].split("{{")[0]
    for _ in range(2):
        done = ran(Path(sys.executable).with_name(program), *words, cwd=place, env=env)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "No such file or directory" in done.stdout
        assert "b1 " in done.stdout.partition("PLAY RECAP")[2]
        assert done.stdout.partition("PLAY RECAP")[2].count("failed=1") == 1
    for left in Path("/var/tmp").glob(f"{Path(kept).name}*"):
        left.unlink()
    assert len(list((place / "monday").glob("b1/*/recording.json"))) == len(DRIVES)
