"""Pages of recordings in memory, for tests."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from heatsoak.analysis import analyze
from heatsoak.recording import Recording
from heatsoak.report.page.contract import ChartSeries, Page
from heatsoak.report.page.make import make_page
from heatsoak.report.page.packing import decoded, unpacked
from made_once import made_once

#: Text that must never become markup, or break a layout in a program.
HOSTILE = [
    "<script>alert(1)</script>",
    "</script><!--",
    "\"double\" 'single' `back` & &amp; \\",
    "emoji 🔥🧊 and \u202eright-to-left\u202c العربية עברית",
    "x" * 10_000,
    "\x00\x01 controls \x1b[31m \u2028\u2029 \ufffe",
    "$\\frac{1}{2}$ _x^2 %s {0}",
    "=HYPERLINK(0)",
]


def page_of(recordings: Sequence[Recording], **wanted: Any) -> Page:
    """Return the page of recordings, after looking at it as JSON."""
    page = make_page(recordings, analyze(recordings), **wanted)
    return Page.model_validate_json(page.model_dump_json())


def page_once(factory: pytest.TempPathFactory, name: str, make: Callable[[], Page]) -> Page:
    """Return the page `name`, which is made once for all processes of a run of the tests."""

    def write(directory: Path) -> None:
        (directory / "page.json").write_text(make().model_dump_json(), "utf-8")

    made = made_once(factory, name, write) / "page.json"
    return Page.model_validate_json(made.read_text("utf-8"))


def series(page: Page, track: ChartSeries) -> tuple[list[float], list[float]]:
    """Return a track's times and values."""
    columns = unpacked(page.data)
    return decoded(columns, track.t).tolist(), decoded(columns, track.v).tolist()
