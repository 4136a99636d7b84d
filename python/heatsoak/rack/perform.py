"""The process of a test on its host: it decides whether the test may begin, and runs it."""

import time
import traceback
from pathlib import Path

from pydantic import BaseModel

from heatsoak.bench.session import DriveOptions, Session, plan_session
from heatsoak.errors import HeatsoakError, RunInterrupted
from heatsoak.output import announce, print_err
from heatsoak.rack.kept import Ended, Kept, RackTest, Started, write
from heatsoak.target import parse_place

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
        except HeatsoakError as error:
            ended = Ended(exit_code=error.exit_code, why=str(error))
        write(kept.path("ended", attempt), ended)
    if ended.why is not None:
        announce(ended.why)
    return ended.exit_code


def _run(kept: Kept, attempt: int) -> Ended:
    try:
        test = kept.test()
        session = planned(test)
        planned_s = sum(one.plan.duration_s for one in session.preview())
        session.record(
            kept.recording,
            resume=attempt > 1,
            when_held=lambda: _begin(kept, attempt, test.waits, planned_s),
        )
    except HeatsoakError as error:
        return Ended(exit_code=error.exit_code, why=str(error))
    except KeyboardInterrupt:
        return Ended(exit_code=RunInterrupted.exit_code, why="stopped before it began")
    except Exception as error:
        for line in traceback.format_exception(error):
            print_err(line.rstrip())
        return Ended(exit_code=3, why=f"internal error: {type(error).__name__}: {error}")
    return Ended(exit_code=0)


def planned(test: RackTest) -> Session:
    """Plan a test's session on this host; raises what :func:`plan_session` does."""
    options = DriveOptions(sensors=None if test.sensors is None else Path(test.sensors))
    place = parse_place(test.on)
    return plan_session(place, lambda: test.protocol, erase_id=test.erase_id, options=options)


def _begin(kept: Kept, attempt: int, waits: bool, planned_s: float) -> None:
    """Wait for the others, then write that the test begins."""
    if waits:
        write(kept.path("ready", attempt), Go(at_s=time.monotonic()))
        give_up_s = time.monotonic() + _WAITS_S
        while (go := kept.read(Go, "go", attempt)) is None:
            if time.monotonic() > give_up_s:
                raise RunInterrupted("was never told to begin")
            time.sleep(_LOOK_S)
        time.sleep(max(go.at_s - time.monotonic(), 0.0))
    started = Started(at_unix_s=time.time(), planned_s=planned_s)
    write(kept.path("started", attempt), started)
