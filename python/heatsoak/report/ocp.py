"""Findings as lines of the Open Compute Project's test and validation output, in JSON.

One test run for all recordings, on one device under test: the machine, with a piece of hardware for
each recording's drive. A test step for each judged step has its measurements and a diagnosis.

Source: specification 2.0, https://github.com/opencomputeproject/ocp-diag-core/tree/main/json_spec
"""

import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import heatsoak
from heatsoak.analysis import Findings, StepFindings
from heatsoak.analysis.names import Names
from heatsoak.errors import ToolError
from heatsoak.output import printable
from heatsoak.recording import RecordingMeta
from heatsoak.report.steps import WHOLE_RUN, Outcome, outcome_of, unfinished
from heatsoak.words import rate_text

if TYPE_CHECKING:
    from ocptv import output as ocptv
    from ocptv.output.dut import HardwareInfo
    from ocptv.output.step import TestStep

_MISSING = "OCP results need ocptv: pip install ocptv, or name a .xml file with -o"


def require_ocptv() -> None:
    """Raise ToolError if the library that writes the lines is not installed."""
    try:
        import ocptv.output  # noqa: F401
    except ImportError as error:
        raise ToolError(_MISSING) from error


def write_ocp(
    findings: Findings, names: Names, partial: Path, *, fail_below_mb_s: float | None = None
) -> None:
    """Write findings as OCP's lines; a step whose mean is below `fail_below_mb_s` fails too."""
    require_ocptv()
    from ocptv import output as ocptv
    from ocptv.output.config import get_config

    lines: list[str] = []
    before = get_config().writer
    limit = fail_below_mb_s
    ocptv.config(writer=_writer_to(lines.append))
    try:
        run = ocptv.TestRun(
            name="heatsoak",
            version=heatsoak.__version__,
            command_line=printable(shlex.join(sys.argv)),
            parameters={} if limit is None else {"fail_below": rate_text(limit)},
        )
    finally:
        ocptv.config(writer=before)
    _write(run, findings, names, fail_below_mb_s)
    partial.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")


def _writer_to(take: Callable[[str], None]) -> Any:
    from ocptv import output as ocptv

    class Taker(ocptv.Writer):
        def write(self, buffer: str) -> None:
            take(buffer)

    return Taker()


def _write(
    run: "ocptv.TestRun", findings: Findings, names: Names, fail_below_mb_s: float | None
) -> None:
    from ocptv.output import Dut, TestResult, TestStatus

    dut = Dut(id="machine")
    metas = [named.recording.meta for named in names.recordings]
    for about in dict.fromkeys(_machine(meta.host) for meta in metas):
        if about:
            dut.add_platform_info(about)
    drives = [_drive(dut, meta) for meta in metas]
    run.start(dut=dut)
    outcomes: list[Outcome] = []
    ended_badly = False
    for named, drive, recording in zip(names.recordings, drives, findings.recordings, strict=True):
        label = f"{printable(named.label)}: " if len(metas) > 1 else ""
        for one in recording.steps:
            outcome = outcome_of(one, fail_below_mb_s)
            outcomes.append(outcome)
            step = run.add_step(f"{label}{printable(one.step)}")
            step.start()
            _measurements(step, one, drive, fail_below_mb_s)
            _diagnosis(step, one, outcome, drive)
            step.end(status=TestStatus.COMPLETE)
        wrong = unfinished(named.recording.meta)
        if wrong is not None:
            ended_badly = True
            step = run.add_step(f"{label}{WHOLE_RUN}")
            step.start()
            step.add_error(symptom=wrong[0], message=wrong[1], source_location=None)
            step.end(status=TestStatus.ERROR)
    results = {one.result for one in outcomes}
    if ended_badly:
        run.end(status=TestStatus.ERROR, result=TestResult.NOT_APPLICABLE)
    elif "fail" in results:
        run.end(status=TestStatus.COMPLETE, result=TestResult.FAIL)
    elif "pass" in results:
        run.end(status=TestStatus.COMPLETE, result=TestResult.PASS)
    else:
        run.end(status=TestStatus.SKIP, result=TestResult.NOT_APPLICABLE)


def _machine(host: dict[str, Any]) -> str:
    known = [str(host[key]) for key in ("system", "release", "machine") if host.get(key)]
    if host.get("cpus"):
        known.append(f"{host['cpus']} CPUs")
    return printable(" ".join(known))


def _drive(dut: "ocptv.Dut", meta: RecordingMeta) -> "HardwareInfo":
    drive = meta.drive
    serial, firmware = drive.get("serial"), (drive.get("details") or {}).get("firmware")
    return dut.add_hardware_info(
        name=printable(str(drive.get("model") or drive.get("path") or "a drive")),
        serial_no=None if serial is None else printable(str(serial)),
        revision=None if firmware is None else printable(str(firmware)),
        location=printable(str(drive["path"])) if drive.get("path") else None,
    )


def _measurements(
    step: "TestStep", one: StepFindings, drive: "HardwareInfo", fail_below_mb_s: float | None
) -> None:
    from ocptv.output import Metadata, Validator, ValidatorType

    def add(name: str, value: float | None, unit: str, **more: Any) -> None:
        if value is not None:
            step.add_measurement(
                name=name, value=round(value, 3), unit=unit, hardware_info=drive, **more
            )

    limits = []
    if fail_below_mb_s is not None:
        limits = [
            Validator(
                type=ValidatorType.GREATER_THAN_OR_EQUAL, value=fail_below_mb_s, name="fail_below"
            )
        ]
    add("mean_mb_s", one.mean_mb_s, "MB/s", validators=limits)
    add("max_temp_c", one.max_temp_c, "C")
    for number, episode in enumerate(one.episodes, 1):
        about = Metadata(episode=number, cause=episode.cause, confidence=episode.confidence)
        add("onset_s", episode.onset_s, "s", metadata=about)
        add("depth_pct", episode.depth_pct, "%", metadata=about)


def _diagnosis(
    step: "TestStep", one: StepFindings, outcome: Outcome, drive: "HardwareInfo"
) -> None:
    from ocptv.output import DiagnosisType, LogSeverity

    kinds = {"pass": DiagnosisType.PASS, "fail": DiagnosisType.FAIL}
    step.add_diagnosis(
        # no failure for a build server, but nothing that was shown to be well
        DiagnosisType.UNKNOWN
        if outcome.result == "pass" and one.verdict == "unknown"
        else kinds.get(outcome.result, DiagnosisType.UNKNOWN),
        verdict=outcome.kind,
        message=outcome.message,
        hardware_info=drive,
        source_location=None,
    )
    for line in filter(None, outcome.evidence.split("\n")):
        step.add_log(LogSeverity.INFO, line, source_location=None)
