"""``heatsoak rack host``: what a host of a rack does, for schedulers other than Dask.

Each command may be repeated at any time: a test that was started is not started again. All of them
print JSON.
"""

import shutil
import time
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from heatsoak import errors, writing
from heatsoak.cli import common
from heatsoak.output import print_json
from heatsoak.protocol import apply_settings
from heatsoak.rack import host, state
from heatsoak.rack.kept import HostTest, Kept, RackTest, Status, directory_of, kept_tests
from heatsoak.recording.meta import META

_POLL_S = 1.0

host_app = typer.Typer(
    help="Start, follow and collect tests of this host from a scheduler of your own.",
    callback=common.print_help_alone,
    invoke_without_command=True,
)
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="A name for the run, the same on all hosts.")
]


@host_app.command("start", help="Start a protocol on one drive, once; say where it stands.")
@common.with_groups
def start_command(
    run: RunArgument,
    wanted: common.ProtocolOptions,
    on: Annotated[str, typer.Option(help="A drive's serial, or a target as for `run`.")],
    erase: Annotated[
        str | None, typer.Option(metavar="ID", help="As for `run`: lose its data.")
    ] = None,
    sensors: Annotated[str | None, typer.Option(metavar="DIR", help="As for `run`.")] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume it where it was cut short.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return when it has ended.")] = False,
) -> int:
    here = host.describe()
    test = RackTest(
        run=run,
        name=state.name_of(here, state.ListedDrive(on=on)),
        on=on,
        erase_id=erase,
        protocol=apply_settings(wanted.load(), [f"conditions.host={here.name}"]),
        waits=False,
        sensors=sensors,
    )
    kept = Kept(directory_of(run, test.name))
    attempt = kept.newest_attempt()
    before = kept.status(attempt)
    if resume and before.has_ended and before.state != "finished":
        attempt += 1
    # a run that has a name of its own is asked for
    start = partial(host.start, test, attempt, again=True)
    status = start()
    while wait and not status.has_ended:
        time.sleep(_POLL_S)
        status = start()  # also where its process was killed before it began
    print_json(_row(kept, status).model_dump(mode="json"))
    return _exit_code(status)


@host_app.command("status")
def status_command(run: RunArgument) -> int:
    """Say where the tests of a run stand."""
    return _print([_row(kept, kept.status(kept.newest_attempt())) for kept in _tests(run)])


@host_app.command("collect")
def collect_command(
    run: RunArgument,
    output: Annotated[Path, common.output_option("DIR", "Copy to DIR/HOST/TEST.")],
) -> int:
    """Copy what the tests that have ended recorded."""
    name, rows = host.describe().name, []
    for kept in _tests(run):
        row = _row(kept, kept.status(kept.newest_attempt()))
        if row.has_ended and _metas(kept.recording):
            into = output / state.plain(name) / row.name
            with kept.alone():
                _copy(kept.recording, into)
            row = row.model_copy(update={"directory": str(into)})
        rows.append(row)
    return _print(rows)


@host_app.command("stop")
def stop_command(run: RunArgument) -> int:
    """Stop the tests of a run as Ctrl-C would; what they recorded is kept."""
    print_json({"stopped": host.stop(run, [kept.directory.name for kept in _tests(run)])})
    return 0


def _tests(run: str) -> list[Kept]:
    """The tests of a run on this host; raises UsageError for none."""
    host.describe()
    if not (found := kept_tests(run)):
        raise errors.UsageError(f"{run}: this host keeps no test of a run of that name")
    return found


def _row(kept: Kept, status: Status) -> HostTest:
    test = kept.test()
    return HostTest(
        run=test.run,
        name=test.name,
        on=test.on,
        recording=str(kept.recording),
        **status.model_dump(),
    )


def _print(rows: list[HostTest]) -> int:
    """Print tests; return the exit code of the worst."""
    print_json([row.model_dump(mode="json") for row in rows])
    codes = set(map(_exit_code, rows))
    return next(
        (
            code
            for code in (errors.HeatsoakError.exit_code, errors.RefusedError.exit_code)
            if code in codes
        ),
        0,
    )


def _exit_code(status: Status) -> int:
    if status.state == "refused":
        return errors.RefusedError.exit_code
    return errors.HeatsoakError.exit_code if status.has_ended and status.state != "finished" else 0


def _metas(recording: Path) -> dict[str, bytes]:
    """What tells recordings apart: a test with a matrix has one for each cell, below its own."""
    return {str(path.relative_to(recording)): path.read_bytes() for path in recording.rglob(META)}


def _copy(recording: Path, into: Path) -> None:
    """Copy a recording, unless that was done before."""
    if into.exists():
        if _metas(into) == _metas(recording):
            return
        shutil.rmtree(into)  # of the attempt before, which this one continued
    writing.copy_tree(recording, into)
