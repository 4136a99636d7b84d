"""A browser that opens pages, and minds what they do."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NoReturn

import pytest
from compared import READ, Array, falling, run, steady
from heatsoak.errors import ToolError
from heatsoak.report.page.contract import LatencyHistogram, Page
from heatsoak.report.page.html import Bundle, render
from heatsoak.report.page.packing import Packer
from paged import page_of, page_once
from waiting import PATIENCE_S

_DRAWN = "performance.getEntriesByName('heatsoak-drawn').length"
#: Resolves once the page has been told that it is in sight, and has had a frame to draw it.
_SHOW = """e => new Promise(shown => {
    e.scrollIntoView({behavior: "instant"});
    const frame = (then) => requestAnimationFrame(() => setTimeout(then));
    new IntersectionObserver((_, seen) => { seen.disconnect(); frame(shown); }).observe(e);
})"""
AXE = Path(__file__).parents[1] / "web" / "node_modules" / "axe-core" / "axe.min.js"


def _left_out(why: str) -> NoReturn:
    pytest.skip(why, allow_module_level=True)


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    try:
        return Bundle.load()
    except ToolError as error:
        _left_out(str(error))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    program = shutil.which("chromium")
    if program is None:
        _left_out("chromium is not installed: apt-get install chromium")
    if find_spec("playwright") is None:
        _left_out("playwright is not installed: make .venv/.tested")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # what emulates a graphics card takes twice as long as drawing without one
        without = ("gpu", "gpu-compositing", "software-rasterizer")
        args = ["--no-sandbox", *(f"--disable-{name}" for name in without)]
        opened = playwright.chromium.launch(executable_path=program, args=args)
        yield opened
        opened.close()


@dataclass
class Opened:
    """A page that is open: `tab` is Playwright's; what went wrong, and what was asked for."""

    tab: Any
    faults: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def is_drawn(self) -> bool:
        return bool(self.tab.evaluate(_DRAWN))

    def wait_drawn(self) -> None:
        self.until(self.is_drawn)

    def until(self, holds: Callable[[], Any]) -> None:
        """Wait for something that the page will do."""
        end_s = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end_s, "the page never came to it"
            self.tab.wait_for_timeout(20)

    def show(self, selector: str) -> Any:
        """Scroll to something, so that it is drawn, and return its locator."""
        found = self.tab.locator(selector).first
        found.evaluate(_SHOW)
        return found

    def unfold(self) -> None:
        """Open everything that is folded."""
        self.tab.evaluate(
            """for (const details of document.querySelectorAll("details"))
                details.dispatchEvent(new Event("unfold"))"""
        )

    def axe_faults(self) -> list[tuple[str, str, list[str]]]:
        """What axe finds in a page that was opened with `bypass_csp`: impact, rule, where."""
        if not AXE.exists():
            pytest.skip("axe-core is not there: npm ci in web/")
        self.tab.add_script_tag(path=str(AXE))
        found = self.tab.evaluate("axe.run('html', {resultTypes: ['violations']})")
        return [
            (one["impact"], one["id"], [node["html"][:200] for node in one["nodes"]][:3])
            for one in found["violations"]
        ]

    def say_of(self, selector: str) -> str:
        """Return what is written somewhere, with plain spaces."""
        return str(self.tab.locator(selector).first.inner_text()).replace("\u202f", " ")

    def slider(self, name: str) -> Any:
        return self.tab.get_by_role("slider", name=name)

    def saved(self, within: str, what: str) -> Path:
        """Save a part of the page as ``CSV`` or ``PNG`` as a reader does; return the file."""
        self.show(within)
        with self.tab.expect_download() as waiting:
            self.tab.locator(f"{within} button", has_text=what).first.click()
        name = waiting.value.suggested_filename
        assert re.fullmatch(rf"[a-z0-9-]+\.{what.lower()}", name), name
        return Path(waiting.value.path())

    def canvases(self, within: str) -> int:
        return int(self.tab.locator(f"{within} canvas").count())


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Any, bundle: Bundle, tmp_path: Path) -> Iterator[Open]:
    """Open a page from a file; in the end, nothing may have gone wrong or left the page."""
    opened: list[Opened] = []
    contexts: list[Any] = []

    def open_one(page: Page | str, *, drawn: bool = True, **context: Any) -> Opened:
        file = tmp_path / f"page-{len(opened)}.html"
        html = page if isinstance(page, str) else render(page, bundle)
        file.write_text(html, "utf-8")
        wanted = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"}
        contexts.append(browser.new_context(**(wanted | context)))
        one = Opened(contexts[-1].new_page())
        opened.append(one)
        one.tab.on("pageerror", lambda error: one.faults.append(str(error)))
        one.tab.on(
            "console", lambda said: one.faults.append(said.text) if said.type == "error" else None
        )
        one.tab.on("request", lambda request: one.requests.append(request.url))
        one.tab.goto(file.as_uri())
        if drawn:
            one.wait_drawn()
        return one

    yield open_one
    for one in opened:
        assert one.faults == []
        left = [url for url in one.requests if not url.startswith(("file:", "blob:file:", "data:"))]
        assert left == []
        assert sum(url.startswith("file:") for url in one.requests) == 1
    for context in contexts:
        context.close()


def with_one_line(page: Page, t_s: Array, values: Array, **changes: Any) -> Page:
    """Return the page of one recording of one step without falls, as long as this series."""
    packer = Packer()
    first, recording = page.workloads[0], page.recordings[0]
    packed = {"t": packer.times(t_s), "v": packer.values(values), "samples": len(t_s)}
    track = first.lines[0].tracks[0].model_copy(update=packed)
    line = first.lines[0].model_copy(update={"tracks": [track], "seconds": None})
    told = {"duration_s": float(t_s[-1]), "episodes": []}
    steps = [recording.findings.steps[0].model_copy(update=told)]
    findings = recording.findings.model_copy(update={"steps": steps})
    return page.model_copy(
        update={
            "recordings": [recording.model_copy(update={"findings": findings})],
            "workloads": [first.model_copy(update={"lines": [line]})],
            "matrix": None,
            "bars": [],
            "data": packer.data(),
            **changes,
        }
    )


def _place(slot: str, gpus: int, load: str, seed: int) -> Any:
    onset_s = 20.0 + 15 * seed
    rates: dict[str, Array] = {"read": falling(onset_s, 0.4), "write": falling(onset_s + 10, 0.6)}
    steps = [{**READ, "name": name, "rw": name} for name in rates]
    return run(
        {"slot": slot, "gpus": gpus, "gpu_load": load},
        rates,
        steps=steps,
        seed=seed,
        more={"power_w": 4.5},
        drive={"model": "a drive of 1 TB"},
    )


@pytest.fixture(scope="session")
def matrix_page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Twelve places, more than there are colours; two workloads, each of which falls."""
    places = [
        (slot, gpus, load)
        for slot in ("top", "bottom", "upright")
        for gpus in (1, 2)
        for load in ("idle", "loaded")
    ]

    def make() -> Page:
        return page_of([_place(*place, seed) for seed, place in enumerate(places)])

    return page_once(tmp_path_factory, "matrix-page", make)


@pytest.fixture(scope="session")
def varied_page() -> Page:
    """Two recordings with everything that the matrix has not: curves, latencies, a comparison."""
    depths = {f"qd{depth}": steady(100.0 * depth) for depth in (1, 2, 4, 8)}
    steps = [{**READ, "name": name, "rw": "randread", "iodepth": int(name[2:])} for name in depths]
    recordings = [
        run(
            {"heatsink": sink},
            {name: rates * share for name, rates in depths.items()},
            steps=steps,
            seed=seed,
            more={"write_bw_mb_s": 50.0, "write_iops": 400.0, "read_lat_us": 90.0},
            drive={"path": "/dev/nvme0n1"},
        )
        for seed, (sink, share) in enumerate([("none", 1.0), ("large", 1.1)])
    ]
    page = page_of(recordings)
    counted = LatencyHistogram(
        direction="read", upper_us=[50.0, 100.0, 200.0, 400.0, 800.0], ios=[0, 10, 700, 90, 1]
    )
    first = page.workloads[0]
    lines = [line.model_copy(update={"latency": [counted]}) for line in first.lines]
    changed = first.model_copy(update={"lines": lines})
    return page.model_copy(update={"workloads": [changed, *page.workloads[1:]]})
