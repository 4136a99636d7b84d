"""``heatsoak rack``: one protocol on the drives of many hosts, each test once."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from command import heatsoak_here
from exports import set_rate
from heatsoak.cli import common
from heatsoak.protocol import load
from heatsoak.rack import host
from heatsoak.rack.kept import LATE, RackTest, Status
from heatsoak.rack.state import Rack, Row, as_toml
from heatsoak.recording import Recording
from loop_drive import attached
from ports import free_port
from prometheus_client.parser import text_string_to_metric_families
from racked import (
    CONTRIB,
    DASK,
    FILL_ONCE,
    CountingDrive,
    RackOfHosts,
    Supervised,
    counting_drive,
    kill,
    made_keys,
    rack_of_hosts,
)
from schema_check import complaints
from waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("nbdkit") is None or shutil.which("fio") is None,
        reason="nbdkit or fio is not installed",
    ),
]


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RackOfHosts]:
    with rack_of_hosts(tmp_path_factory.mktemp("rack"), ("b1", "b2")) as rack:
        (rack.cwd / "once.toml").write_text(FILL_ONCE)
        yield rack


@pytest.fixture
def drives(tmp_path: Path) -> Iterator[list[CountingDrive]]:
    """Three drives, which take a second."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(counting_drive(tmp_path / f"drive{number}", 32))
            for number in range(3)
        ]


def started_run(rack: RackOfHosts, *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        rack.command("run", *words),
        cwd=rack.cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def schema(name: str, rack: RackOfHosts) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(heatsoak_here("schema", name, cwd=rack.cwd).stdout)
    return found


def wait_for_a_test(rack: RackOfHosts, following: subprocess.Popen[str]) -> None:
    """Wait until a test has loaded its drive; fails if the command ends before."""

    def came_to_it() -> bool:
        assert following.poll() is None, following.communicate()
        journals = [
            kept.recording / "samples.jsonl" for host in rack.hosts for kept in host.under_way()
        ]
        return any(journal.exists() and journal.stat().st_size > 0 for journal in journals)

    assert until(came_to_it)


def states(rack: RackOfHosts, out: Path) -> list[str]:
    return [test["state"] for test in rack.tests(str(out))]


def test_each_drive_is_tested_once_and_those_of_a_host_begin_together(
    rack: RackOfHosts, drives: list[CountingDrive], tmp_path: Path
) -> None:
    listed = rack.list_drives({"b1": [*drives[:2]], "b2": [drives[2]]})
    words = ("run", "once.toml", "--drives", listed, "-o", str(tmp_path / "out"))
    first = rack.here(*words, "--format", "json")
    assert first.returncode == 0, first.stderr
    document = json.loads(first.stdout)
    assert complaints(document, schema("rack-run", rack)) == []
    assert [test["state"] for test in document["tests"]] == ["finished"] * 3
    conditions = [one["conditions"] for one in document["recordings"]]
    assert [one["host"] for one in conditions] == ["b1", "b1", "b2"]
    assert [one["slot"] for one in conditions] == [0, 1, 0]
    for drive in drives:
        assert drive.starts == 1
        assert drive.is_whole
    run = json.loads((tmp_path / "out" / "rack.json").read_bytes())["run"]
    together = [rack.hosts[0].home / run / test["name"] for test in document["tests"][:2]]
    ready = [(path / "ready-1.json").stat().st_mtime for path in together]
    started = [(path / "started-1.json").stat().st_mtime for path in together]
    assert max(ready) <= min(started)
    assert len({(path / "go-1.json").read_text() for path in together}) == 1
    # the same command again only says what came out, and another does not go on with it
    again = rack.here(*words, "--format", "json")
    assert json.loads(again.stdout) == document
    text = rack.here(*words)
    assert text.stdout.startswith("3 of 3 tests finished")
    changed = rack.here(*words, "--set", "bs=128k")
    assert changed.returncode == 2
    assert "holds a run with another protocol or other drives" in changed.stderr
    assert [drive.starts for drive in drives] == [1, 1, 1]


def filling(drive: CountingDrive, tmp_path: Path) -> RackTest:
    """A test that writes all of a drive once."""
    (tmp_path / "once.toml").write_text(FILL_ONCE)
    return RackTest(
        run="r",
        name="t",
        on=drive.uri,
        erase_id=drive.erase_id,
        protocol=load(str(tmp_path / "once.toml")),
        waits=False,
    )


def test_however_often_a_test_is_started_it_runs_once(
    drives: list[CountingDrive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEATSOAK_RACK", str(tmp_path / "home"))
    drive = drives[0]
    test = filling(drive, tmp_path)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: host.start(test, 1), range(8)))
    assert until(lambda: host.statuses("r", {"t": 1})["t"].has_ended)
    assert host.start(test, 1).state == "finished"
    # nor does a process that comes late, such as one that was started before a power cut
    late = heatsoak_here("rack", "perform", str(tmp_path / "home" / "r" / "t"), "1", cwd=tmp_path)
    assert late.returncode == 0
    assert drive.starts == 1


#: As systemd-run: refuses the name of a unit that lives, and returns before its process loads.
SYSTEMD_RUN = """#!/bin/sh
for word; do
    shift
    case "$word" in
        --unit=*) unit={units}/${{word#--unit=}} ;;
        --*) ;;
        *) set -- "$word" "$@"; break ;;
    esac
done
echo asked >> {units}/asked
if [ -e "$unit" ] && kill -0 "$(cat "$unit")"; then echo "Unit was already loaded"; exit 1; fi
setsid sh -c 'echo $$ > "$0"; sleep {late_s}; exec "$@"' "$unit" "$@" &
while [ ! -s "$unit" ]; do sleep 0.01; done
"""


def late_processes(directory: Path, monkeypatch: pytest.MonkeyPatch, late_s: float) -> Path:
    """Start tests of this process as systemd would, on a host that is slow to start Python.

    Returns the file with a line for each time that a unit was asked for.
    """
    units, programs = directory / "units", directory / "programs"
    for place in (units, programs):
        place.mkdir()
    run = programs / "systemd-run"
    run.write_text(SYSTEMD_RUN.format(units=units, late_s=late_s))
    run.chmod(0o755)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    monkeypatch.setattr(host, "_SYSTEMD", units)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("HEATSOAK_RACK", str(directory / "home"))
    return units / "asked"


def test_a_test_whose_process_is_slow_to_come_is_waited_for(
    drives: list[CountingDrive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = late_processes(tmp_path, monkeypatch, late_s=3)
    test = filling(drives[0], tmp_path)
    seen = set()

    def has_ended() -> bool:
        seen.add(host.start(test, 1).state)
        return host.statuses("r", {"t": 1})["t"].has_ended

    assert until(has_ended)
    assert seen <= {"starting", "running", "finished"}
    assert host.start(test, 1).state == "finished"
    assert asked.read_text() == "asked\n"
    assert drives[0].starts == 1


def test_a_test_that_cannot_be_started_never_begins_later(
    drives: list[CountingDrive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late_processes(tmp_path, monkeypatch, late_s=0)
    (tmp_path / "programs" / "systemd-run").write_text("#!/bin/sh\nexit 1\n")
    test = filling(drives[0], tmp_path)
    status = host.start(test, 1)
    assert status.state == "failed"
    assert status.why is not None
    assert "heatsoak-r-t-1: cannot be started, see" in status.why
    late = heatsoak_here("rack", "perform", str(tmp_path / "home" / "r" / "t"), "1", cwd=tmp_path)
    assert late.returncode == 0
    assert drives[0].starts == 0
    assert host.start(test, 1) == status


def is_locked(path: Path) -> bool:
    """Whether some process holds a lock on a file or directory; proc_locks(5) lists inodes."""
    return path.exists() and f":{path.stat().st_ino} " in Path("/proc/locks").read_text()


@pytest.mark.long
def test_a_second_command_into_the_same_directory_says_that_one_follows_the_run(
    rack: RackOfHosts, tmp_path: Path
) -> None:
    with counting_drive(tmp_path / "drive", 2, 256) as drive:
        listed = rack.list_drives({"b1": [drive]})
        words = ("once.toml", "--drives", listed, "-o", str(tmp_path / "out"))
        with started_run(rack, *words) as first:
            assert until(lambda: is_locked(tmp_path / "out"))
            for _ in range(3):
                second = rack.here("run", *words)
                assert second.returncode == 2
                assert "another command follows this run" in second.stderr
                assert len(second.stderr.splitlines()) == 1
            wait_for_a_test(rack, first)
            set_rate(drive.rate, 100)
            _, errors = first.communicate(timeout=200)
        assert first.returncode == 0, errors
        assert rack.here("run", *words).returncode == 0
        assert drive.starts == 1


@pytest.mark.long
def test_a_host_that_is_stopped_is_named_and_holds_nobody_up(
    drives: list[CountingDrive], tmp_path: Path
) -> None:
    with rack_of_hosts(tmp_path, ("b1", "b2")) as rack:
        (tmp_path / "once.toml").write_text(FILL_ONCE)
        stopped = rack.hosts[1].worker.process
        with counting_drive(tmp_path / "slow", 2, 256) as slow:
            listed = rack.list_drives({"b1": [drives[0]], "b2": [slow]})
            with started_run(rack, "once.toml", "--drives", listed, "-o", "out") as following:
                assert until(rack.hosts[1].under_way)
                stopped.send_signal(signal.SIGSTOP)
                try:
                    set_rate(slow.rate, 100)
                    alone = rack.run("drives", "--format", "json")
                    assert until(lambda: states(rack, tmp_path / "out")[0] == "finished")
                finally:
                    stopped.send_signal(signal.SIGCONT)
                _, errors = following.communicate(timeout=400)
            assert following.returncode == 0, errors
            assert states(rack, tmp_path / "out") == ["finished"] * 2
            assert slow.starts == 1
    assert alone.returncode == 3
    assert "host b2: no answer" in alone.stderr
    assert {row["host"] for row in json.loads(alone.stdout)} <= {"b1"}


@pytest.mark.long
def test_of_two_runs_one_has_the_drive(rack: RackOfHosts, tmp_path: Path) -> None:
    # so slow and large that the first has it until it is stopped
    with counting_drive(tmp_path / "drive", 2, 256) as drive:
        listed = rack.list_drives({"b1": [drive]})
        words = ("once.toml", "--drives", listed, "-o")
        with started_run(rack, *words, str(tmp_path / "first")) as first:
            wait_for_a_test(rack, first)
            second = rack.run("run", *words, str(tmp_path / "second"))
            again = rack.run("run", *words, str(tmp_path / "again"), "--again")
            rack.run("stop", str(tmp_path / "first"))
            first.communicate(timeout=200)
        assert second.returncode == again.returncode == 4, second.stdout
        assert states(rack, tmp_path / "first") == ["interrupted"]
    ((test,), (locked,)) = (rack.tests(str(tmp_path / name)) for name in ("second", "again"))
    assert ": running in run " in test["why"]
    assert "another run is using this drive" in locked["why"]
    assert max(drive.writes().values()) == 1


@pytest.mark.long
def test_another_directory_tests_no_drive_again_unless_asked(
    rack: RackOfHosts, drives: list[CountingDrive], tmp_path: Path
) -> None:
    one = rack.list_drives({"b1": [drives[0]]})
    first = rack.here("run", "once.toml", "--drives", one, "-o", str(tmp_path / "first"))
    assert first.returncode == 0, first.stderr
    listed = rack.list_drives({"b1": [*drives[:2]]})
    words = ("run", "once.toml", "--drives", listed, "-o", str(tmp_path / "second"))
    second = rack.here(*words)
    assert second.returncode == 4
    assert states(rack, tmp_path / "second") == ["refused", "finished"]
    why = rack.tests(str(tmp_path / "second"))[0]["why"]
    assert ": finished in run " in why
    assert why.endswith("or add --again to test it again")
    assert rack.here(*words, "--resume").returncode == 4
    assert [drive.starts for drive in drives] == [1, 1, 0]
    assert rack.here(*words, "--again").returncode == 0
    assert [drive.starts for drive in drives] == [2, 1, 0]
    assert Recording.open(tmp_path / "first" / rack.tests(str(tmp_path / "first"))[0]["directory"])


def test_a_test_past_its_plan_is_given_no_time_that_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, Any] = {"host": "b1", "host_id": "1", "erase": None, "labels": {}}
    rows = [Row(name=name, on=name, **known) for name in ("a", "b")]
    rows[0].take(Status(state="finished", progress=1.0))
    rows[1].take(Status(state="running", progress=0.5))
    rack = Rack(run="r", protocol="x", protocol_sha256="", together="host", tests=rows)
    assert rack.progress == 0.75
    monkeypatch.setattr("heatsoak.output.LINE_INTERVAL_S", 0.0)
    with common.progress_bar() as progress:
        progress(0.5, "follows")
        progress(rack.progress, "in time")
        rows[1].take(Status(state="running", progress=LATE))
        progress(rack.progress, "late")
    first, in_time, late = capsys.readouterr().err.splitlines()
    assert first.endswith("follows")
    assert re.fullmatch(".*in time, 75 %; .* to go", in_time)
    assert late.endswith("late")


def test_a_refused_drive_is_not_written(
    rack: RackOfHosts, drives: list[CountingDrive], tmp_path: Path
) -> None:
    listed = rack.list_drives({"b1": [drives[0]], "b2": [drives[1]]})
    path = rack.cwd / listed
    # the server says it is empty, so only a wrong name is refused
    path.write_text(path.read_text().replace(drives[1].erase_id, "S123"))
    done = rack.here("run", "once.toml", "--drives", listed, "-o", str(tmp_path / "out"))
    assert done.returncode == 4, done.stderr
    assert states(rack, tmp_path / "out") == ["finished", "refused"]
    assert "--erase names 'S123'" in rack.tests(str(tmp_path / "out"))[1]["why"]
    assert drives[1].starts == 0


@pytest.mark.long
def test_a_stopped_run_is_kept_and_resumed_only_when_asked(
    rack: RackOfHosts, tmp_path: Path
) -> None:
    with counting_drive(tmp_path / "drive", 2, 256) as drive:
        listed = rack.list_drives({"b1": [drive]})
        words = ("once.toml", "--drives", listed, "-o", str(tmp_path / "out"))
        with started_run(rack, *words) as following:
            wait_for_a_test(rack, following)
            stopped = rack.run("stop", str(tmp_path / "out"))
            assert stopped.stdout.startswith("1 test was told to stop")
            _, errors = following.communicate(timeout=200)
        assert following.returncode == 3, errors
        (test,) = rack.tests(str(tmp_path / "out"))
        assert test["state"] == "interrupted"
        assert Recording.open(tmp_path / "out" / test["directory"]).meta.status == "interrupted"
        assert rack.run("run", *words).returncode == 3
        assert drive.starts == 1
        set_rate(drive.rate, 100)
        resumed = rack.run("run", *words, "--resume")
        assert resumed.returncode == 0, resumed.stderr
        assert drive.starts == 2
    (test,) = rack.tests(str(tmp_path / "out"))
    assert Recording.open(tmp_path / "out" / test["directory"]).meta.status == "finished"


@pytest.mark.long
def test_who_stops_following_does_not_stop_tests(rack: RackOfHosts, tmp_path: Path) -> None:
    with counting_drive(tmp_path / "drive", 2, 256) as drive:
        listed = rack.list_drives({"b2": [drive]})
        words = ("once.toml", "--drives", listed, "-o", str(tmp_path / "out"))
        with started_run(rack, *words) as following:
            wait_for_a_test(rack, following)
            following.send_signal(2)
            _, errors = following.communicate(timeout=200)
        assert following.returncode == 130
        assert "tests go on on their hosts" in errors.splitlines()[-1]
        set_rate(drive.rate, 100)
        assert rack.run("run", *words).returncode == 0
        assert drive.starts == 1
        assert drive.is_whole


@pytest.mark.long
def test_a_run_waits_for_its_hosts_and_begins_where_a_killed_one_had_begun_to(
    tmp_path: Path, drives: list[CountingDrive]
) -> None:
    with rack_of_hosts(tmp_path, ("b1", "b2")) as rack:
        (tmp_path / "once.toml").write_text(FILL_ONCE)
        listed = rack.list_drives({"b1": [drives[0]], "b2": [drives[1]]})
        # killed while it wrote for the first time what it was asked for
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / f".heatsoak-{0:032x}").write_text('{"run": ')
        words = ("once.toml", "--drives", listed, "-o", "out", "--wait", "200s")
        rack.hosts[1].worker.end()
        with started_run(rack, *words) as following:
            assert until(lambda: "host b2: does not answer" in said(following))
            rack.hosts[1].worker.begin()
            _, errors = following.communicate(timeout=400)
        assert following.returncode == 0, errors
        assert states(rack, tmp_path / "out") == ["finished"] * 2
        rack.hosts[1].worker.end()
        # what is collected needs no host
        assert rack.run("stop", "out").stdout.startswith("0 tests were told to stop")
    assert [drive.starts for drive in drives] == [1, 1, 0]


def said(process: subprocess.Popen[str]) -> str:
    """Return the next line of a command."""
    assert process.stderr is not None
    return process.stderr.readline()


@pytest.mark.long
def test_who_stops_tests_is_told_of_hosts_that_do_not_answer(tmp_path: Path) -> None:
    with (
        rack_of_hosts(tmp_path, ("b1", "b2")) as rack,
        counting_drive(tmp_path / "1", 2, 256) as one,
        counting_drive(tmp_path / "2", 2, 256) as other,
    ):
        (tmp_path / "once.toml").write_text(FILL_ONCE)
        words = ("once.toml", "--drives", rack.list_drives({"b1": [one], "b2": [other]}))
        with started_run(rack, *words, "-o", "out") as following:
            assert until(lambda: all(host.under_way() for host in rack.hosts))
            following.send_signal(2)
            following.communicate(timeout=200)
        rack.hosts[1].worker.end()
        done = rack.run("stop", "out")
        assert done.returncode == 3
        assert "no answer from b2, where tests go on" in done.stderr
        assert until(lambda: not rack.hosts[0].under_way())
        assert rack.hosts[1].under_way()


@pytest.mark.long
def test_a_test_that_was_killed_before_it_recorded_anything_does_not_hide_the_others(
    rack: RackOfHosts, drives: list[CountingDrive], tmp_path: Path
) -> None:
    with counting_drive(tmp_path / "drive", 2, 256) as slow:
        listed = rack.list_drives({"b1": [slow], "b2": [drives[0]]})
        words = ("once.toml", "--drives", listed, "-o", str(tmp_path / "out"))
        with started_run(rack, *words) as following:
            assert until(lambda: any(kept.was_started(1) for kept in rack.hosts[0].under_way()))
            following.send_signal(2)
            following.communicate(timeout=200)
        (killed,) = rack.hosts[0].under_way()
        assert kill(killed)
        assert until(lambda: killed.process() is None)
        # as if it had not been written yet
        (killed.recording / "recording.json").unlink(missing_ok=True)
        done = rack.run("run", *words)
    assert done.returncode == 3
    assert done.stdout.startswith("1 of 2 tests finished")
    cut, finished = rack.tests(str(tmp_path / "out"))
    assert (cut["state"], cut["directory"]) == ("cut", None)
    assert Recording.open(tmp_path / "out" / finished["directory"]).meta.status == "finished"


@pytest.mark.long
def test_a_run_is_served_for_prometheus(rack: RackOfHosts, tmp_path: Path) -> None:
    with counting_drive(tmp_path / "drive", 2, 256) as drive:
        listed = rack.list_drives({"b2": [drive]})
        words = ("once.toml", "--drives", listed, "-o", str(tmp_path / "out"))
        with started_run(rack, *words, "--metrics", "127.0.0.1:0") as following:
            assert following.stderr is not None
            url = following.stderr.readline().removeprefix("heatsoak: ").split()[-1]
            found: dict[tuple[str, ...], float] = {}

            def has_throughput() -> bool:
                assert following.poll() is None, following.communicate()
                with urlopen(url, timeout=30) as answer:
                    found.update(values(answer.read().decode()))
                return any("bytes_per_second" in key[0] for key in found)

            assert until(has_throughput)
            set_rate(drive.rate, 100)
            following.communicate(timeout=200)
        assert following.returncode == 0
    assert found["heatsoak_rack_test_state", "b2", drive.uri, "running"] == 1
    assert found["heatsoak_rack_test_state", "b2", drive.uri, "cut"] == 0
    assert found["heatsoak_write_bytes_total", "b2", drive.uri] > 0
    assert found["heatsoak_write_bytes_per_second", "b2", drive.uri] > 0
    assert found["heatsoak_drive_info", "b2", drive.uri] == 1


def values(text: str) -> dict[tuple[str, ...], float]:
    """Return metrics by their names, hosts, devices, and states where they have one."""
    keys = ("host", "device", "state")
    return {
        (one.name, *(one.labels[key] for key in keys if key in one.labels)): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def test_a_dry_run_touches_nothing(
    rack: RackOfHosts, drives: list[CountingDrive], tmp_path: Path
) -> None:
    listed = rack.list_drives({"b1": [drives[0]], "b2": [drives[1]]})
    words = ("run", "once.toml", "--drives", listed, "-o", str(tmp_path / "out"), "--dry-run")
    rack.here("drives")  # each host has a name for itself since
    before = {host.name: sorted(host.home.iterdir()) for host in rack.hosts}
    done = rack.here(*words)
    assert done.returncode == 0, done.stderr
    # what is the same for several drives is said once
    assert done.stdout.count("fill") == 1
    assert f"{drives[0].uri} of b1, {drives[1].uri} of b2" in done.stdout.replace("\n", "")
    assert {host.name: sorted(host.home.iterdir()) for host in rack.hosts} == before
    assert not (tmp_path / "out").exists()
    assert [drive.starts for drive in drives] == [0, 0, 0]
    rows = json.loads(rack.here(*words, "--format", "json").stdout)
    assert complaints(rows, schema("rack-run-dry-run", rack)) == []
    assert [row["runs"][0]["protocol"] for row in rows] == ["once", "once"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for a loop device")
def test_drives_are_listed_for_a_run(rack: RackOfHosts, tmp_path: Path) -> None:
    with attached(tmp_path / "image", 32 << 20) as drive:
        done = rack.here("drives", "-o", str(tmp_path / "rack.toml"), "--format", "json")
        assert done.returncode == 0, done.stderr
        assert complaints(json.loads(done.stdout), schema("rack-drives", rack)) == []
        ours = [row for row in json.loads(done.stdout) if row["path"] == str(drive)]
        assert [row["host"] for row in ours] == ["b1", "b2"]  # both are this machine
        listed = (tmp_path / "rack.toml").read_text()
        assert listed.count(ours[0]["id"]) == 4
        # it has no serial, so that each host may have one of that name
        (tmp_path / "rack.toml").write_text(f'[[drive]]\non = "{ours[0]["id"]}"\n')
        refused = rack.here(
            *("run", "once.toml", "--drives", str(tmp_path / "rack.toml")),
            *("-o", str(tmp_path / "out")),
        )
    assert refused.returncode == 2
    assert "is on several hosts, b1, b2: name its host" in refused.stderr


def test_wrong_drives_are_named(rack: RackOfHosts, tmp_path: Path) -> None:
    three = "".join(f'[[drive]]\nhost = "{host}"\non = "S1"\n' for host in ("b1", "b9", "b8"))
    for listed, said in (
        ("", "rack.toml: drive is missing"),
        ('[[drive]]\nhost = "b9"\non = "sim:samsung-950-pro-512"', "host b9: does not answer"),
        (three, "hosts b8, b9: do not answer; those that do are b1, b2"),
        ('[[drive]]\non = "S1"', "S1: no host has a drive of that id: name its host"),
        ('[[drive]]\nhost = "b1"\non = "S1"\n' * 2, "S1: is listed twice"),
        ('[[drive]]\nhost = "b1"\nin = "S1"', "rack.toml"),
    ):
        (tmp_path / "rack.toml").write_text(listed)
        words = ("--drives", str(tmp_path / "rack.toml"), "-o", str(tmp_path / "o"))
        done = rack.here("run", "once.toml", *words, "--wait", "0s")
        assert done.returncode == 2, done.stderr
        assert len(done.stderr.splitlines()) == 1
        assert said in done.stderr
        assert not (tmp_path / "o").exists()
    # a protocol that writes needs a list
    done = rack.here("run", "once.toml", "-o", str(tmp_path / "o"))
    assert done.returncode == 2
    assert "once: writes, so name the drives that may be erased with --drives FILE" in done.stderr


def test_a_list_of_drives_that_none_may_write_can_be_extended() -> None:
    text = as_toml({}, {})
    assert "None can be written safely" in text
    assert tomllib.loads(text + '\n[[drive]]\non = "S1"\n') == {"drive": [{"on": "S1"}]}


def code_of_the_docs(begins: str) -> list[str]:
    """The blocks of docs/racks.md that begin so, without indentation."""
    text = (Path(__file__).parents[1] / "docs" / "racks.md").read_text("utf-8")
    blocks = [textwrap.dedent(block) for block in re.findall(r"```[a-z]*\n(.*?)```", text, re.S)]
    return [block for block in blocks if block.startswith(begins)]


@pytest.mark.long
def test_the_docs_alone_lead_to_a_report(tmp_path: Path) -> None:
    port = free_port()
    # what a reader replaces: addresses, and the drives, of which this machine has none
    own = {"tls://10.0.0.1:8786": f"tcp://127.0.0.1:{port}"}
    own |= {"10.0.0.11": "127.0.0.1", "10.0.0.1": "127.0.0.1", "8786": str(port)}
    own |= {"heatsoak ": f"{shlex.quote(sys.executable)} -m heatsoak "}
    own |= {"dask ": f"{shlex.quote(DASK)} "}
    (workers,) = code_of_the_docs("dask scheduler")
    commands, (listed,) = code_of_the_docs("heatsoak rack drives")[0], code_of_the_docs("# rack")
    for theirs, ours in own.items():
        workers, commands = workers.replace(theirs, ours), commands.replace(theirs, ours)
    listed = re.sub("(?m)^erase.*", "", listed)
    listed = listed.replace("S3PTNX0J900001", "sim:samsung-950-pro-512")
    env = {"HEATSOAK_RACK": str(tmp_path / "home")}
    done: list[subprocess.CompletedProcess[str]] = []

    def runs(command: str) -> bool:
        words = shlex.split(command, comments=True)
        one = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        done.append(one)
        # what was started above may not be there yet
        return not re.search("no workers|does not answer|no answer", one.stderr)

    with ExitStack() as stack:
        for number, command in enumerate(workers.splitlines()):
            output = tmp_path / f"dask-{number}.txt"
            stack.callback(Supervised(shlex.split(command), output, env).end)
        for command in commands.splitlines():
            assert until(partial(runs, command))
            assert done[-1].returncode == 0, done[-1]
            if "rack drives" in command:
                (tmp_path / "rack.toml").write_text(listed)
    assert done[-1].stdout.startswith("The drive passes")
    assert (tmp_path / "monday.html").stat().st_size > 10_000


def test_the_group_alone_says_what_there_is(tmp_path: Path) -> None:
    done = heatsoak_here("rack", cwd=tmp_path)
    assert done.returncode == 0
    for command in ("drives", "run", "stop", "report"):
        assert f"\n  {command} " in done.stdout


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_only_who_has_a_key_takes_part(tmp_path: Path) -> None:
    keys = made_keys(tmp_path / "keys")
    with rack_of_hosts(tmp_path, ("b1",), keys=keys) as rack:
        done = rack.run("drives", "--format", "json")
        assert done.returncode == 0, done.stderr
        assert {row["host"] for row in json.loads(done.stdout)} <= {"b1"}
        rack.env = {}
        refused = rack.run("drives")
    assert refused.returncode == 3
    assert len(refused.stderr.splitlines()) == 1
    assert "needs a key and certificates" in refused.stderr


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("name", ["heatsoak-head", "heatsoak-host"])
def test_units_are_understood(tmp_path: Path, name: str) -> None:
    unit = tmp_path / f"{name}.service"
    unit.write_text(
        (CONTRIB / unit.name).read_text().replace("/opt/heatsoak/bin/dask", f'"{DASK}"')
    )
    checked = subprocess.run(
        ["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False
    )
    assert (checked.returncode, checked.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("systemd-run") is None, reason="systemd is not installed")
def test_systemd_takes_the_command(tmp_path: Path) -> None:
    words = host.transient_unit("heatsoak-r-t-1", tmp_path / "output.txt")
    tried = subprocess.run([*words, "true"], capture_output=True, text=True, check=False)
    # where there is no systemd, only what it was asked for is understood
    assert tried.returncode == 0 or "Failed to connect to bus" in tried.stderr, tried.stderr
