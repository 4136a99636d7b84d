"""``heatsoak lab reproduce --set modern``: figures of drives of 2015 to 2026."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from command import complaint, done_here, heatsoak_here, json_here
from heatsoak import catalog
from heatsoak.errors import UsageError
from heatsoak.recording import find_recordings
from heatsoak.reproduce import FigureSet, questions
from pydantic import ValidationError
from schema_check import complaints

SET = ("lab", "reproduce", "--set", "modern")
#: Figures whose recording takes seconds, a temperature and a statement.
BENCH = "sm951n.open_bench"
#: How long a steady temperature is averaged over.
AT_END_S = 60
FIGURES = catalog.modern_figures()
MEASURED = [figure for figure in FIGURES if figure.drive_id is not None]
#: What drives state of themselves is not simulated.
STATED = ("wctemp", "cctemp", "ps_max")
UNITS = ("s", "c", "k", "w", "gb", "mb_s", "x", "pct")


def rows_of(*words: str, cwd: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json_here(*SET, *words, cwd=cwd)
    return rows


# ---- the figures


def test_every_figure_says_where_it_is_from_and_has_its_unit_last() -> None:
    assert len(FIGURES) == len({figure.id for figure in FIGURES}) == 256
    for figure in FIGURES:
        assert figure.source.startswith("http") or "no address" in figure.source, figure.id
        low, high = figure.interval
        assert low <= high, figure.id
        is_statement = figure.holds is not None
        assert is_statement == (figure.metric == "throttles"), figure.id
        assert is_statement or re.search(f"_({'|'.join(UNITS)})$", figure.metric), figure.id


def test_a_figure_is_measured_if_its_drive_is_in_the_catalog() -> None:
    for figure in FIGURES:
        assert (figure.measured is None) == (figure.drive_id is None), figure.id
    assert {figure.drive_id for figure in MEASURED} <= set(catalog.drive_ids())
    places = {name for figure in MEASURED if figure.measured for name in figure.measured.places}
    assert places <= set(catalog.enclosure_ids())
    assert not {figure.id for figure in FIGURES} & set(catalog.figure_ids())


def test_a_tolerance_is_a_share_of_the_figure_but_not_below_what_it_has_to_be() -> None:
    by_id = {figure.id: figure for figure in FIGURES}
    assert by_id["hellfire.write_cold_mb_s"].tolerance == pytest.approx(140)
    assert by_id["hellfire.write_onset_s"].tolerance == pytest.approx(7.5)
    assert by_id["z44q.heatsink.onset_s"].tolerance == pytest.approx(60)
    assert by_id["hellfire.engage_c"].tolerance == 3
    assert by_id["970pro.surface_c"].tolerance == 6
    assert by_id["960evo.write_throttles"].tolerance == 0


def test_a_range_that_is_upside_down_is_refused() -> None:
    known = FIGURES[0].model_dump(exclude={"allowed"})
    with pytest.raises(ValidationError, match="the lower and then the upper end"):
        catalog.ModernFigure.model_validate({**known, "range": (2, 1)})


def test_figures_of_other_drives_are_not_asked() -> None:
    asked = questions(figure_set=FigureSet.MODERN)
    assert [question.id for question in asked] == [figure.id for figure in MEASURED]
    assert all(question.drives for question in asked)
    with pytest.raises(UsageError, match="of a drive in the catalog has an id"):
        questions(prefix="gm7000", figure_set=FigureSet.MODERN)
    with pytest.raises(UsageError, match=r"there are .*samsung-sm951-nvme-256"):
        questions("intel-750-1200-u2", figure_set=FigureSet.MODERN)


# ---- the command


@pytest.mark.slow
def test_a_row_is_what_the_drive_reported_in_the_recording_that_is_kept(tmp_path: Path) -> None:
    highest, throttles = rows_of("--only", BENCH, "-o", "kept", cwd=tmp_path)
    (recording,) = find_recordings(tmp_path / "kept")
    assert recording.meta.conditions["enclosure"] == "open-bench"
    samples = recording.samples(["step", "temp_c.composite"])
    writes = samples.filter(pl.col("step") == "sequential-write")
    assert highest["simulated"] == writes["temp_c.composite"].max()
    assert (highest["published"], highest["tolerance"]) == ([82, 82], 3)
    assert highest["ok"] == (abs(highest["simulated"] - 82) <= 3)
    assert throttles["published"] == [1, 1]
    assert throttles["ok"] == (throttles["simulated"] == 1)
    for row in (highest, throttles):
        assert (row["role"], row["counted"]) == ("known", True)
        assert row["drive"] == "samsung-sm951-nvme-256"
        assert "open bench" in row["conditions"]["test"]
    schema = json.loads(heatsoak_here("lab", "schema", "reproduce", cwd=tmp_path).stdout)
    assert complaints([highest, throttles], schema) == []


@pytest.mark.slow
def test_the_table_says_how_many_figures_are_of_other_drives(tmp_path: Path) -> None:
    words = ("--drive", "samsung-950-pro-256", "--only", "950pro256", "--min-figures", "2")
    done = done_here(*SET, *words, cwd=tmp_path, code=1)
    assert "1 of 1 counted rows hold (1 of 1 known)" in done.stdout
    without = len(FIGURES) - len(MEASURED)
    (line,) = [line for line in done.stdout.splitlines() if "does not have" in line]
    assert line.startswith(f"{without} of the {len(FIGURES)} figures")


@pytest.mark.slow
def test_an_idle_temperature_is_that_of_the_pause_before_a_step(tmp_path: Path) -> None:
    (idle,) = rows_of("--only", "t3d.samsung950pro256gb.idle", "-o", "kept", cwd=tmp_path)
    (recording,) = find_recordings(tmp_path / "kept")
    begin_s = next(
        event.t_s
        for event in recording.events
        if (event.kind, event.step) == ("step-begin", "read")
    )
    samples = recording.samples(["t_s", "temp_c.composite"]).drop_nulls()
    paused = samples.filter(pl.col("t_s").is_between(begin_s - AT_END_S - 1, begin_s))
    temps = paused["temp_c.composite"]
    assert temps.min() <= idle["simulated"] <= temps.max()
    assert idle["role"] == "predicted"


@pytest.mark.long
def test_a_drive_left_out_is_predicted_without_what_was_fitted_to_it(tmp_path: Path) -> None:
    words = ("--only", "sn580_1t.cache")
    (fitted,) = rows_of(*words, cwd=tmp_path)
    (left_out,) = rows_of(*words, "--leave-out", "drive", cwd=tmp_path)
    assert (fitted["role"], left_out["role"]) == ("fitted", "predicted")
    assert fitted["simulated"] == pytest.approx(341, rel=0.02)
    assert left_out["simulated"] != pytest.approx(341, rel=0.02)


def test_an_unknown_set_and_nothing_to_leave_out_are_one_line(tmp_path: Path) -> None:
    for words, said in (
        (("--leave-out", "drive"), "heatsoak: --leave-out only works with --set modern"),
        (("--set", "mdern"), "'published', 'modern'"),
    ):
        assert said in complaint(heatsoak_here("lab", "reproduce", *words, cwd=tmp_path), 2)


@pytest.mark.soak
@pytest.mark.slow
def test_the_whole_set_is_as_the_validation_page_says(tmp_path: Path) -> None:
    rows = [row for row in rows_of(cwd=tmp_path) if not row["metric"].startswith(STATED)]
    page = (Path(__file__).parent.parent / "benches" / "validation.md").read_text("utf-8")
    told = page.partition("<!-- modern -->")[2].partition("<!-- end modern -->")[0]
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in told.split("\n")[3:-1]]
    assert [(row["id"], row["role"], row["ok"]) for row in rows] == [
        (figure, role, holds == "yes") for figure, _, role, _, holds, _, _ in lines
    ]
