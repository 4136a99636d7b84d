"""Whatever is killed under a rack's run: no drive is tested twice, and nothing recorded is lost."""

import hashlib
import json
import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from heatsoak.rack.kept import Kept
from heatsoak.recording import Recording
from heatsoak.recording.meta import META
from racked import FILL_ONCE, CountingDrive, RackOfHosts, counting_drive, kill, rack_of_hosts
from waiting import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("nbdkit") is None or shutil.which("fio") is None,
        reason="needs root for network namespaces, nbdkit and fio",
    ),
]

#: In each run.
FAULTS = 5
#: A busy machine takes minutes to start again what was killed.
PATIENCE_S = 1000.0
NAMES = ("b1", "b2", "b3")
#: A fill takes four seconds.
MIB, MB_S = 32, 8.0


class Commanded:
    """The command that follows a run; killed, it is given again, as a person would."""

    def __init__(self, rack: RackOfHosts, out: str) -> None:
        words = ("run", "once.toml", "--drives", "rack.toml", "-o", out, "--format", "json")
        self._command, self._rack = rack.command(*words, "--wait", f"{PATIENCE_S}s"), rack
        self.directory = rack.cwd / out
        self._start()

    def _start(self) -> None:
        with (
            self.directory.with_suffix(".json").open("wb") as output,
            self.directory.with_suffix(".txt").open("ab") as log,
        ):
            self._process = subprocess.Popen(
                self._command,
                cwd=self._rack.cwd,
                env={**os.environ, **self._rack.env},
                stdout=output,
                stderr=log,
            )

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._start()

    def end(self) -> tuple[int, dict[str, Any]]:
        """Wait for the end; return exit code and document."""
        assert until(lambda: self.has_ended, PATIENCE_S), self._log()
        assert self._process.returncode in (0, 3), self._log()
        document: dict[str, Any] = json.loads(self.directory.with_suffix(".json").read_bytes())
        return self._process.returncode, document

    def _log(self) -> str:
        return self.directory.with_suffix(".txt").read_text()


@pytest.mark.parametrize(
    "runs", [pytest.param(2, marks=pytest.mark.long), pytest.param(10, marks=pytest.mark.soak)]
)
def test_no_test_runs_twice_and_nothing_is_lost(tmp_path: Path, seed: int, runs: int) -> None:
    (tmp_path / "once.toml").write_text(FILL_ONCE)
    chance = random.Random(seed)
    faults = [Faults.worker, Faults.scheduler, Faults.network, Faults.process, Faults.follower]
    drawn = chance.sample(faults * runs, FAULTS * runs)  # each of them as often
    with rack_of_hosts(tmp_path, NAMES, apart=True) as rack:
        for number in range(runs):
            with ExitStack() as stack:
                drives = {
                    f"{name}-{slot}": stack.enter_context(
                        counting_drive(tmp_path / f"drive-{number}-{name}-{slot}", MB_S, MIB)
                    )
                    for name in NAMES
                    for slot in range(2)
                }
                rack.list_drives(
                    {name: [drives[f"{name}-{slot}"] for slot in range(2)] for name in NAMES}
                )
                run = Faults(rack, Commanded(rack, f"out-{number}"), chance)
                run.make(drawn[FAULTS * number :][:FAULTS])
                code, document = run.command.end()
            tests = rack.tests(f"out-{number}")
            assert document["tests"] == tests
            assert code == (0 if all(test["state"] == "finished" for test in tests) else 3)
            _check(rack, run, drives)


class Faults:
    """What happens to a run, and the tests whose processes were killed."""

    def __init__(self, rack: RackOfHosts, command: Commanded, chance: random.Random) -> None:
        self.rack, self.command, self._chance = rack, command, chance
        self.killed: set[Path] = set()

    def make(self, faults: Sequence[Callable[["Faults"], None]]) -> None:
        """Make faults at events that are drawn, from the start of the command to after its end."""
        out = self.command.directory
        moments: list[Callable[[], object]] = [
            lambda: True,
            out.exists,
            (out / "rack.json").exists,
            self._under_way,
            lambda: any(test.was_started(1) for test in self._under_way()),
            lambda: any(out.glob("*/*/recording.json")),
            lambda: self.command.has_ended,
        ]
        drawn = sorted(self._chance.choices(range(len(moments)), k=len(faults)))
        for fault, moment in zip(faults, drawn, strict=True):
            self._wait(moments[moment])
            time.sleep(self._chance.uniform(0, 1))
            fault(self)

    def worker(self) -> None:
        self._chance.choice(self.rack.hosts).worker.kill()

    def scheduler(self) -> None:
        self.rack.scheduler.kill()

    def network(self) -> None:
        host = self._chance.choice(self.rack.hosts)
        host.set_link("down")
        time.sleep(self._chance.uniform(0.5, 2))
        host.set_link("up")

    def process(self) -> None:
        """Kill a test's process, the next that there is."""
        self._wait(self._under_way)
        if found := self._under_way():
            test = self._chance.choice(found)
            if kill(test):
                self.killed.add(test.directory)

    def follower(self) -> None:
        self.command.kill()

    def _wait(self, has_come: Callable[[], object]) -> None:
        assert until(lambda: has_come() or self.command.has_ended, PATIENCE_S)

    def _under_way(self) -> list[Kept]:
        return [test for host in self.rack.hosts for test in host.under_way()]


def _check(rack: RackOfHosts, run: Faults, drives: dict[str, CountingDrive]) -> None:
    """Check what became of each test.

    All finish whatever happens to workers, scheduler, network and command. One whose process was
    killed is begun anew as long as it had not begun, is cut from then on, and has finished if its
    end was written.
    """
    by_uri = {drive.uri: drive for drive in drives.values()}
    homes = {host.name: host.home for host in rack.hosts}
    out = run.command.directory
    known = json.loads((out / "rack.json").read_bytes())
    assert len(known["tests"]) == len(drives)
    # the last thing that a process does is to write its end
    assert until(lambda: not any(host.under_way() for host in rack.hosts))
    for test in known["tests"]:
        drive = by_uri.pop(test["on"])
        kept = Kept(homes[test["host"]] / known["run"] / test["name"])
        collected = None if test["directory"] is None else out / test["directory"]
        assert max(drive.writes().values(), default=0) <= 1, test
        assert kept.was_started(1), test
        assert test["is_collected"], test
        if kept.path("ended", 1).exists():
            assert test["state"] == "finished", test
            assert drive.is_whole
            assert collected is not None
            assert Recording.open(collected).meta.status == "finished"
        else:
            assert kept.directory in run.killed, test
            assert test["state"] == "cut", test
            assert "was killed" in test["why"]
        if collected is None:  # killed as soon as it had begun, it has recorded nothing
            assert not (kept.recording / META).exists()
        else:
            assert _digests(kept.recording) == _digests(collected)


def _digests(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
