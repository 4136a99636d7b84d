"""Runs a protocol on a rack: starts each test once, follows all of them, collects recordings.

What was asked for is kept in `rack.json` of the output directory before anything is started, so
that the same command goes on after it was stopped. The hosts have the last word on what ran.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Semaphore, Thread
from typing import TypeVar
from uuid import uuid4

from pydantic import TypeAdapter

from heatsoak import errors, writing
from heatsoak.protocol import Protocol, apply_settings, label_text
from heatsoak.rack import kept, state
from heatsoak.rack.reached import NoAnswerError, Reach
from heatsoak.target.device import DriveRow
from heatsoak.words import duration_text, listed

#: Enough for all hosts of a rack to be told before.
_LEAD_S = 3.0
#: A host is looked at so often: less where nothing changes, for each look takes some of its time.
_POLL_S, _LEAST_OFTEN_S, _SLOWER = 1.0, 10.0, 1.3
#: So many hosts are asked at once.
_AT_ONCE = 16
#: In the output directory: no test of the run begins, until it is resumed.
_STOPPED = "stopped"
#: The test that stands for the drives of a host that did not say which it has.
_ITS_DRIVES = "drives"
#: What is being collected, in the output directory.
_PARTIAL = ".rack-"
_TESTS = TypeAdapter(list[kept.RackTest])
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class RackRequest:
    """What the command line asks for.

    Attributes:
        reach: how hosts are reached.
        listed: the file of hosts and drives; None for those of the run in `directory`.
        resume: whether tests that were cut are to be resumed.
        again: whether drives are tested that another run tests alike, or has.
        wait_s: how long to wait at the start for hosts that do not answer.
        tell: gets the rack each time something has changed, and what to say of it.
    """

    protocol: Protocol
    reach: Reach
    listed: Path | None
    directory: Path
    together: state.Together
    resume: bool
    again: bool
    wait_s: float
    tell: Callable[[state.Rack, str], None]


def run_rack(asked: RackRequest) -> state.Rack:
    """Make all tests, and return what became of them; what was collected is in the directory.

    A host that does not answer within `wait_s`, or cannot test, fails its own tests alone. Raises
    UsageError for what cannot be asked so. Interrupted, tests go on; the same command then follows
    them again.
    """
    with _only_one(asked.directory):
        for left in asked.directory.glob(f"{_PARTIAL}*"):
            shutil.rmtree(left, ignore_errors=True)  # of a command that was killed
        rack = _rack_of(asked)
        stopped = asked.directory / _STOPPED
        if asked.resume or asked.again:
            never = "absent" if stopped.exists() else None  # their hosts may have heard of the stop
            stopped.unlink(missing_ok=True)
            for row in rack.tests:
                if (row.can_be_resumed or row.state == never) and row.name != _ITS_DRIVES:
                    row.take(kept.Status(attempt=row.attempt + 1))
                    row.is_collected = False
        _Following(asked, rack).run()
        return rack


@contextmanager
def _only_one(directory: Path) -> Iterator[None]:
    """Hold an output directory, new or of a run, as the only command that follows that run.

    Raises UsageError if another command does, or for a directory of anything else.
    """
    if directory.is_dir():
        with writing.Directory(directory) as place:
            place.sweep()  # of a command that was killed while it began
    if (directory / state.NAME).exists():
        writing.require_writable(directory)
    else:
        writing.require_new(directory)
    with writing.made(directory), writing.Directory(directory) as place, ExitStack() as held:
        try:
            held.enter_context(place.held(wait=False))
        except BlockingIOError:
            raise errors.UsageError(
                f"{directory}: another command follows this run: wait for it, or end that one first"
            ) from None
        yield


def _rows(asked: RackRequest) -> list[state.Row]:
    """The tests that a file asks for; raises UsageError for none."""
    if asked.listed is None:
        raise errors.UsageError(
            "name hosts and drives with --drives FILE: heatsoak rack drives HOST... -o FILE lists "
            "them"
        )
    known = state.load_listed(asked.listed)
    if known.drive:
        return [state.Row.of(one, one.host or known.hosts[0]) for one in known.drive]
    if asked.protocol.writes:
        raise errors.UsageError(
            f"{asked.protocol.name}: writes, so name the drives that may be erased in "
            f"{asked.listed}: heatsoak rack drives -o FILE lists them"
        )

    def drives(host: str) -> list[DriveRow]:
        return patiently(asked.wait_s, lambda: drives_of(asked.reach, host))

    found, lost = of_hosts(known.hosts, drives)
    rows = [
        state.Row.of(state.ListedDrive(on=row.id), host)
        for host, own in found.items()
        for row in own
    ]
    for host, error in lost.items():  # a test stands for all drives of such a host
        silent = {"name": _ITS_DRIVES, "host": host, "on": "all drives", "is_collected": True}
        rows.append(state.Row(**silent, state="failed", why=f"{error}: test it in a new -o"))
    if not rows:
        raise errors.UsageError(f"{asked.listed}: no host has a drive of its own: name targets")
    return rows


def patiently(wait_s: float, ask: Callable[[], _Found]) -> _Found:
    """Return what `ask` finds, once it is there; raises its last NoAnswerError."""
    give_up_s = time.monotonic() + wait_s
    while True:
        try:
            return ask()
        except NoAnswerError:
            if time.monotonic() > give_up_s:
                raise
        time.sleep(_POLL_S)


def _rack_of(asked: RackRequest) -> state.Rack:
    """The run in the output directory, which has to be this one, or else a new one."""
    digest = hashlib.sha256(asked.protocol.model_dump_json().encode()).hexdigest()
    if not (asked.directory / state.NAME).exists():
        if asked.resume:
            raise errors.UsageError(
                f"--resume: {asked.directory} holds no run of a rack: name one's with -o"
            )
        return state.Rack(
            run=uuid4().hex,
            protocol=asked.protocol.name,
            protocol_sha256=digest,
            together=asked.together,
            tests=_rows(asked),
        )
    rack = state.load_rack(asked.directory)
    is_same = (rack.protocol_sha256, rack.together) == (digest, asked.together)
    if asked.listed is not None and state.load_listed(asked.listed).drive:
        rows = _rows(asked)
        is_same &= [one.asked for one in rows] == [row.asked for row in rack.tests]
        for one, row in zip(rows, rack.tests, strict=False):
            row.erase = one.erase  # which may say now that data may be lost
    if not is_same:
        raise errors.UsageError(
            f"{asked.directory}: holds a run with another protocol or other drives: repeat that "
            "command as it was, or name a new directory with -o"
        )
    for row in rack.tests:
        if row.directory is not None and not (asked.directory / row.directory).exists():
            row.is_collected, row.directory = False, None  # somebody removed it: fetch it again
    return rack


def requests_of(
    rack: state.Rack, rows: Sequence[state.Row], protocol: Protocol, *, again: bool
) -> list[kept.RackTest]:
    """Return what their host is asked to start."""
    tests = []
    for row in rows:
        labels = [f"conditions.host={row.host}"]
        labels += [f"{key}={label_text(value)}" for key, value in row.labels.items()]
        beside = (other.name for other in rack.tests if other.host == row.host and other != row)
        tests.append(
            kept.RackTest(
                **row.model_dump(include={"name", "on", "sensors", "attempt"}),
                run=rack.run,
                erase_id=row.erase,
                protocol=apply_settings(protocol, labels),
                beside=tuple(beside) if rack.together == "host" else (),
                waits=rack.together == "rack",
                again=again,
            )
        )
    return tests


class _Following:
    """Follows the tests of a rack, a thread for each host."""

    def __init__(self, asked: RackRequest, rack: state.Rack) -> None:
        self._asked, self._rack = asked, rack
        self._hosts = list(dict.fromkeys(row.host for row in rack.tests))
        self._lost: dict[str, str] = {}
        self._begin_s: float | None = None
        self._is_over, self._has_changed = Event(), Event()
        self._few = Semaphore(_AT_ONCE)
        self._failure: Exception | None = None

    def run(self) -> None:
        """Follow all hosts until all of their tests are done."""
        _keep(self._rack, self._asked.directory)
        threads = [Thread(target=self._follow, args=(one,), daemon=True) for one in self._hosts]
        for thread in threads:
            thread.start()
        try:
            while any(thread.is_alive() for thread in threads) and self._failure is None:
                if self._has_changed.wait(_POLL_S):
                    self._tell()
        finally:
            self._is_over.set()
            self._tell()
        if self._failure is not None:
            raise self._failure

    def _tell(self) -> None:
        """Keep where the rack stands, and tell of it."""
        self._has_changed.clear()
        rack = self._rack
        _keep(rack, self._asked.directory)
        running = sum(row.state == "running" for row in rack.tests)
        done = sum(row.is_collected for row in rack.tests)
        words = f"{done} of {len(rack.tests)} tests done, {running} running"
        if rack.late:
            words += f", {rack.late} of them longer than planned"
        if self._lost:
            host, why = min(self._lost.items())
            others = f" and {len(self._lost) - 1} more" if len(self._lost) > 1 else ""
            words += f"; {host}{others}: {why}, where tests go on"
        self._asked.tell(rack, words)

    def _follow(self, host: str) -> None:
        """Start, follow and collect the tests of a host, until all of them are done."""
        rows = [row for row in self._rack.tests if row.host == host]
        give_up_s = time.monotonic() + self._asked.wait_s
        wait_s, before = _POLL_S, ""
        while not self._is_over.is_set() and not all(row.is_collected for row in rows):
            try:
                self._look(host, rows)
                self._lost.pop(host, None)
                give_up_s = float("inf")
            except NoAnswerError as error:
                self._lost[host] = str(error)
                if time.monotonic() > give_up_s:
                    wait = duration_text(round(self._asked.wait_s))
                    _give_up(rows, f"{error}, for {wait}")
            except errors.HeatsoakError as error:
                _give_up(rows, str(error))
            except Exception as error:  # for the thread that waits for this one
                self._failure = error
                return
            now = "".join(row.model_dump_json() for row in rows)
            wait_s = _POLL_S if now != before else min(wait_s * _SLOWER, _LEAST_OFTEN_S)
            before = now
            self._has_changed.set()
            if not all(row.is_collected for row in rows):
                self._is_over.wait(wait_s)

    def _ask(self, host: str, word: str, *words: str, given: str | None = None) -> None:
        """Ask a host for something, and take over where its tests stand.

        Of an attempt before the one that is meant, nothing.
        """
        with self._few:
            answer = self._asked.reach.ask(
                host, word, self._rack.run, *words, "--host", host, given=given
            )
        found = {one.name: one for one in answer.tests}
        for row in self._rack.tests:
            status = found.get(row.name) if row.host == host and not row.is_collected else None
            if status is not None and status.attempt >= row.attempt:
                row.take(status)

    def _look(self, host: str, rows: Sequence[state.Row]) -> None:
        self._ask(host, "status")
        todo = [row for row in rows if not row.is_collected]
        absent = [row for row in todo if row.state == "absent"]
        if (self._asked.directory / _STOPPED).exists():
            if not all(row.has_ended for row in todo):
                self._ask(host, "stop")
            for row in absent:
                row.state, row.why = "interrupted", "stopped before it began"
                row.is_collected = True
        elif absent:
            tests = requests_of(self._rack, absent, self._asked.protocol, again=self._asked.again)
            self._ask(host, "make", given=_TESTS.dump_json(tests).decode())
        self._begin(host, rows)
        for row in todo:
            if row.has_ended and not row.is_collected:
                self._collect(row)
                self._has_changed.set()

    def _begin(self, host: str, rows: Sequence[state.Row]) -> None:
        """Tell tests of a whole rack to begin once all of it is ready."""
        if self._rack.together != "rack" or not any(row.state == "ready" for row in rows):
            return
        if any(row.state in ("absent", "starting") for row in self._rack.tests):
            return
        if self._begin_s is None:
            self._begin_s = time.monotonic() + _LEAD_S
        in_s = max(self._begin_s - time.monotonic(), 0.0)
        self._ask(host, "go", "--in", f"{in_s:.3f}s")

    def _collect(self, row: state.Row) -> None:
        """Fetch what a test has recorded; what was fetched of an attempt before makes room."""
        directory = self._asked.directory
        own = Path(kept.plain(row.host)) / row.name
        into = directory / own
        with TemporaryDirectory(prefix=_PARTIAL, dir=directory) as partial_:
            words = ["collect", self._rack.run, "--test", row.name, "--host", row.host]
            with self._few:
                self._asked.reach.fetch(row.host, words, Path(partial_))
            found = Path(partial_) / own
            row.directory = str(own) if found.is_dir() else None
            if row.directory is not None:
                shutil.rmtree(into, ignore_errors=True)
                into.parent.mkdir(parents=True, exist_ok=True)
                found.rename(into)
        row.is_collected = True


def _give_up(rows: Sequence[state.Row], why: str) -> None:
    for row in rows:
        if not row.is_collected:
            row.take(kept.Status(state="failed", why=why))
            row.is_collected = True


def _keep(rack: state.Rack, directory: Path) -> None:
    with writing.reporting_write_errors(directory):
        writing.replace_file(directory / state.NAME, rack.model_dump_json().encode())


def stop_rack(directory: Path, reach: Reach) -> int:
    """Stop the tests of a run, and let none begin; return how many were told.

    Raises ToolError that names hosts that could not be told.
    """
    rack = state.load_rack(directory)
    with writing.reporting_write_errors(directory):
        writing.replace_file(directory / _STOPPED, b"")
    hosts = dict.fromkeys(row.host for row in rack.tests if not row.is_collected)
    told, lost = of_hosts([*hosts], lambda host: reach.ask(host, "stop", rack.run, "--host", host))
    if lost:
        host, error = next(iter(lost.items()))
        raise errors.ToolError(
            f"{listed(sorted(lost))}: not told, where tests go on ({host}: {error}): repeat this "
            "when they answer"
        )
    return sum(report.stopped for report in told.values())


def of_hosts(
    hosts: Sequence[str], ask: Callable[[str], _Found]
) -> tuple[dict[str, _Found], dict[str, errors.HeatsoakError]]:
    """Return what `ask` returns of each host, some at a time, and why others gave nothing."""

    def one(host: str) -> _Found | errors.HeatsoakError:
        try:
            return ask(host)
        except errors.HeatsoakError as error:
            return error

    found: dict[str, _Found] = {}
    lost: dict[str, errors.HeatsoakError] = {}
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for host, answer in zip(hosts, pool.map(one, hosts), strict=True):
            if isinstance(answer, errors.HeatsoakError):
                lost[host] = answer
            else:
                found[host] = answer
    return found, lost


def drives_of(reach: Reach, host: str) -> list[DriveRow]:
    """Return a host's own drives; raises NoAnswerError and what :meth:`Reach.ask` does."""
    rows = reach.read(TypeAdapter(list[DriveRow]), host, "drives", "--format", "json")
    return [row for row in rows if not row.simulated]


def previews(asked: RackRequest) -> list[state.PlannedTest]:
    """Return what each test would write and how long it takes, or why it cannot be run."""
    rack = _rack_of(asked)
    kind = TypeAdapter(list[state.PlannedTest])
    hosts = list(dict.fromkeys(row.host for row in rack.tests))

    def ask(host: str) -> list[state.PlannedTest]:
        rows = [row for row in rack.tests if row.host == host]
        given = _TESTS.dump_json(
            requests_of(rack, rows, asked.protocol, again=asked.again)
        ).decode()
        words = ("rack", "host", "make", rack.run, "--dry-run", "--host", host)
        return patiently(asked.wait_s, lambda: asked.reach.read(kind, host, *words, given=given))

    found, lost = of_hosts(hosts, ask)
    missing = (
        state.PlannedTest(
            host=row.host, on=row.on, runs=[], why=str(lost[row.host]),
            exit_code=lost[row.host].exit_code,
        )
        for row in rack.tests if row.host in lost
    )  # fmt: skip
    return [*(one for rows in found.values() for one in rows), *missing]
