"""Dark and light, narrow and printed, and for who uses no mouse or does not see."""

import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compared import READ, falling, run, steady
from heatsoak.importer import Options, open_all
from heatsoak.report.page.contract import Page
from heatsoak.report.page.lines import palette
from idle_logs import idle_log
from paged import page_of
from pixels import pixels_of

pytest_plugins = ["browsed", "rack_results", "swept", "twinned"]
pytestmark = pytest.mark.slow

#: The pages that there are, and what of them is drawn when it comes into sight.
PAGES = {
    "matrix_page": ("#w1", "#recordings"),
    "varied_page": ("#w1", "#recordings"),
    "swept_page": ("#sweep .maps",),
    "twin_page": ("#twin .chart", "#twin .maps"),
    "sixty_steps": ("#whole",),
    "idle_page": ("#unloaded",),
    "unjudged_page": ("#w1",),
    "rack_page": ("#rack-effects .deltas", "#rack-drives"),
}
PHONE = {"viewport": {"width": 400, "height": 800}, "is_mobile": True, "color_scheme": "dark"}


def background(opened: Any) -> str:
    parts = re.findall(
        r"\d+", opened.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    )
    return "#" + bytes(int(part) for part in parts[:3]).hex()


def colors(opened: Any, within: str) -> set[str]:
    """The colours that the first canvas has."""
    opened.show(within)
    found = pixels_of(opened.tab, within)
    opaque = np.unique(found[found[..., 3] == 255], axis=0)
    return {f"#{bytes(one).hex()}" for one in opaque[:, :3].tolist()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_as_light_as_the_system_until_it_is_switched(
    open_page: Any, matrix_page: Page, scheme: str
) -> None:
    other = {"light": "dark", "dark": "light"}[scheme]
    opened = open_page(matrix_page, color_scheme=scheme)
    assert background(opened) == palette()[scheme]["paper"]
    assert palette()[scheme]["lines"][0] in colors(opened, "#w1")
    opened.tab.locator("button.shade").click()
    assert background(opened) == palette()[other]["paper"]
    assert palette()[other]["lines"][0] in colors(opened, "#w1")

    def is_kept() -> bool:
        opened.tab.reload()
        opened.wait_drawn()
        opened.requests.pop()
        return bool(background(opened) == palette()[other]["paper"])

    # a busy browser may reload the page before it has stored the choice
    opened.until(is_kept)


@pytest.mark.parametrize("screen", [{}, PHONE], ids=["light", "dark on a phone"])
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_read_it(
    open_page: Any, request: pytest.FixtureRequest, name: str, screen: dict[str, Any]
) -> None:
    opened = open_page(request.getfixturevalue(name), bypass_csp=True, **screen)
    for selector in PAGES[name]:
        opened.show(selector)
    folded = "#w1 details > summary, #recordings > details:first-of-type > summary"
    for summary in opened.tab.locator(folded).all():
        summary.click()
    # of a rack's page, no fault at all
    impacts = ("serious", "critical", *(("minor", "moderate") if name == "rack_page" else ()))
    assert [fault for fault in opened.axe_faults() if fault[0] in impacts] == []
    if screen:
        assert_no_scrolling_to_the_side(opened)


@pytest.fixture(scope="module")
def sixty_steps() -> Page:
    steps = [{**READ, "name": f"step-{number}-{'x' * 30}"} for number in range(60)]
    rates = {str(step["name"]): steady(1000, 30) for step in steps}
    rates[str(steps[40]["name"])] = falling(60, 0.5)
    return page_of([run({}, rates, steps=steps)])


@pytest.fixture
def idle_page(tmp_path: Path) -> Page:
    return page_of(open_all([idle_log(tmp_path / "pc.csv")], Options()))


@pytest.fixture
def unjudged_page() -> Page:
    return page_of([run({}, steady(2000, 2))])


def assert_no_scrolling_to_the_side(opened: Any) -> None:
    opened.unfold()
    for section in opened.tab.locator("main > section").all():
        section.evaluate("e => e.scrollIntoView({behavior: 'instant'})")
        opened.tab.wait_for_timeout(60)
    assert opened.tab.evaluate("document.documentElement.scrollWidth") == 400
    wide = opened.tab.evaluate(
        """() => [...document.querySelectorAll("main *")]
            .filter(e => e.getBoundingClientRect().right > 401)
            .filter(e => !e.closest(".scroll, pre, nav, .readout, .unseen, .band"))
            .map(e => e.outerHTML.slice(0, 120))"""
    )
    assert wide == []
    # a command is whole, and its button beside it
    whole = "[...document.querySelectorAll('pre')].every(e => e.scrollWidth <= e.clientWidth)"
    assert opened.tab.evaluate(whole)


@pytest.fixture(scope="module")
def long_names() -> Page:
    """Three runs whose names are as long as names are shown, in steps of long names."""
    steps = [{**READ, "name": f"{kind}-read-of-the-whole-drive-{'x' * 30}"} for kind in "ab"]
    sinks = ("none", f"first {'y' * 50}", f"second {'z' * 50}")
    return page_of(
        [
            run(
                {"heatsink": sink},
                {str(step["name"]): falling(60, 0.4 + 0.2 * number) for step in steps},
                steps=steps,
                seed=number,
            )
            for number, sink in enumerate(sinks)
        ]
    )


@pytest.mark.parametrize("width", [400, 1200])
def test_labels_of_long_names_are_neither_cut_off_nor_alike(
    open_page: Any, long_names: Page, width: int
) -> None:
    opened = open_page(long_names, viewport={"width": width, "height": 900})
    opened.show("#w1 .chart")
    names = "[...document.querySelectorAll('#w1 .lane-name span')]"
    cut = opened.tab.evaluate(f"{names}.filter(e => e.scrollWidth > e.clientWidth + 1).length")
    assert cut == 0
    shown = opened.tab.locator("#w1 .lane-name span").all_inner_texts()
    assert shown == [line.label for line in long_names.workloads[0].lines]
    opened.unfold()
    for within in ("#scores", "#comparisons .deltas"):
        opened.show(f"{within} .bar-holder")
        opened.until(opened.tab.locator(f"{within} svg text").count)
        outside, labels = opened.tab.evaluate(
            """within => {
                const holder = document.querySelector(`${within} .bar-holder`);
                const edge = holder.getBoundingClientRect();
                const texts = [...holder.querySelectorAll("text")];
                const isOutside = (text) => {
                    const box = text.getBoundingClientRect();
                    return box.left < edge.left - 1 || box.right > edge.right + 1;
                };
                const own = (text) => text.firstChild.textContent;
                const named = texts.filter((text) => text.querySelector("title"));
                return [texts.filter(isOutside).map(own), named.map(own)];
            }""",
            within,
        )
        assert outside == []
        assert len(set(labels)) == len(labels) > 2
    assert any(", end level, " in label for label in labels)


def test_sixty_steps_are_three_screens_high_and_each_opens_its_chart(
    open_page: Any, sixty_steps: Page
) -> None:
    opened = open_page(sixty_steps, viewport={"width": 1200, "height": 900})
    opened.until(lambda: opened.canvases("#whole") == 2)
    assert opened.tab.locator(".workload").count() == 60
    assert opened.tab.evaluate("document.documentElement.scrollHeight") <= 3 * 900
    links = opened.tab.locator("nav a").all_inner_texts()
    assert links[0] == "Steps"
    assert links[-1] == "How it was measured"
    row = opened.tab.locator("#w41")
    assert "50 %" in row.inner_text()
    row.locator("summary").first.click()
    opened.until(lambda: opened.canvases("#w41") > 0)
    assert opened.canvases("main") == opened.canvases("#w41") + 2


def path_segments(pdf: bytes) -> int:
    """How many lines the paths of a PDF have: charts are drawn in it, not put in as pictures."""
    found = 0
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            found += zlib.decompress(stream).count(b" l\n")
        except zlib.error:
            continue
    return found


def test_the_print_has_what_is_open_on_few_pages_drawn_and_light(
    open_page: Any, matrix_page: Page
) -> None:
    opened = open_page(matrix_page, color_scheme="dark")
    assert opened.canvases("#w2") == 0  # never scrolled into view
    pdf = opened.tab.pdf(format="A4")
    assert opened.canvases("#w2") == 3
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 6
    assert path_segments(pdf) > 2 * 3000  # two lines of the first workload have as many samples
    assert background(opened) == palette()["dark"]["paper"]
    opened.tab.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.tab.wait_for_timeout(50)
    assert background(opened) == palette()["light"]["paper"]
    assert palette()["light"]["lines"][0] in colors(opened, "#w1")
    opened.tab.evaluate("dispatchEvent(new Event('afterprint'))")
    opened.tab.wait_for_timeout(50)
    assert palette()["dark"]["lines"][0] in colors(opened, "#w1")


def test_everything_that_can_be_clicked_can_be_reached_with_the_keyboard(
    open_page: Any, varied_page: Page
) -> None:
    opened = open_page(varied_page, permissions=["clipboard-read", "clipboard-write"])
    assert opened.tab.locator("#whole [data-chart]").count() == 1
    opened.tab.locator("#w2").evaluate("e => e.remove()")  # as good as the others
    wanted = opened.tab.evaluate(
        """() => {
            const all = [...document.querySelectorAll("button, select, summary, a, [data-chart]")];
            const shown = all.filter(e => e.checkVisibility() && !e.disabled);
            shown.forEach((e, i) => { e.dataset.reach = i; });
            return shown.length;
        }"""
    )
    reached = set()
    for _ in range(wanted + 60):
        opened.tab.keyboard.press("Tab")
        reached.add(opened.tab.evaluate("document.activeElement.dataset.reach ?? ''"))
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        assert reached & {""} or opened.tab.evaluate(outline) != "none"
    assert len(reached - {""}) == wanted
    details, copy = (
        opened.tab.locator(f"#recording-0 {one}").first for one in ("summary", ".code button")
    )
    details.focus()
    opened.tab.keyboard.press("Enter")
    copy.focus()
    opened.tab.keyboard.press("Space")
    opened.until(lambda: copy.inner_text() == "Copied")
    copied = opened.tab.evaluate("navigator.clipboard.readText()")
    assert copied == varied_page.recordings[0].command


@pytest.mark.parametrize("width", [400, 1200])
def test_no_verdict_and_no_word_of_a_fall_is_cut(
    open_page: Any, matrix_page: Page, width: int
) -> None:
    counts = dict.fromkeys(palette()["causes"], 14)
    rows = [one.model_copy(update={"verdicts": counts}) for one in matrix_page.workloads]
    page = matrix_page.model_copy(update={"workloads": rows})
    opened = open_page(page, viewport={"width": width, "height": 900})
    opened.show("#w1 .lanes")
    cut = opened.tab.evaluate(
        """() => {
            const beyond = (one, all) => {
                const [box, room] = [one.getBoundingClientRect(), all.getBoundingClientRect()];
                return box.top < room.bottom && box.right > room.right + 1;
            };
            const words = [...document.querySelectorAll(".verdicts > span, .band > span")];
            const cut = words.filter((one) => beyond(one, one.parentElement));
            return cut.map((one) => one.innerText);
        }"""
    )
    assert cut == []
