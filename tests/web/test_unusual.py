"""Text that means harm, a day of samples, damage, and browsers that cannot."""

import random
from typing import Any

import numpy as np
import pytest
from browsed import with_one_line
from compared import READ, falling, run
from heatsoak.report.page.contract import Page
from heatsoak.report.page.html import Bundle, render
from mutations import with_damaged_json
from paged import HOSTILE, page_of
from pixels import pixels_of
from rest_long import rest_soak

pytest_plugins = ["browsed"]


@pytest.fixture(scope="module")
def hostile_page() -> Page:
    recordings = [
        run(
            {"place": text, text[:40]: "x"},
            {"read": falling(60, 0.5)},
            steps=[READ],
            seed=seed,
            name=text[:60],
            drive={"model": text, "serial": text, "firmware": text},
        )
        for seed, text in enumerate(HOSTILE)
    ]
    page = page_of(recordings)
    first = page.workloads[0].model_copy(update={"title": HOSTILE[0], "summary": HOSTILE[4]})
    return page.model_copy(update={"title": HOSTILE[1], "notes": HOSTILE, "workloads": [first]})


@pytest.mark.slow
def test_hostile_text_stays_text(open_page: Any, hostile_page: Page) -> None:
    opened = open_page(hostile_page, viewport={"width": 400, "height": 800}, is_mobile=True)
    opened.tab.on("dialog", lambda dialog: pytest.fail(dialog.message))
    opened.unfold()
    opened.show("#w1 .chart")
    opened.tab.locator("#w1 .band").first.click()
    assert opened.tab.locator("dialog[open]").count() == 1
    opened.tab.keyboard.press("Escape")
    opened.show("#recordings")
    text = opened.tab.locator("main").evaluate("e => e.textContent")
    for note in (HOSTILE[0], HOSTILE[1], HOSTILE[4]):
        assert note in text
    # no element but those that the page makes
    assert opened.tab.locator("main script, main iframe, main img").count() == 0
    assert opened.tab.evaluate("document.documentElement.scrollWidth") == 400
    assert opened.saved("#w1 .chart", "PNG").read_bytes().startswith(b"\x89PNG")


@pytest.fixture(scope="module")
def day_page(matrix_page: Page) -> Page:
    """One recording of 24 h at 10 Hz: 864,000 samples, one of them a dip of a tenth of a second."""
    t_s = np.arange(864_000) / 10
    values = 1500 + 3 * np.round(np.sin(t_s / 3000) * 30)
    values[500_000] = 7.0
    return with_one_line(matrix_page, t_s, values)


def lowest(opened: Any) -> float:
    """The lowest place of the chart that has the line's colour, as a share of its height."""
    found = pixels_of(opened.tab, "#w1")[:-30, 215:-25]
    red, green, blue = (found[..., color] for color in range(3))
    rows, _ = np.nonzero((red < 40) & (green > 90) & (green < 150) & (blue > 150))
    return float(rows.max(initial=0)) / (len(found) + 30)


@pytest.mark.slow
def test_a_day_of_samples_pans_and_keeps_its_dip(open_page: Any, day_page: Page) -> None:
    opened = open_page(day_page, color_scheme="light")
    opened.show("#w1 .chart")
    assert lowest(opened) > 0.8  # the dip is there among 864,000 samples
    opened.tab.locator("#w1 .chart").focus()
    for _ in range(6):
        opened.tab.keyboard.press("+")
    frames = opened.tab.evaluate(
        """async () => {
            const chart = document.querySelector("#w1 .chart");
            let drawn = 0;
            for (let i = 0; i < 40; i++) {
                const key = new KeyboardEvent("keydown",
                    {key: i % 2 ? "ArrowLeft" : "ArrowRight", shiftKey: true, bubbles: true});
                chart.dispatchEvent(key);
                await new Promise(requestAnimationFrame);
                drawn++;
            }
            return drawn;
        }"""
    )
    assert frames == 40
    opened.tab.keyboard.press("0")
    opened.tab.wait_for_timeout(50)
    assert lowest(opened) > 0.8


@pytest.mark.slow
def test_damaged_numbers_leave_the_verdict_and_the_tables(
    open_page: Any, matrix_page: Page
) -> None:
    for data in (matrix_page.data[: len(matrix_page.data) // 2], "%%%"):
        opened = open_page(matrix_page.model_copy(update={"data": data}))
        assert "damaged or cut off" in opened.tab.locator("[role=alert]").inner_text()
        assert matrix_page.headline.text in opened.tab.locator(".verdict").inner_text()
        assert opened.tab.locator("#matrix td button").count() > 0
        assert opened.tab.locator("#recordings tbody tr").count() >= 12
        assert opened.canvases("main") == 0


@pytest.mark.slow
def test_a_column_that_is_not_in_the_data_is_reported(open_page: Any, matrix_page: Page) -> None:
    first, *others = matrix_page.workloads
    line = first.lines[0]
    track = line.tracks[0]
    beyond = track.model_copy(update={"v": track.v.model_copy(update={"at": 10**9})})
    lines = [line.model_copy(update={"tracks": [beyond]}), *first.lines[1:]]
    page = matrix_page.model_copy(
        update={"workloads": [first.model_copy(update={"lines": lines}), *others]}
    )
    opened = open_page(page)
    opened.show("#w1")
    opened.until(lambda: opened.tab.locator("#w1 .damage").count())
    assert "damaged" in opened.tab.locator("#w1 .damage").inner_text()
    opened.show("#w2")
    assert opened.canvases("#w2") == 3


@pytest.mark.slow
def test_findings_that_cannot_be_read_are_reported(
    open_page: Any, matrix_page: Page, bundle: Bundle
) -> None:
    html = render(matrix_page, bundle)
    begin = html.index('id="heatsoak-page">') + 2000
    end = html.index("</script>", begin)
    opened = open_page(html[:begin] + html[end:], drawn=False)
    opened.until(lambda: opened.tab.locator("[role=alert]").count())
    assert "cannot be read" in opened.tab.locator("[role=alert]").inner_text()


@pytest.mark.parametrize("chunk", rest_soak(range(20), 1))
def test_findings_with_a_damaged_value_are_shown_or_reported(
    open_page: Any, bundle: Bundle, chunk: int, seed: int
) -> None:
    runs = [run({"slot": slot}, {"read": falling(60, 0.5)}, seed=1) for slot in ("top", "bottom")]
    page = page_of(runs)
    html = render(page, bundle)
    begin = html.index('id="heatsoak-page">') + len('id="heatsoak-page">')
    end = html.index("</script>", begin)
    for number in range(10):
        chance = random.Random(f"page {seed} {chunk} {number}")
        damaged = with_damaged_json(page.model_dump_json(), chance).replace("<", "\\u003c")
        opened = open_page(html[:begin] + damaged + html[end:], drawn=False)
        reported = opened.tab.locator("[role=alert]")
        opened.until(lambda it=opened, said=reported: said.count() or it.is_drawn())
        opened.unfold()
        for chart in range(opened.tab.locator(".chart").count()):
            opened.show(f".chart >> nth={chart}")
        assert opened.tab.locator("main").inner_text()
        if reported.count():
            opened.faults.clear()
        assert opened.faults == [], f"{number}: {opened.faults}"


@pytest.mark.slow
def test_without_scripts_the_verdict_and_a_word_on_why_there_is_no_more(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page, drawn=False, java_script_enabled=False)
    told = opened.tab.locator("main").inner_text()
    assert matrix_page.headline.text in told
    assert "JavaScript" in told


@pytest.mark.slow
def test_a_browser_that_cannot_unpack_is_told_which_browsers_can(
    open_page: Any, matrix_page: Page, bundle: Bundle
) -> None:
    html = render(matrix_page, bundle)
    # the policy lets no script in but the page's own
    html = html.replace("script-src 'sha256-", "script-src 'unsafe-inline' 'x-")
    html = html.replace(
        '<main id="heatsoak">', "<script>delete self.DecompressionStream</script><main id=heatsoak>"
    )
    opened = open_page(html, drawn=False)
    opened.until(lambda: opened.tab.locator("[role=alert]").count())
    assert "Firefox 113" in opened.tab.locator("[role=alert]").inner_text()
    opened.faults.clear()  # the browser complains of the policy's made-up source


@pytest.mark.slow
def test_a_layout_that_is_still_changing_is_no_damage(open_page: Any, matrix_page: Page) -> None:
    opened = open_page(matrix_page)
    told = "message: 'ResizeObserver loop completed with undelivered notifications.'"
    opened.tab.evaluate(f"dispatchEvent(new ErrorEvent('error', {{{told}}}))")
    assert opened.tab.locator("main > [role=alert]").count() == 0
    opened.tab.evaluate("dispatchEvent(new ErrorEvent('error', {error: new Error('x')}))")
    assert "damaged" in opened.tab.locator("main > [role=alert]").inner_text()
    opened.faults.clear()
