"""What a reader saves is what the page has."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from heatsoak.report.page.contract import Page
from heatsoak.report.page.lines import palette
from paged import series
from PIL import Image

pytest_plugins = ["browsed"]
pytestmark = pytest.mark.slow


def table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text("utf-8"), newline="")))


def unfold(opened: Any, title: str) -> None:
    opened.show("#w1")
    opened.tab.locator("#w1 summary", has_text=title).click()
    opened.until(lambda: opened.canvases("#w1 details") >= 1)


def test_a_charts_csv_has_every_sample_of_the_page(open_page: Any, matrix_page: Page) -> None:
    opened = open_page(matrix_page)
    rows = table(opened.saved("#w1 .chart", "CSV"))
    assert list(rows[0]) == ["line", "track", "t_s", "throughput_mb_s", "temperature_c", "power_w"]
    columns = {"throughput": "throughput_mb_s", "temperature": "temperature_c", "power": "power_w"}
    wanted = [
        (line.label, track.name, t_s, columns[track.quantity], value)
        for line in matrix_page.workloads[0].lines
        for track in line.tracks
        for t_s, value in zip(*series(matrix_page, track), strict=True)
    ]
    found = [(row["line"], row["track"]) for row in rows]
    assert found == [one[:2] for one in wanted]
    assert [float(row["t_s"]) for row in rows] == pytest.approx([one[2] for one in wanted])
    values = [float(row[one[3]]) for row, one in zip(rows, wanted, strict=True)]
    assert values == pytest.approx([one[4] for one in wanted])
    for row, one in zip(rows[:: len(rows) // 50], wanted[:: len(rows) // 50], strict=True):
        assert all(row[name] == "" for name in columns.values() if name != one[3])


def test_matrix_scores_scatter_curves_and_histogram_are_saved(
    open_page: Any, matrix_page: Page, varied_page: Page
) -> None:
    matrix = matrix_page.matrix
    assert matrix is not None
    opened = open_page(matrix_page)
    unfold(opened, "Consistency")
    rows = table(opened.saved("#w1 details .chart", "CSV"))
    seconds = [line.seconds for line in matrix_page.workloads[0].lines if line.seconds]
    wanted = [value for one in seconds for value in series(matrix_page, one)[1]]
    assert [float(row["iops"]) for row in rows] == pytest.approx(wanted)
    opened.unfold()
    metric = matrix.metrics[0]
    rows = table(opened.saved("#matrix figure", "CSV"))
    name = f"{metric.label} ({metric.unit})"
    assert [float(row[name]) for row in rows] == pytest.approx(
        [cell.values[metric.id].value for cell in matrix.cells]
    )
    chart = matrix_page.bars[0]
    bars = table(opened.saved(f"#bars-{chart.id} figure", "CSV"))
    assert [float(row["value_mb_s"]) for row in bars] == pytest.approx(
        [bar.value for bar in chart.bars]
    )
    varied = open_page(varied_page)
    points = table(varied.saved("#curves .chart", "CSV"))
    assert [float(row["value_mb_s"]) for row in points] == pytest.approx(
        [point.y for curve in varied_page.curves[0].curves for point in curve.points]
    )
    unfold(varied, "Latency")
    bins = table(varied.saved("#w1 details .chart", "CSV"))
    ios = [n for line in varied_page.workloads[0].lines for h in line.latency for n in h.ios]
    assert [float(row["ios"]) for row in bins] == ios


def shares(path: Path) -> tuple[tuple[int, int], dict[str, int]]:
    """The size of a picture, and how many of its pixels have each colour."""
    with Image.open(path) as image:
        assert image.format == "PNG"
        pixels = np.asarray(image.convert("RGB")).astype(np.uint32)
        size = image.size
    counts = np.bincount((pixels @ np.array([1 << 16, 1 << 8, 1], np.uint32)).ravel())
    return size, {f"#{color:06x}": int(counts[color]) for color in np.flatnonzero(counts)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pictures_have_the_lines_in_their_colours_on_the_themes_paper(
    open_page: Any, matrix_page: Page, theme: str
) -> None:
    opened = open_page(matrix_page, color_scheme=theme)
    opened.unfold()
    lines, paper = palette()[theme]["lines"], palette()[theme]["paper"]
    for within, needed in (("#w1 .chart", 3), ("#bars-b1 figure", 3), ("#matrix figure", 0)):
        size, found = shares(opened.saved(within, "PNG"))
        assert size[0] == 2400
        assert size[1] > 600
        assert max(found, key=lambda name: found[name]) == paper
        for color in lines[:needed]:
            assert found.get(color, 0) > 500, (within, color)
    # what is hidden is left out: the first place's lines are those of the first colour
    opened.show("#w1 .chart")
    for number in range(4):
        opened.tab.locator("#w1 .lane-name").nth(number).click()
    _, found = shares(opened.saved("#w1 .chart", "PNG"))
    assert found.get(lines[0], 0) == 0
    assert found.get(lines[1], 0) > 500
