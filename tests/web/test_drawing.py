"""What the page draws, and how it is moved, as a reader does it."""

from typing import Any

import pytest
from heatsoak.report.page.contract import Page
from paged import series
from pixels import colored

pytest_plugins = ["browsed"]
pytestmark = pytest.mark.slow

CHART = "#w1 .chart"


def heading(opened: Any) -> str:
    """The time in the readout, which the page shows beside the cursor."""
    return str(opened.tab.locator(f"{CHART} .readout thead th").first.inner_text())


def at_left_edges(opened: Any) -> list[str]:
    """Which time each panel of the chart begins with."""
    found = []
    for over in opened.tab.locator(f"{CHART} .u-over").all():
        over.scroll_into_view_if_needed()
        box = over.bounding_box()
        opened.tab.mouse.move(box["x"] + 40, box["y"] + 30)
        opened.tab.mouse.move(box["x"] + 0.5, box["y"] + 30)
        found.append(heading(opened))
    return found


def drag(opened: Any, panel: int, from_share: float, to_share: float) -> None:
    over = opened.tab.locator(f"{CHART} .u-over").nth(panel)
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    y = box["y"] + box["height"] / 2
    opened.tab.mouse.move(box["x"] + from_share * box["width"], y)
    opened.tab.mouse.down()
    opened.tab.mouse.move(box["x"] + to_share * box["width"], y, steps=4)
    opened.tab.mouse.up()


def seconds(text: str) -> float:
    return float(text.removesuffix("s").strip())


def test_the_first_screen_has_the_verdict_and_charts_are_drawn_when_they_come_into_sight(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page)
    assert opened.tab.title() == matrix_page.title
    for selector in (".verdict", ".figures", "#matrix table"):
        box = opened.tab.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] <= 900, selector
    assert matrix_page.headline.text in opened.tab.locator(".verdict").inner_text()
    assert matrix_page.matrix is not None
    filled = opened.tab.locator("#matrix figure").first.locator("td button")
    assert filled.count() == len(matrix_page.matrix.cells)
    assert opened.canvases("#w2") == 0
    opened.show("#w2")
    assert opened.canvases("#w2") == 3  # throughput, temperature, power
    first = matrix_page.workloads[0]
    label = opened.tab.locator("#w1 .chart").get_attribute("aria-label")
    assert first.title in label
    assert first.summary in label


def test_zooming_one_panel_moves_the_axes_of_all_and_the_bands(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page)
    opened.show(CHART)
    onset_s = matrix_page.recordings[0].findings.steps[0].episodes[0].onset_s
    band = opened.tab.locator(f"{CHART} .band").first

    def is_at_onset(span_s: float) -> bool:
        lane = opened.tab.locator(f"{CHART} .lane-track").first.bounding_box()
        left_s = (band.bounding_box()["x"] - lane["x"]) / lane["width"] * span_s
        return bool(abs(left_s - onset_s) <= 0.6)

    assert is_at_onset(300)
    whole = at_left_edges(opened)
    assert len(whole) == 3
    for panel in (0, 2):
        assert {round(seconds(one)) for one in at_left_edges(opened)} == {0}
        drag(opened, panel, 0.4, 0.6)
        zoomed = at_left_edges(opened)
        assert len(set(zoomed)) == 1
        assert seconds(zoomed[0]) == pytest.approx(120, abs=1)
        opened.tab.locator(f"{CHART} .u-over").first.dblclick()
    assert {round(seconds(one)) for one in at_left_edges(opened)} == {0}
    drag(opened, 0, 0, 0.5)
    assert is_at_onset(150)


def test_wheel_keys_and_buttons_zoom_move_and_show_everything_again(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page)
    opened.show(CHART)
    everything = opened.tab.locator(f"{CHART} .tools button", has_text="Reset zoom")
    assert everything.is_disabled()
    over = opened.tab.locator(f"{CHART} .u-over").first
    over.hover()
    scrolled = opened.tab.evaluate("scrollY")
    opened.tab.mouse.wheel(0, -120)
    opened.until(lambda: opened.tab.evaluate("scrollY") != scrolled)
    assert everything.is_disabled()  # the wheel is the page's until the chart is taken up
    opened.tab.locator(CHART).focus()
    over.hover()
    opened.tab.mouse.wheel(0, -120)
    opened.until(everything.is_enabled)
    opened.tab.keyboard.press("0")
    assert everything.is_disabled()
    opened.tab.keyboard.press("+")
    assert everything.is_enabled()
    before = seconds(at_left_edges(opened)[0])
    opened.tab.keyboard.press("Shift+ArrowRight")
    assert seconds(at_left_edges(opened)[0]) > before
    everything.click()
    assert everything.is_disabled()


def test_two_fingers_zoom(open_page: Any, matrix_page: Page) -> None:
    opened = open_page(matrix_page, has_touch=True, viewport={"width": 400, "height": 800})
    opened.show(f"{CHART} .plots")
    box = opened.tab.locator(f"{CHART} .u-over").first.bounding_box()
    middle, y = box["x"] + box["width"] / 2, box["y"] + 40
    client = opened.tab.context.new_cdp_session(opened.tab)

    def touch(kind: str, apart: float) -> None:
        points = [{"x": middle + side * apart, "y": y, "id": side + 1} for side in (-1, 1)]
        client.send(
            "Input.dispatchTouchEvent",
            {"type": kind, "touchPoints": [] if kind == "touchEnd" else points},
        )

    touch("touchStart", 30)
    for apart in (45, 60, 90):
        touch("touchMove", apart)
    touch("touchEnd", 0)
    assert opened.tab.locator(f"{CHART} .tools button", has_text="Reset zoom").is_enabled()


def test_the_readout_has_the_values_of_the_recording_and_keys_announce_them(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page)
    opened.show(CHART)
    over = opened.show(f"{CHART} .u-over")
    box = over.bounding_box()
    opened.tab.mouse.move(box["x"] + box["width"] / 2 - 9, box["y"] + 40)
    opened.tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 40)
    at_s = seconds(heading(opened))
    rows = opened.tab.locator(f"{CHART} .readout tbody tr")
    shown = {row.locator("td").first.inner_text(): row for row in rows.all()}
    assert len(shown) == 12
    for line in matrix_page.workloads[0].lines:
        t_s, values = series(matrix_page, line.tracks[0])
        near = [v for t, v in zip(t_s, values, strict=True) if abs(t - at_s) <= 0.25]
        text = shown[line.label].locator("td").nth(1).inner_text()
        assert min(near) - 1 <= float(text.replace(",", "")) <= max(near) + 1
    opened.tab.locator(CHART).focus()
    opened.tab.keyboard.press("Home")
    for _ in range(3):
        opened.tab.keyboard.press("Control+ArrowRight")
    told = opened.tab.locator(f"{CHART} [aria-live]")
    opened.until(lambda: "90.0" in told.inner_text())
    assert "MB/s" in told.inner_text()


def test_lines_are_hidden_and_shown_by_their_names_and_by_cells_of_the_matrix(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page)
    opened.show(CHART)
    names = opened.tab.locator(f"{CHART} .lane-name")
    drawn = colored(opened.tab, CHART)
    assert drawn > 1000
    names.nth(2).click()
    assert names.nth(2).get_attribute("aria-pressed") == "false"
    # the pointer is on the hidden line still, and the others have not stepped back for it
    opened.until(lambda: drawn / 2 < colored(opened.tab, CHART) < drawn)
    opened.tab.locator(f"{CHART} .lane").nth(4).hover()
    opened.tab.locator(f"{CHART} .lane-only").nth(4).click()
    pressed = [one.get_attribute("aria-pressed") for one in names.all()]
    assert pressed == ["false"] * 4 + ["true"] + ["false"] * 7
    opened.tab.locator(f"{CHART} .lane-only").nth(4).click()

    def shown() -> int:
        return [one.get_attribute("aria-pressed") for one in names.all()].count("true")

    assert shown() == 12
    opened.tab.locator("#matrix td button").nth(5).click()
    opened.until(lambda: shown() == 1)
    every = opened.tab.locator(f"{CHART} .tools button", has_text="All lines")
    every.click()
    assert shown() == 12
    assert every.is_hidden()


def test_curves_latencies_and_differences_around_zero_are_drawn(
    open_page: Any, varied_page: Page
) -> None:
    assert varied_page.curves
    (comparison,) = varied_page.comparisons
    opened = open_page(varied_page)
    opened.show("#curves")
    assert opened.canvases("#curves") >= 1
    opened.tab.locator("#w1 summary", has_text="Latency").click()
    opened.until(lambda: opened.canvases("#w1 details") >= 1)
    opened.show("#comparisons .deltas")
    chart = opened.tab.locator("#comparisons .deltas svg").first
    opened.until(lambda: chart.count() == 1)
    assert chart.locator("circle").count() >= 4
    assert "+5" in chart.text_content()
    assert "whiskers" not in opened.tab.locator("#comparisons .deltas .tools").first.inner_text()
    ticks = [tick.strip() for tick in chart.locator("text[font-size='12']").all_text_contents()]
    assert "0" in ticks
    said = opened.tab.locator("#comparisons .said").all_inner_texts()
    assert comparison.headlines[0].text in said[0]
    opened.unfold()
    rows = opened.tab.locator("#comparisons tbody tr").count()
    assert rows >= len({row.metric for row in comparison.rows})


def test_consistency_is_logarithmic_until_it_is_clicked(open_page: Any, matrix_page: Page) -> None:
    opened = open_page(matrix_page)
    opened.unfold()
    scale = opened.show("#w1 details button.scale")
    opened.until(lambda: opened.canvases("#w1 details figure") > 0)
    assert scale.get_attribute("aria-pressed") == "true"
    canvas = "document.querySelector('#w1 details figure canvas').toDataURL()"
    before = opened.tab.evaluate(canvas)
    scale.click()
    linear = opened.tab.locator("#w1 details button.scale").first
    assert linear.get_attribute("aria-pressed") == "false"
    opened.until(lambda: opened.tab.evaluate(canvas) != before)
    linear.click()
    opened.until(lambda: opened.tab.evaluate(canvas) == before)
