"""Whatever is killed under a rack's run: no drive is tested twice, and nothing recorded is lost."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import pytest
from heatsoak.recording import Recording
from racked import FILL_ONCE, CountingDrive, RackOfHosts, counting_drive, rack_of_hosts

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(1500),
    pytest.mark.skipif(
        os.geteuid() != 0 or shutil.which("nbdkit") is None or shutil.which("fio") is None,
        reason="needs root for network namespaces, nbdkit and fio",
    ),
]

#: Five faults in each of ten runs.
RUNS, FAULTS = 10, 5
NAMES = ("b1", "b2", "b3")
#: A fill takes six seconds.
MIB, MB_S = 48, 8.0


class Commanded:
    """The command that follows a run; killed, it is given again, as a person would."""

    def __init__(self, rack: RackOfHosts, out: str) -> None:
        words = ("run", "once.toml", "--drives", "rack.toml", "-o", out, "--format", "json")
        self._command, self._rack, self._log = rack.command(*words), rack, rack.cwd / f"{out}.txt"
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command,
                cwd=self._rack.cwd,
                env={**os.environ, **self._rack.env},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        self.start()

    def end(self) -> dict[str, Any]:
        """Wait for the end; return the document. It starts anew if the scheduler was away."""
        while True:
            output, _ = self.process.communicate(timeout=250)
            if output:
                found: dict[str, Any] = json.loads(output)
                return found
            assert "does not answer" in self._log.read_text().splitlines()[-1]
            time.sleep(1)
            self.start()


def test_no_test_runs_twice_and_nothing_is_lost(tmp_path: Path) -> None:
    (tmp_path / "once.toml").write_text(FILL_ONCE)
    chance = random.Random(20261123)
    done: dict[str, int] = {}
    with rack_of_hosts(tmp_path, NAMES, apart=True) as rack:
        for number in range(RUNS):
            with ExitStack() as stack:
                drives = {
                    f"{name}-{slot}": stack.enter_context(
                        counting_drive(tmp_path / f"drive-{number}-{name}-{slot}", MB_S, MIB)
                    )
                    for name in NAMES
                    for slot in range(2)
                }
                killed = _one_run(rack, f"out-{number}", drives, chance, done)
                _check(rack, f"out-{number}", drives, killed)
    assert sum(done.values()) == RUNS * FAULTS
    assert min(done.values()) > 0
    print(f"{done}: no drive was tested twice")


def _one_run(
    rack: RackOfHosts,
    out: str,
    drives: dict[str, CountingDrive],
    chance: random.Random,
    done: dict[str, int],
) -> set[Path]:
    """Run a protocol while things are killed; return the tests whose process was."""
    rack.list_drives({name: [drives[f"{name}-{slot}"] for slot in range(2)] for name in NAMES})
    command = Commanded(rack, out)
    killed: set[Path] = set()

    def process() -> None:
        found = [one for host in rack.hosts for one in host.processes()]
        if found:
            # by its directory: a late process of a killed test leaves its own number in the lock
            test, number = chance.choice(found)
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
                killed.add(test)

    def network() -> None:
        host = chance.choice(rack.hosts)
        host.set_link("down")
        time.sleep(chance.uniform(0.5, 2))
        host.set_link("up")

    faults: dict[str, Callable[[], None]] = {
        "worker": lambda: chance.choice(rack.hosts).worker.kill(),
        "scheduler": rack.scheduler.kill,
        "network": network,
        "test's process": process,
        "command": command.kill,
    }
    # from before the first test has begun until after the last has ended
    time.sleep(chance.uniform(0, 6))
    for _ in range(FAULTS):
        name = chance.choice(sorted(faults))
        faults[name]()
        done[name] = done.get(name, 0) + 1
        time.sleep(chance.uniform(0, 2))
    command.end()
    return killed


def _check(
    rack: RackOfHosts, out: str, drives: dict[str, CountingDrive], killed: set[Path]
) -> None:
    by_uri = {drive.uri: drive for drive in drives.values()}
    homes = {host.name: host.home for host in rack.hosts}
    run = json.loads((rack.cwd / out / "rack.json").read_bytes())["run"]
    for test in rack.tests(out):
        drive = by_uri[test["on"]]
        kept = homes[test["host"]] / run / test["name"]
        assert drive.starts <= 1, test
        assert max(drive.writes().values(), default=0) <= 1, test
        if test["state"] == "finished":
            assert drive.is_whole
            assert Recording.open(rack.cwd / out / test["directory"]).meta.status == "finished"
        else:
            assert (test["state"], kept in killed) == ("cut", True), test["why"]
            assert "was killed" in test["why"]
        if test["directory"] is not None:
            assert _digests(kept / "recording") == _digests(rack.cwd / out / test["directory"])


def _digests(directory: Path) -> dict[str, str]:
    return {
        str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
