"""What a host of a rack does when it is asked to, and the process of a test (:func:`perform`).

Each function may be called again at any time, and answers as it did before: a caller that lost the
answer asks once more. What is kept on disk is in :mod:`heatsoak.rack.kept`.
"""

import os
import signal
import subprocess
import sys
import tarfile
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Literal

from pydantic import BaseModel, Field

import heatsoak
from heatsoak import errors, writing
from heatsoak.analysis import analyze
from heatsoak.bench.places import PlannedRow
from heatsoak.bench.session import DriveOptions, Session, plan_session
from heatsoak.output import announce, print_err
from heatsoak.rack.kept import (
    Attempt,
    Ended,
    HostTest,
    Kept,
    RackTest,
    Status,
    directory_of,
    kept_tests,
    plain,
    stop_run,
)
from heatsoak.recording import Recording
from heatsoak.target import parse_place
from heatsoak.tools import find_tool

#: States of a test whose drive need not be tested again: it is, or was to the end.
_TESTED = ("starting", "ready", "running", "finished")
#: There where systemd is the first process.
_SYSTEMD = Path("/run/systemd/system")
#: A test's process that did not come is asked for so often.
_MOST_STARTS = 3
#: A test that waits longer for the others gives its drive free.
_WAITS_S = 3600.0
#: How often it looks, and how long after the last is ready all of a host begin.
_LOOK_S, _LEAD_S = 0.05, 0.5
_STOPPED_BEFORE = "stopped before it began"


class HostReport(BaseModel):
    """What a host says of its tests of a run, or did not do; ``rack host`` prints it.

    Attributes:
        host: how it is called.
        stopped: how many tests were told to stop.
    """

    schema_version: Literal[2] = 2
    host: str
    version: str = Field(default_factory=lambda: heatsoak.__version__)
    tests: list[HostTest]
    stopped: int = 0

    @property
    def exit_code(self) -> int:
        """As the worst of them: failed, then refused."""
        codes = {one.exit_code for one in self.tests}
        order = (errors.HeatsoakError.exit_code, errors.RefusedError.exit_code, 0)
        return next((code for code in order if code in codes), 0)


def preview(test: RackTest) -> list[PlannedRow]:
    """Return what a test would write and how long it takes; nothing is touched."""
    return planned(test).preview()


def start(tests: Sequence[RackTest], attempts: Sequence[int], *, again: bool = False) -> None:
    """Start the processes of tests, except of attempts that were started before.

    A drive that another run has tested alike, or does, is refused unless `again`. Why one did not
    start is kept with it, as of one that ended.
    """
    for test, attempt in zip(tests, attempts, strict=True):
        kept = Kept.of(test)
        with kept.changing(test) as state:
            comes = state.newest.ended is None and state.newest.may_come
            if kept.process() is not None or comes:
                continue  # of an attempt before, it comes to its end first
            one = state.attempt(attempt)
            if one.has_begun:
                continue
            is_new = not any(each.began_unix_s is not None for each in state.attempts)
            refused = _tested_elsewhere(test) if is_new and not again else None
            if refused is not None:
                one.ended = Ended(exit_code=errors.RefusedError.exit_code, why=refused)
            elif attempt == 1 and kept.is_run_stopped:
                why = f"run {test.run} was stopped: --resume starts it"
                one.ended = Ended(exit_code=errors.RunInterrupted.exit_code, why=why)
            else:
                _ask_for(kept, attempt, one)


def _ask_for(kept: Kept, attempt: int, one: Attempt) -> None:
    """Make the process of an attempt; one that cannot be made, or never comes, has failed."""
    one.asked += 1
    one.asked_unix_s = time.time()
    unit = f"heatsoak-{kept.directory.parent.name}-{kept.directory.name}-{attempt}"
    is_spawned = one.asked <= _MOST_STARTS and _spawn(kept, unit, attempt)
    # one that was asked for before may live: systemd refuses another of its name
    if not is_spawned and (one.asked == 1 or one.asked > _MOST_STARTS):
        why = f"{unit}: cannot be started, see {_output_of(kept, attempt)}"
        one.ended = Ended(exit_code=errors.ToolError.exit_code, why=why)


def _tested_elsewhere(test: RackTest) -> str | None:
    """Why a drive need not be tested again: in which run it is, or was."""
    for kept in kept_tests(name=test.name):
        other = kept.read()
        assert other is not None
        now = kept.status().state
        alike = (other.test.on, other.test.protocol) == (test.on, test.protocol)
        if other.test.run != test.run and alike and now in _TESTED:
            return (
                f"{test.on}: {now} in run {other.test.run} with the same protocol and labels: name "
                "that run's directory with -o, or add --again to test it again"
            )
    return None


def go(run: str, in_s: float) -> None:
    """Tell the tests of a run that wait to begin, all of them at once, in so many seconds."""
    at_s = time.monotonic() + in_s
    for kept in kept_tests(run):
        with kept.changing() as state:
            one = state.newest
            if one.ready_at_s is not None and one.go_at_s is None:
                one.go_at_s = at_s


def stop(run: str) -> int:
    """Stop the tests of a run as Ctrl-C would, and let none begin; return how many were."""
    stop_run(run)
    count = 0
    for kept in kept_tests(run):
        with kept.changing() as state:
            one = state.newest
            number = kept.process()
            if one.ended is not None or (number is None and one.began_unix_s is not None):
                continue
            one.is_stopped = True
            count += 1
            if number is None:
                code = errors.RunInterrupted.exit_code
                one.ended = Ended(exit_code=code, why=_STOPPED_BEFORE)
                continue
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(number, signal.SIGTERM)
    return count


def pack(tests: Sequence[Kept], host: str, file: IO[bytes]) -> None:
    """Write what tests have recorded, of those that ended, as a tar: HOST/TEST/..."""
    with tarfile.open(fileobj=file, mode="w|") as tar:
        for kept in tests:
            if kept.status().has_ended and kept.recorded():
                tar.add(kept.recording, f"{plain(host)}/{kept.directory.name}")


def _output_of(kept: Kept, attempt: int) -> Path:
    return kept.directory / f"output-{attempt}.txt"


def _spawn(kept: Kept, unit: str, attempt: int) -> bool:
    """Start a process that outlives this one, with its output in a file; False if that failed."""
    test = [sys.executable, "-m", "heatsoak", "rack", "perform", str(kept.directory)]
    test.append(str(attempt))
    output = _output_of(kept, attempt)
    if _SYSTEMD.is_dir() and os.geteuid() == 0:
        # not part of the caller's own unit or session, with which it would be stopped
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


def perform(directory: Path, attempt: int) -> int:
    """Run an attempt of the test in `directory` unless that was started before.

    Returns the exit code. How the test ended is kept before this returns.
    """
    kept = Kept(directory)
    with kept.locked() as is_ours:
        if not is_ours:
            return 0  # another process does it
        with kept.changing() as state:
            one = state.attempt(attempt)
            if one.has_begun or attempt < len(state.attempts):
                return 0  # its process comes too late
            one.asked, one.ready_at_s, one.go_at_s = 0, None, None  # of one killed while it waited
        try:
            with kept.room_for_the_end():
                ended = _run(kept, state.test, attempt)
        except errors.HeatsoakError as error:
            ended = Ended(exit_code=error.exit_code, why=str(error))
        with kept.changing() as state:
            state.attempt(attempt).ended = ended
    if ended.why is not None:
        announce(ended.why)
    return ended.exit_code


def _run(kept: Kept, test: RackTest, attempt: int) -> Ended:
    try:
        session = planned(test)
        planned_s = sum(row.duration_s for row in session.preview())
        session.record(
            kept.recording,
            resume=attempt > 1,
            when_held=lambda: _begin(kept, attempt, test, planned_s),
        )
        return Ended(exit_code=0, verdict=_verdict_on(kept))
    except (KeyboardInterrupt, Exception) as error:
        if (errors.is_stop(error) or isinstance(error, errors.RunInterrupted)) and kept.is_finished:
            return Ended(exit_code=0, verdict=_verdict_on(kept))  # it came too late to stop it
        if isinstance(error, errors.HeatsoakError):
            return Ended(exit_code=error.exit_code, why=str(error))
        if errors.is_stop(error):
            why = "stopped" if kept.recorded() else _STOPPED_BEFORE
            return Ended(exit_code=errors.RunInterrupted.exit_code, why=why)
        for line in traceback.format_exception(error):
            print_err(line.rstrip())
        return Ended(
            exit_code=errors.HeatsoakError.exit_code,
            why=f"internal error: {type(error).__name__}: {error}",
        )


def _verdict_on(kept: Kept) -> str | None:
    """The verdict on the last step of what was recorded."""
    with suppress(errors.HeatsoakError):
        found = analyze([Recording.open(path) for path in kept.recorded()[-1:]]).recordings
        return found[-1].steps[-1].verdict if found and found[-1].steps else None
    return None


def planned(test: RackTest) -> Session:
    """Plan a test's session on this host; raises what :func:`plan_session` does.

    Raises RefusedError for a drive or export that is written and that nobody has named to erase.
    """
    options = DriveOptions(sensors=None if test.sensors is None else Path(test.sensors))
    place = replace(parse_place(test.on), resumes=Kept.of(test).recording)
    session = plan_session(place, lambda: test.protocol, erase_id=test.erase_id, options=options)
    if test.protocol.writes and test.erase_id is None and place.kind in ("block", "nbd"):
        raise errors.RefusedError(
            f"{test.on}: {test.protocol.name} writes it, and nobody has named it to be erased: add "
            "erase = ... to its entry, or --erase"
        )
    return session


def _begin(kept: Kept, attempt: int, test: RackTest, planned_s: float) -> None:
    """Wait for the others, then keep that the test begins."""
    with kept.changing() as state:
        state.attempt(attempt).ready_at_s = time.monotonic()
    if test.waits or test.beside:
        give_up_s = time.monotonic() + _WAITS_S
        while (at_s := _begins_at_s(kept, attempt, test)) is None:
            if time.monotonic() > give_up_s:
                raise errors.RunInterrupted("was never told to begin")
            time.sleep(_LOOK_S)
        time.sleep(max(at_s - time.monotonic(), 0.0))
    with kept.changing() as state:
        one = state.attempt(attempt)
        _require_wanted(one)
        one.began_unix_s, one.planned_s = time.time(), planned_s


def _require_wanted(one: Attempt) -> None:
    if one.is_stopped:
        raise errors.RunInterrupted(_STOPPED_BEFORE)


def _begins_at_s(kept: Kept, attempt: int, test: RackTest) -> float | None:
    """When it begins, by the clock of this boot; None while it has to wait."""
    state = kept.read()
    assert state is not None
    own = state.attempt(attempt)
    _require_wanted(own)
    if test.waits or own.ready_at_s is None:
        return own.go_at_s
    ready_s = [own.ready_at_s]
    for name in test.beside:
        other = Kept(directory_of(test.run, name))
        now: Status = other.status()
        if now.state in ("absent", "starting"):
            return None
        known = other.read()
        assert known is not None
        if now.state in ("ready", "running") and known.newest.ready_at_s is not None:
            ready_s.append(known.newest.ready_at_s)
    # each finds the same
    return max(ready_s) + _LEAD_S
