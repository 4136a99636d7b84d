"""``heatsoak rack host``: what a host of a rack does, whoever asks it.

Each command may be repeated at any time: a test that was started is not started again. All but the
packed recordings are JSON.
"""

import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from heatsoak import errors, system, writing
from heatsoak.cli import common
from heatsoak.cli.commands import print_help_alone
from heatsoak.output import announce, print_json
from heatsoak.rack import host, kept, state
from heatsoak.rack.metrics import HostMetrics
from heatsoak.rack.running import requests_of
from heatsoak.units import parse_seconds

host_app = typer.Typer(
    help="Start, follow and collect the tests of this host.",
    callback=print_help_alone,
    invoke_without_command=True,
)
RunArgument = Annotated[str, common.argument("RUN", "A name for the run, the same on all hosts.")]
HostOption = Annotated[
    str | None, common.option("--host NAME", "What this host is called; default: its own name.")
]


@host_app.command("start", help="Start a protocol on drives of this host, once.")
@common.with_groups
def start_command(
    run: RunArgument,
    wanted: common.ProtocolOptions,
    on: Annotated[
        str | None, common.option("", "A drive's serial, or a target as for `run`.")
    ] = None,
    erase: Annotated[str | None, common.option("ID", "As for `run`: lose its data.")] = None,
    sensors: Annotated[str | None, common.option("DIR", "As for `run`.")] = None,
    drives: Annotated[
        Path | None, common.option("FILE", "Instead of --on: this host's drives in a rack's file.")
    ] = None,
    together: Annotated[
        state.Together, common.option("", "As for `rack run`; what waits for the rack gets `go`.")
    ] = "host",
    resume: Annotated[
        bool, common.option("--resume", "Resume what was stopped, cut short, or failed.")
    ] = False,
    wait: Annotated[bool, common.option("--wait", "Return when all have ended.")] = False,
    dry_run: common.DryRunOption = False,
    host_name: HostOption = None,
) -> int:
    name = _named(host_name)
    if (on is None) == (drives is None):
        raise errors.UsageError("name a drive with --on, or a file with --drives")
    protocol = wanted.load()
    known = (
        _listed(drives, name)
        if drives is not None
        else [state.ListedDrive(on=str(on), erase=erase, sensors=sensors)]
    )
    rows = [state.Row.of(one, name) for one in known]
    rack = state.Rack(
        run=run, protocol=protocol.name, protocol_sha256="", together=together, tests=rows
    )
    # a run that has a name of its own is asked for
    tests = requests_of(rack, rows, protocol, again=True)
    for row, test in zip(rows, tests, strict=True):
        row.attempt = _attempt(test, resume=resume)
    return _made(requests_of(rack, rows, protocol, again=True), name, dry_run=dry_run, wait=wait)


@host_app.command("make", hidden=True, help="Start the tests that `rack run` gives as JSON.")
def make_command(
    run: RunArgument, dry_run: common.DryRunOption = False, host_name: HostOption = None
) -> int:
    name = _named(host_name)
    try:
        given = "" if sys.stdin.isatty() else sys.stdin.read()
        tests = TypeAdapter(list[kept.RackTest]).validate_json(given)
    except ValidationError as error:
        raise errors.UsageError(
            f"run {run}: no tests came by standard input: docker exec needs -i"
        ) from error
    return _made(tests, name, dry_run=dry_run)


def _made(tests: Sequence[kept.RackTest], name: str, *, dry_run: bool, wait: bool = False) -> int:
    if dry_run:
        print_json([_plan(test, name).model_dump(mode="json") for test in tests])
        return 0
    while True:
        host.start(tests)
        known = [kept.Kept.of(test) for test in tests]
        if not wait or all(one.status().has_ended for one in known):
            return _print(known, name)
        time.sleep(1.0)  # and ask again where its process was killed before it began


def _named(given: str | None) -> str:
    system.require_linux("a host of a rack")
    return given or socket.gethostname()


def _listed(path: Path, name: str) -> list[state.ListedDrive]:
    """The drives of this host in a rack's file; raises UsageError for none."""
    known = state.load_listed(path)
    found = [one for one in known.drive if (one.host or known.hosts[0]) == name]
    if not found:
        raise errors.UsageError(f"{path}: lists no drive of {name}: --host NAME says what it is")
    return found


def _attempt(test: kept.RackTest, *, resume: bool) -> int:
    known = kept.Kept.of(test)
    now = known.status()
    is_stopped = now.state == "absent" and known.is_run_stopped
    return now.attempt + (resume and (now.can_be_resumed or is_stopped))


def _plan(test: kept.RackTest, name: str) -> state.PlannedTest:
    planned = state.PlannedTest(host=name, on=test.on, runs=[])
    try:
        planned.runs = host.planned(test).preview()
    except errors.HeatsoakError as error:
        planned.why, planned.exit_code = str(error), error.exit_code
    return planned


@host_app.command("status")
def status_command(run: RunArgument, host_name: HostOption = None) -> int:
    """Say where the tests of a run stand."""
    return _print(kept.kept_tests(run), _named(host_name))


@host_app.command("go")
def go_command(
    run: RunArgument,
    in_s: Annotated[float, common.option("--in TIME", "In so long.", reads=parse_seconds)] = 0.0,
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
        common.option(
            "--output -o DIR", "Copy to DIR/HOST/TEST; without, a tar on standard output."
        ),
    ] = None,
    test: Annotated[str | None, common.option("--test NAME", "This test alone.")] = None,
    host_name: HostOption = None,
) -> int:
    """Give what the tests that have ended recorded."""
    name, found = _named(host_name), kept.kept_tests(run, test or "*")
    if output is not None:
        into = {one.directory: host.copy(one, name, output) for one in found}
        return _print(found, name, into=into)
    if sys.stdout.isatty():
        raise errors.UsageError("a tar is no text: redirect it, or name a directory with -o")
    host.pack(found, name, sys.stdout.buffer)
    return kept.exit_code_of([one.status() for one in found])


@host_app.command("stop")
def stop_command(run: RunArgument, host_name: HostOption = None) -> int:
    """Stop the tests of a run as Ctrl-C would, and let none begin; what they recorded is kept."""
    stopped = host.stop(run)
    _print(kept.kept_tests(run), _named(host_name), stopped=stopped)
    return 0


@host_app.command("metrics")
def metrics_command(
    output: Annotated[
        Path | None,
        common.option("--output -o FILE", "For node_exporter: ...prom in its directory."),
    ] = None,
    run: Annotated[str, common.option("RUN", "Of this run alone.")] = "*",
    host_name: HostOption = None,
) -> int:
    """Write where this host's tests stand, and what their drives do, for Prometheus."""
    text = HostMetrics(_named(host_name), kept.kept_tests(run)).text()
    if output is None:
        sys.stdout.buffer.write(text)
    else:
        with writing.reporting_write_errors(output):
            writing.replace_file(output, text)
    return 0


def _print(
    known: Sequence[kept.Kept],
    name: str,
    *,
    stopped: int = 0,
    into: Mapping[Path, Path | None] | None = None,
) -> int:
    """Print tests; return the exit code of the worst, or that there is none."""
    tests = [one.told((into or {}).get(one.directory)) for one in known]
    report = host.HostReport(host=name, tests=tests, stopped=stopped)
    print_json(report.model_dump(mode="json"))
    if tests:
        return kept.exit_code_of(tests)
    announce(f"{name} keeps no test of that run")
    return errors.UsageError.exit_code
