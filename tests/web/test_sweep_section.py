"""A sweep on the page, as a reader uses it: axes, quantities, and a sentence for each point."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from heatsoak.report.page.contract import Page
from heatsoak.report.page.sweep import sweep_page
from heatsoak.sweep import FinishedSweep

pytest_plugins = ["browsed", "swept", "twinned"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(swept: FinishedSweep) -> Page:
    return sweep_page(swept)


def sentence(opened: Any) -> str:
    return str(opened.tab.locator("#sweep .point").inner_text())


def choose(opened: Any, name: str, option: str) -> None:
    opened.tab.get_by_label(name, exact=True).locator("visible=true").first.select_option(
        label=option
    )


def figures(opened: Any, number: int) -> set[str]:
    """The figures in the cells of one of the maps."""
    texts = opened.tab.locator("#sweep .cell-map").nth(number).locator("svg text[font-size]")
    return set(texts.all_text_contents())


def point(swept: FinishedSweep, air_c: float, sink: str | None, place: str) -> dict[str, Any]:
    row = swept.points.filter(
        (pl.col("enclosure") == place)
        & (pl.col("ambient_c") == air_c)
        & pl.col("heatsink").eq_missing(pl.lit(sink))
        & pl.col("heatsink_k_per_w").is_null()
    )
    return row.row(0, named=True)


def test_the_maps_begin_at_the_worst_point(
    open_page: Any, page: Page, swept: FinishedSweep
) -> None:
    opened = open_page(page)
    assert swept.summary.answer in opened.tab.locator(".headline").inner_text()
    opened.show("#sweep .maps")
    worst = swept.summary.worst
    assert worst is not None
    assert worst.depth_pct is not None
    said = sentence(opened)
    assert said.startswith(f"Air at the drive {worst.ambient_c:g} C, heatsink none: throttles")
    assert f"-{worst.depth_pct:.0f} % (" in said
    assert worst.enclosure in opened.tab.locator("#sweep .maps .detail").inner_text()
    opened.until(lambda: opened.tab.locator("#sweep .cursor").count() == 2)


def test_each_cell_says_its_values_with_their_range(
    open_page: Any, page: Page, swept: FinishedSweep
) -> None:
    opened = open_page(page)
    opened.show("#sweep .maps")
    place = "open-bench"
    choose(opened, "Enclosure", place)
    air = opened.tab.get_by_role("slider", name="Air at the drive")
    sink = opened.tab.get_by_role("slider", name="Heatsink")
    air.focus()
    opened.tab.keyboard.press("Home")
    sink.focus()
    opened.tab.keyboard.press("Home")
    cool = point(swept, 20, None, place)
    assert "holds its full speed" in sentence(opened)
    assert f"{cool['max_reported_temp_mid_c']:.0f} C (" in sentence(opened)
    air.focus()
    for _ in range(2):
        opened.tab.keyboard.press("ArrowRight")
    hot = point(swept, 60, None, place)
    assert hot["throttles"] == 1
    low, high = (f"{hot[f'depth_{end}_pct']:.0f}" for end in ("low", "high"))
    assert f"-{hot['depth_mid_pct']:.0f} % ({low} to {high}) in the worst minute" in sentence(
        opened
    )
    opened.tab.keyboard.press("End")
    assert "so hot that the drive cannot be there even at rest" in sentence(opened)
    assert "too hot even at rest" in opened.tab.locator("#sweep .map-legend").first.inner_text()


def test_hovering_says_a_cell_and_leaving_goes_back(open_page: Any, page: Page) -> None:
    opened = open_page(page)
    opened.show("#sweep .maps")
    before = sentence(opened)
    map_box = opened.show("#sweep .cell-map svg").bounding_box()
    opened.tab.mouse.move(map_box["x"] + map_box["width"] - 20, map_box["y"] + 40)
    assert "cannot be there" in sentence(opened)
    opened.tab.mouse.move(5, 5)
    assert sentence(opened) == before
    opened.tab.mouse.click(map_box["x"] + map_box["width"] - 20, map_box["y"] + 40)
    opened.tab.mouse.move(5, 5)
    assert "cannot be there" in sentence(opened)


def test_the_exact_engine_is_told_where_it_was_run(
    open_page: Any, page: Page, swept: FinishedSweep
) -> None:
    opened = open_page(page)
    opened.show("#sweep .maps")
    exact = swept.exact.filter(pl.col("throttled") & pl.col("heatsink_k_per_w").is_null())
    row = exact.row(0, named=True)
    choose(opened, "Enclosure", row["enclosure"])
    air = opened.tab.get_by_role("slider", name="Air at the drive")
    air.fill(str([20, 40, 60, 150].index(row["ambient_c"])))
    sink = opened.tab.get_by_role("slider", name="Heatsink")
    sink.fill("0" if row["heatsink"] is None else "1")
    assert "The exact engine agrees: throttles after" in sentence(opened)
    assert f"-{row['depth_pct']:.0f} %" in sentence(opened).rsplit("exact engine", 1)[1]
    assert opened.tab.locator("#sweep .agrees").count() == 2


def test_axes_and_quantities_are_chosen(open_page: Any, page: Page, swept: FinishedSweep) -> None:
    opened = open_page(page)
    opened.show("#sweep .maps")
    choose(opened, "Down", "Enclosure")
    choose(opened, "Heatsink", "none")
    assert opened.tab.get_by_role("slider", name="Enclosure").count() == 1
    shown = [
        point(swept, air_c, None, place)
        for air_c in (20, 40, 60)
        for place in ("open-bench", "puget-top-2gpu-loaded")
    ]
    opened.until(
        lambda: (
            figures(opened, 1)
            == {f"{one['depth_mid_pct']:.0f}" for one in shown if one["throttles"] >= 0.5}
        )
    )
    choose(opened, "First map", "Probability of throttling, %")
    opened.until(lambda: figures(opened, 0) == {f"{100 * one['throttles']:.0f}" for one in shown})
    choose(opened, "Second map", "Highest reported temperature, C")
    opened.until(
        lambda: figures(opened, 1) == {f"{one['max_reported_temp_mid_c']:.0f}" for one in shown}
    )
    # an axis that is chosen twice changes places with the other
    choose(opened, "Across", "Enclosure")
    assert opened.tab.get_by_label("Down", exact=True).locator("option:checked").inner_text() == (
        "Air at the drive"
    )


def test_print_has_the_maps_and_no_selects(open_page: Any, page: Page) -> None:
    opened = open_page(page)
    opened.tab.emulate_media(media="print")
    opened.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.until(lambda: opened.tab.locator("#sweep .cell-map svg").count() == 2)
    assert not opened.tab.locator("#sweep .choices").is_visible()
    assert opened.tab.locator("#sweep .point").is_visible()


# ---- what holds of any section with maps


@dataclass
class Section:
    """A section of a page, how many points its maps have, and what else is drawn there."""

    page: Page
    name: str
    points: int
    parts: tuple[str, ...]


@pytest.fixture(params=["sweep", "twin"])
def section(request: pytest.FixtureRequest) -> Section:
    if request.param == "sweep":
        return Section(request.getfixturevalue("page"), "#sweep", 4 * 3, ("#sweep .maps",))
    page: Page = request.getfixturevalue("twin_page")
    assert page.twin is not None
    points = len(page.twin.maps[0].throttles)
    return Section(page, "#twin", points, ("#twin .chart", "#twin .maps"))


def test_the_shown_points_are_saved(open_page: Any, section: Section, tmp_path: Path) -> None:
    opened = open_page(section.page)
    opened.show(f"{section.name} .maps")
    saved = {}
    for kind in ("CSV", "PNG"):
        with opened.tab.expect_download() as waited:
            opened.tab.locator(f"{section.name} .maps button", has_text=kind).click()
        saved[kind] = tmp_path / kind
        waited.value.save_as(saved[kind])
    rows = pl.read_csv(saved["CSV"])
    assert len(rows) == section.points
    if section.name == "#sweep":
        assert rows["ambient_c"].unique().sort().to_list() == [20, 40, 60, 150]
    assert saved["PNG"].read_bytes().startswith(b"\x89PNG")


def test_a_phone_needs_no_scrolling_to_the_side(open_page: Any, section: Section) -> None:
    opened = open_page(section.page, viewport={"width": 400, "height": 800}, is_mobile=True)
    for part in section.parts:
        opened.show(part)
    assert opened.tab.evaluate("document.documentElement.scrollWidth") == 400


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(open_page: Any, section: Section, scheme: str) -> None:
    opened = open_page(section.page, color_scheme=scheme, bypass_csp=True)
    for part in section.parts:
        opened.show(part)
    assert opened.serious_faults(section.name) == []
