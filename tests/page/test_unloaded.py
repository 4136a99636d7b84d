"""Drives that were never loaded: how warm they were over time, and what warmed them."""

from pathlib import Path

import pytest
from compared import run, steady
from heatsoak.importer import Options, open_all
from heatsoak.report.page.contract import Page
from idle_logs import idle_log
from paged import page_of, series


def page_of_logs(folder: Path, count: int) -> Page:
    logs = [idle_log(folder / f"pc-{number}.csv", number) for number in range(count)]
    return page_of(open_all(logs, Options()))


def test_a_drive_that_was_never_loaded_is_drawn_beside_what_its_temperature_followed(
    tmp_path: Path,
) -> None:
    page = page_of_logs(tmp_path, 1)
    assert page.headline.text.startswith("The drive was never loaded in 30 min")
    (chart,) = page.workloads
    assert chart.shown == ["temperature", "throughput"]
    assert "followed the graphics card" in chart.summary
    (line,) = chart.lines
    assert line.step is None
    drive, card, rate = line.tracks
    assert [drive.label, card.label] == ["the drive", "the graphics card"]
    assert [track.quantity for track in line.tracks] == ["temperature", "temperature", "throughput"]
    t_s, temps_c = series(page, drive)
    assert t_s[-1] == pytest.approx(1799, abs=1)
    assert max(temps_c) == pytest.approx(59, abs=1)
    assert max(series(page, card)[1]) == 75
    assert rate.samples == 1800


@pytest.mark.parametrize("count", [2, 8])
def test_several_such_logs_are_lines_of_one_chart(tmp_path: Path, count: int) -> None:
    page = page_of_logs(tmp_path, count)
    (chart,) = page.workloads
    assert [line.label for line in chart.lines] == [f"pc-{number}" for number in range(count)]
    assert f"the graphics card in {count} of {count} logs" in chart.summary
    assert page.headline.text == f"The drive was not loaded in any of {count} recordings."
    # of several, the warmest says how warm it was
    assert any(more.startswith(f"In pc-{count - 1}: it was at") for more in page.headline.more)


def test_drives_without_a_load_or_a_temperature_show_what_they_did() -> None:
    log = Path(__file__).parents[1] / "importer" / "data" / "iostat" / "x.txt"
    page = page_of(open_all([log], Options()))
    (chart,) = page.workloads
    assert chart.shown == ["throughput", "busy"]
    assert chart.summary == "No temperature was logged."
    assert page.matrix is None


def test_what_was_loaded_comes_before_what_was_not(tmp_path: Path) -> None:
    (idle,) = open_all([idle_log(tmp_path / "pc.csv")], Options())
    page = page_of([idle, run({}, steady(2000))])
    loaded, unloaded = page.workloads
    assert [line.recording for line in loaded.lines] == [1]
    assert [line.recording for line in unloaded.lines] == [0]
    assert "did not throttle" in page.headline.text
