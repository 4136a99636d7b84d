"""``heatsoak rack host``: what a host of a rack does, whoever asks it.

Each command may be repeated at any time: a test that was started is not started again. All but the
packed recordings are JSON.
"""

import shutil
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import ValidationError

from heatsoak import errors, system, writing
from heatsoak.cli import common
from heatsoak.output import announce, print_json
from heatsoak.protocol import apply_settings
from heatsoak.rack import host, state
from heatsoak.rack.kept import (
    HostTest,
    Kept,
    RackTest,
    directory_of,
    kept_tests,
    name_of,
    plain,
)
from heatsoak.rack.metrics import HostMetrics
from heatsoak.rack.running import Order, order_of
from heatsoak.recording.meta import META
from heatsoak.units import parse_seconds

_POLL_S = 1.0

host_app = typer.Typer(
    help="Start, follow and collect the tests of this host.",
    callback=common.print_help_alone,
    invoke_without_command=True,
)
RunArgument = Annotated[
    str, typer.Argument(metavar="RUN", help="A name for the run, the same on all hosts.")
]
HostOption = Annotated[
    str | None,
    typer.Option("--host", metavar="NAME", help="What this host is called; default: its own name."),
]


@host_app.command("start", help="Start a protocol on drives of this host, once.")
@common.with_groups
def start_command(
    run: RunArgument,
    protocol: Annotated[
        str | None, typer.Argument(metavar="PROTOCOL", help="As for `run`.")
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="As for `run`.")
    ] = None,
    on: Annotated[
        str | None, typer.Option(help="A drive's serial, or a target as for `run`.")
    ] = None,
    erase: Annotated[
        str | None, typer.Option(metavar="ID", help="As for `run`: lose its data.")
    ] = None,
    sensors: Annotated[str | None, typer.Option(metavar="DIR", help="As for `run`.")] = None,
    drives: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Instead of --on: this host's drives in a rack's file."),
    ] = None,
    together: Annotated[
        state.Together, typer.Option(help="As for `rack run`; what waits for the rack gets `go`.")
    ] = "host",
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume what was stopped, cut short, or failed.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Return when all have ended.")] = False,
    dry_run: common.DryRunOption = False,
    host_name: HostOption = None,
    tests: Annotated[str | None, typer.Option(hidden=True)] = None,
) -> int:
    name = _named(host_name)
    if tests is not None:
        try:
            order = Order.model_validate_json(sys.stdin.read())
        except ValidationError as error:
            raise errors.UsageError(
                "--tests: no order came by standard input: docker exec needs -i"
            ) from error
    elif protocol is None or (on is None) == (drives is None):
        raise errors.UsageError("name the protocol, and a drive with --on or a file with --drives")
    else:
        from heatsoak.protocol import load

        known = (
            [state.ListedDrive(host=name, on=on, erase=erase, sensors=sensors)]
            if on is not None
            else _listed(drives, name)
        )
        loaded = apply_settings(load(protocol), settings or [])
        rows = [
            state.Row(name=name_of(one.on), **one.model_dump(exclude={"host"}), host=name)
            for one in known
        ]
        rack = state.Rack(
            run=run, protocol=loaded.name, protocol_sha256="", together=together, tests=rows
        )
        # a run that has a name of its own is asked for
        order = order_of(rack, rows, loaded, again=True)
        order.attempts = [_attempt(test, resume=resume) for test in order.tests]
    if dry_run:
        print_json([_plan(test, name).model_dump(mode="json") for test in order.tests])
        return 0
    while True:
        host.start(order.tests, order.attempts, again=order.again)
        kept = [Kept.of(test) for test in order.tests]
        if not wait or all(one.status().has_ended for one in kept):
            return _print([one.told() for one in kept], name)
        time.sleep(_POLL_S)  # and ask again where its process was killed before it began


def _named(given: str | None) -> str:
    system.require_linux("a host of a rack")
    return given or socket.gethostname()


def _listed(path: Path | None, name: str) -> list[state.ListedDrive]:
    """The drives of this host in a rack's file; raises UsageError for none."""
    assert path is not None
    known = state.load_listed(path)
    found = [one for one in known.drive if (one.host or known.hosts[0]) == name]
    if not found:
        raise errors.UsageError(f"{path}: lists no drive of {name}: --host NAME says what it is")
    return found


def _attempt(test: RackTest, *, resume: bool) -> int:
    kept = Kept.of(test)
    now = kept.status()
    goes_on = now.has_ended and now.state != "finished"
    if resume and (goes_on or (now.state == "absent" and kept.is_run_stopped)):
        return now.attempt + 1
    return now.attempt


def _plan(test: RackTest, name: str) -> state.PlannedTest:
    try:
        return state.PlannedTest(host=name, on=test.on, runs=host.preview(test))
    except errors.HeatsoakError as error:
        return state.PlannedTest(
            host=name, on=test.on, runs=[], why=str(error), exit_code=error.exit_code
        )


@host_app.command("status")
def status_command(run: RunArgument, host_name: HostOption = None) -> int:
    """Say where the tests of a run stand."""
    return _print([kept.told() for kept in kept_tests(run)], _named(host_name))


@host_app.command("go")
def go_command(
    run: RunArgument,
    in_s: Annotated[
        float, typer.Option("--in", metavar="TIME", parser=parse_seconds, help="In so long.")
    ] = 0.0,
    host_name: HostOption = None,
) -> int:
    """Let the tests begin that wait for the whole rack."""
    host.go(run, in_s)
    return status_command(run, host_name)


@host_app.command("collect")
def collect_command(
    run: RunArgument,
    output: Annotated[
        Path | None,
        common.output_option("DIR", "Copy to DIR/HOST/TEST; without, a tar on standard output."),
    ] = None,
    test: Annotated[
        str | None, typer.Option("--test", metavar="NAME", help="This test alone.")
    ] = None,
    host_name: HostOption = None,
) -> int:
    """Give what the tests that have ended recorded."""
    name, found = _named(host_name), kept_tests(run, test or "*")
    if output is None:
        if sys.stdout.isatty():
            raise errors.UsageError("a tar is no text: redirect it, or name a directory with -o")
        host.pack(found, name, sys.stdout.buffer)
        return host.HostReport(host=name, tests=[kept.told() for kept in found]).exit_code
    rows = []
    for kept in found:
        into = None
        if kept.status().has_ended and kept.recorded():
            into = output / plain(name) / kept.directory.name
            _copy(kept.recording, into)
        rows.append(kept.told(into))
    return _print(rows, name)


@host_app.command("stop")
def stop_command(run: RunArgument, host_name: HostOption = None) -> int:
    """Stop the tests of a run as Ctrl-C would, and let none begin; what they recorded is kept."""
    directory_of(run, "any")
    stopped = host.stop(run)
    _print([kept.told() for kept in kept_tests(run)], _named(host_name), stopped)
    return 0


@host_app.command("metrics")
def metrics_command(
    output: Annotated[
        Path | None, common.output_option("FILE", "For node_exporter: ...prom in its directory.")
    ] = None,
    run: Annotated[str, typer.Option(metavar="RUN", help="Of this run alone.")] = "*",
    host_name: HostOption = None,
) -> int:
    """Write where this host's tests stand, and what their drives do, for Prometheus."""
    text = HostMetrics(_named(host_name), kept_tests(run)).text()
    if output is None:
        sys.stdout.buffer.write(text)
    else:
        with writing.reporting_write_errors(output):
            writing.replace_file(output, text)
    return 0


def _print(rows: Sequence[HostTest], name: str, stopped: int = 0) -> int:
    """Print tests; return the exit code of the worst, or that there is none."""
    report = host.HostReport(host=name, tests=list(rows), stopped=stopped)
    print_json(report.model_dump(mode="json"))
    if not rows:
        announce(f"{name} keeps no test of that run")
    return report.exit_code if rows else errors.UsageError.exit_code


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
