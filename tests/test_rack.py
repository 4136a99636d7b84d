"""``heatsoak rack``: one protocol on the drives of many hosts, each test once."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tarfile
import textwrap
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from command import complaint, done_here, heatsoak_here, json_here, ran
from exports import set_rate
from heatsoak import errors
from heatsoak.bench.session import Session
from heatsoak.cli import common
from heatsoak.protocol import load
from heatsoak.rack import host
from heatsoak.rack.kept import LATE, MOST_STARTS, Kept, RackTest, Status
from heatsoak.rack.reached import Reach
from heatsoak.rack.state import Rack, Row, as_toml
from heatsoak.recording import Recording
from hypothesis import given, settings
from hypothesis import strategies as st
from loop_drive import attached
from needs import needs, needs_root
from ports import free_port
from racked import FILL_ONCE, SIMULATED, CountingDrive, RackOfHosts, counting_drive, kill
from schema_check import complaints
from waiting import until

pytestmark = [pytest.mark.slow, needs("nbdkit", "fio")]


@pytest.fixture
def rack(tmp_path: Path) -> Iterator[RackOfHosts]:
    rack = RackOfHosts(tmp_path)
    yield rack
    rack.end()


@pytest.fixture
def drives(tmp_path: Path) -> Iterator[list[CountingDrive]]:
    """Three drives, which take a second."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(counting_drive(tmp_path / f"drive{number}", 32))
            for number in range(3)
        ]


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[CountingDrive]:
    """A drive that takes a minute, unless it is made faster."""
    with counting_drive(tmp_path / "slow", 8, 512) as drive:
        yield drive


def schema(name: str, rack: RackOfHosts) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(heatsoak_here("lab", "schema", name, cwd=rack.cwd).stdout)
    return found


def wait_for_a_test(
    rack: RackOfHosts, drive: CountingDrive, following: subprocess.Popen[str]
) -> Kept:
    """Wait until the first host's test writes its drive; fails if the command ends before."""
    assert until(lambda: drive.starts or following.poll() is not None)
    assert following.poll() is None, following.communicate()
    return rack.host("b1").loading()[0]


def states(rack: RackOfHosts, out: str = "out") -> list[str]:
    return [test["state"] for test in rack.tests(rack.cwd / out)]


def statuses(rack: RackOfHosts, out: str = "out") -> list[str]:
    """Return those of the recordings that are collected."""
    places = [rack.cwd / out / row["directory"] for row in rack.tests(rack.cwd / out)
              if row["directory"]]  # fmt: skip
    return [Recording.open(place).meta.status for place in places]


def test_each_drive_is_tested_once_and_those_of_a_host_begin_together(
    rack: RackOfHosts, drives: list[CountingDrive]
) -> None:
    listed = rack.list_drives({"b1": [*drives[:2]], "b2": [drives[2]]})
    words = ("run", "once.toml", "--drives", listed, "-o", "out")
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
    begun = [one.read().attempts[0] for one in rack.host("b1").kept()]  # type: ignore[union-attr]
    boot_s = time.time() - time.monotonic()
    assert max(one.ready_at_s for one in begun) <= min(one.began_unix_s for one in begun) - boot_s  # type: ignore[type-var,operator]
    # the same command again only says what came out, and another does not go on with it
    asked = rack.calls()
    again = rack.here(*words, "--format", "json")
    assert json.loads(again.stdout) == document
    assert rack.calls() == asked  # what is collected needs no host
    changed = rack.here(*words, "--set", "bs=128k")
    assert "holds a run with another protocol or other drives" in complaint(changed, 2)
    # what somebody removed is fetched again
    shutil.rmtree(rack.cwd / "out" / document["tests"][0]["directory"])
    text = rack.here(*words)
    assert text.stdout.startswith("3 of 3 tests finished")
    assert statuses(rack) == ["finished"] * 3
    told = rack.here("stop", "out")
    assert told.stdout.startswith("0 tests were told to stop")
    assert [drive.starts for drive in drives] == [1, 1, 1]


def filling(
    drive: CountingDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[RackTest, Kept]:
    """A test that writes all of a drive once, and where this host, from now on, keeps it."""
    monkeypatch.setenv("HEATSOAK_RACK", str(tmp_path / "home"))
    (tmp_path / "once.toml").write_text(FILL_ONCE)
    known = {"run": "r", "name": "t", "on": drive.uri, "erase_id": drive.erase_id}
    test = RackTest(**known, protocol=load(str(tmp_path / "once.toml")))
    return test, Kept.of(test)


def test_however_often_a_test_is_started_it_runs_once(
    drives: list[CountingDrive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, kept = filling(drives[0], tmp_path, monkeypatch)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: host.start([test]), range(8)))
    assert until(lambda: kept.status().has_ended)
    host.start([test])
    assert kept.status().state == "finished"
    assert drives[0].starts == 1


def test_what_was_recorded_to_its_end_is_finished_whatever_comes_then(
    drives: list[CountingDrive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, kept = filling(drives[0], tmp_path, monkeypatch)
    record = Session.record

    def stopped_late(self: Session, *words: Any, **named: Any) -> None:
        record(self, *words, **named)
        raise KeyboardInterrupt

    monkeypatch.setattr(Session, "record", stopped_late)
    with kept.changing(test) as state:
        state.attempt(1)
    with kept.locked() as lock:
        assert lock is not None
        assert host.perform(kept.directory, lock) == 0
    assert (kept.status().state, kept.status().why) == ("finished", None)
    assert Recording.open(kept.recording).meta.status == "finished"


def test_an_attempt_that_lives_is_not_followed_by_another(
    slow: CountingDrive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, kept = filling(slow, tmp_path, monkeypatch)
    second = test.model_copy(update={"attempt": 2})
    host.start([test])
    assert until(lambda: kept.status().state == "running")
    host.start([second])  # by who lost the answer to the first
    assert (kept.status().state, kept.status().attempt) == ("running", 1)
    set_rate(slow.rate, 400)
    assert until(lambda: kept.status().has_ended)
    host.start([second])  # finds that nothing is left to do
    assert until(lambda: kept.status() == Status(state="finished", attempt=2, progress=1.0))
    assert slow.starts == 1


#: As systemd-run for a scope: it becomes the program that it was given.
SYSTEMD_RUN = """#!/bin/sh
for word; do
    case "$word" in --*) shift ;; *) break ;; esac
done
echo asked >> {asked}
sleep {late_s}
exec "$@"
"""


def in_scopes(directory: Path, monkeypatch: pytest.MonkeyPatch, program: str) -> None:
    """Start tests of this process by `program`, as by systemd-run where systemd is."""
    run = directory / "programs" / "systemd-run"
    run.parent.mkdir()
    run.write_text(program)
    run.chmod(0o755)
    monkeypatch.setenv("PATH", str(run.parent), prepend=":")
    monkeypatch.setattr(host, "_SYSTEMD", directory)
    monkeypatch.setattr(os, "geteuid", lambda: 0)


def test_a_test_whose_process_is_slow_to_come_is_waited_for(
    drives: list[CountingDrive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, kept = filling(drives[0], tmp_path, monkeypatch)
    asked = tmp_path / "asked"
    in_scopes(tmp_path, monkeypatch, SYSTEMD_RUN.format(asked=asked, late_s=3))
    seen = set()

    def has_ended() -> bool:
        host.start([test])
        seen.add(kept.status().state)
        return kept.status().has_ended

    assert until(has_ended)
    assert seen <= {"starting", "ready", "running", "finished"}
    assert kept.status().state == "finished"
    assert asked.read_text() == "asked\n"
    assert drives[0].starts == 1


def test_a_test_whose_process_always_dies_is_not_made_for_ever(
    drives: list[CountingDrive], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    test, kept = filling(drives[0], tmp_path, monkeypatch)
    in_scopes(tmp_path, monkeypatch, f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexit 1\n")

    def has_ended() -> bool:
        host.start([test])
        return kept.status().has_ended

    assert until(has_ended)
    host.start([test])
    status = kept.status()
    assert status.state == "failed"
    assert f"died {MOST_STARTS} times before it began: see" in str(status.why)
    assert (tmp_path / "asked").read_text().count("asked") == MOST_STARTS
    assert drives[0].starts == 0


def test_another_directory_tests_no_drive_again_unless_asked(
    rack: RackOfHosts, drives: list[CountingDrive]
) -> None:
    one = rack.list_drives({"b1": [drives[0]]})
    first = rack.here("run", "once.toml", "--drives", one, "-o", "first")
    assert first.returncode == 0, first.stderr
    listed = rack.list_drives({"b1": [*drives[:2]]})
    words = ("run", "once.toml", "--drives", listed, "-o", "second")
    second = rack.here(*words)
    assert second.returncode == 4
    assert second.stdout.startswith(f"1 of 2 tests finished; b1, slot 0 ({drives[0].uri}): ")
    assert states(rack, "second") == ["refused", "finished"]
    why = rack.tests(rack.cwd / "second")[0]["why"]
    assert ": finished in run " in why
    assert why.endswith("or add --again to test it again")
    assert rack.here(*words, "--resume").returncode == 4
    assert [drive.starts for drive in drives] == [1, 1, 0]
    assert rack.here(*words, "--again").returncode == 0
    assert [drive.starts for drive in drives] == [2, 1, 0]
    assert statuses(rack, "first") == ["finished"]


def test_a_test_past_its_plan_is_given_no_time_that_is_left(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, Any] = {"host": "b1", "erase": None, "labels": {}}
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


def test_a_drive_that_is_refused_or_that_nobody_named_is_not_written(
    rack: RackOfHosts, drives: list[CountingDrive]
) -> None:
    listed = rack.list_drives({"b1": [drives[0]], "b2": [drives[1]], "b3": [drives[2].uri]})
    path = rack.cwd / listed
    # the servers say that they are empty, so only what was named counts
    path.write_text(path.read_text().replace(drives[1].erase_id, "S123"))
    done = rack.here("run", "once.toml", "--drives", listed, "-o", "out")
    assert done.returncode == 4, done.stderr
    assert done.stdout.startswith("1 of 3 tests finished; b2, slot 0")
    assert done.stdout.splitlines()[0].endswith(", and 1 more")
    assert states(rack) == ["finished", "refused", "refused"]
    whys = [test["why"] for test in rack.tests(rack.cwd / "out")]
    assert "--erase names 'S123'" in whys[1]
    assert "nobody has named it to be erased: add erase = ..." in whys[2]
    assert [drive.starts for drive in drives] == [1, 0, 0]
    # named now, it is tested in the same directory
    rack.list_drives({f"b{number + 1}": [drive] for number, drive in enumerate(drives)})
    done = rack.here("run", "once.toml", "--drives", listed, "-o", "out", "--resume")
    assert done.returncode == 0, done.stdout
    assert [drive.starts for drive in drives] == [1, 1, 1]


@pytest.mark.long
def test_a_stopped_run_is_kept_and_resumed_only_when_asked(
    rack: RackOfHosts, slow: CountingDrive
) -> None:
    words = ("once.toml", "--drives", rack.list_drives({"b1": [slow]}), "-o", "out")
    with rack.started(*words) as following:
        wait_for_a_test(rack, slow, following)
        assert "another command follows this run" in complaint(rack.here("run", *words), 2)
        # nor does another run get the drive
        for name, more in (("second", []), ("again", ["--again"])):
            assert rack.here("run", *words[:-1], name, *more).returncode == 4
        stopped = rack.here("stop", "out")
        assert stopped.stdout.startswith("1 test was told to stop")
        output, errors = following.communicate(timeout=200)
    assert following.returncode == 3, errors
    assert output.startswith("0 of 1 tests finished; b1, slot 0")
    assert states(rack) == ["interrupted"]
    assert statuses(rack) == ["interrupted"]
    assert rack.here("run", *words).returncode == 3
    assert slow.starts == 1
    ((test,), (locked,)) = (rack.tests(rack.cwd / name) for name in ("second", "again"))
    assert ": running in run " in test["why"]
    assert "another run is using this drive" in locked["why"]
    set_rate(slow.rate, 400)
    resumed = rack.here("run", *words, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert slow.starts == 2
    assert statuses(rack) == ["finished"]


@pytest.mark.parametrize("has_recorded", [True, pytest.param(False, marks=pytest.mark.long)])
def test_a_killed_test_hides_no_other_and_is_resumed_where_it_was(
    rack: RackOfHosts, drives: list[CountingDrive], slow: CountingDrive, has_recorded: bool
) -> None:
    # a command was killed while it wrote for the first time what it was asked for
    (rack.cwd / "out").mkdir()
    (rack.cwd / "out" / f".heatsoak-{0:032x}").write_text('{"run": ')
    listed = rack.list_drives({"b1": [slow], "b2": [drives[0]]})
    words = ("once.toml", "--drives", listed, "-o", "out")
    with rack.started(*words) as following:
        killed = wait_for_a_test(rack, slow, following)
        following.send_signal(signal.SIGINT)
        _, errors = following.communicate(timeout=200)
    assert following.returncode == 130, errors
    assert "tests go on on their hosts" in errors.splitlines()[-1]
    assert kill(killed)
    assert until(lambda: killed.process() is None)
    if not has_recorded:  # as if it had not been written yet
        (killed.recording / "recording.json").unlink()
    done = rack.here("run", *words)
    assert done.returncode == 3, done.stderr
    said = f"1 of 2 tests finished; b1, slot 0 ({slow.uri}): its process was killed"
    assert done.stdout.startswith(said)
    assert states(rack) == ["cut", "finished"]
    assert statuses(rack) == (["running", "finished"] if has_recorded else ["finished"])
    assert slow.starts == 1
    if has_recorded:
        set_rate(slow.rate, 400)
        resumed = rack.here("run", *words, "--resume")
        assert resumed.returncode == 0, resumed.stdout
        assert statuses(rack) == ["finished"] * 2
        assert slow.is_whole


@pytest.mark.long
def test_nothing_begins_after_a_stop_that_a_host_has_not_heard(
    rack: RackOfHosts, drives: list[CountingDrive]
) -> None:
    away, waits = rack.host("b1"), rack.host("b2")
    away.falls_ill("away")
    listed = rack.list_drives({"b1": [drives[0]], "b2": [drives[1]]})
    words = ("once.toml", "--drives", listed, "-o", "out", "--together", "rack")
    with rack.started(*words, "--wait", "1h") as following:
        assert until(lambda: [one.status().state for one in waits.kept()] == ["ready"])
        waits.falls_ill("away")
        said = complaint(rack.here("stop", "out"), 3)
        assert "b1 and b2: not told, where tests go on" in said
        assert "No route to host): repeat this when they answer" in said
        for host in (away, waits):
            host.recovers()
        output, _ = following.communicate(timeout=200)
    assert following.returncode == 3
    assert output.startswith(f"0 of 2 tests finished; b1, slot 0 ({drives[0].uri}): stopped before")
    assert states(rack) == ["interrupted"] * 2
    assert [drive.starts for drive in drives] == [0, 0, 0]
    done = rack.here("run", *words, "--resume")
    assert done.returncode == 0, done.stdout
    begun = [each.read().newest for name in ("b1", "b2") for each in rack.host(name).kept()]  # type: ignore[union-attr]
    assert max(one.ready_at_s for one in begun) <= min(one.go_at_s for one in begun)  # type: ignore[type-var,operator]
    assert [drive.starts for drive in drives] == [1, 1, 0]


def test_a_run_that_was_stopped_while_nobody_followed_it_goes_on_when_asked(
    rack: RackOfHosts, drives: list[CountingDrive]
) -> None:
    rack.host("b1").falls_ill("away")
    words = ("once.toml", "--drives", rack.list_drives({"b1": [drives[0]]}), "-o", "out")
    with rack.started(*words) as following:
        assert until(lambda: "b1 status" in rack.calls())
        following.kill()
    rack.host("b1").recovers()
    assert rack.here("stop", "out").returncode == 0
    assert drives[0].starts == 0
    done = rack.here("run", *words, "--resume")
    assert done.returncode == 0, done.stdout
    assert drives[0].starts == 1


#: What may ail a host, and what is said of its test.
AILMENTS = {
    "away": "No route to host",
    "closed": "cannot be made: No such file or directory: set HEATSOAK_RACK to a directory that",
    "old": "has heatsoak 0.1, and this is ",
    "bare": "has no heatsoak that can be run: sh: 1: heatsoak: not found",
    "hangs": "no answer in 30 s",
}


@pytest.mark.long
def test_a_bad_host_fails_its_own_tests_alone(
    rack: RackOfHosts, drives: list[CountingDrive], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reach.ask, "__kwdefaults__", {"given": None, "wait_s": 30.0})
    for how in AILMENTS:
        rack.host(how).falls_ill(how)
    listed = rack.list_drives({how: [SIMULATED] for how in AILMENTS} | {"b1": [drives[0]]})
    words = ("run", "once.toml", "--drives", listed, "-o", "out")
    done = rack.here(*words, "--wait", "0s")
    assert done.returncode == 3, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith(f"1 of 6 tests finished; away, slot 0 ({SIMULATED}): no answer: ssh: ")
    assert first.endswith("for 0 s, and 4 more")
    rows = {row["host"]: row for row in rack.tests(rack.cwd / "out")}
    for how, said in AILMENTS.items():
        assert rows[how]["state"] == "failed"
        assert said in rows[how]["why"]
    assert drives[0].starts == 1
    # cured, they are tested in the same directory
    for how in AILMENTS:
        rack.host(how).recovers()
    done = rack.here(*words, "--resume")
    assert done.returncode == 0, done.stdout
    assert drives[0].starts == 1


def test_a_dry_run_touches_nothing(rack: RackOfHosts, drives: list[CountingDrive]) -> None:
    listed = rack.list_drives({"b1": [drives[0]], "b2": [drives[1]], "b3": [SIMULATED]})
    rack.host("b3").falls_ill("bare")
    words = ("run", "once.toml", "--drives", listed, "-o", "out", "--dry-run")
    done = rack.here(*words)
    assert done.returncode == 3, done.stderr
    # what is the same for several drives is said once
    assert done.stdout.count("fill") == 1
    said = done.stdout.replace("\n", "")
    assert f"{drives[0].uri} of b1, {drives[1].uri} of b2" in said
    assert f"{SIMULATED} of b3: has no heatsoak that can be run" in said
    assert not [*rack.cwd.glob("home-*")]
    assert not (rack.cwd / "out").exists()
    assert [drive.starts for drive in drives] == [0, 0, 0]
    rows = json.loads(rack.here(*words, "--format", "json").stdout)
    assert complaints(rows, schema("rack-run-dry-run", rack)) == []
    assert [[run["protocol"] for run in row["runs"]] for row in rows] == [["once"], ["once"], []]


@needs_root
def test_drives_are_listed_for_a_run(rack: RackOfHosts, tmp_path: Path) -> None:
    rack.host("b3").falls_ill("away")
    with attached(tmp_path / "image", 32 << 20) as drive:
        done = rack.here("drives", "b1", "b2", "b3", "-o", "racks.toml", "--format", "json")
    assert done.returncode == 3
    assert "b3: no answer: ssh: connect to host b3 port 22: No route to host: its drives" in (
        done.stderr
    )
    assert complaints(json.loads(done.stdout), schema("rack-drives", rack)) == []
    ours = [row for row in json.loads(done.stdout) if row["path"] == str(drive)]
    assert [row["host"] for row in ours] == ["b1", "b2"]  # both are this machine
    listed = tomllib.loads((tmp_path / "racks.toml").read_text())
    assert listed["hosts"] == ["b1", "b2"]
    drives = [one["host"] for one in listed["drive"] if one["erase"] == ours[0]["id"]]
    assert drives == ["b1", "b2"]
    # who does not answer stands for its drives, which nobody knows
    (tmp_path / "silent.toml").write_text('hosts = ["b3"]')
    words = ("run", "once.toml", "--set", "rw=read", "--drives", "silent.toml", "--wait", "0s")
    assert "; b3 (all drives): no answer: ssh: " in rack.here(*words, "-o", "silent").stdout
    # a file of hosts is as good as their names
    (tmp_path / "hosts.toml").write_text('hosts = ["b1"]')
    again = json_here(*rack.command("drives", "hosts.toml")[3:], cwd=rack.cwd)
    assert {row["host"] for row in again} <= {"b1"}


def test_nothing_but_files_of_a_recording_is_unpacked(tmp_path: Path) -> None:
    for name, kind in (("../x", tarfile.REGTYPE), ("b1/t/x", tarfile.SYMTYPE)):
        (packed := tarfile.TarInfo(name)).type = kind
        (tmp_path / "tar").write_bytes(packed.tobuf() + bytes(1024))
        with pytest.raises(errors.ToolError, match=f"{name}: is no file of a recording"):
            Reach(f"sh -c 'cat {tmp_path}/tar' sh").fetch("b1", [], tmp_path)


@needs("ansible-inventory")
def test_hosts_of_an_inventory_are_those_of_ansible(
    rack: RackOfHosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = Path(shutil.which("ansible-inventory") or "")
    monkeypatch.setenv("HEATSOAK_TOOLS", str(place.parent))
    (rack.cwd / "hosts.ini").write_text("[rack]\nb[1:2]\nb3 ansible_host=10.0.0.13\n")
    done = rack.here("drives", "hosts.ini", "--scheduler", "tcp://10.0.0.1:8786")
    assert done.returncode == 0
    assert "tcp://10.0.0.1:8786: hosts are reached by --by now" in done.stderr
    assert sorted(rack.calls()) == ["10.0.0.13 json", "b1 json", "b2 json"]


def test_wrong_hosts_and_drives_are_named(rack: RackOfHosts) -> None:
    for listed, said in (
        ("", "racks.toml: names no host"),
        ('[[drive]]\non = "S1"', "drive S1: name its host"),
        ('[[drive]]\nhost = "b1"\non = "S1"\n' * 2, "drive S1 of b1 is listed twice"),
        ('[[drive]]\nhost = "b1"\nin = "S1"', "racks.toml"),
        ('[[drive]]\nhost = "-oProxyCommand=x"\non = "S1"', "'-oProxyCommand=x': is no host's"),
        ('hosts = ["b1; x"]', "'b1; x': is no host's name, such as b1"),
        ('hosts = ["b1"]', "once: writes, so name the drives that may be erased in racks.toml"),
    ):
        (rack.cwd / "racks.toml").write_text(listed)
        words = ("--drives", "racks.toml", "-o", "o", "--wait", "0s")
        assert said in complaint(rack.here("run", "once.toml", *words), 2)
        assert not (rack.cwd / "o").exists()
    done = rack.here("run", "once.toml", "-o", "o")
    assert "name hosts and drives with --drives FILE" in complaint(done, 2)
    for name in ("-oProxyCommand=x", "$(x)"):
        assert "is no host's name" in complaint(rack.here("drives", "--", name), 2)
    done = heatsoak_here("rack", "drives", "b1", "--by", "no-such {host}", cwd=rack.cwd)
    assert "b1: --by no-such {host}: no-such cannot be run" in done.stderr
    assert rack.calls() == []


def test_a_list_of_drives_that_none_may_write_can_be_extended() -> None:
    text = as_toml({"b1": []})
    assert "None can be written safely" in text
    more = tomllib.loads(text + '\n[[drive]]\non = "S1"\n')
    assert more == {"hosts": ["b1"], "drive": [{"on": "S1"}]}


def test_ssh_gets_one_word_for_its_shell_and_no_host_as_an_option() -> None:
    words = ["heatsoak", "rack", "host", "status", "a b"]
    own = ["ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=15"]
    own += ["-o", "ServerAliveInterval=15"]
    said = "heatsoak rack host status 'a b'"
    assert Reach("ssh {host}").command("b1", words) == [*own, "--", "b1", said]
    through = Reach("ssh -J head {host}").command("b1", words)
    assert through == [*own, "-J", "head", "--", "b1", said]
    assert Reach("sh -c").command("b1", words) == ["sh", "-c", said]
    by_docker = Reach("docker exec -i {host}").command("b1", words)
    assert by_docker == ["docker", "exec", "-i", "b1", *words]
    for by in ("", "ssh '"):
        with pytest.raises(errors.UsageError):
            Reach(by)


@settings(max_examples=30)  # each starts four processes
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0")), max_size=4))
def test_words_arrive_as_they_were(words: list[str]) -> None:
    told = ["printf", "%s\\0", "", *words]
    by_shell = Reach("sh -c").command("b1", told)
    by_ssh = Reach("ssh {host}").command("b1", told)
    for command in (by_shell, ["sh", "-c", by_ssh[-1]]):
        done = subprocess.run(command, capture_output=True, check=True)
        assert done.stdout.decode() == "\0".join(["", *words, ""])


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[list[str]]:
    """A server of ssh's for this machine, with keys of its own; gives what ``--by`` needs."""
    program = shutil.which("sshd") or "sshd"
    Path("/run/sshd").mkdir(exist_ok=True)  # its package makes it when systemd starts it
    for name in ("host", "own"):
        subprocess.run(["ssh-keygen", "-q", "-N", "", "-f", tmp_path / name], check=True)
    port, names = free_port(), ("HEATSOAK_LOCKS", "HEATSOAK_STATE", "PYTHONPATH")
    known = " ".join(f'{name}="{os.environ[name]}"' for name in names if name in os.environ)
    known += f' HEATSOAK_RACK="{tmp_path}/home" PATH="{tmp_path}:{os.environ["PATH"]}"'
    (tmp_path / "heatsoak").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m heatsoak "$@"\n')
    (tmp_path / "heatsoak").chmod(0o755)
    (tmp_path / "sshd").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {tmp_path}/host\nPidFile none\n"
        f"AuthorizedKeysFile {tmp_path}/own.pub\nStrictModes no\nUsePAM no\nSetEnv {known}\n"
    )
    with subprocess.Popen([program, "-D", "-e", "-f", tmp_path / "sshd"]) as server:
        own = ["-F", "none", "-p", str(port), "-i", str(tmp_path / "own")]
        own += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        yield ["--by", f"ssh {shlex.join(own)} {{host}}"]
        server.terminate()


@needs_root
@needs("sshd", "ssh")
def test_a_host_is_reached_by_ssh(
    sshd: list[str], tmp_path: Path, drives: list[CountingDrive]
) -> None:
    rack = RackOfHosts(tmp_path)
    listed = rack.list_drives({"127.0.0.1": [drives[0]]})
    words = ("rack", "run", "once.toml", "--drives", listed, "-o", "out", *sshd)
    done_here(*words, cwd=tmp_path)
    assert statuses(rack) == ["finished"]
    assert drives[0].starts == 1


def code_of_the_docs(begins: str) -> list[str]:
    """The blocks of docs/racks.md that begin so, without indentation."""
    text = (Path(__file__).parents[1] / "docs" / "racks.md").read_text("utf-8")
    blocks = [textwrap.dedent(block) for block in re.findall(r"```[a-z]*\n(.*?)```", text, re.S)]
    return [block for block in blocks if block.startswith(begins)]


@pytest.mark.long
def test_the_docs_alone_lead_to_a_report(rack: RackOfHosts) -> None:
    (commands,), (listed,) = code_of_the_docs("heatsoak rack drives"), code_of_the_docs("# racks")
    # what a reader replaces: the drives, of which this machine has none
    listed = re.sub("(?m)^erase.*", "", listed).replace("S3PTNX0J900001", SIMULATED)
    for command in commands.splitlines():
        program, group, name, *words = shlex.split(command, comments=True)
        assert (program, group) == ("heatsoak", "rack")
        own = (
            rack.command(name, *words)[3:] if name in ("drives", "run") else ["rack", name, *words]
        )
        done = done_here(*own, cwd=rack.cwd)
        if name == "drives":
            (rack.cwd / "racks.toml").write_text(listed)
    assert done.stdout.startswith("The drive passes")
    assert (rack.cwd / "monday.html").stat().st_size > 10_000


def test_the_group_alone_says_what_there_is(tmp_path: Path) -> None:
    said = done_here("rack", cwd=tmp_path).stdout
    for command in ("drives", "run", "stop", "report", "host"):
        assert f"\n  {command} " in said


@pytest.mark.skipif(shutil.which("systemd-run") is None, reason="systemd is not installed")
def test_systemd_takes_the_command() -> None:
    words = host.in_scope("heatsoak-r-t-1")
    tried = ran(*words, "true")
    # where there is no systemd, only what it was asked for is understood
    assert tried.returncode == 0 or "Failed to connect to bus" in tried.stderr, tried.stderr
