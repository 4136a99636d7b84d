"""What a host keeps of a test: one file that says all of it, and outlasts power cuts.

A test has a directory of its own, named after its run and itself. `state.json` there says what is
tested and of each *attempt*, a start of it, how far it came; a second one is only made when
somebody asks for it. It is only written by its host, through :meth:`Kept.changing`, and synced
before anything that it allows is done: what is not in it has not happened.

`lock` is locked as long as the test's process lives, from before it is made, and has its number:
a test that began and has neither end nor process was killed. `reserve` is room on the disk for the
end. `recording` is the recording.
"""

import hashlib
import os
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from heatsoak import errors, writing
from heatsoak.protocol import Protocol
from heatsoak.recording import Recording
from heatsoak.recording.meta import META
from heatsoak.target.undo import lock, state_directory
from heatsoak.toml import explain

#: Environment variable for another directory to keep tests in.
HOME_VARIABLE = "HEATSOAK_RACK"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,120}")
_STATE = "state.json"
#: In a run's directory: no test of it begins, unless it is resumed.
_STOPPED = "stopped"
#: A process that died before its test began is made anew, so often in all.
MOST_STARTS = 3

#: ``absent``: never started here. ``starting``: its process has not locked its drive yet.
#: ``ready``: has, and waits for others. ``cut``: its process was killed, or its host went down.
State = Literal[
    "absent", "starting", "ready", "running", "finished", "failed", "refused", "interrupted", "cut"
]
#: The share of a test that is done where its planned time is over and it still runs.
LATE = 0.99
#: States that no test leaves without another attempt.
ENDS = ("finished", "failed", "refused", "interrupted", "cut")


class RackTest(BaseModel):
    """A protocol on a drive of a host, and what is asked of it.

    Attributes:
        run: which run of a rack it is part of.
        name: unique in the run; a file name.
        on: a target as for ``run --on``, or a drive's serial.
        sensors: where an export's drive has its sensors, as for ``run --sensors``.
        beside: tests of this host, by name, that it begins with, all at the same moment.
        waits: whether it begins only when it is told to.
        attempt: which start of it is asked for.
        again: whether it is started even if another run tests, or has tested, its drive alike.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    name: str
    on: str
    erase_id: str | None
    protocol: Protocol
    sensors: str | None = None
    beside: tuple[str, ...] = ()
    waits: bool = False
    attempt: int = 1
    again: bool = False

    def is_same(self, other: "RackTest") -> bool:
        """Whether both are one test, whatever data may be lost and which start is meant."""
        asked = {"erase_id", "attempt", "again"}
        return self.model_dump(exclude=asked) == other.model_dump(exclude=asked)


class Ended(BaseModel):
    """How a test ended: its command's exit code, and why if that is not 0.

    Attributes:
        verdict: the judge's on its last step.
    """

    exit_code: int
    why: str | None = None
    verdict: str | None = None

    @property
    def state(self) -> State:
        """The state that it is in since."""
        ends: dict[int, State] = {
            0: "finished",
            errors.RefusedError.exit_code: "refused",
            errors.RunInterrupted.exit_code: "interrupted",
        }
        return ends.get(self.exit_code, "failed")


class Attempt(BaseModel):
    """One start of a test; None is what has not happened.

    Attributes:
        asked: how often a process was made for it.
        ready_at_s: since when it holds its drive and waits, by its host's clock of this boot.
        go_at_s: when it was told to begin, by the same clock.
        began_unix_s, planned_s: when it began, and how long it takes at most.
        is_stopped: whether it was told to stop.
        ended: how it ended.
    """

    asked: int = 0
    ready_at_s: float | None = None
    go_at_s: float | None = None
    began_unix_s: float | None = None
    planned_s: float = 0.0
    is_stopped: bool = False
    ended: Ended | None = None

    def where(self, *, lives: bool) -> tuple[State, str | None, float]:
        """Return its state, why it is in it, and its progress; `lives` says of its process."""
        if self.ended is not None:
            return self.ended.state, self.ended.why, 1.0
        if self.began_unix_s is None:
            if lives:
                return ("starting" if self.ready_at_s is None else "ready"), None, 0.0
            if self.is_stopped:
                return "interrupted", "stopped before it began: --resume starts it", 1.0
            if self.asked >= MOST_STARTS:
                why = f"died {self.asked} times before it began: see output.txt in its directory"
                return "failed", why, 1.0
            return "absent", None, 0.0
        passed_s = time.time() - self.began_unix_s
        progress = min(max(passed_s / self.planned_s, 0.0), LATE) if self.planned_s else 0.0
        if lives:
            return "running", None, progress
        why = "its process was killed, or its host went down: --resume resumes it"
        return "cut", why, progress


class TestState(BaseModel):
    """`state.json`: a test and its attempts, the newest last."""

    schema_version: Literal[1] = 1
    test: RackTest
    attempts: list[Attempt] = Field(default_factory=list)

    def attempt(self, number: int) -> Attempt:
        """Return an attempt by its number, from 1 on; those up to it are made if need be."""
        self.attempts += [Attempt() for _ in range(number - len(self.attempts))]
        return self.attempts[number - 1]

    @property
    def newest(self) -> Attempt:
        """The last attempt."""
        return self.attempt(max(len(self.attempts), 1))


class Status(BaseModel):
    """Where a test stands.

    Attributes:
        attempt: which start of it that is.
        progress: share of the planned time, 0 to 1.
    """

    state: State = "absent"
    why: str | None = None
    attempt: int = 1
    progress: float = 0.0

    @property
    def has_ended(self) -> bool:
        """Whether only another attempt can change it."""
        return self.state in ENDS

    @property
    def can_be_resumed(self) -> bool:
        """Whether another attempt may bring it to its end."""
        return self.has_ended and self.state != "finished"

    @property
    def exit_code(self) -> int:
        """As commands end whose test stands there."""
        if self.state == "refused":
            return errors.RefusedError.exit_code
        return errors.HeatsoakError.exit_code if self.can_be_resumed else 0


def exit_code_of(tests: Sequence[Status]) -> int:
    """Return the exit code of the worst of tests: one that failed, then one that was refused."""
    codes = {one.exit_code for one in tests}
    order = (errors.HeatsoakError.exit_code, errors.RefusedError.exit_code)
    return next((code for code in order if code in codes), 0)


class HostTest(Status):
    """A test of a host: what ``rack host`` prints of it.

    Attributes:
        recording: where the host keeps what is recorded.
        directory: where it was collected to; None if it was not.
    """

    run: str
    name: str
    on: str
    recording: str
    directory: str | None = None


def home() -> Path:
    """Return the directory that this host keeps tests in."""
    chosen = os.environ.get(HOME_VARIABLE)
    return Path(chosen) if chosen else state_directory() / "rack"


def directory_of(run: str, name: str) -> Path:
    """Return a test's directory; raises UsageError for names that are no file names."""
    for text in (run, name):
        if not _NAME.fullmatch(text):
            raise errors.UsageError(f"{text!r}: cannot be the name of a test's directory")
    return home() / run / name


def kept_tests(run: str = "*", name: str = "*") -> list["Kept"]:
    """Return the tests of a run that this host keeps, or of all runs, by name."""
    directory_of("any" if run == "*" else run, "any" if name == "*" else name)
    return [Kept(path.parent) for path in sorted(home().glob(f"{run}/{name}/{_STATE}"))]


def name_of(on: str) -> str:
    """Return a name for a drive's test, a file name that no other of its host has."""
    return f"{plain(on)}-{hashlib.sha256(on.encode()).hexdigest()[:6]}"


def plain(text: str) -> str:
    """Return what can be a file's name of a text."""
    return re.sub(r"[^A-Za-z0-9]+", "-", text)[-60:].strip("-") or "unnamed"


class Kept:
    """A test's directory; see this module."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.recording = directory / "recording"

    @classmethod
    def of(cls, test: RackTest) -> "Kept":
        """Return a test's; raises UsageError if its names are no file names."""
        return cls(directory_of(test.run, test.name))

    def read(self) -> TestState | None:
        """Return what is kept; None if nothing is. Raises ToolError if it cannot be read."""
        path = self.directory / _STATE
        try:
            return TestState.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            if (self.directory / "test.json").exists():
                raise errors.UsageError(
                    f"{self.directory}: an older heatsoak started this test: finish it with that"
                ) from None
            return None
        except ValidationError as error:
            raise errors.ToolError(f"{path}: is damaged: {explain(error, TestState)}") from error
        except OSError as error:
            raise errors.ToolError(f"{path}: cannot be read: {error.strerror}") from error

    @contextmanager
    def changing(self, test: RackTest | None = None) -> Iterator[TestState]:
        """Give what is kept, and keep what became of it; nobody else changes it meanwhile.

        What is not kept yet begins with `test`. Raises UsageError if another of that name is.
        """
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.ToolError(
                f"{self.directory}: cannot be made: {error.strerror}: set {HOME_VARIABLE} to a "
                "directory that can be written"
            ) from error
        with (
            writing.reporting_write_errors(self.directory / _STATE),
            writing.Directory(self.directory) as place,
            place.held(wait=True),
        ):
            state = self.read()
            before = None if state is None else state.model_dump_json()
            if test is None and state is None:
                raise errors.ToolError(f"{self.directory}: holds no test")
            if test is not None:
                state = state or TestState(test=test)
                if not state.test.is_same(test):
                    raise errors.UsageError(f"{self.directory}: holds another test of that name")
                state.test = test  # the word for data that may be lost may be another
            assert state is not None
            yield state
            if (now := state.model_dump_json()) != before:
                # there, whole, whatever happens from now on
                writing.replace_file(self.directory / _STATE, now.encode())

    @contextmanager
    def locked(self) -> Iterator[int | None]:
        """Hold the lock of a test's process; yields its file, or None if another has it.

        A process that inherits the file holds the lock until it ends.
        """
        with writing.Directory(self.directory) as place, place.append("lock") as file:
            try:
                lock(file.fileno())
            except BlockingIOError:
                yield None
                return
            file.truncate(0)
            yield file.fileno()

    def process(self) -> int | None:
        """Return the number of this test's process, 0 if it is being made, None where none is."""
        import fcntl  # not on Windows, where no tests are kept

        with suppress(FileNotFoundError), (self.directory / "lock").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or 0)
        return None

    @contextmanager
    def room_for_the_end(self) -> Iterator[None]:
        """Keep some of the disk free, which may be full when the test ends."""
        with writing.Directory(self.directory) as place:
            with writing.reporting_write_errors(self.directory):
                place.reserve("reserve")
            try:
                yield
            finally:
                place.remove("reserve")

    @property
    def is_run_stopped(self) -> bool:
        """Whether its run was stopped here."""
        return (self.directory.parent / _STOPPED).exists()

    def recorded(self) -> list[Path]:
        """Return where its recordings are: one, or of a matrix one for each cell."""
        return sorted(path.parent for path in self.recording.rglob(META))

    @property
    def is_finished(self) -> bool:
        """Whether all that it has recorded is finished, whatever came after that."""
        found = [Recording.open(path).meta.status for path in self.recorded()]
        return bool(found) and set(found) == {"finished"}

    def status(self) -> Status:
        """Return where its newest attempt stands."""
        state = self.read()
        lives = self.process() is not None
        if state is None or not state.attempts:
            return Status()
        number, newest = len(state.attempts), state.newest
        if not lives and (now := self.read()) is not None:
            newest = now.attempts[number - 1]  # which may have ended in between
        standing, why, progress = newest.where(lives=lives)
        return Status(state=standing, why=why, attempt=number, progress=progress)

    def told(self, directory: Path | None = None) -> HostTest:
        """Return it with where it stands; `directory` is where it was collected to."""
        state = self.read()
        assert state is not None
        own = state.test.model_dump(include={"run", "name", "on"})
        own |= {"recording": str(self.recording)} | self.status().model_dump()
        return HostTest(**own, directory=None if directory is None else str(directory))


def stop_run(run: str) -> None:
    """Write that no test of a run begins here any more; raises ToolError where that cannot be."""
    directory = directory_of(run, "any").parent
    with writing.reporting_write_errors(directory):
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        writing.replace_file(directory / _STOPPED, b"")
