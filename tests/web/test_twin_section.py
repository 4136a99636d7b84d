"""A twin on the page, as a reader uses it: charts, maps, and the sliders that move along them."""

from typing import TYPE_CHECKING, Any

import pytest
from heatsoak.report.page.contract import CoolingMap, Page

if TYPE_CHECKING:
    from twinned import Twinned

pytest_plugins = ["browsed", "twinned"]
pytestmark = pytest.mark.slow


def first_map(page: Page) -> CoolingMap:
    assert page.twin is not None
    return page.twin.maps[0]


def sentence(opened: Any) -> str:
    return str(opened.say_of("#twin .point"))


def test_the_first_recording_is_drawn_with_band_and_limit_and_the_others_when_unfolded(
    open_page: Any, twin_page: Page
) -> None:
    opened = open_page(twin_page)
    opened.show("#twin .chart")
    assert opened.canvases("#twin") == 1
    assert opened.tab.locator("nav a", has_text="Twin").count() == 1
    box = opened.show("#twin .u-over").bounding_box()
    opened.tab.mouse.move(box["x"] + 200, box["y"] + 60)
    opened.tab.mouse.move(box["x"] + 210, box["y"] + 60)
    rows = opened.tab.locator("#twin .readout tbody tr")
    shown = {row.locator("td").first.inner_text(): row.inner_text() for row in rows.all()}
    assert len(shown) == 4
    (hidden,) = [text for name, text in shown.items() if name.startswith("hidden")]
    assert " to " in hidden
    assert twin_page.twin is not None
    assert twin_page.twin.limit_c is not None
    (limit,) = [name for name in shown if name.startswith("its limit")]
    assert f"{twin_page.twin.limit_c.mid:.0f}" in limit
    opened.tab.locator("#twin summary", has_text="heat did not slow it").click()
    opened.until(lambda: opened.canvases("#twin") == 2)
    assert "not fitted to" in opened.tab.locator("#twin").inner_text()


def test_sliders_move_the_cursor_and_the_sentence_follows(open_page: Any, twin_page: Page) -> None:
    opened, given = open_page(twin_page), first_map(twin_page)
    opened.show("#twin .maps")
    assert sentence(opened).startswith("As it was, at ")
    cursors = opened.tab.locator("#twin .cursor")
    opened.until(lambda: cursors.count() == 2)
    before = cursors.first.bounding_box()["x"]
    air = opened.slider("Air at the drive")
    air.focus()
    opened.tab.keyboard.press("ArrowRight")
    warmer = given.air_c[given.own_air + 1]
    assert sentence(opened).startswith(f"At {warmer:.0f} C air (4 K warmer than it was)")
    assert cursors.first.bounding_box()["x"] > before
    assert f"{warmer:.0f}" in air.get_attribute("aria-valuetext")
    opened.tab.keyboard.press("End")
    opened.slider("Resistance to the air").focus()
    opened.tab.keyboard.press("End")
    at = len(given.throttles) - 1
    onset_s, left_mb_s = given.onset_s[at], given.throttled_mb_s[at]
    assert onset_s is not None
    assert left_mb_s is not None
    assert f"throttles after {onset_s.mid:.0f}" in sentence(opened)
    assert f"become {left_mb_s.mid:,.0f} (-" in sentence(opened)
    opened.tab.keyboard.press("Home")
    opened.slider("Air at the drive").focus()
    opened.tab.keyboard.press("Home")
    assert given.throttles[0] == 0
    assert "does not throttle in 10 min" in sentence(opened)
    opened.tab.locator("#twin button", has_text="As it was").click()
    assert sentence(opened).startswith("As it was, at ")


def test_a_click_on_a_map_goes_there_and_another_place_has_another_map(
    open_page: Any, twin_page: Page
) -> None:
    assert twin_page.twin is not None
    opened, given = open_page(twin_page), first_map(twin_page)
    opened.show("#twin .maps")
    rows = opened.saved("#twin .maps", "CSV").read_text("utf-8").splitlines()
    assert len(rows) == 1 + len(given.throttles)
    assert opened.saved("#twin .maps", "PNG").read_bytes().startswith(b"\x89PNG")
    opened.tab.locator("#twin .cell-map svg text", has_text="does not throttle").first.click()
    assert "does not throttle in" in sentence(opened)
    assert opened.slider("Air at the drive").input_value() != str(given.own_air)
    opened.tab.get_by_role("combobox", name="Place").select_option("1")
    assert twin_page.twin.maps[1].place in opened.tab.locator("#twin .maps .detail").inner_text()
    assert "does not throttle" in sentence(opened)
    opened.until(lambda: opened.tab.locator("#twin .cell-map svg").count() == 2)


def test_no_map_is_a_sentence(open_page: Any, twinned: "Twinned") -> None:
    opened = open_page(twinned.page(["cold"], "cold_twin"))
    assert "its limit is above" in opened.show("#twin").inner_text()
    assert opened.tab.locator("#twin .maps").count() == 0


def test_many_recordings_share_a_fold(open_page: Any, twin_page: Page) -> None:
    assert twin_page.twin is not None
    lines = [twin_page.twin.lines[0].model_copy(update={"label": f"run {n}"}) for n in range(60)]
    twin = twin_page.twin.model_copy(update={"lines": lines})
    opened = open_page(twin_page.model_copy(update={"twin": twin}))
    assert opened.tab.locator("#twin > details", has_text="59 more recordings").count() == 1
    opened.show("#twin .chart")
    assert opened.canvases("#twin") == 1
