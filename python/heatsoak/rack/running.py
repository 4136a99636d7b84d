"""Runs a protocol on a rack: starts each test once, follows all of them, collects recordings.

What was asked for is kept in `rack.json` of the output directory before anything is started, so
that the same command goes on after it was stopped. The hosts have the last word on what ran.
"""

import asyncio
import hashlib
import shutil
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from uuid import uuid4

from heatsoak import errors, writing
from heatsoak.protocol import Protocol, apply_settings, label_text
from heatsoak.rack import host, state
from heatsoak.rack.hosts import Hosts, NoAnswerError
from heatsoak.rack.kept import ENDS, RackTest, Status, write
from heatsoak.recording.meta import META
from heatsoak.target.device import DriveRow
from heatsoak.words import duration_text

#: Enough for all hosts of a rack to be told before.
_LEAD_S = 3.0
_POLL_S = 1.0
#: In the output directory, locked by the command that follows the run.
_Found = TypeVar("_Found")


@dataclass(frozen=True)
class DrivesOfHosts:
    """What the hosts of a cluster have.

    Attributes:
        drives: rows of ``heatsoak drives`` by the ids of `hosts`.
        silent: the names of hosts that did not answer.
    """

    hosts: dict[str, host.Host]
    drives: dict[str, list[DriveRow]]
    silent: list[str]


@dataclass(frozen=True)
class RackRequest:
    """What the command line asks for.

    Attributes:
        listed: the file of the drives; None for all that can be read.
        resume: whether tests that were cut are to be resumed.
        again: whether drives are tested that another run tests alike, or has.
        wait_s: how long to wait at the start for hosts that do not answer.
        waiting: gets what to say while they are waited for.
        tell: gets the rack each time something has changed, and what to say of it.
        read: gets what running tests measure, by their names; None where nobody wants it.
    """

    protocol: Protocol
    address: str
    listed: Path | None
    directory: Path
    together: state.Together
    resume: bool
    again: bool
    wait_s: float
    waiting: Callable[[str], None]
    tell: Callable[[state.Rack, str], None]
    read: Callable[[dict[str, host.LiveReading]], None] | None = None


def run_rack(asked: RackRequest) -> state.Rack:
    """Make all tests, and return what became of them; what was collected is in the directory.

    Raises UsageError for drives that cannot be tested so, also for hosts that do not answer within
    `wait_s`; ToolError if the scheduler does not. Interrupted, tests go on; the same command then
    follows them again.
    """

    async def run() -> state.Rack:
        with _only_one(asked.directory):
            async with Hosts(asked.address) as hosts:
                return await _follow(asked, hosts)

    return asyncio.run(run())


async def _follow(asked: RackRequest, hosts: Hosts) -> state.Rack:
    rack = _continued(asked)
    if rack is None:
        rack = _new(asked, await _tests_asked_for(hosts, asked))
    else:
        await _patiently(asked, hosts.find)  # hosts that do not answer may come back
    if asked.resume or asked.again:
        for row in rack.tests:
            if row.state != "finished" and row.state in ENDS:
                row.attempt, row.is_collected, row.progress = row.attempt + 1, False, 0.0
                row.take(Status())
    _keep(rack, asked.directory)
    following = _Following(asked, rack, hosts)
    ids = dict.fromkeys(row.host_id for row in rack.tests)
    followed = asyncio.gather(*(following.follow(id_) for id_ in ids))
    telling = asyncio.ensure_future(following.tell_of_changes())
    try:
        both: set[asyncio.Future[Any]] = {followed, telling}
        (first, *_), _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        first.result()  # of telling there is only an error, such as of a full disk
    finally:
        followed.cancel()
        telling.cancel()
        following.tell()
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


async def _patiently(asked: RackRequest, ask: Callable[[], Awaitable[_Found]]) -> _Found:
    """Return what `ask` finds, once all that it needs is there; raises its last error."""
    now_s = asyncio.get_running_loop().time
    give_up_s, said = now_s() + asked.wait_s, ""
    while True:
        try:
            return await ask()
        except (NoAnswerError, state.NotThereError) as error:
            left_s = give_up_s - now_s()
            if left_s <= 0:
                raise
            if str(error) != said:
                said = str(error)
                asked.waiting(f"{said}; waiting up to {duration_text(round(left_s))}")
        await asyncio.sleep(_POLL_S)


async def _tests_asked_for(
    hosts: Hosts, asked: RackRequest
) -> list[tuple[host.Host, state.ListedDrive]]:
    """Return the drives to be tested, each with its host; raises UsageError for none."""
    listed = None if asked.listed is None else state.load_listed(asked.listed)
    if listed is None and asked.protocol.writes:
        raise errors.UsageError(
            f"{asked.protocol.name}: writes, so name the drives that may be erased with --drives "
            "FILE: heatsoak rack drives -o FILE lists them"
        )

    async def ask() -> list[tuple[host.Host, state.ListedDrive]]:
        found, drives = await hosts.each(host.drives)
        if listed is None and not found:
            raise _no_workers(hosts)
        if hosts.silent:
            asked.waiting(no_answer_from(hosts.silent))
        state.require_hosts(listed or [], found)
        every = [
            state.ListedDrive(host=found[id_].name, on=row.id)
            for id_, rows in drives.items()
            for row in rows
        ]
        if listed is None and not every:
            raise errors.UsageError(
                "no host has a drive of its own: name targets with --drives FILE"
            )
        return state.placed(listed or every, found, drives)

    return await _patiently(asked, ask)


def _new(asked: RackRequest, tests: Sequence[tuple[host.Host, state.ListedDrive]]) -> state.Rack:
    rows = [
        state.Row(
            name=state.name_of(on_host, drive),
            host=on_host.name,
            host_id=on_host.id,
            **drive.model_dump(include={"on", "erase", "labels", "sensors"}),
        )
        for on_host, drive in tests
    ]
    return state.Rack(
        run=uuid4().hex,
        protocol=asked.protocol.name,
        protocol_sha256=_digest(asked.protocol),
        together=asked.together,
        tests=rows,
    )


def _continued(asked: RackRequest) -> state.Rack | None:
    """The run in the output directory, which has to be this one."""
    if not (asked.directory / state.NAME).exists():
        if asked.resume:
            raise errors.UsageError(
                f"--resume: {asked.directory} holds no run of a rack: name one's with -o"
            )
        return None
    rack = state.load_rack(asked.directory)
    same = rack.protocol_sha256 == _digest(asked.protocol) and rack.together == asked.together
    if asked.listed is not None:
        drives = state.load_listed(asked.listed)
        same &= len(drives) == len(rack.tests) and all(
            (one.host or row.host, one.on, one.erase, one.labels, one.sensors)
            == (row.host, row.on, row.erase, row.labels, row.sensors)
            for one, row in zip(drives, rack.tests, strict=False)
        )
    if not same:
        raise errors.UsageError(
            f"{asked.directory}: holds a run with another protocol or other drives: repeat that "
            "command as it was, or name a new directory with -o"
        )
    return rack


def _digest(protocol: Protocol) -> str:
    return hashlib.sha256(protocol.model_dump_json().encode()).hexdigest()


def _keep(rack: state.Rack, directory: Path) -> None:
    write(directory / state.NAME, rack)


def test_of(rack: state.Rack, row: state.Row, protocol: Protocol) -> RackTest:
    """Return what a host is asked to run."""
    labels = [f"conditions.host={row.host}"]
    labels += [f"{key}={label_text(value)}" for key, value in row.labels.items()]
    return RackTest(
        run=rack.run,
        name=row.name,
        on=row.on,
        erase_id=row.erase,
        protocol=apply_settings(protocol, labels),
        waits=rack.together != "none",
        sensors=row.sensors,
    )


class _Following:
    """Follows the tests of a rack, a coroutine for each host."""

    def __init__(self, asked: RackRequest, rack: state.Rack, hosts: Hosts) -> None:
        self._asked = asked
        self._rack = rack
        self._hosts = hosts
        self._lost: set[str] = set()
        self._begin_s: float | None = None
        self._has_changed = True

    async def follow(self, host_id: str) -> None:
        """Start, follow and collect the tests of a host, until all of them are done."""
        rows = [row for row in self._rack.tests if row.host_id == host_id]
        while not all(row.is_collected for row in rows):
            try:
                await self._look(host_id, rows)
                self._lost.discard(host_id)
            except NoAnswerError:
                self._lost.add(host_id)
            except errors.HeatsoakError as error:  # such as a host whose disk is broken
                for row in rows:
                    row.why = row.why if row.is_collected else f"cannot be followed: {error}"
                self._has_changed = True
                return
            self._has_changed = True
            if not all(row.is_collected for row in rows):
                await asyncio.sleep(_POLL_S)

    async def _look(self, host_id: str, rows: Sequence[state.Row]) -> None:
        todo = [row for row in rows if not row.is_collected]
        attempts = {row.name: row.attempt for row in todo}
        found = await self._hosts.call(host_id, host.statuses, self._rack.run, attempts)
        for row in todo:
            row.take(found[row.name])
            if row.state == "absent":
                test = test_of(self._rack, row, self._asked.protocol)
                try:
                    words = (test, row.attempt, self._asked.again)
                    row.take(await self._hosts.call(host_id, host.start, *words))
                except NoAnswerError:
                    raise
                except errors.HeatsoakError as error:
                    _give_up(row, error)
        await self._begin(host_id, rows)
        running = [row.name for row in todo if row.state == "running"]
        if running and self._asked.read is not None:
            self._asked.read(
                await self._hosts.call(host_id, host.readings, self._rack.run, running)
            )
        for row in todo:
            if row.state in ENDS and not row.is_collected:
                await self._collect(host_id, row)

    async def _begin(self, host_id: str, rows: Sequence[state.Row]) -> None:
        """Tell tests to begin once all that begin with them are ready."""
        ready = {row.name: row.attempt for row in rows if row.state == "ready"}
        together = self._rack.tests if self._rack.together == "rack" else rows
        if not ready or any(row.state in ("absent", "starting") for row in together):
            return
        now_s = asyncio.get_running_loop().time()
        if self._begin_s is None:
            self._begin_s = now_s + _LEAD_S
        in_s = max(self._begin_s - now_s, 0.0) if self._rack.together == "rack" else 0.0
        await self._hosts.call(host_id, host.go, self._rack.run, ready, in_s)

    async def _collect(self, host_id: str, row: state.Row) -> None:
        """Fetch what a test has recorded, from where an earlier try has stopped."""
        run, own = self._rack.run, Path(state.plain(row.host)) / row.name
        files = await self._hosts.call(host_id, host.files, run, row.name, row.attempt)
        if not any(PurePosixPath(file.path).name == META for file in files):
            files = []  # killed before there was anything to read
        into = self._asked.directory / own
        partial = into.with_name(f".{into.name}")
        for file in files:
            path = partial / _relative(file.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            with writing.Directory(path.parent) as place, place.append(path.name) as kept:
                while kept.tell() < file.bytes:
                    words = (run, row.name, file.path, kept.tell())
                    block = await self._hosts.call(host_id, host.read, *words)
                    if not block:
                        raise NoAnswerError(f"{path}: has become shorter on its host")
                    kept.write(block)
            with path.open("rb") as kept:
                if hashlib.file_digest(kept, "sha256").hexdigest() != file.sha256:
                    path.unlink()
                    raise NoAnswerError(f"{path}: was damaged on its way")
        if files:
            # the attempt before, which this one continued, may have been collected, or in part
            wanted = {partial / _relative(file.path) for file in files}
            for path in partial.rglob("*"):
                if path.is_file() and path not in wanted:
                    path.unlink()
            shutil.rmtree(into, ignore_errors=True)
            partial.rename(into)
            row.directory = str(own)
        row.is_collected = True

    async def tell_of_changes(self) -> None:
        """Keep the rack, and tell of it, once a second where something has changed."""
        while True:
            await asyncio.sleep(_POLL_S)
            if self._has_changed:
                self.tell()

    def tell(self) -> None:
        """Keep where the rack stands, and tell of it."""
        self._has_changed = False
        _keep(self._rack, self._asked.directory)
        running = sum(row.state == "running" for row in self._rack.tests)
        done = sum(row.is_collected for row in self._rack.tests)
        lost = sorted({row.host for row in self._rack.tests if row.host_id in self._lost})
        words = f"{done} of {len(self._rack.tests)} tests done, {running} running"
        if self._rack.late:
            words += f", {self._rack.late} of them longer than planned"
        if lost:
            words += f"; no answer from {', '.join(lost)}, where tests go on"
        self._asked.tell(self._rack, words)


def _give_up(row: state.Row, error: errors.HeatsoakError) -> None:
    row.state = "refused" if error.exit_code == errors.RefusedError.exit_code else "failed"
    row.why, row.is_collected = str(error), True


def _relative(path: str) -> Path:
    """A path of a host's, which must not lead out of the directory."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts:
        raise errors.ToolError(f"{path}: is no file of a recording")
    return Path(*pure.parts)


def stop_rack(directory: Path, address: str) -> int:
    """Stop the tests of a run that are under way; return how many were."""
    rack = state.load_rack(directory)

    async def stop() -> int:
        async with Hosts(address) as hosts:
            await hosts.find()
            stopped, lost = 0, set()
            for id_ in dict.fromkeys(row.host_id for row in rack.tests if not row.is_collected):
                rows = [row for row in rack.tests if row.host_id == id_ and not row.is_collected]
                try:
                    names = [row.name for row in rows]
                    stopped += await hosts.call(id_, host.stop, rack.run, names)
                except NoAnswerError:
                    lost.add(rows[0].host)
            if lost:
                raise errors.ToolError(
                    f"no answer from {', '.join(sorted(lost))}, where tests go on: repeat this "
                    "when the workers there run again"
                )
            return stopped

    return asyncio.run(stop())


def _no_workers(hosts: Hosts) -> state.NotThereError:
    if hosts.silent:
        return state.NotThereError(f"{no_answer_from(hosts.silent)}, nor does any other host")
    return state.NotThereError(
        "the cluster has no workers: start one on each host with dask worker"
    )


def no_answer_from(names: Sequence[str]) -> str:
    """Return which hosts do not answer, in words."""
    return f"host{'s' * (len(names) > 1)} {', '.join(names)}: no answer"


def drives_of_hosts(address: str) -> DrivesOfHosts:
    """Return the drives of a cluster's hosts; raises NotThereError where none answers."""

    async def ask() -> DrivesOfHosts:
        async with Hosts(address) as hosts:
            found, drives = await hosts.each(host.drives)
            if not found:
                raise _no_workers(hosts)
            return DrivesOfHosts(found, drives, hosts.silent)

    return asyncio.run(ask())


def previews(asked: RackRequest) -> list[state.PlannedTest]:
    """Return what each test would write and how long it takes, or why it cannot be run."""

    async def ask() -> list[state.PlannedTest]:
        async with Hosts(asked.address) as hosts:
            rack = _continued(asked) or _new(asked, await _tests_asked_for(hosts, asked))
            await _patiently(asked, hosts.find)
            found = []
            for row in rack.tests:
                planned = state.PlannedTest(host=row.host, on=row.on, runs=[])
                try:
                    test = test_of(rack, row, asked.protocol)
                    planned.runs = await hosts.call(row.host_id, host.preview, test)
                except errors.HeatsoakError as error:
                    planned.why, planned.exit_code = str(error), error.exit_code
                found.append(planned)
            return found

    return asyncio.run(ask())
