"""What recordings come to for build and test servers: pass or fail.

A step that throttles fails, that is, one with an episode caused by heat. So does one whose mean is
below a given limit, and a drive that warns itself. A step that heat may have slowed is not judged.
A run that failed or was interrupted is an error.

As JUnit XML, a suite for each recording, a case for each step: a step that could not be judged is
skipped, and episodes with another cause than heat are in the output of a case. As lines of the Open
Compute Project's test and validation output, in JSON, one test run for all recordings, on one
device under test: the machine or rack, with a piece of hardware for each recording's drive. A test
step for each judged step has its measurements and a diagnosis. Source: specification 2.0,
https://github.com/opencomputeproject/ocp-diag-core/tree/main/json_spec
"""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Literal
from xml.etree import ElementTree

import heatsoak
from heatsoak.analysis import Findings, StepFindings
from heatsoak.analysis.definitions import METRICS
from heatsoak.analysis.findings import RecordingFindings
from heatsoak.analysis.names import Named, Names
from heatsoak.analysis.view import RecordingView
from heatsoak.errors import ToolError
from heatsoak.facts.table import Row, rows_of
from heatsoak.output import printable
from heatsoak.recording import RecordingMeta
from heatsoak.report.steps import sentence
from heatsoak.words import rate_text

if TYPE_CHECKING:
    from ocptv import output as ocptv
    from ocptv.output.dut import HardwareInfo
    from ocptv.output.step import TestStep

#: The names of what is no step.
WHOLE_RUN, ITS_HEALTH = "the run as a whole", "what the drive itself warns of"
_BESIDE_OTHERS = "beside others of its model"
#: Measures that findings have, also of steps without rates, and of each episode.
_JUDGED = ("mean_mb_s", "temp_max_c", "onset_s", "depth_pct")


@dataclass(frozen=True)
class StepOutcome:
    """What a step comes to.

    Attributes:
        kind: ``throttles``, ``too-slow`` or ``alarm`` of one that fails, otherwise its verdict.
        message: why it fails, or could not be judged; otherwise what was seen.
        said: what was seen, in a sentence.
        evidence: a line for each piece of it.
    """

    result: Literal["pass", "fail", "not-judged"]
    kind: str
    message: str
    said: str
    evidence: str


def outcome_of(step: StepFindings, fail_below_mb_s: float | None) -> StepOutcome:
    """Return what a step comes to; its text is without control characters."""
    said = printable_lines(sentence(step) or step.verdict)
    lines = (line for episode in step.episodes for line in episode.evidence)
    evidence = printable_lines(
        "\n".join([*(text for text in step.reasons if text not in said), *lines])
    )
    mean_mb_s = step.mean_mb_s
    heat = step.claim.heat
    if heat == "yes":
        return StepOutcome("fail", "throttles", said, said, evidence)
    if fail_below_mb_s is not None and mean_mb_s is not None and mean_mb_s < fail_below_mb_s:
        message = f"mean of {rate_text(mean_mb_s)} is below {rate_text(fail_below_mb_s)}"
        return StepOutcome("fail", "too-slow", message, said, evidence)
    if heat == "open" or step.claim.what == "unseen":
        message = f"{said}; heat is neither shown nor excluded" if heat == "open" else said
        return StepOutcome("not-judged", step.verdict, message, said, evidence)
    return StepOutcome("pass", step.verdict, said, said, evidence)


def unfinished(meta: RecordingMeta) -> tuple[str, str] | None:
    """Return how a run ended badly, in a word and in a sentence; None if it did not."""
    if meta.status == "finished":
        return None
    cut = meta.status == "running"
    why = (
        "the recording was cut short, or is still running" if cut else f"the run was {meta.status}"
    )
    message = printable_lines(f"{why}: {meta.reason}" if meta.reason else why)
    return ("cut" if cut else meta.status), message


def printable_lines(text: str) -> str:
    """Return the text without control characters, but with line ends."""
    return "\n".join(map(printable, text.split("\n")))


def write_junit(
    findings: Findings, names: Names, file: IO[bytes], *, fail_below_mb_s: float | None = None
) -> None:
    """Write findings as JUnit XML; a step whose mean is below `fail_below_mb_s` fails too."""
    pairs = zip(names.recordings, findings.recordings, strict=True)
    write_suites("heatsoak", [_suite(*pair, fail_below_mb_s) for pair in pairs], file)


_COUNTED = {"tests": ".", "failures": "failure", "errors": "error", "skipped": "skipped"}


def write_suites(name: str, suites: Sequence[ElementTree.Element], file: IO[bytes]) -> None:
    """Write suites of cases, counted, as JUnit XML."""
    root = ElementTree.Element("testsuites", name=name)
    root.extend(suites)
    for key, tag in _COUNTED.items():
        for suite in suites:
            suite.set(key, str(len(suite.findall(f"testcase/{tag}"))))
        if key != "skipped":  # which all suites together do not say
            root.set(key, str(sum(int(suite.get(key, "0")) for suite in suites)))
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(file, "utf-8", xml_declaration=True)


def _suite(
    named: Named, recording: RecordingFindings, fail_below_mb_s: float | None
) -> ElementTree.Element:
    meta, steps = named.recording.meta, recording.steps
    group = printable_lines(f"{meta.protocol.name}.{named.label}")
    cases = [_case(step, group, fail_below_mb_s) for step in steps]
    if (alarm := recording.answer.alarm) is not None:
        cases.append(_of_run(group, ITS_HEALTH, "failure", "alarm", alarm, ""))
    wrong = unfinished(meta)
    if wrong is not None:
        kind, message = wrong
        cases.append(_of_run(group, WHOLE_RUN, "error", kind, message, message))
    suite = ElementTree.Element(
        "testsuite",
        name=printable_lines(named.label),
        time=f"{sum(step.duration_s for step in steps):.3f}",
    )
    if meta.started_unix_s is not None:
        at = datetime.fromtimestamp(meta.started_unix_s, UTC)
        suite.set("timestamp", at.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = ElementTree.SubElement(suite, "properties")
    known = {"drive": meta.drive.get("model") or meta.drive.get("path"), **meta.conditions}
    for name, value in known.items():
        if value is not None:
            told = {"name": printable_lines(name), "value": printable_lines(str(value))}
            ElementTree.SubElement(properties, "property", told)
    suite.extend(cases)
    return suite


def _case(step: StepFindings, group: str, fail_below_mb_s: float | None) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", classname=group, name=printable_lines(step.step), time=f"{step.duration_s:.3f}"
    )
    outcome = outcome_of(step, fail_below_mb_s)
    if outcome.result == "fail":
        add_child(case, "failure", outcome.kind, outcome.message, outcome.evidence)
    elif outcome.result == "not-judged":
        ElementTree.SubElement(case, "skipped", message=outcome.message)
    ElementTree.SubElement(case, "system-out").text = f"{step.verdict}: {outcome.said}"
    return case


def _of_run(group: str, name: str, *failed: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=group, name=name, time="0.000")
    add_child(case, *failed)
    return case


def add_child(case: ElementTree.Element, tag: str, kind: str, message: str, text: str) -> None:
    """Add to a case a failure, an error, or why it was skipped."""
    added = ElementTree.SubElement(case, tag, type=kind, message=printable_lines(message))
    added.text = printable_lines(text)


_MISSING = "OCP results need ocptv: pip install ocptv, or name a .xml file with -o"


def require_ocptv() -> None:
    """Raise ToolError if the library that writes the lines is not installed."""
    try:
        import ocptv.output  # noqa: F401
    except ImportError as error:
        raise ToolError(_MISSING) from error


@dataclass(frozen=True)
class RunOnDrive:
    """A run as OCP's lines tell of it.

    Attributes:
        label: begins the names of its steps; empty for a run alone.
        drive: the :func:`piece`; runs on one drive share the object.
        findings: None without a recording that can be judged.
        rows: of `facts.table`, by the names of steps in `findings`.
        wrong: how it ended badly, in a word and in a sentence.
        worse: how the drive is worse than others of its model.
    """

    label: str
    drive: Mapping[str, str]
    findings: RecordingFindings | None
    rows: Mapping[str, Row]
    wrong: tuple[str, str] | None
    worse: str | None = None
    machine: str = ""


def rows_by_step(named: Named, found: RecordingFindings) -> Mapping[str, Row]:
    """Return the rows of `facts.table` by the names of steps."""
    return rows_of(RecordingView(named.recording), found) if found.steps else {}


def runs_of(findings: Findings, names: Names) -> list[RunOnDrive]:
    """Return the runs of recordings, each on a piece of its own."""
    return [
        RunOnDrive(
            label=named.label if len(names.recordings) > 1 else "",
            drive=_drive(named.recording.meta.drive),
            findings=found,
            rows=rows_by_step(named, found),
            wrong=unfinished(named.recording.meta),
            machine=_machine(named.recording.meta.host),
        )
        for named, found in zip(names.recordings, findings.recordings, strict=True)
    ]


def write_ocp(
    runs: Sequence[RunOnDrive], file: IO[bytes], *, fail_below_mb_s: float | None = None
) -> None:
    """Write runs as OCP's lines; a step whose mean is below `fail_below_mb_s` fails too."""
    require_ocptv()
    from ocptv import output as ocptv
    from ocptv.output.config import get_config

    lines: list[str] = []
    before = get_config().writer
    limit = fail_below_mb_s
    taker = type("Taker", (ocptv.Writer,), {"write": lambda _, line: lines.append(line)})
    ocptv.config(writer=taker())
    try:
        run = ocptv.TestRun(
            name="heatsoak",
            version=heatsoak.__version__,
            command_line=printable(shlex.join(sys.argv)),
            parameters={} if limit is None else {"fail_below": rate_text(limit)},
        )
    finally:
        ocptv.config(writer=before)
    _write(run, runs, limit)
    file.write("".join(f"{line}\n" for line in lines).encode())


def _write(run: "ocptv.TestRun", runs: Sequence[RunOnDrive], limit_mb_s: float | None) -> None:
    from ocptv.output import Dut, TestResult, TestStatus

    dut = Dut(id="machine")
    for about in dict.fromkeys(one.machine for one in runs if one.machine):
        dut.add_platform_info(about)
    words = {id(one.drive): one.drive for one in runs}
    drives = {of: dut.add_hardware_info(**known) for of, known in words.items()}
    run.start(dut=dut)
    results: set[str] = set()
    for one in runs:
        drive, label = drives[id(one.drive)], one.label and f"{printable(one.label)}: "
        for name, outcome, found in _outcomes(one, limit_mb_s):
            results.add(outcome.result)
            step = run.add_step(f"{label}{name}")
            with step.scope():
                if found is not None:
                    _measurements(step, found, one.rows[found.step], drive, limit_mb_s)
                _diagnosis(step, outcome, drive)
        if one.wrong is not None:
            step = run.add_step(f"{label}{WHOLE_RUN}")
            step.start()
            step.add_error(symptom=one.wrong[0], message=one.wrong[1], source_location=None)
            step.end(status=TestStatus.ERROR)
    if any(one.wrong for one in runs):
        run.end(status=TestStatus.ERROR, result=TestResult.NOT_APPLICABLE)
    elif "fail" in results:
        run.end(status=TestStatus.COMPLETE, result=TestResult.FAIL)
    elif "pass" in results:
        run.end(status=TestStatus.COMPLETE, result=TestResult.PASS)
    else:
        run.end(status=TestStatus.SKIP, result=TestResult.NOT_APPLICABLE)


def _outcomes(
    run: RunOnDrive, limit_mb_s: float | None
) -> Iterator[tuple[str, StepOutcome, StepFindings | None]]:
    """The outcomes of a run's judged steps, then what else is wrong with its drive."""
    alarm = None
    if run.findings is not None:
        alarm = run.findings.answer.alarm
        for one in run.findings.steps:
            yield printable(one.step), outcome_of(one, limit_mb_s), one
    for name, kind, said in ((ITS_HEALTH, "alarm", alarm), (_BESIDE_OTHERS, "worse", run.worse)):
        if said is not None:
            yield name, StepOutcome("fail", kind, printable_lines(said), "", ""), None


def _machine(host: Mapping[str, Any]) -> str:
    known = [str(host[key]) for key in ("system", "release", "machine") if host.get(key)]
    if host.get("cpus"):
        known.append(f"{host['cpus']} CPUs")
    return printable(" ".join(known))


def piece(**known: Any) -> Mapping[str, str]:
    """Return what `ocptv` takes of a drive: its name, ``serial_no`` and so on, where known."""
    return {key: printable(str(value)) for key, value in known.items() if value}


def _drive(drive: Mapping[str, Any]) -> Mapping[str, str]:
    return piece(
        name=drive.get("model") or drive.get("path") or "a drive",
        serial_no=drive.get("serial"),
        revision=(drive.get("details") or {}).get("firmware"),
        location=drive.get("path"),
    )


def _measurements(
    step: "TestStep",
    one: StepFindings,
    row: Row,
    drive: "HardwareInfo",
    fail_below_mb_s: float | None,
) -> None:
    from ocptv.output import Metadata, Validator, ValidatorType

    def add(name: str, value: float | None, unit: str, **more: Any) -> None:
        if value is not None:
            step.add_measurement(
                name=name, value=round(value, 3), unit=unit, hardware_info=drive, **more
            )

    limits, least = [], ValidatorType.GREATER_THAN_OR_EQUAL
    if fail_below_mb_s is not None:
        limits = [Validator(type=least, value=fail_below_mb_s, name="fail_below")]
    add("mean_mb_s", one.mean_mb_s, "MB/s", validators=limits)
    add("max_temp_c", one.max_temp_c, "C")
    for name in filter(lambda name: name not in _JUDGED, METRICS):
        add(name, row.get(name), METRICS[name].unit)
    for number, episode in enumerate(one.episodes, 1):
        about = Metadata(episode=number, cause=episode.cause, confidence=episode.confidence)
        add("onset_s", episode.onset_s, "s", metadata=about)
        add("depth_pct", episode.depth_pct, "%", metadata=about)


def _diagnosis(step: "TestStep", outcome: StepOutcome, drive: "HardwareInfo") -> None:
    from ocptv.output import DiagnosisType, LogSeverity

    kinds = {"pass": DiagnosisType.PASS, "fail": DiagnosisType.FAIL}
    # no failure for a build server, but nothing that was shown to be well
    result = "not-judged" if outcome.kind == "unknown" else outcome.result
    step.add_diagnosis(
        kinds.get(result, DiagnosisType.UNKNOWN),
        verdict=outcome.kind,
        message=outcome.message,
        hardware_info=drive,
        source_location=None,
    )
    for line in filter(None, outcome.evidence.split("\n")):
        step.add_log(LogSeverity.INFO, line, source_location=None)
