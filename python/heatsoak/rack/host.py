"""What a host of a rack does when it is asked to, and the process of a test (:func:`perform`).

Each function may be called again at any time, and answers as it did before: a caller that lost the
answer asks once more. What is kept on disk is in :mod:`heatsoak.rack.kept`.
"""

import hashlib
import json
import math
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import BaseModel, ConfigDict

import heatsoak
from heatsoak import errors, system, writing
from heatsoak.bench.places import PlannedRow
from heatsoak.bench.recorder import add_moved, nothing_moved
from heatsoak.bench.session import DriveOptions, Session, plan_session
from heatsoak.output import announce, print_err
from heatsoak.rack.kept import (
    Ended,
    Kept,
    RackTest,
    Started,
    StartRequest,
    Status,
    directory_of,
    home,
    write,
)
from heatsoak.recording import Recording, SensorMeta
from heatsoak.recording.columns import Owner, column_of
from heatsoak.recording.meta import JOURNAL
from heatsoak.target import parse_place
from heatsoak.target.device import DriveRow
from heatsoak.target.place import inventory
from heatsoak.tools import find_tool

#: States of a test whose drive need not be tested again: it is, or was to the end.
_TESTED = ("starting", "ready", "running", "finished")
#: There where systemd is the first process.
_SYSTEMD = Path("/run/systemd/system")
_BLOCK = 1 << 20
#: A test's process that did not come is asked for so often.
_MOST_STARTS = 3
#: A reading that is older than the newest by this is no longer of now, and of a load it is over.
_STALE_S, _LOAD_IS_OVER_S = 60.0, 3.0


class Host(BaseModel):
    """A host: the same one if the tests that it keeps are the same.

    Attributes:
        id: of the directory that it keeps tests in.
        name: its own.
    """

    model_config = ConfigDict(frozen=True)

    id: str
    name: str
    version: str


class HostDrive(DriveRow):
    """A row of ``rack drives``; `host` is a host's name."""

    host: str


class CollectedFile(BaseModel):
    """A file of a recording; `path` is relative to it."""

    model_config = ConfigDict(frozen=True)

    path: str
    bytes: int
    sha256: str


def describe() -> Host:
    """Return which host this is.

    Raises UsageError on a system that no drive is loaded on, ToolError where it cannot keep tests.
    """
    system.require_linux("a host of a rack")
    path = home() / "id"
    with errors.saying(f"{path}: cannot be written"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (
            writing.Directory(path.parent) as place,
            suppress(FileExistsError),  # of two that make it at once, one does
            place.writing(path.name, replace=False) as file,
        ):
            file.write(uuid4().hex.encode())
        id_ = path.read_text("ascii")
    return Host(id=id_, name=socket.gethostname(), version=heatsoak.__version__)


def drives() -> list[DriveRow]:
    """Return this host's own drives, as ``heatsoak drives`` lists them."""
    return [row for row in inventory() if not row.simulated]


def preview(test: RackTest) -> list[PlannedRow]:
    """Return what a test would write and how long it takes; nothing is touched."""
    return planned(test).preview()


def start(test: RackTest, attempt: int, again: bool = False) -> Status:
    """Start a test's process unless that attempt was started before; return where it stands.

    Raises RefusedError for a drive that another run has tested alike, or does, unless `again`.
    """
    kept = Kept(directory_of(test.run, test.name))
    if not again and not any(kept.directory.glob("started-*.json")):
        _refuse_tested(test)
    kept.keep(test)
    with kept.alone():
        status = kept.status(attempt)
        if status.state != "absent":
            return status
        before = kept.read(StartRequest, "asked", attempt)
        times = 1 if before is None else before.times + 1
        write(kept.path("asked", attempt), StartRequest(at_unix_s=time.time(), times=times))
        unit = f"heatsoak-{test.run}-{test.name}-{attempt}"
        is_spawned = times <= _MOST_STARTS and _spawn(kept, unit, attempt)
        # one that was asked for before may live: systemd refuses another of its name
        if not is_spawned and (before is None or times > _MOST_STARTS):
            why = f"{unit}: cannot be started, see {_output_of(kept, attempt)}"
            kept.end(attempt, Ended(exit_code=errors.ToolError.exit_code, why=why))
    return kept.status(attempt)


def _refuse_tested(test: RackTest) -> None:
    for path in sorted(home().glob(f"*/{test.name}/test.json")):
        kept = Kept(path.parent)
        other, state = kept.test(), kept.status(kept.newest_attempt()).state
        if other.run != test.run and other.protocol == test.protocol and state in _TESTED:
            raise errors.RefusedError(
                f"{test.on}: {state} in run {other.run} with the same protocol and labels: name "
                "that run's directory with -o, or add --again to test it again"
            )


def statuses(run: str, attempts: dict[str, int]) -> dict[str, Status]:
    """Return where attempts of a run's tests stand, by the tests' names."""
    return {
        name: Kept(directory_of(run, name)).status(attempt) for name, attempt in attempts.items()
    }


class LiveReading(BaseModel):
    """What a running test's recording says now.

    Attributes:
        values: the newest by column; of a load, only while there is one.
        moved: bytes and I/Os so far, as a watch counts them.
    """

    values: dict[str, float]
    moved: dict[str, float]
    sensors: list[SensorMeta]
    drive: dict[str, Any]


@dataclass
class _Journal:
    """How far a recording's journal was read, and what it came to.

    Attributes:
        read_bytes: how much of it was.
        newest: the newest value of each column, with its time.
    """

    read_bytes: int = 0
    newest: dict[str, tuple[float, float]] = field(default_factory=dict)
    moved: dict[str, float] = field(default_factory=nothing_moved)

    def read(self, path: Path) -> None:
        """Read what was written since."""
        with path.open("rb") as file:
            file.seek(self.read_bytes)
            for line in file:
                if not line.endswith(b"\n"):
                    break  # it is being written
                self.read_bytes += len(line)
                self._take(json.loads(line))

    def _take(self, row: dict[str, Any]) -> None:
        numbers = {key: value for key, value in row.items() if isinstance(value, int | float)}
        t_s = numbers.get("t_s", 0.0)
        self.newest |= {key: (t_s, value) for key, value in numbers.items()}
        add_moved(self.moved, numbers)

    def values(self) -> dict[str, float]:
        """Return the newest values; what is of a load, or long past, is left out."""
        last_s = max((t_s for t_s, _ in self.newest.values()), default=0.0)
        loaded_s = self.newest.get("interval_s", (-math.inf, 0.0))[0]
        is_loaded = last_s - loaded_s <= _LOAD_IS_OVER_S
        return {
            key: value
            for key, (t_s, value) in self.newest.items()
            if last_s - t_s <= _STALE_S
            and (is_loaded or column_of(key).owner not in (Owner.LOAD, Owner.SAMPLE))
        }


_journals: dict[Path, _Journal] = {}


def readings(run: str, names: Sequence[str]) -> dict[str, LiveReading]:
    """Return what running tests measure now, by their names; nothing of others."""
    found = {}
    for name in names:
        directory = Kept(directory_of(run, name)).recording
        path = directory / JOURNAL
        try:
            meta = Recording.open(directory).meta
            known = _journals.setdefault(path, _Journal())
            if path.stat().st_size < known.read_bytes:  # another attempt began it anew
                known = _journals[path] = _Journal()
            known.read(path)
        except (OSError, ValueError, errors.UsageError):
            _journals.pop(path, None)
            continue  # has not begun, has just ended, or has a recording for each cell
        found[name] = LiveReading(
            values=known.values(), moved=known.moved, sensors=meta.sensors, drive=meta.drive
        )
    return found


def go(run: str, attempts: dict[str, int], in_s: float) -> None:
    """Tell tests that are ready to begin, all of them at once, in so many seconds."""
    at_s = time.monotonic() + in_s
    for name, attempt in attempts.items():
        kept = Kept(directory_of(run, name))
        with kept.alone():
            if kept.path("ready", attempt).exists() and not kept.path("go", attempt).exists():
                write(kept.path("go", attempt), Go(at_s=at_s))


def stop(run: str, names: Sequence[str]) -> int:
    """Stop tests as Ctrl-C would; return how many were running."""
    found = [Kept(directory_of(run, name)).process() for name in names]
    processes = [number for number in found if number is not None]
    for number in processes:
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(number, signal.SIGTERM)
    return len(processes)


def files(run: str, name: str, attempt: int) -> list[CollectedFile]:
    """Return the files of what a test has recorded; raises UsageError while it does."""
    kept = Kept(directory_of(run, name))
    if not kept.status(attempt).has_ended:
        raise errors.UsageError(f"{name}: has not ended")
    found = []
    for path in sorted(kept.recording.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            relative = str(path.relative_to(kept.recording))
            found.append(CollectedFile(path=relative, bytes=path.stat().st_size, sha256=digest))
    return found


def read(run: str, name: str, path: str, offset: int) -> bytes:
    """Return a block of a file that :func:`files` named, from `offset` on."""
    recording = Kept(directory_of(run, name)).recording.resolve()
    wanted = (recording / path).resolve()
    if not wanted.is_relative_to(recording):
        raise errors.UsageError(f"{path}: is not part of the recording")
    with wanted.open("rb") as file:
        file.seek(offset)
        return file.read(_BLOCK)


def _output_of(kept: Kept, attempt: int) -> Path:
    return kept.directory / f"output-{attempt}.txt"


def _spawn(kept: Kept, unit: str, attempt: int) -> bool:
    """Start a process that outlives this one, with its output in a file; False if that failed."""
    test = [sys.executable, "-m", "heatsoak", "rack", "perform", str(kept.directory)]
    test.append(str(attempt))
    output = _output_of(kept, attempt)
    if _SYSTEMD.is_dir() and os.geteuid() == 0:
        # not part of the worker's own unit, with which it would be stopped
        command = [*transient_unit(unit, output), *test]
    else:
        command = [find_tool("setsid", "util-linux"), "--fork", *test]
    with writing.Directory(kept.directory) as place, place.append(output.name) as file:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=kept.directory,
            start_new_session=True,
            check=False,
        )
    return done.returncode == 0


def transient_unit(unit: str, output: Path) -> list[str]:
    """Return the command that runs another one as a unit of systemd's."""
    known = [f"--setenv={name}" for name in os.environ if name.startswith(("HEATSOAK_", "PYTHON"))]
    return [
        "systemd-run",
        "--quiet",
        "--collect",
        f"--unit={unit}",
        "--setenv=PATH",
        *known,
        f"--property=StandardOutput=append:{output}",
        f"--property=StandardError=append:{output}",
    ]


#: A test that waits longer for the others gives its drive free.
_WAITS_S = 3600.0
_LOOK_S = 0.05


class Go(BaseModel):
    """When a test begins, by its host's clock of this boot, in s."""

    at_s: float


def perform(directory: Path, attempt: int) -> int:
    """Run an attempt of the test in `directory` unless that was started before.

    Returns the exit code. How the test ended is written to the directory before this returns.
    """
    kept = Kept(directory)
    with kept.locked() as is_ours:
        if not is_ours or kept.was_started(attempt):
            return 0  # another process has done it, or does
        for what in ("asked", "ready", "go"):  # the last two of one that was killed while it waited
            kept.path(what, attempt).unlink(missing_ok=True)
        try:
            with kept.room_for_the_end():
                ended = _run(kept, attempt)
        except errors.HeatsoakError as error:
            ended = Ended(exit_code=error.exit_code, why=str(error))
        write(kept.path("ended", attempt), ended)
    if ended.why is not None:
        announce(ended.why)
    return ended.exit_code


def _run(kept: Kept, attempt: int) -> Ended:
    try:
        test = kept.test()
        session = planned(test)
        planned_s = sum(row.duration_s for row in session.preview())
        session.record(
            kept.recording,
            resume=attempt > 1,
            when_held=lambda: _begin(kept, attempt, test.waits, planned_s),
        )
    except errors.HeatsoakError as error:
        return Ended(exit_code=error.exit_code, why=str(error))
    except (KeyboardInterrupt, Exception) as error:
        if errors.is_stop(error):
            return Ended(exit_code=errors.RunInterrupted.exit_code, why="stopped before it began")
        for line in traceback.format_exception(error):
            print_err(line.rstrip())
        return Ended(
            exit_code=errors.HeatsoakError.exit_code,
            why=f"internal error: {type(error).__name__}: {error}",
        )
    return Ended(exit_code=0)


def planned(test: RackTest) -> Session:
    """Plan a test's session on this host; raises what :func:`plan_session` does."""
    options = DriveOptions(sensors=None if test.sensors is None else Path(test.sensors))
    kept = Kept(directory_of(test.run, test.name))
    place = replace(parse_place(test.on), resumes=kept.recording)
    return plan_session(place, lambda: test.protocol, erase_id=test.erase_id, options=options)


def _begin(kept: Kept, attempt: int, waits: bool, planned_s: float) -> None:
    """Wait for the others, then write that the test begins."""
    if waits:
        write(kept.path("ready", attempt), Go(at_s=time.monotonic()))
        give_up_s = time.monotonic() + _WAITS_S
        while (go := kept.read(Go, "go", attempt)) is None:
            if time.monotonic() > give_up_s:
                raise errors.RunInterrupted("was never told to begin")
            time.sleep(_LOOK_S)
        time.sleep(max(go.at_s - time.monotonic(), 0.0))
    started = Started(at_unix_s=time.time(), planned_s=planned_s)
    write(kept.path("started", attempt), started)
