"""``heatsoak report`` as a user meets it: pages, pictures, tables, JUnit."""

import csv
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import numpy as np
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from compared import READ, falling, run, steady
from heatsoak import words
from heatsoak.analysis import Findings, analyze
from heatsoak.analysis.judge import read_and_judge
from heatsoak.facts.table import rows_of
from heatsoak.output import from_spreadsheet, printable
from heatsoak.recording import find_recordings
from heatsoak.report.page import html
from heatsoak.report.page.contract import Page
from idle_logs import idle_log
from ocptv import output as ocptv
from paged import HOSTILE, page_of

#: A program that is no page: these tests are of what goes around it.
LOAD, STAND_IN = html.Bundle.load, html.Bundle.of("document.title += '';", "body { margin: 0 }")


#: Of each element of Jenkins' JUnit schema, its attributes, and its children in their order.
JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors", "time", "disabled"}, ["testsuite"]),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        ["properties", "testcase", "system-out", "system-err"],
    ),
    "properties": (set(), ["property"]),
    "property": ({"name", "value"}, []),
    "testcase": (
        {"name", "classname", "time", "status", "assertions"},
        ["skipped", "error", "failure", "system-out", "system-err"],
    ),
    "skipped": ({"message"}, []),
    "error": ({"type", "message"}, []),
    "failure": ({"type", "message"}, []),
    "system-out": (set(), []),
}


@pytest.fixture(autouse=True, scope="module")
def bundle() -> Iterator[None]:
    with patch.object(html.Bundle, "load", lambda: STAND_IN):
        yield


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bare drive and one under a heatsink, both of which may only be read."""
    root = tmp_path_factory.mktemp("pair")
    run({"heatsink": "none"}, falling(60, 0.5), seed=1, temp_c=60.0).save(root / "r" / "bare")
    run({"heatsink": "big"}, steady(2000), seed=2, temp_c=60.0).save(root / "r" / "cooled")
    return root / "r"


@pytest.fixture(scope="module")
def findings(pair: Path) -> Findings:
    return analyze(find_recordings(pair))


def report(place: Path, what: Path, name: str, *words: str, code: int = 0) -> str:
    """Write a report into `place`; return what is said."""
    done = heatsoak_here("report", str(what), "-o", name, *words, cwd=place)
    assert done.returncode == code, done.stderr
    assert done.stderr.startswith("heatsoak: exit code 1: ") if code else done.stderr == ""
    return done.stdout


def page_in(path: Path) -> Page:
    text = path.read_text("utf-8")
    begin = text.index('id="heatsoak-page">') + len('id="heatsoak-page">')
    return Page.model_validate_json(text[begin : text.index("</script>", begin)])


@pytest.mark.slow
def test_a_page_has_the_recordings_and_their_comparison(
    pair: Path, findings: Findings, tmp_path: Path
) -> None:
    said = " ".join(report(tmp_path, pair, "x.html").split())
    page = page_in(tmp_path / "x.html")
    answer = findings.answer.sentence
    assert f"{page.headline.text} {answer} " in said
    assert answer in " ".join(page.headline.more)
    assert [recording.label for recording in page.recordings] == ["no heatsink", "heatsink big"]
    assert [comparison.by for comparison in page.comparisons] == ["heatsink"]
    assert "x.html" in said
    report(tmp_path, pair, "x.md")
    lines = (tmp_path / "x.md").read_text("utf-8").splitlines()
    assert lines[:3] == [answer, "", "- **50 %** of its speed lost: heat"]
    assert sum(" | read | " in line for line in lines) == 2


@pytest.mark.long
def test_what_a_browser_prints_is_a_report_and_without_one_it_says_what_to_install(
    pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report(tmp_path, pair, "x.pdf")
    assert (tmp_path / "x.pdf").read_bytes().startswith(b"%PDF")
    monkeypatch.setattr("heatsoak.tools.which", lambda _: None)
    line = complaint(heatsoak_here("report", str(pair), "-o", "y.pdf", cwd=tmp_path), 3)
    assert "chromium is not installed: apt-get install chromium" in line


def test_json_is_one_document_that_says_what_was_written(
    pair: Path, findings: Findings, tmp_path: Path
) -> None:
    told = json.loads(report(tmp_path, pair, "x.html", "--format", "json"))
    assert (told["path"], told["kind"], told["recordings"]) == ("x.html", "page", 2)
    assert told["bytes"] == (tmp_path / "x.html").stat().st_size
    assert told["headline"].startswith("With heatsink big, one run each: ")
    assert told["answer"] == findings.answer.sentence
    # without a comparison the headline is the answer
    told = json.loads(report(tmp_path, pair / "bare", "y.html", "--format", "json"))
    alone = analyze(find_recordings(pair / "bare"))
    assert (told["headline"], told["answer"]) == (alone.answer.sentence, None)


def test_what_is_compared_and_the_title_can_be_chosen(pair: Path, tmp_path: Path) -> None:
    words = ("--by", "heatsink", "--baseline", "big", "--title", "A & B")
    report(tmp_path, pair, "x.html", *words)
    page = page_in(tmp_path / "x.html")
    assert page.comparisons[0].baseline == "big"
    assert page.title == "A & B"
    assert "<title>A &amp; B</title>" in (tmp_path / "x.html").read_text("utf-8")


KNOWN = "use .html, .pdf, .png, .svg, .csv, .md, .xml or .jsonl"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *((["-o", name], KNOWN) for name in ("x.ps", "x", "x.", "x.HTM.bak")),
        (["-o", "x.html", "--by", "fan"], "fan"),
        (["-o", "x.html", "--baseline", "big"], "--by"),
    ],
)
def test_what_cannot_be_made_is_one_line_and_leaves_no_file(
    pair: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    line = complaint(heatsoak_here("report", str(pair), *words, cwd=tmp_path), 2)
    assert line.endswith(said) if said == KNOWN else said in line
    assert not list(tmp_path.iterdir())


def test_without_its_program_a_page_says_what_to_install_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(html.Bundle, "load", LOAD)
    monkeypatch.setattr(html, "_BUNDLE", tmp_path)
    line = complaint(heatsoak_here("report", "gone", "-o", "x.html", cwd=tmp_path), 3)
    assert "Node 20" in line
    assert "make build" in line


@pytest.mark.parametrize("step", ["read", "sequential-read"])
def test_terminal_page_and_table_show_what_the_row_of_a_step_has(tmp_path: Path, step: str) -> None:
    deepening = np.append(falling(90, 0.5)[:2100], steady(500, 90))
    for seed, (sink, rates) in enumerate((("big", steady(2000)), ("none", deepening))):
        power: dict[str, Any] = {"seed": seed, "more": {"power_w": 4.0 + seed}}
        made = run({"heatsink": sink}, {step: rates}, steps=[{**READ, "name": step}], **power)
        made.save(tmp_path / sink)
    recordings = list(find_recordings(tmp_path))
    opened, found = read_and_judge(recordings)
    cooled, bare = (rows_of(*both)[step] for both in zip(opened, found.recordings, strict=True))
    assert "onset_s" not in cooled
    assert bare["onset_s"] == pytest.approx(90, abs=1)
    assert bare["depth_pct"] < bare["depth_at_end_pct"] - 5

    page = page_of(recordings)
    assert page.matrix is not None
    held, fell = (cell.values for cell in page.matrix.cells)
    # beside published figures stands the depth by which those were drawn
    depth = "depth_at_end_pct" if step == "sequential-read" else "depth_pct"
    assert (fell["onset_s"].value, fell["depth_pct"].value) == (bare["onset_s"], bare[depth])
    keys = ("onset_s", "depth_pct", "mean_mb_s")
    assert [fell[f"w1.{key}"].value for key in keys] == [bare[key] for key in keys]
    assert [held[f"w1.{key}"].value for key in keys] == [None, None, cooled["mean_mb_s"]]
    bars = [(bar.value, bar.power_w) for bar in page.bars[0].bars]
    assert bars == [(row["mean_mb_s"], row["power_mean_w"]) for row in (cooled, bare)]

    report(tmp_path, tmp_path, "x.csv")
    lines = list(csv.DictReader((tmp_path / "x.csv").read_text("utf-8").splitlines()))
    told = json_here("analyze", "big", "none", "--format", "json", cwd=tmp_path)["recordings"]
    whole = ("duration_s", "mean_mb_s", "power_mean_w", "energy_j", "verdict")
    for row, line, judged in zip((cooled, bare), lines, told, strict=True):
        assert line["condition.heatsink"] == judged["conditions"]["heatsink"]
        assert [line[key] for key in whole] == [str(row[key]) for key in whole]
        assert [judged["steps"][0][key] for key in whole] == [row[key] for key in whole]
    of_table = [float(lines[1][key]) for key in ("onset_s", "depth_pct", "temp_c_at_onset")]
    assert of_table == [bare[key] for key in ("onset_s", "depth_pct", "onset_temp_c")]
    assert [line["episode"] for line in lines] == ["", "1"]
    assert (lines[0]["onset_s"], lines[0]["depth_pct"], lines[0]["evidence"]) == ("", "", "")
    said = heatsoak_here("analyze", "big", "none", cwd=tmp_path).stdout
    fall = words.percent_text(bare["depth_pct"]), words.duration_text(bare["onset_s"])
    assert "by {} after {}".format(*fall) in said


def junit(place: Path, name: str = "x.xml") -> ElementTree.Element:
    """Return what was written for build servers, after looking at its shape."""
    root = ElementTree.parse(place / name).getroot()
    for element in root.iter():
        allowed, children = JUNIT[element.tag]
        assert element.attrib.keys() <= allowed
        # what may stand in it, in this order
        places = [children.index(child.tag) for child in element]
        assert places == sorted(places)
    return root


def test_junit_fails_the_steps_that_throttle_and_no_others(
    pair: Path, findings: Findings, tmp_path: Path
) -> None:
    report(tmp_path, pair, "x.xml")
    root = junit(tmp_path)
    assert root.tag == "testsuites"
    assert root.get("failures") == "1"
    for suite, recording in zip(root, findings.recordings, strict=True):
        cases = suite.findall("testcase")
        assert suite.get("tests") == str(len(cases)) == str(len(recording.steps))
        assert suite.get("failures") == str(len(suite.findall("testcase/failure")))
        for case, step in zip(cases, recording.steps, strict=True):
            throttles = any(episode.cause == "thermal" for episode in step.episodes)
            assert (case.find("failure") is not None) == throttles
            assert case.get("name") == step.step
            assert float(case.get("time", "")) == pytest.approx(step.duration_s, abs=0.001)


def test_junit_skips_steps_that_were_not_judged_or_that_heat_may_have_slowed(
    tmp_path: Path,
) -> None:
    run({"n": 1}, steady(2000), status="running").save(tmp_path / "r" / "cut")
    run({"n": 2}, steady(2000)[:20], seed=2).save(tmp_path / "r" / "short")
    run({"n": 3}, np.repeat([2000.0, 800.0], 1500), temp_c=None).save(tmp_path / "r" / "unknown")
    report(tmp_path, tmp_path / "r", "x.xml")
    root = junit(tmp_path)
    assert (root.get("errors"), root.get("failures")) == ("1", "0")
    assert [suite.get("skipped") for suite in root] == ["0", "1", "1"]
    message = root.findall("testsuite/testcase/skipped")[-1].get("message", "")
    assert "fell by about 60 %" in message
    assert "heat is neither shown nor excluded" in message


def ocp_lines(path: Path) -> list[dict[str, Any]]:
    """Return the artifacts of OCP's lines, each with its kind, after looking at their frame."""
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [line.pop("sequenceNumber") for line in lines] == list(range(len(lines)))
    assert all(line.pop("timestamp").endswith("Z") for line in lines)
    major, minor = ocptv.__spec_version__.value
    assert lines.pop(0) == {"schemaVersion": {"major": major, "minor": minor}}
    found = []
    for line in lines:
        ((place, artifact),) = line.items()
        step = artifact.pop("testStepId", None)
        assert (place == "testStepArtifact") == (step is not None)
        ((kind, content),) = artifact.items()
        found.append({"kind": kind, "step": step, **content})
    return found


def test_ocp_lines_say_what_junit_says_also_of_what_is_slower_than_was_asked_for(
    pair: Path, findings: Findings, tmp_path: Path
) -> None:
    for name in ("x.jsonl", "x.xml"):
        report(tmp_path, pair, name, "--fail-below", "1500MB/s", code=1)
    first, *middle, last = ocp_lines(tmp_path / "x.jsonl")
    assert (first["kind"], first["name"]) == ("testRunStart", "heatsoak")
    assert (last["kind"], last["status"], last["result"]) == ("testRunEnd", "COMPLETE", "FAIL")
    drives = [one["hardwareInfoId"] for one in first["dutInfo"]["hardwareInfos"]]
    assert len(set(drives)) == 2
    root = junit(tmp_path)
    assert [suite.get("failures") for suite in root] == ["1", "0"]
    cases = root.findall("testsuite/testcase")
    assert {one["step"] for one in middle} == {str(number) for number in range(len(cases))}
    for number, (case, recording) in enumerate(zip(cases, findings.recordings, strict=True)):
        of_step = [one for one in middle if one["step"] == str(number)]
        assert (of_step[0]["kind"], of_step[-1]["kind"]) == ("testStepStart", "testStepEnd")
        (diagnosis,) = [one for one in of_step if one["kind"] == "diagnosis"]
        failure = case.find("failure")
        assert ocptv.DiagnosisType(diagnosis["type"]) is (
            ocptv.DiagnosisType.PASS if failure is None else ocptv.DiagnosisType.FAIL
        )
        if failure is not None:
            told = (diagnosis["verdict"], diagnosis["message"])
            assert told == (failure.get("type"), failure.get("message"))
        assert diagnosis["hardwareInfoId"] == drives[number]
        measured = {one["name"]: one for one in of_step if one["kind"] == "measurement"}
        (step,) = recording.steps
        assert measured["mean_mb_s"]["value"] == pytest.approx(step.mean_mb_s, abs=0.001)
        (validator,) = measured["mean_mb_s"]["validators"]
        assert ocptv.ValidatorType(validator["type"]) is ocptv.ValidatorType.GREATER_THAN_OR_EQUAL
        assert validator["value"] == 1500
        assert ("onset_s" in measured) == bool(step.episodes)
        for episode in step.episodes:
            assert measured["depth_pct"]["value"] == pytest.approx(episode.depth_pct, abs=0.001)
            assert measured["depth_pct"]["metadata"]["cause"] == "thermal"


def test_ocp_lines_name_the_drive_and_the_machine_and_what_went_wrong(tmp_path: Path) -> None:
    drive = {"model": "M 1", "serial": "S1", "details": {"firmware": "F1"}}
    recording = run({"n": 1}, steady(2000), status="running", drive=drive)
    recording.meta.host.update({"system": "Linux", "release": "6.1", "machine": "x86_64"})
    recording.save(tmp_path / "cut")
    report(tmp_path, tmp_path / "cut", "x.jsonl")
    first, *middle, last = ocp_lines(tmp_path / "x.jsonl")
    (shown,) = first["dutInfo"]["hardwareInfos"]
    assert (shown["name"], shown["serialNumber"], shown["revision"]) == ("M 1", "S1", "F1")
    assert first["dutInfo"]["platformInfos"] == [{"info": "Linux 6.1 x86_64"}]
    (error,) = [one for one in middle if one["kind"] == "error"]
    assert (error["symptom"], "cut short" in error["message"]) == ("cut", True)
    ends = [one["status"] for one in middle if one["kind"] == "testStepEnd"]
    assert ends == ["COMPLETE", "ERROR"]
    assert (last["status"], last["result"]) == ("ERROR", "NOT_APPLICABLE")


def test_ocp_lines_of_what_was_not_judged_are_no_pass(tmp_path: Path) -> None:
    run({"n": 2}, steady(2000)[:20], seed=2).save(tmp_path / "short")
    report(tmp_path, tmp_path / "short", "x.jsonl")
    *_, diagnosis, _, last = ocp_lines(tmp_path / "x.jsonl")
    assert (diagnosis["type"], "too short" in diagnosis["message"]) == ("UNKNOWN", True)
    assert (last["status"], last["result"]) == ("SKIP", "NOT_APPLICABLE")


def test_without_a_library_it_is_said_how_to_get_it(
    pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("ocptv", "ocptv.output"):
        monkeypatch.setitem(sys.modules, module, None)
    line = complaint(heatsoak_here("report", str(pair), "-o", "x.jsonl", cwd=tmp_path), 3)
    assert "pip install ocptv" in line


@pytest.mark.slow
def test_hostile_labels_do_no_harm(tmp_path: Path) -> None:
    for number, text in enumerate(HOSTILE):
        recording = run({"label": text}, falling(60, 0.5), seed=number, drive={"model": text})
        recording.save(tmp_path / "r" / str(number))
    for suffix in ("html", "csv", "xml", "svg", "png", "jsonl"):
        report(tmp_path, tmp_path / "r", f"x.{suffix}")
    for suffix in ("xml", "svg"):
        root = ElementTree.parse(tmp_path / f"x.{suffix}").getroot()
        assert not [element for element in root.iter() if element.tag.endswith("script")]
    with (tmp_path / "x.csv").open(newline="", encoding="utf-8") as file:
        labels = [row["condition.label"] for row in csv.DictReader(file)]
    assert not [label for label in labels if label.startswith("=")]
    assert {printable(text) for text in HOSTILE} <= set(map(from_spreadsheet, labels))


@pytest.mark.slow
def test_a_picture_names_its_axes_with_units_and_is_the_same_again(
    pair: Path, tmp_path: Path
) -> None:
    for name in ("x.svg", "y.svg"):
        report(tmp_path, pair, name)
    text = (tmp_path / "x.svg").read_text("utf-8")
    for label in ("throughput, MB/s", "temperature, C", "seconds from the start of the step"):
        assert f"<!-- {label} -->" in text
    assert (tmp_path / "y.svg").read_text("utf-8") == text


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 2])
def test_a_picture_of_drives_that_were_never_loaded_has_their_temperatures(
    tmp_path: Path, count: int
) -> None:
    logs = [idle_log(tmp_path / f"pc-{number}.csv", number).name for number in range(count)]
    done_here("report", *logs, "-o", "x.svg", cwd=tmp_path)
    text = (tmp_path / "x.svg").read_text("utf-8")
    for label in ("temperature, C", "throughput, MB/s", "seconds from the start of the log"):
        assert f"<!-- {label} -->" in text
    # beside a single drive stands what warmed it
    assert ("<!-- the graphics card -->" in text) == (count == 1)
    assert heatsoak_here("report", *logs, "-o", "x.png", cwd=tmp_path).returncode == 0
    image = (tmp_path / "x.png").read_bytes()
    width, height = struct.unpack(">II", image[16:24])
    assert 900 <= width <= 2400
    assert 600 <= height <= 2400


@pytest.mark.slow
def test_no_other_command_waits_for_what_a_report_needs() -> None:
    code = (
        "import sys, typer, heatsoak.cli.app;"
        "dict(typer.main.get_command(heatsoak.cli.app.app).commands);"
        "print([m for m in ('matplotlib', 'heatsoak.report.page.make') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
