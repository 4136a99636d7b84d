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

from pydantic import TypeAdapter, ValidationError

from heatsoak import errors, system, writing
from heatsoak.cli import common
from heatsoak.output import announce, print_json
from heatsoak.rack import host, kept, state
from heatsoak.rack.metrics import HostMetrics
from heatsoak.rack.running import requests_of
from heatsoak.units import parse_seconds

RunArgument = Annotated[str, common.argument("RUN", "A name for the run, the same on all hosts.")]
HostOption = Annotated[
    str | None,
    common.option("--host NAME", "What this host is called; default: its own name.", is_rare=True),
]


def start_command(
    run: RunArgument,
    wanted: common.ProtocolOptions,
    drive: common.TestedOptions,
    drives: Path | None = common.option(
        "FILE", "Instead of --on: this host's drives in a rack's file.", default=None
    ),
    together: state.Together = common.option(
        "", "As for `rack run`; what waits for the rack gets `go`.", is_rare=True, default="host"
    ),
    resume: bool = common.option(
        "--resume", "Resume what was stopped, cut short, or failed.", default=False
    ),
    wait: bool = common.option("--wait", "Return when all have ended.", default=False),
    dry_run: common.DryRunOption = False,
    host_name: HostOption = None,
) -> int:
    name = _named(host_name)
    if (drive.on is None) == (drives is None):
        raise errors.UsageError("name a drive with --on, or a file with --drives")
    protocol = wanted.load()
    known = (
        _listed(drives, name)
        if drives is not None
        else [state.ListedDrive(on=str(drive.on), erase=drive.erase, sensors=drive.sensors)]
    )
    rows = [state.Row.of(one, name) for one in known]
    rack = state.Rack(
        run=run, protocol=protocol.name, protocol_sha256="", together=together, tests=rows
    )
    # a run that has a name of its own is asked for
    tests = [
        test.model_copy(update={"attempt": _attempt(test, resume=resume)})
        for test in requests_of(rack, rows, protocol, again=True)
    ]
    return _made(tests, name, dry_run=dry_run, wait=wait)


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


def status_command(run: RunArgument, host_name: HostOption = None) -> int:
    return _print(kept.kept_tests(run), _named(host_name))


def go_command(
    run: RunArgument,
    in_s: float = common.option("--in TIME", "In so long.", reads=parse_seconds, default=0.0),
    host_name: HostOption = None,
) -> int:
    host.go(run, in_s)
    return status_command(run, host_name)


def collect_command(
    run: RunArgument,
    output: Path | None = common.option(
        "--output -o DIR", "Copy to DIR/HOST/TEST; without, a tar on standard output.", default=None
    ),
    test: str | None = common.option("--test NAME", "This test alone.", default=None),
    host_name: HostOption = None,
) -> int:
    name, found = _named(host_name), kept.kept_tests(run, test or "*")
    if output is not None:
        into = {one.directory: host.copy(one, name, output) for one in found}
        return _print(found, name, into=into)
    if sys.stdout.isatty():
        raise errors.UsageError("a tar is no text: redirect it, or name a directory with -o")
    host.pack(found, name, sys.stdout.buffer)
    return kept.exit_code_of([one.status() for one in found])


def stop_command(run: RunArgument, host_name: HostOption = None) -> int:
    stopped = host.stop(run)
    _print(kept.kept_tests(run), _named(host_name), stopped=stopped)
    return 0


def metrics_command(
    output: Path | None = common.option(
        "--output -o FILE", "For node_exporter: ...prom in its directory.", default=None
    ),
    run: str = common.option("RUN", "Of this run alone.", default="*"),
    host_name: HostOption = None,
) -> int:
    """What they recorded is kept."""
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
