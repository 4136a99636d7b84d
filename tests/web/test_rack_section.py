"""The page of a rack, as a reader uses it: the picture, what is compared, and the list."""

from pathlib import Path
from typing import Any

import pytest
from heatsoak.rack.results.report import report
from heatsoak.rack.results.shown import rack_page
from heatsoak.report.page.contract import Page
from heatsoak.report.page.html import Bundle, render
from made_once import made_once
from paged import HOSTILE
from rack_results import add_test, make_rack, opened

pytest_plugins = ["browsed"]
pytestmark = pytest.mark.slow

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"
MODELS = ("Samsung 990 PRO", "WD SN850X")


def make(directory: Path) -> None:
    make_rack(directory, shares={"S06": 0.85}, models=MODELS)
    add_test(directory, host="b5", on=HOSTILE[0], state="refused", why=HOSTILE[1])


@pytest.fixture(scope="session")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Page:
    held = opened(made_once(tmp_path_factory, "rack-page", make))
    return rack_page(report(held), held)


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


def readout(page: Any) -> str:
    return str(page.tab.locator("#rack .rack-readout").inner_text())


def test_a_drive_is_named_where_it_is_pointed_at_or_focused(open_page: Any, rack: Page) -> None:
    page = open_page(rack)
    tile = page.tab.locator("#rack .tile.fails", has_text="S06")
    tile.hover()
    assert readout(page).startswith("S06, host b2, slot 2, 1,")
    assert "does not pass" in readout(page)
    page.tab.locator("#rack .tile", has_text="S01").focus()
    assert readout(page).startswith("S01, host b1, slot 1, ")
    assert page.tab.locator("#rack .tile").count() == 17


def test_a_click_goes_to_the_list(open_page: Any, rack: Page) -> None:
    page = open_page(rack)
    page.tab.locator("#rack .tile", has_text="S06").click()
    focused = page.tab.evaluate("document.activeElement.innerText")
    assert focused.startswith("S06")
    assert "slower" in focused


def test_another_measure_changes_picture_and_effects(open_page: Any, rack: Page) -> None:
    page = open_page(rack)
    before = page.tab.locator("#rack-effects .summary").inner_text()
    select = page.tab.get_by_role("combobox", name="What is compared")
    select.select_option(label="Write: highest temperature, C")
    after = page.tab.locator("#rack-effects .summary").inner_text()
    assert before.startswith("Mean speed in write differs")
    assert after.startswith("Highest temperature in write")
    page.show("#rack-effects .deltas")
    assert page.tab.locator("#rack-effects .deltas svg").count() > 0


@pytest.mark.parametrize("drives", [1, 2, 8, 60])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_a_phone(open_page: Any, rack: Page, drives: int, scheme: str) -> None:
    page = open_page(
        larger(rack, drives), viewport={"width": 400, "height": 800}, color_scheme=scheme
    )
    assert page.tab.evaluate("document.documentElement.scrollWidth") <= 400
    assert page.tab.locator("#rack .tile").count() == drives


def test_sixty_drives_are_a_small_page(rack: Page, bundle: Bundle) -> None:
    assert len(render(larger(rack, 60), bundle).encode()) < 1_500_000


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: npm ci in web/")
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(open_page: Any, rack: Page, scheme: str) -> None:
    page = open_page(rack, color_scheme=scheme)
    for part in ("#rack-effects .deltas", "#rack-drives"):
        page.show(part)
    page.tab.evaluate(AXE.read_text("utf-8"))
    found = page.tab.evaluate("async () => (await axe.run()).violations")
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
