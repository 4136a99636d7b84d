"""A sweep on the page: its numbers are those of the tables, and what is no sweep is one line."""

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here
from compared import run, steady
from heatsoak.report.page.contract import Page, SweepColumn, SweepSection
from heatsoak.report.page.html import Bundle, render
from heatsoak.report.page.packing import decoded, unpacked
from heatsoak.report.page.sweep import sweep_page
from heatsoak.sweep import FinishedSweep, Grid, sweep, work

pytest_plugins = ["swept"]
pytestmark = pytest.mark.slow


#: All ranges of a prediction, as the tables name them.
RANGES = [f"{name}_{end}_{unit}" for name, unit in work.RANGES for end in work.ENDS]


def section_of(page: Page) -> SweepSection:
    assert page.sweep is not None
    return page.sweep


def values(page: Page, column: SweepColumn) -> list[float | None]:
    """Return a quantity of all points as a reader's program unpacks it."""
    columns = unpacked(page.data)
    found = iter(decoded(columns, column.values).tolist())
    if column.known is None:
        return list(found)
    return [next(found) if known else None for known in decoded(columns, column.known)]


def test_every_number_is_that_of_the_tables(swept: FinishedSweep, swept_page: Page) -> None:
    section = section_of(swept_page)
    enclosure, ambient, heatsink = section.axes
    assert [one.id for one in section.axes] == ["enclosure", "ambient_c", "heatsink"]
    assert enclosure.values == ["puget-top-2gpu-loaded", "open-bench"]
    assert ambient.numbers == [20, 40, 60, 150]
    assert heatsink.numbers is None
    assert heatsink.values == ["none", "wings-px1", "5 K/W"]
    assert section.fixed == "samsung-950-pro-512, read, for 90 s"
    for name, column in section.columns.items():
        shown = values(swept_page, column)
        for at, (place, air_c, sink) in enumerate(
            product(enclosure.values, ambient.numbers, ["none", "wings-px1", 5.0])
        ):
            row = swept.points.filter(
                (pl.col("enclosure") == place)
                & (pl.col("ambient_c") == air_c)
                & pl.col("heatsink").eq_missing(
                    pl.lit("wings-px1" if sink == "wings-px1" else None)
                )
                & pl.col("heatsink_k_per_w").eq_missing(pl.lit(5.0 if sink == 5.0 else None))
            )
            expected = row[name].item()
            found = shown[at]
            assert (found is None) == (expected is None)
            if found is not None:
                assert found == pytest.approx(float(expected), rel=1e-3, abs=0.01)


def test_the_sentence_and_the_table_are_those_of_the_terminal(
    swept: FinishedSweep, swept_page: Page
) -> None:
    summary, section = swept.summary, section_of(swept_page)
    assert swept_page.headline.text == summary.answer
    assert swept_page.headline.tone == "bad"
    assert "gets too hot at rest" in summary.answer
    assert len(section.rows) == len(summary.groups) == 2
    shown = [row[section.headings.index("throttle")] for row in section.rows]
    assert sum(int(one.partition(" of ")[0]) for one in shown) == summary.throttling
    for one, group in zip(shown, summary.groups, strict=True):
        hot = f", {group.impossible} too hot at rest" if group.impossible else ""
        assert one == f"{group.throttling} of {group.points}{hot}"


def test_a_page_can_be_read_without_its_program(swept_page: Page) -> None:
    html = render(swept_page, Bundle.of("", ""))
    assert html.count(swept_page.headline.text) >= 2
    assert swept_page.data


def test_each_drive_in_its_own_place_is_one_axis(tmp_path: Path) -> None:
    grid = Grid.model_validate(
        {"drives": ["samsung-950-pro-512", "pcie5-tlc-2tb"], "workloads": ["read"], "for": "30s"}
    )
    sweep(grid, tmp_path / "s", draws=2, jobs=1)
    (tmp_path / "s" / "sweep.json").touch()
    (axis,) = section_of(sweep_page(FinishedSweep.load(tmp_path / "s"))).axes
    assert axis.values[0] == "samsung-950-pro-512 in open-bench"
    assert axis.values[1:] == ["pcie5-tlc-2tb in large-board-heatsink"]


def test_ten_thousand_points_take_less_than_1_5_mb(swept: FinishedSweep) -> None:
    rng = np.random.default_rng(1)
    one = swept.points.filter(pl.col("onset_mid_s").is_not_null())[:1]
    count = 834 * 12
    shaken = {
        name: pl.Series(rng.normal(1, 0.2, count) * one[name].item())
        for name in ("throttles", "full_mb_s", *RANGES)
    }
    axes: dict[str, pl.Series] = {
        "point": pl.Series([f"p{i}" for i in range(count)]),
        "enclosure": pl.Series(["a", "b"]).repeat_by(count // 2).explode(),
        "airflow_m_s": pl.Series(np.tile(np.repeat(np.arange(6.0), 834), 2)),
        "ambient_c": pl.Series(np.tile(np.linspace(20, 60, 834).round(6), 12)),
    }
    points = pl.concat([one] * count).with_columns(**shaken, **axes)
    page = sweep_page(FinishedSweep(Path("many"), points))
    assert len(section_of(page).axes) == 3
    assert len(render(page, Bundle.load())) < 1_500_000


def test_the_command_writes_page_and_table(swept: FinishedSweep, tmp_path: Path) -> None:
    directory = str(swept.directory)
    done = done_here("report", directory, "-o", "x.html", "--title", "A sweep", cwd=tmp_path)
    assert " ".join(done.stdout.split()).startswith(swept.summary.answer)
    assert "<title>A sweep</title>" in (tmp_path / "x.html").read_text("utf-8")
    assert heatsoak_here("report", directory, "-o", "x.csv", cwd=tmp_path).returncode == 0
    read = pl.read_csv(tmp_path / "x.csv", infer_schema_length=None)
    assert read["point"].to_list() == swept.points["point"].to_list()
    assert read["throttles"].to_list() == swept.points["throttles"].to_list()
    assert read.columns == swept.points.columns


def test_what_cannot_be_shown_is_one_line(swept: FinishedSweep, tmp_path: Path) -> None:
    run({}, steady(2000), seed=1, temp_c=60.0).save(tmp_path / "r")
    shutil.copytree(swept.directory, tmp_path / "s")
    for words, said in (
        (("s", "r", "-o", "x.html"), "s: is a sweep: report it without recordings"),
        (("r", "s", "-o", "x.html"), "s: is a sweep: report it without recordings"),
        (("s", "s", "-o", "x.html"), "one at a time"),
        (("s", "-o", "x.png"), "use .html or .csv"),
        (("s", "-o", "x.html", "--by", "fan"), "--by: is for recordings, and s is a sweep"),
        (("s", "-o", "x.html", "--fail-below", "9MB/s"), "--fail-below: is for recordings"),
    ):
        assert said in complaint(heatsoak_here("report", *words, cwd=tmp_path), 2)
    (tmp_path / "s" / "sweep.json").unlink()
    done = heatsoak_here("report", "s", "-o", "x.html", cwd=tmp_path)
    assert "s: the sweep is not finished" in complaint(done, 2)
    (tmp_path / "s" / "sweep.json").touch()
    parts = sorted((tmp_path / "s" / "points").iterdir())
    pl.read_parquet(parts[0])[1:].write_parquet(parts[0])
    done = heatsoak_here("report", "s", "-o", "x.html", cwd=tmp_path)
    assert "s: lacks points of its grid" in complaint(done, 2)
    parts[0].write_bytes(b"PAR1")
    done = heatsoak_here("report", "s", "-o", "x.csv", cwd=tmp_path)
    assert "cannot be read" in complaint(done, 3)
    assert not list(tmp_path.glob("x.*"))
