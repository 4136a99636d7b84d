"""Findings as JUnit XML for build servers: a suite per recording, a case per step.

`outcome` says what fails. A step that could not be judged is skipped. Episodes with another cause
than heat are in the output of a case.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from heatsoak.analysis import Findings, StepFindings
from heatsoak.analysis.names import Named, Names
from heatsoak.report.steps import WHOLE_RUN, outcome_of, printable_lines, unfinished


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
    group = printable_lines(f"{meta.protocol.name}.{named.label}")
    cases = [_case(step, group, fail_below_mb_s) for step in steps]
    wrong = unfinished(meta)
    if wrong is not None:
        cases.append(_unfinished(*wrong, group))
    suite = ElementTree.Element(
        "testsuite",
        name=printable_lines(named.label),
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
        if value is None:
            continue
        ElementTree.SubElement(
            properties, "property", name=printable_lines(name), value=printable_lines(str(value))
        )
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


def _unfinished(kind: str, message: str, group: str) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=group, name=WHOLE_RUN, time="0.000")
    add_child(case, "error", kind, message, message)
    return case


def add_child(case: ElementTree.Element, tag: str, kind: str, message: str, text: str) -> None:
    """Add a failure or an error to a case."""
    added = ElementTree.SubElement(case, tag, type=kind, message=printable_lines(message))
    added.text = printable_lines(text)


def _count(cases: Sequence[ElementTree.Element], tag: str) -> str:
    return str(sum(case.find(tag) is not None for case in cases))
