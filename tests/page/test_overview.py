"""The rows of a page: what each step shows, the same as in the terminal."""

import io

import numpy as np
import pytest
from compared import READ, falling, run, steady
from heatsoak.analysis import analyze
from heatsoak.output import Console
from heatsoak.recording import InMemoryRecording
from heatsoak.report.findings import print_first_screen
from heatsoak.report.page.make import make_page
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
    assert not any("steady" in text for text in page.headline.more)


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


def test_notes_that_are_alike_are_one_and_the_whole_run_is_drawn_with_its_loads() -> None:
    recordings = [three_steps(n, n=n) for n in (1, 2, 3)]
    findings = analyze(recordings)
    for number, one in enumerate(findings.recordings):
        one.notes[:] = [f"'read' stood still for {number} s", *["it is old"][: 2 - number]]
    page = make_page(recordings, findings)
    still, old = page.notes[:2]
    assert still == "'read' stood still for 0 s; and 2 more notes like it."
    assert old == "In 2 recordings: it is old."
    assert page.overview
    assert [band.name for band in page.overview.bands] == ["Falling", "Even", "Brief"]
    assert [round(band.start_s) for band in page.overview.bands] == [0, 1000, 2000]
    assert page.overview.shown == ["throughput", "temperature"]


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
