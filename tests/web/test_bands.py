"""A band tells why."""

from typing import Any

import pytest
from heatsoak.report.page.contract import Page
from heatsoak.report.page.lines import palette

pytest_plugins = ["browsed"]
pytestmark = pytest.mark.slow


def tells_why(told: str, page: Page) -> bool:
    """Whether all is told that speaks for and against the cause of the first line's episode."""
    evidence = page.recordings[0].findings.steps[0].episodes[0].evidence
    assert evidence
    # without whom for
    return all(one.split(": ", 1)[1].lower() in told.lower() for one in evidence)


def test_a_band_of_the_legend_shows_its_evidence_and_says_its_cause_in_words(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page)
    opened.show("#w1 .chart")
    band = opened.tab.locator("#w1 .band").first
    label = matrix_page.workloads[0].lines[0].label
    for how in ("click", "Enter"):
        band.focus()
        if how == "click":
            band.click()
        else:
            opened.tab.keyboard.press(how)
        dialog = opened.tab.locator("dialog[open]")
        assert tells_why(dialog.inner_text(), matrix_page)
        assert label in dialog.inner_text()
        opened.tab.keyboard.press("Escape")
        assert dialog.count() == 0
        assert opened.tab.evaluate("document.activeElement.className").startswith("band")
    episode = matrix_page.recordings[0].findings.steps[0].episodes[0]
    name = band.get_attribute("aria-label")
    letter = palette()["causes"][episode.cause]["letter"]
    assert name.startswith(f"{letter} {episode.cause} -{episode.depth_pct:.0f} %")
    assert label in name


def test_a_band_in_the_chart_of_the_only_line_shown_shows_its_evidence(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page)
    opened.show("#w1 .chart")
    opened.tab.locator("#w1 .lane").first.hover()
    opened.tab.locator("#w1 .lane-only").first.click()
    over = opened.tab.locator("#w1 .u-over").first
    box = over.bounding_box()
    over.click(position={"x": box["width"] * 0.02, "y": 20})  # before the onset
    opened.tab.wait_for_timeout(400)
    assert opened.tab.locator("dialog[open]").count() == 0
    over.click(position={"x": box["width"] * 0.8, "y": 20})
    dialog = opened.tab.locator("dialog[open]")
    opened.until(dialog.count)
    assert tells_why(dialog.inner_text(), matrix_page)
    dialog.locator("button", has_text="Close").click()
    assert dialog.count() == 0
