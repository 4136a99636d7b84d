"""A sweep on the page, as a reader uses it: axes, quantities, and a sentence for each point."""

from typing import Any

import polars as pl
import pytest
from heatsoak.report.page.contract import Page
from heatsoak.sweep import FinishedSweep

pytest_plugins = ["browsed", "swept"]
pytestmark = pytest.mark.slow


def sentence(opened: Any) -> str:
    return str(opened.say_of("#sweep .point"))


def choose(opened: Any, name: str, option: str) -> None:
    opened.tab.get_by_label(name, exact=True).locator("visible=true").first.select_option(
        label=option
    )


def figures(opened: Any, number: int) -> set[str]:
    """The figures in the cells of one of the maps."""
    texts = opened.tab.locator("#sweep .cell-map").nth(number).locator("svg text[font-size]")
    return set(texts.all_text_contents())


def point(swept: FinishedSweep, air_c: float, place: str) -> dict[str, Any]:
    row = swept.points.filter(
        (pl.col("enclosure") == place)
        & (pl.col("ambient_c") == air_c)
        & pl.col("heatsink").is_null()
        & pl.col("heatsink_k_per_w").is_null()
    )
    return row.row(0, named=True)


@pytest.fixture
def opened(open_page: Any, swept_page: Page) -> Any:
    page = open_page(swept_page)
    page.show("#sweep .maps")
    return page


def test_the_maps_begin_at_the_worst_point_and_follow_the_pointer(
    opened: Any, swept: FinishedSweep
) -> None:
    assert swept.summary.answer in opened.tab.locator(".headline").inner_text()
    worst = swept.summary.worst
    assert worst is not None
    assert worst.depth_pct is not None
    before = sentence(opened)
    assert before.startswith(f"Air at the drive {worst.ambient_c:g} C, heatsink none: throttles")
    assert f"-{worst.depth_pct:.0f} % (" in before
    assert worst.enclosure in opened.tab.locator("#sweep .maps .detail").inner_text()
    opened.until(lambda: opened.tab.locator("#sweep .cursor").count() == 2)
    box = opened.show("#sweep .cell-map svg").bounding_box()
    corner = (box["x"] + box["width"] - 20, box["y"] + 40)
    opened.tab.mouse.move(*corner)
    assert "cannot be there" in sentence(opened)
    opened.tab.mouse.move(5, 5)
    assert sentence(opened) == before
    opened.tab.mouse.click(*corner)
    opened.tab.mouse.move(5, 5)
    assert "cannot be there" in sentence(opened)


def test_each_cell_says_its_values_with_their_range(opened: Any, swept: FinishedSweep) -> None:
    place = "open-bench"
    choose(opened, "Enclosure", place)
    air = opened.slider("Air at the drive")
    for one in (air, opened.slider("Heatsink"), air):
        one.focus()
        opened.tab.keyboard.press("Home")
    cool = point(swept, 20, place)
    assert "holds its full speed" in sentence(opened)
    assert f"{cool['max_reported_temp_mid_c']:.0f} C (" in sentence(opened)
    for _ in range(2):
        opened.tab.keyboard.press("ArrowRight")
    hot = point(swept, 60, place)
    assert hot["throttles"] == 1
    low, high = (f"{hot[f'depth_{end}_pct']:.0f}" for end in ("low", "high"))
    said = f"-{hot['depth_mid_pct']:.0f} % (90 %: {low} to {high}) in the worst minute"
    assert said in sentence(opened)
    opened.tab.keyboard.press("End")
    assert "so hot that the drive cannot be there even at rest" in sentence(opened)
    assert "too hot even at rest" in opened.tab.locator("#sweep .map-legend").first.inner_text()


def test_axes_and_quantities_are_chosen(opened: Any, swept: FinishedSweep) -> None:
    choose(opened, "Down", "Enclosure")
    choose(opened, "Heatsink", "none")
    assert opened.slider("Enclosure").count() == 1
    shown = [
        point(swept, air_c, place)
        for air_c in (20, 40, 60)
        for place in ("open-bench", "puget-top-2gpu-loaded")
    ]
    slowed = {f"{one['depth_mid_pct']:.0f}" for one in shown if one["throttles"] >= 0.5}
    opened.until(lambda: figures(opened, 1) == slowed)
    choose(opened, "First map", "Probability of throttling, %")
    opened.until(lambda: figures(opened, 0) == {f"{100 * one['throttles']:.0f}" for one in shown})
    choose(opened, "Second map", "Highest reported temperature, C")
    hottest = {f"{one['max_reported_temp_mid_c']:.0f}" for one in shown}
    opened.until(lambda: figures(opened, 1) == hottest)
    # an axis that is chosen twice changes places with the other
    choose(opened, "Across", "Enclosure")
    assert opened.tab.get_by_label("Down", exact=True).locator("option:checked").inner_text() == (
        "Air at the drive"
    )


def test_the_shown_points_are_saved_and_print_has_the_maps_and_no_selects(opened: Any) -> None:
    rows = pl.read_csv(opened.saved("#sweep", "CSV"))
    assert len(rows) == 4 * 3
    assert rows["ambient_c"].unique().sort().to_list() == [20, 40, 60, 150]
    assert opened.saved("#sweep", "PNG").read_bytes().startswith(b"\x89PNG")
    opened.tab.emulate_media(media="print")
    opened.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.until(lambda: opened.tab.locator("#sweep .cell-map svg").count() == 2)
    assert not opened.tab.locator("#sweep .choices").is_visible()
    assert opened.tab.locator("#sweep .point").is_visible()
