"""Findings as JUnit XML for build servers: a suite per recording, a case per step.

A step that throttles is a failure, that is, one with an episode caused by heat. So is one whose
mean is below a given limit. A step that could not be judged is skipped, and a run that failed or
was interrupted is an error. Episodes with another cause are in the output of a case.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from heatsoak.analysis import Findings, StepFindings
from heatsoak.analysis.names import Named, Names
from heatsoak.output import printable
from heatsoak.recording import RecordingMeta
from heatsoak.report.findings import sentence

_WHOLE_RUN = "the run as a whole"


def write_junit(
    findings: Findings, names: Names, path: Path, *, fail_below_mb_s: float | None = None
) -> None:
    """Write findings as JUnit XML; a step whose mean is below `fail_below_mb_s` fails too."""
    root = ElementTree.Element("testsuites", name="heatsoak")
    for named, recording in zip(names.recordings, findings.recordings, strict=True):
        root.append(_suite(named, recording.steps, fail_below_mb_s))
    for key in ("tests", "failures", "errors"):
        root.set(key, str(sum(int(suite.get(key, "0")) for suite in root)))
    ElementTree.indent(root)
    ElementTree.ElementTree(root).write(path, "utf-8", xml_declaration=True)


def _suite(
    named: Named, steps: Sequence[StepFindings], fail_below_mb_s: float | None
) -> ElementTree.Element:
    meta = named.recording.meta
    group = legal(f"{meta.protocol.name}.{named.label}")
    cases = [_case(step, group, fail_below_mb_s) for step in steps]
    if meta.status != "finished":
        cases.append(_unfinished(meta, group))
    suite = ElementTree.Element(
        "testsuite",
        name=legal(named.label),
        tests=str(len(cases)),
        failures=_count(cases, "failure"),
        errors=_count(cases, "error"),
        skipped=_count(cases, "skipped"),
        time=f"{sum(step.duration_s for step in steps):.3f}",
    )
    if meta.started_unix_s is not None:
        at = datetime.fromtimestamp(meta.started_unix_s, UTC)
        suite.set("timestamp", at.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = ElementTree.SubElement(suite, "properties")
    known = {"drive": meta.drive.get("model") or meta.drive.get("path"), **meta.conditions}
    for name, value in known.items():
        ElementTree.SubElement(properties, "property", name=legal(name), value=legal(str(value)))
    suite.extend(cases)
    return suite


def _case(step: StepFindings, group: str, fail_below_mb_s: float | None) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase", classname=group, name=legal(step.step), time=f"{step.duration_s:.3f}"
    )
    too_slow = (
        fail_below_mb_s is not None
        and step.mean_mb_s is not None
        and step.mean_mb_s < fail_below_mb_s
    )
    said = legal(sentence(step) or step.verdict)
    if step.throttles:
        add_child(case, "failure", "throttles", said, _evidence(step))
    elif too_slow:
        message = f"mean of {step.mean_mb_s:.0f} MB/s is below {fail_below_mb_s:g} MB/s"
        add_child(case, "failure", "too-slow", message, _evidence(step))
    elif step.why_unknown is not None:
        ElementTree.SubElement(case, "skipped", message=legal(step.why_unknown))
    ElementTree.SubElement(case, "system-out").text = f"{step.verdict}: {said}"
    return case


def _unfinished(meta: RecordingMeta, group: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=group, name=_WHOLE_RUN, time="0.000")
    cut = meta.status == "running"
    why = (
        "the recording was cut short, or is still running" if cut else f"the run was {meta.status}"
    )
    message = legal(f"{why}: {meta.reason}" if meta.reason else why)
    add_child(case, "error", "cut" if cut else meta.status, message, message)
    return case


def add_child(case: ElementTree.Element, tag: str, kind: str, message: str, text: str) -> None:
    """Add a failure or an error to a case."""
    ElementTree.SubElement(case, tag, type=kind, message=legal(message)).text = text


def _evidence(step: StepFindings) -> str:
    lines = (line for episode in step.episodes for line in episode.evidence)
    return legal("\n".join([*step.why, *lines]))


def _count(cases: Sequence[ElementTree.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))


def legal(text: str) -> str:
    """Return the text without control characters, most of which XML forbids, but with line ends."""
    return "\n".join(map(printable, text.split("\n")))
