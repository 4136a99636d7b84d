"""The page of drives that were never loaded, as a reader sees it."""

from pathlib import Path
from typing import Any

import pytest
from heatsoak.importer import Options, open_all
from idle_logs import idle_log
from paged import page_of
from pixels import colored

pytest_plugins = ["browsed"]


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 8])
def test_the_answer_and_the_temperatures_are_on_the_first_screen(
    open_page: Any, tmp_path: Path, count: int
) -> None:
    logs = [idle_log(tmp_path / f"pc-{number}.csv", number) for number in range(count)]
    opened = open_page(page_of(open_all(logs, Options())))
    for selector in (".verdict", "#unloaded .chart canvas", "#unloaded .lane"):
        box = opened.tab.locator(selector).first.bounding_box()
        assert box["y"] + box["height"] <= 900, selector
    assert "loaded" in opened.tab.locator(".verdict").inner_text()
    assert colored(opened.tab, "#unloaded .chart") > 500
    assert opened.canvases("#unloaded .chart") == 2
    told = opened.tab.locator("#unloaded .lane-word").first.inner_text()
    assert "followed the graphics card" in told
    opened.unfold()
    assert opened.tab.locator("#unloaded tbody tr").count() == count
