"""``heatsoak run`` and ``demo``: run a protocol on a target, and judge what was recorded."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from heatsoak import errors, words, writing
from heatsoak.bench import by_hand, directories
from heatsoak.bench.falls import FallOptions
from heatsoak.bench.session import DriveOptions, Session, plan_session
from heatsoak.cli import common, completion
from heatsoak.cli.overview import length_text
from heatsoak.files import free_path
from heatsoak.output import Console, Text, announce, print_json, table_of
from heatsoak.protocol import load
from heatsoak.recording import Recording, find_recordings
from heatsoak.target import hctm, parse_place
from heatsoak.units import parse_number

if TYPE_CHECKING:
    from heatsoak.analysis import Findings
    from heatsoak.report.files import Reported

#: A plan of more steps than these is no longer read.
_SHOWN_STEPS = 200
#: What the runs of a matrix come to.
_SUMS = ("duration_s", "duration_without_probes_s", "written_bytes")
_DEMO_DRIVE = "samsung-950-pro-512"


def _threshold(name: str) -> Any:
    return common.option(
        f"--{name.lower()} C",
        f"Set an NVMe drive's HCTM threshold {name} for this run; 0 disables it.",
        reads=partial(parse_number, unit="C", low=0, high=200),
        is_rare=True,
        default=None,
    )


def run_command(
    drive: common.TestedOptions,
    wanted: common.ProtocolOptions,
    limits: common.LimitOptions,
    directory: str | None = common.argument("DIR", "A directory to test.", default=None),
    to: str | None = common.option(
        "TARGET",
        "The destination of a protocol that copies; --on is then the source.",
        offers=completion.targets,
        default=None,
    ),
    output: common.OutputOption = None,
    power_sensor: common.PowerSensorOption = None,
    tmt1_c: float | None = _threshold("TMT1"),
    tmt2_c: float | None = _threshold("TMT2"),
    stop_at: Any = common.limit_option("--stop-at", "Stop"),
    on_fall: common.OnFallOption = None,
    resume: bool = common.option(
        "--resume",
        "Resume what was started in -o, or the last run that was cut short.",
        default=False,
    ),
    dry_run: common.DryRunOption = False,
    output_format: common.FormatOption = "text",
    evidence: common.EvidenceOption = False,
    reference: common.ReferenceOption = None,
) -> int:
    on, erase = _target(drive.on, directory), drive.erase
    sensors = None if drive.sensors is None else Path(drive.sensors)
    falls = FallOptions(stop_at, "--stop-at", on_fall)
    references = common.referred_to(reference)
    resumes = output if resume else None
    if resume and output is None:
        resumes = directories.chosen(None, wanted.load().name, resume=True)
    planned = partial(
        plan_session,
        replace(parse_place(to or on), resumes=resumes),
        wanted.load,
        copy_from=None if to is None else lambda: parse_place(on),
        options=DriveOptions(power_sensor, sensors, hctm.Thresholds(tmt1_c, tmt2_c), falls),
        tell=None if dry_run else announce,
        warn=announce,
    )
    session = planned(erase_id=erase) if dry_run else _agreed(planned, erase)
    for note in () if session.place.is_simulated else hctm.left():
        announce(note.text)
    if dry_run:
        common.show_rows(session.preview(), output_format, print_preview)
        return 0
    into = directories.chosen(output or resumes, session.protocol.name, resume=resume)
    if resume and output is None:
        announce(f"resuming {into}")
    reached: errors.LimitReachedError | None = None
    try:
        recordings = session.record(into, resume=resume)
    except errors.LimitReachedError as error:
        reached, recordings = error, find_recordings(into)
    from heatsoak.analysis import analyze  # a dry run needs none of it

    findings = analyze(recordings, references=references)
    together = Path(os.path.commonpath([recording.path for recording in recordings]))
    common.show_findings(findings, recordings, output_format, evidence=evidence, paths=[together])
    return limits.exit_code(findings) if reached is None else common.limit_broken(str(reached))


def _target(on: str | None, directory: str | None) -> str:
    """What is to be tested; a device has to be named by ``--on``, which no slip of the hand is."""
    if on is not None and directory is not None:
        raise errors.UsageError(f"{directory}: --on {on} says already what is tested: leave it out")
    if directory is not None and not Path(directory).is_dir():
        raise errors.UsageError(f"{directory}: is no directory: name what is tested with --on")
    if (target := on or directory) is None:
        raise errors.UsageError(
            "name what is tested: a directory such as ., or --on with a drive (heatsoak list)"
        )
    return target


def _agreed(planned: Callable[..., Session], erase: str | None) -> Session:
    """The session; where its drive holds data, whoever sits there may agree to lose them."""
    try:
        return planned(erase_id=erase)
    except errors.NotEmptyError as found:
        if not by_hand.is_attended() or not by_hand.agrees_to_lose(found):
            raise
        return planned(erase_id=found.erase)


def demo_command(
    output: common.OutputOption = None, output_format: common.FormatOption = "text"
) -> None:
    directory = output or free_path(Path("heatsoak-demo"))
    session = plan_session(parse_place(f"sim:{_DEMO_DRIVE}"), lambda: load("puget"))
    try:
        recordings = session.record(directory)
    except errors.RunInterrupted as stopped:
        # demo itself cannot be resumed
        again = f"heatsoak run puget --on sim:{_DEMO_DRIVE} --resume -o {quote(str(directory))}"
        raise errors.RunInterrupted(str(stopped).replace("--resume", again)) from None
    from heatsoak.analysis import analyze  # these take a while to load
    from heatsoak.report.page.matrix import print_matrix

    findings = analyze(recordings)
    document = findings.model_dump_json(indent=1)
    writing.write_output(directory / "findings.json", document + "\n", replace=True)
    out = common.console()
    if output_format == "text":
        print_matrix(recordings, findings, out)  # before the page, which takes a while
    page = _write_page(recordings, findings, directory / "report.html")
    if output_format == "json":
        print_json(findings.model_dump(mode="json"))
        return
    out.print(f"Recordings and findings.json: heatsoak analyze {quote(str(directory))}")
    if page is not None:
        out.print(f"With charts: {page.path}, {words.size_text(page.bytes)}", soft_wrap=True)


def _write_page(
    recordings: Sequence[Recording], findings: "Findings", path: Path
) -> "Reported | None":
    """The page; a build without it says so, and the demo is none the worse for it."""
    # what makes it takes a while to load, and every command loads this module
    from heatsoak.report.files import write_report

    try:
        return write_report(recordings, findings, path)
    except errors.ToolError as error:
        announce(f"warning: no {path.name}: {error}")
        return None


def print_preview(runs: Sequence[dict[str, Any]], console: Console) -> None:
    """Print what ``--dry-run`` found: each run, or a matrix's cells and once the steps of each."""
    from heatsoak.report.findings import titled  # takes a while to load

    kinds = [(r["protocol"], r["target"], [step["step"] for step in r["steps"]]) for r in runs]
    is_matrix = len(runs) > 1 and all(kind == kinds[0] for kind in kinds)
    if is_matrix:
        _print_cells(runs, console)
    for run in runs[:1] if is_matrix else runs:
        if not is_matrix:
            console.print(titled(f"{run['protocol']} on {run['target']}", run["conditions"]))
            if run["set_up"]:
                console.print(Text(f"set up by hand: {by_hand.described(run['set_up'])}"))
            _print_heat([run], console)
        _print_run(run, console)


def _print_cells(runs: Sequence[dict[str, Any]], console: Console) -> None:
    """Print the cells of a matrix, in the order in which they are run."""
    total = {key: sum(run[key] for run in runs) for key in _SUMS}
    takes = length_text({**total, "has_rounds": runs[0]["has_rounds"]})
    what = f"{runs[0]['protocol']} on {runs[0]['target']}: {words.counted(len(runs), 'recording')}"
    written = f"at most {words.size_text(total['written_bytes'])} written"
    console.print(Text(f"{what}, {takes} in all; {written}", style="bold"))
    labels = [run["conditions"] for run in runs]
    keys = [key for key in labels[0] if any(own.get(key) != labels[0][key] for own in labels)]
    by_hands = [by_hand.described(run["set_up"]) for run in runs]
    table = table_of("", *keys, "By hand before it" if any(by_hands) else " ", numbers=("",))
    for number, (own, hands) in enumerate(zip(labels, by_hands, strict=True), 1):
        table.add_row(str(number), *(Text(str(own.get(key, ""))) for key in keys), Text(hands))
    console.print(table)
    _print_heat(runs, console)
    console.print("Each of them:")


def _print_heat(runs: Sequence[dict[str, Any]], console: Console) -> None:
    """Print what warms the case in runs, once each."""
    for heat, why_not in dict.fromkeys((h["heat"], h["why_not"]) for r in runs for h in r["heat"]):
        console.print(Text(f"heat: {heat}"))
        if why_not:
            console.print(Text(f"not available: {why_not}", style="yellow"))


def _print_run(run: dict[str, Any], console: Console) -> None:
    """Print the steps of a run, and what they come to."""
    for warning in run["warnings"]:
        console.print(Text(warning, style="yellow"))
    table = table_of("Step", "", "Takes", "Writes", "", numbers=("Takes", "Writes"))
    for step in run["steps"][:_SHOWN_STEPS]:
        about = "" if step["is_bound"] else "about "
        takes = f"{about}{words.duration_text(step['duration_s'])}"
        writes = f"at most {words.size_text(step['written_bytes'])}"
        table.add_row(
            Text(step["step"]),
            Text(step["workload"] or step["kind"]),
            takes if step["is_known"] else "as its trace",
            writes if step["written_bytes"] else "" if step["is_known"] else "as its trace",
            Text(step["condition"] or ""),
        )
    console.print(table)
    if (more := len(run["steps"]) - _SHOWN_STEPS) > 0:
        console.print(f"and {more:,} steps more: --format json has them all")
    usual = "the usual endurance of drives of this size"
    rated = "its rated endurance" if run["endurance_is_rated"] else usual
    console.print(
        f"Takes {length_text(run)}; at most {words.size_text(run['written_bytes'])} written to "
        f"{words.size_text(run['size_bytes'])}: {words.percent_text(run['endurance_pct'])} of "
        f"{rated} ({words.size_text(run['endurance_bytes'])})."
    )
    if run["simulation_s"] is not None:
        takes = words.duration_text(max(1.0, run["simulation_s"]))
        console.print(f"Simulating it takes about {takes} at most, without probes.")
    if run["unknown_steps"]:
        names = ", ".join(f"'{name}'" for name in run["unknown_steps"])
        console.print(Text(f"not counted, since it depends on the trace: {names}", style="yellow"))
    console.print(Text(f"speeds: {run['speeds_source']}", style="dim"))
