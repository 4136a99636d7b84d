"""What a host keeps of a test: files that outlast workers, schedulers and power cuts.

A test has a directory of its own, named after its run and itself. An *attempt* is one start of it;
a second one is only made when somebody asks for it. For attempt N there are

- `asked-N.json`: its process was asked for and has not come yet;
- `ready-N.json`: the drive is locked, and the test waits for those that it begins with;
- `go-N.json`: when it begins;
- `started-N.json`: it has begun, and so must not be started again. Synced to disk before anything
  is written to the drive;
- `ended-N.json`: how it ended.

`lock` is locked by the test's process as long as it lives, and has its number, so a started test
without an end and without a process was killed. `reserve` is room on the disk for the end.
`recording` is the recording.
"""

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from heatsoak import errors, writing
from heatsoak.protocol import Protocol
from heatsoak.target.undo import lock, state_directory
from heatsoak.toml import explain

#: Environment variable for another directory to keep tests in.
HOME_VARIABLE = "HEATSOAK_RACK"
#: A busy host takes so long to start Python.
_COMES_S = 120.0
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,120}")

#: ``absent``: never started here. ``starting``: was asked for, and has not locked its drive yet.
#: ``ready``: has, and waits for others. ``cut``: its process was killed, or its host went down.
State = Literal[
    "absent", "starting", "ready", "running", "finished", "failed", "refused", "interrupted", "cut"
]
#: What tells that there was an attempt; its output comes later, where systemd starts it.
_ATTEMPTED = ("asked", "started", "ended")
#: The share of a test that is done where its planned time is over and it still runs.
LATE = 0.99
#: States that no test leaves without another attempt.
ENDS = ("finished", "failed", "refused", "interrupted", "cut")


class _Kept(BaseModel):
    model_config = ConfigDict(frozen=True)


class RackTest(_Kept):
    """A protocol on a drive of a host.

    Attributes:
        run: which run of a rack it is part of.
        name: unique in the run; a file name.
        on: a target as for ``run --on``, or a drive's serial.
        waits: whether it begins only when it is told to.
        sensors: where an export's drive has its sensors, as for ``run --sensors``.
    """

    run: str
    name: str
    on: str
    erase_id: str | None
    protocol: Protocol
    waits: bool
    sensors: str | None = None


class StartRequest(_Kept):
    """That a test's process was asked for and has not come: when last, and how often."""

    at_unix_s: float
    times: int

    @property
    def may_come(self) -> bool:
        """Whether it may still be starting."""
        return 0 <= time.time() - self.at_unix_s < _COMES_S


class Started(_Kept):
    """That a test has begun: when, and how long it takes at most, in s."""

    at_unix_s: float
    planned_s: float


class Ended(_Kept):
    """How a test ended: its command's exit code, and why if that is not 0."""

    exit_code: int
    why: str | None = None

    @property
    def state(self) -> State:
        """The state that it is in since."""
        ends: dict[int, State] = {
            0: "finished",
            errors.RefusedError.exit_code: "refused",
            errors.RunInterrupted.exit_code: "interrupted",
        }
        return ends.get(self.exit_code, "failed")


class Status(_Kept):
    """Where a test stands.

    Attributes:
        progress: share of the planned time, 0 to 1.
    """

    state: State = "absent"
    why: str | None = None
    progress: float = 0.0

    @property
    def has_ended(self) -> bool:
        """Whether only another attempt can change it."""
        return self.state in ENDS


class HostTest(Status):
    """A test of a host: what ``rack host`` prints of it.

    Attributes:
        recording: where the host keeps what is recorded.
        directory: where it was collected to; None if it was not.
    """

    schema_version: Literal[1] = 1
    run: str
    name: str
    on: str
    recording: str
    directory: str | None = None


_Model = TypeVar("_Model", bound=BaseModel)


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


def kept_tests(run: str) -> list["Kept"]:
    """Return the tests of a run that this host keeps, by name."""
    directory = directory_of(run, "test").parent
    return [Kept(path.parent) for path in sorted(directory.glob("*/test.json"))]


class Kept:
    """A test's directory; see this module."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.recording = directory / "recording"

    def path(self, what: str, attempt: int) -> Path:
        """Return the file for `what` of an attempt."""
        return self.directory / f"{what}-{attempt}.json"

    def test(self) -> RackTest:
        """Return the test; raises ToolError if it cannot be read."""
        found = _read(RackTest, self.directory / "test.json")
        if found is None:
            raise errors.ToolError(f"{self.directory}: holds no test")
        return found

    def keep(self, test: RackTest) -> None:
        """Keep what is asked for; raises UsageError if that name is another test's."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise errors.ToolError(
                f"{self.directory}: cannot be made: {error.strerror}: set {HOME_VARIABLE} to a "
                "directory that can be written"
            ) from error
        with self.alone():
            before = _read(RackTest, self.directory / "test.json")
            if before is None:
                write(self.directory / "test.json", test)
            elif before != test:
                raise errors.UsageError(f"{self.directory}: holds another test of that name")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Wait until nobody else looks what is here before writing it."""
        with writing.Directory(self.directory) as place, place.held(wait=True):
            yield

    def read(self, model: type[_Model], what: str, attempt: int) -> _Model | None:
        """Return what is written of `what`; None if nothing is."""
        return _read(model, self.path(what, attempt))

    @contextmanager
    def locked(self) -> Iterator[bool]:
        """Hold the lock of a test's process; yields False if another has it."""
        with writing.Directory(self.directory) as place, place.append("lock") as file:
            try:
                lock(file.fileno())
            except BlockingIOError:
                yield False
                return
            file.truncate(0)
            file.write(str(os.getpid()).encode())
            yield True

    def process(self) -> int | None:
        """Return the number of this test's process; None where none lives."""
        import fcntl  # not on Windows, where no tests are kept

        with suppress(FileNotFoundError), (self.directory / "lock").open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return int(file.read() or 0) or None
        return None

    def end(self, attempt: int, ended: Ended) -> None:
        """Write how an attempt ended whose process never came; one that comes then does nothing."""
        with self.locked() as is_ours:
            if is_ours and not self.was_started(attempt):
                write(self.path("ended", attempt), ended)

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

    def newest_attempt(self) -> int:
        """Return the number of the last attempt; 1 where there is none yet."""
        found = (path.stem.partition("-") for path in self.directory.glob("*-*.json"))
        return max(
            (int(n) for what, _, n in found if what in _ATTEMPTED and n.isdigit()), default=1
        )

    def was_started(self, attempt: int) -> bool:
        """Whether an attempt must not be started, since it was before."""
        return any(self.path(what, attempt).exists() for what in ("started", "ended"))

    def status(self, attempt: int) -> Status:
        """Return where an attempt stands."""
        # in this order: what begins or ends in between is not taken for one that was killed
        started = self.read(Started, "started", attempt)
        lives = self.process() is not None
        ended = self.read(Ended, "ended", attempt)
        if ended is not None:
            return Status(state=ended.state, why=ended.why, progress=1.0)
        if started is None:
            if lives and self.path("ready", attempt).exists():
                return Status(state="ready")
            asked = self.read(StartRequest, "asked", attempt)
            may_come = asked is not None and asked.may_come
            return Status(state="starting" if lives or may_come else "absent")
        passed_s = time.time() - started.at_unix_s
        progress = min(max(passed_s / started.planned_s, 0.0), LATE) if started.planned_s else 0.0
        if not lives:
            why = "its process was killed, or its host went down"
            return Status(state="cut", why=why, progress=progress)
        return Status(state="running", progress=progress)


def write(path: Path, model: BaseModel) -> None:
    """Write a model so that it is there, whole, whatever happens from now on."""
    with writing.reporting_write_errors(path):
        writing.replace_file(path, model.model_dump_json().encode())


def _read(model: type[_Model], path: Path) -> _Model | None:
    try:
        return model.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as error:
        raise errors.ToolError(f"{path}: is damaged: {explain(error, model)}") from error
    except OSError as error:
        raise errors.ToolError(f"{path}: cannot be read: {error.strerror}") from error
