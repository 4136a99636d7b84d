"""``heatsoak rack``: one protocol on the drives of many hosts."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Literal

from heatsoak import errors, system, toml, writing
from heatsoak.analysis import analyze
from heatsoak.bench.directories import default_directory
from heatsoak.cli import common
from heatsoak.cli.overview import print_drives
from heatsoak.cli.run import print_preview
from heatsoak.output import Console, Text, announce, print_out, table_of
from heatsoak.rack import kept, running, state
from heatsoak.rack.host import perform
from heatsoak.rack.reached import Reach
from heatsoak.recording import Recording
from heatsoak.recording.writer import check_free
from heatsoak.units import parse_seconds
from heatsoak.words import counted, size_text

ByOption = Annotated[
    str,
    common.option(
        "--by COMMAND",
        "How a host is reached: 'ssh {host}', 'srun -w {host}', 'docker exec -i {host}', or "
        "'sh -c' for this machine.",
    ),
]
_SSH = "ssh {host}"

#: In what the plans of drives differ that are tested alike.
_APART: dict[str, Any] = {"target": "", "conditions": {}, "simulation_s": None}


def drives_command(
    hosts: Annotated[list[str], common.argument("HOST...", "Hosts, or a file that lists them.")],
    by: ByOption = _SSH,
    output: Path | None = common.option(
        "--output -o FILE", "Write those that may be written to this file.", default=None
    ),
    force: common.ForceOption = False,
    output_format: common.FormatOption = "text",
) -> int:
    if output is not None:
        check_free([output], force=force)
    files = [one for one in hosts if Path(one).is_file()]
    names = [one for one in hosts if one not in files]
    names += [name for one in files for name in state.load_listed(Path(one)).every_host]
    names = toml.validated(state.Listed, {"hosts": names}, "hosts").every_host
    found, lost = running.of_hosts(names, partial(running.drives_of, Reach(by)))
    for host, error in lost.items():
        announce(f"{host}: {error}: its drives are missing here")
    if output is not None and found:
        writing.write_output(output, state.as_toml(found), replace=force)
        announce(f"{output}: take out what must not be erased, and label the others")
    rows = [
        state.HostDrive(host=host, **row.model_dump()).model_dump(mode="json")
        for host, drives in found.items()
        for row in drives
    ]
    common.show(rows, output_format, print_drives)
    return errors.ToolError.exit_code if lost else 0


def run_command(
    wanted: common.ProtocolOptions,
    limits: common.LimitOptions,
    drives: Path | None = common.option(
        "FILE", "The drives to test, and to erase, as `rack drives -o` lists them.", default=None
    ),
    by: ByOption = _SSH,
    output: Path | None = common.option(
        "--output -o DIR",
        "Collect here; a run that was started there is followed again.",
        default=None,
    ),
    together: state.Together = common.option(
        "",
        "Begin at the same moment: drives of a host, which share its air, all, or none.",
        is_rare=True,
        default="host",
    ),
    resume: bool = common.option(
        "--resume", "Resume the tests in -o that were cut short.", default=False
    ),
    again: bool = common.option(
        "--again",
        "Test drives again that another run tested in the same way.",
        is_rare=True,
        default=False,
    ),
    wait_s: float = common.option(
        "--wait TIME",
        "Wait so long at the start for hosts that are missing.",
        reads=parse_seconds,
        show_default="60s",
        is_rare=True,
        default=60.0,
    ),
    dry_run: common.DryRunOption = False,
    output_format: common.FormatOption = "text",
) -> int:
    protocol = wanted.load()
    directory = output or default_directory(f"rack-{protocol.name}")
    with common.progress_bar(stays=False) as progress:
        asked = running.RackRequest(
            protocol=protocol,
            reach=Reach(by),
            listed=drives,
            directory=directory,
            together=together,
            resume=resume,
            again=again,
            wait_s=wait_s,
            tell=lambda rack, text: progress(rack.progress, text),
        )
        if dry_run:
            return _print_previews(asked, output_format)
        rack = _followed(asked)
    found = list(_collected(rack, directory))
    findings = analyze(found) if found else None
    document = state.RackFindings(**dict(rack), recordings=findings.recordings if findings else [])
    answer = None if findings is None else findings.answer.sentence
    shown = partial(_print_tests, directory=directory, answer=answer)
    common.show(document, output_format, shown)
    if code := kept.exit_code_of(rack.tests):
        return code
    return 0 if findings is None else limits.exit_code(findings)


def _followed(asked: running.RackRequest) -> state.Rack:
    """The rack when all of its tests have ended and are collected."""
    try:
        return running.run_rack(asked)
    except KeyboardInterrupt:
        into = quote(str(asked.directory))
        raise errors.RunInterrupted(
            f"no longer followed; tests go on on their hosts: the same command with -o {into} "
            f"follows them again, heatsoak rack stop {into} stops them"
        ) from None


def stop_command(
    directory: Annotated[Path, common.argument("DIR", "Where the run's recordings are collected.")],
    by: ByOption = _SSH,
) -> int:
    """What they recorded is kept."""
    count = running.stop_rack(directory, Reach(by))
    told = counted(count, "test was", "tests were")
    print_out(f"{told} told to stop; heatsoak rack run with -o {quote(str(directory))} collects it")
    return 0


def perform_command(
    directory: Annotated[Path, common.argument("DIR", "Where the test is kept.")],
    lock: Annotated[int, common.argument("FILE", "The number of its open file.")],
) -> int:
    """Run a test whose lock this process has inherited: what a host starts."""
    system.require_linux("a host of a rack")
    return perform(directory, lock)


def _collected(rack: state.Rack, directory: Path) -> Iterator[Recording]:
    """Yield what was recorded; the test says why one cannot be read."""
    for row in rack.tests:
        if row.directory is not None:
            try:
                yield Recording.open(directory / row.directory)
            except errors.UsageError as error:
                row.why = f"{row.why}; {error}" if row.why else str(error)


def _print_tests(
    rack: state.RackFindings, console: Console, directory: Path, answer: str | None
) -> None:
    wrong = [row for row in rack.tests if row.state != "finished"]
    said = f"{len(rack.tests) - len(wrong)} of {len(rack.tests)} tests finished"
    if wrong:
        # refused ones first, for somebody has to do something about them
        first = min(wrong, key=lambda row: row.state != "refused")
        more = f", and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        said += f"; {first.text}{more}"
    elif answer is not None:
        said += f". {answer}"
    print_out(said)
    if wrong and answer is not None:
        print_out(answer)
    print_out(f"recordings: {directory}")
    answers = {one.path: one.answer.sentence for one in rack.recordings}
    table = table_of("Host", "Drive", "Test", "")
    for row in rack.tests:
        told = answers.get(str(directory / row.directory), "") if row.directory else ""
        table.add_row(*map(Text, (row.host, row.on, row.state, row.why or told)))
    console.print(table)


def _print_previews(asked: running.RackRequest, output_format: common.OutputFormat) -> int:
    found = running.previews(asked)

    def table(_: object, out: Console) -> None:
        alike: dict[str, list[state.PlannedTest]] = {}
        for test in found:
            key = "".join(run.model_copy(update=_APART).model_dump_json() for run in test.runs)
            alike.setdefault(test.why or key, []).append(test)
        for tests in alike.values():
            names = ", ".join(f"{test.on} of {test.host}" for test in tests)
            print_out(names if tests[0].why is None else f"{names}: {tests[0].why}")
            print_preview([run.model_dump(mode="json") for run in tests[0].runs], out)

    common.show_rows(found, output_format, table)
    return max((test.exit_code for test in found), default=0)


def report_command(
    directories: Annotated[
        list[Path],
        common.argument("DIR...", "Take all recordings below, and the rack.json of a rack run."),
    ],
    output: Path | None = common.option(
        "--output -o FILE", "Write a page (.html), table (.csv, .md), .xml or .jsonl.", default=None
    ),
    by_place: str | None = common.option(
        "KEY,...",
        "The labels that are the place; default: host and cooling, where they vary.",
        default=None,
    ),
    force: common.ForceOption = False,
    output_format: common.FormatOption = "text",
    fail_on: Literal["throttle", "unknown", "outlier", "any"] | None = common.option(
        "",
        "Exit 1 if a step throttles or may have (throttle), if nothing tells whether it "
        "does (unknown), if a drive is worse than others of its model (outlier), or for all "
        "of these and any fall of throughput (any).",
        default=None,
    ),
    fail_below: common.FailBelowOption = None,
) -> int:
    # these take a while to load, and every command loads this module's neighbours
    from heatsoak.rack.results.reading import read_results
    from heatsoak.rack.results.report import report
    from heatsoak.rack.results.shown import print_rack, write
    from heatsoak.report.files import OF_RACKS, check

    if output is not None:
        check(output, force=force, of=OF_RACKS)
    opened = common.Opened()
    with common.progress_bar(stays=False) as progress:
        rack = read_results(directories, progress, opened.leave_out)
    keys = [key.strip() for key in (by_place or "").split(",") if key.strip()]
    found = report(rack, by_place=keys, forbidden=fail_on, fail_below_mb_s=fail_below)
    written = None if output is None else write(found, rack, output, fail_below, replace=force)
    common.show(found, output_format, partial(print_rack, written=output))
    if written is not None and output_format == "text":
        common.console().print(Text(f"{output}: {size_text(written)}"), soft_wrap=True)
    return opened.exit_code(0 if found.limits_hold else common.limit_broken(found.sentence))
