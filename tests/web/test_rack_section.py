"""The page of a rack, as a reader uses it: the picture, what is compared, and the list."""

from typing import Any

import pytest
from heatsoak.report.page.contract import Page
from heatsoak.report.page.html import Bundle, render

pytest_plugins = ["browsed", "rack_results"]
pytestmark = pytest.mark.slow


def larger(page: Page, drives: int) -> Page:
    """The same with so many drives, in rows of six."""
    given = page.rack
    assert given is not None
    tiles, lines = [], []
    for number in range(drives):
        tile = given.tiles[number % len(given.tiles)]
        tiles.append(
            tile.model_copy(update={"row": number // 6, "column": number % 6, "drive": number})
        )
        line = given.drives[number % len(given.drives)]
        lines.append(line.model_copy(update={"drive": f"S6Z1NJ0W{number:06d}X"}))
    changes = {
        "rows": [f"host-{row + 1}" for row in range((drives + 5) // 6)],
        "columns": [str(column + 1) for column in range(min(6, drives))],
        "tiles": tiles,
        "drives": lines,
    }
    return page.model_copy(update={"rack": given.model_copy(update=changes)})


def test_a_drive_is_named_where_it_is_pointed_at_or_focused_and_a_click_goes_to_the_list(
    open_page: Any, rack_page: Page
) -> None:
    opened = open_page(rack_page)
    slow = opened.tab.locator("#rack .tile.fails", has_text="S06")
    slow.hover()
    assert opened.say_of("#rack .rack-readout").startswith("S06, host b2, slot 2, 1,")
    assert "does not pass" in opened.say_of("#rack .rack-readout")
    opened.tab.locator("#rack .tile", has_text="S01").focus()
    assert opened.say_of("#rack .rack-readout").startswith("S01, host b1, slot 1, ")
    assert opened.tab.locator("#rack .tile").count() == 17
    slow.click()
    focused = opened.tab.evaluate("document.activeElement.innerText")
    assert focused.startswith("S06")
    assert "slower" in focused


def test_another_measure_changes_picture_and_effects(open_page: Any, rack_page: Page) -> None:
    opened = open_page(rack_page)
    assert opened.say_of("#rack-effects .summary").startswith("Mean speed in write differs")
    select = opened.tab.get_by_role("combobox", name="What is compared")
    select.select_option(label="Write: highest temperature, C")
    assert opened.say_of("#rack-effects .summary").startswith("Highest temperature in write")
    opened.show("#rack-effects .deltas")
    assert opened.tab.locator("#rack-effects .deltas svg").count() > 0


def test_it_fits_a_phone_whatever_its_size(open_page: Any, rack_page: Page) -> None:
    for drives in (1, 2, 8, 60):
        opened = open_page(larger(rack_page, drives), viewport={"width": 400, "height": 800})
        assert opened.tab.evaluate("document.documentElement.scrollWidth") <= 400
        assert opened.tab.locator("#rack .tile").count() == drives


def test_sixty_drives_are_a_small_page(rack_page: Page, bundle: Bundle) -> None:
    assert len(render(larger(rack_page, 60), bundle).encode()) < 1_500_000
