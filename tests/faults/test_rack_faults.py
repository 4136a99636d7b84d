"""Whatever is killed under a rack's run: no drive is tested twice, and nothing recorded is lost."""

import json
import random
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path

import pytest
from heatsoak.rack.kept import Kept
from heatsoak.rack.state import Row
from heatsoak.recording import Recording
from needs import needs
from racked import CountingDrive, RackHost, RackOfHosts, counting_drive, kill
from set_clock import Clock
from started import fill, small_disk
from waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(7200), needs("nbdkit", "fio")]

#: In each run.
FAULTS = 5
#: A busy machine takes minutes to start again what was killed.
PATIENCE_S = 1000.0
NAMES = ("b1", "b2")
#: A fill takes four seconds.
MIB, MB_S = 32, 8.0
_Another = Callable[..., CountingDrive]


class Commanded:
    """The command that follows a run; killed, it is given again, as a person would."""

    def __init__(self, rack: RackOfHosts, out: str) -> None:
        words = ("run", "once.toml", "--drives", "racks.toml", "-o", out)
        self._command, self._rack = rack.command(*words, "--wait", f"{PATIENCE_S}s"), rack
        self.directory = rack.cwd / out
        self.start()

    def start(self, *more: str) -> None:
        out, log = (self.directory.with_suffix(suffix) for suffix in (".out", ".txt"))
        command = [*self._command, *more]
        with out.open("wb") as said, log.open("ab") as errors:
            self._process = subprocess.Popen(
                command, cwd=self._rack.cwd, env=self._rack.env, stdout=said, stderr=errors
            )

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def second(self) -> None:
        """Give the command a second time meanwhile."""
        done = subprocess.run(
            self._command, cwd=self._rack.cwd, env=self._rack.env, capture_output=True, check=False
        )
        assert b"follows this run" in done.stderr or done.returncode in (0, 3, 4), done.stderr

    def end(self) -> tuple[int, str]:
        """Wait for the end; return exit code and what it said first."""
        log = self.directory.with_suffix(".txt")
        assert until(lambda: self.has_ended, PATIENCE_S), log.read_text()
        said = self.directory.with_suffix(".out").read_text()
        assert self._process.returncode in (0, 3, 4), log.read_text()
        return self._process.returncode, said.splitlines()[0]


@pytest.mark.parametrize(
    "runs", [pytest.param(4, marks=pytest.mark.long), pytest.param(11, marks=pytest.mark.soak)]
)
def test_no_test_runs_twice_and_nothing_is_lost(tmp_path: Path, seed: int, runs: int) -> None:
    chance = random.Random(seed)
    # each fault at each moment is another, and none is drawn twice
    drawn = chance.sample([*product(Faults.KINDS, range(len(Faults.MOMENTS)))], FAULTS * runs)
    clock = Clock(tmp_path)
    rack = RackOfHosts(tmp_path, clock.env)
    for number in range(runs):
        with ExitStack() as stack:
            for name in NAMES:
                stack.enter_context(small_disk(rack.host(name).home, "32m"))
            stack.callback(rack.end)
            run = Faults(rack, f"out-{number}", clock, chance, partial(_drive, stack, tmp_path))
            run.make(drawn[FAULTS * number :][:FAULTS])
            _check(rack, run)
            print(f"run {number}: {', '.join(run.made)}: {run.said}")


def _drive(stack: ExitStack, cwd: Path, holds: str = "") -> CountingDrive:
    place = cwd / f"drive-{len([*cwd.glob('drive-*')])}"
    return stack.enter_context(counting_drive(place, MB_S, MIB, holds=holds))


class Faults:
    """What happens to a run, and to what: tests are killed, hosts filled, drives exchanged."""

    command: Commanded
    KINDS = ("test", "follower", "call", "away", "slow", "power", "second", "clock", "full", "swap")
    #: From the start of the command to after its end.
    MOMENTS: Sequence[Callable[["Faults"], object]] = (
        lambda _: True,
        lambda run: (run.command.directory / "rack.json").exists(),
        lambda run: any(host.kept() for host in run.hosts),
        lambda run: any(host.under_way() for host in run.hosts),
        lambda run: any(host.loading() for host in run.hosts),
        lambda run: any(run.command.directory.glob("*/*/recording.json")),
        lambda run: run.command.has_ended,
    )

    def __init__(
        self, rack: RackOfHosts, out: str, clock: Clock, chance: random.Random, another: _Another
    ) -> None:
        self.hosts: list[RackHost] = [rack.host(name) for name in NAMES]
        self._clock, self._chance, self._another = clock, chance, another
        self.drives = {name: [another(), another()] for name in NAMES}
        rack.list_drives(self.drives)
        self.command = Commanded(rack, out)
        clock.move()
        self.by_uri = {drive.uri: drive for own in self.drives.values() for drive in own}
        self.killed: set[Path] = set()
        self.filled: set[str] = set()
        self.exchanged: dict[str, CountingDrive] = {}
        self.made: list[str] = []
        self.said: list[str] = []

    def make(self, faults: Sequence[tuple[str, int]]) -> None:
        """Make faults, each at its moment."""
        for kind, moment in sorted(faults, key=lambda fault: fault[1]):
            self._wait(lambda moment=moment: self.MOMENTS[moment](self))  # type: ignore[misc]
            time.sleep(self._chance.uniform(0, 1))
            self.ails(kind) if kind in ("away", "slow") else getattr(self, kind)()
            self.made.append(f"{kind} at {moment}")

    def test(self) -> None:
        """Kill a test's process, the next that there is."""
        self._wait(self._under_way)
        if found := self._under_way():
            self._kill(self._chance.choice(found))

    def swap(self) -> None:
        """Kill a test's process, and put another drive in the place of its own."""
        self._wait(self._under_way)
        other = self._another("somebody's data, ")
        if (found := self._under_way()) and self._kill(test := self._chance.choice(found)):
            on = test.told().on
            self.by_uri[on].exchange(other)
            self.exchanged[on] = other

    def full(self) -> None:
        """Have no room left for a while where a host keeps its tests."""
        host = self._chance.choice(self.hosts)
        self.filled.add(host.name)
        taken = fill(host.home)
        time.sleep(self._chance.uniform(2, 6))
        taken.unlink()

    def _kill(self, test: Kept) -> bool:
        if is_killed := kill(test):
            self.killed.add(test.directory)
        return is_killed

    def follower(self) -> None:
        self.command.kill()
        self.command.start()

    def call(self) -> None:
        self._chance.choice(self.hosts).kill_call()

    def ails(self, how: str) -> None:
        """Have a host be slow, or away, for a while."""
        host = self._chance.choice(self.hosts)
        host.falls_ill(how)
        time.sleep(self._chance.uniform(2, 6))
        host.recovers()

    def power(self) -> None:
        """Have all end at once, as hosts and head do without power."""
        self.command.kill()
        for host in self.hosts:
            host.kill_call()
        for test in self._under_way():
            self._kill(test)
        self.command.start()

    def second(self) -> None:
        self.command.second()

    def clock(self) -> None:
        """Set all clocks back by two hours more."""
        self._clock.move(set_s=-7200 * (1 + len(self.made)))

    def _wait(self, has_come: Callable[[], object]) -> None:
        assert until(lambda: has_come() or self.command.has_ended, PATIENCE_S)

    def _under_way(self) -> list[Kept]:
        return [test for host in self.hosts for test in host.under_way()]


def _check(rack: RackOfHosts, run: Faults) -> None:
    """Check what became of each test, then resume what was cut until all have finished.

    All finish whatever happens to calls, clocks and commands. One whose process was killed is begun
    anew as long as it had not begun, is cut from then on, and is resumed when asked. One whose host
    was full has failed, and is resumed, too. A drive that is there in place of another is not
    written before it is named as it was said.
    """
    code, first = run.command.end()
    # the last thing that a process does is to write its end
    assert until(lambda: not any(host.under_way() for host in run.hosts))
    refused = _check_tests(rack, run, code, first)
    run.said.append(first)
    while code:
        for uri in refused:
            assert not run.exchanged.pop(uri).writes()
            run.by_uri[uri].word = ":NOT-EMPTY"
        rack.list_drives(run.drives)
        before = code, refused
        run.command.start("--resume")
        code, first = run.command.end()
        refused = _check_tests(rack, run, code, first)
        assert (code, refused) != before, first
    assert all(drive.is_whole for drive in run.by_uri.values())
    assert not any(drive.writes() for drive in run.exchanged.values())


def _check_tests(rack: RackOfHosts, run: Faults, code: int, first: str) -> list[str]:
    """Check what became of each test; return the drives that are to be named."""
    drives, out = run.by_uri, run.command.directory
    known = json.loads((out / "rack.json").read_bytes())
    wrong = [test for test in known["tests"] if test["state"] != "finished"]
    states = {test["state"] for test in wrong}
    assert code == (4 if states == {"refused"} else 3 if states else 0), first
    assert first.startswith(f"{len(drives) - len(wrong)} of {len(drives)} tests finished")
    if wrong:
        told = min(wrong, key=lambda test: test["state"] != "refused")
        assert Row.model_validate(told).text in first
    for test in known["tests"]:
        drive = drives[test["on"]]
        kept = Kept(rack.host(test["host"]).home / known["run"] / test["name"])
        begun = [one for one in getattr(kept.read(), "attempts", ()) if one.began_unix_s]
        assert max(drive.writes().values(), default=0) <= len(begun), test
        assert test["is_collected"], test
        collected = None if test["directory"] is None else out / test["directory"]
        if test["state"] == "finished":
            assert drive.is_whole
            assert collected is not None
            assert Recording.open(collected).meta.status == "finished"
        else:
            has_cause, said = {
                "cut": (kept.directory in run.killed, "was killed"),
                "failed": (test["host"] in run.filled, "No space left on device"),
                "refused": (test["on"] in run.exchanged, f"{drive.erase_id}:NOT-EMPTY"),
            }[test["state"]]
            assert has_cause, test
            assert said in test["why"], test
        if collected is None:  # killed as soon as it had begun, it has recorded nothing
            assert not kept.recorded()
        else:
            assert _content(kept.recording) == _content(collected)
    return [test["on"] for test in wrong if test["state"] == "refused"]


def _content(directory: Path) -> dict[Path, bytes]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {path.relative_to(directory): path.read_bytes() for path in files}
