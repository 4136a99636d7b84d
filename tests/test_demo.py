"""``heatsoak demo``, and all published figures held against its recordings and the others'."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from command import heatsoak, heatsoak_here
from heatsoak.analysis.judge import judge
from heatsoak.catalog import figure_ids
from heatsoak.recording import find_recordings
from heatsoak.reproduce import PlannedRecording, jobs_of, questions
from heatsoak.reproduce.rows import make_row
from heatsoak.reproduce.runner import FinishedRun, RunOrReason, make_recordings
from made_once import made_once
from waiting import until

DRIVE = "samsung-950-pro-512"
#: Replays fifty million I/Os.
DESTROYER = "storage-bench-destroyer"
#: Of the counted figures without those of the largest trace.
MIN_HOLDING = 65

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with ``demo``, and in ``said`` what the command said of it: not to be changed.

    It may be the demo of the wheel that was made before.
    """
    given: str | None = request.config.getoption("--demo")
    if given is not None:
        return request.config.rootpath / given

    def make(directory: Path) -> None:
        words = ("demo", "-o", "demo")
        done = heatsoak(*words, cwd=directory, timeout=1200)
        said = {"returncode": done.returncode, "stdout": done.stdout, "stderr": done.stderr}
        (directory / "said").write_text(json.dumps(said), "utf-8")

    return made_once(tmp_path_factory, "demo", make)


def test_a_demo_that_is_stopped_says_what_continues_it(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "heatsoak", "demo", "-o", "made"]
    with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as demo:
        assert until(lambda: any((tmp_path / "made").glob("*/samples.jsonl")), 60)
        demo.send_signal(signal.SIGINT)
        _, said = demo.communicate()
    assert demo.returncode == 130
    command = re.search(r"heatsoak (run puget .*) continues them", said)
    assert command is not None, said
    assert heatsoak_here(*command[1].split(), "--dry-run", cwd=tmp_path).returncode == 0


def test_the_demo_prints_the_matrix_and_leaves_recordings_and_findings(made: Path) -> None:
    done = subprocess.CompletedProcess("demo", **json.loads((made / "said").read_text("utf-8")))
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("│ upright") == 4
    held = re.search(r"(\d+) of 14 onsets and (\d+) of 14 depths", done.stdout)
    assert held is not None
    assert min(int(count) for count in held.groups()) >= 10
    page = (Path(__file__).parents[1] / "docs/which-slot.md").read_text("utf-8")
    shown = [line.rstrip() for line in page.splitlines() if line.startswith(tuple("┏┃┡│├└"))]
    printed = [line.rstrip() for line in done.stdout.splitlines()]
    assert shown
    assert set(shown) <= set(printed)
    findings = json.loads((made / "demo" / "findings.json").read_text())
    assert len(findings["recordings"]) == 14
    # a tree that was built without Node has no page, and says so
    has_page = (made / "demo" / "report.html").exists()
    assert ("report.html" in done.stdout) == has_page
    assert ("no report.html" in done.stderr) == (not has_page)
    again = heatsoak_here("analyze", "demo", "--format", "json", cwd=made)
    by_name = sorted(findings["recordings"], key=lambda recording: recording["path"])
    assert json.loads(again.stdout)["recordings"] == by_name
    step = findings["recordings"][0]["steps"][0]
    assert {"step", "workload", "duration_s", "verdict", "episodes", "consistency"} <= step.keys()
    assert {
        *("onset_s", "end_s", "before_mb_s", "during_mb_s", "depth_pct", "cause", "confidence"),
        *("evidence", "oscillates", "period_s", "recovered", "written_gb_at_onset"),
        "temp_c_at_onset",
    } <= step["episodes"][0].keys()


def test_those_that_heat_slows_most_are_shown(made: Path) -> None:
    first, *lines = heatsoak_here("analyze", "demo", cwd=made).stdout.splitlines()
    assert len(lines) <= 20
    # the one that the first line is about
    assert "top slot with 2 cards under load" in first
    assert any(line.startswith("top, 2 cards, loaded") for line in lines)


@pytest.mark.soak
def test_the_table_holds_where_no_trace_of_fifty_million_ios_is_replayed(
    made: Path, tmp_path: Path
) -> None:
    asked = [
        question
        for question in questions()
        if all(job.protocol != DESTROYER for job in question.jobs)
    ]
    left_out = set(figure_ids()) - {question.id for question in asked}
    assert left_out == {
        "sm951.destroyer_mb_s_delta_pct",
        "sm951.destroyer_us_delta_pct",
        "px1.storage_bench_gain_pct",
    }
    # the demo's recordings are those that `reproduce` would make, sample for sample
    outcomes: dict[PlannedRecording, RunOrReason] = {}
    for recording in find_recordings(made / "demo"):
        job = PlannedRecording("puget", DRIVE, recording.meta.drive["details"]["enclosure"])
        outcomes[job] = FinishedRun(job, recording, judge(recording))
    same = PlannedRecording("puget", DRIVE, "puget-top-2gpu-loaded")
    of_demo = outcomes.pop(same)
    others = [job for job in jobs_of(asked) if job not in outcomes]
    assert len(others) == len(jobs_of(asked)) - 13
    outcomes |= make_recordings(others, tmp_path)
    again = outcomes[same]
    assert isinstance(of_demo, FinishedRun)
    assert isinstance(again, FinishedRun)
    assert again.recording.samples().equals(of_demo.recording.samples())
    rows = [make_row(question, outcomes) for question in asked]
    counted = [row for row in rows if row.counted]
    assert len(counted) == 73 - len(left_out)
    assert sum(row.ok for row in counted) >= MIN_HOLDING
    for row in rows:
        assert row.ok or row.simulated is not None or row.why, row.id
        assert not (row.ok and row.simulated is None)
    assert all(row.ok for row in rows if row.role == "fitted")
