"""The rows of a page: what each step shows, the same as in the terminal."""

import io

import numpy as np
import pytest
from compared import READ, falling, run, steady
from heatsoak.analysis import analyze
from heatsoak.output import Console
from heatsoak.recording import InMemoryRecording
from heatsoak.report.findings import print_first_screen
from paged import page_of

SHORT = np.full(20, 2000.0)


def three_steps(seed: int = 1, **conditions: object) -> InMemoryRecording:
    """A step that falls, a steady one, and one that is too short to judge."""
    rates = {"falling": falling(60, 0.5), "even": steady(2000), "brief": SHORT}
    steps = [{**READ, "name": name} for name in rates]
    return run(dict(conditions), rates, steps=steps, seed=seed)


def screen(recording: InMemoryRecording) -> list[str]:
    out = io.StringIO()
    print_first_screen(analyze([recording]), [recording], Console(file=out, width=200), None)
    return out.getvalue().splitlines()


def test_a_row_says_of_a_step_what_the_terminal_says() -> None:
    recording = three_steps()
    lines = screen(recording)
    for workload in page_of([recording]).workloads:
        (line,) = [line for line in lines if line.startswith(f"{workload.step} ")]
        (verdict,) = workload.verdicts
        assert f" {verdict} " in f"{line} "
        assert line.rstrip().endswith(workload.summary)
        assert f" {workload.rate.removesuffix(' MB/s')} " in line
        assert f" {workload.hottest} " in line


def test_steps_that_could_not_be_judged_are_not_counted_as_steady() -> None:
    page = page_of([three_steps(n, n=n) for n in (1, 2)])
    by_step = {one.step: one for one in page.workloads}
    assert by_step["brief"].verdicts == {"unknown": 2}
    assert by_step["brief"].summary == "2 of 2 not judged"
    assert by_step["even"].verdicts == {"steady": 2}
    assert page.headline.counts["unknown"] >= 2
    assert sum(page.headline.counts.values()) == 6
    assert not any("steady" in text for text in page.headline.more)


def test_the_row_of_several_runs_says_how_many_fell_and_between_what() -> None:
    recordings = [
        run({"heatsink": "none"}, falling(60, 0.5), seed=1),
        run({"heatsink": "fins"}, falling(90, 0.7), seed=2),
        run({"heatsink": "block"}, steady(2000), seed=3),
    ]
    (row,) = page_of(recordings).workloads
    assert row.summary.startswith("2 of 3 ")
    assert "by 30 to 50 %" in row.summary
    assert sum(row.verdicts.values()) == 3
    assert " to 2,0" in row.rate


@pytest.mark.parametrize(("count", "opened"), [(1, 1), (2, 2), (6, 1), (60, 0)])
def test_only_what_a_reader_came_for_is_open_at_once(count: int, opened: int) -> None:
    steps = [{**READ, "name": f"step-{number}"} for number in range(count)]
    rates = {str(step["name"]): steady(1000, 30) for step in steps}
    rates["step-0" if count == 1 else f"step-{count // 2}"] = falling(60, 0.5)
    workloads = page_of([run({}, rates, steps=steps)]).workloads
    shown = [one.step for one in workloads if one.is_open]
    assert len(shown) == opened
    if opened == 1:
        assert shown == [f"step-{count // 2}"]


def test_the_page_tells_the_notes_of_its_recordings_each_once() -> None:
    recordings = [run({"n": 1}, steady(2000)), run({"n": 2}, steady(2000), seed=2)]
    page = page_of(recordings)
    for recording in analyze(recordings).recordings:
        for note in recording.notes:
            told = [one for one in page.notes if one.lower().startswith(note.lower())]
            assert len(told) == 1


def test_the_temperature_of_a_row_is_of_a_sensor_that_is_named() -> None:
    page = page_of([run({}, steady(2000), temp_c=60.0)])
    assert page.sensor == "composite"
    assert page.workloads[0].hottest == "80 C"


def test_a_cell_without_a_fall_is_steady_only_if_its_steps_are() -> None:
    steps = [{**READ, "name": name} for name in "ab"]
    recordings = [
        run({"slot": "top"}, {"a": steady(2000), "b": SHORT}, steps=steps),
        run({"slot": "low"}, {"a": steady(2000), "b": steady(2000)}, steps=steps, seed=2),
    ]
    found = page_of(recordings).matrix
    assert found is not None
    texts = {cell.conditions["slot"]: cell.values["onset_s"].text for cell in found.cells}
    assert texts == {"top": "unknown", "low": "steady"}


def test_conditions_that_always_change_together_make_no_empty_cells() -> None:
    recordings = [
        run({"place": "laptop", "fans": "none", "gpus": 0}, steady(2000)),
        run({"place": "case", "fans": "rear", "gpus": 1}, steady(2000), seed=2),
    ]
    found = page_of(recordings).matrix
    assert found is not None
    assert (found.row_key, found.column_keys) == ("place", [])
