"""What a host of a rack does when it is asked to, and the process of a test (:func:`perform`).

Each function may be called again at any time, and answers as it did before: a caller that lost the
answer asks once more. What is kept on disk is in :mod:`heatsoak.rack.kept`.
"""

import os
import shutil
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
from heatsoak.bench.session import DriveOptions, Session, plan_session
from heatsoak.output import announce, print_err
from heatsoak.rack import kept
from heatsoak.recording import Recording
from heatsoak.recording.meta import META
from heatsoak.target import parse_place
from heatsoak.tools import find_tool

#: States of a test whose drive need not be tested again: it is, or was to the end.
_TESTED = ("starting", "ready", "running", "finished")
#: There where systemd is the first process.
_SYSTEMD = Path("/run/systemd/system")
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
    tests: list[kept.HostTest]
    stopped: int = 0


def start(tests: Sequence[kept.RackTest]) -> None:
    """Start the processes of tests, except of attempts that were started before.

    A drive that another run has tested alike, or does, is refused unless the test says `again`.
    """
    for test in tests:
        known = kept.Kept.of(test)
        with known.changing(test) as state, known.locked() as lock:
            if lock is None:
                continue  # of an attempt before, it comes to its end first
            one = state.attempt(test.attempt)
            if one.where(lives=False)[0] != "absent":
                continue
            is_new = not any(each.began_unix_s is not None for each in state.attempts)
            refused = _tested_elsewhere(test) if is_new and not test.again else None
            if refused is not None:
                one.ended = kept.Ended(exit_code=errors.RefusedError.exit_code, why=refused)
            elif test.attempt == 1 and known.is_run_stopped:
                one.is_stopped = True
            else:
                one.asked, one.ready_at_s, one.go_at_s = one.asked + 1, None, None
                unit = f"heatsoak-{test.run}-{test.name}-{test.attempt}"
                _spawn(known, unit, lock)


def _tested_elsewhere(test: kept.RackTest) -> str | None:
    """Why a drive need not be tested again: in which run it is, or was."""
    for known in kept.kept_tests(name=test.name):
        other = known.read()
        assert other is not None
        now = known.status().state
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
    for known in kept.kept_tests(run):
        with known.changing() as state:
            if state.newest.ready_at_s is not None and state.newest.go_at_s is None:
                state.newest.go_at_s = at_s


def stop(run: str) -> int:
    """Stop the tests of a run as Ctrl-C would, and let none begin; return how many were."""
    kept.stop_run(run)
    count = 0
    for known in kept.kept_tests(run):
        with known.changing() as state:
            number = known.process()
            if state.newest.where(lives=number is not None)[0] in kept.ENDS:
                continue
            state.newest.is_stopped = True
            count += 1
            if number:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(number, signal.SIGTERM)
    return count


def pack(tests: Sequence[kept.Kept], host: str, file: IO[bytes]) -> None:
    """Write what tests have recorded, of those that ended, as a tar: HOST/TEST/..."""
    with tarfile.open(fileobj=file, mode="w|") as tar:
        for one in tests:
            if one.status().has_ended and one.recorded():
                tar.add(one.recording, f"{kept.plain(host)}/{one.directory.name}")


def copy(known: kept.Kept, host: str, output: Path) -> Path | None:
    """Copy what a test has recorded, once it has ended, and return where; None if nothing is."""
    if not known.status().has_ended or not known.recorded():
        return None
    into = output / kept.plain(host) / known.directory.name
    if not into.exists() or _metas(into) != _metas(known.recording):
        shutil.rmtree(into, ignore_errors=True)  # of the attempt before, which this one continued
        writing.copy_tree(known.recording, into)
    return into


def _metas(recording: Path) -> dict[Path, bytes]:
    """What tells recordings apart: a test with a matrix has one for each cell, below its own."""
    return {path.relative_to(recording): path.read_bytes() for path in recording.rglob(META)}


def _spawn(known: kept.Kept, unit: str, lock: int) -> None:
    """Make a process that holds the lock, and outlives this one, with its output in a file."""
    command = [find_tool("setsid", "util-linux"), "--fork"]
    if _SYSTEMD.is_dir() and os.geteuid() == 0:
        command += in_scope(unit)
    command += [sys.executable, "-m", "heatsoak", "rack", "perform", str(known.directory)]
    with writing.Directory(known.directory) as place, place.append("output.txt") as file:
        subprocess.run(
            [*command, str(lock)],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=known.directory,
            pass_fds=[lock],
            start_new_session=True,
            check=False,
        )


def in_scope(unit: str) -> list[str]:
    """Return the words that run a command outside its caller's unit, with which it would end."""
    return ["systemd-run", "--scope", "--quiet", "--collect", f"--unit={unit}"]


def perform(directory: Path, lock: int) -> int:
    """Run the newest attempt of the test in `directory`, whose lock this process has inherited.

    Returns the exit code. How the test ended is kept before this returns. Raises UsageError for
    another file than the lock, to which nothing is written.
    """
    try:
        is_own = os.path.samestat(os.fstat(lock), (directory / "lock").stat())
    except (OSError, OverflowError):
        is_own = False
    if not is_own:
        raise errors.UsageError(
            f"{directory}: is started by heatsoak rack host start, which locks it"
        )
    os.set_inheritable(lock, False)
    os.write(lock, str(os.getpid()).encode())
    known = kept.Kept(directory)
    try:
        with known.room_for_the_end():
            ended = _run(known)
    except errors.HeatsoakError as error:
        ended = kept.Ended(exit_code=error.exit_code, why=str(error))
    with known.changing() as state:
        state.newest.ended = ended
    if ended.why is not None:
        announce(ended.why)
    return ended.exit_code


def _run(known: kept.Kept) -> kept.Ended:
    try:
        with known.changing() as state:
            test, resumes = state.test, len(state.attempts) > 1
        session = planned(test)
        planned_s = sum(row.duration_s for row in session.preview())
        session.record(
            known.recording, resume=resumes, when_held=lambda: _begin(known, test, planned_s)
        )
        return kept.Ended(exit_code=0, verdict=_verdict_on(known))
    except (KeyboardInterrupt, Exception) as error:
        is_stop = errors.is_stop(error)
        if (is_stop or isinstance(error, errors.RunInterrupted)) and known.is_finished:
            return kept.Ended(exit_code=0, verdict=_verdict_on(known))  # too late to stop it
        if isinstance(error, errors.HeatsoakError):
            return kept.Ended(exit_code=error.exit_code, why=str(error))
        if is_stop:
            why = "stopped" if known.recorded() else _STOPPED_BEFORE
            return kept.Ended(exit_code=errors.RunInterrupted.exit_code, why=why)
        print_err(traceback.format_exc().rstrip())
        why = f"internal error: {type(error).__name__}: {error}"
        return kept.Ended(exit_code=errors.HeatsoakError.exit_code, why=why)


def _verdict_on(known: kept.Kept) -> str | None:
    """The verdict on the last step of what was recorded."""
    with suppress(errors.HeatsoakError):
        found = analyze([Recording.open(path) for path in known.recorded()[-1:]]).recordings
        return found[-1].steps[-1].verdict if found and found[-1].steps else None
    return None


def planned(test: kept.RackTest) -> Session:
    """Plan a test's session on this host; raises what :func:`plan_session` does.

    Raises RefusedError for a drive or export that is written and that nobody has named to erase.
    """
    options = DriveOptions(sensors=None if test.sensors is None else Path(test.sensors))
    place = replace(parse_place(test.on), resumes=kept.Kept.of(test).recording)
    session = plan_session(place, lambda: test.protocol, erase_id=test.erase_id, options=options)
    if test.protocol.writes and test.erase_id is None and place.kind in ("block", "nbd"):
        raise errors.RefusedError(
            f"{test.on}: {test.protocol.name} writes it, and nobody has named it to be erased: add "
            "erase = ... to its entry, or --erase"
        )
    return session


def _begin(known: kept.Kept, test: kept.RackTest, planned_s: float) -> None:
    """Wait for the others, then keep that the test begins."""
    with known.changing() as state:
        state.newest.ready_at_s, state.newest.asked = time.monotonic(), 0
    give_up_s = time.monotonic() + _WAITS_S
    while (at_s := _begins_at_s(known, test)) is None:
        if time.monotonic() > give_up_s:
            raise errors.RunInterrupted("was never told to begin")
        time.sleep(_LOOK_S)
    time.sleep(max(at_s - time.monotonic(), 0.0))
    with known.changing() as state:
        if state.newest.is_stopped:
            raise errors.RunInterrupted(_STOPPED_BEFORE)
        state.newest.began_unix_s, state.newest.planned_s = time.time(), planned_s


def _begins_at_s(known: kept.Kept, test: kept.RackTest) -> float | None:
    """When it begins, by the clock of this boot; None while it has to wait."""
    state = known.read()
    assert state is not None
    if state.newest.is_stopped or not test.beside:
        is_told = state.newest.is_stopped or not test.waits
        return 0.0 if is_told else state.newest.go_at_s
    ready_s = []
    for name in (test.name, *test.beside):
        other = kept.Kept(kept.directory_of(test.run, name))
        now = other.status().state
        if now in ("absent", "starting"):
            return None
        found = other.read()
        assert found is not None
        if now in ("ready", "running") and found.newest.ready_at_s is not None:
            ready_s.append(found.newest.ready_at_s)
    # each finds the same
    return max(ready_s) + _LEAD_S
